//! The last t captured flows, with how often each stands among them and what its captures weigh
//! together: chan2003's capture list in constant time.
//!
//! A ring remembers the order, an open hash table of at least twice the size counts. The counts of
//! counts f_1 … f_5 that the [jackknife](super::jackknife) needs are kept as captures come and go.
use alloc::vec::Vec;

use super::jackknife::{Frequencies, HIGHEST_ORDER};
use crate::rng::mix;
use crate::units::Time;

/// What is known of a flow. Nothing but zeros is a free slot.
#[derive(Clone, Copy, Debug, Default)]
struct Captured {
    flow: u64,
    count: u32,
    /// Of all its captures: 65536 of 65535 at the most, which is less than 2^32.
    weight: u32,
}

/// When a capture was made.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stamp {
    /// The time.
    pub at: Time,
    /// How many bytes had arrived before it.
    pub before: u64,
}

/// The last `size` captures.
#[derive(Clone, Debug)]
pub struct CaptureList {
    /// Full length from the start. The `held` entries before `next` are captures.
    ring: Vec<u64>,
    /// What each capture in the ring weighs.
    weights: Vec<u16>,
    /// When each was made; empty where nobody asks.
    stamps: Vec<Stamp>,
    /// How many flows stand so often in the list, and what was made of that; empty where nobody
    /// asks.
    levels: Option<Levels>,
    size: usize,
    held: usize,
    next: usize,
    /// Linear probing, with shifting back on removal.
    slots: Vec<Captured>,
    /// What all captures weigh.
    total: u32,
    frequencies: Frequencies,
}

impl CaptureList {
    /// An empty list of `size` captures, from 1 to 65536.
    pub fn new(size: u32) -> CaptureList {
        let size = size.clamp(1, 65536) as usize;
        CaptureList {
            ring: alloc::vec![0; size],
            weights: alloc::vec![0; size],
            stamps: Vec::new(),
            levels: None,
            size,
            held: 0,
            next: 0,
            slots: alloc::vec![Captured::default(); (2 * size).next_power_of_two()],
            total: 0,
            frequencies: Frequencies::default(),
        }
    }

    /// The same list, which also remembers when each capture was made and knows fair
    /// [`level`](CaptureList::level)s.
    pub fn stamped(self) -> CaptureList {
        let (stamps, levels) =
            (alloc::vec![Stamp::default(); self.size], Some(Levels::new(self.size)));
        CaptureList { stamps, levels, ..self }
    }

    /// What that takes besides, in bytes.
    pub fn stamp_bytes(size: u32) -> u64 {
        let size = size.clamp(1, 65536) as u64;
        size * size_of::<Stamp>() as u64 + (size + 1) * size_of::<u32>() as u64
    }

    /// What a list of `size` captures takes, in bytes.
    pub fn bytes(size: u32) -> u64 {
        let size = size.clamp(1, 65536) as u64;
        let per_capture = size_of::<u64>() + size_of::<u16>();
        size * per_capture as u64 + (2 * size).next_power_of_two() * size_of::<Captured>() as u64
    }

    /// How many captures it holds.
    pub fn len(&self) -> usize {
        self.held
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// When the oldest capture was made, in a [`stamped`](CaptureList::stamped) list that is not
    /// empty.
    #[inline]
    pub fn oldest(&self) -> Option<Stamp> {
        if self.held == 0 { None } else { self.stamps.get(self.tail()).copied() }
    }

    /// Where the oldest capture is.
    #[inline]
    fn tail(&self) -> usize {
        if self.next >= self.held {
            self.next - self.held
        } else {
            self.next + self.size - self.held
        }
    }

    /// In a [`stamped`](CaptureList::stamped) list the level at which `room` captures are shared
    /// max-min fairly. A flow that stands less often than that has all of its captures among them,
    /// any other has this many. `None` if there is room for all.
    pub fn level(&mut self, room: f64) -> Option<f64> {
        let held = self.held as f64;
        self.levels.as_mut().filter(|_| room < held).map(|levels| levels.level(room.max(0.0)))
    }

    /// The capture frequencies now.
    pub fn frequencies(&self) -> &Frequencies {
        &self.frequencies
    }

    /// How often `flow` stands in the list.
    #[inline]
    pub fn count(&self, flow: u64) -> u32 {
        self.slots[self.find(flow)].count
    }

    /// What the captures of `flow` weigh together.
    #[inline]
    pub fn weight(&self, flow: u64) -> u32 {
        self.slots[self.find(flow)].weight
    }

    /// What all captures in the list weigh.
    #[inline]
    pub fn total_weight(&self) -> u32 {
        self.total
    }

    /// Captures `flow`, for `weight` (1, if captures are only counted); a full list forgets its
    /// oldest capture.
    pub fn capture(&mut self, flow: u64, weight: u16) {
        self.capture_at(flow, weight, Stamp::default());
    }

    /// The same at a time that a [`stamped`](CaptureList::stamped) list remembers.
    pub fn capture_at(&mut self, flow: u64, weight: u16, stamp: Stamp) {
        if self.held == self.size {
            self.forget_oldest();
        }
        self.ring[self.next] = flow;
        self.weights[self.next] = weight;
        if let Some(of_this) = self.stamps.get_mut(self.next) {
            *of_this = stamp;
        }
        self.next = if self.next + 1 == self.size { 0 } else { self.next + 1 };
        self.held += 1;
        let slot = self.find(flow);
        let Captured { count, weight: before, .. } = self.slots[slot];
        self.slots[slot] = Captured { flow, count: count + 1, weight: before + weight as u32 };
        self.total += weight as u32;
        self.recount(count, count + 1);
    }

    /// Forgets the oldest capture, if there is one.
    pub fn forget_oldest(&mut self) {
        if self.held == 0 {
            return;
        }
        let tail = self.tail();
        let (flow, weight) = (self.ring[tail], self.weights[tail]);
        self.held -= 1;
        let slot = self.find(flow);
        let count = self.slots[slot].count;
        self.slots[slot].count = count - 1;
        self.slots[slot].weight -= weight as u32;
        self.total -= weight as u32;
        self.recount(count, count - 1);
        if count == 1 {
            self.close_gap(slot);
        }
    }

    /// A flow stood `before` times in the list and now stands `after` times.
    fn recount(&mut self, before: u32, after: u32) {
        let f = &mut self.frequencies;
        if (1..=HIGHEST_ORDER as u32).contains(&before) {
            f.once_to_five[before as usize - 1] -= 1;
        }
        if (1..=HIGHEST_ORDER as u32).contains(&after) {
            f.once_to_five[after as usize - 1] += 1;
        }
        f.seen = f.seen + (before == 0) as u32 - (after == 0) as u32;
        if let Some(levels) = &mut self.levels {
            levels.recount(before as usize, after as usize);
        }
    }

    #[inline]
    fn home(&self, flow: u64) -> usize {
        mix(flow) as usize & (self.slots.len() - 1)
    }

    /// The slot of `flow`, or the free one where it would go.
    #[inline]
    fn find(&self, flow: u64) -> usize {
        let mut slot = self.home(flow);
        while self.slots[slot].count != 0 && self.slots[slot].flow != flow {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        slot
    }

    /// Moves later members of the probing run into the freed slot, so that none becomes
    /// unreachable.
    fn close_gap(&mut self, mut gap: usize) {
        let mask = self.slots.len() - 1;
        let mut slot = (gap + 1) & mask;
        while self.slots[slot].count != 0 {
            let from_home = slot.wrapping_sub(self.home(self.slots[slot].flow)) & mask;
            let from_gap = slot.wrapping_sub(gap) & mask;
            if from_home >= from_gap {
                self.slots[gap] = self.slots[slot];
                self.slots[slot] = Captured::default();
                gap = slot;
            }
            slot = (slot + 1) & mask;
        }
    }
}

/// How many flows stand how often in a list, and a level that is moved along: the sum of min(count,
/// level) over all flows.
#[derive(Clone, Debug)]
struct Levels {
    /// How many flows stand so often; of 0 nothing is kept.
    flows: Vec<u32>,
    level: usize,
    /// Sum of min(count, level).
    below: u64,
    /// How many flows stand more often than the level.
    above: u64,
}

impl Levels {
    fn new(size: usize) -> Levels {
        Levels { flows: alloc::vec![0; size + 1], level: 0, below: 0, above: 0 }
    }

    /// A flow stood `before` times and now stands once more or once less often.
    fn recount(&mut self, before: usize, after: usize) {
        if before > 0 {
            self.flows[before] -= 1;
        }
        if after > 0 {
            self.flows[after] += 1;
        }
        let rises = after > before;
        match (before.min(after) < self.level, rises) {
            (true, true) => self.below += 1,
            (true, false) => self.below -= 1,
            // It passes the level if the lower of the two is on it.
            (false, _) if before.min(after) > self.level => {}
            (false, true) => self.above += 1,
            (false, false) => self.above -= 1,
        }
    }

    /// The level at which that sum is `room`, which is less than the sum of all counts.
    fn level(&mut self, room: f64) -> f64 {
        while (self.below + self.above) as f64 <= room && self.above > 0 {
            self.below += self.above;
            self.level += 1;
            self.above -= self.flows[self.level] as u64;
        }
        while self.below as f64 > room {
            self.above += self.flows[self.level] as u64;
            self.level -= 1;
            self.below -= self.above;
        }
        match self.above {
            0 => self.level as f64,
            above => self.level as f64 + (room - self.below as f64) / above as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use alloc::collections::VecDeque;

    /// Against sorting: the smallest have what they want, the rest shares what is left.
    #[test]
    fn levels_are_those_of_who_shares_by_hand() {
        for (size, flows) in [(1, 3), (7, 4), (50, 30), (200, 20)] {
            let mut rng = Rng::from_seed(size as u64);
            let mut list = CaptureList::new(size).stamped();
            for _ in 0..3000 {
                if rng.chance(0.3) {
                    list.forget_oldest();
                } else {
                    list.capture(rng.below(flows) * rng.below(2), 1);
                }
                let mut counts: Vec<f64> =
                    (0..flows).map(|flow| list.count(flow) as f64).filter(|&n| n > 0.0).collect();
                counts.sort_by(f64::total_cmp);
                let room = list.len() as f64 * rng.uniform() * 1.2;
                let (mut left, mut expected) = (room, None);
                for (n, &count) in counts.iter().enumerate() {
                    let share = left / (counts.len() - n) as f64;
                    if count > share {
                        expected = Some(share);
                        break;
                    }
                    left -= count;
                }
                match (list.level(room), expected) {
                    (Some(ours), Some(by_hand)) => {
                        assert!((ours - by_hand).abs() < 1e-9, "{ours} {by_hand}")
                    }
                    (ours, by_hand) => assert_eq!(ours, by_hand),
                }
            }
        }
    }

    /// Against a queue that is walked: every count, weight and frequency, after every capture.
    #[test]
    fn counts_as_one_who_walks_the_list() {
        for (size, flows) in [(1, 3), (2, 2), (7, 4), (50, 30), (200, 1000)] {
            let mut rng = Rng::from_seed(size as u64);
            let mut list = CaptureList::new(size);
            assert!(list.is_empty());
            let mut walked = VecDeque::new();
            for _ in 0..5000 {
                let flow = rng.below(flows);
                let weight = rng.below(1 << 16) as u16;
                list.capture(flow, weight);
                walked.push_back((flow, weight as u32));
                if walked.len() > size as usize {
                    walked.pop_front();
                }
                let mut expected = Frequencies::default();
                for flow in 0..flows.min(64) {
                    let weights: Vec<u32> =
                        walked.iter().filter(|(f, _)| *f == flow).map(|(_, w)| *w).collect();
                    assert_eq!(list.count(flow), weights.len() as u32);
                    assert_eq!(list.weight(flow), weights.iter().sum());
                }
                let mut sorted: Vec<u64> = walked.iter().map(|(f, _)| *f).collect();
                sorted.sort();
                for run in sorted.chunk_by(|a, b| a == b) {
                    expected.seen += 1;
                    if run.len() <= 5 {
                        expected.once_to_five[run.len() - 1] += 1;
                    }
                }
                assert_eq!(*list.frequencies(), expected);
                assert_eq!((list.len(), list.is_empty()), (walked.len(), false));
                assert_eq!(list.total_weight(), walked.iter().map(|(_, w)| w).sum());
            }
        }
    }
}
