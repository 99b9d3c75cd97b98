//! The twin's contract: the naive twin is driven by the fast queue's verdicts and dice. A verdict
//! may differ only where the die lies within 1e-6 of the probability; states agree to 1e-6 relative
//! after 10^6 operations.
use tidegate::Rng;

/// How near a die must lie to the probability for a verdict to be in dispute, and how well states
/// agree.
pub const TOLERANCE: f64 = 1e-6;

/// How many operations a comparison takes.
pub const OPERATIONS: u64 = 1_000_000;

/// The die that was rolled between two states of the same dice; `None` when none was.
pub fn rolled(before: &Rng, after: &Rng) -> Option<f64> {
    if before == after {
        return None;
    }
    let mut mirror = before.clone();
    let die = mirror.uniform();
    assert_eq!(&mirror, after, "at most one die is rolled");
    Some(die)
}

/// Counts the verdicts on which a queue and its twin may differ, and refuses the others.
#[derive(Debug, Default)]
pub struct Disputes {
    pub verdicts: u64,
    pub differ: u64,
}

impl Disputes {
    /// The queue rolled `die` and said `yes`; the twin gives the event probability `p`.
    pub fn verdict(&mut self, step: u64, die: f64, p: f64, yes: bool) {
        self.verdicts += 1;
        if yes != (die < p) {
            assert!(
                (die - p).abs() <= TOLERANCE,
                "step {step}: die {die}, the twin's p {p}, the queue says {yes}"
            );
            self.differ += 1;
        }
    }

    /// At the end: dice so near to p are so rare that more than a few mean a fault.
    pub fn settle(&self) {
        // Expected: 2e-6 of the verdicts; ten more than ten times that is beyond any luck.
        assert!(self.differ as f64 <= 10.0 + 2e-5 * self.verdicts as f64, "{self:?}");
    }
}

/// `fast` and `twin` agree to 1e-6 relative; values below `floor` count as `floor`.
pub fn agree(what: &str, step: u64, fast: f64, twin: f64, floor: f64) {
    let scale = twin.abs().max(floor);
    assert!(
        (fast - twin).abs() <= TOLERANCE * scale,
        "step {step}: {what} is {fast}, the twin's {twin}"
    );
}
