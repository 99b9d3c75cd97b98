//! Who sends much, among any number of flows, with bounded memory: sample-and-hold (estan2002) with
//! match-hit in k stages (lu2012 §III-B).
//!
//! A packet of a flow that is not held is sampled with a chance of p per byte. A sampled packet is
//! compared with a random packet of a cache. When k packets of a flow have matched in an interval,
//! the flow is *held*: it gets a state of its own, and its owner counts every later byte exactly.
//! Sampled packets get into the cache with a chance of p_c, for a random other one once it is full.
//! A flow is so found with a chance that goes by its rate to the power of k + 1. Users with little
//! traffic stay out of the table, floods do not.
//!
//! Memory is allocated once. When the table of the held is full nobody is held until its owner has
//! forgotten somebody ([`retain`](SampleHold::retain)), which it does at the end of each interval.
//!
//! ```
//! use tidegate::{Rng, parts::sample_hold::{HoldRules, SampleHold}};
//! let rules = HoldRules { stages: 1, cache: 100, insertion: 0.1, ..HoldRules::default() };
//! let mut flows: SampleHold<u64> = SampleHold::new(50, rules);
//! let mut dice = Rng::from_seed(1);
//! for n in 0..100_000u64 {
//!     // One sends half of all, the rest a packet each.
//!     let flow = if n % 2 == 0 { 7 } else { 1_000 + n };
//!     match flows.find(flow) {
//!         Some(slot) => flows[slot] += 1,
//!         None if flows.identify(flow, 1000, 1e-4, &mut dice) => { flows.hold(flow, 1); }
//!         None => {}
//!     }
//! }
//! let slot = flows.find(7).unwrap();
//! assert!(flows[slot] > 40_000 && flows.len() < 10);
//! ```
use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

use super::flow_table::FlowTable;
use crate::choices;
use crate::rng::Rng;

choices! {
    /// Which packets can get into the cache.
    pub enum Insert {
        /// Those that were sampled.
        Sampled = "sampled",
        /// All of flows that are not held.
        Every = "every",
    }
}

/// How flows are found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HoldRules {
    /// How many matches in an interval it takes (k); 0: none, every sampled flow is held
    /// (estan2002's own sample-and-hold).
    pub stages: u32,
    /// How many packets the cache remembers (N_c).
    pub cache: u32,
    /// With which chance a packet gets into it (p_c).
    pub insertion: f64,
    /// Which packets can.
    pub insert: Insert,
}

impl Default for HoldRules {
    /// lu2012 §V's, and 100 packets.
    fn default() -> HoldRules {
        HoldRules { stages: 1, cache: 100, insertion: 0.1, insert: Insert::Sampled }
    }
}

/// The flows that are held, each with a `T`, and the cache that finds others.
#[derive(Clone, Debug)]
pub struct SampleHold<T: Copy> {
    held: FlowTable<T>,
    /// Matches in this interval, of flows that have fewer than k; one place if k is 1.
    matches: FlowTable<u32>,
    cache: Vec<u64>,
    rules: HoldRules,
}

impl<T: Copy> SampleHold<T> {
    /// Nobody held, of 1 to 2^24 `flows` that can be; other numbers are taken as the nearest of
    /// these.
    pub fn new(flows: u32, rules: HoldRules) -> SampleHold<T> {
        SampleHold {
            held: FlowTable::new(flows),
            matches: FlowTable::new(Self::matching(flows, &rules)),
            cache: Vec::with_capacity(rules.cache as usize),
            rules,
        }
    }

    fn matching(flows: u32, rules: &HoldRules) -> u32 {
        if rules.stages > 1 { flows } else { 1 }
    }

    /// What it takes for so many flows, in bytes.
    pub fn bytes(flows: u32, rules: &HoldRules) -> u64 {
        let matches = FlowTable::<u32>::state_bytes(Self::matching(flows, rules));
        FlowTable::<T>::state_bytes(flows)
            + matches
            + rules.cache as u64 * core::mem::size_of::<u64>() as u64
    }

    /// How many flows are held.
    pub fn len(&self) -> u32 {
        self.held.len()
    }

    /// Whether none is held.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// The slot of `flow`, if it is held.
    #[inline]
    pub fn find(&self, flow: u64) -> Option<u32> {
        self.held.find(flow)
    }

    /// A packet of `len` bytes of `flow`, which is not held, arrives and is sampled with a chance
    /// of `p` per byte: whether the flow is to be held now. Rolls one die, and up to three more
    /// for a packet that is sampled or cached.
    pub fn identify(&mut self, flow: u64, len: u32, p: f64, dice: &mut Rng) -> bool {
        let sampled = is_sampled(dice.uniform(), p, len);
        if self.rules.stages == 0 {
            return sampled;
        }
        let found = sampled && self.is_match(flow, dice) && self.count_match(flow);
        if (sampled || self.rules.insert == Insert::Every) && dice.chance(self.rules.insertion) {
            self.remember(flow, dice);
        }
        found
    }

    /// `flow` is held from now on; `None` if there is no room.
    pub fn hold(&mut self, flow: u64, state: T) -> Option<u32> {
        self.held.insert(flow, state)
    }

    /// The interval is over: asks `keep` of each flow that is held whether it shall be on, and
    /// forgets all matches.
    pub fn retain(&mut self, keep: impl FnMut(u64, &mut T) -> bool) {
        self.held.retain(keep);
        if !self.matches.is_empty() {
            self.matches.retain(|_, _| false);
        }
    }

    /// Every flow that is held.
    pub fn states(&self) -> impl Iterator<Item = &T> {
        self.held.states()
    }

    /// The same, to be changed.
    pub fn states_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.held.states_mut()
    }

    /// Every flow that is held, with its number.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.held.iter()
    }

    fn is_match(&self, flow: u64, dice: &mut Rng) -> bool {
        !self.cache.is_empty() && self.cache[dice.below(self.cache.len() as u64) as usize] == flow
    }

    /// Whether this match of `flow` is its k-th. Matches that find no room are not counted.
    fn count_match(&mut self, flow: u64) -> bool {
        if self.rules.stages <= 1 {
            return true;
        }
        let slot = self.matches.find(flow).or_else(|| self.matches.insert(flow, 0));
        let Some(slot) = slot else { return false };
        self.matches[slot] += 1;
        let is_last = self.matches[slot] == self.rules.stages;
        if is_last {
            self.matches.remove(slot);
        }
        is_last
    }

    fn remember(&mut self, flow: u64, dice: &mut Rng) {
        if self.cache.len() < self.rules.cache as usize {
            self.cache.push(flow);
        } else if !self.cache.is_empty() {
            let place = dice.below(self.cache.len() as u64) as usize;
            self.cache[place] = flow;
        }
    }
}

impl<T: Copy> Index<u32> for SampleHold<T> {
    type Output = T;
    #[inline]
    fn index(&self, slot: u32) -> &T {
        &self.held[slot]
    }
}

impl<T: Copy> IndexMut<u32> for SampleHold<T> {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut T {
        &mut self.held[slot]
    }
}

/// Whether a packet of `len` bytes is sampled by `die`, each byte with a chance of `p`: die < 1 −
/// (1 − p)^len. That lies between p·len − (p·len)²/2 and p·len, so that few dice pay for the exact
/// value.
#[inline]
fn is_sampled(die: f64, p: f64, len: u32) -> bool {
    let most = p * len as f64;
    if die >= most {
        return false;
    }
    die < most - 0.5 * most * most || die < of_packet(p, len as f64)
}

/// The chance of a packet of `len` bytes with `p` per byte: 1 − (1 − p)^len.
fn of_packet(p: f64, len: f64) -> f64 {
    -libm::expm1(len * libm::log1p(-p))
}

/// The chance per byte with which a flow is missed in an interval with a chance of `miss`. The flow
/// has `packets` packets of `len` bytes in it and the part `share` of the cache, and `stages`
/// matches are needed. 1 where no chance is enough.
///
/// ```
/// use tidegate::parts::sample_hold::{chance_per_byte};
/// let p = chance_per_byte(0.1, 208, 1.0 / 3.0, 1, 1000.0); // a third of 5 Mbit/s for a second
/// assert!((p - 3.36e-5).abs() < 1e-7);
/// ```
pub fn chance_per_byte(miss: f64, packets: u64, share: f64, stages: u32, len: f64) -> f64 {
    // The chance of missing falls with that of a packet; 200 halvings leave nothing of the
    // interval.
    let (mut low, mut high) = (0.0, 1.0);
    if missed(packets, share, stages) >= miss {
        return 1.0;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if missed(packets, middle * share, stages) > miss { low = middle } else { high = middle }
    }
    -libm::expm1(libm::log1p(-high) / len)
}

/// The chance of fewer than `stages` matches among `packets`, each with chance `chance`: a
/// binomial's lower tail.
fn missed(packets: u64, chance: f64, stages: u32) -> f64 {
    if chance >= 1.0 {
        return if packets < stages as u64 { 1.0 } else { 0.0 };
    }
    let mut term = libm::exp(packets as f64 * libm::log1p(-chance));
    let (mut sum, odds) = (term, chance / (1.0 - chance));
    for n in 1..stages as u64 {
        if n > packets {
            break;
        }
        term *= (packets - n + 1) as f64 / n as f64 * odds;
        sum += term;
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bounds never decide otherwise than the exact value does.
    #[test]
    fn samples_by_the_byte() {
        let mut dice = Rng::from_seed(3);
        for p in [0.0, 1e-9, 3.4e-5, 1e-3, 0.3, 1.0] {
            for _ in 0..20_000 {
                let len = 1 + dice.below(9000) as u32;
                let exact = 1.0 - libm::pow(1.0 - p, len as f64);
                let die = dice.uniform() * (2.0 * exact).clamp(1e-9, 1.0);
                if (die - exact).abs() > 1e-12 {
                    assert_eq!(is_sampled(die, p, len), die < exact, "{p} {len} {die}");
                }
            }
        }
    }

    /// The specimen values: 5 Mbit/s among 3 and 10 Mbit/s among 5, a miss of 10 %; and k = 3
    /// against the sum written out.
    #[test]
    fn golden_chances() {
        for (packets, share, s, p) in
            [(208, 1.0 / 3.0, 0.0330, 3.36e-5), (250, 0.2, 0.0458, 4.69e-5)]
        {
            let ours = chance_per_byte(0.1, packets, share, 1, 1000.0);
            assert!((of_packet(ours, 1000.0) - s).abs() < 5e-5, "{}", of_packet(ours, 1000.0));
            assert!((ours - p).abs() < 1e-7, "{ours}");
            let closed = (1.0 - libm::pow(0.1, 1.0 / packets as f64)) / share;
            assert!((of_packet(ours, 1000.0) / closed - 1.0).abs() < 1e-9);
        }
        let (n, x): (f64, f64) = (50.0, 0.07);
        let power = |k: i32| libm::pow(x, k as f64) * libm::pow(1.0 - x, n - k as f64);
        let sum = power(0) + n * power(1) + n * (n - 1.0) / 2.0 * power(2);
        assert!((missed(50, x, 3) / sum - 1.0).abs() < 1e-12);
        assert_eq!(chance_per_byte(0.1, 2, 0.5, 3, 1000.0), 1.0, "two packets never match thrice");
        assert_eq!(chance_per_byte(0.0, 100, 0.5, 1, 1000.0), 1.0);
        // Alone in the cache whatever is sampled matches; of packets of a byte p is the chance
        // itself.
        for (packets, stages, p) in
            [(1, 1, 0.9), (2, 1, 1.0 - libm::sqrt(0.1)), (2, 2, libm::sqrt(0.9)), (1, 2, 1.0)]
        {
            let ours = chance_per_byte(0.1, packets, 1.0, stages, 1.0);
            assert!((ours - p).abs() < 1e-12, "{packets} packets, {stages} stages: {ours}");
        }
    }

    /// Counts in how many of `runs` intervals a flow with half of all packets is not found, with p
    /// set for `miss`. The cache is warm, and its packets are half the flow's, which is held fixed
    /// (p_c = 0). Binomial, z test, false alarm 1e-6.
    fn misses(stages: u32, packets: u64, miss: f64, len: u32) {
        let p = chance_per_byte(miss, packets, 0.5, stages, len as f64);
        let mut dice = Rng::from_seed(stages as u64);
        let warm = HoldRules { stages, cache: 100, insertion: 1.0, insert: Insert::Every };
        let mut flows: SampleHold<()> = SampleHold::new(4, warm);
        (0..100).for_each(|n| flows.remember(n % 2, &mut dice));
        flows.rules.insertion = 0.0;
        let (runs, mut missed) = (20_000, 0);
        for _ in 0..runs {
            let found = (0..packets).any(|_| flows.identify(0, len, p, &mut dice));
            missed += u64::from(!found);
            flows.retain(|_, _| false);
        }
        let (n, expected) = (runs as f64, runs as f64 * miss);
        let z = (missed as f64 - expected) / libm::sqrt(n * miss * (1.0 - miss));
        assert!(z.abs() < 4.892, "k = {stages}: {missed} missed, {expected} expected");
    }

    #[test]
    fn flows_are_missed_as_often_as_designed() {
        misses(1, 208, 0.1, 1000);
        misses(1, 50, 0.5, 100);
        misses(2, 208, 0.1, 1000);
        misses(4, 300, 0.02, 1500);
    }

    /// Without match-hit a flow of T bytes is missed with (1 − p)^T (estan2002), however it is cut
    /// into packets. That is one stage and a cache of nothing but the flow itself.
    #[test]
    fn sample_and_hold_by_bytes() {
        let (p, bytes) = (1e-4, 20_000_u32);
        let exact = libm::pow(1.0 - p, bytes as f64);
        for len in [40, 1000, 20_000] {
            let mut dice = Rng::from_seed(len as u64);
            let rules = HoldRules { cache: 1, insertion: 0.0, ..HoldRules::default() };
            let mut flows: SampleHold<()> = SampleHold::new(1, rules);
            flows.remember(7, &mut dice);
            let (runs, mut missed) = (20_000, 0);
            for _ in 0..runs {
                missed +=
                    u64::from(!(0..bytes / len).any(|_| flows.identify(7, len, p, &mut dice)));
            }
            let n = runs as f64;
            let z = (missed as f64 - n * exact) / libm::sqrt(n * exact * (1.0 - exact));
            assert!(z.abs() < 4.892, "{len}: {missed} missed, {} expected", n * exact);
        }
    }

    /// More stages find small flows less: two flows with 1/2 and 1/50 of the packets, the rest a
    /// packet each. The ratio of how often they are found in an interval falls with every
    /// stage.
    #[test]
    fn stages_spare_the_small() {
        let mut ratios = Vec::new();
        for stages in 1..=3 {
            let p = chance_per_byte(0.1, 500, 0.5, stages, 1000.0);
            let mut dice = Rng::from_seed(5);
            let mut flows: SampleHold<()> =
                SampleHold::new(1_000, HoldRules { stages, ..HoldRules::default() });
            let mut found = [0, 0];
            for n in 0..2_000_000_u64 {
                let u = dice.uniform();
                let flow =
                    if u < 0.5 { 0 } else { u64::from(u < 0.52) + 2 * n * u64::from(u >= 0.52) };
                if flows.find(flow).is_none() && flows.identify(flow, 1000, p, &mut dice) {
                    flows.hold(flow, ());
                    if flow < 2 {
                        found[flow as usize] += 1;
                    }
                }
                if n % 1000 == 999 {
                    flows.retain(|_, _| false);
                }
            }
            assert!(found[0] > 1_500, "{found:?} in 2000 intervals");
            ratios.push(found[1] as f64 / found[0] as f64);
        }
        assert!(
            ratios[0] < 0.05 && ratios[1] < 0.3 * ratios[0] && ratios[2] <= 0.3 * ratios[1],
            "{ratios:?}"
        );
    }

    /// Forged flows fill tables and cache and no more.
    #[test]
    fn memory_is_bounded() {
        let rules = HoldRules { stages: 2, cache: 50, insertion: 1.0, insert: Insert::Every };
        let (mut flows, mut dice): (SampleHold<u64>, _) =
            (SampleHold::new(10, rules), Rng::from_seed(1));
        for n in 0..200_000_u64 {
            let flow = n / 100;
            if flows.find(flow).is_none() && flows.identify(flow, 1000, 1.0, &mut dice) {
                flows.hold(flow, n);
            }
        }
        assert_eq!((flows.len(), flows.cache.len(), flows.states().count()), (10, 50, 10));
        assert!(flows.matches.len() <= 10);
        flows.retain(|flow, _| flow % 2 == 0);
        assert!((1..10).contains(&flows.len()) && flows.matches.is_empty());
        let again = (0..1_000)
            .any(|_| flows.find(9_999).is_none() && flows.identify(9_999, 1000, 1.0, &mut dice));
        assert!(again, "who comes later is found");
    }
}
