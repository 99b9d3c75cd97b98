//! Experiments: scenarios in, replications on all cores, figures with intervals out.
//!
//! [`Scenario`] reads the TOML of `docs/reference/scenarios.md` (every quantity with its unit,
//! unknown keys
//! refused, errors with the place) by the [`reader`] that other files can be read by, too;
//! [`advise`](mod@advise) says which queue would help the senders of a capture;
//! [`check`](mod@check) derives what a reader would work out by hand; [`run()`] simulates every
//! queue with every seed and yields [`tidegate_report`] documents; [`paper`] sets figures beside
//! those that papers print; [`sketch`] measures how well flows are counted; [`results`] writes a
//! result directory whole or not at all. Nothing here prints.
//!
//! Without the feature `full`, which is on by default, there is what a module in a browser needs: a
//! scenario in, documents out, in one thread.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(feature = "full"),
    allow(dead_code, unused_imports, reason = "what papers and studies also use")
)]

#[cfg(feature = "full")]
pub mod advise;
pub mod check;
pub mod command;
#[cfg(feature = "full")]
pub mod folder;
pub mod foreign;
mod label;
mod layout;
#[cfg(feature = "full")]
pub mod linux;
pub mod nearest;
mod open;
#[cfg(feature = "full")]
pub mod paper;
#[cfg(feature = "full")]
pub mod print;
pub mod problem;
pub mod reader;
#[cfg(feature = "full")]
pub mod replay;
mod replication;
#[cfg(feature = "full")]
pub mod results;
#[cfg(feature = "full")]
pub mod saved;
pub mod scenario;
pub mod shipped;
#[cfg(feature = "full")]
pub mod show;
#[cfg(feature = "full")]
pub mod sketch;
pub mod spec;
#[cfg(feature = "full")]
pub mod study;
#[cfg(feature = "full")]
pub mod suite;

pub use check::{Check, check, skipped};
pub use layout::overloads;
pub use problem::{Place, Problem, Problems};
pub use reader::Override;
#[cfg(feature = "full")]
pub use replay::{ReplayError, ReplayJob, Replayed, replay};
pub use replication::{Job, Progress, QueueOutcome, RunError, Watch, run, stats};
#[cfg(feature = "full")]
pub use results::WriteError;
pub use scenario::Scenario;
pub use spec::QueueSpec;
