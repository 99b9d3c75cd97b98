//! What a link does besides carrying packets at one rate, against expectations by hand and against
//! the same dice rolled here.
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tidegate::bottleneck::{Capacity, Steps, Trace};
use tidegate::catalog::{self, AnyQueue};
use tidegate::{
    Backlog, Bytes, Ecn, Gauge, Link, MarkReason, Packet, Prob, Qdisc, Rate, Rng, Seed, Sink, Size,
    Span, Time,
};
use tidegate_sim::sources::{Arrival, Law, Replay};
use tidegate_sim::{
    Bleach, Flow, Jitter, Loss, Medium, Network, NodeId, Outcome, Plan, Reorder, Simulation,
    Source, Tcp, Trace as Record, simulate,
};

const DELAY: Span = Span::from_millis(5);

fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

fn mbit(rate: u64) -> Rate {
    Rate::from_bps(rate * 1_000_000)
}

fn fifo(rate: Rate, limit: u64) -> AnyQueue {
    let link = Link::new(rate, Size::Packets(limit), Bytes::new(1000)).unwrap();
    let config = catalog::config("drop_tail", None, &link).unwrap();
    config.build(link, Rng::from_seed(1)).unwrap()
}

/// One link of 8 Mbit/s, behind a FIFO, that does what `medium` says besides: a packet of 1000
/// bytes takes a millisecond.
fn one(medium: Medium) -> (Network, [NodeId; 2]) {
    let mut network = Network::new();
    let [a, b] = ["a", "b"].map(|name| network.node(name));
    let link = network.queue("a->b", (a, b), mbit(8), DELAY, fifo(mbit(8), 1_000_000));
    network.medium(link, medium);
    network.link("b->a", b, a, mbit(100), DELAY);
    network.group("all");
    (network, [a, b])
}

fn flow(ends: [NodeId; 2], group: tidegate_sim::GroupId, source: Source) -> Flow {
    let [from, to] = ends;
    Flow { group, from, to, key: 1, class: 0, start: Time::ZERO, stop: Time::MAX, source }
}

/// `count` packets of 1000 bytes, one every `gap`, over one link up to `end`.
fn packets(medium: Medium, count: u64, gap: Span, end: Time, seed: u64) -> (Outcome, Record) {
    let (mut network, ends) = one(medium);
    let group = network.group("packets");
    let arrival =
        |i| Arrival { at: Span::from_nanos(gap.as_nanos() * i), len: 1000, ecn: Ecn::NotEct };
    let arrivals = (0..count).map(arrival).collect();
    network.flow(flow(ends, group, Source::Replay(Replay { arrivals })));
    Simulation::new(network, Plan::until(end), Seed::new(seed)).unwrap().finish_traced()
}

fn times(record: &Record) -> Vec<(u64, u32)> {
    record.delivered.iter().map(|&(at, _, number, _)| (at, number)).collect()
}

fn with(change: impl FnOnce(&mut Medium)) -> Medium {
    let mut medium = Medium::default();
    change(&mut medium);
    medium
}

fn stepwise(steps: &[(u64, u64)]) -> Medium {
    let steps = steps.iter().map(|&(at, rate)| (ms(at), mbit(rate)));
    with(|medium| medium.capacity = Some(Steps::new(steps).unwrap().into()))
}

/// Ten packets at once at 8 Mbit/s; from 2.5 ms on at 2, so that the third takes .5 + 2 ms, then an
/// outage from 9 to 20 ms.
#[test]
fn a_packet_that_straddles_a_change_is_sent_at_each_rate_in_turn() {
    let steps = [(0, mbit(8)), (2_500_000, mbit(2)), (9_000_000, mbit(0)), (20_000_000, mbit(8))];
    let steps = Steps::new(steps.map(|(at, rate)| (Time::from_nanos(at), rate))).unwrap();
    let medium = with(|medium| medium.capacity = Some(steps.into()));
    let (outcome, record) = packets(medium, 6, Span::ZERO, ms(100), 1);
    // The fourth: 4.5 to 8.5 ms; of the fifth an eighth by 9 ms, the rest from 20 ms on.
    let at = [1_000_000, 2_000_000, 4_500_000, 8_500_000, 20_875_000, 21_875_000];
    let at = at.map(|at: u64| at + DELAY.as_nanos());
    assert_eq!(times(&record), at.into_iter().zip(0..).collect::<Vec<_>>());
    let could = 2.5 * 8.0 + 6.5 * 2.0 + 80.0 * 8.0;
    let link = &outcome.links[0];
    assert!((link.utilization - 6.0 * 8.0 / could).abs() < 1e-12, "{}", link.utilization);
    assert!((link.mean_rate - could * 1e4).abs() < 1e-6, "{}", link.mean_rate);
    assert_eq!(link.rate, mbit(8));
}

/// Busy from the start: all of it is used, though packets straddle both ends of the window.
#[test]
fn a_busy_link_is_fully_used_whatever_its_capacity() {
    let trace = "1\n2\n3\n3\n3\n7\n".parse::<Trace>().unwrap();
    let media = [
        stepwise(&[(0, 8), (103, 3), (150, 0), (171, 40), (333, 1)]),
        with(|medium| medium.capacity = Some(trace.into())),
        Medium::default(),
    ];
    for medium in media {
        let (mut network, ends) = one(medium.clone());
        let group = network.group("packets");
        let arrivals =
            (0..2000).map(|_| Arrival { at: Span::ZERO, len: 997, ecn: Ecn::NotEct }).collect();
        network.flow(flow(ends, group, Source::Replay(Replay { arrivals })));
        let plan = Plan { warmup: Time::from_nanos(100_333_333), ..Plan::until(ms(400)) };
        let used = simulate(network, &plan, Seed::new(1)).unwrap().links[0].utilization;
        // By a trace a packet counts where its last byte leaves: one more or less.
        let slack = if matches!(medium.capacity, Some(Capacity::Trace(_))) { 0.002 } else { 1e-6 };
        assert!((used - 1.0).abs() < slack, "{used} of {medium:?}");
    }
}

/// The packets that dice of the same name lose, one after the other.
fn lost_by_hand(loss: Loss, count: u32, seed: u64) -> Vec<u32> {
    let mut dice = Seed::new(seed).stream("link 0 loss");
    let mut good_state = true;
    let mut lost = vec![];
    for number in 0..count {
        let gone = match loss {
            Loss::Random(p) => dice.uniform() < p.get(),
            Loss::GilbertElliott { p, r, bad, good } => {
                let gone = dice.uniform() < if good_state { good.get() } else { bad.get() };
                let turn = dice.uniform() < if good_state { p.get() } else { r.get() };
                good_state = good_state != turn;
                gone
            }
            _ => unreachable!("no other"),
        };
        if gone {
            lost.push(number);
        }
    }
    lost
}

fn gilbert(p: f64, r: f64, bad: f64, good: f64) -> Loss {
    let [p, r, bad, good] = [p, r, bad, good].map(Prob::clip);
    Loss::GilbertElliott { p, r, bad, good }
}

#[test]
fn losses_are_those_of_the_dice() {
    for loss in [
        Loss::Random(Prob::clip(0.05)),
        gilbert(0.01, 0.3, 1.0, 0.0),
        gilbert(0.02, 0.2, 0.7, 0.001),
        gilbert(1.0, 1.0, 1.0, 0.0),
        Loss::Random(Prob::clip(1.0)),
    ] {
        let count = 20_000;
        let medium = with(|medium| medium.loss = Some(loss));
        let (outcome, record) = packets(medium, count, Span::ZERO, ms(100_000), 7);
        let lost = lost_by_hand(loss, count as u32, 7);
        let through = times(&record).into_iter().map(|(_, number)| number);
        let expected = (0..count as u32).filter(|number| lost.binary_search(number).is_err());
        assert!(through.eq(expected), "{loss:?}");
        assert_eq!(outcome.links[0].lost.packets, lost.len() as u64);
        assert_eq!(outcome.flows[0].lost.bytes, 1000 * lost.len() as u64);
        assert_eq!(outcome.links[0].all_drops().packets, 0, "no drop of the queue");
        assert_eq!(outcome.links[0].departures.packets, count, "a lost packet took its time");
    }
}

/// Five deviations. Of a chain of two states the number lost has the variance of n independent ones
/// times (1 + λ) / (1 − λ), λ = 1 − p − r; a burst is geometric.
#[test]
fn bursts_are_as_long_and_as_frequent_as_the_chain_says() {
    let (p, r, count) = (0.01, 0.25, 400_000);
    let loss = gilbert(p, r, 1.0, 0.0);
    let medium = with(|medium| medium.loss = Some(loss));
    let (outcome, record) = packets(medium, count, Span::from_micros(1), ms(500_000), 3);
    let mean = p / (p + r);
    assert!((loss.mean() - mean).abs() < 1e-12);
    let (n, lambda) = (count as f64, 1.0 - p - r);
    let lost = outcome.links[0].lost.packets as f64;
    let deviation = (n * mean * (1.0 - mean) * (1.0 + lambda) / (1.0 - lambda)).sqrt();
    assert!((lost - n * mean).abs() < 5.0 * deviation, "{lost} is not {}", n * mean);
    let through: Vec<u32> = record.delivered.iter().map(|&(_, _, number, _)| number).collect();
    let gaps: Vec<u32> = through.windows(2).map(|w| w[1] - w[0] - 1).filter(|&g| g > 0).collect();
    let (bursts, length) = (gaps.len() as f64, 1.0 / r);
    let seen = gaps.iter().sum::<u32>() as f64 / bursts;
    let deviation = ((1.0 - r) / (r * r) / bursts).sqrt();
    assert!((seen - length).abs() < 5.0 * deviation, "{seen} is not {length}");
    // χ² of the lengths 1 to 11 and more: 11 degrees of freedom, 10⁻⁶ quantile 52.4.
    let mut chi = 0.0;
    for k in 1..=12 {
        let seen = gaps.iter().filter(|&&g| g == k || k == 12 && g > 12).count() as f64;
        let tail = libm::pow(1.0 - r, k as f64 - 1.0);
        let expected = bursts * if k == 12 { tail } else { tail * r };
        chi += (seen - expected) * (seen - expected) / expected;
    }
    assert!(chi < 52.4, "{chi}");
}

/// Every packet by itself: the time on the link, its delay, and what the dice of the name give.
#[test]
fn delays_are_those_of_the_dice() {
    let laws = [
        Law::Uniform { least: 0, most: 20_000_000 },
        Law::Exponential { mean: 3_000_000 },
        Law::InTurn([0, 7_000_000, 1_000_000].into()),
        // Clipped to ten seconds.
        Law::Mix(0.9, Box::new([Law::Constant(0), Law::Constant(90_000_000_000)])),
    ];
    for (law, reorder) in laws.iter().flat_map(|law| [(law, Reorder::On), (law, Reorder::Off)]) {
        let jitter = Some(Jitter { law: law.clone(), reorder });
        let medium = with(|medium| medium.jitter = jitter);
        let (_, record) = packets(medium, 3000, Span::from_millis(2), ms(100_000), 5);
        let mut dice = Seed::new(5).stream("link 0 jitter");
        let mut last = 0;
        let mut expected: Vec<(u64, u32)> = (0..3000u64)
            .map(|i| {
                let extra = law.draw(&mut dice, i).min(10_000_000_000);
                let at = i * 2_000_000 + 1_000_000 + DELAY.as_nanos() + extra;
                last = at.max(last);
                (if reorder == Reorder::On { at } else { last }, i as u32)
            })
            .collect();
        expected.sort_unstable();
        assert_eq!(times(&record), expected, "{law:?}, {reorder:?}");
        let in_order = expected.is_sorted_by_key(|&(_, number)| number);
        assert_eq!(in_order, reorder == Reorder::Off);
    }
}

/// A FIFO that marks whatever it can, and counts what comes: Not-ECT, ECT(1), ECT(0), CE.
#[derive(Clone, Debug)]
struct Spy {
    fifo: AnyQueue,
    came: Arc<[AtomicU32; 4]>,
}

impl Qdisc for Spy {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, packet: Packet, out: &mut S) {
        self.came[packet.ecn as usize].fetch_add(1, Ordering::Relaxed);
        self.fifo.enqueue(now, packet, out);
    }
    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        let mut packet = self.fifo.dequeue(now, out)?;
        if matches!(packet.ecn, Ecn::Ect0 | Ecn::Ect1) {
            packet.ecn = Ecn::Ce;
            out.marked(now, &packet, MarkReason::ALL[0]);
        }
        Some(packet)
    }
    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }
    fn probe(&self, _: &mut dyn FnMut(Gauge)) {}
}

/// 100 packets of ECT(0) over two queues that mark all they can: what each queue sees, by where the
/// first link bleaches.
#[test]
fn bleaching_hides_packets_from_the_queue_or_its_marks_from_the_rest() {
    for (bleach, first, second) in [
        (Bleach::Off, [0, 0, 100, 0], [0, 0, 0, 100]),
        (Bleach::Before, [100, 0, 0, 0], [100, 0, 0, 0]),
        (Bleach::Behind, [0, 0, 100, 0], [100, 0, 0, 0]),
    ] {
        let mut network: Network<Spy> = Network::new();
        let nodes = ["a", "b", "c"].map(|name| network.node(name));
        let (mut seen, mut links) = (vec![], vec![]);
        for pair in nodes.windows(2) {
            let came: Arc<[AtomicU32; 4]> = Arc::default();
            seen.push(came.clone());
            let spy = Spy { fifo: fifo(mbit(8), 1000), came };
            links.push(network.queue("link", (pair[0], pair[1]), mbit(8), DELAY, spy));
        }
        network.medium(links[0], with(|medium| medium.bleach = bleach));
        let group = network.group("all");
        let arrivals =
            (0..100).map(|_| Arrival { at: Span::ZERO, len: 1000, ecn: Ecn::Ect0 }).collect();
        network.flow(flow([nodes[0], nodes[2]], group, Source::Replay(Replay { arrivals })));
        let outcome = simulate(network, &Plan::until(ms(1000)), Seed::new(1)).unwrap();
        let counts =
            |came: &Arc<[AtomicU32; 4]>| [0, 1, 2, 3].map(|i| came[i].load(Ordering::Relaxed));
        assert_eq!([counts(&seen[0]), counts(&seen[1])], [first, second], "{bleach:?}");
        let marked = if bleach == Bleach::Before { 0 } else { 100 };
        assert_eq!(outcome.links[0].all_marks().packets, marked, "{bleach:?}");
    }
}

/// TCP over all of it at once, to its end: each packet sent was delivered, dropped by the queue or
/// lost on the way.
#[test]
fn each_packet_has_one_fate() {
    let (mut reordered, mut dropped) = (0, 0);
    for seed in 0..20 {
        let mut medium = stepwise(&[(0, 8), (200, 1), (400, 0), (500, 20)]);
        medium.loss = Some(gilbert(0.01, 0.4, 0.8, 0.001));
        let law = Law::Exponential { mean: 1_000_000 };
        medium.jitter = Some(Jitter { law, reorder: Reorder::On });
        let mut network = Network::new();
        let [a, b] = ["a", "b"].map(|name| network.node(name));
        for ends in [(a, b), (b, a)] {
            let link = network.queue("link", ends, mbit(8), DELAY, fifo(mbit(8), 5));
            network.medium(link, medium.clone());
        }
        let group = network.group("all");
        let tcp = Tcp { data: Some(2000), ..Tcp::reno() };
        network.flow(flow([a, b], group, Source::Tcp(tcp)));
        let run = Simulation::new(network, Plan::until(ms(300_000)), Seed::new(seed)).unwrap();
        let (outcome, record) = run.finish_traced();
        let flow = &outcome.flows[0];
        let counters = flow.counters;
        assert_eq!(outcome.groups[0].completions.transfers.packets, 1, "all came over");
        assert_eq!(
            counters.sent.packets,
            counters.delivered.packets + counters.dropped.packets + flow.lost.packets
        );
        assert!(flow.lost.packets > 0);
        dropped += counters.dropped.packets;
        assert_eq!(flow.lost, outcome.groups[0].lost);
        assert_eq!(record.lost.len() as u64, flow.lost.packets);
        assert!(outcome.links[1].lost.packets > 0, "acknowledgements are lost, too");
        let link = &outcome.links[0];
        assert_eq!(link.departures.packets, counters.delivered.packets + link.lost.packets);
        reordered += record.delivered.windows(2).filter(|w| w[1].2 < w[0].2).count();
    }
    assert!(reordered > 1000 && dropped > 100, "{reordered} late, {dropped} dropped");
}

#[test]
fn what_cannot_be_is_refused() {
    let error = |medium: Medium| {
        let (network, _) = one(medium);
        Simulation::new(network, Plan::until(ms(1)), Seed::new(1)).unwrap_err().to_string()
    };
    assert_eq!(
        error(with(|medium| medium.capacity = Some(mbit(1).into()))),
        "link a->b: capacity = 1 Mbit/s: must change; a fixed rate is the link's own"
    );
    let none = Jitter { law: Law::InTurn([].into()), reorder: Reorder::Off };
    assert_eq!(
        error(with(|medium| medium.jitter = Some(none))),
        "link a->b: jitter = no values: must have one at least"
    );
    let (mut network, ends) = one(Medium::default());
    let plain = network.link("plain", ends[0], ends[1], mbit(1), DELAY);
    network.medium(plain, stepwise(&[(0, 1)]));
    let error = Simulation::new(network, Plan::until(ms(1)), Seed::new(1)).unwrap_err();
    assert_eq!(error.to_string(), "link plain: medium = set: must be of a link behind a queue");
}
