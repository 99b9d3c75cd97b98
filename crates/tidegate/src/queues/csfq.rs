#![doc = include_str!("csfq.md")]
use alloc::vec::Vec;

use crate::choices;
use crate::config::{ByClass, ConfigError, Value};
use crate::entry::{Entry, Info, Preset, TARGET_RTT};
use crate::packet::Packet;
use crate::parts::fair_share::{
    FairShare, FairShareLaw, NodeCapacity, Overflows, ShareArrival, is_short,
};
use crate::parts::flow_table::FlowTable;
use crate::parts::rate::{RateEstimator, RateStream};
use crate::policy::{Fifo, Policy, QueueView, Verdict};
use crate::qdisc::{DropReason, Gauge, Link};
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

/// The rule of CSFQ, edge and core in one.
#[derive(Clone, Debug)]
pub struct CsfqRule {
    estimator: RateEstimator,
    flows: FlowTable<RateStream>,
    /// 1 / w_i; the last holds for all further classes.
    per_weight: Vec<f64>,
    law: FairShareLaw,
    fair: FairShare,
    capacity: NodeCapacity,
    overflows: Overflows,
    threshold: Size,
    /// The arriving packet is to be dropped, settled when it was offered.
    doomed: bool,
}

impl CsfqRule {
    /// α: the fair share in bytes per second, 0 while nothing is known of it.
    pub fn fair_share(&self) -> f64 {
        self.fair.alpha()
    }

    /// A: the rate at which packets arrive, in bytes per second.
    pub fn arrival_rate(&self) -> f64 {
        self.fair.arrival_rate()
    }

    /// F: the rate at which they are accepted, in bytes per second.
    pub fn accepted_rate(&self) -> f64 {
        self.fair.accepted_rate()
    }

    /// Whether the link counts as congested.
    pub fn is_congested(&self) -> bool {
        self.fair.is_congested()
    }

    /// The estimated rate of `flow` in bytes per second; `None` for one that is not known.
    pub fn rate(&self, flow: u64) -> Option<f64> {
        self.flows.find(flow).map(|slot| self.flows[slot].rate())
    }

    /// The edge: brings the flow's rate up to date and gives the packet's label.
    #[inline]
    fn label(&mut self, now: Time, pkt: &Packet) -> f64 {
        let slot = self.flows.renew(pkt.flow, RateStream::default());
        let flow = &mut self.flows[slot];
        flow.update(&self.estimator, now, pkt.len);
        flow.rate() * self.per_weight[(pkt.class as usize).min(self.per_weight.len() - 1)]
    }
}

impl Policy for CsfqRule {
    /// Rates, die and fair share come before the buffer: a packet that finds no room is one that
    /// was accepted, if it was.
    #[inline]
    fn offered(&mut self, now: Time, pkt: &Packet, queue: &impl QueueView, dice: &mut Rng) {
        let label = self.label(now, pkt);
        let die = dice.uniform();
        self.doomed = self.fair.drops(label, die);
        let short = is_short(self.threshold, queue.backlog());
        let arrival = ShareArrival { now, len: pkt.len, dropped: self.doomed, short };
        self.fair.count(&self.law, arrival);
        self.fair.judge(&self.law, arrival, label, self.capacity);
    }

    #[inline]
    fn arrive(&mut self, _: Time, _: &mut Packet, _: &impl QueueView, _: &mut Rng) -> Verdict {
        if self.doomed { Verdict::Drop(DropReason::Unfair) } else { Verdict::Admit }
    }

    #[inline]
    fn refused(&mut self, now: Time, _: &Packet, why: DropReason, _: &impl QueueView) {
        if why == DropReason::Overlimit && !self.doomed {
            self.overflows.lower(&mut self.fair, now, self.law.window);
        }
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        self.fair.probe(see);
        see(Gauge { name: "known_flows", unit: "", value: self.flows.len() as f64 });
    }
}

/// Time constants of at least so many packets on the wire, where a target RTT is less.
const PACKETS: f64 = 16.0;

/// K by `auto`: the target RTT, or the time of 16 packets if that is longer; and twice that.
pub(super) fn auto_memory(link: &Link) -> (Span, Span) {
    let memory = Span::from_secs((PACKETS / link.packets_per_second()).min(3600.0)).max(TARGET_RTT);
    (memory, Span::from_nanos(2 * memory.as_nanos()).min(Span::from_millis(3_600_000)))
}

/// The times of [`auto_memory`], the second for all but the flows' rates.
fn auto(link: &Link) -> CsfqConfig {
    let (memory, twice) = auto_memory(link);
    CsfqConfig {
        memory,
        link_memory: twice,
        window: twice,
        forwarded: Forwarded::Arrivals,
        threshold: quarter(link),
        ..CsfqConfig::default()
    }
}

/// How the fair share is estimated.
fn law(config: &CsfqConfig) -> FairShareLaw {
    let quiet = match config.forwarded {
        Forwarded::Accepted => None,
        Forwarded::Arrivals => Some(Span::ZERO),
    };
    FairShareLaw::stoica1998(RateEstimator::new(config.link_memory), config.window, quiet)
}

/// A quarter of the limit, as stoica1998's 16 kB of 64 kB.
pub(super) fn quarter(link: &Link) -> Size {
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
        let rate = link.rate.as_bps() as f64 / 8.0;
        let rule = CsfqRule {
            estimator: RateEstimator::new(config.memory),
            flows: FlowTable::new(config.flows),
            per_weight: config.weights.given().iter().map(|weight| 1.0 / weight).collect(),
            law: law(config),
            fair: FairShare::default(),
            capacity: NodeCapacity { rate, most: rate / config.weights.extent().0 },
            overflows: Overflows::new(config.overflow.get(), config.overflow_most.get()),
            threshold: config.threshold,
            doomed: false,
        };
        Ok(Fifo::new(rule, link, dice))
    }

    fn state_bytes(config: &CsfqConfig, _: &Link) -> u64 {
        let weights = config.weights.given().len() as u64 * 8;
        core::mem::size_of::<CsfqRule>() as u64
            + weights
            + FlowTable::<RateStream>::state_bytes(config.flows)
    }
}
