//! The last t captured flows, with how often each stands among them: chan2003's capture list in constant time.
//!
//! A ring remembers the order, an open hash table of at least twice the size counts, and the counts of counts
//! f_1 … f_5 that the [jackknife](super::jackknife) needs are kept as captures come and go.
use alloc::vec::Vec;

use super::jackknife::{Frequencies, HIGHEST_ORDER};
use crate::rng::mix;

/// A free slot.
const FREE: (u64, u32) = (0, 0);

/// The last `size` captures.
#[derive(Clone, Debug)]
pub struct CaptureList {
    ring: Vec<u64>,
    size: usize,
    next: usize,
    /// Slots of (flow, count); count 0 is a free slot. Linear probing, with shifting back on removal.
    slots: Vec<(u64, u32)>,
    frequencies: Frequencies,
}

impl CaptureList {
    /// An empty list of `size` captures, at least one.
    pub fn new(size: u32) -> CaptureList {
        let size = size.max(1) as usize;
        CaptureList {
            ring: Vec::with_capacity(size),
            size,
            next: 0,
            slots: alloc::vec![FREE; (2 * size).next_power_of_two()],
            frequencies: Frequencies::default(),
        }
    }

    /// What a list of `size` captures takes, in bytes.
    pub fn bytes(size: u32) -> u64 {
        let size = size.max(1) as u64;
        size * size_of::<u64>() as u64 + (2 * size).next_power_of_two() * size_of_val(&FREE) as u64
    }

    /// How many captures it holds.
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Whether nothing was captured yet.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// The capture frequencies now.
    pub fn frequencies(&self) -> &Frequencies {
        &self.frequencies
    }

    /// How often `flow` stands in the list.
    #[inline]
    pub fn count(&self, flow: u64) -> u32 {
        self.slots[self.find(flow)].1
    }

    /// Captures `flow`; a full list forgets its oldest capture.
    pub fn capture(&mut self, flow: u64) {
        if self.ring.len() < self.size {
            self.ring.push(flow);
        } else {
            let oldest = core::mem::replace(&mut self.ring[self.next], flow);
            self.forget(oldest);
        }
        self.next = (self.next + 1) % self.size;
        let slot = self.find(flow);
        let count = self.slots[slot].1;
        self.slots[slot] = (flow, count + 1);
        self.recount(count, count + 1);
    }

    fn forget(&mut self, flow: u64) {
        let slot = self.find(flow);
        let count = self.slots[slot].1;
        self.slots[slot].1 = count - 1;
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
    }

    #[inline]
    fn home(&self, flow: u64) -> usize {
        mix(flow) as usize & (self.slots.len() - 1)
    }

    /// The slot of `flow`, or the free one where it would go.
    #[inline]
    fn find(&self, flow: u64) -> usize {
        let mut slot = self.home(flow);
        while self.slots[slot].1 != 0 && self.slots[slot].0 != flow {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        slot
    }

    /// Moves later members of the probing run into the freed slot, so that none becomes unreachable.
    fn close_gap(&mut self, mut gap: usize) {
        let mask = self.slots.len() - 1;
        let mut slot = (gap + 1) & mask;
        while self.slots[slot].1 != 0 {
            let from_home = slot.wrapping_sub(self.home(self.slots[slot].0)) & mask;
            let from_gap = slot.wrapping_sub(gap) & mask;
            if from_home >= from_gap {
                self.slots[gap] = self.slots[slot];
                self.slots[slot].1 = 0;
                gap = slot;
            }
            slot = (slot + 1) & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use alloc::collections::VecDeque;

    /// Against a queue that is walked: every count and every frequency, after every capture.
    #[test]
    fn counts_as_one_who_walks_the_list() {
        for (size, flows) in [(1, 3), (2, 2), (7, 4), (50, 30), (200, 1000)] {
            let mut rng = Rng::from_seed(size as u64);
            let mut list = CaptureList::new(size);
            let mut walked = VecDeque::new();
            for _ in 0..5000 {
                let flow = rng.below(flows);
                list.capture(flow);
                walked.push_back(flow);
                if walked.len() > size as usize {
                    walked.pop_front();
                }
                let mut expected = Frequencies::default();
                for flow in 0..flows.min(64) {
                    let count = walked.iter().filter(|&&f| f == flow).count() as u32;
                    assert_eq!(list.count(flow), count);
                }
                let mut sorted: Vec<u64> = walked.iter().copied().collect();
                sorted.sort();
                for run in sorted.chunk_by(|a, b| a == b) {
                    expected.seen += 1;
                    if run.len() <= 5 {
                        expected.once_to_five[run.len() - 1] += 1;
                    }
                }
                assert_eq!(*list.frequencies(), expected);
                assert_eq!(list.len(), walked.len());
            }
        }
    }
}
