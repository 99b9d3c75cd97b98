//! The direction from the outer device to the inner: through a queue or not.
use tidegate::Time;

use crate::device::port::ReceivedFrame;
use crate::path::lane::Lane;
use crate::path::pool::FramePool;
use crate::path::wire::UnmanagedWire;
use crate::watch::counters::DirectionCounters;
use crate::watch::observer::Observer;

/// The direction from the outer device to the inner.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "one per link, and the packet path must not chase a pointer"
)]
pub enum BackDirection<W> {
    /// Frames pass as they came.
    Wire(UnmanagedWire),
    /// They pass through a queue, too.
    Lane(Lane<W>),
}

impl<W: Observer> BackDirection<W> {
    #[inline]
    pub(super) fn next(&self) -> Option<Time> {
        match self {
            BackDirection::Wire(wire) => wire.next(),
            BackDirection::Lane(lane) => lane.next(),
        }
    }

    pub(super) fn counters(&self) -> &DirectionCounters {
        match self {
            BackDirection::Wire(wire) => wire.counters(),
            BackDirection::Lane(lane) => lane.counters(),
        }
    }

    pub(super) fn pool(&self) -> &FramePool {
        match self {
            BackDirection::Wire(wire) => wire.pool(),
            BackDirection::Lane(lane) => lane.pool(),
        }
    }

    pub(super) fn reach(&mut self, longest: u32) {
        match self {
            BackDirection::Wire(wire) => wire.reach(longest),
            BackDirection::Lane(lane) => lane.reach(longest),
        }
    }

    pub(super) fn discard(&mut self, now: Time, frame: &ReceivedFrame<'_>) {
        match self {
            BackDirection::Wire(wire) => wire.discard(frame),
            BackDirection::Lane(lane) => lane.discard(now, frame),
        }
    }

    pub(super) fn forget(&mut self, now: Time) {
        match self {
            BackDirection::Wire(wire) => wire.forget(),
            BackDirection::Lane(lane) => lane.forget(now),
        }
    }
}

impl<W> From<UnmanagedWire> for BackDirection<W> {
    fn from(wire: UnmanagedWire) -> BackDirection<W> {
        BackDirection::Wire(wire)
    }
}

impl<W> From<Lane<W>> for BackDirection<W> {
    fn from(lane: Lane<W>) -> BackDirection<W> {
        BackDirection::Lane(lane)
    }
}
