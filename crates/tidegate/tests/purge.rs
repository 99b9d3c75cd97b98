//! BLACK and Purge against their paper: golden numbers, the naive twins, and what the paper says of them.
mod naive;
mod support;
mod twinned;

use naive::hits::{self, NaiveHits};
use naive::purge::{Count, NaivePurge, Said};
use support::Fate;
use support::twin::OPERATIONS;
use support::workload::{Phase, Workload};
use tidegate::catalog::AnyQueue;
use tidegate::queues::Purge;
use tidegate::{DropReason, Ecn, Link, NullSink, Packet, Qdisc, Rng, Span, Time};
use twinned::Twinned as _;
use twinned::purge::Twinned;

fn build(name: &str, settings: &[(&str, &str)], link: Link, dice: Rng) -> AnyQueue {
    support::config(name, None, settings, &link).build(link, dice).unwrap()
}

fn a_purge(settings: &[(&str, &str)], link: Link, dice: Rng) -> Purge {
    match build("purge", settings, link, dice) {
        AnyQueue::Purge(queue) => queue,
        other => panic!("{other:?}"),
    }
}

/// Table 1's link: 10 Mbit/s, 1250 kB.
fn table_1() -> Link {
    support::link("10 Mbit/s", "1250 kB", "1000 B")
}

/// Ω N − 1 = 1.4 and γ W = .001: d = .0014, dropped with 1.4 · 10^-6; and what drops 96.6 %: d = 3393 or so, which in bits
/// needs Ω N = 1.069 at an overload of 49 Mbit/s.
#[test]
fn golden_prices() {
    let mut twin = naive_purge(&table_1());
    twin.cache.list.push(hits::Cached { flow: 7, hits: 0.0, fraction: 0.24, place: 0 });
    twin.flows = 10.0;
    twin.input = 10e6 + 1.0;
    twin.overload_run = 2;
    let Said::Drop(p) = twin.judge(7, twin.target) else { panic!("flow 7 is above its share") };
    assert!((p - 1.4e-6).abs() < 1e-9, "{p:e}");
    twin.flows = 1.069_24 / 0.24;
    twin.input = 59e6;
    let Said::Drop(p) = twin.judge(7, twin.target) else { panic!("flow 7 is above its share") };
    assert!((p - 0.966).abs() < 1e-3, "{p}");
    assert_eq!(twin.judge(8, twin.target), Said::Mark(0.0));
}

fn naive_purge(link: &Link) -> NaivePurge {
    NaivePurge {
        alpha: 0.1,
        gamma: 0.001,
        phi: 1.001,
        target: link.limit.in_bytes(link.mean_packet) as f64 * 8.0 / 5.0,
        capacity: link.rate.as_bps() as f64,
        packet: link.mean_packet.bits() as f64,
        price_period: 0.01,
        period: 1.0,
        persist: 2,
        price: 0.0,
        admitted: 0.0,
        offered: 0.0,
        input: 0.0,
        overload_run: 0,
        cache: NaiveHits::new(50),
        count: Count::Offered,
        seen: Vec::new(),
        flows: 0.0,
    }
}

fn phases(packets: u64) -> Vec<Phase> {
    let phase = |load, idle| Phase { load, packets: packets / 6, idle: Span::from_millis(idle) };
    vec![phase(1.6, 0), phase(0.7, 0), phase(1.2, 3_000), phase(3.0, 5), phase(0.9, 400), phase(1.4, 0)]
}

#[test]
fn purge_agrees_with_its_twin_over_a_million_operations() {
    let link = table_1();
    let config = support::config("purge", None, &[], &link);
    let mut twinned = Twinned::beside(&config, link, Rng::from_seed(5)).unwrap();
    Workload::new(80, 1.1, (300, 1500), 0.6, phases(OPERATIONS * 6 / 10)).run(
        &mut twinned,
        &link,
        &mut Rng::from_seed(12),
        &mut NullSink,
    );
    twinned.disputes.settle();
    assert!(twinned.operations >= OPERATIONS, "{}", twinned.operations);
    assert!(twinned.purged > 1000 && twinned.marked > 1000, "{} {}", twinned.purged, twinned.marked);
}

/// BLACK: the hits, the number of flows and the verdicts on high-bandwidth flows; RED has its own twin.
fn black_beside_its_twin(samplings: u64, operations: u64) {
    let link = support::link("10 Mbit/s", "100 packets", "900 B");
    let settings = [("cache", "10"), ("samplings", &*samplings.to_string())];
    let config = support::config("black", None, &settings, &link);
    let mut queue = twinned::black::Twinned::beside(&config, link, Rng::from_seed(5)).unwrap();
    let mut traffic = Rng::from_seed(6);
    for step in 0..operations {
        let now = Time::from_nanos(step * 360_000);
        let flow = if traffic.chance(0.4) { 99 } else { traffic.below(20) };
        queue.enqueue(now, Packet::new(flow, 900).with_ecn(Ecn::Ect0), &mut NullSink);
        if step % 2 == 0 {
            queue.dequeue(now, &mut NullSink);
        }
    }
    queue.disputes.settle();
    assert!(queue.dropped > 1000, "{}", queue.dropped);
}

#[test]
fn black_agrees_with_its_twin_over_a_million_operations() {
    black_beside_its_twin(0, OPERATIONS);
}

#[test]
fn black_agrees_with_its_twin_in_periods_of_samplings() {
    black_beside_its_twin(1_000, 100_000);
    black_beside_its_twin(20, 100_000);
}

/// With push-out a full queue evicts the newest waiting packet of a high-bandwidth flow instead of the arriving one.
#[test]
fn push_out_takes_the_newest_of_an_offender() {
    for (push_out, expected) in [("off", DropReason::Overlimit), ("on", DropReason::Evicted)] {
        let link = support::link("10 Mbit/s", "100 packets", "1000 B");
        let settings = [("push_out", push_out), ("persist", "1000000")];
        let mut queue = a_purge(&settings, link, Rng::from_seed(5));
        let mut traffic = Rng::from_seed(6);
        let ect = |flow| Packet::new(flow, 1000).with_ecn(Ecn::Ect0);
        // Two periods at ten times the rate make flow 99 an offender and fill the queue.
        let mut now = Time::ZERO;
        for n in 0..31_250u64 {
            now = Time::from_nanos(n * 80_000);
            queue.enqueue(now, ect(if traffic.chance(0.5) { 99 } else { traffic.below(10) }), &mut NullSink);
            if n % 10 == 0 {
                queue.dequeue(now, &mut NullSink);
            }
        }
        // Ten of its packets at the tail, whatever was pushed out before.
        for _ in 0..10 {
            queue.dequeue(now, &mut NullSink);
        }
        for _ in 0..10 {
            queue.enqueue(now, ect(99), &mut NullSink);
        }
        assert_eq!(queue.backlog().packets, 100);
        let mut fate = Fate::default();
        queue.enqueue(now, ect(5), &mut fate);
        assert_eq!(fate.dropped, Some(expected), "{push_out}");
        assert_eq!(queue.backlog().packets, 100);
    }
}

/// §3.1: under queue mismatch alone nothing is dropped. A standing queue far above b* with no more input than capacity.
#[test]
fn nothing_is_dropped_for_a_standing_queue() {
    let link = support::link("8 Mbit/s", "1000 packets", "1000 B");
    let mut queue = a_purge(&[], link, Rng::from_seed(5));
    let mut fate = Fate::default();
    for n in 0..900u64 {
        queue.enqueue(Time::ZERO, Packet::new(n % 10, 1000).with_ecn(Ecn::Ect0), &mut NullSink);
    }
    for n in 1..20_000u64 {
        let now = Time::from_nanos(n * 1_000_000);
        queue.dequeue(now, &mut NullSink);
        let flow = if n % 2 == 0 { 99 } else { n % 10 };
        queue.enqueue(now, Packet::new(flow, 1000).with_ecn(Ecn::Ect0), &mut fate);
        assert_eq!(fate.dropped, None, "packet {n}");
        fate.marked = None;
    }
    assert_eq!(queue.backlog().packets, 900);
}
