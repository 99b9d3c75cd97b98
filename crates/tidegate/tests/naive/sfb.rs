//! SFB read straight from feng2001 (Fig. 1 and §III-D), in floats and vectors of vectors. Time has the unit that whoever
//! drives it likes.
//!
//! Written to be plainly right, not fast. It holds the bins, the token bucket and a list of what waits; whoever
//! drives it rolls the dice and says which packets got in. The paper leaves the hash functions open, so they come
//! in from outside: `hash(generation, level, flow)` is a bin, and generation g + 1 follows g at each rehash.
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DropRule {
    /// Drop if any of the flow's bins is full (Fig. 1 to the letter).
    Any,
    /// Drop if all of them are.
    Min,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rehash {
    Off,
    Moving,
    Double,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    pub levels: usize,
    pub bins: usize,
    pub bin_size: u32,
    pub d_up: f64,
    pub d_down: f64,
    pub drop_rule: DropRule,
    /// Bytes per unit of time that all penalised flows share.
    pub penalty_rate: f64,
    /// Bytes that the token bucket holds.
    pub penalty_depth: f64,
    pub rehash: Rehash,
    /// Time from one rehash to the next.
    pub rehash_interval: f64,
    /// So long before a rehash in which the second set of bins learns.
    pub warm_up: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bin {
    pub qlen: u32,
    pub p_m: f64,
}

/// What Fig. 1 says of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Said {
    /// Drop it: its bins are full.
    Full,
    /// p_min is 1: let it in if this many bytes of tokens cover it.
    Penalty { tokens: f64 },
    /// Mark or drop it with probability p_min.
    Coin { p_min: f64 },
}

type Hash = Box<dyn Fn(usize, usize, u64) -> usize>;

pub struct NaiveSfb {
    pub setting: Setting,
    hash: Hash,
    pub generation: usize,
    pub active: Vec<Vec<Bin>>,
    /// The second set of bins, one generation ahead (§III-D); its qlen stay 0.
    pub warming: Vec<Vec<Bin>>,
    /// What waits: the generation it was counted under, and its bin on each level.
    waiting: VecDeque<(usize, Vec<usize>)>,
    tokens: f64,
    tokens_at: f64,
    next_rehash: f64,
}

/// Sums of steps such as .008 miss 1 by rounding; this near is 1.
const ONE: f64 = 1.0 - 1e-9;

impl NaiveSfb {
    pub fn new(setting: Setting, hash: impl Fn(usize, usize, u64) -> usize + 'static) -> NaiveSfb {
        let empty = vec![vec![Bin::default(); setting.bins]; setting.levels];
        NaiveSfb {
            setting,
            hash: Box::new(hash),
            generation: 0,
            active: empty.clone(),
            warming: empty,
            waiting: VecDeque::new(),
            tokens: setting.penalty_depth,
            tokens_at: 0.0,
            next_rehash: if setting.rehash == Rehash::Off { f64::INFINITY } else { setting.rehash_interval },
        }
    }

    /// Does what has fallen due by `now`.
    pub fn advance(&mut self, now: f64) {
        while now >= self.next_rehash {
            let empty = vec![vec![Bin::default(); self.setting.bins]; self.setting.levels];
            self.active = match self.setting.rehash {
                Rehash::Double => std::mem::replace(&mut self.warming, empty),
                _ => empty,
            };
            self.generation += 1;
            self.next_rehash += self.setting.rehash_interval;
        }
    }

    /// A packet of `flow` arrives: Fig. 1, up to the roll of the dice.
    pub fn arrive(&mut self, now: f64, flow: u64) -> Said {
        self.advance(now);
        let mut full = 0;
        let mut p_min: f64 = 1.0;
        for level in 0..self.setting.levels {
            let bin = &mut self.active[level][(self.hash)(self.generation, level, flow)];
            if bin.qlen > self.setting.bin_size {
                bin.p_m = (bin.p_m + self.setting.d_up).min(1.0);
                full += 1;
            } else if bin.qlen == 0 {
                bin.p_m = (bin.p_m - self.setting.d_down).max(0.0);
            }
            p_min = p_min.min(bin.p_m);
        }
        let penalised = p_min >= ONE;
        if penalised && self.setting.rehash == Rehash::Double && now >= self.next_rehash - self.setting.warm_up {
            for level in 0..self.setting.levels {
                let bin = &mut self.warming[level][(self.hash)(self.generation + 1, level, flow)];
                bin.p_m = (bin.p_m + self.setting.d_up).min(1.0);
            }
        }
        let drop = match self.setting.drop_rule {
            DropRule::Any => full > 0,
            DropRule::Min => full == self.setting.levels,
        };
        if drop {
            return Said::Full;
        }
        if penalised {
            self.tokens += (now - self.tokens_at) * self.setting.penalty_rate;
            self.tokens = self.tokens.min(self.setting.penalty_depth);
            self.tokens_at = now;
            return Said::Penalty { tokens: self.tokens };
        }
        Said::Coin { p_min }
    }

    /// The packet got in; `paid` bytes of tokens if it was penalised.
    pub fn enqueue(&mut self, flow: u64, paid: f64) {
        self.tokens -= paid;
        let places: Vec<usize> =
            (0..self.setting.levels).map(|level| (self.hash)(self.generation, level, flow)).collect();
        for (level, &place) in places.iter().enumerate() {
            self.active[level][place].qlen += 1;
        }
        self.waiting.push_back((self.generation, places));
    }

    /// The head of the line leaves. Bins that it was never counted in do not change.
    pub fn depart(&mut self, now: f64) {
        self.advance(now);
        let (generation, places) = self.waiting.pop_front().expect("something waits");
        if generation == self.generation {
            for (level, &place) in places.iter().enumerate() {
                self.active[level][place].qlen -= 1;
            }
        }
    }
}
