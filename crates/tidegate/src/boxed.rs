//! A queue behind a pointer, for drivers that do not know its type when they are built.
//!
//! ```
//! use tidegate::boxed::BoxedQueue;
//! use tidegate::{Link, NullSink, Packet, Qdisc, Rng, Time, catalog};
//! let link = Link::new("10 Mbit/s".parse()?, "50 packets".parse()?, "1000 B".parse()?)?;
//! let queue = catalog::config("red", None, &link)?.build(link, Rng::from_seed(1))?;
//! let mut queue = BoxedQueue::new(queue);
//! queue.enqueue(Time::ZERO, Packet::new(7, 1000), &mut NullSink);
//! assert_eq!(queue.backlog().packets, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
use alloc::boxed::Box;
use core::fmt;

use crate::ack::Ack;
use crate::packet::Packet;
use crate::qdisc::{Backlog, DropReason, Gauge, MarkReason, Qdisc, Sink};
use crate::units::Time;

/// Any queue, behind a pointer. Each call costs a virtual one, and each drop or mark another:
/// queues of the catalog are better held as [`AnyQueue`](crate::catalog::AnyQueue).
pub struct BoxedQueue(Box<dyn Object>);

impl BoxedQueue {
    /// `queue`, whose type is forgotten.
    pub fn new(queue: impl Qdisc + Send + 'static) -> BoxedQueue {
        BoxedQueue(Box::new(queue))
    }
}

impl fmt::Debug for BoxedQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BoxedQueue").field(&self.0.backlog()).finish()
    }
}

// Out of line, so that the code of drivers that hold other queues beside it stays small.
impl Qdisc for BoxedQueue {
    #[inline(never)]
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        self.0.enqueue(now, pkt, &mut Through(out));
    }

    #[inline(never)]
    fn enqueue_ack<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, ack: &Ack, out: &mut S) {
        self.0.enqueue_ack(now, pkt, ack, &mut Through(out));
    }

    #[inline(never)]
    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        self.0.dequeue(now, &mut Through(out))
    }

    fn advance(&mut self, now: Time) {
        self.0.advance(now);
    }

    fn wake_at(&self) -> Option<Time> {
        self.0.wake_at()
    }

    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        self.0.probe(see);
    }
}

/// [`Qdisc`] without type parameters, so that it can be behind a pointer.
trait Object: Send {
    fn enqueue(&mut self, now: Time, pkt: Packet, out: &mut dyn Sink);
    fn enqueue_ack(&mut self, now: Time, pkt: Packet, ack: &Ack, out: &mut dyn Sink);
    fn dequeue(&mut self, now: Time, out: &mut dyn Sink) -> Option<Packet>;
    fn advance(&mut self, now: Time);
    fn wake_at(&self) -> Option<Time>;
    fn backlog(&self) -> Backlog;
    fn probe(&self, see: &mut dyn FnMut(Gauge));
}

impl<Q: Qdisc + Send> Object for Q {
    fn enqueue(&mut self, now: Time, pkt: Packet, out: &mut dyn Sink) {
        Qdisc::enqueue(self, now, pkt, out);
    }

    fn enqueue_ack(&mut self, now: Time, pkt: Packet, ack: &Ack, out: &mut dyn Sink) {
        Qdisc::enqueue_ack(self, now, pkt, ack, out);
    }

    fn dequeue(&mut self, now: Time, out: &mut dyn Sink) -> Option<Packet> {
        Qdisc::dequeue(self, now, out)
    }

    fn advance(&mut self, now: Time) {
        Qdisc::advance(self, now);
    }

    fn wake_at(&self) -> Option<Time> {
        Qdisc::wake_at(self)
    }

    fn backlog(&self) -> Backlog {
        Qdisc::backlog(self)
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        Qdisc::probe(self, see);
    }
}

/// A sink of unknown size as one of known size.
struct Through<'s, S: ?Sized>(&'s mut S);

impl<S: Sink + ?Sized> Sink for Through<'_, S> {
    fn dropped(&mut self, now: Time, pkt: &Packet, why: DropReason) {
        self.0.dropped(now, pkt, why);
    }

    fn marked(&mut self, now: Time, pkt: &Packet, why: MarkReason) {
        self.0.marked(now, pkt, why);
    }
}
