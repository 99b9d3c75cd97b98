//! Round trips of a connection, seen from the middle of it.
//!
//! What passes and its answer give the way to one end and back: a half. Both ends' least such
//! times, added up, are the least round trip. The handshake gives both halves, or the whole at once
//! where only the client's packets were captured. Samples of retransmissions are thrown away, since
//! nobody knows which of them was answered (karn1987).
//!
//! A connection that was open before the capture and has no time stamps shows only the half towards
//! its receiver: nothing that the sender's data answer is seen. [`fill`] takes what is missing
//! from the other connections.
use std::collections::BTreeMap;

use tidegate::{Span, Time};
use tidegate_packet::{Address, Segment};

/// A handshake that takes longer was asked for again by the other end (RFC 6298 §2.1 waits so
/// long). Nor has a path a round trip beyond it.
const LONGEST: Span = Span::from_millis(1000);

/// What is taken for a round trip where none is known, in ms.
pub(super) const USUAL_RTT_MS: f64 = 40.0;

/// From the passing of one end's packets to the passing of the other's answers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HalfTrip {
    least: Option<Span>,
    sum: u64,
    count: u64,
    /// An acknowledgement from here on answers what passed then.
    data: Option<(u32, Time)>,
    /// An echo of this time stamp, or of a later one, does.
    stamp: Option<(u32, Time)>,
    last_stamp: Option<u32>,
}

/// What is known of a connection's round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundTrips {
    halves: [HalfTrip; 2],
    opening: HandshakeStage,
    handshake: Option<Span>,
    /// From the server's SYN to its first data: a round trip, and the time to find an answer.
    reply: Option<Span>,
}

/// How far a handshake has come.
#[derive(Clone, Copy, Debug, Default)]
enum HandshakeStage {
    /// Its beginning was not seen.
    #[default]
    Unseen,
    /// The SYN of this end passed then.
    Asked(usize, Time),
    /// The SYN of this end passed, and it was an answer; the client's before it, if it was seen.
    Answered(usize, Time, Option<Time>),
    /// It is over, or too much was sent again to be timed.
    Over,
}

/// How a round trip came to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum KnownBy {
    /// From packets and their answers, on both sides.
    Answers,
    /// From the handshake.
    Handshake,
    /// From a server's SYN to its first data, which takes the server's time to answer in.
    Reply,
    /// From packets and their answers on one side only, and the other half of other connections.
    Half,
    /// From packets and their answers on one side only: it takes at least so long.
    AtLeast,
}

impl HalfTrip {
    fn sample(&mut self, span: Span) {
        self.least = Some(self.least.map_or(span, |least| least.min(span)));
        self.sum = self.sum.saturating_add(span.as_nanos());
        self.count += 1;
    }

    /// Takes a sample of the handshake, in which no packet waits long: the mean knows nothing of
    /// it.
    fn opened(&mut self, span: Span) {
        if span < LONGEST {
            self.least = Some(self.least.map_or(span, |least| least.min(span)));
        }
    }

    /// What of the mean exceeds the least.
    fn excess(&self) -> Option<Span> {
        let mean = self.sum.checked_div(self.count)?;
        Some(Span::from_nanos(mean.saturating_sub(self.least?.as_nanos())))
    }

    fn passes(&mut self, now: Time, segment: &Segment) {
        if segment.payload > 0 {
            let to = segment.seq.wrapping_add(segment.payload);
            self.data.get_or_insert((to, now));
        }
        let fresh = segment.stamps.filter(|&(value, _)| self.last_stamp != Some(value));
        if let Some((value, _)) = fresh {
            self.last_stamp = Some(value);
            self.stamp.get_or_insert((value, now));
        }
    }

    fn answered(&mut self, now: Time, segment: &Segment) {
        let reached = |from: u32, to: u32| to.wrapping_sub(from) as i32 >= 0;
        if let (Some((value, passed)), Some((_, echo))) = (self.stamp, segment.stamps)
            && reached(value, echo)
        {
            self.stamp = None;
            self.sample(now.since(passed));
        }
        if let (Some((to, passed)), Some(ack)) = (self.data, segment.ack)
            && reached(to, ack)
        {
            self.data = None;
            self.sample(now.since(passed));
        }
    }
}

impl RoundTrips {
    /// At `now`, `segment` of the end `from` (0 or 1) passes.
    pub(super) fn pass(&mut self, now: Time, from: usize, segment: &Segment) {
        self.open(now, from, segment);
        // An answer to a SYN comes at once, as any other; but it has no data.
        if !segment.opens {
            self.halves[1 - from].answered(now, segment);
            self.halves[from].passes(now, segment);
        }
    }

    /// What the end `from` sent is sent again: an answer would not say to which.
    pub(super) fn again(&mut self, from: usize) {
        self.halves[from].data = None;
    }

    fn open(&mut self, now: Time, from: usize, segment: &Segment) {
        self.opening = match (self.opening, segment.opens) {
            (HandshakeStage::Over, _) => HandshakeStage::Over,
            (HandshakeStage::Unseen, true) if segment.ack.is_none() => {
                HandshakeStage::Asked(from, now)
            }
            (HandshakeStage::Unseen, true) => HandshakeStage::Answered(from, now, None),
            (HandshakeStage::Asked(client, asked), true) if from != client => {
                self.halves[client].opened(now.since(asked));
                HandshakeStage::Answered(from, now, Some(asked))
            }
            (_, true) => HandshakeStage::Over,
            (HandshakeStage::Asked(client, asked), false) if from == client => {
                self.handshake = Some(now.since(asked));
                HandshakeStage::Over
            }
            (HandshakeStage::Answered(server, answered, asked), false) if from != server => {
                self.halves[server].opened(now.since(answered));
                self.handshake = asked.map(|asked| now.since(asked));
                HandshakeStage::Over
            }
            (HandshakeStage::Answered(server, answered, _), false)
                if from == server && segment.payload > 0 =>
            {
                self.reply = Some(now.since(answered));
                HandshakeStage::Over
            }
            (opening, false) => opening,
        };
    }

    /// The least round trip, and how it is known.
    pub(super) fn least(&self) -> Option<(Span, KnownBy)> {
        let [there, back] = self.halves.map(|half| half.least);
        let answers = there.zip(back).map(|(there, back)| (there + back, KnownBy::Answers));
        let handshake = self.handshake.map(|span| (span, KnownBy::Handshake));
        let likely = |known: &(Span, KnownBy)| known.0 < LONGEST;
        let sure = [answers, handshake].into_iter().flatten().filter(likely).min();
        sure.or(self.reply.map(|span| (span, KnownBy::Reply)).filter(likely))
    }

    /// The least way from here to the other end of what the end `from` sends, and back.
    pub(super) fn half(&self, from: usize) -> Option<Span> {
        self.halves[from].least.filter(|span| *span < LONGEST)
    }

    /// By what the mean exceeds the least: about what packets wait in queues.
    pub(super) fn wait(&self) -> Option<Span> {
        let [there, back] = self.halves.map(|half| half.excess());
        Some(there? + back?)
    }
}

/// A round trip that is to be filled: what is known of it, and its halves and the hosts at their
/// ends, the receiver's first.
pub(super) struct Halves<'j> {
    pub(super) known: &'j mut Option<(Span, KnownBy)>,
    pub(super) halves: [Option<Span>; 2],
    pub(super) hosts: [Address; 2],
}

/// Takes what is known of a round trip's halves from all connections.
///
/// From here to a host the way is the same for all, so the least of all is each one's. A connection
/// that began while the queue was full would count its wait. A missing half is the median of the
/// others' same half. Without one the round trip is the greatest of the known half, the others'
/// median and `usual`.
pub(super) fn fill(all: &mut [Halves<'_>], usual: Span) {
    for side in [0, 1] {
        let mut least: BTreeMap<Address, Span> = BTreeMap::new();
        for trip in all.iter() {
            let Some(half) = trip.halves[side] else { continue };
            let known = least.entry(trip.hosts[side]).or_insert(half);
            *known = half.min(*known);
        }
        for trip in all.iter_mut() {
            trip.halves[side] = least.get(&trip.hosts[side]).copied();
        }
    }
    let both = all.iter().filter_map(|trip| Some([trip.halves[0]?, trip.halves[1]?]));
    let both: Vec<[Span; 2]> = both.collect();
    let rest = [0, 1].map(|half| median(both.iter().map(|halves| halves[half])));
    for trip in all.iter_mut() {
        let [Some(there), Some(back)] = trip.halves else { continue };
        let answers = (there + back, KnownBy::Answers);
        // What is known by a reply is known least.
        let known = trip.known.filter(|(_, how)| *how != KnownBy::Reply);
        *trip.known = Some(known.map_or(answers, |known| known.min(answers)));
    }
    let whole = median(all.iter().filter_map(|trip| Some((*trip.known)?.0))).unwrap_or(usual);
    for trip in all.iter_mut().filter(|trip| trip.known.is_none()) {
        let (half, missing) = match trip.halves {
            [Some(half), None] => (half, rest[1]),
            [None, Some(half)] => (half, rest[0]),
            _ => continue,
        };
        *trip.known = Some(match missing {
            Some(missing) => (half + missing, KnownBy::Half),
            None => (half.max(whole), KnownBy::AtLeast),
        });
    }
}

fn median(spans: impl Iterator<Item = Span>) -> Option<Span> {
    let mut spans: Vec<Span> = spans.collect();
    spans.sort_unstable();
    spans.get(spans.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(seq: u32, payload: u32, ack: Option<u32>) -> Segment {
        Segment { seq, ack, payload, opens: false, ends: false, stamps: None }
    }

    fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }

    fn least(rtt: &RoundTrips) -> Option<(u64, KnownBy)> {
        rtt.least().map(|(span, known)| (span.as_nanos() / 1_000_000, known))
    }

    #[test]
    fn a_handshake_of_which_one_side_was_seen_or_both() {
        let syn = Segment { opens: true, ..segment(0, 0, None) };
        let answer = Segment { opens: true, ..segment(9, 0, Some(1)) };
        for both in [false, true] {
            let mut rtt = RoundTrips::default();
            rtt.pass(ms(0), 0, &syn);
            if both {
                rtt.pass(ms(15), 1, &answer);
            }
            rtt.pass(ms(40), 0, &segment(1, 0, Some(10)));
            // Who has both sides of it has both halves.
            let known = if both { KnownBy::Answers } else { KnownBy::Handshake };
            assert_eq!(least(&rtt), Some((40, known)), "{both}");
        }
        let mut again = RoundTrips::default();
        again.pass(ms(0), 0, &syn);
        again.pass(ms(1000), 0, &syn);
        again.pass(ms(1040), 0, &segment(1, 0, Some(10)));
        assert_eq!(least(&again), None, "nobody knows which SYN was answered");
        let mut late = RoundTrips::default();
        late.pass(ms(0), 0, &syn);
        late.pass(ms(1040), 0, &segment(1, 0, Some(10)));
        assert_eq!(least(&late), None, "the server asked again");
        let mut server = RoundTrips::default();
        server.pass(ms(0), 0, &answer);
        server.pass(ms(50), 0, &segment(10, 100, Some(70)));
        assert_eq!(least(&server), Some((50, KnownBy::Reply)));
    }

    #[test]
    fn stamps_give_both_halves_and_data_one() {
        let stamped = |value, echo, s: Segment| Segment { stamps: Some((value, echo)), ..s };
        let mut rtt = RoundTrips::default();
        for round in 0..5u32 {
            let begin = u64::from(round) * 100;
            let data = segment(round * 1000, 1000, Some(1));
            rtt.pass(ms(begin), 0, &stamped(round * 100, round, data));
            let ack = segment(1, 0, Some((round + 1) * 1000));
            rtt.pass(ms(begin + 30 + begin / 50), 1, &stamped(round + 1, round * 100, ack));
            rtt.pass(ms(begin + 99), 0, &stamped(round * 100 + 1, round, segment(0, 0, None)));
        }
        // The way to end 1 and back takes 30 ms at least. The way to end 0 and back is answered
        // by the next data, which passes 64 ms after the fourth acknowledgement.
        assert_eq!(least(&rtt), Some((30 + 64, KnownBy::Answers)));
        let mut data = RoundTrips::default();
        data.pass(ms(0), 0, &segment(0, 1000, None));
        data.again(0);
        data.pass(ms(50), 1, &segment(0, 0, Some(1000)));
        assert_eq!(least(&data), None, "Karn's rule");
    }

    /// A connection without time stamps that was open before: data one way, answers the other.
    fn half(to_receiver: u64) -> RoundTrips {
        let mut rtt = RoundTrips::default();
        rtt.pass(ms(0), 0, &segment(0, 1000, Some(1)));
        rtt.pass(ms(to_receiver), 1, &segment(1, 0, Some(1000)));
        rtt.pass(ms(to_receiver + 90), 0, &segment(1000, 1000, Some(1)));
        rtt
    }

    #[test]
    fn the_handshake_gives_both_halves() {
        let mut rtt = RoundTrips::default();
        rtt.pass(ms(0), 0, &Segment { opens: true, ..segment(0, 0, None) });
        rtt.pass(ms(15), 1, &Segment { opens: true, ..segment(9, 0, Some(1)) });
        rtt.pass(ms(40), 0, &segment(1, 0, Some(10)));
        let halves = [0, 1].map(|from| rtt.half(from).unwrap().as_nanos() / 1_000_000);
        assert_eq!(halves, [15, 25]);
        assert_eq!(rtt.wait(), None, "a handshake says nothing of what packets wait");
    }

    fn host(n: u8) -> Address {
        Address::V4([10, 0, 0, n])
    }

    /// What is known of a round trip, its halves, in ms, and its hosts.
    type Trip = (Option<(u64, KnownBy)>, [Option<u64>; 2], [u8; 2]);

    /// What becomes of what is known of `trips`, in ms.
    fn filled(trips: &[Trip]) -> Vec<(u64, KnownBy)> {
        let span = Span::from_millis;
        let known = trips.iter().map(|(known, ..)| known.map(|(ms, how)| (span(ms), how)));
        let mut known: Vec<_> = known.collect();
        let halves = known.iter_mut().zip(trips).map(|(known, (_, halves, hosts))| Halves {
            known,
            halves: halves.map(|half| half.map(span)),
            hosts: hosts.map(host),
        });
        fill(&mut halves.collect::<Vec<_>>(), span(40));
        known.iter().map(|k| k.map(|(s, how)| (s.as_nanos() / 1_000_000, how)).unwrap()).collect()
    }

    #[test]
    fn a_half_is_filled_by_the_others_or_is_the_least_there_can_be() {
        let one = half(30);
        let halves = [one.half(0), one.half(1)];
        assert_eq!((one.least(), halves), (None, [Some(Span::from_millis(30)), None]));
        let seen = |there, hosts| (None, [Some(there), None], hosts);
        let other = |there: u64, back: u64, hosts| {
            let sum = Some((there + back, KnownBy::Answers));
            (sum, [Some(there), Some(back)], hosts)
        };
        let others = [other(1, 5, [3, 4]), other(2, 7, [5, 6]), other(3, 9, [7, 8])];
        let all = [&[seen(30, [1, 2])], &others[..]].concat();
        assert_eq!(filled(&all)[0], (30 + 7, KnownBy::Half));
        let near = filled(&[seen(30, [1, 2])])[0];
        assert_eq!(near, (40, KnownBy::AtLeast), "no more is known than that it is longer");
        assert_eq!(filled(&[seen(50, [1, 2])])[0], (50, KnownBy::AtLeast), "no less than was seen");
    }

    #[test]
    fn the_way_to_a_host_is_the_same_for_all() {
        let known = |ms, how| Some((ms, how));
        let trips = filled(&[
            (known(20, KnownBy::Answers), [Some(19), Some(1)], [1, 2]),
            // Began while the queue was full.
            (known(121, KnownBy::Answers), [Some(119), Some(2)], [1, 3]),
            (known(161, KnownBy::Answers), [Some(119), Some(42)], [1, 4]),
            (known(300, KnownBy::Reply), [None, Some(7)], [1, 5]),
            (known(90, KnownBy::Handshake), [None, None], [9, 8]),
        ]);
        let by_answers = [20, 21, 61, 26].map(|ms| (ms, KnownBy::Answers));
        assert_eq!((&trips[..4], trips[4]), (&by_answers[..], (90, KnownBy::Handshake)));
    }
}
