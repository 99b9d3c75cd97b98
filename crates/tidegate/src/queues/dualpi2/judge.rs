//! How likely a delay makes a mark, and how a probability becomes a decision.
use super::Decide;
use crate::rng::Rng;
use crate::units::Span;

/// The native AQM of the L queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct LowLatencyRamp {
    pub from: Span,
    pub to: Span,
}

impl LowLatencyRamp {
    /// How likely a packet is marked that waited for `delay`.
    #[inline]
    pub fn at(&self, delay: Span) -> f64 {
        if delay >= self.to {
            1.0
        } else if delay > self.from {
            (delay - self.from).as_nanos() as f64 / (self.to - self.from).as_nanos() as f64
        } else {
            0.0
        }
    }
}

/// Turns probabilities into decisions.
#[derive(Clone, Debug)]
pub(super) struct Judge {
    pub decide: Decide,
    /// What has been added up, by line.
    pub sums: [f64; 2],
    pub dice: Rng,
}

impl Judge {
    /// Whether what is as likely as `p` happens to a packet of `line`.
    #[inline]
    pub fn happens(&mut self, line: usize, p: f64) -> bool {
        if self.decide == Decide::Dice {
            return self.dice.chance(p);
        }
        let sum = &mut self.sums[line];
        *sum += p;
        let happens = *sum > 1.0;
        if happens {
            *sum -= 1.0;
        }
        happens
    }
}
