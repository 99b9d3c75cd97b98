//! Holm's correction: of many differences, those that are hardly all by chance.

/// The greatest chance that Holm (1979) rejects at `level` of these; none where he rejects none.
///
/// The smallest of n chances must be at most level/n, the next level/(n − 1), and so on until one
/// is greater.
pub fn bound(chances: &[f64], level: f64) -> Option<f64> {
    let mut sorted = chances.to_vec();
    sorted.sort_by(f64::total_cmp);
    let of = sorted.len();
    let rejected = sorted.iter().enumerate().take_while(|(i, p)| **p <= level / (of - i) as f64);
    rejected.last().map(|(_, chance)| *chance)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of four: .005 ≤ .05/4 and .01 ≤ .05/3, but .03 > .05/2, at which it stops.
    #[test]
    fn the_first_that_is_too_likely_ends_it() {
        assert_eq!(bound(&[0.01, 0.04, 0.03, 0.005], 0.05), Some(0.01));
        assert_eq!(bound(&[0.0001, 0.0002, 0.9, 0.012], 0.05), Some(0.012));
        assert_eq!(bound(&[0.03, 0.04], 0.05), None);
        assert_eq!(bound(&[0.02, 0.03], 0.05), Some(0.03));
        assert_eq!(bound(&[0.04], 0.05), Some(0.04));
        assert_eq!(bound(&[], 0.05), None);
        assert_eq!(bound(&[0.5, 0.6], 0.05), None);
    }
}
