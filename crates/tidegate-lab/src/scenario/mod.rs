//! Scenarios: what they hold, how each part is read and checked, and how they are written with
//! every default spelled out. [`Scenario::open`] reads one.
mod arrivals;
mod chain;
mod classes;
mod connection;
pub(crate) mod consistent;
mod demand;
mod drawn;
mod following;
mod forge;
mod lowered;
mod medium;
mod model;
mod periods;
mod read;
mod sources;
mod tcp;
mod ways;
mod write;

pub use arrivals::Arrivals;
pub use chain::{Chain, Managed};
pub use classes::Classes;
pub use connection::*;
pub(crate) use demand::When;
pub use drawn::{Drawn, DrawnUnit, Start};
pub use following::{Following, GroupName};
pub use forge::Forge;
pub(crate) use lowered::{lower_following, lowered};
pub use medium::{Back, Capacity, Loss, Medium, Walk, Ways};
pub use model::*;
pub use periods::Periods;
pub use sources::{
    Cbr, FileName, OnOff, Oscillating, Replay, SOURCES, Source, Tfrc, Unresponsive, Voip, Web,
};
pub use tcp::*;
pub(crate) use ways::ManagedLink;
pub use ways::unreadable_trace;
