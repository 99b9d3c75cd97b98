//! What becomes of frames that a queue does not give to the link.
use tidegate::{DropReason, MarkReason, Packet, Sink, Time};

use crate::aside::Aside;
use crate::counters::{Counters, Loss};
use crate::delay::note_of;
use crate::meter::{Classes, Meter};
use crate::overload::Overload;
use crate::pool::Pool;
use crate::rehash::Keys;
use crate::witness::Witness;

/// Loses the frame in `slot`, which was held, and gives its memory back.
pub fn lose_held<W: Witness>(
    now: Time,
    why: Loss,
    slot: u32,
    pool: &mut Pool,
    counters: &mut Counters,
    witness: &mut W,
) {
    let len = pool.len(slot);
    counters.held.remove(len);
    counters.lose(why, len);
    witness.lost(now, why, pool.bytes(slot));
    pool.free(slot);
}

/// Who hears the queue: counts, tells the witness, and gives the memory of the dropped back.
pub struct Fate<'a, W> {
    pub pool: &'a mut Pool,
    pub counters: &'a mut Counters,
    pub witness: &'a mut W,
    pub overload: &'a mut Overload,
    pub aside: &'a mut Aside,
    pub meter: &'a mut Meter,
    pub keys: &'a mut Keys,
    /// Of which classes the queue's frames are.
    pub classes: Classes,
    /// The frame that is being offered; `None` when it was dropped, or none is.
    pub arriving: Option<Arriving<'a>>,
}

/// A frame that is in no one's memory yet but the device's.
pub struct Arriving<'a> {
    pub slot: u32,
    pub bytes: &'a [u8],
}

impl<W: Witness> Sink for Fate<'_, W> {
    #[inline]
    fn dropped(&mut self, now: Time, packet: &Packet, why: DropReason) {
        let why = Loss::Queue(why);
        let flow = self.pool.flow(packet.slot);
        self.keys.gone(flow);
        self.meter.lost(flow, packet, self.classes);
        if let Some(Arriving { bytes, .. }) = self.arriving.take_if(|frame| frame.slot == packet.slot) {
            self.counters.lose(why, bytes.len() as u32);
            return self.witness.lost(now, why, bytes);
        }
        self.aside.passed(packet.len);
        lose_held(now, why, packet.slot, self.pool, self.counters, self.witness);
    }

    #[inline]
    fn marked(&mut self, _: Time, packet: &Packet, why: MarkReason) {
        self.counters.marked[why as usize] += 1;
        self.overload.marked();
        self.pool.write_note(packet.slot, note_of(why));
    }
}
