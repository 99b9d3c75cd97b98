//! A gate over cables in memory that goes by any plan, and by another: for tests of reloads and for
//! their fuzzer.
#![allow(dead_code, reason = "each takes what it needs")]
use std::collections::HashMap;

use tidegate::catalog::{self, QUEUES};
use tidegate::{Ecn, Link, MarkReason, Rng, Size, Span, Time};
use tidegate_gateway::device::guard::Unguarded;
use tidegate_gateway::device::memory::{Cable, End, cable};
use tidegate_gateway::device::port::Port;
use tidegate_gateway::path::gate::{Gate, Next};
use tidegate_gateway::path::sort::{Class, deal};
use tidegate_gateway::run::plan::{GatePlan, Settings};
use tidegate_gateway::run::way::{Secret, Way};
use tidegate_gateway::watch::counters::Account;
use tidegate_gateway::watch::counters::{DirectionCounters, LossReason, Tally};
use tidegate_gateway::watch::observer::Observer;
use tidegate_gateway::watch::sample::GateSample;
use tidegate_packet::{Frame, LinkType};

use super::frames::{frame, label};

pub const SECRET: Secret = Secret { hash: [1, 2], seed: 3 };

/// How often the fate of each frame was reported, by the number in its label.
#[derive(Debug, Default)]
pub struct Fates {
    pub told: HashMap<u32, u32>,
    pub lost: HashMap<&'static str, u64>,
}

impl Observer for &mut Fates {
    fn sent(&mut self, _: Time, _: Span, mark: Option<MarkReason>, frame: &[u8]) {
        let ecn = Frame::parse(LinkType::Ethernet, frame, frame.len() as u32).ecn;
        assert!(mark.is_none() || ecn == Ecn::Ce, "told as marked with {ecn:?}");
        *self.told.entry(label(frame).unwrap().1).or_default() += 1;
    }
    fn lost(&mut self, _: Time, why: LossReason, frame: &[u8]) {
        *self.told.entry(label(frame).unwrap().1).or_default() += 1;
        *self.lost.entry(why.name()).or_default() += 1;
    }
}

pub type Tested<'a> = Gate<End, End, Option<&'a mut Fates>>;

/// The two far ends, and a gate between them that goes by a plan.
pub struct Rig<'a> {
    pub clients: End,
    pub servers: End,
    pub gate: Tested<'a>,
    pub now: Time,
}

impl Rig<'_> {
    pub fn new<'a>(plan: &GatePlan, fates: &'a mut Fates) -> Rig<'a> {
        let ((clients, inner), (outer, servers)) = (wide_cable(), wide_cable());
        let (there, back) = plan.lanes(SECRET, Some(fates)).unwrap();
        Rig {
            clients,
            servers,
            gate: Gate::new(there, back, inner, outer),
            now: Time::from_nanos(1),
        }
    }

    /// Does all that is to be done up to `then`.
    pub fn until(&mut self, then: Time) {
        self.now = turn(&mut self.gate, self.now, then);
    }

    /// Ends it: what waits leaves.
    pub fn drain(&mut self) {
        while let Some(then) = self.gate.drain(self.now) {
            self.now = self.now.max(then);
        }
    }
}

/// A cable that loses nothing of what a test sends.
pub fn wide_cable() -> (End, End) {
    cable(Cable { longest: 1522, arrived: 100_000, taken: 100_000 })
}

/// Has `gate` do all that is to be done from `now` up to `then`; the time that it is afterwards.
pub fn turn<W: Observer>(gate: &mut Gate<End, End, W>, mut now: Time, then: Time) -> Time {
    loop {
        match gate.turn(now, &mut Unguarded) {
            Next::Now => {}
            Next::At(at) if at <= then => now = now.max(at),
            _ => return now.max(then),
        }
    }
}

pub fn send(end: &mut End, frame: &[u8]) {
    end.send(frame).unwrap();
    end.flush().unwrap();
}

pub fn settings(there: Way, back: Option<Way>) -> Settings {
    Settings { inner: "if1".into(), outer: "if2".into(), there, back, delay: Span::ZERO }
}

pub fn link(rate: &str, limit: Size) -> Link {
    Link::new(rate.parse().unwrap(), limit, "1000 B".parse().unwrap()).unwrap()
}

pub fn way(queue: &str, link: Link) -> Way {
    Way::new(link, catalog::config(queue, None, &link).unwrap(), queue)
}

/// Any queue with any limit, rate and flow key, and now and then with classes. But not Cebinae,
/// whose two queues change places while frames of a flow wait in both.
fn any_way(dice: &mut Rng) -> Way {
    let pick = |dice: &mut Rng, of: &[&'static str]| of[dice.below(of.len() as u64) as usize];
    let row = &QUEUES[dice.below(QUEUES.len() as u64) as usize];
    if row.name == "cebinae" {
        return any_way(dice);
    }
    let limit = [Size::Packets(3 + dice.below(200)), Size::Bytes(2000 + dice.below(200_000))]
        [dice.below(2) as usize];
    let mut way = way(row.name, link(pick(dice, &["1 Mbit/s", "10 Mbit/s", "90 Mbit/s"]), limit));
    // Its queue protection lets frames of a flow pass each other, as RFC 9957 accepts.
    if row.name == "dualpi2" {
        way.queue = catalog::config(row.name, Some("paper"), &way.link).unwrap();
    }
    way.flow_key = pick(dice, &["five-tuple", "five-tuple", "source", "pair", "source-prefix/28"])
        .parse()
        .unwrap();
    way.overhead = pick(dice, &["0 B", "ethernet"]).parse().unwrap();
    let class = |name: &str, prefix: &str, weight| Class {
        name: name.into(),
        weight,
        prefixes: vec![prefix.parse().unwrap()],
        ..Class::default()
    };
    let classes = [class("few", "10.0.0.0/29", 3.0), class("some", "10.0.0.0/27", 0.5)];
    let classes = &classes[..dice.below(3) as usize];
    if deal(&mut way.queue, classes).is_ok() {
        way.classes = classes.to_vec();
    }
    // A queue may be impossible on a link so small.
    match way.queue.build(way.link, Rng::from_seed(0)) {
        Ok(_) => way,
        Err(_) => any_way(dice),
    }
}

/// What does not change in a trial.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Whether both directions are managed.
    pub both_ways: bool,
    /// Whether some flows are on the list.
    pub with_list: bool,
}

/// Any plan by these terms.
fn any_plan(dice: &mut Rng, terms: Terms) -> GatePlan {
    let allowed: &[&str] = if terms.with_list { &["10.0.0.3", "2001:db8::/32"] } else { &[] };
    let allowed: Vec<_> = allowed.iter().map(|text| text.parse().unwrap()).collect();
    let mut any = || {
        let period = ["100 ms", "150 ms", "off"][dice.below(3) as usize];
        Way { allowed: allowed.clone(), rehash: period.parse().unwrap(), ..any_way(dice) }
    };
    let (there, back) = (any(), terms.both_ways.then(any));
    let delay = Span::from_millis([0, 0, 3][dice.below(3) as usize]);
    GatePlan::new(Settings { delay, ..settings(there, back) }, 1500).unwrap()
}

/// Every frame and every byte is accounted for.
pub fn balanced(counters: &DirectionCounters, what: &str) {
    assert!(counters.balanced(), "{what}: {counters:?}");
}

/// None of these frames comes before one of its flow that was sent before it.
fn in_order(frames: &[Vec<u8>], last: &mut HashMap<u8, u32>, what: &str) {
    for frame in frames {
        let (flow, number) = label(frame).unwrap();
        let before = last.insert(flow, number);
        assert!(before < Some(number), "{what}: {number} of flow {flow} came after {before:?}");
    }
}

/// Frames in both directions through a gate that goes by one plan after the other, each step
/// checked. Nothing is lost by a reload, no flow is overtaken, every frame is accounted for.
pub struct Trial<'a> {
    rig: Rig<'a>,
    plan: GatePlan,
    terms: Terms,
    /// How the gate stands: to take it checks that all that waits is counted.
    sample: GateSample,
    /// The last frame of each flow that came; what was offered; how many came. There and back.
    last: [HashMap<u8, u32>; 2],
    /// The codepoint of each flow. Those of one that has several pass each other in `dualpi2`.
    codepoints: HashMap<u8, Ecn>,
    offered: [Tally; 2],
    arrived: [u64; 2],
    number: u32,
    /// How many plans have followed the first.
    pub plans: u32,
}

impl Trial<'_> {
    /// One that begins with any plan by `terms`.
    pub fn new<'a>(dice: &mut Rng, terms: Terms, fates: &'a mut Fates) -> Trial<'a> {
        let plan = any_plan(dice, terms);
        let rig = Rig::new(&plan, fates);
        let sample = GateSample::empty(3, terms.both_ways.then_some(3));
        let (last, codepoints, offered, arrived) = Default::default();
        let (number, plans) = (0, 0);
        Trial { rig, plan, terms, sample, last, codepoints, offered, arrived, number, plans }
    }

    /// Sends a frame, there (0) or back (1), with `ecn` if it is its flow's first.
    pub fn offer(&mut self, dice: &mut Rng, way: usize, flow: u8, ecn: Ecn, len: usize) {
        self.number += 1;
        let ecn = *self.codepoints.entry(flow).or_insert(ecn);
        let frame = frame(dice, flow, self.number, ecn, len);
        send(if way == 0 { &mut self.rig.clients } else { &mut self.rig.servers }, &frame);
        self.offered[way].add(frame.len() as u32);
    }

    /// Lets the time go by.
    pub fn wait(&mut self, span: Span) {
        self.rig.until(self.rig.now + span);
        self.check();
    }

    /// Goes on by any other plan.
    pub fn reload(&mut self, dice: &mut Rng) {
        let next = any_plan(dice, self.terms);
        let renewal = next.instead_of(&self.plan, SECRET).unwrap();
        let before = self.rig.gate.account();
        drop(self.rig.gate.renew(self.rig.now, renewal));
        assert_eq!(
            self.rig.gate.account(),
            before,
            "{}, then {}",
            self.what(),
            next.settings().there.label
        );
        (self.plan, self.plans) = (next, self.plans + 1);
        self.check();
    }

    /// Takes what has been offered and lets all leave that waits; what became of all of it.
    pub fn end(mut self) -> Account {
        self.wait(Span::ZERO);
        self.rig.drain();
        self.check();
        let account = self.rig.gate.account();
        let offered = self.offered.into_iter().zip(self.arrived);
        for (counters, (offered, arrived)) in [account.managed, account.reverse].iter().zip(offered)
        {
            assert_eq!(
                (counters.received, counters.held),
                (offered, Tally::default()),
                "{}",
                self.what()
            );
            assert_eq!(counters.sent.frames, arrived, "{}", self.what());
        }
        account
    }

    fn check(&mut self) {
        let what = self.what();
        let account = self.rig.gate.account();
        balanced(&account.managed, &what);
        balanced(&account.reverse, &what);
        self.rig.gate.sample(self.rig.now, &mut self.sample);
        for (way, end) in [&mut self.rig.servers, &mut self.rig.clients].into_iter().enumerate() {
            let frames = end.all().unwrap();
            self.arrived[way] += frames.len() as u64;
            in_order(&frames, &mut self.last[way], &what);
        }
    }

    fn what(&self) -> String {
        format!(
            "after {}, {} plans, now {}",
            self.number,
            self.plans,
            self.plan.settings().there.label
        )
    }
}

impl Fates {
    /// The fate of each frame that was managed was reported once, with its reason.
    pub fn check(&self, managed: &DirectionCounters) {
        assert!(self.told.values().all(|&times| times == 1), "told twice");
        assert_eq!(self.told.len() as u64, managed.received.frames);
        for why in LossReason::all() {
            let told = self.lost.get(why.name()).copied().unwrap_or(0);
            assert_eq!(managed.lost(why).frames, told, "{}", why.name());
        }
    }
}
