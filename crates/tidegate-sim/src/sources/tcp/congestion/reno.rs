//! Reno's window (RFC 5681).
use super::whole::Whole;
use super::{Acked, Law, Loss};
use crate::sources::Rules;

/// One segment more for each that is acknowledged in slow start, 1/cwnd in congestion avoidance;
/// half of them after a loss.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reno {
    /// By Linux's rules, whose windows are whole.
    whole: Option<Whole>,
}

impl Reno {
    pub fn new(rules: Rules) -> Reno {
        Reno { whole: (rules == Rules::Linux).then(Whole::default) }
    }
}

impl Law for Reno {
    #[inline]
    fn acked(&mut self, cwnd: f64, ssthresh: &mut f64, ack: &Acked) -> f64 {
        if let Some(whole) = &mut self.whole {
            return opened(whole, cwnd, *ssthresh, ack.counted() as u32);
        }
        cwnd + if cwnd < *ssthresh { ack.counted() } else { ack.counted() / cwnd }
    }

    fn lost(&mut self, loss: &Loss) -> f64 {
        let half = loss.found / 2.0;
        match &mut self.whole {
            Some(whole) => {
                whole.forget();
                half.floor()
            }
            None => half,
        }
    }
}

/// A window of whole segments of which `acked` are acknowledged: what slow start has no need of
/// opens it after that.
fn opened(whole: &mut Whole, cwnd: f64, ssthresh: f64, acked: u32) -> f64 {
    let (window, threshold) = (cwnd as u32, ssthresh as u32);
    let slow = acked.min(threshold.saturating_sub(window));
    let window = window + slow;
    if slow == acked { window as f64 } else { whole.count(window, window, acked - slow) as f64 }
}

#[cfg(test)]
mod tests {
    use super::super::bench::{ack, loss};
    use super::*;

    #[test]
    fn by_linuxs_rules_a_small_window_gains_a_segment_a_round_trip_and_loses_its_larger_half() {
        let mut reno = Reno::new(Rules::Linux);
        let mut cwnd = reno.lost(&loss(5.0, 64.0));
        assert_eq!(cwnd, 2.0);
        let mut windows = vec![];
        for _ in 0..2 + 3 + 4 {
            cwnd = reno.acked(cwnd, &mut 2.0, &ack());
            windows.push(cwnd);
        }
        assert_eq!(windows, [2.0, 3.0, 3.0, 3.0, 4.0, 4.0, 4.0, 4.0, 5.0]);
    }

    #[test]
    fn slow_start_ends_within_an_acknowledgement() {
        let mut reno = Reno::new(Rules::Linux);
        let two = Acked { segments: 2, step: 2, ..ack() };
        assert_eq!(reno.acked(7.0, &mut 8.0, &two), 8.0);
        let windows: Vec<f64> = (0..4).map(|_| reno.acked(8.0, &mut 8.0, &two)).collect();
        assert_eq!(windows, [8.0, 8.0, 8.0, 9.0], "one of eight was counted before");
    }
}
