//! The pace, and how many segments leave together (§4.2.1, §4.2.2).
use tidegate::{Bytes, Rate, Span};

use crate::sources::tcp::delivery::SegmentRate;

/// Up to this pace one segment leaves at a time (§4.2.2).
const SINGLE: Rate = Rate::from_bps(1_200_000);
/// Up to this pace two leave together.
const DOUBLE: Rate = Rate::from_bps(24_000_000);
/// Beyond that, as much as leaves in this time.
const TOGETHER: Span = Span::from_millis(1);
/// The bound of that.
const TOGETHER_MOST: Bytes = Bytes::new(64_000);

/// The pace of one connection.
#[derive(Clone, Debug)]
pub(in super::super) struct Pace {
    pub rate: SegmentRate,
    /// How many segments leave together.
    pub quantum: u32,
    /// What is not held back of the pace.
    pub used: f64,
    segment: Bytes,
}

impl Pace {
    /// None yet, with the fraction `margin` to be held back.
    pub fn new(margin: f64, segment: Bytes) -> Pace {
        Pace { rate: SegmentRate::ZERO, quantum: 1, used: 1.0 - margin, segment }
    }

    /// The pace at which to begin: `gain` times the initial window in a round-trip time (§4.2.1).
    pub fn begin(&mut self, gain: f64, initial_window: f64, rtt: Span) {
        self.rate =
            SegmentRate::new(initial_window, rtt.max(Span::from_nanos(1))).times(gain * self.used);
        self.set_quantum();
    }

    /// The pace is the model's; before the pipe is `filled` it only grows (§4.2.1).
    pub fn follow(&mut self, bandwidth: SegmentRate, gain: f64, filled: bool) {
        let rate = bandwidth.times(gain * self.used);
        if bandwidth > SegmentRate::ZERO && (filled || rate > self.rate) {
            self.rate = rate;
            self.set_quantum();
        }
    }

    /// How many segments leave together (§4.2.2).
    fn set_quantum(&mut self) {
        let rate = self.rate.on_the_wire(self.segment);
        self.quantum = match rate {
            _ if rate < SINGLE => 1,
            _ if rate < DOUBLE => 2,
            _ => (rate.bytes_in(TOGETHER).min(TOGETHER_MOST).get() / self.segment.get()).max(2)
                as u32,
        };
    }
}
