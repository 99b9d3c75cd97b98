//! A queue and the link behind it, without an event per departure.
//!
//! Departures are computed on demand. [`OutputPort::catch_up`] makes all departures that begin up
//! to a given time, each with its own true time. It polls the queue once more at the true time at
//! which the link falls idle.
//!
//! The port catches up before every arrival and before every reading. [`OutputPort::due`] sets the
//! last moment: a departed packet could next meet something that needs an event, or could enter a
//! merge point of this port. Until then departed packets wait, and go on together.
use std::ops::Range;

use tidegate::{Backlog, DropReason, MarkReason, Packet, Qdisc, Sink, Time};

use crate::event::queue::NEVER;
use crate::measure::meters::Meters;
use crate::measure::queue_meter::QueueMeter;
use crate::net::channel::Channel;
use crate::net::flight::{Flight, Label, Waiting};
use crate::net::wire::TransmissionTimes;

/// The most departed packets that go on together.
const TOGETHER: usize = 64;

/// A queue and the link behind it.
#[derive(Clone, Debug)]
pub(crate) struct OutputPort<Q> {
    pub queue: Q,
    pub wire: TransmissionTimes,
    /// What the link does besides, if anything.
    channel: Option<Box<Channel>>,
    pub meter: QueueMeter,
    /// The link's number.
    pub link: u32,
    /// The queue's backlog after the last call to it.
    held: Backlog,
    /// When to poll the queue next; `NEVER` when it is empty and knows that the link is idle.
    pub next: u64,
    /// The time of its pending `Depart` event, `NEVER` for none.
    pub armed: u64,
    /// Its slot in the [`EventQueue`](crate::event::queue::EventQueue).
    pub slot: u32,
    /// See [`Routes::lookahead`](crate::net::routes::Routes::lookahead).
    lookahead: u64,
    /// When the last transmission began.
    pub began: u64,
    /// Departed packets that go on without an event. A batch of them keeps the code in the
    /// instruction cache.
    pub departed: Vec<Flight>,
    /// When transmission of the first of those began.
    first: u64,
    /// When the first packet enters a merge point of this port, `NEVER` for none.
    pub entry: u64,
    /// The merge points of this port, by number among all of them.
    pub merges: Range<usize>,
}

impl<Q: Qdisc> OutputPort<Q> {
    pub fn new(
        queue: Q,
        (wire, channel): (TransmissionTimes, Option<Box<Channel>>),
        meter: QueueMeter,
        link: u32,
        lookahead: u64,
        slot: u32,
    ) -> OutputPort<Q> {
        OutputPort {
            queue,
            wire,
            channel,
            meter,
            link,
            held: Backlog::default(),
            next: NEVER,
            armed: NEVER,
            slot,
            lookahead,
            began: 0,
            departed: Vec::with_capacity(TOGETHER),
            first: 0,
            entry: NEVER,
            merges: 0..0,
        }
    }

    /// Makes the next departure that begins at or before `now`. The packet bears the time at which
    /// it reaches the far end.
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
            let mut fate = PortSink { waiting, meters, meter: &mut self.meter };
            let packet = self.queue.dequeue(Time::from_nanos(at), &mut fate);
            self.held = self.queue.backlog();
            if let Some(packet) = packet {
                let flight = waiting.take(&packet);
                self.began = at;
                let waited = at.saturating_sub(packet.arrived.as_nanos());
                if self.channel.is_some() {
                    match self.cross(at, waited, flight, waiting, meters) {
                        None => continue,
                        crossed => return crossed,
                    }
                }
                self.next = self.wire.send(at, packet.len);
                self.meter.left(at, self.next, &flight, waited, meters);
                return Some(Flight { time: self.next + self.wire.delay, ..flight });
            }
            self.next = match self.queue.wake_at() {
                Some(wake) if self.held.packets > 0 => wake.as_nanos().max(at + 1),
                _ => NEVER,
            };
            if let Some(channel) = &mut self.channel {
                self.next = channel.at_or_after(self.next);
            }
        }
        None
    }

    /// Sends `flight`, which has waited so long, from `at` on, over a link that does more than
    /// that. `None` if it is lost.
    #[cold]
    #[inline(never)]
    fn cross(
        &mut self,
        at: u64,
        waited: u64,
        mut flight: Flight,
        waiting: &mut Waiting,
        meters: &mut Meters,
    ) -> Option<Flight> {
        let sent = self.channel.as_mut()?.send(&mut self.wire, at, &mut flight.body);
        self.next = self.wire.free;
        self.meter.crossed(at, sent, &flight, waited, meters);
        if sent.arrives.is_none() {
            waiting.forget(&flight);
        }
        Some(Flight { time: sent.arrives?, ..flight })
    }

    /// Whether packets may overtake one another on the link.
    #[inline]
    pub fn reorders(&self) -> bool {
        self.channel.as_ref().is_some_and(|channel| channel.reorders())
    }

    /// Offers `flight` to the queue at `now`. All departures up to then must have been made.
    #[inline(always)]
    pub fn offer(
        &mut self,
        now: u64,
        mut flight: Flight,
        label: Label,
        waiting: &mut Waiting,
        meters: &mut Meters,
    ) {
        self.meter.hold(now, self.held);
        self.meter.offered(now, &flight, meters);
        if let Some(channel) = &self.channel {
            flight.body = channel.enter(flight.body);
        }
        let packet = waiting.keep(flight, label);
        let ack = label.acknowledges.then(|| waiting.ack(&flight));
        let mut fate = PortSink { waiting, meters, meter: &mut self.meter };
        self.queue.offer(Time::from_nanos(now), packet, ack.as_ref(), &mut fate);
        self.held = self.queue.backlog();
        // An idle link polls again now, whatever it was waiting for. It does not if the queue is
        // empty, because the packet was dropped.
        if self.wire.free <= now && self.held.packets > 0 {
            self.next = self.channel.as_mut().map_or(now, |channel| channel.after(now));
        }
    }

    /// When the port must catch up; `NEVER` for no such time.
    #[inline]
    pub fn due(&self) -> u64 {
        let next = if self.held.packets == 0 { NEVER } else { self.next };
        let first = if self.departed.is_empty() { next } else { self.first };
        first.saturating_add(self.lookahead).min(self.entry)
    }

    /// Adds the last departure to the batch. Returns whether the batch is full.
    #[inline]
    pub fn put_off(&mut self, flight: Flight) -> bool {
        if self.departed.is_empty() {
            self.first = self.began;
        }
        self.departed.push(flight);
        self.departed.len() == TOGETHER
    }
}

/// The sink of a port's queue: counts drops and marks, and frees the slot of a dropped packet.
struct PortSink<'a> {
    waiting: &'a mut Waiting,
    meters: &'a mut Meters,
    meter: &'a mut QueueMeter,
}

impl Sink for PortSink<'_> {
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

impl<Q> OutputPort<Q> {
    /// Closes the meter's integrals of the backlog at `end`.
    pub fn conclude(&mut self, end: u64) {
        self.meter.hold(end, self.held);
    }
}
