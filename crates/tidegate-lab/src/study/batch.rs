//! Replications to run.

/// Replications to run: of one case, with these seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The place of the case in the study.
    pub case: usize,
    /// The first seed.
    pub seed: u64,
    /// How many.
    pub seeds: u32,
}
