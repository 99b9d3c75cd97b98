//! What waits in the queue, by flow, in the order in which it came.
//!
//! A queue that hashes flows to places sends a flow's packets in their order as long as it knows
//! all of them by one key. Once the key changes, those that came before wait in one place and those
//! that come after in another, and either may give its first. This file knows which packet of a
//! flow came first, so that it goes first, whichever the queue has chosen. The chosen one waits on
//! in the place of the first.
//!
//! Suppose the queue gives the packets of one key in the order in which they came, whichever it
//! drops. Then nothing must be looked up once the places from before a change are empty. For a flow
//! and class, (i) each frame in a place from before came before each in today's place. And (ii)
//! those in today's stand there in their order. A frame that joins is the youngest of today's. A
//! drop only takes away. At a change all places become places from before. Suppose a frame is given
//! from a place from before. By (i) the first of all is in one of those, too, and they change
//! places. Suppose it is given from today's. By (ii) it is the first of those. If there are others
//! from before, the first of all is one of them. Then the frame goes there, still before all that
//! stay in today's. If there are none, it is the first itself.
//!
//! A part of a flow's key chooses its line, and the number of lines is fixed. A search for the
//! first of a flow passes over all on its line that came before it.
use tidegate::{Packet, Time};

use crate::path::pool::TOUCHED;

/// The fewest lines and the most: powers of two. One for four slots, so that few flows share one.
const LINES: (usize, usize) = (1 << 10, 1 << 16);
/// No slot.
const NONE: u32 = u32::MAX;

/// Frames that wait, each known by its slot.
#[derive(Debug)]
pub struct WaitingFrames {
    lines: FlowLines,
    /// By slot, as far as slots were used or were to be touched at the start.
    frames: Vec<WaitingFrame>,
}

/// By the low bits of the flow key.
#[derive(Debug)]
struct FlowLines(Box<[FlowLine]>);

/// Frames of the flows that share a line, in the order in which they came.
#[derive(Clone, Copy, Debug)]
struct FlowLine {
    first: u32,
    last: u32,
    /// How many wait in places from before a change of keys.
    former: u32,
    /// The generation of its flows' keys.
    generation: u32,
}

/// A frame that waits.
#[derive(Clone, Copy, Debug, Default)]
struct WaitingFrame {
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
pub struct Earlier {
    /// Where it was; the other is there now.
    pub slot: u32,
    /// When it came.
    pub arrived: Time,
    /// Its length on the wire, in bytes.
    pub len: u32,
}

impl FlowLines {
    fn new(slots: u32) -> FlowLines {
        let none = FlowLine { first: NONE, last: NONE, former: 0, generation: 0 };
        FlowLines(vec![none; FlowLines::count(slots.into())].into())
    }

    const fn count(slots: u64) -> usize {
        let (least, most) = LINES;
        match slots / 4 {
            few if few <= least as u64 => least,
            many if many >= most as u64 => most,
            some => (some as usize).next_power_of_two(),
        }
    }

    #[inline]
    fn of(&self, flow: u64) -> &FlowLine {
        &self.0[flow as usize & (self.0.len() - 1)]
    }

    #[inline]
    fn of_mut(&mut self, flow: u64) -> &mut FlowLine {
        let last = self.0.len() - 1;
        &mut self.0[flow as usize & last]
    }
}

impl WaitingFrames {
    /// Nothing waits; there are so many slots.
    pub fn new(slots: u32) -> WaitingFrames {
        let mut frames = Vec::with_capacity(slots as usize);
        frames.resize((slots as usize).min(TOUCHED), WaitingFrame::default());
        WaitingFrames { lines: FlowLines::new(slots), frames }
    }

    /// The memory that so many slots take, in bytes.
    pub(crate) const fn memory(slots: u64) -> u64 {
        slots * size_of::<WaitingFrame>() as u64
            + (FlowLines::count(slots) * size_of::<FlowLine>()) as u64
    }

    /// A frame joins, `packet` by its flow key, and `generation` is the present one of keys.
    /// Returns the generation that its flow is known by. A line follows to a new one as soon as it
    /// is empty, and one that lags two behind at once.
    #[inline]
    pub fn join(&mut self, now: Time, packet: &Packet, generation: u32) -> u32 {
        let Packet { flow, slot, len, class, .. } = *packet;
        if slot as usize >= self.frames.len() {
            self.reach(slot);
        }
        let line = self.lines.of_mut(flow);
        if line.generation != generation
            && (line.last == NONE || generation.wrapping_sub(line.generation) > 1)
        {
            line.generation = generation;
            self.change(flow);
        }
        let FlowLine { last, generation, .. } = *self.lines.of(flow);
        let frame = WaitingFrame {
            flow,
            arrived: now,
            before: last,
            after: NONE,
            len,
            class,
            former: false,
        };
        self.frames[slot as usize] = frame;
        self.between(&frame, slot, slot);
        generation
    }

    /// From here on all that waits on the line of `flow` is in places from before a change.
    #[cold]
    fn change(&mut self, flow: u64) {
        let (mut at, mut former) = (self.lines.of(flow).first, 0);
        while at != NONE {
            let frame = &mut self.frames[at as usize];
            frame.former = true;
            former += 1;
            at = frame.after;
        }
        self.lines.of_mut(flow).former = former;
    }

    /// A slot is used for the first time. There is room for it.
    #[cold]
    fn reach(&mut self, slot: u32) {
        debug_assert!((slot as usize) < self.frames.capacity(), "more slots than were said");
        self.frames.resize(slot as usize + 1, WaitingFrame::default());
    }

    /// The frame in `slot` is dropped.
    #[inline]
    pub fn drop_out(&mut self, slot: u32) {
        self.unlink(slot);
        self.vacate(slot);
    }

    /// It is the turn of the frame in `slot`, which leaves, unless one of its flow and class has
    /// waited for longer. Then that one leaves in its stead, and the frame waits on where that one
    /// was.
    #[inline]
    pub fn leave(&mut self, slot: u32) -> Option<Earlier> {
        let WaitingFrame { flow, class, .. } = self.frames[slot as usize];
        let line = *self.lines.of(flow);
        let earlier = if line.former == 0 { slot } else { self.earliest(line.first, flow, class) };
        if earlier == slot {
            self.drop_out(slot);
            return None;
        }
        Some(self.stand_in(slot, earlier))
    }

    /// The first of this flow and class on the line that begins with `first`; there is one.
    #[cold]
    fn earliest(&self, first: u32, flow: u64, class: u16) -> u32 {
        let mut at = first;
        loop {
            let frame = &self.frames[at as usize];
            if (frame.flow, frame.class) == (flow, class) {
                return at;
            }
            at = frame.after;
        }
    }

    /// Lets the frame in slot `earlier` go; the one in `slot` is in that one's slot from here on,
    /// with its own place on the line.
    fn stand_in(&mut self, slot: u32, earlier: u32) -> Earlier {
        let WaitingFrame { arrived, len, former, .. } = self.frames[earlier as usize];
        self.unlink(earlier);
        self.vacate(slot);
        let frame = WaitingFrame { former, ..self.frames[slot as usize] };
        self.frames[earlier as usize] = frame;
        self.between(&frame, earlier, earlier);
        Earlier { slot: earlier, arrived, len }
    }

    /// The frame in `slot` is on its line no more.
    #[inline]
    fn unlink(&mut self, slot: u32) {
        let frame = self.frames[slot as usize];
        self.between(&frame, frame.after, frame.before);
    }

    /// The neighbours of `frame`, or the ends of its line, have this one after them and that one
    /// before them from here on.
    #[inline]
    fn between(&mut self, frame: &WaitingFrame, after: u32, before: u32) {
        let line = self.lines.of_mut(frame.flow);
        match frame.before {
            NONE => line.first = after,
            neighbour => self.frames[neighbour as usize].after = after,
        }
        match frame.after {
            NONE => line.last = before,
            neighbour => self.frames[neighbour as usize].before = before,
        }
    }

    /// The queue keeps `slot` no more.
    #[inline]
    fn vacate(&mut self, slot: u32) {
        let WaitingFrame { flow, former, .. } = self.frames[slot as usize];
        self.lines.of_mut(flow).former -= u32::from(former);
    }

    /// The flow key of the frame in `slot`.
    #[inline]
    pub fn flow(&self, slot: u32) -> u64 {
        self.frames[slot as usize].flow
    }

    /// How many frames wait. Looks at all.
    pub fn count(&self) -> u32 {
        let there = |at: u32| (at != NONE).then_some(at);
        let from = |first| {
            std::iter::successors(there(first), |&at| there(self.frames[at as usize].after))
        };
        self.lines.0.iter().map(|line| from(line.first).count() as u32).sum()
    }

    /// Goes on with the room of `larger`, in which nothing waits and which has more slots; the
    /// first `used` may be in use. What is left over is to be given back.
    pub(crate) fn grow(&mut self, mut larger: WaitingFrames, used: u32) -> WaitingFrames {
        let used = (used as usize).min(self.frames.len());
        let reached = larger.frames.len().max(used);
        larger.frames.resize(reached, WaitingFrame::default());
        larger.frames[..used].copy_from_slice(&self.frames[..used]);
        std::mem::swap(&mut larger.frames, &mut self.frames);
        // As many lines as before: each frame stays on its own.
        larger
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, VecDeque};

    use super::*;
    use tidegate::{Rng, Span};

    /// How many frames there is room for at last: half as many at first.
    const SLOTS: u32 = 60;
    /// Seven flows on five lines.
    const FLOWS: [u64; 7] = [1, 2, 3, 4, 5, 1 + (1 << 40), 2 + (1 << 40)];

    /// A queue that has a place for each key, first in, first out, and takes turns by chance. A key
    /// is a flow, a class, and how often the queue's key was another.
    type Places = BTreeMap<(u64, u16, u32), VecDeque<u32>>;

    /// A queue with frames that wait, and what is known of them without `WaitingFrames`.
    struct Course {
        seed: u64,
        dice: Rng,
        waiting: WaitingFrames,
        places: Places,
        free: Vec<u32>,
        /// Where frames are: the flow, the class and the arrival of the frame in each slot.
        held: Vec<Option<(u64, u16, Time)>>,
        generation: u32,
        /// When the last frame of a flow and class to leave had come.
        last: BTreeMap<(u64, u16), Time>,
        /// How often a frame left in another's place.
        stood_in: u32,
    }

    impl Course {
        fn new(seed: u64) -> Course {
            Course {
                seed,
                dice: Rng::from_seed(seed),
                waiting: WaitingFrames::new(SLOTS / 2),
                places: Places::new(),
                free: (0..SLOTS / 2).collect(),
                held: vec![None; SLOTS as usize],
                generation: 0,
                last: BTreeMap::new(),
                stood_in: 0,
            }
        }

        /// One frame comes, or leaves, or is dropped.
        fn step(&mut self, step: u64) {
            self.generation += u32::from(self.dice.chance(0.01));
            if self.dice.chance(0.51) && !self.free.is_empty() {
                self.comes(step);
            } else if !self.places.is_empty() {
                let turn = self.dice.below(self.places.len() as u64) as usize;
                let key = *self.places.keys().nth(turn).unwrap();
                if self.dice.chance(0.3) {
                    self.is_dropped(key);
                } else {
                    self.leaves(key, step);
                }
            }
        }

        fn grows(&mut self) {
            self.free.extend(SLOTS / 2..SLOTS);
            drop(self.waiting.grow(WaitingFrames::new(SLOTS), SLOTS / 2));
        }

        fn comes(&mut self, step: u64) {
            let now = Time::ZERO + Span::from_nanos(step);
            let slot = self.free.swap_remove(self.dice.below(self.free.len() as u64) as usize);
            let flow = FLOWS[self.dice.below(7) as usize];
            let class = u16::from(self.dice.chance(0.2));
            let packet = Packet::new(flow, step as u32).with_slot(slot).with_class(class);
            let key = (flow, class, self.waiting.join(now, &packet, self.generation));
            self.places.entry(key).or_default().push_back(slot);
            self.held[slot as usize] = Some((flow, class, now));
        }

        fn is_dropped(&mut self, key: (u64, u16, u32)) {
            let at = self.dice.below(self.places[&key].len() as u64) as usize;
            let slot = self.taken(key, at);
            self.waiting.drop_out(slot);
            self.held[slot as usize] = None;
        }

        /// The first of a place leaves, or an earlier frame of its flow and class instead.
        fn leaves(&mut self, key: (u64, u16, u32), step: u64) {
            let slot = self.taken(key, 0);
            let (flow, class, own) = self.held[slot as usize].take().unwrap();
            let leaves = match self.waiting.leave(slot) {
                None => own,
                Some(Earlier { slot: other, arrived, len }) => {
                    self.stood_in += 1;
                    assert_eq!(len as u64, arrived.as_nanos(), "its own length");
                    let there = self.held[other as usize].replace((flow, class, own));
                    assert_eq!(there, Some((flow, class, arrived)));
                    arrived
                }
            };
            let before = self.last.insert((flow, class), leaves);
            assert!(before < Some(leaves), "seed {}, step {step}", self.seed);
        }

        /// Takes the packet `at` out of a place: its slot, which is free now.
        fn taken(&mut self, key: (u64, u16, u32), at: usize) -> u32 {
            let place = self.places.get_mut(&key).unwrap();
            let slot = place.remove(at).unwrap();
            if place.is_empty() {
                self.places.remove(&key);
            }
            self.free.push(slot);
            slot
        }
    }

    /// Whatever the queue drops and in whose turn, the frames of each flow and class leave in the
    /// order in which they came. That holds though the queue knows them by one key and then by
    /// another.
    #[test]
    fn who_came_first_leaves_first() {
        for seed in 0..40 {
            let mut course = Course::new(seed);
            for step in 1..20_000 {
                if step == 5000 {
                    course.grows();
                }
                course.step(step);
                let there = course.held.iter().flatten().count();
                assert_eq!(course.waiting.count() as usize, there, "seed {seed}, step {step}");
            }
            assert!(course.stood_in > 100, "{}", course.stood_in);
        }
    }

    #[test]
    fn a_larger_gate_has_more_lines() {
        assert_eq!(
            [0, 4096, 4100, 1 << 17, 1 << 30].map(FlowLines::count),
            [1 << 10, 1 << 10, 1 << 11, 1 << 15, 1 << 16]
        );
        assert_eq!(WaitingFrames::memory(8192), 8192 * 32 + 2048 * 16);
    }
}
