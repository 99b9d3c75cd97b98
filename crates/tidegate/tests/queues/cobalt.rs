//! COBALT against its proposal and CAKE's description: the naive twin, and what is said of it.
use crate::support;
use crate::support::twin::OPERATIONS;
use crate::support::workload::Workload;
use crate::twinned::Twinned as _;
use crate::twinned::cobalt::{Heard, Twinned};
use tidegate::queues::Cobalt;
use tidegate::{Ecn, Link, NullSink, Packet, Qdisc, Rng, Time, catalog};

const MS: u64 = 1_000_000;

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn cobalt(settings: &[(&str, &str)], link: Link) -> Cobalt {
    let config = support::config("cobalt", None, settings, &link);
    match config.build(link, Rng::from_seed(1)).unwrap() {
        catalog::AnyQueue::Cobalt(queue) => queue,
        other => panic!("{other:?}"),
    }
}

fn gauge(queue: &Cobalt, name: &str) -> f64 {
    let mut value = f64::NAN;
    queue.probe(&mut |g| value = if g.name == name { g.value } else { value });
    value
}

fn drive(settings: &[(&str, &str)], limit: &str, operations: u64) -> Twinned {
    let link = support::link("10 Mbit/s", limit, "770 B");
    let config = support::config("cobalt", Some("paper"), settings, &link);
    let mut twinned = Twinned::beside(&config, link, Rng::from_seed(3)).unwrap();
    Workload::restless(operations).run(&mut twinned, &link, &mut Rng::from_seed(11), &mut NullSink);
    twinned
}

#[test]
fn twin_agrees_over_a_million_operations() {
    let seen = drive(&[], "100 packets", OPERATIONS * 5 / 4);
    assert!(seen.operations >= OPERATIONS, "{}", seen.operations);
    let least = seen.drops.min(seen.by_blue).min(seen.marks).min(seen.overlimit);
    assert!(least > 1_000, "{} {} {} {}", seen.drops, seen.by_blue, seen.marks, seen.overlimit);
}

#[test]
fn twin_agrees_in_every_mode() {
    let off = drive(&[("ecn", "off"), ("interval", "2 ms"), ("target", "1 ms")], "100 kB", 200_000);
    assert!(off.drops > 1_000 && off.marks == 0, "{}", off.drops);
    drive(&[("interval", "1 us"), ("target", "0 ns"), ("mtu", "0 B")], "50 packets", 50_000);
    drive(&[("increment", "1"), ("decrement", "0.3")], "50 packets", 100_000);
    let calm = drive(&[("increment", "0")], "2000 packets", 200_000);
    assert_eq!(calm.by_blue, 0);
}

fn wide() -> Link {
    support::link("10 Mbit/s", "10000 packets", "1000 B")
}

/// `waiting` packets of `len` bytes stand in the queue at each of `departures`, one each `gap`.
/// Returns when drops and marks came.
fn standing(queue: &mut Cobalt, waiting: u32, gap: u64, departures: u64, ecn: Ecn) -> Vec<u64> {
    let (mut when, mut slot) = (Vec::new(), 0);
    for n in 0..departures {
        let mut heard = Heard::default();
        while queue.backlog().packets < waiting {
            let pkt = Packet::new(1, 1000).with_slot(slot).with_ecn(ecn);
            queue.enqueue(at(n * gap), pkt, &mut heard);
            slot += 1;
        }
        assert!(queue.dequeue(at(n * gap), &mut heard).is_some());
        when.extend(heard.did.dropped.iter().chain(&heard.did.marked).map(|_| n * gap));
    }
    when
}

/// A wait of up to the target is not too long, nor is one of four of the longest packets' time.
#[test]
fn no_signal_below_the_target_and_the_floor() {
    // Eleven packets stand and one leaves each 0.5 ms: each has waited 5 ms.
    assert_eq!(standing(&mut cobalt(&[], wide()), 11, MS / 2, 10_000, Ecn::NotEct), []);
    assert_ne!(standing(&mut cobalt(&[], wide()), 12, MS / 2, 10_000, Ecn::NotEct), []);
    // On a line with 8 ms to a packet of 1000 bytes.
    let slow = support::link("1 Mbit/s", "10000 packets", "1000 B");
    let four = [("mtu", "1000 B"), ("target", "5 ms"), ("interval", "100 ms")];
    assert_eq!(standing(&mut cobalt(&four, slow), 5, 8 * MS, 10_000, Ecn::NotEct), []);
    assert_ne!(standing(&mut cobalt(&four, slow), 6, 8 * MS, 10_000, Ecn::NotEct), []);
}

/// The first signal after an interval, then ever more often; marks come when drops would.
#[test]
fn signals_come_by_codels_schedule() {
    let drops = standing(&mut cobalt(&[], wide()), 1_000, MS / 10, 30_000, Ecn::NotEct);
    let marks = standing(&mut cobalt(&[], wide()), 1_000, MS / 10, 30_000, Ecn::Ect0);
    // The first packet to have waited more than the target leaves at 5.1 ms.
    let mut due = 105.1e6;
    assert!(drops.len() > 200 && drops.len() == marks.len());
    for (n, (&drop, &mark)) in drops.iter().zip(&marks).enumerate() {
        assert!((drop as f64) >= due - n as f64 && (drop as f64) < due + 1e5, "{n}: {drop} {due}");
        assert!(drop.abs_diff(mark) <= MS / 10);
        due += 100e6 / ((n + 2) as f64).sqrt();
    }
}

/// A flood above the limit that cannot be slowed: CoDel alone would leave it at the limit; BLUE's
/// probability rises until the queue is short, and is as high as the load asks for.
#[test]
fn blue_holds_an_unresponsive_flood() {
    let link = support::link("8 Mbit/s", "100 packets", "1000 B");
    let late = |settings: &[(&str, &str)]| {
        let (mut queue, mut full) = (cobalt(settings, link), 0);
        for n in 0..60_000_u64 {
            // Two arrivals for each departure, for a minute.
            for _ in 0..2 {
                let pkt = Packet::new(1, 1000).with_ecn(Ecn::Ect0);
                queue.enqueue(at(n * MS), pkt, &mut NullSink);
            }
            queue.dequeue(at(n * MS), &mut NullSink);
            full += u32::from(n > 30_000 && queue.backlog().packets > 90);
        }
        (full, gauge(&queue, "p_drop"))
    };
    let (full, p) = late(&[("increment", "0")]);
    assert!(full == 29_999 && p == 0.0, "CoDel alone marks in vain: {full} {p}");
    let (full, p) = late(&[]);
    assert!(full < 3_000 && (0.4..0.65).contains(&p), "{full} {p}");
}

/// The last packet may be marked, but is never dropped.
#[test]
fn the_last_packet_goes() {
    let mut queue = cobalt(&[("increment", "1"), ("interval", "1 us")], wide());
    let mut heard = Heard::default();
    for n in 0..1_000_u64 {
        let ecn = if n < 500 { Ecn::NotEct } else { Ecn::Ect1 };
        queue.enqueue(at(20 * n * MS), Packet::new(1, 1000).with_ecn(ecn), &mut heard);
        assert!(queue.dequeue(at((20 * n + 10) * MS), &mut heard).is_some());
    }
    assert!(heard.did.dropped.is_empty() && heard.did.marked.len() > 400);
    // BLUE at 1 drops all but the last.
    let full = support::link("8 Mbit/s", "10 packets", "1000 B");
    let mut queue = cobalt(&[("increment", "1")], full);
    for slot in 0..11 {
        queue.enqueue(at(0), Packet::new(1, 1000).with_ecn(Ecn::Ect0).with_slot(slot), &mut heard);
    }
    assert_eq!(queue.dequeue(at(MS), &mut heard).map(|pkt| pkt.slot), Some(9));
    assert_eq!(heard.by_blue, (0..9).collect::<Vec<_>>());
}

/// CAKE's times: 5 and 100 ms while one and a half packets take less.
#[test]
fn auto_follows_the_link() {
    let values = |rate| {
        let link = support::link(rate, "1000 packets", "1000 B");
        let config = catalog::config("cobalt", Some("auto"), &link).unwrap();
        (config.get("target").unwrap(), config.get("interval").unwrap())
    };
    assert_eq!(values("100 Mbit/s"), ("5 ms".into(), "100 ms".into()));
    assert_eq!(values("1 Mbit/s"), ("18 ms".into(), "113 ms".into()));
    assert_eq!(values("100 kbit/s"), ("180 ms".into(), "360 ms".into()));
    assert_eq!(values("1 bit/s"), ("60 s".into(), "120 s".into()));
}
