//! The bottleneck against a naive twin, and what must hold of any.
//!
//! The twin does one thing after the other: at each instant the link asks, or a packet arrives. At
//! a fixed rate it adds up bits since the link was last idle. A trace it walks line by line, as
//! mahimahi does.
use crate::support;
use crate::support::{base_seed, links};
use proptest::prelude::*;
use tidegate::bottleneck::{Bottleneck, Capacity, Fate, Outcome, Steps, Trace};
use tidegate::catalog::{self, AnyQueue};
use tidegate::{
    DropReason, Link, MarkReason, Packet, Prob, Qdisc, Rate, Rng, Seed, Sink, Span, Time,
};

/// What is offered, and to what.
#[derive(Clone, Debug)]
struct Case {
    queue: usize,
    link: Link,
    capacity: Capacity,
    delay: u64,
    loss: f64,
    seed: u64,
    /// Time to the packet before, in nanoseconds; flow; length.
    packets: Vec<(u64, u64, u32)>,
}

impl Case {
    fn queue(&self) -> AnyQueue {
        let name = catalog::QUEUES[self.queue].name;
        let config = catalog::config(name, None, &self.link).unwrap();
        config.build(self.link, Seed::new(self.seed).stream("queue")).unwrap()
    }

    fn loss(&self) -> (Prob, Rng) {
        (Prob::clip(self.loss), Seed::new(self.seed).stream("loss"))
    }

    fn bottleneck(&self) -> Bottleneck<u32> {
        let (loss, dice) = self.loss();
        Bottleneck::new(self.capacity.clone(), Span::from_nanos(self.delay), self.queue())
            .unwrap()
            .with_loss(loss, dice)
    }

    /// When each packet is offered, and the packet, its slot another number than its own.
    fn offers(&self) -> Vec<(u64, Packet)> {
        let mut at = 0;
        let offer = |(i, &(gap, flow, len)): (usize, &(u64, u64, u32))| {
            at += gap;
            let ecn =
                if flow.is_multiple_of(2) { tidegate::Ecn::Ect0 } else { tidegate::Ecn::NotEct };
            (at, Packet::new(flow, len).with_slot(!(i as u32)).with_ecn(ecn))
        };
        self.packets.iter().enumerate().map(offer).collect()
    }
}

/// A fate as both tell it: when, which packet, what, and whether it is marked.
type Told = (u64, u32, Outcome, Packet);

fn told(fate: Fate<u32>) -> Told {
    assert_eq!(fate.packet.slot, !fate.payload, "the driver's slot comes back");
    (fate.at.as_nanos(), fate.payload, fate.outcome, Packet { tag: 0, ..fate.packet })
}

/// All fates of `case`, polled every `stride` nanoseconds, at each offer if that is 0.
fn fates(case: &Case, stride: u64) -> Vec<Told> {
    let (mut bottleneck, mut all) = (case.bottleneck(), vec![]);
    let mut poll = |bottleneck: &mut Bottleneck<u32>, at: u64| {
        while let Some(fate) = bottleneck.poll_fate(Time::from_nanos(at)) {
            all.push(told(fate));
        }
        assert!(bottleneck.next_wake().is_none_or(|wake| wake.as_nanos() > at), "it wakes ahead");
    };
    let mut polled = 0;
    for (i, (at, packet)) in case.offers().into_iter().enumerate() {
        while stride > 0 && polled + stride < at {
            polled += stride;
            poll(&mut bottleneck, polled);
        }
        bottleneck.offer(Time::from_nanos(at), packet, i as u32);
        if stride == 0 {
            poll(&mut bottleneck, at);
        }
    }
    while let Some(wake) = bottleneck.next_wake() {
        poll(&mut bottleneck, wake.as_nanos());
    }
    assert_eq!(bottleneck.inside(), 0, "what is asked in time gives everything");
    all
}

/// The naive twin.
struct Twin<'a> {
    case: &'a Case,
    queue: AnyQueue,
    loss: (Prob, Rng),
    /// When the link asks next.
    asks: Option<u64>,
    fates: Vec<Told>,
    /// At a rate: when the link was last idle, what it has sent since, and when that has left.
    idle: u64,
    bits: u128,
    free: u64,
    /// With a trace: the packet that is partly sent, and what is left of it.
    partly: Option<(Packet, u32)>,
}

struct Dropped<'a>(&'a mut Vec<Told>);

impl Sink for Dropped<'_> {
    fn dropped(&mut self, now: Time, pkt: &Packet, why: DropReason) {
        let packet = Packet { tag: 0, slot: !pkt.slot, ..*pkt };
        self.0.push((now.as_nanos(), pkt.slot, Outcome::Dropped(why), packet));
    }
    fn marked(&mut self, _: Time, _: &Packet, _: MarkReason) {}
}

impl<'a> Twin<'a> {
    fn fates(case: &'a Case) -> Vec<Told> {
        let mut twin = Twin {
            case,
            queue: case.queue(),
            loss: case.loss(),
            asks: None,
            fates: vec![],
            idle: 0,
            bits: 0,
            free: 0,
            partly: None,
        };
        match &case.capacity {
            Capacity::Rate(rate) => twin.in_pieces(&[(Time::ZERO, *rate)]),
            Capacity::Steps(steps) => twin.in_pieces(steps.pieces()),
            Capacity::Trace(_) => unreachable!("see `by_a_trace`"),
            _ => unreachable!("no other"),
        }
        twin.sorted()
    }

    fn sorted(mut self) -> Vec<Told> {
        // A drop comes before an arrival of the same time; else as they happened.
        self.fates.sort_by_key(|&(at, _, what, _)| (at, !matches!(what, Outcome::Dropped(_))));
        self.fates
    }

    fn in_pieces(&mut self, pieces: &[(Time, Rate)]) {
        let mut offers = self.case.offers().into_iter().zip(0..).peekable();
        loop {
            let arrival = offers.peek().map_or(u64::MAX, |&((at, _), _)| at);
            match self.asks {
                Some(at) if at <= arrival => self.ask(at, pieces),
                _ if arrival == u64::MAX => break,
                _ => {
                    let ((at, packet), number) = offers.next().unwrap();
                    self.arrive(at, packet, number);
                    if self.free <= at && self.queue.backlog().packets > 0 {
                        self.asks = Some(at);
                    }
                }
            }
        }
    }

    fn arrive(&mut self, at: u64, packet: Packet, number: u32) {
        let out = &mut Dropped(&mut self.fates);
        self.queue.enqueue(Time::from_nanos(at), packet.with_slot(number), out);
    }

    fn dequeue(&mut self, at: u64) -> Option<Packet> {
        let packet = self.queue.dequeue(Time::from_nanos(at), &mut Dropped(&mut self.fates));
        let waits = self.queue.backlog().packets > 0;
        self.asks = self.queue.wake_at().filter(|_| waits).map(|wake| wake.as_nanos().max(at + 1));
        packet
    }

    fn ask(&mut self, at: u64, pieces: &[(Time, Rate)]) {
        if let Some(packet) = self.dequeue(at) {
            if at > self.free {
                (self.idle, self.bits) = (at, 0);
            }
            self.bits += packet.len as u128 * 8;
            self.free = left_at(pieces, self.idle, self.bits);
            self.asks = Some(self.free);
            self.send(self.free, packet);
        }
    }

    fn send(&mut self, at: u64, packet: Packet) {
        let lost = self.loss.1.uniform() < self.loss.0.get();
        let outcome = if lost { Outcome::Lost } else { Outcome::Delivered };
        let number = packet.slot;
        let packet = Packet { tag: 0, slot: !number, ..packet };
        self.fates.push((at + self.case.delay, number, outcome, packet));
    }

    /// With a trace of `lines`, in milliseconds.
    fn by_a_trace(case: &'a Case, lines: &[u32]) -> Vec<Told> {
        let mut twin = Twin {
            case,
            queue: case.queue(),
            loss: case.loss(),
            asks: None,
            fates: vec![],
            idle: 0,
            bits: 0,
            free: 0,
            partly: None,
        };
        let offers = case.offers();
        let (mut next, length) = (0, *lines.last().unwrap() as u64);
        for repetition in 0.. {
            for &line in lines {
                let at = (repetition * length + line as u64) * 1_000_000;
                while next < offers.len() && offers[next].0 < at {
                    twin.arrive(offers[next].0, offers[next].1, next as u32);
                    // A queue that has something is asked at the next line.
                    twin.asks = Some(offers[next].0).filter(|_| twin.busy());
                    next += 1;
                }
                twin.opportunity(at);
            }
            if next == offers.len() && !twin.busy() {
                return twin.sorted();
            }
        }
        unreachable!()
    }

    fn busy(&self) -> bool {
        self.partly.is_some() || self.queue.backlog().packets > 0
    }

    fn opportunity(&mut self, at: u64) {
        let mut left = 1500;
        while left > 0 {
            if self.partly.is_none() {
                if self.asks.is_none_or(|asks| asks > at) {
                    return;
                }
                let Some(packet) = self.dequeue(at) else { return };
                // Until it has found nothing the link asks.
                self.asks = Some(at);
                self.partly = Some((packet, packet.len));
            }
            let Some((packet, rest)) = self.partly.take() else { return };
            let part = rest.min(left);
            left -= part;
            match rest - part {
                0 => self.send(at, packet),
                rest => self.partly = Some((packet, rest)),
            }
        }
    }
}

/// When `bits` have left that a link, free until then, sends from `begin` on: all of them anew.
fn left_at(pieces: &[(Time, Rate)], begin: u64, bits: u128) -> u64 {
    let mut work = bits * 1_000_000_000;
    for (i, (from, rate)) in pieces.iter().enumerate() {
        let (from, rate) = (from.as_nanos().max(begin), rate.as_bps() as u128);
        let to = pieces.get(i + 1).map_or(u64::MAX, |next| next.0.as_nanos());
        let room = rate * to.saturating_sub(from) as u128;
        if rate > 0 && to > from && work <= room {
            return from + (work / rate) as u64;
        }
        work -= room;
    }
    unreachable!("the last rate is above zero")
}

fn packets() -> impl Strategy<Value = Vec<(u64, u64, u32)>> {
    // Gaps from none to half a minute; most are short.
    let gap = prop_oneof![
        8 => 0..3_000_000_u64,
        4 => (0..5_u64).prop_map(|ms| ms * 1_000_000),
        1 => 0..30_000_000_000_u64
    ];
    let len = prop_oneof![Just(1500_u32), Just(40), 1..5_000_u32];
    proptest::collection::vec((gap, 0..8_u64, len), 1..150)
}

fn case(capacity: impl Strategy<Value = Capacity>) -> impl Strategy<Value = Case> {
    let delay = prop_oneof![Just(0), Just(1_000_000), 0..100_000_000_u64];
    let loss = prop_oneof![Just(0.0), Just(0.1), Just(1.0)];
    let limit = 1..60_u64;
    (0..catalog::QUEUES.len(), capacity, delay, loss, limit, any::<u64>(), packets()).prop_map(
        |(queue, capacity, delay, loss, limit, seed, packets)| {
            let rate = match &capacity {
                Capacity::Rate(rate) => *rate,
                Capacity::Trace(trace) => trace.mean_rate(),
                Capacity::Steps(steps) => steps.peak(),
                _ => unreachable!("no other"),
            };
            let limit = tidegate::Size::Packets(limit);
            let link = Link::new(rate, limit, tidegate::Bytes::new(1000)).unwrap();
            let seed = seed ^ base_seed().get();
            Case { queue, link, capacity, delay, loss, seed, packets }
        },
    )
}

fn rate() -> impl Strategy<Value = Capacity> {
    let rates = [64_000, 1_000_000, 8_000_000, 9_999_991, 45_000_000, 10_000_000_000];
    proptest::sample::select(rates.to_vec()).prop_map(|bps| Rate::from_bps(bps).into())
}

/// Rates that change within packets, some to nothing.
fn steps() -> impl Strategy<Value = Capacity> {
    let rates = [0, 64_000, 1_000_000, 8_000_000, 9_999_991, 10_000_000_000];
    let rate = proptest::sample::select(rates.to_vec());
    let gap = prop_oneof![Just(1_000_000_u64), 1..3_000_000_u64, 1..3_000_000_000_u64];
    proptest::collection::vec((gap, rate), 0..20).prop_map(|changes| {
        let mut at = 0;
        let change = |(gap, bps): (u64, u64)| {
            let from = at;
            at += gap;
            (Time::from_nanos(from), Rate::from_bps(bps))
        };
        let mut steps: Vec<_> = changes.into_iter().map(change).collect();
        steps.push((Time::from_nanos(at), Rate::from_bps(8_000_000)));
        Steps::new(steps).unwrap().into()
    })
}

fn lines() -> impl Strategy<Value = Vec<u32>> {
    proptest::collection::vec(0..4_u32, 1..30).prop_map(|steps| {
        let mut at = 0;
        let mut lines: Vec<u32> = steps
            .iter()
            .map(|step| {
                at += step;
                at
            })
            .collect();
        lines.push(at + 1);
        lines
    })
}

fn by_lines() -> impl Strategy<Value = (Case, Vec<u32>)> {
    lines().prop_flat_map(|lines| {
        let trace = Trace::new(lines.iter().copied()).unwrap();
        (case(Just(trace.into())), Just(lines))
    })
}

/// Each packet has one fate, in the order of time.
fn conserves(case: &Case, all: &[Told]) {
    let mut numbers: Vec<u32> = all.iter().map(|told| told.1).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..case.packets.len() as u32), "one fate each");
    assert!(all.is_sorted_by_key(|told| told.0), "in the order of time");
}

/// What the link has sent, lost on the way or not: when it came out, and bytes.
fn sent(all: &[Told]) -> Vec<(u64, u64)> {
    let sent = all.iter().filter(|told| !matches!(told.2, Outcome::Dropped(_)));
    sent.map(|told| (told.0, told.3.len as u64)).collect()
}

proptest! {
    #[test]
    fn it_is_the_twins_at_a_rate(case in case(rate()), stride in 0..40_000_000_u64) {
        let all = fates(&case, 0);
        prop_assert_eq!(&all, &Twin::fates(&case));
        prop_assert_eq!(&all, &fates(&case, stride + 100_000), "when it is polled changes nothing");
        conserves(&case, &all);
        let Capacity::Rate(rate) = case.capacity else { unreachable!() };
        let sent = sent(&all);
        for (i, &(begin, _)) in sent.iter().enumerate() {
            let mut bytes = 0;
            for &(end, len) in &sent[i + 1..] {
                bytes += len;
                let most = rate.bytes_in(Span::from_nanos(end + 1 - begin)).get();
                prop_assert!(bytes <= most, "{bytes} B from {begin} to {end} ns, at most {most}");
            }
        }
    }

    #[test]
    fn it_is_the_twins_in_steps(case in case(steps()), stride in 0..40_000_000_u64) {
        let all = fates(&case, 0);
        prop_assert_eq!(&all, &Twin::fates(&case));
        prop_assert_eq!(&all, &fates(&case, stride + 100_000), "when it is polled changes nothing");
        conserves(&case, &all);
        // No more than the steps carry, and a nanosecond's worth that was left over.
        let mut bits = 0.0;
        for (at, len) in sent(&all) {
            bits += 8.0 * len as f64;
            let end = Time::from_nanos(at + 1 - case.delay);
            prop_assert!(bits <= case.capacity.bits_between(Time::ZERO, end) + 1e-6);
        }
    }

    #[test]
    fn it_is_the_twins_by_a_trace(
        (case, lines) in by_lines(),
        stride in 0..40_000_000_u64,
    ) {
        let all = fates(&case, 0);
        prop_assert_eq!(&all, &Twin::by_a_trace(&case, &lines));
        prop_assert_eq!(&all, &fates(&case, stride + 100_000), "when it is polled changes nothing");
        conserves(&case, &all);
        let length = *lines.last().unwrap() as u64;
        let mut bytes = 0;
        for (at, len) in sent(&all) {
            bytes += len;
            let (ms, rest) = ((at - case.delay) / 1_000_000, (at - case.delay) % 1_000_000);
            prop_assert_eq!(rest, 0, "it sends at a line of the trace");
            let within = |ms: u64| lines.iter().filter(|&&line| line as u64 <= ms).count() as u64;
            let lines = ms / length * within(length) + within(ms % length);
            // Of a time that ends one repetition and begins the next, both are counted.
            prop_assert!(bytes <= 1500 * lines, "{bytes} B in {lines} lines");
        }
    }
}

/// By hand: the last line is the length, and two lines of one time are two opportunities. Small
/// packets share one, a large one takes several; what is left over is lost.
#[test]
fn a_trace_by_hand() {
    let link = links()[0];
    let build = || {
        let queue = catalog::config("drop_tail", None, &link).unwrap();
        let queue = queue.build(link, Rng::from_seed(1)).unwrap();
        Bottleneck::new("1\n1\n5\n".parse::<Trace>().unwrap(), Span::ZERO, queue).unwrap()
    };
    let arrivals = |offers: &[(u64, u32)]| {
        let (mut bottleneck, mut all) = (build(), vec![]);
        for &(us, len) in offers {
            bottleneck.offer(Time::ZERO + Span::from_micros(us), Packet::new(1, len), ());
        }
        while let Some(wake) = bottleneck.next_wake() {
            all.extend(bottleneck.poll_fate(wake).map(|fate| fate.at.as_nanos() / 1_000_000));
        }
        all
    };
    assert_eq!(arrivals(&[(0, 1500); 7]), [1, 1, 5, 6, 6, 10, 11]);
    assert_eq!(arrivals(&[(0, 500); 5]), [1, 1, 1, 1, 1]);
    assert_eq!(arrivals(&[(0, 2250), (0, 750), (0, 1)]), [1, 1, 5]);
    assert_eq!(arrivals(&[(0, 4501), (0, 1499), (0, 1)]), [6, 6, 6]);
    // A packet that comes at a line's very time has missed it.
    assert_eq!(arrivals(&[(1_000, 100), (5_000, 100), (5_001, 100)]), [5, 6, 6]);
    assert_eq!(arrivals(&[(3_600_000_000, 100)]), [3_600_001]);
}

/// What can be sent between two times, by hand.
#[test]
fn capacities_by_hand() {
    let ms = |ms: u64| Time::from_nanos(ms * 1_000_000);
    let mbit = |rate: u64| Rate::from_bps(rate * 1_000_000);
    let steps = [(ms(0), mbit(8)), (ms(10), mbit(0)), (ms(20), mbit(2))];
    let steps = Capacity::from(Steps::new(steps).unwrap());
    assert_eq!(steps.bits_between(ms(0), ms(10)), 80_000.0);
    assert_eq!(steps.bits_between(ms(9), ms(21)), 8_000.0 + 2_000.0);
    assert_eq!(steps.bits_between(ms(12), ms(18)), 0.0);
    assert_eq!(Capacity::from(mbit(8)).bits_between(ms(1), ms(3)), 16_000.0);
    // Opportunities at 0, 1, 1 and 4 ms, then at 4, 5, 5 and 8.
    let trace = Capacity::from("0\n1\n1\n4\n".parse::<Trace>().unwrap());
    for (from, to, lines) in [(0, 1, 1), (0, 4, 3), (1, 4, 2), (4, 5, 2), (2, 9, 6), (9, 9, 0)] {
        assert_eq!(trace.bits_between(ms(from), ms(to)), 12_000.0 * lines as f64, "{from} {to}");
    }
}

#[test]
fn steps_that_cannot_be_are_refused() {
    let error = |steps: &[(u64, u64)]| {
        let steps = steps.iter().map(|&(at, bps)| (Time::from_nanos(at), Rate::from_bps(bps)));
        Steps::new(steps).unwrap_err().to_string()
    };
    assert_eq!(error(&[]), "steps = no steps: must have a step at least");
    assert_eq!(error(&[(5, 1)]), "step 1 = 5 ns: the first must be at 0 s");
    assert_eq!(
        error(&[(0, 1), (5, 0)]),
        "step 2 = 0 bit/s: the last rate holds for ever and must be above 0 bit/s"
    );
    assert_eq!(
        error(&[(0, 1), (5, 1), (5, 2)]),
        "step 3 = 5 ns: must be later than the one before, at 5 ns"
    );
    assert_eq!(
        error(&[(0, 2_000_000_000_000_000)]),
        "step 1 = 2000000 Gbit/s: must be at most 1 Pbit/s"
    );
    let many = (0..=tidegate::bottleneck::MOST_STEPS as u64).map(|i| (i, 1)).collect::<Vec<_>>();
    assert_eq!(error(&many), "steps = more steps: must have at most 1000000 steps");
}

#[test]
fn what_cannot_be_is_refused() {
    let error = |text: &str| text.parse::<Trace>().unwrap_err().to_string();
    assert_eq!(error(""), "trace = no lines: must have a line at least");
    assert_eq!(
        error("0\n0"),
        "line 2 = 0: the last time is the trace's length and must be above 0 ms"
    );
    assert_eq!(error("1\n7\n6"), "line 3 = 6: time runs back; the line before has 7");
    assert_eq!(
        error("1\n4294967296"),
        "line 2 = \"4294967296\": must be at most 4294967295 ms (49 days)"
    );
    for line in ["1.5", "-1", "12 ms", "", "# trace"] {
        let why = "must be a time in whole milliseconds, such as 12";
        assert_eq!(error(&format!("0\n{line}\n9")), format!("line 2 = {line:?}: {why}"));
    }
    assert!("0\r\n 12 \r\n".parse::<Trace>().is_ok());
    let many = Trace::new((0..).take(tidegate::bottleneck::MOST_LINES + 1)).unwrap_err();
    assert_eq!(many.to_string(), "trace = more lines: must have at most 10000000 lines");

    let refused = |rate: u64, delay: Span| {
        let queue = catalog::config("drop_tail", None, &links()[0]).unwrap();
        let queue = queue.build(links()[0], Rng::from_seed(1)).unwrap();
        Bottleneck::<(), _>::new(Rate::from_bps(rate), delay, queue).unwrap_err().to_string()
    };
    let rate = "must lie above 0 bit/s, up to 1 Pbit/s";
    assert_eq!(refused(0, Span::ZERO), format!("capacity = 0 bit/s: {rate}"));
    assert_eq!(
        refused(2_000_000_000_000_000, Span::ZERO),
        format!("capacity = 2000000 Gbit/s: {rate}")
    );
    let delay = refused(1, Span::from_secs(3601.0));
    assert_eq!(delay, "delay = 3601 s: must be at most an hour");
}

/// Of what is known at one time, the drop comes first. A poll leaves out what was dropped. Before a
/// packet has begun, it is known that the delay is ahead.
#[test]
fn ties_and_wakes() {
    let link = support::link("8 Mbit/s", "1 packet", "1000 B");
    let queue = catalog::config("drop_tail", None, &link).unwrap();
    let queue = queue.build(link, Rng::from_seed(1)).unwrap();
    let run = |delay: Span| {
        let mut bottleneck = Bottleneck::new(link.rate, delay, queue.clone()).unwrap();
        let at = |us: u64| Time::ZERO + Span::from_micros(us);
        for (us, name) in [(0, 'a'), (0, 'b'), (1_000, 'c'), (1_000, 'd')] {
            bottleneck.offer(at(us), Packet::new(1, 1_000), name);
        }
        bottleneck
    };
    let mut bottleneck = run(Span::ZERO);
    let end = Time::ZERO + Span::from_millis(9);
    let fates = std::iter::from_fn(|| bottleneck.poll_fate(end));
    let fates: String = fates.map(|fate| fate.payload).collect();
    assert_eq!(fates, "dabc");
    let mut bottleneck = run(Span::from_millis(20));
    let polled = std::iter::from_fn(|| bottleneck.poll(Time::ZERO + Span::from_millis(23)));
    assert_eq!(polled.map(|arrived| arrived.payload).collect::<String>(), "abc");
    bottleneck.offer(end, Packet::new(1, 1_000), 'e');
    assert_eq!(bottleneck.next_wake(), Some(Time::ZERO + Span::from_millis(43)));
}

/// A `now` that runs back counts as the latest one.
#[test]
fn time_does_not_run_back() {
    let case = Case {
        queue: 0,
        link: links()[0],
        capacity: Rate::from_bps(8_000_000).into(),
        delay: 5,
        loss: 0.0,
        seed: 1,
        packets: vec![],
    };
    let mut bottleneck = case.bottleneck();
    bottleneck.offer(Time::from_nanos(100), Packet::new(1, 1), 0);
    bottleneck.offer(Time::from_nanos(50), Packet::new(1, 1), 1);
    assert_eq!(bottleneck.poll_fate(Time::from_nanos(0)), None);
    let at = |fate: Option<Fate<u32>>| fate.map(|fate| (fate.at.as_nanos(), fate.packet.arrived));
    let arrived = Time::from_nanos(100);
    assert_eq!(at(bottleneck.poll_fate(Time::MAX)), Some((1_105, arrived)));
    assert_eq!(at(bottleneck.poll_fate(Time::ZERO)), Some((2_105, arrived)));
}
