//! A place for each flow, with few that share one: a flow hashes to a set of neighbouring places and takes one of them
//! that nobody uses. It is found again by its number, which the place remembers.
//!
//! Hashed to one place each, 100 flows on 1024 places share with somebody in one case of ten; with sets of eight in one of
//! a billion. Only where all places of a set are in use do flows share, the one that their hash names.
//!
//! ```
//! use tidegate::parts::ways::Ways;
//! use tidegate::Rng;
//! let mut ways = Ways::new(16, 8, &mut Rng::from_seed(1)); // two sets of eight
//! let in_use = |_| true;
//! let free = |_| false;
//! let place = ways.take(7, free);
//! assert_eq!((ways.of(7, in_use), ways.take(7, in_use)), (place, place));
//! assert!(place < 16);
//! ```
use alloc::vec;
use alloc::vec::Vec;

use crate::parts::spread::Spread;
use crate::rng::Rng;

/// Places 0 .. n in sets, and which flow took each last.
#[derive(Clone, Debug)]
pub struct Ways {
    sets: Spread,
    ways: usize,
    /// The flow that took each place last.
    flows: Vec<u64>,
}

/// What a place has before any flow took it.
const NOBODY: u64 = u64::MAX;

impl Ways {
    /// `places` places in sets of `ways`, as many whole sets as there are; one set at least. The hash is perturbed by a
    /// number drawn from `dice`.
    pub fn new(places: u32, ways: u32, dice: &mut Rng) -> Ways {
        let ways = ways.clamp(1, places.max(1));
        let sets = places.max(1) / ways;
        Ways { sets: Spread::new(sets, dice), ways: ways as usize, flows: vec![NOBODY; (sets * ways) as usize] }
    }

    /// What `places` places take, in bytes.
    pub const fn bytes(places: u64) -> u64 {
        places * core::mem::size_of::<u64>() as u64
    }

    /// The place of `flow`: its own, or the first of its set that is not in use, or the one that it shares.
    #[inline]
    pub fn of(&self, flow: u64, in_use: impl Fn(usize) -> bool) -> usize {
        let first = self.sets.of(flow) * self.ways;
        let set = &self.flows[first..first + self.ways];
        match set.iter().position(|&other| other == flow) {
            Some(way) => first + way,
            None => self.new_place(flow, first, in_use),
        }
    }

    /// The same, which is its own from then on unless it shares it.
    #[inline]
    pub fn take(&mut self, flow: u64, in_use: impl Fn(usize) -> bool) -> usize {
        let place = self.of(flow, &in_use);
        if self.flows[place] != flow && !in_use(place) {
            self.flows[place] = flow;
        }
        place
    }

    #[cold]
    fn new_place(&self, flow: u64, first: usize, in_use: impl Fn(usize) -> bool) -> usize {
        let free = (first..first + self.ways).find(|&place| !in_use(place));
        free.unwrap_or(first + (flow % self.ways as u64) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Against a list of who took what: a flow keeps its place, a newcomer gets the first of its set that nobody uses, and
    /// only with all in use does it share one, without taking it over.
    #[test]
    fn agrees_with_a_list() {
        for (places, ways) in [(16, 8), (12, 4), (7, 2), (5, 1), (3, 64)] {
            let mut dice = Rng::from_seed(places as u64);
            let mut table = Ways::new(places, ways, &mut dice);
            let ways = ways.min(places) as usize;
            let mut list: Vec<Option<u64>> = vec![None; places as usize / ways * ways];
            let mut used = vec![false; list.len()];
            for _ in 0..20_000 {
                let flow = dice.below(40);
                let first = table.sets.of(flow) * ways;
                let set = first..first + ways;
                let known = set.clone().find(|&place| list[place] == Some(flow));
                let free = set.clone().find(|&place| !used[place]);
                let expected = known.or(free).unwrap_or(first + flow as usize % ways);
                assert_eq!(table.of(flow, |place| used[place]), expected);
                assert_eq!(table.take(flow, |place| used[place]), expected);
                if known.is_none() && free.is_some() {
                    list[expected] = Some(flow);
                }
                let place = dice.below(used.len() as u64) as usize;
                used[place] = dice.chance(0.5);
            }
        }
    }

    /// Fifty flows on 128 places: in sets of eight nearly none shares, one by one a dozen do.
    #[test]
    fn few_share_a_place() {
        let sharing = |ways: u32| {
            let of_seed = |seed| {
                let mut table = Ways::new(128, ways, &mut Rng::from_seed(seed));
                let mut used = [false; 128];
                let mut shared = 0;
                for flow in 0..50 {
                    let place = table.take(flow, |place| used[place]);
                    shared += u32::from(core::mem::replace(&mut used[place], true));
                }
                shared
            };
            (0..200).map(of_seed).sum::<u32>() as f64 / 200.0
        };
        let (alone, together) = (sharing(8), sharing(1));
        assert!(alone < 0.2 && together > 6.0, "{alone} {together}");
    }

    #[test]
    fn memory_is_what_is_stated() {
        let table = Ways::new(64, 8, &mut Rng::from_seed(1));
        assert_eq!(table.flows.capacity() as u64 * 8, Ways::bytes(64));
    }
}
