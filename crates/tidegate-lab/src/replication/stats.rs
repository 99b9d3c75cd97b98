//! Statistics over replications and over flows: each a small function with its formula and golden
//! numbers.
pub use tidegate_report::pool::{figure, figure_of_some, part, rare, skewed};

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
    use tidegate_report::Figure;
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
        let ratio = |mean, half| part(Figure::new(mean, Some(half)).unwrap()).ci95();
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
