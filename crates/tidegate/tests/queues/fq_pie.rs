//! FQ-PIE against tc-fq_pie(8): the naive twin, and the page's sentences.
use crate::support;
use crate::support::twin::OPERATIONS;
use crate::support::workload::{Phase, Workload};
use crate::support::{Heard, stats};
use crate::twinned::Twinned as _;
use crate::twinned::fq_pie::Twinned;
use tidegate::entry::{FOREVER, HashTable};
use tidegate::queues::FqPie;
use tidegate::{Asks, Backlog, DropReason, Ecn, Link, NullSink, Packet, Qdisc, Rng, Span, Time};
use tidegate::{catalog, rng};

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn fq_pie(settings: &[(&str, &str)], link: Link, seed: u64) -> FqPie {
    match support::config("fq_pie", None, settings, &link)
        .build(link, Rng::from_seed(seed))
        .unwrap()
    {
        catalog::AnyQueue::FqPie(queue) => queue,
        other => panic!("{other:?}"),
    }
}

fn link() -> Link {
    support::link("8 Mbit/s", "1000 packets", "1000 B")
}

/// `count` flows that hash to queues of their own.
fn apart(queue: &FqPie, count: usize) -> Vec<u64> {
    support::apart(count, |flow| queue.queue_of(flow))
}

/// Thirty flows in eight queues, load above and below the rate, idle times of up to twenty seconds
/// (1300 updates); the twin must do the same at every step.
fn drive(settings: &[(&str, &str)], limit: &str, operations: u64) -> Twinned {
    let link = support::link("10 Mbit/s", limit, "770 B");
    let settings = [&[("flows", "8")], settings].concat();
    let config = support::config("fq_pie", None, &settings, &link);
    let mut twinned = Twinned::beside(&config, link, Rng::from_seed(7)).unwrap();
    let phase = |&(load, idle)| Phase { load, packets: 2_500, idle: Span::from_millis(idle) };
    let stretches =
        [(1.05, 0), (1.6, 0), (0.7, 0), (1.1, 20_000), (0.98, 5), (3.0, 40), (0.3, 200)];
    let phases =
        (0..(operations / 33_000).max(1)).flat_map(|_| stretches.iter().map(phase)).collect();
    Workload::new(30, 1.1, (40, 1500), 0.6, phases).run(
        &mut twinned,
        &link,
        &mut Rng::from_seed(11),
        &mut NullSink,
    );
    twinned.disputes.settle();
    twinned
}

#[test]
fn twin_agrees_over_a_million_operations() {
    let seen = drive(&[("ecn", "on"), ("ecn_prob", "0.3")], "200 packets", OPERATIONS * 5 / 4);
    assert!(seen.operations >= OPERATIONS, "{}", seen.operations);
    let (marks, early, full) = (seen.marks, seen.early, seen.full);
    assert!(marks.min(early).min(full) > 1_000, "{marks} {early} {full}");
    assert!(seen.disputes.verdicts > 50_000, "{}", seen.disputes.verdicts);
}

#[test]
fn twin_agrees_in_every_mode() {
    let head = drive(&[("overflow", "longest_head"), ("max_burst", "0 ns")], "50 packets", 100_000);
    assert!(head.evicted > 1_000 && head.marks == 0, "{}", head.evicted);
    let tail = drive(&[("overflow", "longest_tail"), ("quantum", "256 B")], "30 kB", 100_000);
    assert!(tail.evicted > 1_000 && tail.full == 0, "{} {}", tail.evicted, tail.full);
    let tiny = drive(&[("overflow", "longest_head")], "1400 B", 50_000);
    assert!(tiny.full > 100 && tiny.evicted > 100, "{} {}", tiny.full, tiny.evicted);
    let plain = drive(&[("derandomize", "off"), ("cap", "off")], "1000 packets", 100_000);
    assert!(plain.disputes.verdicts > 3_000, "{}", plain.disputes.verdicts);
    drive(&[("decay", "calm"), ("tupdate", "1 ms"), ("ecn_prob", "0.5")], "100 kB", 100_000);
}

/// A flow offers `load` of the link's 1000 bytes a millisecond, in packets of 1000 bytes, each flow
/// at a time of its own within the millisecond.
fn offer(
    queue: &mut FqPie,
    flows: &[(u64, f64)],
    ecn: Ecn,
    millis: std::ops::Range<u64>,
    heard: &mut Heard,
    mut sent: impl FnMut(&Packet, Span),
) {
    let mut owed = vec![0.0; flows.len()];
    for ms in millis {
        for (n, &(flow, load)) in flows.iter().enumerate() {
            owed[n] += load;
            while owed[n] >= 1.0 {
                owed[n] -= 1.0;
                let now = at(ms * 1_000_000 + 1_000 * n as u64);
                queue.enqueue(now, Packet::new(flow, 1000).with_ecn(ecn), heard);
            }
        }
        let now = at(ms * 1_000_000 + 999_999);
        if let Some(pkt) = queue.dequeue(now, heard) {
            sent(&pkt, now.since(pkt.arrived));
        }
    }
}

/// Every queue has a PIE of its own: two flows of .9 and .7 of the link get half each. So 1 − .5/.9
/// and 1 − .5/.7 of their packets must go, and each waits for the target (pan2017 §4.2). A third,
/// far below its share, keeps all its packets and waits for hardly two of the others'.
#[test]
fn each_queue_has_its_own_probability_and_the_same_delay() {
    let mut queue = fq_pie(&[], link(), stats::seed("fq_pie settles", 0).get());
    let flows = apart(&queue, 3);
    let loads = [(flows[0], 0.9), (flows[1], 0.7), (flows[2], 0.05)];
    let mut heard = Heard::default();
    offer(&mut queue, &loads, Ecn::NotEct, 0..50_000, &mut heard, |_, _| ());
    let (mut waited, mut sent, mut longest) = ([0.0; 3], [0; 3], Span::ZERO);
    heard.lost.clear();
    offer(&mut queue, &loads, Ecn::NotEct, 50_000..250_000, &mut heard, |pkt, wait| {
        let n = flows.iter().position(|&flow| flow == pkt.flow).unwrap();
        (waited[n], sent[n]) = (waited[n] + wait.as_millis(), sent[n] + 1);
        longest = if n == 2 { longest.max(wait) } else { longest };
    });
    for (n, load) in [(0, 0.9), (1, 0.7)] {
        let delay = waited[n] / sent[n] as f64;
        assert!((delay - 15.0).abs() < 1.5, "{n}: {delay} ms");
        let lost = heard.lost.iter().filter(|(pkt, _)| pkt.flow == flows[n]).count() as f64;
        let expected = 1.0 - 0.475 / load;
        assert!((lost / (200_000.0 * load) - expected).abs() < 0.01, "{n}: {lost}");
    }
    assert!(heard.lost.iter().all(|(pkt, why)| pkt.flow != flows[2] && *why == DropReason::Early));
    assert_eq!(sent[2], 10_000);
    assert!(longest < Span::from_millis(3), "{longest}");
}

/// `limit`: incoming packets are dropped when it is reached. A flood whose probability still rises
/// fills the buffer, and then a small flow's packets find no room. `overflow` makes the flood pay.
#[test]
fn who_goes_when_the_buffer_is_full() {
    for (overflow, spared) in [("arrival", false), ("longest_head", true), ("longest_tail", true)] {
        let small = support::link("8 Mbit/s", "50 packets", "1000 B");
        let mut queue = fq_pie(&[("overflow", overflow)], small, 1);
        let flows = apart(&queue, 2);
        let mut heard = Heard::default();
        let loads = [(flows[0], 10.0), (flows[1], 0.3)];
        offer(&mut queue, &loads, Ecn::NotEct, 0..1_000, &mut heard, |_, _| ());
        let of = |flow, whys: &[DropReason]| {
            heard.lost.iter().filter(|(pkt, why)| pkt.flow == flow && whys.contains(why)).count()
        };
        let full = [DropReason::Overlimit, DropReason::Evicted];
        assert!(of(flows[0], &full) > 500, "{overflow}");
        assert_eq!(of(flows[1], &full) == 0, spared, "{overflow}");
        assert_eq!(heard.lost.iter().any(|(_, why)| *why == DropReason::Evicted), spared);
    }
}

/// `ecn` is off, as tc has it; on, it marks below `ecn_prob` and drops from there on.
#[test]
fn marks_below_ecn_prob() {
    let wide = support::link("8 Mbit/s", "10000 packets", "1000 B");
    let mut queue = fq_pie(&[("ecn", "on"), ("ecn_prob", "0.2")], wide, 1);
    let (mut marks, mut drops) = (0, 0);
    for n in 0..60_000_u64 {
        // 1.25 times the rate.
        let (now, mut heard) = (at(n * 800_000), Heard::default());
        queue.enqueue(now, Packet::new(7, 1000).with_ecn(Ecn::Ect0), &mut heard);
        let below = queue.control(queue.queue_of(7)).probability() < 0.2;
        assert!(if below { heard.lost.is_empty() } else { heard.marked.is_empty() });
        (marks, drops) = (marks + heard.marked.len(), drops + heard.lost.len());
        if n % 5 != 0 {
            queue.dequeue(now, &mut heard);
        }
    }
    assert!(marks > 10 && drops > 1_000, "{marks} {drops}");
    let mut off = fq_pie(&[], wide, 1);
    let mut heard = Heard::default();
    offer(&mut off, &[(7, 1.05)], Ecn::Ect0, 0..20_000, &mut heard, |_, _| ());
    assert!(heard.marked.is_empty() && heard.lost.len() > 100, "{}", heard.lost.len());
}

/// §4.2 of hoeiland2018: a flow that becomes active goes before those that are being served, for a
/// quantum.
#[test]
fn new_flows_go_first() {
    let mut queue = fq_pie(&[], link(), 1);
    let flows = apart(&queue, 4);
    for n in 0..120 {
        queue.enqueue(at(0), Packet::new(flows[n % 3], 1000), &mut NullSink);
    }
    for _ in 0..6 {
        queue.dequeue(at(0), &mut NullSink);
    }
    for _ in 0..10 {
        queue.enqueue(at(0), Packet::new(flows[3], 1000), &mut NullSink);
    }
    let next: Vec<u64> =
        (0..5).map(|_| queue.dequeue(at(0), &mut NullSink).unwrap().flow).collect();
    assert_eq!(next[..2], [flows[3]; 2]);
    assert!(!next[2..].contains(&flows[3]), "{next:?}");
}

/// Ten million flows: the pool of packets holds the limit and one, the queues are those of the
/// start.
#[test]
fn ten_million_flows() {
    let small = support::link("8 Mbit/s", "100 packets", "1000 B");
    let mut queue = fq_pie(&[("overflow", "longest_head")], small, 1);
    for n in 0..10_000_000_u64 {
        queue.enqueue(at(n * 500_000), Packet::new(rng::mix(n), 1000), &mut NullSink);
        if n % 2 == 0 {
            queue.dequeue(at(n * 500_000), &mut NullSink).unwrap();
        }
    }
    assert_eq!(queue.places(), 101);
    let (new, old) = (support::gauges(&queue)[0].value, support::gauges(&queue)[1].value);
    assert!(new + old <= 1024.0);
}
/// A flood of 7.5 times its share asks for a probability of .87. Where that ends at 1, it falls
/// by β times the delay when a full queue has drained, and the next burst fills the buffer.
/// Where it remembers how long the delay was too long, as in Linux, it settles.
#[test]
fn a_probability_that_ends_at_1_swings_under_a_flood() {
    let refused = |ceiling| {
        let small = support::link("8 Mbit/s", "200 packets", "1000 B");
        let mut queue = fq_pie(&[("ceiling", ceiling)], small, 1);
        let mut heard = Heard::default();
        offer(&mut queue, &[(7, 7.5)], Ecn::NotEct, 0..5_000, &mut heard, |_, _| ());
        heard.lost.clear();
        offer(&mut queue, &[(7, 7.5)], Ecn::NotEct, 5_000..25_000, &mut heard, |_, _| ());
        heard.lost.iter().filter(|(_, why)| *why == DropReason::Overlimit).count()
    };
    assert!(refused("1") > 5_000, "{}", refused("1"));
    assert_eq!(refused("256"), 0);
}

/// The queue reports its table of flows, that it is never hashed anew, and what isolation needs.
#[test]
fn the_table_of_flows_is_told() {
    for (isolation, hosts) in [("flows", false), ("dual-srchost", true)] {
        let settings = [("flows", "32"), ("ways", "2"), ("isolation", isolation)];
        let config = support::config("fq_pie", None, &settings, &link());
        assert_eq!(config.hash_table(), Some(HashTable { buckets: 32, ways: 2 }));
        assert_eq!(config.bucket_lifetime(), Some(FOREVER));
        assert_eq!(config.asks(), Asks::NOTHING.with_hosts(hosts), "{isolation}");
    }
}

/// What does not grow with the queues: itself, a line of 24 bytes, and 8 bytes for each packet that
/// may wait and for one that arrives.
#[test]
fn room_for_packets_is_stated_to_the_byte() {
    let stated = |flows| {
        let settings = [("flows", flows), ("ways", "1")];
        support::config("fq_pie", Some("paper"), &settings, &link()).state_bytes(&link())
    };
    let room = 8 * (link().most_packets() + 1);
    let fixed = size_of::<FqPie>() as u64 + 24 + room;
    assert_eq!(2 * stated("4") - stated("8"), fixed);
}

/// Each queue tells what waits of its own flow.
#[test]
fn what_waits_in_a_queue_is_told() {
    let mut queue = fq_pie(&[], link(), 1);
    let two = apart(&queue, 2);
    for flow in [two[0], two[1], two[1]] {
        queue.enqueue(Time::ZERO, Packet::new(flow, 1000), &mut NullSink);
    }
    let waits = |flow| queue.queue_backlog(queue.queue_of(flow));
    assert_eq!(waits(two[0]), Backlog { packets: 1, bytes: 1000 });
    assert_eq!(waits(two[1]), Backlog { packets: 2, bytes: 2000 });
}
