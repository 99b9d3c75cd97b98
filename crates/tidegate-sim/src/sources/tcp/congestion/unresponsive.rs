//! A sender that heeds nothing: the malicious TCP of the Purge paper. It is reliable, sends what is
//! lost again, and keeps its rate whatever is lost, marked or timed out; the window is the
//! receiver's.
use tidegate::Rate;

use super::{Acked, CongestionControl, CutTriggers, LossSignal, Needs, Pacing};
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
    rate: SegmentRate,
}

impl CongestionControl for Unresponsive {
    type Params = UnresponsiveParams;

    const NEEDS: Needs = Needs {
        answers: CutTriggers::Nothing,
        paces_as: Some("an unresponsive sender"),
        ..Needs::CLASSIC
    };

    fn new(params: &UnresponsiveParams, tcp: &Tcp) -> Unresponsive {
        Unresponsive { rate: SegmentRate::of(params.rate, tcp.segment) }
    }

    fn on_ack(&mut self, _: f64, _: &mut f64, _: &Acked) -> f64 {
        ALL
    }

    fn on_loss(&mut self, _: &LossSignal) -> f64 {
        ALL
    }

    fn restart_window(&self) -> f64 {
        ALL
    }

    /// Segments leave one by one.
    fn pacing(&self) -> Option<Pacing> {
        Some(Pacing { rate: self.rate, quantum: 1 })
    }
}
