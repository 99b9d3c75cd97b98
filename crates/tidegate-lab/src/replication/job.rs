//! What to run, and what comes of it.
use tidegate_report::{Document, Series, Tidy};

use crate::scenario::Scenario;
use crate::spec::QueueSpec;

/// What to run.
#[derive(Clone, Debug)]
pub struct Job {
    /// The scenario; its `run.seeds` and `run.seed` hold.
    pub scenario: Scenario,
    /// The queues, one result each.
    pub queues: Vec<QueueSpec>,
    /// Whether the documents list each flow.
    pub flows: bool,
    /// Whether the outcomes have what happened over time.
    pub series: bool,
    /// Number of threads; as many as there are cores when `None`. The result is the same, `wall_s`
    /// apart.
    pub threads: Option<usize>,
}

/// One queue's result.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueOutcome {
    /// Figures over all seeds.
    pub document: Document,
    /// What happened over time with the first seed; empty unless the job asked for it.
    pub series: Series,
    /// What each seed says of each group; empty where no dice were rolled.
    pub by_seed: Tidy,
}

/// At most so many readings are taken only to see whether the groups had settled.
const READINGS: u64 = 1_000_000;

/// Whether the grid of time may be read although nobody asked for what it shows. It hangs on the
/// scenario alone, so that the document is the same with series and without.
pub(crate) fn grid_is_cheap(scenario: &Scenario) -> bool {
    let points = scenario.run.duration.as_nanos() / scenario.run.series.as_nanos().max(1);
    points.saturating_mul(scenario.groups.len().max(1) as u64) <= READINGS
}
