#![doc = include_str!("purge.md")]
mod offenders;
mod params;
mod presets;
mod suspects;

use crate::packet::Packet;
use crate::parts::every::{CATCH_UP, Every};
use crate::parts::hit_cache::{HitCache, Replace};
use crate::parts::mincount::MinCount;
use crate::parts::price::Price;
use crate::policy::{Fifo, NonEct, Policy, QueueView, Verdict};
use crate::qdisc::{DropReason, Gauge, Link, MarkReason};
use crate::rng::Rng;
use crate::units::Time;
use offenders::OffendersPrice;
pub use params::*;
use suspects::Suspects;

/// A FIFO that marks by REM's price and purges what takes more than its share while the link is
/// overloaded.
pub type Purge = Fifo<PurgeRule>;

/// The rule of Purge.
#[derive(Clone, Debug)]
pub struct PurgeRule {
    config: PurgeConfig,
    price: Price,
    price_due: Every,
    /// 1 / mean packet.
    per_byte: f64,
    cache: HitCache,
    sketch: MinCount,
    period: Every,
    /// When the hit fractions are updated; never, where that is done at the end of a period.
    update: Every,
    /// N_act; 0 before the first estimate.
    flows: f64,
    /// Offered in this period, in bytes.
    offered: u64,
    /// X of the last period, c and b*, in the unit of eq. (3), and how many of it a byte is.
    input: f64,
    capacity: f64,
    target: f64,
    of_a_byte: f64,
    overload_run: u32,
    /// The price for offenders, and what 1 of it means: by so much of eq. (3) falls the chance to
    /// pass by e.
    offenders: OffendersPrice,
    per_nat: f64,
    target_bytes: u64,
    /// What waited at the last call, in bytes.
    backlog: u64,
    /// Whom the push-out may take, and whether the packet that arrives is one of them.
    suspects: Suspects,
    arriving: bool,
}

impl PurgeRule {
    fn new(config: &PurgeConfig, link: &Link, dice: &mut Rng) -> PurgeRule {
        let per_second = link.rate.as_bps() as f64 / 8.0;
        let of_a_byte = match config.unit {
            LoadUnit::Bits => 8.0,
            LoadUnit::Bytes => 1.0,
            LoadUnit::Packets => 1.0 / link.mean_packet.get() as f64,
        };
        let target_bytes = config.target.in_bytes(link.mean_packet);
        let per_update = link.packets_per_second() * config.price_interval.as_secs();
        let target_packets = config.target.in_packets(link.mean_packet);
        PurgeRule {
            price: Price::new(
                config.alpha,
                config.gamma,
                config.phi,
                target_packets,
                per_update,
                1.0,
            ),
            price_due: Every::new(config.price_interval),
            per_byte: 1.0 / link.mean_packet.get() as f64,
            cache: HitCache::new(config.cache, config.replace)
                .remembering(config.past)
                .welcoming(config.fresh),
            sketch: MinCount::new(config.buckets, config.minima, config.estimator, dice.bits()),
            period: Every::new(config.interval),
            update: if config.update.as_nanos() == 0 {
                Every::never()
            } else {
                Every::new(config.update)
            },
            flows: 0.0,
            offered: 0,
            input: 0.0,
            capacity: per_second * of_a_byte,
            target: target_bytes as f64 * of_a_byte,
            of_a_byte,
            overload_run: 0,
            offenders: OffendersPrice::new(config, link),
            per_nat: 1.0 / libm::log(config.phi),
            target_bytes,
            backlog: 0,
            suspects: Suspects::ALL,
            arriving: true,
            config: config.clone(),
        }
    }

    /// N_act: the estimated number of flows, 0 before the first estimate.
    pub fn flows(&self) -> f64 {
        self.flows
    }

    /// The link's price.
    pub fn price(&self) -> &Price {
        &self.price
    }

    /// The cache of sampled flows.
    pub fn cache(&self) -> &HitCache {
        &self.cache
    }

    /// The price for offenders, where there is one: for each of it and of a flow's excess the
    /// chance to pass falls by e.
    pub fn offenders_price(&self) -> f64 {
        self.offenders.get()
    }

    /// α (b − b*) + X − c of eq. (3), in its unit.
    pub fn mismatch(&self, backlog: u64) -> f64 {
        self.config.alpha * (backlog as f64 * self.of_a_byte - self.target) + self.input
            - self.capacity
    }

    /// d_i of eq. (3) for a flow above its fair share on an overloaded link; `None` for any other.
    /// Two negative factors make no price.
    #[inline]
    pub fn own_price(&self, flow: u64, backlog: u64) -> Option<f64> {
        self.price_of(self.excess(flow)?, backlog)
    }

    /// The same of a flow with this excess.
    #[inline]
    fn price_of(&self, excess: f64, backlog: u64) -> Option<f64> {
        Some(excess * self.price_of_excess(backlog)?)
    }

    /// Ω N_act − 1 of a flow above its fair share.
    #[inline]
    fn excess(&self, flow: u64) -> Option<f64> {
        let excess = self.cache.fraction(flow)? * self.flows - 1.0;
        (excess > 0.0).then_some(excess)
    }

    /// What the excess multiplies, while flows above their share are purged.
    #[inline]
    fn price_of_excess(&self, backlog: u64) -> Option<f64> {
        if self.config.memory == Memory::Gate && backlog <= self.target_bytes {
            return None;
        }
        let price = match self.config.own {
            Own::Mismatch => self.config.gamma * self.mismatch(backlog),
            Own::Price => self.offenders.get() * self.per_nat,
        };
        (price > 0.0).then_some(price)
    }

    #[inline]
    fn catch_up(&mut self, now: Time, backlog: u64) {
        self.backlog = backlog;
        if now >= self.price_due.due() {
            self.update_price(now);
        }
        if now >= self.period.due() {
            self.end_periods(now);
        }
        if now >= self.update.due() {
            self.update_fractions(now);
        }
    }

    #[cold]
    fn update_price(&mut self, now: Time) {
        let backlog = self.backlog as f64 * self.per_byte;
        let overdue = self.price_due.overdue(now);
        if self.config.own == Own::Price {
            self.offenders.updates(overdue, self.backlog);
        }
        if overdue > CATCH_UP {
            self.price.period(backlog);
            self.price.periods_without_arrivals(overdue - 1, backlog);
            self.price_due.skip(overdue);
        }
        while self.price_due.step(now).is_some() {
            self.price.period(backlog);
        }
    }

    #[cold]
    fn update_fractions(&mut self, now: Time) {
        self.suspects = Suspects::ALL;
        let overdue = self.update.overdue(now);
        self.end_of_sampling();
        // All the others are without a sampling.
        if overdue > 1 {
            self.cache.periods_without_samplings(overdue - 1);
            if self.config.memory == Memory::Fade {
                self.cache.fade(libm::pow(0.5, (overdue - 1) as f64));
            }
        }
        self.update.skip(overdue);
    }

    #[cold]
    fn end_periods(&mut self, now: Time) {
        self.suspects = Suspects::ALL;
        let overdue = self.period.overdue(now);
        if overdue > CATCH_UP {
            // After 64 empty periods fading fractions are nothing, and lasting ones have not
            // changed since the second.
            self.period.skip(overdue - CATCH_UP);
        }
        while self.period.step(now).is_some() {
            self.end_period();
        }
        if self.update == Every::never() {
            self.cache.periods_without_samplings(overdue.saturating_sub(CATCH_UP));
        }
    }

    /// Apart from `offered`, where the same call is to stay part of the path that is taken by
    /// default.
    #[cold]
    fn count_admitted(&mut self, flow: u64) {
        self.sketch.add(flow);
    }

    /// Eq. (2).
    fn end_of_sampling(&mut self) {
        let sampled = self.cache.samplings() > 0;
        self.cache.end_of_period();
        if !sampled && self.config.memory == Memory::Fade {
            self.cache.fade(0.5);
        }
    }

    fn end_period(&mut self) {
        if self.update == Every::never() {
            self.end_of_sampling();
        }
        self.flows = self.sketch.estimate();
        // A key for each period: a collision does not outlive it. Derived, so that the dice are the
        // packets' alone.
        if self.config.window == CountWindow::Period {
            self.sketch.clear(crate::rng::mix(self.sketch.key()));
        }
        self.input = self.offered as f64 * self.of_a_byte / self.config.interval.as_secs();
        self.offered = 0;
        self.overload_run =
            if self.input > self.capacity { self.overload_run.saturating_add(1) } else { 0 };
    }
}

impl Policy for PurgeRule {
    #[inline]
    fn offered(&mut self, now: Time, pkt: &Packet, queue: &impl QueueView, dice: &mut Rng) {
        let backlog = queue.backlog();
        self.catch_up(now, backlog.bytes);
        self.offered += pkt.len as u64;
        self.offenders.offered(pkt.len);
        if self.config.input == CountedPackets::Offered {
            self.price.arrived(pkt.len as f64 * self.per_byte);
        }
        if self.config.count == CountedPackets::Offered {
            self.sketch.add(pkt.flow);
        }
        if backlog.bytes > self.target_bytes {
            let position = dice.below(backlog.packets as u64) as usize;
            let counts = match self.config.weigh {
                SampleWeight::Packets => 1,
                SampleWeight::Bytes => queue.len_at(position),
            };
            self.cache.hit_by(queue.flow_at(position), counts);
            // Then whoever is new in the cache takes over another's share.
            if self.config.replace == Replace::SpaceSaving {
                self.suspects = Suspects::ALL;
            }
        }
    }

    #[inline]
    fn arrive(
        &mut self,
        _: Time,
        pkt: &mut Packet,
        queue: &impl QueueView,
        dice: &mut Rng,
    ) -> Verdict {
        let mut price = self.price.get();
        let excess = self.excess(pkt.flow);
        self.arriving = excess.is_some();
        if let Some(own) = excess.and_then(|excess| self.price_of(excess, queue.backlog().bytes)) {
            if self.overload_run >= self.config.persist {
                return if self.price.strikes(dice.uniform(), own) {
                    Verdict::Drop(DropReason::Unfair)
                } else {
                    Verdict::Admit
                };
            }
            price = match self.config.stronger {
                Stronger::Larger => own.max(price),
                Stronger::Literal => own,
            };
        }
        if excess.is_none() && self.config.spare == Spare::On {
            // What they pay at twice their share.
            price = (price - self.offenders.get() * self.per_nat).max(0.0);
        }
        let common = price == self.price.get();
        let m = if common { self.price.probability() } else { self.price.probability_of(price) };
        if dice.chance(m) { self.config.ecn.verdict(MarkReason::Early) } else { Verdict::Admit }
    }

    #[inline]
    fn admitted(&mut self, _: Time, pkt: &Packet, queue: &impl QueueView) {
        if self.config.input == CountedPackets::Admitted {
            self.price.arrived(pkt.len as f64 * self.per_byte);
        }
        if self.config.count == CountedPackets::Admitted {
            self.count_admitted(pkt.flow);
        }
        if self.config.push_out == PushOut::On {
            self.suspects.join(self.arriving);
        }
        self.backlog = queue.backlog().bytes + pkt.len as u64;
    }

    fn make_room(&mut self, _: Time, _: &Packet, queue: &impl QueueView) -> Option<usize> {
        if self.config.push_out == PushOut::Off {
            return None;
        }
        let waiting = queue.backlog().packets as usize;
        self.price_of_excess(queue.backlog().bytes)?;
        while let Some(depth) = self.suspects.newest().filter(|&depth| depth < waiting) {
            let position = waiting - 1 - depth;
            if self.excess(queue.flow_at(position)).is_some() {
                self.suspects.leave(depth);
                return Some(position);
            }
            self.suspects.clear(depth);
        }
        None
    }

    #[inline]
    fn depart(
        &mut self,
        now: Time,
        pkt: &Packet,
        queue: &impl QueueView,
        _: &mut Rng,
    ) -> Option<MarkReason> {
        let backlog = queue.backlog().bytes;
        self.catch_up(now, backlog + pkt.len as u64);
        self.backlog = backlog;
        None
    }

    #[inline]
    fn idle(&mut self, now: Time) {
        self.catch_up(now, 0);
    }

    fn advance(&mut self, now: Time) {
        self.catch_up(now, self.backlog);
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        see(Gauge { name: "price", unit: "", value: self.price.get() });
        see(Gauge { name: "m", unit: "", value: self.price.probability() });
        see(Gauge { name: "flows", unit: "", value: self.flows });
        let fair = if self.flows > 0.0 { 1.0 / self.flows } else { 1.0 };
        let above = self.cache.fractions().filter(|&(_, fraction)| fraction > fair).count();
        see(Gauge { name: "offenders", unit: "", value: above as f64 });
        see(Gauge { name: "overload_run", unit: "periods", value: self.overload_run as f64 });
    }

    #[inline]
    fn non_ect(&self) -> NonEct {
        self.config.non_ect
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Entry;
    use crate::qdisc::{NullSink, Qdisc};
    use crate::units::{Bytes, Size, Span};

    /// 8 Mbit/s, b* 20 packets.
    fn rule(change: impl FnOnce(&mut PurgeConfig)) -> PurgeRule {
        let link =
            Link::new("8 Mbit/s".parse().unwrap(), Size::Packets(100), Bytes::new(1000)).unwrap();
        let mut config = PurgeConfig { target: Size::Packets(20), ..PurgeConfig::default() };
        change(&mut config);
        PurgeRule::new(&config, &link, &mut Rng::from_seed(1))
    }

    /// Of 100 samplings 60 were of flow 1 and 20 each of flows 2 and 3, and five flows were
    /// counted.
    fn sampled(rule: &mut PurgeRule) {
        (0..100).for_each(|n| rule.cache.hit([1, 1, 1, 2, 3][n % 5]));
        rule.cache.end_of_period();
        rule.flows = 5.0;
    }

    /// Eq. (3): (.6 · 5 − 1) γ (α (b − b*) + X − c) with b − b* and X − c in bits. Flow 2 has its
    /// share of 1/5 and no more.
    #[test]
    fn the_own_price_is_that_of_who_is_above_the_fair_share_of_an_overloaded_link() {
        let mut rule = rule(|_| {});
        sampled(&mut rule);
        rule.input = 9e6;
        let price = rule.own_price(1, 30_000).unwrap();
        assert!((price - 2.0 * 0.001 * (0.1 * 80_000.0 + 1e6)).abs() < 1e-9 * price, "{price}");
        assert_eq!((rule.own_price(2, 30_000), rule.own_price(4, 30_000)), (None, None));
        // No mismatch, and one that is negative: for nobody.
        rule.input = 8e6;
        assert_eq!(
            (rule.own_price(1, 20_000), rule.own_price(1, 10_000), rule.own_price(2, 10_000)),
            (None, None, None)
        );
        assert!(rule.own_price(1, 20_001).is_some());
        let mut offenders = f64::NAN;
        rule.probe(&mut |gauge| {
            offenders = if gauge.name == "offenders" { gauge.value } else { offenders }
        });
        assert_eq!(offenders, 1.0);
    }

    #[test]
    fn with_the_gate_nobody_is_purged_up_to_the_target() {
        for (memory, at_target) in
            [(Memory::Gate, false), (Memory::Hold, true), (Memory::Fade, true)]
        {
            let mut rule = rule(|config| config.memory = memory);
            sampled(&mut rule);
            rule.input = 9e6;
            let purged =
                [19_999, 20_000, 20_001].map(|backlog| rule.own_price(1, backlog).is_some());
            assert_eq!(purged, [at_target, at_target, true], "{memory:?}");
        }
    }

    /// A period without samplings: eq. (2) leaves Ω as it is, and so does the rule unless it is to
    /// halve.
    #[test]
    fn what_is_not_sampled_lasts_or_fades() {
        for (memory, then) in
            [(Memory::Hold, [0.6, 0.6]), (Memory::Gate, [0.6, 0.6]), (Memory::Fade, [0.3, 0.15])]
        {
            let mut rule = rule(|config| config.memory = memory);
            (0..100).for_each(|n| rule.cache.hit([1, 1, 1, 2, 3][n % 5]));
            // The period in which they were sampled halves nothing.
            for fraction in [0.6].into_iter().chain(then) {
                rule.end_period();
                assert_eq!(rule.cache.fraction(1), Some(fraction), "{memory:?}");
            }
        }
    }

    /// X is a rate: what was offered in a period of 250 ms, four times. The link is overloaded by
    /// more than its capacity.
    #[test]
    fn input_is_per_second() {
        for (unit, rate) in
            [(LoadUnit::Bits, 8e6), (LoadUnit::Bytes, 1e6), (LoadUnit::Packets, 1e3)]
        {
            let mut rule =
                rule(|config| (config.unit, config.interval) = (unit, Span::from_millis(250)));
            for (offered, run) in [(250_000, 0), (250_001, 1), (250_001, 2), (250_000, 0)] {
                rule.offered = offered;
                rule.end_period();
                assert!(
                    (rule.input - rate * offered as f64 / 250_000.0).abs() < 1e-9 * rate,
                    "{unit:?}: {}",
                    rule.input
                );
                assert_eq!(rule.overload_run, run, "{unit:?}");
            }
        }
    }

    /// However long nothing happens, periods end and prices change on their grids.
    #[test]
    fn a_long_silence_leaves_periods_on_their_grid() {
        let link =
            Link::new("8 Mbit/s".parse().unwrap(), Size::Packets(100), Bytes::new(1000)).unwrap();
        for silence in [1, 63, 64, 65, 66, 1_000] {
            let mut queue = Purge::build(&PurgeConfig::default(), link, Rng::from_seed(1)).unwrap();
            let at = |ms| Time::ZERO + Span::from_millis(ms);
            queue.enqueue(at(0), Packet::new(7, 1000), &mut NullSink);
            queue.advance(at(1_000 * silence + 999));
            let rule = queue.policy();
            assert_eq!(rule.period.due(), at(1_000 * (silence + 1)), "{silence}");
            assert_eq!(rule.price_due.due(), at(1_000 * (silence + 1)), "{silence}");
            // Of the packet, which was offered in the first period, nothing is known any more.
            let known = if silence == 1 { (1.0, 8e3) } else { (0.0, 0.0) };
            assert_eq!((rule.flows(), rule.input), known, "{silence}");
        }
    }
}
