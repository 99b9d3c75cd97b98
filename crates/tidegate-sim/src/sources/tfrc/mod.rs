//! TFRC (RFC 5348): TCP's throughput equation gives the sending rate for the loss event rate that
//! the receiver reports. The sender always has data to send.
//!
//! This file has the parameters and the equation. `sender` and `receiver` are the two ends, and
//! `history` keeps the loss intervals. `ns2` has what ns-2 does in place of the RFC.
use tidegate::{Bytes, ConfigError, Ecn};

mod history;
mod note;
mod ns2;
mod receiver;
mod sender;

pub(crate) use receiver::{Feedback, TfrcArrival, TfrcReceiver, TfrcReport};
pub(crate) use sender::TfrcSender;

use super::check_packet;

/// The parameters of a TFRC flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Tfrc {
    /// The length of a data packet on the wire, 1 B to 65535 B.
    pub packet: Bytes,
    /// The length of a report on the wire.
    pub report: Bytes,
    /// The rules to follow where the RFC and ns-2 differ.
    pub rules: TfrcRules,
    /// Whether the rate falls while the round trip grows (RFC 5348 §4.5).
    pub damping: Damping,
    /// The ECN codepoint of its packets; a mark counts as a loss (§5.1).
    pub ecn: Ecn,
}

tidegate::choices! {
    /// Whose rules TFRC goes by where RFC 5348 and ns-2 differ.
    pub enum TfrcRules {
        /// The RFC's.
        Rfc = "rfc",
        /// ns-2.35's. A rate that the equation allows is reached by a packet per round trip. A gap
        /// is a loss at once. The timeout in the equation is measured in ticks of 0.1 s, and 3
        /// √(3bp/8) is at most 1 (it is more above p = 0.296).
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
    /// 1000-byte packets, 40-byte reports, the RFC's rules, damping, no ECN.
    fn default() -> Tfrc {
        let (packet, report) = (Bytes::new(1000), Bytes::new(40));
        Tfrc { packet, report, rules: TfrcRules::Rfc, damping: Damping::On, ecn: Ecn::NotEct }
    }
}

impl Tfrc {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        check_packet(self.packet)?;
        check_packet(self.report).map_err(|error| ConfigError { field: "report".into(), ..error })
    }
}

/// The times of a path that the equation uses, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// The round trip, R; 0 for unknown.
    pub rtt: f64,
    /// The retransmission timeout that TCP would have, t_RTO.
    pub rto: f64,
}

impl Times {
    /// The RFC's: t_RTO = 4R (§3.1).
    pub fn of(rtt: f64) -> Times {
        Times { rtt, rto: 4.0 * rtt }
    }
}

impl TfrcRules {
    /// The rate in bytes a second of packets of `s` bytes with loss event rate `p` above 0 (RFC
    /// 5348 §3.1 with b = 1).
    pub fn rate(self, s: f64, path: Times, p: f64) -> f64 {
        let timeouts = 3.0 * (3.0 * p / 8.0).sqrt();
        let timeouts = if self == TfrcRules::Ns2 { timeouts.min(1.0) } else { timeouts };
        s / (path.rtt * (2.0 * p / 3.0).sqrt() + path.rto * timeouts * p * (1.0 + 32.0 * p * p))
    }

    /// The loss event rate at which the rate is `x`: the inverse of [`TfrcRules::rate`].
    pub fn loss(self, s: f64, path: Times, x: f64) -> f64 {
        let at = |p: f64| self.rate(s, path, p);
        match self {
            TfrcRules::Rfc => halved_in_ratio(x, at),
            TfrcRules::Ns2 => ns2::near(x, at),
        }
    }
}

/// Solves `at(p) = x` for a decreasing function `at`, by bisection on a logarithmic scale.
fn halved_in_ratio(x: f64, at: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (1e-8, 1.0);
    for _ in 0..60 {
        let middle = f64::sqrt(low * high);
        if at(middle) > x { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_equation_s_golden_numbers() {
        let golden =
            [(0.001, 383843.6), (0.01, 112332.2), (0.02, 73249.0), (0.05, 36858.9), (0.1, 17701.0)];
        let (rfc, ns2, path) = (TfrcRules::Rfc, TfrcRules::Ns2, Times::of(0.1));
        for (p, rate) in golden {
            assert!((rfc.rate(1000.0, path, p) - rate).abs() < 0.06, "{p}");
            assert_eq!(ns2.rate(1000.0, path, p), rfc.rate(1000.0, path, p));
            assert!((rfc.loss(1000.0, path, rate) / p - 1.0).abs() < 1e-5);
            // ns-2 is content with a rate within 5 %.
            let near = ns2.rate(1000.0, path, ns2.loss(1000.0, path, rate));
            assert!((near / rate - 1.0).abs() < 0.05, "{p}: {near}");
        }
        assert!(ns2.rate(1000.0, path, 0.3) > rfc.rate(1000.0, path, 0.3));
    }
}
