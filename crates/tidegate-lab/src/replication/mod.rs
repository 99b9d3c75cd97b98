//! Replications of a scenario: what to run, how it went, what was measured, where it is kept.
pub(crate) mod by_seed;
mod configs;
mod course;
mod delays;
mod document;
mod end_to_end;
mod flows;
mod job;
mod run;
mod sample;
mod settled;
pub mod stats;
mod watch;

pub(crate) use configs::{Configs, values};
pub(crate) use document::document;
pub(crate) use flows::BYTES_PER_FLOW_KEPT;
pub use job::{Job, QueueOutcome};
pub(crate) use run::{PIECES, replicate};
pub use run::{RunError, run};
pub(crate) use sample::Sample;
pub(crate) use watch::News;
pub use watch::{Progress, Watch};
