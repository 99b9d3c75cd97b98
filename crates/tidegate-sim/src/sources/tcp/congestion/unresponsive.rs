//! A sender that heeds nothing: the malicious TCP of the Purge paper. It is reliable, sends what is
//! lost again, and keeps its rate whatever is lost, marked or timed out; the window is the
//! receiver's.
use tidegate::Rate;

use super::{Acked, Law, Loss};
use crate::sources::tcp::Tcp;
use crate::sources::tcp::delivery::SegmentRate;

tidegate::params! {
    /// The parameters of a sender that heeds nothing.
    pub struct UnresponsiveParams {
        /// Rate at which it sends, new data and what it sends again, in wire bytes.
        rate: Rate = Rate::from_bps(5_000_000), "r", 1 ..= 1_000_000_000_000u64;
    }
}

/// A window that nothing but the receiver's bounds.
const ALL: f64 = f64::INFINITY;

/// A sender that heeds nothing, at work.
#[derive(Clone, Debug)]
pub(super) struct Unresponsive {
    rate: Rate,
    pace: SegmentRate,
}

impl Unresponsive {
    pub fn new(params: &UnresponsiveParams) -> Unresponsive {
        Unresponsive { rate: params.rate, pace: SegmentRate::ZERO }
    }

    /// It is that of a connection like `tcp`, which begins.
    pub fn begin(&mut self, tcp: &Tcp) {
        self.pace = SegmentRate::of(self.rate, tcp.segment);
    }

    /// The pace; segments leave one by one.
    pub fn pace(&self) -> (SegmentRate, u32) {
        (self.pace, 1)
    }
}

impl Law for Unresponsive {
    fn acked(&mut self, _: f64, _: &mut f64, _: &Acked) -> f64 {
        ALL
    }

    fn lost(&mut self, _: &Loss) -> f64 {
        ALL
    }

    fn restart(&self) -> f64 {
        ALL
    }
}
