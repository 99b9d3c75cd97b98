//! The engine, which saves events, against the same network simulated packet by packet: every
//! packet sent and delivered, with its time, and every figure must be the same. Times and rates are
//! round on purpose, so that there are ties.
use tidegate::bottleneck::{Capacity, Steps, Trace};
use tidegate::rng::mix;
use tidegate::{Bytes, Ecn, Link, Prob, Rate, Rng, Seed, Size, Span, Time, catalog};
use tidegate_sim::sources::tcp::Congestion;
use tidegate_sim::sources::{
    Acks, Arrival, Begin, Damping, EcnUse, Flavor, Handshake, Law, LimitedTransmit, Replay, Rules,
    Timestamps, Web,
};
use tidegate_sim::{
    Bleach, Cbr, Delays, Flow, FlowId, Following, Forge, ForgedKeys, GroupId, Jitter, Loss, Medium,
    Network, NodeId, OnOff, Oscillating, Outcome, Plan, Reorder, Simulation, Source, Tcp, Tfrc,
    simulate_by_packet,
};

/// What receivers acknowledge: most are honest.
const CHEATS: [Acks; 12] = [
    Acks::Honest,
    Acks::Honest,
    Acks::Honest,
    Acks::Honest,
    Acks::Honest,
    Acks::Honest,
    Acks::Honest,
    Acks::Divided(3),
    Acks::Repeated(5),
    Acks::Anticipated(0),
    Acks::Anticipated(4),
    Acks::Unmarked,
];

/// A network drawn from `dice`.
struct Draw {
    dice: Rng,
    network: Network,
    groups: [GroupId; 2],
    /// How likely a link behind a queue does more than carry packets at one rate.
    media: f64,
    /// How likely a source follows the window of a connection, where there is one.
    followers: f64,
    connections: Vec<FlowId>,
}

impl Draw {
    fn new(seed: u64) -> Draw {
        let mut network = Network::new();
        let groups = [network.group("a"), network.group("b")];
        Draw {
            dice: Rng::from_seed(mix(seed)),
            network,
            groups,
            media: 0.0,
            followers: 0.0,
            connections: vec![],
        }
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.dice.below(from.len() as u64) as usize]
    }

    fn chance(&mut self, p: f64) -> bool {
        self.dice.chance(p)
    }

    fn delay(&mut self) -> Span {
        Span::from_micros(self.pick(&[0, 1000, 1000, 2000, 3000, 777]))
    }

    fn rate(&mut self) -> Rate {
        Rate::from_bps(self.pick(&[1, 2, 4, 8, 8, 10, 80, 100]) * 1_000_000)
    }

    /// A link behind some queue of the catalog.
    fn queue(&mut self, from: NodeId, to: NodeId) {
        let (rate, delay) = (self.rate(), self.delay());
        let limit = self.pick(&[
            Size::Packets(2),
            Size::Packets(10),
            Size::Packets(40),
            Size::Bytes(20_000),
        ]);
        let link = Link::new(rate, limit, Bytes::new(1000)).unwrap();
        let row = &catalog::QUEUES[self.dice.below(catalog::QUEUES.len() as u64) as usize];
        let queue = catalog::config(row.name, None, &link).unwrap();
        let queue = queue.build(link, Rng::from_seed(self.dice.bits())).unwrap();
        let link = self.network.queue(row.name, (from, to), rate, delay, queue);
        if self.media > 0.0 && self.chance(self.media) {
            let medium = self.medium(rate);
            self.network.medium(link, medium);
        }
    }

    /// What a link of about `rate` does besides; each thing as likely as not.
    fn medium(&mut self, rate: Rate) -> Medium {
        let mut medium = Medium::default();
        if self.chance(0.5) {
            medium.capacity = Some(self.capacity(rate));
        }
        if self.chance(0.5) {
            let [p, r, bad, good] = [0.02, 0.3, 0.9, 0.001].map(Prob::clip);
            let losses = [Loss::Random(Prob::clip(0.03)), Loss::GilbertElliott { p, r, bad, good }];
            medium.loss = Some(self.pick(&losses));
        }
        if self.chance(0.6) {
            // Round ones, so that packets catch up with one another.
            let laws = [
                Law::Uniform { least: 0, most: 5_000_000 },
                Law::Exponential { mean: 2_000_000 },
                Law::Mix(0.9, Box::new([Law::Constant(0), Law::Constant(3_000_000)])),
                Law::InTurn([0, 2_000_000, 1_000_000].into()),
            ];
            let law = laws[self.dice.below(4) as usize].clone();
            medium.jitter = Some(Jitter { law, reorder: self.pick(&[Reorder::On, Reorder::Off]) });
        }
        medium.bleach = self.pick(&[Bleach::Off, Bleach::Before, Bleach::Behind]);
        medium
    }

    fn capacity(&mut self, rate: Rate) -> Capacity {
        if self.chance(0.4) {
            let mut at = 0;
            let lines = (0..40).map(|_| {
                at += self.dice.below(4) as u32;
                at
            });
            let lines: Vec<u32> = lines.collect();
            return Trace::new(lines.into_iter().chain([200])).unwrap().into();
        }
        let mut at = 0;
        let mut steps = vec![];
        for _ in 0..self.pick(&[1, 10, 300]) {
            let times = self.pick(&[0, 1, 1, 2, 3]);
            steps.push((Time::from_nanos(at), Rate::from_bps(rate.as_bps() * times / 2)));
            at += self.pick(&[1_000_000, 10_000_000, 777_777]);
        }
        steps.push((Time::from_nanos(at), rate));
        Steps::new(steps).unwrap().into()
    }

    fn plain(&mut self, from: NodeId, to: NodeId) {
        let (rate, delay) = (self.rate(), self.delay());
        self.network.link("plain", from, to, rate, delay);
    }

    /// A chain of routers, some with a queue in the one direction, some in both, some without.
    fn chain(&mut self, routers: usize) -> Vec<NodeId> {
        let nodes: Vec<NodeId> = (0..routers).map(|i| self.network.node(format!("r{i}"))).collect();
        for pair in nodes.windows(2) {
            for (from, to) in [(pair[0], pair[1]), (pair[1], pair[0])] {
                if self.chance(0.6) { self.queue(from, to) } else { self.plain(from, to) }
            }
        }
        nodes
    }

    fn host(&mut self, router: NodeId) -> NodeId {
        let host = self.network.node("host");
        self.plain(host, router);
        if self.media > 0.0 && self.chance(0.4) {
            // The last link of a way may do more, too.
            self.queue(router, host);
        } else {
            self.plain(router, host);
        }
        host
    }

    /// A host behind links of `rate`, each of a length that `delay` gives.
    fn own(&mut self, router: NodeId, rate: Rate, delay: impl Fn(&mut Draw) -> Span) -> NodeId {
        let host = self.network.node("host");
        for (from, to) in [(host, router), (router, host)] {
            let delay = delay(self);
            self.network.link("access", from, to, rate, delay);
        }
        host
    }

    /// A source that is not answered.
    fn open(&mut self) -> Source {
        let jitter = self.pick(&[Prob::ZERO, Prob::clip(0.5)]);
        let rate = Rate::from_bps(self.pick(&[100_000, 1_000_000, 8_000_000]));
        let packet = Bytes::new(self.pick(&[1000, 200]));
        let ecn = Ecn::NotEct;
        match self.dice.below(4) {
            3 => {
                let arrival = |i: u64| Arrival {
                    at: Span::from_micros(1500 * (i / 2)),
                    len: 500 + i as u16,
                    ecn,
                };
                Source::Replay(Replay { arrivals: (0..800).map(arrival).collect() })
            }
            0 => Source::Cbr(Cbr { jitter, ..Cbr::new(rate, packet) }),
            1 => {
                let laws = [
                    Law::Constant(20_000_000),
                    Law::Exponential { mean: 100_000_000 },
                    Law::Pareto { shape: 1.5, least: 3_000_000 },
                ];
                let [on, off] = [0, 1].map(|_| laws[self.dice.below(3) as usize].clone());
                Source::OnOff(OnOff {
                    rate,
                    packet,
                    on,
                    off,
                    begin: self.pick(&[Begin::On, Begin::Either]),
                    ecn,
                })
            }
            _ => {
                let second = |s: u64| Time::from_nanos(s * 1_000_000_000);
                let high_during = [(second(1), second(2)), (second(3), second(4))].into();
                let low = Rate::from_bps(self.pick(&[0, 100_000]));
                Source::Oscillating(Oscillating {
                    high: rate,
                    low,
                    high_during,
                    packet,
                    jitter,
                    ecn,
                })
            }
        }
    }

    /// A source that follows a connection. Small windows and round times, so that it is often
    /// silent and often looks when an acknowledgement comes.
    fn following(&mut self) -> Source {
        let rate = Rate::from_bps(self.pick(&[100_000, 1_000_000, 8_000_000]));
        let jitter = self.pick(&[Prob::ZERO, Prob::clip(0.5)]);
        let flood = Cbr::new(rate, Bytes::new(self.pick(&[1000, 50]))).with_jitter(jitter);
        Source::Following(Following {
            follows: self.pick(&self.connections.clone()),
            flood,
            window: self.pick(&[1.5, 2.0, 3.0, 5.0, 12.0]),
            every: Span::from_micros(self.pick(&[10_000, 1000, 1000, 777])),
        })
    }

    fn source(&mut self) -> Source {
        if self.followers > 0.0 && !self.connections.is_empty() && self.chance(self.followers) {
            return self.following();
        }
        if self.chance(0.4) {
            return self.open();
        }
        if self.chance(0.15) {
            let damping = self.pick(&[Damping::On, Damping::Off]);
            let ecn = self.pick(&[Ecn::NotEct, Ecn::Ect0]);
            let packet = Bytes::new(self.pick(&[1000, 333]));
            return Source::Tfrc(Tfrc { damping, ecn, packet, ..Tfrc::default() });
        }
        let tcp = self.tcp();
        if self.chance(0.3) {
            let size = Law::Pareto { shape: 1.2, least: 2_000 };
            let think = [Law::Constant(100_000_000), Law::Exponential { mean: 300_000_000 }];
            let think = think[self.dice.below(2) as usize].clone();
            return Source::Web(Web { tcp: Tcp { data: None, ..tcp }, size, think });
        }
        Source::Tcp(tcp)
    }

    /// A TCP of any kind that can be.
    fn tcp(&mut self) -> Tcp {
        let flavor = self.pick(&[Flavor::Reno, Flavor::NewReno, Flavor::Sack, Flavor::Rack]);
        let mut congestions = Congestion::all();
        let some = if self.chance(0.5) { self.dice.below(congestions.len() as u64) } else { 0 };
        let congestion = congestions.swap_remove(some as usize);
        let ecn = if congestion.counts_marks() {
            EcnUse::On
        } else {
            self.pick(&[EcnUse::Off, EcnUse::On, EcnUse::Ect1, EcnUse::Ignore])
        };
        let reno =
            matches!((&congestion, flavor), (Congestion::Reno, Flavor::Reno | Flavor::NewReno));
        let rules = [Rules::Rfc, Rules::Ns2, Rules::Linux, Rules::Ns1];
        let rules = if reno { rules } else { [Rules::Rfc, Rules::Ns2, Rules::Linux, Rules::Linux] };
        possible(Tcp {
            congestion,
            rules: self.pick(&rules),
            ecn,
            handshake: self.pick(&[Handshake::Skip, Handshake::Syn]),
            limited_transmit: self.pick(&[LimitedTransmit::On, LimitedTransmit::Off]),
            overhead: self.pick(&[Span::ZERO, Span::ZERO, Span::from_micros(500)]),
            data: self.pick(&[None, None, Some(1), Some(300)]),
            receiver_window: self.pick(&[4, 20, 10_000]),
            segment: Bytes::new(self.pick(&[1000, 1000, 333])),
            delayed_ack: Span::from_millis(self.pick(&[0, 0, 1, 40, 500])),
            timestamps: self.pick(&[Timestamps::On, Timestamps::Off]),
            acks: self.pick(&CHEATS),
            ..Tcp { flavor, ..Tcp::reno() }
        })
    }

    fn flow(&mut self, from: NodeId, to: NodeId) {
        let group = self.pick(&self.groups.clone());
        let start = Time::from_nanos(self.pick(&[0, 0, 1_000_000, 12_345_678, 500_000_000]));
        let stop = self.pick(&[Time::MAX, Time::MAX, Time::from_nanos(2_500_000_000)]);
        let key = self.dice.bits();
        let class = group.index() as u16;
        let source = self.source();
        let tfrc = matches!(source, Source::Tfrc(_));
        let forges = matches!(
            source,
            Source::Cbr(_)
                | Source::Following(_)
                | Source::OnOff(_)
                | Source::Oscillating(_)
                | Source::Replay(_)
        );
        let connects = source.tcp().is_some();
        let id = self.network.flow(Flow { group, from, to, key, class, start, stop, source });
        if connects {
            self.connections.push(id);
        }
        if forges && self.chance(0.4) {
            let keep = self.pick(&[Span::ZERO, Span::from_millis(30)]);
            let keys = if self.chance(0.5) {
                ForgedKeys::Fresh
            } else {
                ForgedKeys::Among((0..5).map(|_| self.dice.bits()).collect())
            };
            self.network.forge(id, Forge { keys, keep });
        }
        if stop < Time::MAX && !tfrc && self.chance(0.7) {
            let milli = |ms: u64| Time::from_nanos(ms * 1_000_000);
            self.network.again(id, vec![(milli(2500), milli(2600)), (milli(3000), milli(3700))]);
        }
    }
}

/// `tcp` without what its rules, its receiver or its congestion control exclude.
fn possible(tcp: Tcp) -> Tcp {
    let timestamps =
        if matches!(tcp.rules, Rules::Ns2 | Rules::Ns1) { Timestamps::Off } else { tcp.timestamps };
    let delayed_ack = match tcp.acks {
        Acks::Honest | Acks::Unmarked => tcp.delayed_ack,
        _ => Span::ZERO,
    };
    let tcp = Tcp { timestamps, delayed_ack, ..tcp };
    match tcp.congestion {
        Congestion::Bbr(_)
        | Congestion::Bbr3(_)
        | Congestion::Prague(_)
        | Congestion::Unresponsive(_) => {
            let flavor = if tcp.flavor == Flavor::Rack { Flavor::Rack } else { Flavor::Sack };
            let rules = if tcp.rules == Rules::Ns2 { Rules::Rfc } else { tcp.rules };
            Tcp { flavor, rules, overhead: Span::ZERO, ..tcp }
        }
        _ => tcp,
    }
}

/// A chain of 1 to 4 routers; hosts shared or one a flow; flows in both directions, routers as ends
/// at times.
fn draw(seed: u64) -> Network {
    chained(Draw::new(seed))
}

fn chained(mut draw: Draw) -> Network {
    let routers = draw.pick(&[1, 2, 2, 3, 4]);
    let mut nodes = draw.chain(routers);
    let routers = nodes.clone();
    let hosts = draw.pick(&[2, 4, 6]);
    for _ in 0..hosts {
        let router = draw.pick(&routers);
        let host = draw.host(router);
        nodes.push(host);
    }
    if draw.chance(0.3) {
        nodes.drain(..routers.len());
    }
    for _ in 0..draw.pick(&[1, 2, 5, 12]) {
        let (from, to) = (draw.pick(&nodes), draw.pick(&nodes));
        if from == to {
            continue;
        }
        if draw.chance(0.3) {
            // Hosts of its own.
            let (from, to) = (draw.pick(&routers), draw.pick(&routers));
            let (from, to) = (draw.host(from), draw.host(to));
            draw.flow(from, to);
        } else {
            draw.flow(from, to);
        }
    }
    draw.network
}

/// Two routers, and hosts of its own for nearly every flow: most connections are at home on their
/// first link.
fn dumbbell(seed: u64) -> Network {
    between_routers(Draw::new(seed))
}

fn between_routers(mut draw: Draw) -> Network {
    let routers = draw.chain(2);
    for _ in 0..draw.pick(&[1, 3, 8]) {
        let (mut from, mut to) =
            if draw.chance(0.8) { (routers[0], routers[1]) } else { (routers[1], routers[0]) };
        for end in [&mut from, &mut to] {
            if draw.chance(0.9) {
                *end = draw.host(*end);
            }
        }
        draw.flow(from, to);
    }
    draw.network
}

/// A bottleneck, and acknowledgements that meet behind it at the same nanosecond: delays are
/// multiples of a packet's transmission time. What comes back may do so at once, so that nothing
/// may be late. With some seeds the ways have more lengths than the engine tells apart.
fn gathering(seed: u64) -> Network {
    gathered(Draw::new(seed), seed)
}

fn gathered(mut draw: Draw, seed: u64) -> Network {
    let [a, b] = ["a", "b"].map(|name| draw.network.node(name));
    // Of the faster ones more is under way than goes on together.
    let rate = draw.pick(&[8, 8, 8, 8, 80]) * 1_000_000;
    let (rate, access) = (Rate::from_bps(rate), Rate::from_bps(10 * rate));
    let link = Link::new(rate, Size::Packets(40), Bytes::new(1000)).unwrap();
    let name = draw.pick(&["drop_tail", "red", "sfb"]);
    let queue =
        catalog::config(name, None, &link).unwrap().build(link, Rng::from_seed(seed)).unwrap();
    let delays = if draw.chance(0.2) { 15 } else { 3 };
    let delay = |draw: &mut Draw| Span::from_millis(draw.dice.below(delays));
    let (there, back) = (delay(&mut draw), draw.pick(&[Span::ZERO, Span::from_millis(1)]));
    let bottleneck = draw.network.queue(name, (a, b), rate, there, queue);
    if draw.media > 0.0 {
        let medium = draw.medium(rate);
        draw.network.medium(bottleneck, medium);
    }
    let reverse = draw.pick(&[1, 10, 10_000]);
    draw.network.link("back", b, a, Rate::from_bps(reverse * rate.as_bps()), back);
    for key in 0..draw.pick(&[2, 5, 12]) {
        let mut ends = [a, b].map(|router| draw.own(router, access, |draw| delay(draw)));
        if draw.chance(0.1) {
            ends[0] = a; // where each acknowledgement has an event
        }
        let flavor = draw.pick(&[Flavor::Reno, Flavor::NewReno, Flavor::Sack]);
        let overhead = draw.pick(&[Span::ZERO, Span::ZERO, Span::from_micros(500)]);
        let source = Source::Tcp(Tcp {
            overhead,
            receiver_window: draw.pick(&[4, 20, 10_000]),
            ..Tcp::ns2(flavor)
        });
        let (group, start, stop) = (draw.groups[key as usize % 2], Time::ZERO, Time::MAX);
        let [from, to] = ends;
        let id = draw.network.flow(Flow { group, from, to, key, class: 0, start, stop, source });
        draw.connections.push(id);
        if draw.followers > 0.0 && draw.chance(draw.followers) {
            let [from, to] = [a, b].map(|router| draw.own(router, access, |draw| delay(draw)));
            let source = draw.following();
            draw.network.flow(Flow { group, from, to, key: !key, class: 0, start, stop, source });
        }
    }
    draw.network
}

/// Short transfers, one upon the other: what a receiver knows may be two connections behind its
/// sender.
fn restless(seed: u64) -> Network {
    let mut draw = Draw::new(seed);
    let [a, b] = ["a", "b"].map(|name| draw.network.node(name));
    let rate = Rate::from_bps(80_000_000);
    let link = Link::new(rate, Size::Packets(40), Bytes::new(1000)).unwrap();
    let queue = catalog::config("red", Some("paper"), &link)
        .unwrap()
        .build(link, Rng::from_seed(seed))
        .unwrap();
    draw.network.queue("red", (a, b), rate, Span::from_millis(10), queue);
    draw.network.link("back", b, a, rate, Span::from_millis(10));
    for key in 0..draw.pick(&[1, 1, 3]) {
        let segments = draw.pick(&[1, 1, 3]);
        let handshake = draw.pick(&[Handshake::Skip, Handshake::Syn]);
        let source = if draw.chance(0.5) {
            let (size, think) = (Law::Constant(segments * 1000), Law::Constant(1_000_000));
            Source::Web(Web { tcp: Tcp { handshake, ..Tcp::new_reno() }, size, think })
        } else {
            Source::Tcp(Tcp { handshake, data: Some(segments as u32), ..Tcp::reno() })
        };
        let micro = |us: u64| Time::from_nanos(us * 1000);
        let mut at = 500_000;
        let mut period = || {
            let begin = at + draw.dice.below(20_000);
            at = begin + 1 + draw.dice.below(20_000);
            (micro(begin), micro(at))
        };
        let periods: Vec<_> = (0..100).map(|_| period()).collect();
        let (group, start, stop) = (draw.groups[0], Time::ZERO, micro(500_000));
        let id =
            draw.network.flow(Flow { group, from: a, to: b, key, class: 0, start, stop, source });
        draw.network.again(id, periods);
    }
    draw.network
}

fn plan(seed: u64) -> Plan {
    let step =
        [None, Some(Span::from_millis(100)), Some(Span::from_micros(33_333))][(seed % 3) as usize];
    let end = Time::from_nanos(4_000_000_000);
    Plan {
        warmup: Time::from_nanos((seed % 2) * 1_000_000_000),
        end,
        step,
        delays: Delays::Flows,
        rate_window: Some(Span::from_millis(70)),
    }
}

/// Everything but the number of events. Gauges may be not-a-number, so it is compared as text.
fn text(mut outcome: Outcome) -> String {
    outcome.events = 0;
    format!("{outcome:?}")
}

/// What was run and what it took.
#[derive(Debug, Default)]
struct Seen {
    packets: u64,
    drops: u64,
    lost: u64,
    late: u64,
    slow: u64,
    fast: u64,
}

impl Seen {
    /// Runs `network` both ways, which must come to the same.
    fn compare(&mut self, network: Network, seed: u64) {
        let plan = plan(seed);
        let (slow, mut seen) = simulate_by_packet(network.clone(), &plan, Seed::new(seed)).unwrap();
        seen.sent.sort_unstable();
        seen.delivered.sort_unstable();
        seen.dropped.sort_unstable();
        seen.lost.sort_unstable();
        let (fast, trace) =
            Simulation::new(network, plan, Seed::new(seed)).unwrap().finish_traced();
        let first = trace.sent.iter().zip(&seen.sent).position(|(a, b)| a != b);
        assert!(trace.sent == seen.sent, "seed {seed}: packet {first:?} sent differs");
        let first = trace.delivered.iter().zip(&seen.delivered).position(|(a, b)| a != b);
        assert!(
            trace.delivered == seen.delivered,
            "seed {seed}: packet {first:?} delivered differs"
        );
        assert!(trace.dropped == seen.dropped, "seed {seed}: what was dropped differs");
        assert!(trace.lost == seen.lost, "seed {seed}: what was lost differs");
        self.lost += trace.lost.len() as u64;
        self.late += overtaken(&trace.delivered);
        self.packets += fast.packets;
        self.slow += slow.events;
        self.fast += fast.events;
        self.drops += fast.links.iter().map(|l| l.all_drops().packets).sum::<u64>();
        assert_eq!(text(fast), text(slow), "seed {seed}");
    }
}

#[test]
fn saving_events_changes_nothing() {
    let mut all = Seen::default();
    (0..300).for_each(|seed| all.compare(draw(seed), seed));
    assert!(all.packets > 300_000 && all.drops > 3_000, "too little was compared: {all:?}");
    assert!(all.slow - all.fast > all.packets, "no events were saved: {all:?}");
}

#[test]
fn working_senders_out_ahead_changes_nothing() {
    let mut all = Seen::default();
    (1000..1300).for_each(|seed| all.compare(dumbbell(seed), seed));
    assert!(all.packets > 300_000 && all.drops > 3_000, "too little was compared: {all:?}");
}

#[test]
fn acknowledgements_that_meet_without_events_do_so_in_order() {
    let mut all = Seen::default();
    (2000..2200).for_each(|seed| all.compare(gathering(seed), seed));
    assert!(all.packets > 300_000 && all.drops > 3_000, "too little was compared: {all:?}");
    assert!(all.fast < all.packets, "acknowledgements had events: {all:?}");
}

#[test]
fn connections_upon_connections_are_told_apart() {
    let mut all = Seen::default();
    (3000..3100).for_each(|seed| all.compare(restless(seed), seed));
    assert!(all.packets > 10_000, "too little was compared: {all:?}");
}

/// In a dumbbell with hosts for each flow a packet needs an event at the queue, and its
/// acknowledgement none.
#[test]
fn a_sender_at_home_needs_no_events() {
    let mut draw = Draw::new(1);
    let [a, b] = ["a", "b"].map(|name| draw.network.node(name));
    let rate = Rate::from_bps(10_000_000);
    let link = Link::new(rate, Size::Packets(50), Bytes::new(1000)).unwrap();
    let queue = catalog::config("red", Some("auto"), &link)
        .unwrap()
        .build(link, Rng::from_seed(1))
        .unwrap();
    draw.network.queue("a->b", (a, b), rate, Span::from_millis(5), queue);
    draw.network.link("b->a", b, a, rate, Span::from_millis(5));
    for key in 0..10 {
        let [from, to] = [a, b].map(|router| draw.own(router, rate, |draw| draw.delay()));
        let source =
            Source::Tcp(Tcp { overhead: Span::from_micros(800), ..Tcp::ns2(Flavor::NewReno) });
        let (group, start, stop) = (draw.groups[0], Time::ZERO, Time::MAX);
        draw.network.flow(Flow { group, from, to, key, class: 0, start, stop, source });
    }
    let mut seen = Seen::default();
    seen.compare(draw.network, 0);
    assert!(seen.packets > 5_000, "{seen:?}");
    // Of the packets half are acknowledgements; timeouts, readings and the like are the rest.
    assert!((seen.fast as f64) < 0.65 * seen.packets as f64, "{seen:?}");
}

/// The first packet is under way on its sender's own link for longer than the sender's timer waits.
#[test]
fn a_timer_may_run_out_before_the_first_packet_comes_out() {
    let mut seen = Seen::default();
    for seed in 4000..4020 {
        let mut draw = Draw::new(seed);
        let [a, b] = ["a", "b"].map(|name| draw.network.node(name));
        draw.queue(a, b);
        draw.plain(b, a);
        for key in 0..4 {
            let delay = Span::from_millis(draw.pick(&[5, 700, 1200, 1600]));
            let [from, to] =
                [a, b].map(|router| draw.own(router, Rate::from_bps(100_000_000), |_| delay));
            let start = Time::from_nanos(draw.dice.below(1_000_000_000));
            let handshake = draw.pick(&[Handshake::Skip, Handshake::Syn]);
            let source = Source::Tcp(Tcp { handshake, flavor: Flavor::Rack, ..Tcp::reno() });
            let (group, stop) = (draw.groups[0], Time::MAX);
            draw.network.flow(Flow { group, from, to, key, class: 0, start, stop, source });
        }
        seen.compare(draw.network, seed);
    }
    assert!(seen.packets > 1_000, "{seen:?}");
}

/// How many of `delivered` come after a later one of their flow that was not sent again.
fn overtaken(delivered: &[(u64, u32, u32, u16)]) -> u64 {
    let mut most = std::collections::BTreeMap::new();
    let late = |&&(_, flow, number, _): &&(u64, u32, u32, u16)| {
        let most = most.entry(flow).or_insert(number);
        *most = number.max(*most);
        number < *most
    };
    delivered.iter().filter(late).count() as u64
}

/// Capacities that change, losses, delays and bleaching, on chains, in dumbbells and where
/// acknowledgements meet.
#[test]
fn what_links_do_besides_changes_nothing() {
    let mut all = Seen::default();
    let with = |seed| Draw { media: 0.8, ..Draw::new(seed) };
    (5000..5300).for_each(|seed| all.compare(chained(with(seed)), seed));
    (5300..5500).for_each(|seed| all.compare(between_routers(with(seed)), seed));
    (5500..5600).for_each(|seed| all.compare(gathered(with(seed), seed), seed));
    assert!(all.packets > 300_000 && all.drops > 3_000, "too little was compared: {all:?}");
    assert!(all.lost > 3_000 && all.late > 3_000, "too little was compared: {all:?}");
}

/// Sources that follow the window of a connection, which would else run ahead, on chains, in
/// dumbbells and where acknowledgements meet.
#[test]
fn a_window_that_is_followed_is_that_of_now() {
    let mut all = Seen::default();
    let with = |seed| Draw { followers: 0.4, ..Draw::new(seed) };
    let over = |seed| Draw { media: 0.8, ..with(seed) };
    (6000..6200).for_each(|seed| all.compare(chained(with(seed)), seed));
    (6200..6500).for_each(|seed| all.compare(between_routers(with(seed)), seed));
    (6500..6700).for_each(|seed| all.compare(gathered(with(seed), seed), seed));
    (6700..6800).for_each(|seed| all.compare(between_routers(over(seed)), seed));
    assert!(all.packets > 300_000 && all.drops > 3_000, "too little was compared: {all:?}");
}

#[test]
fn the_length_of_steps_changes_nothing() {
    for seed in 0..20 {
        let whole = Simulation::new(draw(seed), plan(seed), Seed::new(seed)).unwrap().finish();
        let mut run = Simulation::new(draw(seed), plan(seed), Seed::new(seed)).unwrap();
        let mut at = 0;
        while run.now() < Time::from_nanos(4_000_000_000) {
            at += 1 + mix(at) % 200_000_000;
            run.run_until(Time::from_nanos(at));
        }
        let stepped = run.finish();
        assert_eq!(format!("{stepped:?}"), format!("{whole:?}"), "seed {seed}");
    }
}
