//! Division by a constant, done as a multiplication.

/// A divisor, with 2⁶⁴ divided by it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divisor {
    by: u64,
    /// 2⁶⁴ / by, rounded down (for 1, one less).
    inverse: u64,
}

impl Divisor {
    /// Division by `by`, at least 1.
    pub fn new(by: u64) -> Divisor {
        Divisor { by, inverse: u64::try_from((1u128 << 64) / by as u128).unwrap_or(u64::MAX) }
    }

    /// The number divided by.
    #[inline]
    pub fn get(self) -> u64 {
        self.by
    }

    /// The quotient and the remainder of `n`.
    #[inline]
    pub fn divide(self, n: u64) -> (u64, u64) {
        // The inverse is too small by less than one, and `n` is less than 2⁶⁴: the quotient is
        // right or one too small.
        let whole = ((n as u128 * self.inverse as u128) >> 64) as u64;
        match n - whole * self.by {
            rest if rest >= self.by => (whole + 1, rest - self.by),
            rest => (whole, rest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate::rng::mix;

    #[test]
    fn quotients_are_exact() {
        let by = (0..64).flat_map(|bits| [1u64 << bits, (1 << bits) + 1, mix(bits) >> bits]);
        for by in by.filter(|&by| by > 0) {
            let near = (0..64).flat_map(|bits| {
                [
                    (u64::MAX >> bits) / by * by,
                    ((u64::MAX >> bits) / by * by).saturating_add((by - 1) / 2),
                ]
            });
            for n in near.chain([0, 1, by - 1, by, u64::MAX - 1, u64::MAX]).chain((0..64).map(mix))
            {
                assert_eq!(Divisor::new(by).divide(n), (n / by, n % by), "{n} / {by}");
            }
        }
    }
}
