#![doc = include_str!("choke.md")]
use alloc::vec::Vec;

use crate::config::ConfigError;
use crate::entry::{DEFAULT_PRESET, Entry, Info, Linux, Preset};
use crate::packet::{Ecn, Packet};
use crate::parts::lines::Lines;
use crate::policy::{Policy, Signal, Verdict};
use crate::qdisc::{Backlog, DropReason, Gauge, Link, Qdisc, Sink};
use crate::queues::red::{
    ByteOrder, Certain, DELAY_TARGET, Gentle, Mode, RedConfig, RedRule, SignalSpacing, automatic,
    share,
};
use crate::rng::Rng;
use crate::units::{Prob, Size, Time};

crate::params! {
    /// CHOKe's parameters. Default thresholds are for a limit of 300 packets; the presets take them
    /// from the limit.
    pub struct ChokeConfig: RedConfig {
        min: Size = Size::Packets(100);
        /// At this average RED's p_b has risen to `probability`; above, whatever was not compared
        /// away is dropped.
        max: Size = Size::Packets(200);
        probability: Prob = Prob::clip(0.02);
        weight: f64 = 0.002;
        /// How many waiting packets an arriving one is compared with.
        candidates: u32 = 1, "m", 1 ..= 256;
        /// Above 0: in so many equal regions from `min` to `max`, 2, 4, 6 … candidates, whatever
        /// `candidates` says.
        regions: u32 = 0, "k", 0 ..= 128;
        mode: Mode = Mode::Packets;
        byte_order: ByteOrder = ByteOrder::After;
        gentle: Gentle = Gentle::Off;
        wait: SignalSpacing = SignalSpacing::Off;
        /// Whether RED's part marks ECN-capable packets instead of dropping them; a match always
        /// drops.
        ecn: Signal = Signal::Mark;
        mark_above_max: Certain = Certain::Drop;
    }
}

/// A FIFO whose arrivals are compared with packets drawn from it (pan2000).
///
/// Not a [`Fifo`](crate::policy::Fifo), since packets leave from its middle and any is to be drawn
/// at once.
#[derive(Clone, Debug)]
pub struct Choke {
    waiting: Crowd,
    red: RedRule,
    /// Where the thresholds' interval begins, and one over the length of a region in it.
    min: f64,
    per_region: f64,
    candidates: u32,
    regions: u32,
    /// Tags of the candidates that matched.
    matched: Vec<u32>,
    link: Link,
    dice: Rng,
    arrivals: u64,
    matches: u64,
}

/// A line of packets where any can be drawn and can leave. A packet's tag says where in `all` it
/// stands.
#[derive(Clone, Debug)]
struct Crowd {
    line: Lines,
    /// Where they wait, without gaps and in no order.
    all: Vec<u32>,
}

impl Crowd {
    #[inline]
    fn backlog(&self) -> Backlog {
        self.line.backlog(0)
    }

    #[inline]
    fn push(&mut self, pkt: Packet) {
        let place = self.line.push(0, Packet { tag: self.all.len() as u32, ..pkt });
        self.all.push(place);
    }

    /// The flow of the packet with this tag.
    #[inline]
    fn flow(&self, tag: u32) -> u64 {
        self.line.packet(self.all[tag as usize]).flow
    }

    /// The last in `all` takes the place that has become free.
    #[inline]
    fn close_gap(&mut self, tag: u32) {
        self.all.swap_remove(tag as usize);
        if let Some(&moved) = self.all.get(tag as usize) {
            self.line.packet_mut(moved).tag = tag;
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<Packet> {
        let pkt = self.line.pop(0)?;
        self.close_gap(pkt.tag);
        Some(pkt)
    }

    fn remove(&mut self, tag: u32) -> Packet {
        let pkt = self.line.remove(0, self.all[tag as usize]);
        self.close_gap(tag);
        pkt
    }
}

impl Choke {
    /// The RED inside.
    pub fn red(&self) -> &RedRule {
        &self.red
    }

    /// The dice as they lie: compared before and after a call, they tell a test what was rolled.
    pub fn dice(&self) -> &Rng {
        &self.dice
    }

    /// m: how many candidates are drawn at the average of the moment.
    #[inline]
    pub fn candidates(&self) -> u32 {
        if self.regions == 0 {
            return self.candidates;
        }
        let region = 1 + ((self.red.avg() - self.min) * self.per_region) as u32;
        2 * region.min(self.regions)
    }

    /// Draws the candidates and drops those that are of the flow of `pkt`; whether there were any.
    #[inline]
    fn compare<S: Sink + ?Sized>(&mut self, now: Time, flow: u64, out: &mut S) -> bool {
        let waiting = self.waiting.all.len() as u64;
        if self.red.avg() < self.min || waiting == 0 {
            return false;
        }
        self.arrivals += 1;
        for _ in 0..self.candidates() {
            let tag = self.dice.below(waiting) as u32;
            if self.waiting.flow(tag) == flow && !self.matched.contains(&tag) {
                self.matched.push(tag);
            }
        }
        !self.matched.is_empty() && self.strike(now, out)
    }

    /// Drops what matched. From the highest tag down: a tag changes only if it is the highest of
    /// all.
    fn strike<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> bool {
        self.matches += 1;
        self.matched.sort_unstable();
        while let Some(tag) = self.matched.pop() {
            let victim = self.waiting.remove(tag);
            out.dropped(now, &victim, DropReason::Unfair);
        }
        true
    }

    #[inline]
    fn admit(&mut self, pkt: Packet) {
        self.red.entered();
        self.waiting.push(pkt);
    }
}

impl Qdisc for Choke {
    #[inline]
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, mut pkt: Packet, out: &mut S) {
        pkt.arrived = now;
        let waiting = self.waiting.backlog();
        self.red.estimate(now, waiting);
        if self.compare(now, pkt.flow, out) {
            return out.dropped(now, &pkt, DropReason::Unfair);
        }
        if !self.link.has_room(waiting, pkt.len) {
            self.red.overflow(waiting.packets);
            return out.dropped(now, &pkt, DropReason::Overlimit);
        }
        match self.red.judge(pkt.len, waiting.packets, &mut self.dice) {
            Verdict::Mark(why) if pkt.ecn.is_capable() => {
                pkt.ecn = Ecn::Ce;
                out.marked(now, &pkt, why);
                self.admit(pkt);
            }
            Verdict::Mark(why) => out.dropped(now, &pkt, why.as_drop()),
            Verdict::Drop(why) => out.dropped(now, &pkt, why),
            Verdict::Admit | Verdict::Evict(..) => self.admit(pkt),
        }
    }

    #[inline]
    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, _: &mut S) -> Option<Packet> {
        let pkt = self.waiting.pop();
        if pkt.is_none() {
            self.red.idle(now);
        }
        pkt
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.waiting.backlog()
    }

    fn inherit(&mut self, old: &mut Choke) -> bool {
        core::mem::swap(&mut self.waiting, &mut old.waiting);
        true
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        self.red.gauges(see);
        see(Gauge {
            name: "matched",
            unit: "",
            value: self.matches as f64 / self.arrivals.max(1) as f64,
        });
    }
}

/// Thresholds of ours: a third of the limit and twice that, the least that floyd1993 advises.
fn paper(link: &Link) -> ChokeConfig {
    let min = share(link, 1.0 / 3.0);
    // Of a limit of a few bytes a third is nothing.
    let max = match min.scale(2.0) {
        Size::Packets(n) => Size::Packets(n.max(1)),
        Size::Bytes(b) => Size::Bytes(b.max(1)),
    };
    ChokeConfig { min, max, ..ChokeConfig::default() }
}

fn auto(link: &Link) -> ChokeConfig {
    let (min, max, weight) = automatic(link, DELAY_TARGET);
    let probability = Prob::clip(0.1);
    ChokeConfig {
        min,
        max,
        weight,
        probability,
        gentle: Gentle::On,
        wait: SignalSpacing::On,
        ..ChokeConfig::default()
    }
}

impl Entry for Choke {
    type Config = ChokeConfig;
    const INFO: Info = Info {
        title: "RED that compares each arrival with waiting packets drawn at random, and drops \
             both of one flow",
        paper: "pan2000",
        manual: include_str!("choke.md"),
    };
    const LINUX: Option<Linux> = Some(Linux {
        tc: "choke limit {limit:packets} min {min:packets} max {max:packets} burst \
             {burst:packets} probability {probability} bandwidth {rate}{ecn}",
        preset: DEFAULT_PRESET,
        differs: "Linux compares with one waiting packet, and works out the weight from `burst`.",
        whole: true,
    });
    const PRESETS: &'static [Preset<ChokeConfig>] = &[
        Preset {
            name: "paper",
            doc: "one candidate, thresholds at a third and two thirds of the limit",
            config: paper,
        },
        Preset {
            name: "regions",
            doc: "the same with 2, 4 … 16 candidates, the more the longer the queue",
            config: |link| ChokeConfig { regions: 8, ..paper(link) },
        },
        Preset {
            name: "auto",
            doc: "one candidate, RED as its `auto`: thresholds and weight from rate and limit",
            config: auto,
        },
    ];

    fn build(config: &ChokeConfig, link: Link, dice: Rng) -> Result<Self, ConfigError> {
        let red = RedRule::new(&config.base(), &link)?;
        let (min, max) = red.thresholds();
        Ok(Choke {
            waiting: Crowd { line: Lines::new(1), all: Vec::new() },
            red,
            min,
            per_region: config.regions as f64 / (max - min),
            candidates: config.candidates,
            regions: config.regions,
            matched: Vec::with_capacity(most_candidates(config)),
            link,
            dice,
            arrivals: 0,
            matches: 0,
        })
    }

    fn state_bytes(config: &ChokeConfig, link: &Link) -> u64 {
        let word = core::mem::size_of::<u32>() as u64;
        let lists = Lines::bytes(1, link.most_packets()) + link.most_packets() * word;
        core::mem::size_of::<Choke>() as u64 + lists + most_candidates(config) as u64 * word
    }
}

fn most_candidates(config: &ChokeConfig) -> usize {
    config.candidates.max(2 * config.regions) as usize
}
