//! The controller (deschepper2023 appendices A.1, A.2).
use super::DualPi2Config;
use crate::parts::every::Every;
use crate::units::{Span, Time};

/// Updates that are made one by one, however many are overdue, as in PIE: on an idle link the
/// paper's constants take the probability from 1 to 0 in 445.
const MOST_UPDATES: u64 = 4096;

/// The controller, and what follows from its base probability.
#[derive(Clone, Debug)]
pub(super) struct BaseControl {
    pub every: Every,
    /// In seconds.
    target: f64,
    alpha: f64,
    beta: f64,
    k: f64,
    p_max: f64,
    /// The base probability p'.
    pub p: f64,
    /// The delay at the last update, in seconds.
    pub previous: f64,
    /// p_C and p_CL.
    pub classic: f64,
    pub coupled: f64,
    /// Whether p_C and p_CL have reached their maxima: marks no longer help.
    pub overloaded: bool,
}

impl BaseControl {
    pub fn new(config: &DualPi2Config) -> BaseControl {
        BaseControl {
            every: Every::new(config.tupdate),
            target: config.target.as_secs(),
            alpha: config.alpha,
            beta: config.beta,
            k: config.coupling_factor,
            p_max: config.p_max.get(),
            p: 0.0,
            previous: 0.0,
            classic: 0.0,
            coupled: 0.0,
            overloaded: false,
        }
    }

    /// Makes the updates that are due by `now`; the first packet of the one queue and of the other
    /// came at `heads`.
    #[cold]
    pub fn overdue(&mut self, now: Time, heads: [Option<Time>; 2]) {
        let overdue = self.every.overdue(now);
        for _ in 0..overdue.min(MOST_UPDATES) {
            let before = (self.p, self.previous);
            let Some(at) = self.every.step(now) else { break };
            self.update(heads, at);
            if heads == [None; 2] && before == (self.p, self.previous) {
                break; // and so it would be for all that are left
            }
        }
        self.every.skip(self.every.overdue(now));
        self.classic = self.p * self.p;
        self.coupled = (self.k * self.p).min(1.0);
        // p_Cmax is 1/k² and p_Lmax 1, or 1 and k if k is below 1 (appendix A.1).
        self.overloaded = self.p >= (1.0 / self.k).min(1.0);
    }

    /// One update (appendix A.1); the longer of the two delays counts (A.2).
    fn update(&mut self, heads: [Option<Time>; 2], at: Time) {
        let longest = heads.iter().flatten().map(|&came| at.since(came)).max();
        let delay = longest.unwrap_or(Span::ZERO).as_secs();
        self.p += self.alpha * (delay - self.target) + self.beta * (delay - self.previous);
        self.p = self.p.clamp(0.0, self.p_max);
        self.previous = delay;
    }
}
