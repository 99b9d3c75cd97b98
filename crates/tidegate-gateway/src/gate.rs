//! The gateway without a clock: two directions over two devices, moved on whenever somebody calls.
//!
//! ```
//! use tidegate::{Link, Rng, Span, Time, catalog};
//! use tidegate_gateway::gate::{Gate, Next};
//! use tidegate_gateway::guard::Unguarded;
//! use tidegate_gateway::lane::{Lane, Managed};
//! use tidegate_gateway::memory::{Cable, cable};
//! use tidegate_gateway::pool::Pool;
//! use tidegate_gateway::port::Port;
//! use tidegate_gateway::wire::Wire;
//! use tidegate_packet::{FlowHasher, FlowKey};
//!
//! let link = Link::new("8 Mbit/s".parse()?, "10 packets".parse()?, "1000 B".parse()?)?;
//! let lane = Managed {
//!     queue: catalog::config("drop_tail", None, &link)?.build(link, Rng::from_seed(1))?,
//!     rate: link.rate,
//!     overhead: Default::default(),
//!     hasher: FlowHasher::new(FlowKey::FiveTuple, [1, 2]),
//!     delay: Span::ZERO,
//!     pool: Pool::new(100, 1514),
//! };
//! let ((mut clients, inner), (outer, mut servers)) = (cable(Cable::default()), cable(Cable::default()));
//! let mut gate = Gate::new(Lane::new(lane, ()), Wire::new(Span::ZERO, Pool::new(0, 1514)), inner, outer);
//! clients.send(&[0; 1000])?;
//! clients.send(&[1; 1000])?;
//! clients.flush()?;
//!
//! let now = Time::from_nanos(5_000_000);
//! assert_eq!(gate.turn(now, &mut Unguarded), Next::Now);
//! assert_eq!(servers.all()?, [[0; 1000]]);
//! // A thousand bytes take a millisecond: the second frame leaves then.
//! let then = Time::from_nanos(6_000_000);
//! assert_eq!(gate.turn(now, &mut Unguarded), Next::At(then));
//! gate.turn(then, &mut Unguarded);
//! assert_eq!(servers.all()?, [[1; 1000]]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
use std::io;

use tidegate::Time;

use crate::counters::Counters;
use crate::guard::Guard;
use crate::lane::Lane;
use crate::port::{Port, Received, Unsent};
use crate::wire::Wire;
use crate::witness::Witness;

/// How many frames are taken from a device before the other one has its turn, and departures theirs. No departure is
/// late by more than what it takes to receive so many, some microseconds.
const BATCH: usize = 16;

/// Two directions over two devices.
#[derive(Debug)]
pub struct Gate<A, B, W> {
    lane: Lane<W>,
    wire: Wire,
    inner: Exit<A>,
    outer: Exit<B>,
}

/// When to call again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// At once: frames were received, so there may be more.
    Now,
    /// At this time, or when a frame arrives.
    At(Time),
    /// When a frame arrives.
    Arrival,
    /// When the promise was renewed: it does not hold, so that no frame may be received.
    Renewal,
}

/// What became of the frames of both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// From the inner device to the outer, through the queue.
    pub managed: Counters,
    /// From the outer device to the inner.
    pub reverse: Counters,
}

/// A device, and what frames go out on it.
#[derive(Debug)]
struct Exit<P> {
    port: P,
    trouble: Option<io::Error>,
    /// How many of the next frames the kernel has sent on.
    stale: usize,
    /// How many frames the device had no room for before the gate began.
    missed_before: u64,
}

/// Whose a received frame is to forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    /// Ours.
    Ours,
    /// It was the kernel's.
    Kernels,
}

impl<A: Port, B: Port, W: Witness> Gate<A, B, W> {
    /// A gateway from `inner`, the side that floods come from, through `lane` to `outer`, and back by `wire`.
    pub fn new(lane: Lane<W>, wire: Wire, inner: A, outer: B) -> Gate<A, B, W> {
        Gate { lane, wire, inner: Exit::new(inner), outer: Exit::new(outer) }
    }

    /// Does what is to be done at `now`, which is no earlier than in any call before: sends what is due, receives what
    /// `guard` says is ours.
    pub fn turn(&mut self, now: Time, guard: &mut impl Guard) -> Next {
        // Before anything is sent, too: what waited while the kernel forwarded newer frames must not follow them.
        if !guard.ours() {
            return Next::Renewal;
        }
        self.depart(now);
        let (Some(one), Some(other)) = (self.receive_inner(now, guard), self.receive_outer(now, guard)) else {
            return Next::Renewal;
        };
        if one + other > 0 {
            self.depart(now);
            return Next::Now;
        }
        match [self.lane.next(), self.wire.next()].into_iter().flatten().min() {
            Some(at) => Next::At(at),
            None => Next::Arrival,
        }
    }

    /// Throws everything away that has arrived and was not received: the kernel has sent it on while the promise did
    /// not hold. The promise must have been renewed before. What waits and what is under way goes too: newer frames
    /// of the same flows have overtaken it. How many frames had arrived.
    pub fn discard(&mut self, now: Time) -> u64 {
        self.lane.forget(now);
        self.wire.forget();
        let (from_inner, lane) = (self.inner.give_up(), &mut self.lane);
        self.inner.receive(from_inner, |frame, _| lane.discard(now, &frame));
        let (from_outer, wire) = (self.outer.give_up(), &mut self.wire);
        self.outer.receive(from_outer, |frame, _| wire.discard(&frame));
        (from_inner + self.inner.stale + from_outer + self.outer.stale) as u64
    }

    /// Forgets what has arrived so far, uncounted: it came before the gate was responsible for any frame.
    pub fn begin(&mut self) {
        self.inner.begin();
        self.outer.begin();
    }

    /// What became of the frames so far.
    pub fn account(&mut self) -> Account {
        let mut managed = *self.lane.counters();
        let mut reverse = *self.wire.counters();
        managed.missed = self.inner.missed();
        reverse.missed = self.outer.missed();
        managed.take_back(self.outer.port.unsent());
        reverse.take_back(self.inner.port.unsent());
        Account { managed, reverse }
    }

    /// Takes over what the kernel has counted of frames that it had no room for: its counters are narrow.
    pub fn count_missed(&mut self) {
        self.inner.missed();
        self.outer.missed();
    }

    /// How many frames have come in by the inner and by the outer device whose checksum was left to hardware.
    pub fn unfinished(&self) -> [u64; 2] {
        [self.lane.counters().unfinished, self.wire.counters().unfinished]
    }

    /// What was the last trouble with the inner and with the outer device since this was asked before.
    pub fn trouble(&mut self) -> [Option<io::Error>; 2] {
        [self.inner.trouble.take(), self.outer.trouble.take()]
    }

    /// The two devices.
    pub fn ports(&self) -> (&A, &B) {
        (&self.inner.port, &self.outer.port)
    }

    /// Who was told everything. Ends the gate.
    pub fn into_witness(self) -> W {
        self.lane.into_witness()
    }

    /// The managed direction.
    pub fn lane(&self) -> &Lane<W> {
        &self.lane
    }

    /// Sends what is due in either direction.
    #[inline]
    fn depart(&mut self, now: Time) {
        let (inner, outer) = (&mut self.inner, &mut self.outer);
        self.lane.depart(now, &mut |frame| outer.give(frame));
        self.wire.depart(now, &mut |frame| inner.give(frame));
        inner.flush();
        outer.flush();
    }

    /// Receives from the inner device: how many frames; `None` if they are not ours to receive.
    fn receive_inner(&mut self, now: Time, guard: &mut impl Guard) -> Option<usize> {
        let lane = &mut self.lane;
        let ours = self.inner.ours(guard)?;
        self.inner.receive(ours, |frame, whose| match whose {
            Whose::Ours => lane.arrive(now, &frame),
            Whose::Kernels => lane.discard(now, &frame),
        });
        Some(ours)
    }

    fn receive_outer(&mut self, now: Time, guard: &mut impl Guard) -> Option<usize> {
        let (wire, inner) = (&mut self.wire, &mut self.inner);
        let ours = self.outer.ours(guard)?;
        self.outer.receive(ours, |frame, whose| match whose {
            Whose::Ours => wire.arrive(now, &frame, &mut |frame| inner.give(frame)),
            Whose::Kernels => wire.discard(&frame),
        });
        Some(ours)
    }
}

impl<P: Port> Exit<P> {
    fn new(port: P) -> Exit<P> {
        Exit { port, trouble: None, stale: 0, missed_before: 0 }
    }

    /// How many frames may be received. They are counted before the clock is read, so that whoever is stopped in
    /// between never takes one that the kernel has sent on in the meantime.
    #[inline]
    fn ours(&mut self, guard: &mut impl Guard) -> Option<usize> {
        match self.port.waiting(BATCH) {
            0 => Some(0),
            waiting => guard.ours().then_some(waiting),
        }
    }

    /// Receives what is [ours](Exit::ours); a device that has nothing for us is asked all the same whether it is well.
    #[inline]
    fn receive(&mut self, most: usize, mut take: impl FnMut(Received<'_>, Whose)) {
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

    /// Nothing that has arrived is ours to forward, nor is what stands before it and is still being written. How many
    /// frames can be received at once of these.
    fn give_up(&mut self) -> usize {
        self.stale = self.port.begun();
        self.port.waiting(self.stale)
    }

    fn begin(&mut self) {
        let most = self.give_up();
        self.receive(most, |_, _| ());
        self.missed_before = self.port.missed();
    }

    fn missed(&mut self) -> u64 {
        self.port.missed() - self.missed_before
    }

    /// Gives a frame to the device; if there is no room, after what waits there was sent.
    #[inline]
    fn give(&mut self, frame: &[u8]) -> Result<(), Unsent> {
        match self.port.send(frame) {
            Err(Unsent::Full) => {
                self.flush();
                self.port.send(frame)
            }
            other => other,
        }
    }

    #[inline]
    fn flush(&mut self) {
        if let Err(error) = self.port.flush() {
            self.trouble = Some(error);
        }
    }
}
