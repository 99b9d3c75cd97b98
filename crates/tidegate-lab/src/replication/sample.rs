//! What one replication measured, cut down to the numbers that enter the results.
use std::collections::BTreeSet;

use tidegate::{DropReason, MarkReason, Span};
use tidegate_report::{AggregateSample, Counts, Line, Series, SeriesQuantity};
use tidegate_sim::{LinkOutcome, Outcome};

use super::course::Course;
use super::delays::{DelayNumbers, delays, milli};
use super::flows::{AllFlows, Gaps, OfFlow, OfGroup, Queues, by_key, gaps, jain_by_key, ratio};
use super::stats;
use crate::layout::SeedPlan;

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

fn watched<'o>(plan: &SeedPlan, outcome: &'o Outcome) -> &'o LinkOutcome {
    let found = outcome.links.iter().find(|link| link.link.index() == plan.watched as usize);
    found.expect("the watched link has a queue, and so an outcome")
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
