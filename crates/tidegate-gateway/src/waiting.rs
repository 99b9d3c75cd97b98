//! What waits in the queue, by flow, in the order in which it came.
//!
//! A queue that hashes flows to places sends a flow's packets in their order as long as it knows all of them by one key. Once it has
//! been told another, those that came before wait in one place and those that come after in another, and either may give its
//! first. Here is who of a flow came first, so that he goes first, whichever of its packets the queue has chosen. The other
//! waits on in the place that he had.
//!
//! So the frames in places from before a change came before those in the place of today, and these stand there in their order:
//! once the former places are empty, nobody must be looked for. Flows are told apart by a part of their key, on lines of which there
//! is a fixed number; whoever looks for the first of a flow passes over others on its line.
use tidegate::{Packet, Time};

use crate::pool::TOUCHED;

/// Lines: a power of two.
const LINES: usize = 1024;
/// No slot.
const NONE: u32 = u32::MAX;

/// Frames that wait, each known by its slot.
#[derive(Debug)]
pub struct Waiting {
    lines: Box<[Line; LINES]>,
    /// By slot, as far as slots were used or were to be touched at the start.
    frames: Vec<Frame>,
}

/// Frames of the flows that share a line, in the order in which they came.
#[derive(Clone, Copy, Debug)]
struct Line {
    first: u32,
    last: u32,
    /// How many wait in places from before a change of keys.
    former: u32,
    /// The generation of its flows' keys.
    generation: u32,
}

/// A frame that waits.
#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    flow: u64,
    arrived: Time,
    /// Its neighbours on its line.
    before: u32,
    after: u32,
    /// On the wire.
    len: u32,
    class: u16,
    /// Whether its slot is one that the queue keeps in a place from before a change of keys.
    former: bool,
}

/// One that has waited for longer than another of its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elder {
    /// Where it was; the other is there now.
    pub slot: u32,
    /// When it came.
    pub arrived: Time,
    /// Its length on the wire, in bytes.
    pub len: u32,
}

impl Waiting {
    /// Nothing waits; there are so many slots.
    pub fn new(slots: u32) -> Waiting {
        let none = Line { first: NONE, last: NONE, former: 0, generation: 0 };
        let mut frames = Vec::with_capacity(slots as usize);
        frames.resize((slots as usize).min(TOUCHED), Frame::default());
        Waiting { lines: Box::new([none; LINES]), frames }
    }

    /// The memory that so many slots take, in bytes.
    pub(crate) const fn memory(slots: u64) -> u64 {
        slots * size_of::<Frame>() as u64
    }

    /// A frame joins, `packet` by its flow key, and the present generation of keys is this: that by which its flow is known. A
    /// line follows to a new one as soon as it is empty, and one that lags two behind at once.
    #[inline]
    pub fn join(&mut self, now: Time, packet: &Packet, generation: u32) -> u32 {
        let Packet { flow, slot, len, class, .. } = *packet;
        if slot as usize >= self.frames.len() {
            self.reach(slot);
        }
        let line = &mut self.lines[flow as usize % LINES];
        if line.generation != generation && (line.last == NONE || generation.wrapping_sub(line.generation) > 1) {
            line.generation = generation;
            self.change(flow);
        }
        let line = &mut self.lines[flow as usize % LINES];
        let before = line.last;
        self.frames[slot as usize] = Frame { flow, arrived: now, before, after: NONE, len, class, former: false };
        match before {
            NONE => line.first = slot,
            before => self.frames[before as usize].after = slot,
        }
        line.last = slot;
        line.generation
    }

    /// From here on all that waits on the line of `flow` is in places from before a change.
    #[cold]
    fn change(&mut self, flow: u64) {
        let line = &mut self.lines[flow as usize % LINES];
        let mut at = line.first;
        line.former = 0;
        while at != NONE {
            let frame = &mut self.frames[at as usize];
            frame.former = true;
            line.former += 1;
            at = frame.after;
        }
    }

    /// A slot is used for the first time. There is room for it.
    #[cold]
    fn reach(&mut self, slot: u32) {
        debug_assert!((slot as usize) < self.frames.capacity(), "more slots than were said");
        self.frames.resize(slot as usize + 1, Frame::default());
    }

    /// The frame in `slot` is dropped.
    #[inline]
    pub fn drop_out(&mut self, slot: u32) {
        self.unlink(slot);
        self.vacate(slot);
    }

    /// It is the turn of the frame in `slot`, which leaves, unless one of its flow and class has waited for longer: that one leaves
    /// in its stead, and the frame waits on where that one was.
    #[inline]
    pub fn leave(&mut self, slot: u32) -> Option<Elder> {
        let Frame { flow, class, .. } = self.frames[slot as usize];
        let line = self.lines[flow as usize % LINES];
        let elder = if line.former == 0 { slot } else { self.eldest(line.first, flow, class) };
        if elder == slot {
            self.drop_out(slot);
            return None;
        }
        Some(self.stand_in(slot, elder))
    }

    /// The first of this flow and class, of which there is one, on the line that begins with `first`.
    #[cold]
    fn eldest(&self, first: u32, flow: u64, class: u16) -> u32 {
        let mut at = first;
        loop {
            let frame = &self.frames[at as usize];
            if (frame.flow, frame.class) == (flow, class) {
                return at;
            }
            at = frame.after;
        }
    }

    /// Lets the frame in slot `elder` go; the one in `slot` is in that one's slot from here on, with its own place on the line.
    fn stand_in(&mut self, slot: u32, elder: u32) -> Elder {
        let Frame { arrived, len, former, .. } = self.frames[elder as usize];
        self.unlink(elder);
        self.vacate(slot);
        let frame = Frame { former, ..self.frames[slot as usize] };
        self.frames[elder as usize] = frame;
        let line = &mut self.lines[frame.flow as usize % LINES];
        match frame.before {
            NONE => line.first = elder,
            before => self.frames[before as usize].after = elder,
        }
        match frame.after {
            NONE => line.last = elder,
            after => self.frames[after as usize].before = elder,
        }
        Elder { slot: elder, arrived, len }
    }

    /// The frame in `slot` is on its line no more.
    #[inline]
    fn unlink(&mut self, slot: u32) {
        let Frame { flow, before, after, .. } = self.frames[slot as usize];
        let line = &mut self.lines[flow as usize % LINES];
        match before {
            NONE => line.first = after,
            before => self.frames[before as usize].after = after,
        }
        match after {
            NONE => line.last = before,
            after => self.frames[after as usize].before = before,
        }
    }

    /// The queue keeps `slot` no more.
    #[inline]
    fn vacate(&mut self, slot: u32) {
        let Frame { flow, former, .. } = self.frames[slot as usize];
        self.lines[flow as usize % LINES].former -= u32::from(former);
    }

    /// The flow key of the frame in `slot`.
    #[inline]
    pub fn flow(&self, slot: u32) -> u64 {
        self.frames[slot as usize].flow
    }

    /// How many frames wait. Looks at all.
    pub fn count(&self) -> u32 {
        let there = |at: u32| (at != NONE).then_some(at);
        let from = |first| std::iter::successors(there(first), |&at| there(self.frames[at as usize].after));
        self.lines.iter().map(|line| from(line.first).count() as u32).sum()
    }

    /// Goes on with the room of `larger`, in which nothing waits and which has more slots; the first `used` may be in use. What is
    /// left over is to be given back.
    pub(crate) fn grow(&mut self, mut larger: Waiting, used: u32) -> Waiting {
        let used = (used as usize).min(self.frames.len());
        let reached = larger.frames.len().max(used);
        larger.frames.resize(reached, Frame::default());
        larger.frames[..used].copy_from_slice(&self.frames[..used]);
        std::mem::swap(&mut larger.frames, &mut self.frames);
        larger
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;
    use tidegate::{Rng, Span};

    /// The same, plainly: all that waits, in the order in which it came.
    #[derive(Default)]
    struct Plain {
        all: Vec<(u32, u64, u16, Time)>,
        /// By line: the generation of keys, and the slots that the queue keeps by an earlier one.
        generations: HashMap<u64, (u32, HashSet<u32>)>,
    }

    impl Plain {
        fn join(&mut self, now: Time, packet: &Packet, generation: u32) -> u32 {
            let line = packet.flow % LINES as u64;
            let there = self.all.iter().filter(|waits| waits.1 % LINES as u64 == line);
            let there: HashSet<u32> = there.map(|waits| waits.0).collect();
            let (known, former) = self.generations.entry(line).or_default();
            if there.is_empty() && generation != *known || generation - *known > 1 {
                (*known, *former) = (generation, there);
            }
            self.all.push((packet.slot, packet.flow, packet.class, now));
            *known
        }

        fn drop_out(&mut self, slot: u32) {
            self.all.retain(|waits| waits.0 != slot);
            self.vacate(slot);
        }

        fn vacate(&mut self, slot: u32) {
            for line in self.generations.values_mut() {
                line.1.remove(&slot);
            }
        }

        /// Where anything waits by an earlier key, the first of the flow and class.
        fn leave(&mut self, slot: u32) -> Option<(u32, Time)> {
            let at = self.all.iter().position(|waits| waits.0 == slot).unwrap();
            let (_, flow, class, _) = self.all[at];
            let ordered = self.generations[&(flow % LINES as u64)].1.is_empty();
            let first = self.all.iter().position(|waits| (waits.1, waits.2) == (flow, class)).unwrap();
            if ordered || first == at {
                self.drop_out(slot);
                return None;
            }
            let (elder, _, _, arrived) = self.all.remove(first);
            self.all[at - 1].0 = elder;
            self.vacate(slot);
            Some((elder, arrived))
        }
    }

    #[test]
    fn who_came_first_goes_first_by_the_plain_twin_too() {
        const SLOTS: u32 = 60;
        for seed in 0..30 {
            let mut dice = Rng::from_seed(seed);
            let (mut waiting, mut plain) = (Waiting::new(SLOTS / 2), Plain::default());
            let mut free: Vec<u32> = (0..SLOTS / 2).collect();
            let (mut taken, mut generation, mut stood_in) = (Vec::new(), 0, 0);
            for step in 0..20_000 {
                let now = Time::ZERO + Span::from_nanos(step);
                if step == 5000 {
                    free.extend(SLOTS / 2..SLOTS);
                    drop(waiting.grow(Waiting::new(SLOTS), SLOTS / 2));
                }
                generation += u32::from(dice.chance(0.01));
                if dice.chance(0.51) && !free.is_empty() {
                    let slot = free.swap_remove(dice.below(free.len() as u64) as usize);
                    // Seven flows on five lines.
                    let flow = [1, 2, 3, 4, 5, 1 + LINES as u64, 2 + LINES as u64][dice.below(7) as usize];
                    let class = u16::from(dice.chance(0.2));
                    let packet = Packet::new(flow, 100 + slot).with_slot(slot).with_class(class);
                    assert_eq!(waiting.join(now, &packet, generation), plain.join(now, &packet, generation));
                    taken.push(slot);
                } else if !taken.is_empty() {
                    let slot = taken.swap_remove(dice.below(taken.len() as u64) as usize);
                    free.push(slot);
                    if dice.chance(0.3) {
                        waiting.drop_out(slot);
                        plain.drop_out(slot);
                    } else {
                        let elder = waiting.leave(slot);
                        assert_eq!(elder.map(|elder| (elder.slot, elder.arrived)), plain.leave(slot), "{seed}, {step}");
                        // The slot that is free now is the one that the queue has named.
                        stood_in += u32::from(elder.is_some());
                    }
                }
                assert_eq!(waiting.count() as usize, taken.len());
            }
            assert!(stood_in > 100, "{stood_in}");
        }
    }
}
