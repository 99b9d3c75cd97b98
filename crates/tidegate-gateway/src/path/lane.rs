//! The managed direction: every frame classified, queued, paced at the rate and delayed.
//!
//! Departures follow a computed schedule: a frame leaves when the one before it would have been
//! sent at the link's rate, or when it arrives, whichever is later. Being called late makes a frame
//! late and moves no later frame's time.
use tidegate::catalog::AnyQueue;
use tidegate::{Backlog, Bytes, DropReason, Link, Packet, Qdisc, Span, Time};
use tidegate_packet::{Frame, LinkType};

use self::previous::Previous;
use crate::device::port::{ReceivedFrame, Unsent};
use crate::path::bypass::Bypass;
use crate::path::delay::{DelayLine, mark_of};
use crate::path::fate::{Arriving, GateSink, lose_held, mark};
use crate::path::overload::MarkOverload;
use crate::path::pace::LinkPace;
use crate::path::pool::FramePool;
use crate::path::rehash::Keys;
use crate::path::sort::Sorter;
use crate::watch::counters::{DirectionCounters, LossReason};
use crate::watch::meter::{ClassLayout, Meter};
use crate::watch::observer::Observer;
use crate::watch::sample::LaneSample;

mod managed;
mod previous;

use self::managed::LinkState;
pub use self::managed::{LaneParts, LeftOver};

/// The managed direction.
#[derive(Debug)]
pub struct Lane<W> {
    queue: AnyQueue,
    previous: Previous,
    bypass: Bypass,
    link: Link,
    sorter: Sorter,
    keys: Keys,
    pace: LinkPace,
    state: LinkState,
    overload: MarkOverload,
    delay: DelayLine,
    pool: FramePool,
    counters: DirectionCounters,
    meter: Meter,
    observer: W,
}

impl<W: Observer> Lane<W> {
    /// A lane with nothing in it, which reports everything to `observer`.
    pub fn new(of: LaneParts, observer: W) -> Lane<W> {
        Lane {
            overload: MarkOverload::behind(&of.queue),
            queue: of.queue,
            previous: Previous::default(),
            bypass: Bypass::default(),
            link: of.link,
            sorter: of.sorter,
            keys: of.keys,
            pace: LinkPace::at(of.link.rate),
            state: LinkState::Idle(Time::ZERO),
            delay: of.under_way,
            pool: of.pool,
            counters: DirectionCounters::default(),
            meter: of.meter,
            observer,
        }
    }

    /// A frame has arrived. `now` is no earlier than in any call before.
    pub fn arrive(&mut self, now: Time, frame: &ReceivedFrame<'_>) {
        self.serve(now);
        let (bytes, len) = (frame.bytes, frame.wire_len);
        self.counters.received.add(len);
        self.counters.unfinished += frame.checksum_missing as u64;
        if let Some(why) = self.unfit(frame) {
            return self.lose(now, why, len, bytes);
        }
        self.enqueue(now, bytes);
        if let LinkState::Idle(_) = self.state {
            self.ask(now);
        }
    }

    /// Why a frame cannot wait, if it cannot.
    #[inline]
    fn unfit(&self, frame: &ReceivedFrame<'_>) -> Option<LossReason> {
        let len = frame.wire_len;
        if (frame.bytes.len() as u32) < len {
            Some(LossReason::CutOff)
        } else if len > self.pool.longest() {
            Some(LossReason::TooLong)
        } else if !self.pool.has_room(len) {
            Some(LossReason::NoMemory)
        } else {
            None
        }
    }

    /// Goes on as `to` says, with all that waits and is under way, at `now`, which is no earlier
    /// than in any call before. A queue that hands over what waits in it does so; another one
    /// gives what it has before the new one gives anything. Nothing is lost. What is left over
    /// is to be given back where that may take its time.
    pub fn renew(&mut self, now: Time, to: LaneParts) -> LeftOver {
        self.serve(now);
        let LaneParts { mut queue, link, sorter, keys, under_way, pool, meter } = to;
        let larger = pool.cells() > self.pool.cells();
        let keys = self.keys.renew(now, keys, larger.then(|| self.pool.reached()));
        let pool = if larger { self.pool.grow(pool) } else { pool };
        let under_way = self.delay.renew(under_way, larger);
        let handed_over = sorter.sorts_as(&self.sorter) && queue.inherit(&mut self.queue);
        let old = std::mem::replace(&mut self.queue, queue);
        let old = if handed_over || old.backlog().packets == 0 {
            Some(old)
        } else {
            self.previous.push(old);
            None
        };
        let same_classes = sorter.classes_as(&self.sorter);
        if !same_classes {
            self.previous.reclassify();
        }
        let meter = self.meter.renew(meter, same_classes);
        // A frame that the old rate keeps on the link for long does not hold up the new one.
        if let LinkState::Busy(until) = &mut self.state {
            *until = now.max(
                (*until).min(now + link.rate.time_to_send(Bytes::new(self.pool.longest().into()))),
            );
        }
        self.pace = LinkPace::at(link.rate);
        (self.link, self.overload) = (link, MarkOverload::behind(&self.queue));
        let sorter = std::mem::replace(&mut self.sorter, sorter);
        LeftOver {
            _queue: old,
            _pool: pool,
            _under_way: under_way,
            _sorter: sorter,
            _keys: keys,
            _meter: meter,
        }
    }

    /// Whether nothing that came from a queue before this one waits or is under way any more. There
    /// is room for that and for what this queue admits, but not for what a third one would admit
    /// besides.
    pub fn is_settled(&self, now: Time) -> bool {
        self.previous.is_settled(now)
    }

    /// A frame has arrived that must not be sent on.
    pub fn discard(&mut self, now: Time, frame: &ReceivedFrame<'_>) {
        self.counters.received.add(frame.wire_len);
        self.lose(now, LossReason::Lapsed, frame.wire_len, frame.bytes);
    }

    /// Loses everything that waits in the queue and is under way: its receivers have had newer
    /// frames meanwhile.
    pub fn forget(&mut self, now: Time) {
        let (pool, counters, observer) = (&mut self.pool, &mut self.counters, &mut self.observer);
        self.delay
            .forget(|slot| lose_held(now, LossReason::Lapsed, slot, pool, counters, observer));
        while let Some(packet) = self.taken(now) {
            let (pool, counters, observer) =
                (&mut self.pool, &mut self.counters, &mut self.observer);
            lose_held(now, LossReason::Lapsed, packet.slot, pool, counters, observer);
        }
    }

    /// Gives every frame that is to be on its way by `now` to `send`.
    #[inline]
    pub fn depart(&mut self, now: Time, send: &mut impl FnMut(&[u8]) -> Result<(), Unsent>) {
        self.serve(now);
        self.delay.release(now, &mut self.pool, &mut self.counters, &mut self.observer, send);
    }

    /// When [`depart`](Lane::depart) has something to do again, unless a frame arrives before.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        [self.next_ask(), self.delay.next()].into_iter().flatten().min()
    }

    /// What became of the frames so far.
    pub fn counters(&self) -> &DirectionCounters {
        &self.counters
    }

    /// What waits, in queues and beside them; frames under way not counted.
    pub fn backlog(&self) -> Backlog {
        let bypass = self.bypass.backlog();
        let judged = self.judged();
        Backlog { packets: judged.packets + bypass.packets, bytes: judged.bytes + bypass.bytes }
    }

    /// What waits in queues.
    #[inline]
    fn judged(&self) -> Backlog {
        self.previous.backlogs().fold(self.queue.backlog(), |all, one| Backlog {
            packets: all.packets + one.packets,
            bytes: all.bytes + one.bytes,
        })
    }

    /// Writes down how things stand at `now`.
    pub(crate) fn sample(&mut self, now: Time, into: &mut LaneSample) {
        debug_assert_eq!(
            self.keys.waiting(),
            self.judged().packets,
            "not all that waits is counted"
        );
        (into.rate, into.backlog) = (self.link.rate, self.backlog());
        into.gauges.clear();
        self.queue.probe(&mut |gauge| into.gauges.push(gauge));
        self.meter.sample(now, &self.sorter, into);
    }

    fn lose(&mut self, now: Time, why: LossReason, len: u32, bytes: &[u8]) {
        self.counters.lose(why, len);
        self.observer.lost(now, why, bytes);
    }

    /// Offers a frame to the queue; the pool has room for it. It is copied when the queue has
    /// admitted it: under a flood most are not.
    fn enqueue(&mut self, now: Time, bytes: &[u8]) {
        let len = bytes.len() as u32;
        let parsed = Frame::parse(LinkType::Ethernet, bytes, len);
        let sorted = self.sorter.sort(&parsed, bytes);
        if sorted.allowed {
            return self.wait_in_bypass(now, sorted.packet, bytes);
        }
        self.meter.arrived(&sorted.packet, &parsed.ends);
        let slot = self.pool.take();
        let packet = sorted.packet.with_slot(slot);
        let packet = Packet { flow: self.keys.arrived(now, &packet), ..packet };
        let ack = self.sorter.ack(&parsed, bytes);
        let (queue, mut fate) = self.queue_and_fate();
        fate.arriving = Some(Arriving { slot, bytes });
        queue.offer(now, packet, ack.as_ref(), &mut fate);
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

    /// Lets a frame wait that is not judged; the pool has room for it.
    fn wait_in_bypass(&mut self, now: Time, packet: Packet, bytes: &[u8]) {
        let len = bytes.len() as u32;
        self.counters.allowed.add(len);
        self.meter.allowed(&packet);
        if !self.bypass.has_room(&self.link, packet.len) {
            return self.lose(now, LossReason::Queue(DropReason::Overlimit), len, bytes);
        }
        let slot = self.pool.take();
        self.pool.fill(slot, bytes);
        self.counters.held.add(len);
        let ahead = self.judged().bytes;
        self.bypass.push(Packet { arrived: now, ..packet.with_slot(slot) }, ahead);
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
        match self.state {
            LinkState::Busy(until) => Some(until),
            // A queue that holds frames back says when; never again in the same instant.
            LinkState::Idle(_) if self.queue.backlog().packets == 0 => None,
            LinkState::Idle(asked) => {
                self.queue.wake_at().map(|at| at.max(asked + Span::from_nanos(1)))
            }
        }
    }

    /// The link is free at `now` and takes the next frame, if there is one.
    fn ask(&mut self, now: Time) {
        if let LinkState::Idle(_) = self.state
            && let begins = self.pace.begins(now)
            && begins > now
        {
            self.state = LinkState::Busy(begins);
            return;
        }
        match self.next_frame(now) {
            Some(packet) => {
                if let Some(why) = mark_of(self.pool.note(packet.slot))
                    && !mark(self.pool.beginning(packet.slot))
                {
                    // The queue has marked a packet of its flow that can be; this frame, in its
                    // place, cannot.
                    self.pool.write_note(packet.slot, 0);
                    self.counters.marked[why as usize] -= 1;
                }
                self.meter.waited(now.since(packet.arrived));
                let sending = self.pace.send(now, packet.len);
                self.delay.push(sending.leaves, packet.arrived, packet.slot);
                self.state = LinkState::Busy(sending.free);
            }
            None => {
                self.pace.rest();
                self.state = LinkState::Idle(now);
            }
        }
    }

    /// The frame whose turn it is; under overload, the next that bears no mark of ours.
    fn next_frame(&mut self, now: Time) -> Option<Packet> {
        loop {
            let packet = self.taken(now)?;
            if !self.overload.is_on() || self.pool.note(packet.slot) == 0 {
                return Some(packet);
            }
            self.meter.lost_after(self.keys.flow(packet.slot), &packet);
            let (pool, counters, observer) =
                (&mut self.pool, &mut self.counters, &mut self.observer);
            lose_held(now, LossReason::Overload, packet.slot, pool, counters, observer);
        }
    }

    /// What is taken next: a frame that is not judged, if it is its turn; then one of the queues;
    /// then a frame that is not judged after all.
    #[inline]
    fn taken(&mut self, now: Time) -> Option<Packet> {
        if let Some(packet) = self.bypass.due() {
            return Some(packet);
        }
        if !self.previous.is_empty()
            && let Some(packet) = self.taken_from_previous(now)
        {
            return Some(packet);
        }
        let (queue, mut fate) = self.queue_and_fate();
        match queue.dequeue(now, &mut fate) {
            Some(packet) => Some(fate.given(packet)),
            None => self.bypass.pop(),
        }
    }

    /// What the previous queues give; none of the catalog's holds back what it has.
    #[cold]
    fn taken_from_previous(&mut self, now: Time) -> Option<Packet> {
        let Lane { previous, pool, counters, observer, overload, bypass, meter, keys, .. } = self;
        let classes = ClassLayout::Previous;
        let mut fate = GateSink {
            pool,
            counters,
            observer,
            overload,
            bypass,
            meter,
            keys,
            classes,
            arriving: None,
        };
        let taken = previous.dequeue(now, &mut fate);
        if taken.is_none() {
            self.previous.settle(self.delay.last().unwrap_or(now));
        }
        taken
    }

    /// The queue, and who is to hear it.
    #[inline]
    fn queue_and_fate<'a>(&'a mut self) -> (&'a mut AnyQueue, GateSink<'a, W>) {
        let Lane { queue, pool, counters, observer, overload, bypass, meter, keys, .. } = self;
        let classes = ClassLayout::Current;
        (
            queue,
            GateSink {
                pool,
                counters,
                observer,
                overload,
                bypass,
                meter,
                keys,
                classes,
                arriving: None,
            },
        )
    }
}
