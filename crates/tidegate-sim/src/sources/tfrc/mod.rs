//! TFRC (RFC 5348): packets at a rate by TCP's throughput equation for the loss event rate that the receiver reports.
//! Parameters and the equation here, the two ends in `sender` and `receiver`, loss events and their intervals in `history`.
//!
//! The receiver has no timer: a report goes with the first packet that arrives a round trip after the one before, and at
//! once with a new loss event, as ns-2's does. The sender always has something to send.
use tidegate::{Bytes, ConfigError, Ecn};

mod history;
mod receiver;
mod sender;

pub(crate) use receiver::{Report, TfrcReceiver};
pub(crate) use sender::TfrcSender;

use super::check_packet;

/// The parameters of a TFRC flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Tfrc {
    /// The length of a data packet on the wire, 1 B to 65535 B.
    pub packet: Bytes,
    /// The length of a report on the wire.
    pub report: Bytes,
    /// Which form of the equation holds.
    pub equation: Equation,
    /// Whether the rate falls while the round trip grows (RFC 5348 §4.5).
    pub damping: Damping,
    /// The ECN codepoint that its packets bear; a mark is a loss (§5.1).
    pub ecn: Ecn,
}

tidegate::choices! {
    /// Which form of TFRC's throughput equation holds.
    pub enum Equation {
        /// RFC 5348 §3.1's.
        Rfc = "rfc",
        /// ns-2's, which takes 3 √(3bp/8) as at most 1; it differs above p = 0.296.
        Ns2 = "ns2",
    }
}

tidegate::choices! {
    /// Whether TFRC reduces oscillations (RFC 5348 §4.5).
    pub enum Damping {
        /// The time between packets grows with the root of the last round trip over the mean root.
        On = "on",
        /// It does not.
        Off = "off",
    }
}

impl Default for Tfrc {
    /// 1000-byte packets, 40-byte reports, the RFC's equation, damping, no ECN.
    fn default() -> Tfrc {
        let (packet, report) = (Bytes::new(1000), Bytes::new(40));
        Tfrc { packet, report, equation: Equation::Rfc, damping: Damping::On, ecn: Ecn::NotEct }
    }
}

impl Tfrc {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        check_packet(self.packet)?;
        check_packet(self.report).map_err(|error| ConfigError { field: "report".into(), ..error })
    }
}

impl Equation {
    /// The rate in bytes a second of packets of `s` bytes, with round trips of `r` seconds and loss event rate `p` above 0
    /// (RFC 5348 §3.1 with b = 1 and t_RTO = 4R).
    pub fn rate(self, s: f64, r: f64, p: f64) -> f64 {
        let timeouts = 3.0 * (3.0 * p / 8.0).sqrt();
        let timeouts = if self == Equation::Ns2 { timeouts.min(1.0) } else { timeouts };
        s / (r * (2.0 * p / 3.0).sqrt() + 4.0 * r * timeouts * p * (1.0 + 32.0 * p * p))
    }

    /// The loss event rate at which the rate is `x`: the inverse of [`Equation::rate`], by halving the interval in ratio.
    pub fn loss(self, s: f64, r: f64, x: f64) -> f64 {
        let (mut low, mut high) = (1e-8, 1.0);
        for _ in 0..60 {
            let middle = f64::sqrt(low * high);
            if self.rate(s, r, middle) > x { low = middle } else { high = middle }
        }
        high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_equation_s_golden_numbers() {
        let golden = [(0.001, 383843.6), (0.01, 112332.2), (0.02, 73249.0), (0.05, 36858.9), (0.1, 17701.0)];
        for (p, rate) in golden {
            assert!((Equation::Rfc.rate(1000.0, 0.1, p) - rate).abs() < 0.06, "{p}");
            assert_eq!(Equation::Ns2.rate(1000.0, 0.1, p), Equation::Rfc.rate(1000.0, 0.1, p));
            assert!((Equation::Rfc.loss(1000.0, 0.1, rate) / p - 1.0).abs() < 1e-5);
        }
        assert!(Equation::Ns2.rate(1000.0, 0.1, 0.3) > Equation::Rfc.rate(1000.0, 0.1, 0.3));
    }
}
