//! What a study needs and its store has not, run on all cores and stored while it goes on.
use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use crate::problem::Problems;
use crate::replication::{News, PIECES, Progress, RunError, Watch};

use super::compute::{Batch, Runner, estimate, pieces};
use super::part::Part;
use super::prepared::Prepared;
use super::rows::Rows;
use super::seeds::Seeds;
use super::shard::Shard;
use super::store::{Store, StoreError};

/// So often what is done is stored.
const STORE_EVERY: Duration = Duration::from_secs(2);
/// So many rows are stored at once, at most.
const STORE_ROWS: usize = 50_000;
/// Rows that wait to be stored, in replications.
const WAITING: usize = 256;

/// How to run a study.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
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

impl Prepared {
    /// What `store`, if there is one, has not of the cases of `shard`, as far as it is known: where
    /// seeds go on until an interval is narrow, more may follow.
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
                Some(rows) => known.push(rows.figure(&until.group, &until.column)),
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
    asked: Asked,
    watch: &dyn Watch,
) -> Result<Swept, SweepError> {
    let begun = Instant::now();
    let mut run = 0;
    let mut had = None;
    loop {
        let missing = prepared.missing(Some(store), asked.shard)?;
        let of: u64 = missing.iter().map(|batch| batch.seeds as u64).sum();
        let had = *had.get_or_insert_with(|| planned(prepared, asked.shard).saturating_sub(of));
        if missing.is_empty() {
            return Ok(Swept { run, had, wall: begun.elapsed() });
        }
        let round = Round { prepared, missing: &missing, threads: threads_of(asked.threads) };
        run += round.go(store, watch)?;
        if watch.cancelled() {
            return Err(SweepError::Cancelled(Swept { run, had, wall: begun.elapsed() }));
        }
    }
}

/// Replications of the cases of `shard` that are sure to be needed.
fn planned(prepared: &Prepared, shard: Shard) -> u64 {
    let cases = (0..prepared.cases()).filter(|case| shard.has(*case)).count() as u64;
    cases * prepared.study.seeds.needed(&[]) as u64
}

/// Batches that are run side by side.
struct Round<'p> {
    prepared: &'p Prepared,
    missing: &'p [Batch],
    threads: usize,
}

impl Round<'_> {
    /// Runs and stores them; how many replications were stored.
    fn go(&self, store: &mut Store, watch: &dyn Watch) -> Result<u64, SweepError> {
        let of: usize = self.missing.iter().map(|batch| batch.seeds as usize).sum();
        let work = |b: &Batch| b.seeds as u64 * pieces(self.prepared.weight(b.case)) * PIECES;
        let stop = AtomicBool::new(false);
        let watch = Stoppable { watch, stop: &stop };
        let news = News::new(&watch, of, self.missing.iter().map(work).sum());
        let next = AtomicUsize::new(0);
        let units = Units::new(self.missing);
        let (send, receive) = sync_channel(WAITING);
        std::thread::scope(|scope| {
            for _ in 0..self.threads {
                let send = send.clone();
                let (news, next, units) = (&news, &next, &units);
                scope.spawn(move || self.work(units, next, news, &send));
            }
            drop(send);
            let stored = self.store(store, &receive);
            // Whoever waits to send must not wait for ever.
            if stored.is_err() {
                stop.store(true, Ordering::Relaxed);
                receive.iter().for_each(drop);
            }
            stored
        })
    }

    fn work(
        &self,
        units: &Units<'_>,
        next: &AtomicUsize,
        news: &News<'_>,
        send: &SyncSender<Result<Rows, Problems>>,
    ) {
        let mut runner = Runner::new(self.prepared);
        while let Some((case, seed)) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
            let rows = match runner.run(case, seed, news) {
                Ok(rows) => Ok(rows),
                Err(RunError::Cancelled) => return,
                Err(RunError::Invalid(problems)) => Err(problems),
            };
            if send.send(rows).is_err() {
                return;
            }
        }
    }

    /// Stores what comes, every few seconds.
    fn store(
        &self,
        store: &mut Store,
        receive: &Receiver<Result<Rows, Problems>>,
    ) -> Result<u64, SweepError> {
        let mut part = Part::empty(self.prepared.study.flows);
        let (mut stored, mut waiting, mut last) = (0, 0, Instant::now());
        loop {
            let wait = STORE_EVERY.saturating_sub(last.elapsed());
            let ended = match receive.recv_timeout(wait) {
                Ok(Ok(rows)) => {
                    part.add(rows);
                    waiting += 1;
                    false
                }
                Ok(Err(problems)) => {
                    store.add(&part)?;
                    return Err(SweepError::Invalid(problems));
                }
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => true,
            };
            if ended || part.rows() >= STORE_ROWS || last.elapsed() >= STORE_EVERY {
                store.add(&part)?;
                part = Part::empty(self.prepared.study.flows);
                (stored, waiting, last) = (stored + waiting, 0, Instant::now());
            }
            if ended {
                return Ok(stored);
            }
        }
    }
}

/// The replications of batches by their place.
struct Units<'b> {
    batches: &'b [Batch],
    /// How many replications stand before each batch.
    before: Vec<usize>,
}

impl<'b> Units<'b> {
    fn new(batches: &'b [Batch]) -> Units<'b> {
        let counted = batches.iter().scan(0, |sum, batch| {
            let before = *sum;
            *sum += batch.seeds as usize;
            Some(before)
        });
        Units { batches, before: counted.collect() }
    }

    /// Case and seed of replication `at`; none behind the last.
    fn get(&self, at: usize) -> Option<(usize, u64)> {
        let batch = self.before.partition_point(|before| *before <= at).checked_sub(1)?;
        let within = at - self.before[batch];
        let Batch { case, seed, seeds } = self.batches[batch];
        (within < seeds as usize).then_some((case, seed + within as u64))
    }
}

/// Who looks on, until the store fails.
struct Stoppable<'w> {
    watch: &'w dyn Watch,
    stop: &'w AtomicBool,
}

impl Watch for Stoppable<'_> {
    fn progress(&self, progress: Progress) {
        self.watch.progress(progress);
    }

    fn cancelled(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.watch.cancelled()
    }
}
