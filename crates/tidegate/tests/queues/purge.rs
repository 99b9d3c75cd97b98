//! BLACK and Purge against their paper: golden numbers, the naive twins, and what the paper says of
//! them.
use crate::naive::hits::{self, NaiveHits};
use crate::naive::purge::{Count, Memory, NaivePurge, Own, Said};
use crate::support::Fate;
use crate::support::twin::OPERATIONS;
use crate::support::workload::{Phase, Workload};
use crate::twinned::Twinned as _;
use crate::twinned::purge::Twinned;
use crate::{support, twinned};
use tidegate::catalog::AnyQueue;
use tidegate::queues::{Black, Purge};
use tidegate::{DropReason, Ecn, Link, NullSink, Packet, Qdisc, Rng, Span, Time};

fn build(name: &str, settings: &[(&str, &str)], link: Link, dice: Rng) -> AnyQueue {
    support::config(name, None, settings, &link).build(link, dice).unwrap()
}

fn a_purge(settings: &[(&str, &str)], link: Link, dice: Rng) -> Purge {
    match build("purge", settings, link, dice) {
        AnyQueue::Purge(queue) => queue,
        other => panic!("{other:?}"),
    }
}

fn a_black(settings: &[(&str, &str)], link: Link, dice: Rng) -> Black {
    match build("black", settings, link, dice) {
        AnyQueue::Black(queue) => queue,
        other => panic!("{other:?}"),
    }
}

/// Table 1's link: 10 Mbit/s, 1250 kB.
fn table_1() -> Link {
    support::link("10 Mbit/s", "1250 kB", "1000 B")
}

/// Ω N − 1 = 1.4 and γ W = .001: d = .0014, dropped with 1.4 · 10^-6. What drops 96.6 % is d = 3393
/// or so, which in bits needs Ω N = 1.069 at an overload of 49 Mbit/s.
#[test]
fn golden_prices() {
    let mut twin = naive_purge(&table_1());
    twin.cache.list.push(hits::Cached {
        flow: 7,
        hits: 0.0,
        fraction: 0.24,
        before: 0.0,
        place: 0,
    });
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
        own: Own::Mismatch,
        offenders_price: 1e-7,
        offered_since: 0.0,
        separate_updates: false,
        count_anew: true,
        persist: 2,
        memory: Memory::Hold,
        push_out: false,
        weigh_bytes: false,
        spare: false,
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
    vec![
        phase(1.6, 0),
        phase(0.7, 0),
        phase(1.2, 3_000),
        phase(3.0, 5),
        phase(0.9, 400),
        phase(1.4, 0),
    ]
}

fn purge_beside_its_twin(settings: &[(&str, &str)], operations: u64) -> Twinned {
    let link = table_1();
    let config = support::config("purge", None, settings, &link);
    let mut twinned = Twinned::beside(&config, link, Rng::from_seed(5)).unwrap();
    Workload::new(80, 1.1, (300, 1500), 0.6, phases(operations * 6 / 10)).run(
        &mut twinned,
        &link,
        &mut Rng::from_seed(12),
        &mut NullSink,
    );
    twinned.disputes.settle();
    assert!(twinned.operations >= operations, "{}", twinned.operations);
    assert!(
        twinned.purged > 1000 && twinned.marked > 1000,
        "{} {}",
        twinned.purged,
        twinned.marked
    );
    twinned
}

#[test]
fn purge_agrees_with_its_twin_over_a_million_operations() {
    purge_beside_its_twin(&[], OPERATIONS);
}

#[test]
fn purge_agrees_with_its_twin_on_flows_that_were_let_in() {
    purge_beside_its_twin(&[("count", "admitted")], 300_000);
}

/// Ω updated on its own clock with a memory of its own, a count that is never cleared, and a price
/// for offenders.
#[test]
fn purge_agrees_with_its_twin_however_long_it_remembers() {
    purge_beside_its_twin(&[("update", "10 ms"), ("past", "0.995")], 300_000);
    purge_beside_its_twin(&[("update", "70 ms"), ("past", "0.5"), ("own", "price")], 300_000);
    for replace in ["oldest", "space_saving"] {
        let settings = [
            ("update", "10 ms"),
            ("past", "0.99"),
            ("fresh", "0.2"),
            ("cache", "30"),
            ("replace", replace),
        ];
        purge_beside_its_twin(&settings, 300_000);
    }
    purge_beside_its_twin(&[("past", "1"), ("window", "never"), ("cache", "4096")], 300_000);
}

/// At overflow the newest packet of an offender goes, or the one that arrives. That holds for any
/// newcomer in the cache, and however small the reach makes the part of the buffer that is looked
/// at.
#[test]
fn purge_agrees_with_its_twin_on_whom_it_pushes_out() {
    for memory in ["hold", "gate", "fade"] {
        for replace in ["oldest", "least", "space_saving"] {
            let settings = [
                ("push_out", "on"),
                ("memory", memory),
                ("replace", replace),
                ("cache", "30"),
                ("update", "100 ms"),
                ("own", "price"),
                ("ceiling", "0.1"),
            ];
            let twinned = purge_beside_its_twin(&settings, 60_000);
            assert!(twinned.pushed_out > 1000, "{settings:?}: {}", twinned.pushed_out);
        }
    }
}

/// Lengths of packets from 300 to 1500 bytes, and offenders who pay.
#[test]
fn purge_agrees_with_its_twin_on_bytes_and_on_whom_it_spares() {
    for own in ["mismatch", "price"] {
        let settings = [
            ("weigh", "bytes"),
            ("spare", "on"),
            ("own", own),
            ("memory", "gate"),
            ("cache", "40"),
        ];
        purge_beside_its_twin(&settings, 200_000);
    }
}

/// BLACK: the hits, the number of flows and the verdicts on high-bandwidth flows; RED has its own
/// twin.
fn black_beside_its_twin(settings: &[(&str, &str)], operations: u64) {
    let link = support::link("10 Mbit/s", "100 packets", "900 B");
    let settings = [&[("cache", "10")], settings].concat();
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
    assert!(queue.dropped > 1000, "{settings:?}: {}", queue.dropped);
}

/// RED's parameters reach the RED inside, every one of them other than by default.
#[test]
fn black_agrees_with_its_twin_in_every_mode_of_red() {
    let link = support::link("10 Mbit/s", "100 packets", "900 B");
    let base =
        [("min", "7 packets"), ("max", "23 packets"), ("probability", "0.03"), ("weight", "0.01")];
    for mode in [
        [("gentle", "off"), ("wait", "off"), ("ecn", "off")],
        [("gentle", "on"), ("wait", "on"), ("ecn", "on")],
    ] {
        let config = support::config("black", None, &[&base[..], &mode[..]].concat(), &link);
        let mut queue = twinned::black::Twinned::beside(&config, link, Rng::from_seed(5)).unwrap();
        let mut traffic = Rng::from_seed(6);
        for step in 0..200_000 {
            let now = Time::from_nanos(step * 700_000);
            let ecn = if traffic.chance(0.5) { Ecn::Ect0 } else { Ecn::NotEct };
            queue.enqueue(now, Packet::new(traffic.below(20), 900).with_ecn(ecn), &mut NullSink);
            if traffic.chance([0.9, 0.97, 1.0][step as usize / 2_000 % 3]) {
                queue.dequeue(now, &mut NullSink);
            }
        }
        queue.disputes.settle();
        assert!(queue.by_red > 100, "{mode:?}: {}", queue.by_red);
    }
}

#[test]
fn black_agrees_with_its_twin_over_a_million_operations() {
    black_beside_its_twin(&[], OPERATIONS);
}

#[test]
fn black_agrees_with_its_twin_in_periods_of_samplings() {
    black_beside_its_twin(&[("samplings", "1000")], 100_000);
    black_beside_its_twin(&[("samplings", "20")], 100_000);
}

/// Above 35 packets, above none, above RED's 20; and judged also below. All flows are remembered:
/// of ten places the large flow loses its own too often to be above its share for long.
#[test]
fn black_agrees_with_its_twin_at_other_thresholds() {
    for threshold in ["35 packets", "1 B", "31500 B", "0 packets"] {
        for gate in ["on", "off"] {
            black_beside_its_twin(
                &[("threshold", threshold), ("gate", gate), ("cache", "30")],
                60_000,
            );
        }
    }
}

#[test]
fn both_agree_with_their_twins_whoever_makes_room() {
    for replace in ["least", "space_saving"] {
        black_beside_its_twin(&[("replace", replace)], 100_000);
        purge_beside_its_twin(&[("replace", replace), ("cache", "10")], 200_000);
    }
}

/// Thirty packets wait, RED's `min` is 20: sampled above the threshold, and from the second packet
/// on if that is 1 B.
#[test]
fn black_samples_above_its_threshold() {
    for (threshold, samplings) in
        [("0 packets", 9), ("20 packets", 9), ("25 packets", 4), ("30 kB", 0), ("1 B", 29)]
    {
        let mut queue =
            a_black(&[("threshold", threshold)], support::reference_link(), Rng::from_seed(5));
        (0..30).for_each(|flow| queue.enqueue(Time::ZERO, Packet::new(flow, 1000), &mut NullSink));
        assert_eq!(
            (queue.backlog().packets, queue.policy().cache().samplings()),
            (30, samplings),
            "{threshold}"
        );
    }
}

/// Flow 99 sent half of all packets while the queue was full. When the queue has emptied it may
/// send again, packet after packet, each alone. Without the gate most of them are lost to what was
/// known of the flow then, and always will be.
#[test]
fn without_the_gate_a_flow_stays_locked_out_of_an_empty_queue() {
    for (gate, lost) in [("on", 0..=0), ("off", 500..=1000)] {
        let mut queue = a_black(&[("gate", gate)], support::reference_link(), Rng::from_seed(5));
        let mut traffic = Rng::from_seed(6);
        for n in 0..10_000u64 {
            let now = Time::from_nanos(n * 400_000);
            let flow = if traffic.chance(0.5) { 99 } else { traffic.below(10) };
            queue.enqueue(now, Packet::new(flow, 1000), &mut NullSink);
            if n % 2 == 0 {
                queue.dequeue(now, &mut NullSink);
            }
        }
        // 100 s later, ten packets a second.
        let mut dropped = 0;
        for n in 0..1_100 {
            let now = Time::ZERO + Span::from_millis(104_000 + n * 100);
            while queue.dequeue(now, &mut NullSink).is_some() {}
            let mut fate = Fate::default();
            queue.enqueue(now, Packet::new(99, 1000), &mut fate);
            dropped += u64::from(n >= 100 && fate.dropped == Some(DropReason::Unfair));
        }
        assert!(lost.contains(&dropped), "gate {gate}: {dropped} of 1000");
    }
}

/// Two flows are served; a thousand invented ones find the queue full. Offered are 1002 flows, let
/// in are two.
#[test]
fn what_finds_no_room_is_counted_only_if_offered() {
    for (count, flows) in [("offered", 900.0..=1100.0), ("admitted", 2.0..=2.0)] {
        let mut queue = a_purge(&[("count", count)], support::reference_link(), Rng::from_seed(5));
        let ect = |flow| Packet::new(flow, 1000).with_ecn(Ecn::Ect0);
        for n in 0..1_000u64 {
            let now = Time::from_nanos(n * 1_000_000);
            queue.dequeue(now, &mut NullSink);
            while queue.backlog().packets < 100 {
                queue.enqueue(now, ect(n % 2), &mut NullSink);
            }
            queue.enqueue(now, ect(1_000 + n), &mut NullSink);
        }
        queue.advance(Time::ZERO + Span::from_secs(1.0));
        assert!(flows.contains(&queue.policy().flows()), "{count}: {}", queue.policy().flows());
    }
}

/// With push-out a full queue evicts the newest waiting packet of a high-bandwidth flow instead of
/// the arriving one.
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
            queue.enqueue(
                now,
                ect(if traffic.chance(0.5) { 99 } else { traffic.below(10) }),
                &mut NullSink,
            );
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

/// The price for offenders is at its least while the link is not overloaded. At twice the capacity
/// it grows by e^gain a second, no further than the ceiling, and falls again. Two packets a
/// millisecond on a line of one, which is empty again in between.
#[test]
fn the_price_for_offenders_follows_the_overload() {
    let link = support::link("8 Mbit/s", "1000 packets", "1000 B");
    let settings = [("own", "price"), ("gain", "4"), ("ceiling", "10"), ("alpha", "0")];
    let mut queue = a_purge(&settings, link, Rng::from_seed(5));
    let mut at = |packets: u64, ms: std::ops::Range<u64>| {
        for ms in ms {
            let now = Time::from_nanos(ms * 1_000_000);
            (0..packets).for_each(|_| queue.enqueue(now, Packet::new(7, 1000), &mut NullSink));
            while queue.dequeue(now, &mut NullSink).is_some() {}
        }
        queue.policy().offenders_price()
    };
    assert_eq!(at(1, 0..1_000), 1e-7);
    let grown = at(2, 1_000..2_000);
    assert!((3.9..4.1).contains(&libm::log(grown / 1e-7)), "{grown:e}");
    assert_eq!(at(2, 2_000..9_000), 10.0);
    let fallen = at(0, 9_000..9_500);
    assert!(fallen < 10.0, "{fallen}");
}

/// §3.1: under queue mismatch alone nothing is dropped. A standing queue far above b* with no more
/// input than capacity.
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
