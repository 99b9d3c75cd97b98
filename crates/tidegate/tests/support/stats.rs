//! Tests of distributions. Each fails a correct queue once in a million runs ([`FALSE_ALARM`]).
use super::base_seed;
use tidegate::{Rng, Seed};

/// How often a test of this kind fails although all is well.
pub const FALSE_ALARM: f64 = 1e-6;

/// The dice of run `index` of the test called `name`.
pub fn dice(name: &str, index: u64) -> Rng {
    seed(name, index).stream("dice")
}

/// The seed of run `index` of the test called `name`, derived from the base.
pub fn seed(name: &str, index: u64) -> Seed {
    Seed::new(base_seed().stream(name).bits()).child(index)
}

/// Chi-square: the counts fit the expected ones.
pub fn assert_counts(what: &str, counts: &[u64], expected: &[f64]) {
    let p = chi_square(counts, expected);
    assert!(p > FALSE_ALARM, "{what}: p = {p:e}\ncounts   {counts:?}\nexpected {expected:?}");
}

/// Probability of counts at least as far off as these.
pub fn chi_square(counts: &[u64], expected: &[f64]) -> f64 {
    assert_eq!(counts.len(), expected.len());
    let total: f64 = counts.iter().map(|&c| c as f64).sum();
    let sum: f64 = expected.iter().sum();
    assert!((total / sum - 1.0).abs() < 1e-9, "{total} counted, {sum} expected");
    assert!(expected.iter().all(|&e| e >= 5.0), "a cell expects less than 5: {expected:?}");
    let x: f64 =
        counts.iter().zip(expected).map(|(&c, &e)| (c as f64 - e) * (c as f64 - e) / e).sum();
    upper_gamma(0.5 * (counts.len() - 1) as f64, 0.5 * x)
}

/// z test: the mean of `n` independent values is `mean`, each of variance `variance`.
pub fn assert_mean(what: &str, sum: f64, n: u64, mean: f64, variance: f64) {
    let z = (sum - n as f64 * mean) / (n as f64 * variance).sqrt();
    let p = libm::erfc(z.abs() / core::f64::consts::SQRT_2);
    assert!(p > FALSE_ALARM, "{what}: mean {} of {n}, expected {mean}, z = {z}", sum / n as f64);
}

/// Q(a, x), the regularized upper incomplete gamma function: its series below a + 1, its continued
/// fraction above.
fn upper_gamma(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let scale = libm::exp(a * libm::log(x) - x - libm::lgamma(a));
    if x < a + 1.0 {
        let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
        while term > sum * 1e-16 {
            n += 1.0;
            term *= x / n;
            sum += term;
        }
        return 1.0 - scale * sum;
    }
    let tiny = 1e-300;
    let (mut b, mut c) = (x + 1.0 - a, 1.0 / tiny);
    let mut d = 1.0 / b;
    let mut h = d;
    for i in 1..10_000 {
        let an = -(i as f64) * (i as f64 - a);
        b += 2.0;
        d = 1.0 / (an * d + b).max(tiny);
        c = (b + an / c).max(tiny);
        h *= c * d;
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    scale * h
}
