//! The queue that a link of the simulator has.
use tidegate::boxed::BoxedQueue;
use tidegate::catalog::AnyQueue;
use tidegate::{Ack, Backlog, Gauge, Packet, Qdisc, Sink, Time};

/// A queue of the catalog or another. One type for both: with a simulator for each, the compiler
/// inlined less of both, and the catalog's queues were 3 % slower.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "one per link, and the packet path must not chase a \
     pointer"
)]
pub enum Held {
    /// One of the catalog: no virtual call.
    Catalog(AnyQueue),
    /// Another.
    Foreign(BoxedQueue),
}

impl Qdisc for Held {
    #[inline]
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        match self {
            Held::Catalog(queue) => queue.enqueue(now, pkt, out),
            Held::Foreign(queue) => queue.enqueue(now, pkt, out),
        }
    }

    #[inline]
    fn enqueue_ack<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, ack: &Ack, out: &mut S) {
        match self {
            Held::Catalog(queue) => queue.enqueue_ack(now, pkt, ack, out),
            Held::Foreign(queue) => queue.enqueue_ack(now, pkt, ack, out),
        }
    }

    #[inline]
    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        match self {
            Held::Catalog(queue) => queue.dequeue(now, out),
            Held::Foreign(queue) => queue.dequeue(now, out),
        }
    }

    fn advance(&mut self, now: Time) {
        match self {
            Held::Catalog(queue) => queue.advance(now),
            Held::Foreign(queue) => queue.advance(now),
        }
    }

    #[inline]
    fn wake_at(&self) -> Option<Time> {
        match self {
            Held::Catalog(queue) => queue.wake_at(),
            Held::Foreign(queue) => queue.wake_at(),
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        match self {
            Held::Catalog(queue) => queue.backlog(),
            Held::Foreign(queue) => queue.backlog(),
        }
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        match self {
            Held::Catalog(queue) => queue.probe(see),
            Held::Foreign(queue) => queue.probe(see),
        }
    }
}
