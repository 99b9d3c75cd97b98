//! Round trips of a connection, seen from the middle of it.
//!
//! What passes and its answer give the way to one end and back. Both ends' least such times, added
//! up, are the least round trip. The handshake gives the whole at once, also where only the
//! client's packets were captured. Samples of retransmissions are thrown away, since nobody knows
//! which of them was answered (karn1987).
use tidegate::{Span, Time};
use tidegate_packet::Segment;

/// A handshake that takes longer was asked for again by the other end (RFC 6298 §2.1 waits so
/// long). Nor has a path a round trip beyond it.
const LONGEST: Span = Span::from_millis(1000);

/// From the passing of one end's packets to the passing of the other's answers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Half {
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
    halves: [Half; 2],
    opening: Opening,
    handshake: Option<Span>,
    /// From the server's SYN to its first data: a round trip, and the time to find an answer.
    reply: Option<Span>,
}

/// How far a handshake has come.
#[derive(Clone, Copy, Debug, Default)]
enum Opening {
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
pub(super) enum Known {
    /// From packets and their answers, on both sides.
    Answers,
    /// From the handshake.
    Handshake,
    /// From a server's SYN to its first data, which takes the server's time to answer in.
    Reply,
}

impl Half {
    fn sample(&mut self, span: Span) {
        self.least = Some(self.least.map_or(span, |least| least.min(span)));
        self.sum = self.sum.saturating_add(span.as_nanos());
        self.count += 1;
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
            (Opening::Over, _) => Opening::Over,
            (Opening::Unseen, true) if segment.ack.is_none() => Opening::Asked(from, now),
            (Opening::Unseen, true) => Opening::Answered(from, now, None),
            (Opening::Asked(client, asked), true) if from != client => {
                Opening::Answered(from, now, Some(asked))
            }
            (_, true) => Opening::Over,
            (Opening::Asked(client, asked), false) if from == client => {
                self.handshake = Some(now.since(asked));
                Opening::Over
            }
            (Opening::Answered(server, _, asked), false) if from != server => {
                self.handshake = asked.map(|asked| now.since(asked));
                Opening::Over
            }
            (Opening::Answered(server, answered, _), false)
                if from == server && segment.payload > 0 =>
            {
                self.reply = Some(now.since(answered));
                Opening::Over
            }
            (opening, false) => opening,
        };
    }

    /// The least round trip, and how it is known.
    pub(super) fn least(&self) -> Option<(Span, Known)> {
        let [there, back] = self.halves.map(|half| half.least);
        let answers = there.zip(back).map(|(there, back)| (there + back, Known::Answers));
        let handshake = self.handshake.map(|span| (span, Known::Handshake));
        let likely = |known: &(Span, Known)| known.0 < LONGEST;
        let sure = [answers, handshake].into_iter().flatten().filter(likely).min();
        sure.or(self.reply.map(|span| (span, Known::Reply)).filter(likely))
    }

    /// By what the mean exceeds the least: about what packets wait in queues.
    pub(super) fn wait(&self) -> Option<Span> {
        let [there, back] = self.halves.map(|half| half.excess());
        Some(there? + back?)
    }
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

    fn least(rtt: &RoundTrips) -> Option<(u64, Known)> {
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
            assert_eq!(least(&rtt), Some((40, Known::Handshake)), "{both}");
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
        assert_eq!(least(&server), Some((50, Known::Reply)));
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
        assert_eq!(least(&rtt), Some((30 + 64, Known::Answers)));
        let mut data = RoundTrips::default();
        data.pass(ms(0), 0, &segment(0, 1000, None));
        data.again(0);
        data.pass(ms(50), 1, &segment(0, 0, Some(1000)));
        assert_eq!(least(&data), None, "Karn's rule");
    }
}
