//! Reno's window (RFC 5681).
use super::{Acked, Law, Loss};

/// One segment more for each that is acknowledged in slow start, 1/cwnd in congestion avoidance; half of them after a loss.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reno;

impl Law for Reno {
    #[inline]
    fn acked(&mut self, cwnd: f64, ssthresh: &mut f64, ack: &Acked) -> f64 {
        cwnd + if cwnd < *ssthresh { ack.counted() } else { ack.counted() / cwnd }
    }

    fn lost(&mut self, loss: &Loss) -> f64 {
        loss.found / 2.0
    }
}
