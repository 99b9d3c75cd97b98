//! Who holds how much of the buffer: sampled hits on a bounded number of flows (BLACK; §3.1 of the Purge paper).
//!
//! Each sampling of a queued packet is a hit for its flow. At the end of a period a flow's share of the buffer, its
//! hit fraction, is the mean of this period's and the last one's, weighted by their numbers of samplings:
//! Ω(t) = (Hit(t) + Ω(t − 1) Ψ(t − 1)) / (Ψ(t − 1) + Ψ(t)). In the printed eq. (2) both plus signs are lost; as printed
//! it has the wrong dimension, and eq. (3) repeats the numerator with the same gap.
//!
//! ```
//! use tidegate::parts::hit_cache::{HitCache, Replace};
//! let mut cache = HitCache::new(50, Replace::Oldest);
//! (0..100).for_each(|sample| cache.hit(if sample < 30 { 7 } else { 8 }));
//! cache.end_of_period();
//! assert_eq!(cache.fraction(7), Some(0.3));
//! ```
use alloc::vec::Vec;

use crate::choices;
use crate::rng::mix;

choices! {
    /// Which flow makes room when a new one is sampled and the cache is full.
    pub enum Replace {
        /// The one that was hit longest ago.
        Oldest = "oldest",
        /// The one with the least hit fraction, and among those with the fewest hits.
        Least = "least",
    }
}

/// Most flows that a cache may hold.
pub const MOST_FLOWS: u32 = 4096;

#[derive(Clone, Copy, Debug)]
struct Entry {
    flow: u64,
    hits: u32,
    fraction: f64,
    /// Neighbours in the order of last hits; the head was hit last.
    newer: u32,
    older: u32,
}

const NONE: u32 = u32::MAX;

/// The cache.
#[derive(Clone, Debug)]
pub struct HitCache {
    entries: Vec<Entry>,
    most: usize,
    replace: Replace,
    newest: u32,
    oldest: u32,
    /// Open hash table from flow to entry, at least twice as large as the cache; [`NONE`] is free.
    index: Vec<u32>,
    /// Ψ of this period and of the last.
    samplings: u64,
    samplings_before: u64,
}

impl HitCache {
    /// An empty cache for `most` flows (1 to [`MOST_FLOWS`]; other values are brought to the nearest bound).
    pub fn new(most: u32, replace: Replace) -> HitCache {
        let most = most.clamp(1, MOST_FLOWS) as usize;
        HitCache {
            entries: Vec::with_capacity(most),
            most,
            replace,
            newest: NONE,
            oldest: NONE,
            index: alloc::vec![NONE; (2 * most).next_power_of_two()],
            samplings: 0,
            samplings_before: 0,
        }
    }

    /// What a cache for `most` flows takes, in bytes.
    pub fn bytes(most: u32) -> u64 {
        let most = most.clamp(1, MOST_FLOWS) as u64;
        most * core::mem::size_of::<Entry>() as u64 + (2 * most).next_power_of_two() * 4
    }

    /// Ψ: samplings in this period.
    pub fn samplings(&self) -> u64 {
        self.samplings
    }

    /// How many flows it holds.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Ω of `flow` as the last period left it; `None` for a flow that is not in the cache.
    #[inline]
    pub fn fraction(&self, flow: u64) -> Option<f64> {
        match self.index[self.find(flow)] {
            NONE => None,
            at => Some(self.entries[at as usize].fraction),
        }
    }

    /// Every flow with its Ω, in no particular order.
    pub fn fractions(&self) -> impl Iterator<Item = (u64, f64)> {
        self.entries.iter().map(|e| (e.flow, e.fraction))
    }

    /// A queued packet of `flow` was sampled.
    pub fn hit(&mut self, flow: u64) {
        self.samplings += 1;
        let slot = self.find(flow);
        let at = match self.index[slot] {
            NONE => self.admit(flow),
            at => at,
        };
        self.entries[at as usize].hits += 1;
        if self.newest != at {
            self.unlink(at);
            self.link_newest(at);
        }
    }

    /// The period is over: hit fractions by eq. (2), hits and samplings from zero. With no sampling in either period
    /// the fractions stay.
    pub fn end_of_period(&mut self) {
        let (now, before) = (self.samplings as f64, self.samplings_before as f64);
        for entry in &mut self.entries {
            if now + before > 0.0 {
                entry.fraction = (entry.hits as f64 + entry.fraction * before) / (before + now);
            }
            entry.hits = 0;
        }
        self.samplings_before = self.samplings;
        self.samplings = 0;
    }

    /// Multiplies every fraction by `factor`: a period without samplings that is to fade rather than to last.
    pub fn fade(&mut self, factor: f64) {
        self.entries.iter_mut().for_each(|entry| entry.fraction *= factor);
    }

    /// An entry for `flow`, a new one or the victim's.
    fn admit(&mut self, flow: u64) -> u32 {
        let fresh = Entry { flow, hits: 0, fraction: 0.0, newer: NONE, older: NONE };
        let at = if self.entries.len() < self.most {
            self.entries.push(fresh);
            self.entries.len() as u32 - 1
        } else {
            let at = self.victim();
            self.unlink(at);
            let slot = self.find(self.entries[at as usize].flow);
            self.index[slot] = NONE;
            self.close_gap(slot);
            self.entries[at as usize] = fresh;
            at
        };
        let slot = self.find(flow);
        self.index[slot] = at;
        self.link_newest(at);
        at
    }

    fn victim(&self) -> u32 {
        match self.replace {
            Replace::Oldest => self.oldest,
            Replace::Least => {
                let order = |e: &Entry| (e.fraction, e.hits);
                let least = self
                    .entries
                    .iter()
                    .enumerate()
                    .min_by(|(_, a), (_, b)| order(a).partial_cmp(&order(b)).unwrap_or(core::cmp::Ordering::Equal));
                least.map_or(0, |(at, _)| at as u32)
            }
        }
    }

    fn link_newest(&mut self, at: u32) {
        self.entries[at as usize].newer = NONE;
        self.entries[at as usize].older = self.newest;
        match self.newest {
            NONE => self.oldest = at,
            head => self.entries[head as usize].newer = at,
        }
        self.newest = at;
    }

    fn unlink(&mut self, at: u32) {
        let Entry { newer, older, .. } = self.entries[at as usize];
        match newer {
            NONE => self.newest = older,
            n => self.entries[n as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            o => self.entries[o as usize].newer = newer,
        }
    }

    /// The slot of `flow`, or the free one where it would go.
    #[inline]
    fn find(&self, flow: u64) -> usize {
        let mask = self.index.len() - 1;
        let mut slot = mix(flow) as usize & mask;
        while self.index[slot] != NONE && self.entries[self.index[slot] as usize].flow != flow {
            slot = (slot + 1) & mask;
        }
        slot
    }

    /// Moves later members of the probing run into the freed slot.
    fn close_gap(&mut self, mut gap: usize) {
        let mask = self.index.len() - 1;
        let mut slot = (gap + 1) & mask;
        while self.index[slot] != NONE {
            let home = mix(self.entries[self.index[slot] as usize].flow) as usize & mask;
            if slot.wrapping_sub(home) & mask >= slot.wrapping_sub(gap) & mask {
                self.index[gap] = self.index[slot];
                self.index[slot] = NONE;
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

    /// Hit 30, Ω' .2, Ψ' 150, Ψ 100: .24. A constant share is approached by halves when Ψ is constant.
    #[test]
    fn golden_fractions() {
        let mut cache = HitCache::new(50, Replace::Oldest);
        (0..150).for_each(|n| cache.hit(if n < 30 { 7 } else { 8 }));
        cache.end_of_period();
        assert_eq!(cache.fraction(7), Some(0.2));
        (0..100).for_each(|n| cache.hit(if n < 30 { 7 } else { 8 }));
        cache.end_of_period();
        assert!((cache.fraction(7).unwrap() - 0.24).abs() < 1e-12);
        for _ in 0..30 {
            (0..100).for_each(|n| cache.hit(if n < 50 { 7 } else { 8 }));
            cache.end_of_period();
        }
        assert!((cache.fraction(7).unwrap() - 0.5).abs() < 1e-6);
        cache.end_of_period();
        let kept = cache.fraction(7);
        cache.end_of_period();
        assert_eq!(cache.fraction(7), kept, "no sampling in two periods: the fractions stay");
    }

    /// Against a plain list that is searched and sorted.
    #[test]
    fn behaves_as_a_list() {
        for (most, flows, replace) in
            [(1, 3, Replace::Oldest), (5, 9, Replace::Oldest), (50, 200, Replace::Oldest), (5, 9, Replace::Least)]
        {
            let mut rng = Rng::from_seed(most as u64);
            let mut cache = HitCache::new(most, replace);
            // Newest last: (flow, hits, fraction).
            let mut list: Vec<(u64, u32, f64)> = Vec::new();
            let (mut now, mut before) = (0u32, 0u32);
            for step in 0..20_000 {
                let flow = rng.below(flows) * rng.below(2) + rng.below(3);
                cache.hit(flow);
                now += 1;
                if let Some(at) = list.iter().position(|e| e.0 == flow) {
                    let mut entry = list.remove(at);
                    entry.1 += 1;
                    list.push(entry);
                } else {
                    if list.len() == most as usize {
                        let at = match replace {
                            Replace::Oldest => 0,
                            Replace::Least => {
                                let key = |e: &(u64, u32, f64)| (e.2, e.1);
                                let least = list.iter().map(key).min_by(|a, b| a.partial_cmp(b).unwrap()).unwrap();
                                // Ties are the cache's to break: follow it.
                                list.iter()
                                    .position(|e| key(e) == least && cache.fraction(e.0).is_none())
                                    .expect("the cache evicted one of the least")
                            }
                        };
                        list.remove(at);
                    }
                    list.push((flow, 1, 0.0));
                }
                if rng.chance(0.005) {
                    cache.end_of_period();
                    for e in &mut list {
                        e.2 = (e.1 as f64 + e.2 * before as f64) / (now + before) as f64;
                        e.1 = 0;
                    }
                    (before, now) = (now, 0);
                }
                assert_eq!(cache.len(), list.len());
                for e in &list {
                    let ours = cache.fraction(e.0).unwrap_or_else(|| panic!("step {step}: {} is gone", e.0));
                    assert!((ours - e.2).abs() < 1e-12);
                }
            }
        }
    }
}
