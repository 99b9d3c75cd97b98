//! The figures of each flow and of each group, from what a replication's outcome has.
use std::collections::BTreeMap;

use tidegate::Span;
use tidegate_report::fair::{self, Worst};
use tidegate_report::{Counts, FlowSample, GroupSample};
use tidegate_sim::sources::Period;
use tidegate_sim::{Count, Counters, FlowOutcome, GroupOutcome, Outcome, Spread};

use super::delays::delays;
use super::end_to_end::EndToEnd;
use super::stats;
use crate::layout::{DirectedLink, SeedPlan};

/// Mean and coefficient of variation of the gaps between drops.
pub(crate) type Gaps = [Option<f64>; 2];

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

/// The flows of a replication, and the throughput of each.
pub(super) struct AllFlows<'o> {
    pub plan: &'o SeedPlan,
    pub outcome: &'o Outcome,
    pub queues: &'o Queues,
    pub throughputs: &'o [f64],
}

impl AllFlows<'_> {
    pub fn group(&self, index: usize, shares: &[f64], goodputs: &[f64]) -> OfGroup {
        let AllFlows { plan, outcome, throughputs, .. } = *self;
        let own = |flow: usize| plan.flows[flow].group as usize == index;
        let members = || (0..plan.flows.len()).filter(|flow| own(*flow));
        let outcomes = || members().map(|flow| &outcome.flows[flow]);
        let g = &outcome.groups[index];
        let users: Vec<(f64, f64)> =
            by_key(plan, goodputs, own).into_iter().zip(by_key(plan, shares, own)).collect();
        let worst = Worst::of(users.iter().copied());
        let base = self.queues.base(&g.counters);
        let more = EndToEnd::new(plan, outcome, index);
        let metrics = GroupSample {
            throughput_bps: Some(g.counters.delivered.rate(self.queues.window)),
            goodput_bps: Some(g.counters.goodput(self.queues.window)),
            loss_ratio: ratio(g.counters.dropped.packets, base.packets),
            loss_bps: Some(g.counters.dropped.rate(self.queues.window)),
            mark_ratio: ratio(g.counters.marked.packets, base.packets),
            per_flow: per_flow(members().map(|flow| throughputs[flow])),
            jain: jain_by_key(plan, throughputs, Some(index)),
            fair_share_bps: Some(members().map(|flow| shares[flow]).sum()),
            offered_bps: Some(base.rate(self.queues.window)),
            delay_ms: delays(g.delay),
            one_way_ms: delays(g.one_way),
            rtt_ms: delays(g.round_trip),
            retransmitted_bytes: Some(g.counters.retransmitted_bytes as f64),
            drop_gap_ms: gaps(&g.drop_gaps),
            rate_cov: rate_cov(outcomes()),
            completions: Some(g.completions.transfers.packets as f64),
            completion_ms: delays(g.completions.time),
            worst_share: worst.map(|worst| worst.share),
            starved: worst.map(|worst| worst.starved as f64),
            packets: counts(&g.counters, |c| c.packets),
            // Of one flow every event is its own.
            loss_synchronization: mean_over(outcomes(), |f| synchronization(f, g))
                .filter(|_| g.flows > 1),
            starved_time: mean_over(outcomes(), starved_time),
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

    pub fn flow(&self, index: usize, share: f64) -> OfFlow {
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

/// The mean, least and greatest of `rates`.
fn per_flow(rates: impl Iterator<Item = f64>) -> [Option<f64>; 3] {
    let rates: Vec<f64> = rates.collect();
    let end = |pick: fn(f64, f64) -> f64| rates.iter().copied().reduce(pick);
    [stats::mean(&rates), end(f64::min), end(f64::max)]
}

/// Mean and deviation of the flows' coefficients of variation.
fn rate_cov<'f>(flows: impl Iterator<Item = &'f FlowOutcome>) -> [Option<f64>; 2] {
    let covs: Vec<f64> = flows.filter_map(|flow| flow.windows.variation()).collect();
    [stats::mean(&covs), stats::deviation(&covs)]
}

/// The mean of a figure over the `flows` that have it.
fn mean_over<'f>(
    flows: impl Iterator<Item = &'f FlowOutcome>,
    figure: impl Fn(&FlowOutcome) -> Option<f64>,
) -> Option<f64> {
    stats::mean(&flows.filter_map(figure).collect::<Vec<_>>())
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
pub(super) fn jain_by_key(
    plan: &SeedPlan,
    throughputs: &[f64],
    group: Option<usize>,
) -> Option<f64> {
    fair::jain(&by_key(plan, throughputs, |flow| {
        group.is_none_or(|group| plan.flows[flow].group as usize == group)
    }))
}

/// The rates of what the flow key makes one flow, of the flows that `which` names.
pub(super) fn by_key(plan: &SeedPlan, rates: &[f64], which: impl Fn(usize) -> bool) -> Vec<f64> {
    let mut of_key: BTreeMap<u64, f64> = BTreeMap::new();
    for (index, (flow, rate)) in plan.flows.iter().zip(rates).enumerate() {
        if which(index) {
            *of_key.entry(flow.key).or_default() += rate;
        }
    }
    of_key.into_values().collect()
}

/// How to count at the queues that flows cross.
pub(super) struct Queues {
    /// With several queues a packet is offered more than once, and what its sender sent is the
    /// base instead.
    pub single: bool,
    pub window: Span,
}

impl Queues {
    fn base(&self, c: &Counters) -> Count {
        if self.single { c.offered } else { c.sent }
    }
}

/// None of nothing offered; at most 1, since a packet offered before the window may be dropped
/// within it.
pub(super) fn ratio(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| (part as f64 / of as f64).min(1.0))
}

pub(super) fn gaps(between: &Spread) -> Gaps {
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
