//! A device of a gate, and what frames go out on it.
use std::io;

use super::BATCH;
use crate::device::guard::Guard;
use crate::device::port::{Port, ReceivedFrame, Unsent};

/// A device, and what frames go out on it.
#[derive(Debug)]
pub(super) struct Exit<P> {
    pub(super) port: P,
    pub(super) trouble: Option<io::Error>,
    /// How many of the next frames the kernel has sent on.
    pub(super) stale: usize,
    /// How many frames the device had no room for before the gate began.
    missed_before: u64,
    /// How many frames waited when somebody counted them, if none was received since.
    counted: Option<usize>,
}

/// Whose a received frame is to forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// Ours.
    Ours,
    /// It was the kernel's.
    Kernels,
}

impl<P: Port> Exit<P> {
    pub(super) fn new(port: P) -> Exit<P> {
        Exit { port, trouble: None, stale: 0, missed_before: 0, counted: None }
    }

    /// Counts the frames that are received next.
    #[inline]
    pub(super) fn count(&mut self) {
        self.counted = Some(self.port.waiting(BATCH));
    }

    /// How many frames may be received. They are counted before the clock is read. So a thread that
    /// is stopped in between never takes one that the kernel has sent on in the meantime.
    #[inline]
    pub(super) fn ours(&mut self, guard: &mut impl Guard) -> Option<usize> {
        match self.counted.take().unwrap_or_else(|| self.port.waiting(BATCH)) {
            0 => Some(0),
            waiting => guard.ours().then_some(waiting),
        }
    }

    /// Receives what is [ours](Exit::ours); a device that has nothing for us is asked all the same
    /// whether it is well.
    #[inline]
    pub(super) fn receive(&mut self, most: usize, mut take: impl FnMut(ReceivedFrame<'_>, Whose)) {
        let Exit { port, trouble, stale, .. } = self;
        let received = port.receive(most, &mut |frame| match *stale {
            0 => take(frame, Whose::Ours),
            _ => {
                *stale -= 1;
                take(frame, Whose::Kernels);
            }
        });
        if let Err(error) = received {
            *trouble = Some(error);
        }
    }

    /// Nothing that has arrived is ours to forward, nor is what stands before it and is still being
    /// written. How many frames can be received at once of these.
    pub(super) fn give_up(&mut self) -> usize {
        self.counted = None;
        self.stale = self.port.begun();
        self.port.waiting(self.stale)
    }

    pub(super) fn begin(&mut self) {
        let most = self.give_up();
        self.receive(most, |_, _| ());
        self.missed_before = self.port.missed();
    }

    pub(super) fn missed(&mut self) -> u64 {
        self.port.missed() - self.missed_before
    }

    /// Gives a frame to the device; if there is no room, after what waits there was sent.
    #[inline]
    pub(super) fn give(&mut self, frame: &[u8]) -> Result<(), Unsent> {
        match self.port.send(frame) {
            Err(Unsent::Full) => {
                self.flush();
                self.port.send(frame)
            }
            other => other,
        }
    }

    #[inline]
    pub(super) fn flush(&mut self) {
        if let Err(error) = self.port.flush() {
            self.trouble = Some(error);
        }
    }
}
