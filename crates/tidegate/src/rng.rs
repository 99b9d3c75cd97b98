//! Dice. Each component draws from its own named stream, so that adding a flow never shifts a
//! queue's dice.
//!
//! ```
//! use tidegate::Seed;
//! let run = Seed::new(1);
//! let mut queue = run.stream("queue A->B");
//! let mut flow = run.stream("flow 7");
//! assert_ne!(queue.uniform(), flow.uniform());
//! assert_eq!(run.stream("flow 7").uniform(), run.stream("flow 7").uniform());
//! ```
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

/// The seed of a run, from which every component's stream is derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(u64);

impl Seed {
    /// The seed `n`.
    pub const fn new(n: u64) -> Seed {
        Seed(n)
    }

    /// As a number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The dice of the component called `name`.
    pub fn stream(self, name: &str) -> Rng {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64; // FNV-1a, then mixed with the seed
        for byte in name.bytes() {
            hash = (hash ^ byte as u64).wrapping_mul(0x100_0000_01b3);
        }
        Rng::from_seed(mix(mix(self.0) ^ hash))
    }

    /// The seed of part `index` of this run, for components that have parts of their own.
    pub const fn child(self, index: u64) -> Seed {
        Seed(mix(mix(self.0).wrapping_add(index)))
    }
}

/// A bijection of 64-bit words that leaves no visible pattern (the finalizer of SplitMix64).
#[inline]
pub const fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// One stream of dice (xoshiro256++). Cloning it forks the future: both copies roll the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// A stream of its own, from `seed` alone. Components of a run take theirs from
    /// [`Seed::stream`].
    pub fn from_seed(seed: u64) -> Rng {
        Rng(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// 64 fair bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform on [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform on [low, high).
    #[inline]
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// True with probability `p`: draws u and compares u < p. Always draws.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// Uniform on 0 .. n, without bias (Lemire's multiply and reject). n must not be 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        debug_assert!(n > 0);
        let mut wide = self.bits() as u128 * n as u128;
        if (wide as u64) < n {
            let threshold = n.wrapping_neg() % n;
            while (wide as u64) < threshold {
                wide = self.bits() as u128 * n as u128;
            }
        }
        (wide >> 64) as u64
    }

    /// Exponential with mean `mean`.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_is_uniform() {
        let mut rng = Rng::from_seed(7);
        let mut counts = [0u32; 6];
        for _ in 0..600_000 {
            counts[rng.below(6) as usize] += 1;
        }
        // chi-square with 5 degrees of freedom: 1e-6 quantile 35.9
        let chi: f64 = counts.iter().map(|&c| (c as f64 - 1e5) * (c as f64 - 1e5) / 1e5).sum();
        assert!(chi < 35.9, "{counts:?}");
    }
}
