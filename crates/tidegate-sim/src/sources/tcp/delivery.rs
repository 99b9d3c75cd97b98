//! How fast the network delivers: a sample with every acknowledgement
//! (draft-cheng-iccrg-delivery-rate-estimation-00).
//!
//! What the draft keeps with every packet stands in a ring by the segment's number, which only
//! connections have whose congestion control asks for samples. As all segments are of one length,
//! data are counted in segments.
use tidegate::{Bytes, Rate, Span, Time};

/// Segments per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub(super) struct SegmentRate(f64);

impl SegmentRate {
    /// None at all.
    pub const ZERO: SegmentRate = SegmentRate(0.0);

    /// So many segments in such a time, which is longer than nothing.
    pub fn new(segments: f64, time: Span) -> SegmentRate {
        SegmentRate(segments / time.as_secs())
    }

    /// So much on the wire, in segments of this length.
    pub fn of(rate: Rate, segment: Bytes) -> SegmentRate {
        SegmentRate(rate.as_bps() as f64 / segment.bits() as f64)
    }

    /// The greater of the two.
    pub fn max(self, other: SegmentRate) -> SegmentRate {
        SegmentRate(self.0.max(other.0))
    }

    /// So many times as fast.
    pub fn times(self, gain: f64) -> SegmentRate {
        SegmentRate(self.0 * gain)
    }

    /// How many segments that is in `time`.
    pub fn segments_in(self, time: Span) -> f64 {
        self.0 * time.as_secs()
    }

    /// How long so many segments take.
    pub fn time_for(self, segments: u32) -> Span {
        Span::from_secs(segments as f64 / self.0)
    }

    /// The same on the wire.
    pub fn on_the_wire(self, segment: Bytes) -> Rate {
        Rate::from_bps((self.0 * segment.bits() as f64) as u64)
    }
}

/// What was known when a segment was sent (§3.2).
#[derive(Clone, Copy, Debug, Default)]
struct Departure {
    /// When that was: P.sent_time.
    at: Time,
    /// When the segment was sent that had been delivered last: P.first_sent_time.
    first: Time,
    /// When it was delivered: P.delivered_time.
    delivered_at: Time,
    /// How many segments had been delivered: P.delivered.
    delivered: u32,
    /// How many segments had been sent with it, again or for the first time, and how many lost:
    /// P.lost.
    sent: u32,
    lost: u32,
    /// Whether the sender lacked data: P.is_app_limited.
    limited: bool,
    /// Whether it had been sent before, so that it may be that one which arrives.
    again: bool,
}

/// The estimator of one connection.
#[derive(Clone, Debug)]
pub(super) struct Deliveries {
    /// Of every segment from the first not acknowledged on, at its number modulo the length.
    departures: Vec<Departure>,
    /// How many segments have been delivered: C.delivered.
    delivered: u32,
    /// How many have been sent, again or for the first time, and how many of these were lost:
    /// C.lost.
    sent: u32,
    lost: u32,
    /// When the last was: C.delivered_time.
    delivered_at: Time,
    /// When the latest of those delivered was sent: C.first_sent_time.
    first: Time,
    /// Samples of segments sent until so many are delivered are of a sender that lacked data:
    /// C.app_limited; 0 for none.
    limited: u32,
    /// Of the segments that this acknowledgement delivers the last sent, and how many there are.
    latest: Option<Departure>,
    news: u32,
}

/// What an acknowledgement says of the delivery rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DeliverySample {
    /// How many segments it delivers.
    pub news: u32,
    /// How many have been delivered with it.
    pub delivered: u32,
    /// How many had been when the segment was sent that the sample is of; `None` without one.
    pub prior: Option<u32>,
    /// How many were in flight when that one was sent, itself included, and how many have been lost
    /// since: RS.tx_in_flight, RS.lost of later drafts.
    pub in_flight: u32,
    pub lost: u32,
    /// The delivery rate, if it can be measured.
    pub rate: Option<SegmentRate>,
    /// Whether the sender lacked data, so that the path may be faster.
    pub limited: bool,
    /// The round-trip time of that segment, unless it was sent twice (Karn).
    pub rtt: Option<Span>,
}

/// How many departures there is room for at first.
const ROOM: usize = 64;

impl Default for Deliveries {
    fn default() -> Deliveries {
        let time = Time::ZERO;
        let departures = vec![Departure::default(); ROOM];
        Deliveries {
            departures,
            delivered: 0,
            sent: 0,
            lost: 0,
            delivered_at: time,
            first: time,
            limited: 0,
            latest: None,
            news: 0,
        }
    }
}

impl Deliveries {
    /// Segment `seq` is sent, where `una` is the first not acknowledged and `max` one past the
    /// greatest sent.
    pub fn sent(&mut self, now: Time, seq: u32, una: u32, max: u32) {
        if una == max {
            (self.first, self.delivered_at) = (now, now);
        }
        if (seq - una) as usize >= self.departures.len() {
            self.widen(una, seq);
        }
        self.sent += 1;
        let Deliveries { first, delivered_at, delivered, sent, lost, .. } = *self;
        let (limited, again) = (self.limited > 0, seq < max);
        let place = self.place(seq);
        self.departures[place] =
            Departure { at: now, first, delivered_at, delivered, sent, lost, limited, again };
    }

    /// With `flight` segments in flight, all others that were sent have arrived or are lost.
    pub fn in_flight(&mut self, flight: u32) {
        self.lost = self.lost.max(self.sent.saturating_sub(self.delivered + flight));
    }

    fn place(&self, seq: u32) -> usize {
        seq as usize & (self.departures.len() - 1)
    }

    /// Makes room for `seq`; the receiver's window bounds it.
    #[cold]
    fn widen(&mut self, una: u32, seq: u32) {
        let room = ((seq - una) as usize + 1).next_power_of_two();
        let mut wider = vec![Departure::default(); room];
        for seq in una..una + self.departures.len() as u32 {
            wider[seq as usize & (room - 1)] = self.departures[self.place(seq)];
        }
        self.departures = wider;
    }

    /// Segment `seq` is found to have arrived (§3.3, UpdateRateSample). Of several the sample is of
    /// the one sent last, as in the draft's later versions; version 00 takes the first of those
    /// between whose departures nothing was delivered.
    pub fn arrived(&mut self, now: Time, seq: u32) {
        let departure = self.departures[self.place(seq)];
        self.delivered += 1;
        self.delivered_at = now;
        self.news += 1;
        if self.latest.is_none_or(|latest| departure.at >= latest.at) {
            self.latest = Some(departure);
            self.first = departure.at;
        }
    }

    /// What the segments that have arrived since the last call say (§3.3, GenerateRateSample). An
    /// interval shorter than `least`, the round-trip time, cannot be: acknowledgements have
    /// been delayed.
    pub fn sample(&mut self, least: Span) -> DeliverySample {
        if self.delivered > self.limited {
            self.limited = 0;
        }
        let (news, delivered) = (std::mem::take(&mut self.news), self.delivered);
        let Some(latest) = self.latest.take() else {
            let (in_flight, lost) = (0, 0);
            let (prior, rate, rtt) = (None, None, None);
            return DeliverySample {
                news,
                delivered,
                prior,
                in_flight,
                lost,
                rate,
                limited: false,
                rtt,
            };
        };
        let sending = latest.at.since(latest.first);
        let arriving = self.delivered_at.since(latest.delivered_at);
        let interval = sending.max(arriving);
        let valid = interval >= least && interval > Span::ZERO;
        let rate = valid.then(|| SegmentRate::new((delivered - latest.delivered) as f64, interval));
        let rtt = (!latest.again).then(|| self.delivered_at.since(latest.at));
        DeliverySample {
            news,
            delivered,
            prior: Some(latest.delivered),
            in_flight: latest.sent.saturating_sub(latest.delivered + latest.lost),
            lost: self.lost - latest.lost,
            rate,
            limited: latest.limited,
            rtt,
        }
    }

    /// The sender lacks data, or holds them back, with `flight` segments under way (§3.4).
    pub fn limit(&mut self, flight: u32) {
        self.limited = (self.delivered + flight).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn rate(sample: DeliverySample) -> f64 {
        sample.rate.map_or(0.0, |rate| rate.0)
    }

    /// Two segments every 10 ms, each back 100 ms later. In the second round trip nothing had been
    /// delivered when they left, and the interval began with the first.
    #[test]
    fn what_is_sent_at_a_rate_is_seen_to_arrive_at_it() {
        let mut deliveries = Deliveries::default();
        let mut una = 0;
        for tick in 0..60u64 {
            if tick >= 10 {
                (una..una + 2).for_each(|seq| deliveries.arrived(at(10 * tick), seq));
                una += 2;
                let sample = deliveries.sample(Span::from_millis(100));
                assert_eq!((sample.news, sample.delivered), (2, una));
                let wanted = if tick < 20 { una as f64 / (tick as f64 / 100.0) } else { 200.0 };
                assert!(
                    (rate(sample) - wanted).abs() < 1e-6,
                    "tick {tick}: {sample:?} for {wanted}"
                );
            }
            let next = 2 * tick as u32;
            (next..next + 2).for_each(|seq| deliveries.sent(at(10 * tick), seq, una, seq));
        }
    }

    /// Eight segments in a burst whose acknowledgements come back together: nothing is faster than
    /// it was sent, and an interval shorter than the round trip is none.
    #[test]
    fn acknowledgements_that_bunch_are_not_speed() {
        let mut deliveries = Deliveries::default();
        for seq in 0..8 {
            deliveries.sent(at(10 * seq as u64), seq, 0, seq);
        }
        deliveries.arrived(at(100), 0);
        let sample = deliveries.sample(Span::from_millis(100));
        assert_eq!((rate(sample), sample.rtt), (10.0, Some(Span::from_millis(100))));
        (1..8).for_each(|seq| deliveries.arrived(at(170), seq));
        // Eight in the 170 ms since the start; the 70 ms of sending do not count.
        let sample = deliveries.sample(Span::from_millis(100));
        assert!((rate(sample) - 8.0 / 0.17).abs() < 1e-9, "{sample:?}");
        deliveries.sent(at(170), 8, 8, 8);
        deliveries.arrived(at(250), 8);
        assert_eq!(deliveries.sample(Span::from_millis(100)).rate, None);
    }

    /// A segment sent again is of the flight with which it went out again.
    #[test]
    fn a_retransmission_is_timed_from_when_it_went_out_again() {
        let mut deliveries = Deliveries::default();
        (0..4).for_each(|seq| deliveries.sent(at(0), seq, 0, seq));
        (1..4).for_each(|seq| deliveries.arrived(at(100), seq));
        deliveries.sample(Span::ZERO);
        deliveries.sent(at(100), 0, 0, 4);
        deliveries.arrived(at(200), 0);
        let sample = deliveries.sample(Span::ZERO);
        assert_eq!(
            (sample.prior, sample.news, sample.delivered, sample.rtt),
            (Some(3), 1, 4, None)
        );
        assert!((rate(sample) - 10.0).abs() < 1e-9, "one segment in 100 ms: {sample:?}");
    }

    #[test]
    fn what_was_sent_for_lack_of_data_is_said_to_be() {
        let mut deliveries = Deliveries::default();
        (0..2).for_each(|seq| deliveries.sent(at(0), seq, 0, seq));
        deliveries.limit(2);
        deliveries.sent(at(10), 2, 0, 2);
        let mut limited = |seq| {
            deliveries.arrived(at(100), seq);
            deliveries.sample(Span::ZERO).limited
        };
        assert_eq!([limited(0), limited(1), limited(2)], [false, false, true]);
        deliveries.sent(at(110), 3, 3, 3);
        deliveries.arrived(at(200), 3);
        assert!(!deliveries.sample(Span::ZERO).limited, "what lacked is through");
    }

    #[test]
    fn a_wider_ring_keeps_what_it_held() {
        let mut deliveries = Deliveries::default();
        (100..300).for_each(|seq| deliveries.sent(at(seq as u64), seq, 100, seq));
        for seq in 100..300 {
            let place = deliveries.place(seq);
            assert_eq!(deliveries.departures[place].at, at(seq as u64));
        }
        assert_eq!(deliveries.departures.len(), 256);
    }
}
