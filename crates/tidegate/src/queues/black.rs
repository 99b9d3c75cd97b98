#![doc = include_str!("black.md")]
use crate::choices;
use crate::config::ConfigError;
use crate::entry::{Entry, Info, Preset, TARGET_RTT};
use crate::packet::Packet;
use crate::parts::every::{CATCH_UP, Every};
use crate::parts::hit_cache::{HitCache, Replace};
use crate::parts::matches::Matches;
use crate::policy::{Fifo, Policy, QueueView, Signal, Verdict};
use crate::qdisc::{DropReason, Gauge, Link, MarkReason};
use crate::queues::red::{self, Gentle, RedConfig, RedRule, SignalSpacing};
use crate::rng::Rng;
use crate::units::{Prob, Size, Span, Time};

/// A RED queue that drops from flows which hold more than their share of the buffer
/// (chatranon2003).
pub type Black = Fifo<BlackRule>;

choices! {
    /// When flows are judged by their hit fractions, which are as old as the last period.
    pub enum JudgingTime {
        /// While the queue is above the threshold for sampling.
        On = "on",
        /// Always.
        Off = "off",
    }
}

crate::params! {
    /// BLACK's parameters, RED's among them.
    pub struct BlackConfig: RedConfig {
        /// How many high-bandwidth flows are remembered.
        cache: u32 = 50, "HBF", 1 ..= 4096;
        /// Who makes room in a full cache.
        replace: Replace = Replace::Oldest, "", 0 ..= 0;
        /// Length of a sampling period.
        interval: Span = Span::from_millis(1000), "T", 10_000_000 ..= 3_600_000_000_000_u64;
        /// A sampling period ends with so many samplings instead; 0: after `interval`.
        samplings: u32 = 0, "m_s", 0 ..= 1_000_000_000;
        /// Above this queue BLACK samples; 0: above RED's `min`. With 1 B whatever waits is enough.
        threshold: Size = Size::Packets(0), "q_th", 0 ..= 1_000_000_000_000_u64;
        /// Whether flows are judged only while the queue is above that.
        gate: JudgingTime = JudgingTime::On, "", 0 ..= 0;
        /// Below this average RED does nothing.
        min: Size = Size::Packets(5);
        max: Size = Size::Packets(15);
        probability: Prob = Prob::clip(0.1);
        weight: f64 = 0.002;
        gentle: Gentle = Gentle::On;
        wait: SignalSpacing = SignalSpacing::On;
        /// Whether RED marks ECN-capable packets instead of dropping them; BLACK itself always
        /// drops.
        ecn: Signal = Signal::Mark;
    }
}

impl BlackConfig {
    fn red(&self, link: &Link) -> Result<RedRule, ConfigError> {
        RedRule::new(&self.base(), link)
    }

    /// q_th.
    fn threshold(&self) -> Size {
        match self.threshold {
            Size::Packets(0) | Size::Bytes(0) => self.min,
            threshold => threshold,
        }
    }
}

/// The rule of BLACK: RED, and a drop for each packet of a flow by how far its share of the buffer
/// exceeds the fair one.
#[derive(Clone, Debug)]
pub struct BlackRule {
    red: RedRule,
    cache: HitCache,
    matches: Matches,
    /// N_act; 0 before the first estimate.
    flows: f64,
    every: Every,
    /// With how many samplings a period ends; 0: by `every`.
    samplings: u64,
    threshold: Size,
    gate: JudgingTime,
}

impl BlackRule {
    /// N_act: the estimated number of flows, 0 before the first estimate.
    pub fn flows(&self) -> f64 {
        self.flows
    }

    /// The cache of sampled flows.
    pub fn cache(&self) -> &HitCache {
        &self.cache
    }

    #[inline]
    fn catch_up(&mut self, now: Time) {
        if now >= self.every.due() && self.samplings == 0 {
            self.periods(now);
        }
    }

    #[cold]
    fn periods(&mut self, now: Time) {
        let overdue = self.every.overdue(now);
        if overdue > CATCH_UP {
            // Two periods without a sampling leave everything as it is, so the rest changes
            // nothing.
            self.every.skip(overdue - 2);
        }
        while self.every.step(now).is_some() {
            self.end_of_period();
        }
    }

    fn end_of_period(&mut self) {
        self.flows = self.matches.estimate().unwrap_or(self.flows);
        self.matches.clear();
        self.cache.end_of_period();
    }

    #[inline]
    fn above_threshold(&self, queue: &impl QueueView) -> bool {
        let backlog = queue.backlog();
        match self.threshold {
            Size::Packets(n) => backlog.packets as u64 > n,
            Size::Bytes(b) => backlog.bytes > b,
        }
    }

    /// Ω_i N_act − 1 for a flow above the fair share; `None` for any other.
    #[inline]
    fn excess(&self, flow: u64) -> Option<f64> {
        let excess = self.cache.fraction(flow)? * self.flows - 1.0;
        (excess > 0.0).then_some(excess)
    }
}

impl Policy for BlackRule {
    #[inline]
    fn offered(&mut self, now: Time, pkt: &Packet, queue: &impl QueueView, dice: &mut Rng) {
        self.catch_up(now);
        if self.above_threshold(queue) {
            let sampled = queue.flow_at(dice.below(queue.backlog().packets as u64) as usize);
            self.cache.hit(sampled);
            self.matches.sample(sampled, pkt.flow);
            if self.cache.samplings() == self.samplings {
                self.end_of_period();
            }
        }
    }

    #[inline]
    fn arrive(
        &mut self,
        now: Time,
        pkt: &mut Packet,
        queue: &impl QueueView,
        dice: &mut Rng,
    ) -> Verdict {
        if (self.gate == JudgingTime::Off || self.above_threshold(queue))
            && let Some(excess) = self.excess(pkt.flow)
        {
            // RED's average follows the queue also where RED is not asked.
            self.red.estimate(now, queue.backlog());
            return if dice.chance(excess) {
                Verdict::Drop(DropReason::Unfair)
            } else {
                Verdict::Admit
            };
        }
        self.red.arrive(now, pkt, queue, dice)
    }

    #[inline]
    fn admitted(&mut self, now: Time, pkt: &Packet, queue: &impl QueueView) {
        self.red.admitted(now, pkt, queue);
    }

    #[inline]
    fn refused(&mut self, now: Time, pkt: &Packet, why: DropReason, queue: &impl QueueView) {
        self.red.refused(now, pkt, why, queue);
    }

    #[inline]
    fn depart(
        &mut self,
        now: Time,
        _: &Packet,
        _: &impl QueueView,
        _: &mut Rng,
    ) -> Option<MarkReason> {
        self.catch_up(now);
        None
    }

    #[inline]
    fn idle(&mut self, now: Time) {
        self.catch_up(now);
        self.red.idle(now);
    }

    fn advance(&mut self, now: Time) {
        self.catch_up(now);
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        see(Gauge { name: "flows", unit: "", value: self.flows });
        let largest =
            self.cache.fractions().fold(0.0, |most: f64, (_, fraction)| most.max(fraction));
        see(Gauge { name: "largest_share", unit: "", value: largest });
        self.red.gauges(see);
    }
}

fn config(link: &Link, min: f64, max: f64) -> BlackConfig {
    let share = |part: f64| match link.limit.scale(part) {
        Size::Packets(n) => Size::Packets(n.max(1)),
        Size::Bytes(b) => Size::Bytes(b.max(1)),
    };
    let min = share(min);
    let max = match (min, share(max)) {
        (Size::Packets(a), Size::Packets(b)) => Size::Packets(b.max(a + 1)),
        (Size::Bytes(a), Size::Bytes(b)) => Size::Bytes(b.max(a + 1)),
        (_, other) => other,
    };
    BlackConfig { min, max, ..BlackConfig::default() }
}

impl Entry for Black {
    type Config = BlackConfig;
    const INFO: Info = Info {
        title: "RED that drops from flows sampled more often in the buffer than their fair share",
        paper: "chatranon2003",
        manual: include_str!("black.md"),
    };
    const PRESETS: &'static [Preset<BlackConfig>] = &[
        Preset {
            name: "paper",
            doc: "50 flows remembered, periods of 1 s, RED between 20 % and 80 % of the limit",
            config: |link| config(link, 0.2, 0.8),
        },
        Preset {
            name: "auto",
            doc: "periods of ten target RTTs, RED's thresholds and weight from the link as \
                 floyd2001 has them",
            config: |link| {
                let (min, max, weight) = red::automatic(link, red::DELAY_TARGET);
                let interval = Span::from_nanos(TARGET_RTT.as_nanos() * 10);
                BlackConfig { min, max, weight, interval, ..BlackConfig::default() }
            },
        },
    ];

    fn build(config: &BlackConfig, link: Link, dice: Rng) -> Result<Self, ConfigError> {
        let rule = BlackRule {
            red: config.red(&link)?,
            cache: HitCache::new(config.cache, config.replace),
            matches: Matches::default(),
            flows: 0.0,
            every: Every::new(config.interval),
            samplings: config.samplings as u64,
            threshold: config.threshold(),
            gate: config.gate,
        };
        Ok(Fifo::new(rule, link, dice))
    }

    fn state_bytes(config: &BlackConfig, _: &Link) -> u64 {
        core::mem::size_of::<BlackRule>() as u64 + HitCache::bytes(config.cache)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdisc::{NullSink, Qdisc};

    /// Flow 7 stood alone in the queue through a second; then nothing for 63 periods and for 1000.
    /// What is known of it stays, and the next period ends where its second does.
    #[test]
    fn a_long_silence_changes_nothing_and_leaves_periods_on_their_grid() {
        let link = Link::new(
            "10 Mbit/s".parse().unwrap(),
            Size::Packets(100),
            crate::units::Bytes::new(1000),
        )
        .unwrap();
        for silence in [63, 64, 65, 1_000] {
            let mut queue = Black::build(&BlackConfig::default(), link, Rng::from_seed(1)).unwrap();
            let at = |ms| Time::ZERO + Span::from_millis(ms);
            (0..20).for_each(|_| queue.enqueue(at(0), Packet::new(7, 1000), &mut NullSink));
            queue.advance(at(1_000));
            let known =
                |queue: &Black| (queue.policy().flows(), queue.policy().cache().fraction(7));
            assert_eq!(known(&queue), (1.0, Some(1.0)));
            queue.advance(at(1_000 * (silence + 1) + 999));
            assert_eq!(known(&queue), (1.0, Some(1.0)), "{silence}");
            assert_eq!(queue.policy().every.due(), at(1_000 * (silence + 2)), "{silence}");
        }
    }
}
