#![doc = include_str!("csfq.md")]
use alloc::vec::Vec;

use crate::choices;
use crate::config::{ByClass, ConfigError, Value};
use crate::entry::{Entry, Info, Preset, TARGET_RTT};
use crate::packet::Packet;
use crate::parts::flow_table::FlowTable;
use crate::parts::rate::{RateEstimator, Stream};
use crate::policy::{Fifo, Policy, QueueView, Verdict};
use crate::qdisc::{Backlog, DropReason, Gauge, Link};
use crate::rng::Rng;
use crate::units::{Prob, Size, Span, Time};

/// A FIFO that drops from each flow by how far its rate exceeds the fair share (stoica1998).
pub type Csfq = Fifo<CsfqRule>;

choices! {
    /// Which arrivals bring the accepted rate up to date.
    pub enum Forwarded {
        /// Those that are accepted, as the pseudo-code has it.
        Accepted = "accepted",
        /// All of them, those that are dropped with a length of 0, as the code for ns-2 has it.
        Arrivals = "arrivals",
    }
}

crate::params! {
    /// CSFQ's parameters. Defaults are the preset `paper`.
    pub struct CsfqConfig {
        /// Time constant of the flows' rates.
        memory: Span = Span::from_millis(100), "K", 1_000 ..= 3_600_000_000_000_u64;
        /// Time constant of the rates at which packets arrive and are accepted.
        link_memory: Span = Span::from_millis(200), "K_alpha", 1_000 ..= 3_600_000_000_000_u64;
        /// How long congestion, or its absence, must last before the fair share changes.
        window: Span = Span::from_millis(200), "K_c", 1_000 ..= 3_600_000_000_000_u64;
        /// Which arrivals bring the accepted rate up to date.
        forwarded: Forwarded = Forwarded::Accepted, "F", 0 ..= 0;
        /// By what share the fair share falls when a packet finds no room.
        overflow: Prob = Prob::clip(0.01), "", 0.0 ..= 1.0;
        /// By what share it may fall so within a window.
        overflow_most: Prob = Prob::clip(0.25), "", 0.0 ..= 1.0;
        /// Up to this queue an uncongested link has no fair share, and drops from nobody; 0: the
        /// queue is not looked at.
        threshold: Size = Size::Packets(0), "", 0 ..= 1_000_000_000_000_u64;
        /// Each class's flows' part of the link, in proportion.
        weights: ByClass<f64> = ByClass::all(1.0), "w_i", 0.01 ..= 10_000.0;
        /// The most flows that are known at a time; a new one takes the place of the one that is
        /// idle longest.
        flows: u32 = 65_536, "", 1 ..= 16_777_216;
    }
}

/// The fair share of a link and what it is estimated from; rates in bytes per second.
#[derive(Clone, Debug)]
struct FairShare {
    estimator: RateEstimator,
    /// A and F.
    arriving: Stream,
    accepted: Stream,
    forwarded: Forwarded,
    /// C.
    capacity: f64,
    /// While the link is congested no label can be fair that is above this.
    most: f64,
    window: Span,
    /// α: 0 while nothing is known, and then nobody is dropped from.
    alpha: f64,
    congested: bool,
    since: Time,
    /// The largest label of a window without congestion.
    largest: f64,
    overflows: Overflows,
}

/// How packets that find no room lower α (stoica1998 §3.4).
#[derive(Clone, Debug)]
struct Overflows {
    factor: f64,
    /// What is left of α after all that overflows may take of it within a window.
    least: f64,
    /// The end of the window, and α's floor in it.
    until: Time,
    floor: f64,
}

impl FairShare {
    fn new(config: &CsfqConfig, link: &Link) -> FairShare {
        let capacity = link.rate.as_bps() as f64 / 8.0;
        FairShare {
            estimator: RateEstimator::new(config.link_memory),
            arriving: Stream::default(),
            accepted: Stream::default(),
            forwarded: config.forwarded,
            capacity,
            most: capacity / config.weights.extent().0,
            window: config.window,
            alpha: 0.0,
            congested: false,
            since: Time::ZERO,
            largest: 0.0,
            overflows: Overflows {
                factor: 1.0 - config.overflow.get(),
                least: 1.0 - config.overflow_most.get(),
                until: Time::ZERO,
                floor: 0.0,
            },
        }
    }

    /// A packet of `len` bytes with this label came and was dropped or not. `short`: the queue is
    /// below the threshold.
    #[inline]
    fn update(&mut self, now: Time, label: f64, len: u32, dropped: bool, short: bool) {
        self.arriving.update(&self.estimator, now, len);
        match (dropped, self.forwarded) {
            (false, _) => self.accepted.update(&self.estimator, now, len),
            (true, Forwarded::Arrivals) => self.accepted.update(&self.estimator, now, 0),
            (true, Forwarded::Accepted) => {}
        }
        if self.alpha == 0.0 && short {
            self.largest = self.largest.max(label);
        } else if self.arriving.rate() >= self.capacity {
            self.congested(now, label);
        } else {
            self.uncongested(now, label, short);
        }
    }

    #[inline]
    fn congested(&mut self, now: Time, label: f64) {
        if !self.congested {
            (self.congested, self.since) = (true, now);
        } else if now > self.since + self.window {
            if self.alpha > 0.0 {
                self.alpha = (self.alpha * (self.capacity / self.accepted.rate())).min(self.most);
            }
            self.since = now;
        }
        // The pseudo-code does this with the first packet only, whose label may be 0.
        if self.alpha == 0.0 {
            self.alpha = label.max(self.largest).min(self.most);
        }
    }

    #[inline]
    fn uncongested(&mut self, now: Time, label: f64, short: bool) {
        if self.congested {
            (self.congested, self.since, self.largest) = (false, now, 0.0);
        } else if now < self.since + self.window {
            self.largest = self.largest.max(label);
        } else {
            self.since = now;
            (self.alpha, self.largest) =
                if short { (0.0, self.largest) } else { (self.largest, 0.0) };
        }
    }

    /// An accepted packet found no room.
    #[cold]
    fn overflow(&mut self, now: Time) {
        let Overflows { factor, least, .. } = self.overflows;
        if now >= self.overflows.until {
            (self.overflows.until, self.overflows.floor) = (now + self.window, self.alpha * least);
        }
        if self.alpha > self.overflows.floor {
            self.alpha = (self.alpha * factor).max(self.overflows.floor);
        }
    }
}

/// The rule of CSFQ, edge and core in one.
#[derive(Clone, Debug)]
pub struct CsfqRule {
    estimator: RateEstimator,
    flows: FlowTable<Stream>,
    /// 1 / w_i; the last holds for all further classes.
    per_weight: Vec<f64>,
    fair: FairShare,
    threshold: Size,
    /// The arriving packet is to be dropped, settled when it was offered.
    doomed: bool,
}

impl CsfqRule {
    /// α: the fair share in bytes per second, 0 while nothing is known of it.
    pub fn fair_share(&self) -> f64 {
        self.fair.alpha
    }

    /// A: the rate at which packets arrive, in bytes per second.
    pub fn arrival_rate(&self) -> f64 {
        self.fair.arriving.rate()
    }

    /// F: the rate at which they are accepted, in bytes per second.
    pub fn accepted_rate(&self) -> f64 {
        self.fair.accepted.rate()
    }

    /// Whether the link counts as congested.
    pub fn is_congested(&self) -> bool {
        self.fair.congested
    }

    /// The estimated rate of `flow` in bytes per second; `None` for one that is not known.
    pub fn rate(&self, flow: u64) -> Option<f64> {
        self.flows.find(flow).map(|slot| self.flows[slot].rate())
    }

    /// The edge: brings the flow's rate up to date and gives the packet's label.
    #[inline]
    fn label(&mut self, now: Time, pkt: &Packet) -> f64 {
        let slot = self.account(pkt.flow);
        let flow = &mut self.flows[slot];
        flow.update(&self.estimator, now, pkt.len);
        flow.rate() * self.per_weight[(pkt.class as usize).min(self.per_weight.len() - 1)]
    }

    /// Where the flow's rate is kept, the flow now being the one that was seen last.
    #[inline]
    fn account(&mut self, flow: u64) -> u32 {
        if let Some(slot) = self.flows.find(flow) {
            self.flows.recall(slot);
            self.flows.retire(slot);
            return slot;
        }
        let slot = self.flows.insert(flow, Stream::default()).unwrap_or_else(|| {
            self.flows.remove(self.flows.oldest_retired().expect("all flows are in the line"));
            self.flows.insert(flow, Stream::default()).expect("there is room for one")
        });
        self.flows.retire(slot);
        slot
    }

    /// Whether no more waits than the threshold, if there is one.
    #[inline]
    fn is_short(&self, waiting: Backlog) -> bool {
        match self.threshold {
            Size::Packets(0) | Size::Bytes(0) => false,
            Size::Packets(n) => waiting.packets as u64 <= n,
            Size::Bytes(b) => waiting.bytes <= b,
        }
    }
}

impl Policy for CsfqRule {
    /// Rates, die and fair share come before the buffer: a packet that finds no room is one that
    /// was accepted, if it was.
    #[inline]
    fn offered(&mut self, now: Time, pkt: &Packet, queue: &impl QueueView, dice: &mut Rng) {
        let label = self.label(now, pkt);
        let die = dice.uniform();
        // u < 1 − α / label, without the division.
        self.doomed = self.fair.alpha > 0.0 && self.fair.alpha < label * (1.0 - die);
        let short = self.is_short(queue.backlog());
        self.fair.update(now, label, pkt.len, self.doomed, short);
    }

    #[inline]
    fn arrive(&mut self, _: Time, _: &mut Packet, _: &impl QueueView, _: &mut Rng) -> Verdict {
        if self.doomed { Verdict::Drop(DropReason::Unfair) } else { Verdict::Admit }
    }

    #[inline]
    fn refused(&mut self, now: Time, _: &Packet, why: DropReason, _: &impl QueueView) {
        if why == DropReason::Overlimit && !self.doomed {
            self.fair.overflow(now);
        }
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        see(Gauge { name: "alpha", unit: "bit/s", value: 8.0 * self.fair_share() });
        see(Gauge { name: "arrivals", unit: "bit/s", value: 8.0 * self.arrival_rate() });
        see(Gauge { name: "accepted", unit: "bit/s", value: 8.0 * self.accepted_rate() });
        see(Gauge { name: "congested", unit: "", value: self.fair.congested as u8 as f64 });
        see(Gauge { name: "known_flows", unit: "", value: self.flows.len() as f64 });
    }
}

/// Time constants of at least so many packets on the wire, where a target RTT is less.
const PACKETS: f64 = 16.0;

/// K the target RTT, or the time of 16 packets if that is longer; the others twice that.
fn auto(link: &Link) -> CsfqConfig {
    let memory = Span::from_secs((PACKETS / link.packets_per_second()).min(3600.0)).max(TARGET_RTT);
    let twice = Span::from_nanos(2 * memory.as_nanos()).min(Span::from_millis(3_600_000));
    CsfqConfig {
        memory,
        link_memory: twice,
        window: twice,
        forwarded: Forwarded::Arrivals,
        threshold: quarter(link),
        ..CsfqConfig::default()
    }
}

/// A quarter of the limit, as stoica1998's 16 kB of 64 kB.
fn quarter(link: &Link) -> Size {
    link.limit.scale(0.25)
}

impl Entry for Csfq {
    type Config = CsfqConfig;
    const INFO: Info = Info {
        title: "estimates each flow's rate and the fair share, and drops what exceeds it",
        paper: "stoica1998",
        manual: include_str!("csfq.md"),
    };
    const PRESETS: &'static [Preset<CsfqConfig>] = &[
        Preset {
            name: "paper",
            doc: "the constants of stoica1998",
            config: |_| CsfqConfig::default(),
        },
        Preset {
            name: "threshold",
            doc: "the same, and no fair share while no more than a quarter of the limit waits on \
                 an uncongested link",
            config: |link| CsfqConfig { threshold: quarter(link), ..CsfqConfig::default() },
        },
        Preset {
            name: "auto",
            doc: "time constants from the target RTT, or from the rate of a slow link; the \
                 threshold; all arrivals move F",
            config: auto,
        },
    ];

    fn build(config: &CsfqConfig, link: Link, dice: Rng) -> Result<Self, ConfigError> {
        let rule = CsfqRule {
            estimator: RateEstimator::new(config.memory),
            flows: FlowTable::new(config.flows),
            per_weight: config.weights.given().iter().map(|weight| 1.0 / weight).collect(),
            fair: FairShare::new(config, &link),
            threshold: config.threshold,
            doomed: false,
        };
        Ok(Fifo::new(rule, link, dice))
    }

    fn state_bytes(config: &CsfqConfig, _: &Link) -> u64 {
        let weights = config.weights.given().len() as u64 * 8;
        core::mem::size_of::<CsfqRule>() as u64
            + weights
            + FlowTable::<Stream>::state_bytes(config.flows)
    }
}
