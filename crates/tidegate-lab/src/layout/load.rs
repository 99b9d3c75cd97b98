//! What fixed-rate sources offer to each link of their routes, and what can arrive behind links
//! that carry less.
//!
//! A link without a limit never drops: what it cannot carry waits before it for ever. So a source
//! beyond such a link is slower than its scenario says, and nothing in a result shows it. Queues
//! are not judged: to be offered more than they can send is their trade.
use std::collections::BTreeMap;

use tidegate::{Seed, Time};
use tidegate_report::Overload;
use tidegate_report::overload::ACCESS;

use super::{PlannedFlow, SeedPlan};
use crate::scenario::{Group, Scenario, When};

/// What rounding may do to a sum of rates that fills a link to the bit.
const ROUNDING: f64 = 1e-6;
/// More links than this one behind the other change nothing that matters any more.
const MOST_ROUNDS: usize = 64;

/// What is offered, what arrives.
pub(crate) struct Load {
    /// What can arrive of each flow at the first queue of its route, or at its end if it meets
    /// none, in bit/s; `None` where a source has no rate of its own.
    pub arrives: Vec<Option<f64>>,
    /// The links that carry less than what is offered to them, in the order of the groups.
    pub overloads: Vec<Overload>,
}

/// The links of `scenario` that cannot carry what fixed-rate sources offer them, for its first
/// seed.
pub fn overloads(scenario: &Scenario) -> Vec<Overload> {
    // Without such sources there is nothing to lay out.
    if scenario.groups.iter().any(|group| group.demand(scenario.run.duration).is_some()) {
        Load::of(scenario, &SeedPlan::new(scenario, Seed::new(scenario.run.seed))).overloads
    } else {
        vec![]
    }
}

/// A flow with a rate of its own, on its way.
struct FixedRateStream<'p> {
    number: usize,
    flow: &'p PlannedFlow,
    path: Vec<u32>,
    /// The rate at which it comes to each wire of its path, in bit/s, and to its end.
    comes: Vec<f64>,
}

impl Load {
    pub fn of(scenario: &Scenario, plan: &SeedPlan) -> Load {
        let end = Time::ZERO + scenario.run.duration;
        let mut streams = streams(scenario, plan);
        let window = [scenario.run.warmup, scenario.run.duration].map(|at| Time::ZERO + at);
        let capacity = |wire: u32| plan.wires[wire as usize].mean_rate(window);
        let longest = streams.iter().map(|s| s.path.len()).max().unwrap_or(0);
        // What comes to a link depends on those before it, so that rates are right up to one more
        // link with each round.
        let mut beyond = BTreeMap::new();
        for _ in 0..(longest + 1).min(MOST_ROUNDS) {
            let found = overloaded(scenario, &streams, plan, end);
            if found == beyond {
                break;
            }
            beyond = found;
            for stream in &mut streams {
                for (at, wire) in stream.path.iter().enumerate() {
                    let carried = beyond.get(wire).map_or(1.0, |offered| capacity(*wire) / offered);
                    stream.comes[at + 1] = stream.comes[at] * carried;
                }
            }
        }
        let mut arrives = vec![None; plan.flows.len()];
        for stream in &streams {
            let managed = |wire: &u32| plan.wires[*wire as usize].limit.is_some();
            let at = stream.path.iter().position(managed).unwrap_or(stream.path.len());
            arrives[stream.number] = Some(stream.comes[at]);
        }
        Load { arrives, overloads: named(scenario, plan, &streams, &beyond) }
    }
}

fn streams<'p>(scenario: &Scenario, plan: &'p SeedPlan) -> Vec<FixedRateStream<'p>> {
    let mut routes = plan.routes();
    let demands: Vec<Option<f64>> = scenario
        .groups
        .iter()
        .map(|g| g.demand(scenario.run.duration).map(|rate| rate.as_bps() as f64))
        .collect();
    let stream = |(number, flow): (usize, &'p PlannedFlow)| {
        let demand = demands[flow.group as usize]?;
        let path = routes.path(flow.from, flow.to);
        let comes = vec![demand; path.len() + 1];
        Some(FixedRateStream { number, flow, path, comes })
    };
    plan.flows.iter().enumerate().filter_map(stream).collect()
}

/// The wires to which more comes than they carry, with how much when most does.
fn overloaded(
    scenario: &Scenario,
    streams: &[FixedRateStream<'_>],
    plan: &SeedPlan,
    end: Time,
) -> BTreeMap<u32, f64> {
    let mut sums = vec![0.0; plan.wires.len()];
    for stream in streams {
        stream.path.iter().zip(&stream.comes).for_each(|(wire, rate)| sums[*wire as usize] += rate);
    }
    let too_much =
        |wire: usize, rate: f64| rate > plan.wires[wire].rate.as_bps() as f64 * (1.0 + ROUNDING);
    // Flows may take turns: only where all of them together are too much does it matter when they
    // send.
    let mut changes: BTreeMap<u32, Vec<(Time, f64)>> = BTreeMap::new();
    for stream in streams {
        let group = &scenario.groups[stream.flow.group as usize];
        for (wire, rate) in stream.path.iter().zip(&stream.comes) {
            if too_much(*wire as usize, sums[*wire as usize]) {
                let changes = changes.entry(*wire).or_default();
                for (start, stop) in active(group, stream.flow, end) {
                    changes.extend([(start, *rate), (stop, -rate)]);
                }
            }
        }
    }
    let peaks = changes.into_iter().map(|(wire, changes)| (wire, peak(changes)));
    peaks.filter(|(wire, rate)| too_much(*wire as usize, *rate)).collect()
}

/// When `flow` sends. The rate of one that comes and goes by itself is a mean over all the time.
fn active(group: &Group, flow: &PlannedFlow, end: Time) -> Vec<(Time, Time)> {
    match group.when() {
        When::Calls | When::Lives => vec![(Time::ZERO, end)],
        When::Start | When::Active => {
            let periods =
                std::iter::once((flow.start, flow.stop)).chain(flow.again.iter().copied());
            periods
                .map(|(start, stop)| (start, stop.min(end)))
                .filter(|(start, stop)| start < stop)
                .collect()
        }
    }
}

/// The greatest sum of rates that come and go. Who stops makes room for who starts at that time.
fn peak(mut changes: Vec<(Time, f64)>) -> f64 {
    changes.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let (mut sum, mut most) = (0.0, 0.0f64);
    for (_, change) in changes {
        sum += change;
        most = most.max(sum);
    }
    most
}

/// The overloaded wires that have no queue, the access links of a group as one.
fn named(
    scenario: &Scenario,
    plan: &SeedPlan,
    streams: &[FixedRateStream<'_>],
    beyond: &BTreeMap<u32, f64>,
) -> Vec<Overload> {
    let mut found: Vec<Overload> = vec![];
    for stream in streams {
        let group = &scenario.groups[stream.flow.group as usize].name;
        for wire in &stream.path {
            let (Some(&offered), rate) = (beyond.get(wire), &plan.wires[*wire as usize]) else {
                continue;
            };
            if rate.limit.is_some() {
                continue;
            }
            let name = |node: u32| plan.nodes.get(node as usize);
            let overload = Overload {
                link: match (name(rate.from), name(rate.to)) {
                    (Some(from), Some(to)) => format!("link {from}->{to}"),
                    _ => ACCESS.into(),
                },
                rate_bps: rate.rate.as_bps() as f64,
                offered_bps: offered,
                groups: vec![group.clone()],
            };
            let same = |o: &&mut Overload| {
                o.link == overload.link && (o.link != ACCESS || o.groups[0] == *group)
            };
            match found.iter_mut().find(same) {
                None => found.push(overload),
                Some(known) => {
                    if !known.groups.contains(group) {
                        known.groups.push(group.clone());
                    }
                    if overload.offered_bps / overload.rate_bps > known.offered_bps / known.rate_bps
                    {
                        (known.rate_bps, known.offered_bps) =
                            (overload.rate_bps, overload.offered_bps);
                    }
                }
            }
        }
    }
    found
}
