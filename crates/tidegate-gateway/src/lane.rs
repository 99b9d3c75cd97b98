//! The managed direction: every frame classified, queued, paced at the rate and delayed.
//!
//! Departures follow a computed schedule: a frame leaves when the one before it would have been sent at the link's rate,
//! or when it arrives, whichever is later. Being called late makes a frame late and moves no later frame's time.
use tidegate::catalog::AnyQueue;
use tidegate::units::Pacer;
use tidegate::{Backlog, DropReason, Ecn, MarkReason, Packet, Qdisc, Rate, Sink, Span, Time};
use tidegate_packet::{FlowHasher, Frame, LinkType, set_ce};

use crate::counters::{Counters, Loss};
use crate::delay::{DelayLine, note_of};
use crate::overhead::Overhead;
use crate::overload::Overload;
use crate::pool::Pool;
use crate::port::{Received, Unsent};
use crate::witness::Witness;

/// What a lane is made of.
#[derive(Debug)]
pub struct Managed {
    /// The queue, empty.
    pub queue: AnyQueue,
    /// At which rate frames leave it; not zero.
    pub rate: Rate,
    /// What a frame takes on the wire beyond its bytes.
    pub overhead: Overhead,
    /// Which frames are one flow.
    pub hasher: FlowHasher,
    /// How long a frame is under way after it left the queue.
    pub delay: Span,
    /// Where frames wait, in the queue and under way.
    pub pool: Pool,
}

/// The managed direction.
#[derive(Debug)]
pub struct Lane<W> {
    queue: AnyQueue,
    overhead: Overhead,
    hasher: FlowHasher,
    pacer: Pacer,
    link: State,
    overload: Overload,
    delay: DelayLine,
    pool: Pool,
    counters: Counters,
    witness: W,
}

/// What the link behind the queue is doing.
#[derive(Clone, Copy, Debug)]
enum State {
    /// It sends until then.
    Busy(Time),
    /// It asked in vain, then for the last time.
    Idle(Time),
}

impl<W: Witness> Lane<W> {
    /// A lane with nothing in it, of which `witness` is told everything.
    pub fn new(of: Managed, witness: W) -> Lane<W> {
        Lane {
            queue: of.queue,
            overhead: of.overhead,
            hasher: of.hasher,
            pacer: Pacer::new(of.rate),
            link: State::Idle(Time::ZERO),
            overload: Overload::new(),
            delay: DelayLine::new(of.delay, &of.pool),
            pool: of.pool,
            counters: Counters::default(),
            witness,
        }
    }

    /// A frame has arrived. `now` is no earlier than in any call before.
    pub fn arrive(&mut self, now: Time, frame: &Received<'_>) {
        self.serve(now);
        let (bytes, len) = (frame.bytes, frame.wire_len);
        self.counters.received.add(len);
        self.counters.unfinished += frame.checksum_missing as u64;
        let unfit = match () {
            () if (bytes.len() as u32) < len => Some(Loss::CutOff),
            () if len > self.pool.longest() => Some(Loss::TooLong),
            () if !self.pool.has_room(len) => Some(Loss::NoMemory),
            () => None,
        };
        if let Some(why) = unfit {
            return self.lose(now, why, len, bytes);
        }
        self.enqueue(now, bytes);
        if let State::Idle(_) = self.link {
            self.ask(now);
        }
    }

    /// A frame has arrived that must not be sent on.
    pub fn discard(&mut self, now: Time, frame: &Received<'_>) {
        self.counters.received.add(frame.wire_len);
        self.lose(now, Loss::Lapsed, frame.wire_len, frame.bytes);
    }

    /// Loses everything that waits in the queue and is under way: whoever waited for it has had newer frames meanwhile.
    pub fn forget(&mut self, now: Time) {
        let (pool, counters, witness) = (&mut self.pool, &mut self.counters, &mut self.witness);
        self.delay.forget(|slot| lose_held(now, Loss::Lapsed, slot, pool, counters, witness));
        loop {
            let fate = &mut Fate { pool, counters, witness, overload: &mut self.overload, arriving: None };
            let Some(packet) = self.queue.dequeue(now, fate) else { break };
            lose_held(now, Loss::Lapsed, packet.slot, pool, counters, witness);
        }
    }

    /// Gives every frame that is to be on its way by `now` to `send`.
    #[inline]
    pub fn depart(&mut self, now: Time, send: &mut impl FnMut(&[u8]) -> Result<(), Unsent>) {
        self.serve(now);
        self.delay.release(now, &mut self.pool, &mut self.counters, &mut self.witness, send);
    }

    /// When [`depart`](Lane::depart) has something to do again, unless a frame arrives before.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        [self.next_ask(), self.delay.next()].into_iter().flatten().min()
    }

    /// What became of the frames so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What waits in the queue; frames under way not counted.
    pub fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    /// Who was told everything.
    pub(crate) fn into_witness(self) -> W {
        self.witness
    }

    fn lose(&mut self, now: Time, why: Loss, len: u32, bytes: &[u8]) {
        self.counters.lose(why, len);
        self.witness.lost(now, why, bytes);
    }

    /// Offers a frame for which the pool has room to the queue. It is copied when the queue has let it in: under a
    /// flood most are not.
    fn enqueue(&mut self, now: Time, bytes: &[u8]) {
        let len = bytes.len() as u32;
        let parsed = Frame::parse(LinkType::Ethernet, bytes, len);
        let slot = self.pool.take();
        let packet = Packet::new(self.hasher.hash(&parsed.ends), self.overhead.on_wire(len))
            .with_ecn(parsed.ecn)
            .with_slot(slot);
        let (pool, counters, witness) = (&mut self.pool, &mut self.counters, &mut self.witness);
        let overload = &mut self.overload;
        let mut fate = Fate { pool, counters, witness, overload, arriving: Some(Arriving { slot, bytes }) };
        self.queue.enqueue(now, packet, &mut fate);
        match fate.arriving {
            Some(_) => {
                self.pool.fill(slot, bytes);
                self.counters.held.add(len);
                if parsed.ecn.is_capable() {
                    self.overload.admitted(now);
                }
            }
            None => self.pool.give_back(slot),
        }
    }

    /// Lets the link take everything that it has come to by `now`, each frame at its own time.
    #[inline]
    fn serve(&mut self, now: Time) {
        while let Some(at) = self.next_ask().filter(|&at| at <= now) {
            self.ask(at);
        }
    }

    /// When the link asks next, if nothing arrives before.
    #[inline]
    fn next_ask(&self) -> Option<Time> {
        match self.link {
            State::Busy(until) => Some(until),
            // A queue that holds frames back says when; never again in the same instant.
            State::Idle(_) if self.queue.backlog().packets == 0 => None,
            State::Idle(asked) => self.queue.wake_at().map(|at| at.max(asked + Span::from_nanos(1))),
        }
    }

    /// The link is free at `now` and takes the next frame, if there is one.
    fn ask(&mut self, now: Time) {
        match self.next_frame(now) {
            Some(packet) => {
                if packet.ecn == Ecn::Ce {
                    mark(self.pool.beginning(packet.slot));
                }
                self.delay.push(now, packet.arrived, packet.slot);
                self.link = State::Busy(now + self.pacer.next(packet.len));
            }
            None => {
                self.pacer.reset();
                self.link = State::Idle(now);
            }
        }
    }

    /// The frame that the queue gives; under overload, the next that it has not marked.
    fn next_frame(&mut self, now: Time) -> Option<Packet> {
        let (pool, counters, witness) = (&mut self.pool, &mut self.counters, &mut self.witness);
        loop {
            let fate = &mut Fate { pool, counters, witness, overload: &mut self.overload, arriving: None };
            let packet = self.queue.dequeue(now, fate)?;
            if !self.overload.is_on() || pool.note(packet.slot) == 0 {
                return Some(packet);
            }
            lose_held(now, Loss::Overload, packet.slot, pool, counters, witness);
        }
    }
}

/// Loses the frame in `slot`, which was held, and gives its memory back.
fn lose_held<W: Witness>(now: Time, why: Loss, slot: u32, pool: &mut Pool, counters: &mut Counters, witness: &mut W) {
    let len = pool.len(slot);
    counters.held.remove(len);
    counters.lose(why, len);
    witness.lost(now, why, pool.bytes(slot));
    pool.free(slot);
}

/// Sets CE in a frame, of which the `beginning` with the whole IP header is given. Of one that bore it already, nothing
/// changes.
fn mark(beginning: &mut [u8]) {
    let frame = Frame::parse(LinkType::Ethernet, beginning, beginning.len() as u32);
    set_ce(beginning, &frame);
}

/// Who hears the queue: counts, tells the witness, and gives the memory of the dropped back.
struct Fate<'a, W> {
    pool: &'a mut Pool,
    counters: &'a mut Counters,
    witness: &'a mut W,
    overload: &'a mut Overload,
    /// The frame that is being offered; `None` when it was dropped, or none is.
    arriving: Option<Arriving<'a>>,
}

/// A frame that is in no one's memory yet but the device's.
struct Arriving<'a> {
    slot: u32,
    bytes: &'a [u8],
}

impl<W: Witness> Sink for Fate<'_, W> {
    #[inline]
    fn dropped(&mut self, now: Time, packet: &Packet, why: DropReason) {
        let why = Loss::Queue(why);
        if let Some(Arriving { bytes, .. }) = self.arriving.take_if(|frame| frame.slot == packet.slot) {
            self.counters.lose(why, bytes.len() as u32);
            return self.witness.lost(now, why, bytes);
        }
        lose_held(now, why, packet.slot, self.pool, self.counters, self.witness);
    }

    #[inline]
    fn marked(&mut self, _: Time, packet: &Packet, why: MarkReason) {
        self.counters.marked[why as usize] += 1;
        self.overload.marked();
        self.pool.write_note(packet.slot, note_of(why));
    }
}
