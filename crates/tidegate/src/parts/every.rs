//! Periodic work without a timer: the holder of an [`Every`] asks it at each call what has fallen
//! due.
//!
//! ```
//! use tidegate::{Span, Time, parts::every::Every};
//! let mut every = Every::new(Span::from_millis(10));
//! assert_eq!(every.step(Time::from_nanos(9_999_999)), None);
//! let late = Time::ZERO + Span::from_millis(25);
//! assert_eq!(every.step(late), Some(Time::ZERO + Span::from_millis(10))); // its nominal time
//! assert_eq!(every.step(late), Some(Time::ZERO + Span::from_millis(20)));
//! assert_eq!(every.step(late), None);
//! ```
use crate::units::{Span, Time};

/// More overdue steps than this are not made one by one: their owner takes a closed form or resets.
pub const CATCH_UP: u64 = 64;

/// When a periodic step is due, on a grid that begins at the driver's origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Every {
    due: Time,
    interval: Span,
}

impl Every {
    /// A step every `interval` (at least 1 ns), the first one interval after the origin.
    pub fn new(interval: Span) -> Every {
        let interval = interval.max(Span::from_nanos(1));
        Every { due: Time::ZERO + interval, interval }
    }

    /// No step, ever.
    pub const fn never() -> Every {
        Every { due: Time::MAX, interval: Span::from_nanos(u64::MAX) }
    }

    /// When the next step is due.
    #[inline]
    pub const fn due(&self) -> Time {
        self.due
    }

    /// The nominal time of the next step if that has come by `now`; the step counts as made.
    #[inline]
    pub fn step(&mut self, now: Time) -> Option<Time> {
        if now < self.due || self.due == Time::MAX {
            return None;
        }
        let at = self.due;
        self.due += self.interval;
        Some(at)
    }

    /// How many steps are overdue at `now`.
    pub fn overdue(&self, now: Time) -> u64 {
        if now < self.due || self.due == Time::MAX {
            return 0;
        }
        1 + now.since(self.due).as_nanos() / self.interval.as_nanos()
    }

    /// Leaves out the next `steps` steps.
    pub fn skip(&mut self, steps: u64) {
        self.due += Span::from_nanos(self.interval.as_nanos().saturating_mul(steps));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overdue_steps_are_counted_and_skipped_on_the_grid() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let mut every = Every::new(Span::from_millis(10));
        for (ms, steps) in [(0, 0), (9, 0), (10, 1), (19, 1), (20, 2), (1_005, 100)] {
            assert_eq!(every.overdue(at(ms)), steps);
        }
        every.skip(98);
        assert_eq!(
            (every.step(at(1_005)), every.step(at(1_005))),
            (Some(at(990)), Some(at(1_000)))
        );
        assert_eq!((every.step(at(1_005)), every.due()), (None, at(1_010)));
    }

    #[test]
    fn never_is_never() {
        let mut every = Every::never();
        assert_eq!((every.step(Time::MAX), every.overdue(Time::MAX)), (None, 0));
    }
}
