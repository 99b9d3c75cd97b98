//! Exact mean and standard deviation from sums of integers. The order of the values does not
//! matter.
//!
//! ```
//! use tidegate_sim::Spread;
//! let spread: Spread = [1, 2, 3].into_iter().collect();
//! assert_eq!(spread.mean(), Some(2.0));
//! assert!((spread.variation().unwrap() - 0.408248).abs() < 1e-6);
//! ```
use crate::event::queue::NEVER;

/// The count, the sum and the sum of squares of some numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Spread {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum: u128,
    /// The sum of their squares.
    pub squares: u128,
}

impl Spread {
    /// Counts `value` in.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum += value as u128;
        // Of any number of these the sum of squares fits.
        if value <= u32::MAX as u64 {
            self.squares += (value * value) as u128;
        } else {
            self.squares = self.squares.saturating_add(value as u128 * value as u128);
        }
    }

    /// Counts in all of `other`.
    pub fn merge(&mut self, other: &Spread) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares = self.squares.saturating_add(other.squares);
    }

    /// The mean; `None` of nothing.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The population standard deviation; `None` of nothing.
    pub fn deviation(&self) -> Option<f64> {
        let n = self.count as u128;
        let mean = self.mean()?;
        // n Σx² − (Σx)² without rounding, as long as it fits: the difference of two nearly equal
        // numbers.
        let exact = match (n.checked_mul(self.squares), self.sum.checked_mul(self.sum)) {
            (Some(a), Some(b)) => a.saturating_sub(b) as f64 / (n as f64 * n as f64),
            _ => (self.squares as f64 / n as f64 - mean * mean).max(0.0),
        };
        Some(exact.sqrt())
    }

    /// The coefficient of variation, population standard deviation over mean; `None` where the mean
    /// is 0.
    pub fn variation(&self) -> Option<f64> {
        let mean = self.mean().filter(|mean| *mean > 0.0)?;
        Some(self.deviation()? / mean)
    }
}

impl FromIterator<u64> for Spread {
    fn from_iter<I: IntoIterator<Item = u64>>(values: I) -> Spread {
        let mut all = Spread::default();
        values.into_iter().for_each(|value| all.add(value));
        all
    }
}

/// The gaps between successive events, which must be added in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gaps {
    last: u64,
    pub spread: Spread,
}

impl Gaps {
    pub const NONE: Gaps = Gaps { last: NEVER, spread: Spread { count: 0, sum: 0, squares: 0 } };

    /// An event at `at`.
    #[inline]
    pub fn note(&mut self, at: u64) {
        if self.last != NEVER {
            self.spread.add(at - self.last);
        }
        self.last = at;
    }
}

/// Bytes in successive windows of one length. Deliveries to a flow come in order, so only one
/// window is open. One cache line.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
pub(crate) struct Windows {
    /// The end of the open window.
    until: u64,
    /// The bytes in it so far, and those of them that are new to the receiver.
    open: [u64; 2],
    /// The bytes of those that are closed, added up, and their squares.
    sum: u128,
    squares: u128,
}

const _: () = assert!(size_of::<Windows>() == 64);

impl Windows {
    /// Empty ones.
    pub const fn new() -> Windows {
        Windows { until: 0, open: [0; 2], sum: 0, squares: 0 }
    }

    /// `len` bytes come at `at`, `new` of them new; windows of `width` begin at `begin`. What the
    /// window before had, if that is over now and had any.
    #[inline]
    pub fn add(
        &mut self,
        at: u64,
        [len, new]: [u64; 2],
        begin: u64,
        width: u64,
    ) -> Option<[u64; 2]> {
        let mut closed = None;
        if at >= self.until {
            closed = self.close();
            self.until = begin + ((at - begin) / width + 1) * width;
        }
        self.open[0] += len;
        self.open[1] += new;
        closed
    }

    /// The same of a window that is over at `end`.
    pub fn close_by(&mut self, end: u64) -> Option<[u64; 2]> {
        if self.until <= end { self.close() } else { None }
    }

    fn close(&mut self) -> Option<[u64; 2]> {
        let closed = std::mem::take(&mut self.open);
        if closed[0] == 0 {
            return None;
        }
        let mut all = self.spread(0);
        all.add(closed[0]);
        (self.sum, self.squares) = (all.sum, all.squares);
        Some(closed)
    }

    /// The bytes of each closed window, of `windows` in all: in the others nothing came.
    pub const fn spread(&self, windows: u64) -> Spread {
        Spread { count: windows, sum: self.sum, squares: self.squares }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_numbers_and_edges() {
        let of = |values: &[u64]| values.iter().copied().collect::<Spread>();
        assert!((of(&[1, 2, 3]).variation().unwrap() - 0.408248).abs() < 5e-7);
        assert_eq!(
            (of(&[]).mean(), of(&[]).deviation(), of(&[0, 0]).variation()),
            (None, None, None)
        );
        assert_eq!(of(&[7; 1000]).deviation(), Some(0.0));
        // Ten seconds in nanoseconds and one more: the deviation is half a nanosecond, though the
        // squares are huge.
        assert_eq!(of(&[10_000_000_000, 10_000_000_001]).deviation(), Some(0.5));
        assert_eq!(of(&[u64::MAX, u64::MAX]).deviation(), Some(0.0));
        let mut both = of(&[1, 2]);
        both.merge(&of(&[3]));
        assert_eq!(both, of(&[1, 2, 3]));
    }

    #[test]
    fn gaps_and_windows_are_those_that_one_would_list() {
        let mut gaps = Gaps::NONE;
        [5, 5, 9, 20].into_iter().for_each(|at| gaps.note(at));
        assert_eq!(gaps.spread, [0, 4, 11].into_iter().collect());
        // Windows of 10 from 100 on; the last, from 140 on, is not whole.
        let (mut windows, mut closed) = (Windows::new(), vec![]);
        for (at, len) in [(100, 3), (109, 2), (110, 7), (135, 1), (141, 100)] {
            closed.extend(windows.add(at, [len, len.min(50)], 100, 10));
        }
        assert_eq!(closed, [[5, 5], [7, 7], [1, 1]], "the one between had nothing");
        let of = |values: &[u64]| values.iter().copied().collect::<Spread>();
        let mut longer = windows;
        assert_eq!(windows.close_by(140), None, "the last is not over");
        assert_eq!(windows.spread(4), of(&[5, 7, 0, 1]));
        assert_eq!(longer.close_by(150), Some([100, 50]));
        assert_eq!(longer.spread(5), of(&[5, 7, 0, 1, 100]));
        assert_eq!(Windows::new().spread(3), of(&[0, 0, 0]));
    }
}
