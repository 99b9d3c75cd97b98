//! How far a job has come, for those who look on.
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The least time between two calls of [`Watch::progress`].
const NEWS: Duration = Duration::from_millis(100);

/// How far a job has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Work done over work asked for (of a simulation, simulated time), over all replications: 0
    /// to 1.
    pub fraction: f64,
    /// Replications finished.
    pub done: usize,
    /// Replications in all.
    pub of: usize,
}

/// The time, where there is a clock. A module in a browser has none.
pub(super) fn now() -> Option<Instant> {
    (!cfg!(target_arch = "wasm32")).then(Instant::now)
}

/// Who looks on while a job runs. Called from many threads.
pub trait Watch: Sync {
    /// The job has come so far. Called several times a second or less.
    fn progress(&self, progress: Progress) {
        let _ = progress;
    }
    /// Whether to give up. Asked often; once it says yes, the run returns `RunError::Cancelled`
    /// soon.
    fn cancelled(&self) -> bool {
        false
    }
    /// All that one thread of the job does: must call `work` once. For who has to prepare threads.
    fn thread(&self, work: &mut (dyn FnMut() + Send)) {
        work();
    }
}

/// Nobody looks on.
impl Watch for () {}

/// What there is to tell who looks on at a job of many cells, each done in pieces.
pub(crate) struct News<'w> {
    pub watch: &'w dyn Watch,
    pieces: AtomicU64,
    of_pieces: u64,
    done: AtomicUsize,
    of: usize,
    told: Mutex<Option<Instant>>,
}

impl<'w> News<'w> {
    /// A job of `of` cells and `of_pieces` pieces in all, none of them done.
    pub fn new(watch: &'w dyn Watch, of: usize, of_pieces: u64) -> News<'w> {
        News { watch, pieces: 0.into(), of_pieces, done: 0.into(), of, told: Mutex::new(None) }
    }

    /// One more piece is done.
    pub fn piece(&self) {
        self.pieces(1);
    }

    /// So many more pieces are done.
    pub fn pieces(&self, pieces: u64) {
        self.pieces.fetch_add(pieces, Ordering::Relaxed);
        // Whoever finds the lock taken leaves the telling to the other.
        let Ok(mut told) = self.told.try_lock() else { return };
        if told.is_none_or(|then| then.elapsed() >= NEWS) {
            *told = now();
            self.watch.progress(self.progress());
        }
    }

    /// One more cell is done.
    pub fn cell(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
        self.watch.progress(self.progress());
    }

    /// For news of cells whose pieces each count for `weight` pieces.
    pub fn of_weight(&self, weight: u64) -> Weighted<'_, 'w> {
        Weighted { news: self, weight }
    }

    fn progress(&self) -> Progress {
        let fraction = self.pieces.load(Ordering::Relaxed) as f64 / self.of_pieces.max(1) as f64;
        Progress { fraction, done: self.done.load(Ordering::Relaxed), of: self.of }
    }
}

/// [`News`] of cells whose pieces are each so much work.
#[derive(Clone, Copy)]
pub(crate) struct Weighted<'n, 'w> {
    news: &'n News<'w>,
    weight: u64,
}

impl Weighted<'_, '_> {
    /// Who looks on.
    pub fn watch(&self) -> &dyn Watch {
        self.news.watch
    }

    /// One more piece is done.
    pub fn piece(&self) {
        self.news.pieces(self.weight);
    }

    /// One more cell is done.
    pub fn cell(&self) {
        self.news.cell();
    }
}
