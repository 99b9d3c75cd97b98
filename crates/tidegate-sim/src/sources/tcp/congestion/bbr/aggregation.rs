//! How acknowledgements bunch, as Linux's BBR sees it (net/ipv4/tcp_bbr.c, since 5.1; "extra acked"
//! in its sources): by how much more arrives in a while than the bandwidth would have it. The
//! window has room for that, so that what leaves does not stop between one bunch and the next.
use tidegate::{Span, Time};

use crate::sources::tcp::delivery::{DeliverySample, SegmentRate};

/// For how many round trips each of the two halves of the memory is filled
/// (bbr_extra_acked_win_rtts).
const ROUNDS: u32 = 5;
/// No more room than what arrives in this time (bbr_extra_acked_max_us).
const MOST: Span = Span::from_millis(100);

/// What is known of a connection's bunches. Windows are in segments.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Aggregation {
    /// When the bunch that is being counted began, and how many segments it has.
    since: Time,
    arrived: u32,
    /// The most beyond what was expected, in this half of the memory and in the last, and for how
    /// many round trips this one has been filled.
    most: [f64; 2],
    rounds: u32,
}

impl Aggregation {
    /// What an acknowledgement says that comes at `now`, with the first one of a round trip or
    /// another, to a window of `cwnd`.
    pub fn learn(
        &mut self,
        now: Time,
        sample: &DeliverySample,
        starts: bool,
        bandwidth: SegmentRate,
        cwnd: f64,
    ) {
        if sample.news == 0 || sample.rate.is_none() {
            return;
        }
        if starts {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                self.rounds = 0;
                self.most = [0.0, self.most[0]];
            }
        }
        let mut expected = libm::floor(bandwidth.segments_in(now.since(self.since)));
        if self.arrived as f64 <= expected {
            // No faster than the bandwidth: another bunch begins here.
            (self.arrived, self.since, expected) = (0, now, 0.0);
        }
        self.arrived += sample.news;
        let beyond = (self.arrived as f64 - expected).min(cwnd);
        self.most[0] = self.most[0].max(beyond);
    }

    /// The room that it wants in the window.
    pub fn room(&self, bandwidth: SegmentRate) -> f64 {
        self.most[0].max(self.most[1]).min(libm::floor(bandwidth.segments_in(MOST)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path of 1000 segments a second.
    fn bandwidth() -> SegmentRate {
        SegmentRate::new(1000.0, Span::from_secs(1.0))
    }

    /// `news` segments come at `millis`.
    fn come(aggregation: &mut Aggregation, millis: u64, news: u32, starts: bool) -> f64 {
        let sample = DeliverySample {
            news,
            delivered: 0,
            prior: Some(0),
            in_flight: 0,
            lost: 0,
            rate: Some(bandwidth()),
            limited: false,
            rtt: None,
        };
        aggregation.learn(
            Time::from_nanos(millis * 1_000_000),
            &sample,
            starts,
            bandwidth(),
            1000.0,
        );
        aggregation.room(bandwidth())
    }

    /// Two every 2 ms are as many as were expected. After a silence of 20 ms they come together,
    /// and then as before: twenty of them and the two that came before were expected later.
    #[test]
    fn a_bunch_is_what_comes_sooner_than_expected() {
        let mut aggregation = Aggregation::default();
        assert!((1..50).all(|i| come(&mut aggregation, 2 * i, 2, false) == 2.0));
        assert_eq!(come(&mut aggregation, 118, 20, false), 20.0);
        // Two of those expected since have come besides, so that the bunch is not over.
        assert_eq!(come(&mut aggregation, 120, 2, false), 20.0);
        assert_eq!(come(&mut aggregation, 121, 5, false), 24.0);
        // 27 in 27 ms: another one begins.
        assert_eq!(come(&mut aggregation, 145, 3, false), 24.0);
        assert_eq!((aggregation.arrived, aggregation.since), (3, Time::from_nanos(145_000_000)));
    }

    #[test]
    fn a_bunch_is_remembered_for_five_to_ten_round_trips() {
        let mut aggregation = Aggregation::default();
        come(&mut aggregation, 50, 30, true);
        for round in 2..10 {
            assert_eq!(come(&mut aggregation, 50 * round, 2, true), 30.0, "{round}");
        }
        assert_eq!(come(&mut aggregation, 500, 2, true), 2.0);
    }

    #[test]
    fn room_has_bounds() {
        let mut aggregation = Aggregation::default();
        assert_eq!(come(&mut aggregation, 50, 300, false), 100.0, "what comes in 100 ms");
        let mut aggregation = Aggregation::default();
        let sample = DeliverySample {
            news: 30,
            delivered: 0,
            prior: Some(0),
            in_flight: 0,
            lost: 0,
            rate: Some(bandwidth()),
            limited: false,
            rtt: None,
        };
        let told = [DeliverySample { rate: None, ..sample }, DeliverySample { news: 0, ..sample }];
        told.iter()
            .for_each(|sample| aggregation.learn(Time::ZERO, sample, true, bandwidth(), 20.0));
        assert_eq!(
            aggregation.room(bandwidth()),
            0.0,
            "of no rate and of nothing new nothing is learned"
        );
        aggregation.learn(Time::ZERO, &sample, true, bandwidth(), 20.0);
        assert_eq!(aggregation.room(bandwidth()), 20.0, "the window");
    }
}
