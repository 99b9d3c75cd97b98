//! The gateway without a clock: two directions over two devices, moved on whenever somebody calls.
//!
//! ```
//! use tidegate::{Link, Rng, Span, Time, catalog};
//! use tidegate_gateway::path::delay::DelayLine;
//! use tidegate_gateway::path::gate::{Gate, Next};
//! use tidegate_gateway::device::guard::Unguarded;
//! use tidegate_gateway::path::lane::{Lane, LaneParts};
//! use tidegate_gateway::device::memory::{Cable, cable};
//! use tidegate_gateway::watch::meter::Meter;
//! use tidegate_gateway::path::pool::FramePool;
//! use tidegate_gateway::device::port::Port;
//! use tidegate_gateway::path::rehash::{Keys, Rehash};
//! use tidegate_gateway::path::sort::Sorter;
//! use tidegate_gateway::path::wire::UnmanagedWire;
//! use tidegate_packet::{FlowHasher, FlowKey};
//!
//! let link = Link::new("8 Mbit/s".parse()?, "10 packets".parse()?, "1000 B".parse()?)?;
//! let pool = FramePool::new(100, 1514);
//! let lane = LaneParts {
//!     queue: catalog::config("drop_tail", None, &link)?.build(link, Rng::from_seed(1))?,
//!     link,
//!     sorter: Sorter::new(FlowHasher::new(FlowKey::FiveTuple, [1, 2]), Default::default(), &[],
//! &[]),
//!     keys: Keys::new(Rehash::OFF, 3, pool.cells()),
//!     under_way: DelayLine::new(Span::ZERO, &pool),
//!     pool,
//!     meter: Meter::new(&Default::default(), 0),
//! };
//! let (mut clients, inner) = cable(Cable::default());
//! let (outer, mut servers) = cable(Cable::default());
//! let wire = UnmanagedWire::new(Span::ZERO, FramePool::new(0, 1514));
//! let mut gate = Gate::new(Lane::new(lane, ()), wire, inner, outer);
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

use self::back::BackDirection;
use self::exit::{Exit, Whose};

use crate::device::guard::Guard;
use crate::device::port::{Altered, HEADER, Port};
use crate::path::lane::{Lane, LaneParts, LeftOver};
use crate::path::pool::FrameMemory;
use crate::path::wire::UnmanagedWire;
use crate::watch::counters::Account;
use crate::watch::observer::Observer;
use crate::watch::sample::GateSample;

pub mod back;
mod exit;

/// How many frames are taken from a device before the other one has its turn, and departures
/// theirs. No departure is late by more than what it takes to receive so many, some microseconds.
const BATCH: usize = 16;

/// Two directions over two devices.
#[derive(Debug)]
pub struct Gate<A, B, W> {
    there: Lane<W>,
    back: BackDirection<W>,
    inner: Exit<A>,
    outer: Exit<B>,
    /// How often it was renewed.
    renewals: u64,
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

/// What both directions are to become.
#[derive(Debug)]
pub struct Renewal {
    /// From the inner device to the outer.
    pub there: LaneParts,
    /// Back. What was managed stays managed, and what was not is not.
    pub back: BackRenewal,
}

/// What the direction from the outer device to the inner is to become.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum BackRenewal {
    /// Unmanaged: a wire that was not used yet.
    Wire(UnmanagedWire),
    /// Managed.
    Lane(LaneParts),
}

/// What a gate needed before it was [renewed](Gate::renew), to be dropped where that may take its
/// time.
#[derive(Debug)]
pub struct Superseded {
    _there: LeftOver,
    _lane: Option<LeftOver>,
    _wire: Option<UnmanagedWire>,
}

impl<A: Port, B: Port, W: Observer> Gate<A, B, W> {
    /// A gateway from `inner`, the side that floods come from, through `there` to `outer`, and by
    /// `back` back.
    pub fn new(
        there: Lane<W>,
        back: impl Into<BackDirection<W>>,
        inner: A,
        outer: B,
    ) -> Gate<A, B, W> {
        Gate {
            there,
            back: back.into(),
            inner: Exit::new(inner),
            outer: Exit::new(outer),
            renewals: 0,
        }
    }

    /// Counts what has arrived. The next [`turn`](Gate::turn) receives that and no more. Read the
    /// clock in between: then no frame counts as having arrived before it did, even if the thread
    /// was stopped on the way. A delay is never cut short.
    #[inline]
    pub fn count(&mut self) {
        self.inner.count();
        self.outer.count();
    }

    /// Does what is to be done at `now`, which is no earlier than in any call before: sends what is
    /// due, receives what `guard` says is ours.
    pub fn turn(&mut self, now: Time, guard: &mut impl Guard) -> Next {
        // Before anything is sent, too: what waited while the kernel forwarded newer frames must
        // not follow them.
        if !guard.ours() {
            return Next::Renewal;
        }
        self.depart(now);
        let (Some(one), Some(other)) =
            (self.receive_inner(now, guard), self.receive_outer(now, guard))
        else {
            return Next::Renewal;
        };
        if one + other > 0 {
            self.depart(now);
            return Next::Now;
        }
        match self.next() {
            Some(at) => Next::At(at),
            None => Next::Arrival,
        }
    }

    /// Sends what is due at `now`, which is no earlier than in any call before, and receives
    /// nothing: for a gate that is to end. When there is more to send; `None` when nothing is
    /// left.
    pub fn drain(&mut self, now: Time) -> Option<Time> {
        self.depart(now);
        let held = self.there.counters().held.frames + self.back.counters().held.frames;
        if held > 0 { self.next() } else { None }
    }

    /// Both directions go on as `to` says, at `now`, which is no earlier than in any call before.
    /// Nothing is lost by that and nothing overtaken; see [`Lane::renew`].
    ///
    /// # Panics
    /// When the way back is managed and is not to be, or the other way round.
    pub fn renew(&mut self, now: Time, to: Renewal) -> Superseded {
        self.renewals += 1;
        let there = self.there.renew(now, to.there);
        let (lane, wire) = match (&mut self.back, to.back) {
            (BackDirection::Lane(lane), BackRenewal::Lane(to)) => (Some(lane.renew(now, to)), None),
            (BackDirection::Wire(wire), BackRenewal::Wire(to)) => (None, Some(wire.renew(to))),
            _ => panic!("whether the way back is managed is settled when a gate begins"),
        };
        Superseded { _there: there, _lane: lane, _wire: wire }
    }

    /// Whether both directions have [settled](Lane::is_settled), so that they may be renewed.
    pub fn is_settled(&self, now: Time) -> bool {
        let back = match &self.back {
            BackDirection::Wire(_) => true,
            BackDirection::Lane(lane) => lane.is_settled(now),
        };
        back && self.there.is_settled(now)
    }

    #[inline]
    fn next(&self) -> Option<Time> {
        [self.there.next(), self.back.next()].into_iter().flatten().min()
    }

    /// Throws everything away that has arrived and was not received: the kernel has sent it on
    /// while the promise did not hold. The promise must have been renewed before. What waits
    /// and what is under way goes too: newer frames of the same flows have overtaken it. How
    /// many frames had arrived.
    pub fn discard(&mut self, now: Time) -> u64 {
        self.there.forget(now);
        self.back.forget(now);
        self.decline(now)
    }

    /// Throws away what has arrived and was not received, and nothing else: the promise was given
    /// up, and nobody knows which of it the kernel has sent on. How many frames had arrived.
    pub fn decline(&mut self, now: Time) -> u64 {
        let (from_inner, there) = (self.inner.give_up(), &mut self.there);
        self.inner.receive(from_inner, |frame, _| there.discard(now, &frame));
        let (from_outer, back) = (self.outer.give_up(), &mut self.back);
        self.outer.receive(from_outer, |frame, _| back.discard(now, &frame));
        (from_inner + self.inner.stale + from_outer + self.outer.stale) as u64
    }

    /// Forgets what has arrived so far, uncounted: it came before the gate was responsible for any
    /// frame.
    pub fn begin(&mut self) {
        self.inner.begin();
        self.outer.begin();
    }

    /// What became of the frames so far.
    pub fn account(&mut self) -> Account {
        let mut managed = *self.there.counters();
        let mut reverse = *self.back.counters();
        managed.missed = self.inner.missed();
        reverse.missed = self.outer.missed();
        managed.take_back(self.outer.port.unsent());
        reverse.take_back(self.inner.port.unsent());
        Account { managed, reverse }
    }

    /// Writes down how things stand at `now`.
    pub fn sample(&mut self, now: Time, into: &mut GateSample) {
        (into.at, into.renewals, into.account) = (now, self.renewals, self.account());
        into.memory = [self.there.pool(), self.back.pool()].map(FrameMemory::of);
        self.there.sample(now, &mut into.there);
        if let (BackDirection::Lane(lane), Some(into)) = (&mut self.back, &mut into.back) {
            lane.sample(now, into);
        }
    }

    /// Takes over what the kernel has counted of frames that it had no room for: its counters are
    /// narrow.
    pub fn count_missed(&mut self) {
        self.inner.missed();
        self.outer.missed();
    }

    /// How many frames have come in by the inner and by the outer device whose checksum was left to
    /// hardware.
    pub fn unfinished(&self) -> [u64; 2] {
        [self.there.counters().unfinished, self.back.counters().unfinished]
    }

    /// What was the last trouble with the inner and with the outer device since this was asked
    /// before.
    pub fn trouble(&mut self) -> [Option<io::Error>; 2] {
        [self.inner.trouble.take(), self.outer.trouble.take()]
    }

    /// What somebody has changed at the inner and at the outer device since this was asked before.
    /// The gate goes on with that.
    pub fn altered(&mut self) -> [Option<Altered>; 2] {
        let altered = [self.inner.port.altered(), self.outer.port.altered()];
        for mtu in altered.iter().flatten().filter_map(Altered::grown) {
            self.there.reach(mtu + HEADER);
            self.back.reach(mtu + HEADER);
        }
        altered
    }

    /// The two devices.
    pub fn ports(&self) -> (&A, &B) {
        (&self.inner.port, &self.outer.port)
    }

    /// The observer of the managed direction. Ends the gate.
    pub fn into_observer(self) -> W {
        self.there.into_observer()
    }

    /// The observers of the managed direction, and of the other if it is managed, too. Ends the
    /// gate.
    pub fn into_observers(self) -> (W, Option<W>) {
        let back = match self.back {
            BackDirection::Lane(lane) => Some(lane.into_observer()),
            BackDirection::Wire(_) => None,
        };
        (self.there.into_observer(), back)
    }

    /// The managed direction.
    pub fn lane(&self) -> &Lane<W> {
        &self.there
    }

    /// Sends what is due in either direction.
    #[inline]
    fn depart(&mut self, now: Time) {
        let (inner, outer) = (&mut self.inner, &mut self.outer);
        self.there.depart(now, &mut |frame| outer.give(frame));
        match &mut self.back {
            BackDirection::Wire(wire) => wire.depart(now, &mut |frame| inner.give(frame)),
            BackDirection::Lane(lane) => lane.depart(now, &mut |frame| inner.give(frame)),
        }
        inner.flush();
        outer.flush();
    }

    /// Receives from the inner device: how many frames; `None` if they are not ours to receive.
    fn receive_inner(&mut self, now: Time, guard: &mut impl Guard) -> Option<usize> {
        let there = &mut self.there;
        let ours = self.inner.ours(guard)?;
        self.inner.receive(ours, |frame, whose| match whose {
            Whose::Ours => there.arrive(now, &frame),
            Whose::Kernels => there.discard(now, &frame),
        });
        Some(ours)
    }

    fn receive_outer(&mut self, now: Time, guard: &mut impl Guard) -> Option<usize> {
        let (back, inner) = (&mut self.back, &mut self.inner);
        let ours = self.outer.ours(guard)?;
        self.outer.receive(ours, |frame, whose| match (whose, &mut *back) {
            (Whose::Ours, BackDirection::Wire(wire)) => {
                wire.arrive(now, &frame, &mut |frame| inner.give(frame))
            }
            (Whose::Ours, BackDirection::Lane(lane)) => lane.arrive(now, &frame),
            (Whose::Kernels, back) => back.discard(now, &frame),
        });
        Some(ours)
    }
}
