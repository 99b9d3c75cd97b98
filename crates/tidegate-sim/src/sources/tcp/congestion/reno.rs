//! Reno's window (RFC 5681).
use super::whole::Whole;
use super::{Acked, CongestionControl, LossSignal};
use crate::sources::Rules;
use crate::sources::tcp::Tcp;

/// One segment more for each that is acknowledged in slow start, 1/cwnd in congestion avoidance;
/// half of them after a loss.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reno {
    /// The window has fractions of a segment.
    Fractional,
    /// By Linux's rules, whose windows are whole.
    Whole(Whole),
}

impl CongestionControl for Reno {
    type Params = ();

    fn new(_: &(), tcp: &Tcp) -> Reno {
        if tcp.rules == Rules::Linux { Reno::Whole(Whole::default()) } else { Reno::Fractional }
    }

    #[inline]
    fn on_ack(&mut self, cwnd: f64, ssthresh: &mut f64, ack: &Acked) -> f64 {
        if let Reno::Whole(whole) = self {
            return grown(whole, cwnd, *ssthresh, ack.counted() as u32);
        }
        cwnd + if cwnd < *ssthresh { ack.counted() } else { ack.counted() / cwnd }
    }

    fn on_loss(&mut self, loss: &LossSignal) -> f64 {
        let half = loss.found / 2.0;
        match self {
            Reno::Whole(whole) => {
                whole.forget();
                half.floor()
            }
            Reno::Fractional => half,
        }
    }
}

/// The new window, in whole segments, after `acked` of its segments are acknowledged. What slow
/// start does not need counts for congestion avoidance.
fn grown(whole: &mut Whole, cwnd: f64, ssthresh: f64, acked: u32) -> f64 {
    let (window, threshold) = (cwnd as u32, ssthresh as u32);
    let slow = acked.min(threshold.saturating_sub(window));
    let window = window + slow;
    if slow == acked { window as f64 } else { whole.count(window, window, acked - slow) as f64 }
}

#[cfg(test)]
mod tests {
    use super::super::bench::{ack, loss};
    use super::*;

    fn linux() -> Reno {
        Reno::new(&(), &Tcp { rules: Rules::Linux, ..Tcp::reno() })
    }

    #[test]
    fn by_linuxs_rules_a_small_window_gains_a_segment_a_round_trip_and_loses_its_larger_half() {
        let mut reno = linux();
        let mut cwnd = reno.on_loss(&loss(5.0, 64.0));
        assert_eq!(cwnd, 2.0);
        let mut windows = vec![];
        for _ in 0..2 + 3 + 4 {
            cwnd = reno.on_ack(cwnd, &mut 2.0, &ack());
            windows.push(cwnd);
        }
        assert_eq!(windows, [2.0, 3.0, 3.0, 3.0, 4.0, 4.0, 4.0, 4.0, 5.0]);
    }

    #[test]
    fn slow_start_ends_within_an_acknowledgement() {
        let mut reno = linux();
        let two = Acked { segments: 2, step: 2, ..ack() };
        assert_eq!(reno.on_ack(7.0, &mut 8.0, &two), 8.0);
        let windows: Vec<f64> = (0..4).map(|_| reno.on_ack(8.0, &mut 8.0, &two)).collect();
        assert_eq!(windows, [8.0, 8.0, 8.0, 9.0], "one of eight was counted before");
    }
}
