//! Who is shown every frame of the managed direction, with what became of it.
use tidegate::{MarkReason, Span, Time};

use crate::watch::counters::LossReason;

/// Sees every frame once, when its fate is known. It must not wait for anything: frames do, while
/// it looks.
pub trait Observer {
    /// `frame` left for the wire, after waiting in the queue for so long. `mark` says why it bears
    /// the mark that the queue gave it; the mark is in the bytes already.
    fn sent(&mut self, at: Time, waited: Span, mark: Option<MarkReason>, frame: &[u8]);
    /// `frame` was lost at `at`.
    fn lost(&mut self, at: Time, why: LossReason, frame: &[u8]);
}

/// Nobody looks.
impl Observer for () {
    #[inline]
    fn sent(&mut self, _: Time, _: Span, _: Option<MarkReason>, _: &[u8]) {}
    #[inline]
    fn lost(&mut self, _: Time, _: LossReason, _: &[u8]) {}
}

/// Somebody looks, or nobody.
impl<W: Observer> Observer for Option<W> {
    #[inline]
    fn sent(&mut self, at: Time, waited: Span, mark: Option<MarkReason>, frame: &[u8]) {
        if let Some(observer) = self {
            observer.sent(at, waited, mark, frame);
        }
    }
    #[inline]
    fn lost(&mut self, at: Time, why: LossReason, frame: &[u8]) {
        if let Some(observer) = self {
            observer.lost(at, why, frame);
        }
    }
}
