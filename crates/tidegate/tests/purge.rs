//! BLACK and Purge against their paper: golden numbers, the naive twins, and what the paper says of them.
mod naive;
mod support;

use std::collections::VecDeque;

use naive::black::NaiveBlack;
use naive::hits::{self, NaiveHits};
use naive::purge::{NaivePurge, Said};
use support::Fate;
use support::twin::{Disputes, OPERATIONS, agree};
use support::workload::{Phase, Workload};
use tidegate::catalog::AnyQueue;
use tidegate::queues::{Black, Purge};
use tidegate::{Backlog, DropReason, Ecn, Link, NullSink, Packet, Qdisc, Rng, Sink, Span, Time, catalog};

fn build(name: &str, settings: &[(&str, &str)], link: Link, dice: Rng) -> AnyQueue {
    let mut config = catalog::config(name, None, &link).unwrap();
    for (name, value) in settings {
        config.set(name, value).unwrap();
    }
    config.build(link, dice).unwrap()
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

/// Ω N − 1 = 1.4 and γ W = .001: d = .0014, dropped with 1.4 · 10^-6; and what drops 96.6 %: d = 3393 or so, which in bits
/// needs Ω N = 1.069 at an overload of 49 Mbit/s.
#[test]
fn golden_prices() {
    let mut twin = naive_purge(&table_1());
    twin.cache.list.push(hits::Cached { flow: 7, hits: 0.0, fraction: 0.24 });
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
        seen: Vec::new(),
        flows: 0.0,
    }
}

/// Purge with its twin beside it. The twin counts flows one by one, so there are fewer of them than MINCOUNT needs to
/// fill a bucket with `minima` = 16, where it counts exactly too.
struct TwinnedPurge {
    queue: Purge,
    twin: NaivePurge,
    link: Link,
    waiting: VecDeque<(u64, u32)>,
    bits: f64,
    due: [u64; 2],
    operations: u64,
    disputes: Disputes,
    purged: u64,
    marked: u64,
}

impl TwinnedPurge {
    fn new(link: Link) -> TwinnedPurge {
        TwinnedPurge {
            queue: a_purge(&[("minima", "16")], link, Rng::from_seed(5)),
            twin: naive_purge(&link),
            link,
            waiting: VecDeque::new(),
            bits: 0.0,
            due: [10_000_000, 1_000_000_000],
            operations: 0,
            disputes: Disputes::default(),
            purged: 0,
            marked: 0,
        }
    }

    fn periods(&mut self, now: Time) {
        // Both clocks run on their own; neither reads what the other sets within the same instant.
        while self.due[0] <= now.as_nanos() {
            self.twin.price_update(self.bits);
            self.due[0] += 10_000_000;
        }
        while self.due[1] <= now.as_nanos() {
            self.twin.end_of_period();
            self.due[1] += 1_000_000_000;
        }
    }

    fn compare(&mut self) {
        self.operations += 1;
        let (ours, twin) = (self.queue.policy(), &self.twin);
        agree("price", self.operations, ours.price().get(), twin.price, 1e-3);
        agree("flows", self.operations, ours.flows(), twin.flows, 1.0);
        if let Some(cached) = twin.cache.list.last() {
            let fraction = ours.cache().fraction(cached.flow).expect("the flow hit last is in the cache");
            agree("fraction", self.operations, fraction, cached.fraction, 1e-3);
        }
    }
}

impl Qdisc for TwinnedPurge {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, _: &mut S) {
        self.periods(now);
        let mut dice = self.queue.dice().clone();
        let room = self.link.has_room(self.queue.backlog(), pkt.len);
        self.twin.offered += pkt.len as f64 * 8.0;
        self.twin.seen.push(pkt.flow);
        if self.bits > self.twin.target {
            self.twin.cache.hit(self.waiting[dice.below(self.waiting.len() as u64) as usize].0);
        }
        let said = self.twin.judge(pkt.flow, self.bits);
        let mut fate = Fate::default();
        self.queue.enqueue(now, pkt, &mut fate);
        if !room {
            assert_eq!(fate.dropped, Some(DropReason::Overlimit));
        } else {
            let die = dice.uniform();
            match said {
                Said::Drop(p) => {
                    assert!(fate.marked.is_none());
                    self.disputes.verdict(self.operations, die, p, fate.dropped == Some(DropReason::Unfair));
                    self.purged += fate.dropped.is_some() as u64;
                }
                Said::Mark(p) => {
                    assert_eq!(fate.dropped, None);
                    if pkt.ecn.is_capable() {
                        self.disputes.verdict(self.operations, die, p, fate.marked.is_some());
                    }
                    self.marked += fate.marked.is_some() as u64;
                }
            }
        }
        assert_eq!(&dice, self.queue.dice(), "operation {}: as many dice as the twin's", self.operations);
        if fate.dropped.is_none() {
            self.waiting.push_back((pkt.flow, pkt.len));
            self.bits += pkt.len as f64 * 8.0;
            self.twin.admitted += pkt.len as f64 * 8.0;
        }
        self.compare();
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        self.periods(now);
        let pkt = self.queue.dequeue(now, out);
        if let Some(pkt) = pkt {
            assert_eq!(self.waiting.pop_front(), Some((pkt.flow, pkt.len)));
            self.bits -= pkt.len as f64 * 8.0;
        }
        self.compare();
        pkt
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
}

fn phases(packets: u64) -> Vec<Phase> {
    let phase = |load, idle| Phase { load, packets: packets / 6, idle: Span::from_millis(idle) };
    vec![phase(1.6, 0), phase(0.7, 0), phase(1.2, 3_000), phase(3.0, 5), phase(0.9, 400), phase(1.4, 0)]
}

#[test]
fn purge_agrees_with_its_twin_over_a_million_operations() {
    let link = table_1();
    let mut twinned = TwinnedPurge::new(link);
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
#[test]
fn black_agrees_with_its_twin_over_a_million_operations() {
    let link = support::link("10 Mbit/s", "100 packets", "900 B");
    let mut queue = a_black(&[("cache", "10")], link, Rng::from_seed(5));
    let mut twin = NaiveBlack::new(10);
    let mut waiting: VecDeque<u64> = VecDeque::new();
    let mut traffic = Rng::from_seed(6);
    let (mut disputes, mut due, mut dropped) = (Disputes::default(), 1_000_000_000u64, 0u64);
    for step in 0..OPERATIONS {
        let now = step * 360_000;
        while due <= now {
            twin.end_of_period();
            due += 1_000_000_000;
        }
        let flow = if traffic.chance(0.4) { 99 } else { traffic.below(20) };
        let mut dice = queue.dice().clone();
        if waiting.len() > 20 {
            twin.sample(flow, waiting[dice.below(waiting.len() as u64) as usize]);
        }
        let room = waiting.len() < 100;
        let judged = if waiting.len() > 20 { twin.drop(flow) } else { None };
        let mut fate = Fate::default();
        queue.enqueue(Time::from_nanos(now), Packet::new(flow, 900).with_ecn(Ecn::Ect0), &mut fate);
        match judged {
            Some(p) if room => {
                assert!(fate.marked.is_none());
                disputes.verdict(step, dice.uniform(), p, fate.dropped == Some(DropReason::Unfair));
                dropped += fate.dropped.is_some() as u64;
            }
            _ => assert_ne!(fate.dropped, Some(DropReason::Unfair)),
        }
        if fate.dropped.is_none() {
            waiting.push_back(flow);
        }
        if step % 2 == 0 && queue.dequeue(Time::from_nanos(now), &mut NullSink).is_some() {
            waiting.pop_front();
        }
        agree("flows", step, queue.policy().flows(), twin.flows, 1.0);
        if let Some(last) = twin.cache.list.last() {
            agree("fraction", step, queue.policy().cache().fraction(last.flow).unwrap(), last.fraction, 1e-3);
        }
    }
    disputes.settle();
    assert!(dropped > 1000, "{dropped}");
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
