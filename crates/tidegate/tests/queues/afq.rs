//! AFQ against what is known of sharma2018: the naive twin, and max-min shares.
use crate::support::Heard;
use crate::support::twin::OPERATIONS;
use crate::twinned::afq::Twinned;
use crate::{support, twinned};
use tidegate::catalog;
use tidegate::entry::FOREVER;
use tidegate::queues::Afq;
use tidegate::{DropReason, Link, NullSink, Packet, Qdisc, Rng, Time};

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn afq(settings: &[(&str, &str)], link: Link, seed: u64) -> Afq {
    match support::config("afq", None, settings, &link).build(link, Rng::from_seed(seed)).unwrap() {
        catalog::AnyQueue::Afq(queue) => queue,
        other => panic!("{other:?}"),
    }
}

fn link() -> Link {
    support::link("8 Mbit/s", "1000 packets", "1000 B")
}

/// Thirty flows, load above and below the rate and idle times; the twin must do the same at every
/// step.
fn drive(settings: &[(&str, &str)], limit: &str, operations: u64) -> Twinned {
    let link = support::link("10 Mbit/s", limit, "770 B");
    let config = support::config("afq", None, settings, &link);
    twinned::restless(&config, &link, operations)
}

#[test]
fn twin_agrees_over_a_million_operations() {
    let seen = drive(&[], "200 packets", OPERATIONS * 5 / 4);
    assert!(seen.operations >= OPERATIONS, "{}", seen.operations);
    assert!(seen.too_far.min(seen.full) > 1_000, "{} {}", seen.too_far, seen.full);
}

#[test]
fn twin_agrees_in_every_mode() {
    let farthest = [("overflow", "farthest"), ("bytes_per_round", "5000 B")];
    let seen = drive(&farthest, "100 packets", 100_000);
    assert!(seen.evicted > 1_000, "{}", seen.evicted);
    let bytes = drive(&farthest, "30 kB", 100_000);
    assert!(bytes.evicted > 1_000 && bytes.full > 100, "{} {}", bytes.evicted, bytes.full);
    let few = drive(&[("counters", "4"), ("arrays", "2"), ("queues", "5")], "100 packets", 100_000);
    assert!(few.too_far > 1_000, "{}", few.too_far);
    drive(&[("bytes_per_round", "80 B")], "1400 B", 50_000);
}

/// Flows that offer .05, .1, .15, .3, .6 and 2 of the line get max-min shares. The first three get
/// what they offer, the others the rest evenly, to within a round.
#[test]
fn shares_are_max_min() {
    let offers: [f64; 6] = [0.05, 0.1, 0.15, 0.3, 0.6, 2.0];
    let mut queue = afq(&[], link(), 1);
    let mut owed = [0.0; 6];
    let (mut sent, mut heard) = ([0.0; 6], Heard::default());
    for ms in 0..60_000_u64 {
        for (n, offer) in offers.iter().enumerate() {
            owed[n] += offer;
            while owed[n] >= 1.0 {
                owed[n] -= 1.0;
                let pkt = Packet::new(n as u64, 1000);
                queue.enqueue(at(ms * 1_000_000 + n as u64), pkt, &mut heard);
            }
        }
        let pkt = queue.dequeue(at(ms * 1_000_000 + 999_999), &mut NullSink).unwrap();
        sent[pkt.flow as usize] += if ms >= 10_000 { 1.0 / 50_000.0 } else { 0.0 };
    }
    let fair = (1.0 - 0.3) / 3.0;
    for (n, (&offer, sent)) in offers.iter().zip(sent).enumerate() {
        assert!((sent - f64::min(offer, fair)).abs() < 0.002, "{n}: {sent}");
    }
    assert!(heard.lost.iter().all(|&(pkt, why)| pkt.flow > 2 && why == DropReason::Unfair));
}

/// Bytes count, not packets: whatever the lengths, busy flows get the same bytes.
#[test]
fn shares_are_equal_in_bytes() {
    let wide = support::link("8 Mbit/s", "100 MB", "1000 B");
    let mut queue = afq(&[], wide, 1);
    let lengths = [64_u32, 300, 777, 1500];
    let mut bytes = [0_i64; 4];
    for n in 0..20_000_u64 {
        for (flow, &len) in lengths.iter().enumerate() {
            for _ in 0..2_000 / len {
                queue.enqueue(at(n), Packet::new(flow as u64, len), &mut NullSink);
            }
        }
        let pkt = queue.dequeue(at(n), &mut NullSink).unwrap();
        bytes[pkt.flow as usize] += pkt.len as i64;
        let (most, least) = (bytes.iter().max().unwrap(), bytes.iter().min().unwrap());
        assert!(most - least <= 2 * 1500 + 1500, "after {n}: {bytes:?}");
    }
}

/// A flow can have as many bytes waiting as the calendar has rounds; beyond that it loses packets,
/// also where there is room.
#[test]
fn the_calendar_ends_somewhere() {
    for (queues, rounds) in [("32", 32), ("8", 8)] {
        let mut queue = afq(&[("queues", queues), ("bytes_per_round", "2000 B")], link(), 1);
        let mut heard = Heard::default();
        (0..200).for_each(|_| queue.enqueue(at(0), Packet::new(7, 1000), &mut heard));
        // Bids up to the last byte of the last round.
        assert_eq!(queue.backlog().packets, 2 * rounds - 1);
        assert!(heard.lost.iter().all(|(_, why)| *why == DropReason::Unfair));
    }
}

/// A flow that was silent bids from the round that is being served on. Its first packet goes before
/// what others have waiting in later rounds. Its silence earns it no more.
#[test]
fn silence_is_not_saved_up() {
    let mut queue = afq(&[], link(), 1);
    for n in 0..2_000_u64 {
        queue.enqueue(at(n), Packet::new(7, 1000), &mut NullSink);
        queue.dequeue(at(n), &mut NullSink);
    }
    (0..40).for_each(|_| queue.enqueue(at(3_000), Packet::new(7, 1000), &mut NullSink));
    (0..40).for_each(|_| queue.enqueue(at(3_000), Packet::new(8, 1000), &mut NullSink));
    let mut first = [0, 0];
    for _ in 0..20 {
        let flow = queue.dequeue(at(3_000), &mut NullSink).unwrap().flow;
        first[usize::from(flow == 8)] += 1;
    }
    assert!(i32::abs(first[0] - first[1]) <= 3, "{first:?}");
}

/// Flows that share all their counters share one bid; more arrays make that rare.
#[test]
fn collisions_cost_shares() {
    let meets = |arrays: &str| {
        let mut queue = afq(&[("arrays", arrays), ("counters", "64")], link(), 1);
        for _ in 0..60 {
            queue.enqueue(at(0), Packet::new(7, 1000), &mut NullSink);
        }
        let mut lost = 0;
        for flow in 1_000..3_000 {
            let mut heard = Heard::default();
            let mut alone = queue.clone();
            alone.enqueue(at(0), Packet::new(flow, 1000), &mut heard);
            lost += heard.lost.len();
        }
        lost
    };
    let (one, two) = (meets("1"), meets("2"));
    assert!((15..60).contains(&one) && two <= 3, "{one} {two}");
}

/// When there is no room, the packet that would leave last makes it, and the thin flow loses
/// nothing.
#[test]
fn who_is_farthest_goes() {
    for (overflow, spared) in [("arrival", false), ("farthest", true)] {
        let small = support::link("8 Mbit/s", "50 packets", "1000 B");
        let settings = [("overflow", overflow), ("bytes_per_round", "4000 B")];
        let mut queue = afq(&settings, small, 1);
        let mut heard = Heard::default();
        for ms in 0..20_000_u64 {
            (0..5)
                .for_each(|_| queue.enqueue(at(ms * 1_000_000), Packet::new(7, 1000), &mut heard));
            if ms % 4 == 0 {
                queue.enqueue(at(ms * 1_000_000), Packet::new(8, 1000), &mut heard);
            }
            queue.dequeue(at(ms * 1_000_000 + 999_999), &mut heard);
        }
        assert!(heard.lost.len() > 50_000);
        assert_eq!(heard.lost.iter().all(|(pkt, _)| pkt.flow == 7), spared, "{overflow}");
    }
}

/// Flows are never hashed anew.
#[test]
fn counters_last_forever() {
    let config = support::config("afq", None, &[], &link());
    assert_eq!(config.bucket_lifetime(), Some(FOREVER));
}

/// The round goes up when the next packet is one of a later round, and a gauge shows it.
#[test]
fn the_round_that_is_served_is_shown() {
    let mut queue = afq(&[("bytes_per_round", "1000 B")], link(), 1);
    (0..4).for_each(|_| queue.enqueue(Time::ZERO, Packet::new(7, 1000), &mut NullSink));
    for round in 1..5 {
        queue.dequeue(Time::ZERO, &mut NullSink);
        let shown = support::gauges(&queue).into_iter().find(|gauge| gauge.name == "round");
        assert_eq!((queue.round(), shown.unwrap().value), (round, round as f64));
    }
}

/// Eight bytes a counter, 24 a queue, and 8 for each packet that may wait and for one that arrives.
#[test]
fn what_it_states_is_right_to_the_byte() {
    let settings = [("arrays", "3"), ("counters", "5"), ("queues", "7")];
    let config = support::config("afq", None, &settings, &link());
    let stated = config.state_bytes(&link()) - size_of::<Afq>() as u64;
    assert_eq!(stated, 8 * 3 * 5 + 24 * 7 + 8 * 1_001);
}
