//! The retransmission timeout: srtt and rttvar in whole ticks, in the scaled integers of 4.3BSD (van Jacobson's
//! appendix of 1988; RFC 6298 with a coarse clock), one segment timed at a time, Karn's rule, exponential back-off.
use tidegate::{Rng, Span, Time};

use super::{Rules, Tcp};
use crate::quotient::Divisor;

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
    /// Smoothed round-trip time, in eighths of a tick; 0 before the first sample.
    srtt: u32,
    /// Its mean deviation, in quarters of a tick.
    rttvar: u32,
    /// The timeout before bounds and back-off, in nanoseconds.
    base: u64,
    backoff: u64,
    /// The smoothed round-trip time in nanoseconds, for those who need it finer than a tick; 0 before the first sample.
    pub smooth: u64,
    /// The segment being timed and when it was sent.
    timed: Option<(u32, u64)>,
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
            srtt: 0,
            rttvar: 0,
            base: tcp.initial_rto.as_nanos(),
            backoff: 1,
            smooth: 0,
            timed: None,
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
        if self.timed.is_none() {
            self.timed = Some((seq, now.as_nanos()));
        }
    }

    /// Gives the running measurement up: what is retransmitted cannot be timed (Karn).
    pub fn abandon(&mut self) {
        self.timed = None;
    }

    /// Everything below `ack` is acknowledged. If that ends a measurement, the back-off ends, unless it is to go on.
    #[inline]
    pub fn acked(&mut self, ack: u32, now: Time, go_on: bool) {
        if let Some((seq, at)) = self.timed
            && ack > seq
        {
            self.timed = None;
            if !go_on {
                self.backoff = 1;
            }
            self.measure(at, now.as_nanos());
        }
    }

    /// The back-off ends; what is being measured goes on being measured.
    pub fn end_back_off(&mut self) {
        self.backoff = 1;
    }

    /// The same for a partial acknowledgement: the back-off ends, but nothing is measured.
    pub fn acked_in_part(&mut self, ack: u32) {
        if self.timed.is_some_and(|(seq, _)| ack > seq) {
            self.timed = None;
            self.backoff = 1;
        }
    }

    /// The timer ran out. Beyond a factor of eight the estimate is moved into the deviation, and the next sample
    /// starts afresh.
    pub fn back_off(&mut self) {
        if self.timeout().as_nanos() < self.max {
            self.backoff *= 2;
        }
        if self.backoff > DOUBT {
            self.rttvar += self.srtt >> 3;
            self.srtt = 0;
        }
    }

    /// A round trip from `sent` to `now`: both stamps read from a clock that ticks.
    fn measure(&mut self, sent: u64, now: u64) {
        let rtt = now - sent;
        self.smooth = if self.smooth == 0 { rtt } else { self.smooth - self.smooth / 8 + rtt / 8 };
        let ticked = |at: u64| self.tick.divide(at + self.phase).0;
        let ticks = (ticked(now) - ticked(sent)).clamp(1, 1 << 20) as i64;
        if self.srtt == 0 {
            self.srtt = (ticks as u32) << 3;
            self.rttvar = (ticks as u32) << 1;
        } else {
            let delta = ticks - (self.srtt >> 3) as i64;
            self.srtt = (self.srtt as i64 + delta).max(1) as u32;
            let deviation = delta.abs() - (self.rttvar >> 2) as i64;
            self.rttvar = (self.rttvar as i64 + deviation).max(1) as u32;
        }
        let rounded = (((self.rttvar << 3) + self.srtt) >> 3) as u64 * self.tick.get();
        self.base = rounded.max(self.srtt as u64 * self.tick.get() / 8 + self.min_var);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rto() -> Rto {
        Rto::new(&Tcp::reno(), &mut Rng::from_seed(1))
    }

    fn sample(rto: &mut Rto, seq: u32, at_ms: u64, rtt_ms: u64) {
        rto.sent(seq, Time::from_nanos(at_ms * 1_000_000));
        rto.acked(seq + 1, Time::from_nanos((at_ms + rtt_ms) * 1_000_000), false);
    }

    #[test]
    fn estimates_follow_the_integers_of_4_3bsd() {
        let mut rto = rto();
        assert_eq!(rto.timeout(), Span::from_millis(3000));
        sample(&mut rto, 0, 0, 500);
        assert_eq!((rto.srtt, rto.rttvar), (50 << 3, 50 << 1));
        assert_eq!(rto.timeout(), Span::from_millis(500 + 4 * 250));
        sample(&mut rto, 1, 1000, 600);
        // d = 10; srtt 400 + 10; |d| − 25 = −15; rttvar 100 − 15; (85·8 + 410) / 8 = 136 ticks
        assert_eq!((rto.srtt, rto.rttvar), (410, 85));
        assert_eq!(rto.timeout(), Span::from_millis(1360));
    }

    #[test]
    fn the_least_holds_before_the_back_off_and_the_greatest_after() {
        let mut rto = rto();
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
        let mut rto = rto();
        sample(&mut rto, 0, 0, 20);
        rto.sent(1, Time::from_nanos(100_000_000));
        rto.back_off();
        rto.abandon();
        rto.acked(2, Time::from_nanos(900_000_000), false);
        assert_eq!(rto.timeout(), Span::from_millis(400));
        sample(&mut rto, 2, 1000, 20);
        assert_eq!(rto.timeout(), Span::from_millis(200));
    }
}
