//! SFB read straight from feng2001 (Fig. 1 and §III-D), in floats and vectors of vectors. Time has
//! the unit that the driver likes.
//!
//! Written to be plainly right, not fast. It holds the bins, the token bucket and a list of what
//! waits; the driver rolls the dice and says which packets got in. The paper leaves the hash
//! functions open, so they come in from outside: `hash(generation, level, flow)` is a bin, and
//! generation g + 1 follows g at each rehash.
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

/// When p_m of a bin falls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fall {
    /// At an arrival that finds it empty (Fig. 1).
    Arrival,
    /// At a departure that empties it (§III-A: when the number of packets drops to zero).
    Departure,
}

/// Whether the penalty box is asked before or after the full bins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Penalty {
    After,
    Before,
}

/// What the penalty box is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PenaltyBox {
    /// A bucket of bytes, saved up in parts.
    Bucket,
    /// So many whole packets; the time since the last refill is forgotten at each refill, be it of
    /// nothing (sch_sfb).
    Whole,
    /// A packet, and then none for as long as the rate gives for one (classq_sfb).
    Spaced,
}

/// Which packets p_min is asked of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Early {
    /// All.
    On,
    /// Those whose bins are full: marked with p_min, else dropped (classq_sfb).
    Full,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    pub levels: usize,
    pub bins: usize,
    pub bin_size: u32,
    /// If above 0, with n bins of its level in use a bin is full beyond this / (this + n - 1) of
    /// the limit.
    pub overbook: f64,
    /// Packets that can wait.
    pub limit: f64,
    /// A bin that holds more than this has packets dropped; never less than `bin_size`.
    pub max: u32,
    pub d_up: f64,
    pub d_down: f64,
    pub fall: Fall,
    /// The least time between two changes of a bin's p_m.
    pub hold: f64,
    pub drop_rule: DropRule,
    pub early: Early,
    /// The p_min from which on a flow is unresponsive.
    pub condemn: f64,
    pub penalty: Penalty,
    /// Whether a packet that the box refuses raises p_m of its bins.
    pub refused_raises: bool,
    pub penalty_box: PenaltyBox,
    /// The length of a packet where the box counts packets.
    pub packet: f64,
    /// Bytes per unit of time that all penalised flows share.
    pub penalty_rate: f64,
    /// Bytes that the token bucket holds.
    pub penalty_depth: f64,
    pub rehash: Rehash,
    /// Time from one rehash to the next.
    pub rehash_interval: f64,
    /// So long before a rehash in which the second set of bins learns.
    pub warm_up: f64,
    /// The greatest p_m that it learns.
    pub warm_cap: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bin {
    pub qlen: u32,
    pub p_m: f64,
    /// p_m changes no more before.
    frozen: f64,
}

impl Bin {
    /// p_m rises or falls by a step, unless it changed a moment ago.
    fn change(&mut self, now: f64, setting: &Setting, step: f64, most: f64) {
        if now >= self.frozen {
            self.p_m = (self.p_m + step).clamp(0.0, most);
            self.frozen = now + setting.hold;
        }
    }
}

/// What Fig. 1 says of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Said {
    /// Drop it: its bins are full.
    Full,
    /// Its bins are full: mark it with probability p_min, if it can be marked, else drop it.
    Judge { p_min: f64 },
    /// p_min is 1: let it in if this many bytes of tokens cover it.
    Penalty { tokens: f64 },
    /// The same where the box counts packets: how many there are, and by how much of one it was
    /// decided.
    Packets { packets: f64, by: f64 },
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
        let setting = match setting.penalty_box {
            PenaltyBox::Whole => {
                let penalty_depth =
                    (setting.penalty_depth / setting.packet).floor() * setting.packet;
                Setting { penalty_depth, ..setting }
            }
            _ => setting,
        };
        NaiveSfb {
            setting,
            hash: Box::new(hash),
            generation: 0,
            active: empty.clone(),
            warming: empty,
            waiting: VecDeque::new(),
            tokens: setting.penalty_depth,
            tokens_at: 0.0,
            next_rehash: if setting.rehash == Rehash::Off {
                f64::INFINITY
            } else {
                setting.rehash_interval
            },
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

    /// A packet of `flow` finds no room, and is an arrival to its bins all the same.
    pub fn overlimit(&mut self, now: f64, flow: u64) {
        self.look(now, flow);
    }

    /// The bins of an arriving packet change: the least p_m, whether it condemns, and whether the
    /// bins are full.
    fn look(&mut self, now: f64, flow: u64) -> (f64, bool, bool) {
        self.advance(now);
        let setting = self.setting;
        let (mut over, mut p_min): (usize, f64) = (0, 1.0);
        for level in 0..setting.levels {
            let in_use = self.active[level].iter().filter(|bin| bin.qlen > 0).count().max(1);
            let bin = &mut self.active[level][(self.hash)(self.generation, level, flow)];
            let overbook = setting.overbook;
            let full = if overbook > 0.0 {
                bin.qlen as f64 * (overbook + (in_use - 1) as f64) > overbook * setting.limit
            } else {
                bin.qlen > setting.bin_size
            };
            if full {
                bin.change(now, &setting, setting.d_up, 1.0);
            } else if bin.qlen == 0 && setting.fall == Fall::Arrival {
                bin.change(now, &setting, -setting.d_down, 1.0);
            }
            let least = if setting.overbook > 0.0 { 0 } else { setting.bin_size };
            over += usize::from(full && bin.qlen > setting.max.max(least));
            p_min = p_min.min(bin.p_m);
        }
        let penalised = p_min >= setting.condemn * ONE;
        if penalised
            && setting.rehash == Rehash::Double
            && now >= self.next_rehash - setting.warm_up
        {
            for level in 0..setting.levels {
                let bin = &mut self.warming[level][(self.hash)(self.generation + 1, level, flow)];
                bin.change(now, &setting, setting.d_up, setting.warm_cap);
            }
        }
        let full = match setting.drop_rule {
            DropRule::Any => over > 0,
            DropRule::Min => over == setting.levels,
        };
        (p_min, penalised, full)
    }

    /// A packet of `flow` arrives: Fig. 1, up to the roll of the dice.
    pub fn arrive(&mut self, now: f64, flow: u64) -> Said {
        let (p_min, penalised, full) = self.look(now, flow);
        let setting = self.setting;
        if penalised && setting.penalty == Penalty::Before {
            return self.ask_the_box(now);
        }
        if full {
            return if setting.early == Early::Full { Said::Judge { p_min } } else { Said::Full };
        }
        if penalised {
            return self.ask_the_box(now);
        }
        Said::Coin { p_min: if setting.early == Early::On { p_min } else { 0.0 } }
    }

    fn ask_the_box(&mut self, now: f64) -> Said {
        let setting = self.setting;
        let earned = (now - self.tokens_at) * setting.penalty_rate;
        match setting.penalty_box {
            PenaltyBox::Bucket => {
                self.tokens = (self.tokens + earned).min(setting.penalty_depth);
                self.tokens_at = now;
                Said::Penalty { tokens: self.tokens }
            }
            PenaltyBox::Whole => {
                let mut by = f64::INFINITY;
                if self.tokens < setting.packet {
                    let packets = earned / setting.packet;
                    by = (packets - packets.round()).abs();
                    self.tokens = (packets.floor() * setting.packet).min(setting.penalty_depth);
                    self.tokens_at = now;
                }
                Said::Packets { packets: self.tokens / setting.packet, by }
            }
            PenaltyBox::Spaced => {
                // The first is let in at once; from then on the last that was let in is what
                // counts.
                let packets = if self.tokens > 0.0 { 1.0 } else { earned / setting.packet };
                Said::Packets { packets, by: (packets - 1.0).abs() }
            }
        }
    }

    /// The packet got in; `paid` bytes of tokens if it was penalised.
    pub fn enqueue(&mut self, flow: u64, paid: f64) {
        self.tokens -= paid;
        self.count(flow);
    }

    /// The same of a penalised packet where the box counts packets.
    pub fn enqueue_penalised(&mut self, now: f64, flow: u64) {
        match self.setting.penalty_box {
            PenaltyBox::Bucket => {}
            PenaltyBox::Whole => self.tokens -= self.setting.packet,
            PenaltyBox::Spaced => (self.tokens, self.tokens_at) = (0.0, now),
        }
        self.count(flow);
    }

    /// The box refused a penalised packet.
    pub fn refuse_penalised(&mut self, now: f64, flow: u64) {
        if self.setting.refused_raises {
            for level in 0..self.setting.levels {
                let bin = &mut self.active[level][(self.hash)(self.generation, level, flow)];
                bin.change(now, &self.setting, self.setting.d_up, 1.0);
            }
        }
    }

    fn count(&mut self, flow: u64) {
        let places: Vec<usize> = (0..self.setting.levels)
            .map(|level| (self.hash)(self.generation, level, flow))
            .collect();
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
                let bin = &mut self.active[level][place];
                bin.qlen -= 1;
                if bin.qlen == 0 && self.setting.fall == Fall::Departure {
                    bin.change(now, &self.setting, -self.setting.d_down, 1.0);
                }
            }
        }
    }
}
