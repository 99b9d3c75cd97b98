//! The bandwidth: the greatest delivery rate of the last round trips (§4.1.1).
use crate::sources::tcp::delivery::SegmentRate;

/// Over how many round trips the delivery rate is the greatest: BtlBwFilterLen (§4.1.1.2).
const ROUNDS: usize = 10;

/// The greatest delivery rate of each of the last rounds, with its number: BBR.BtlBwFilter.
#[derive(Clone, Debug, Default)]
pub(super) struct BandwidthFilter {
    rates: [(usize, SegmentRate); ROUNDS],
}

impl BandwidthFilter {
    /// Takes in a `rate` of this `round`: the greatest of the last rounds, this one included.
    pub fn insert(&mut self, round: usize, rate: SegmentRate) -> SegmentRate {
        let slot = &mut self.rates[round % ROUNDS];
        if slot.0 != round || rate > slot.1 {
            *slot = (round, rate);
        }
        let recent = self.rates.iter().filter(|slot| round - slot.0 < ROUNDS);
        recent.map(|slot| slot.1).fold(SegmentRate::ZERO, SegmentRate::max)
    }
}
