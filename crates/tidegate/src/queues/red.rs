#![doc = include_str!("red.md")]
mod params;
mod presets;

use crate::config::ConfigError;
use crate::packet::Packet;
use crate::parts::ewma::Ewma;
use crate::policy::{Fifo, Policy, QueueView, Verdict};
use crate::qdisc::{Backlog, DropReason, Gauge, Link, MarkReason};
use crate::rng::Rng;
use crate::units::{Size, Span, Time};
pub use params::*;
pub(crate) use presets::share;
pub use presets::{DELAY_TARGET, automatic};

/// A FIFO that signals congestion early, by the average length of the queue (floyd1993).
pub type Red = Fifo<RedRule>;

/// p_b as a function of the average, in the unit of the mode. Slopes are kept, so that no packet
/// divides.
#[derive(Clone, Debug)]
struct Ramp {
    min: f64,
    max: f64,
    /// Here certainty begins.
    top: f64,
    max_p: f64,
    slope: f64,
    gentle_slope: f64,
}

impl Ramp {
    fn set_max_p(&mut self, max_p: f64) {
        self.max_p = max_p;
        self.slope = max_p / (self.max - self.min);
        self.gentle_slope = (1.0 - max_p) / self.max;
    }

    /// p_b for an average in `min` to `top`.
    #[inline]
    fn p_b(&self, avg: f64) -> f64 {
        if avg < self.max {
            (avg - self.min) * self.slope
        } else {
            self.max_p + (avg - self.max) * self.gentle_slope
        }
    }
}

/// The rule of RED: a die whose bias follows the average length of the queue.
#[derive(Clone, Debug)]
pub struct RedRule {
    avg: Ewma,
    ramp: Ramp,
    /// Packets since the last signal, or bytes in mean packets; −1 while the average is below
    /// `min`.
    count: f64,
    /// The average was at `min` or above at the last arrival.
    above_min: bool,
    /// Since when the link has been idle.
    idle_since: Option<Time>,
    /// s: the time of a mean packet on the wire, in nanoseconds (not whole: 45 Mbit/s).
    packet_nanos: f64,
    /// One over its length in bytes.
    per_byte: f64,
    config: RedConfig,
}

impl RedRule {
    /// The rule with `config` for `link`, the link idle since the driver's origin.
    ///
    /// # Errors
    /// When `max` is not above `min`.
    pub fn new(config: &RedConfig, link: &Link) -> Result<RedRule, ConfigError> {
        let length = |size: Size| match config.mode {
            Mode::Packets => size.in_packets(link.mean_packet),
            Mode::Bytes => size.in_bytes(link.mean_packet) as f64,
        };
        let (min, max) = (length(config.min), length(config.max));
        if max <= min {
            return Err(ConfigError::new(
                "max",
                config.max,
                alloc::format!("must be above min = {}", config.min),
            ));
        }
        let top = match config.gentle {
            Gentle::On => 2.0 * max,
            Gentle::Off => max,
        };
        let mut ramp = Ramp { min, max, top, max_p: 0.0, slope: 0.0, gentle_slope: 0.0 };
        ramp.set_max_p(config.probability.get());
        Ok(RedRule {
            avg: Ewma::new(config.weight),
            ramp,
            count: -1.0,
            above_min: false,
            idle_since: Some(Time::ZERO),
            packet_nanos: link.mean_packet.bits() as f64 * 1e9 / link.rate.as_bps() as f64,
            per_byte: 1.0 / link.mean_packet.get() as f64,
            config: config.clone(),
        })
    }

    /// The average length of the queue, in packets or bytes as `mode` has it.
    #[inline]
    pub fn avg(&self) -> f64 {
        self.avg.get()
    }

    /// What the average is at `now`, later than the last call: on an idle link it falls.
    pub fn avg_at(&self, now: Time) -> f64 {
        match self.idle_since {
            Some(since) => self.avg.decayed(self.packet_times(now.since(since))),
            None => self.avg.get(),
        }
    }

    /// p_b at the average of the last arrival: 0 below `min`, 1 where RED is certain.
    pub fn p_b(&self) -> f64 {
        match self.avg() {
            avg if avg < self.ramp.min => 0.0,
            avg if avg < self.ramp.top => self.ramp.p_b(avg),
            _ => 1.0,
        }
    }

    /// Packets (byte mode: mean packets) since the last signal; −1 while the average is below
    /// `min`.
    pub fn count(&self) -> f64 {
        self.count
    }

    /// p_b at `max`.
    pub fn max_p(&self) -> f64 {
        self.ramp.max_p
    }

    /// Changes p_b at `max`, for rules that adapt it. Must lie in 0 to 1.
    pub fn set_max_p(&mut self, max_p: f64) {
        self.ramp.set_max_p(max_p);
    }

    /// The thresholds, in packets or bytes.
    pub fn thresholds(&self) -> (f64, f64) {
        (self.ramp.min, self.ramp.max)
    }

    /// m: whole packet times in `idle`.
    fn packet_times(&self, idle: Span) -> u64 {
        (idle.as_nanos() as f64 / self.packet_nanos) as u64
    }

    /// Step 1: an arrival brings the average up to date.
    #[inline]
    pub fn estimate(&mut self, now: Time, backlog: Backlog) {
        match self.idle_since {
            None => self.avg.update(match self.config.mode {
                Mode::Packets => backlog.packets as f64,
                Mode::Bytes => backlog.bytes as f64,
            }),
            Some(since) => self.wake(now, since),
        }
    }

    /// An arrival on an idle link. If it is refused, the idle time goes on, and what is left of a
    /// packet time is kept. Else arrivals more often than once in a packet time would hold the
    /// average up, and be refused, for ever. One more than m needs no rest: there the average falls
    /// with every arrival.
    #[cold]
    fn wake(&mut self, now: Time, since: Time) {
        let m = self.packet_times(now.since(since));
        let (power, counted) = match self.config.idle_decay {
            IdleDecay::M => (m, since + Span::from_nanos((m as f64 * self.packet_nanos) as u64)),
            IdleDecay::MPlusOne => (m.saturating_add(1), now),
        };
        self.avg.decay(power);
        self.idle_since = Some(counted);
    }

    /// Whether the packet passes for what it found: a low average, or (ns-2) a queue of one packet
    /// at most.
    #[inline]
    fn unmolested(&mut self, waiting: u32) -> bool {
        let low = self.avg.get() < self.ramp.min
            || (waiting <= 1 && self.config.short_queue == Leniency::Pass);
        if low {
            self.count = -1.0;
            self.above_min = false;
        }
        low
    }

    /// Steps 2 to 4: what becomes of a packet of `len` bytes that found `waiting` packets.
    #[inline]
    pub fn judge(&mut self, len: u32, waiting: u32, dice: &mut Rng) -> Verdict {
        if self.unmolested(waiting) {
            return Verdict::Admit;
        }
        let crossing = !core::mem::replace(&mut self.above_min, true);
        if self.avg.get() >= self.ramp.top {
            self.count = 0.0;
            return self.certain();
        }
        let (mut p_b, mut step, mut ratio) = (self.ramp.p_b(self.avg.get()), 1.0, 1.0);
        let ramp = p_b;
        if self.config.mode == Mode::Bytes {
            let lengths = len as f64 * self.per_byte;
            match self.config.byte_order {
                ByteOrder::Before => p_b *= lengths,
                ByteOrder::After => (step, ratio) = (lengths, lengths),
            }
        }
        if crossing && self.config.on_crossing == Leniency::Pass {
            self.count = step;
            return Verdict::Admit;
        }
        self.count = (self.count + step).max(0.0);
        let die = dice.uniform();
        match spread(p_b, self.count, self.config.wait) {
            // u < p_a without the division p_b / room; a p_a of 1 is not scaled down by a short
            // packet.
            Some(room) if room <= p_b || die * room < p_b * ratio => {
                self.count = 0.0;
                self.signal(ramp)
            }
            _ => Verdict::Admit,
        }
    }

    /// The verdict on a packet that the die hit.
    #[inline]
    fn signal(&self, p_b: f64) -> Verdict {
        if p_b <= self.config.mark_up_to.get() {
            self.config.ecn.verdict(MarkReason::Early)
        } else {
            Verdict::Drop(DropReason::Early)
        }
    }

    /// The verdict on a packet that no die need be rolled for.
    fn certain(&self) -> Verdict {
        match self.config.mark_above_max {
            Certain::Mark => self.config.ecn.verdict(MarkReason::Forced),
            Certain::Drop => Verdict::Drop(DropReason::Forced),
        }
    }

    /// A packet was let in: the link is idle no longer.
    #[inline]
    pub fn entered(&mut self) {
        self.idle_since = None;
    }

    /// Step 5: a packet found no room.
    pub fn overflow(&mut self, waiting: u32) {
        if !self.unmolested(waiting) {
            self.count = 0.0;
            self.above_min = true;
        }
    }

    /// Shows `avg`, `p`, `max_p` and `count`.
    pub fn gauges(&self, see: &mut dyn FnMut(Gauge)) {
        let unit = match self.config.mode {
            Mode::Packets => "packets",
            Mode::Bytes => "bytes",
        };
        see(Gauge { name: "avg", unit, value: self.avg() });
        see(Gauge { name: "p", unit: "", value: self.p_b() });
        see(Gauge { name: "max_p", unit: "", value: self.max_p() });
        see(Gauge { name: "count", unit: "packets", value: self.count });
    }
}

/// The correction by the count, as the divisor of p_a = p_b / room. A room of p_b or less means
/// certainty; `None` means p_a = 0.
#[inline]
fn spread(p_b: f64, count: f64, wait: SignalSpacing) -> Option<f64> {
    let product = count * p_b;
    match wait {
        SignalSpacing::Off => Some(1.0 - product),
        SignalSpacing::On if product < 1.0 => None,
        SignalSpacing::On => Some(2.0 - product),
    }
}

impl Policy for RedRule {
    #[inline]
    fn arrive(
        &mut self,
        now: Time,
        pkt: &mut Packet,
        queue: &impl QueueView,
        dice: &mut Rng,
    ) -> Verdict {
        let backlog = queue.backlog();
        self.estimate(now, backlog);
        self.judge(pkt.len, backlog.packets, dice)
    }

    #[inline]
    fn admitted(&mut self, _: Time, _: &Packet, _: &impl QueueView) {
        self.entered();
    }

    #[inline]
    fn refused(&mut self, now: Time, _: &Packet, why: DropReason, queue: &impl QueueView) {
        if why == DropReason::Overlimit {
            self.estimate(now, queue.backlog());
            self.overflow(queue.backlog().packets);
        }
    }

    #[inline]
    fn idle(&mut self, now: Time) {
        self.idle_since = self.idle_since.or(Some(now));
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        self.gauges(see);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Prob;

    fn close(a: f64, b: f64) {
        assert!((a / b - 1.0).abs() < 1e-4, "{a} is not {b}");
    }

    fn rule(config: RedConfig) -> RedRule {
        let link =
            Link::new("10 Mbit/s".parse().unwrap(), Size::Packets(100), "1000 B".parse().unwrap())
                .unwrap();
        RedRule::new(&config, &link).unwrap()
    }

    /// floyd1993: at avg 10 p_b is .01; gentle at avg 20 with max_p .1 it is .4.
    #[test]
    fn golden_p_b() {
        assert_eq!(rule(RedConfig::default()).p_b(), 0.0); // of an average of 0
        close(rule(RedConfig::default()).ramp.p_b(10.0), 0.01);
        let gentle = rule(RedConfig {
            gentle: Gentle::On,
            probability: Prob::clip(0.1),
            ..RedConfig::default()
        });
        close(gentle.ramp.p_b(20.0), 0.4);
        close(gentle.ramp.p_b(15.0), 0.1);
    }

    #[test]
    fn golden_p_a() {
        let p_a = |count, wait| spread(0.01, count, wait).map(|room| 0.01 / room);
        close(p_a(50.0, SignalSpacing::Off).unwrap(), 0.02);
        close(p_a(99.0, SignalSpacing::Off).unwrap(), 1.0);
        assert_eq!(p_a(99.0, SignalSpacing::On), None);
        close(p_a(150.0, SignalSpacing::On).unwrap(), 0.02);
        // Where waiting ends, the die decides.
        assert_eq!(spread(0.25, 4.0, SignalSpacing::On), Some(1.0));
    }

    /// A tenth of a second of 1000-byte packets at 10 Mbit/s are 125 packet times; ns-2 takes one
    /// more.
    #[test]
    fn golden_average() {
        for (idle_decay, avg) in [(IdleDecay::M, 7.7859), (IdleDecay::MPlusOne, 7.7859 * 0.998)] {
            let mut red = rule(RedConfig { idle_decay, ..RedConfig::default() });
            red.idle_since = None;
            red.estimate(Time::ZERO, Backlog { packets: 10, bytes: 10_000 });
            close(red.avg(), 0.02);
            for _ in 0..10_000 {
                red.estimate(Time::ZERO, Backlog { packets: 10, bytes: 10_000 });
            }
            close(red.avg(), 10.0);
            red.idle(Time::ZERO);
            red.idle(Time::ZERO + Span::from_millis(50)); // asked again in vain: still idle since 0
            close(red.avg_at(Time::ZERO + Span::from_millis(100)), 7.7859);
            red.estimate(Time::ZERO + Span::from_millis(100), Backlog::default());
            close(red.avg(), avg);
        }
    }

    /// A flood at twice the link's rate starts while the average is high and the queue empty. It is
    /// refused, but the average falls as on a silent link, and the queue opens again.
    #[test]
    fn refused_arrivals_do_not_hold_the_average_up() {
        for idle_decay in [IdleDecay::M, IdleDecay::MPlusOne] {
            let mut red = rule(RedConfig { idle_decay, ..RedConfig::default() });
            red.idle_since = None;
            for _ in 0..10_000 {
                red.estimate(Time::ZERO, Backlog { packets: 20, bytes: 20_000 });
            }
            red.idle(Time::ZERO);
            for i in 1..=250 {
                red.estimate(Time::from_nanos(i * 400_000), Backlog::default());
            }
            let most =
                if idle_decay == IdleDecay::M { 20.0 * 0.77859 } else { 20.0 * 0.77859 * 0.998 };
            assert!(red.avg() < most * 1.0001, "{idle_decay:?}: {}", red.avg());
        }
    }

    #[test]
    fn max_must_be_above_min() {
        let link =
            Link::new("10 Mbit/s".parse().unwrap(), Size::Packets(100), "1000 B".parse().unwrap())
                .unwrap();
        let config = RedConfig { min: Size::Bytes(15_000), ..RedConfig::default() };
        let error = RedRule::new(&config, &link).unwrap_err();
        assert_eq!(
            (error.field.as_str(), error.why.as_str()),
            ("max", "must be above min = 15 kB")
        );
    }
}
