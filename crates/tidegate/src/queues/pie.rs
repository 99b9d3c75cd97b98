#![doc = include_str!("pie.md")]
use crate::choices;
use crate::config::ConfigError;
use crate::entry::{Entry, Info, Preset};
use crate::packet::Packet;
use crate::parts::every::Every;
use crate::policy::{Fifo, Policy, QueueView, Signal, Verdict};
use crate::qdisc::{DropReason, Gauge, Link, MarkReason};
use crate::rng::Rng;
use crate::units::{Bytes, Prob, Span, Time};

/// A FIFO that signals at random, with a probability that steers the delay (pan2017).
pub type Pie = Fifo<PieRule>;

choices! {
    /// Whether the gaps between signals are evened out (pan2017 §5.4).
    pub enum Derandomize {
        /// No signal before the probabilities since the last one add up to .85, one for certain at
        /// 8.5.
        On = "on",
        /// Each packet's die is its own.
        Off = "off",
    }
}

choices! {
    /// Whether a step up is limited while the probability is high (pan2017 §5.5).
    pub enum Cap {
        /// At 10 % and above no step is larger than 2 %.
        On = "on",
        /// Steps are as the law gives them.
        Off = "off",
    }
}

choices! {
    /// When the probability decays; the RFC gives both.
    pub enum Decay {
        /// While there is no delay at all, now and at the last update (pan2017 §4.2, appendix A).
        Idle = "idle",
        /// While the delay is below half the target, now and at the last update (appendix B).
        Calm = "calm",
    }
}

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

/// Below a probability, the step of an update is divided by this (pan2017 §4.2): small
/// probabilities take small steps.
const SCALING: [(f64, f64); 6] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0)];
/// What is left of the probability in an update in which it decays (§4.2).
const DECAY: f64 = 0.98;
/// Between these sums of probabilities since the last signal the die decides (§5.4).
const ACCUMULATED: (f64, f64) = (0.85, 8.5);
/// At and above the first, no step up is larger than the second (§5.5).
const CAPPED: (f64, f64) = (0.1, 0.02);
/// With a low delay, a probability below this signals nothing (§4.1).
const CALM: f64 = 0.2;
/// Updates that are made one by one, however many are overdue: with the paper's constants 210 take
/// the probability from 1 to 0 on an idle link, so nothing is cut off; the rest changes nothing, or
/// would with constants as far from these.
const MOST_UPDATES: u64 = 4096;

/// The rule of PIE.
#[derive(Clone, Debug)]
pub struct PieRule {
    config: PieConfig,
    every: Every,
    /// Half the target and the target, in seconds.
    half_target: f64,
    target: f64,
    /// Two mean packets, in bytes: with no more waiting, nothing is signalled.
    two_packets: u64,
    probability: f64,
    /// How long the last packet that left had waited, in seconds; 0 when the queue is empty.
    delay: f64,
    /// `delay` at the last update.
    delay_old: f64,
    /// What is left of the allowance for a burst.
    burst: Span,
    /// Probabilities since the last signal, added up.
    accumulated: f64,
}

impl PieRule {
    fn new(config: &PieConfig, link: &Link) -> PieRule {
        PieRule {
            every: Every::new(config.tupdate),
            target: config.target.as_secs(),
            half_target: config.target.as_secs() / 2.0,
            two_packets: 2 * link.mean_packet.get(),
            probability: 0.0,
            delay: 0.0,
            delay_old: 0.0,
            burst: config.max_burst,
            accumulated: 0.0,
            config: config.clone(),
        }
    }

    /// The probability with which packets are signalled.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// What is left of the allowance for a burst.
    pub fn burst(&self) -> Span {
        self.burst
    }

    #[inline]
    fn catch_up(&mut self, now: Time) {
        if now >= self.every.due() {
            self.overdue(now);
        }
    }

    #[cold]
    fn overdue(&mut self, now: Time) {
        let overdue = self.every.overdue(now);
        for _ in 0..overdue.min(MOST_UPDATES) {
            let before = (self.probability, self.delay_old, self.burst);
            self.update();
            if before == (self.probability, self.delay_old, self.burst) {
                break; // and so it would be for all that are left
            }
        }
        self.every.skip(overdue);
    }

    /// One update of the probability (§4.2), with the delay of now.
    fn update(&mut self) {
        let (alpha, beta) = (self.config.alpha, self.config.beta);
        let mut step = alpha * (self.delay - self.target) + beta * (self.delay - self.delay_old);
        if let Some((_, divisor)) = SCALING.iter().find(|(below, _)| self.probability < *below) {
            step /= divisor;
        }
        if self.config.cap == Cap::On && self.probability >= CAPPED.0 {
            step = step.min(CAPPED.1);
        }
        self.probability += step;
        let longest = if self.delay > self.delay_old { self.delay } else { self.delay_old };
        let decays = match self.config.decay {
            Decay::Idle => longest == 0.0,
            Decay::Calm => longest < self.half_target,
        };
        if decays {
            self.probability *= DECAY;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.delay_old = self.delay;
        self.burst = self.burst - self.config.tupdate;
    }

    /// Whether the packet is to be signalled; `waits` bytes are before it (§4.1, §4.4, §5.4).
    #[inline]
    fn is_due(&mut self, waits: u64, dice: &mut Rng) -> bool {
        let calm = self.delay_old < self.half_target;
        if calm && self.probability == 0.0 && self.delay < self.half_target {
            self.burst = self.config.max_burst;
        }
        if self.burst > Span::ZERO || calm && self.probability < CALM || waits <= self.two_packets {
            return false;
        }
        if self.config.derandomize == Derandomize::On {
            // A probability of 0 begins the sum anew.
            self.accumulated =
                if self.probability == 0.0 { 0.0 } else { self.accumulated + self.probability };
            if self.accumulated < ACCUMULATED.0 {
                return false;
            }
            if self.accumulated >= ACCUMULATED.1 {
                return true;
            }
        }
        dice.chance(self.probability)
    }
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
        if !self.is_due(queue.backlog().bytes, dice) {
            return Verdict::Admit;
        }
        self.accumulated = 0.0;
        // What cannot be marked is dropped by the FIFO; when marks no longer help, everything is
        // (§5.1).
        if pkt.ecn.is_capable() && self.probability < self.config.mark_ecnth.get() {
            return self.config.ecn.verdict(MarkReason::Early);
        }
        Verdict::Drop(DropReason::Early)
    }

    #[inline]
    fn refused(&mut self, _: Time, _: &Packet, _: DropReason, _: &impl QueueView) {
        self.accumulated = 0.0;
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
        self.delay =
            if queue.backlog().packets == 0 { 0.0 } else { now.since(pkt.arrived).as_secs() };
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
        see(Gauge { name: "p", unit: "", value: self.probability });
        see(Gauge { name: "delay", unit: "s", value: self.delay });
        see(Gauge { name: "burst", unit: "s", value: self.burst.as_secs() });
    }
}

/// `auto`: the target is no less than two packets take to send; a burst may last ten targets, as in
/// the paper.
fn auto(link: &Link) -> PieConfig {
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
