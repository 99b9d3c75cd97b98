//! Delays in a log-linear histogram: each octave of nanoseconds is cut into equal parts.
//!
//! There are `2^BITS` parts per octave. A quantile is off by at most one part's width, `1 / 2^BITS`
//! of the value. Within a part, values are taken as evenly spread. The first part holds all below
//! 2^[`FLOOR`] ns (about a microsecond), the last all above 2^[`CEILING`] ns (about 69 s).
//!
//! ```
//! use tidegate::Span;
//! use tidegate_sim::Histogram;
//! let mut delays = Histogram::new();
//! (1..=1000).for_each(|ms| delays.record(Span::from_millis(ms)));
//! let p99 = delays.quantile(0.99).unwrap().as_millis();
//! assert!((p99 - 990.0).abs() < 990.0 / 32.0);
//! assert_eq!(delays.mean().unwrap(), Span::from_micros(500_500));
//! ```
use tidegate::Span;

use crate::measure::delay::Delay;
use crate::measure::spread::Spread;

/// Times below two to this many nanoseconds share one part.
pub const FLOOR: u32 = 10;
/// Times above two to this many nanoseconds share one part.
pub const CEILING: u32 = 36;

/// How many parts a histogram with `2^bits` parts an octave has.
pub(crate) const fn parts(bits: u32) -> usize {
    (((CEILING - FLOOR) << bits) + 1) as usize
}

/// The part that `nanos` falls into, with `2^bits` parts an octave.
#[inline]
pub(crate) fn part(bits: u32, nanos: u64) -> usize {
    if nanos < 1 << FLOOR {
        return 0;
    }
    if nanos >= 1 << CEILING {
        return parts(bits) - 1;
    }
    let octave = 63 - nanos.leading_zeros();
    let within = (nanos >> (octave - bits)) as u32 & ((1 << bits) - 1);
    (((octave - FLOOR) << bits) + within + 1) as usize
}

/// The part among `2^bits` an octave in which part `index` among `2^BITS` lies.
#[inline]
pub(crate) fn coarser(index: usize, bits: u32) -> usize {
    if index == 0 { 0 } else { ((index - 1) >> (BITS - bits)) + 1 }
}

/// Where part `index` begins and ends, in nanoseconds.
fn edges(bits: u32, index: usize) -> (u64, u64) {
    if index == 0 {
        return (0, 1 << FLOOR);
    }
    let (octave, within) = ((index - 1) as u32 >> bits, (index - 1) as u64 & ((1 << bits) - 1));
    let width = 1u64 << (octave + FLOOR - bits);
    let low = (1u64 << (octave + FLOOR)) + within * width;
    (low, low + width)
}

/// The time below which a fraction `q` of what `counts` holds lies; `None` if they hold nothing.
pub(crate) fn quantile(bits: u32, counts: &[u32], q: f64) -> Option<Span> {
    let total: u64 = counts.iter().map(|&c| c as u64).sum();
    if total == 0 {
        return None;
    }
    let wanted = q.clamp(0.0, 1.0) * total as f64;
    let mut below = 0u64;
    let mut answer = 0;
    for (index, &count) in counts.iter().enumerate().filter(|&(_, &c)| c > 0) {
        let (low, high) = edges(bits, index);
        let within = ((wanted - below as f64) / count as f64).min(1.0);
        answer = low + ((high - low) as f64 * within.max(0.0)) as u64;
        below += count as u64;
        if below as f64 >= wanted {
            break;
        }
    }
    Some(Span::from_nanos(answer))
}

/// A histogram of times with 32 parts an octave, and their exact mean.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Histogram {
    counts: Box<[u32]>,
    all: Spread,
}

/// The parts an octave of a [`Histogram`], as a power of two.
pub(crate) const BITS: u32 = 5;

impl Histogram {
    /// An empty one.
    pub fn new() -> Histogram {
        Histogram { counts: vec![0; parts(BITS)].into(), all: Spread::default() }
    }

    /// Counts `time` in.
    #[inline]
    pub fn record(&mut self, time: Span) {
        self.record_in(part(BITS, time.as_nanos()), time.as_nanos());
    }

    /// Counts `nanos` in, which falls into `part`.
    #[inline]
    pub(crate) fn record_in(&mut self, part: usize, nanos: u64) {
        let count = &mut self.counts[part];
        *count = count.saturating_add(1);
        self.all.add(nanos);
    }

    /// Counts in what `other` holds.
    pub fn merge(&mut self, other: &Histogram) {
        for (a, b) in self.counts.iter_mut().zip(&other.counts) {
            *a = a.saturating_add(*b);
        }
        self.all.merge(&other.all);
    }

    /// How many times were counted.
    pub fn count(&self) -> u64 {
        self.all.count
    }

    /// The exact mean, to the nanosecond below; `None` when empty.
    pub fn mean(&self) -> Option<Span> {
        self.delay().mean
    }

    /// Exact mean and standard deviation, and percentiles.
    pub fn delay(&self) -> Delay {
        Delay::of(&self.all, |q| self.quantile(q))
    }

    /// The time below which a fraction `q` lies; `None` when empty.
    pub fn quantile(&self, q: f64) -> Option<Span> {
        quantile(BITS, &self.counts, q)
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_lies_within_the_edges_of_its_part_and_parts_are_narrow() {
        for bits in [3, 5] {
            let mut nanos = 1u64;
            while nanos < 1 << 40 {
                let (low, high) = edges(bits, part(bits, nanos));
                if nanos < 1 << CEILING {
                    assert!(low <= nanos && nanos < high, "{nanos} in {low}..{high}");
                }
                assert!(low == 0 || high - low <= low >> bits, "{low}..{high}");
                nanos += nanos / 97 + 1;
            }
        }
    }

    #[test]
    fn parts_follow_each_other_without_gap() {
        for bits in [3, 5] {
            for index in 1..parts(bits) {
                assert_eq!(edges(bits, index - 1).1, edges(bits, index).0);
            }
        }
    }

    #[test]
    fn a_coarser_part_is_the_part_in_the_coarser_histogram() {
        let mut nanos = 1u64;
        while nanos < 1 << 40 {
            assert_eq!(coarser(part(BITS, nanos), 3), part(3, nanos), "{nanos}");
            nanos += nanos / 211 + 1;
        }
    }

    #[test]
    fn quantiles_are_within_the_stated_error() {
        let mut sorted: Vec<u64> =
            (0..10_007u64).map(|i| 2_000 + tidegate::rng::mix(i) % 50_000_000).collect();
        let mut histogram = Histogram::new();
        sorted.iter().for_each(|&n| histogram.record(Span::from_nanos(n)));
        sorted.sort_unstable();
        for q in [0.01, 0.1, 0.5, 0.9, 0.99] {
            let exact = sorted[(q * sorted.len() as f64) as usize] as f64;
            let ours = histogram.quantile(q).unwrap().as_nanos() as f64;
            assert!((ours - exact).abs() <= exact / 32.0, "q {q}: {ours} for {exact}");
        }
        let mean = sorted.iter().sum::<u64>() / sorted.len() as u64;
        assert_eq!(histogram.mean(), Some(Span::from_nanos(mean)));
    }

    #[test]
    fn nothing_has_no_mean_and_extremes_are_counted() {
        let mut histogram = Histogram::new();
        assert_eq!((histogram.mean(), histogram.quantile(0.5)), (None, None));
        histogram.record(Span::ZERO);
        histogram.record(Span::from_nanos(u64::MAX));
        assert_eq!(histogram.count(), 2);
        let mut twice = histogram.clone();
        twice.merge(&histogram);
        assert_eq!(twice.count(), 4);
    }
}
