//! A fast, deterministic packet simulator around [`tidegate::Qdisc`]. It knows nothing of files.
#![forbid(unsafe_code)]

mod engine;
mod histogram;
mod network;
mod outcome;
pub mod sources;

pub use engine::{Simulation, simulate};
pub use histogram::Histogram;
pub use network::{Flow, FlowId, GroupId, LinkId, LinkSpec, MOST, Network, NodeId};
pub use outcome::{
    Count, Counters, Delay, Delays, FlowOutcome, GaugeSeries, GroupOutcome, LinkOutcome, Outcome, Plan, QueueSeries,
};
pub use sources::{Cbr, Source, Tcp};
