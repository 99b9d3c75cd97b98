//! What one replication measured, cut down to the numbers that enter the results.
use std::collections::{BTreeMap, BTreeSet};

use tidegate::{DropReason, MarkReason, Span};
use tidegate_report::fair::{self, Worst};
use tidegate_report::{Counts, Line, Quantity, Series};
use tidegate_sim::{Count, Counters, Delay, LinkOutcome, Outcome, Spread};

use super::course::Course;
use super::stats;
use crate::layout::Plan;
use crate::scenario::Scenario;

/// One replication's numbers. Rates in bit/s, delays in ms.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    pub events: u64,
    /// Offered to the watched queue.
    pub packets: u64,
    pub jain: Option<f64>,
    pub utilization: f64,
    pub throughput: f64,
    pub delay: Delays,
    pub loss_ratio: Option<f64>,
    pub mark_ratio: Option<f64>,
    pub queue_packets: f64,
    pub norm_kbps: f64,
    pub fair_deviation: Option<f64>,
    pub nearly_full_s: Option<f64>,
    pub drop_gaps: Gaps,
    /// Every managed link, if there are several.
    pub links: Vec<LinkSample>,
    /// Flows as the flow key makes them.
    pub flow_count: usize,
    pub drops: Vec<(&'static str, f64)>,
    pub marks: Vec<(&'static str, f64)>,
    pub groups: Vec<GroupSample>,
    /// What became of the watched queue's packets.
    pub counts: Counts,
    /// Each flow, if it was asked for.
    pub flows: Vec<FlowSample>,
    /// Each group's rates over time, warm-up included, for the check whether it had settled.
    pub course: Course,
}

/// Mean, standard deviation, median, 95th and 99th percentile of a delay.
pub(crate) type Delays = [Option<f64>; 5];

/// Mean and coefficient of variation of the gaps between drops.
pub(crate) type Gaps = [Option<f64>; 2];

/// One of several managed links.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LinkSample {
    pub name: String,
    pub rate: f64,
    pub utilization: f64,
    pub delay: Delays,
    pub loss_ratio: Option<f64>,
    pub mark_ratio: Option<f64>,
    pub queue_packets: f64,
    pub nearly_full_s: Option<f64>,
    pub drop_gaps: Gaps,
}

/// One group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GroupSample {
    pub rates: Rates,
    pub jain: Option<f64>,
    /// Mean, least and greatest throughput of its flows.
    pub per_flow: [Option<f64>; 3],
    pub one_way: Delays,
    pub round_trip: Delays,
    /// Mean and standard deviation over flows of the coefficient of variation of a flow's rates.
    pub rate_cov: [Option<f64>; 2],
    pub completions: f64,
    pub completion: Delays,
    /// The worst of its users, and how many are starved.
    pub worst: Option<Worst>,
    /// How many flows the flow key makes of it.
    pub users: usize,
    pub counts: Counts,
}

/// One flow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FlowSample {
    pub group: usize,
    pub rates: Rates,
    pub rate_cov: Option<f64>,
    pub packets: Counts,
    pub bytes: Counts,
}

/// What one flow's figures take, in bytes.
pub(crate) const BYTES_PER_FLOW_KEPT: f64 = size_of::<FlowSample>() as f64;

/// What groups and flows have in common.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rates {
    pub throughput: f64,
    pub goodput: f64,
    pub offered: f64,
    pub fair_share: f64,
    pub loss: f64,
    pub loss_ratio: Option<f64>,
    pub mark_ratio: Option<f64>,
    pub delay: Delays,
    pub retransmitted: f64,
    pub drop_gaps: Gaps,
}

impl Sample {
    /// What `outcome` of `plan` says; each flow too if `flows`.
    pub fn new(scenario: &Scenario, plan: &Plan, outcome: &Outcome, flows: bool) -> Sample {
        let window = outcome.plan.window();
        let link = watched(plan, outcome);
        let queues = Queues { single: outcome.links.len() == 1, window };
        let shares = plan.fair_shares(scenario);
        let throughputs: Vec<f64> =
            outcome.flows.iter().map(|f| f.counters.delivered.rate(window)).collect();
        let goodputs: Vec<f64> = outcome.flows.iter().map(|f| f.counters.goodput(window)).collect();
        let crossing = Crossing::new(plan, link);
        let group = |index: usize| {
            let of = |values: &[f64]| -> Vec<f64> {
                let members =
                    plan.flows.iter().zip(values).filter(|(flow, _)| flow.group as usize == index);
                members.map(|(_, value)| *value).collect()
            };
            let (rates, share) = (of(&throughputs), of(&shares).iter().sum());
            let end = |pick: fn(f64, f64) -> f64| rates.iter().copied().reduce(pick);
            let g = &outcome.groups[index];
            let covs = outcome
                .flows
                .iter()
                .filter(|f| f.group.index() == index)
                .filter_map(|f| f.windows.variation());
            let covs: Vec<f64> = covs.collect();
            let own = |flow: usize| plan.flows[flow].group as usize == index;
            let users: Vec<(f64, f64)> =
                by_key(plan, &goodputs, own).into_iter().zip(by_key(plan, &shares, own)).collect();
            GroupSample {
                rates: queues.rates(&g.counters, g.delay, &g.drop_gaps, share),
                jain: jain_by_key(plan, &throughputs, Some(index)),
                per_flow: [stats::mean(&rates), end(f64::min), end(f64::max)],
                one_way: delays(g.one_way),
                round_trip: delays(g.round_trip),
                rate_cov: [stats::mean(&covs), stats::deviation(&covs)],
                completions: g.completions.transfers.packets as f64,
                completion: delays(g.completions.time),
                worst: Worst::of(users.clone()),
                users: users.len(),
                counts: counts(&g.counters, |c| c.packets),
            }
        };
        let flow = |(index, f): (usize, &tidegate_sim::FlowOutcome)| FlowSample {
            group: plan.flows[index].group as usize,
            rates: queues.rates(&f.counters, f.delay, &f.drop_gaps, shares[index]),
            rate_cov: f.windows.variation(),
            packets: counts(&f.counters, |c| c.packets),
            bytes: counts(&f.counters, |c| c.bytes),
        };
        Sample {
            events: outcome.events,
            packets: link.arrivals.packets,
            jain: jain_by_key(plan, &throughputs, None),
            utilization: link.utilization,
            throughput: throughputs.iter().sum(),
            delay: delays(link.delay),
            loss_ratio: ratio(link.all_drops().packets, link.arrivals.packets),
            mark_ratio: ratio(link.all_marks().packets, link.arrivals.packets),
            queue_packets: link.mean_packets,
            norm_kbps: stats::norm(&crossing.of(&throughputs), crossing.fair) / 1e3,
            fair_deviation: stats::fair_deviation(&crossing.of(&goodputs), crossing.fair),
            nearly_full_s: link.nearly_full.map(Span::as_secs),
            drop_gaps: gaps(&link.drop_gaps),
            links: if queues.single {
                vec![]
            } else {
                outcome.links.iter().map(link_sample).collect()
            },
            flow_count: plan.flows.iter().map(|flow| flow.key).collect::<BTreeSet<_>>().len(),
            drops: DropReason::ALL
                .iter()
                .map(|r| (r.name(), link.dropped(*r).packets as f64))
                .collect(),
            marks: MarkReason::ALL
                .iter()
                .map(|r| (r.name(), link.marked(*r).packets as f64))
                .collect(),
            groups: (0..scenario.groups.len()).map(group).collect(),
            counts: Counts {
                offered: link.arrivals.packets,
                delivered: link.departures.packets,
                dropped: link.all_drops().packets,
                marked: link.all_marks().packets,
            },
            course: Course::new(outcome),
            flows: if flows {
                outcome.flows.iter().enumerate().map(flow).collect()
            } else {
                vec![]
            },
        }
    }
}

/// Jain's index over what the flow key makes one flow, since that is what can be given equal
/// shares; of one group, or of all.
fn jain_by_key(plan: &Plan, throughputs: &[f64], group: Option<usize>) -> Option<f64> {
    fair::jain(&by_key(plan, throughputs, |flow| {
        group.is_none_or(|group| plan.flows[flow].group as usize == group)
    }))
}

/// The rates of what the flow key makes one flow, of the flows that `which` names.
fn by_key(plan: &Plan, rates: &[f64], which: impl Fn(usize) -> bool) -> Vec<f64> {
    let mut of_key: BTreeMap<u64, f64> = BTreeMap::new();
    for (index, (flow, rate)) in plan.flows.iter().zip(rates).enumerate() {
        if which(index) {
            *of_key.entry(flow.key).or_default() += rate;
        }
    }
    of_key.into_values().collect()
}

/// The flows that cross the watched link, and the share C/n of each.
struct Crossing<'p> {
    plan: &'p Plan,
    crosses: Vec<bool>,
    fair: f64,
}

impl<'p> Crossing<'p> {
    fn new(plan: &'p Plan, link: &LinkOutcome) -> Crossing<'p> {
        let mut routes = plan.routes();
        let crosses: Vec<bool> = plan
            .flows
            .iter()
            .map(|flow| routes.path(flow.from, flow.to).contains(&plan.watched))
            .collect();
        let keys = plan
            .flows
            .iter()
            .zip(&crosses)
            .filter(|(_, crosses)| **crosses)
            .map(|(flow, _)| flow.key);
        let n = keys.collect::<BTreeSet<_>>().len();
        Crossing { plan, crosses, fair: link.rate.as_bps() as f64 / n.max(1) as f64 }
    }

    fn of(&self, rates: &[f64]) -> Vec<f64> {
        by_key(self.plan, rates, |flow| self.crosses[flow])
    }
}

fn link_sample(link: &LinkOutcome) -> LinkSample {
    LinkSample {
        name: link.name.clone(),
        rate: link.rate.as_bps() as f64,
        utilization: link.utilization,
        delay: delays(link.delay),
        loss_ratio: ratio(link.all_drops().packets, link.arrivals.packets),
        mark_ratio: ratio(link.all_marks().packets, link.arrivals.packets),
        queue_packets: link.mean_packets,
        nearly_full_s: link.nearly_full.map(Span::as_secs),
        drop_gaps: gaps(&link.drop_gaps),
    }
}

/// How to count at the queues that flows cross.
struct Queues {
    /// With several queues a packet is offered more than once, and what its sender sent is the
    /// base instead.
    single: bool,
    window: Span,
}

impl Queues {
    fn rates(&self, c: &Counters, delay: Delay, between_drops: &Spread, fair_share: f64) -> Rates {
        let base = if self.single { c.offered } else { c.sent };
        Rates {
            throughput: c.delivered.rate(self.window),
            goodput: c.goodput(self.window),
            offered: base.rate(self.window),
            fair_share,
            loss: c.dropped.rate(self.window),
            loss_ratio: ratio(c.dropped.packets, base.packets),
            mark_ratio: ratio(c.marked.packets, base.packets),
            delay: delays(delay),
            retransmitted: c.retransmitted_bytes as f64,
            drop_gaps: gaps(between_drops),
        }
    }
}

fn watched<'o>(plan: &Plan, outcome: &'o Outcome) -> &'o LinkOutcome {
    let found = outcome.links.iter().find(|link| link.link.index() == plan.watched as usize);
    found.expect("the watched link has a queue, and so an outcome")
}

/// None of nothing offered; at most 1, since a packet offered before the window may be dropped
/// within it.
fn ratio(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| (part as f64 / of as f64).min(1.0))
}

fn delays(delay: Delay) -> Delays {
    [delay.mean, delay.sd, delay.p50, delay.p95, delay.p99].map(milli)
}

fn gaps(between: &Spread) -> Gaps {
    [between.mean().map(|nanos| nanos / 1e6), between.variation()]
}

fn counts(c: &Counters, what: fn(&Count) -> u64) -> Counts {
    Counts {
        offered: what(&c.offered),
        delivered: what(&c.departed),
        dropped: what(&c.dropped),
        marked: what(&c.marked),
    }
}

/// What happened over time, as the report draws it.
pub(crate) fn series(seed: u64, plan: &Plan, outcome: &Outcome) -> Series {
    let step = outcome.plan.step.map_or(1.0, Span::as_secs);
    let link = watched(plan, outcome);
    let mut lines = vec![];
    if let Some(queue) = &link.series {
        let packets = queue.packets.iter().map(|&n| n as f64);
        lines.push(Line::new(Quantity::Queue, "queue", "packets", packets));
        let lost = queue.dropped.iter().zip(&queue.offered).map(|(&d, &o)| d as f64 / o as f64);
        lines.push(Line::new(Quantity::Loss, "loss ratio", "", lost));
        let delays = queue.delay.iter().map(|d| milli(*d).unwrap_or(f64::NAN));
        lines.push(Line::new(Quantity::Delay, "delay", "ms", delays));
        let gauge = |g: &tidegate_sim::GaugeSeries| {
            Line::new(Quantity::Gauge, g.name, g.unit, g.values.iter().copied())
        };
        lines.extend(queue.gauges.iter().map(gauge));
    }
    for (group, bytes) in outcome.groups.iter().zip(&outcome.delivered_bytes) {
        let rates = bytes.iter().map(|&b| b as f64 * 8.0 / step);
        lines.push(Line::new(Quantity::Throughput, &group.name, "bit/s", rates));
    }
    for (group, bytes) in outcome.groups.iter().zip(&outcome.dropped_bytes) {
        let rates = bytes.iter().map(|&b| b as f64 * 8.0 / step);
        lines.push(Line::new(Quantity::Loss, &group.name, "bit/s", rates));
    }
    Series { seed: Some(seed), time_s: outcome.grid.iter().map(|t| t.as_secs()).collect(), lines }
}

/// Milliseconds, the unit of delays in results.
fn milli(span: Option<Span>) -> Option<f64> {
    span.map(Span::as_millis)
}
