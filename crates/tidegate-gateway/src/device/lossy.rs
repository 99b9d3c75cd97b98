//! A device that loses some of what is sent, at random, as a bad radio link does.
//!
//! ```
//! use tidegate::{Prob, Rng};
//! use tidegate_gateway::device::lossy::Lossy;
//! use tidegate_gateway::device::memory::{Cable, cable};
//! use tidegate_gateway::device::port::Port;
//!
//! let (here, mut there) = cable(Cable::default());
//! let mut here = Lossy::new(here, Prob::clip(0.5), Rng::from_seed(1));
//! for _ in 0..1000 {
//!     here.send(&[0; 60]).unwrap();
//! }
//! here.flush().unwrap();
//! let arrived = there.all().unwrap().len() as u64;
//! assert!((450..550).contains(&arrived));
//! assert_eq!(here.lost().get(), 1000 - arrived);
//! ```
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tidegate::{Prob, Rng};

use crate::device::port::{Altered, Port, ReceivedFrame, Unsent};
use crate::watch::counters::Tally;

/// A device that loses each frame with the same probability when it is sent.
#[derive(Debug)]
pub struct Lossy<P> {
    port: P,
    loss: Prob,
    dice: Rng,
    lost: LostFrames,
}

/// How many frames a device has lost, for the one that asks.
#[derive(Clone, Debug, Default)]
pub struct LostFrames(Arc<AtomicU64>);

impl LostFrames {
    /// So far, in frames.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl<P> Lossy<P> {
    /// `port`, which loses frames with probability `loss` by `dice`.
    pub fn new(port: P, loss: Prob, dice: Rng) -> Lossy<P> {
        Lossy { port, loss, dice, lost: LostFrames::default() }
    }

    /// How many were lost, now and later.
    pub fn lost(&self) -> LostFrames {
        self.lost.clone()
    }
}

impl<P: AsFd> AsFd for Lossy<P> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.port.as_fd()
    }
}

impl<P: Port> Port for Lossy<P> {
    #[inline]
    fn waiting(&mut self, most: usize) -> usize {
        self.port.waiting(most)
    }

    fn begun(&mut self) -> usize {
        self.port.begun()
    }

    #[inline]
    fn receive(
        &mut self,
        most: usize,
        take: &mut impl FnMut(ReceivedFrame<'_>),
    ) -> io::Result<usize> {
        self.port.receive(most, take)
    }

    #[inline]
    fn send(&mut self, frame: &[u8]) -> Result<(), Unsent> {
        if self.loss > Prob::ZERO && self.dice.chance(self.loss.get()) {
            self.lost.0.fetch_add(1, Relaxed);
            return Ok(());
        }
        self.port.send(frame)
    }

    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        self.port.flush()
    }

    fn altered(&mut self) -> Option<Altered> {
        self.port.altered()
    }

    fn missed(&mut self) -> u64 {
        self.port.missed()
    }

    fn unsent(&self) -> Tally {
        self.port.unsent()
    }
}
