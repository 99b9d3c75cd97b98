//! What one replication measured, cut down to the numbers that enter the results.
use std::collections::{BTreeMap, BTreeSet};

use tidegate::{DropReason, MarkReason, Span};
use tidegate_report::fair::{self, Worst};
use tidegate_report::{
    AggregateSample, Counts, FlowSample, GroupSample, Line, Series, SeriesQuantity,
};
use tidegate_sim::sources::Period;
use tidegate_sim::{Count, Counters, FlowOutcome, GroupOutcome, LinkOutcome, Outcome, Spread};

use super::course::Course;
use super::delays::{DelayNumbers, delays, milli};
use super::end_to_end::EndToEnd;
use super::stats;
use crate::layout::{DirectedLink, SeedPlan};

/// One replication's numbers. Rates in bit/s, delays in ms.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    pub events: u64,
    /// Offered to the watched queue.
    pub packets: u64,
    /// All flows together, and the watched link's queue.
    pub aggregate: AggregateSample,
    /// Every managed link, if there are several.
    pub links: Vec<LinkSample>,
    /// Flows as the flow key makes them.
    pub flow_count: usize,
    pub drops: Vec<(&'static str, f64)>,
    pub marks: Vec<(&'static str, f64)>,
    pub groups: Vec<OfGroup>,
    /// Each flow, if it was asked for.
    pub flows: Vec<OfFlow>,
    /// Each group's rates over time, warm-up included, for the check whether it had settled.
    pub course: Course,
}

/// Mean and coefficient of variation of the gaps between drops.
pub(crate) type Gaps = [Option<f64>; 2];

/// One of several managed links.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LinkSample {
    pub name: String,
    pub rate: f64,
    pub utilization: f64,
    pub delay: DelayNumbers,
    pub loss_ratio: Option<f64>,
    pub mark_ratio: Option<f64>,
    pub queue_packets: f64,
    pub nearly_full_s: Option<f64>,
    pub drop_gaps: Gaps,
    pub wire_loss_ratio: Option<f64>,
}

/// One group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OfGroup {
    pub metrics: GroupSample,
    /// How many flows the flow key makes of it.
    pub users: usize,
}

/// One flow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OfFlow {
    pub group: usize,
    pub metrics: FlowSample,
}

/// What one flow's figures take, in bytes.
pub(crate) const BYTES_PER_FLOW_KEPT: f64 = size_of::<OfFlow>() as f64;

impl Sample {
    /// What `outcome` of `plan` says, the flows' fair shares being `shares`; each flow too if
    /// `flows`.
    pub fn new(plan: &SeedPlan, shares: &[f64], outcome: &Outcome, flows: bool) -> Sample {
        let window = outcome.plan.window();
        let link = watched(plan, outcome);
        let queues = Queues { single: outcome.links.len() == 1, window };
        let throughputs: Vec<f64> =
            outcome.flows.iter().map(|f| f.counters.delivered.rate(window)).collect();
        let goodputs: Vec<f64> = outcome.flows.iter().map(|f| f.counters.goodput(window)).collect();
        let crossing = Crossing::new(plan, link);
        let all = AllFlows { plan, outcome, queues: &queues, throughputs: &throughputs };
        Sample {
            events: outcome.events,
            packets: link.arrivals.packets,
            aggregate: AggregateSample {
                jain: jain_by_key(plan, &throughputs, None),
                utilization: Some(link.utilization),
                queue_delay_ms: delays(link.delay),
                throughput_bps: Some(throughputs.iter().sum()),
                loss_ratio: ratio(link.all_drops().packets, link.arrivals.packets),
                mark_ratio: ratio(link.all_marks().packets, link.arrivals.packets),
                queue_packets: Some(link.mean_packets),
                norm_kbps: Some(stats::norm(&crossing.of(&throughputs), crossing.fair) / 1e3),
                fair_deviation: stats::fair_deviation(&crossing.of(&goodputs), crossing.fair),
                nearly_full_s: link.nearly_full.map(Span::as_secs),
                drop_gap_ms: gaps(&link.drop_gaps),
                packets: Counts {
                    offered: link.arrivals.packets,
                    delivered: link.departures.packets,
                    dropped: link.all_drops().packets,
                    marked: link.all_marks().packets,
                },
                wire_loss_ratio: link_loss(plan, link),
            },
            links: if queues.single {
                vec![]
            } else {
                outcome.links.iter().map(|link| link_sample(plan, link)).collect()
            },
            flow_count: plan.users(|_| true),
            drops: drops(link),
            marks: marks(link),
            groups: (0..outcome.groups.len())
                .map(|index| all.group(index, shares, &goodputs))
                .collect(),
            course: Course::new(outcome),
            flows: if flows {
                (0..plan.flows.len()).map(|index| all.flow(index, shares[index])).collect()
            } else {
                vec![]
            },
        }
    }
}

/// Packets that the link dropped, by reason.
fn drops(link: &LinkOutcome) -> Vec<(&'static str, f64)> {
    DropReason::ALL.iter().map(|r| (r.name(), link.dropped(*r).packets as f64)).collect()
}

/// Packets that the link marked, by reason.
fn marks(link: &LinkOutcome) -> Vec<(&'static str, f64)> {
    MarkReason::ALL.iter().map(|r| (r.name(), link.marked(*r).packets as f64)).collect()
}

/// The flows of a replication, and the throughput of each.
struct AllFlows<'o> {
    plan: &'o SeedPlan,
    outcome: &'o Outcome,
    queues: &'o Queues,
    throughputs: &'o [f64],
}

impl AllFlows<'_> {
    fn group(&self, index: usize, shares: &[f64], goodputs: &[f64]) -> OfGroup {
        let AllFlows { plan, outcome, throughputs, .. } = *self;
        let own = |flow: usize| plan.flows[flow].group as usize == index;
        let members = || (0..plan.flows.len()).filter(|flow| own(*flow));
        let outcomes = || members().map(|flow| &outcome.flows[flow]);
        let rates: Vec<f64> = members().map(|flow| throughputs[flow]).collect();
        let end = |pick: fn(f64, f64) -> f64| rates.iter().copied().reduce(pick);
        let g = &outcome.groups[index];
        let covs: Vec<f64> = outcomes().filter_map(|f| f.windows.variation()).collect();
        let users: Vec<(f64, f64)> =
            by_key(plan, goodputs, own).into_iter().zip(by_key(plan, shares, own)).collect();
        let worst = Worst::of(users.iter().copied());
        let synchrony: Vec<f64> = outcomes().filter_map(|f| synchronization(f, g)).collect();
        let starved: Vec<f64> = outcomes().filter_map(starved_time).collect();
        let base = self.queues.base(&g.counters);
        let more = EndToEnd::new(plan, outcome, index);
        let metrics = GroupSample {
            throughput_bps: Some(g.counters.delivered.rate(self.queues.window)),
            goodput_bps: Some(g.counters.goodput(self.queues.window)),
            loss_ratio: ratio(g.counters.dropped.packets, base.packets),
            loss_bps: Some(g.counters.dropped.rate(self.queues.window)),
            mark_ratio: ratio(g.counters.marked.packets, base.packets),
            per_flow: [stats::mean(&rates), end(f64::min), end(f64::max)],
            jain: jain_by_key(plan, throughputs, Some(index)),
            fair_share_bps: Some(members().map(|flow| shares[flow]).sum()),
            offered_bps: Some(base.rate(self.queues.window)),
            delay_ms: delays(g.delay),
            one_way_ms: delays(g.one_way),
            rtt_ms: delays(g.round_trip),
            retransmitted_bytes: Some(g.counters.retransmitted_bytes as f64),
            drop_gap_ms: gaps(&g.drop_gaps),
            rate_cov: [stats::mean(&covs), stats::deviation(&covs)],
            completions: Some(g.completions.transfers.packets as f64),
            completion_ms: delays(g.completions.time),
            worst_share: worst.map(|worst| worst.share),
            starved: worst.map(|worst| worst.starved as f64),
            packets: counts(&g.counters, |c| c.packets),
            // Of one flow every event is its own.
            loss_synchronization: stats::mean(&synchrony).filter(|_| g.flows > 1),
            starved_time: stats::mean(&starved),
            delay_variation_ms: more.delay_variation,
            startup_ms: more.startup,
            page_ms: more.page,
            loss_run: more.loss_run,
            rate_over_time_bps: more.rate,
            loss_over_time: more.loss,
            wire_loss_ratio: ratio(g.lost.packets, g.counters.sent.packets)
                .filter(|_| plan.wires.iter().any(DirectedLink::loses)),
            active_goodput_bps: self.active_goodput(members(), goodputs),
        };
        OfGroup { metrics, users: users.len() }
    }

    /// The goodputs of the flows `members`, each over its active time; none where no flow is active
    /// more than once.
    fn active_goodput(
        &self,
        members: impl Iterator<Item = usize> + Clone,
        goodputs: &[f64],
    ) -> Option<f64> {
        let again = |flow: usize| !self.plan.flows[flow].again.is_empty();
        let goodput = |flow: usize| goodputs[flow] / self.active(flow);
        members.clone().any(again).then(|| members.map(goodput).sum())
    }

    /// The part of the measured time during which flow `index` is active. It is 1 for a flow that
    /// never is, so that its nothing stays nothing.
    fn active(&self, index: usize) -> f64 {
        let (flow, plan) = (&self.plan.flows[index], &self.outcome.plan);
        let (from, to) = (plan.warmup, plan.end);
        let within = |(start, stop): Period| stop.min(to).since(start.max(from)).as_secs();
        let first = (flow.start, flow.stop);
        let active: f64 = flow.again.iter().copied().chain([first]).map(within).sum();
        if active > 0.0 { active / plan.window().as_secs() } else { 1.0 }
    }

    fn flow(&self, index: usize, share: f64) -> OfFlow {
        let (f, group) = (&self.outcome.flows[index], self.plan.flows[index].group as usize);
        let g = &self.outcome.groups[group];
        let base = self.queues.base(&f.counters);
        let metrics = FlowSample {
            throughput_bps: Some(f.counters.delivered.rate(self.queues.window)),
            goodput_bps: Some(f.counters.goodput(self.queues.window)),
            loss_ratio: ratio(f.counters.dropped.packets, base.packets),
            mark_ratio: ratio(f.counters.marked.packets, base.packets),
            delay_ms: delays(f.delay),
            fair_share_bps: Some(share),
            offered_bps: Some(base.rate(self.queues.window)),
            retransmitted_bytes: Some(f.counters.retransmitted_bytes as f64),
            drop_gap_ms: gaps(&f.drop_gaps),
            rate_cov: f.windows.variation(),
            packets: counts(&f.counters, |c| c.packets),
            bytes: counts(&f.counters, |c| c.bytes),
            loss_synchronization: synchronization(f, g).filter(|_| g.flows > 1),
            starved_time: starved_time(f),
        };
        OfFlow { group, metrics }
    }
}

/// The part of its windows in which `flow` starved, if that is known.
fn starved_time(flow: &FlowOutcome) -> Option<f64> {
    ratio(flow.observed.starved?, flow.windows.count)
}

// Both say what starving is, and neither crate knows the other.
const _: () = assert!(tidegate_sim::STARVED == fair::STARVED);

/// The part of the congestion events of its `group` in which `flow` lost.
fn synchronization(flow: &FlowOutcome, group: &GroupOutcome) -> Option<f64> {
    ratio(flow.observed.loss_events as u64, group.observed.loss_events)
}

/// Jain's index over what the flow key makes one flow, since that is what can be given equal
/// shares; of one group, or of all.
fn jain_by_key(plan: &SeedPlan, throughputs: &[f64], group: Option<usize>) -> Option<f64> {
    fair::jain(&by_key(plan, throughputs, |flow| {
        group.is_none_or(|group| plan.flows[flow].group as usize == group)
    }))
}

/// The rates of what the flow key makes one flow, of the flows that `which` names.
fn by_key(plan: &SeedPlan, rates: &[f64], which: impl Fn(usize) -> bool) -> Vec<f64> {
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
    plan: &'p SeedPlan,
    crosses: Vec<bool>,
    fair: f64,
}

impl<'p> Crossing<'p> {
    fn new(plan: &'p SeedPlan, link: &LinkOutcome) -> Crossing<'p> {
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
        Crossing { plan, crosses, fair: link.mean_rate / n.max(1) as f64 }
    }

    fn of(&self, rates: &[f64]) -> Vec<f64> {
        by_key(self.plan, rates, |flow| self.crosses[flow])
    }
}

/// The part of what `link` sent that was lost on it, if it loses any.
fn link_loss(plan: &SeedPlan, link: &LinkOutcome) -> Option<f64> {
    let loses = plan.wires[link.link.index()].loses();
    ratio(link.lost.packets, link.departures.packets).filter(|_| loses)
}

fn link_sample(plan: &SeedPlan, link: &LinkOutcome) -> LinkSample {
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
        wire_loss_ratio: link_loss(plan, link),
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
    fn base(&self, c: &Counters) -> Count {
        if self.single { c.offered } else { c.sent }
    }
}

fn watched<'o>(plan: &SeedPlan, outcome: &'o Outcome) -> &'o LinkOutcome {
    let found = outcome.links.iter().find(|link| link.link.index() == plan.watched as usize);
    found.expect("the watched link has a queue, and so an outcome")
}

/// None of nothing offered; at most 1, since a packet offered before the window may be dropped
/// within it.
fn ratio(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| (part as f64 / of as f64).min(1.0))
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
pub(crate) fn series(seed: u64, plan: &SeedPlan, outcome: &Outcome) -> Series {
    let step = outcome.plan.step.map_or(1.0, Span::as_secs);
    let link = watched(plan, outcome);
    let mut lines = vec![];
    if let Some(queue) = &link.series {
        let packets = queue.packets.iter().map(|&n| n as f64);
        lines.push(Line::new(SeriesQuantity::Queue, "queue", "packets", packets));
        let lost = queue.dropped.iter().zip(&queue.offered).map(|(&d, &o)| d as f64 / o as f64);
        lines.push(Line::new(SeriesQuantity::Loss, "loss ratio", "", lost));
        let delays = queue.delay.iter().map(|d| milli(*d).unwrap_or(f64::NAN));
        lines.push(Line::new(SeriesQuantity::Delay, "delay", "ms", delays));
        let gauge = |g: &tidegate_sim::GaugeSeries| {
            Line::new(SeriesQuantity::Gauge, g.name, g.unit, g.values.iter().copied())
        };
        lines.extend(queue.gauges.iter().map(gauge));
    }
    for (group, bytes) in outcome.groups.iter().zip(&outcome.delivered_bytes) {
        let rates = bytes.iter().map(|&b| b as f64 * 8.0 / step);
        lines.push(Line::new(SeriesQuantity::Throughput, &group.name, "bit/s", rates));
    }
    for (group, bytes) in outcome.groups.iter().zip(&outcome.dropped_bytes) {
        let rates = bytes.iter().map(|&b| b as f64 * 8.0 / step);
        lines.push(Line::new(SeriesQuantity::Loss, &group.name, "bit/s", rates));
    }
    Series { seed: Some(seed), time_s: outcome.grid.iter().map(|t| t.as_secs()).collect(), lines }
}
