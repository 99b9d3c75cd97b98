//! On and off: packets of one length at a constant rate while on, nothing while off. Both periods
//! have random lengths. Exponential lengths give ns-2's `Exponential`, Pareto ones its `Pareto`,
//! and those of ITU P.59 a telephone call.
//!
//! The source sends a packet after each `8 · packet / rate` of on time, summed across off periods.
//! The mean rate is thus exactly `rate · on / (on + off)`. By contrast, ns-2 sends a whole number
//! of packets per on period, on average half a packet more.
use tidegate::units::Pacer;
use tidegate::{Bytes, ConfigError, Ecn, Rate, Rng, Span, Time};

use super::{Law, check_packet, check_rate};

/// The parameters of a source that is on and off.
#[derive(Clone, Debug, PartialEq)]
pub struct OnOff {
    /// The rate while it is on, counted on the wire.
    pub rate: Rate,
    /// The length of a packet on the wire, 1 B to 65535 B.
    pub packet: Bytes,
    /// How long it is on, in nanoseconds.
    pub on: Law,
    /// How long it is off, in nanoseconds.
    pub off: Law,
    /// What it is when it starts.
    pub begin: Begin,
    /// The ECN codepoint that its packets bear.
    pub ecn: Ecn,
}

tidegate::choices! {
    /// What a source is when it starts.
    pub enum Begin {
        /// On, for a whole time.
        On = "on",
        /// On with probability on / (on + off), by the means, for a whole time of either: in steady
        /// state if the times are
        /// exponential.
        Either = "either",
    }
}

/// The least mean on period, as a part of a packet's interval. With less, a packet would take too
/// many periods.
const LEAST_PART: f64 = 1e-3;
/// Longer than any run, so that sums of times stay in range.
const LONGEST: u64 = 1_000_000_000_000_000_000;

impl OnOff {
    /// The mean rate, in bit/s.
    pub fn mean_rate(&self) -> f64 {
        self.rate.as_bps() as f64 * self.on.share_beside(&self.off)
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        check_rate("rate", self.rate)?;
        check_packet(self.packet)?;
        let on = Span::from_nanos(self.on.mean().min(LONGEST as f64) as u64);
        let interval = self.rate.time_to_send(self.packet);
        if (on.as_nanos() as f64) < interval.as_nanos() as f64 * LEAST_PART || on == Span::ZERO {
            let why =
                format!("its mean must be a thousandth of a packet's time, {interval}, at least");
            return Err(ConfigError::new("on", on, why));
        }
        Ok(())
    }
}

/// The state of a source that is on and off.
#[derive(Clone, Debug)]
pub(crate) struct OnOffSender {
    pub len: u32,
    pub ecn: Ecn,
    pacer: Pacer,
    on: Law,
    off: Law,
    /// The probability to begin on.
    begin: f64,
    /// The rest of the on period after the last packet; `None` before the start.
    left: Option<u64>,
    /// The number of periods drawn of each kind.
    turn: u64,
    sent: u32,
}

impl OnOffSender {
    /// The source of flow number `flow`. Values drawn once per flow are drawn now.
    pub fn new(source: &OnOff, flow: u64, dice: &mut Rng) -> OnOffSender {
        let (on, off) = (source.on.settle(dice, flow), source.off.settle(dice, flow));
        let begin = match source.begin {
            Begin::On => 1.0,
            Begin::Either => on.share_beside(&off),
        };
        let len = source.packet.get() as u32;
        OnOffSender {
            len,
            ecn: source.ecn,
            pacer: Pacer::new(source.rate),
            on,
            off,
            begin,
            left: None,
            turn: 0,
            sent: 0,
        }
    }

    /// Starts again after silence.
    pub fn restart(&mut self) {
        self.left = None;
        self.pacer.reset();
    }

    /// Starts, or sends the packet due at `now`. Returns its number (none if it starts off) and
    /// when the next is due.
    pub fn send(&mut self, now: Time, dice: &mut Rng) -> (Option<u32>, Time) {
        let Some(left) = self.left else {
            let on = self.begin == 1.0 || dice.chance(self.begin);
            let wait = if on { 0 } else { self.off.draw(dice, self.turn).clamp(1, LONGEST) };
            self.left = Some(self.draw_on(dice));
            if wait > 0 {
                return (None, now + Span::from_nanos(wait));
            }
            return self.send(now, dice);
        };
        let number = self.sent;
        self.sent = self.sent.wrapping_add(1);
        let (mut need, mut left, mut wait) =
            (self.pacer.next(self.len).as_nanos().max(1), left, 0u64);
        while need >= left {
            need -= left;
            let off = self.off.draw(dice, self.turn).min(LONGEST);
            wait = wait.saturating_add(left).saturating_add(off);
            left = self.draw_on(dice);
        }
        self.left = Some(left - need);
        // At least a nanosecond: the times off may be none.
        (Some(number), now + Span::from_nanos(wait.saturating_add(need).max(1)))
    }

    fn draw_on(&mut self, dice: &mut Rng) -> u64 {
        let on = self.on.draw(dice, self.turn).clamp(1, LONGEST);
        self.turn += 1;
        on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(on: Law, off: Law) -> OnOff {
        let rate = Rate::from_bps(8_000_000);
        OnOff { rate, packet: Bytes::new(1000), on, off, begin: Begin::On, ecn: Ecn::NotEct }
    }

    /// When it sends, up to `end`.
    fn times(source: &OnOff, seed: u64, end: u64) -> Vec<u64> {
        let mut dice = Rng::from_seed(seed);
        let mut sender = OnOffSender::new(source, 0, &mut dice);
        let (mut now, mut sent) = (Time::ZERO, vec![]);
        while now.as_nanos() < end {
            let (number, next) = sender.send(now, &mut dice);
            if let Some(number) = number {
                assert_eq!(number as usize, sent.len());
                sent.push(now.as_nanos());
            }
            now = next;
        }
        sent
    }

    #[test]
    fn a_timetable_by_hand() {
        // A packet takes 1 ms; on for 2.5 ms, off for 10 ms: the third interval is half on, half
        // after the off.
        let constant = source(Law::Constant(2_500_000), Law::Constant(10_000_000));
        let us: Vec<u64> = times(&constant, 1, 27_600_000).iter().map(|t| t / 1000).collect();
        assert_eq!(us, [0, 1000, 2000, 13_000, 14_000, 25_000, 26_000, 27_000]);
        assert!(
            times(&source(Law::Constant(1_000_000), Law::Constant(0)), 1, 10_000_000)
                .iter()
                .all(|t| t % 1_000_000 == 0)
        );
    }

    #[test]
    fn the_mean_rate_is_that_of_renewals() {
        let span = 2_000_000_000_000;
        for (i, (on, off)) in [
            (Law::Exponential { mean: 500_000_000 }, Law::Exponential { mean: 500_000_000 }),
            (Law::Exponential { mean: 3_000_000 }, Law::Exponential { mean: 20_000_000 }),
            (Law::Exponential { mean: 100_000 }, Law::Exponential { mean: 200_000 }),
            (
                Law::Pareto { shape: 3.0, least: 10_000_000 },
                Law::Pareto { shape: 2.5, least: 30_000_000 },
            ),
        ]
        .into_iter()
        .enumerate()
        {
            let source = source(on.clone(), off.clone());
            let sent = times(&source, i as u64, span).len() as f64;
            let wanted = source.mean_rate() / 8000.0 * span as f64 / 1e9;
            // Of a renewal reward process: variance of the time on, T · (σ_on² μ_off² + σ_off²
            // μ_on²) / (μ_on + μ_off)³, in milliseconds and so packets. Both laws have
            // a deviation of at most 1.2 means; 5 deviations are 6e-7.
            let (m, n) = (on.mean() / 1e6, off.mean() / 1e6);
            let variance =
                span as f64 / 1e6 * 2.0 * 1.44 * (m * n) * (m * n) / ((m + n) * (m + n) * (m + n));
            assert!(
                (sent - wanted).abs() < 5.0 * variance.sqrt() + 2.0,
                "{source:?}: {sent} is not {wanted}"
            );
        }
    }

    #[test]
    fn either_begins_in_steady_state() {
        let on_off = OnOff {
            begin: Begin::Either,
            ..source(
                Law::Exponential { mean: 1_004_000_000 },
                Law::Exponential { mean: 1_587_000_000 },
            )
        };
        let n = 20_000;
        let begun = (0..n).filter(|&seed| times(&on_off, seed, 1).len() == 1).count() as f64;
        let p = 1.004 / 2.591;
        assert!((begun - n as f64 * p).abs() < 5.0 * (n as f64 * p * (1.0 - p)).sqrt(), "{begun}");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let mut bad = source(Law::Constant(999), Law::Constant(1));
        assert_eq!(bad.check().unwrap_err().field, "on");
        bad = source(Law::Constant(1_000_000), Law::Constant(0));
        bad.check().unwrap();
        bad.rate = Rate::from_bps(0);
        assert_eq!(bad.check().unwrap_err().field, "rate");
    }
}
