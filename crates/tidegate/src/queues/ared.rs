#![doc = include_str!("ared.md")]
use crate::config::ConfigError;
use crate::entry::{DEFAULT_PRESET, Entry, Info, Linux, Preset};
use crate::packet::Packet;
use crate::parts::every::{CATCH_UP, Every};
use crate::policy::{Fifo, Policy, QueueView, Signal, Verdict};
use crate::qdisc::{DropReason, Gauge, Link};
use crate::queues::red::{
    ByteOrder, Certain, DELAY_TARGET, Gentle, IdleDecay, Leniency, Mode, RedConfig, RedRule,
    SignalSpacing, automatic,
};
use crate::rng::Rng;
use crate::units::{Prob, Size, Span, Time};

/// RED that moves max_p, slowly, so that the average stays half-way between its thresholds
/// (floyd2001).
pub type Ared = Fifo<AredRule>;

crate::params! {
    /// Adaptive RED's parameters. Defaults are floyd2001's, thresholds and weight for a slow link;
    /// the presets take
    /// those from the link.
    pub struct AredConfig: RedConfig {
        min: Size = Size::Packets(5);
        /// At this average p_b has risen to max_p; at twice this to 1.
        max: Size = Size::Packets(15);
        /// max_p at the beginning.
        probability: Prob = Prob::clip(0.1);
        weight: f64 = 0.002;
        /// Time between two changes of max_p.
        interval: Span = Span::from_millis(500), "interval", 1_000_000 ..= 60_000_000_000_u64;
        /// Added to max_p when the average is too high; at most a quarter of max_p is.
        alpha: f64 = 0.01, "alpha", 0.0 ..= 1.0;
        /// What max_p is multiplied by when the average is too low.
        beta: f64 = 0.9, "beta", 0.0 ..= 1.0;
        /// A max_p below this is not lowered.
        least: Prob = Prob::clip(0.01), "", 0.0 ..= 1.0;
        /// A max_p above this is not raised.
        most: Prob = Prob::clip(0.5), "", 0.0 ..= 1.0;
        mode: Mode = Mode::Packets;
        byte_order: ByteOrder = ByteOrder::After;
        wait: SignalSpacing = SignalSpacing::On;
        ecn: Signal = Signal::Mark;
        mark_above_max: Certain = Certain::Drop;
    }
}

/// The rule of Adaptive RED: gentle RED and a timer.
#[derive(Clone, Debug)]
pub struct AredRule {
    red: RedRule,
    every: Every,
    /// The target band for the average.
    band: (f64, f64),
    alpha: f64,
    beta: f64,
    least: f64,
    most: f64,
}

impl AredRule {
    fn new(config: &AredConfig, link: &Link) -> Result<AredRule, ConfigError> {
        let inner = RedConfig {
            gentle: Gentle::On,
            idle_decay: IdleDecay::MPlusOne,
            on_crossing: Leniency::Pass,
            short_queue: Leniency::Pass,
            ..config.base()
        };
        let red = RedRule::new(&inner, link)?;
        let (min, max) = red.thresholds();
        Ok(AredRule {
            band: (min + 0.4 * (max - min), min + 0.6 * (max - min)),
            red,
            every: Every::new(config.interval),
            alpha: config.alpha,
            beta: config.beta,
            least: config.least.get(),
            most: config.most.get(),
        })
    }

    /// The RED inside.
    pub fn red(&self) -> &RedRule {
        &self.red
    }

    /// Makes the steps that are due. The average changes only with arrivals, and while idle in a
    /// known way, so it is enough to ask at arrivals: each step sees the average of its nominal
    /// time.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        if now >= self.every.due() {
            self.steps(now);
        }
    }

    #[cold]
    fn steps(&mut self, now: Time) {
        // Past these, max_p has come to its end on an idle link; on a stalled one there is nothing
        // to learn from.
        for _ in 0..CATCH_UP {
            let Some(at) = self.every.step(now) else { return };
            self.adapt(self.red.avg_at(at));
        }
        self.every.skip(self.every.overdue(now));
    }

    /// floyd2001 §IV: additive increase, multiplicative decrease.
    fn adapt(&mut self, avg: f64) {
        let max_p = self.red.max_p();
        if avg > self.band.1 && max_p <= self.most {
            self.red.set_max_p((max_p + self.alpha.min(max_p / 4.0)).min(1.0));
        } else if avg < self.band.0 && max_p >= self.least {
            self.red.set_max_p(max_p * self.beta);
        }
    }
}

impl Policy for AredRule {
    #[inline]
    fn arrive(
        &mut self,
        now: Time,
        pkt: &mut Packet,
        queue: &impl QueueView,
        dice: &mut Rng,
    ) -> Verdict {
        self.catch_up(now);
        self.red.arrive(now, pkt, queue, dice)
    }

    #[inline]
    fn admitted(&mut self, now: Time, pkt: &Packet, queue: &impl QueueView) {
        self.red.admitted(now, pkt, queue);
    }

    #[inline]
    fn refused(&mut self, now: Time, pkt: &Packet, why: DropReason, queue: &impl QueueView) {
        self.catch_up(now);
        self.red.refused(now, pkt, why, queue);
    }

    #[inline]
    fn idle(&mut self, now: Time) {
        // Steps before the link fell idle see the average as it was then.
        self.catch_up(now);
        self.red.idle(now);
    }

    fn advance(&mut self, now: Time) {
        self.catch_up(now);
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        self.red.gauges(see);
    }
}

/// floyd2001 §V: thresholds and weight from the link's rate and a delay target of 5 ms, whatever
/// the limit.
fn paper(link: &Link) -> AredConfig {
    let unlimited = Link { limit: Size::Packets(u64::MAX), ..*link };
    let (min, max, weight) = automatic(&unlimited, DELAY_TARGET);
    AredConfig { min, max, weight, ..AredConfig::default() }
}

fn auto(link: &Link) -> AredConfig {
    let (min, max, weight) = automatic(link, DELAY_TARGET);
    AredConfig { min, max, weight, ..AredConfig::default() }
}

impl Entry for Ared {
    type Config = AredConfig;
    const INFO: Info = Info {
        title: "RED that moves max_p so that the average stays half-way between its thresholds",
        paper: "floyd2001",
        manual: include_str!("ared.md"),
    };
    const LINUX: Option<Linux> = Some(Linux {
        tc: "red limit {limit:bytes} min {min:bytes} max {max:bytes} avpkt {packet} burst \
             {burst:bytes} adaptive bandwidth {rate}{ecn}",
        preset: DEFAULT_PRESET,
        differs: "Linux works out the weight from `burst`, here the least that tc accepts.",
        whole: true,
    });
    const PRESETS: &'static [Preset<AredConfig>] = &[
        Preset {
            name: "paper",
            doc: "floyd2001, thresholds and weight from the link's rate",
            config: paper,
        },
        Preset {
            name: "auto",
            doc: "the same, `min` no more than a sixth of the limit",
            config: auto,
        },
    ];

    fn build(config: &AredConfig, link: Link, dice: Rng) -> Result<Self, ConfigError> {
        Ok(Fifo::new(AredRule::new(config, &link)?, link, dice))
    }

    fn state_bytes(_: &AredConfig, _: &Link) -> u64 {
        core::mem::size_of::<AredRule>() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(max_p: f64) -> AredRule {
        let link =
            Link::new("10 Mbit/s".parse().unwrap(), Size::Packets(100), "1000 B".parse().unwrap())
                .unwrap();
        AredRule::new(
            &AredConfig { probability: Prob::clip(max_p), ..AredConfig::default() },
            &link,
        )
        .unwrap()
    }

    /// Band 9 to 11 packets. From .1 up to .11, down to .09; from .02 up to .025; within the band
    /// and past the ends nothing moves.
    #[test]
    fn golden_steps() {
        for (from, avg, to) in [
            (0.1, 11.1, 0.11),
            (0.1, 8.9, 0.09),
            (0.02, 11.1, 0.025),
            (0.1, 10.0, 0.1),
            (0.1, 10.9, 0.1),
            (0.1, 9.1, 0.1),
            (0.1, 11.0, 0.1), // at its ends, too
            (0.1, 9.0, 0.1),
            (0.51, 14.0, 0.51),
            (0.5, 14.0, 0.51),
            (0.0099, 0.0, 0.0099),
            (0.01, 0.0, 0.009),
        ] {
            let mut ared = rule(from);
            ared.adapt(avg);
            assert!((ared.red.max_p() - to).abs() < 1e-12, "{from} at {avg}: {}", ared.red.max_p());
        }
    }

    /// 10 Mbit/s of 1000 bytes are 1250 packets a second: w_q = 7.9968e-4; 5 ms are 6.25 packets,
    /// and half of them is less than 5. At 100 times the rate the threshold is half of 625.
    #[test]
    fn golden_thresholds() {
        let link =
            Link::new("10 Mbit/s".parse().unwrap(), Size::Packets(100), "1000 B".parse().unwrap())
                .unwrap();
        let config = paper(&link);
        assert!((config.weight - 7.9968e-4).abs() < 1e-8, "{}", config.weight);
        assert_eq!((config.min, config.max), (Size::Packets(5), Size::Packets(15)));
        let fast = Link { rate: "1 Gbit/s".parse().unwrap(), ..link };
        assert_eq!((paper(&fast).min, paper(&fast).max), (Size::Packets(312), Size::Packets(936)));
        assert_eq!((auto(&fast).min, auto(&fast).max), (Size::Packets(16), Size::Packets(48)));
    }

    /// An empty link lowers max_p every half second until it is below .01: 22 steps from .1.
    #[test]
    fn an_idle_link_lowers_max_p() {
        let mut ared = rule(0.1);
        ared.advance(Time::ZERO + Span::from_millis(499));
        assert_eq!(ared.red.max_p(), 0.1);
        ared.advance(Time::ZERO + Span::from_millis(500));
        assert!((ared.red.max_p() - 0.09).abs() < 1e-12);
        ared.advance(Time::ZERO + Span::from_secs(1e6));
        assert!(
            (ared.red.max_p() - 0.1 * libm::pow(0.9, 22.0)).abs() < 1e-12,
            "{}",
            ared.red.max_p()
        );
        assert!(ared.every.due() > Time::ZERO + Span::from_secs(1e6));
    }
}
