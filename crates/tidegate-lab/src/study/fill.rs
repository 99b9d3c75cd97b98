//! Cases that are known one by one: what a store has not of them is run and stored.
use std::fmt;

use crate::replication::{News, RunError, Watch};
use crate::scenario::Scenario;

use super::batch::Batch;
use super::key::CaseKey;
use super::part::Part;
use super::round::{Round, RoundError};
use super::store::{Store, StoreError};

/// A case, and which of its replications are wanted.
pub(crate) struct Due {
    /// Its name.
    pub key: CaseKey,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// About how much work a replication is; see [`weight`].
    pub weight: u64,
}

/// Why there are no results.
#[derive(Debug)]
pub enum RunsError {
    /// A run failed, or was given up.
    Run(RunError),
    /// The store fails.
    Store(StoreError),
}

impl fmt::Display for RunsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunsError::Run(error) => error.fmt(f),
            RunsError::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RunsError {}

impl From<StoreError> for RunsError {
    fn from(error: StoreError) -> RunsError {
        RunsError::Store(error)
    }
}

impl From<RoundError> for RunsError {
    fn from(error: RoundError) -> RunsError {
        match error {
            RoundError::Invalid(problems) => RunsError::Run(RunError::Invalid(problems)),
            RoundError::Store(error) => RunsError::Store(error),
        }
    }
}

impl From<RunError> for RunsError {
    fn from(error: RunError) -> RunsError {
        RunsError::Run(error)
    }
}

/// Runs what `store` has not of `due` and stores it in parts like `empty`: `one` replication
/// after the other, on all cores, by place and seed. How many were run; where `watch` gives up,
/// that is not all.
///
/// # Errors
/// A case cannot be; the store fails.
pub(crate) fn fill(
    due: &[Due],
    store: &mut Store,
    empty: Part,
    one: &(dyn Fn(usize, u64, &News<'_>) -> Result<Part, RunError> + Sync),
    watch: &dyn Watch,
) -> Result<u64, RoundError> {
    let mut batches = vec![];
    for (case, Due { key, seeds, .. }) in due.iter().enumerate() {
        let done = store.seeds(key)?;
        let missing = seeds.iter().filter(|seed| !done.contains(seed));
        batches.extend(missing.map(|seed| Batch { case, seed: *seed, seeds: 1 }));
    }
    // The longest first, so that no core is left with one at the end.
    batches.sort_by_key(|batch| std::cmp::Reverse(due[batch.case].weight));
    let round = Round {
        batches: &batches,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        weight: &|case| due[case].weight,
        runner: &|| Box::new(one),
    };
    round.go(store, empty, watch)
}

/// About how much work a replication is: thousands of packets that its bottleneck can carry.
pub(crate) fn weight(scenario: &Scenario) -> u64 {
    let link = scenario.bottleneck();
    let packets = link.rate.as_bps() as f64 * scenario.run.duration.as_secs()
        / link.mean_packet.bits() as f64;
    1 + (packets / 1e3) as u64
}
