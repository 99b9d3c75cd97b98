//! How long a packet and its answer take through empty queues.
use tidegate::{Bytes, Span};

use super::{PlannedFlow, SeedPlan};
use crate::scenario::{Group, Scenario};

/// Each flow's base round trip: one of its packets there and an answer back through empty queues,
/// their times on the wires included. What nobody answers is taken as if somebody did.
pub(crate) fn base_round_trips(scenario: &Scenario, plan: &SeedPlan) -> Vec<Span> {
    let mut routes = plan.routes();
    let lengths =
        |group: &Group| (group.source.packet(), group.source.answer().unwrap_or(Bytes::new(40)));
    let lengths: Vec<_> = scenario.groups.iter().map(lengths).collect();
    let rtt = |flow: &PlannedFlow| {
        let (there, back) = lengths[flow.group as usize];
        routes.base_rtt(flow, there, back)
    };
    plan.flows.iter().map(rtt).collect()
}

/// The mean base round trip of the responsive flows, or of all flows if none is responsive, to the
/// nearest nanosecond.
pub(crate) fn mean_round_trip(scenario: &Scenario, plan: &SeedPlan, all: &[Span]) -> Span {
    let responsive = |flow: &PlannedFlow| scenario.groups[flow.group as usize].source.heeds_loss();
    let any = plan.flows.iter().any(responsive);
    let counted = plan.flows.iter().zip(all).filter(|(flow, _)| !any || responsive(flow));
    let (sum, count) = counted.fold((0u128, 0u128), |(sum, count), (_, rtt)| {
        (sum + u128::from(rtt.as_nanos()), count + 1)
    });
    Span::from_nanos(((sum + count / 2) / count.max(1)) as u64)
}
