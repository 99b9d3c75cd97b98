#![doc = include_str!("blue.md")]
use crate::choices;
use crate::config::ConfigError;
use crate::entry::{Entry, Info, Preset, TARGET_RTT};
use crate::packet::Packet;
use crate::policy::{Fifo, Policy, QueueView, Signal, Verdict};
use crate::qdisc::{Backlog, DropReason, Gauge, Link, MarkReason};
use crate::rng::Rng;
use crate::units::{Prob, Size, Span, Time};

/// A FIFO whose marking probability learns from overflow and idleness (feng1999blue).
pub type Blue = Fifo<BlueRule>;

choices! {
    /// What counts as congestion.
    pub enum Trigger {
        /// A packet lost for want of room.
        Overflow = "overflow",
        /// That, and an arrival that finds the queue longer than L.
        Length = "length",
    }
}

choices! {
    /// Whether raising and lowering p_m freeze each other.
    pub enum FreezeClock {
        /// One last_update for both directions (the paper's figure).
        Shared = "shared",
        /// One for each direction (its authors' simulator).
        Separate = "separate",
    }
}

choices! {
    /// What a link that stays idle does to p_m.
    pub enum Idle {
        /// One idle event each time the link asks in vain, so a link that asks only once lowers p_m
        /// only once.
        Event = "event",
        /// An idle event every freeze time for as long as the link is idle, however often it asks.
        Elapsed = "elapsed",
    }
}

crate::params! {
    /// BLUE's parameters. Defaults are those of the paper.
    pub struct BlueConfig {
        /// Added to p_m upon congestion.
        d1: Prob = Prob::clip(0.0025), "d1", 0.0 ..= 1.0;
        /// Taken from p_m upon an idle link; much less than d1.
        d2: Prob = Prob::clip(0.00025), "d2", 0.0 ..= 1.0;
        /// Least time between two changes of p_m, about a round trip.
        freeze_time: Span = Span::from_millis(100), "freeze_time", 1_000 ..= 60_000_000_000_u64;
        /// What counts as congestion.
        trigger: Trigger = Trigger::Overflow, "", 0 ..= 0;
        /// With trigger `length`: the queue that is too long, as a share of the limit.
        threshold: Prob = Prob::clip(0.5), "L", 0.0 ..= 1.0;
        /// Whether raising and lowering p_m freeze each other.
        clock: FreezeClock = FreezeClock::Shared, "last_update", 0 ..= 0;
        /// What a link that stays idle does to p_m.
        idle: Idle = Idle::Event, "", 0 ..= 0;
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: Signal = Signal::Mark, "", 0 ..= 0;
    }
}

/// The rule of BLUE: one probability, raised by overflow, lowered by idleness.
#[derive(Clone, Debug)]
pub struct BlueRule {
    config: BlueConfig,
    /// L in the unit of the link's limit.
    threshold: Size,
    p_m: f64,
    /// When p_m was last raised, and last lowered; with one clock both are the last change.
    last_up: Option<Time>,
    last_down: Option<Time>,
    /// The link has asked in vain and nothing was let in since.
    link_idle: bool,
}

impl BlueRule {
    /// p_m: the probability with which an arriving packet is marked or dropped now.
    pub fn p_m(&self) -> f64 {
        self.p_m
    }

    fn frozen(&self, last: Option<Time>, now: Time) -> bool {
        last.is_some_and(|last| now.since(last) <= self.config.freeze_time)
    }

    fn congestion(&mut self, now: Time) {
        if !self.frozen(self.last_up, now) {
            self.p_m = (self.p_m + self.config.d1.get()).min(1.0);
            self.last_up = Some(now);
            if self.config.clock == FreezeClock::Shared {
                self.last_down = Some(now);
            }
        }
    }

    fn idle_event(&mut self, now: Time) {
        if !self.frozen(self.last_down, now) {
            self.lower(now, 1);
        }
    }

    /// `steps` idle events, the last of them at `now`.
    fn lower(&mut self, now: Time, steps: u64) {
        self.p_m = (self.p_m - steps as f64 * self.config.d2.get()).max(0.0);
        self.last_down = Some(now);
        if self.config.clock == FreezeClock::Shared {
            self.last_up = Some(now);
        }
    }

    /// The idle events that fell due while the link was idle: one as often as the freeze time had
    /// passed before `now`, in closed form.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        if self.link_idle && self.config.idle == Idle::Elapsed {
            self.lower_by_elapsed(now);
        }
    }

    #[cold]
    fn lower_by_elapsed(&mut self, now: Time) {
        let Some(last) = self.last_down else { return };
        let freeze = self.config.freeze_time.as_nanos();
        let steps = now.since(last).as_nanos().saturating_sub(1) / freeze;
        self.lower(last + Span::from_nanos(steps * freeze), steps);
    }

    #[inline]
    fn too_long(&self, backlog: Backlog) -> bool {
        self.config.trigger == Trigger::Length
            && match self.threshold {
                Size::Packets(n) => backlog.packets as u64 > n,
                Size::Bytes(b) => backlog.bytes > b,
            }
    }
}

impl Policy for BlueRule {
    #[inline]
    fn arrive(
        &mut self,
        now: Time,
        _: &mut Packet,
        queue: &impl QueueView,
        dice: &mut Rng,
    ) -> Verdict {
        self.catch_up(now);
        if self.too_long(queue.backlog()) {
            self.congestion(now);
        }
        if !dice.chance(self.p_m) {
            return Verdict::Admit;
        }
        self.config.ecn.verdict(MarkReason::Early)
    }

    #[inline]
    fn admitted(&mut self, _: Time, _: &Packet, _: &impl QueueView) {
        self.link_idle = false;
    }

    #[inline]
    fn refused(&mut self, now: Time, _: &Packet, why: DropReason, _: &impl QueueView) {
        // BLUE's own drops are its answer to congestion, not a sign of more.
        if why == DropReason::Overlimit {
            self.catch_up(now);
            self.congestion(now);
        }
    }

    #[inline]
    fn idle(&mut self, now: Time) {
        match self.config.idle {
            Idle::Elapsed if self.link_idle => self.lower_by_elapsed(now),
            Idle::Event | Idle::Elapsed => self.idle_event(now),
        }
        self.link_idle = true;
    }

    fn advance(&mut self, now: Time) {
        self.catch_up(now);
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        see(Gauge { name: "p_m", unit: "", value: self.p_m });
    }
}

impl Entry for Blue {
    type Config = BlueConfig;
    const INFO: Info = Info {
        title: "one marking probability, raised by overflow and lowered by idleness",
        paper: "feng1999blue",
        manual: include_str!("blue.md"),
    };
    const PRESETS: &'static [Preset<BlueConfig>] = &[
        Preset {
            name: "paper",
            doc: "the constants of feng1999blue",
            config: |_| BlueConfig::default(),
        },
        Preset {
            name: "steep",
            doc: "the paper's larger steps, .02 up and .002 down",
            config: |_| BlueConfig {
                d1: Prob::clip(0.02),
                d2: Prob::clip(0.002),
                ..BlueConfig::default()
            },
        },
        Preset {
            name: "auto",
            doc: "freezes for the target RTT (100 ms) and learns from the length of idle times",
            config: |_| BlueConfig {
                freeze_time: TARGET_RTT,
                idle: Idle::Elapsed,
                ..BlueConfig::default()
            },
        },
    ];

    fn build(config: &BlueConfig, link: Link, dice: Rng) -> Result<Self, ConfigError> {
        let rule = BlueRule {
            config: config.clone(),
            threshold: link.limit.scale(config.threshold.get()),
            p_m: 0.0,
            last_up: None,
            last_down: None,
            link_idle: false,
        };
        Ok(Fifo::new(rule, link, dice))
    }

    fn state_bytes(_: &BlueConfig, _: &Link) -> u64 {
        core::mem::size_of::<BlueRule>() as u64
    }
}
