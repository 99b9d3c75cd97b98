//! What is fair, and how fair it was.

/// Jain's index of fairness, (Σx)² / (n Σx²): 1 when all are equal, 1/n when one has all. None
/// without any traffic.
pub fn jain(rates: &[f64]) -> Option<f64> {
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

/// The max-min fair shares of one link of `capacity` for flows with these `demands`, in the
/// demands' unit; infinite for one that takes all it gets.
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

/// Who gets less than this part of a fair share is starved.
pub const STARVED: f64 = 0.1;

/// How those fared who fared worst: the one place that says what the worst user is.
///
/// A user is what the flow key makes one flow. What he gets is his goodput, or his throughput where
/// that alone is known, over his own fair share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worst {
    /// What the user with least gets of his fair share.
    pub share: f64,
    /// How many users get less than [`STARVED`] of theirs.
    pub starved: usize,
}

impl Worst {
    /// The worst of `users`, each with his rate and his fair share. Who has no share is none;
    /// `None` of nobody.
    ///
    /// ```
    /// use tidegate_report::fair::Worst;
    /// assert_eq!(Worst::of([(9.0, 10.0), (0.5, 10.0), (2.0, 10.0)]), Some(Worst { share: 0.05, starved: 1 }));
    /// ```
    pub fn of(users: impl IntoIterator<Item = (f64, f64)>) -> Option<Worst> {
        let shares =
            users.into_iter().filter(|(_, fair)| *fair > 0.0).map(|(got, fair)| got / fair);
        let worse = |worst: Option<Worst>, share: f64| {
            let Worst { share: least, starved } =
                worst.unwrap_or(Worst { share: f64::INFINITY, starved: 0 });
            Some(Worst { share: least.min(share), starved: starved + usize::from(share < STARVED) })
        };
        shares.fold(None, worse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_by_hand() {
        let worst = Worst::of([(1.0, 10.0), (0.99, 10.0), (3.0, 1.0), (1.0, 0.0)]).unwrap();
        assert_eq!((worst.share, worst.starved), (0.099, 1), "a tenth itself is not below a tenth");
        assert_eq!(Worst::of([(1.0, 0.0)]), None);
    }

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
