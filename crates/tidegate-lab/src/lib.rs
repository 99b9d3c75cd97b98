//! Experiments: scenarios in, replications on all cores, figures with intervals out.
//!
//! [`Scenario`] reads the TOML of `docs/reference/scenarios.md` (every quantity with its unit,
//! unknown keys
//! refused, errors with the place) by the [`reader`] that other files can be read by, too;
//! [`check`](mod@check) derives what a reader would work out by hand; [`run()`] simulates every
//! queue with every seed and yields [`tidegate_report`] documents; [`paper`] sets figures beside
//! those that papers print; [`sketch`] measures how well flows are counted; [`results`] writes a
//! result directory whole or not at all. Nothing here prints.
#![forbid(unsafe_code)]

pub mod check;
pub mod foreign;
mod label;
mod layout;
pub mod nearest;
pub mod paper;
pub mod print;
pub mod problem;
pub mod reader;
pub mod replay;
mod replication;
pub mod results;
pub mod saved;
pub mod scenario;
pub mod shipped;
pub mod show;
pub mod sketch;
pub mod spec;
pub mod study;

pub use check::{Check, check, skipped};
pub use layout::overloads;
pub use problem::{Place, Problem, Problems};
pub use reader::Set;
pub use replay::{Replay, ReplayError, Replayed, replay};
pub use replication::{Job, Outcome, Progress, RunError, Watch, run, stats};
pub use results::WriteError;
pub use scenario::Scenario;
pub use spec::QueueSpec;
