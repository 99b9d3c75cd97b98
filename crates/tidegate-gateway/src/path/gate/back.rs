//! The direction from the outer device to the inner: through a queue or not.
use tidegate::Time;

use crate::device::port::Received;
use crate::path::lane::Lane;
use crate::path::pool::Pool;
use crate::path::wire::Wire;
use crate::watch::counters::Counters;
use crate::watch::observer::Observer;

/// The direction from the outer device to the inner.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "one per link, and the packet path must not chase a pointer"
)]
pub enum Back<W> {
    /// Frames pass as they came.
    Wire(Wire),
    /// They pass through a queue, too.
    Lane(Lane<W>),
}

impl<W: Observer> Back<W> {
    #[inline]
    pub(super) fn next(&self) -> Option<Time> {
        match self {
            Back::Wire(wire) => wire.next(),
            Back::Lane(lane) => lane.next(),
        }
    }

    pub(super) fn counters(&self) -> &Counters {
        match self {
            Back::Wire(wire) => wire.counters(),
            Back::Lane(lane) => lane.counters(),
        }
    }

    pub(super) fn pool(&self) -> &Pool {
        match self {
            Back::Wire(wire) => wire.pool(),
            Back::Lane(lane) => lane.pool(),
        }
    }

    pub(super) fn reach(&mut self, longest: u32) {
        match self {
            Back::Wire(wire) => wire.reach(longest),
            Back::Lane(lane) => lane.reach(longest),
        }
    }

    pub(super) fn discard(&mut self, now: Time, frame: &Received<'_>) {
        match self {
            Back::Wire(wire) => wire.discard(frame),
            Back::Lane(lane) => lane.discard(now, frame),
        }
    }

    pub(super) fn forget(&mut self, now: Time) {
        match self {
            Back::Wire(wire) => wire.forget(),
            Back::Lane(lane) => lane.forget(now),
        }
    }
}

impl<W> From<Wire> for Back<W> {
    fn from(wire: Wire) -> Back<W> {
        Back::Wire(wire)
    }
}

impl<W> From<Lane<W>> for Back<W> {
    fn from(lane: Lane<W>) -> Back<W> {
        Back::Lane(lane)
    }
}
