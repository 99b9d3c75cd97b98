#![doc = include_str!("pie.md")]
use crate::config::ConfigError;
use crate::entry::{DEFAULT_PRESET, Entry, Info, Linux, Preset};
use crate::packet::Packet;
use crate::parts::every::Every;
use crate::parts::pie_law::{Cap, Decay, Derandomize, PieControl, PieLaw};
use crate::policy::{Fifo, Policy, QueueView, Signal, Verdict};
use crate::qdisc::{DropReason, Gauge, Link, MarkReason};
use crate::rng::Rng;
use crate::units::{Bytes, Prob, Span, Time};

/// A FIFO that signals at random, with a probability that steers the delay (pan2017).
pub type Pie = Fifo<PieRule>;

crate::params! {
    /// PIE's parameters. Defaults are those of pan2017.
    pub struct PieConfig {
        /// The delay aimed at.
        target: Span = Span::from_millis(15), "QDELAY_REF", 0 ..= 60_000_000_000_u64;
        /// Time between two updates of the probability.
        tupdate: Span = Span::from_millis(15), "T_UPDATE", 1_000_000 ..= 60_000_000_000_u64;
        /// How long a burst may last before packets are signalled.
        max_burst: Span = Span::from_millis(150), "MAX_BURST", 0 ..= 600_000_000_000_u64;
        /// Weight of the delay's distance from the target, per second.
        alpha: f64 = 0.125, "alpha", 0.0 ..= 1e6;
        /// Weight of the delay's change since the last update, per second.
        beta: f64 = 1.25, "beta", 0.0 ..= 1e6;
        /// Below this probability ECN-capable packets are marked; from it on they are dropped, too.
        mark_ecnth: Prob = Prob::clip(0.1), "mark_ecnth", 0.0 ..= 1.0;
        /// Whether the gaps between signals are evened out.
        derandomize: Derandomize = Derandomize::On, "", 0 ..= 0;
        /// Whether a step up is limited while the probability is high.
        cap: Cap = Cap::On, "", 0 ..= 0;
        /// When the probability decays by 2 % per update: without any delay, or while it is below
        /// half the target.
        decay: Decay = Decay::Idle, "", 0 ..= 0;
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: Signal = Signal::Mark, "", 0 ..= 0;
    }
}

impl PieConfig {
    /// The law on a link whose packets are `mean_packet` bytes long: with two of them waiting
    /// nothing is signalled (§4.1).
    pub(super) fn law(&self, mean_packet: u64) -> PieLaw {
        PieLaw {
            target: self.target.as_secs(),
            tupdate: self.tupdate,
            max_burst: self.max_burst,
            alpha: self.alpha,
            beta: self.beta,
            spared: 2 * mean_packet,
            derandomize: self.derandomize,
            cap: self.cap,
            decay: self.decay,
            ceiling: 1.0,
        }
    }
}

/// The rule of PIE.
#[derive(Clone, Debug)]
pub struct PieRule {
    law: PieLaw,
    control: PieControl,
    every: Every,
    mark_ecnth: f64,
    ecn: Signal,
}

impl PieRule {
    fn new(config: &PieConfig, link: &Link) -> PieRule {
        let law = config.law(link.mean_packet.get());
        PieRule {
            every: Every::new(config.tupdate),
            control: PieControl::new(&law),
            mark_ecnth: config.mark_ecnth.get(),
            ecn: config.ecn,
            law,
        }
    }

    /// The probability with which packets are signalled.
    pub fn probability(&self) -> f64 {
        self.control.probability()
    }

    /// What is left of the allowance for a burst.
    pub fn burst(&self) -> Span {
        self.control.burst()
    }

    #[inline]
    fn catch_up(&mut self, now: Time) {
        if now >= self.every.due() {
            let overdue = self.every.overdue(now);
            self.control.updates(&self.law, overdue);
            self.every.skip(overdue);
        }
    }
}

/// What PIE does to a packet that is due for a signal while the probability is `probability`. What
/// cannot be marked is dropped by the driver; when marks no longer help, everything is (§5.1).
#[inline]
pub(super) fn verdict(ecn: Signal, pkt: &Packet, probability: f64, mark_ecnth: f64) -> Verdict {
    if pkt.ecn.is_capable() && probability < mark_ecnth {
        return ecn.verdict(MarkReason::Early);
    }
    Verdict::Drop(DropReason::Early)
}

impl Policy for PieRule {
    #[inline]
    fn offered(&mut self, now: Time, _: &Packet, _: &impl QueueView, _: &mut Rng) {
        self.catch_up(now);
    }

    #[inline]
    fn arrive(
        &mut self,
        _: Time,
        pkt: &mut Packet,
        queue: &impl QueueView,
        dice: &mut Rng,
    ) -> Verdict {
        if !self.control.is_due(&self.law, queue.backlog().bytes, dice) {
            return Verdict::Admit;
        }
        self.control.signalled();
        verdict(self.ecn, pkt, self.control.probability(), self.mark_ecnth)
    }

    #[inline]
    fn refused(&mut self, _: Time, _: &Packet, _: DropReason, _: &impl QueueView) {
        self.control.signalled();
    }

    #[inline]
    fn depart(
        &mut self,
        now: Time,
        pkt: &Packet,
        queue: &impl QueueView,
        _: &mut Rng,
    ) -> Option<MarkReason> {
        self.catch_up(now);
        self.control.left((queue.backlog().packets > 0).then(|| now.since(pkt.arrived)));
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
        see(Gauge { name: "p", unit: "", value: self.control.probability() });
        see(Gauge { name: "delay", unit: "s", value: self.control.delay() });
        see(Gauge { name: "burst", unit: "s", value: self.control.burst().as_secs() });
    }
}

/// `auto`: the target is no less than two packets take to send; a burst may last ten targets, as in
/// the paper.
pub(super) fn auto(link: &Link) -> PieConfig {
    let longest = link.mean_packet.get().max(1500);
    let two = link.rate.time_to_send(Bytes::new(2 * longest));
    let target = two.max(Span::from_millis(15)).min(Span::from_millis(60_000));
    PieConfig {
        target,
        max_burst: Span::from_nanos(10 * target.as_nanos()),
        ..PieConfig::default()
    }
}

impl Entry for Pie {
    type Config = PieConfig;
    const INFO: Info = Info {
        title: "a proportional-integral controller of the delay sets the drop probability",
        paper: "pan2017",
        manual: include_str!("pie.md"),
    };
    const LINUX: Option<Linux> = Some(Linux {
        tc: "pie limit {limit:packets} target {target:us} tupdate {tupdate:us} alpha \
             {alpha:16ths} beta {beta:16ths}{ecn}",
        preset: DEFAULT_PRESET,
        differs: "Linux's probability is a whole number, and its timer does not wait for packets. \
             It goes by ticks: a kernel with 250 a second updates every 20 ms where 15 are set.",
        whole: true,
    });
    const PRESETS: &'static [Preset<PieConfig>] = &[
        Preset { name: "paper", doc: "the constants of pan2017", config: |_| PieConfig::default() },
        Preset {
            name: "auto",
            doc: "target at least two packets' time at the link's rate, a burst of ten targets",
            config: auto,
        },
    ];

    fn build(config: &PieConfig, link: Link, dice: Rng) -> Result<Self, ConfigError> {
        Ok(Fifo::new(PieRule::new(config, &link), link, dice))
    }

    fn state_bytes(_: &PieConfig, _: &Link) -> u64 {
        core::mem::size_of::<PieRule>() as u64
    }
}
