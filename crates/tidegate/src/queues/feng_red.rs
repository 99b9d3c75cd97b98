#![doc = include_str!("feng_red.md")]
use crate::config::ConfigError;
use crate::entry::{Entry, Info, Preset};
use crate::packet::Packet;
use crate::parts::band::{Band, Crossed};
use crate::policy::{Fifo, Policy, QueueView, Signal, Verdict};
use crate::qdisc::{DropReason, Gauge, Link};
use crate::queues::red::{
    ByteOrder, Certain, DELAY_TARGET, Gentle, Mode, RedConfig, RedRule, SignalSpacing, automatic,
    share,
};
use crate::rng::Rng;
use crate::units::{Prob, Size, Time};

/// RED that scales max_p whenever the average leaves the thresholds (feng1999).
pub type FengRed = Fifo<FengRedRule>;

crate::params! {
    /// Self-configuring RED's parameters. Defaults are feng1999's, thresholds for a limit of 25
    /// packets; the presets
    /// take those from the limit.
    pub struct FengRedConfig: RedConfig {
        min: Size = Size::Packets(5);
        /// At this average p_b has risen to max_p.
        max: Size = Size::Packets(20);
        /// max_p at the beginning.
        probability: Prob = Prob::clip(0.1);
        weight: f64 = 0.002;
        /// What max_p is divided by when the average falls below `min`.
        alpha: f64 = 3.0, "alpha", 1.0 ..= 1000.0;
        /// What max_p is multiplied by when the average rises above `max`.
        beta: f64 = 2.0, "beta", 1.0 ..= 1000.0;
        /// max_p falls no lower than this.
        floor: Prob = Prob::clip(0.001), "", 0.0 ..= 1.0;
        mode: Mode = Mode::Packets;
        byte_order: ByteOrder = ByteOrder::After;
        gentle: Gentle = Gentle::Off;
        wait: SignalSpacing = SignalSpacing::Off;
        ecn: Signal = Signal::Mark;
        mark_above_max: Certain = Certain::Drop;
    }
}

/// The rule of self-configuring RED.
#[derive(Clone, Debug)]
pub struct FengRedRule {
    red: RedRule,
    band: Band,
    min: f64,
    max: f64,
    alpha: f64,
    beta: f64,
    floor: f64,
}

impl FengRedRule {
    fn new(config: &FengRedConfig, link: &Link) -> Result<FengRedRule, ConfigError> {
        let red = RedRule::new(&config.base(), link)?;
        let (min, max) = red.thresholds();
        let FengRedConfig { alpha, beta, .. } = *config;
        Ok(FengRedRule {
            red,
            band: Band::default(),
            min,
            max,
            alpha,
            beta,
            floor: config.floor.get(),
        })
    }

    /// The RED inside.
    pub fn red(&self) -> &RedRule {
        &self.red
    }

    /// feng1999, the algorithm's figure: one change of max_p per crossing.
    #[inline]
    fn adapt(&mut self) {
        let max_p = match self.band.crossed(self.red.avg(), self.min, self.max) {
            Crossed::Not => return,
            Crossed::Below => (self.red.max_p() / self.alpha).max(self.floor),
            Crossed::Above => (self.red.max_p() * self.beta).min(1.0),
        };
        self.red.set_max_p(max_p);
    }
}

impl Policy for FengRedRule {
    #[inline]
    fn arrive(
        &mut self,
        now: Time,
        pkt: &mut Packet,
        queue: &impl QueueView,
        dice: &mut Rng,
    ) -> Verdict {
        let backlog = queue.backlog();
        self.red.estimate(now, backlog);
        self.adapt();
        self.red.judge(pkt.len, backlog.packets, dice)
    }

    #[inline]
    fn admitted(&mut self, now: Time, pkt: &Packet, queue: &impl QueueView) {
        self.red.admitted(now, pkt, queue);
    }

    #[inline]
    fn refused(&mut self, now: Time, _: &Packet, why: DropReason, queue: &impl QueueView) {
        if why == DropReason::Overlimit {
            self.red.estimate(now, queue.backlog());
            self.adapt();
            self.red.overflow(queue.backlog().packets);
        }
    }

    #[inline]
    fn idle(&mut self, now: Time) {
        self.red.idle(now);
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        self.red.gauges(see);
    }
}

fn paper(link: &Link) -> FengRedConfig {
    FengRedConfig { min: share(link, 0.2), max: share(link, 0.8), ..FengRedConfig::default() }
}

fn auto(link: &Link) -> FengRedConfig {
    let (min, max, weight) = automatic(link, DELAY_TARGET);
    FengRedConfig { min, max, weight, ..FengRedConfig::default() }
}

impl Entry for FengRed {
    type Config = FengRedConfig;
    const INFO: Info = Info {
        title: "RED that scales max_p whenever the average leaves its thresholds",
        paper: "feng1999",
        manual: include_str!("feng_red.md"),
    };
    const PRESETS: &'static [Preset<FengRedConfig>] = &[
        Preset {
            name: "paper",
            doc: "feng1999, thresholds at 20 % and 80 % of the limit",
            config: paper,
        },
        Preset {
            name: "auto",
            doc: "thresholds and weight from rate and limit, as floyd2001",
            config: auto,
        },
    ];

    fn build(config: &FengRedConfig, link: Link, dice: Rng) -> Result<Self, ConfigError> {
        Ok(Fifo::new(FengRedRule::new(config, &link)?, link, dice))
    }

    fn state_bytes(_: &FengRedConfig, _: &Link) -> u64 {
        core::mem::size_of::<FengRedRule>() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdisc::Backlog;

    /// in, above, above, in, above, below, and below again, from .1: .1, .2, .2, .2, .4, .1333,
    /// .1333; it stays within the floor and 1.
    #[test]
    fn golden_sequence() {
        let link =
            Link::new("10 Mbit/s".parse().unwrap(), Size::Packets(100), "1000 B".parse().unwrap())
                .unwrap();
        let config = FengRedConfig { weight: 1.0, ..FengRedConfig::default() };
        let mut rule = FengRedRule::new(&config, &link).unwrap();
        let mut at = |q: u32| {
            rule.red.admitted(Time::ZERO, &Packet::new(1, 1000), &Nothing(link));
            rule.red.estimate(Time::ZERO, Backlog { packets: q, bytes: 0 });
            rule.adapt();
            rule.red.max_p()
        };
        for (q, max_p) in
            [(10, 0.1), (30, 0.2), (30, 0.2), (10, 0.2), (30, 0.4), (1, 0.4 / 3.0), (1, 0.4 / 3.0)]
        {
            assert!((at(q) - max_p).abs() < 1e-12, "{q}");
        }
        // On a threshold nothing changes.
        assert_eq!((at(5), at(20)), (0.4 / 3.0, 0.4 / 3.0));
        // Nor is it a return between them.
        assert_eq!((at(1), at(5), at(1)), (0.4 / 3.0, 0.4 / 3.0, 0.4 / 3.0));
        assert_eq!((at(30), at(20), at(30)), (0.8 / 3.0, 0.8 / 3.0, 0.8 / 3.0));
        for _ in 0..20 {
            at(30);
            at(10);
        }
        assert_eq!(at(10), 1.0);
        for _ in 0..20 {
            at(1);
            at(10);
        }
        assert_eq!(at(10), 0.001);
    }

    struct Nothing(Link);

    impl QueueView for Nothing {
        fn backlog(&self) -> Backlog {
            Backlog::default()
        }
        fn link(&self) -> &Link {
            &self.0
        }
        fn flow_at(&self, _: usize) -> u64 {
            0
        }
        fn len_at(&self, _: usize) -> u32 {
            0
        }
    }
}
