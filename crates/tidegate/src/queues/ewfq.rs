#![doc = include_str!("ewfq.md")]
use alloc::format;
use alloc::vec::Vec;

use crate::choices;
use crate::config::{ByClass, ConfigError, Element};
use crate::entry::{Entry, FOREVER, HashTable, Info, Preset, WAYS, auto_buckets};
use crate::packet::Packet;
use crate::parts::class_lines::ClassLines;
use crate::parts::every::Every;
use crate::parts::fair_clock::Order;
use crate::parts::fair_control::FairControl;
use crate::parts::sample_hold::{HoldRules, Insert, SampleHold, chance_per_byte};
use crate::parts::spread::{Classes, Map, Ways};
use crate::qdisc::{Backlog, DropReason, Gauge, Link, Qdisc, Sink};
use crate::rng::Rng;
use crate::units::{Bytes, Prob, Span, Time};

choices! {
    /// Whether a class heeds drops.
    pub enum Responsive {
        /// TCP: its drops are so rare that it sends the fair amount by itself (eq. 2).
        On = "on",
        /// What is too much is dropped (§III-A).
        Off = "off",
    }
}

choices! {
    /// In which unit the controller of m_fair sees the backlog.
    pub enum BacklogUnit {
        /// Bytes.
        Bytes = "bytes",
        /// Bits: gains eight times as high.
        Bits = "bits",
    }
}

choices! {
    /// Over which time a class is judged.
    pub enum JudgedOver {
        /// The interval before this one.
        Whole = "whole",
        /// The t_i that end with the last update: of the interval before, the part that has not gone by.
        Sliding = "sliding",
    }
}

choices! {
    /// How far m_fair may rise.
    pub enum Ceiling {
        /// To what the link sends in t_i.
        Link = "link",
        /// To the most that a held class sent, by weight: no r_fair of §III-A lies above the largest r_i / w_i.
        Largest = "largest",
    }
}

choices! {
    /// How far m_fair may fall.
    pub enum Floor {
        /// To a packet in t_i.
        Packet = "packet",
        /// To the r_fair that solves C = sum of min(r_i, r_fair w_i) of §III-A for what the held classes sent.
        Fair = "fair",
    }
}

choices! {
    /// Who goes when the shared buffer is full.
    pub enum EwfqVictim {
        /// The packet that arrives.
        Arrival = "arrival",
        /// The last packet of the longest line, by weight. Which one that is is seen when packets come.
        Longest = "longest",
    }
}

impl Element for Responsive {
    const KIND_BY_CLASS: &'static str = "on | off by class";
}

crate::params! {
    /// EWFQ's parameters. Defaults are lu2012's, with many classes.
    pub struct EwfqConfig {
        /// How many classes there are.
        classes: u32 = 1024, "n", 1 ..= 65_536;
        /// What decides the class of a packet: a hash of its flow, or the class that the driver gave it.
        map: Map = Map::Flow, "", 0 ..= 0;
        /// A flow goes to any of so many classes that its hash deals it, where nobody is if there is one; with `map` flow.
        ways: u32 = 1, "", 1 ..= 16;
        /// Each class's part of the link, in proportion.
        weights: ByClass<f64> = ByClass::all(1.0), "w_i", 0.01 ..= 10_000.0;
        /// Whether each class heeds drops.
        responsive: ByClass<Responsive> = ByClass::all(Responsive::Off), "", 0 ..= 0;
        /// How many responsive flows each class has; 1 if unknown.
        flows: ByClass<f64> = ByClass::all(1.0), "n_i", 1.0 ..= 1_000_000.0;
        /// In which order classes are served.
        order: Order = Order::Wf2qPlus, "", 0 ..= 0;
        /// Time between two steps of m_fair.
        update: Span = Span::from_millis(10), "1 / f_s", 1_000 ..= 3_600_000_000_000_u64;
        /// The backlog aimed at, as a share of the limit.
        target: Prob = Prob::clip(0.5), "q_target", 0.0 ..= 1.0;
        /// In which unit the controller sees the backlog; m_fair is in bytes.
        unit: BacklogUnit = BacklogUnit::Bytes, "", 0 ..= 0;
        /// What the backlog at the step before weighs.
        alpha: f64 = 0.85, "alpha", 0.0 ..= 1_000_000.0;
        /// What the backlog of the moment weighs.
        beta: f64 = 0.9, "beta", 0.0 ..= 1_000_000.0;
        /// Over what time bytes are counted, in whole updates.
        interval: Span = Span::from_millis(1000), "t_i", 1_000 ..= 3_600_000_000_000_u64;
        /// Whether a class is judged by whole intervals or by one that slides.
        window: JudgedOver = JudgedOver::Whole, "", 0 ..= 0;
        /// How far m_fair may rise.
        ceiling: Ceiling = Ceiling::Link, "", 0 ..= 0;
        /// How far m_fair may fall.
        floor: Floor = Floor::Packet, "", 0 ..= 0;
        /// A class loses nothing unless it sends so many times m_fair, by weight.
        leeway: f64 = 1.0, "", 1.0 ..= 1000.0;
        /// Who goes when the shared buffer is full.
        overflow: EwfqVictim = EwfqVictim::Arrival, "", 0 ..= 0;
        /// The greatest round-trip time that flows may have.
        rtt: Span = Span::from_millis(500), "RTT_o", 1_000 ..= 3_600_000_000_000_u64;
        /// Length of a TCP flow's packets.
        packet: Bytes = Bytes::new(1000), "size_p", 1 ..= 65_535;
        /// How many classes are taken to be busy (no more than there are), for the first m_fair and for the sampling.
        busy: u32 = 16, "", 1 ..= 65_536;
        /// How likely a class with a fair share among these is not found in an interval; the sampling follows from it.
        miss: Prob = Prob::clip(0.1), "", 0.0 ..= 1.0;
        /// How many matches it takes to be held; with 0 to be sampled is enough.
        stages: u32 = 1, "k", 0 ..= 16;
        /// How many packets the cache remembers.
        cache: u32 = 100, "N_c", 1 ..= 1_048_576;
        /// With which chance a packet gets into the cache.
        insertion: Prob = Prob::clip(0.1), "p_c", 0.0 ..= 1.0;
        /// Which packets can: those that were sampled, or all of classes that are not held.
        insert: Insert = Insert::Sampled, "", 0 ..= 0;
        /// A class is held on if it sent so much of the mean m_fair in an interval, by weight.
        threshold: f64 = 0.5, "T", 0.001 ..= 1000.0;
        /// How long a class is held before it is judged by what it has sent since.
        settle: Span = Span::from_millis(10), "", 1_000 ..= 3_600_000_000_000_u64;
    }
}

/// The most updates of an interval.
const MOST_UPDATES: u64 = 100_000;
/// Far below this gamma everything is dropped; it must not grow without end for a class that heeds
/// nothing all the same.
const MOST_GAMMA: f64 = 1e9;

/// What is known of a class that sends much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    /// m_i: bytes in this interval, dropped or not.
    pub bytes: u64,
    /// What it is judged by: bytes in the interval before, or in the t_i until the last update;
    /// `None` if it was not held then.
    pub sent: Option<f64>,
    /// With a window that slides: bytes in the interval before, all of it; `None` if it was not
    /// held then.
    before: Option<f64>,
    /// RTT_o / RTT of a class that heeds drops, as far as it is known; else 1.
    pub gamma: f64,
    /// Since when it is held.
    pub since: Time,
}

/// What a class is, and what follows from its weight.
#[derive(Clone, Copy, Debug)]
struct ClassState {
    responsive: Responsive,
    /// 1 / w_i, the least of all w being 1.
    per_weight: f64,
    /// n_i² / w_i².
    factor: f64,
    /// p / w_i.
    chance: f64,
}

impl ClassState {
    /// So many bytes, by weight.
    #[inline]
    fn by_weight(&self, bytes: u64) -> u64 {
        (bytes as f64 * self.per_weight + 0.5) as u64
    }
}

/// Weighted fair queueing over one shared buffer, with differential dropping (lu2012).
#[derive(Clone, Debug)]
pub struct Ewfq {
    classes: Classes,
    kinds: Vec<ClassState>,
    held: ClassLines,
    senders: SampleHold<Held>,
    control: FairControl,
    every: Every,
    /// Updates in an interval, and how many of this one have been.
    updates: u64,
    updated: u64,
    ceiling: Ceiling,
    floor: Floor,
    /// size_p, and what the link sends in t_i.
    bounds: (f64, f64),
    /// What r_fair of §III-A is, as far as it has been worked out.
    r_fair: f64,
    leeway: f64,
    overflow: EwfqVictim,
    /// The class with the longest line by weight, as far as was seen when packets came.
    longest: usize,
    /// m_fair at these, added up.
    sum: f64,
    /// Eq. (1) is this over m_fair².
    eq1: f64,
    threshold: f64,
    judging: Judging,
    link: Link,
    dice: Rng,
}

/// What held classes send, towards r_fair: C = sum of min(r_i, r_fair w_i).
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    /// All that they sent, and the most of one by weight.
    sent: f64,
    largest: f64,
    /// Their weights.
    weights: f64,
    /// Of those who sent no more than the last r_fair, by weight: what they sent, and their
    /// weights.
    below: f64,
    weights_below: f64,
}

impl Load {
    #[inline]
    fn add(&mut self, sent: f64, per_weight: f64, r_fair: f64) {
        let (by_weight, weight) = (sent * per_weight, 1.0 / per_weight);
        self.sent += sent;
        self.largest = self.largest.max(by_weight);
        self.weights += weight;
        if by_weight <= r_fair {
            self.below += sent;
            self.weights_below += weight;
        }
    }

    /// A step of Newton's towards the r_fair with which `link` is used up: from below as from above
    /// it ends below it, and no lower than an equal part for everybody. If all together send
    /// less than that, the largest.
    fn r_fair(&self, link: f64) -> f64 {
        if self.sent <= link {
            return self.largest;
        }
        let (equal, above) = (link / self.weights, self.weights - self.weights_below);
        // The least weight is 1.
        if above > 0.5 { ((link - self.below) / above).max(equal) } else { equal }
    }
}

/// By what a held class is judged.
#[derive(Clone, Copy, Debug)]
struct Judging {
    window: JudgedOver,
    settle: Span,
    /// t_i in seconds.
    interval: f64,
}

impl Judging {
    /// What a class sent in t_i as far as it is known.
    #[inline]
    fn sent(&self, now: Time, held: &Held) -> Option<f64> {
        match self.window {
            JudgedOver::Whole if held.sent.is_none() => self.at_its_pace(now, held),
            JudgedOver::Whole | JudgedOver::Sliding => held.sent,
        }
    }

    /// The same of a class that was found lately; `None` if that was just now.
    #[inline]
    fn at_its_pace(&self, now: Time, held: &Held) -> Option<f64> {
        let elapsed = now.since(held.since);
        (elapsed >= self.settle).then(|| held.bytes as f64 * self.interval / elapsed.as_secs())
    }

    /// What a class sent in the interval that ends now: as counted, or with a window that slides,
    /// of a class that was found in it, at its pace; `None` if it was found just now.
    fn of_interval(&self, now: Time, held: &Held) -> Option<f64> {
        match self.window {
            JudgedOver::Sliding if held.before.is_none() => self.at_its_pace(now, held),
            JudgedOver::Whole | JudgedOver::Sliding => Some(held.bytes as f64),
        }
    }
}

/// Whether `class` is some flow's: something of it waits, or it sent much lately.
fn is_used(held: &ClassLines, senders: &SampleHold<Held>, class: usize) -> bool {
    held.of(class).packets > 0 || senders.find(class as u64).is_some()
}

impl Ewfq {
    /// The class of `pkt`.
    #[inline]
    pub fn class_of(&self, pkt: &Packet) -> usize {
        self.classes.among(pkt, |class| is_used(&self.held, &self.senders, class))
    }

    /// m_fair: what a class of weight 1 may send in an interval, in bytes.
    pub fn m_fair(&self) -> f64 {
        self.control.m_fair
    }

    /// What is known of `class`, if it is held.
    pub fn sender(&self, class: usize) -> Option<Held> {
        self.senders.find(class as u64).map(|slot| self.senders[slot])
    }

    /// The dice as they lie.
    pub fn dice(&self) -> &Rng {
        &self.dice
    }

    #[inline]
    fn catch_up(&mut self, now: Time) {
        if now >= self.every.due() {
            self.steps(now);
        }
    }

    /// Nothing has changed since the last call, so that all overdue updates see the same queue.
    #[cold]
    fn steps(&mut self, now: Time) {
        let q = self.held.all().bytes as f64;
        while let Some(at) = self.every.step(now) {
            self.updated += 1;
            if self.judging.window == JudgedOver::Sliding {
                self.slide(at);
            }
            self.control.range = self.range(at);
            self.control.step(q);
            self.sum += self.control.m_fair;
            if self.updated == self.updates {
                self.end_interval(at);
            }
            // With nobody held whole intervals without an arrival are but steps of m_fair.
            if self.updated == 0 && self.senders.is_empty() {
                let idle = self.every.overdue(now) / self.updates * self.updates;
                self.control.range = self.bounds;
                self.control.steps(q, idle);
                self.every.skip(idle);
            }
        }
    }

    /// What each held class sent in the t_i until `now`.
    fn slide(&mut self, now: Time) {
        let left = (self.updates - self.updated) as f64 / self.updates as f64;
        let judging = self.judging;
        self.senders.states_mut().for_each(|held| {
            held.sent = match held.before {
                Some(before) => Some(held.bytes as f64 + left * before),
                None => judging.at_its_pace(now, held),
            };
        });
    }

    /// Within which bounds m_fair is kept now. While nobody is held, or nobody long enough, by the
    /// link alone.
    fn range(&mut self, now: Time) -> (f64, f64) {
        let (least, link) = self.bounds;
        if (self.floor, self.ceiling) == (Floor::Packet, Ceiling::Link) {
            return self.bounds;
        }
        let mut load = Load::default();
        for (class, held) in self.senders.iter() {
            if let Some(sent) = self.judging.sent(now, held) {
                load.add(sent, self.kinds[class as usize].per_weight, self.r_fair);
            }
        }
        self.r_fair = load.r_fair(link);
        let most = if self.ceiling == Ceiling::Largest && load.weights > 0.0 {
            load.largest
        } else {
            link
        };
        let most = most.clamp(least, link);
        match self.floor {
            Floor::Fair if load.weights > 0.0 => (self.r_fair.clamp(least, most), most),
            Floor::Fair | Floor::Packet => (least, most),
        }
    }

    /// §IV-B: gamma, and who is held on.
    fn end_interval(&mut self, now: Time) {
        let mean = self.sum / self.updates as f64;
        (self.sum, self.updated) = (0.0, 0);
        let (kinds, judging, threshold) = (&self.kinds, self.judging, self.threshold * mean);
        self.senders.retain(|class, held| {
            let kind = &kinds[class as usize];
            let Some(bytes) = judging.of_interval(now, held) else { return true };
            let by_weight = bytes * kind.per_weight;
            if kind.responsive == Responsive::On {
                held.gamma = (0.5 * held.gamma * (1.0 + by_weight / mean)).clamp(1.0, MOST_GAMMA);
            }
            (held.bytes, held.sent, held.before) = (0, Some(bytes), Some(bytes));
            by_weight >= threshold
        });
    }

    /// Counts the packet, or tries to find its class: what is known of the class, if it is held.
    #[inline]
    fn count(&mut self, now: Time, class: usize, len: u32) -> Option<Held> {
        if let Some(slot) = self.senders.find(class as u64) {
            self.senders[slot].bytes += len as u64;
            return Some(self.senders[slot]);
        }
        if self.senders.identify(class as u64, len, self.kinds[class].chance, &mut self.dice) {
            let held = Held { bytes: len as u64, sent: None, before: None, gamma: 1.0, since: now };
            self.senders.hold(class as u64, held)?;
            return Some(held);
        }
        None
    }

    /// The probability with which a packet of `class` is dropped: eq. (2) for one that heeds drops,
    /// else what it sends too much; 0 for one that does not send too much. Eq. (2) may exceed
    /// 1.
    #[inline]
    fn drop(&self, now: Time, class: usize, held: &Held) -> f64 {
        let Some(sent) = self.judging.sent(now, held) else { return 0.0 };
        let (kind, m_fair) = (&self.kinds[class], self.control.m_fair);
        let normalised = sent * kind.per_weight;
        if normalised <= m_fair * self.leeway {
            return 0.0;
        }
        match kind.responsive {
            Responsive::Off => self.control.drop(normalised),
            Responsive::On => held.gamma * held.gamma * kind.factor * self.eq1 / (m_fair * m_fair),
        }
    }

    /// Whether the packet goes, and why.
    #[inline]
    fn judge(&mut self, now: Time, class: usize, len: u32) -> Option<DropReason> {
        let held = self.count(now, class, len)?;
        let drop = self.drop(now, class, &held);
        if drop <= 0.0 || !self.dice.chance(drop) {
            return None;
        }
        Some(match self.kinds[class].responsive {
            Responsive::On => DropReason::Early,
            Responsive::Off => DropReason::Unfair,
        })
    }
}

impl Ewfq {
    /// What waits in `class`, by weight.
    #[inline]
    fn length(&self, class: usize) -> u64 {
        self.kinds[class].by_weight(self.held.of(class).bytes)
    }

    /// After an arrival of `class`: whether its line is the longest now.
    #[inline]
    fn compare(&mut self, class: usize) {
        if self.overflow == EwfqVictim::Longest && self.length(class) > self.length(self.longest) {
            self.longest = class;
        }
    }

    /// Takes the last packets of the longest line until one of `len` bytes finds room; not of one
    /// that is no longer than the line of `class` with it, and no line's only packet. Whether
    /// there is room then.
    #[cold]
    fn make_room<S: Sink + ?Sized>(
        &mut self,
        now: Time,
        class: usize,
        len: u32,
        out: &mut S,
    ) -> bool {
        self.compare(class);
        while self.overflow == EwfqVictim::Longest && !self.link.has_room(self.held.all(), len) {
            let own = self.kinds[class].by_weight(self.held.of(class).bytes + len as u64);
            if self.length(self.longest) <= own {
                return false;
            }
            let Some(victim) = self.held.pop_tail(self.longest) else { return false };
            out.dropped(now, &victim, DropReason::Evicted);
        }
        self.overflow == EwfqVictim::Longest
    }
}

impl Qdisc for Ewfq {
    #[inline]
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, mut pkt: Packet, out: &mut S) {
        pkt.arrived = now;
        self.catch_up(now);
        let class = self.classes.take(&pkt, |class| is_used(&self.held, &self.senders, class));
        if let Some(why) = self.judge(now, class, pkt.len) {
            out.dropped(now, &pkt, why);
        } else if self.link.has_room(self.held.all(), pkt.len)
            || self.make_room(now, class, pkt.len, out)
        {
            self.held.push(class, pkt);
            self.compare(class);
        } else {
            out.dropped(now, &pkt, DropReason::Overlimit);
        }
    }

    #[inline]
    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, _: &mut S) -> Option<Packet> {
        self.catch_up(now);
        self.held.pop()
    }

    fn advance(&mut self, now: Time) {
        self.catch_up(now);
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.held.all()
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        see(Gauge { name: "m_fair", unit: "B", value: self.control.m_fair });
        see(Gauge { name: "held_classes", unit: "", value: self.senders.len() as f64 });
        see(Gauge { name: "busy_classes", unit: "", value: self.held.busy() as f64 });
        let gamma = self.senders.states().fold(1.0, |most: f64, held| most.max(held.gamma));
        see(Gauge { name: "largest_gamma", unit: "", value: gamma });
    }
}

impl EwfqConfig {
    fn rules(&self) -> HoldRules {
        HoldRules {
            stages: self.stages,
            cache: self.cache,
            insertion: self.insertion.get(),
            insert: self.insert,
        }
    }

    /// t_i in updates of 1/f_s: the nearest whole number, one at least.
    fn updates(&self) -> u64 {
        let update = self.update.as_nanos();
        ((self.interval.as_nanos() + update / 2) / update).max(1)
    }

    /// t_i in seconds.
    fn seconds(&self) -> f64 {
        self.updates() as f64 * self.update.as_secs()
    }

    /// What a class with the fair share among the busy ones sends in an interval, in bytes.
    fn fair(&self, link: &Link) -> f64 {
        link.rate.as_bps() as f64 / 8.0 * self.seconds() / self.busy.min(self.classes) as f64
    }

    fn control(&self, link: &Link) -> FairControl {
        let least = self.packet.get() as f64;
        let gain = match self.unit {
            BacklogUnit::Bytes => 1.0,
            BacklogUnit::Bits => 8.0,
        };
        let most = (link.rate.as_bps() as f64 / 8.0 * self.seconds()).max(least);
        FairControl {
            m_fair: self.fair(link).clamp(least, most),
            q_old: 0.0,
            alpha: self.alpha * gain,
            beta: self.beta * gain,
            target: self.target.get() * link.limit.in_bytes(link.mean_packet) as f64,
            range: (least, most),
        }
    }

    fn kinds(&self, link: &Link) -> Vec<ClassState> {
        let len = self.packet.get() as f64;
        let share = 1.0 / self.busy.min(self.classes) as f64;
        let packets = (self.fair(link) / len) as u64;
        // Without a cache no packet has to match one.
        let (share_of_cache, stages) =
            if self.stages == 0 { (1.0, 1) } else { (share, self.stages) };
        let chance = chance_per_byte(self.miss.get(), packets, share_of_cache, stages, len);
        let weights = (0..self.classes as usize).map(|class| self.weights.of(class));
        let least = weights.clone().fold(f64::INFINITY, f64::min);
        let kind = |(class, weight): (usize, f64)| {
            let per_weight = least / weight;
            let flows = self.flows.of(class) * per_weight;
            ClassState {
                responsive: self.responsive.of(class),
                per_weight,
                factor: flows * flows,
                chance: chance * per_weight,
            }
        };
        weights.enumerate().map(kind).collect()
    }
}

/// Harmless where nobody sends too much, and exact about who does; each departure from the paper
/// stands in the manual page.
fn auto(link: &Link) -> EwfqConfig {
    EwfqConfig {
        classes: auto_buckets(link),
        ways: WAYS,
        unit: BacklogUnit::Bits,
        window: JudgedOver::Sliding,
        ceiling: Ceiling::Largest,
        floor: Floor::Fair,
        leeway: 1.25,
        overflow: EwfqVictim::Longest,
        miss: Prob::ZERO,
        stages: 0,
        ..EwfqConfig::default()
    }
}

impl Entry for Ewfq {
    type Config = EwfqConfig;
    const INFO: Info = Info {
        title: "weighted fair queueing over one shared buffer, with drops by what each class sends",
        paper: "lu2012",
        manual: include_str!("ewfq.md"),
    };
    const PRESETS: &'static [Preset<EwfqConfig>] = &[
        Preset {
            name: "auto",
            doc: "flows with a class each, all held, none known to heed drops; the longest line makes room; see below",
            config: auto,
        },
        Preset {
            name: "paper",
            doc: "lu2012 §V: three classes as the driver gives them, the first two TCP; the backlog in bits, m_fair no higher than what classes send; the longest line makes room",
            config: |_| EwfqConfig {
                classes: 3,
                map: Map::Class,
                responsive: ByClass::each(&[Responsive::On, Responsive::On, Responsive::Off]),
                unit: BacklogUnit::Bits,
                ceiling: Ceiling::Largest,
                overflow: EwfqVictim::Longest,
                ..EwfqConfig::default()
            },
        },
    ];

    fn build(config: &EwfqConfig, link: Link, mut dice: Rng) -> Result<Self, ConfigError> {
        if config.updates() > MOST_UPDATES {
            let why = format!("must be at most {MOST_UPDATES} updates of {}", config.update);
            return Err(ConfigError::new("interval", config.interval, why));
        }
        let control = config.control(&link);
        let window = config.rtt.as_secs() / config.seconds() / config.packet.get() as f64;
        Ok(Ewfq {
            classes: Classes::new(config.map, config.classes, config.ways, &mut dice),
            kinds: config.kinds(&link),
            held: ClassLines::new(config.classes, &config.weights, config.order, &link),
            senders: SampleHold::new(config.classes, config.rules()),
            control,
            every: Every::new(config.update),
            updates: config.updates(),
            updated: 0,
            sum: 0.0,
            eq1: 1.0 / (0.66 * window * window),
            threshold: config.threshold,
            ceiling: config.ceiling,
            floor: config.floor,
            bounds: control.range,
            r_fair: 0.0,
            leeway: config.leeway,
            overflow: config.overflow,
            longest: 0,
            judging: Judging {
                window: config.window,
                settle: config.settle,
                interval: config.seconds(),
            },
            link,
            dice,
        })
    }

    fn state_bytes(config: &EwfqConfig, link: &Link) -> u64 {
        let classes = config.classes as u64;
        let kinds = classes * core::mem::size_of::<ClassState>() as u64;
        let senders = SampleHold::<Held>::bytes(config.classes, &config.rules());
        let ways =
            if config.map == Map::Flow { Ways::bytes(config.classes, config.ways) } else { 0 };
        core::mem::size_of::<Ewfq>() as u64
            + ways
            + kinds
            + ClassLines::bytes(classes, link)
            + senders
    }

    // What is known of a class is known of another flow then, until the end of an interval; a flood
    // is found anew by its packets.
    fn bucket_lifetime(config: &EwfqConfig) -> Option<Span> {
        (config.map == Map::Flow).then_some(FOREVER)
    }

    fn hash_table(config: &EwfqConfig) -> Option<HashTable> {
        (config.map == Map::Flow)
            .then_some(HashTable { buckets: config.classes, ways: config.ways })
    }
}
