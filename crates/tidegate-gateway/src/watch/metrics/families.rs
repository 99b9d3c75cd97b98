//! The figures, one by one.
use std::borrow::Cow;

use super::FamilyKind::{Counter, Gauge, Histogram, Info};
use super::MetricValue::{Count, Delays, Level};
use super::{Family, MetricSample, MetricValue};
use crate::watch::counters::Tally;
use crate::watch::snapshot::{
    ClassAccount, Direction, GaugeReading, Limit, QueueSnapshot, Snapshot,
};

const NONE: &[&str] = &[];
const VERSION: &[&str] = &["version"];
const OUTCOME: &[&str] = &["outcome"];
const LINK: &[&str] = &["link"];
const WAY: &[&str] = &["link", "direction"];
const REASON: &[&str] = &["link", "direction", "reason"];
const CLASS: &[&str] = &["link", "direction", "class"];
const GAUGE: &[&str] = &["link", "direction", "gauge"];
const QUEUE: &[&str] = &["link", "direction", "from", "to", "queue", "label", "flow_key"];

/// The class of frames that no class takes. No class of a file can be called so.
const REST: &str = "(rest)";

macro_rules! families {
    ($($kind:ident $stem:literal [$unit:literal] $labels:ident, $help:literal, $read:expr;)+) => {
        /// Every family, in the order of the page.
        pub const FAMILIES: &[Family] = &[
            $(Family {
                stem: $stem,
                unit: $unit,
                kind: $kind,
                labels: $labels,
                help: $help,
                read: $read,
            }),+
        ];
    };
}

families! {
    Info "tidegate_build" [""] VERSION, "The version that runs.",
        |s| vec![MetricSample { values: vec![s.version.clone().into()], value: None }];
    Gauge "tidegate_uptime" ["seconds"] NONE, "How long the gates of the process have been running.",
        |s| alone(Level(s.uptime_s));
    Gauge "tidegate_resident_memory" ["bytes"] NONE, "Memory of the process that is not swapped out.",
        |s| alone(level(s.resident_bytes));
    Counter "tidegate_reloads" [""] OUTCOME, "How often the file of links was read again, by what came of it.",
        |s| [("done", s.reloads.done), ("refused", s.reloads.refused)]
            .map(|(what, n)| sample([what], Count(n)))
            .into();
    Gauge "tidegate_file_refused" [""] NONE, "1 if the file of links was not heeded when it was read last, else 0.",
        |s| alone(flag(s.reloads.last_error.is_some()));
    Gauge "tidegate_link_running" [""] LINK, "1 while frames are moved; 0 of a link that has ended alone.",
        |s| s.links.iter().map(|link| sample([link.name.clone()], flag(link.running))).collect();
    Gauge "tidegate_link_taken" ["seconds"] LINK, "When the link's figures were taken, in seconds from 1970 on.",
        |s| s.links.iter().map(|link| sample([link.name.clone()], Level(link.taken_s))).collect();

    Counter "tidegate_received" ["frames"] WAY, "Frames taken over from the interface: sent, lost or held.",
        |s| ways(s, |d| Count(d.received.frames));
    Counter "tidegate_received" ["bytes"] WAY, "Their bytes, without check sequence and overhead.",
        |s| ways(s, |d| Count(d.received.bytes));
    Counter "tidegate_sent" ["frames"] WAY, "Frames given to the other interface.",
        |s| ways(s, |d| Count(d.sent.frames));
    Counter "tidegate_sent" ["bytes"] WAY, "Their bytes.",
        |s| ways(s, |d| Count(d.sent.bytes));
    Counter "tidegate_lost" ["frames"] REASON, "Frames not sent on, by reason: the queue's or the gateway's.",
        |s| reasons(s, |d| d.lost.iter().map(|(why, lost)| (why.clone(), lost.frames)).collect());
    Counter "tidegate_lost" ["bytes"] REASON, "Their bytes.",
        |s| reasons(s, |d| d.lost.iter().map(|(why, lost)| (why.clone(), lost.bytes)).collect());
    Counter "tidegate_marked" ["frames"] REASON, "Frames that the queue marked, by reason.",
        |s| reasons(s, |d| d.marked.iter().map(|(why, frames)| (why.clone(), *frames)).collect());
    Counter "tidegate_allowed" ["frames"] WAY, "Of the frames received, those that no queue was to judge.",
        |s| ways(s, |d| Count(d.allowed.frames));
    Counter "tidegate_allowed" ["bytes"] WAY, "Their bytes.",
        |s| ways(s, |d| Count(d.allowed.bytes));
    Counter "tidegate_unfinished" ["frames"] WAY, "Frames whose checksum the sender left to hardware.",
        |s| ways(s, |d| Count(d.unfinished));
    Counter "tidegate_missed" ["frames"] WAY, "Frames that the kernel had no room for before they were received.",
        |s| ways(s, |d| Count(d.missed));
    Gauge "tidegate_held" ["frames"] WAY, "Frames in the queue and on the delay line.",
        |s| ways(s, |d| level(d.held.frames));
    Gauge "tidegate_held" ["bytes"] WAY, "Their bytes.",
        |s| ways(s, |d| level(d.held.bytes));
    Gauge "tidegate_frame_memory_used" ["bytes"] WAY, "Memory of waiting frames that is taken.",
        |s| ways(s, |d| level(d.memory.used_bytes));
    Gauge "tidegate_frame_memory" ["bytes"] WAY, "Memory of waiting frames in all.",
        |s| ways(s, |d| level(d.memory.bytes));

    Info "tidegate_queue" [""] QUEUE, "The queue of a direction, and between which interfaces.", queue_info;
    Gauge "tidegate_link_rate" ["bytes_per_second"] WAY, "The rate that the managed link is set to.",
        |s| queues(s, |q| Some(per_second(q.rate_bps as f64)));
    Gauge "tidegate_queue_limit" ["bytes"] WAY, "How much may wait, if that is set in bytes.",
        |s| queues(s, |q| match q.limit {
            Limit::Bytes(bytes) => Some(level(bytes)),
            Limit::Packets(_) => None,
        });
    Gauge "tidegate_queue_limit" ["packets"] WAY, "How much may wait, if that is set in packets.",
        |s| queues(s, |q| match q.limit {
            Limit::Packets(packets) => Some(level(packets)),
            Limit::Bytes(_) => None,
        });
    Gauge "tidegate_queue_backlog" ["frames"] WAY, "Frames that wait in the queue and beside it.",
        |s| queues(s, |q| Some(level(q.backlog.frames)));
    Gauge "tidegate_queue_backlog" ["bytes"] WAY, "Their bytes on the wire, overhead included.",
        |s| queues(s, |q| Some(level(q.backlog.bytes)));
    Histogram "tidegate_queue_delay" ["seconds"] WAY, "How long frames had waited when they left the queue.",
        |s| queues(s, |q| Some(Delays(q.delays.clone())));

    Gauge "tidegate_queue_state" [""] GAUGE, "What the queue shows of its inner state, pure numbers.",
        |s| gauges(s, &[""], 1.0);
    Gauge "tidegate_queue_state" ["seconds"] GAUGE, "The same, times.",
        |s| gauges(s, &["s"], 1.0);
    Gauge "tidegate_queue_state" ["bytes"] GAUGE, "The same, amounts.",
        |s| gauges(s, &["B", "bytes"], 1.0);
    Gauge "tidegate_queue_state" ["bytes_per_second"] GAUGE, "The same, rates.",
        |s| gauges(s, &["bit/s"], 0.125);
    Gauge "tidegate_queue_state" ["packets"] GAUGE, "The same, packets.",
        |s| gauges(s, &["packets"], 1.0);
    Gauge "tidegate_queue_state" ["bins"] GAUGE, "The same, bins.",
        |s| gauges(s, &["bins"], 1.0);
    Gauge "tidegate_queue_state" ["periods"] GAUGE, "The same, periods.",
        |s| gauges(s, &["periods"], 1.0);

    Counter "tidegate_class_received" ["frames"] CLASS, "Frames of the class that were offered to the queue.",
        |s| classes(s, |c| &c.received, frames);
    Counter "tidegate_class_received" ["bytes"] CLASS, "Their bytes on the wire.",
        |s| classes(s, |c| &c.received, bytes);
    Counter "tidegate_class_left" ["frames"] CLASS, "Frames of the class that left the queue for the link.",
        |s| classes(s, |c| &c.left, frames);
    Counter "tidegate_class_left" ["bytes"] CLASS, "Their bytes on the wire.",
        |s| classes(s, |c| &c.left, bytes);
    Counter "tidegate_class_lost" ["frames"] CLASS, "Frames of the class that the queue dropped.",
        |s| classes(s, |c| &c.lost, frames);
    Counter "tidegate_class_lost" ["bytes"] CLASS, "Their bytes on the wire.",
        |s| classes(s, |c| &c.lost, bytes);
    Gauge "tidegate_class_waiting" ["frames"] CLASS, "Frames of the class that wait in the queue.",
        |s| classes(s, |c| &c.waiting, |t| level(t.frames));
    Gauge "tidegate_class_waiting" ["bytes"] CLASS, "Their bytes on the wire.",
        |s| classes(s, |c| &c.waiting, |t| level(t.bytes));

    Gauge "tidegate_offenders" ["flows"] WAY, "Flows that are offenders.",
        |s| queues(s, |q| Some(level(q.flows.offenders.len() as u64)));
    Counter "tidegate_offences" [""] WAY, "How often a flow has become an offender.",
        |s| queues(s, |q| Some(Count(q.flows.became_offender)));
    Gauge "tidegate_offenders_share" ["ratio"] WAY, "The offenders' part of all that arrives, 0 to 1.",
        |s| queues(s, |q| Some(Level(q.flows.offenders.iter().map(|flow| flow.share).sum())));
    Gauge "tidegate_fair_rate" ["bytes_per_second"] WAY, "What each flow may send, with classes the least of them; missing while nothing is congested.",
        |s| queues(s, |q| q.flows.fair_bps.map(per_second));
}

fn sample<const N: usize>(
    values: [impl Into<Cow<'static, str>>; N],
    value: MetricValue,
) -> MetricSample {
    MetricSample { values: values.map(Into::into).into(), value: Some(value) }
}

/// The only one of its family.
fn alone(value: MetricValue) -> Vec<MetricSample> {
    vec![MetricSample { values: vec![], value: Some(value) }]
}

fn level(count: u64) -> MetricValue {
    Level(count as f64)
}

fn flag(is: bool) -> MetricValue {
    Level(f64::from(u8::from(is)))
}

/// A rate in bit/s, in bytes a second.
fn per_second(bps: f64) -> MetricValue {
    Level(bps / 8.0)
}

fn frames(tally: &Tally) -> MetricValue {
    Count(tally.frames)
}

fn bytes(tally: &Tally) -> MetricValue {
    Count(tally.bytes)
}

/// A direction with the values of its first two labels.
type Labelled<'a> = ([Cow<'static, str>; 2], &'a Direction);

fn directions(snapshot: &Snapshot) -> impl Iterator<Item = Labelled<'_>> {
    snapshot.links.iter().flat_map(|link| {
        let labelled = |name, way| ([link.name.clone().into(), Cow::Borrowed(name)], way);
        [labelled("managed", &link.managed), labelled("reverse", &link.reverse)]
    })
}

/// The labels of a direction and one more.
fn and(
    way: &[Cow<'static, str>; 2],
    third: impl Into<Cow<'static, str>>,
) -> Vec<Cow<'static, str>> {
    vec![way[0].clone(), way[1].clone(), third.into()]
}

fn ways(snapshot: &Snapshot, read: fn(&Direction) -> MetricValue) -> Vec<MetricSample> {
    directions(snapshot).map(|(way, of)| sample(way, read(of))).collect()
}

fn reasons(snapshot: &Snapshot, read: fn(&Direction) -> Vec<(String, u64)>) -> Vec<MetricSample> {
    let each = directions(snapshot).flat_map(|(way, of)| {
        read(of).into_iter().map(move |(why, count)| MetricSample {
            values: and(&way, why),
            value: Some(Count(count)),
        })
    });
    each.collect()
}

fn queues(
    snapshot: &Snapshot,
    read: fn(&QueueSnapshot) -> Option<MetricValue>,
) -> Vec<MetricSample> {
    directions(snapshot)
        .filter_map(|(way, of)| Some(sample(way, read(of.queue.as_ref()?)?)))
        .collect()
}

fn queue_info(snapshot: &Snapshot) -> Vec<MetricSample> {
    let each = directions(snapshot).filter_map(|([link, way], of)| {
        let QueueSnapshot { name, label, flow_key, .. } = of.queue.as_ref()?;
        let words = [&of.from, &of.to, name, label, flow_key].map(|word| Cow::Owned(word.clone()));
        Some(MetricSample { values: [link, way].into_iter().chain(words).collect(), value: None })
    });
    each.collect()
}

/// The gauges with one of `units`, in `factor` of them.
fn gauges(snapshot: &Snapshot, units: &[&str], factor: f64) -> Vec<MetricSample> {
    let each = directions(snapshot).flat_map(|(way, of)| {
        let readings: &[GaugeReading] = of.queue.as_ref().map_or(&[], |queue| &queue.gauges);
        let with_unit = move |reading: &&GaugeReading| units.contains(&reading.unit.as_str());
        readings.iter().filter(with_unit).filter_map(move |reading| {
            let value = Level(reading.value? * factor);
            Some(MetricSample { values: and(&way, reading.name.clone()), value: Some(value) })
        })
    });
    each.collect()
}

fn classes(
    snapshot: &Snapshot,
    of: fn(&ClassAccount) -> &Tally,
    read: fn(&Tally) -> MetricValue,
) -> Vec<MetricSample> {
    let each = directions(snapshot).flat_map(|(way, direction)| {
        let classes: &[ClassAccount] = direction.queue.as_ref().map_or(&[], |queue| &queue.classes);
        classes.iter().map(move |class| {
            let name =
                if class.name.is_empty() { REST.into() } else { Cow::Owned(class.name.clone()) };
            MetricSample { values: and(&way, name), value: Some(read(of(class))) }
        })
    });
    each.collect()
}
