//! The retransmission timeout (RFC 6298), with exponential back-off.
//!
//! With time stamps (RFC 7323) every acknowledgement of new data gives a sample, also that of a
//! segment sent again, and a sample ends the back-off. The gains are those of RFC 6298 divided by
//! the samples of a round trip (RFC 7323 Appendix G). Without time stamps one segment is timed at a
//! time, never one sent again (Karn's rule). As in ns-2, srtt and rttvar are then the scaled
//! integers of 4.3BSD in whole ticks (van Jacobson's appendix of 1988).
use tidegate::{Rng, Span, Time};

use super::{Rules, Tcp, Timestamps};
use crate::event::divide::Divisor;

/// A least round-trip time before the first sample; every sample is less.
pub(super) const UNMEASURED: u64 = u64::MAX;

/// Estimates and back-off of one connection.
#[derive(Clone, Debug)]
pub(super) struct Rto {
    tick: Divisor,
    /// Where in a tick the connection's clock began.
    phase: u64,
    min: u64,
    /// The least of what the deviation adds.
    min_var: u64,
    max: u64,
    estimate: RttEstimate,
    /// The timeout before bounds and back-off, in nanoseconds.
    base: u64,
    backoff: u64,
    /// The smoothed round-trip time in nanoseconds, for those who need it finer than a tick; 0
    /// before the first sample.
    pub smooth: u64,
}

/// The smoothed round-trip time and its mean deviation, and how they are sampled.
#[derive(Clone, Debug)]
enum RttEstimate {
    /// One segment at a time.
    Timed {
        /// Smoothed round-trip time, in eighths of a tick; 0 before the first sample.
        srtt: u32,
        /// Its mean deviation, in quarters of a tick.
        rttvar: u32,
        /// The segment being timed and when it was sent.
        timed: Option<(u32, u64)>,
    },
    /// Every acknowledgement of new data.
    Stamped {
        /// Smoothed round-trip time, in nanoseconds; `None` before the first sample.
        srtt: Option<f64>,
        /// Its mean deviation, in nanoseconds.
        rttvar: f64,
    },
}

/// An acknowledgement of new data that comes at `now`.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewAck {
    pub now: Time,
    /// It acknowledges everything below.
    pub ack: u32,
    /// When the segment left that it answers, as a time stamp says (RFC 7323 §3.2, TSecr).
    pub sent: Time,
    /// How many acknowledgements a round trip brings, at least 1.
    pub per_round: u32,
}

/// The factor beyond which the estimate is doubted and started afresh.
const DOUBT: u64 = 8;

impl Rto {
    pub fn new(tcp: &Tcp, dice: &mut Rng) -> Rto {
        let (tick, min) = (tcp.tick.as_nanos(), tcp.min_rto.as_nanos());
        Rto {
            tick: Divisor::new(tick),
            phase: dice.below(tick),
            min,
            min_var: if tcp.rules == Rules::Linux { min } else { 0 },
            max: tcp.max_rto.as_nanos(),
            estimate: match tcp.timestamps {
                Timestamps::Off => RttEstimate::Timed { srtt: 0, rttvar: 0, timed: None },
                Timestamps::On => RttEstimate::Stamped { srtt: None, rttvar: 0.0 },
            },
            base: tcp.initial_rto.as_nanos(),
            backoff: 1,
            smooth: 0,
        }
    }

    /// The timeout as it is now: at least the minimum before back-off, at most the maximum after.
    #[inline]
    pub fn timeout(&self) -> Span {
        Span::from_nanos((self.base.max(self.min) * self.backoff).min(self.max))
    }

    /// New segment `seq` is sent: it is timed if none is.
    #[inline]
    pub fn sent(&mut self, seq: u32, now: Time) {
        if let RttEstimate::Timed { timed: timed @ None, .. } = &mut self.estimate {
            *timed = Some((seq, now.as_nanos()));
        }
    }

    /// Something is sent again. Without time stamps the running measurement is given up: which of
    /// the two transmissions an acknowledgement answers is not known (Karn).
    pub fn abandon(&mut self) {
        if let RttEstimate::Timed { timed, .. } = &mut self.estimate {
            *timed = None;
        }
    }

    /// New data are acknowledged. If that gives a sample, the back-off ends, unless it is to go on.
    #[inline]
    pub fn acked(&mut self, answer: &NewAck, go_on: bool) {
        let Some(sent) = self.sample(answer) else { return };
        if !go_on {
            self.backoff = 1;
        }
        self.measure(sent, answer);
    }

    /// The same for a partial acknowledgement. What is timed without time stamps ends the back-off
    /// then, and is not measured.
    pub fn acked_in_part(&mut self, answer: &NewAck) {
        let Some(sent) = self.sample(answer) else { return };
        self.backoff = 1;
        if matches!(self.estimate, RttEstimate::Stamped { .. }) {
            self.measure(sent, answer);
        }
    }

    /// When what `answer` measures was sent, in nanoseconds, if it measures anything.
    #[inline]
    fn sample(&mut self, answer: &NewAck) -> Option<u64> {
        match &mut self.estimate {
            RttEstimate::Timed { timed, .. } => {
                Some(timed.take_if(|(seq, _)| answer.ack > *seq)?.1)
            }
            RttEstimate::Stamped { .. } => Some(answer.sent.as_nanos()),
        }
    }

    /// The back-off ends; what is being measured goes on being measured.
    pub fn end_back_off(&mut self) {
        self.backoff = 1;
    }

    /// The timer ran out. Beyond a factor of eight the estimate is moved into the deviation, and
    /// the next sample starts afresh.
    pub fn back_off(&mut self) {
        if self.timeout().as_nanos() < self.max {
            self.backoff *= 2;
        }
        if self.backoff > DOUBT {
            match &mut self.estimate {
                RttEstimate::Timed { srtt, rttvar, .. } => {
                    *rttvar += *srtt >> 3;
                    *srtt = 0;
                }
                RttEstimate::Stamped { srtt, .. } => *srtt = None, // RFC 6298 §5: it may be cleared
            }
        }
    }

    /// A round trip from `sent`: both stamps read from a clock that ticks.
    fn measure(&mut self, sent: u64, answer: &NewAck) {
        let now = answer.now.as_nanos();
        let rtt = now - sent;
        let ticked = |at: u64| self.tick.divide(at + self.phase).0;
        let ticks = (ticked(now) - ticked(sent)).clamp(1, 1 << 20);
        match &mut self.estimate {
            RttEstimate::Timed { srtt, rttvar, .. } => {
                self.smooth =
                    if self.smooth == 0 { rtt } else { self.smooth - self.smooth / 8 + rtt / 8 };
                if *srtt == 0 {
                    *srtt = (ticks as u32) << 3;
                    *rttvar = (ticks as u32) << 1;
                } else {
                    let delta = ticks as i64 - (*srtt >> 3) as i64;
                    *srtt = (*srtt as i64 + delta).max(1) as u32;
                    let deviation = delta.abs() - (*rttvar >> 2) as i64;
                    *rttvar = (*rttvar as i64 + deviation).max(1) as u32;
                }
                let rounded = (((*rttvar << 3) + *srtt) >> 3) as u64 * self.tick.get();
                self.base = rounded.max(*srtt as u64 * self.tick.get() / 8 + self.min_var);
            }
            RttEstimate::Stamped { srtt, rttvar } => {
                let (gain, read) =
                    (0.125 / answer.per_round as f64, (ticks * self.tick.get()) as f64);
                let smooth = self.smooth as f64;
                self.smooth = if self.smooth == 0 {
                    rtt
                } else {
                    (smooth + gain * (rtt as f64 - smooth)) as u64
                };
                let before = srtt.unwrap_or(read);
                *rttvar = match srtt {
                    None => read / 2.0,
                    Some(_) => *rttvar + 2.0 * gain * ((read - before).abs() - *rttvar),
                };
                let mean = before + gain * (read - before);
                *srtt = Some(mean);
                // A deviation below the clock's grain counts as one grain (RFC 6298 §2, G).
                let deviation = (4.0 * *rttvar).max(self.tick.get() as f64) as u64;
                self.base = mean as u64 + deviation.max(self.min_var);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate::rng::mix;

    const MILLI: u64 = 1_000_000;

    fn timed() -> Rto {
        Rto::new(&Tcp { timestamps: Timestamps::Off, ..Tcp::reno() }, &mut Rng::from_seed(1))
    }

    fn answer(ack: u32, now_ms: u64, rtt_ms: u64) -> NewAck {
        let (now, sent) =
            (Time::from_nanos(now_ms * MILLI), Time::from_nanos((now_ms - rtt_ms) * MILLI));
        NewAck { now, ack, sent, per_round: 1 }
    }

    fn sample(rto: &mut Rto, seq: u32, at_ms: u64, rtt_ms: u64) {
        rto.sent(seq, Time::from_nanos(at_ms * MILLI));
        rto.acked(&answer(seq + 1, at_ms + rtt_ms, rtt_ms), false);
    }

    fn estimate(rto: &Rto) -> (u32, u32) {
        match rto.estimate {
            RttEstimate::Timed { srtt, rttvar, .. } => (srtt, rttvar),
            RttEstimate::Stamped { .. } => panic!("not in ticks"),
        }
    }

    #[test]
    fn estimates_follow_the_integers_of_4_3bsd() {
        let mut rto = timed();
        assert_eq!(rto.timeout(), Span::from_millis(3000));
        sample(&mut rto, 0, 0, 500);
        assert_eq!(estimate(&rto), (50 << 3, 50 << 1));
        assert_eq!(rto.timeout(), Span::from_millis(500 + 4 * 250));
        sample(&mut rto, 1, 1000, 600);
        // d = 10; srtt 400 + 10; |d| − 25 = −15; rttvar 100 − 15; (85·8 + 410) / 8 = 136 ticks
        assert_eq!(estimate(&rto), (410, 85));
        assert_eq!(rto.timeout(), Span::from_millis(1360));
    }

    #[test]
    fn the_least_holds_before_the_back_off_and_the_greatest_after() {
        let mut rto = timed();
        sample(&mut rto, 0, 0, 20);
        assert_eq!(rto.timeout(), Span::from_millis(200));
        let mut seen = Vec::new();
        for _ in 0..10 {
            rto.back_off();
            seen.push(rto.timeout().as_millis());
        }
        assert_eq!(seen, [400., 800., 1600., 3200., 6400., 12800., 25600., 51200., 60000., 60000.]);
    }

    #[test]
    fn karn_an_abandoned_measurement_ends_no_back_off() {
        let mut rto = timed();
        sample(&mut rto, 0, 0, 20);
        rto.sent(1, Time::from_nanos(100 * MILLI));
        rto.back_off();
        rto.abandon();
        rto.acked(&answer(2, 900, 800), false);
        assert_eq!(rto.timeout(), Span::from_millis(400));
        sample(&mut rto, 2, 1000, 20);
        assert_eq!(rto.timeout(), Span::from_millis(200));
    }

    /// RFC 7323: what is sent again gives a sample too, in a recovery as well, and ends the
    /// back-off.
    #[test]
    fn with_time_stamps_what_is_sent_again_ends_the_back_off() {
        for partial in [false, true] {
            let mut rto = Rto::new(&Tcp::reno(), &mut Rng::from_seed(1));
            sample(&mut rto, 0, 0, 20);
            for _ in 0..5 {
                rto.back_off();
                rto.abandon();
            }
            assert_eq!(rto.timeout(), Span::from_millis(6400));
            if partial {
                rto.acked_in_part(&answer(2, 900, 30))
            } else {
                rto.acked(&answer(2, 900, 30), false)
            }
            assert_eq!(rto.timeout(), Span::from_millis(200));
        }
    }

    /// The formulas of RFC 6298 §2 with the gains of RFC 7323 Appendix G, on a clock of one
    /// nanosecond.
    #[test]
    fn every_acknowledgement_is_a_sample_with_a_part_of_the_gain() {
        let tcp = Tcp { tick: Span::from_micros(1), min_rto: Span::from_millis(1), ..Tcp::reno() };
        let mut rto = Rto::new(&tcp, &mut Rng::from_seed(1));
        let (mut srtt, mut rttvar): (Option<f64>, f64) = (None, 0.0);
        for i in 0..5_000u64 {
            let dice = mix(i);
            let (now, rtt, per_round) = (
                10_000_000_000 + i * MILLI,
                MILLI * (20 + dice % 200),
                1 + (dice >> 32) as u32 % 50,
            );
            let (now, sent) = (Time::from_nanos(now), Time::from_nanos(now - rtt));
            rto.acked(&NewAck { now, ack: i as u32 + 1, sent, per_round }, false);
            let (r, n) = (rtt as f64, per_round as f64);
            match srtt {
                None => (srtt, rttvar) = (Some(r), r / 2.0),
                Some(before) => {
                    rttvar = (1.0 - 0.25 / n) * rttvar + 0.25 / n * (before - r).abs();
                    srtt = Some((1.0 - 0.125 / n) * before + 0.125 / n * r);
                }
            }
            let wanted = srtt.unwrap() + 4.0 * rttvar;
            let got = rto.timeout().as_nanos() as f64;
            assert!((got - wanted).abs() < 1e-6 * wanted + 2_000.0, "{i}: {got} for {wanted}");
        }
    }
}
