//! HyStart++ (RFC 9406): slow start that ends when round-trip times begin to grow.
use super::Acked;
use crate::sources::tcp::rto::UNMEASURED;

/// RFC 9406 §4.3.
const MIN_THRESHOLD: u64 = 4_000_000;
const MAX_THRESHOLD: u64 = 16_000_000;
const MIN_DIVISOR: u64 = 8;
const SAMPLES: u32 = 8;
const GROWTH_DIVISOR: f64 = 4.0;
const CONSERVATIVE_ROUNDS: u32 = 5;
/// The most segments that one acknowledgement adds to the window, as there is no pacing.
const STEP: u32 = 8;

/// Slow start at work; times in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct HyStart {
    /// The least round-trip time of the last round and of this one, [`UNMEASURED`] for none.
    last: u64,
    current: u64,
    samples: u32,
    /// The first segment of the next round.
    end: u32,
    /// In conservative slow start: the least round-trip time when it began, and how many rounds
    /// ago that was.
    conservative: Option<(u64, u32)>,
}

impl HyStart {
    pub fn new() -> HyStart {
        HyStart { last: UNMEASURED, current: UNMEASURED, samples: 0, end: 0, conservative: None }
    }

    /// New data are acknowledged in slow start: the new window. Sets `ssthresh` when slow start is
    /// over.
    pub fn acked(&mut self, cwnd: f64, ssthresh: &mut f64, ack: &Acked) -> f64 {
        if ack.una > self.end {
            self.round(ack.max);
        }
        self.current = self.current.min(ack.sample());
        self.samples += 1;
        let step = ack.segments.min(STEP) as f64;
        let known = self.samples >= SAMPLES && self.last != UNMEASURED;
        match self.conservative {
            None if known
                && self.current
                    >= self.last
                        + (self.last / MIN_DIVISOR).clamp(MIN_THRESHOLD, MAX_THRESHOLD) =>
            {
                self.conservative = Some((self.current, 0));
                cwnd + step / GROWTH_DIVISOR
            }
            None => cwnd + step,
            Some((base, _)) if self.samples >= SAMPLES && self.current < base => {
                // It was a passing disturbance.
                self.conservative = None;
                cwnd + step
            }
            Some((_, rounds)) => {
                let cwnd = cwnd + step / GROWTH_DIVISOR;
                if rounds >= CONSERVATIVE_ROUNDS {
                    *ssthresh = cwnd;
                }
                cwnd
            }
        }
    }

    /// A round trip is over; the next ends with what is under way now.
    fn round(&mut self, end: u32) {
        self.end = end;
        (self.last, self.current, self.samples) = (self.current, UNMEASURED, 0);
        if let Some((_, rounds)) = &mut self.conservative {
            *rounds += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::bench::ack;
    use super::*;
    use tidegate::{Span, Time};

    /// Rounds of sixteen acknowledgements with the given round-trip times in milliseconds; the
    /// window after each.
    fn rounds(times: &[u64]) -> (Vec<f64>, f64) {
        let (mut hystart, mut cwnd, mut ssthresh, mut una) = (HyStart::new(), 16.0, 1e6, 0);
        let mut windows = vec![];
        for &rtt in times {
            let max = una + 16;
            for _ in 0..16 {
                una += 1;
                let sent = Time::ZERO + Span::from_millis(1000);
                let ack = Acked { now: sent + Span::from_millis(rtt), sent, una, max, ..ack() };
                cwnd =
                    if cwnd < ssthresh { hystart.acked(cwnd, &mut ssthresh, &ack) } else { cwnd };
            }
            windows.push(cwnd);
        }
        (windows, ssthresh)
    }

    #[test]
    fn a_steady_path_is_slow_start() {
        assert_eq!(rounds(&[100, 100, 111]), (vec![32.0, 48.0, 64.0], 1e6));
    }

    /// 112.5 ms is an eighth more than 100, but the threshold is at most 16 ms and at least 4.
    #[test]
    fn longer_round_trips_slow_it_down_and_end_it() {
        let (windows, ssthresh) = rounds(&[100, 100, 113, 113, 113, 113, 113, 113, 113]);
        assert_eq!(windows[1], 48.0);
        assert!(
            (windows[2] - (48.0 + 7.0 + 9.0 / 4.0)).abs() < 1e-9,
            "after eight samples a quarter: {windows:?}"
        );
        assert!((windows[3] - windows[2] - 4.0).abs() < 1e-9);
        assert!(
            ssthresh > windows[6] && ssthresh < windows[6] + 4.0,
            "five rounds of it: {ssthresh}, {windows:?}"
        );
    }

    #[test]
    fn a_passing_disturbance_is_forgiven() {
        let (windows, ssthresh) = rounds(&[100, 100, 113, 100, 100]);
        assert_eq!(ssthresh, 1e6);
        assert_eq!(windows[4] - windows[3], 16.0);
    }
}
