//! Every law against its distribution function, its mean and its bounds. False alarms: 1e-6 a test
//! of many laws.
use super::*;

const DRAWS: usize = 100_000;
/// √n times the greatest distance between two distribution functions exceeds this with probability
/// 1e-7 (Kolmogorov).
const KOLMOGOROV: f64 = 2.9;

fn drawn(law: &Law, seed: u64) -> Vec<u64> {
    let mut dice = Rng::from_seed(seed);
    (0..DRAWS as u64).map(|turn| law.draw(&mut dice, turn)).collect()
}

/// The greatest distance between what was drawn and `distribution`, times √n. A whole number stands
/// for what is rounded to it.
fn distance(law: &Law, seed: u64, distribution: impl Fn(f64) -> f64) -> f64 {
    let mut amounts = drawn(law, seed);
    amounts.sort_unstable();
    let n = amounts.len() as f64;
    let gap = |(i, &x): (usize, &u64)| {
        let (low, high) = (distribution(x as f64 - 0.5), distribution(x as f64 + 0.5));
        // Amounts are much finer than their spread, so that equal ones are rare.
        (low - (i + 1) as f64 / n).max(i as f64 / n - high)
    };
    amounts.iter().enumerate().map(gap).fold(0.0, f64::max) * n.sqrt()
}

#[allow(
    clippy::disallowed_methods,
    reason = "the host's functions are another way to the same numbers"
)]
fn oracle(law: &Law) -> Box<dyn Fn(f64) -> f64> {
    match law.clone() {
        Law::Uniform { least, most } => {
            Box::new(move |x| ((x - least as f64) / (most - least) as f64).clamp(0.0, 1.0))
        }
        Law::Exponential { mean } => Box::new(move |x| 1.0 - (-x.max(0.0) / mean as f64).exp()),
        Law::Pareto { shape, least } => {
            Box::new(move |x| 1.0 - (least as f64 / x.max(least as f64)).powf(shape))
        }
        Law::LogLogistic { median, shape } => {
            Box::new(move |x| 1.0 - 1.0 / (1.0 + (x.max(0.0) / median as f64).powf(shape)))
        }
        // Simpson's rule on the normal density: no error function.
        Law::LogNormal { median, sigma } => {
            Box::new(move |x| simpson((x.max(1e-9) / median as f64).ln() / sigma))
        }
        Law::Normal { mean, deviation } => {
            Box::new(move |x| simpson((x - mean as f64) / deviation as f64))
        }
        other => panic!("no oracle for {other:?}"),
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "the host's functions are another way to the same numbers"
)]
fn simpson(z: f64) -> f64 {
    let z = z.clamp(-9.0, 9.0);
    let step = z / 200.0;
    let density = |i: usize| (-(i as f64 * step).powi(2) / 2.0).exp();
    let weight = |i: usize| if i == 0 || i == 200 { 1.0 } else { 2.0 + 2.0 * (i % 2) as f64 };
    let sum: f64 = (0..=200).map(|i| weight(i) * density(i)).sum();
    0.5 + sum * step / 3.0 / (2.0 * std::f64::consts::PI).sqrt()
}

fn laws() -> Vec<Law> {
    vec![
        Law::Uniform { least: 1_000_000, most: 9_000_000 },
        Law::Exponential { mean: 10_000_000_000 },
        Law::Pareto { shape: 1.2, least: 10_000_000 },
        Law::Pareto { shape: 3.0, least: 5_000_000 },
        Law::LogNormal { median: 20_000_000, sigma: 1.5 },
        Law::LogLogistic { median: 21_900_000, shape: 1.15066 },
    ]
}

#[test]
fn each_law_has_its_distribution() {
    for (i, law) in laws().iter().enumerate() {
        let d = distance(law, i as u64, oracle(law));
        assert!(d < KOLMOGOROV, "{law:?}: {d}");
    }
}

#[test]
fn within_a_range_it_is_the_law_given_that_it_lies_there() {
    let mut all = laws();
    all.push(Law::Normal { mean: 10_000_000, deviation: 8_000_000 });
    for (i, law) in all.into_iter().enumerate() {
        let (least, most) = (6_000_000, if i % 2 == 0 { u64::MAX } else { 60_000_000 });
        let whole = oracle(&law);
        let top = if most == u64::MAX { 1.0 } else { whole(most as f64) };
        let (low, scale) = (whole(least as f64), top - whole(least as f64));
        let within = Law::Within(Box::new(law), least, most);
        let d = distance(&within, i as u64, |x| ((whole(x) - low) / scale).clamp(0.0, 1.0));
        assert!(d < KOLMOGOROV, "{within:?}: {d}");
        assert!(drawn(&within, 7).iter().all(|x| (least..=most).contains(x)));
        assert!(within.least() >= least && within.most().is_none_or(|m| m <= most));
    }
}

#[test]
fn a_mixture_within_a_range_keeps_its_shares() {
    let parts =
        [Law::Exponential { mean: 1_000_000 }, Law::Pareto { shape: 2.0, least: 3_000_000 }];
    let (a, b) = (oracle(&parts[0]), oracle(&parts[1]));
    let mix = Law::Mix(0.3, Box::new(parts));
    let whole = move |x: f64| 0.3 * a(x) + 0.7 * b(x);
    let d = distance(&mix, 3, &whole);
    assert!(d < KOLMOGOROV, "{d}");
    let low = whole(2e6);
    let within = Law::Within(Box::new(mix), 2_000_000, u64::MAX);
    let d = distance(&within, 4, |x| ((whole(x) - low) / (1.0 - low)).max(0.0));
    assert!(d < KOLMOGOROV, "{d}");
}

#[test]
fn means_are_those_drawn() {
    let mut all = laws();
    all.remove(2); // its variance is infinite, and its mean shows only in ages
    all.pop(); // likewise
    all.push(Law::Within(Box::new(Law::Pareto { shape: 1.2, least: 10_000 }), 10_000, 10_000_000));
    all.push(Law::Scaled(
        Box::new(Law::Exponential { mean: 1 }),
        Box::new(Law::Uniform { least: 1_000_000, most: 10_000_000 }),
    ));
    all.push(Law::InTurn(vec![1_000_000, 2_000_000, 6_000_000].into()));
    for law in all {
        let amounts = drawn(&law, 11);
        let n = amounts.len() as f64;
        let mean = amounts.iter().map(|&x| x as f64).sum::<f64>() / n;
        let variance =
            amounts.iter().map(|&x| (x as f64 - mean) * (x as f64 - mean)).sum::<f64>() / n;
        // 5.2 deviations are 2e-7; the mean within a range is worked out by points.
        let slack = 5.2 * (variance / n).sqrt() + 2e-3 * mean;
        assert!((mean - law.mean()).abs() < slack, "{law:?}: {mean} is not {}", law.mean());
    }
    // spec: the mean of the SRED paper's objects.
    let mean = Law::LogLogistic { median: 2190, shape: 1.15066 }.mean();
    assert!((mean / 14954.0 - 1.0).abs() < 1e-3, "{mean}");
}

#[test]
fn a_scale_is_drawn_once_when_it_is_settled() {
    let law = Law::Scaled(
        Box::new(Law::Pareto { shape: 2.0, least: 1 }),
        Box::new(Law::InTurn(vec![10, 20].into())),
    );
    let mut dice = Rng::from_seed(1);
    assert_eq!(law.settle(&mut dice, 0), Law::Pareto { shape: 2.0, least: 10 });
    assert_eq!(law.settle(&mut dice, 3), Law::Pareto { shape: 2.0, least: 20 });
    assert_eq!((law.least(), law.most()), (10, None));
}

#[test]
fn the_normal_quantile_inverts_the_distribution() {
    for i in 1..2000 {
        let u = i as f64 / 2000.0;
        assert!((normal(normal_quantile(u)) - u).abs() < 1e-14, "{u}");
    }
    for exponent in 4..=15 {
        let u = libm::pow(10.0, -exponent as f64);
        assert!((normal(normal_quantile(u)) / u - 1.0).abs() < 1e-9, "{u}");
    }
}
