//! Replications taken together: figures with intervals that hold for what is measured.
use crate::{Figure, interval};

/// Mean of replications and the half-width of its 95 % interval, t_{.975,R−1} · s / √R. No figure
/// without values; no interval for a single one.
pub fn figure(values: impl IntoIterator<Item = f64>) -> Option<Figure> {
    interval::mean(&values.into_iter().collect::<Vec<_>>())
}

/// A figure of events that may be rare: without its interval where that reaches down to zero or
/// below. Such a figure comes from a few bursts in some of the seeds, and an interval that is
/// symmetrical misses the truth in up to two cases of three.
pub fn rare(figure: Figure) -> Figure {
    within(figure, f64::INFINITY)
}

/// A figure that cannot leave 0 to `most`: without its interval where that reaches to either end,
/// for the same reason.
fn within(figure: Figure, most: f64) -> Figure {
    let mean = figure.mean();
    match figure.ci95() {
        Some(half) if half >= mean || half >= most - mean => Figure::exact(mean).unwrap_or(figure),
        _ => figure,
    }
}

/// From here on what can be 1 at most, as utilization and Jain's index, has no interval.
const NEAR_ONE: f64 = 0.98;

/// A figure from 0 to 1: without its interval where that reaches to an end, or where the mean is
/// near one. There most seeds agree and a few do not, and an interval of few seeds misses them: it
/// held the truth in 24 to 90 of 100 cases.
pub fn part(figure: Figure) -> Figure {
    let bare = || Figure::exact(figure.mean()).unwrap_or(figure);
    if figure.mean() >= NEAR_ONE { bare() } else { within(figure, 1.0) }
}

/// [`figure_of_some`] of what is skewed from seed to seed: delays, queues, the worst user, Jain's
/// index. Of such values Student's interval covers too little, by about skewness²/R; so it is wider
/// by √(1 + 1.5/R). That covers 93 to 97 % of a normal law and of a skewness of about one;
/// `tests/all/coverage.rs` measures it.
pub fn skewed(values: impl IntoIterator<Item = Option<f64>>) -> Option<Figure> {
    let values: Vec<f64> = values.into_iter().flatten().collect();
    let plain = figure(values.iter().copied())?;
    Figure::new(plain.mean(), plain.ci95().map(|half| half * wider(values.len())))
}

/// So much wider the interval of what is skewed is, over so many replications.
pub(crate) fn wider(replications: usize) -> f64 {
    (1.0 + 1.5 / replications as f64).sqrt()
}

/// The figure of those replications in which the quantity exists; none if it exists in none.
pub fn figure_of_some(values: impl IntoIterator<Item = Option<f64>>) -> Option<Figure> {
    figure(values.into_iter().flatten())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Pool;

    const ALL: [Pool; 7] = [
        Pool::Mean,
        Pool::Rare,
        Pool::Part,
        Pool::Skewed,
        Pool::SkewedRare,
        Pool::SkewedPart,
        Pool::Sum,
    ];

    fn bare(figure: Figure) -> bool {
        figure.ci95().is_none()
    }

    fn of(mean: f64, half: f64) -> Figure {
        Figure::new(mean, Some(half)).unwrap()
    }

    #[test]
    fn an_interval_that_reaches_an_end_is_none() {
        assert!(!bare(rare(of(2.0, 1.9))) && bare(rare(of(2.0, 2.0))) && bare(rare(of(2.0, 3.0))));
        assert!(!bare(part(of(0.5, 0.4))) && bare(part(of(0.5, 0.5))));
        assert!(bare(part(of(0.9, 0.1))), "it reaches one");
        assert!(!bare(part(of(0.979, 0.001))) && bare(part(of(0.98, 0.001))), "near one");
        assert!(bare(part(of(0.1, 0.1))) && !bare(part(of(0.1, 0.09))));
        assert_eq!(rare(of(2.0, 3.0)).mean(), 2.0, "the mean stays");
        assert_eq!(rare(Figure::exact(2.0).unwrap()), Figure::exact(2.0).unwrap());
    }

    #[test]
    fn skewed_intervals_are_wider_by_hand() {
        let values = [1.0, 2.0, 3.0];
        let (plain, wide) = (figure(values).unwrap(), skewed(values.map(Some)).unwrap());
        let factor = wide.ci95().unwrap() / plain.ci95().unwrap();
        assert!((factor - 1.5f64.sqrt()).abs() < 1e-12, "√(1 + 1.5/3)");
        assert_eq!(skewed([None, Some(4.0)]), Figure::exact(4.0), "of one there is no interval");
        assert_eq!(skewed([None, None]), None);
        assert!((wider(6) - 1.25f64.sqrt()).abs() < 1e-12);
    }

    proptest! {
        /// What does not exist in a replication does not count, in no way of taking together.
        #[test]
        fn replications_without_the_quantity_do_not_count(
            values in prop::collection::vec(prop::option::of(0.0..1.0f64), 0..12),
        ) {
            let known: Vec<Option<f64>> = values.iter().copied().filter(Option::is_some).collect();
            for pool in ALL.into_iter().filter(|pool| *pool != Pool::Sum) {
                let all = pool.figure(values.iter().copied());
                prop_assert_eq!(all, pool.figure(known.iter().copied()), "{:?}", pool);
                prop_assert_eq!(all.is_some(), !known.is_empty());
                let plain = figure_of_some(known.iter().copied());
                prop_assert_eq!(all.map(|f| f.mean()), plain.map(|f| f.mean()), "one mean for all");
                let [own, students] = [all, plain].map(|f| f.and_then(|f| f.ci95()));
                let wide = if pool.is_skewed() { wider(known.len()) } else { 1.0 };
                if let (Some(own), Some(students)) = (own, students) {
                    prop_assert!((own - wide * students).abs() < 1e-12, "{pool:?}");
                }
            }
        }
    }

    #[test]
    fn each_way_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<&str> = ALL.iter().map(|pool| pool.name()).collect();
        assert_eq!(names.len(), ALL.len());
        for pool in ALL {
            assert_eq!(pool.is_skewed(), pool.name().contains("skewed"), "{pool:?}");
        }
    }
}
