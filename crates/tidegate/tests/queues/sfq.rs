//! SFQ against its paper and against ns-2's rule: the naive twin, turns, who makes room, and new
//! hash functions.
use crate::support::stats;
use crate::support::twin::OPERATIONS;
use crate::twinned::drr::Stolen;
use crate::twinned::sfq::Twinned;
use crate::{support, twinned};
use tidegate::queues::Sfq;
use tidegate::{Link, NullSink, Packet, Qdisc, Rng, Time, catalog};

fn sfq(settings: &[(&str, &str)], link: Link, seed: u64) -> Sfq {
    match support::config("sfq", None, settings, &link).build(link, Rng::from_seed(seed)).unwrap() {
        catalog::AnyQueue::Sfq(queue) => queue,
        other => panic!("{other:?}"),
    }
}

fn wide() -> Link {
    support::link("8 Mbit/s", "1000 packets", "1000 B")
}

fn drive(settings: &[(&str, &str)], limit: &str, operations: u64) -> Twinned {
    let link = support::link("10 Mbit/s", limit, "770 B");
    let settings = [&[("bins", "8")], settings].concat();
    let config = support::config("sfq", None, &settings, &link);
    twinned::restless(&config, &link, operations)
}

#[test]
fn twin_agrees_over_a_million_operations() {
    let seen = drive(&[("perturb", "700 ms")], "60 packets", OPERATIONS * 5 / 4);
    assert!(seen.operations >= OPERATIONS, "{}", seen.operations);
    assert!(
        seen.dropped.min(seen.idle) > 10_000 && seen.itself > 10,
        "{} {}",
        seen.dropped,
        seen.itself
    );
    assert!(seen.twin.epoch > 500 && seen.busiest == 8, "{}", seen.twin.epoch);
}

#[test]
fn twin_agrees_in_every_mode() {
    for overflow in ["longest_head", "longest_tail", "arrival", "ns2"] {
        for (longest, perturb) in [("bytes", "0 s"), ("packets", "20 ms")] {
            let settings = [("overflow", overflow), ("longest", longest), ("perturb", perturb)];
            let seen = drive(&settings, "30 kB", 60_000);
            assert!(
                seen.dropped > 1_000 && seen.busiest == 8,
                "{overflow} {longest}: {}",
                seen.dropped
            );
        }
    }
    // ns-2's rule with more bins than packets, with as many, and with room for one and for two.
    for (bins, limit) in [
        ("32", "20 packets"),
        ("16", "16 packets"),
        ("4", "40 packets"),
        ("3", "1 packet"),
        ("3", "2 packets"),
    ] {
        let seen = drive(&[("overflow", "ns2"), ("bins", bins)], limit, 30_000);
        assert!(
            seen.dropped == seen.itself && seen.dropped > 1_000,
            "{bins} {limit}: {}",
            seen.dropped
        );
    }
}

fn bin_of(queue: &Sfq, flow: u64) -> usize {
    queue.bin_of(&Packet::new(flow, 1000))
}

/// `count` flows that hash to bins of their own.
fn apart(queue: &Sfq, count: usize) -> Vec<u64> {
    support::apart(count, |flow| bin_of(queue, flow))
}

/// A packet of each bin that has one, in turn, whatever its length, for as long as it has one.
#[test]
fn bins_take_turns() {
    let mut queue = sfq(&[], wide(), 1);
    let flows = apart(&queue, 3);
    for (packets, len, &flow) in [(2, 1500, &flows[0]), (4, 40, &flows[1]), (3, 700, &flows[2])] {
        (0..packets).for_each(|_| queue.enqueue(Time::ZERO, Packet::new(flow, len), &mut NullSink));
    }
    let turns: Vec<u64> =
        (0..9).map(|_| queue.dequeue(Time::ZERO, &mut NullSink).unwrap().flow).collect();
    let expected = [0, 1, 2, 0, 1, 2, 1, 2, 1].map(|flow: usize| flows[flow]);
    assert_eq!(turns, expected);
}

/// With `map = class` the driver says which bin, whatever the flow and the hash function; beyond
/// the last there is none.
#[test]
fn bins_can_be_the_drivers_classes() {
    let mut queue = sfq(&[("map", "class"), ("bins", "3"), ("perturb", "1 s")], wide(), 1);
    for class in [2, 0, 9, 1] {
        queue.enqueue(Time::ZERO, Packet::new(7, 1000).with_class(class), &mut NullSink);
    }
    assert_eq!([0, 1, 2].map(|bin| queue.bin_backlog(bin).packets), [1, 1, 2]);
    let turns = [(); 4]
        .map(|()| queue.dequeue(Time::from_nanos(5_000_000_000), &mut NullSink).unwrap().class);
    assert_eq!(turns, [2, 0, 1, 9]);
}

/// A flood of ten times the rate beside nine flows at half of their share: it alone loses, and has
/// what they leave.
#[test]
fn a_flood_harms_itself_only() {
    let small = support::link("8 Mbit/s", "200 packets", "1000 B");
    for overflow in ["longest_tail", "longest_head"] {
        let mut queue = sfq(&[("overflow", overflow)], small, 1);
        let flows = apart(&queue, 10);
        let mut dice = stats::dice("flood", 0);
        let (mut sent, mut slot) = (0, 0);
        let mut lost = Vec::new();
        for n in 0..200_000_u64 {
            let now = Time::from_nanos(n * 100_000);
            let mut offer = |queue: &mut Sfq, flow: u64| {
                let mut stolen = Stolen::for_arrival(slot);
                queue.enqueue(now, Packet::new(flow, 1000).with_slot(slot), &mut stolen);
                lost.extend(stolen.flows);
                slot += 1;
            };
            offer(&mut queue, flows[0]);
            if dice.chance(0.045) {
                offer(&mut queue, flows[1 + dice.below(9) as usize]);
            }
            if n % 10 == 0 {
                sent += u64::from(queue.dequeue(now, &mut NullSink).unwrap().flow == flows[0]);
            }
        }
        assert!(
            lost.len() > 100_000 && lost.iter().all(|&flow| flow == flows[0]),
            "{overflow}: {}",
            lost.len()
        );
        assert!(sent.abs_diff(11_000) < 500, "{overflow}: {sent}");
    }
}

/// ns-2's rule: One flow alone has 13 packets of 40, since half of the 27 left is as much. With
/// more bins than packets it has one packet, once less is left than there are bins.
#[test]
fn golden_numbers_of_the_rule_of_ns2() {
    for (bins, held) in [("16", 13), ("101", 1)] {
        let link = support::link("8 Mbit/s", "40 packets", "1000 B");
        let mut queue = sfq(&[("overflow", "ns2"), ("bins", bins)], link, 1);
        for _ in 0..100 {
            queue.enqueue(Time::ZERO, Packet::new(7, 1000), &mut NullSink);
        }
        assert_eq!(queue.backlog().packets, held, "{bins} bins");
    }
}

/// feng2001 §V-D says that new hash functions make SFQ reorder packets: here no flow overtakes
/// itself, nothing that waits is lost, and flows that met in one bin part.
#[test]
fn a_new_hash_function_keeps_order_and_parts_flows() {
    let mut queue = sfq(&[("perturb", "1 s"), ("bins", "50")], wide(), 1);
    let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
    let mut slot = 0;
    for _ in 0..10 {
        for flow in 0..60 {
            queue.enqueue(at(999), Packet::new(flow, 1000).with_slot(slot), &mut NullSink);
            slot += 1;
        }
    }
    let bins: Vec<usize> = (0..60).map(|flow| bin_of(&queue, flow)).collect();
    let mut last = [None; 60];
    for n in 0..600 {
        let pkt = queue.dequeue(at(1_000), &mut NullSink).unwrap();
        let last = &mut last[pkt.flow as usize];
        assert!(*last < Some(pkt.slot), "packet {n} of flow {}", pkt.flow);
        *last = Some(pkt.slot);
    }
    assert_eq!(queue.backlog().packets, 0);
    let stayed = (0..60).filter(|&flow| bin_of(&queue, flow) == bins[flow as usize]).count();
    // One in fifty by chance: ten of sixty would be a wonder (P < 1e-6).
    assert!(stayed < 10, "{stayed} of 60 stayed");
    // Whoever asks in between changes nothing, and neither does a long silence.
    let mut asked = queue.clone();
    for ms in 1_000..60_000 {
        asked.advance(at(ms));
        if ms % 1_700 == 0 {
            asked.dequeue(at(ms), &mut NullSink);
        }
    }
    queue.dequeue(at(60_000), &mut NullSink);
    asked.dequeue(at(60_000), &mut NullSink);
    assert!((0..1_000).all(|flow| bin_of(&queue, flow) == bin_of(&asked, flow)));
}

/// An interval below a millisecond, except 0, is refused with the reason.
#[test]
fn perturb_has_a_least_value() {
    for (perturb, fine) in [("0 s", true), ("1 ns", false), ("999999 ns", false), ("1 ms", true)] {
        let config = support::config("sfq", None, &[("perturb", perturb)], &wide());
        let built = config.build(wide(), Rng::from_seed(1));
        assert_eq!(built.is_ok(), fine, "{perturb}");
        if let Err(error) = built {
            assert_eq!(
                (&*error.field, &*error.why),
                ("perturb", "must be 0 (never) or at least 1 ms")
            );
        }
    }
}

/// Flows are spread evenly over the bins, under each hash function (chi-square, false alarm 1e-6
/// each).
#[test]
fn flows_are_spread_evenly() {
    let mut queue =
        sfq(&[("bins", "50"), ("perturb", "1 s")], wide(), stats::seed("spread", 0).get());
    for second in 0..10 {
        queue.dequeue(Time::from_nanos(second * 1_000_000_000), &mut NullSink);
        let mut counts = [0; 50];
        for flow in 0..50_000 {
            counts[bin_of(&queue, flow)] += 1;
        }
        stats::assert_counts("bins", &counts, &[1_000.0; 50]);
    }
}
