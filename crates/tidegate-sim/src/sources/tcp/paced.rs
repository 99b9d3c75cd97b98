//! The sender that paces: segments leave on a schedule, a few at a time, and not when
//! acknowledgements come.
use tidegate::{Rng, Span, Time};

use super::congestion::{Pacing, RateNews};
use super::sender::{Output, TcpSender};
use super::{Rules, Tcp};

/// When what the window allows leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Departures {
    /// At once.
    AtOnce,
    /// After a time uniform on [0, this).
    Scattered(Span),
    /// At the pace of the congestion control.
    Paced,
}

impl Departures {
    pub fn of(tcp: &Tcp) -> Departures {
        match tcp.overhead {
            _ if tcp.congestion.needs().paces_as.is_some() => Departures::Paced,
            Span::ZERO => Departures::AtOnce,
            overhead => Departures::Scattered(overhead),
        }
    }
}

/// What was under way before an acknowledgement came, and how many segments had been found lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    pub flight: u32,
    pub lost: u32,
}

impl TcpSender {
    /// Sends what is due, and sets the time for the rest.
    pub(super) fn pace(&mut self, now: Time, out: &mut Vec<Output>) {
        if self.send_at != Time::MAX {
            return; // it waits for its turn
        }
        while self.may_send() {
            if now < self.free {
                self.send_at = self.free;
                return;
            }
            let Some(Pacing { rate, quantum }) = self.window.pacing() else { return };
            let sent = self.send_together(now, quantum, out);
            if sent == 0 {
                break;
            }
            // The next leave when these have been paid for; what was not used before is not made up
            // for, but that Linux lets half of the price off for it
            // (tcp_update_skb_after_send).
            let price = rate.time_for(sent).as_nanos();
            let unused = if self.rules == Rules::Linux {
                now.since(self.free).as_nanos().min(price / 2)
            } else {
                0
            };
            self.free = now + Span::from_nanos(price - unused);
        }
        self.limit();
    }

    /// Sends up to `most` segments, as far as the window goes: how many.
    fn send_together(&mut self, now: Time, most: u32, out: &mut Vec<Output>) -> u32 {
        let mut sent = 0;
        while sent < most && self.has_room() {
            let Some(seq) = self.choose() else { break };
            self.send(now, seq, out);
            self.next = self.max;
            sent += 1;
        }
        while sent < most && self.has_place() {
            let Some(seq) = self.choose_by_time() else { break };
            self.send_by_time(now, seq, out);
            sent += 1;
        }
        sent
    }

    /// If it could send more and has no more, rates measured now say little of the path.
    fn limit(&mut self) {
        let lacks = self.max == self.end && (self.has_room() || self.has_place());
        let flight = self.flight();
        if let Some(deliveries) = &mut self.deliveries
            && lacks
        {
            deliveries.limit(flight);
        }
    }

    /// What is under way and has been lost as an acknowledgement comes, if there is a model to be
    /// told.
    pub(super) fn before(&self) -> Option<Before> {
        self.deliveries.as_ref().map(|_| Before { flight: self.flight(), lost: self.found_lost() })
    }

    /// How many segments have been found lost, in all.
    fn found_lost(&self) -> u32 {
        let by_time = self.rack.as_ref().map_or(0, |rack| rack.found_lost);
        self.board.as_ref().map_or(by_time, |board| board.found_lost)
    }

    /// The congestion control's model of the path takes an acknowledgement in.
    pub(super) fn model(&mut self, now: Time, before: Before, dice: &mut Rng) {
        let repair = self.repairs();
        let (flight, lost) = (self.flight(), self.found_lost() - before.lost);
        let Some(deliveries) = &mut self.deliveries else { return };
        let sample = deliveries.sample(self.window.min_rtt());
        // What was sent twice is timed by the stamp that the acknowledgement brings back.
        let rtt = sample.prior.map(|_| sample.rtt.unwrap_or(now.since(self.answered)));
        let wait = self.free.since(now);
        let news = RateNews { now, sample, rtt, lost, before: before.flight, flight, wait, repair };
        self.window.on_sample(&news, dice);
        if self.window.holds_back() {
            deliveries.limit(flight);
        }
    }
}

#[cfg(test)]
#[path = "paced_tests.rs"]
mod tests;
