//! What becomes of frames that a queue does not give to the link.
use tidegate::{DropReason, MarkReason, Packet, Sink, Time};
use tidegate_packet::{Frame, LinkType, Mark, set_ce};

use crate::path::bypass::Bypass;
use crate::path::delay::note_of;
use crate::path::overload::MarkOverload;
use crate::path::pool::FramePool;
use crate::path::rehash::Keys;
use crate::path::waiting::Earlier;
use crate::watch::counters::{DirectionCounters, LossReason};
use crate::watch::meter::{ClassLayout, Meter};
use crate::watch::observer::Observer;

/// Whether a frame that begins so can be marked.
fn is_capable(beginning: &[u8]) -> bool {
    Frame::parse(LinkType::Ethernet, beginning, beginning.len() as u32).ecn.is_capable()
}

/// Sets CE in a frame whose `beginning`, with the whole IP header, is given; whether it bears it
/// now. A frame that bore it already does not change.
pub fn mark(beginning: &mut [u8]) -> bool {
    let frame = Frame::parse(LinkType::Ethernet, beginning, beginning.len() as u32);
    matches!(set_ce(beginning, &frame), Mark::Set | Mark::Already)
}

/// Loses the frame in `slot`, which was held, and gives its memory back.
pub fn lose_held<W: Observer>(
    now: Time,
    why: LossReason,
    slot: u32,
    pool: &mut FramePool,
    counters: &mut DirectionCounters,
    observer: &mut W,
) {
    let len = pool.len(slot);
    counters.held.remove(len);
    counters.lose(why, len);
    observer.lost(now, why, pool.bytes(slot));
    pool.free(slot);
}

/// Who hears the queue: counts, tells the observer, and gives the memory of the dropped back.
pub struct GateSink<'a, W> {
    pub pool: &'a mut FramePool,
    pub counters: &'a mut DirectionCounters,
    pub observer: &'a mut W,
    pub overload: &'a mut MarkOverload,
    pub bypass: &'a mut Bypass,
    pub meter: &'a mut Meter,
    pub keys: &'a mut Keys,
    /// The classes of the queue's frames.
    pub classes: ClassLayout,
    /// The frame that is being offered; `None` when it was dropped, or none is.
    pub arriving: Option<Arriving<'a>>,
}

/// A frame that is in no one's memory yet but the device's.
pub struct Arriving<'a> {
    pub slot: u32,
    pub bytes: &'a [u8],
}

impl<W> GateSink<'_, W> {
    /// The queue gives `packet` to the link: what leaves, in its slot. If a frame of its flow has
    /// waited for longer, that one leaves. It bears the mark of the other if it can, so that the
    /// mark is heard early. The queue's bytes, and so the meter's, are those of the packet that it
    /// gave; the other's follow when it gives that.
    #[inline]
    pub fn given(&mut self, packet: Packet) -> Packet {
        self.bypass.passed(packet.len);
        self.meter.left(&packet, self.classes);
        match self.keys.left(packet.slot) {
            None => packet,
            Some(Earlier { slot, arrived, len }) => {
                self.pool.exchange(packet.slot, slot);
                let note = self.pool.note(slot);
                if note != 0
                    && self.pool.note(packet.slot) == 0
                    && is_capable(self.pool.beginning(packet.slot))
                {
                    self.pool.write_note(packet.slot, note);
                    self.pool.write_note(slot, 0);
                }
                Packet { arrived, len, ..packet }
            }
        }
    }
}

impl<W: Observer> Sink for GateSink<'_, W> {
    #[inline]
    fn dropped(&mut self, now: Time, packet: &Packet, why: DropReason) {
        let why = LossReason::Queue(why);
        self.keys.dropped(packet.slot);
        self.meter.lost(self.keys.flow(packet.slot), packet, self.classes);
        if let Some(Arriving { bytes, .. }) =
            self.arriving.take_if(|frame| frame.slot == packet.slot)
        {
            self.counters.lose(why, bytes.len() as u32);
            return self.observer.lost(now, why, bytes);
        }
        self.bypass.passed(packet.len);
        lose_held(now, why, packet.slot, self.pool, self.counters, self.observer);
    }

    #[inline]
    fn marked(&mut self, _: Time, packet: &Packet, why: MarkReason) {
        // The packet may be another's that has its mark already.
        if self.pool.note(packet.slot) != 0 {
            return;
        }
        self.counters.marked[why as usize] += 1;
        self.overload.marked();
        self.pool.write_note(packet.slot, note_of(why));
    }
}
