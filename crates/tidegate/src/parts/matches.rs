//! How many flows share a buffer, by how often an arriving packet meets its own flow there: BLACK's
//! count (chatranon2003; SRED's before it).
//!
//! Each arrival is compared with one queued packet, drawn at random. N = samplings / matches: with
//! p_i of the packets from flow i a match has the probability Σ p_i², so for many samplings N goes
//! to 1 / Σ p_i². That is the number of flows when all send alike and less when they do not: one
//! flow with half of the packets keeps it below 4.
//!
//! ```
//! use tidegate::parts::matches::Matches;
//! let mut matches = Matches::default();
//! [(7, 7), (7, 8), (8, 9), (9, 7)].map(|(sampled, arriving)| matches.sample(sampled, arriving));
//! assert_eq!(matches.estimate(), Some(4.0));
//! ```

/// Samplings and matches of a period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Matches {
    samplings: u64,
    matches: u64,
}

impl Matches {
    /// A packet of the flow `sampled` was drawn from the queue when one of `arriving` came.
    #[inline]
    pub fn sample(&mut self, sampled: u64, arriving: u64) {
        self.samplings += 1;
        self.matches += (sampled == arriving) as u64;
    }

    /// Samplings over matches since the last [`clear`](Matches::clear); `None` before the first
    /// match.
    pub fn estimate(&self) -> Option<f64> {
        (self.matches > 0).then(|| self.samplings as f64 / self.matches as f64)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Matches::default();
    }
}
