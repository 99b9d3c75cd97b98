//! Delayed acknowledgements (RFC 1122 §4.2.3.2, RFC 5681 §4.2), with Linux's exception for a
//! connection's first segments.
use tidegate::{Span, Time};

use super::Tcp;
use super::receiver::Received;

/// How many acknowledgements do not wait at a connection's start, so that slow start is not slowed
/// down. We counted this in iperf3's connections with Linux 6.18, eight of eight. (Linux itself
/// counts sixteen, and acknowledges at once what ends a program's write.)
const QUICK: u32 = 25;

/// Which acknowledgements of one connection wait, and until when.
#[derive(Clone, Debug)]
pub(crate) struct DelayedAck {
    /// The longest that one waits.
    most: Span,
    /// How many more are sent at once in any case.
    quick: u32,
    /// Whether the last segment was marked.
    marked: bool,
    /// Of the segment that waits to be acknowledged: when it left its sender, in nanoseconds, and
    /// when it has waited enough.
    waiting: Option<(u64, Time)>,
    /// Whether an event is pending. It is left where it is when what it was for has been sent, and
    /// set anew when it fires.
    armed: bool,
}

/// What becomes of a segment's acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// It is sent now, and answers what left the sender at this time, in nanoseconds.
    No { born: u64 },
    /// It waits.
    Yes,
    /// It waits, and an event is to be added for this time.
    Until(Time),
}

impl DelayedAck {
    /// Of a receiver that delays its acknowledgements.
    pub fn new(tcp: &Tcp) -> Option<DelayedAck> {
        let delays = tcp.delayed_ack > Span::ZERO;
        let new = DelayedAck {
            most: tcp.delayed_ack,
            quick: QUICK,
            marked: false,
            waiting: None,
            armed: false,
        };
        delays.then_some(new)
    }

    /// A segment that left its sender at `born` has come at `at`, `marked` or not: whether its
    /// acknowledgement waits. The second segment in order ends the wait of the first. A segment is
    /// acknowledged at once if it is out of order, fills a gap, or shows that marks have begun or
    /// ended (RFC 5681 §4.2, RFC 8257 §3.2).
    #[inline]
    pub fn arrived(&mut self, at: Time, born: u64, marked: bool, received: &Received) -> Wait {
        let first = self.waiting.map_or(born, |(born, _)| born);
        let changed = std::mem::replace(&mut self.marked, marked) != marked;
        if received.in_order && !changed && self.quick == 0 && self.waiting.is_none() {
            let due = at + self.most;
            self.waiting = Some((born, due));
            return if std::mem::replace(&mut self.armed, true) {
                Wait::Yes
            } else {
                Wait::Until(due)
            };
        }
        self.waiting = None;
        self.quick = self.quick.saturating_sub(1);
        Wait::No { born: first }
    }

    /// A segment, `marked` or not, is about to arrive at a receiver with exact mark feedback. If it
    /// differs in that from the segment that waits, the latter is acknowledged first, by itself.
    /// Returns when that one left its sender.
    pub fn release(&mut self, marked: bool) -> Option<u64> {
        self.waiting.take_if(|_| marked != self.marked).map(|(born, _)| born)
    }

    /// The event at `now`: whether an acknowledgement has waited enough.
    pub fn ring(&mut self, now: Time) -> Wait {
        if let Some((_, due)) = self.waiting
            && due > now
        {
            return Wait::Until(due);
        }
        self.armed = false;
        match self.waiting.take() {
            Some((born, _)) => Wait::No { born },
            None => Wait::Yes,
        }
    }

    /// Another connection begins. The event that is pending stays.
    pub fn restart(&mut self) {
        *self = DelayedAck {
            most: self.most,
            quick: QUICK,
            marked: false,
            waiting: None,
            armed: self.armed,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::Receiver;
    use super::*;

    const MILLI: u64 = 1_000_000;

    /// A receiver that delays by 40 ms and is past its first segments; each segment left its sender
    /// 10 ms before it comes.
    struct Bench {
        receiver: Receiver,
        delayed: DelayedAck,
    }

    impl Bench {
        fn new() -> Bench {
            let tcp = Tcp { delayed_ack: Span::from_millis(40), ..Tcp::reno() };
            let mut bench =
                Bench { receiver: Receiver::new(&tcp), delayed: DelayedAck::new(&tcp).unwrap() };
            (0..QUICK).for_each(|seq| {
                assert_eq!(bench.arrive(0, seq), now(0), "slow start is not slowed down")
            });
            bench
        }

        fn arrive(&mut self, at_ms: u64, seq: u32) -> Wait {
            self.come(at_ms, seq, false)
        }

        fn come(&mut self, at_ms: u64, seq: u32, marked: bool) -> Wait {
            let received = self.receiver.receive(seq, marked, false);
            let at = Time::from_nanos(at_ms * MILLI);
            self.delayed.arrived(at, (at_ms * MILLI).saturating_sub(10 * MILLI), marked, &received)
        }

        fn ring(&mut self, at_ms: u64) -> Wait {
            self.delayed.ring(Time::from_nanos(at_ms * MILLI))
        }
    }

    /// At once, for what left the sender 10 ms before `at_ms`.
    fn now(at_ms: u64) -> Wait {
        Wait::No { born: (at_ms * MILLI).saturating_sub(10 * MILLI) }
    }

    fn until(at_ms: u64) -> Wait {
        Wait::Until(Time::from_nanos(at_ms * MILLI))
    }

    #[test]
    fn off_is_none() {
        assert!(DelayedAck::new(&Tcp::reno()).is_none());
    }

    /// RFC 5681 §4.2: at least every second segment, and within the time. RFC 7323 §4.3: the first
    /// of the two is answered.
    #[test]
    fn every_second_segment_is_acknowledged_and_none_waits_too_long() {
        let mut bench = Bench::new();
        assert_eq!((bench.arrive(100, 25), bench.arrive(101, 26)), (until(140), now(100)));
        assert_eq!(
            (bench.arrive(102, 27), bench.arrive(103, 28)),
            (Wait::Yes, now(102)),
            "the event is pending already"
        );
        assert_eq!(bench.arrive(120, 29), Wait::Yes);
        assert_eq!(
            bench.ring(140),
            until(160),
            "it was for a segment that has been acknowledged since"
        );
        assert_eq!((bench.ring(160), bench.receiver.state().0), (now(120), 30));
        assert_eq!((bench.arrive(200, 30), bench.arrive(201, 31)), (until(240), now(200)));
        assert_eq!(bench.ring(240), Wait::Yes, "nothing waits");
        assert_eq!(bench.arrive(300, 32), until(340));
    }

    #[test]
    fn gaps_repairs_and_repetitions_are_told_at_once() {
        let mut bench = Bench::new();
        assert_eq!(
            (bench.arrive(100, 25), bench.arrive(101, 27)),
            (until(140), now(100)),
            "with what waited"
        );
        assert_eq!(
            (bench.arrive(102, 29), bench.arrive(103, 26)),
            (now(102), now(103)),
            "a gap, and one of two filled"
        );
        assert_eq!(
            (bench.arrive(104, 28), bench.arrive(105, 5)),
            (now(104), now(105)),
            "the other, and an old one"
        );
        assert_eq!((bench.arrive(106, 30), bench.arrive(107, 31)), (Wait::Yes, now(106)));
    }

    #[test]
    fn a_change_of_marks_is_told_at_once() {
        let mut bench = Bench::new();
        assert_eq!((bench.come(100, 25, true), bench.come(101, 26, true)), (now(100), until(141)));
        assert_eq!((bench.come(102, 27, false), bench.come(103, 28, false)), (now(101), Wait::Yes));
    }

    #[test]
    fn what_waits_is_told_apart_from_marks_that_begin_or_end() {
        let mut bench = Bench::new();
        assert_eq!(bench.arrive(100, 25), until(140));
        assert_eq!(bench.delayed.release(false), None);
        assert_eq!(
            (bench.delayed.release(true), bench.delayed.release(true)),
            (Some(90 * MILLI), None)
        );
        assert_eq!(bench.come(101, 26, true), now(101), "and the mark by itself");
        assert_eq!(
            (bench.come(102, 27, true), bench.delayed.release(false)),
            (Wait::Yes, Some(92 * MILLI))
        );
    }

    #[test]
    fn another_connection_begins_quick_and_leaves_its_event() {
        let mut bench = Bench::new();
        assert_eq!(bench.arrive(100, 25), until(140));
        bench.receiver.restart();
        bench.delayed.restart();
        (0..QUICK).for_each(|seq| assert_eq!(bench.arrive(110, seq), now(110)));
        assert_eq!(bench.arrive(120, QUICK), Wait::Yes);
        assert_eq!(bench.ring(140), until(160));
    }
}
