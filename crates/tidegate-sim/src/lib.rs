//! A fast, deterministic packet simulator around [`tidegate::Qdisc`]. It knows nothing of files.
#![forbid(unsafe_code)]

mod agenda;
mod ends;
mod engine;
mod flight;
mod histogram;
mod line;
mod meters;
mod network;
mod outcome;
mod port;
mod reference;
mod routes;
pub mod sources;
mod wire;

pub use engine::{Simulation, simulate};
pub use histogram::Histogram;
#[doc(hidden)]
pub use meters::Trace;
pub use network::{Flow, FlowId, GroupId, LinkId, LinkSpec, MOST, Network, NodeId};
pub use outcome::{
    Count, Counters, Delay, Delays, FlowOutcome, GaugeSeries, GroupOutcome, LinkOutcome, Outcome, Plan, QueueSeries,
};
#[doc(hidden)]
pub use reference::simulate_by_packet;
pub use sources::{Cbr, Source, Tcp};
