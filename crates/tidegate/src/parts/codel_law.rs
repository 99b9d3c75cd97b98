//! CoDel's law (nichols2018 §5): watch how long packets waited, and signal ever more often while
//! they wait too long.
//!
//! The law is given a [`CodelQueue`] when the link polls for a packet. It takes packets off its
//! head, has some of them signalled, and hands back the one to send. It holds no packet itself, so
//! one queue may follow it or a thousand.
//!
//! ```
//! use tidegate::{Span, Time, parts::codel_law::{CodelLaw, Root}};
//! let (target, interval) = (Span::from_millis(5), Span::from_millis(100));
//! let law = CodelLaw { target, interval, mtu: 1500, root: Root::Exact };
//! let after = |count| law.next(Time::ZERO, count).as_secs();
//! assert_eq!((after(1), after(4), after(100)), (0.1, 0.05, 0.01));
//! ```
use crate::choices;
use crate::packet::Packet;
use crate::units::{Span, Time};

choices! {
    /// How 1/√count is found.
    pub enum Root {
        /// As the law has it (nichols2018 §5.6).
        Exact = "exact",
        /// As Linux does: one step of Newton's method a signal, from the value before, in 16 bits.
        Newton = "newton",
    }
}

/// The constants of the law (nichols2018 §5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodelLaw {
    /// A standing delay below this is acceptable.
    pub target: Span,
    /// How long the delay must have been above `target` before the first signal, and the time
    /// between the first two.
    pub interval: Span,
    /// With no more than this waiting behind it, in bytes, a packet is never signalled.
    pub mtu: u64,
    /// How 1/√count is found.
    pub root: Root,
}

impl CodelLaw {
    /// When the next signal is due, after one at `from` that was the `count`-th: interval /
    /// sqrt(count) later. So the rate of signals rises as the square root of their number (§5.6).
    /// `count` of 0 counts as 1.
    #[inline]
    pub fn next(&self, from: Time, count: u32) -> Time {
        from + Span::from_nanos(
            (self.interval.as_nanos() as f64 / libm::sqrt(count.max(1) as f64)) as u64,
        )
    }
}

/// 1/√count as Linux keeps it: a fraction of 2^16.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct InverseRoot(u16);

impl InverseRoot {
    /// Of a count of 1: just below it, since 1 has no place in the bits.
    const OF_ONE: InverseRoot = InverseRoot(u16::MAX);

    /// One step of Newton's method, x (3 − count · x²) / 2, in the kernel's 64 bits. Where the
    /// count has risen so far that this is below 0 they run over, as there; x comes right again
    /// some steps later.
    fn step(self, count: u32) -> InverseRoot {
        let x = u64::from(self.0) << 16;
        let squared = (x * x) >> 32;
        let rest = (3_u64 << 32).wrapping_sub(u64::from(count) * squared) >> 2;
        InverseRoot((rest.wrapping_mul(x) >> 47) as u16)
    }

    /// `interval` times this.
    fn of(self, interval: Span) -> Span {
        Span::from_nanos(((u128::from(interval.as_nanos()) * u128::from(self.0)) >> 16) as u64)
    }
}

/// The line that the law takes packets from.
pub trait CodelQueue {
    /// Takes the head off.
    fn take(&mut self) -> Option<Packet>;
    /// What still waits for the link, in bytes: in this line and in those beside it (nichols2018
    /// §4.4).
    fn waits(&self) -> u64;
    /// Gives the packet its signal: `Some` is the packet, marked, which goes on; `None`, it was
    /// dropped.
    fn signal(&mut self, pkt: Packet) -> Option<Packet>;
}

/// What the law remembers of one line (nichols2018 §5.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodelState {
    /// When signals may begin if the delay stays above target until then; `None` while it is
    /// below.
    first_above: Option<Time>,
    /// When the next signal is due, in the dropping state.
    drop_next: Time,
    /// Signals since the dropping state was entered.
    count: u32,
    /// `count` as it was set when the dropping state was entered.
    last_count: u32,
    /// In the dropping state.
    dropping: bool,
    /// 1/√count, where it is not worked out anew at each signal.
    inverse_root: InverseRoot,
    /// How long the last packet taken had waited.
    sojourn: Span,
}

impl CodelState {
    /// How long the last packet taken had waited.
    pub fn sojourn(&self) -> Span {
        self.sojourn
    }

    /// Signals since the dropping state was last entered (begun with what held the line the last
    /// time).
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Counts `drops` that others made as signals: the next of its own comes sooner.
    pub fn add(&mut self, drops: u32) {
        self.count = self.count.saturating_add(drops);
    }

    /// Whether the delay has been above target for an interval: signals fall due.
    pub fn is_dropping(&self) -> bool {
        self.dropping
    }

    /// The packet to send at `now`, after the signals that are due by then (§5.5).
    #[inline]
    pub fn dequeue(
        &mut self,
        law: &CodelLaw,
        now: Time,
        line: &mut impl CodelQueue,
    ) -> Option<Packet> {
        let (pkt, too_long) = self.take(law, now, line);
        if !self.dropping && !too_long {
            return pkt;
        }
        if !self.dropping {
            self.enter(law, now);
            return line.signal(pkt?).or_else(|| self.take(law, now, line).0);
        }
        self.dropping = too_long;
        if !too_long || now < self.drop_next {
            return pkt;
        }
        self.signal_all_due(law, now, pkt?, line)
    }

    /// Signals `pkt` and, as long as drops are due and the delay is still too long, those behind
    /// it. A packet that is marked goes on, so it is the last (the RFC drops only; so do the
    /// kernels that mark).
    fn signal_all_due(
        &mut self,
        law: &CodelLaw,
        now: Time,
        mut pkt: Packet,
        line: &mut impl CodelQueue,
    ) -> Option<Packet> {
        while now >= self.drop_next {
            self.count = self.count.saturating_add(1);
            self.inverse_root = self.inverse_root.step(self.count);
            if let Some(marked) = line.signal(pkt) {
                self.drop_next = self.next(law, self.drop_next);
                return Some(marked);
            }
            let (next, too_long) = self.take(law, now, line);
            self.dropping = too_long;
            if !too_long {
                return next;
            }
            self.drop_next = self.next(law, self.drop_next);
            pkt = next?;
        }
        Some(pkt)
    }

    /// Takes the head, and says whether the delay has been above target for an interval (§5.6).
    #[inline]
    fn take(
        &mut self,
        law: &CodelLaw,
        now: Time,
        line: &mut impl CodelQueue,
    ) -> (Option<Packet>, bool) {
        let Some(pkt) = line.take() else {
            self.first_above = None;
            return (None, false);
        };
        self.sojourn = now.since(pkt.arrived);
        if self.sojourn < law.target || line.waits() <= law.mtu {
            self.first_above = None;
            return (Some(pkt), false);
        }
        let since = *self.first_above.get_or_insert(now + law.interval);
        (Some(pkt), now >= since)
    }

    /// Enters the dropping state. Soon after the last time, the rate that held the line then is
    /// where to begin (§5.5).
    fn enter(&mut self, law: &CodelLaw, now: Time) {
        self.dropping = true;
        // A line that never was in the dropping state has nothing to begin with, but for drops
        // that others made.
        let risen = if self.last_count == 0 { 0 } else { self.count - self.last_count };
        // §5.5's 16 intervals; a signal still due in the future counts as just now.
        let soon =
            now.since(self.drop_next).as_nanos() < law.interval.as_nanos().saturating_mul(16);
        (self.count, self.inverse_root) = if risen > 1 && soon {
            (risen, self.inverse_root.step(risen))
        } else {
            (1, InverseRoot::OF_ONE)
        };
        self.last_count = self.count;
        self.drop_next = self.next(law, now);
    }

    /// When the signal after one at `from` is due.
    fn next(&self, law: &CodelLaw, from: Time) -> Time {
        match law.root {
            Root::Exact => law.next(from, self.count),
            Root::Newton => from + self.inverse_root.of(law.interval),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// interval = 100 ms: the tenth signal comes 100 (1 + 1/√2 + … + 1/√9) = 470.477 ms after the
    /// first.
    #[test]
    fn golden_times() {
        let (target, interval) = (Span::from_millis(5), Span::from_millis(100));
        let law = CodelLaw { target, interval, mtu: 1500, root: Root::Exact };
        assert_eq!(law.next(Time::ZERO, 2).as_nanos(), 70_710_678);
        assert_eq!(law.next(Time::ZERO, 3).as_nanos(), 57_735_026);
        let tenth = (1..10).fold(Time::ZERO, |at, count| law.next(at, count));
        assert_eq!(tenth.as_nanos(), 470_477_011);
        assert_eq!(law.next(Time::ZERO, 0), law.next(Time::ZERO, 1), "no division by zero");
    }

    /// By hand, x (3 − n x²) / 2 from x = 1: n = 2 gives 1/2, 3 then 9/16, 4 then .4878, 5 then
    /// .4416; roots are .707, .577, .5, .447. The bits keep it to 2^-13.
    #[test]
    fn golden_newton() {
        let mut root = InverseRoot::OF_ONE;
        for (count, wanted) in [(2, 0.5), (3, 0.5625), (4, 0.487793), (5, 0.441514)] {
            root = root.step(count);
            let off = wanted - f64::from(root.0) / 65536.0;
            assert!(off.abs() < 1.3e-4, "{count}: {root:?}");
        }
        // A count that has come down from 100 to 4: 1/10 becomes .148, not 1/2.
        assert_eq!(InverseRoot(6553).step(4), InverseRoot(9698));
        assert_eq!(InverseRoot(6553).of(Span::from_millis(100)).as_nanos(), 9_999_084);
        // From 1 to 66 at once, as 64 drops at the limit add: 3 − 66 is below 0. By hand,
        // (2^64 + (3 − 66 x²) 2^32) / 4 times x, of which 64 bits are left.
        assert_eq!(InverseRoot::OF_ONE.step(66), InverseRoot(32_865));
    }
}
