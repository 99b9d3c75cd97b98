//! From the replications' numbers to the result document: means with their intervals.
use std::collections::BTreeMap;

use tidegate_packet::FlowKey;
use tidegate_report as report;
use tidegate_report::{Aggregate, Bottleneck, Conduct, Document, Figure, GroupSample, Queue};

use super::configs::Chosen;
use super::delays::DelayNumbers;
use super::flows::{Gaps, OfFlow};
use super::job::Job;
use super::sample::{LinkSample, Sample};
use super::settled;
use super::stats::{figure, figure_of_some, part, rare, skewed};
use crate::spec::QueueSpec;

/// The result of one queue: `samples` has one entry for each seed.
pub(crate) fn document(
    job: &Job,
    spec: &QueueSpec,
    config: &Chosen,
    samples: &[Sample],
) -> Document {
    let scenario = &job.scenario;
    let link = scenario.bottleneck();
    let by_key = Some(scenario.run.flow_key.0).filter(|key| *key != FlowKey::FiveTuple);
    let seconds = (scenario.run.duration - scenario.run.warmup).as_secs();
    Document {
        source: report::PacketSource::Simulated,
        scenario: scenario.name.clone(),
        label: spec.label(),
        queue: Queue {
            name: spec.name.clone(),
            preset: spec.foreign.is_none().then(|| spec.preset().into()),
            params: config.values().into_iter().collect(),
        },
        seeds: scenario.seeds(),
        version: env!("CARGO_PKG_VERSION").into(),
        events: Some(samples.iter().map(|s| s.events).sum()),
        packets: Some(samples.iter().map(|s| s.packets).sum()),
        bottleneck: Bottleneck {
            rate_bps: Some(link.rate.as_bps() as f64),
            limit: Some(link.limit.to_string()),
            duration_s: Some(seconds),
            warmup_s: Some(scenario.run.warmup.as_secs()),
            flow_key: by_key.map(|key| key.to_string()),
            flow_count: by_key.and_then(|_| samples.iter().map(|s| s.flow_count as u64).max()),
        },
        aggregate: aggregate(samples),
        links: links(samples),
        groups: (0..scenario.groups.len()).map(|i| group(job, i, samples)).collect(),
        flows: job.flows.then(|| flows(job, samples)),
        unsettled: settled::unsettled(job, samples),
        ..Document::default()
    }
}

fn aggregate(samples: &[Sample]) -> Aggregate {
    Aggregate {
        drops: by_reason(samples, |s| &s.drops),
        marks: by_reason(samples, |s| &s.marks),
        ..Aggregate::pooled(samples.iter().map(|s| &s.aggregate))
    }
}

fn links(samples: &[Sample]) -> Vec<report::LinkResult> {
    let Some(first) = samples.first() else { return vec![] };
    let link = |(index, l): (usize, &LinkSample)| {
        let of = || samples.iter().map(move |s| &s.links[index]);
        let exact = |value: fn(&LinkSample) -> f64| figure(of().map(value));
        let some = |value: fn(&LinkSample) -> Option<f64>| figure_of_some(of().map(value));
        report::LinkResult {
            name: l.name.clone(),
            rate_bps: l.rate,
            utilization: exact(|l| l.utilization).map(part),
            queue_delay_ms: delay(of().map(|l| l.delay)),
            loss_ratio: some(|l| l.loss_ratio).map(rare),
            mark_ratio: some(|l| l.mark_ratio).map(rare),
            queue_packets: skewed(of().map(|l| Some(l.queue_packets))),
            nearly_full_s: some(|l| l.nearly_full_s),
            drop_gap_ms: gaps(of().map(|l| l.drop_gaps)),
            wire_loss_ratio: some(|l| l.wire_loss_ratio).map(rare),
        }
    };
    first.links.iter().enumerate().map(link).collect()
}

/// Reasons that occurred at least once.
fn by_reason(
    samples: &[Sample],
    of: fn(&Sample) -> &[(&'static str, f64)],
) -> BTreeMap<String, Figure> {
    let reasons = samples.first().map_or(&[][..], of);
    let count = |index: usize| samples.iter().map(move |s| of(s)[index].1);
    let seen = (0..reasons.len()).filter(|&i| count(i).any(|n| n > 0.0));
    seen.filter_map(|i| Some((reasons[i].0.to_string(), figure(count(i)).map(rare)?))).collect()
}

fn delay(samples: impl Iterator<Item = DelayNumbers> + Clone) -> report::Delay {
    let nth = |i: usize| skewed(samples.clone().map(move |d| d[i]));
    report::Delay { mean: nth(0), sd: nth(1), p50: nth(2), p95: nth(3), p99: nth(4) }
}

fn gaps(samples: impl Iterator<Item = Gaps> + Clone) -> report::Gaps {
    let nth = |i: usize| figure_of_some(samples.clone().map(move |g| g[i]));
    report::Gaps { mean: nth(0), cov: nth(1) }
}

fn group(job: &Job, index: usize, samples: &[Sample]) -> report::Group {
    let group = &job.scenario.groups[index];
    let of = || samples.iter().map(|s| &s.groups[index].metrics);
    let heeds = group.source.heeds_loss();
    let share = |g: &GroupSample| {
        Some(if heeds { g.goodput_bps } else { g.throughput_bps }? / g.fair_share_bps?)
    };
    let users = samples.iter().map(|s| s.groups[index].users).max();
    report::Group {
        name: group.name.clone(),
        count: group.count as u64,
        conduct: Some(if heeds { Conduct::Responsive } else { Conduct::Unresponsive }),
        user_count: users.filter(|users| *users != group.count as usize).map(|users| users as u64),
        // A share that is no number belongs to a group without a fair share, and then none is one.
        share_by_seed: of().filter_map(share).filter(|share| share.is_finite()).collect(),
        ..report::Group::pooled(of())
    }
}

fn flows(job: &Job, samples: &[Sample]) -> Vec<report::Flow> {
    let Some(first) = samples.first() else { return vec![] };
    let mut within = vec![0u32; job.scenario.groups.len()];
    let flow = |(index, f): (usize, &OfFlow)| {
        let group = &job.scenario.groups[f.group].name;
        within[f.group] += 1;
        report::Flow {
            index: index as u64,
            label: format!("{group} {}", within[f.group]),
            group: Some(group.clone()),
            ..report::Flow::pooled(samples.iter().map(|s| &s.flows[index].metrics))
        }
    };
    first.flows.iter().enumerate().map(flow).collect()
}
