//! Intervals of 95 %: of a mean over replications, and of the difference of two means.
//!
//! Two results differ where the interval of their difference leaves out zero. That two intervals
//! overlap says less: of two equal means it would claim a difference in one of 150 cases, and so it
//! overlooks many that are there.
//!
//! ```
//! use tidegate_report::interval::{Estimate, mean, welch};
//! let (a, b) = ([10.0, 11.0, 12.0, 13.0, 14.0], [12.5, 13.5, 14.5, 15.5, 16.5]);
//! let (one, other) = (mean(&a).unwrap(), mean(&b).unwrap());
//! let (least, most) = (other.mean() - other.ci95().unwrap(), one.mean() + one.ci95().unwrap());
//! assert!(most > least, "the intervals overlap");
//! let difference = welch(Estimate::of(&a).unwrap(), Estimate::of(&b).unwrap());
//! assert!(difference.mean().abs() > difference.ci95().unwrap(), "and yet the means differ");
//! ```
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::Figure;

/// The 97.5 % quantile of Student's t with `freedom` degrees of freedom (at least 1).
pub fn t_975(freedom: f64) -> f64 {
    quantile(freedom, 0.975)
}

fn quantile(freedom: f64, probability: f64) -> f64 {
    let law = StudentsT::new(0.0, 1.0, freedom.max(1.0))
        .expect("a positive number of degrees of freedom");
    // The quantile is found with the host's logarithms; ten digits of it are the same on every
    // machine.
    (law.inverse_cdf(probability) * 1e9).round() / 1e9
}

/// The mean of replications with its interval, t_{.975,R−1} · s / √R. None of nothing; no interval
/// for a single one.
pub fn mean(values: &[f64]) -> Option<Figure> {
    let n = values.len() as f64;
    let mean = (n > 0.0).then(|| values.iter().sum::<f64>() / n)?;
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    let half = (n > 1.0).then(|| t_975(n - 1.0) * (squares / (n - 1.0)).sqrt() / n.sqrt());
    Figure::new(mean, half)
}

/// A mean, its standard error and the degrees of freedom of that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    mean: f64,
    error: f64,
    freedom: f64,
}

impl Estimate {
    /// Of independent `values`; none of fewer than two.
    pub fn of(values: &[f64]) -> Option<Estimate> {
        Estimate::from_figure(mean(values)?, values.len())
    }

    /// What went into a figure that is the [`mean`] of so many replications; none where it has no
    /// interval.
    pub fn from_figure(figure: Figure, replications: usize) -> Option<Estimate> {
        let freedom = replications.checked_sub(1).filter(|f| *f > 0)? as f64;
        Some(Estimate { mean: figure.mean(), error: figure.ci95()? / t_975(freedom), freedom })
    }

    /// Whether it is farther from zero than chance takes it with the probability `tail` on either
    /// side.
    pub fn beyond(self, tail: f64) -> bool {
        self.mean.abs() > quantile(self.freedom, 1.0 - tail) * self.error
    }

    /// How likely chance takes it as far from zero as it is, or farther, on either side. Without
    /// any spread, what is not zero is no chance.
    pub fn chance(self) -> f64 {
        if self.error > 0.0 {
            let law = StudentsT::new(0.0, 1.0, self.freedom.max(1.0))
                .expect("a positive number of degrees of freedom");
            return 2.0 * law.cdf(-self.mean.abs() / self.error);
        }
        if self.mean == 0.0 { 1.0 } else { 0.0 }
    }

    /// The mean with its interval.
    fn figure(self) -> Figure {
        let half = if self.error > 0.0 { t_975(self.freedom) * self.error } else { 0.0 };
        Figure::new(self.mean, Some(half))
            .unwrap_or_else(|| Figure::exact(0.0).expect("zero is finite"))
    }

    /// This − `other`, independent of each other (Welch 1947, his degrees of freedom).
    fn minus(self, other: Estimate) -> Estimate {
        let [u, v] = [self.error * self.error, other.error * other.error];
        // Without any spread there is nothing to weigh.
        let freedom = if u + v > 0.0 {
            (u + v) * (u + v) / (u * u / self.freedom + v * v / other.freedom)
        } else {
            1.0
        };
        Estimate { mean: self.mean - other.mean, error: (u + v).sqrt(), freedom }
    }

    /// So many times this.
    pub fn times(self, factor: f64) -> Estimate {
        Estimate { mean: factor * self.mean, error: factor.abs() * self.error, ..self }
    }
}

/// `a` − `b`, independent of each other, with the interval of the difference (Welch 1947, his
/// degrees of freedom).
pub fn welch(a: Estimate, b: Estimate) -> Figure {
    a.minus(b).figure()
}

/// The mean of `a` − the mean of `b` with the interval of the difference. Where the k-th of both
/// had the same seed (`same_seeds`) and they rise and fall together, the spread is of the
/// differences within the pairs; else Welch's. None of fewer than two.
pub fn difference(a: &[f64], b: &[f64], same_seeds: bool) -> Option<Figure> {
    compared(a, b, same_seeds).map(|compared| compared.difference)
}

/// Two means beside each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// The first − the second, with its interval.
    pub difference: Figure,
    /// How likely chance makes so great a difference of equal means.
    pub chance: f64,
    /// Whether the spread is of the differences within pairs.
    pub paired: bool,
}

/// As [`difference`], and how likely it is by chance.
pub fn compared(a: &[f64], b: &[f64], same_seeds: bool) -> Option<Compared> {
    // A correlation of 2/√n comes by chance in one of forty cases, so that the choice costs the
    // interval next to nothing; a test measures that. Of four pairs or fewer none is enough.
    let paired_from = 2.0 / (a.len() as f64).sqrt();
    if same_seeds && a.len() == b.len() && correlation(a, b).is_some_and(|r| r >= paired_from) {
        let within: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        let difference = mean(&within)?;
        let chance = Estimate::of(&within)?.chance();
        return Some(Compared { difference, chance, paired: true });
    }
    Some(apart(Estimate::of(a)?, Estimate::of(b)?))
}

/// As [`welch`], and how likely it is by chance.
pub fn apart(a: Estimate, b: Estimate) -> Compared {
    let difference = a.minus(b);
    Compared { difference: difference.figure(), chance: difference.chance(), paired: false }
}

/// Pearson's correlation; none where one of them does not vary.
fn correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let [x, y] = [mean(a)?.mean(), mean(b)?.mean()];
    let (mut both, mut of_a, mut of_b) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        both += (a - x) * (b - y);
        of_a += (a - x) * (a - x);
        of_b += (b - y) * (b - y);
    }
    Some(both / (of_a * of_b).sqrt()).filter(|r| r.is_finite())
}

/// Whether two means differ: whether zero lies outside the interval of their difference. None
/// without an interval.
pub fn differ(difference: Figure) -> Option<bool> {
    Some(difference.mean().abs() > difference.ci95()?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn close(a: f64, b: f64, digits: f64) {
        assert!((a - b).abs() <= digits, "{a} is not {b}");
    }

    #[test]
    fn quantiles_of_tables() {
        for (freedom, printed) in [(1.0, 12.7062), (4.0, 2.7764), (24.0, 2.0639)] {
            close(t_975(freedom), printed, 5e-5);
        }
    }

    #[test]
    fn welch_by_hand() {
        // Means 3 and 20/3; variances of the means 2.5/5 and 7/3/3; t by 4 and 2 degrees of
        // freedom.
        let [a, b] = [&[1.0, 2.0, 3.0, 4.0, 5.0][..], &[5.0, 7.0, 8.0][..]];
        let [u, v] = [0.5, 7.0 / 9.0];
        let freedom: f64 = (u + v) * (u + v) / (u * u / 4.0 + v * v / 2.0);
        close(freedom, 4.4736, 1e-4);
        let d = difference(a, b, false).unwrap();
        close(d.mean(), 3.0 - 20.0 / 3.0, 1e-12);
        close(d.ci95().unwrap(), t_975(freedom) * (u + v).sqrt(), 1e-12);
        assert_eq!(differ(d), Some(true));
    }

    #[test]
    fn pairs_count_where_they_rise_and_fall_together() {
        let (a, b) = ([10.0, 20.0, 30.0, 40.0, 50.0], [11.0, 21.5, 31.0, 41.5, 51.0]);
        let close_pairs = difference(&a, &b, true).unwrap();
        assert!(
            close_pairs.ci95().unwrap() < 0.5 && differ(close_pairs) == Some(true),
            "{close_pairs:?}"
        );
        assert_eq!(
            differ(difference(&a, &b, false).unwrap()),
            Some(false),
            "other seeds are no pairs"
        );
        let crossed = difference(&a, &[51.0, 41.5, 31.0, 21.5, 11.0], true).unwrap();
        assert!(
            crossed.ci95().unwrap() > 10.0,
            "nor are those that have nothing in common: {crossed:?}"
        );
    }

    #[test]
    fn without_spread_any_difference_counts() {
        assert_eq!(differ(difference(&[1.0, 1.0], &[1.0, 1.0], true).unwrap()), Some(false));
        assert_eq!(differ(difference(&[1.0, 1.0], &[2.0, 2.0], true).unwrap()), Some(true));
        assert_eq!(
            difference(&[1.0], &[2.0], true),
            None,
            "of one replication each nothing is known"
        );
    }

    fn replications() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(-100.0..100.0f64, 2..12)
    }

    proptest! {
        /// By definition: t · √(Σ(x − m)² / (n(n − 1))), worked out from sums of pairs instead.
        #[test]
        fn a_mean_has_students_interval(values in replications()) {
            let n = values.len() as f64;
            let pairs: f64 =
                values.iter().flat_map(|a| values.iter().map(move |b| (a - b) * (a - b))).sum();
            // Σ over all pairs of (a − b)² is 2n Σ(x − m)².
            let half = t_975(n - 1.0) * (pairs / (2.0 * n * n * (n - 1.0))).sqrt();
            let figure = mean(&values).unwrap();
            prop_assert!((figure.mean() * n - values.iter().sum::<f64>()).abs() < 1e-9);
            prop_assert!((figure.ci95().unwrap() - half).abs() < 1e-7, "{figure:?} {half}");
        }

        /// The other way round a difference has the other sign, the same interval and chance.
        #[test]
        fn a_difference_can_be_turned_round(
            a in replications(),
            b in replications(),
            same in any::<bool>(),
        ) {
            let [one, other] = [compared(&a, &b, same), compared(&b, &a, same)].map(Option::unwrap);
            prop_assert!((one.difference.mean() + other.difference.mean()).abs() < 1e-9);
            let [half, turned] = [one, other].map(|c| c.difference.ci95().unwrap());
            prop_assert!((half - turned).abs() < 1e-9);
            prop_assert!((one.chance - other.chance).abs() < 1e-9);
            prop_assert_eq!(one.paired, other.paired);
            prop_assert!(same || !one.paired, "other seeds are never pairs");
        }

        /// Zero lies outside the interval where chance makes the difference in less than one of
        /// twenty cases, and only there.
        #[test]
        fn the_interval_and_the_chance_agree(
            a in replications(),
            shift in -80.0..80.0f64,
            same in any::<bool>(),
        ) {
            let b: Vec<f64> = a.iter().rev().map(|value| value * 0.9 + shift).collect();
            let found = compared(&a, &b, same).unwrap();
            prop_assume!((found.chance - 0.05).abs() > 1e-6);
            prop_assert_eq!(differ(found.difference), Some(found.chance < 0.05), "{:?}", found);
            let estimate = Estimate::of(&a).unwrap().times(-2.0);
            prop_assume!((estimate.chance() - 0.05).abs() > 1e-6);
            prop_assert_eq!(estimate.beyond(0.025), estimate.chance() < 0.05);
        }

        /// Moved alike and measured in another unit, what differs still does.
        #[test]
        fn the_unit_does_not_matter(
            a in replications(),
            b in replications(),
            move_by in -50.0..50.0f64,
        ) {
            let to = |values: &[f64]| -> Vec<f64> {
                values.iter().map(|value| (value + move_by) * 8.0).collect()
            };
            let plain = compared(&a, &b, true).unwrap();
            let moved = compared(&to(&a), &to(&b), true).unwrap();
            prop_assert!((moved.difference.mean() - 8.0 * plain.difference.mean()).abs() < 1e-7);
            let wide = 8.0 * plain.difference.ci95().unwrap();
            prop_assert!((moved.difference.ci95().unwrap() - wide).abs() < 1e-6 * (1.0 + wide));
            prop_assert!((moved.chance - plain.chance).abs() < 1e-6);
        }
    }

    #[test]
    fn a_figure_gives_back_what_went_into_it() {
        let values = [3.0, 5.0, 8.0, 1.0];
        let (direct, from) =
            (Estimate::of(&values), Estimate::from_figure(mean(&values).unwrap(), 4));
        assert_eq!(direct, from);
        assert_eq!(direct.unwrap().figure(), mean(&values).unwrap());
        let exact = Figure::exact(3.0).unwrap();
        assert_eq!(Estimate::from_figure(exact, 4), None, "without interval nothing is known");
        assert_eq!(Estimate::from_figure(mean(&values).unwrap(), 1), None);
        assert_eq!(Estimate::from_figure(mean(&values).unwrap(), 0), None);
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[4.0]).unwrap(), Figure::exact(4.0).unwrap());
        assert_eq!(differ(exact), None);
    }

    #[test]
    fn fewer_than_five_pairs_are_no_pairs() {
        // Even those that rise together to the last bit: 2/√4 is one.
        let rising = |n: usize| (0..n).map(|k| k as f64).collect::<Vec<f64>>();
        let ahead = |n: usize| (0..n).map(|k| k as f64 * 1.5 + 1.0).collect::<Vec<f64>>();
        assert!(!compared(&rising(3), &ahead(3), true).unwrap().paired);
        assert!(compared(&rising(6), &ahead(6), true).unwrap().paired);
        assert!(!compared(&rising(6), &ahead(6), false).unwrap().paired);
        assert!(!compared(&rising(6), &ahead(7), true).unwrap().paired, "unequal numbers");
        assert!(!compared(&rising(6), &[2.0; 6], true).unwrap().paired, "what does not vary");
    }

    #[test]
    fn without_spread_the_chance_is_none_or_all() {
        let zero = Estimate::of(&[0.0, 0.0]).unwrap();
        let one = Estimate::of(&[1.0, 1.0]).unwrap();
        assert_eq!((zero.chance(), one.chance()), (1.0, 0.0));
        assert!(one.beyond(0.025) && !zero.beyond(0.025));
        assert_eq!(welch(one, zero), Figure::new(1.0, Some(0.0)).unwrap());
    }
}
