//! CAKE against tc-cake(8): the naive twin, and what the page says of it.
use crate::support::twin::OPERATIONS;
use crate::twinned::cake::{Heard, Twinned};
use crate::{support, twinned};
use tidegate::entry::{FOREVER, HashTable};
use tidegate::queues::Cake;
use tidegate::{Ack, Asks, Ecn, Hosts, Link, NullSink, Packet, Qdisc, Rng, Time, catalog};

const MS: u64 = 1_000_000;

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn link() -> Link {
    support::link("8 Mbit/s", "1000 packets", "1000 B")
}

fn cake(settings: &[(&str, &str)], link: Link) -> Cake {
    let config = support::config("cake", Some("paper"), settings, &link);
    match config.build(link, Rng::from_seed(1)).unwrap() {
        catalog::AnyQueue::Cake(queue) => queue,
        other => panic!("{other:?}"),
    }
}

fn drive(settings: &[(&str, &str)], limit: &str, operations: u64) -> Twinned {
    let link = support::link("10 Mbit/s", limit, "770 B");
    let settings = [&[("flows", "16")], settings].concat();
    let config = support::config("cake", Some("paper"), &settings, &link);
    twinned::restless(&config, &link, operations)
}

#[test]
fn twin_agrees_over_a_million_operations() {
    let seen = drive(&[], "200 packets", OPERATIONS * 5 / 4);
    assert!(seen.operations >= OPERATIONS, "{}", seen.operations);
    let least = seen.drops.min(seen.marks).min(seen.by_limit);
    assert!(least > 1_000, "{} {} {}", seen.drops, seen.marks, seen.by_limit);
}

#[test]
fn twin_agrees_in_every_mode() {
    for isolation in
        ["flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost"]
    {
        let seen = drive(&[("isolation", isolation)], "200 packets", 60_000);
        assert!(seen.marks > 0, "{isolation}");
    }
    for diffserv in ["besteffort", "precedence", "diffserv4", "diffserv8"] {
        drive(&[("diffserv", diffserv)], "200 packets", 60_000);
    }
    let off = drive(&[("ecn", "off"), ("rtt", "2 ms"), ("mtu", "0 B")], "100 kB", 60_000);
    assert!(off.drops > 1_000 && off.marks == 0, "{}", off.drops);
    let shaped = drive(&[("bandwidth", "8 Mbit/s")], "200 packets", 100_000);
    assert!(shaped.held_back > 1_000, "{}", shaped.held_back);
    drive(&[("quantum", "20 kB"), ("ways", "1")], "1400 B", 60_000);
    drive(&[("flows", "3"), ("ways", "2")], "1000 packets", 60_000);
}

/// Offers a packet of each flow whenever none of it waits more than ten deep, for `seconds` on a
/// line of 8 Mbit/s; how many were sent of each.
fn contend(queue: &mut Cake, flows: &[Packet], seconds: u64) -> Vec<u64> {
    let (mut sent, mut waiting) = (vec![0; flows.len()], vec![0; flows.len()]);
    let mut heard = Heard::default();
    for ms in 0..seconds * 1_000 {
        for (n, flow) in flows.iter().enumerate() {
            while waiting[n] < 4 {
                queue.enqueue(at(ms * MS), flow.with_slot(n as u32), &mut heard);
                waiting[n] += 1;
            }
        }
        let pkt = queue.dequeue(at(ms * MS), &mut heard).unwrap();
        sent[pkt.slot as usize] += 1;
        waiting[pkt.slot as usize] -= 1;
        for gone in heard.did.dropped.drain(..).chain(heard.by_limit.drain(..)) {
            waiting[gone as usize] -= 1;
        }
    }
    sent
}

fn flow(n: u64, source: u16, destination: u16) -> Packet {
    Packet::new(tidegate::rng::mix(n), 1000).with_hosts(Hosts::new(source, destination))
}

/// What each host gets of 8 Mbit/s. Source 1 has one flow to destination 11, source 2 has nine.
/// Three of those go to 12, the others to a destination of their own.
fn by_isolation(isolation: &str) -> (f64, f64) {
    let mut flows = vec![flow(0, 1, 11)];
    flows.extend((1..10).map(|n| flow(n, 2, if n < 4 { 12 } else { 20 + n as u16 })));
    let sent = contend(&mut cake(&[("isolation", isolation)], link()), &flows, 20);
    let total = sent.iter().sum::<u64>() as f64;
    (sent[0] as f64 / total, sent[1..4].iter().sum::<u64>() as f64 / total)
}

/// tc-cake(8), *Flow isolation parameters*: who has how much.
#[test]
fn hosts_come_before_flows() {
    // Source 1's part, and that of destination 12.
    let expected = [
        ("flows", 1.0 / 10.0, 3.0 / 10.0),
        ("srchost", 1.0 / 2.0, 1.0 / 6.0),
        ("dual-srchost", 1.0 / 2.0, 1.0 / 6.0),
        ("dsthost", 1.0 / 8.0, 1.0 / 8.0),
        ("dual-dsthost", 1.0 / 8.0, 1.0 / 8.0),
        ("hosts", 1.0 / 8.0, 1.0 / 8.0),
        // Source 2 has nine flows, so each of them has a ninth of a share.
        ("triple-isolate", 1.0 / 2.0, 1.0 / 6.0),
    ];
    for (isolation, source, destination) in expected {
        let (one, twelve) = by_isolation(isolation);
        assert!((one / source - 1.0).abs() < 0.03, "{isolation}: {one}");
        if isolation != "srchost" {
            assert!((twelve / destination - 1.0).abs() < 0.05, "{isolation}: {twelve}");
        }
    }
}

/// The same from the other side: many clients of one destination share its part.
#[test]
fn triple_isolation_goes_by_the_busier_side() {
    let mut flows = vec![flow(0, 1, 11)];
    flows.extend((1..8).map(|n| flow(n, 100 + n as u16, 12)));
    for (isolation, part) in [("triple-isolate", 0.5), ("dual-dsthost", 0.5), ("flows", 0.125)] {
        let sent = contend(&mut cake(&[("isolation", isolation)], link()), &flows, 20);
        let one = sent[0] as f64 / sent.iter().sum::<u64>() as f64;
        assert!((one / part - 1.0).abs() < 0.03, "{isolation}: {one}");
    }
}

/// Where nobody names hosts they are the flows themselves.
#[test]
fn without_hosts_a_flow_is_its_own() {
    let flows: Vec<Packet> = (0..4).map(|n| Packet::new(tidegate::rng::mix(n), 1000)).collect();
    let sent = contend(&mut cake(&[], link()), &flows, 10);
    assert!(sent.iter().all(|&n| n.abs_diff(2_500) < 50), "{sent:?}");
}

/// What a queue asks of its driver follows from its parameters.
#[test]
fn it_asks_for_what_it_looks_at() {
    let asks = |settings: &[(&str, &str)]| {
        support::config("cake", Some("paper"), settings, &link()).asks()
    };
    assert_eq!(asks(&[]), Asks::NOTHING.with_hosts(true).with_dscp(true));
    let plain = [("diffserv", "besteffort"), ("isolation", "flows")];
    assert_eq!(asks(&plain), Asks::default());
    assert_eq!(support::config("drr", None, &[], &link()).asks(), Asks::default());
}

/// §III-B: a flow that sends less than its share finds no standing queue.
#[test]
fn a_sparse_flow_goes_first() {
    let mut queue = cake(&[("rtt", "3600 s")], link());
    let mut heard = Heard::default();
    for n in 0..400_u64 {
        queue.enqueue(at(0), flow(n % 4, 1, 1), &mut heard);
    }
    for ms in 0..40 {
        queue.dequeue(at(ms * MS), &mut heard);
    }
    for ms in 40..240 {
        if ms % 20 == 0 {
            queue.enqueue(at(ms * MS), Packet { len: 200, ..flow(9, 2, 2) }, &mut heard);
        }
        let sent = queue.dequeue(at(ms * MS), &mut heard).unwrap();
        assert_eq!(sent.len == 200, ms % 20 == 0, "{ms}");
    }
}

/// §III-B: flows of a set that is not full never meet, and the limit is paid by the longest queue.
#[test]
fn flows_have_queues_of_their_own() {
    let mut queue = cake(&[("diffserv", "besteffort")], link());
    let mut heard = Heard::default();
    for n in 0..200 {
        queue.enqueue(at(0), flow(n, 1, 1), &mut heard);
    }
    let queues: std::collections::BTreeSet<usize> =
        (0..200).map(|n| queue.queue_of(&flow(n, 1, 1))).collect();
    assert_eq!(queues.len(), 200);
    assert!(queues.iter().all(|&line| queue.queue_backlog(line).packets == 1));
    for slot in 1_000..2_000 {
        queue.enqueue(at(0), flow(7, 1, 1).with_slot(slot), &mut heard);
    }
    // The flow's own packets go from the head on: the first of all, then those of the burst.
    let first = std::iter::once(0).chain(1_000..).take(200);
    assert_eq!(heard.by_limit, first.collect::<Vec<_>>());
    assert_eq!(queue.backlog().packets, 1_000);
}

/// tc-cake(8), *Priority queue parameters*: up to its part of the line a tin goes before those
/// below it; above, it has what is left.
#[test]
fn tins_have_priority_up_to_their_part() {
    let part = |diffserv: &str, dscp: u8, beside: u8| {
        let flows = [flow(1, 1, 1).with_dscp(dscp), flow(2, 2, 2).with_dscp(beside)];
        let sent = contend(&mut cake(&[("diffserv", diffserv)], link()), &flows, 20);
        sent[0] as f64 / sent.iter().sum::<u64>() as f64
    };
    let (ef, cs1, af41) = (46, 8, 34);
    for (diffserv, dscp, beside, expected) in [
        ("besteffort", ef, 0, 0.5),
        ("diffserv3", ef, 0, 0.25),
        ("diffserv3", cs1, 0, 0.0625),
        ("diffserv4", af41, 0, 0.5),
        ("diffserv4", ef, 0, 0.25),
        ("diffserv3", af41, 0, 0.5),
    ] {
        let got = part(diffserv, dscp, beside);
        assert!((got - expected).abs() < 0.02, "{diffserv} {dscp}: {got}");
    }
}

/// A lone flow that overflowed once: BLUE forgets, a step in each silence.
#[test]
fn blue_forgets_a_lone_flow() {
    let mut queue = cake(&[], support::link("8 Mbit/s", "20 packets", "1000 B"));
    let mut lost = |begin: u64, heard: &mut Heard| {
        // Twenty-one at once, and then a silence.
        (0..21).for_each(|_| queue.enqueue(at(begin * MS), flow(1, 1, 1), heard));
        (0..60).for_each(|ms| {
            queue.dequeue(at((begin + ms) * MS), heard);
        });
        heard.did.dropped.drain(..).count()
    };
    let mut heard = Heard::default();
    // Each burst raises the probability by 16 / 4096, and each silence lowers it by 1 / 4096.
    let early: usize = (0..200).map(|n| lost(100 * n, &mut heard)).sum();
    assert!(early > 100, "{early}");
    let mut calm = |begin: u64| {
        (0..5).for_each(|_| queue.enqueue(at(begin * MS), flow(1, 1, 1), &mut heard));
        (0..60).for_each(|ms| {
            queue.dequeue(at((begin + ms) * MS), &mut heard);
        });
        heard.did.dropped.drain(..).count()
    };
    (0..4_200).for_each(|n| {
        calm(100_000 + 100 * n);
    });
    let late: usize = (0..500).map(|n| calm(1_000_000 + 100 * n)).sum();
    assert_eq!(late, 0);
}

/// A tin that had the line alone for long has no debt to pay when others come.
#[test]
fn a_tin_alone_owes_nothing() {
    let mut queue = cake(&[], link());
    let voice = flow(1, 1, 1).with_dscp(46);
    assert_eq!(contend(&mut queue, &[voice], 10), [10_000]);
    let late = |ms: u64| at((10_000 + ms) * MS);
    let (mut sent, mut heard) = ([0, 0], Heard::default());
    for ms in 0..2_000 {
        queue.enqueue(late(ms), voice, &mut heard);
        queue.enqueue(late(ms), flow(2, 2, 2).with_slot(1), &mut heard);
        sent[queue.dequeue(late(ms), &mut heard).unwrap().slot as usize] += 1;
    }
    assert!(sent[0] > 450, "{sent:?}");
}

/// Its own shaper sends at its rate to the nanosecond, and says when to ask.
#[test]
fn the_shaper_keeps_its_rate() {
    let mut queue = cake(&[("bandwidth", "3 Mbit/s")], link());
    let mut now = at(5 * MS);
    for slot in 0..300 {
        queue.enqueue(now, flow(slot % 3, 1, 1).with_ecn(Ecn::Ect0), &mut NullSink);
    }
    assert_eq!(queue.wake_at(), None, "it may be asked at once");
    for n in 1..=300_u64 {
        assert!(queue.dequeue(now, &mut NullSink).is_some(), "{n}");
        assert!(queue.dequeue(now, &mut NullSink).is_none());
        // 8000 bits at 3 Mbit/s: 2,666,666.67 ns.
        let due = at(5 * MS + n * 8_000_000_000 / 3_000);
        assert_eq!(queue.wake_at(), (n < 300).then_some(due));
        now = due;
    }
}

/// The queue reports its table of flows, and that it is never hashed anew.
#[test]
fn the_table_of_flows_is_told() {
    let config = support::config("cake", None, &[("flows", "32"), ("ways", "2")], &link());
    assert_eq!(config.hash_table(), Some(HashTable { buckets: 32, ways: 2 }));
    assert_eq!(config.bucket_lifetime(), Some(FOREVER));
}

/// What does not grow with the tins: itself, a line of 24 bytes, and 8 bytes for each packet that
/// may wait and for one that arrives. A filter keeps what each acknowledges.
#[test]
fn room_for_packets_is_stated_to_the_byte() {
    let stated = |tins| {
        let settings = [("flows", "4"), ("diffserv", tins)];
        support::config("cake", Some("paper"), &settings, &link()).state_bytes(&link())
    };
    let room = 8 * (link().most_packets() + 1);
    let fixed = size_of::<Cake>() as u64 + 24 + room;
    assert_eq!(2 * stated("diffserv4") - stated("diffserv8"), fixed);
    let kept = |filter| {
        let config = support::config("cake", Some("paper"), &[("ack_filter", filter)], &link());
        config.state_bytes(&link())
    };
    let acks = size_of::<Option<Ack>>() as u64 * (link().most_packets() + 1);
    assert_eq!(kept("filter") - kept("no"), acks);
}
