//! Replications: every queue with every seed, side by side on all cores.
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use tidegate::catalog::AnyConfig;
use tidegate::{ConfigError, Link, Seed, Time};
use tidegate_report::{Document, Series};
use tidegate_sim::{Delays, Simulation};

use crate::check::refused;
use crate::plan::Plan;
use crate::problem::{Place, Problem, Problems};
use crate::sample::{Sample, series};
use crate::scenario::{Network, Scenario, possible};
use crate::spec::QueueSpec;
use crate::{document, lower};

/// Pieces that a replication is run in, to look up between them.
pub(crate) const PIECES: u64 = 200;
/// The least time between two calls of [`Watch::progress`].
const NEWS: Duration = Duration::from_millis(100);

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

/// Who looks on while a job runs. Called from many threads.
pub trait Watch: Sync {
    /// The job has come so far. Called several times a second or less.
    fn progress(&self, progress: Progress) {
        let _ = progress;
    }
    /// Whether to give up. Asked often; once it says yes, [`run`] returns [`RunError::Cancelled`]
    /// soon.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Nobody looks on.
impl Watch for () {}

/// One queue's result.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Figures over all seeds.
    pub document: Document,
    /// What happened over time with the first seed; empty unless the job asked for it.
    pub series: Series,
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq)]
pub enum RunError {
    /// A queue or the network cannot be.
    Invalid(Problems),
    /// [`Watch::cancelled`] said so.
    Cancelled,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Invalid(problems) => problems.fmt(f),
            RunError::Cancelled => f.write_str("cancelled; nothing was written"),
        }
    }
}

impl std::error::Error for RunError {}

/// Runs every queue of `job` with every seed; one outcome per queue, in order.
///
/// # Errors
/// A queue that does not exist or whose parameters cannot be; cancelled by `watch`.
pub fn run(job: &Job, watch: &dyn Watch) -> Result<Vec<Outcome>, RunError> {
    QueueSpec::distinct(&job.queues)
        .map_err(|(spec, error)| RunError::Invalid(refused(spec, error)))?;
    let queues = job
        .queues
        .iter()
        .map(|spec| Configs::new(&job.scenario, spec))
        .collect::<Result<Vec<_>, _>>();
    let queues = queues.map_err(RunError::Invalid)?;
    let seeds = job.scenario.seeds();
    let cells: Vec<(usize, usize)> =
        (0..queues.len()).flat_map(|q| (0..seeds.len()).map(move |s| (q, s))).collect();
    let news = News::new(watch, cells.len(), cells.len() as u64 * PIECES);
    let threads = rayon::ThreadPoolBuilder::new().num_threads(job.threads.unwrap_or(0)).build();
    let threads = threads.map_err(|error| RunError::Invalid(whole(&error.to_string())))?;
    let begin = Instant::now();
    let cell = |&(q, s): &(usize, usize)| {
        let from = begin.elapsed();
        let (sample, series) =
            replicate(job, &queues[q], seeds[s], job.series && s == 0, &news.of_weight(1))?;
        Ok(Cell { sample, series, from, to: begin.elapsed() })
    };
    let done: Result<Vec<Cell>, RunError> =
        threads.install(|| cells.par_iter().map(cell).collect());
    let mut done = done?.into_iter();
    let outcome = |queue: &Configs| {
        let cells: Vec<Cell> = done.by_ref().take(seeds.len()).collect();
        let from = cells.iter().map(|c| c.from).min().unwrap_or_default();
        let to = cells.iter().map(|c| c.to).max().unwrap_or_default();
        let series = cells.first().and_then(|c| c.series.clone()).unwrap_or_default();
        let samples: Vec<Sample> = cells.into_iter().map(|c| c.sample).collect();
        let mut document = document::document(job, &queue.spec, &queue.watched, &samples);
        document.wall_s = Some(to.saturating_sub(from).as_secs_f64());
        Outcome { document, series }
    };
    let outcomes = queues.iter().map(outcome).collect();
    // Whoever gave up at the very end gets no result either.
    if watch.cancelled() { Err(RunError::Cancelled) } else { Ok(outcomes) }
}

/// A finished replication.
struct Cell {
    sample: Sample,
    series: Option<Series>,
    from: Duration,
    to: Duration,
}

/// A queue that is tried, with its parameters on every managed link.
pub(crate) struct Configs {
    pub spec: QueueSpec,
    /// On the watched link.
    pub watched: AnyConfig,
    /// On each link of the network's description that has a queue, in order.
    pub links: Vec<AnyConfig>,
}

impl Configs {
    pub fn new(scenario: &Scenario, spec: &QueueSpec) -> Result<Configs, Problems> {
        let on = |spec: &QueueSpec, link: &Link| {
            possible(spec, link).map_err(|error| refused(spec, error))
        };
        let watched = on(spec, &scenario.bottleneck())?;
        let links = match &scenario.network {
            Network::Dumbbell(_) => vec![watched.clone()],
            Network::Graph(graph) => {
                // The queue that is tried is the watched link's, and that of the links that name
                // none. Where the watched link's own queue is run, the others keep
                // the scenario's.
                let shared = if scenario.watched_queue.is_some() { &scenario.queue } else { spec };
                let managed = graph.links.iter().filter_map(|line| {
                    let link = Link {
                        rate: line.rate,
                        limit: line.limit?,
                        mean_packet: graph.mean_packet,
                    };
                    let there =
                        if line.watch { spec } else { line.queue.as_ref().unwrap_or(shared) };
                    Some(on(there, &link))
                });
                managed.collect::<Result<_, _>>()?
            }
        };
        Ok(Configs { spec: spec.clone(), watched, links })
    }
}

/// One replication.
pub(crate) fn replicate(
    job: &Job,
    queue: &Configs,
    seed: u64,
    with_series: bool,
    news: &Weighted<'_, '_>,
) -> Result<(Sample, Option<Series>), RunError> {
    let Weighted { news, weight } = *news;
    if news.watch.cancelled() {
        return Err(RunError::Cancelled);
    }
    let scenario = &job.scenario;
    let seed = Seed::new(seed);
    let plan = Plan::new(scenario, seed);
    let invalid = |error: ConfigError| RunError::Invalid(whole(&error.to_string()));
    let network = lower::network(scenario, &plan, queue, seed).map_err(invalid)?;
    let end = Time::ZERO + scenario.run.duration;
    let what = tidegate_sim::Plan {
        warmup: Time::ZERO + scenario.run.warmup,
        end,
        step: (with_series || grid_is_cheap(scenario)).then_some(scenario.run.series),
        rate_window: Some(scenario.run.rate_window),
        delays: if job.flows { Delays::Flows } else { Delays::Groups },
    };
    let mut simulation = Simulation::new(network, what, seed).map_err(invalid)?;
    for piece in 1..=PIECES {
        simulation.run_until(Time::from_nanos(
            (end.as_nanos() as u128 * piece as u128 / PIECES as u128) as u64,
        ));
        news.pieces(weight);
        if news.watch.cancelled() {
            return Err(RunError::Cancelled);
        }
    }
    let outcome = simulation.finish();
    let sample = Sample::new(scenario, &plan, &outcome, job.flows);
    news.cell();
    Ok((sample, with_series.then(|| series(seed.get(), &plan, &outcome))))
}

/// At most so many readings are taken only to see whether the groups had settled.
const READINGS: u64 = 1_000_000;

/// Whether the grid of time may be read although nobody asked for what it shows. It hangs on the
/// scenario alone, so that the document is the same with series and without.
pub(crate) fn grid_is_cheap(scenario: &Scenario) -> bool {
    let points = scenario.run.duration.as_nanos() / scenario.run.series.as_nanos().max(1);
    points.saturating_mul(scenario.groups.len().max(1) as u64) <= READINGS
}

fn whole(why: &str) -> Problems {
    Problems::one(Problem {
        place: Place::File("network".into()),
        field: "".into(),
        value: "".into(),
        why: why.into(),
    })
}

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
            *told = Some(Instant::now());
            self.watch.progress(self.progress());
        }
    }

    /// One more cell is done.
    pub fn cell(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
        self.watch.progress(self.progress());
    }

    /// To tell of cells each piece of which counts for `weight` pieces.
    pub fn of_weight(&self, weight: u64) -> Weighted<'_, 'w> {
        Weighted { news: self, weight }
    }

    fn progress(&self) -> Progress {
        let fraction = self.pieces.load(Ordering::Relaxed) as f64 / self.of_pieces.max(1) as f64;
        Progress { fraction, done: self.done.load(Ordering::Relaxed), of: self.of }
    }
}

/// [`News`] of cells of which each piece is so much work.
#[derive(Clone, Copy)]
pub(crate) struct Weighted<'n, 'w> {
    news: &'n News<'w>,
    weight: u64,
}
