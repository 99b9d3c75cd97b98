//! When the bandwidth has stopped growing: in Startup, so that the pipe is full (version 1,
//! §4.3.2.2), and in version 3 also while it probes for more (§5.3.1.2 there).
use crate::sources::tcp::delivery::SegmentRate;

/// It grows while it grows by this factor ...
const GROWTH: f64 = 1.25;
/// ... in so many round trips.
const PLATEAU: u32 = 3;

/// The growth of one connection's delivery rate.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct FullBandwidth {
    /// The rate at which growth was last seen: BBR.full_bw.
    grown: SegmentRate,
    /// How many round trips ago that was.
    without_growth: u32,
    /// Whether it has stopped growing since the last reset, and whether it ever had.
    pub now: bool,
    pub reached: bool,
}

impl FullBandwidth {
    /// To be found anew, from `rate` on.
    pub fn reset(&mut self, rate: Option<SegmentRate>) {
        self.grown = rate.unwrap_or(SegmentRate::ZERO);
        (self.without_growth, self.now) = (0, false);
    }

    /// An acknowledgement with a sample of the delivery rate, that `starts` a round trip or does
    /// not, of a sender that was `limited` by its data or was not.
    pub fn check(&mut self, rate: Option<SegmentRate>, starts: bool, limited: bool) {
        let Some(rate) = rate.filter(|_| !self.now && starts && !limited) else { return };
        if rate >= self.grown.times(GROWTH) {
            return self.reset(Some(rate));
        }
        self.without_growth += 1;
        self.now = self.without_growth >= PLATEAU;
        self.reached |= self.now;
    }
}
