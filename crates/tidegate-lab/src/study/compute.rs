//! Replications of a study, run.
use std::time::{Duration, Instant};

use crate::problem::Problems;
use crate::replication::{News, RunError, Watch, replicate};

use super::batch::Batch;
use super::part::Part;
use super::prepared::{Case, Prepared};
use super::rows;

/// Runs replications one after the other and keeps the last case, which the next one may be, too.
pub(super) struct CaseRunner<'p> {
    prepared: &'p Prepared,
    case: Option<Case>,
}

impl<'p> CaseRunner<'p> {
    pub fn new(prepared: &'p Prepared) -> CaseRunner<'p> {
        CaseRunner { prepared, case: None }
    }

    /// The rows of the replication of `case` with `seed`.
    pub fn run(&mut self, case: usize, seed: u64, news: &News<'_>) -> Result<Part, RunError> {
        let case = match self.case.take().filter(|known| known.index == case) {
            Some(known) => known,
            None => self.prepared.case(case).map_err(RunError::Invalid)?,
        };
        let weight = pieces(self.prepared.weight(case.index));
        let done = replicate(&case.job, &case.configs, seed, false, &news.of_weight(weight));
        let rows = done.map(|(sample, _)| case.rows(seed, &sample));
        self.case = Some(case);
        rows
    }
}

/// A weight as a whole number of units of work.
pub(super) fn pieces(weight: f64) -> u64 {
    (weight * 100.0) as u64 + 1
}

/// Runs `batches` one after the other on this thread; their rows.
///
/// # Errors
/// A cell that cannot be; cancelled by `watch`.
pub fn compute(
    prepared: &Prepared,
    batches: &[Batch],
    watch: &dyn Watch,
) -> Result<Part, RunError> {
    let of: usize = batches.iter().map(|batch| batch.seeds as usize).sum();
    let work = |batch: &Batch| batch.seeds as u64 * pieces(prepared.weight(batch.case));
    let all = batches.iter().map(work).sum::<u64>() * crate::replication::PIECES;
    let news = News::new(watch, of, all);
    let mut runner = CaseRunner::new(prepared);
    let mut part = rows::empty();
    for batch in batches {
        for seed in batch.seed..batch.seed + batch.seeds as u64 {
            part.append(runner.run(batch.case, seed, &news)?);
        }
    }
    Ok(part)
}

/// The time that a sample of `batches` says they take on one thread; none of nothing. Tries for
/// `patience` or little more.
///
/// # Errors
/// As [`compute`].
pub(super) fn estimate(
    prepared: &Prepared,
    batches: &[Batch],
    patience: Duration,
    watch: &dyn Watch,
) -> Result<Option<Duration>, Problems> {
    /// The most replications that are tried.
    const TRIES: usize = 12;
    let weight = |batch: &Batch| batch.seeds as f64 * prepared.weight(batch.case);
    let all: f64 = batches.iter().map(weight).sum();
    let begun = Instant::now();
    let (mut tried, mut runner) = (0.0, CaseRunner::new(prepared));
    let news = News::new(watch, TRIES, u64::MAX);
    // Evenly over the study, so that all scenarios and queues have their say.
    for attempt in 0..TRIES.min(batches.len()) {
        let batch = &batches[attempt * batches.len() / TRIES.min(batches.len())];
        match runner.run(batch.case, batch.seed, &news) {
            Ok(_) => tried += prepared.weight(batch.case),
            Err(RunError::Cancelled) => return Ok(None),
            Err(RunError::Invalid(problems)) => return Err(problems),
        }
        if begun.elapsed() > patience {
            break;
        }
    }
    let of_one = begun.elapsed().as_secs_f64() / tried;
    Ok((tried > 0.0).then(|| Duration::from_secs_f64((of_one * all).min(1e12))))
}
