//! What is fair, and how fair it was.

/// Jain's index of fairness, (Σx)² / (n Σx²): 1 when all are equal, 1/n when one has all. None without any traffic.
pub fn jain(rates: &[f64]) -> Option<f64> {
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

/// The max-min fair shares of one link of `capacity` for flows with these `demands`, in the demands' unit; infinite for
/// one that takes all it gets.
///
/// ```
/// use tidegate_report::fair::max_min;
/// assert_eq!(max_min(&[1.0, f64::INFINITY, 20.0], 10.0), [1.0, 4.5, 4.5]);
/// ```
pub fn max_min(demands: &[f64], capacity: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..demands.len()).collect();
    order.sort_by(|&a, &b| demands[a].total_cmp(&demands[b]).then(a.cmp(&b)));
    let (mut left, mut shares) = (capacity, vec![0.0; demands.len()]);
    for (served, &flow) in order.iter().enumerate() {
        shares[flow] = demands[flow].min(left / (demands.len() - served) as f64);
        left -= shares[flow];
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn max_min_by_hand() {
        assert_eq!(max_min(&[1.0, 20.0, 20.0], 10.0), [1.0, 4.5, 4.5]);
        assert_eq!(max_min(&[1.0, 2.0], 10.0), [1.0, 2.0]);
        assert_eq!(max_min(&[], 10.0), [0.0; 0]);
    }

    #[test]
    fn jain_by_hand() {
        assert!((jain(&[1.0, 2.0, 3.0]).unwrap() - 36.0 / 42.0).abs() < 1e-12);
        assert_eq!(jain(&[0.0, 0.0]), None);
    }
}
