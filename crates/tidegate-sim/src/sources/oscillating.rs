//! A constant bit rate that changes between two rates on a timetable (feng2001 §III-D: 5 Mb/s in
//! [10, 30) and [50, 70), 0.1 Mb/s otherwise). Between two packets the rate adds up to a packet, so
//! that a change takes effect at once.
use std::sync::Arc;

use tidegate::{Bytes, ConfigError, Ecn, Prob, Rate, Rng, Span, Time};

use super::{check_packet, check_rate};

/// The start and the end of a period, the end not included.
pub type Period = (Time, Time);

/// Checks that `periods` are in order and none is empty.
///
/// # Errors
/// Names the first that is not, as `field`.
pub(crate) fn check_periods(
    field: &str,
    periods: &[Period],
    after: Time,
) -> Result<(), ConfigError> {
    let mut last = after;
    for &(from, to) in periods {
        let text = format!("{from}..{to}");
        if to <= from {
            return Err(ConfigError::new(field, text, "the period ends before it begins"));
        }
        if from < last {
            return Err(ConfigError::new(
                field,
                text,
                format!("begins before the one before it ends, {last}"),
            ));
        }
        last = to;
    }
    Ok(())
}

/// The parameters of an oscillating source.
#[derive(Clone, Debug, PartialEq)]
pub struct Oscillating {
    /// The rate during the periods, counted on the wire.
    pub high: Rate,
    /// The rate otherwise; may be 0.
    pub low: Rate,
    /// When the rate is high, in order.
    pub high_during: Arc<[Period]>,
    /// The length of a packet on the wire, 1 B to 65535 B.
    pub packet: Bytes,
    /// How far an interval may lie from the one that the rate makes, as for [`Cbr`](super::Cbr).
    pub jitter: Prob,
    /// The ECN codepoint that its packets bear.
    pub ecn: Ecn,
}

impl Oscillating {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        check_rate("high", self.high)?;
        if self.low > self.high {
            return Err(ConfigError::new(
                "low",
                self.low,
                format!("must be at most the high rate, {}", self.high),
            ));
        }
        check_packet(self.packet)?;
        check_periods("high_during", &self.high_during, Time::ZERO)
    }
}

/// A bit in billionths: a rate of 1 bit/s sends one billionth in a nanosecond.
const BIT: u128 = 1_000_000_000;

/// The state of an oscillating source.
#[derive(Clone, Debug)]
pub(crate) struct OscillatingSender {
    pub len: u32,
    pub ecn: Ecn,
    rates: [u64; 2],
    periods: Arc<[Period]>,
    /// The first period that has not ended.
    at: usize,
    jitter: f64,
    /// The remainder of the last division, in billionths of a bit.
    remainder: u128,
    sent: u32,
}

impl OscillatingSender {
    pub fn new(source: &Oscillating) -> OscillatingSender {
        OscillatingSender {
            len: source.packet.get() as u32,
            ecn: source.ecn,
            rates: [source.low.as_bps(), source.high.as_bps()],
            periods: source.high_during.clone(),
            at: 0,
            jitter: source.jitter.get(),
            remainder: 0,
            sent: 0,
        }
    }

    /// Sends a packet at `now`: its number, and when to send the next ([`Time::MAX`] for never).
    pub fn send(&mut self, now: Time, dice: &mut Rng) -> (Option<u32>, Time) {
        // At a rate of zero nothing is sent, not even at the start.
        let number = (self.step(now).0 > 0).then_some(self.sent);
        self.sent = self.sent.wrapping_add(number.is_some() as u32);
        let mut work = match number {
            Some(_) if self.jitter > 0.0 => {
                let factor = 1.0 - self.jitter + 2.0 * self.jitter * dice.uniform();
                (self.len as f64 * 8e9 * factor) as u128
            }
            Some(_) => self.len as u128 * 8 * BIT + self.remainder,
            None => 0,
        };
        let mut at = now;
        loop {
            let (rate, until) = self.step(at);
            let room = rate as u128 * until.since(at).as_nanos() as u128;
            if rate > 0 && (until == Time::MAX || work < room) {
                self.remainder = work % rate as u128;
                let wait = (work / rate as u128).min(u64::MAX as u128) as u64;
                return (number, (at + Span::from_nanos(wait)).max(now + Span::from_nanos(1)));
            }
            if until == Time::MAX {
                return (number, Time::MAX);
            }
            work -= room.min(work);
            at = until;
        }
    }

    /// The rate at `now`, and until when it lasts.
    fn step(&mut self, now: Time) -> (u64, Time) {
        while self.periods.get(self.at).is_some_and(|period| period.1 <= now) {
            self.at += 1;
        }
        match self.periods.get(self.at) {
            None => (self.rates[0], Time::MAX),
            Some(&(from, _)) if now < from => (self.rates[0], from),
            Some(&(_, to)) => (self.rates[1], to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(s: f64) -> Time {
        Time::ZERO + Span::from_secs(s)
    }

    fn sends(low: u64, jitter: f64, end: f64) -> Vec<f64> {
        let source = Oscillating {
            high: Rate::from_bps(5_000_000),
            low: Rate::from_bps(low),
            high_during: [(second(10.0), second(30.0)), (second(50.0), second(70.0))].into(),
            packet: Bytes::new(1000),
            jitter: Prob::clip(jitter),
            ecn: Ecn::NotEct,
        };
        source.check().unwrap();
        let (mut sender, mut dice) = (OscillatingSender::new(&source), Rng::from_seed(1));
        let (mut now, mut sent) = (Time::ZERO, vec![]);
        while now < second(end) {
            let (number, next) = sender.send(now, &mut dice);
            if number.is_some() {
                sent.push(now.as_secs());
            }
            assert!(next > now);
            now = next;
        }
        sent
    }

    fn count(sent: &[f64], from: f64, to: f64) -> f64 {
        sent.iter().filter(|&&t| (from..to).contains(&t)).count() as f64
    }

    #[test]
    fn the_paper_s_timetable() {
        // feng2001 §III-D: 12.5 packets a second, 625 in [10, 30) and [50, 70).
        let sent = sends(100_000, 0.0, 100.0);
        for (from, to, rate) in
            [(0.0, 10.0, 12.5), (10.0, 30.0, 625.0), (30.0, 50.0, 12.5), (50.0, 70.0, 625.0)]
        {
            let wanted = (to - from) * rate;
            assert!(
                (count(&sent, from, to) - wanted).abs() <= 1.0,
                "{from} to {to}: {}",
                count(&sent, from, to)
            );
        }
        // The change takes effect at once: the next packet is due when the rates add up to it.
        assert_eq!(sent.iter().position(|&t| t >= 10.0), Some(125));
        assert!((sent[126] - sent[125] - 0.0016).abs() < 1e-9 && sent[125] == 10.0);
        // With jitter the mean stays: 12500 intervals of deviation 0.29.
        let jittered = sends(100_000, 0.5, 100.0);
        assert!((count(&jittered, 10.0, 30.0) - 12_500.0).abs() < 5.0 * 0.29 * 112.0);
    }

    #[test]
    fn a_low_rate_of_zero_is_silence() {
        let sent = sends(0, 0.0, 100.0);
        assert_eq!(
            (sent[0], count(&sent, 10.0, 30.0), count(&sent, 30.0, 50.0)),
            (10.0, 12_500.0, 0.0)
        );
        assert_eq!(sent.len(), 25_000);
    }

    #[test]
    fn periods_must_be_in_order() {
        let check = |periods: &[(f64, f64)]| {
            let periods: Vec<Period> = periods.iter().map(|p| (second(p.0), second(p.1))).collect();
            check_periods("x", &periods, Time::ZERO).map_err(|e| e.why)
        };
        check(&[(1.0, 2.0), (2.0, 3.0)]).unwrap();
        assert!(check(&[(2.0, 1.0)]).unwrap_err().contains("ends before it begins"));
        assert!(check(&[(1.0, 3.0), (2.0, 4.0)]).unwrap_err().contains("begins before"));
    }
}
