//! The last t captured flows, with how often each stands among them and what its captures weigh together: chan2003's
//! capture list in constant time.
//!
//! A ring remembers the order, an open hash table of at least twice the size counts, and the counts of counts
//! f_1 … f_5 that the [jackknife](super::jackknife) needs are kept as captures come and go.
use alloc::vec::Vec;

use super::jackknife::{Frequencies, HIGHEST_ORDER};
use crate::rng::mix;

/// What is known of a flow. Nothing but zeros is a free slot.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    flow: u64,
    count: u32,
    /// Of all its captures: 65536 of 65535 at the most, which is less than 2^32.
    weight: u32,
}

/// The last `size` captures.
#[derive(Clone, Debug)]
pub struct CaptureList {
    ring: Vec<u64>,
    /// What each capture in the ring weighs.
    weights: Vec<u16>,
    size: usize,
    next: usize,
    /// Linear probing, with shifting back on removal.
    slots: Vec<Slot>,
    /// What all captures weigh.
    total: u32,
    frequencies: Frequencies,
}

impl CaptureList {
    /// An empty list of `size` captures, from 1 to 65536.
    pub fn new(size: u32) -> CaptureList {
        let size = size.clamp(1, 65536) as usize;
        CaptureList {
            ring: Vec::with_capacity(size),
            weights: Vec::with_capacity(size),
            size,
            next: 0,
            slots: alloc::vec![Slot::default(); (2 * size).next_power_of_two()],
            total: 0,
            frequencies: Frequencies::default(),
        }
    }

    /// What a list of `size` captures takes, in bytes.
    pub fn bytes(size: u32) -> u64 {
        let size = size.clamp(1, 65536) as u64;
        let per_capture = size_of::<u64>() + size_of::<u16>();
        size * per_capture as u64 + (2 * size).next_power_of_two() * size_of::<Slot>() as u64
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

    /// Captures `flow`, for `weight` (1, if captures are only counted); a full list forgets its oldest capture.
    pub fn capture(&mut self, flow: u64, weight: u16) {
        if self.ring.len() < self.size {
            self.ring.push(flow);
            self.weights.push(weight);
        } else {
            let oldest = core::mem::replace(&mut self.ring[self.next], flow);
            let weighed = core::mem::replace(&mut self.weights[self.next], weight);
            self.forget(oldest, weighed);
        }
        self.next = (self.next + 1) % self.size;
        let slot = self.find(flow);
        let Slot { count, weight: before, .. } = self.slots[slot];
        self.slots[slot] = Slot { flow, count: count + 1, weight: before + weight as u32 };
        self.total += weight as u32;
        self.recount(count, count + 1);
    }

    fn forget(&mut self, flow: u64, weight: u16) {
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

    /// Moves later members of the probing run into the freed slot, so that none becomes unreachable.
    fn close_gap(&mut self, mut gap: usize) {
        let mask = self.slots.len() - 1;
        let mut slot = (gap + 1) & mask;
        while self.slots[slot].count != 0 {
            let from_home = slot.wrapping_sub(self.home(self.slots[slot].flow)) & mask;
            let from_gap = slot.wrapping_sub(gap) & mask;
            if from_home >= from_gap {
                self.slots[gap] = self.slots[slot];
                self.slots[slot] = Slot::default();
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
                    let weights: Vec<u32> = walked.iter().filter(|(f, _)| *f == flow).map(|(_, w)| *w).collect();
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
