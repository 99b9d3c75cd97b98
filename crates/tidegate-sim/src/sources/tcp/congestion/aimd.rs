//! AIMD(a, b): additive increase and multiplicative decrease with other steps than Reno's
//! (yang2000, floyd2000).
//!
//! Reno is AIMD(1, 1/2). With the fraction b removed, and losses 1/p packets apart, the mean window
//! is √(a (2 − b) / (2 b p)). So AIMD(a, b) takes as much as Reno where a = 3 b / (2 − b).
use super::{Acked, CongestionControl, LossSignal};
use crate::sources::tcp::Tcp;

tidegate::params! {
    /// The parameters of AIMD(a, b); by default those of Reno.
    pub struct AimdParams {
        /// What each round trip without loss adds to the window, in packets.
        a: f64 = 1.0, "a", 0.001 ..= 1000.0;
        /// The fraction of the window that a loss leaves, or takes away: see `reading`.
        b: f64 = 0.5, "b", 0.01 ..= 0.99;
        /// Whether `b` is the fraction that is left, as ns-2 reads `decrease_num_`, or the one that
        /// is taken away.
        reading: Share = Share::Retained, "", 0 ..= 0;
    }
}

tidegate::choices! {
    /// Which fraction of a window is meant.
    pub enum Share {
        /// The one that is left.
        Retained = "retained",
        /// The one that is taken away.
        Removed = "removed",
    }
}

/// AIMD(a, b) at work.
#[derive(Clone, Debug)]
pub(super) struct Aimd {
    a: f64,
    retained: f64,
}

impl CongestionControl for Aimd {
    type Params = AimdParams;

    fn new(params: &AimdParams, _: &Tcp) -> Aimd {
        let retained = match params.reading {
            Share::Retained => params.b,
            Share::Removed => 1.0 - params.b,
        };
        Aimd { a: params.a, retained }
    }

    fn on_ack(&mut self, cwnd: f64, ssthresh: &mut f64, ack: &Acked) -> f64 {
        cwnd + ack.counted() * if cwnd < *ssthresh { 1.0 } else { self.a / cwnd }
    }

    /// Slow start has gone too far by a factor of two, whatever b is (as in ns-2).
    fn on_loss(&mut self, loss: &LossSignal) -> f64 {
        loss.window() * if loss.in_slow_start() { 0.5 } else { self.retained }
    }

    fn on_rto(&mut self, loss: &LossSignal) -> f64 {
        loss.found / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::{ack, loss};
    use super::*;

    fn aimd(a: f64, b: f64, reading: Share) -> Aimd {
        Aimd::new(&AimdParams { a, b, reading }, &Tcp::reno())
    }

    /// By hand: from 10 with a = 2 the acknowledgements add 2/10, then 2/10.2, then 2/10.396…
    #[test]
    fn steps_by_hand() {
        let mut control = aimd(2.0, 0.875, Share::Retained);
        let mut cwnd = 10.0;
        for wanted in [10.2, 10.396_078_431_372_55, 10.588_458_665_246_56] {
            cwnd = control.on_ack(cwnd, &mut 10.0, &ack());
            assert!((cwnd - wanted).abs() < 1e-12, "{cwnd} is not {wanted}");
        }
        assert_eq!(control.on_ack(4.0, &mut 10.0, &ack()), 5.0, "slow start is Reno's");
    }

    #[test]
    fn both_readings_of_b() {
        for (reading, left) in [(Share::Retained, 35.0), (Share::Removed, 5.0)] {
            let mut control = aimd(1.0, 0.875, reading);
            assert_eq!(control.on_loss(&loss(40.0, 20.0)), left, "in congestion avoidance");
            assert_eq!(control.on_loss(&loss(40.0, 1e6)), 20.0, "in slow start");
            assert_eq!(control.on_rto(&loss(40.0, 20.0)), 20.0);
        }
    }

    #[test]
    fn by_default_it_is_reno() {
        let mut control = Aimd::new(&AimdParams::default(), &Tcp::reno());
        let mut reno = super::super::reno::Reno::new(&(), &Tcp::reno());
        for cwnd in [1.0, 2.5, 17.0, 4000.0] {
            for mut ssthresh in [2.0, 1e6] {
                assert_eq!(
                    control.on_ack(cwnd, &mut ssthresh, &ack()),
                    reno.on_ack(cwnd, &mut ssthresh, &ack())
                );
                assert_eq!(
                    control.on_loss(&loss(cwnd, ssthresh)),
                    reno.on_loss(&loss(cwnd, ssthresh))
                );
            }
        }
    }
}
