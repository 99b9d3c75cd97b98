//! CUBIC: by RFC 9438 (`rfc`), or as Linux does it in whole segments (`linux`).
use super::{Acked, CongestionControl, LossSignal, SynAck};
use crate::sources::tcp::{Rules, Tcp};

mod hystart;
mod hystart_linux;
mod linux;
mod rfc;

use linux::LinuxCubic;
use rfc::RfcCubic;

tidegate::params! {
    /// The parameters of CUBIC.
    pub struct CubicParams {
        /// What a loss leaves of the window (RFC 9438 §4.6).
        beta: f64 = 0.7, "beta_cubic", 0.1 ..= 0.95;
        /// How fast the cubic grows, in packets per second cubed (RFC 9438 §5).
        c: f64 = 0.4, "C", 0.001 ..= 100.0;
        /// Whether a flow that loses at a smaller window than before gives up more (RFC 9438 §4.7).
        fast_convergence: FastConvergence = FastConvergence::On, "", 0 ..= 0;
        /// How slow start ends: with a loss or a mark, or also when round-trip times begin to grow
        /// (HyStart++, RFC 9406).
        slow_start: SlowStart = SlowStart::HyStart, "", 0 ..= 0;
    }
}

tidegate::choices! {
    /// Whether fast convergence (RFC 9438 §4.7) is in use.
    pub enum FastConvergence {
        /// In use.
        On = "on",
        /// Not in use.
        Off = "off",
    }
}

tidegate::choices! {
    /// How slow start ends.
    pub enum SlowStart {
        /// With a loss or a mark (RFC 5681).
        Standard = "standard",
        /// Also when round-trip times begin to grow (HyStart++, RFC 9406).
        HyStart = "hystart",
    }
}

/// The most segments that one acknowledgement counts for (RFC 3465 §2.2). One that fills a hole
/// acknowledges many at once that arrived long before, while the window was not to grow.
const STEP: u32 = 2;

/// CUBIC at work.
#[derive(Clone, Debug)]
pub(super) enum Cubic {
    Rfc(RfcCubic),
    Linux(LinuxCubic),
}

impl CongestionControl for Cubic {
    type Params = CubicParams;

    fn new(params: &CubicParams, tcp: &Tcp) -> Cubic {
        match tcp.rules {
            Rules::Linux => Cubic::Linux(LinuxCubic::new(params)),
            Rules::Rfc | Rules::Ns2 | Rules::Ns1 => Cubic::Rfc(RfcCubic::new(params)),
        }
    }

    fn on_ack(&mut self, cwnd: f64, ssthresh: &mut f64, ack: &Acked) -> f64 {
        match self {
            Cubic::Rfc(cubic) => cubic.on_ack(cwnd, ssthresh, ack),
            Cubic::Linux(cubic) => cubic.on_ack(cwnd, ssthresh, ack),
        }
    }

    fn on_loss(&mut self, loss: &LossSignal) -> f64 {
        match self {
            Cubic::Rfc(cubic) => cubic.on_loss(loss),
            Cubic::Linux(cubic) => cubic.on_loss(loss.found),
        }
    }

    fn on_rto(&mut self, loss: &LossSignal) -> f64 {
        match self {
            Cubic::Rfc(cubic) => cubic.on_rto(loss),
            Cubic::Linux(cubic) => cubic.on_rto(loss.found),
        }
    }

    /// Linux's goes by nothing that was before a timeout.
    fn on_repeated_rto(&mut self) {
        if let Cubic::Linux(cubic) = self {
            cubic.forget();
        }
    }

    /// By Linux's rules the round trip of the handshake is one that later ones are held against:
    /// Linux itself goes by data only, but of whatever applications send first, as iperf3 does
    /// a few bytes, the path is found empty.
    fn on_open(&mut self, ack: &Acked) -> SynAck {
        if let Cubic::Linux(cubic) = self {
            cubic.measured(ack);
        }
        SynAck::OpensOnly
    }
}
