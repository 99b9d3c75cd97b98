//! DCTCP (RFC 8257): the window is cut in proportion to how many packets were marked.
//!
//! α, the fraction marked, is smoothed over round trips; a mark leaves 1 − α/2 of the window, once
//! a round trip, and a loss half. The receiver echoes each packet's own mark (§3.2), in place of
//! one mark until the sender has answered.
//!
//! By Linux's rules the window is in whole segments and α in 1024ths, and both what a mark takes
//! and what α loses and gains are rounded down (net/ipv4/tcp_dctcp.c). So of three segments a mark
//! takes none while α is below two thirds.
use super::marks::Marks;
use super::reno::Reno;
use super::{Acked, CongestionControl, LossSignal, MarkFeedback, Needs};
use crate::sources::tcp::Tcp;

/// What α is counted in by Linux's rules: parts of one.
const PARTS: f64 = 1024.0;

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
    /// What it does without marks.
    reno: Reno,
}

impl Dctcp {
    fn is_linux(&self) -> bool {
        matches!(self.reno, Reno::Whole(_))
    }

    /// α after a round trip.
    fn smoothed(&self, round: Marks) -> f64 {
        if !self.is_linux() {
            return self.alpha + self.g * (round.fraction() - self.alpha);
        }
        let (parts, marked) = (self.alpha * PARTS, round.fraction() * PARTS);
        // What is too little to be rounded goes at once.
        let loses = if parts * self.g < 1.0 { parts } else { (parts * self.g).floor() };
        (parts - loses + (marked * self.g).floor()).min(PARTS) / PARTS
    }
}

impl CongestionControl for Dctcp {
    type Params = DctcpParams;

    const NEEDS: Needs = Needs { marks: MarkFeedback::Exact, ..Needs::CLASSIC };

    fn new(params: &DctcpParams, tcp: &Tcp) -> Dctcp {
        let reno = Reno::new(&(), tcp);
        Dctcp { g: params.g, alpha: params.alpha, marks: Marks::default(), reno }
    }

    fn on_ack(&mut self, cwnd: f64, ssthresh: &mut f64, ack: &Acked) -> f64 {
        self.reno.on_ack(cwnd, ssthresh, ack)
    }

    fn on_loss(&mut self, loss: &LossSignal) -> f64 {
        self.reno.on_loss(loss)
    }

    /// RFC 8257 §3.3 takes the window itself, whose fraction of a segment what is in flight has
    /// not.
    fn on_ecn(&mut self, loss: &LossSignal) -> f64 {
        let takes = loss.cwnd * self.alpha / 2.0;
        loss.cwnd - if self.is_linux() { takes.floor() } else { takes }
    }

    fn on_every_ack(&mut self, ack: &Acked) {
        if let Some(round) = self.marks.count(ack) {
            self.alpha = self.smoothed(round);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::{ack, loss};
    use super::*;
    use crate::sources::Rules;

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

    /// The same by Linux's rules, in 1024ths.
    #[test]
    fn linux_counts_whole_segments_and_parts_of_alpha() {
        let linux = Tcp { rules: Rules::Linux, ..Tcp::reno() };
        let mut control = Dctcp::new(&DctcpParams::default(), &linux);
        let left = |control: &mut Dctcp, cwnd| control.on_ecn(&loss(cwnd, 2.0));
        assert_eq!([3.0, 4.0, 7.0].map(|cwnd| left(&mut control, cwnd)), [2.0, 2.0, 4.0]);
        let round = |marked, acked| Marks { marked, acked, end: 0 };
        // 1024 − 64; − 60 and + 64 · 1/4; of 916 57 go, and of 1024 · 1/3 · 1/16 = 21.3 comes 21.
        for (marked, acked, parts) in [(0, 8, 960.0), (2, 8, 916.0), (1, 3, 880.0)] {
            control.alpha = control.smoothed(round(marked, acked));
            assert_eq!(control.alpha * PARTS, parts);
        }
        control.alpha = 0.5;
        assert_eq!([3.0, 4.0, 9.0].map(|cwnd| left(&mut control, cwnd)), [3.0, 3.0, 7.0]);
        // What is below 16 parts goes at once; of one mark in 64 comes one part.
        control.alpha = 15.0 / PARTS;
        assert_eq!(control.smoothed(round(1, 64)) * PARTS, 1.0);
        assert_eq!(control.on_loss(&loss(7.0, 2.0)), 3.0);
        let opens: Vec<f64> = (0..4).map(|_| control.on_ack(4.0, &mut 2.0, &ack())).collect();
        assert_eq!(opens, [4.0, 4.0, 4.0, 5.0]);
    }
}
