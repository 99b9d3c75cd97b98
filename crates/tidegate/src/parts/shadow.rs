//! AFD's shadow buffer (pan2003 §3.1): the flows of the packets that were sampled last, more or
//! less. Once it is full a sample takes the place of a random one, so that what it holds is the
//! recent mix, and a flow's count is its share.
//!
//! State is bounded by the buffer's size, whatever the number of flows: each that it knows has a
//! packet in it.
//!
//! ```
//! use tidegate::{Rng, parts::shadow::Shadow};
//! let (mut shadow, mut dice) = (Shadow::new(500), Rng::from_seed(1));
//! (0..500).for_each(|n| shadow.sample(if n % 5 == 0 { 7 } else { 8 }, &mut dice));
//! assert_eq!((shadow.count(7), shadow.count(8), shadow.count(9)), (100, 400, 0));
//! ```
use alloc::vec::Vec;

use super::flow_table::FlowTable;
use crate::rng::Rng;

/// The buffer.
#[derive(Debug)]
pub struct Shadow {
    /// Slots of `counts`, one for each sampled packet.
    packets: Vec<u32>,
    counts: FlowTable<u32>,
    size: usize,
}

impl Shadow {
    /// An empty buffer for `size` packets (1 to 2^24; others are brought to the nearest of these).
    pub fn new(size: u32) -> Shadow {
        let size = size.clamp(1, super::flow_table::MOST_FLOWS);
        Shadow {
            packets: Vec::with_capacity(size as usize),
            counts: FlowTable::new(size),
            size: size as usize,
        }
    }

    /// What a buffer for `size` packets takes, in bytes.
    pub fn bytes(size: u32) -> u64 {
        size as u64 * core::mem::size_of::<u32>() as u64 + FlowTable::<u32>::state_bytes(size)
    }

    /// How many packets it holds.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// How many flows it knows.
    pub fn flows(&self) -> u32 {
        self.counts.len()
    }

    /// How many of the packets are of `flow`.
    #[inline]
    pub fn count(&self, flow: u64) -> u32 {
        self.counts.find(flow).map_or(0, |slot| self.counts[slot])
    }

    /// Takes in a packet of `flow`, for a random other one if it is full. Rolls `dice` only then.
    pub fn sample(&mut self, flow: u64, dice: &mut Rng) {
        let place =
            (self.packets.len() == self.size).then(|| dice.below(self.size as u64) as usize);
        if let Some(place) = place {
            self.forget(self.packets[place]);
        }
        let slot = match self.counts.find(flow) {
            Some(slot) => {
                self.counts[slot] += 1;
                slot
            }
            None => self.counts.insert(flow, 1).expect("no more flows than packets"),
        };
        match place {
            Some(place) => self.packets[place] = slot,
            None => self.packets.push(slot),
        }
    }

    fn forget(&mut self, slot: u32) {
        self.counts[slot] -= 1;
        if self.counts[slot] == 0 {
            self.counts.remove(slot);
        }
    }
}

impl Clone for Shadow {
    /// The copy has its memory at once, as the original has.
    fn clone(&self) -> Self {
        let mut packets = Vec::with_capacity(self.size);
        packets.extend_from_slice(&self.packets);
        Shadow { packets, counts: self.counts.clone(), size: self.size }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    /// Against a plain list of flows, with the same dice.
    #[test]
    fn agrees_with_a_list() {
        for (size, flows) in [(1, 3), (2, 2), (7, 30), (100, 12)] {
            let (mut world, mut dice) = (Rng::from_seed(size as u64), Rng::from_seed(9));
            let (mut shadow, mut list, mut mirror) = (Shadow::new(size), vec![], dice.clone());
            for _ in 0..20_000 {
                let flow = world.below(flows);
                shadow.sample(flow, &mut dice);
                if list.len() < size as usize {
                    list.push(flow);
                } else {
                    list[mirror.below(size as u64) as usize] = flow;
                }
                let seen = world.below(flows);
                assert_eq!(
                    shadow.count(seen) as usize,
                    list.iter().filter(|&&f| f == seen).count()
                );
                assert_eq!(shadow.len(), list.len());
            }
            list.sort();
            list.dedup();
            assert_eq!(shadow.flows() as usize, list.len());
            assert_eq!(dice, mirror);
        }
    }

    /// How accurate a count is. With a share p of the samples it is binomial of `size` and p once
    /// every place was replaced. So its mean is p · size and its variance size p (1 − p) (z tests,
    /// false alarm 1e-6; runs are independent).
    #[test]
    fn counts_estimate_shares() {
        for (size, share) in [(500, 0.2), (500, 0.02), (100, 0.5)] {
            let (runs, mut sum, mut squares) = (400, 0.0, 0.0);
            for seed in 0..runs {
                let mut dice = Rng::from_seed(seed);
                let mut shadow = Shadow::new(size);
                for n in 0..12 * size as u64 {
                    let flow = if dice.chance(share) { 0 } else { 1 + n };
                    shadow.sample(flow, &mut dice);
                }
                let off = shadow.count(0) as f64 - share * size as f64;
                sum += off;
                squares += off * off;
            }
            let (n, variance) = (runs as f64, size as f64 * share * (1.0 - share));
            assert!(sum.abs() < 4.892 * libm::sqrt(n * variance), "mean off by {}", sum / n);
            // The variance of a sample variance is 2 σ⁴ / n, a little more for few expected.
            let spread = 4.892 * variance * libm::sqrt((2.0 + 1.0 / variance) / n);
            assert!(
                (squares / n - variance).abs() < spread,
                "variance {} of {variance}",
                squares / n
            );
        }
    }
}
