//! COBALT's law (J. Morton, *Proposing COBALT*, codel list, 2016): CoDel's schedule of signals,
//! which winds down as it wound up, and beside it BLUE's probability for flows that heed no signal.
//!
//! The law judges packets that leave. It holds none, so one queue may follow it or a thousand.
//!
//! ```
//! use tidegate::parts::cobalt_law::{CobaltJudgement, CobaltLaw, CobaltState};
//! use tidegate::{Packet, Rng, Span, Time};
//! let law = CobaltLaw::new(Span::from_millis(5), Span::from_millis(100));
//! let (mut state, mut dice) = (CobaltState::default(), Rng::from_seed(1));
//! let mut judge = |ms| {
//!     let now = Time::ZERO + Span::from_millis(ms);
//!     state.judge(&law, now, Span::from_millis(6), false, &mut dice)
//! };
//! assert_eq!(judge(0), CobaltJudgement::Pass); // too long from now on
//! assert_eq!(judge(99), CobaltJudgement::Pass);
//! assert_eq!(judge(100), CobaltJudgement::Signal);
//! ```
use crate::rng::Rng;
use crate::units::{Span, Time};

/// The constants of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CobaltLaw {
    /// A sojourn time above this is too long. Also the least time between two changes of BLUE's
    /// probability.
    pub target: Span,
    /// The time from the first sojourn time that is too long to the first signal.
    pub interval: Span,
    /// No sojourn time up to this is too long, whatever the target is.
    pub floor: Span,
    /// Added to BLUE's probability when the queue overflows.
    pub increment: f64,
    /// Taken from BLUE's probability when the queue is found empty.
    pub decrement: f64,
}

impl CobaltLaw {
    /// The law with BLUE's usual steps, 1/256 up and 1/4096 down, and no floor.
    pub const fn new(target: Span, interval: Span) -> CobaltLaw {
        let (increment, decrement) = (1.0 / 256.0, 1.0 / 4096.0);
        CobaltLaw { target, interval, floor: Span::ZERO, increment, decrement }
    }

    /// When the signal after one at `from` is due: interval / sqrt(count) later. `count` of 0
    /// counts as 1.
    #[inline]
    fn next(&self, from: Time, count: u32) -> Time {
        let gap = self.interval.as_nanos() as f64 / libm::sqrt(count.max(1) as f64);
        from + Span::from_nanos(gap as u64)
    }
}

/// What becomes of a packet that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CobaltJudgement {
    /// It is sent.
    Pass,
    /// CoDel's signal: a mark, or a drop where there can be none.
    Signal,
    /// BLUE's drop, of packets that could be marked, too.
    Drop,
}

/// What the law remembers of one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CobaltState {
    /// How often signals are given: gaps are interval / sqrt(count). 0 at rest.
    count: u32,
    /// When the next step of the schedule is due. At rest: until when the queue counts as active.
    next: Time,
    /// The last packet had waited too long.
    dropping: bool,
    /// BLUE's probability.
    p_drop: f64,
    /// When that last changed.
    changed: Option<Time>,
}

impl CobaltState {
    /// The index of the next signal.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// BLUE's probability of a drop.
    pub fn p_drop(&self) -> f64 {
        self.p_drop
    }

    /// Whether the last packet had waited too long.
    pub fn is_dropping(&self) -> bool {
        self.dropping
    }

    /// Whether the law has forgotten everything by `now`: for an interval after the last packet,
    /// and as long as either part remembers, it has not.
    #[inline]
    pub fn is_at_rest(&self, now: Time) -> bool {
        self.count == 0 && self.p_drop == 0.0 && now >= self.next
    }

    /// A packet that has waited `sojourn` leaves at `now`. `markable`: CoDel can mark it. The dice
    /// are rolled only while BLUE's probability is above 0 and CoDel does not drop.
    #[inline]
    pub fn judge(
        &mut self,
        law: &CobaltLaw,
        now: Time,
        sojourn: Span,
        markable: bool,
        dice: &mut Rng,
    ) -> CobaltJudgement {
        let signal = self.is_due(law, now, sojourn);
        if signal && !markable {
            return CobaltJudgement::Signal;
        }
        let unheeded = self.p_drop > 0.0 && dice.uniform() < self.p_drop;
        if self.count == 0 {
            self.next = now + law.interval;
        } else if !unheeded && self.next < now {
            // It goes on: what else was due is not made up for.
            self.next = now;
        }
        match (unheeded, signal) {
            (true, _) => CobaltJudgement::Drop,
            (_, true) => CobaltJudgement::Signal,
            _ => CobaltJudgement::Pass,
        }
    }

    /// CoDel's part: whether a signal is due. Below target, the steps that are due wind the count
    /// down, where CoDel forgets it.
    #[inline]
    fn is_due(&mut self, law: &CobaltLaw, now: Time, sojourn: Span) -> bool {
        let too_long = sojourn > law.target && sojourn > law.floor;
        let due = self.count > 0 && now >= self.next;
        if too_long {
            if !self.dropping {
                self.next = law.next(now, self.count);
            }
            self.count = self.count.max(1);
        }
        self.dropping = too_long;
        if due && too_long {
            self.count = self.count.saturating_add(1);
            self.next = law.next(self.next, self.count);
        } else if due {
            self.wind_down(law, now);
        }
        due && too_long
    }

    #[cold]
    fn wind_down(&mut self, law: &CobaltLaw, now: Time) {
        while self.count > 0 && now >= self.next {
            self.count -= 1;
            self.next = law.next(self.next, self.count);
        }
    }

    /// Whether BLUE's probability may change: no more often than once in a target.
    fn may_change(&mut self, law: &CobaltLaw, now: Time) -> bool {
        let may = self.changed.is_none_or(|last| now.since(last) > law.target);
        if may {
            self.changed = Some(now);
        }
        may
    }

    /// The queue has lost a packet for want of room: signals have not helped.
    #[cold]
    pub fn overflowed(&mut self, law: &CobaltLaw, now: Time) {
        if self.may_change(law, now) {
            self.p_drop = (self.p_drop + law.increment).min(1.0);
        }
        self.dropping = true;
        self.next = now;
        self.count = self.count.max(1);
    }

    /// The queue was found empty.
    #[inline]
    pub fn found_empty(&mut self, law: &CobaltLaw, now: Time) {
        if self.p_drop > 0.0 && self.may_change(law, now) {
            self.p_drop = (self.p_drop - law.decrement).max(0.0);
        }
        self.dropping = false;
        if self.count > 0 && now >= self.next {
            self.count -= 1;
            self.next = law.next(self.next, self.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn law() -> CobaltLaw {
        CobaltLaw::new(Span::from_millis(5), Span::from_millis(100))
    }

    /// Up: 100, 100 / √2, 100 / √3 … ms between signals. Down, once the delay is short: the same
    /// gaps backwards, one step each.
    #[test]
    fn the_schedule_winds_up_and_down() {
        let (law, mut state, mut dice) = (law(), CobaltState::default(), Rng::from_seed(1));
        let mut signals = Vec::new();
        let mut judge = |state: &mut CobaltState, ms, sojourn| {
            state.judge(&law, at(ms), Span::from_millis(sojourn), true, &mut dice)
        };
        for ms in 0..=500 {
            if judge(&mut state, ms, 50) == CobaltJudgement::Signal {
                signals.push(ms);
            }
        }
        // At 100, 170.7, 228.4, 278.4, 323.2, 364.0, 401.8, 437.1 and 470.5.
        assert_eq!(signals, [100, 171, 229, 279, 324, 364, 402, 438, 471]);
        assert_eq!(state.count(), 10);
        let mut last = 10;
        for ms in 501..2_000 {
            assert_eq!(judge(&mut state, ms, 1), CobaltJudgement::Pass);
            assert!(state.count() == last || state.count() + 1 == last, "{ms}");
            last = state.count();
        }
        assert_eq!(last, 0);
        assert!(!state.is_at_rest(at(2_098)) && state.is_at_rest(at(2_099)));
    }

    /// Back above target soon, the law signals at the rate it had reached, at once when a step was
    /// due.
    #[test]
    fn what_was_learnt_is_remembered() {
        let (law, mut state, mut dice) = (law(), CobaltState::default(), Rng::from_seed(1));
        for ms in 0..=2_000 {
            state.judge(&law, at(ms), Span::from_millis(50), true, &mut dice);
        }
        let reached = state.count();
        state.judge(&law, at(2_001), Span::from_millis(1), true, &mut dice);
        assert!(state.count() + 1 >= reached && reached > 90);
        let next = (2_002..2_100).find(|&ms| {
            state.judge(&law, at(ms), Span::from_millis(50), true, &mut dice)
                == CobaltJudgement::Signal
        });
        assert!(next.is_some_and(|ms| ms < 2_015), "{next:?}");
    }

    /// An overflow raises the probability by 1/256, at most once in a target; an empty queue lowers
    /// it by 1/4096.
    #[test]
    fn blue_learns_from_overflow_and_emptiness() {
        let (law, mut state) = (law(), CobaltState::default());
        for ms in 0..=60 {
            state.overflowed(&law, at(ms));
        }
        assert_eq!(state.p_drop(), 11.0 / 256.0); // at 0, 6, 12 … 60
        state.found_empty(&law, at(65));
        assert_eq!(state.p_drop(), 11.0 / 256.0);
        state.found_empty(&law, at(66));
        assert_eq!(state.p_drop(), 11.0 / 256.0 - 1.0 / 4096.0);
        assert!(!state.is_dropping());
        for ms in 0..10_000 {
            state.overflowed(&law, at(100 + 6 * ms));
        }
        assert_eq!(state.p_drop(), 1.0);
        // As long as BLUE remembers, the law is not at rest, although CoDel has forgotten.
        let mut alone = CobaltState::default();
        alone.overflowed(&law, at(0));
        alone.found_empty(&law, at(1));
        assert!(alone.count() == 0 && alone.p_drop() > 0.0 && !alone.is_at_rest(at(9_000)));
        let mut dice = Rng::from_seed(1);
        let verdict = state.judge(&law, at(70_000), Span::ZERO, true, &mut dice);
        assert_eq!(verdict, CobaltJudgement::Drop);
    }
}
