//! Probability distributions of times (in nanoseconds) and sizes (in bytes). Values are drawn by
//! inversion, from one random number each.
use std::sync::Arc;

use tidegate::Rng;

/// A probability distribution. Amounts are whole numbers of a base unit: nanoseconds or bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Law {
    /// Always the same.
    Constant(u64),
    /// These values in turn; at least one.
    InTurn(Arc<[u64]>),
    /// Uniform on [least, most); `least` if they are equal.
    Uniform {
        /// The least.
        least: u64,
        /// The bound, not included.
        most: u64,
    },
    /// Exponential.
    Exponential {
        /// Its mean.
        mean: u64,
    },
    /// Pareto: P(X > x) = (least / x)^shape.
    Pareto {
        /// The exponent of its tail; the mean is finite above 1.
        shape: f64,
        /// The least.
        least: u64,
    },
    /// The logarithm is normal.
    LogNormal {
        /// Its median.
        median: u64,
        /// The standard deviation of its logarithm.
        sigma: f64,
    },
    /// Log-logistic: P(X > x) = 1 / (1 + (x / median)^shape), Neidhardt's model of web traffic in
    /// ott1999.
    LogLogistic {
        /// Its median.
        median: u64,
        /// The exponent of its tail; the mean is finite above 1.
        shape: f64,
    },
    /// Normal. A negative value becomes 0; use it [`Within`](Law::Within) a range to avoid that.
    Normal {
        /// Its mean.
        mean: u64,
        /// Its standard deviation.
        deviation: u64,
    },
    /// A mixture: the first with this probability, else the second.
    Mix(f64, Box<[Law; 2]>),
    /// Truncated: drawn again until it lies between these bounds, which are included.
    Within(Box<Law>, u64, u64),
    /// The first with its scale (mean, least or median) drawn from the second.
    /// [`Law::settle`] draws the scale once.
    Scaled(Box<Law>, Box<Law>),
}

/// More than any amount that is drawn: 30 years in nanoseconds.
const CEILING: f64 = 1e18;
/// The points of the numerical mean within a range.
const POINTS: u32 = 4096;

impl Law {
    /// Draws an amount. `turn` is the position for [`Law::InTurn`].
    pub fn draw(&self, dice: &mut Rng, turn: u64) -> u64 {
        match self {
            Law::Constant(amount) => *amount,
            Law::InTurn(amounts) => amounts[(turn % amounts.len() as u64) as usize],
            // In whole numbers, so that nothing is rounded.
            Law::Uniform { least, most } if most > least => least + dice.below(most - least),
            Law::Uniform { least, .. } => *least,
            Law::Mix(first, laws) => laws[!dice.chance(*first) as usize].draw(dice, turn),
            Law::Within(law, ..) if matches!(**law, Law::Mix(..) | Law::Scaled(..)) => {
                self.settle(dice, turn).draw(dice, turn)
            }
            Law::Scaled(law, by) => law.at_scale(by.draw(dice, turn)).draw(dice, turn),
            _ => whole(self.quantile(dice.uniform())),
        }
    }

    /// Draws every random scale once and for all. The result draws amounts without allocating.
    pub fn settle(&self, dice: &mut Rng, turn: u64) -> Law {
        match self {
            Law::Scaled(law, by) => law.at_scale(by.draw(dice, turn)),
            Law::Within(law, least, most) => law.settle(dice, turn).within(*least, *most),
            Law::Mix(first, laws) => {
                Law::Mix(*first, Box::new([laws[0].settle(dice, turn), laws[1].settle(dice, turn)]))
            }
            other => other.clone(),
        }
    }

    /// Truncates a settled distribution to `least..=most`. A mixture keeps its parts, weighted by
    /// their mass in that range.
    fn within(self, least: u64, most: u64) -> Law {
        let Law::Mix(first, laws) = self else { return Law::Within(Box::new(self), least, most) };
        let [a, b] = *laws;
        let (one, other) = (first * a.mass(least, most), (1.0 - first) * b.mass(least, most));
        Law::Mix(one / (one + other), Box::new([a.within(least, most), b.within(least, most)]))
    }

    /// The same distribution with another scale: mean, least or median, whichever it has.
    fn at_scale(&self, scale: u64) -> Law {
        match self.clone() {
            Law::Exponential { .. } => Law::Exponential { mean: scale },
            Law::Pareto { shape, .. } => Law::Pareto { shape, least: scale },
            Law::LogNormal { sigma, .. } => Law::LogNormal { median: scale, sigma },
            Law::LogLogistic { shape, .. } => Law::LogLogistic { median: scale, shape },
            other => other,
        }
    }

    /// The least value.
    pub fn least(&self) -> u64 {
        match self {
            Law::Constant(amount) => *amount,
            Law::InTurn(amounts) => amounts.iter().copied().min().unwrap_or(0),
            Law::Uniform { least, .. } | Law::Pareto { least, .. } => *least,
            Law::Mix(_, laws) => laws[0].least().min(laws[1].least()),
            Law::Within(law, least, _) => law.least().max(*least),
            Law::Scaled(law, by) => law.at_scale(by.least()).least(),
            _ => 0,
        }
    }

    /// The greatest value; `None` without a bound.
    pub fn most(&self) -> Option<u64> {
        match self {
            Law::Constant(amount) => Some(*amount),
            Law::InTurn(amounts) => amounts.iter().copied().max(),
            Law::Uniform { most, .. } => Some(*most),
            Law::Mix(_, laws) => Some(laws[0].most()?.max(laws[1].most()?)),
            Law::Within(law, _, most) if *most < u64::MAX => {
                Some(law.most().unwrap_or(*most).min(*most))
            }
            Law::Within(law, ..) | Law::Scaled(law, _) => law.most(),
            _ => None,
        }
    }

    /// The mean, which may be infinite. Within a range it is numerical, to a few per cent for a
    /// heavy tail.
    pub fn mean(&self) -> f64 {
        match self {
            Law::Constant(amount) => *amount as f64,
            Law::InTurn(amounts) => {
                amounts.iter().map(|&a| a as f64).sum::<f64>() / amounts.len() as f64
            }
            Law::Uniform { least, most } => (*least as f64 + *most as f64) / 2.0,
            Law::Exponential { mean } | Law::Normal { mean, .. } => *mean as f64,
            Law::Pareto { shape, .. } | Law::LogLogistic { shape, .. } if *shape <= 1.0 => {
                f64::INFINITY
            }
            Law::Pareto { shape, least } => *least as f64 * shape / (shape - 1.0),
            Law::LogLogistic { median, shape } => {
                let angle = core::f64::consts::PI / shape;
                *median as f64 * angle / libm::sin(angle)
            }
            Law::LogNormal { median, sigma } => *median as f64 * libm::exp(sigma * sigma / 2.0),
            Law::Mix(first, laws) => {
                // A part that is never drawn adds nothing, be its mean infinite.
                let part =
                    |share: f64, law: &Law| if share > 0.0 { share * law.mean() } else { 0.0 };
                part(*first, &laws[0]) + part(1.0 - first, &laws[1])
            }
            Law::Within(law, least, most) => law.mean_within(*least, *most),
            Law::Scaled(law, by) => law.at_scale(1_000_000).mean() * by.mean() / 1e6,
        }
    }

    /// The share of time of this period when it alternates with the `other`: by their means.
    pub fn share_beside(&self, other: &Law) -> f64 {
        let mean = self.mean();
        if mean.is_infinite() { 1.0 } else { mean / (mean + other.mean()) }
    }

    fn mean_within(&self, least: u64, most: u64) -> f64 {
        match self {
            Law::Mix(first, laws) => {
                let part = |law: &Law, share: f64| {
                    let mass = share * law.mass(least, most);
                    if mass > 0.0 {
                        (mass, mass * law.mean_within(least, most))
                    } else {
                        (0.0, 0.0)
                    }
                };
                let (a, b) = (part(&laws[0], *first), part(&laws[1], 1.0 - first));
                (a.1 + b.1) / (a.0 + b.0)
            }
            Law::Scaled(law, by) => law.at_scale(by.mean() as u64).mean_within(least, most),
            _ => {
                let (low, high) = (self.below(least), self.up_to(most));
                let at =
                    |i: u32| self.quantile(low + (high - low) * (i as f64 + 0.5) / POINTS as f64);
                (0..POINTS).map(|i| at(i).clamp(least as f64, most as f64)).sum::<f64>()
                    / POINTS as f64
            }
        }
    }

    /// The probability of `least..=most`.
    pub fn mass(&self, least: u64, most: u64) -> f64 {
        match self {
            Law::Mix(first, laws) => {
                first * laws[0].mass(least, most) + (1.0 - first) * laws[1].mass(least, most)
            }
            Law::Scaled(law, by) => law.at_scale(by.mean() as u64).mass(least, most),
            _ => self.up_to(most) - self.below(least),
        }
    }

    fn below(&self, amount: u64) -> f64 {
        if amount == 0 && !matches!(self, Law::Normal { .. }) {
            0.0
        } else {
            self.distribution(amount as f64)
        }
    }

    fn up_to(&self, amount: u64) -> f64 {
        if amount == u64::MAX { 1.0 } else { self.distribution(amount as f64) }
    }

    /// P(X ≤ x), for a distribution that is not a mixture.
    fn distribution(&self, x: f64) -> f64 {
        match self {
            Law::Exponential { mean } => -libm::expm1(-x / *mean as f64),
            Law::Pareto { shape, least } if x > *least as f64 => {
                1.0 - libm::pow(*least as f64 / x, *shape)
            }
            Law::Pareto { .. } => 0.0,
            Law::LogNormal { median, sigma } => normal(libm::log(x / *median as f64) / sigma),
            Law::LogLogistic { median, shape } => {
                1.0 / (1.0 + libm::pow(*median as f64 / x, *shape))
            }
            Law::Normal { mean, deviation } => normal((x - *mean as f64) / *deviation as f64),
            Law::Uniform { least, most } => {
                ((x - *least as f64) / (*most as f64 - *least as f64).max(1.0)).clamp(0.0, 1.0)
            }
            Law::Within(law, least, most) => {
                let (low, high) = (law.below(*least), law.up_to(*most));
                ((law.distribution(x) - low) / (high - low)).clamp(0.0, 1.0)
            }
            _ => (x >= self.mean()) as u8 as f64,
        }
    }

    /// The x with P(X ≤ x) = u, for a distribution that is not a mixture.
    fn quantile(&self, u: f64) -> f64 {
        match self {
            Law::Exponential { mean } => -(*mean as f64) * libm::log1p(-u),
            Law::Pareto { shape, least } => *least as f64 * libm::pow(1.0 - u, -1.0 / shape),
            Law::LogNormal { median, sigma } => {
                *median as f64 * libm::exp(sigma * normal_quantile(u))
            }
            Law::LogLogistic { median, shape } => {
                *median as f64 * libm::pow(u / (1.0 - u), 1.0 / shape)
            }
            Law::Normal { mean, deviation } => {
                *mean as f64 + *deviation as f64 * normal_quantile(u)
            }
            Law::Uniform { least, most } => *least as f64 + (*most as f64 - *least as f64) * u,
            Law::Within(law, least, most) => {
                let (low, high) = (law.below(*least), law.up_to(*most));
                law.quantile(low + (high - low) * u).clamp(*least as f64, *most as f64)
            }
            _ => self.mean(),
        }
    }
}

/// To the nearest whole number, at most the ceiling.
fn whole(amount: f64) -> u64 {
    (amount.min(CEILING) + 0.5) as u64
}

/// The standard normal distribution function.
fn normal(z: f64) -> f64 {
    0.5 * libm::erfc(-z * core::f64::consts::FRAC_1_SQRT_2)
}

/// Its inverse: the rational approximation 26.2.23 of Abramowitz and Stegun (good to 4.5e-4), then
/// two of Newton's steps of third order (Halley's).
fn normal_quantile(u: f64) -> f64 {
    let tail = u.min(1.0 - u).max(f64::MIN_POSITIVE);
    let t = libm::sqrt(-2.0 * libm::log(tail));
    let above = 2.515517 + t * (0.802853 + t * 0.010328);
    let under = 1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308));
    // On the lower side, where the distribution function keeps its digits.
    let mut z = above / under - t;
    for _ in 0..2 {
        let density = libm::exp(-z * z / 2.0) / libm::sqrt(2.0 * core::f64::consts::PI);
        let step = (normal(z) - tail) / density;
        z -= step / (1.0 + z * step / 2.0);
    }
    if u < 0.5 { z } else { -z }
}

#[cfg(test)]
#[path = "law_tests.rs"]
mod tests;
