//! From what was counted to the result document.
use std::collections::BTreeMap;

use tidegate::catalog::AnyConfig;
use tidegate::{Link, Rate, Time};
use tidegate_report::fair::Worst;
use tidegate_report::{
    Aggregate, Bottleneck, Counts, Delay, Document, Figure, Flow, Group, PacketSource, PerFlow,
    Queue, fair,
};

use super::delays::{Dense, WaitingTimes};
use super::flows::Tale;
use super::line::{ReplayLine, ReplayTally};
use super::{ReplayGroup, ReplayJob};
use crate::replication::QueueOutcome;
use crate::spec::QueueSpec;

/// The outcome of `line`, whose last packet was offered at `last`.
pub(super) fn outcome(
    job: &ReplayJob,
    link: &Link,
    spec: &QueueSpec,
    config: &AnyConfig,
    line: ReplayLine,
    last: Time,
) -> QueueOutcome {
    let over = MeasuredTime { seconds: last.as_secs(), rate: link.rate };
    let tally = &line.tally;
    let fair = fair_shares(tally, &over);
    let seen: Vec<ReplayGroup> =
        ReplayGroup::ALL.into_iter().filter(|&c| tally.packets[c as usize].offered > 0).collect();
    let document = Document {
        source: PacketSource::Replayed,
        scenario: job.name(),
        label: spec.label(),
        queue: Queue {
            name: spec.name.clone(),
            preset: Some(spec.preset().to_string()),
            params: config
                .values()
                .into_iter()
                .map(|(p, value)| (p.name.to_string(), value))
                .collect(),
        },
        seeds: vec![job.seed],
        version: env!("CARGO_PKG_VERSION").into(),
        packets: Some(line.offered()),
        bottleneck: Bottleneck {
            rate_bps: Some(link.rate.as_bps() as f64),
            limit: Some(link.limit.to_string()),
            duration_s: Some(over.seconds),
            ..Bottleneck::default()
        },
        aggregate: aggregate(tally, &over),
        groups: seen.iter().map(|&c| group(c, tally, fair.as_deref(), &over)).collect(),
        flows: Some(listed(tally, fair.as_deref(), &over, job.listed)),
        ..Document::default()
    };
    let series = tally.series.series(job.seed, &seen);
    QueueOutcome { document, series, by_seed: tidegate_report::Tidy::default() }
}

/// The time over which rates are taken, and the link's rate.
struct MeasuredTime {
    seconds: f64,
    rate: Rate,
}

impl MeasuredTime {
    /// So many bytes as a rate; `None` for a capture without duration.
    fn rate(&self, bytes: u64) -> Option<Figure> {
        Figure::exact(bytes as f64 * 8.0 / self.seconds)
    }
}

fn ratio(part: u64, whole: u64) -> Option<Figure> {
    Figure::exact(part as f64 / whole as f64)
}

fn delay(delays: &dyn WaitingTimes) -> Delay {
    let millis = |nanos: Option<f64>| nanos.and_then(|n| Figure::exact(n / 1e6));
    let of = |q: f64| millis(delays.quantile(q));
    Delay { mean: millis(delays.mean()), sd: None, p50: of(0.5), p95: of(0.95), p99: of(0.99) }
}

fn aggregate(tally: &ReplayTally, over: &MeasuredTime) -> Aggregate {
    let count = |what: fn(&Counts) -> u64| tally.packets.iter().map(what).sum::<u64>();
    let offered = count(|c| c.offered);
    let in_time: Vec<u64> = tally.flows.tales.iter().map(|t| t.in_time.iter().sum()).collect();
    let mut delays = Dense::default();
    tally.delays.iter().for_each(|d| delays.merge(d));
    let nanos = over.seconds * 1e9;
    Aggregate {
        jain: tally.flows.complete().then(|| jain(&in_time)).flatten(),
        utilization: Figure::exact(tally.busy as f64 / nanos),
        queue_delay_ms: delay(&delays),
        throughput_bps: over
            .rate(in_time.iter().sum::<u64>() + tally.flows.others.in_time.iter().sum::<u64>()),
        loss_ratio: ratio(count(|c| c.dropped), offered),
        mark_ratio: ratio(count(|c| c.marked), offered),
        queue_packets: Figure::exact(tally.area as f64 / nanos),
        drops: reasons(tidegate::DropReason::ALL.iter().map(|r| r.name()), &tally.drops),
        marks: reasons(tidegate::MarkReason::ALL.iter().map(|r| r.name()), &tally.marks),
        ..Aggregate::default()
    }
}

fn reasons<'a>(names: impl Iterator<Item = &'a str>, counts: &[u64]) -> BTreeMap<String, Figure> {
    let counted = names.zip(counts).filter(|&(_, &n)| n > 0);
    counted.filter_map(|(name, &n)| Some((name.to_string(), Figure::exact(n as f64)?))).collect()
}

/// Jain's index of `values`; `None` where all are zero.
fn jain(values: &[u64]) -> Option<Figure> {
    fair::jain(&values.iter().map(|&v| v as f64).collect::<Vec<_>>()).and_then(Figure::exact)
}

/// Each flow's max-min fair share in bit/s, its offered load its demand; `None` where not every
/// flow is known.
fn fair_shares(tally: &ReplayTally, over: &MeasuredTime) -> Option<Vec<f64>> {
    if !tally.flows.complete() || over.seconds <= 0.0 {
        return None;
    }
    let demands: Vec<f64> =
        tally.flows.tales.iter().map(|t| t.bytes.offered as f64 * 8.0 / over.seconds).collect();
    Some(fair::max_min(&demands, over.rate.as_bps() as f64))
}

fn group(
    class: ReplayGroup,
    tally: &ReplayTally,
    fair: Option<&[f64]>,
    over: &MeasuredTime,
) -> Group {
    let c = class as usize;
    let counts = tally.packets[c];
    let every = tally.flows.tales.iter().chain([&tally.flows.others]);
    let (offered, in_time) = every.fold((0, 0), |(o, d), t| (o + t.offered[c], d + t.in_time[c]));
    let members = || tally.flows.tales.iter().enumerate().filter(|(_, t)| t.offered[c] > 0);
    let rates: Vec<u64> = members().map(|(_, t)| t.in_time[c]).collect();
    // A flow of several protocols (one client, say) shares out its fair share as it offers.
    let worst = fair.and_then(|fair| {
        let got = |t: &Tale| t.in_time[c] as f64 * 8.0 / over.seconds;
        let part = |t: &Tale| t.offered[c] as f64 / t.bytes.offered as f64;
        Worst::of(members().map(|(i, t)| (got(t), fair[i] * part(t))))
    });
    let fair = fair.and_then(|fair| {
        Figure::exact(
            members().map(|(i, t)| fair[i] * t.offered[c] as f64 / t.bytes.offered as f64).sum(),
        )
    });
    Group {
        name: class.name().into(),
        count: rates.len() as u64,
        throughput_bps: over.rate(in_time),
        loss_ratio: ratio(counts.dropped, counts.offered),
        loss_bps: over.rate(tally.dropped_bytes[c]),
        mark_ratio: ratio(counts.marked, counts.offered),
        per_flow: PerFlow {
            mean: over.rate(rates.iter().sum()).and_then(|sum| sum.over(rates.len() as f64)),
            min: rates.iter().min().and_then(|&r| over.rate(r)),
            max: rates.iter().max().and_then(|&r| over.rate(r)),
        },
        jain: tally.flows.complete().then(|| jain(&rates)).flatten(),
        fair_share_bps: fair,
        offered_bps: over.rate(offered),
        delay_ms: delay(&tally.delays[c]),
        worst_share: worst.and_then(|w| Figure::exact(w.share)),
        starved: worst.and_then(|w| Figure::exact(w.starved as f64)),
        packets: Some(counts),
        ..Group::default()
    }
}

/// The flows that offered most bytes, at most `most` of them, in the order of their first packets;
/// then the rest as one.
fn listed(
    tally: &ReplayTally,
    fair: Option<&[f64]>,
    over: &MeasuredTime,
    most: usize,
) -> Vec<Flow> {
    let tales = &tally.flows.tales;
    let mut order: Vec<usize> = (0..tales.len()).collect();
    order.sort_by(|&a, &b| tales[b].bytes.offered.cmp(&tales[a].bytes.offered).then(a.cmp(&b)));
    let rest = order.split_off(most.min(order.len()));
    order.sort_unstable();
    let mut flows: Vec<Flow> = order
        .into_iter()
        .map(|i| flow(i as u64, &tales[i], fair.map(|fair| fair[i]), over))
        .collect();
    if let Some(others) = together(rest.iter().map(|&i| &tales[i]).chain([&tally.flows.others])) {
        flows.push(Flow {
            label: "other flows".into(),
            group: None,
            ..flow(tales.len() as u64, &others, None, over)
        });
    }
    flows
}

/// All of `tales` as one, without delays; `None` if no packet is theirs.
fn together<'a>(tales: impl Iterator<Item = &'a Tale>) -> Option<Tale> {
    let add = |sum: &mut Counts, more: &Counts| {
        sum.offered += more.offered;
        sum.delivered += more.delivered;
        sum.dropped += more.dropped;
        sum.marked += more.marked;
    };
    let mut sum = Tale::of(None);
    for tale in tales {
        add(&mut sum.packets, &tale.packets);
        add(&mut sum.bytes, &tale.bytes);
        sum.in_time.iter_mut().zip(tale.in_time).for_each(|(s, t)| *s += t);
    }
    (sum.packets.offered > 0).then_some(sum)
}

fn flow(index: u64, tale: &Tale, fair: Option<f64>, over: &MeasuredTime) -> Flow {
    let mut classes = ReplayGroup::ALL.into_iter().filter(|&c| tale.offered[c as usize] > 0);
    let group = match (classes.next(), classes.next()) {
        (Some(only), None) => Some(only.name().to_string()),
        _ => None,
    };
    Flow {
        index,
        label: tale.flow.map_or_else(|| "other flows".to_string(), |flow| flow.to_string()),
        group,
        throughput_bps: over.rate(tale.in_time.iter().sum()),
        goodput_bps: None,
        loss_ratio: ratio(tale.packets.dropped, tale.packets.offered),
        mark_ratio: ratio(tale.packets.marked, tale.packets.offered),
        delay_ms: delay(&tale.delays),
        fair_share_bps: fair.and_then(Figure::exact),
        offered_bps: over.rate(tale.bytes.offered),
        packets: Some(tale.packets),
        bytes: Some(tale.bytes),
        ..Flow::default()
    }
}
