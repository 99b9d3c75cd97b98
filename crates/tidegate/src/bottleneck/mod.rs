//! A bottleneck: a queue, the link behind it, and the way to the other end.
//!
//! You offer packets, each with a payload of your own, and poll what comes out. There is no clock
//! and no I/O, so a test of a transport runs as fast as the transport does, and the same seed
//! gives the same run.
//!
//! ```
//! use tidegate::{Bottleneck, Link, Packet, Seed, Span, Time, catalog};
//!
//! let link = Link::new("10 Mbit/s".parse()?, "100 packets".parse()?, "1250 B".parse()?)?;
//! let queue = catalog::config("sfb", None, &link)?.build(link, Seed::new(1).stream("queue"))?;
//! let mut there = Bottleneck::new(link.rate, Span::from_millis(20), queue)?;
//!
//! there.offer(Time::ZERO, Packet::new(7, 1250), "a datagram");
//! // 1 ms on the link and 20 ms on the way.
//! assert!(there.next_wake().is_some_and(|wake| wake.as_nanos() <= 21_000_000));
//! let arrived = there.poll(Time::ZERO + Span::from_millis(21)).unwrap();
//! assert_eq!((arrived.at.as_nanos(), arrived.payload), (21_000_000, "a datagram"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A driver's loop is: [`offer`](Bottleneck::offer) what the sender sends,
//! [`poll`](Bottleneck::poll) until there is nothing, hand on what was delivered, and go to the
//! earliest [`next_wake`](Bottleneck::next_wake) or timer. Two directions are two bottlenecks.
mod steps;
mod trace;
mod wire;

use alloc::collections::VecDeque;

use slab::Slab;

use crate::ack::Ack;
use crate::catalog::AnyQueue;
use crate::config::ConfigError;
use crate::packet::Packet;
use crate::qdisc::{DropReason, Link, MarkReason, Qdisc, Sink};
use crate::rng::{Rng, Seed};
use crate::units::{Prob, Span, Time};
use crate::written::Written;

pub use steps::{MOST_STEPS, Steps};
pub use trace::{MOST_LINES, OPPORTUNITY, Trace};
pub use wire::{Capacity, Wire};

/// The longest delay.
const MOST_DELAY: Span = Span::from_millis(3_600_000);

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fate<T> {
    /// When: its last bit reached the other end, or the queue dropped it.
    pub at: Time,
    /// The packet as it was offered. [`Packet::arrived`] is when; a mark is in [`Packet::ecn`].
    pub packet: Packet,
    /// Your payload.
    pub payload: T,
    /// What happened.
    pub outcome: Outcome,
}

impl<T> Fate<T> {
    /// Whether it has reached the other end.
    pub const fn is_delivered(&self) -> bool {
        matches!(self.outcome, Outcome::Delivered)
    }
}

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// It has reached the other end.
    Delivered,
    /// The queue dropped it.
    Dropped(DropReason),
    /// It was lost on the way, at random. [`Fate::at`] is when it would have arrived.
    Lost,
}

/// A queue, the link behind it, and the way to the other end. `T` is the payload of a packet.
///
/// Time never runs back: a `now` before an earlier one counts as that one. Of what happens at one
/// time, departures from the queue come first, then arrivals in their order. After warm-up no call
/// allocates.
#[derive(Clone, Debug)]
pub struct Bottleneck<T, Q = AnyQueue> {
    queue: Q,
    wire: Wire,
    delay: Span,
    loss: Option<(Prob, Rng)>,
    now: Time,
    /// When the link asks the queue next; `None` when the queue is empty and knows that the link is
    /// idle.
    next: Option<Time>,
    /// What was offered and has no fate yet, or one that nobody has polled: slot and payload.
    inside: Slab<(u32, T)>,
    /// In the order of time.
    under_way: VecDeque<Settled>,
    dropped: Drops,
}

/// A packet whose fate is known. [`Packet::slot`] says where its payload is.
#[derive(Clone, Copy, Debug)]
struct Settled {
    at: Time,
    packet: Packet,
    outcome: Outcome,
}

impl<T> Bottleneck<T> {
    /// A queue [as users write it](crate::written), in front of its link and a delay. The dice of
    /// the queue come from `seed`.
    ///
    /// ```
    /// use tidegate::{Bottleneck, Link, Span};
    /// let link = Link::new("10 Mbit/s".parse()?, "100 packets".parse()?, "1200 B".parse()?)?;
    /// let way: Bottleneck<()> = Bottleneck::of("sfb,levels=3", link, Span::from_millis(20), 1)?;
    /// assert_eq!(way.inside(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// An unknown queue, preset or parameter, with the known ones; a value out of bounds; what
    /// [`new`](Bottleneck::new) refuses.
    pub fn of(
        queue: &str,
        link: Link,
        delay: Span,
        seed: u64,
    ) -> Result<Bottleneck<T>, ConfigError> {
        let config = Written::read(queue)?.config(&link)?;
        let queue = config.build(link, Seed::new(seed).stream("queue"))?;
        Bottleneck::new(link.rate, delay, queue)
    }
}

impl<T, Q: Qdisc> Bottleneck<T, Q> {
    /// `queue`, a link of `capacity`, and the time from the link's end to the other end.
    ///
    /// # Errors
    /// A rate of zero or above 1 Pbit/s, a delay above an hour.
    pub fn new(
        capacity: impl Into<Capacity>,
        delay: Span,
        queue: Q,
    ) -> Result<Bottleneck<T, Q>, ConfigError> {
        if delay > MOST_DELAY {
            return Err(ConfigError::new("delay", delay, "must be at most an hour"));
        }
        Ok(Bottleneck {
            queue,
            wire: Wire::new(capacity.into())?,
            delay,
            loss: None,
            now: Time::ZERO,
            next: None,
            inside: Slab::new(),
            under_way: VecDeque::new(),
            dropped: Drops(VecDeque::new()),
        })
    }

    /// Loses each packet with probability `loss` after the link has sent it, whatever its flow.
    /// `dice` are rolled once for each packet that the link sends.
    #[must_use]
    pub fn with_loss(self, loss: Prob, dice: Rng) -> Bottleneck<T, Q> {
        Bottleneck { loss: Some((loss, dice)), ..self }
    }

    /// Offers `packet` at `now`. It comes out by [`poll`](Bottleneck::poll), with `payload`.
    #[inline]
    pub fn offer(&mut self, now: Time, packet: Packet, payload: T) {
        self.insert(now, packet, None, payload);
    }

    /// The same for a packet that acknowledges `ack`, for queues that ask
    /// ([`Asks::acks`](crate::Asks)).
    pub fn offer_ack(&mut self, now: Time, packet: Packet, ack: &Ack, payload: T) {
        self.insert(now, packet, Some(ack), payload);
    }

    #[inline]
    fn insert(&mut self, now: Time, packet: Packet, ack: Option<&Ack>, payload: T) {
        self.catch_up(now);
        let slot = self.inside.insert((packet.slot, payload)) as u32;
        self.queue.offer(self.now, packet.with_slot(slot), ack, &mut self.dropped);
        // A free link asks again, whatever it was waiting for.
        if self.wire.free() <= self.now && self.waits() {
            self.next = Some(self.wire.after(self.now));
        }
    }

    /// The next packet that has reached the other end by `now`, in the order of time. What was
    /// dropped or lost is discarded: [`poll_fate`](Bottleneck::poll_fate) gives it, too. Poll until
    /// there is none, since what is not polled stays inside.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Option<Fate<T>> {
        loop {
            let fate = self.poll_fate(now)?;
            if fate.is_delivered() {
                return Some(fate);
            }
        }
    }

    /// The next packet that was delivered, dropped or lost by `now`, in the order of time. Of one
    /// time, drops come first.
    // Always: a fate that is handed on in memory is written and read in pieces of other sizes,
    // which costs more than all the rest.
    #[inline(always)]
    pub fn poll_fate(&mut self, now: Time) -> Option<Fate<T>> {
        self.catch_up(now);
        let dropped = self.dropped.0.front().map_or(Time::MAX, |first| first.at);
        let arrives = self.under_way.front().map_or(Time::MAX, |first| first.at);
        if dropped.min(arrives) > self.now {
            return None;
        }
        let from = if dropped <= arrives { &mut self.dropped.0 } else { &mut self.under_way };
        let Settled { at, packet, outcome } = from.pop_front()?;
        let (slot, payload) = self.inside.remove(packet.slot as usize);
        Some(Fate { at, packet: packet.with_slot(slot), payload, outcome })
    }

    /// When to poll next, if nothing is offered before; `None` if nothing is inside. After a poll
    /// that gave nothing it lies ahead. It may come before there is something to poll, never after.
    #[inline]
    pub fn next_wake(&self) -> Option<Time> {
        let dropped = self.dropped.0.front().map(|first| first.at);
        let arrives = self.under_way.front().map(|first| first.at);
        // A packet that still waits arrives no sooner than the delay after it begins.
        let begins = self.next.filter(|_| self.waits());
        let soonest = arrives.or(begins.map(|begins| begins + self.delay));
        dropped.into_iter().chain(soonest).min()
    }

    /// How many packets were offered whose fate has not been polled.
    pub fn inside(&self) -> usize {
        self.inside.len()
    }

    /// The queue, to see its backlog and its state.
    pub fn queue(&self) -> &Q {
        &self.queue
    }

    /// Whether packets wait in the queue: those inside that have no fate yet. Cheaper than to ask a
    /// queue of the catalog, which first has to find out which it is.
    #[inline]
    fn waits(&self) -> bool {
        self.inside.len() > self.under_way.len() + self.dropped.0.len()
    }

    /// Makes all departures that begin at or before `now`, each at its own time.
    #[inline(always)]
    fn catch_up(&mut self, now: Time) {
        self.now = self.now.max(now);
        if self.next.is_some_and(|next| next <= self.now) {
            self.depart_due();
        }
    }

    // Apart, so that a call on which nothing is due is cheap.
    #[inline(never)]
    fn depart_due(&mut self) {
        while let Some(at) = self.next.filter(|&next| next <= self.now) {
            self.depart(at);
        }
    }

    /// The link, which is free at `at`, asks the queue for a packet.
    fn depart(&mut self, at: Time) {
        let Some(packet) = self.queue.dequeue(at, &mut self.dropped) else {
            let wake = self.queue.wake_at().filter(|_| self.waits());
            let soonest = at + Span::from_nanos(1);
            self.next = wake.map(|wake| self.wire.at_or_after(wake.max(soonest)));
            return;
        };
        let at = self.wire.send(at, packet.len) + self.delay;
        self.next = Some(self.wire.free());
        let lost = self.loss.as_mut().is_some_and(|(loss, dice)| dice.chance(loss.get()));
        let outcome = if lost { Outcome::Lost } else { Outcome::Delivered };
        self.under_way.push_back(Settled { at, packet, outcome });
    }
}

/// What the queue has dropped and nobody has polled, in the order of time.
#[derive(Clone, Debug)]
struct Drops(VecDeque<Settled>);

impl Sink for Drops {
    #[inline]
    fn dropped(&mut self, now: Time, packet: &Packet, why: DropReason) {
        self.0.push_back(Settled { at: now, packet: *packet, outcome: Outcome::Dropped(why) });
    }

    #[inline]
    fn marked(&mut self, _: Time, _: &Packet, _: MarkReason) {}
}
