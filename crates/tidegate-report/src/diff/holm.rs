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
    use proptest::prelude::*;

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

    proptest! {
        /// Holm's own words: step down from the least, compare each with what is left of the level.
        #[test]
        fn it_rejects_what_stepping_down_rejects(
            chances in prop::collection::vec(0.0..0.2f64, 0..12),
            level in 0.01..0.2f64,
        ) {
            let mut left = chances.clone();
            let mut last = None;
            while let Some(at) = (0..left.len()).min_by(|a, b| left[*a].total_cmp(&left[*b])) {
                if left[at] * left.len() as f64 > level {
                    break;
                }
                last = Some(left.swap_remove(at));
            }
            prop_assert_eq!(bound(&chances, level), last);
            // Never more than by looking at each alone, never less than Bonferroni's.
            let least = level / chances.len().max(1) as f64;
            if let Some(bound) = last {
                prop_assert!(bound <= level);
            }
            prop_assert_eq!(last.is_some(), chances.iter().any(|chance| *chance <= least));
        }
    }
}
