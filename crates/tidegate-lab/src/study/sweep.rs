//! What a study needs and its store has not, run on all cores and stored while it goes on.
use std::collections::BTreeSet;
use std::fmt;
use std::time::{Duration, Instant};

use crate::problem::Problems;
use crate::replication::Watch;

use super::batch::Batch;
use super::compute::{CaseRunner, estimate, pieces};
use super::prepared::Prepared;
use super::round::{Round, RoundError};
use super::rows;
use super::seeds::Seeds;
use super::shard::Shard;
use super::store::{Store, StoreError};

/// How to run a study.
#[derive(Clone, Copy, Debug)]
pub struct SweepRequest {
    /// Number of threads; as many as there are cores when `None`. The results are the same.
    pub threads: Option<usize>,
    /// Which part of the study.
    pub shard: Shard,
}

/// How a study went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Swept {
    /// Replications that were run.
    pub run: u64,
    /// Replications that the store had already.
    pub had: u64,
    /// The time that it took.
    pub wall: Duration,
}

/// Why a study is not done.
#[derive(Debug)]
pub enum SweepError {
    /// A cell cannot be.
    Invalid(Problems),
    /// The store fails.
    Store(StoreError),
    /// Somebody gave up; what was done is stored.
    Cancelled(Swept),
}

impl fmt::Display for SweepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SweepError::Invalid(problems) => problems.fmt(f),
            SweepError::Store(error) => error.fmt(f),
            SweepError::Cancelled(swept) => write!(
                f,
                "stopped; {} replications are stored, and the same command goes on from there",
                swept.run + swept.had
            ),
        }
    }
}

impl std::error::Error for SweepError {}

impl From<StoreError> for SweepError {
    fn from(error: StoreError) -> SweepError {
        SweepError::Store(error)
    }
}

impl From<RoundError> for SweepError {
    fn from(error: RoundError) -> SweepError {
        match error {
            RoundError::Invalid(problems) => SweepError::Invalid(problems),
            RoundError::Store(error) => SweepError::Store(error),
        }
    }
}

impl Prepared {
    /// The cases of `shard` that `store`, if there is one, does not have, as far as that is known.
    /// Where seeds go on until an interval is narrow, more may follow.
    ///
    /// # Errors
    /// The store fails.
    pub fn missing(
        &self,
        mut store: Option<&mut Store>,
        shard: Shard,
    ) -> Result<Vec<Batch>, StoreError> {
        let mut missing = vec![];
        let mut listed = BTreeSet::new();
        for case in (0..self.cases()).filter(|case| shard.has(*case)) {
            // Two queues may be the same but for their labels.
            if !listed.insert(self.key(case)) {
                continue;
            }
            let (done, known) = match &mut store {
                Some(store) => (store.seeds(&self.key(case))?, self.known(case, store)?),
                None => (vec![], vec![]),
            };
            let needed = self.study.seeds.needed(&known) as u64;
            let wanted = self.study.first_seed..self.study.first_seed + needed;
            for seed in wanted.filter(|seed| done.binary_search(seed).is_err()) {
                match missing.last_mut() {
                    Some(Batch { case: last, seed: first, seeds })
                        if *last == case && *first + *seeds as u64 == seed =>
                    {
                        *seeds += 1;
                    }
                    _ => missing.push(Batch { case, seed, seeds: 1 }),
                }
            }
        }
        Ok(missing)
    }

    /// Replications of the cases of `shard` that are sure to be needed.
    pub fn planned(&self, shard: Shard) -> u64 {
        let cases = (0..self.cases()).filter(|case| shard.has(*case)).count() as u64;
        cases * self.study.seeds.needed(&[]) as u64
    }

    /// The figure that says whether there are enough seeds, of those that are done without a gap.
    pub(super) fn known(
        &self,
        case: usize,
        store: &mut Store,
    ) -> Result<Vec<Option<f64>>, StoreError> {
        let Seeds::Until(until) = &self.study.seeds else { return Ok(vec![]) };
        let mut known = vec![];
        while known.len() < until.most as usize {
            let seed = self.study.first_seed + known.len() as u64;
            match store.rows(&self.key(case), seed)? {
                Some(rows) => known.push(rows::figure(&rows, &until.group, &until.column)),
                None => break,
            }
        }
        Ok(known)
    }

    /// The time that a sample of what is missing says it takes on `threads` threads.
    ///
    /// # Errors
    /// A cell that cannot be.
    pub fn estimate(
        &self,
        missing: &[Batch],
        threads: Option<usize>,
        watch: &dyn Watch,
    ) -> Result<Option<Duration>, Problems> {
        let one = estimate(self, missing, Duration::from_secs(1), watch)?;
        Ok(one.map(|one| one / threads_of(threads) as u32))
    }
}

fn threads_of(asked: Option<usize>) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    asked.unwrap_or_else(cores).max(1)
}

/// Runs what `store` has not of `prepared`. What is done is stored every few seconds.
///
/// # Errors
/// The store fails; a cell cannot be; `watch` gives up. What was done before is stored.
pub fn sweep(
    prepared: &Prepared,
    store: &mut Store,
    asked: SweepRequest,
    watch: &dyn Watch,
) -> Result<Swept, SweepError> {
    let begun = Instant::now();
    let mut run = 0;
    let mut had = None;
    loop {
        let missing = prepared.missing(Some(store), asked.shard)?;
        let of: u64 = missing.iter().map(|batch| batch.seeds as u64).sum();
        let had = *had.get_or_insert_with(|| prepared.planned(asked.shard).saturating_sub(of));
        if missing.is_empty() {
            return Ok(Swept { run, had, wall: begun.elapsed() });
        }
        let round = Round {
            batches: &missing,
            threads: threads_of(asked.threads),
            weight: &|case| pieces(prepared.weight(case)),
            runner: &|| {
                let mut runner = CaseRunner::new(prepared);
                Box::new(move |case, seed, news| runner.run(case, seed, news))
            },
        };
        run += round.go(store, rows::empty(), watch)?;
        if watch.cancelled() {
            return Err(SweepError::Cancelled(Swept { run, had, wall: begun.elapsed() }));
        }
    }
}
