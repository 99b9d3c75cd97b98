//! WFQ against its papers: the naive twin, the order of service that tells WF2Q+ from WFQ, and the
//! buffers.
use crate::naive::wfq::Order;
use crate::support;
use crate::support::twin::OPERATIONS;
use crate::support::workload::Workload;
use crate::support::{Fate, stats};
use crate::twinned::Twinned as _;
use crate::twinned::wfq::Twinned;
use tidegate::queues::Wfq;
use tidegate::{Link, NullSink, Packet, Qdisc, Rng, Size, Time, catalog};

fn wfq(settings: &[(&str, &str)], link: Link, seed: u64) -> Wfq {
    let settings = [&[("map", "flow")], settings].concat();
    match support::config("wfq", Some("paper"), &settings, &link)
        .build(link, Rng::from_seed(seed))
        .unwrap()
    {
        catalog::AnyQueue::Wfq(queue) => queue,
        other => panic!("{other:?}"),
    }
}

fn drive(order: (&str, Order), weights: &[f64], operations: u64) -> Twinned {
    let link = support::link("10 Mbit/s", "100 kB", "770 B");
    let text = weights.iter().map(f64::to_string).collect::<Vec<_>>().join(":");
    let classes = weights.len().to_string();
    let settings = [("order", order.0), ("weights", text.as_str()), ("classes", classes.as_str())];
    let buffer = 100_000 / weights.len() as u64;
    let settings = [&[("map", "flow")], &settings[..]].concat();
    let config = support::config("wfq", Some("paper"), &settings, &link);
    let mut twinned = Twinned::beside(&config, link, Rng::from_seed(7)).unwrap();
    for (class, &weight) in weights.iter().enumerate() {
        assert_eq!(twinned.queue.buffer(class), Size::Bytes(buffer));
        let theirs = &twinned.twin.classes[class];
        assert_eq!((theirs.weight, theirs.buffer), (weight, buffer as f64));
    }
    assert_eq!(twinned.twin.order, order.1);
    Workload::restless(operations).run(&mut twinned, &link, &mut Rng::from_seed(11), &mut NullSink);
    twinned
}

#[test]
fn twin_agrees_over_a_million_operations() {
    let weights = [1.0, 2.0, 0.5, 3.0, 1.0, 7.0, 0.25, 1.0];
    let seen = drive(("wf2q+", Order::Wf2qPlus), &weights, OPERATIONS * 5 / 4);
    assert!(seen.operations >= OPERATIONS, "{}", seen.operations);
    assert!(
        seen.dropped.min(seen.idle) > 10_000 && seen.busiest == 8,
        "{} {}",
        seen.dropped,
        seen.idle
    );
}

#[test]
fn twin_agrees_in_every_mode() {
    for order in [("wf2q+", Order::Wf2qPlus), ("scfq", Order::Scfq)] {
        for weights in [
            &[1.0][..],
            &[1.0, 1.0],
            &[0.01, 10_000.0, 3.0],
            &[1.0; 13],
            &[0.3, 0.7, 1.1, 1.9, 2.3],
        ] {
            let seen = drive(order, weights, 60_000);
            assert_eq!(seen.busiest, weights.len(), "{order:?} {weights:?}");
        }
    }
}

/// bennett1996's example through the queue: a class with half of the link and eleven packets, ten
/// with a twentieth and one.
#[test]
fn a_heavy_class_is_not_sent_in_a_burst() {
    let link = support::link("8 Mbit/s", "1000 packets", "1000 B");
    for (order, turns) in [
        ("scfq", [vec![0; 10], (1..=10).collect(), vec![0]].concat()),
        (
            "wf2q+",
            (0..21).map(|slot| if slot % 2 == 0 { 0 } else { slot / 2 + 1 }).collect::<Vec<u16>>(),
        ),
    ] {
        let settings = [("classes", "11"), ("map", "class"), ("weights", "10:1"), ("order", order)];
        let mut queue = wfq(&settings, link, 1);
        for n in 0..21 {
            let class = if n < 11 { 0 } else { n - 10 };
            queue.enqueue(Time::ZERO, Packet::new(n as u64, 1000).with_class(class), &mut NullSink);
        }
        let sent: Vec<u16> =
            (0..21).map(|_| queue.dequeue(Time::ZERO, &mut NullSink).unwrap().class).collect();
        assert_eq!(sent, turns, "{order}");
    }
}

/// lu2012 §V: 30 kB as (10, 10, 10) and (15, 5, 10); a class drops its own packets only, at its own
/// limit. A limit in packets is divided in the same way, and a whole number that rounding makes a
/// little less (30 · .3 / .6) stays whole.
#[test]
fn each_class_fills_its_own_buffer() {
    let parts = [
        ("1", [10, 10, 10]),
        ("15:5:10", [15, 5, 10]),
        ("3:1:2", [15, 5, 10]),
        ("0.3:0.1:0.2", [15, 5, 10]),
        ("0.7:0.2:0.6", [14, 4, 12]),
    ];
    for ((buffers, packets), limit) in
        parts.into_iter().flat_map(|part| [(part, "30 kB"), (part, "30 packets")])
    {
        let link = support::link("5 Mbit/s", limit, "1000 B");
        let mut queue = wfq(&[("classes", "3"), ("map", "class"), ("buffers", buffers)], link, 1);
        let mut dropped = [0; 3];
        for n in 0..300 {
            let mut fate = Fate::default();
            queue.enqueue(Time::ZERO, Packet::new(7, 1000).with_class(n % 3), &mut fate);
            dropped[n as usize % 3] += u32::from(fate.dropped.is_some());
        }
        assert_eq!([0, 1, 2].map(|class| queue.class_backlog(class).packets), packets, "{buffers}");
        assert_eq!(dropped, packets.map(|held| 100 - held));
    }
}

/// A part smaller than a packet still holds one, in either unit of the limit, and the limit for all
/// holds as well.
#[test]
fn a_class_has_room_for_one_packet() {
    for limit in ["10 packets", "10 kB"] {
        let link = support::link("5 Mbit/s", limit, "1000 B");
        let mut queue = wfq(&[("classes", "20"), ("map", "class")], link, 1);
        for n in 0..40 {
            queue.enqueue(Time::ZERO, Packet::new(7, 1000).with_class(n / 2), &mut NullSink);
        }
        let held: Vec<u32> = (0..20).map(|class| queue.class_backlog(class).packets).collect();
        assert_eq!(held, [[1; 10], [0; 10]].concat());
        let mut queue =
            wfq(&[("classes", "20"), ("map", "class"), ("least", "4 packets")], link, 1);
        for n in 0..40 {
            queue.enqueue(Time::ZERO, Packet::new(7, 1000).with_class(n % 2), &mut NullSink);
        }
        assert_eq!([0, 1].map(|class| queue.class_backlog(class).packets), [4, 4]);
    }
}

/// A flood takes neither bandwidth nor buffer from the others, whatever it sends: three classes,
/// each but the flood at its share of the link.
#[test]
fn a_flood_harms_itself_only() {
    let link = support::link("8 Mbit/s", "30 packets", "1000 B");
    let mut queue = wfq(&[("classes", "3"), ("map", "class")], link, 1);
    let (mut sent, mut lost) = ([0_u64; 3], [0_u64; 3]);
    let mut dice = stats::dice("wfq flood", 0);
    for n in 0..120_000_u64 {
        let now = Time::from_nanos(n * 1_000_000);
        let mut offer = |queue: &mut Wfq, class: u16| {
            let mut fate = Fate::default();
            queue.enqueue(now, Packet::new(class as u64, 1000).with_class(class), &mut fate);
            lost[class as usize] += u64::from(fate.dropped.is_some());
        };
        (0..10).for_each(|_| offer(&mut queue, 2));
        if dice.chance(0.3) {
            offer(&mut queue, 0);
        }
        if n % 3 == 0 {
            offer(&mut queue, 1);
        }
        sent[queue.dequeue(now, &mut NullSink).unwrap().class as usize] += 1;
    }
    assert!(sent[0].abs_diff(36_000) < 1_000 && sent[1].abs_diff(40_000) <= 10, "{sent:?}");
    assert_eq!(lost[1], 0, "a smooth class at its share loses nothing");
    assert!(lost[0] < 360, "{lost:?}");
}

/// Weights hold among those who have packets; who has none leaves its part to the others by weight.
#[test]
fn what_is_left_is_shared_by_weight() {
    let link = support::link("8 Mbit/s", "100 packets", "1000 B");
    let mut queue = wfq(&[("classes", "4"), ("map", "class"), ("weights", "4:2:1:9")], link, 1);
    let mut sent = [0_u32; 4];
    for _ in 0..7_000 {
        for class in 0..3 {
            queue.enqueue(Time::ZERO, Packet::new(7, 1000).with_class(class), &mut NullSink);
        }
        sent[queue.dequeue(Time::ZERO, &mut NullSink).unwrap().class as usize] += 1;
    }
    for (class, share) in [(0, 4_000), (1, 2_000), (2, 1_000)] {
        assert!(sent[class].abs_diff(share) <= 2, "{sent:?}");
    }
}

/// Flows are spread evenly over the classes, whatever class the driver gave them (chi-square, false
/// alarm 1e-6 each).
#[test]
fn flows_are_spread_evenly() {
    let link = support::link("8 Mbit/s", "100 packets", "1000 B");
    for index in 0..5 {
        let queue = wfq(&[("classes", "50")], link, stats::seed("spread", index).get());
        let mut counts = [0; 50];
        for flow in 0..50_000 {
            counts[queue.class_of(&Packet::new(flow, 1000).with_class(flow as u16))] += 1;
        }
        stats::assert_counts("classes", &counts, &[1_000.0; 50]);
    }
}
