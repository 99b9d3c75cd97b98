//! BLACK as §2 and §3 of the Purge paper describe it, in floats; RED beside it has a twin of its own.

use super::hits::NaiveHits;

#[derive(Clone, Debug)]
pub struct NaiveBlack {
    pub cache: NaiveHits,
    pub matches: f64,
    pub flows: f64,
    /// A period ends with so many samplings; 0: when it is told to.
    pub period: f64,
}

impl NaiveBlack {
    pub fn new(most: usize) -> NaiveBlack {
        NaiveBlack { cache: NaiveHits::new(most), matches: 0.0, flows: 0.0, period: 0.0 }
    }

    /// A packet of `flow` finds the queue above the threshold and a packet of `sampled` is drawn from it.
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

    /// The probability with which a packet of `flow` is dropped as one of a high-bandwidth flow; `None` for others.
    pub fn drop(&self, flow: u64) -> Option<f64> {
        let fraction = self.cache.fraction(flow);
        if self.flows > 0.0 && fraction > 1.0 / self.flows {
            Some((fraction * self.flows - 1.0).clamp(0.0, 1.0))
        } else {
            None
        }
    }
}
