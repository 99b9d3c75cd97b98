//! Replications: every queue with every seed, side by side on all cores.
use std::fmt;
use std::time::Duration;

use tidegate::{ConfigError, Seed, Span, Time};
use tidegate_engine::{Held, Run};
use tidegate_report::Series;
use tidegate_sim::{Delays, Network};

use super::by_seed;
use super::configs::{Chosen, Configs};
use super::document;
use super::job::{Job, QueueOutcome, grid_is_cheap};
use super::sample::{Sample, series};
use super::watch::{News, Watch, Weighted, now};
use crate::layout::{self, SeedPlan};
use crate::problem::{Place, Problem, Problems};
use crate::spec::QueueSpec;

/// Pieces that a replication is run in, to look up between them.
pub(crate) const PIECES: u64 = 200;

/// The most simulated time between two looks: a long run is given up as soon as a short one.
const LOOK_UP: Span = Span::from_millis(10_000);

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
pub fn run(job: &Job, watch: &dyn Watch) -> Result<Vec<QueueOutcome>, RunError> {
    QueueSpec::distinct(&job.queues)
        .map_err(|(spec, error)| RunError::Invalid(spec.refused(error)))?;
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
    let begin = now();
    let cell = |&(q, s): &(usize, usize)| {
        let since = || begin.map(|begin| begin.elapsed());
        let from = since();
        let (sample, series) =
            replicate(job, &queues[q], seeds[s], job.series && s == 0, &news.of_weight(1))?;
        Ok(Cell { sample, series, from, to: since() })
    };
    let mut done = each(job, watch, &cells, cell)?.into_iter();
    let outcome = |queue: &Configs| {
        let cells: Vec<Cell> = done.by_ref().take(seeds.len()).collect();
        let from = cells.iter().filter_map(|c| c.from).min();
        let to = cells.iter().filter_map(|c| c.to).max();
        let series = cells.first().and_then(|c| c.series.clone()).unwrap_or_default();
        let samples: Vec<Sample> = cells.into_iter().map(|c| c.sample).collect();
        let mut document = document::document(job, &queue.spec, &queue.watched, &samples);
        document.wall_s = from.zip(to).map(|(from, to)| to.saturating_sub(from).as_secs_f64());
        let by_seed = by_seed::table(&job.scenario, &samples);
        QueueOutcome { document, series, by_seed }
    };
    let outcomes = queues.iter().map(outcome).collect();
    // Whoever gave up at the very end gets no result either.
    if watch.cancelled() { Err(RunError::Cancelled) } else { Ok(outcomes) }
}

/// A finished replication, and when it began and ended, where there is a clock.
struct Cell {
    sample: Sample,
    series: Option<Series>,
    from: Option<Duration>,
    to: Option<Duration>,
}

/// Does all `cells` of `job` side by side, in order.
#[cfg(feature = "full")]
fn each(
    job: &Job,
    watch: &dyn Watch,
    cells: &[(usize, usize)],
    cell: impl Fn(&(usize, usize)) -> Result<Cell, RunError> + Sync + Send,
) -> Result<Vec<Cell>, RunError> {
    use rayon::prelude::*;
    use rayon::{ThreadBuilder, ThreadPoolBuilder};
    let thread = |thread: ThreadBuilder| {
        let mut thread = Some(thread);
        watch.thread(&mut || thread.take().into_iter().for_each(ThreadBuilder::run));
    };
    ThreadPoolBuilder::new()
        .num_threads(job.threads.unwrap_or(0))
        .build_scoped(thread, |pool| pool.install(|| cells.par_iter().map(cell).collect()))
        .map_err(|error| RunError::Invalid(whole(&error.to_string())))?
}

/// Does all `cells`, one after the other.
#[cfg(not(feature = "full"))]
fn each(
    _: &Job,
    _: &dyn Watch,
    cells: &[(usize, usize)],
    cell: impl Fn(&(usize, usize)) -> Result<Cell, RunError>,
) -> Result<Vec<Cell>, RunError> {
    cells.iter().map(cell).collect()
}

/// One replication.
pub(crate) fn replicate(
    job: &Job,
    queue: &Configs,
    seed: u64,
    with_series: bool,
    news: &Weighted<'_, '_>,
) -> Result<(Sample, Option<Series>), RunError> {
    if news.watch().cancelled() {
        return Err(RunError::Cancelled);
    }
    let scenario = &job.scenario;
    let seed = Seed::new(seed);
    let plan = SeedPlan::new(scenario, seed);
    let shares = plan.fair_shares(scenario);
    let end = Time::ZERO + scenario.run.duration;
    let what = tidegate_sim::Plan {
        warmup: Time::ZERO + scenario.run.warmup,
        end,
        step: (with_series || grid_is_cheap(scenario)).then_some(scenario.run.series),
        rate_window: Some(scenario.run.rate_window),
        delays: if job.flows { Delays::Flows } else { Delays::Groups },
    };
    let build = |link: usize, to, dice| queue.links[link].build(to, dice);
    let forged = layout::forged(scenario, &plan, seed, queue.watched.config());
    let mut network = layout::network(scenario, &plan, seed, &forged, build).map_err(invalid)?;
    queue.links.iter().filter_map(Chosen::config).for_each(|config| network.ask(config.asks()));
    network.idle_ways(plan.idle_ways(scenario));
    network.fair_shares(plan.entitlements(scenario, &shares));
    let outcome = simulate(network, what, seed, news)?;
    let sample = Sample::new(&plan, &shares, &outcome, job.flows);
    news.cell();
    Ok((sample, with_series.then(|| series(seed.get(), &plan, &outcome))))
}

/// Runs `network`, in pieces.
fn simulate(
    network: Network<Held>,
    what: tidegate_sim::Plan,
    seed: Seed,
    news: &Weighted<'_, '_>,
) -> Result<tidegate_sim::Outcome, RunError> {
    let end = what.end.as_nanos() as u128;
    let mut simulation = Run::new(network, what, seed).map_err(invalid)?;
    let mut now = Time::ZERO;
    for piece in 1..=PIECES {
        let until = Time::from_nanos((end * piece as u128 / PIECES as u128) as u64);
        while now < until {
            now = until.min(now + LOOK_UP);
            simulation.run_until(now);
            if news.watch().cancelled() {
                return Err(RunError::Cancelled);
            }
        }
        news.piece();
    }
    Ok(simulation.finish())
}

fn invalid(error: ConfigError) -> RunError {
    RunError::Invalid(whole(&error.to_string()))
}

fn whole(why: &str) -> Problems {
    Problems::one(Problem {
        place: Place::File("network".into()),
        field: "".into(),
        value: "".into(),
        why: why.into(),
    })
}
