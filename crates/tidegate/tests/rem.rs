//! REM against its paper: golden numbers and the naive twin.
mod naive;
mod support;

use naive::rem::NaiveRem;
use support::Fate;
use support::twin::{Disputes, OPERATIONS, agree, rolled};
use support::workload::{Phase, Workload};
use tidegate::queues::Rem;
use tidegate::{Backlog, DropReason, Ecn, Link, NullSink, Packet, Qdisc, Rng, Sink, Span, Time, catalog};

fn rem(settings: &[(&str, &str)], link: Link, dice: Rng) -> Rem {
    let mut config = catalog::config("rem", None, &link).unwrap();
    for (name, value) in settings {
        config.set(name, value).unwrap();
    }
    match config.build(link, dice).unwrap() {
        catalog::AnyQueue::Rem(queue) => queue,
        other => panic!("{other:?}"),
    }
}

/// X = 12, c = 10, b = 50, b* = 20: the price rises by .005; p = 100 marks with .095117, p = 1000 with .631936.
#[test]
fn the_twin_gives_the_golden_numbers() {
    let mut twin = NaiveRem::new(0.1, 0.001, 1.001, 20.0, 10.0, 1.0);
    twin.arrived = 12.0;
    twin.period(50.0);
    assert!((twin.price - 0.005).abs() < 1e-12);
    twin.price = 100.0;
    assert!((twin.mark_probability() - 0.095117).abs() < 1e-6);
    twin.price = 1000.0;
    assert!((twin.mark_probability() - 0.631936).abs() < 1e-6);
}

/// REM with its twin beside it: every price and every verdict compared.
struct Twinned {
    queue: Rem,
    twin: NaiveRem,
    link: Link,
    interval: u64,
    due: u64,
    byte_mode: bool,
    at_departure: bool,
    pass: bool,
    operations: u64,
    disputes: Disputes,
    marks: u64,
    drops: u64,
}

impl Twinned {
    fn new(settings: &[(&str, &str)], link: Link, interval_ms: u64) -> Twinned {
        let text = format!("{interval_ms} ms");
        let mut all = vec![("interval", &*text)];
        all.extend_from_slice(settings);
        let capacity = link.rate.as_bps() as f64 / 8.0 / link.mean_packet.get() as f64 * interval_ms as f64 / 1e3;
        let has = |name, value| settings.contains(&(name, value));
        Twinned {
            queue: rem(&all, link, Rng::from_seed(3)),
            twin: NaiveRem::new(0.1, 0.01, 1.001, 20.0, capacity, if has("weight", "0.2") { 0.2 } else { 1.0 }),
            link,
            interval: interval_ms * 1_000_000,
            due: interval_ms * 1_000_000,
            byte_mode: has("mode", "bytes"),
            at_departure: has("mark_at", "dequeue"),
            pass: !has("non_ect", "drop"),
            operations: 0,
            disputes: Disputes::default(),
            marks: 0,
            drops: 0,
        }
    }

    /// Every period that ended by `now`, with what waited all the while.
    fn periods(&mut self, now: Time, backlog: u64) {
        while self.due <= now.as_nanos() {
            self.twin.period(backlog as f64 / self.link.mean_packet.get() as f64);
            self.due += self.interval;
        }
    }

    fn probability(&self, len: u32) -> f64 {
        let scale = if self.byte_mode { len as f64 / self.link.mean_packet.get() as f64 } else { 1.0 };
        self.twin.mark_probability() * scale
    }

    fn compare(&mut self) {
        self.operations += 1;
        agree("price", self.operations, self.queue.policy().price().get(), self.twin.price, 1e-3);
    }
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, _: &mut S) {
        let backlog = self.queue.backlog();
        self.periods(now, backlog.bytes);
        self.twin.arrived += pkt.len as f64 / self.link.mean_packet.get() as f64;
        let before = self.queue.dice().clone();
        let mut fate = Fate::default();
        self.queue.enqueue(now, pkt, &mut fate);
        let die = rolled(&before, self.queue.dice());
        let later = self.at_departure && pkt.ecn.is_capable();
        if !self.link.has_room(backlog, pkt.len) {
            assert_eq!((fate.dropped, fate.marked.is_some(), die), (Some(DropReason::Overlimit), false, None));
        } else if later {
            assert_eq!((fate.dropped, fate.marked.is_some(), die), (None, false, None));
        } else {
            let signalled = fate.marked.is_some() || fate.dropped.is_some();
            if pkt.ecn.is_capable() {
                assert_eq!(fate.dropped, None);
            } else {
                assert!(!(fate.marked.is_some() || self.pass && fate.dropped.is_some()));
            }
            if pkt.ecn.is_capable() || !self.pass {
                self.disputes.verdict(self.operations, die.unwrap(), self.probability(pkt.len), signalled);
            }
        }
        self.marks += fate.marked.is_some() as u64;
        self.drops += fate.dropped.is_some() as u64;
        self.compare();
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, _: &mut S) -> Option<Packet> {
        let backlog = self.queue.backlog().bytes;
        self.periods(now, backlog);
        let before = self.queue.dice().clone();
        let mut fate = Fate::default();
        let pkt = self.queue.dequeue(now, &mut fate);
        let die = rolled(&before, self.queue.dice());
        match pkt {
            Some(pkt) if self.at_departure && (fate.marked.is_some() || pkt.ecn.is_capable()) => {
                self.disputes.verdict(self.operations, die.unwrap(), self.probability(pkt.len), fate.marked.is_some());
            }
            _ => assert_eq!((die, fate.marked.is_some()), (None, false)),
        }
        self.marks += fate.marked.is_some() as u64;
        self.compare();
        pkt
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
}

/// Load above and below the rate, mixed sizes, idle times of up to three seconds (300 periods: the closed form).
fn drive(settings: &[(&str, &str)], limit: &str, operations: u64) -> Twinned {
    let link = support::link("10 Mbit/s", limit, "770 B");
    let phase = |load, idle| Phase { load, packets: operations / 12, idle: Span::from_millis(idle) };
    let phases =
        vec![phase(1.6, 0), phase(0.7, 0), phase(1.05, 3_000), phase(0.98, 5), phase(3.0, 40), phase(0.3, 200)];
    let mut all = vec![("gamma", "0.01")];
    all.extend_from_slice(settings);
    let mut twinned = Twinned::new(&all, link, 10);
    Workload::new(20, 1.1, (40, 1500), 0.6, phases).run(&mut twinned, &link, &mut Rng::from_seed(11), &mut NullSink);
    twinned.disputes.settle();
    assert!(twinned.marks > 1000, "{}", twinned.marks);
    twinned
}

#[test]
fn twin_agrees_over_a_million_operations() {
    let twinned = drive(&[], "100 packets", OPERATIONS);
    assert!(twinned.operations >= OPERATIONS * 3 / 4, "{}", twinned.operations);
}

#[test]
fn twin_agrees_in_every_mode() {
    drive(&[("weight", "0.2")], "100 packets", 200_000);
    drive(&[("mode", "bytes")], "100 kB", 200_000);
    drive(&[("mark_at", "dequeue")], "100 packets", 200_000);
    let dropped = drive(&[("non_ect", "drop")], "1000 packets", 200_000);
    assert!(dropped.drops > 1000);
}

/// The paper's claim: in equilibrium the backlog is b*, whatever the number of flows. Senders that answer marks with a
/// lower rate: the rate is steered by hand so that demand is supply, and the price then stands still at b = b*.
#[test]
fn price_stands_still_at_the_target() {
    let link = support::link("8 Mbit/s", "1000 packets", "1000 B");
    let mut queue = rem(&[], link, Rng::from_seed(1));
    let at = |n: u64| Time::from_nanos(n * 1_000_000);
    for _ in 0..20 {
        queue.enqueue(Time::ZERO, Packet::new(1, 1000).with_ecn(Ecn::Ect0), &mut NullSink);
    }
    for n in 0..10_000 {
        queue.dequeue(at(n), &mut NullSink);
        queue.enqueue(at(n), Packet::new(1, 1000).with_ecn(Ecn::Ect0), &mut NullSink);
    }
    assert_eq!(queue.backlog().packets, 20);
    // The first interval saw the twenty packets of the start besides its own ten: .001 (20 + 10 − 10) = .02.
    assert!((queue.policy().price().get() - 0.02).abs() < 2e-3, "{}", queue.policy().price().get());
}
