//! The exponential estimator of a flow's rate (stoica1998 §2.3). Each packet brings its own rate
//! since the one before it, and the estimate forgets with the time constant K, whatever the lengths
//! and gaps of the packets.
//!
//! ```
//! use tidegate::{Span, parts::rate::RateEstimator};
//! let estimator = RateEstimator::new(Span::from_millis(384));
//! let mut rate = 0.0;
//! for _ in 0..1000 {
//!     rate = estimator.update(rate, 1000, Span::from_millis(8));
//! }
//! assert!((rate - 125_000.0).abs() < 1e-3); // 1000 bytes every 8 ms
//! ```
use crate::units::{Span, Time};

/// The estimator's law. The estimate itself, one float per flow, is its owner's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateEstimator {
    /// 1 / K, per second.
    per_k: f64,
}

/// Below so many K a power series is used: a packet's gap is short against K where there is much to
/// do.
const SHORT: f64 = 0.03125;

impl RateEstimator {
    /// An estimator with the time constant `k`, at least a nanosecond.
    pub fn new(k: Span) -> RateEstimator {
        RateEstimator { per_k: 1.0 / k.max(Span::from_nanos(1)).as_secs() }
    }

    /// The new estimate in bytes per second, after a packet of `len` bytes came `gap` after the one
    /// before: (1 − e^(−gap/K)) len / gap + e^(−gap/K) rate. Without a gap its limit, rate +
    /// len / K.
    #[inline]
    pub fn update(&self, rate: f64, len: u32, gap: Span) -> f64 {
        self.after(rate, len as f64, gap)
    }

    #[inline]
    fn after(&self, rate: f64, bytes: f64, gap: Span) -> f64 {
        let gap = gap.as_secs();
        let x = gap * self.per_k;
        if x < SHORT {
            let forgotten_per_x = series(x);
            return bytes * self.per_k * forgotten_per_x + (1.0 - x * forgotten_per_x) * rate;
        }
        let forgotten = -libm::expm1(-x);
        bytes * forgotten / gap + (1.0 - forgotten) * rate
    }
}

/// An estimate with what it must know of the packets before: for owners that do not keep this
/// themselves. Packets that come at one time count together with the next one that comes later
/// (stoica1998's code), and of a first packet nothing but its time is known.
#[derive(Clone, Copy, Debug)]
pub struct RateStream {
    rate: f64,
    /// When the last packet came; never, before the first.
    last: Time,
    /// Bytes that came at that very time, after what was counted.
    waiting: u64,
}

impl Default for RateStream {
    fn default() -> RateStream {
        RateStream { rate: 0.0, last: Time::MAX, waiting: 0 }
    }
}

impl RateStream {
    /// The estimate in bytes per second.
    #[inline]
    pub const fn rate(&self) -> f64 {
        self.rate
    }

    /// Whether nothing has come for longer than `span`, or nothing ever.
    #[inline]
    pub fn is_quiet(&self, now: Time, span: Span) -> bool {
        self.last == Time::MAX || now.since(self.last) > span
    }

    /// A packet of `len` bytes comes.
    #[inline]
    pub fn update(&mut self, estimator: &RateEstimator, now: Time, len: u32) {
        if now == self.last {
            self.waiting += len as u64;
        } else if self.last == Time::MAX {
            self.last = now;
        } else {
            let bytes = (self.waiting + len as u64) as f64;
            self.rate = estimator.after(self.rate, bytes, now.since(self.last));
            (self.last, self.waiting) = (now, 0);
        }
    }
}

/// (1 − e^−x) / x to the last bit or two, for x below [`SHORT`].
#[inline]
fn series(x: f64) -> f64 {
    let tail = 1.0 / 120.0 - x * (1.0 / 720.0 - x * (1.0 / 5040.0));
    1.0 - x * (0.5 - x * (1.0 / 6.0 - x * (1.0 / 24.0 - x * tail)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// The equation as it stands, from an empty estimate and from a full one, over fourteen decades
    /// of gap, to a few roundings. They are roundings of the result, and of what the old estimate
    /// was (1 − forgotten is exact to one in 2^53, not relative).
    #[test]
    fn accuracy() {
        for k_ms in [1, 100, 384, 60_000] {
            let estimator = RateEstimator::new(Span::from_millis(k_ms));
            let k = k_ms as f64 / 1e3;
            for exponent in 0..280 {
                let gap = Span::from_nanos(libm::pow(10.0, exponent as f64 / 20.0) as u64);
                let (t, x) = (gap.as_secs(), gap.as_secs() / k);
                for (before, len) in [(0.0, 1500), (1e6, 0), (1e6, 40)] {
                    let exact = -libm::expm1(-x) * len as f64 / t + libm::exp(-x) * before;
                    let ours = estimator.update(before, len, gap);
                    assert!(
                        (ours - exact).abs() <= 2e-15 * exact + 2.3e-16 * before,
                        "{k_ms} ms, {gap}: {ours} {exact}"
                    );
                }
            }
        }
    }

    /// The numbers that follow from eq. 4 of cho2001: first step and fixed point of 1000 bytes
    /// every 8 ms; and what no gap means.
    #[test]
    fn golden() {
        let estimator = RateEstimator::new(Span::from_millis(384));
        let step = |rate| estimator.update(rate, 1000, Span::from_millis(8));
        assert!((step(0.0) - 2577.2273).abs() < 1e-4);
        assert!(((0..600).fold(0.0, |rate, _| step(rate)) - 125_000.0).abs() < 1.0);
        assert_eq!(estimator.update(5.0, 384, Span::ZERO), 5.0 + 384.0 / 0.384);
        // csfq's constant, K = 100 ms.
        let csfq =
            RateEstimator::new(Span::from_millis(100)).update(0.0, 1000, Span::from_millis(8));
        assert!((csfq - 9610.5).abs() < 0.06, "{csfq}");
    }

    /// 1000 bytes every 8 ms, as one packet and as four at once: the same estimate, and the first
    /// 1000 bytes tell nothing.
    #[test]
    fn packets_that_come_at_once_count_together() {
        let estimator = RateEstimator::new(Span::from_millis(100));
        let at = |n: u64| Time::ZERO + Span::from_millis(8 * n);
        let (mut whole, mut parts) = (RateStream::default(), RateStream::default());
        whole.update(&estimator, at(0), 1000);
        assert_eq!(whole.rate(), 0.0);
        whole.update(&estimator, at(1), 1000);
        assert!((whole.rate() - 9610.5).abs() < 0.06, "{}", whole.rate());
        parts.update(&estimator, at(0), 1000);
        for n in 1..100 {
            // What comes last at one time joins what comes next.
            (0..3).for_each(|_| parts.update(&estimator, at(n - 1), 250));
            parts.update(&estimator, at(n), 250);
            whole.update(&estimator, at(n + 1), 1000);
        }
        let expected =
            (1..100).fold(0.0, |rate, _| estimator.update(rate, 1000, Span::from_millis(8)));
        assert_eq!(parts.rate(), expected);
        assert_eq!(whole.rate(), estimator.update(expected, 1000, Span::from_millis(8)));
    }

    /// A packet that is cut in two halves of the gap and of the length leaves the same estimate.
    #[test]
    fn lengths_and_gaps_do_not_matter() {
        let estimator = RateEstimator::new(Span::from_millis(100));
        let whole = estimator.update(7e4, 1000, Span::from_micros(3_000));
        let halves =
            (0..2).fold(7e4, |rate, _| estimator.update(rate, 500, Span::from_micros(1_500)));
        assert!((whole / halves - 1.0).abs() < 1e-12, "{whole} {halves}");
    }

    /// Poisson arrivals: the mean of the estimate over independent runs is the rate (z test, false
    /// alarm 1e-6). With gaps T of mean τ, estimates after each packet weigh their own gap: E =
    /// len/K Σ E[(1 − e^−x)/x] …, which for τ ≪ K is len/τ (1 + O(τ/K)); the bias of 1/(2·400)
    /// is allowed for.
    #[test]
    fn poisson_arrivals_are_estimated_without_much_bias() {
        let estimator = RateEstimator::new(Span::from_millis(400));
        let (runs, mut sum, mut squares) = (400, 0.0, 0.0);
        for seed in 0..runs {
            let mut dice = Rng::from_seed(seed);
            let rate = (0..4_000).fold(0.0, |rate, _| {
                estimator.update(rate, 1000, Span::from_secs(dice.exponential(0.001)))
            });
            sum += rate;
            squares += rate * rate;
        }
        let n = runs as f64;
        let (mean, variance) = (sum / n, squares / n - (sum / n) * (sum / n));
        let error = 4.892 * libm::sqrt(variance / n);
        assert!((mean - 1e6).abs() < error + 1e6 / 400.0, "{mean} ± {error}");
        // Kernel of K: the variance of a Poisson rate is rate·len/(2K).
        assert!((variance / (1e6 * 1000.0 / 0.8) - 1.0).abs() < 0.4, "{variance}");
    }
}
