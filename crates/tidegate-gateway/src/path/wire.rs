//! The unmanaged direction: frames pass as they came, after a delay if one is set.
use tidegate::{Span, Time};

use crate::device::port::{ReceivedFrame, Unsent};
use crate::path::delay::{DelayLine, given};
use crate::path::pool::FramePool;
use crate::watch::counters::{DirectionCounters, LossReason};

/// The unmanaged direction.
#[derive(Debug)]
pub struct UnmanagedWire {
    delay: DelayLine,
    pool: FramePool,
    counters: DirectionCounters,
}

impl UnmanagedWire {
    /// A wire on which frames are under way for `delay`, in `pool`.
    pub fn new(delay: Span, pool: FramePool) -> UnmanagedWire {
        UnmanagedWire {
            delay: DelayLine::new(delay, &pool),
            pool,
            counters: DirectionCounters::default(),
        }
    }

    /// A frame has arrived. Without a delay it is given to `send` at once, unless others are under
    /// way still.
    #[inline]
    pub fn arrive(
        &mut self,
        now: Time,
        frame: &ReceivedFrame<'_>,
        send: &mut impl FnMut(&[u8]) -> Result<(), Unsent>,
    ) {
        let (bytes, len) = (frame.bytes, frame.wire_len);
        self.counters.received.add(len);
        self.counters.unfinished += frame.checksum_missing as u64;
        if (bytes.len() as u32) < len {
            return self.counters.lose(LossReason::CutOff, len);
        }
        if self.delay.delay() == Span::ZERO && self.delay.is_empty() {
            given(send(bytes), len, &mut self.counters);
            return;
        }
        match self.pool.put(bytes) {
            Some(slot) => {
                self.counters.held.add(len);
                self.delay.push(now, now, slot);
            }
            None if len > self.pool.longest() => self.counters.lose(LossReason::TooLong, len),
            None => self.counters.lose(LossReason::NoMemory, len),
        }
    }

    /// A frame has arrived that must not be sent on.
    pub fn discard(&mut self, frame: &ReceivedFrame<'_>) {
        self.counters.received.add(frame.wire_len);
        self.counters.lose(LossReason::Lapsed, frame.wire_len);
    }

    /// Loses everything that is under way.
    pub fn forget(&mut self) {
        let (pool, counters) = (&mut self.pool, &mut self.counters);
        self.delay.forget(|slot| {
            let len = pool.len(slot);
            counters.held.remove(len);
            counters.lose(LossReason::Lapsed, len);
            pool.free(slot);
        });
    }

    /// Gives every frame that is due by `now` to `send`.
    #[inline]
    pub fn depart(&mut self, now: Time, send: &mut impl FnMut(&[u8]) -> Result<(), Unsent>) {
        self.delay.release(now, &mut self.pool, &mut self.counters, &mut (), send);
    }

    /// When [`depart`](UnmanagedWire::depart) has something to do again, unless a frame arrives
    /// before.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.delay.next()
    }

    /// What became of the frames so far.
    pub fn counters(&self) -> &DirectionCounters {
        &self.counters
    }

    /// Frames of up to `longest` bytes may be under way from here on.
    pub(crate) fn reach(&mut self, longest: u32) {
        self.pool.reach(longest);
    }

    /// The memory of frames under way.
    pub(crate) fn pool(&self) -> &FramePool {
        &self.pool
    }

    /// Goes on with the delay of `to`, a wire that was not used yet. What is under way is overtaken
    /// by nothing. What is left over is to be given back where that may take its time.
    pub fn renew(&mut self, to: UnmanagedWire) -> UnmanagedWire {
        let UnmanagedWire { delay, pool, .. } = to;
        let larger = pool.cells() > self.pool.cells();
        let pool = if larger { self.pool.grow(pool) } else { pool };
        let delay = self.delay.renew(delay, larger);
        UnmanagedWire { delay, pool, counters: DirectionCounters::default() }
    }
}
