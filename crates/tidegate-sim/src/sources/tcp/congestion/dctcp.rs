//! DCTCP (RFC 8257): the window is cut in proportion to how many packets were marked.
//!
//! α, the fraction marked, is smoothed over round trips; a mark leaves 1 − α/2 of the window, once
//! a round trip, and a loss half. The receiver echoes each packet's own mark (§3.2), in place of
//! one mark until the sender has answered.
use super::marks::Marks;
use super::{Acked, CongestionControl, Loss, MarkFeedback, Needs};
use crate::sources::tcp::Tcp;

tidegate::params! {
    /// The parameters of DCTCP.
    pub struct DctcpParams {
        /// The weight of the newest round trip in the fraction marked (RFC 8257 §4.2).
        g: f64 = 0.0625, "g", 0.0001 ..= 1.0;
        /// The fraction marked to begin with (RFC 8257 §4.2).
        alpha: f64 = 1.0, "alpha", 0.0 ..= 1.0;
    }
}

/// DCTCP at work.
#[derive(Clone, Debug)]
pub(super) struct Dctcp {
    g: f64,
    alpha: f64,
    marks: Marks,
}

impl CongestionControl for Dctcp {
    type Params = DctcpParams;

    const NEEDS: Needs = Needs { marks: MarkFeedback::Exact, ..Needs::CLASSIC };

    fn new(params: &DctcpParams, _: &Tcp) -> Dctcp {
        Dctcp { g: params.g, alpha: params.alpha, marks: Marks::default() }
    }

    fn on_ack(&mut self, cwnd: f64, ssthresh: &mut f64, ack: &Acked) -> f64 {
        cwnd + ack.counted() * if cwnd < *ssthresh { 1.0 } else { 1.0 / cwnd }
    }

    fn on_loss(&mut self, loss: &Loss) -> f64 {
        loss.found / 2.0
    }

    /// RFC 8257 §3.3 takes the window itself, whose fraction of a segment what is in flight has
    /// not.
    fn on_ecn(&mut self, loss: &Loss) -> f64 {
        loss.cwnd * (1.0 - self.alpha / 2.0)
    }

    fn on_every_ack(&mut self, ack: &Acked) {
        if let Some(round) = self.marks.count(ack) {
            self.alpha += self.g * (round.fraction() - self.alpha);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::{ack, loss};
    use super::*;

    /// Round trips of eight acknowledgements each, so many of them marked: α and what a mark leaves
    /// of 64 after each.
    #[test]
    fn alpha_by_hand() {
        let mut control = Dctcp::new(&DctcpParams::default(), &Tcp::reno());
        assert_eq!(control.on_ecn(&loss(64.0, 2.0)), 32.0, "α is one to begin with");
        // The first acknowledgement is a round trip of its own: 15/16.
        control.on_every_ack(&Acked { una: 1, max: 8, ..ack() });
        assert_eq!(control.alpha, 0.9375);
        let mut una = 1;
        // 0.9375 · 15/16 + 1/16; 0.94140625 · 15/16 + 0.25/16; · 15/16; · 15/16 + 0.125/16
        for (marked, alpha) in [
            (8, 0.941_406_25),
            (2, 0.898_193_359_375),
            (0, 0.842_056_274_414_062_5),
            (1, 0.797_240_257_263_183_6),
        ] {
            for i in 0..8 {
                una += 1;
                control.on_every_ack(&Acked { una, max: una + 7, echo: i < marked, ..ack() });
            }
            assert!((control.alpha - alpha).abs() < 1e-15, "{} is not {alpha}", control.alpha);
            assert!((control.on_ecn(&loss(64.0, 2.0)) - 64.0 * (1.0 - alpha / 2.0)).abs() < 1e-12);
        }
        assert_eq!(control.on_loss(&loss(64.0, 2.0)), 32.0, "a loss is answered as ever (§3.4)");
    }
}
