//! SRED's zombie list (ott1999 §2): flows that were seen lately. Each arriving packet is compared
//! with one drawn at random. How often it meets its own flow, P, tells the number of flows: for
//! equal ones 1 / P, else 1 / Σ p², which is less.
//!
//! A packet that meets another flow takes that one's place with some probability, so the list
//! forgets within so many packets as it has places, over that probability. State is bounded by its
//! size, whatever the number of flows.
//!
//! ```
//! use tidegate::{Rng, parts::zombies::{Filling, Zombies}};
//! let mut zombies = Zombies::new(1000, 0.25, 0.001, Filling::Miss);
//! let mut dice = Rng::from_seed(1);
//! for n in 0..20_000 {
//!     zombies.compare(n % 10, &mut dice);
//! }
//! assert!((8.0..12.5).contains(&zombies.flows().unwrap()));
//! ```
use alloc::vec::Vec;

use super::ewma::Ewma;
use crate::choices;
use crate::rng::Rng;

choices! {
    /// What a packet that comes while the list fills is to the hit frequency.
    pub enum Filling {
        /// No hit.
        Miss = "miss",
        /// Nothing.
        Nothing = "nothing",
    }
}

/// The most zombies that a list can be asked to hold.
pub const MOST_ZOMBIES: u32 = 1 << 20;

/// A flow in the list.
#[derive(Clone, Copy, Debug)]
struct Zombie {
    flow: u64,
    /// Hits since it came.
    count: u64,
}

/// The list and the hit frequency.
#[derive(Debug)]
pub struct Zombies {
    zombies: Vec<Zombie>,
    size: usize,
    overwrite: f64,
    hits: Ewma,
    filling: Filling,
}

impl Zombies {
    /// An empty list for `size` zombies (1 to [`MOST_ZOMBIES`]; others are brought to the nearest
    /// of these). A packet that is no hit overwrites its zombie with probability `overwrite`;
    /// `alpha` is the weight of a packet in P.
    pub fn new(size: u32, overwrite: f64, alpha: f64, filling: Filling) -> Zombies {
        let size = size.clamp(1, MOST_ZOMBIES) as usize;
        Zombies {
            zombies: Vec::with_capacity(size),
            size,
            overwrite,
            hits: Ewma::new(alpha),
            filling,
        }
    }

    /// What a list for `size` zombies takes, in bytes.
    pub fn bytes(size: u32) -> u64 {
        size.clamp(1, MOST_ZOMBIES) as u64 * core::mem::size_of::<Zombie>() as u64
    }

    /// A packet of `flow` arrives. Whether the zombie that was drawn is of its flow.
    #[inline]
    pub fn compare(&mut self, flow: u64, dice: &mut Rng) -> bool {
        if self.zombies.len() < self.size {
            self.zombies.push(Zombie { flow, count: 0 });
            if self.filling == Filling::Miss {
                self.hits.update(0.0);
            }
            return false;
        }
        let zombie = &mut self.zombies[dice.below(self.size as u64) as usize];
        let hit = zombie.flow == flow;
        if hit {
            zombie.count += 1;
        } else if dice.chance(self.overwrite) {
            *zombie = Zombie { flow, count: 0 };
        }
        self.hits.update(if hit { 1.0 } else { 0.0 });
        hit
    }

    /// P: how often packets were hits lately.
    #[inline]
    pub fn hit_frequency(&self) -> f64 {
        self.hits.get()
    }

    /// 1 / P; `None` before the first hit.
    pub fn flows(&self) -> Option<f64> {
        (self.hits.get() > 0.0).then(|| 1.0 / self.hits.get())
    }

    /// How many zombies there are.
    pub fn len(&self) -> usize {
        self.zombies.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.zombies.is_empty()
    }

    /// A flow's zombies and their hits ("total occurrence", ott1999 §2): large for one that sends
    /// more than others. Looks through the whole list.
    pub fn occurrence(&self, flow: u64) -> u64 {
        self.zombies
            .iter()
            .filter(|zombie| zombie.flow == flow)
            .map(|zombie| zombie.count + 1)
            .sum()
    }
}

impl Clone for Zombies {
    /// The copy has its memory at once, as the original has.
    fn clone(&self) -> Self {
        let mut zombies = Vec::with_capacity(self.size);
        zombies.extend_from_slice(&self.zombies);
        Zombies { zombies, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After K packets of others a zombie is still there with probability (1 − p / M)^K: mean over
    /// 400 lists, z test with a false alarm of 1e-6.
    #[test]
    fn the_list_forgets_within_its_size_over_the_probability() {
        let (size, overwrite, packets) = (50, 0.25, 200);
        let stays = libm::pow(1.0 - overwrite / size as f64, packets as f64);
        let (mut left, lists) = (0, 400);
        for seed in 0..lists {
            let mut dice = Rng::from_seed(seed);
            let mut zombies = Zombies::new(size, overwrite, 0.001, Filling::Miss);
            for flow in (0..size as u64).map(|_| 0).chain(1..=packets) {
                zombies.compare(flow, &mut dice);
            }
            left += zombies.occurrence(0);
        }
        let n = (lists * size as u64) as f64;
        let z = (left as f64 - n * stays) / libm::sqrt(n * stays * (1.0 - stays));
        assert!(z.abs() < 4.892, "{left} of {n}, z = {z}");
    }

    /// A flow alone: each packet after the filling is a hit, and P goes to 1 as 1 − (1 − α)^n.
    #[test]
    fn a_flow_alone_is_one_flow() {
        let (mut zombies, mut dice) =
            (Zombies::new(100, 0.25, 0.01, Filling::Nothing), Rng::from_seed(1));
        (0..100).for_each(|_| assert!(!zombies.compare(7, &mut dice)));
        assert_eq!((zombies.len(), zombies.flows(), zombies.is_empty()), (100, None, false));
        for n in 1..=1_000 {
            assert!(zombies.compare(7, &mut dice));
            assert!((zombies.hit_frequency() - (1.0 - libm::pow(0.99, n as f64))).abs() < 1e-12);
        }
        assert!((zombies.flows().unwrap() - 1.0).abs() < 1e-4);
        assert_eq!((zombies.occurrence(7), zombies.occurrence(8)), (1_100, 0));
    }

    #[test]
    fn filling_counts_as_misses_or_not_at_all() {
        for (filling, left) in [(Filling::Miss, 0.5 * 0.5), (Filling::Nothing, 0.5)] {
            let mut zombies = Zombies::new(3, 0.25, 0.5, filling);
            zombies.hits.update(1.0);
            zombies.compare(7, &mut Rng::from_seed(1));
            assert_eq!(zombies.hit_frequency(), left);
        }
    }
}
