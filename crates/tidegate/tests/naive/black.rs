//! BLACK as §2 and §3 of the Purge paper describe it, in floats; RED beside it has a twin of its
//! own.

use super::hits::NaiveHits;

#[derive(Clone, Debug)]
pub struct NaiveBlack {
    pub cache: NaiveHits,
    pub matches: f64,
    pub flows: f64,
    /// A period ends with so many samplings; 0: when the driver says so.
    pub period: f64,
    /// q_th: with more waiting it samples. In packets or bytes, as the driver counts what waits.
    pub threshold: f64,
    /// When it judges.
    pub judges: Judges,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Judges {
    /// While it samples.
    Above,
    /// Always, by hit fractions that may be old.
    Always,
}

impl NaiveBlack {
    pub fn new(most: usize) -> NaiveBlack {
        NaiveBlack {
            cache: NaiveHits::new(most),
            matches: 0.0,
            flows: 0.0,
            period: 0.0,
            threshold: 0.0,
            judges: Judges::Above,
        }
    }

    /// Whether an arrival that finds so much waiting draws a packet of it.
    pub fn samples(&self, waiting: f64) -> bool {
        waiting > self.threshold
    }

    /// A packet of `flow` finds the queue above the threshold and a packet of `sampled` is drawn
    /// from it.
    pub fn sample(&mut self, flow: u64, sampled: u64) {
        self.cache.hit(sampled);
        if flow == sampled {
            self.matches += 1.0;
        }
        if self.period > 0.0 && self.cache.samplings == self.period {
            self.end_of_period();
        }
    }

    /// The number of flows is samplings over matches.
    pub fn end_of_period(&mut self) {
        if self.matches > 0.0 {
            self.flows = self.cache.samplings / self.matches;
        }
        self.matches = 0.0;
        self.cache.end_of_period();
    }

    /// The probability with which a packet of `flow` that finds so much waiting is dropped as one
    /// of a high-bandwidth flow; `None` for others.
    pub fn drop(&self, flow: u64, waiting: f64) -> Option<f64> {
        if self.judges == Judges::Above && !self.samples(waiting) {
            return None;
        }
        let fraction = self.cache.fraction(flow);
        if self.flows > 0.0 && fraction > 1.0 / self.flows {
            Some((fraction * self.flows - 1.0).clamp(0.0, 1.0))
        } else {
            None
        }
    }
}
