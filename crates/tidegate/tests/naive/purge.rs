//! Purge read straight from its paper (§3, eqs. (1) to (4), with their lost signs), in floats and
//! bits.

use super::hits::NaiveHits;

/// What Purge would do with a packet that finds room.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Said {
    /// Mark with this probability.
    Mark(f64),
    /// Drop with this probability.
    Drop(f64),
}

/// Which packets' flows are counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Count {
    Offered,
    Admitted,
}

/// What the excess over the fair share multiplies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Own {
    /// gamma W, as printed in eq. (3).
    Mismatch,
    /// A price for offenders, of this gain a second and at most this high.
    Price { gain: f64, ceiling: f64 },
}

/// What becomes of the hit fractions while nothing is sampled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Memory {
    Hold,
    /// Nobody is purged up to b*.
    Gate,
    /// They halve.
    Fade,
}

/// How many waiting packets the push-out looks at.
const REACH: usize = 256;

/// The least price for offenders.
const FLOOR: f64 = 1e-7;

#[derive(Clone, Debug)]
pub struct NaivePurge {
    pub alpha: f64,
    pub gamma: f64,
    pub phi: f64,
    /// b*, in bits.
    pub target: f64,
    /// The link's rate, in bit/s.
    pub capacity: f64,
    /// Bits of a mean packet: the unit of the price.
    pub packet: f64,
    /// Seconds of a price period and of a hit period.
    pub price_period: f64,
    pub period: f64,
    pub persist: u32,
    pub memory: Memory,
    pub push_out: bool,
    /// Whether flows up to their share are spared the common price while offenders pay.
    pub spare: bool,
    /// Whether a sampled packet counts for its length.
    pub weigh_bytes: bool,

    pub own: Own,
    /// The price for offenders: the chance to pass falls by e for each of it.
    pub offenders_price: f64,
    /// Bits offered since the last price update.
    pub offered_since: f64,
    /// Whether the hit fractions have a clock of their own.
    pub separate_updates: bool,
    /// Whether the count of flows begins anew in each period.
    pub count_anew: bool,

    pub price: f64,
    /// Bits let in since the last price update.
    pub admitted: f64,
    /// Bits offered in this period.
    pub offered: f64,
    pub input: f64,
    pub overload_run: u32,
    pub cache: NaiveHits,
    pub count: Count,
    /// The flows of what was counted in this period.
    pub seen: Vec<u64>,
    pub flows: f64,
}

impl NaivePurge {
    /// A packet is offered, whatever becomes of it.
    pub fn offer(&mut self, flow: u64, bits: f64) {
        self.offered += bits;
        self.offered_since += bits;
        if self.count == Count::Offered {
            self.seen.push(flow);
        }
    }

    /// It was let in.
    pub fn let_in(&mut self, flow: u64, bits: f64) {
        self.admitted += bits;
        if self.count == Count::Admitted {
            self.seen.push(flow);
        }
    }

    /// Eq. (1), in mean packets per price period, over what was let in.
    pub fn price_update(&mut self, backlog: f64) {
        let capacity = self.capacity * self.price_period / self.packet;
        let mismatch = self.alpha * (backlog - self.target) / self.packet
            + self.admitted / self.packet
            - capacity;
        self.price = (self.price + self.gamma * mismatch).max(0.0);
        self.admitted = 0.0;
        if let Own::Price { gain, ceiling } = self.own {
            let capacity = self.capacity * self.price_period;
            let overload = (self.offered_since - capacity) / capacity;
            let w = overload.min(10.0) + self.alpha * (backlog - self.target) / self.target;
            let next = self.offenders_price * libm::exp(gain * w * self.price_period);
            self.offenders_price = next.clamp(FLOOR, ceiling);
        }
        self.offered_since = 0.0;
    }

    /// Eq. (2).
    pub fn end_of_sampling(&mut self) {
        let sampled = self.cache.samplings > 0.0;
        self.cache.end_of_period();
        if self.memory == Memory::Fade && !sampled {
            self.cache.list.iter_mut().for_each(|cached| cached.fraction *= 0.5);
        }
    }

    /// The period ends: eq. (2), the number of flows (here counted one by one), the input rate of
    /// eq. (3).
    pub fn end_of_period(&mut self) {
        if !self.separate_updates {
            self.end_of_sampling();
        }
        self.seen.sort();
        self.seen.dedup();
        self.flows = self.seen.len() as f64;
        if self.count_anew {
            self.seen.clear();
        }
        self.input = self.offered / self.period;
        self.offered = 0.0;
        self.overload_run = if self.input > self.capacity { self.overload_run + 1 } else { 0 };
    }

    /// The weighted sum of the mismatches in eq. (3), in bits and bit/s.
    pub fn mismatch(&self, backlog: f64) -> f64 {
        self.alpha * (backlog - self.target) + self.input - self.capacity
    }

    /// Whether a flow has more than its share.
    fn is_above(&self, flow: u64) -> bool {
        self.flows > 0.0 && self.cache.fraction(flow) > 1.0 / self.flows
    }

    /// d_i of eq. (3) for `flow` with `backlog` bits waiting, if it is above its share of an
    /// overloaded link.
    pub fn own_price(&self, flow: u64, backlog: f64) -> Option<f64> {
        let fraction = self.cache.fraction(flow);
        let w = self.mismatch(backlog);
        let overloaded = w > 0.0 || self.own != Own::Mismatch;
        let gated = self.memory == Memory::Gate && backlog <= self.target;
        let above = self.is_above(flow);
        let per_excess = match self.own {
            Own::Mismatch => self.gamma * w,
            Own::Price { .. } => self.offenders_price / libm::log(self.phi),
        };
        (above && overloaded && !gated).then_some((fraction * self.flows - 1.0) * per_excess)
    }

    /// A packet of `flow` with `backlog` bits waiting.
    pub fn judge(&self, flow: u64, backlog: f64) -> Said {
        let by = |price: f64| 1.0 - libm::pow(self.phi, -price);
        match self.own_price(flow, backlog) {
            Some(d) if self.overload_run >= self.persist => Said::Drop(by(d)),
            Some(d) => Said::Mark(by(d.max(self.price))),
            None if self.spare && !self.is_above(flow) => {
                let of_offenders = self.offenders_price / libm::log(self.phi);
                Said::Mark(by((self.price - of_offenders).max(0.0)))
            }
            None => Said::Mark(by(self.price)),
        }
    }

    /// Who makes room, of these waiting flows, `backlog` bits: the newest that is above its share.
    pub fn make_room(&self, waiting: &[u64], backlog: f64) -> Option<usize> {
        let reach = waiting.len().saturating_sub(REACH)..waiting.len();
        let newest = reach.rev().find(|&at| self.own_price(waiting[at], backlog).is_some());
        newest.filter(|_| self.push_out)
    }
}
