//! Binomial congestion control (bansal2001): each round trip without loss adds α / w^k to a window
//! of w packets, a loss takes β w^l away. AIMD is k = 0, l = 1; SQRT is k = l = 1/2; IIAD is k = 1,
//! l = 0.
//!
//! Where losses are 1/p packets apart the window goes as (α / β p)^(1 / (k + l + 1)): as Reno's,
//! with the square root, if k + l = 1. With k + l > 1 it goes down more slowly as p rises: (1.5, 1,
//! 2, 0) for (α, β, k, l) is not fair to Reno.
use tidegate::ConfigError;

use super::{Acked, CongestionControl, LossSignal};
use crate::sources::tcp::Tcp;

tidegate::params! {
    /// The parameters of a binomial; by default those of SQRT.
    pub struct BinomialParams {
        /// The power of the window that divides an increase.
        k: f64 = 0.5, "k", -1.0 ..= 10.0;
        /// The power of the window that a decrease goes with.
        l: f64 = 0.5, "l", 0.0 ..= 1.0;
        /// What a round trip without loss adds, times w^k, in packets.
        alpha: f64 = 1.0, "alpha", 0.001 ..= 1000.0;
        /// What a loss takes away, divided by w^l, in packets; with `reading = "ns2"` one less
        /// that.
        beta: f64 = 0.5, "beta", 0.0 ..= 1000.0;
        /// Whether a loss takes beta w^l away (`paper`), or (1 − beta) w^l as ns-2 does with its
        /// `decrease_num_`, where 1 is no
        /// decrease at all.
        reading: Reading = Reading::Paper, "", 0 ..= 0;
    }
}

tidegate::choices! {
    /// What β is.
    pub enum Reading {
        /// The factor of the decrease.
        Paper = "paper",
        /// One less the factor of the decrease.
        Ns2 = "ns2",
    }
}

/// A binomial at work.
#[derive(Clone, Debug)]
pub(super) struct Binomial {
    k: f64,
    l: f64,
    alpha: f64,
    /// What a loss takes away, divided by w^l.
    beta: f64,
}

impl CongestionControl for Binomial {
    type Params = BinomialParams;

    fn new(params: &BinomialParams, _: &Tcp) -> Binomial {
        let beta = match params.reading {
            Reading::Paper => params.beta,
            Reading::Ns2 => 1.0 - params.beta,
        };
        Binomial { k: params.k, l: params.l, alpha: params.alpha, beta }
    }

    fn check(params: &BinomialParams) -> Result<(), ConfigError> {
        if params.reading == Reading::Ns2 && params.beta > 1.0 {
            let why = "must lie in 0 to 1 with reading = \"ns2\": a loss takes (1 − beta) w^l away";
            return Err(ConfigError::new("beta", params.beta, why));
        }
        Ok(())
    }

    /// In slow start as Reno.
    fn on_ack(&mut self, cwnd: f64, ssthresh: &mut f64, ack: &Acked) -> f64 {
        cwnd + ack.counted()
            * if cwnd < *ssthresh { 1.0 } else { self.alpha / libm::pow(cwnd, self.k + 1.0) }
    }

    /// Slow start has gone too far by a factor of two, whatever the powers are (as in ns-2).
    fn on_loss(&mut self, loss: &LossSignal) -> f64 {
        if loss.in_slow_start() {
            return loss.found / 2.0;
        }
        let window = loss.window();
        (window - self.beta * libm::pow(window, self.l)).max(1.0)
    }

    fn on_rto(&mut self, loss: &LossSignal) -> f64 {
        loss.found / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::{ack, loss};
    use super::*;

    fn binomial(k: f64, l: f64, alpha: f64, beta: f64, reading: Reading) -> Binomial {
        Binomial::new(&BinomialParams { k, l, alpha, beta, reading }, &Tcp::reno())
    }

    /// By hand, for a window of 16: what an acknowledgement adds, and what a loss leaves.
    #[test]
    fn steps_by_hand() {
        for (k, l, alpha, beta, step, left) in [
            (0.0, 1.0, 1.0, 0.5, 1.0 / 16.0, 8.0),    // Reno
            (0.5, 0.5, 1.0, 0.5, 1.0 / 64.0, 14.0),   // SQRT: 16 · 4, and 16 − 0.5 · 4
            (1.0, 0.0, 1.0, 1.0, 1.0 / 256.0, 15.0),  // IIAD: 16², and 16 − 1
            (2.0, 0.0, 1.5, 1.0, 1.5 / 4096.0, 15.0), // 1.5 / 16³, and 16 − 1
            (-1.0, 1.0, 0.125, 0.25, 0.125, 12.0),    /* MIMD: an eighth of a packet for each, a
                                                       * quarter taken away */
        ] {
            let mut control = binomial(k, l, alpha, beta, Reading::Paper);
            assert!(
                (control.on_ack(16.0, &mut 2.0, &ack()) - 16.0 - step).abs() < 1e-14,
                "{k} {l}"
            );
            assert!((control.on_loss(&loss(16.0, 2.0)) - left).abs() < 1e-12, "{k} {l}");
            assert_eq!(control.on_ack(16.0, &mut 20.0, &ack()), 17.0, "slow start is Reno's");
            assert_eq!(
                (control.on_loss(&loss(16.0, 20.0)), control.on_rto(&loss(16.0, 2.0))),
                (8.0, 8.0)
            );
        }
    }

    /// ns-2's `windowOption_ 6` takes `decrease_num_` as what is left, so that (1.5, 1, 2, 0) never
    /// decreases.
    #[test]
    fn ns2_s_reading() {
        assert_eq!(binomial(2.0, 0.0, 1.5, 1.0, Reading::Ns2).on_loss(&loss(16.0, 2.0)), 16.0);
        assert_eq!(binomial(0.0, 1.0, 1.0, 0.75, Reading::Ns2).on_loss(&loss(16.0, 2.0)), 12.0);
        assert_eq!(binomial(0.5, 0.5, 1.0, 0.25, Reading::Ns2).on_loss(&loss(16.0, 2.0)), 13.0);
        let params =
            BinomialParams { beta: 1.5, reading: Reading::Ns2, ..BinomialParams::default() };
        let error = Binomial::check(&params).unwrap_err();
        assert!(error.field == "beta" && error.why.contains("0 to 1"), "{error}");
        assert!(
            Binomial::check(&BinomialParams { beta: 1.5, ..BinomialParams::default() }).is_ok()
        );
    }

    #[test]
    fn a_small_window_is_not_cut_below_one() {
        assert_eq!(binomial(2.0, 0.0, 1.5, 5.0, Reading::Paper).on_loss(&loss(3.0, 2.0)), 1.0);
    }
}
