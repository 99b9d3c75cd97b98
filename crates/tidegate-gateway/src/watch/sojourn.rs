//! How long frames waited, in a histogram of fixed size: four steps to each doubling, from a
//! microsecond to half a minute.
//!
//! ```
//! use tidegate::Span;
//! use tidegate_gateway::watch::sojourn::Sojourns;
//! let mut sojourns = Sojourns::default();
//! (1..=1000).for_each(|micros| sojourns.add(Span::from_micros(micros)));
//! let p99 = sojourns.quantile(0.99).unwrap();
//! let quarter_too_high = Span::from_micros(990)..=Span::from_micros(1238);
//! assert!(quarter_too_high.contains(&p99), "at most a quarter too high: {p99}");
//! assert_eq!(sojourns.mean(), Some(Span::from_nanos(500_500)));
//! ```
use tidegate::Span;

/// The first step ends at 2^10 ns, about a microsecond …
const FIRST: u32 = 10;
/// … and the last at 2^35 ns, half a minute; what is longer is counted there, too.
const LAST: u32 = 35;
/// Steps to a doubling.
const STEPS: u32 = 4;
const COUNTS: usize = 1 + ((LAST - FIRST) * STEPS) as usize;

/// How many frames waited how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sojourns {
    counts: [u64; COUNTS],
    /// How long all waited together, in nanoseconds.
    sum: u64,
}

impl Default for Sojourns {
    fn default() -> Sojourns {
        Sojourns { counts: [0; COUNTS], sum: 0 }
    }
}

impl Sojourns {
    /// A frame has waited for so long.
    #[inline]
    pub fn add(&mut self, waited: Span) {
        self.counts[step(waited.as_nanos())] += 1;
        self.sum += waited.as_nanos();
    }

    /// How many frames.
    pub fn frames(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// How long they waited together.
    pub fn sum(&self) -> Span {
        Span::from_nanos(self.sum)
    }

    /// How long they waited in the mean; `None` without frames.
    pub fn mean(&self) -> Option<Span> {
        self.sum.checked_div(self.frames()).map(Span::from_nanos)
    }

    /// What this part of the frames, 0 to 1, did not exceed. That is the end of the step where that
    /// one is, at most a quarter too high, or a microsecond where it was less. `None` without
    /// frames.
    pub fn quantile(&self, part: f64) -> Option<Span> {
        let rank = (part * self.frames() as f64).ceil().max(1.0) as u64;
        let mut counted = 0;
        let at = self.counts.iter().position(|&count| {
            counted += count;
            counted >= rank
        });
        at.map(|step| Span::from_nanos(end_of(step)))
    }

    /// Those that came after `earlier`, of the same frames.
    pub fn since(&self, earlier: &Sojourns) -> Sojourns {
        let mut rest = *self;
        rest.counts.iter_mut().zip(&earlier.counts).for_each(|(count, before)| *count -= before);
        rest.sum -= earlier.sum;
        rest
    }

    /// For each doubling: a time, and how many frames waited no longer than that. The last one has
    /// those that did, too.
    pub fn at_most(&self) -> impl Iterator<Item = (Span, u64)> {
        let mut counted = 0;
        self.counts.iter().enumerate().filter_map(move |(step, count)| {
            counted += count;
            (step % STEPS as usize == 0).then(|| (Span::from_nanos(end_of(step)), counted))
        })
    }
}

/// The step for so many nanoseconds: a power of two is the end of one.
#[inline]
fn step(nanos: u64) -> usize {
    let below = nanos.saturating_sub(1);
    if below < 1 << FIRST {
        return 0;
    }
    let doubling = 63 - below.leading_zeros();
    let quarter = (below >> (doubling - 2)) as u32 % STEPS;
    (1 + ((doubling - FIRST) * STEPS + quarter) as usize).min(COUNTS - 1)
}

/// The longest time of a step, in nanoseconds.
fn end_of(step: usize) -> u64 {
    let Some(above) = step.checked_sub(1) else { return 1 << FIRST };
    let (doubling, quarter) = (FIRST + above as u32 / STEPS, above as u64 % u64::from(STEPS));
    (u64::from(STEPS) + quarter + 1) << (doubling - 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate::Rng;

    #[test]
    fn a_time_is_no_longer_than_the_end_of_its_step_and_longer_than_the_end_of_the_one_before() {
        let mut dice = Rng::from_seed(1);
        for _ in 0..100_000 {
            let nanos = dice.bits() >> (29 + dice.below(34));
            let at = step(nanos);
            assert!(nanos <= end_of(at) && (at == 0 || nanos > end_of(at - 1)), "{nanos} in {at}");
        }
        for (nanos, end) in
            [(0, 1024), (1024, 1024), (1025, 1280), (1 << 20, 1 << 20), (5 << 20, 5 << 20)]
        {
            assert_eq!(end_of(step(nanos)), end, "{nanos}");
        }
        assert_eq!((step(u64::MAX), end_of(COUNTS - 1)), (COUNTS - 1, 1 << LAST));
    }

    /// Beside the sorted list of all.
    #[test]
    fn quantiles_are_at_most_a_quarter_too_high() {
        let mut dice = Rng::from_seed(2);
        for round in 0..50 {
            let mut all: Vec<u64> =
                (0..1 + dice.below(2000)).map(|_| dice.bits() >> (32 + round % 20)).collect();
            let mut sojourns = Sojourns::default();
            all.iter().for_each(|&nanos| sojourns.add(Span::from_nanos(nanos)));
            all.sort_unstable();
            for part in [0.0, 0.5, 0.9, 0.99, 1.0] {
                let rank = ((part * all.len() as f64).ceil() as usize).max(1);
                let (exact, told) = (all[rank - 1], sojourns.quantile(part).unwrap().as_nanos());
                assert!(
                    told >= exact && told as f64 <= (exact as f64 * 1.25).max(1024.0),
                    "{exact} told as {told}"
                );
            }
            let sum: u64 = all.iter().sum();
            assert_eq!((sojourns.sum().as_nanos(), sojourns.frames()), (sum, all.len() as u64));
            for (end, count) in sojourns.at_most() {
                assert_eq!(
                    all.iter().filter(|&&nanos| nanos <= end.as_nanos()).count() as u64,
                    count
                );
            }
        }
        assert_eq!((Sojourns::default().quantile(0.5), Sojourns::default().mean()), (None, None));
    }

    #[test]
    fn what_came_since_is_what_came_since() {
        let (mut all, mut late) = (Sojourns::default(), Sojourns::default());
        all.add(Span::from_millis(3));
        let early = all;
        for millis in [1, 20, 300] {
            all.add(Span::from_millis(millis));
            late.add(Span::from_millis(millis));
        }
        assert_eq!(all.since(&early), late);
    }
}
