//! Vegas with the price of REM in place of the queueing delay (athuraliya2001, low2003; the Purge
//! paper's equation 15). It sends a packet more each round trip while x κ q < α d, and one less
//! while it is more. x is its rate and q the path's price.
//!
//! REM marks with probability 1 − φ^(−q), and on a path of several links with that of the sum of
//! their prices. So the price is −log_φ(1 − f), where f is the fraction of a round trip's packets
//! that were marked. If all n packets are marked, n − 1/2 count, as otherwise the price would be
//! without bound. The price is dimensionless and Vegas's a time: κ turns the one into the other.
//! Its default is the scale at which sources of 14 packets a second and a price of 100 are in
//! equilibrium.
//!
//! A window holds few packets, so that the price read in one round trip is a coarse one: with w
//! packets none lies between 0 and −log_φ(1 − 1/w). What comes out on average is read by
//! [`RenoNum`](super::RenoNumParams) more evenly.
use tidegate::Span;

use super::marks::{MarkTurn, Marks, Rounds};
use super::{Acked, CongestionControl, LossSignal, MarkFeedback, Needs};
use crate::sources::tcp::Tcp;

tidegate::params! {
    /// The parameters of Vegas with REM's price.
    pub struct VegasRemParams {
        /// The packets that it pays for: rate times price, in equilibrium.
        alpha: f64 = 2.0, "alpha d", 0.01 ..= 1000.0;
        /// The time that a unit of the price stands for.
        kappa: Span = Span::from_micros(1400), "kappa", 1 ..= 3_600_000_000_000u64;
        /// The base of the marking probability, as in the queue.
        phi: f64 = 1.001, "phi", 1.000000001 ..= 1000.0;
    }
}

/// It at work.
#[derive(Clone, Debug)]
pub(super) struct VegasRem {
    alpha: f64,
    /// κ / ln φ, in seconds.
    scale: f64,
    rounds: Rounds,
}

impl VegasRem {
    /// κ q in seconds, as one round trip tells it.
    fn price(&self, round: &Marks) -> f64 {
        let most = round.acked as f64 - 0.5;
        -libm::log1p(-(round.marked as f64).min(most) / round.acked.max(1) as f64) * self.scale
    }
}

impl CongestionControl for VegasRem {
    type Params = VegasRemParams;

    const NEEDS: Needs = Needs { marks: MarkFeedback::ExactForControl, ..Needs::CLASSIC };

    fn new(params: &VegasRemParams, _: &Tcp) -> VegasRem {
        let scale = params.kappa.as_secs() / libm::log(params.phi);
        VegasRem { alpha: params.alpha, scale, rounds: Rounds::new() }
    }

    fn on_ack(&mut self, cwnd: f64, ssthresh: &mut f64, ack: &Acked) -> f64 {
        match self.rounds.turn(cwnd, *ssthresh) {
            MarkTurn::Search => cwnd + ack.counted(),
            MarkTurn::Answer(round) => {
                let rtt = (ack.rtt as f64 / 1e9).max(1e-9);
                let paid = cwnd / rtt * self.price(&round);
                let step = (self.alpha - paid).partial_cmp(&0.0).map_or(0, |order| order as i8);
                (cwnd + step as f64).max(1.0)
            }
            MarkTurn::Wait => cwnd,
        }
    }

    fn on_loss(&mut self, loss: &LossSignal) -> f64 {
        self.rounds.on_loss(loss)
    }

    fn on_rto(&mut self, loss: &LossSignal) -> f64 {
        self.rounds.on_rto(loss)
    }

    fn on_every_ack(&mut self, ack: &Acked) {
        self.rounds.on_every_ack(ack);
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::{ack, loss};
    use super::*;

    #[test]
    fn the_price_is_read_from_the_fraction_marked() {
        let control = VegasRem::new(&VegasRemParams::default(), &Tcp::reno());
        let kappa = 1.4e-3;
        for price in [1.0, 100.0, 693.0] {
            // A million packets marked with REM's probability.
            let marked = (1e6 * (1.0 - libm::pow(1.001, -price))).round() as u32;
            let read =
                control.price(&Marks { acked: 1_000_000, marked, ..Marks::default() }) / kappa;
            assert!((read - price).abs() < 2e-3 * price, "{read} is not {price}");
        }
        assert_eq!(control.price(&Marks { acked: 5, ..Marks::default() }), 0.0);
        // All of four: 1 − 3.5/4 = 1/8.
        let all = control.price(&Marks { acked: 4, marked: 4, ..Marks::default() }) / kappa;
        assert!((all - libm::log(8.0) / libm::log(1.001)).abs() < 1e-6, "{all}");
    }

    /// Ten packets a round trip of 100 ms with one marked: x κ q = 100 · 1.4 ms · 105.4 = 14.8
    /// packets.
    #[test]
    fn it_steps_by_a_packet_a_round_trip() {
        for (alpha, marked, wanted) in
            [(2.0, 0, 11.0), (2.0, 1, 9.0), (14.7, 1, 9.0), (14.8, 1, 11.0)]
        {
            let mut control =
                VegasRem::new(&VegasRemParams { alpha, ..VegasRemParams::default() }, &Tcp::reno());
            control.on_loss(&loss(20.0, 1e6));
            control.on_every_ack(&Acked { una: 1, max: 10, ..ack() });
            control.on_ack(10.0, &mut 1e6, &ack());
            let mut cwnd = 10.0;
            for una in 2..=11 {
                let ack = Acked { una, max: una + 9, echo: una - 2 < marked, ..ack() };
                control.on_every_ack(&ack);
                cwnd = control.on_ack(cwnd, &mut 1e6, &ack);
            }
            assert_eq!(cwnd, wanted, "alpha {alpha}, {marked} marked");
        }
    }
}
