//! Which of many weights is the largest, at once, although they change with every packet. It is a
//! knock-out tournament: a change plays its matches anew from the bottom and stops where nothing
//! changes.
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
    /// Who won each match: 1 is the final, 2n and 2n + 1 feed n, and the last half are the players.
    /// There are as many as a full tournament needs; what is beyond the last index weighs nothing.
    players: Vec<u64>,
}

/// A weight and its index as one word. The larger word is the heavier weight, or the first of
/// equals.
#[inline]
const fn player(index: usize, weight: u64) -> u64 {
    let weight = if weight > MOST { MOST } else { weight };
    weight << 32 | (!index as u32) as u64
}

/// The largest weight that differs from larger ones: more bytes than ever wait in one line.
const MOST: u64 = u32::MAX as u64;

impl Heaviest {
    /// Weights 0 .. `count` (1 to 2^31), all 0.
    pub fn new(count: usize) -> Heaviest {
        let leaves = count.max(1).next_power_of_two();
        let mut players = vec![0; 2 * leaves];
        for index in 0..leaves {
            players[leaves + index] = player(index, 0);
        }
        for node in (1..leaves).rev() {
            players[node] = players[2 * node]; // all equal: the first wins
        }
        Heaviest { players }
    }

    /// What `count` weights take, in bytes.
    pub const fn bytes(count: u64) -> u64 {
        2 * count.next_power_of_two() * core::mem::size_of::<u64>() as u64
    }

    /// The weight at `index` is now `weight`.
    #[inline]
    pub fn set(&mut self, index: usize, weight: u64) {
        let mut node = self.players.len() / 2 + index;
        let mut winner = player(index, weight);
        self.players[node] = winner;
        while node > 1 {
            winner = winner.max(self.players[node ^ 1]);
            node >>= 1;
            // Won by the same with the same weight as before: nothing above has changed.
            if core::mem::replace(&mut self.players[node], winner) == winner {
                return;
            }
        }
    }

    /// The index of the largest weight, the first of equals, and the weight.
    #[inline]
    pub fn get(&self) -> (usize, u64) {
        let winner = self.players[1];
        (!(winner as u32) as usize, winner >> 32)
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

    /// Beyond 4 GB all are alike.
    #[test]
    fn weights_end_somewhere() {
        let mut heaviest = Heaviest::new(3);
        heaviest.set(2, 1 << 40);
        assert_eq!(heaviest.get(), (2, MOST));
        heaviest.set(1, MOST);
        assert_eq!(heaviest.get(), (1, MOST));
        heaviest.set(1, MOST - 1);
        assert_eq!(heaviest.get(), (2, MOST));
    }
}
