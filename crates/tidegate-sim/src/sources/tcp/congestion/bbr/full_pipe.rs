//! When the pipe is full, so that Startup may end (§4.3.2.2).
use crate::sources::tcp::delivery::SegmentRate;

/// The pipe is full when the rate has not grown by this factor ...
const GROWTH: f64 = 1.25;
/// ... in so many round trips.
const PLATEAU: u32 = 3;

/// The growth of one connection's delivery rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// The rate at which growth was last seen: BBR.full_bw.
    grown: SegmentRate,
    /// How many rounds ago that was.
    without_growth: u32,
    /// Whether the pipe has been full.
    pub filled: bool,
}

impl FullPipe {
    /// An acknowledgement comes that `starts` a round trip or does not. The sender was `limited` by
    /// its data or was not.
    pub fn check(&mut self, bandwidth: SegmentRate, starts: bool, limited: bool) {
        if self.filled || !starts || limited {
            return;
        }
        if bandwidth >= self.grown.times(GROWTH) {
            self.grown = bandwidth;
            self.without_growth = 0;
            return;
        }
        self.without_growth += 1;
        self.filled = self.without_growth >= PLATEAU;
    }
}
