//! When the kernel is known to take the processor away: at its tick, and for how long as a rule.
//!
//! A processor that is not idle is interrupted at every multiple of the kernel's period. On
//! hardware that takes a microsecond or two; on a virtual machine within a virtual machine, 15 to
//! 50, in which no frame leaves. Since the time of the next tick is known, a frame that would meet
//! it need not be late by all of that. One that is due in the first part of it leaves before it,
//! early by [`EARLY`] at most. The others leave after it. The schedule stays as it was computed,
//! and so does the rate. A tick that takes less than [`WORTH`] changes nothing.
//!
//! ```
//! use tidegate::{Span, Time};
//! use tidegate_gateway::run::tick::Tick;
//!
//! let at = Time::from_nanos;
//! let mut tick = Tick::new(Span::from_micros(4000));
//! for number in 1..100 {
//!     // We look every microsecond, but for the 20 us after each tick.
//!     tick.look(at(number * 4_000_000 - 10_000));
//!     assert_eq!(tick.look(at(number * 4_000_000 + 20_000)), at(number * 4_000_000 + 20_000));
//! }
//! assert_eq!(tick.look(at(399_990_000)), at(399_990_000), "too long before the tick");
//! let look = tick.look(at(399_996_000));
//! assert!(look > at(400_000_000), "what is due until then would wait for the tick's end");
//! ```
use tidegate::{Span, Time};

/// So long before a tick frames are sent that are due in its first part: what it takes to send one.
const LEAD: Span = Span::from_micros(5);
/// No frame leaves earlier than it is due by more than this.
pub const EARLY: Span = Span::from_micros(14);
/// A tick that takes less is not worth leaving early for.
pub const WORTH: Span = Span::from_micros(10);
/// By how much what a tick is thought to take goes up or down with each: it settles where half of
/// them take more.
const STEP: Span = Span::from_micros(1);
/// It is thought to take no more than this.
const MOST: Span = Span::from_micros(100);

/// The kernel's tick on the caller's processor.
#[derive(Clone, Debug)]
pub struct Tick {
    period: Span,
    next: Time,
    /// What half of the ticks take less than.
    takes: Span,
    /// The last time that was given.
    given: Time,
}

impl Tick {
    /// A tick every `period`; how long it takes is not known yet. Without a period there is none.
    pub const fn new(period: Span) -> Tick {
        let next = if period.as_nanos() == 0 { Time::MAX } else { Time::ZERO };
        Tick { period, next, takes: Span::ZERO, given: Time::ZERO }
    }

    /// Up to when what is due is to be done by somebody whose clock says `now`, and who calls again
    /// and again without sleeping: `now`, or a little more shortly before a tick. No earlier
    /// than in any call before.
    #[inline]
    pub fn look(&mut self, now: Time) -> Time {
        if now + LEAD >= self.next {
            self.near(now);
        }
        self.given = self.given.max(now);
        self.given
    }

    /// The caller has slept until `now`: an idle processor has no tick.
    pub fn slept(&mut self, now: Time) {
        if now >= self.next {
            self.pass(now);
        }
    }

    #[cold]
    fn near(&mut self, now: Time) {
        if now >= self.next {
            let first = self.next == Time::ZERO;
            self.takes = match now.since(self.next) > self.takes {
                _ if first => Span::ZERO,
                true => (self.takes + STEP).min(MOST),
                false => self.takes - STEP,
            };
            self.pass(now);
        } else if self.takes >= WORTH {
            // Whoever is due at its middle is early by as much as he would be late.
            let early = Span::from_nanos((self.takes.as_nanos() - LEAD.as_nanos()) / 2);
            self.given = self.given.max(self.next + early.min(EARLY - LEAD));
        }
    }

    fn pass(&mut self, now: Time) {
        let period = self.period.as_nanos();
        self.next = Time::from_nanos((now.as_nanos() / period + 1).saturating_mul(period));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Span = Span::from_millis(4);

    fn micros(micros: u64) -> Time {
        Time::from_nanos(micros * 1000)
    }

    /// A tick that has been seen to take `takes` us a hundred times, and the time of the next one
    /// in us.
    fn known(takes: u64) -> (Tick, u64) {
        let mut tick = Tick::new(PERIOD);
        for number in 1..=100 {
            tick.look(micros(number * 4000 + takes));
        }
        (tick, 101 * 4000)
    }

    #[test]
    fn what_is_due_in_the_first_part_of_a_tick_is_due_before_it() {
        let (mut tick, next) = known(25);
        assert_eq!(tick.look(micros(next - 6)), micros(next - 6));
        let ahead = tick.look(micros(next - 5));
        // 5 us to send, 25 us of tick: who is due 10 us after it begins is early by 15 or late by
        // 15, which is too early.
        assert_eq!(ahead, micros(next + 9));
        assert_eq!(ahead.since(micros(next - 5)), EARLY);
        // The tick has not come, as when the processor was idle.
        assert_eq!(tick.look(micros(next + 1)), ahead, "time never runs back");
        assert_eq!(tick.look(micros(next + 30)), micros(next + 30));
    }

    #[test]
    fn a_short_tick_changes_nothing() {
        let (mut tick, next) = known(8);
        for before in (0..10).rev() {
            assert_eq!(tick.look(micros(next - before)), micros(next - before));
        }
        let (mut tick, next) = known(11);
        assert_eq!(tick.look(micros(next - 5)), micros(next + 3), "(11 - 5) / 2");
    }

    #[test]
    fn nobody_leaves_earlier_than_he_may_however_long_ticks_are() {
        let (mut tick, next) = known(4000 - 10);
        for now in next - 9..next + 4000 {
            let now = micros(now);
            assert!(tick.look(now).since(now) <= EARLY);
        }
    }

    #[test]
    fn it_learns_what_half_of_the_ticks_take_and_forgets_it() {
        let (mut tick, next) = known(30);
        assert!(
            tick.takes >= Span::from_micros(29) && tick.takes <= Span::from_micros(31),
            "{}",
            tick.takes
        );
        for number in 0..40 {
            tick.look(micros(next + number * 4000 + if number % 10 == 0 { 500 } else { 2 }));
        }
        assert!(tick.takes < WORTH, "a long one among short ones counts as one: {}", tick.takes);
    }

    #[test]
    fn a_sleep_teaches_nothing() {
        let (mut tick, next) = known(20);
        let takes = tick.takes;
        for number in 0..50 {
            tick.slept(micros(next + number * 4000 + 700));
            tick.look(micros(next + number * 4000 + 701));
        }
        assert_eq!(tick.takes, takes);
        // Nor does the first look, of which nobody knows what was before.
        let mut fresh = Tick::new(PERIOD);
        fresh.look(micros(123_456_789));
        assert_eq!(fresh.takes, Span::ZERO);
    }

    #[test]
    fn without_a_period_it_only_says_what_the_clock_says() {
        let mut tick = Tick::new(Span::ZERO);
        for now in [0, 5, 4000, 1 << 40] {
            tick.slept(micros(now));
            assert_eq!(tick.look(micros(now)), micros(now));
        }
    }
}
