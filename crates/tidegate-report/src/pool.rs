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
