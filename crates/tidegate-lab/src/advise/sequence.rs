//! Which bytes of a connection have passed, which pass again, and which passed late: losses, as
//! far as somebody in the middle sees them.
use tidegate::{Span, Time};

/// Gaps that are remembered; what fills a further one counts as sent again.
const MOST_HOLES: usize = 64;
/// What fills a gap so soon was overtaken, not lost: no sender can have noticed by then.
const OVERTAKEN: Span = Span::from_nanos(2_000_000);

/// What one side of a connection has sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequence {
    /// The first byte that has not passed.
    next: Option<u32>,
    holes: Vec<Hole>,
    /// Segments that passed here before: what was lost was lost behind this place.
    pub(super) again: u64,
    /// Segments that filled a gap: what was lost was lost before this place.
    pub(super) filled: u64,
}

/// Bytes that have not passed although later ones have.
#[derive(Clone, Copy, Debug)]
struct Hole {
    from: u32,
    to: u32,
    since: Time,
}

/// What a segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SegmentKind {
    /// Bytes that come after all others.
    New,
    /// Bytes that passed before.
    Again,
    /// Bytes that were missing.
    Filled,
    /// Neither: late by reordering, or a probe of a single old byte.
    Other,
}

/// How far `b` lies behind `a`; negative if it comes before it. Numbers wrap around.
fn behind(a: u32, b: u32) -> i32 {
    b.wrapping_sub(a) as i32
}

impl Sequence {
    /// At `now`, `length` bytes from `from` on pass, at least one.
    pub(super) fn pass(&mut self, now: Time, from: u32, length: u32) -> SegmentKind {
        let to = from.wrapping_add(length);
        let next = *self.next.get_or_insert(from);
        if behind(next, from) >= 0 {
            if from != next && self.holes.len() < MOST_HOLES {
                self.holes.push(Hole { from: next, to: from, since: now });
            }
            self.next = Some(to);
            return SegmentKind::New;
        }
        if let Some(since) = self.fill(from, to) {
            if now.since(since) < OVERTAKEN {
                return SegmentKind::Other;
            }
            self.filled += 1;
            return SegmentKind::Filled;
        }
        if behind(next, to) > 0 {
            self.next = Some(to);
        }
        // So a sender asks whether a closed window has opened, or whether anybody is there.
        if length == 1 {
            return SegmentKind::Other;
        }
        self.again += 1;
        SegmentKind::Again
    }

    /// Takes `from`..`to` out of the gap in which it begins; since when that was one.
    fn fill(&mut self, from: u32, to: u32) -> Option<Time> {
        let within = |h: &Hole| behind(h.from, from) >= 0 && behind(from, h.to) > 0;
        let index = self.holes.iter().position(within)?;
        let hole = self.holes.swap_remove(index);
        let rest = [(hole.from, from), (to, hole.to)];
        for (from, to) in rest.into_iter().filter(|&(from, to)| behind(from, to) > 0) {
            if self.holes.len() < MOST_HOLES {
                self.holes.push(Hole { from, to, since: hole.since });
            }
        }
        Some(hole.since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn behind_the_place_and_before_it() {
        let mut sequence = Sequence::default();
        let start = u32::MAX - 1500; // it wraps around
        let mut pass =
            |ms, packet: u32| sequence.pass(at(ms), start.wrapping_add(packet * 1000), 1000);
        assert_eq!([pass(0, 0), pass(1, 1), pass(2, 4)], [SegmentKind::New; 3]);
        assert_eq!(pass(30, 2), SegmentKind::Filled, "2 and 3 were missing");
        assert_eq!(pass(31, 3), SegmentKind::Filled);
        assert_eq!(pass(32, 3), SegmentKind::Again);
        assert_eq!(pass(33, 0), SegmentKind::Again);
        assert_eq!(pass(40, 6), SegmentKind::New);
        assert_eq!(pass(41, 5), SegmentKind::Other, "overtaken");
        assert_eq!((sequence.filled, sequence.again), (2, 2));
    }

    #[test]
    fn probes_are_no_losses_and_gaps_are_bounded() {
        let mut sequence = Sequence::default();
        sequence.pass(at(0), 100, 50);
        assert_eq!(sequence.pass(at(9), 149, 1), SegmentKind::Other);
        for n in 1..10_000 {
            sequence.pass(at(n), 1000 * n as u32, 10);
        }
        assert_eq!(sequence.holes.len(), MOST_HOLES);
        assert_eq!(sequence.again, 0);
    }
}
