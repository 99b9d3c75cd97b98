//! Whether a die falls below a power, mostly without working out the power.
//!
//! ```
//! use tidegate::parts::power::is_below;
//! assert!(is_below(0.11, 0.75, 7.5) && !is_below(0.12, 0.75, 7.5)); // .75^7.5 = .1156
//! ```

/// Whether `die` < `base` ^ `exponent`, for a base in 0 to 1 and an exponent of 0 or more. It is an
/// event of that probability when the die is uniform on [0, 1).
///
/// The whole part of the exponent takes multiplications. The rest, base^f, lies between the
/// harmonic and the arithmetic mean of `base` and 1 with the weights f and 1 − f; only a die
/// between these needs the logarithm.
#[inline]
pub fn is_below(die: f64, base: f64, exponent: f64) -> bool {
    let mut whole = exponent as u64;
    let part = exponent - whole as f64;
    let (mut power, mut square) = (1.0, base);
    while whole > 0 {
        if whole & 1 == 1 {
            power *= square;
        }
        square *= square;
        whole >>= 1;
    }
    if die >= power * (1.0 - part * (1.0 - base)) {
        return false;
    }
    // Harmonic mean: base / (f + (1 − f) base), without the division.
    die * (part + (1.0 - part) * base) < power * base || die < libm::pow(base, exponent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Dice around the power itself, and anywhere: never another answer than the power's, but
    /// within rounding.
    #[test]
    fn is_the_comparison_with_the_power() {
        let mut dice = Rng::from_seed(1);
        for _ in 0..300_000 {
            let (base, exponent) = (dice.uniform(), dice.between(0.0, 12.0));
            let power = libm::pow(base, exponent);
            for die in [
                dice.uniform(),
                power * (1.0 - 1e-12),
                power * (1.0 + 1e-12),
                power * dice.between(0.5, 1.5),
            ] {
                assert_eq!(is_below(die, base, exponent), die < power, "{die} {base}^{exponent}");
            }
        }
    }

    #[test]
    fn ends_of_the_range() {
        for exponent in [0.0, 0.5, 1.0, 7.5, 1000.0] {
            assert!(is_below(0.999, 1.0, exponent), "1^{exponent}");
            assert_eq!(is_below(0.0, 0.0, exponent), exponent == 0.0, "0^{exponent}");
            assert!(!is_below(0.5, 0.0, exponent.max(0.1)));
        }
        assert!(is_below(0.4999, 0.5, 1.0) && !is_below(0.5, 0.5, 1.0));
        assert!(!is_below(1e-300, 0.9, 1e18));
    }
}
