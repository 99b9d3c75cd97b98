//! Packets at the times and lengths of a list, such as the arrivals of a capture. The source is
//! open loop.
use std::sync::Arc;

use tidegate::{ConfigError, Ecn, Span, Time};

/// One packet of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When, from the start of the flow.
    pub at: Span,
    /// Its length on the wire, 1 B to 65535 B.
    pub len: u16,
    /// Its ECN codepoint.
    pub ecn: Ecn,
}

/// The parameters of a source that replays a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// The packets, in order of time. Simultaneous ones are sent a nanosecond apart.
    pub arrivals: Arc<[Arrival]>,
}

impl Replay {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if !self.arrivals.is_sorted_by_key(|a| a.at) || self.arrivals.iter().any(|a| a.len == 0) {
            let count = self.arrivals.len();
            return Err(ConfigError::new(
                "arrivals",
                count,
                "must be in the order of time, of 1 B at least each",
            ));
        }
        Ok(())
    }
}

/// The state of a source that replays a list.
#[derive(Clone, Debug)]
pub(crate) struct ReplaySender {
    arrivals: Arc<[Arrival]>,
    /// When it started.
    start: Option<Time>,
    sent: usize,
}

impl ReplaySender {
    pub fn new(replay: &Replay) -> ReplaySender {
        ReplaySender { arrivals: replay.arrivals.clone(), start: None, sent: 0 }
    }

    /// The length of the next packet, in bytes; 0 after the last.
    pub fn next_len(&self) -> u32 {
        self.arrivals.get(self.sent).map_or(0, |next| next.len as u32)
    }

    /// Starts again with the first packet.
    pub fn restart(&mut self) {
        (self.start, self.sent) = (None, 0);
    }

    /// At `now` a packet is due, or it starts: the packet with its number, if it is due, and when
    /// the next one is.
    pub fn send(&mut self, now: Time) -> (Option<(u32, Arrival)>, Time) {
        let start = *self.start.get_or_insert(now);
        let due = |i: usize| self.arrivals.get(i).map_or(Time::MAX, |a| start + a.at);
        if due(self.sent) > now {
            return (None, due(self.sent));
        }
        let (number, arrival) = (self.sent as u32, self.arrivals[self.sent]);
        let next = due(self.sent + 1).max(now + Span::from_nanos(1));
        self.sent += 1;
        (Some((number, arrival)), next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sends_what_the_list_says() {
        let arrival = |ms, len| Arrival { at: Span::from_millis(ms), len, ecn: Ecn::Ect0 };
        let list = Replay { arrivals: [arrival(5, 100), arrival(5, 200), arrival(9, 300)].into() };
        list.check().unwrap();
        let mut sender = ReplaySender::new(&list);
        for start in [1_000_000_000, 7_000_000_000] {
            let (mut now, mut seen) = (Time::from_nanos(start), vec![]);
            while now < Time::MAX {
                let (packet, next) = sender.send(now);
                seen.extend(packet.map(|(number, a)| (now.as_nanos() - start, number, a.len)));
                assert!(next > now);
                now = next;
            }
            assert_eq!(seen, [(5_000_000, 0, 100), (5_000_001, 1, 200), (9_000_000, 2, 300)]);
            sender.restart();
        }
        let wrong = Replay { arrivals: [arrival(5, 100), arrival(4, 100)].into() };
        assert_eq!(wrong.check().unwrap_err().field, "arrivals");
        assert_eq!(
            ReplaySender::new(&Replay { arrivals: [].into() }).send(Time::ZERO).1,
            Time::MAX
        );
    }
}
