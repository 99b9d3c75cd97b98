//! Statistics over replications and over flows: each a small function with its formula and golden
//! numbers.
use tidegate_report::{Figure, interval};

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
/// `tests/coverage.rs` measures it.
pub fn skewed(values: impl IntoIterator<Item = Option<f64>>) -> Option<Figure> {
    let values: Vec<f64> = values.into_iter().flatten().collect();
    let plain = figure(values.iter().copied())?;
    let wider = (1.0 + 1.5 / values.len() as f64).sqrt();
    Figure::new(plain.mean(), plain.ci95().map(|half| half * wider))
}

/// The figure of those replications in which the quantity exists; none if it exists in none.
pub fn figure_of_some(values: impl IntoIterator<Item = Option<f64>>) -> Option<Figure> {
    figure(values.into_iter().flatten())
}

/// The arithmetic mean; none of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The population standard deviation; none of nothing.
pub fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    Some((squares / values.len() as f64).sqrt())
}

/// The distance to the fair share, √Σ(b_j − b_fair)², in the unit of the rates (chan2010's `norm`).
pub fn norm(rates: &[f64], fair: f64) -> f64 {
    rates.iter().map(|b| (b - fair) * (b - fair)).sum::<f64>().sqrt()
}

/// The normalised standard deviation around the fair share, √(Σ(g_i/fair − 1)² / (N − 1)) (cho2001
/// eq. 7): around 1, not around the mean. None for fewer than two flows.
pub fn fair_deviation(rates: &[f64], fair: f64) -> Option<f64> {
    let squares: f64 = rates.iter().map(|g| (g / fair - 1.0) * (g / fair - 1.0)).sum();
    (rates.len() > 1).then(|| (squares / (rates.len() as f64 - 1.0)).sqrt())
}

/// The coefficient of variation, population standard deviation over mean. None when the mean is 0.
pub fn variation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|mean| *mean != 0.0)?;
    Some(deviation(values)? / mean)
}

/// The root of the mean squared difference between estimates and truth. None of nothing.
pub fn rmse(pairs: &[(f64, f64)]) -> Option<f64> {
    let squares: Vec<f64> =
        pairs.iter().map(|(estimate, truth)| (estimate - truth) * (estimate - truth)).collect();
    mean(&squares).map(f64::sqrt)
}

#[cfg(test)]
mod tests {
    use tidegate_report::fair::jain;

    use super::*;

    fn close(a: f64, b: f64, digits: f64) {
        assert!((a - b).abs() <= digits, "{a} is not {b}");
    }

    #[test]
    fn golden_numbers() {
        close(jain(&[1.0, 2.0, 3.0]).unwrap(), 0.857143, 5e-7);
        close(norm(&[90.0, 110.0, 130.0], 100.0), 33.1662, 5e-5);
        close(fair_deviation(&[0.9, 1.0, 1.1], 1.0).unwrap(), 0.1, 1e-12);
        close(fair_deviation(&[0.9, 0.9], 1.0).unwrap(), 0.02f64.sqrt(), 1e-12);
        close(variation(&[1.0, 2.0, 3.0]).unwrap(), 0.408248, 5e-7);
        close(rmse(&[(1.0, 1.0), (3.0, 1.0)]).unwrap(), 2f64.sqrt(), 1e-12);
    }

    #[test]
    fn class_averages_weighted_by_count() {
        // 85, 12 and 3 flows at their class's mean rate: the printed index of one row of the Purge
        // paper's table.
        let classes = [(85, 82.944), (12, 105.472), (3, 112.64)];
        let rates: Vec<f64> =
            classes.iter().flat_map(|&(n, rate)| std::iter::repeat_n(rate, n)).collect();
        close(jain(&rates).unwrap(), 0.9902, 5e-5);
    }

    #[test]
    fn intervals() {
        let five = figure([1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        close(five.mean(), 3.0, 1e-15);
        // s = √2.5, t = 2.7764: 2.7764 · 1.58114 / 2.23607
        close(five.ci95().unwrap(), 1.96324, 5e-6);
        assert_eq!(figure([7.0]).unwrap().ci95(), None);
        assert_eq!(figure([]), None);
        let skewed = skewed([Some(1.0), Some(2.0), Some(3.0), Some(4.0), Some(5.0)]).unwrap();
        close(skewed.ci95().unwrap(), 1.96324 * 1.3f64.sqrt(), 5e-6);
        let ratio = |mean, half| within(Figure::new(mean, Some(half)).unwrap(), 1.0).ci95();
        assert_eq!(
            [ratio(0.9, 0.05), ratio(0.9, 0.1), ratio(0.05, 0.05), ratio(0.0, 0.0)],
            [Some(0.05), None, None, None]
        );
        assert_eq!(figure_of_some([None, None]), None);
        assert_eq!(figure_of_some([None, Some(2.0), Some(2.0)]).unwrap().ci95(), Some(0.0));
        assert_eq!(
            (jain(&[]), jain(&[0.0, 0.0]), fair_deviation(&[1.0], 1.0), variation(&[0.0])),
            (None, None, None, None)
        );
    }
}
