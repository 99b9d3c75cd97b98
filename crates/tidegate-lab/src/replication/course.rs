//! Rates over time, cut into pieces.
use tidegate_sim::Outcome;

/// At most so many pieces of a run are looked at.
const PIECES: usize = 200;

/// Rates over time, warm-up included.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Course {
    /// The length of a piece in seconds.
    pub piece_s: f64,
    /// Each group's rates in bit/s, a piece each.
    pub rates: Vec<Vec<f64>>,
}

impl Course {
    /// The course of `outcome`; empty without a grid of time.
    pub fn new(outcome: &Outcome) -> Course {
        let Some(step) = outcome.plan.step else { return Course::default() };
        let readings = outcome.grid.len().div_ceil(PIECES).max(1);
        let piece_s = step.as_secs() * readings as f64;
        let rate = |bytes: &[u64]| bytes.iter().sum::<u64>() as f64 * 8.0 / piece_s;
        let rates = outcome
            .delivered_bytes
            .iter()
            .map(|all| all.chunks_exact(readings).map(rate).collect());
        Course { piece_s, rates: rates.collect() }
    }
}
