//! HyStart as Linux's CUBIC has it (ha2011, not RFC 9406). Slow start ends at once where
//! acknowledgements come in a train half as long as the least round trip, or when round-trip times
//! begin to grow.
use super::Acked;
use crate::sources::tcp::rto::UNMEASURED;

/// The least window that is checked, in segments.
const LEAST_WINDOW: u32 = 16;
/// Acknowledgements no further apart belong to one train.
const TRAIN_GAP: u64 = 2_000_000;
/// What Linux takes the longest burst of its own to last, at the rates of a slow start.
const BURST: u64 = 1_000_000;
/// So many round-trip times of a round are taken before one is judged.
const SAMPLES: u32 = 8;
/// Growth beyond this part of the least round trip ends slow start; no less than the first bound,
/// no more than the second.
const DIVISOR: u64 = 8;
const MIN_THRESHOLD: u64 = 4_000_000;
const MAX_THRESHOLD: u64 = 16_000_000;

/// At work; times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinuxHyStart {
    /// When the round began, and when the last acknowledgement of the train came.
    began: u64,
    last: u64,
    /// The first segment of the next round.
    end: u32,
    /// The least round-trip time of the round, [`UNMEASURED`] before the first, and how many there
    /// were.
    current: u64,
    samples: u32,
    found: bool,
}

impl LinuxHyStart {
    pub fn new() -> LinuxHyStart {
        LinuxHyStart { began: 0, last: 0, end: 0, current: UNMEASURED, samples: 0, found: false }
    }

    /// An acknowledgement comes in slow start at window `cwnd`, `least` being the least round trip:
    /// whether slow start is over.
    pub fn ends(&mut self, cwnd: u32, least: u64, ack: &Acked) -> bool {
        if self.found {
            return false;
        }
        let now = ack.now.as_nanos();
        if ack.una > self.end {
            *self = LinuxHyStart { began: now, last: now, end: ack.max, ..LinuxHyStart::new() };
        }
        if cwnd < LEAST_WINDOW {
            return false;
        }
        if now - self.last <= TRAIN_GAP {
            self.last = now;
            self.found |= now - self.began > least.saturating_add(BURST) / 2;
        }
        self.current = self.current.min(ack.sample());
        if self.samples < SAMPLES {
            self.samples += 1;
        } else {
            let growth = (least / DIVISOR).clamp(MIN_THRESHOLD, MAX_THRESHOLD);
            self.found |= self.current > least.saturating_add(growth);
        }
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::bench::ack;
    use super::*;
    use tidegate::Time;

    /// One round of `acks`, `gap` apart, each answering after `rtt`, 40 ms being the least, all in
    /// nanoseconds: after how many slow start ends.
    fn round(window: u32, acks: u32, gap: u64, rtt: u64) -> Option<u32> {
        let mut hystart = LinuxHyStart::new();
        (1..=acks).find(|&una| {
            let now = Time::from_nanos(1_000_000_000 + una as u64 * gap);
            let sent = Time::from_nanos(now.as_nanos() - rtt);
            hystart.ends(window, 40_000_000, &Acked { now, sent, una, max: acks, ..ack() })
        })
    }

    #[test]
    fn a_train_half_as_long_as_the_path_ends_it() {
        // (40 + 1) / 2 = 20.5 ms after the first: with the 22nd a millisecond apart.
        assert_eq!(round(64, 64, 1_000_000, 40_000_000), Some(22));
        assert_eq!(round(64, 20, 1_000_000, 40_000_000), None, "it is shorter");
        assert_eq!(round(64, 64, 2_000_001, 40_000_000), None, "that is no train");
        assert_eq!(round(15, 64, 1_000_000, 40_000_000), None, "too small a window");
    }

    #[test]
    fn growing_round_trips_end_it_with_the_ninth() {
        assert_eq!(round(64, 12, 1_000_000, 45_000_001), Some(9));
        assert_eq!(
            round(64, 12, 1_000_000, 45_000_000),
            None,
            "an eighth is not more than an eighth"
        );
    }
}
