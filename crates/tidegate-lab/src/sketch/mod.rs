//! How well the estimators of the number of flows estimate: every method on the same packets, for
//! few flows and for a million, sent evenly and not.
//!
//! In each replication a number of flows may send, and packets are drawn. The estimate after the
//! last of them is held against the number of different flows that did send, which is counted.
//! There are four packets a flow and 10 000 at the least: a second of a 80 Mbit/s link, twice what
//! CARE's list looks back.
//!
//! ```
//! use tidegate_lab::sketch::{Method, Skew, Trials, run};
//! let table = run(&Trials { flows: vec![100], seeds: 5, seed: 1 }, &()).unwrap();
//! let row = table.row(Method::MinCountCensored, Skew::Equal, 100).unwrap();
//! assert!(row.rmse < 0.02);
//! ```
mod counters;
mod traffic;

use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde::Serialize;
use tidegate::Seed;

use crate::replication::stats;
use crate::replication::{News, Watch};
pub use counters::Method;
use traffic::Population;
pub use traffic::Skew;

/// The schema of [`SketchTable`] as JSON.
pub const SCHEMA: &str = include_str!("../../schema/tidegate.sketch-1.json");

/// Packets for each flow that may send.
const PACKETS_PER_FLOW: u64 = 4;
/// Packets at the least.
const LEAST_PACKETS: u64 = 10_000;
/// Packets that a counter is shown at once, between two looks at the clock.
const BATCH: usize = 4096;

/// What to find out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trials {
    /// Numbers of flows that may send, ascending.
    pub flows: Vec<u64>,
    /// Replications.
    pub seeds: u32,
    /// Seed of the first replication; the others take the next ones.
    pub seed: u64,
}

/// What came of it. Fields may be added, never changed: `schema/tidegate.sketch-1.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SketchTable {
    /// `tidegate.sketch/1`.
    pub schema: &'static str,
    /// Seeds of the replications.
    pub seeds: Vec<u64>,
    /// One a method, a skew and a number of flows, in this order.
    pub rows: Vec<SketchRow>,
}

/// How well a method counts flows of one number and one skew.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SketchRow {
    /// The method.
    pub estimator: Method,
    /// How unevenly flows send.
    pub skew: Skew,
    /// Flows that may send.
    pub flows: u64,
    /// Packets drawn.
    pub packets: u64,
    /// Flows that did send: the truth, its mean over the replications.
    pub sent: f64,
    /// Mean of estimate / truth − 1.
    pub bias: f64,
    /// Root of the mean square of estimate / truth − 1.
    pub rmse: f64,
    /// State at the end, in bytes, the most over the replications.
    pub state_bytes: u64,
    /// Time for a packet in nanoseconds, the least over the replications. Measured, so no two runs
    /// share it.
    pub ns_per_packet: f64,
}

/// [`Watch::cancelled`] said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

/// One replication of one method.
struct SketchSample {
    estimate: f64,
    truth: f64,
    bytes: u64,
    ns: f64,
}

fn packets(flows: u64) -> u64 {
    (flows * PACKETS_PER_FLOW).max(LEAST_PACKETS)
}

/// Runs `study` on all cores. The same seeds give the same table, except `ns_per_packet`.
///
/// # Errors
/// Cancelled by `watch`.
pub fn run(study: &Trials, watch: &dyn Watch) -> Result<SketchTable, Cancelled> {
    let seeds: Vec<u64> = (0..study.seeds as u64).map(|n| study.seed + n).collect();
    let populations: Vec<(Skew, u64, Population)> = Skew::ALL
        .into_iter()
        .flat_map(|skew| {
            study.flows.iter().map(move |&flows| (skew, flows, Population::new(flows, skew)))
        })
        .collect();
    let cells: Vec<(usize, u64)> =
        (0..populations.len()).flat_map(|at| seeds.iter().map(move |&seed| (at, seed))).collect();
    let pieces = |&(at, _): &(usize, u64)| packets(populations[at].1).div_ceil(BATCH as u64);
    let news = News::new(watch, cells.len(), cells.iter().map(pieces).sum());
    let cell = |&(at, seed): &(usize, u64)| {
        let (_, flows, population) = &populations[at];
        replicate(population, packets(*flows), Seed::new(seed), &news)
    };
    let samples = cells.par_iter().map(cell).collect::<Result<Vec<_>, _>>()?;
    let row = |(m, estimator): (usize, Method)| {
        let of_cells = populations.iter().zip(samples.chunks(seeds.len()));
        of_cells.map(move |((skew, flows, _), cell)| {
            summary(estimator, *skew, *flows, cell.iter().map(|s| &s[m]))
        })
    };
    let rows = Method::ALL.into_iter().enumerate().flat_map(row).collect();
    Ok(SketchTable { schema: "tidegate.sketch/1", seeds, rows })
}

/// All methods on the packets of one seed.
fn replicate(
    population: &Population,
    packets: u64,
    seed: Seed,
    news: &News<'_>,
) -> Result<[SketchSample; Method::ALL.len()], Cancelled> {
    let mut traffic = population.traffic(seed);
    let mut counters = Method::ALL.map(|method| (method.counter(seed), Duration::ZERO));
    let mut batch = [0; BATCH];
    let mut left = packets as usize;
    while left > 0 {
        if news.watch.cancelled() {
            return Err(Cancelled);
        }
        let batch = &mut batch[..left.min(BATCH)];
        traffic.fill(batch);
        for (counter, spent) in &mut counters {
            let begin = Instant::now();
            counter.pass(batch);
            *spent += begin.elapsed();
        }
        left -= batch.len();
        news.piece();
    }
    news.cell();
    let truth = traffic.distinct() as f64;
    Ok(counters.map(|(counter, spent)| SketchSample {
        estimate: counter.estimate(),
        truth,
        bytes: counter.bytes(),
        ns: spent.as_nanos() as f64 / packets as f64,
    }))
}

fn summary<'s>(
    estimator: Method,
    skew: Skew,
    flows: u64,
    samples: impl Iterator<Item = &'s SketchSample> + Clone,
) -> SketchRow {
    let relative: Vec<(f64, f64)> = samples.clone().map(|s| (s.estimate / s.truth, 1.0)).collect();
    let truths: Vec<f64> = samples.clone().map(|s| s.truth).collect();
    let ratios: Vec<f64> = relative.iter().map(|r| r.0).collect();
    let mean = |values: &[f64]| stats::mean(values).unwrap_or(f64::NAN);
    SketchRow {
        estimator,
        skew,
        flows,
        packets: packets(flows),
        sent: mean(&truths),
        bias: mean(&ratios) - 1.0,
        rmse: stats::rmse(&relative).unwrap_or(f64::NAN),
        state_bytes: samples.clone().map(|s| s.bytes).max().unwrap_or(0),
        ns_per_packet: samples.map(|s| s.ns).fold(f64::INFINITY, f64::min),
    }
}

impl SketchTable {
    /// The row of `estimator` with `flows` flows of `skew`.
    pub fn row(&self, estimator: Method, skew: Skew, flows: u64) -> Option<&SketchRow> {
        self.rows.iter().find(|r| (r.estimator, r.skew, r.flows) == (estimator, skew, flows))
    }

    /// The numbers of flows, among those tried, between which `estimator` is off by at most `most`
    /// (RMSE, relative): least and greatest of each run of them.
    pub fn trusted(&self, estimator: Method, skew: Skew, most: f64) -> Vec<(u64, u64)> {
        let rows: Vec<&SketchRow> =
            self.rows.iter().filter(|r| (r.estimator, r.skew) == (estimator, skew)).collect();
        let runs = rows.chunk_by(|a, b| (a.rmse <= most) == (b.rmse <= most));
        runs.filter(|run| run[0].rmse <= most)
            .map(|run| (run[0].flows, run[run.len() - 1].flows))
            .collect()
    }
}
