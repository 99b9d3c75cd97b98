//! Waiting times in buckets whose width grows with the value.
use tidegate::Span;

/// Buckets that the delay quantiles of all flows of one pass may take together, 8 bytes each.
pub const CELLS: u32 = 16_000_000;

/// Each doubling of the value has 2^6 buckets: quantiles are right to 0.8 %, and exact below 64 ns.
const BITS: u32 = 6;

/// The bucket of `nanos`.
fn bucket(nanos: u64) -> usize {
    let doubling = (63 - (nanos | 1).leading_zeros()).saturating_sub(BITS);
    if nanos < 1 << BITS {
        return nanos as usize;
    }
    (((doubling as u64) << BITS) + (nanos >> doubling)) as usize
}

/// The middle of bucket `index`, in nanoseconds.
fn middle(index: usize) -> f64 {
    let index = index as u64;
    if index < 2 << BITS {
        return index as f64;
    }
    let doubling = (index >> BITS) - 1;
    let low = (index - (doubling << BITS)) << doubling;
    low as f64 + ((1u64 << doubling) - 1) as f64 / 2.0
}

/// The value below which a share `q` of all values lies: the least one that at least that share
/// does not exceed.
fn quantile(cells: impl Iterator<Item = (usize, u64)>, count: u64, q: f64) -> Option<f64> {
    let wanted = (q * count as f64).ceil().max(1.0) as u64;
    let mut seen = 0;
    for (index, n) in cells {
        seen += n;
        if seen >= wanted {
            return Some(middle(index));
        }
    }
    None
}

/// What is known of the waiting times of a set of packets.
pub(super) trait WaitingTimes {
    /// The mean in nanoseconds; `None` without packets.
    fn mean(&self) -> Option<f64>;
    /// The quantile `q` in nanoseconds; `None` without packets, or where it was not kept.
    fn quantile(&self, q: f64) -> Option<f64>;
}

/// For many packets.
#[derive(Clone, Debug, Default)]
pub(super) struct Dense {
    cells: Vec<u64>,
    count: u64,
    sum: u128,
}

impl Dense {
    pub(super) fn add(&mut self, wait: Span) {
        let index = bucket(wait.as_nanos());
        if index >= self.cells.len() {
            self.cells.resize(index + 1, 0);
        }
        self.cells[index] += 1;
        self.count += 1;
        self.sum += wait.as_nanos() as u128;
    }

    /// Counts `other`'s packets in.
    pub(super) fn merge(&mut self, other: &Dense) {
        self.cells.resize(self.cells.len().max(other.cells.len()), 0);
        for (mine, theirs) in self.cells.iter_mut().zip(&other.cells) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum += other.sum;
    }
}

impl WaitingTimes for Dense {
    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    fn quantile(&self, q: f64) -> Option<f64> {
        quantile(self.cells.iter().copied().enumerate(), self.count, q)
    }
}

/// For one flow of a great many: as few cells as it needs.
#[derive(Clone, Debug, Default)]
pub(super) struct Sparse {
    /// Bucket and count, by bucket.
    cells: Vec<(u16, u32)>,
    count: u64,
    sum: u128,
    lost: Lost,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Lost {
    #[default]
    Nothing,
    /// There was no cell left for one of its values.
    Quantiles,
}

impl Sparse {
    /// Counts a packet that waited for `wait`; a cell that it needs is taken from the `free` ones.
    pub(super) fn add(&mut self, wait: Span, free: &mut u32) {
        self.count += 1;
        self.sum += wait.as_nanos() as u128;
        if self.lost == Lost::Quantiles {
            return;
        }
        let index = bucket(wait.as_nanos()) as u16;
        match self.cells.binary_search_by_key(&index, |&(i, _)| i) {
            Ok(at) => self.cells[at].1 = self.cells[at].1.saturating_add(1),
            Err(at) if *free > 0 => {
                *free -= 1;
                self.cells.insert(at, (index, 1));
            }
            Err(_) => {
                *free += self.cells.len() as u32;
                *self = Sparse {
                    count: self.count,
                    sum: self.sum,
                    lost: Lost::Quantiles,
                    cells: Vec::new(),
                };
            }
        }
    }
}

impl WaitingTimes for Sparse {
    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    fn quantile(&self, q: f64) -> Option<f64> {
        let cells = self.cells.iter().map(|&(i, n)| (i as usize, n as u64));
        quantile(cells, self.count, q)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_near_its_buckets_middle_and_order_is_kept() {
        let (mut before, mut value) = (0, 0u64);
        while value < 1 << 62 {
            let index = bucket(value);
            assert!(index >= before, "{value}");
            before = index;
            let off = (middle(index) - value as f64).abs();
            assert!(off <= value as f64 / (2 << BITS) as f64, "{value}: off by {off}");
            value += value / 37 + 1;
        }
        assert!(bucket(u64::MAX) <= u16::MAX as usize);
    }

    #[test]
    fn quantiles_of_known_values() {
        let (mut dense, mut sparse, mut free) = (Dense::default(), Sparse::default(), 1000);
        for millis in 1..=100 {
            dense.add(Span::from_millis(millis));
            sparse.add(Span::from_millis(millis), &mut free);
        }
        for delays in [&dense as &dyn WaitingTimes, &sparse] {
            assert_eq!(delays.mean(), Some(50.5e6));
            for (q, millis) in [(0.5, 50.0), (0.99, 99.0), (1.0, 100.0), (0.0, 1.0)] {
                let got = delays.quantile(q).unwrap() / 1e6;
                assert!((got - millis).abs() <= 0.008 * millis, "{q}: {got}");
            }
        }
        assert_eq!(Dense::default().quantile(0.5), None);
    }

    #[test]
    fn a_flow_without_a_cell_keeps_its_mean_and_gives_its_cells_back() {
        let (mut sparse, mut free) = (Sparse::default(), 2);
        for millis in [1, 2, 3, 4] {
            sparse.add(Span::from_millis(millis), &mut free);
        }
        assert_eq!((sparse.mean(), sparse.quantile(0.5), free), (Some(2.5e6), None, 2));
    }
}
