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
    /// let worst = Worst::of([(9.0, 10.0), (0.5, 10.0), (2.0, 10.0)]);
    /// assert_eq!(worst, Some(Worst { share: 0.05, starved: 1 }));
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
    use proptest::prelude::*;

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

    /// Someone asks for more than he gets: he gets the most of all, so that nobody could be cut for
    /// him who has more. That is what max-min fair means.
    fn is_max_min(demands: &[f64], capacity: f64, shares: &[f64]) {
        let most = shares.iter().copied().fold(0.0, f64::max);
        for (demand, share) in demands.iter().zip(shares) {
            assert!(*share >= 0.0 && *share <= demand + 1e-9, "{share} of {demand}");
            assert!(share + 1e-9 >= *demand || share + 1e-9 >= most, "{demand}: {shares:?}");
        }
        let (asked, got): (f64, f64) = (demands.iter().sum(), shares.iter().sum());
        assert!((got - asked.min(capacity)).abs() < 1e-6, "{got} of {capacity}: {shares:?}");
    }

    proptest! {
        #[test]
        fn shares_are_max_min_fair(
            demands in prop::collection::vec(0.0..30.0f64, 1..12),
            capacity in 0.1..100.0f64,
        ) {
            let shares = max_min(&demands, capacity);
            is_max_min(&demands, capacity, &shares);
            // Who stands where does not matter.
            let turned: Vec<f64> = demands.iter().rev().copied().collect();
            let mut back = max_min(&turned, capacity);
            back.reverse();
            prop_assert!(shares.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-9));
            // One more who takes all he can get takes from nobody more than it gives him.
            let greedy = [demands.as_slice(), &[f64::INFINITY]].concat();
            let with = max_min(&greedy, capacity);
            let most = with.iter().copied().fold(0.0, f64::max);
            prop_assert!(with[demands.len()] + 1e-9 >= most, "{with:?}");
            prop_assert!(with.iter().zip(&shares).all(|(now, before)| *now <= before + 1e-9));
            prop_assert!((with.iter().sum::<f64>() - capacity).abs() < 1e-6);
        }

        #[test]
        fn jain_is_one_for_equals_and_does_not_care_for_the_unit(
            rates in prop::collection::vec(0.01..1e9f64, 1..20),
            factor in 1e-6..1e6f64,
        ) {
            let of = jain(&rates).unwrap();
            prop_assert!(of >= 1.0 / rates.len() as f64 - 1e-12 && of <= 1.0 + 1e-12, "{of}");
            let scaled: Vec<f64> = rates.iter().map(|rate| rate * factor).collect();
            prop_assert!((jain(&scaled).unwrap() - of).abs() < 1e-9);
            prop_assert!((jain(&vec![rates[0]; rates.len()]).unwrap() - 1.0).abs() < 1e-9);
            // As many again who get nothing halve it.
            let idle = [rates.clone(), vec![0.0; rates.len()]].concat();
            prop_assert!((jain(&idle).unwrap() - of / 2.0).abs() < 1e-9);
        }

        #[test]
        fn the_worst_is_the_least_of_all_shares(
            users in prop::collection::vec((0.0..20.0f64, 0.0..3.0f64), 0..20),
        ) {
            let users: Vec<(f64, f64)> =
                users.into_iter().map(|(got, fair)| (got, fair.floor())).collect();
            let mut shares: Vec<f64> =
                users.iter().filter(|user| user.1 > 0.0).map(|user| user.0 / user.1).collect();
            shares.sort_by(f64::total_cmp);
            let starved = shares.iter().filter(|share| **share < 0.1).count();
            let naive = shares.first().map(|share| Worst { share: *share, starved });
            prop_assert_eq!(Worst::of(users), naive);
        }
    }
}
