//! When marks are ignored, packets that could be marked are dropped like any other (RFC 7567
//! §4.2.1).
//!
//! Queues that mark by a probability may mark every packet of a sender that claims to speak ECN and
//! does not slow down, and lose none of them. A mark is a signal only as long as most packets go
//! without. So we look at the ECN-capable frames that a queue admits within a tenth of a second. If
//! more than half of them are marked, the marked ones of the next tenth are dropped.
//!
//! A queue that marks most packets of scalable senders while all is well (DualPI2) has a rule of
//! its own: it drops when marks no longer help.
use tidegate::catalog::AnyQueue;
use tidegate::{Span, Time};

/// The time over which marks are counted.
const WINDOW: Span = Span::from_millis(100);
/// Of fewer frames nothing is concluded.
const LEAST: u64 = 20;

/// Counts marks, and says when they have stopped being a signal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarkOverload {
    until: Time,
    capable: u64,
    marked: u64,
    on: bool,
    /// Whether the queue leaves it to us.
    ours: bool,
}

impl MarkOverload {
    /// The rule behind `queue`.
    pub(crate) fn behind(queue: &AnyQueue) -> MarkOverload {
        let ours = !queue.row().marks_most;
        MarkOverload { until: Time::ZERO + WINDOW, capable: 0, marked: 0, on: false, ours }
    }

    /// The queue lets an ECN-capable frame in at `now`.
    #[inline]
    pub(crate) fn admitted(&mut self, now: Time) {
        if now >= self.until {
            // A gap longer than the window says that there was no overload in it.
            let recent = now.since(self.until) < WINDOW;
            self.on =
                self.ours && recent && self.capable >= LEAST && 2 * self.marked > self.capable;
            (self.capable, self.marked, self.until) = (0, 0, now + WINDOW);
        }
        self.capable += 1;
    }

    /// A frame was marked.
    #[inline]
    pub(crate) fn marked(&mut self) {
        self.marked += 1;
    }

    /// Whether marked frames are to be dropped now.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.on
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate::{Bytes, Link, Rate, Rng, Size, catalog};

    fn rule(queue: &str) -> MarkOverload {
        let (rate, limit) = (Rate::from_bps(10_000_000), Size::Packets(100));
        let link = Link::new(rate, limit, Bytes::new(1000)).unwrap();
        let queue = catalog::config(queue, None, &link).unwrap();
        MarkOverload::behind(&queue.build(link, Rng::from_seed(1)).unwrap())
    }

    /// Offers 100 frames a window and marks `marked` of them; whether the rule is on after each
    /// window.
    fn windows(queue: &str, marked: &[u64]) -> Vec<bool> {
        let mut rule = rule(queue);
        let mut on = vec![];
        for (window, &marked) in marked.iter().enumerate() {
            for frame in 0..100 {
                rule.admitted(Time::from_nanos(window as u64 * 100_000_000 + frame * 1_000_000));
                if frame < marked {
                    rule.marked();
                }
            }
            rule.admitted(Time::from_nanos((window as u64 + 1) * 100_000_000));
            on.push(rule.is_on());
        }
        on
    }

    #[test]
    fn more_than_half_marked_is_overload_and_half_is_not() {
        let marked = [10, 50, 90, 90, 10];
        assert_eq!(windows("red", &marked), [false, false, true, true, false]);
        assert_eq!(windows("dualpi2", &marked), [false; 5], "it has its own");
    }

    #[test]
    fn few_frames_prove_nothing_and_a_pause_ends_it() {
        let mut rule = rule("red");
        for n in 0..10 {
            rule.admitted(Time::from_nanos(n));
            rule.marked();
        }
        rule.admitted(Time::from_nanos(100_000_000));
        assert!(!rule.is_on(), "ten frames");
        for n in 0..100 {
            rule.admitted(Time::from_nanos(100_000_001 + n));
            rule.marked();
        }
        rule.admitted(Time::from_nanos(900_000_000));
        assert!(!rule.is_on(), "long ago");
    }
}
