//! How many animals are there, when some are caught more easily than others: the jackknife of
//! Burnham and Overton.
//!
//! On t capture occasions f_j animals were caught exactly j times (burnham1978; chan2003 §III-B,
//! with the example of its Tables I and II). The estimate of order K is N_K = Σ a(t, K)_j f_j,
//! where a_j = 1 for j > K, so that f_1 … f_5 and the number of animals seen suffice. The order is
//! the first whose successor is not significantly different (two-sided normal test, 5 %), with the
//! paper's interpolation between it and the one before.
//!
//! Bounds: the estimate is clamped from below at the number seen, because high orders alternate in
//! sign and would go as low as −72 of 41 flows at t = 200.
//!
//! ```
//! use tidegate::parts::jackknife::{Frequencies, Jackknife};
//! // Table I of chan2003: 18 occasions; caught once 43, twice 16, … and one animal each beyond
//! // five.
//! let caught = Frequencies { seen: 76, once_to_five: [43, 16, 8, 6, 0] };
//! let estimate = Jackknife::new(18).estimate(&caught);
//! assert!((estimate - 142.2523).abs() < 1e-4); // printed: 142
//! ```

/// The highest order of the estimator.
pub const HIGHEST_ORDER: usize = 5;

/// Capture frequencies, as far as the estimator needs them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frequencies {
    /// S: how many different animals were caught at all.
    pub seen: u32,
    /// f_1 … f_5: how many were caught exactly so often.
    pub once_to_five: [u32; HIGHEST_ORDER],
}

/// The estimator for a number of capture occasions, its coefficients worked out once.
#[derive(Clone, Debug)]
pub struct Jackknife {
    /// a(t, K)_j − 1 for K = 0 ..= 5 and j = 1 ..= 5.
    excess: [[f64; HIGHEST_ORDER]; HIGHEST_ORDER + 1],
    highest: usize,
}

/// The significance level of the test that stops at an order (chan2003 §III-B).
const LEVEL: f64 = 0.05;

/// What is left of a variance of zero after rounding, relative to its terms.
const ROUNDING: f64 = 1e-9;

/// a(t, K)_j − 1 for j = 1 ..= 5, in closed form for K = 0 ..= 5: multiplied out from the
/// definition by the mean over all ways to leave i occasions out.
fn excess(t: f64, order: usize) -> [f64; HIGHEST_ORDER] {
    let pow = |x: f64, n: usize| (0..n).fold(1.0, |p, _| p * x);
    let (t2, t3) = (t * (t - 1.0), t * (t - 1.0) * (t - 2.0));
    let (t4, t5) = (t3 * (t - 3.0), t3 * (t - 3.0) * (t - 4.0));
    match order {
        1 => [(t - 1.0) / t, 0.0, 0.0, 0.0, 0.0],
        2 => [(2.0 * t - 3.0) / t, -pow(t - 2.0, 2) / t2, 0.0, 0.0, 0.0],
        3 => [
            (3.0 * t - 6.0) / t,
            -(3.0 * t * t - 15.0 * t + 19.0) / t2,
            pow(t - 3.0, 3) / t3,
            0.0,
            0.0,
        ],
        4 => [
            (4.0 * t - 10.0) / t,
            -(6.0 * t * t - 36.0 * t + 55.0) / t2,
            (4.0 * pow(t, 3) - 42.0 * t * t + 148.0 * t - 175.0) / t3,
            -pow(t - 4.0, 4) / t4,
            0.0,
        ],
        5 => [
            (5.0 * t - 15.0) / t,
            -(10.0 * t * t - 70.0 * t + 125.0) / t2,
            (10.0 * pow(t, 3) - 120.0 * t * t + 485.0 * t - 660.0) / t3,
            -(pow(t - 4.0, 5) - pow(t - 5.0, 5)) / t4,
            pow(t - 5.0, 5) / t5,
        ],
        _ => [0.0; HIGHEST_ORDER],
    }
}

impl Jackknife {
    /// The estimator for `occasions` capture occasions (at least one).
    pub fn new(occasions: u32) -> Jackknife {
        let highest = HIGHEST_ORDER.min(occasions as usize);
        let mut table = [[0.0; HIGHEST_ORDER]; HIGHEST_ORDER + 1];
        for (order, row) in table.iter_mut().enumerate().take(highest + 1) {
            *row = excess(occasions as f64, order);
            // An animal cannot be caught more often than there were occasions.
            row.iter_mut().skip(occasions as usize).for_each(|a| *a = 0.0);
        }
        Jackknife { excess: table, highest }
    }

    /// N_K for K = 0 ..= 5; beyond the number of occasions the last order repeats.
    pub fn orders(&self, f: &Frequencies) -> [f64; HIGHEST_ORDER + 1] {
        let mut n = [0.0; HIGHEST_ORDER + 1];
        for (order, n) in n.iter_mut().enumerate() {
            let row = &self.excess[order.min(self.highest)];
            *n = f.seen as f64
                + row.iter().zip(f.once_to_five).map(|(a, f)| a * f as f64).sum::<f64>();
        }
        n
    }

    /// P: how likely a difference as large as that between orders `m` and `m` + 1 is by chance (1
    /// when the variance vanishes).
    fn significance(&self, f: &Frequencies, n: &[f64; HIGHEST_ORDER + 1], m: usize) -> f64 {
        let seen = f.seen as f64;
        let difference = n[m + 1] - n[m];
        let squares: f64 = (0..HIGHEST_ORDER)
            .map(|j| {
                let b = self.excess[m + 1][j] - self.excess[m][j];
                b * b * f.once_to_five[j] as f64
            })
            .sum();
        // Zero but for rounding when all animals were caught equally often: then the orders cannot
        // be told apart.
        let spread = squares - difference * difference / seen;
        if spread <= squares * ROUNDING {
            return 1.0;
        }
        let variance = seen / (seen - 1.0) * spread;
        let size = if difference < 0.0 { -difference } else { difference };
        libm::erfc(size / libm::sqrt(variance) * core::f64::consts::FRAC_1_SQRT_2)
    }

    /// The estimated number of animals: at least the number seen.
    pub fn estimate(&self, f: &Frequencies) -> f64 {
        let seen = f.seen as f64;
        if f.seen <= 1 {
            return seen;
        }
        let n = self.orders(f);
        let mut before = 0.0;
        for m in 1..self.highest {
            let p = self.significance(f, &n, m);
            if p > LEVEL {
                let c = (LEVEL - before) / (p - before);
                let estimate = if m == 1 { n[1] } else { c * n[m] + (1.0 - c) * n[m - 1] };
                return estimate.max(seen);
            }
            before = p;
        }
        n[self.highest].max(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables I and II of chan2003. The printed orders are off the exact ones by up to .118 (its
    /// rounding).
    #[test]
    fn printed_example() {
        let f = Frequencies { seen: 76, once_to_five: [43, 16, 8, 6, 0] };
        let jackknife = Jackknife::new(18);
        let n = jackknife.orders(&f);
        let exact = [76.0, 116.6111, 141.4477, 158.4820, 170.2814, 176.4468];
        let printed = [76.0, 116.6, 141.5, 158.6, 170.3, 176.5];
        for k in 0..=5 {
            assert!((n[k] - exact[k]).abs() < 5e-5, "order {k}: {}", n[k]);
            assert!((n[k] - printed[k]).abs() < 0.12, "order {k}: {}", n[k]);
        }
        let p: [f64; 4] = core::array::from_fn(|i| jackknife.significance(&f, &n, i + 1));
        for (p, golden) in p.iter().zip([5.056e-5, 0.038401, 0.283982, 0.676496]) {
            assert!((p - golden).abs() < 1e-6, "{p} against {golden}");
        }
        assert!((jackknife.estimate(&f) - 142.2523).abs() < 1e-4);
    }

    /// Many seen twice and few once: a higher order says less. The test is two-sided, so how
    /// unlikely the difference is does not depend on its sign (t = 18, N1 = 78.89, N2 = 76.59:
    /// T = −.400).
    #[test]
    fn an_order_that_says_less_is_tested_as_one_that_says_more() {
        let f = Frequencies { seen: 60, once_to_five: [20, 24, 10, 6, 0] };
        let jackknife = Jackknife::new(18);
        let n = jackknife.orders(&f);
        assert!((n[2] - n[1] + 2.300_653_594_771_2).abs() < 1e-9, "{n:?}");
        let p = jackknife.significance(&f, &n, 1);
        assert!((p - 0.689_074_772_874).abs() < 1e-9, "{p}");
    }

    #[test]
    fn nothing_seen_and_one_seen() {
        let jackknife = Jackknife::new(200);
        assert_eq!(jackknife.estimate(&Frequencies::default()), 0.0);
        assert_eq!(jackknife.estimate(&Frequencies { seen: 1, once_to_five: [0; 5] }), 1.0);
    }

    #[test]
    fn few_occasions_use_low_orders_only() {
        for t in 1..8 {
            let seen = t.min(3);
            let n =
                Jackknife::new(t).estimate(&Frequencies { seen, once_to_five: [seen, 0, 0, 0, 0] });
            assert!(n >= seen as f64 && n.is_finite(), "t = {t}: {n}");
        }
    }
}
