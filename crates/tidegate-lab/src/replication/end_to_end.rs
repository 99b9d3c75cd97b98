//! What a group's figures are if RFC 7928's metrics are asked for; nothing else otherwise.
use std::collections::BTreeMap;

use tidegate::{Span, Time};
use tidegate_sim::{FlowOutcome, Outcome};

use super::delays::{DelayNumbers, delays};
use super::stats;
use crate::layout::SeedPlan;

/// Percentiles over time: 5, 25, 50, 75, 95.
pub(super) type OverTime = [Option<f64>; 5];

/// The metrics of RFC 7928 §2 that are not measured as a rule.
#[derive(Default)]
pub(super) struct EndToEnd {
    pub delay_variation: DelayNumbers,
    pub startup: DelayNumbers,
    pub page: DelayNumbers,
    pub loss_run: Option<f64>,
    pub rate: OverTime,
    pub loss: OverTime,
}

impl EndToEnd {
    /// Those of the group number `index`.
    pub fn new(plan: &SeedPlan, outcome: &Outcome, index: usize) -> EndToEnd {
        let group = &outcome.groups[index];
        let (Some(variation), Some(startup)) = (group.variation, group.startup) else {
            return EndToEnd::default();
        };
        let members: Vec<usize> = (0..plan.flows.len())
            .filter(|flow| plan.flows[*flow].group as usize == index)
            .collect();
        let flows: Vec<&FlowOutcome> = members.iter().map(|flow| &outcome.flows[*flow]).collect();
        let [rate, loss] = over_time(outcome, index);
        EndToEnd {
            delay_variation: delays(variation),
            startup: delays(startup),
            page: pages(plan, outcome, &members),
            loss_run: loss_run(&flows),
            rate,
            loss,
        }
    }
}

/// The mean length of the runs of losses of `flows`.
fn loss_run(flows: &[&FlowOutcome]) -> Option<f64> {
    let runs: u64 = flows.iter().filter_map(|flow| flow.loss_runs).map(u64::from).sum();
    let lost: u64 = flows.iter().map(|flow| flow.counters.dropped.packets).sum();
    (runs > 0).then(|| lost as f64 / runs as f64)
}

/// How long hosts with several transfers took for all of them, where the last ended in the measured
/// time.
fn pages(plan: &SeedPlan, outcome: &Outcome, members: &[usize]) -> DelayNumbers {
    let mut hosts: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for &flow in members.iter().filter(|flow| plan.flows[**flow].data.is_some()) {
        hosts.entry(plan.flows[flow].from).or_default().push(flow);
    }
    let took = |flows: &Vec<usize>| -> Option<f64> {
        let ends: Option<Vec<Time>> =
            flows.iter().map(|flow| outcome.flows[*flow].finished).collect();
        let end = ends?.into_iter().max()?;
        let start = flows.iter().map(|flow| plan.flows[*flow].start).min()?;
        (end >= outcome.plan.warmup).then(|| end.since(start).as_millis())
    };
    let mut times: Vec<f64> =
        hosts.values().filter(|flows| flows.len() > 1).filter_map(took).collect();
    times.sort_unstable_by(f64::total_cmp);
    let [p50, p95, p99] = [0.5, 0.95, 0.99].map(|q| quantile(&times, q));
    [stats::mean(&times), stats::deviation(&times), p50, p95, p99]
}

/// Throughput and part of the bytes lost, over the intervals of the grid that lie in the measured
/// time.
fn over_time(outcome: &Outcome, index: usize) -> [OverTime; 2] {
    let Some(step) = outcome.plan.step.map(Span::as_secs) else { return Default::default() };
    let begin = outcome.plan.warmup;
    let first = outcome.grid.iter().filter(|end| **end <= begin).count();
    // An interval that begins before the warm-up ends does not count.
    let first = first + usize::from(first > 0 && outcome.grid[first - 1] < begin);
    let of = |all: &[Vec<u64>]| all[index].iter().skip(first).map(|&n| n as f64).collect();
    let (got, lost): (Vec<f64>, Vec<f64>) =
        (of(&outcome.delivered_bytes), of(&outcome.dropped_bytes));
    let pairs = got.iter().zip(&lost).filter(|(got, lost)| *got + *lost > 0.0);
    let losses = pairs.map(|(got, lost)| lost / (got + lost)).collect();
    [got.iter().map(|bytes| bytes * 8.0 / step).collect(), losses].map(percentiles)
}

fn percentiles(mut values: Vec<f64>) -> OverTime {
    values.sort_unstable_by(f64::total_cmp);
    [0.05, 0.25, 0.5, 0.75, 0.95].map(|q| quantile(&values, q))
}

/// The quantile `q` of `sorted` values, between two neighbours in proportion; none of nothing.
fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let place = q * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(below + (above - below) * place.fract())
}

#[cfg(test)]
mod tests {
    use tidegate::Seed;
    use tidegate_engine::Run;

    use super::*;
    use crate::layout;
    use crate::replication::configs::Configs;
    use crate::scenario::Scenario;

    /// One page of six connections every second, and an endless flood.
    const PAGES: &str = r#"
        [run]
        duration = "12 s"
        warmup = "3 s"
        series = "250 ms"
        metrics = "rfc7928"
        [network]
        rate = "2 Mbit/s"
        limit = "20 packets"
        [[group]]
        name = "pages"
        source = "finite"
        count = 42
        hosts = 7
        data = "5 kB"
        start = ["1 s", "2 s", "3 s", "4 s", "5 s", "6 s", "7 s"]
        [[group]]
        name = "flood"
        source = "cbr"
        rate = "1.7 Mbit/s"
        stop = "8 s"
    "#;

    #[test]
    fn quantiles_lie_between_neighbours() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[7.0], 0.95), Some(7.0));
        assert_eq!(percentiles(vec![5.0, 1.0, 2.0, 4.0, 3.0]), [1.2, 2.0, 3.0, 4.0, 4.8].map(Some));
    }

    #[test]
    fn pages_and_intervals_are_those_of_the_trace() {
        let scenario = Scenario::parse(PAGES.as_bytes(), "s.toml", &[]).unwrap();
        let (seed, spec) = (Seed::new(5), &scenario.queue);
        let plan = SeedPlan::new(&scenario, seed);
        let queue = Configs::new(&scenario, spec).unwrap();
        let build = |link: usize, to, dice| queue.links[link].build(to, dice);
        let mut network = layout::network(&scenario, &plan, seed, &[], build).unwrap();
        network.idle_ways(plan.idle_ways(&scenario));
        let what = tidegate_sim::Plan {
            warmup: Time::ZERO + scenario.run.warmup,
            step: Some(scenario.run.series),
            ..tidegate_sim::Plan::until(Time::ZERO + scenario.run.duration)
        };
        let (outcome, trace) = Run::new(network, what, seed).unwrap().finish_traced();
        let figures = EndToEnd::new(&plan, &outcome, 0);
        // Page n starts at n + 1 seconds and has the flows n, n + 7, and so on.
        let ends = (0..7u64).map(|page| {
            let of = |flow: u32| flow < 42 && u64::from(flow) % 7 == page;
            let last = |flow: u32| {
                let mut seen = std::collections::BTreeSet::new();
                let new = trace.delivered.iter().filter(|s| s.1 == flow && seen.insert(s.2));
                new.map(|s| s.0).max().unwrap()
            };
            (
                (page + 1) * 1000,
                (0..42).filter(|flow| of(*flow)).map(last).max().unwrap() as f64 / 1e6,
            )
        });
        let took: Vec<f64> =
            ends.filter(|(_, end)| *end >= 3000.0).map(|(from, end)| end - from as f64).collect();
        assert!((5..7).contains(&took.len()), "{took:?}");
        assert!((figures.page[0].unwrap() - stats::mean(&took).unwrap()).abs() < 1e-6);
        // 36 intervals of the flood: bytes by hand.
        let bytes = |k: u64, at: u64, len: u16| {
            let within = (k * 250_000_000..(k + 1) * 250_000_000).contains(&at);
            if within { len as f64 } else { 0.0 }
        };
        let got = |k| -> f64 {
            trace.delivered.iter().filter(|s| s.1 == 42).map(|s| bytes(k, s.0, s.3)).sum()
        };
        let lost = |k| -> f64 {
            trace.dropped.iter().filter(|s| s.2 == 42).map(|s| bytes(k, s.0, s.3)).sum()
        };
        let pairs: Vec<(f64, f64)> = (12..48).map(|k| (got(k), lost(k))).collect();
        let flood = EndToEnd::new(&plan, &outcome, 1);
        assert_eq!(flood.rate, percentiles(pairs.iter().map(|p| p.0 * 8.0 / 0.25).collect()));
        let both = pairs.iter().filter(|p| p.0 + p.1 > 0.0);
        assert_eq!(flood.loss, percentiles(both.map(|p| p.1 / (p.0 + p.1)).collect()));
        assert!(flood.loss[4] > Some(0.0) && flood.loss_run >= Some(1.0));
    }
}
