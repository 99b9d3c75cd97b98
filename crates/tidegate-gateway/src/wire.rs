//! The reverse direction: frames pass as they came, after a delay if one is set.
use tidegate::{Span, Time};

use crate::counters::{Counters, Loss};
use crate::delay::{DelayLine, given};
use crate::pool::Pool;
use crate::port::{Received, Unsent};

/// The reverse direction.
#[derive(Debug)]
pub struct Wire {
    delay: Option<DelayLine>,
    pool: Pool,
    counters: Counters,
}

impl Wire {
    /// A wire on which frames are under way for `delay`, in `pool`.
    pub fn new(delay: Span, pool: Pool) -> Wire {
        let delay = (delay > Span::ZERO).then(|| DelayLine::new(delay, &pool));
        Wire { delay, pool, counters: Counters::default() }
    }

    /// A frame has arrived. Without a delay it is given to `send` at once.
    #[inline]
    pub fn arrive(&mut self, now: Time, frame: &Received<'_>, send: &mut impl FnMut(&[u8]) -> Result<(), Unsent>) {
        let (bytes, len) = (frame.bytes, frame.wire_len);
        self.counters.received.add(len);
        self.counters.unfinished += frame.checksum_missing as u64;
        if (bytes.len() as u32) < len {
            return self.counters.lose(Loss::CutOff, len);
        }
        let Some(delay) = &mut self.delay else {
            given(send(bytes), len, &mut self.counters);
            return;
        };
        match self.pool.put(bytes) {
            Some(slot) => {
                self.counters.held.add(len);
                delay.push(now, now, slot);
            }
            None if len > self.pool.longest() => self.counters.lose(Loss::TooLong, len),
            None => self.counters.lose(Loss::NoMemory, len),
        }
    }

    /// A frame has arrived that must not be sent on.
    pub fn discard(&mut self, frame: &Received<'_>) {
        self.counters.received.add(frame.wire_len);
        self.counters.lose(Loss::Lapsed, frame.wire_len);
    }

    /// Loses everything that is under way.
    pub fn forget(&mut self) {
        let (pool, counters) = (&mut self.pool, &mut self.counters);
        if let Some(delay) = &mut self.delay {
            delay.forget(|slot| {
                let len = pool.len(slot);
                counters.held.remove(len);
                counters.lose(Loss::Lapsed, len);
                pool.free(slot);
            });
        }
    }

    /// Gives every frame that is due by `now` to `send`.
    #[inline]
    pub fn depart(&mut self, now: Time, send: &mut impl FnMut(&[u8]) -> Result<(), Unsent>) {
        if let Some(delay) = &mut self.delay {
            delay.release(now, &mut self.pool, &mut self.counters, &mut (), send);
        }
    }

    /// When [`depart`](Wire::depart) has something to do again, unless a frame arrives before.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.delay.as_ref().and_then(DelayLine::next)
    }

    /// What became of the frames so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
}
