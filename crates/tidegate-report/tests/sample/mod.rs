//! Documents made up for tests: plausible, but measured nowhere.
#![allow(dead_code)] // each test file uses its part

use std::collections::BTreeMap;

use tidegate_report::{
    Aggregate, Bottleneck, Conduct, Counts, Delay, Document, Figure, Flow, Gaps, Group, Line,
    LinkResult, OverFlows, PacketSource, PerFlow, Queue, Series, SeriesQuantity,
};

/// A figure with an interval of `percent` % of it.
pub fn figure(mean: f64, percent: f64) -> Option<Figure> {
    Figure::new(mean, Some(mean.abs() * percent / 100.0))
}

fn delay(p50: f64) -> Delay {
    let [sd, p95] = [figure(p50 * 0.4, 5.0), figure(p50 * 1.9, 4.0)];
    Delay {
        mean: figure(p50 * 1.1, 3.0),
        sd,
        p50: figure(p50, 2.0),
        p95,
        p99: figure(p50 * 2.4, 6.0),
    }
}

fn gaps() -> Gaps {
    Gaps { mean: figure(12.0, 4.0), cov: figure(1.1, 6.0) }
}

fn link(name: &str, shape: Shape) -> LinkResult {
    LinkResult {
        name: name.into(),
        rate_bps: LINK,
        utilization: figure(0.97, 0.2),
        queue_delay_ms: delay(shape.delay_ms),
        loss_ratio: figure(0.02, 3.0),
        mark_ratio: figure(0.0, 0.0),
        queue_packets: figure(shape.delay_ms * 5.6, 2.0),
        nearly_full_s: figure(0.3, 20.0),
        drop_gap_ms: gaps(),
        wire_loss_ratio: None,
    }
}

/// What a made-up queue does: the flood's throughput and the spread of TCP's share.
#[derive(Clone, Copy)]
pub struct Shape {
    /// The queue's name.
    pub queue: &'static str,
    /// What the flood gets, of 45 Mbit/s.
    pub flood_bps: f64,
    /// Median delay in ms.
    pub delay_ms: f64,
}

/// Four queues that differ.
pub const SHAPES: [Shape; 4] = [
    Shape { queue: "drop_tail", flood_bps: 42.8e6, delay_ms: 35.2 },
    Shape { queue: "red", flood_bps: 41.1e6, delay_ms: 17.9 },
    Shape { queue: "blue", flood_bps: 40.2e6, delay_ms: 22.4 },
    Shape { queue: "sfb", flood_bps: 0.38e6, delay_ms: 9.1 },
];

const LINK: f64 = 45e6;

/// A simulated result: `tcp` flows and one flood, three seeds.
pub fn simulated(shape: Shape, tcp: u64) -> Document {
    let mut flows = tcp_flows(shape, tcp);
    let got: Vec<f64> = flows.iter().filter_map(|f| f.throughput_bps).map(|f| f.mean()).collect();
    flows.push(flood_flow(shape, tcp, LINK / (tcp + 1) as f64));
    Document {
        source: PacketSource::Simulated,
        scenario: "flood".into(),
        label: shape.queue.into(),
        queue: Queue {
            name: shape.queue.into(),
            preset: Some("auto".into()),
            params: BTreeMap::from([
                ("limit".into(), "200 packets".into()),
                ("w_q".into(), "0.002".into()),
            ]),
        },
        seeds: vec![1, 2, 3],
        version: "0.1.0".into(),
        wall_s: Some(1.25),
        events: Some(12_345_678),
        packets: Some(3_456_789),
        bottleneck: Bottleneck {
            rate_bps: Some(LINK),
            limit: Some("200 packets".into()),
            duration_s: Some(90.0),
            warmup_s: Some(10.0),
            ..Bottleneck::default()
        },
        aggregate: aggregate(shape, &got),
        links: ["a->b", "b->c"].into_iter().map(|name| link(name, shape)).collect(),
        groups: vec![tcp_group(shape, &got), flood_group(shape, tcp)],
        flows: Some(flows),
        ..Document::default()
    }
}

/// What the flows of TCP, which got so much each, and the flood have together.
fn aggregate(shape: Shape, got: &[f64]) -> Aggregate {
    let total: f64 = got.iter().sum();
    let all: Vec<f64> = got.iter().copied().chain([shape.flood_bps]).collect();
    Aggregate {
        jain: figure(jain_index(&all), 1.0),
        utilization: figure((total + shape.flood_bps) / LINK, 0.2),
        queue_delay_ms: delay(shape.delay_ms),
        throughput_bps: figure(total + shape.flood_bps, 0.2),
        loss_ratio: figure(0.31, 1.0),
        mark_ratio: figure(0.0, 0.0),
        queue_packets: figure(shape.delay_ms * 5.6, 2.0),
        drops: BTreeMap::from([("early".into(), Figure::new(41_234.0, Some(310.0)).unwrap())]),
        marks: BTreeMap::new(),
        norm_kbps: figure(shape.flood_bps / 1e3, 2.0),
        fair_deviation: figure(0.4, 3.0),
        nearly_full_s: figure(shape.delay_ms / 10.0, 8.0),
        drop_gap_ms: gaps(),
        packets: Some(Counts {
            offered: 3_456_789,
            delivered: 2_385_184,
            dropped: 1_071_605,
            marked: 0,
        }),
        wire_loss_ratio: None,
    }
}

/// The group of TCP, whose flows got so much each.
fn tcp_group(shape: Shape, got: &[f64]) -> Group {
    let tcp = got.len() as f64;
    let (share, total) = (LINK / (tcp + 1.0), got.iter().sum::<f64>());
    let least = got.iter().copied().fold(f64::MAX, f64::min);
    let most = got.iter().copied().fold(0.0, f64::max);
    Group {
        name: "tcp".into(),
        count: got.len() as u64,
        throughput_bps: figure(total, 0.8),
        goodput_bps: figure(total * 0.98, 0.9),
        loss_ratio: figure(0.012, 5.0),
        loss_bps: figure(total * 0.012, 5.0),
        mark_ratio: figure(0.0, 0.0),
        per_flow: PerFlow {
            mean: figure(total / tcp, 0.8),
            min: figure(least, 8.0),
            max: figure(most, 6.0),
        },
        jain: figure(jain_index(got), 1.0),
        fair_share_bps: Figure::exact(share * tcp),
        offered_bps: figure(total * 1.012, 0.8),
        delay_ms: delay(shape.delay_ms),
        conduct: Some(Conduct::Responsive),
        one_way_ms: delay(shape.delay_ms + 10.0),
        rtt_ms: delay(shape.delay_ms + 20.0),
        retransmitted_bytes: figure(total * 0.001, 5.0),
        drop_gap_ms: gaps(),
        rate_cov: OverFlows { mean: figure(0.3, 3.0), sd: figure(0.05, 9.0) },
        completions: figure(12.0, 10.0),
        completion_ms: delay(800.0),
        worst_share: figure(least / share, 9.0),
        starved: figure(if shape.flood_bps > LINK / 2.0 { tcp * 0.95 } else { 0.0 }, 5.0),
        loss_synchronization: figure(0.4, 8.0),
        starved_time: figure(0.02, 20.0),
        packets: Some(Counts {
            offered: 1_000_000,
            delivered: 988_000,
            dropped: 12_000,
            marked: 0,
        }),
        ..Group::default()
    }
}

/// The flood beside `tcp` flows.
fn flood_group(shape: Shape, tcp: u64) -> Group {
    let got = figure(shape.flood_bps, 1.5);
    Group {
        name: "flood".into(),
        count: 1,
        throughput_bps: got,
        goodput_bps: got,
        loss_ratio: figure(1.0 - shape.flood_bps / LINK, 1.0),
        loss_bps: figure(LINK - shape.flood_bps, 1.0),
        mark_ratio: None,
        per_flow: PerFlow { mean: got, min: got, max: got },
        jain: Figure::exact(1.0),
        fair_share_bps: Figure::exact(LINK / (tcp + 1) as f64),
        offered_bps: Figure::exact(LINK),
        delay_ms: delay(shape.delay_ms),
        conduct: Some(Conduct::Unresponsive),
        ..Group::default()
    }
}

fn tcp_flows(shape: Shape, tcp: u64) -> Vec<Flow> {
    let room = (LINK * 0.995 - shape.flood_bps) / tcp as f64;
    let mean_wobble = (0..tcp).map(wobble).sum::<f64>() / tcp as f64;
    let around = |i: u64| 1.0 + 0.35 * (wobble(i) - mean_wobble);
    (0..tcp)
        .map(|i| Flow {
            index: i,
            label: format!("tcp.{i}"),
            group: Some("tcp".into()),
            throughput_bps: figure(room * around(i), 7.0),
            goodput_bps: figure(0.98 * room * around(i), 7.0),
            loss_ratio: figure(0.012, 9.0),
            mark_ratio: figure(0.0, 0.0),
            delay_ms: delay(shape.delay_ms),
            fair_share_bps: Figure::exact(LINK / (tcp + 1) as f64),
            ..Flow::default()
        })
        .collect()
}

fn flood_flow(shape: Shape, index: u64, share: f64) -> Flow {
    Flow {
        index,
        label: "flood.0".into(),
        group: Some("flood".into()),
        throughput_bps: figure(shape.flood_bps, 1.5),
        goodput_bps: figure(shape.flood_bps, 1.5),
        loss_ratio: figure(1.0 - shape.flood_bps / LINK, 1.0),
        delay_ms: delay(shape.delay_ms),
        fair_share_bps: Figure::exact(share),
        offered_bps: Figure::exact(LINK),
        ..Flow::default()
    }
}

/// A number from −1 to 1 that looks like chance and is the same everywhere.
pub fn wobble(i: u64) -> f64 {
    let mixed = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// One flow of a replayed capture, of packets of 1400 bytes in twenty seconds.
fn replayed_flow(index: u64, label: &str, group: &str, offered: u64, lost: f64) -> Flow {
    let dropped = (offered as f64 * lost) as u64;
    let delivered = offered - dropped;
    let bits = 8.0 * 1400.0 / 20.0;
    Flow {
        index,
        label: label.into(),
        group: Some(group.into()),
        throughput_bps: Figure::exact(delivered as f64 * bits),
        loss_ratio: Figure::exact(dropped as f64 / offered as f64),
        mark_ratio: Figure::exact(0.0),
        delay_ms: Delay {
            mean: Figure::exact(8.2),
            p50: Figure::exact(7.1),
            p99: Figure::exact(19.0),
            ..Delay::default()
        },
        offered_bps: Figure::exact(offered as f64 * bits),
        packets: Some(Counts { offered, delivered, dropped, marked: 0 }),
        bytes: Some(Counts {
            offered: offered * 1400,
            delivered: delivered * 1400,
            dropped: dropped * 1400,
            marked: 0,
        }),
        ..Flow::default()
    }
}

/// The group `name` of `flows` that were replayed.
fn replayed_group(name: &str, flows: &[Flow]) -> Group {
    let own: Vec<&Flow> = flows.iter().filter(|f| f.group.as_deref() == Some(name)).collect();
    let sum = |get: fn(&Flow) -> Option<Figure>| {
        Figure::exact(own.iter().filter_map(|f| get(f)).map(|f| f.mean()).sum())
    };
    Group {
        name: name.into(),
        count: own.len() as u64,
        throughput_bps: sum(|f| f.throughput_bps),
        loss_ratio: own[0].loss_ratio,
        loss_bps: Figure::exact(1e5),
        mark_ratio: Figure::exact(0.0),
        fair_share_bps: Figure::exact(own.len() as f64 * 10e6 / 3.0),
        offered_bps: sum(|f| f.offered_bps),
        ..Group::default()
    }
}

/// A replayed capture: no seeds, no intervals, no goodput, flows with counts.
pub fn replayed(queue: &str, flood_ratio: f64) -> Document {
    let flows = vec![
        replayed_flow(0, "10.0.0.1:5001 > 10.0.1.1:80 tcp", "tcp", 4_120, 0.02),
        replayed_flow(1, "10.0.0.2:5002 > 10.0.1.1:80 tcp", "tcp", 3_980, 0.025),
        replayed_flow(2, "10.0.0.9:4000 > 10.0.1.1:9 udp", "udp", 31_000, flood_ratio),
    ];
    Document {
        source: PacketSource::Replayed,
        scenario: "flood.pcapng".into(),
        label: queue.into(),
        queue: Queue { name: queue.into(), preset: None, params: BTreeMap::new() },
        version: "0.1.0".into(),
        packets: Some(39_100),
        bottleneck: Bottleneck {
            rate_bps: Some(10e6),
            duration_s: Some(20.0),
            ..Bottleneck::default()
        },
        aggregate: Aggregate {
            jain: Figure::exact(0.61),
            utilization: Figure::exact(0.998),
            queue_delay_ms: Delay {
                mean: Figure::exact(8.0),
                p50: Figure::exact(7.0),
                p99: Figure::exact(21.0),
                ..Delay::default()
            },
            ..Aggregate::default()
        },
        groups: ["tcp", "udp"].map(|name| replayed_group(name, &flows)).to_vec(),
        flows: Some(flows),
        ..Document::default()
    }
}

/// Queue, delay, gauges and group rates over 100 s.
pub fn series(shape: Shape) -> Series {
    let points = 500;
    let time_s: Vec<f64> = (0..points).map(|i| i as f64 * 0.2).collect();
    let noise = |k: u64, depth: f64| (0..points).map(move |i| 1.0 + depth * wobble(i * 7 + k));
    let queue = shape.delay_ms * 5.6;
    let flood = shape.flood_bps;
    let mut lines = vec![
        Line::new(SeriesQuantity::Queue, "queue", "packets", noise(1, 0.4).map(|x| x * queue)),
        Line::new(SeriesQuantity::Delay, "delay", "ms", noise(2, 0.4).map(|x| x * shape.delay_ms)),
        Line::new(
            SeriesQuantity::Throughput,
            "tcp",
            "bit/s",
            noise(3, 0.05).map(|x| x * (LINK - flood)),
        ),
        Line::new(SeriesQuantity::Throughput, "flood", "bit/s", noise(4, 0.05).map(|x| x * flood)),
    ];
    match shape.queue {
        "red" => lines.push(Line::new(
            SeriesQuantity::Gauge,
            "avg",
            "packets",
            noise(5, 0.1).map(|x| x * queue),
        )),
        "blue" => {
            lines.push(Line::new(SeriesQuantity::Gauge, "p_m", "", noise(6, 0.2).map(|x| x * 0.31)))
        }
        "sfb" => {
            lines.push(Line::new(
                SeriesQuantity::Gauge,
                "p_m max",
                "",
                noise(6, 0.01).map(|x| (x * 0.99).min(1.0)),
            ));
            lines.push(Line::new(
                SeriesQuantity::Gauge,
                "bins_full",
                "bins",
                noise(7, 0.5).map(|x| (x * 3.0) as u64 as f64),
            ));
        }
        _ => {}
    }
    Series { seed: Some(1), time_s, lines }
}

fn jain_index(rates: &[f64]) -> f64 {
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    sum * sum / (rates.len() as f64 * squares)
}
