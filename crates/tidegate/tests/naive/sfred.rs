//! SFRED as feng2001 §III-A and §III-B describe it in three sentences: SFB's bins, in each
//! self-configuring RED's max_p (feng1999), around one RED for the queue. Written to be plainly
//! right, not fast.
//!
//! What the paper leaves open is ours, as the manual page has it. Hash functions come in from
//! outside, `hash(level, flow)`; the driver rolls the dice and says who got in. Time in
//! nanoseconds.
use std::collections::VecDeque;

use super::feng_red::Status;
use super::red::{NaiveRed, Said as RedSaid, is_near};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    pub levels: usize,
    pub bins: usize,
    /// Thresholds of a bin's average, in packets, and its weight.
    pub bin_min: f64,
    pub bin_max: f64,
    pub bin_weight: f64,
    pub alpha: f64,
    pub beta: f64,
    pub floor: f64,
    /// Whether max_p is scaled once per crossing; else at every arrival.
    pub once: bool,
    /// max_p at the beginning.
    pub max_p: f64,
    /// Bytes per nanosecond, and bytes.
    pub penalty_rate: f64,
    pub penalty_depth: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    pub qlen: u32,
    pub avg: f64,
    pub max_p: f64,
    pub status: Status,
}

/// What is to become of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Said {
    /// Its least max_p is 1: let it in if this many bytes of tokens cover it.
    Penalty { tokens: f64 },
    /// What RED says with the flow's max_p.
    Red(RedSaid),
}

pub struct NaiveSfred {
    pub setting: Setting,
    hash: Box<dyn Fn(usize, u64) -> usize>,
    pub bins: Vec<Vec<Bin>>,
    pub red: NaiveRed,
    /// Places of what waits.
    waiting: VecDeque<Vec<usize>>,
    tokens: f64,
    tokens_at: f64,
}

impl NaiveSfred {
    pub fn new(
        setting: Setting,
        red: NaiveRed,
        hash: impl Fn(usize, u64) -> usize + 'static,
    ) -> NaiveSfred {
        let bin = Bin { qlen: 0, avg: 0.0, max_p: setting.max_p, status: Status::Below };
        NaiveSfred {
            setting,
            hash: Box::new(hash),
            bins: vec![vec![bin; setting.bins]; setting.levels],
            red,
            waiting: VecDeque::new(),
            tokens: setting.penalty_depth,
            tokens_at: 0.0,
        }
    }

    /// The bins of the arriving packet hear of it, and max_p is scaled in those whose average
    /// leaves the thresholds. Returns the least.
    fn look(&mut self, flow: u64) -> f64 {
        let set = self.setting;
        let mut least: f64 = 1.0;
        for level in 0..set.levels {
            let bin = &mut self.bins[level][(self.hash)(level, flow)];
            bin.avg = (1.0 - set.bin_weight) * bin.avg + set.bin_weight * bin.qlen as f64;
            if set.bin_min < bin.avg && bin.avg < set.bin_max {
                bin.status = Status::Between;
            }
            if bin.avg < set.bin_min && (bin.status != Status::Below || !set.once) {
                bin.status = Status::Below;
                bin.max_p = (bin.max_p / set.alpha).max(set.floor);
            }
            if bin.avg > set.bin_max && (bin.status != Status::Above || !set.once) {
                bin.status = Status::Above;
                bin.max_p = (bin.max_p * set.beta).min(1.0);
            }
            least = least.min(bin.max_p);
        }
        least
    }

    /// Whether rounding decides: in RED, whose average is `theirs` for somebody else, or in a bin
    /// of the flow.
    pub fn is_edge(&self, flow: u64, theirs: f64) -> bool {
        let at = |level| &self.bins[level][(self.hash)(level, flow)];
        let near = |bin: &Bin| {
            [self.setting.bin_min, self.setting.bin_max].iter().any(|&edge| is_near(bin.avg, edge))
        };
        self.red.is_edge(theirs)
            || (0..self.setting.levels).any(|level| at(level).avg > 0.0 && near(at(level)))
    }

    /// A packet of `flow` arrives and finds room.
    pub fn arrive(&mut self, now: f64, (packets, bytes): (f64, f64), flow: u64, size: f64) -> Said {
        self.red.estimate(now, packets, bytes);
        let max_p = self.look(flow);
        if max_p == 1.0 {
            self.tokens += (now - self.tokens_at) * self.setting.penalty_rate;
            self.tokens = self.tokens.min(self.setting.penalty_depth);
            self.tokens_at = now;
            return Said::Penalty { tokens: self.tokens };
        }
        self.red.max_p = max_p;
        Said::Red(self.red.judge(packets, size))
    }

    /// A packet of `flow` arrives and finds none.
    pub fn overflow(&mut self, now: f64, (packets, bytes): (f64, f64), flow: u64) {
        self.red.estimate(now, packets, bytes);
        self.look(flow);
        self.red.overflowed(packets);
    }

    /// It was let in; `paid` bytes of tokens if it was penalised.
    pub fn admitted(&mut self, flow: u64, paid: f64) {
        self.red.admitted();
        self.tokens -= paid;
        let places: Vec<usize> =
            (0..self.setting.levels).map(|level| (self.hash)(level, flow)).collect();
        for (level, &place) in places.iter().enumerate() {
            self.bins[level][place].qlen += 1;
        }
        self.waiting.push_back(places);
    }

    /// The head leaves.
    pub fn depart(&mut self) {
        for (level, place) in
            self.waiting.pop_front().expect("something waits").into_iter().enumerate()
        {
            self.bins[level][place].qlen -= 1;
        }
    }
}
