//! What the model holds of the path: the greatest bandwidth, and the bounds that losses taught
//! (§5.5.5 to §5.5.10).
use super::super::RateNews;
use crate::sources::tcp::delivery::{DeliverySample, SegmentRate};

/// A part of what is in flight may be lost: LossThresh (§2.7).
const LOSS: f64 = 0.02;
/// What a loss leaves: Beta (§2.7).
pub(super) const BETA: f64 = 0.7;
/// What is left free below the long-term bound: Headroom (§2.7).
const HEADROOM: f64 = 0.15;
/// So many losses in a round trip end Startup: StartupFullLossCnt (§5.3.1.3).
const STARTUP_LOSSES: u32 = 6;

/// Whether more was lost than may be of the flight that the sample is of (IsInflightTooHigh).
pub(super) fn too_much(sample: &DeliverySample) -> bool {
    sample.lost as f64 > sample.in_flight as f64 * LOSS
}

/// Bandwidths and data in flight, in segments.
#[derive(Clone, Debug)]
pub(super) struct ModelBounds {
    /// The greatest rate of this cycle of ProbeBW and of the last: BBR.MaxBwFilter.
    most: [SegmentRate; 2],
    /// BBR.bw_shortterm, BBR.inflight_shortterm, BBR.inflight_longterm.
    short_rate: Option<SegmentRate>,
    short: f64,
    pub long: f64,
    /// The greatest rate and the most delivered of this round trip: BBR.bw_latest,
    /// BBR.inflight_latest.
    latest_rate: SegmentRate,
    latest: f64,
    /// When the round trip ends in which losses count, and how many acknowledgements of it told of
    /// any: BBR.loss_round_delivered.
    round_end: u32,
    losses: u32,
    /// Whether one of it lost more than may be; and the same of the round trip before, as it ended.
    much: bool,
    lost_much: bool,
}

impl Default for ModelBounds {
    fn default() -> ModelBounds {
        ModelBounds {
            most: [SegmentRate::ZERO; 2],
            short_rate: None,
            short: f64::INFINITY,
            long: f64::INFINITY,
            latest_rate: SegmentRate::ZERO,
            latest: 0.0,
            round_end: 0,
            losses: 0,
            much: false,
            lost_much: false,
        }
    }
}

impl ModelBounds {
    /// BBR.max_bw.
    pub fn most(&self) -> SegmentRate {
        self.most[0].max(self.most[1])
    }

    /// BBR.bw.
    pub fn bandwidth(&self) -> SegmentRate {
        match self.short_rate {
            Some(short) if short < self.most() => short,
            _ => self.most(),
        }
    }

    /// The short-term bound of what is in flight.
    pub fn short(&self) -> f64 {
        self.short
    }

    /// The most that a round trip delivered of late.
    pub fn latest(&self) -> f64 {
        self.latest
    }

    /// A cycle of ProbeBW is over: what the one before it found is forgotten.
    pub fn advance(&mut self) {
        self.most = [self.most[1], SegmentRate::ZERO];
        if self.most[0] == SegmentRate::ZERO {
            self.most[0] = self.latest_rate;
        }
    }

    pub fn forget_short(&mut self) {
        (self.short_rate, self.short) = (None, f64::INFINITY);
    }

    /// BBRResetCongestionSignals.
    pub fn forget_losses(&mut self) {
        (self.losses, self.much) = (0, false);
        (self.latest_rate, self.latest) = (SegmentRate::ZERO, 0.0);
    }

    /// The long-term bound with some of it left to others (BBRInflightWithHeadroom).
    pub fn with_headroom(&self) -> f64 {
        if self.long == f64::INFINITY {
            return self.long;
        }
        (self.long - (HEADROOM * self.long).max(1.0)).max(super::LEAST)
    }

    /// Takes a sample in. A round trip that lost something ends with a bound on bandwidth and on
    /// data in flight, unless it `searches`. The bound is at least what got through, and at least
    /// seven tenths (§5.5.10.3).
    pub fn learn(&mut self, news: &RateNews, cwnd: f64, searches: bool) {
        let sample = &news.sample;
        let rate = sample.rate.unwrap_or(SegmentRate::ZERO);
        self.latest_rate = self.latest_rate.max(rate);
        if let Some(prior) = sample.prior {
            self.latest = self.latest.max((sample.delivered - prior) as f64);
        }
        if rate >= self.most() || !sample.limited {
            self.most[1] = self.most[1].max(rate);
        }
        if news.lost > 0 {
            self.losses += 1;
            self.much |= too_much(sample);
        }
        if sample.prior.is_none_or(|prior| prior < self.round_end) {
            return;
        }
        self.round_end = sample.delivered;
        self.lost_much = self.losses >= STARTUP_LOSSES && self.much;
        if self.losses > 0 && !searches {
            let before = self.short_rate.unwrap_or(self.most());
            self.short_rate = Some(self.latest_rate.max(before.times(BETA)));
            let before = if self.short == f64::INFINITY { cwnd } else { self.short };
            self.short = self.latest.max(before * BETA);
        }
        (self.losses, self.much) = (0, false);
        self.latest_rate = rate;
        self.latest = sample.prior.map_or(0.0, |prior| (sample.delivered - prior) as f64);
    }

    /// Whether the last round trip of Startup lost too much to go on (BBRCheckStartupHighLoss).
    pub fn startup_loses(&self, round_starts: bool) -> bool {
        round_starts && self.lost_much
    }
}
