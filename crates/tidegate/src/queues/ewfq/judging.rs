//! What the controllers of `ewfq` measure, and whom they judge.
use super::*;
use crate::units::{Span, Time};

/// What held classes send, towards r_fair: C = sum of min(r_i, r_fair w_i).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeldLoad {
    /// All that they sent, and the most of one by weight.
    pub(super) sent: f64,
    pub(super) largest: f64,
    /// Their weights.
    pub(super) weights: f64,
    /// Of those who sent no more than the last r_fair, by weight: what they sent, and their
    /// weights.
    pub(super) below: f64,
    pub(super) weights_below: f64,
}

impl HeldLoad {
    #[inline]
    pub(super) fn add(&mut self, sent: f64, per_weight: f64, r_fair: f64) {
        let (by_weight, weight) = (sent * per_weight, 1.0 / per_weight);
        self.sent += sent;
        self.largest = self.largest.max(by_weight);
        self.weights += weight;
        if by_weight <= r_fair {
            self.below += sent;
            self.weights_below += weight;
        }
    }

    /// A step of Newton's towards the r_fair with which `link` is used up. From below as from above
    /// it ends below it, and no lower than an equal part for everybody. If all together send less
    /// than that, the largest.
    pub(super) fn r_fair(&self, link: f64) -> f64 {
        if self.sent <= link {
            return self.largest;
        }
        let (equal, above) = (link / self.weights, self.weights - self.weights_below);
        // The least weight is 1.
        if above > 0.5 { ((link - self.below) / above).max(equal) } else { equal }
    }
}

/// By what a held class is judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judging {
    pub(super) window: JudgedOver,
    pub(super) settle: Span,
    /// t_i in seconds.
    pub(super) interval: f64,
}

impl Judging {
    /// What a class sent in t_i as far as it is known.
    #[inline]
    pub(super) fn sent(&self, now: Time, held: &HeldClass) -> Option<f64> {
        match self.window {
            JudgedOver::Whole if held.sent.is_none() => self.at_its_pace(now, held),
            JudgedOver::Whole | JudgedOver::Sliding => held.sent,
        }
    }

    /// The same of a class that was found lately; `None` if that was just now.
    #[inline]
    pub(super) fn at_its_pace(&self, now: Time, held: &HeldClass) -> Option<f64> {
        let elapsed = now.since(held.since);
        (elapsed >= self.settle).then(|| held.bytes as f64 * self.interval / elapsed.as_secs())
    }

    /// What a class sent in the interval that ends now: as counted, or with a window that slides,
    /// of a class that was found in it, at its pace; `None` if it was found just now.
    pub(super) fn of_interval(&self, now: Time, held: &HeldClass) -> Option<f64> {
        match self.window {
            JudgedOver::Sliding if held.before.is_none() => self.at_its_pace(now, held),
            JudgedOver::Whole | JudgedOver::Sliding => Some(held.bytes as f64),
        }
    }
}
