#![doc = include_str!("hcsfq.md")]
use super::csfq::{auto_memory, quarter};
use crate::choices;
use crate::config::{ByClass, ConfigError, Value};
use crate::entry::{Entry, Info, Preset};
use crate::packet::{Asks, Packet};
use crate::parts::fair_share::{
    FairShare, FairShareLaw, NodeCapacity, Overflows, ShareArrival, is_short,
};
use crate::parts::flow_table::FlowTable;
use crate::parts::rate::{RateEstimator, RateStream};
use crate::policy::{Fifo, Policy, QueueView, Verdict};
use crate::qdisc::{DropReason, Gauge, Link};
use crate::rng::Rng;
use crate::units::{Prob, Size, Span, Time};

/// A FIFO that divides the link among tenants and each part among the tenant's flows (yu2021).
pub type Hcsfq = Fifo<HcsfqRule>;

choices! {
    /// Whose packets are a tenant's.
    pub enum Tenant {
        /// Those of one source.
        Source = "srchost",
        /// Those to one destination.
        Destination = "dsthost",
        /// Those of one class.
        Class = "class",
    }
}

impl Tenant {
    /// The tenant of `pkt`.
    #[inline]
    pub fn of(self, pkt: &Packet) -> u64 {
        u64::from(match self {
            Tenant::Source => pkt.hosts().source,
            Tenant::Destination => pkt.hosts().destination,
            Tenant::Class => pkt.class,
        })
    }
}

crate::params! {
    /// HCSFQ's parameters. Defaults are the preset `paper`.
    pub struct HcsfqConfig {
        /// Whose packets are a tenant's.
        tenant: Tenant = Tenant::Source, "", 0 ..= 0;
        /// Time constant of the flows' rates.
        memory: Span = Span::from_micros(100), "K", 1_000 ..= 3_600_000_000_000_u64;
        /// Time constant of the rates at which a tenant's packets and all packets arrive and are
        /// accepted.
        link_memory: Span = Span::from_micros(100), "K_a", 1_000 ..= 3_600_000_000_000_u64;
        /// How long congestion, or its absence, must last before a fair share changes.
        window: Span = Span::from_micros(20), "K_c", 1_000 ..= 3_600_000_000_000_u64;
        /// How long nothing must have been accepted before dropped packets lower the accepted rate.
        quiet: Span = Span::from_micros(20), "K_f", 0 ..= 3_600_000_000_000_u64;
        /// What part of the link's rate is given out.
        part: Prob = Prob::clip(0.985), "", 0.01 ..= 1.0;
        /// By what share an update lowers a fair share at most.
        fall: Prob = Prob::clip(0.25), "", 0.0 ..= 1.0;
        /// Without congestion a fair share is at least this part of what it divides.
        least: Prob = Prob::clip(0.1), "", 0.0 ..= 1.0;
        /// By what share the tenants' fair share falls when a packet finds no room.
        overflow: Prob = Prob::clip(0.0), "", 0.0 ..= 1.0;
        /// By what share it may fall so within a window.
        overflow_most: Prob = Prob::clip(0.25), "", 0.0 ..= 1.0;
        /// Up to this queue a link or tenant without congestion has no fair share, and drops from
        /// nobody; 0: the queue is not looked at.
        threshold: Size = Size::Packets(0), "", 0 ..= 1_000_000_000_000_u64;
        /// Each class's tenants' part of the link, in proportion.
        weights: ByClass<f64> = ByClass::all(1.0), "w_i", 0.01 ..= 10_000.0;
        /// The most flows that are known at a time; a new one takes the place of the one that is
        /// idle longest.
        flows: u32 = 65_536, "", 1 ..= 16_777_216;
        /// The same of tenants.
        tenants: u32 = 4_096, "", 1 ..= 65_536;
    }
}

/// A tenant with at least this part of what comes has the whole link.
const SOLE: f64 = 0.999;

/// The rule of HCSFQ, edge and core in one.
#[derive(Clone, Debug)]
pub struct HcsfqRule {
    estimator: RateEstimator,
    flows: FlowTable<RateStream>,
    tenant: Tenant,
    tenants: FlowTable<FairShare>,
    weights: ByClass<f64>,
    law: FairShareLaw,
    /// The link's node of the tree: what each tenant may pass on.
    link: FairShare,
    capacity: NodeCapacity,
    overflows: Overflows,
    threshold: Size,
    /// The arriving packet is to be dropped, settled when it was offered.
    doomed: bool,
}

impl HcsfqRule {
    /// The link's node: the fair share of a tenant of weight 1, and what it is estimated from.
    pub fn link(&self) -> &FairShare {
        &self.link
    }

    /// The tenant's node: the fair share of its flows; `None` for one that is not known.
    pub fn tenant(&self, tenant: u64) -> Option<&FairShare> {
        self.tenants.find(tenant).map(|slot| &self.tenants[slot])
    }

    /// The estimated rate of `flow` in bytes per second; `None` for one that is not known.
    pub fn rate(&self, flow: u64) -> Option<f64> {
        self.flows.find(flow).map(|slot| self.flows[slot].rate())
    }

    /// What a tenant of this weight that sends so much may pass on. The link's fair share is its
    /// capacity, and one that sends nearly all that comes has the whole link.
    #[inline]
    fn part_of(&self, sends: f64, weight: f64) -> NodeCapacity {
        let alpha = self.link.alpha();
        let shared = alpha > 0.0 && sends < SOLE * self.link.arrival_rate();
        let rate = if shared { alpha * weight } else { self.capacity.rate };
        NodeCapacity { rate, most: rate }
    }
}

impl Policy for HcsfqRule {
    /// From the leaf to the root and back: the flow's rate, the die and all counts. Then the
    /// tenants' fair share with the tenant's rate as its label, and the flows' with the flow's.
    #[inline]
    fn offered(&mut self, now: Time, pkt: &Packet, queue: &impl QueueView, dice: &mut Rng) {
        let flow = self.flows.renew(pkt.flow, RateStream::default());
        self.flows[flow].update(&self.estimator, now, pkt.len);
        let label = self.flows[flow].rate();
        let at = self.tenants.renew(self.tenant.of(pkt), FairShare::since(now));
        let tenant = &mut self.tenants[at];
        self.doomed = tenant.drops(label, dice.uniform());
        let short = is_short(self.threshold, queue.backlog());
        let arrival = ShareArrival { now, len: pkt.len, dropped: self.doomed, short };
        tenant.count(&self.law, arrival);
        self.link.count(&self.law, arrival);
        let weight = self.weights.of(pkt.class as usize);
        let sends = tenant.arrival_rate();
        self.link.judge(&self.law, arrival, sends / weight, self.capacity);
        let part = self.part_of(sends, weight);
        self.tenants[at].judge(&self.law, arrival, label, part);
    }

    #[inline]
    fn arrive(&mut self, _: Time, _: &mut Packet, _: &impl QueueView, _: &mut Rng) -> Verdict {
        if self.doomed { Verdict::Drop(DropReason::Unfair) } else { Verdict::Admit }
    }

    #[inline]
    fn refused(&mut self, now: Time, _: &Packet, why: DropReason, _: &impl QueueView) {
        if why == DropReason::Overlimit && !self.doomed {
            self.overflows.lower(&mut self.link, now, self.law.window);
        }
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        self.link.probe(see);
        let mut count = |name, value| see(Gauge { name, unit: "", value });
        count("known_flows", f64::from(self.flows.len()));
        count("known_tenants", f64::from(self.tenants.len()));
    }
}

/// K and K_a as K of `csfq`, K_c twice that; what is given out is the link's rate.
fn auto(link: &Link) -> HcsfqConfig {
    let (memory, twice) = auto_memory(link);
    HcsfqConfig {
        memory,
        link_memory: memory,
        window: twice,
        quiet: Span::ZERO,
        part: Prob::clip(1.0),
        fall: Prob::clip(1.0),
        least: Prob::clip(0.0),
        overflow: Prob::clip(0.01),
        threshold: quarter(link),
        ..HcsfqConfig::default()
    }
}

impl Entry for Hcsfq {
    type Config = HcsfqConfig;
    const INFO: Info = Info {
        title: "divides the link among tenants, and each tenant's part among its flows, by drops",
        paper: "yu2021",
        manual: include_str!("hcsfq.md"),
    };
    const PRESETS: &'static [Preset<HcsfqConfig>] = &[
        Preset {
            name: "paper",
            doc: "the constants of the simulator that yu2021's authors published",
            config: |_| HcsfqConfig::default(),
        },
        Preset {
            name: "auto",
            doc: "time constants from the target RTT, or from the rate of a slow link; bounds as \
                 in stoica1998",
            config: auto,
        },
    ];

    fn build(config: &HcsfqConfig, link: Link, dice: Rng) -> Result<Self, ConfigError> {
        let rate = link.rate.as_bps() as f64 / 8.0 * config.part.get();
        let rule = HcsfqRule {
            estimator: RateEstimator::new(config.memory),
            flows: FlowTable::new(config.flows),
            tenant: config.tenant,
            tenants: FlowTable::new(config.tenants),
            weights: config.weights.clone(),
            law: FairShareLaw {
                estimator: RateEstimator::new(config.link_memory),
                window: config.window,
                quiet: Some(config.quiet),
                keeps: 1.0 - config.fall.get(),
                least: config.least.get(),
            },
            link: FairShare::default(),
            capacity: NodeCapacity { rate, most: rate / config.weights.extent().0 },
            overflows: Overflows::new(config.overflow.get(), config.overflow_most.get()),
            threshold: config.threshold,
            doomed: false,
        };
        Ok(Fifo::new(rule, link, dice))
    }

    fn state_bytes(config: &HcsfqConfig, _: &Link) -> u64 {
        core::mem::size_of::<HcsfqRule>() as u64
            + config.weights.given().len() as u64 * 8
            + FlowTable::<RateStream>::state_bytes(config.flows)
            + FlowTable::<FairShare>::state_bytes(config.tenants)
    }

    fn asks(config: &HcsfqConfig) -> Asks {
        Asks { hosts: config.tenant != Tenant::Class, ..Asks::default() }
    }
}
