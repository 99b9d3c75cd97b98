//! A queue and the link behind it, without an event per departure.
//!
//! Departures are worked out when somebody needs to know: [`Port::catch_up`] makes all those that
//! begin up to a given time, each with its own true time, and asks the queue once more at the true
//! time at which the link falls idle. That is done before every arrival, before every reading, and
//! at the latest when what departs could next meet something that needs an event, or what has gone
//! on enters a link where streams of this port meet ([`Port::due`]); until then what has departed
//! waits for more to go on with.
use std::ops::Range;

use tidegate::{Backlog, DropReason, MarkReason, Packet, Qdisc, Sink, Time};

use crate::measure::meters::Meters;
use crate::measure::queue_meter::QueueMeter;
use crate::net::flight::{Flight, Label, Waiting};
use crate::net::wire::Wire;

/// So many that have departed go on together at most.
const TOGETHER: usize = 64;

/// A queue and the link behind it.
#[derive(Clone, Debug)]
pub(crate) struct Port<Q> {
    pub queue: Q,
    pub wire: Wire,
    pub meter: QueueMeter,
    /// The link's number.
    pub link: u32,
    /// What waits in the queue, as it was last told.
    held: Backlog,
    /// When to ask the queue next; `u64::MAX` when it is empty and knows that the link is idle.
    pub next: u64,
    /// When its pending event of class Depart is, `u64::MAX` for none.
    pub armed: u64,
    /// Its place among the event sources of the [`EventQueue`](crate::event::queue::EventQueue).
    pub slot: u32,
    /// See [`Routes::lookahead`](crate::net::routes::Routes::lookahead).
    lookahead: u64,
    /// When the last transmission began.
    pub began: u64,
    /// What has departed and has yet to go on, where that needs no event: a few at a time, so that
    /// the code for it is at hand.
    pub departed: Vec<Flight>,
    /// When the first of those began to depart.
    first: u64,
    /// When the first of what has gone on enters a link where streams of this port meet,
    /// `u64::MAX` for none.
    pub entry: u64,
    /// The links where streams of this port meet, by number among all such.
    pub merges: Range<usize>,
}

impl<Q: Qdisc> Port<Q> {
    pub fn new(
        queue: Q,
        wire: Wire,
        meter: QueueMeter,
        link: u32,
        lookahead: u64,
        slot: u32,
    ) -> Port<Q> {
        Port {
            queue,
            wire,
            meter,
            link,
            held: Backlog::default(),
            next: u64::MAX,
            armed: u64::MAX,
            slot,
            lookahead,
            began: 0,
            departed: Vec::with_capacity(TOGETHER),
            first: 0,
            entry: u64::MAX,
            merges: 0..0,
        }
    }

    /// The next departure that begins at or before `now`: the packet and when it comes out at the
    /// far end.
    #[inline(always)]
    pub fn catch_up(
        &mut self,
        now: u64,
        waiting: &mut Waiting,
        meters: &mut Meters,
    ) -> Option<Flight> {
        while self.next <= now {
            let at = self.next;
            self.meter.hold(at, self.held);
            let mut fate = Fate { waiting, meters, meter: &mut self.meter };
            let packet = self.queue.dequeue(Time::from_nanos(at), &mut fate);
            self.held = self.queue.backlog();
            if let Some(packet) = packet {
                let flight = waiting.take(&packet);
                self.began = at;
                self.next = self.wire.send(at, packet.len);
                let waited = at.saturating_sub(packet.arrived.as_nanos());
                self.meter.left(at, self.next, &flight, waited, meters);
                return Some(Flight { time: self.next + self.wire.delay, ..flight });
            }
            self.next = match self.queue.wake_at() {
                Some(wake) if self.held.packets > 0 => wake.as_nanos().max(at + 1),
                _ => u64::MAX,
            };
        }
        None
    }

    /// `flight` arrives at `now`, every departure up to then having been made.
    #[inline(always)]
    pub fn offer(
        &mut self,
        now: u64,
        flight: Flight,
        label: Label,
        waiting: &mut Waiting,
        meters: &mut Meters,
    ) {
        self.meter.hold(now, self.held);
        self.meter.offered(now, &flight, meters);
        let packet = waiting.keep(flight, label);
        let mut fate = Fate { waiting, meters, meter: &mut self.meter };
        self.queue.enqueue(Time::from_nanos(now), packet, &mut fate);
        self.held = self.queue.backlog();
        // Whatever it was waiting for, an idle link asks again now; unless the queue is empty (the
        // packet was dropped).
        if self.wire.free <= now && self.held.packets > 0 {
            self.next = now;
        }
    }

    /// When the departures must have been brought up to date; `u64::MAX` for whenever.
    #[inline]
    pub fn due(&self) -> u64 {
        let next = if self.held.packets == 0 { u64::MAX } else { self.next };
        let first = if self.departed.is_empty() { next } else { self.first };
        first.saturating_add(self.lookahead).min(self.entry)
    }

    /// Keeps the last that has departed until others go on, too; whether they are as many as may
    /// be.
    #[inline]
    pub fn put_off(&mut self, flight: Flight) -> bool {
        if self.departed.is_empty() {
            self.first = self.began;
        }
        self.departed.push(flight);
        self.departed.len() == TOGETHER
    }
}

/// The sink of a port's queue: counts, and lets go of what was kept for the packet.
struct Fate<'a> {
    waiting: &'a mut Waiting,
    meters: &'a mut Meters,
    meter: &'a mut QueueMeter,
}

impl Sink for Fate<'_> {
    #[inline]
    fn dropped(&mut self, now: Time, packet: &Packet, why: DropReason) {
        let flight = self.waiting.lose(packet);
        self.meter.dropped(now.as_nanos(), &flight, why, self.meters);
    }

    #[inline]
    fn marked(&mut self, now: Time, packet: &Packet, why: MarkReason) {
        self.meter.marked(now.as_nanos(), self.waiting.look(packet), why, self.meters);
    }
}

impl<Q> Port<Q> {
    /// The meter, told that the end has come at `end`.
    pub fn conclude(&mut self, end: u64) {
        self.meter.hold(end, self.held);
    }
}
