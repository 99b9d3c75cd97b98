//! Which of many weights is the largest, at once, although they change with every packet: a knock-out tournament, in
//! which a change plays its matches anew from the bottom and stops where nothing changes.
//!
//! ```
//! use tidegate::parts::heaviest::Heaviest;
//! let mut heaviest = Heaviest::new(1024);
//! heaviest.set(700, 3);
//! heaviest.set(20, 3);
//! assert_eq!(heaviest.get(), (20, 3)); // of equals the first
//! heaviest.set(20, 0);
//! assert_eq!(heaviest.get(), (700, 3));
//! ```
use alloc::vec;
use alloc::vec::Vec;

/// Weights by index, and the largest of them.
#[derive(Clone, Debug)]
pub struct Heaviest {
    /// As many as a full tournament needs; what is beyond the last index weighs nothing.
    weights: Vec<u64>,
    /// The winner of each match: 1 is the final, 2n and 2n + 1 feed n. Empty for one weight.
    winners: Vec<u32>,
}

impl Heaviest {
    /// Weights 0 .. `count` (1 to 2^31), all 0.
    pub fn new(count: usize) -> Heaviest {
        let leaves = count.max(1).next_power_of_two();
        let mut winners = vec![0; leaves];
        // All equal, so that the leftmost index below each match wins it.
        for (node, winner) in winners.iter_mut().enumerate().skip(1) {
            *winner = ((node << (leaves.ilog2() - node.ilog2())) - leaves) as u32;
        }
        Heaviest { weights: vec![0; leaves], winners }
    }

    /// What `count` weights take, in bytes.
    pub const fn bytes(count: u64) -> u64 {
        let leaves = count.next_power_of_two();
        leaves * (core::mem::size_of::<u64>() + core::mem::size_of::<u32>()) as u64
    }

    /// The weight at `index` is now `weight`.
    #[inline]
    pub fn set(&mut self, index: usize, weight: u64) {
        self.weights[index] = weight;
        let leaves = self.weights.len();
        // The two that meet in the first round; from then on, the winners below a match.
        let (mut left, mut node) = (index & !1, (leaves + index) >> 1);
        let mut right = left + 1;
        while node >= 1 {
            let winner = if self.weights[right] > self.weights[left] { right } else { left } as u32;
            let before = core::mem::replace(&mut self.winners[node], winner);
            // Won by another before and after: nothing above has changed.
            if before == winner && winner as usize != index {
                return;
            }
            let above = node & !1;
            node >>= 1;
            (left, right) = (self.winners[above] as usize, self.winners[above | 1] as usize);
        }
    }

    /// The index of the largest weight, the first of equals, and the weight.
    #[inline]
    pub fn get(&self) -> (usize, u64) {
        let index = self.winners.get(1).map_or(0, |&winner| winner as usize);
        (index, self.weights[index])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Against a search through all, for counts that are powers of two and that are not.
    #[test]
    fn the_tournament_finds_the_largest() {
        let mut dice = Rng::from_seed(3);
        for count in [1, 2, 3, 7, 8, 50, 1024] {
            let (mut heaviest, mut naive) = (Heaviest::new(count), vec![0; count]);
            for _ in 0..20_000 {
                let (index, weight) = (dice.below(count as u64) as usize, dice.below(40));
                heaviest.set(index, weight);
                naive[index] = weight;
                let largest = *naive.iter().max().unwrap();
                let first = naive.iter().position(|&w| w == largest).unwrap();
                assert_eq!(heaviest.get(), (first, largest), "{count} weights");
            }
        }
    }
}
