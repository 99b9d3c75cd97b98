#![doc = include_str!("afd.md")]
use crate::config::ConfigError;
use crate::entry::{Entry, Info, Preset};
use crate::packet::Packet;
use crate::parts::every::{CATCH_UP, Every};
use crate::parts::fair_control::FairControl;
use crate::parts::shadow::Shadow;
use crate::policy::{Fifo, Policy, QueueView, Verdict};
use crate::qdisc::{Backlog, DropReason, Gauge, Link, MarkReason};
use crate::rng::Rng;
use crate::units::{Prob, Size, Span, Time};

/// A FIFO that drops from each flow what it sends beyond a fair amount (pan2003).
pub type Afd = Fifo<AfdRule>;

crate::params! {
    /// AFD's parameters. Defaults are the preset `paper`.
    pub struct AfdConfig {
        /// How many sampled packets the shadow buffer holds.
        shadow: u32 = 500, "b", 1 ..= 1_048_576;
        /// One packet in so many is sampled.
        sample: f64 = 5.0, "s", 1.0 ..= 1_000_000.0;
        /// Time between two steps of m_fair.
        update: Span = Span::from_micros(6_250), "1 / f_s", 1_000 ..= 3_600_000_000_000_u64;
        /// The backlog aimed at, as a share of the limit.
        target: Prob = Prob::clip(0.5), "q_target", 0.0 ..= 1.0;
        /// What the backlog at the step before weighs.
        alpha: f64 = 1.7, "alpha", 0.0 ..= 1000.0;
        /// What the backlog of the moment weighs.
        beta: f64 = 1.8, "beta", 0.0 ..= 1000.0;
    }
}

/// The rule of AFD.
#[derive(Clone, Debug)]
pub struct AfdRule {
    shadow: Shadow,
    control: FairControl,
    every: Every,
    /// 1 / s.
    chance: f64,
    /// Packets for one unit of the limit.
    per_unit: f64,
    unit: Size,
    /// What waits, in packets.
    q: f64,
}

impl AfdRule {
    fn new(config: &AfdConfig, link: &Link) -> AfdRule {
        let size = config.shadow as f64;
        AfdRule {
            shadow: Shadow::new(config.shadow),
            control: FairControl {
                // Nobody is dropped before the queue has shown itself.
                m_fair: size,
                q_old: 0.0,
                alpha: config.alpha,
                beta: config.beta,
                target: config.target.get() * link.limit_packets(),
                range: (1.0, size),
            },
            every: Every::new(config.update),
            chance: 1.0 / config.sample,
            per_unit: match link.limit {
                Size::Packets(_) => 1.0,
                Size::Bytes(_) => 1.0 / link.mean_packet.get() as f64,
            },
            unit: link.limit,
            q: 0.0,
        }
    }

    /// m_fair: how many of the sampled packets a flow may have.
    pub fn m_fair(&self) -> f64 {
        self.control.m_fair
    }

    /// m_i: how many of the sampled packets `flow` has.
    pub fn count(&self, flow: u64) -> u32 {
        self.shadow.count(flow)
    }

    #[inline]
    fn catch_up(&mut self, now: Time) {
        if now >= self.every.due() {
            self.steps(now);
        }
    }

    /// Nothing has changed since the last call, so that all overdue steps saw the same queue.
    #[cold]
    fn steps(&mut self, now: Time) {
        let overdue = self.every.overdue(now);
        if overdue > CATCH_UP {
            self.control.steps(self.q, overdue);
        } else {
            (0..overdue).for_each(|_| self.control.step(self.q));
        }
        self.every.skip(overdue);
    }

    #[inline]
    fn waits(&mut self, backlog: Backlog) {
        self.q = match self.unit {
            Size::Packets(_) => backlog.packets as f64,
            Size::Bytes(_) => backlog.bytes as f64 * self.per_unit,
        };
    }
}

impl Policy for AfdRule {
    #[inline]
    fn offered(&mut self, now: Time, pkt: &Packet, _: &impl QueueView, dice: &mut Rng) {
        self.catch_up(now);
        if dice.chance(self.chance) {
            self.shadow.sample(pkt.flow, dice);
        }
    }

    #[inline]
    fn arrive(&mut self, _: Time, pkt: &mut Packet, _: &impl QueueView, dice: &mut Rng) -> Verdict {
        let drop = self.control.drop(self.shadow.count(pkt.flow) as f64);
        if dice.chance(drop) { Verdict::Drop(DropReason::Unfair) } else { Verdict::Admit }
    }

    #[inline]
    fn admitted(&mut self, _: Time, pkt: &Packet, queue: &impl QueueView) {
        let mut backlog = queue.backlog();
        backlog.add(pkt.len);
        self.waits(backlog);
    }

    #[inline]
    fn depart(
        &mut self,
        now: Time,
        _: &Packet,
        queue: &impl QueueView,
        _: &mut Rng,
    ) -> Option<MarkReason> {
        self.catch_up(now);
        self.waits(queue.backlog());
        None
    }

    #[inline]
    fn idle(&mut self, now: Time) {
        self.catch_up(now);
    }

    fn advance(&mut self, now: Time) {
        self.catch_up(now);
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        see(Gauge { name: "m_fair", unit: "", value: self.control.m_fair });
        see(Gauge { name: "flows", unit: "", value: self.shadow.flows() as f64 });
    }
}

/// The stretch of time that the shadow buffer remembers on the paper's link, in seconds.
const MEMORY: f64 = 2.0;
/// The limit, in packets, that the paper's gains are meant for.
const GAINS_FOR: f64 = 100.0;

/// The paper's numbers scaled to `link`; see the manual page.
fn auto(link: &Link) -> AfdConfig {
    let paper = AfdConfig::default();
    let sample = (MEMORY * link.packets_per_second() / paper.shadow as f64).clamp(1.0, 1_000_000.0);
    let gain = (GAINS_FOR / link.limit_packets()).min(1.0);
    AfdConfig { sample, alpha: paper.alpha * gain, beta: paper.beta * gain, ..paper }
}

impl Entry for Afd {
    type Config = AfdConfig;
    const INFO: Info = Info {
        title: "samples packets and drops from each flow what exceeds a fair amount",
        paper: "pan2003",
        manual: include_str!("afd.md"),
    };
    const PRESETS: &'static [Preset<AfdConfig>] = &[
        Preset {
            name: "paper",
            doc: "pan2003's gains and frequency, 500 remembered packets, one in five sampled, half \
                 of the limit as target",
            config: |_| AfdConfig::default(),
        },
        Preset {
            name: "auto",
            doc: "a memory of two seconds at the link's rate, gains by the limit",
            config: auto,
        },
    ];

    fn build(config: &AfdConfig, link: Link, dice: Rng) -> Result<Self, ConfigError> {
        Ok(Fifo::new(AfdRule::new(config, &link), link, dice))
    }

    fn state_bytes(config: &AfdConfig, _: &Link) -> u64 {
        core::mem::size_of::<AfdRule>() as u64 + Shadow::bytes(config.shadow)
    }
}
