//! A delay line: everything leaves so long after it came in, in order.
use std::collections::VecDeque;

use tidegate::{MarkReason, Span, Time};

use crate::device::port::Unsent;
use crate::path::pool::{FramePool, TOUCHED};
use crate::watch::counters::{DirectionCounters, LossReason};
use crate::watch::observer::Observer;

/// Frames under way, and how long that takes.
#[derive(Debug)]
pub struct DelayLine {
    delay: Span,
    waiting: VecDeque<Passing>,
    /// When the last frame came in.
    last_in: Time,
}

/// A frame under way.
#[derive(Clone, Copy, Debug)]
struct Passing {
    due: Time,
    /// How long it has waited in the queue before.
    waited: Span,
    slot: u32,
}

impl DelayLine {
    /// A line of `delay`, with room for as many frames as `pool` has for the shortest. Memory is
    /// touched now for the first of them, which go round in it. For the system may take longer to
    /// give a page than a departure may be late.
    pub fn new(delay: Span, pool: &FramePool) -> DelayLine {
        let mut waiting = VecDeque::with_capacity(pool.cells() as usize);
        if delay > Span::ZERO {
            let nobody = Passing { due: Time::ZERO, waited: Span::ZERO, slot: 0 };
            waiting.resize(waiting.capacity().min(TOUCHED), nobody);
            waiting.clear();
        }
        DelayLine { delay, waiting, last_in: Time::ZERO }
    }

    /// The memory that a line takes whose pool has so many cells, in bytes.
    pub(crate) const fn memory(cells: u64) -> u64 {
        cells * size_of::<Passing>() as u64
    }

    /// How long frames are under way that come in now.
    #[inline]
    pub(crate) fn delay(&self) -> Span {
        self.delay
    }

    /// Whether no frame is under way.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The frame in `slot`, which had arrived at `arrived`, comes in at `at`, no earlier than any
    /// before it.
    #[inline]
    pub(crate) fn push(&mut self, at: Time, arrived: Time, slot: u32) {
        // Behind frames that were to be under way for longer: twice as fast as it comes in, and not
        // all at once.
        let due = match self.waiting.back() {
            Some(last) if last.due > at + self.delay => {
                last.due + Span::from_nanos(at.since(self.last_in).as_nanos() / 2)
            }
            _ => at + self.delay,
        };
        self.last_in = at;
        self.waiting.push_back(Passing { due, waited: at.since(arrived), slot });
    }

    /// Goes on as `new`, of another delay, in which nothing is under way and which has more room if
    /// `larger` says so. Nothing overtakes what is under way already. What is left over is to
    /// be given back.
    pub(crate) fn renew(&mut self, mut new: DelayLine, larger: bool) -> DelayLine {
        new.last_in = self.last_in;
        if larger {
            new.waiting.append(&mut self.waiting);
        } else {
            std::mem::swap(&mut new.waiting, &mut self.waiting);
        }
        std::mem::replace(self, new)
    }

    /// When the next frame leaves.
    #[inline]
    pub(crate) fn next(&self) -> Option<Time> {
        self.waiting.front().map(|frame| frame.due)
    }

    /// When the last of those leaves that are under way.
    pub(crate) fn last(&self) -> Option<Time> {
        self.waiting.back().map(|frame| frame.due)
    }

    /// Gives the slots of all frames under way to `lose` and is empty then.
    pub(crate) fn forget(&mut self, mut lose: impl FnMut(u32)) {
        self.waiting.drain(..).for_each(|frame| lose(frame.slot));
    }

    /// Gives every frame that is due by `now` to `send`, and accounts for it.
    #[inline]
    pub(crate) fn release<W: Observer>(
        &mut self,
        now: Time,
        pool: &mut FramePool,
        counters: &mut DirectionCounters,
        observer: &mut W,
        send: &mut impl FnMut(&[u8]) -> Result<(), Unsent>,
    ) {
        while let Some(&frame) = self.waiting.front().filter(|frame| frame.due <= now) {
            self.waiting.pop_front();
            let (mark, bytes) = (mark_of(pool.note(frame.slot)), pool.bytes(frame.slot));
            let len = bytes.len() as u32;
            counters.held.remove(len);
            match given(send(bytes), len, counters) {
                None => observer.sent(frame.due, frame.waited, mark, bytes),
                Some(why) => observer.lost(now, why, bytes),
            }
            pool.free(frame.slot);
        }
        if self.waiting.is_empty() {
            // The next one takes the first place, which is at hand, and not the one after this,
            // which may be on a new page.
            self.waiting.clear();
        }
    }
}

/// Accounts for a frame of `len` bytes that was offered to a device with this result; why it is
/// lost, if it is.
#[inline]
pub(crate) fn given(
    result: Result<(), Unsent>,
    len: u32,
    counters: &mut DirectionCounters,
) -> Option<LossReason> {
    let why = match result {
        Ok(()) => {
            counters.sent.add(len);
            return None;
        }
        Err(Unsent::Full) => LossReason::Unsent,
        Err(Unsent::Length) => LossReason::TooLong,
    };
    counters.lose(why, len);
    Some(why)
}

/// A mark's reason as a [note](FramePool::note) of the frame.
#[inline]
pub(crate) fn note_of(mark: MarkReason) -> u8 {
    mark as u8 + 1
}

/// The reason that a note stands for.
#[inline]
pub(crate) fn mark_of(note: u8) -> Option<MarkReason> {
    MarkReason::ALL.get((note as usize).wrapping_sub(1)).copied()
}
