//! Reno as a law of rates (low2003, the Purge paper's equation 8). Once a round trip, the rate x
//! becomes [x + (1 − q) / D² − q x² / 2]⁺. D is the round trip and q the fraction of packets
//! marked. In windows w = x D that is w ← w + 1 − q − q w² / 2, whose equilibrium is w = √(2 (1 −
//! q) / q). It answers every mark, where Reno with ECN answers one a round trip.
//!
//! The window never falls below one segment: what is closed hears of no price. Slow start, and its
//! end with the first mark or loss, are Reno's; so is what a loss leaves.
use super::marks::{MarkTurn, Rounds};
use super::{Acked, CongestionControl, LossSignal, MarkFeedback, Needs};
use crate::sources::tcp::Tcp;

tidegate::params! {
    /// `reno_num` has no parameters.
    pub struct RenoNumParams {}
}

/// It at work.
#[derive(Clone, Debug)]
pub(super) struct RenoNum {
    rounds: Rounds,
}

impl CongestionControl for RenoNum {
    type Params = RenoNumParams;

    const NEEDS: Needs = Needs { marks: MarkFeedback::ExactForControl, ..Needs::CLASSIC };

    fn new(_: &RenoNumParams, _: &Tcp) -> RenoNum {
        RenoNum { rounds: Rounds::new() }
    }

    fn on_ack(&mut self, cwnd: f64, ssthresh: &mut f64, ack: &Acked) -> f64 {
        match self.rounds.turn(cwnd, *ssthresh) {
            MarkTurn::Search => cwnd + ack.counted(),
            MarkTurn::Answer(round) => {
                let q = round.fraction();
                (cwnd + 1.0 - q - q * cwnd * cwnd / 2.0).max(1.0)
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

    /// The law after the first acknowledgement, with ten segments under way.
    fn begun() -> (RenoNum, u32) {
        let mut control = RenoNum::new(&RenoNumParams {}, &Tcp::reno());
        control.on_every_ack(&Acked { una: 1, max: 10, ..ack() });
        control.on_ack(1.0, &mut 1e6, &ack());
        (control, 1)
    }

    /// A round trip of ten acknowledgements, so many of them marked: the window after it.
    fn round(control: &mut RenoNum, mut cwnd: f64, una: &mut u32, marked: u32) -> f64 {
        for i in 0..10 {
            *una += 1;
            let ack = Acked { una: *una, max: *una + 9, echo: i < marked, ..ack() };
            control.on_every_ack(&ack);
            cwnd = control.on_ack(cwnd, &mut 1e6, &ack);
        }
        cwnd
    }

    #[test]
    fn steps_by_hand() {
        let (mut control, mut una) = begun();
        assert_eq!(round(&mut control, 10.0, &mut una, 0), 20.0, "slow start");
        control.on_loss(&loss(20.0, 1e6));
        assert_eq!(round(&mut control, 10.0, &mut una, 0), 11.0);
        // 10 + 0.9 − 0.1 · 100 / 2, and 10 + 0.5 − 0.5 · 100 / 2 < 1
        assert!((round(&mut control, 10.0, &mut una, 1) - 5.9).abs() < 1e-12);
        assert_eq!(round(&mut control, 10.0, &mut una, 5), 1.0);
    }

    /// At w = √(2 (1 − q) / q) it stays: √18 for a tenth.
    #[test]
    fn its_equilibrium() {
        let (mut control, mut una) = begun();
        let mut cwnd = 4.0;
        for _ in 0..200 {
            cwnd = round(&mut control, cwnd, &mut una, 1);
        }
        assert!((cwnd - 18f64.sqrt()).abs() < 1e-9, "{cwnd}");
    }
}
