//! A token bucket: so many bytes per second, saved up to a depth.
//!
//! ```
//! use tidegate::{Bytes, Rate, Span, Time, parts::token_bucket::TokenBucket};
//! let mut bucket = TokenBucket::new(Rate::from_bps(8_000), Bytes::new(1_500)); // 1000 B/s
//! assert!(bucket.take(Time::ZERO, 1_000)); // it starts full
//! assert!(!bucket.take(Time::ZERO, 1_000));
//! assert!(bucket.take(Time::ZERO + Span::from_millis(500), 1_000));
//! ```
use crate::units::{Bytes, Rate, Time};

/// One byte, in units of a bit per second times a nanosecond: nothing is rounded.
const BYTE: u128 = 8_000_000_000;

/// Tokens for bytes, filled at a rate, exact to the bit and nanosecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    rate: Rate,
    depth: u128,
    level: u128,
    filled_at: Time,
}

impl TokenBucket {
    /// A full bucket. A packet longer than `depth` never passes.
    pub fn new(rate: Rate, depth: Bytes) -> TokenBucket {
        let depth = depth.get() as u128 * BYTE;
        TokenBucket { rate, depth, level: depth, filled_at: Time::ZERO }
    }

    /// Takes tokens for `len` bytes if that many are there at `now`.
    pub fn take(&mut self, now: Time, len: u32) -> bool {
        let earned = self.rate.as_bps() as u128 * now.since(self.filled_at).as_nanos() as u128;
        self.level = (self.level + earned).min(self.depth);
        self.filled_at = self.filled_at.max(now);
        let price = len as u128 * BYTE;
        if self.level < price {
            return false;
        }
        self.level -= price;
        true
    }

    /// Tokens left after the last call of [`take`](TokenBucket::take), in bytes.
    pub fn tokens(&self) -> f64 {
        self.level as f64 / BYTE as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Span;

    #[test]
    fn nothing_is_rounded_away() {
        // 1 byte in 3 s, asked every nanosecond-odd: a bucket that rounds would never fill.
        let mut bucket = TokenBucket::new(Rate::from_bps(8), Bytes::new(3));
        assert!(bucket.take(Time::ZERO, 3));
        let mut passed = 0;
        for i in 1..=3_000_000_u64 {
            passed += u64::from(bucket.take(Time::from_nanos(i * 1_000), 1));
        }
        assert_eq!(passed, 3);
        assert_eq!(bucket.tokens(), 0.0);
    }

    #[test]
    fn the_depth_bounds_what_is_saved() {
        let mut bucket = TokenBucket::new(Rate::from_bps(8_000), Bytes::new(2_000));
        let later = Time::ZERO + Span::from_millis(3_600_000);
        assert!(!bucket.take(later, 2_001));
        assert!(bucket.take(later, 2_000));
        assert!(!bucket.take(later, 1));
        assert_eq!(bucket.tokens(), 0.0);
    }
}
