#![doc = include_str!("ewfq.md")]
mod judging;
mod params;
mod presets;

use alloc::vec::Vec;

use crate::packet::Packet;
use crate::parts::class_lines::ClassLines;
use crate::parts::every::Every;
use crate::parts::fair_control::FairControl;
use crate::parts::sample_hold::SampleHold;
use crate::parts::spread::Classifier;
use crate::qdisc::{Backlog, DropReason, Gauge, Link, Qdisc, Sink};
use crate::rng::Rng;
use crate::units::Time;
use judging::{HeldLoad, Judging};
pub use params::*;

/// The most updates of an interval.
const MOST_UPDATES: u64 = 100_000;
/// Far below this gamma everything is dropped; it must not grow without end for a class that heeds
/// nothing all the same.
const MOST_GAMMA: f64 = 1e9;

/// What is known of a class that sends much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldClass {
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
    classes: Classifier,
    kinds: Vec<ClassState>,
    held: ClassLines,
    senders: SampleHold<HeldClass>,
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

/// Whether `class` is some flow's: something of it waits, or it sent much lately.
fn is_used(held: &ClassLines, senders: &SampleHold<HeldClass>, class: usize) -> bool {
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
    pub fn sender(&self, class: usize) -> Option<HeldClass> {
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
        let mut load = HeldLoad::default();
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
    fn count(&mut self, now: Time, class: usize, len: u32) -> Option<HeldClass> {
        if let Some(slot) = self.senders.find(class as u64) {
            self.senders[slot].bytes += len as u64;
            return Some(self.senders[slot]);
        }
        if self.senders.identify(class as u64, len, self.kinds[class].chance, &mut self.dice) {
            let held =
                HeldClass { bytes: len as u64, sent: None, before: None, gamma: 1.0, since: now };
            self.senders.hold(class as u64, held)?;
            return Some(held);
        }
        None
    }

    /// The probability with which a packet of `class` is dropped: eq. (2) for one that heeds drops,
    /// else what it sends too much; 0 for one that does not send too much. Eq. (2) may exceed
    /// 1.
    #[inline]
    fn drop(&self, now: Time, class: usize, held: &HeldClass) -> f64 {
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

    /// Takes the last packets of the longest line until one of `len` bytes finds room. It takes
    /// none of a line that is no longer than the line of `class` with it, and no line's only
    /// packet. Whether there is room then.
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
