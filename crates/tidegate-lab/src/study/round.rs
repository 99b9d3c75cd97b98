//! Replications run side by side and stored while they come: the one engine of many runs.
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use crate::problem::Problems;
use crate::replication::{News, PIECES, Progress, RunError, Watch};

use super::batch::Batch;
use super::part::Part;
use super::store::{Store, StoreError};

/// So often what is done is stored.
const STORE_EVERY: Duration = Duration::from_secs(2);
/// So many rows are stored at once, at most.
const STORE_ROWS: usize = 50_000;
/// Rows that wait to be stored, in replications.
const WAITING: usize = 256;

/// Runs one replication of a case after the other: case, seed and who looks on.
pub(crate) type Runner<'r> = Box<dyn FnMut(usize, u64, &News<'_>) -> Result<Part, RunError> + 'r>;

/// Batches that are run side by side.
pub(crate) struct Round<'r> {
    /// What is run, in this order.
    pub batches: &'r [Batch],
    /// On so many threads.
    pub threads: usize,
    /// About how much work a replication of a case is.
    pub weight: &'r (dyn Fn(usize) -> u64 + Sync),
    /// A runner for a thread.
    pub runner: &'r (dyn Fn() -> Runner<'r> + Sync),
}

/// Why a round did not come to its end.
#[derive(Debug)]
pub(crate) enum RoundError {
    /// A case cannot be.
    Invalid(Problems),
    /// The store fails.
    Store(StoreError),
}

impl From<StoreError> for RoundError {
    fn from(error: StoreError) -> RoundError {
        RoundError::Store(error)
    }
}

impl Round<'_> {
    /// Runs and stores them, in parts like `empty`; how many replications were stored. Where
    /// `watch` gives up, that is not all.
    pub fn go(&self, store: &mut Store, empty: Part, watch: &dyn Watch) -> Result<u64, RoundError> {
        let of: usize = self.batches.iter().map(|batch| batch.seeds as usize).sum();
        let work = |batch: &Batch| batch.seeds as u64 * (self.weight)(batch.case) * PIECES;
        let stop = AtomicBool::new(false);
        let watch = Stoppable { watch, stop: &stop };
        let news = News::new(&watch, of, self.batches.iter().map(work).sum());
        let next = AtomicUsize::new(0);
        let units = Units::new(self.batches);
        let (send, receive) = sync_channel(WAITING);
        std::thread::scope(|scope| {
            for _ in 0..self.threads {
                let send = send.clone();
                let (news, next, units) = (&news, &next, &units);
                scope.spawn(move || {
                    news.watch.thread(&mut || self.work(units, next, news, &send));
                });
            }
            drop(send);
            let stored = self.store(store, empty, &receive);
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
        send: &SyncSender<Result<Part, Problems>>,
    ) {
        let mut runner = (self.runner)();
        while let Some((case, seed)) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
            let rows = match runner(case, seed, news) {
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
        empty: Part,
        receive: &Receiver<Result<Part, Problems>>,
    ) -> Result<u64, RoundError> {
        let mut part = empty.clone();
        let (mut stored, mut waiting, mut last) = (0, 0, Instant::now());
        loop {
            let wait = STORE_EVERY.saturating_sub(last.elapsed());
            let ended = match receive.recv_timeout(wait) {
                Ok(Ok(rows)) => {
                    part.append(rows);
                    waiting += 1;
                    false
                }
                Ok(Err(problems)) => {
                    store.add(&part)?;
                    return Err(RoundError::Invalid(problems));
                }
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => true,
            };
            if ended || part.len() >= STORE_ROWS || last.elapsed() >= STORE_EVERY {
                store.add(&part)?;
                part = empty.clone();
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

    fn thread(&self, work: &mut (dyn FnMut() + Send)) {
        self.watch.thread(work);
    }
}
