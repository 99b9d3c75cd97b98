//! Who holds how much of the buffer: sampled hits on a bounded number of flows (BLACK; §3.1 of the
//! Purge paper).
//!
//! Each sampling of a queued packet is a hit for its flow. At the end of a period a flow's share of
//! the buffer, its hit fraction, is the mean of this period's and the last one's. Their numbers of
//! samplings are the weights: Ω(t) = (Hit(t) + Ω(t − 1) Ψ(t − 1)) / (Ψ(t − 1) + Ψ(t)). In the
//! printed eq. (2) both plus signs are lost; as printed it has the wrong dimension, and eq. (3)
//! repeats the numerator with the same gap.
//!
//! A newcomer has an Ω(t − 1) of nothing by eq. (2): the samplings of the past were not of it,
//! whether or not it waited then. So its first Ω is its share of both periods, half of its share of
//! the new one where both have as many samplings.
//!
//! One period is a short memory. [`remembering`](HitCache::remembering) makes Ψ(t − 1) the sum of
//! all samplings before, each period's worth `past` times the next one's. The longer the memory,
//! the longer a newcomer counts for little; [`welcoming`](HitCache::welcoming) judges it by a part
//! of the past.
//!
//! With space-saving replacement (A. Metwally, D. Agrawal, A. El Abbadi, ICDT 2005) the numerator
//! of eq. (2) is the counter, and nothing of it is ever lost. All Ω of a full cache sum to 1. A
//! flow with more than one in `most` of the samplings is always in it, and no Ω is too small. But
//! each may be too large by 1 / `most`: when many more flows share the buffer than the cache holds,
//! all that it holds look alike. Here the newcomer takes over both parts of the counter, hits and
//! Ω.
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

choices! {
    /// Which flow makes room when a new one is sampled and the cache is full.
    pub enum Replace {
        /// The one that was hit longest ago.
        Oldest = "oldest",
        /// The one with the least hit fraction, and among those with the fewest hits.
        Least = "least",
        /// The one with the least weight in eq. (2), which the new flow takes over (metwally2005).
        SpaceSaving = "space_saving",
    }
}

/// Most flows that a cache may hold.
pub const MOST_FLOWS: u32 = 4096;

/// 32 bytes: two to a cache line.
#[derive(Clone, Copy, Debug)]
struct CachedFlow {
    flow: u64,
    fraction: f64,
    hits: u32,
    /// Ψ(t − 1) for this flow, where newcomers are judged by fewer samplings.
    before: f32,
    /// Neighbours in the order of last hits, a ring: newer than the newest is the oldest.
    newer: u16,
    older: u16,
    /// The next entry whose flow has the same head.
    next: u16,
}

impl CachedFlow {
    /// Hit + Ω' Ψ': what eq. (2) is going to divide by Ψ' + Ψ, if `before` is Ψ'.
    #[inline]
    fn weight(&self, before: f64) -> f64 {
        self.hits as f64 + self.fraction * before
    }
}

const NONE: u16 = u16::MAX;
const _: () = assert!(MOST_FLOWS < NONE as u32);

/// The cache. In a buffer that many flows share nearly every sampling is of a flow that is not in
/// it. It is built for that: to find none is one look at a head, and the oldest becomes the newest
/// by a turn of the ring.
#[derive(Clone, Debug)]
pub struct HitCache {
    entries: Vec<CachedFlow>,
    most: usize,
    replace: Replace,
    newest: u16,
    /// Hash table: the first entry of each chain, or [`NONE`]; eight heads or more for an entry,
    /// so most are free.
    heads: Vec<u16>,
    /// What is left of a flow's hash for its head.
    shift: u32,
    /// Ψ of this period, and of the past.
    samplings: u64,
    samplings_before: f64,
    /// How much of the past is kept, and by what part of it a newcomer is judged.
    past: f64,
    fresh: f64,
}

impl HitCache {
    /// An empty cache for `most` flows (1 to [`MOST_FLOWS`]; other values are brought to the
    /// nearest bound).
    pub fn new(most: u32, replace: Replace) -> HitCache {
        let most = most.clamp(1, MOST_FLOWS);
        let heads = heads(most);
        HitCache {
            entries: Vec::with_capacity(most as usize),
            most: most as usize,
            replace,
            newest: NONE,
            heads: alloc::vec![NONE; heads],
            shift: 64 - heads.trailing_zeros(),
            samplings: 0,
            samplings_before: 0.0,
            past: 0.0,
            fresh: 1.0,
        }
    }

    /// The same cache with a longer memory: at the end of a period the samplings of the past are
    /// this period's and `past` times those that were so before. 0 is eq. (2), 1 an average
    /// over all samplings there ever were.
    pub fn remembering(self, past: f64) -> HitCache {
        HitCache { past: past.clamp(0.0, 1.0), ..self }
    }

    /// The same cache with newcomers judged by this part of the past (from 0 to 1): with 1 by eq.
    /// (2); with less each flow has a past of its own, which becomes that of all with time.
    pub fn welcoming(self, fresh: f64) -> HitCache {
        HitCache { fresh: fresh.clamp(0.0, 1.0), ..self }
    }

    /// Ψ(t − 1) of eq. (2) for this flow.
    #[inline]
    fn before(&self, entry: &CachedFlow) -> f64 {
        if self.fresh < 1.0 { entry.before as f64 } else { self.samplings_before }
    }

    #[inline]
    fn newcomers_past(&self) -> f32 {
        (self.fresh * self.samplings_before) as f32
    }

    /// What a cache for `most` flows takes, in bytes.
    pub fn bytes(most: u32) -> u64 {
        let most = most.clamp(1, MOST_FLOWS);
        most as u64 * size_of::<CachedFlow>() as u64 + heads(most) as u64 * 2
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
        match self.find(flow) {
            NONE => None,
            at => Some(self.entries[at as usize].fraction),
        }
    }

    /// Every flow with its Ω, in no particular order.
    pub fn fractions(&self) -> impl Iterator<Item = (u64, f64)> {
        self.entries.iter().map(|e| (e.flow, e.fraction))
    }

    /// A queued packet of `flow` was sampled.
    #[inline]
    pub fn hit(&mut self, flow: u64) {
        self.hit_by(flow, 1);
    }

    /// A queued packet of `flow` was sampled, and counts for so many samplings. Where each counts
    /// for its length, Ω is a flow's share of the buffer's bytes.
    #[inline]
    pub fn hit_by(&mut self, flow: u64, weight: u32) {
        self.samplings += weight as u64;
        match self.find(flow) {
            NONE => self.admit(flow, weight),
            at => {
                let hits = &mut self.entries[at as usize].hits;
                *hits = hits.saturating_add(weight);
                self.make_newest(at);
            }
        }
    }

    /// The period is over: hit fractions by eq. (2), hits and samplings from zero. With no sampling
    /// in the period the fractions stay, as by eq. (2).
    pub fn end_of_period(&mut self) {
        let (now, common) = (self.samplings as f64, self.samplings_before);
        let own = self.fresh < 1.0;
        for entry in &mut self.entries {
            let before = if own { entry.before as f64 } else { common };
            if now > 0.0 {
                entry.fraction = entry.weight(before) / (before + now);
            }
            entry.hits = 0;
            entry.before = (now + self.past * before) as f32;
        }
        self.samplings_before = now + self.past * common;
        self.samplings = 0;
    }

    /// `periods` more periods end without a sampling: the fractions stay, the past fades.
    pub fn periods_without_samplings(&mut self, periods: u64) {
        let left = libm::pow(self.past, periods as f64);
        self.samplings_before *= left;
        self.entries
            .iter_mut()
            .for_each(|entry| entry.before = (entry.before as f64 * left) as f32);
    }

    /// Multiplies every fraction by `factor`: a period without samplings that is to fade rather
    /// than to last.
    pub fn fade(&mut self, factor: f64) {
        self.entries.iter_mut().for_each(|entry| entry.fraction *= factor);
    }

    /// Takes in `flow` with its first hit: in a new entry, or in the victim's.
    #[inline]
    fn admit(&mut self, flow: u64, weight: u32) {
        let head = self.head(flow);
        let at = if self.entries.len() < self.most {
            self.grow()
        } else {
            let at = self.victim();
            self.unchain(at);
            self.make_newest(at);
            at
        };
        let before = self.newcomers_past();
        let entry = &mut self.entries[at as usize];
        if self.replace != Replace::SpaceSaving {
            (entry.fraction, entry.hits, entry.before) = (0.0, 0, before);
        }
        let hits = entry.hits.saturating_add(weight);
        *entry = CachedFlow { flow, hits, next: self.heads[head], ..*entry };
        self.heads[head] = at;
    }

    /// One more entry, as the newest; the first is a ring of its own.
    #[cold]
    fn grow(&mut self) -> u16 {
        let at = self.entries.len() as u16;
        self.entries.push(CachedFlow {
            flow: 0,
            fraction: 0.0,
            hits: 0,
            before: self.newcomers_past(),
            newer: at,
            older: at,
            next: NONE,
        });
        if at > 0 {
            self.link_newest(at);
        }
        self.newest = at;
        at
    }

    #[inline]
    fn victim(&self) -> u16 {
        match self.replace {
            Replace::Oldest => self.oldest(),
            Replace::Least => self.least(|e| (e.fraction, e.hits)),
            Replace::SpaceSaving => self.least(|e| (e.weight(self.before(e)), 0)),
        }
    }

    /// The entry that comes first in this order; among equals, in the cache.
    fn least(&self, order: impl Fn(&CachedFlow) -> (f64, u32)) -> u16 {
        let compare = |a: &CachedFlow, b: &CachedFlow| {
            order(a).partial_cmp(&order(b)).unwrap_or(core::cmp::Ordering::Equal)
        };
        let least = self.entries.iter().enumerate().min_by(|(_, a), (_, b)| compare(a, b));
        least.map_or(0, |(at, _)| at as u16)
    }

    #[inline]
    fn oldest(&self) -> u16 {
        self.entries[self.newest as usize].newer
    }

    /// `at` was hit last.
    #[inline]
    fn make_newest(&mut self, at: u16) {
        // The oldest has its place already: next to the newest.
        if at != self.newest && at != self.oldest() {
            let CachedFlow { newer, older, .. } = self.entries[at as usize];
            self.entries[newer as usize].older = older;
            self.entries[older as usize].newer = newer;
            self.link_newest(at);
        }
        self.newest = at;
    }

    /// Links `at`, which is in no ring, between the newest and the oldest.
    #[inline]
    fn link_newest(&mut self, at: u16) {
        let (newest, oldest) = (self.newest, self.oldest());
        self.entries[newest as usize].newer = at;
        self.entries[oldest as usize].older = at;
        let entry = &mut self.entries[at as usize];
        (entry.older, entry.newer) = (newest, oldest);
    }

    /// Where the chain of `flow` begins: the top bits of a product (a flow is a keyed hash
    /// already).
    #[inline]
    fn head(&self, flow: u64) -> usize {
        (flow.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// The entry of `flow`, or [`NONE`].
    #[inline]
    fn find(&self, flow: u64) -> u16 {
        let mut at = self.heads[self.head(flow)];
        while at != NONE && self.entries[at as usize].flow != flow {
            at = self.entries[at as usize].next;
        }
        at
    }

    /// Takes an entry out of its chain.
    #[inline]
    fn unchain(&mut self, at: u16) {
        let CachedFlow { flow, next, .. } = self.entries[at as usize];
        let head = self.head(flow);
        let mut before = self.heads[head];
        if before == at {
            self.heads[head] = next;
            return;
        }
        while self.entries[before as usize].next != at {
            before = self.entries[before as usize].next;
        }
        self.entries[before as usize].next = next;
    }
}

/// Heads for `most` flows.
fn heads(most: u32) -> usize {
    (8 * most as usize).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Hit 30, Ω' .2, Ψ' 150, Ψ 100: .24. A constant share is approached by halves when Ψ is
    /// constant.
    #[test]
    fn golden_fractions() {
        let mut cache = HitCache::new(50, Replace::Oldest);
        assert!(cache.is_empty());
        (0..150).for_each(|n| cache.hit(if n < 30 { 7 } else { 8 }));
        cache.end_of_period();
        assert_eq!((cache.fraction(7), cache.is_empty()), (Some(0.2), false));
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
        cache.fade(0.25);
        assert_eq!(cache.fraction(7), kept.map(|fraction| fraction / 4.0));
    }

    /// Shares .2 of 150 and .5 of 50 samplings, then none of 100: (30 + 25) / 200, and the past
    /// counts whole, half or not.
    #[test]
    fn the_past_counts_as_much_as_is_kept() {
        for (past, then) in
            [(0.0, 13.75 / 150.0), (0.5, 0.275 * 125.0 / 225.0), (1.0, 55.0 / 300.0)]
        {
            let mut cache = HitCache::new(50, Replace::Oldest).remembering(past);
            for (samplings, hits) in [(150, 30), (50, 25), (100, 0)] {
                (0..samplings).for_each(|n| cache.hit(if n < hits { 7 } else { 8 }));
                cache.end_of_period();
            }
            assert!(
                (cache.fraction(7).unwrap() - then).abs() < 1e-12,
                "{past}: {:?}",
                cache.fraction(7)
            );
        }
    }

    /// Half of 100 samplings after 100 of others, judged by all of them, by a tenth and by none.
    #[test]
    fn a_newcomer_is_judged_by_a_part_of_the_past() {
        for (fresh, first) in [(1.0, 50.0 / 200.0), (0.1, 50.0 / 110.0), (0.0, 0.5)] {
            let mut cache = HitCache::new(50, Replace::Oldest).remembering(1.0).welcoming(fresh);
            (0..100).for_each(|_| cache.hit(8));
            cache.end_of_period();
            (0..100).for_each(|n| cache.hit(7 + n % 2));
            cache.end_of_period();
            assert!((cache.fraction(7).unwrap() - first).abs() < 1e-12, "{fresh}");
            // Flow 8 was the first, and of the past before it there are no samplings.
            assert!((cache.fraction(8).unwrap() - 0.75).abs() < 1e-12, "{fresh}");
        }
    }

    /// Periods without a sampling, at once and one by one.
    #[test]
    fn the_past_fades_while_nothing_is_sampled() {
        for past in [0.0, 0.9, 1.0] {
            let [mut at_once, mut one_by_one] = [(); 2].map(|_| {
                let mut cache = HitCache::new(50, Replace::Oldest).remembering(past);
                (0..100).for_each(|n| cache.hit(if n < 30 { 7 } else { 8 }));
                cache.end_of_period();
                cache
            });
            at_once.periods_without_samplings(20);
            (0..20).for_each(|_| one_by_one.end_of_period());
            for cache in [&mut at_once, &mut one_by_one] {
                (0..10).for_each(|_| cache.hit(7));
                cache.end_of_period();
            }
            let [a, b] = [at_once, one_by_one].map(|cache| cache.fraction(7).unwrap());
            assert!((a - b).abs() < 1e-12, "{past}: {a} {b}");
        }
    }

    /// Three, two and one hit in a cache for two: who makes room for flow 3, and what is said of
    /// whom.
    #[test]
    fn who_makes_room() {
        for (replace, fractions) in [
            (Replace::Oldest, [None, Some(2.0 / 6.0), Some(1.0 / 6.0)]),
            (Replace::Least, [Some(3.0 / 6.0), None, Some(1.0 / 6.0)]),
            (Replace::SpaceSaving, [Some(3.0 / 6.0), None, Some(3.0 / 6.0)]),
        ] {
            let mut cache = HitCache::new(2, replace);
            for flow in [1, 1, 1, 2, 2, 3] {
                cache.hit(flow);
            }
            cache.end_of_period();
            assert_eq!([1, 2, 3].map(|flow| cache.fraction(flow)), fractions, "{replace:?}");
        }
    }

    /// A flow has a third of the samplings, in bursts between which more new flows come than the
    /// cache holds. By the time of the last hit it is forgotten in each; by space-saving never,
    /// its Ω is at most a fifth too large, and all sum to 1.
    #[test]
    fn space_saving_loses_no_large_flow() {
        for replace in [Replace::Oldest, Replace::SpaceSaving] {
            let mut cache = HitCache::new(5, replace);
            let mut mice = 1_000..;
            for _ in 0..40 {
                for _ in 0..3 {
                    (0..20).for_each(|_| cache.hit(7));
                    mice.by_ref().take(40).for_each(|mouse| cache.hit(mouse));
                    assert_eq!(cache.fraction(7).is_some(), replace == Replace::SpaceSaving);
                }
                cache.end_of_period();
                let sum: f64 = cache.fractions().map(|(_, fraction)| fraction).sum();
                if replace == Replace::SpaceSaving {
                    let fraction = cache.fraction(7).unwrap();
                    assert!((1.0 / 3.0 - 1e-9..=1.0 / 3.0 + 0.2).contains(&fraction), "{fraction}");
                    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
                } else {
                    assert!(sum < 0.1, "{sum}");
                }
            }
        }
    }

    /// The same as a plain list that is searched and sorted.
    struct List {
        most: usize,
        replace: Replace,
        /// Newest last: (flow, hits, fraction).
        flows: Vec<(u64, u32, f64)>,
        now: u32,
        before: u32,
    }

    impl List {
        /// `cache` had the same hit already. Ties are the cache's to break: the list follows it.
        fn hit(&mut self, flow: u64, cache: &HitCache) {
            self.now += 1;
            let entry = match self.flows.iter().position(|e| e.0 == flow) {
                Some(at) => {
                    let (_, hits, fraction) = self.flows.remove(at);
                    (flow, hits + 1, fraction)
                }
                None if self.flows.len() < self.most => (flow, 1, 0.0),
                None => {
                    let at = self.least(cache);
                    let (_, hits, fraction) = self.flows.remove(at);
                    match self.replace {
                        Replace::SpaceSaving => (flow, hits + 1, fraction),
                        _ => (flow, 1, 0.0),
                    }
                }
            };
            self.flows.push(entry);
        }

        /// Who makes room.
        fn least(&self, cache: &HitCache) -> usize {
            let key = |e: &(u64, u32, f64)| match self.replace {
                Replace::SpaceSaving => (e.1 as f64 + e.2 * self.before as f64, 0),
                _ => (e.2, e.1),
            };
            if self.replace == Replace::Oldest {
                return 0;
            }
            let least =
                self.flows.iter().map(key).min_by(|a, b| a.partial_cmp(b).unwrap()).unwrap();
            self.flows
                .iter()
                .position(|e| key(e) == least && cache.fraction(e.0).is_none())
                .expect("the cache evicted one of the least")
        }

        fn end_of_period(&mut self) {
            for e in &mut self.flows {
                let all = (self.now + self.before) as f64;
                e.2 = (e.1 as f64 + e.2 * self.before as f64) / all;
                e.1 = 0;
            }
            (self.before, self.now) = (self.now, 0);
        }

        /// Asserts that `cache` holds the same flows with the same fractions.
        fn agrees(&self, cache: &HitCache, step: u32) {
            assert_eq!(cache.len(), self.flows.len());
            for &(flow, _, fraction) in &self.flows {
                let ours = cache.fraction(flow);
                let ours = ours.unwrap_or_else(|| panic!("step {step}: {flow} is gone"));
                assert!((ours - fraction).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn behaves_as_a_list() {
        for (most, flows, replace) in [
            (1, 3, Replace::Oldest),
            (5, 9, Replace::Oldest),
            (50, 200, Replace::Oldest),
            (5, 9, Replace::Least),
            (5, 9, Replace::SpaceSaving),
            (50, 200, Replace::SpaceSaving),
        ] {
            let mut rng = Rng::from_seed(most as u64);
            let mut cache = HitCache::new(most, replace);
            let mut list =
                List { most: most as usize, replace, flows: Vec::new(), now: 0, before: 0 };
            for step in 0..20_000 {
                let flow = rng.below(flows) * rng.below(2) + rng.below(3);
                cache.hit(flow);
                list.hit(flow, &cache);
                if rng.chance(0.005) {
                    cache.end_of_period();
                    list.end_of_period();
                }
                list.agrees(&cache, step);
            }
        }
    }
}
