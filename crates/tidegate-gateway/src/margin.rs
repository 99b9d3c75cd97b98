//! How long before a departure the pump is awake: as long as sleeps end late on this machine, but for one in four hundred. Machines
//! differ by a factor of ten there, and each by what else it does.
use tidegate::Span;

/// What it begins with.
pub const FIRST: Span = Span::from_micros(60);
/// It becomes no shorter, nor longer: from 60 Mbit/s on frames of 1514 bytes leave more often.
const BOUNDS: [u64; 2] = [20_000, 200_000];
/// By how much a sleep that ended in time shortens it, in nanoseconds.
const STEP: u64 = 50;
/// A sleep in so many may end later.
const IN: u64 = 400;

/// At work, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Margin(u64);

impl Default for Margin {
    fn default() -> Margin {
        Margin(FIRST.as_nanos())
    }
}

impl Margin {
    /// How long it is now.
    pub fn span(self) -> Span {
        Span::from_nanos(self.0)
    }

    /// A sleep has ended so late: the quantile is followed by steps up and down, which are as unequal as it is far from the middle.
    pub fn learn(&mut self, late: Span) {
        let next = if late.as_nanos() > self.0 { self.0 + (IN - 1) * STEP } else { self.0.saturating_sub(STEP) };
        self.0 = next.clamp(BOUNDS[0], BOUNDS[1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate::Rng;

    /// The mean of the margin over the second half of `sleeps`, in microseconds, and how many of these ended later than it.
    fn learned(sleeps: u32, mut late: impl FnMut() -> f64) -> (f64, f64) {
        let (mut margin, mut sum, mut missed) = (Margin::default(), 0.0, 0);
        for i in 0..sleeps {
            let late = Span::from_secs(late() / 1e6);
            if i >= sleeps / 2 {
                sum += margin.span().as_nanos() as f64 / 1e3;
                missed += (late > margin.span()) as u32;
            }
            margin.learn(late);
        }
        let half = (sleeps - sleeps / 2) as f64;
        (sum / half, missed as f64 / half)
    }

    #[test]
    fn it_is_what_one_sleep_in_four_hundred_exceeds() {
        let mut dice = Rng::from_seed(1);
        // Exponential, of mean 15 us: exceeded once in 400 at 15 ln 400 = 89.9 us. It jumps by 20 us, and is off by no more than half of that.
        let (mean, missed) = learned(200_000, || dice.exponential(15.0));
        assert!((mean - 89.9).abs() < 10.0, "{mean}");
        assert!((missed * 400.0 - 1.0).abs() < 0.15, "{missed}");
    }

    #[test]
    fn it_stays_within_its_bounds() {
        assert_eq!(learned(20_000, || 1.0), (20.0, 0.0));
        assert_eq!(learned(20_000, || 1000.0).0, 200.0);
    }
}
