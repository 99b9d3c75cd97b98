//! L levels of N bins; a keyed hash maps a flow to one bin on each level.
//!
//! ```
//! use tidegate::{Rng, parts::bins::Bins};
//! let mut bins: Bins<u32> = Bins::new(2, 23);
//! bins.rekey(&mut Rng::from_seed(1));
//! let places = bins.places(0xf10);
//! bins[places.on(0)] += 1;
//! bins[places.on(1)] += 1;
//! assert_eq!(bins.level(0).iter().sum::<u32>(), 1);
//! ```
use alloc::vec;
use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

use crate::rng::{Rng, mix};

/// The most levels there can be.
pub const MAX_LEVELS: usize = 8;

/// One key serves two levels: 64 hashed bits are two independent draws of 32.
const KEYS: usize = MAX_LEVELS / 2;

/// An array of `levels` × `per_level` bins under one set of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bins<T> {
    cells: Vec<T>,
    levels: usize,
    per_level: u32,
    keys: [u64; KEYS],
}

/// Where a flow's bins are, one on each level. What stands above the last level means nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowBins([u32; MAX_LEVELS]);

impl FlowBins {
    /// The place on `level`.
    #[inline]
    pub fn on(&self, level: usize) -> BinIndex {
        BinIndex(self.0[level])
    }
}

/// Where one bin is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinIndex(u32);

impl BinIndex {
    /// Its number among all bins, level by level.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl<T: Clone + Default> Bins<T> {
    /// Empty bins under the keys 0; [`rekey`](Bins::rekey) before use. `levels` is cut to 1 ..=
    /// [`MAX_LEVELS`] and `per_level` to at least 1.
    pub fn new(levels: usize, per_level: u32) -> Bins<T> {
        let (levels, per_level) = (levels.clamp(1, MAX_LEVELS), per_level.max(1));
        Bins {
            cells: vec![T::default(); levels * per_level as usize],
            levels,
            per_level,
            keys: [0; KEYS],
        }
    }

    /// Empties every bin.
    pub fn clear(&mut self) {
        self.cells.fill(T::default());
    }

    /// Draws new keys: one for levels 0 and 1, one for levels 2 and 3 …
    pub fn rekey(&mut self, dice: &mut Rng) {
        for key in &mut self.keys[..self.levels.div_ceil(2)] {
            *key = dice.bits();
        }
    }
}

impl<T> Bins<T> {
    /// The bins of `flow`: the halves of `mix(flow XOR key)`, scaled to 0 .. N. Not proof against
    /// somebody who can choose `flow` itself; drivers make it with a keyed hash of their own.
    #[inline]
    pub fn places(&self, flow: u64) -> FlowBins {
        let mut places = FlowBins::default();
        let n = self.per_level as u64;
        let mut start = 0;
        for (pair, key) in
            places.0.chunks_exact_mut(2).zip(&self.keys).take(self.levels.div_ceil(2))
        {
            let word = mix(flow ^ key);
            pair[0] = start + (((word & 0xffff_ffff) * n) >> 32) as u32;
            pair[1] = start + self.per_level + (((word >> 32) * n) >> 32) as u32;
            start += 2 * self.per_level;
        }
        places
    }

    /// The numbers of the bins of `flow` among all bins, one on each level.
    pub fn numbers_of(&self, flow: u64) -> impl Iterator<Item = usize> + use<T> {
        let (places, levels) = (self.places(flow), self.levels);
        (0..levels).map(move |level| places.0[level] as usize)
    }

    /// How many levels.
    #[inline]
    pub fn levels(&self) -> usize {
        self.levels
    }

    /// The bins of one level.
    pub fn level(&self, level: usize) -> &[T] {
        let n = self.per_level as usize;
        &self.cells[level * n..(level + 1) * n]
    }

    /// The bins of one level, to change.
    pub fn level_mut(&mut self, level: usize) -> &mut [T] {
        let n = self.per_level as usize;
        &mut self.cells[level * n..(level + 1) * n]
    }

    /// Every bin, level by level, to change.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.cells.iter_mut()
    }

    /// Every bin, level by level.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.cells.iter()
    }
}

impl<T> Index<BinIndex> for Bins<T> {
    type Output = T;
    #[inline]
    fn index(&self, place: BinIndex) -> &T {
        &self.cells[place.0 as usize]
    }
}

impl<T> IndexMut<BinIndex> for Bins<T> {
    #[inline]
    fn index_mut(&mut self, place: BinIndex) -> &mut T {
        &mut self.cells[place.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// chi-square of `counts` against an even spread of their sum.
    fn chi_square(counts: &[u32]) -> f64 {
        let expected = counts.iter().sum::<u32>() as f64 / counts.len() as f64;
        counts.iter().map(|&c| (c as f64 - expected) * (c as f64 - expected) / expected).sum()
    }

    /// Chi-square's quantile at 1 - 1e-6 (Wilson and Hilferty; z = 4.753).
    fn bound(df: f64) -> f64 {
        let t = 1.0 - 2.0 / (9.0 * df) + 4.753 * (2.0 / (9.0 * df)).sqrt();
        df * t * t * t
    }

    #[test]
    fn every_level_spreads_flows_evenly_and_no_two_levels_agree() {
        for (seed, stride) in [(1, 1), (2, 0x1_0000_0000), (3, 0x9e37_79b9_7f4a_7c15_u64)] {
            let mut bins: Bins<u32> = Bins::new(8, 23);
            bins.rekey(&mut Rng::from_seed(seed));
            let mut joint = vec![[0_u32; 23 * 23]; 28];
            for flow in 0..100_000_u64 {
                let places = bins.places(flow.wrapping_mul(stride));
                let at: Vec<usize> = (0..8).map(|l| places.on(l).0 as usize - l * 23).collect();
                (0..8).for_each(|l| bins[places.on(l)] += 1);
                let pairs = (0..8).flat_map(|a| (a + 1..8).map(move |b| (a, b)));
                pairs.zip(&mut joint).for_each(|((a, b), joint)| joint[at[a] * 23 + at[b]] += 1);
            }
            (0..8).for_each(|l| {
                assert!(chi_square(bins.level(l)) < bound(22.0), "seed {seed}, level {l}")
            });
            joint.iter().for_each(|j| assert!(chi_square(j) < bound(528.0), "seed {seed}"));
        }
    }

    /// Two flows that share a bin under one key must not share one under the next more often than
    /// chance has it.
    #[test]
    fn new_keys_part_flows_that_met() {
        let mut dice = Rng::from_seed(4);
        let (mut old, mut new): (Bins<()>, Bins<()>) = (Bins::new(1, 23), Bins::new(1, 23));
        let (mut met, mut met_again) = (0.0, 0.0);
        for round in 0..400_u64 {
            old.rekey(&mut dice);
            new.rekey(&mut dice);
            for flow in 0..500 {
                let (a, b) = (1_000 * round + 2 * flow, 1_000 * round + 2 * flow + 1);
                if old.places(a).on(0) == old.places(b).on(0) {
                    met += 1.0;
                    met_again += f64::from(u8::from(new.places(a).on(0) == new.places(b).on(0)));
                }
            }
        }
        let (n, p) = (met, 1.0 / 23.0);
        assert!(met > 5_000.0);
        assert!(
            (met_again - n * p).abs() < 4.9 * (n * p * (1.0 - p)).sqrt(),
            "{met_again} of {met}"
        ); // 1e-6, two-sided
    }
}
