//! CoDel against nichols2018 (RFC 8289): the naive twin, and the RFC's sentences.
use crate::support;
use crate::support::twin::OPERATIONS;
use crate::support::workload::{Phase, Workload};
use crate::twinned::Twinned as _;
use crate::twinned::codel::{Heard, Twinned};
use tidegate::queues::Codel;
use tidegate::{
    DropReason, Ecn, Link, MarkReason, NullSink, Packet, Qdisc, Rng, Sink, Span, Time, catalog,
};

const MS: u64 = 1_000_000;

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn codel(settings: &[(&str, &str)], link: Link) -> Codel {
    match support::config("codel", None, settings, &link).build(link, Rng::from_seed(1)).unwrap() {
        catalog::AnyQueue::Codel(queue) => queue,
        other => panic!("{other:?}"),
    }
}

/// Load above and below the rate and idle times, mixed sizes; the twin must do the same at every
/// step.
fn drive(settings: &[(&str, &str)], limit: &str, operations: u64) -> Twinned {
    let link = support::link("10 Mbit/s", limit, "770 B");
    let phases = [(1.05, 0), (0.98, 5), (1.6, 0), (0.7, 200), (1.01, 0), (3.0, 2_000)];
    let mut twinned =
        Twinned::beside(&support::config("codel", None, settings, &link), link, Rng::from_seed(1))
            .unwrap();
    // Each stretch short, so that the dropping state is entered and left again and again.
    let rounds = (operations / 12_000).max(1);
    let phase = |&(load, idle)| Phase { load, packets: 1_000, idle: Span::from_millis(idle) };
    let phases = (0..rounds).flat_map(|_| phases.iter().map(phase)).collect();
    Workload::new(20, 1.1, (40, 1500), 0.6, phases).run(
        &mut twinned,
        &link,
        &mut Rng::from_seed(11),
        &mut NullSink,
    );
    twinned
}

#[test]
fn twin_agrees_over_a_million_operations() {
    let seen = drive(&[], "300 packets", OPERATIONS * 5 / 4);
    assert!(seen.operations >= OPERATIONS, "{}", seen.operations);
    assert!(
        seen.drops.min(seen.marks).min(seen.overlimit) > 1_000,
        "{} {} {}",
        seen.drops,
        seen.marks,
        seen.overlimit
    );
    assert!(seen.resumed > 10, "{}", seen.resumed);
}

#[test]
fn twin_agrees_in_every_mode() {
    let off = drive(&[("ecn", "off"), ("interval", "2 ms"), ("target", "1 ms")], "100 kB", 200_000);
    assert!(
        off.drops > 1_000 && off.marks == 0 && off.longest > 1,
        "{} {}",
        off.drops,
        off.longest
    );
    drive(&[("interval", "1 us"), ("target", "0 ns")], "50 packets", 50_000);
    drive(&[("interval", "20 ms"), ("target", "10 ms")], "2000 packets", 200_000);
    let linux = drive(&[("root", "newton"), ("mtu", "1514 B")], "300 packets", 300_000);
    assert!(linux.drops.min(linux.marks) > 1_000 && linux.resumed > 10, "{}", linux.resumed);
    drive(&[("root", "newton"), ("interval", "5 ms"), ("target", "1 ms")], "100 kB", 200_000);
}

/// A queue that gets what it sends: `waiting` packets of `len` bytes stand in it at every
/// departure. Returns when each drop or mark happened.
fn standing(
    queue: &mut Codel,
    waiting: u32,
    len: u32,
    gap: u64,
    departures: u64,
    ecn: Ecn,
) -> Vec<u64> {
    struct When(Vec<u64>);
    impl Sink for When {
        fn dropped(&mut self, now: Time, _: &Packet, _: DropReason) {
            self.0.push(now.as_nanos());
        }
        fn marked(&mut self, now: Time, _: &Packet, _: MarkReason) {
            self.0.push(now.as_nanos());
        }
    }
    let (mut when, mut slot) = (When(Vec::new()), 0);
    for n in 0..departures {
        while queue.backlog().packets < waiting {
            queue.enqueue(
                at(n * gap),
                Packet::new(1, len).with_slot(slot).with_ecn(ecn),
                &mut when,
            );
            slot += 1;
        }
        assert!(queue.dequeue(at(n * gap), &mut when).is_some());
    }
    when.0
}

fn wide() -> Link {
    support::link("10 Mbit/s", "10000 packets", "1000 B")
}

/// §4.3, §5.6: while the sojourn time stays below target nothing is dropped, however long that
/// lasts; at the target itself it is too long.
#[test]
fn no_drop_below_target() {
    // Ten packets stand, one leaves each 499.999 us, so that each has waited 4.99999 ms.
    let mut queue = codel(&[], wide());
    assert_eq!(standing(&mut queue, 10, 1000, 499_999, 100_000, Ecn::NotEct), []);
    let mut queue = codel(&[], wide());
    assert_ne!(standing(&mut queue, 11, 1000, 500_000, 1_000, Ecn::NotEct), []);
}

/// §4.1 (non-starvation), §5.6: with no more than one MTU left behind it a packet goes, however
/// late; with one byte more it does not.
#[test]
fn no_drop_with_one_packet_left() {
    let slow = 50 * MS;
    let mut queue = codel(&[], wide());
    assert_eq!(standing(&mut queue, 2, 1500, slow, 10_000, Ecn::NotEct), []);
    let mut queue = codel(&[], wide());
    assert!(standing(&mut queue, 2, 1501, slow, 1_000, Ecn::NotEct).len() > 10);
}

/// §3.3, §5.5: The first drop comes when the delay has been too long for an interval. The n-th gap
/// is interval / √n, so the rate rises as the root of the count. Departures every 0.1 ms: each drop
/// comes at the first one after it is due.
#[test]
fn drops_come_by_the_control_law() {
    let gap = MS / 10;
    let mut queue = codel(&[], wide());
    let drops = standing(&mut queue, 1_000, 1000, gap, 30_000, Ecn::NotEct);
    // The first packet to have waited the target leaves at 5 ms.
    let mut due = (5 + 100) as f64 * 1e6;
    assert!(drops.len() > 200);
    for (n, &drop) in drops.iter().enumerate() {
        // Rounding down at each step, a nanosecond at most.
        assert!(
            (drop as f64) > due - n as f64 - 1.0 && (drop as f64) < due + gap as f64,
            "{n}: {drop} due {due}"
        );
        due += 100e6 / ((n + 1) as f64).sqrt();
    }
    // Four times as many drops so far, twice the rate.
    let rate = |n: usize| 10.0 / (drops[n + 10] - drops[n]) as f64;
    assert!((rate(200) / rate(50) - 2.0).abs() < 0.1, "{}", rate(200) / rate(50));
}

/// Marks come when drops would, and nothing is lost.
#[test]
fn marks_stand_for_drops() {
    let run = |ecn| standing(&mut codel(&[], wide()), 1_000, 1000, MS / 10, 20_000, ecn);
    let (marks, drops) = (run(Ecn::Ect0), run(Ecn::NotEct));
    // With a drop two packets leave the head at once, so the times agree to a departure.
    assert!(marks.len() > 50 && marks.len() == drops.len());
    assert!(marks.iter().zip(&drops).all(|(m, d)| m.abs_diff(*d) <= MS / 10));
    let mut queue = codel(&[], wide());
    let mut heard = Heard::default();
    for slot in 0..1_000 {
        queue.enqueue(at(0), Packet::new(1, 1000).with_ecn(Ecn::Ect1).with_slot(slot), &mut heard);
    }
    for n in 0..1_000 {
        assert_eq!(queue.dequeue(at(n * MS), &mut heard).unwrap().slot as u64, n);
    }
    assert!(heard.did.dropped.is_empty() && heard.did.marked.len() > 10);
    // Off: ECN-capable packets are dropped like any other.
    let off =
        standing(&mut codel(&[("ecn", "off")], wide()), 1_000, 1000, MS / 10, 20_000, Ecn::Ect0);
    assert_eq!(off, drops);
}

/// §5.5: what is dropped is the head; what is sent is behind it.
#[test]
fn drops_at_the_head() {
    let (mut queue, mut heard) = (codel(&[], wide()), Heard::default());
    for slot in 0..1_000 {
        queue.enqueue(at(0), Packet::new(1, 1000).with_slot(slot), &mut heard);
    }
    let mut last = None;
    for n in 0..400 {
        let before = heard.did.dropped.len();
        let sent = queue.dequeue(at(n * MS), &mut heard).unwrap().slot;
        if heard.did.dropped.len() > before {
            assert_eq!(
                heard.did.dropped[before..],
                [sent - 1],
                "the packet before the one that was sent"
            );
        }
        assert!(last < Some(sent));
        last = Some(sent);
    }
    assert!(heard.did.dropped.len() >= 4);
}

/// §5.5: back above target within 16 intervals, the law begins with the rate that had been reached;
/// later, anew.
#[test]
fn the_rate_is_remembered_for_sixteen_intervals() {
    for (pause, remembered) in [(10, true), (15, true), (18, false), (40, false)] {
        let mut queue = codel(&[], wide());
        let count = |queue: &Codel| {
            let mut count = 0.0;
            queue.probe(&mut |g| count = if g.name == "count" { g.value } else { count });
            count
        };
        standing(&mut queue, 1_000, 1000, MS / 10, 20_000, Ecn::NotEct);
        let reached = count(&queue);
        assert!(reached > 90.0);
        let resume = 2_000 * MS + pause * 100 * MS;
        // Empty it at once: the queue is below target; then the delay is too long again.
        while queue.dequeue(at(2_000 * MS), &mut NullSink).is_some() {}
        for _ in 0..1_000 {
            queue.enqueue(at(resume - 105 * MS), Packet::new(1, 1000), &mut NullSink);
        }
        queue.dequeue(at(resume - 100 * MS), &mut NullSink);
        queue.dequeue(at(resume), &mut NullSink);
        let expected = if remembered { (reached - 1.0)..=(reached + 20.0) } else { 1.0..=1.0 };
        assert!(
            expected.contains(&count(&queue)),
            "{pause} intervals: {} of {reached}",
            count(&queue)
        );
    }
}

/// `auto`: the target is two packets' time on a slow link, the interval ten of them; on a fast one
/// the RFC's constants.
#[test]
fn auto_follows_the_link() {
    let values = |rate| {
        let link = support::link(rate, "1000 packets", "1000 B");
        let config = catalog::config("codel", Some("auto"), &link).unwrap();
        (config.get("target").unwrap(), config.get("interval").unwrap())
    };
    assert_eq!(values("100 Mbit/s"), ("5 ms".into(), "100 ms".into()));
    assert_eq!(values("1 Mbit/s"), ("24 ms".into(), "240 ms".into()));
    assert_eq!(values("1 bit/s"), ("60 s".into(), "600 s".into()));
}
