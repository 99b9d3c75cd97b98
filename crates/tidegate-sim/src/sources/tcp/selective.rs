//! The sender with selective acknowledgements: loss recovery by RFC 6675.
//!
//! In recovery as much is sent as the window exceeds what is under way, lost segments first. After
//! a timeout everything that the receiver does not hold counts as lost and is sent again in slow
//! start; what it holds is not.
use tidegate::{Rng, Time};

use super::congestion::{Found, Repair};
use super::paced::Departures;
use super::report::Report;
use super::sender::{Last, Output, TcpSender};
use super::{LimitedTransmit, Rules};

impl TcpSender {
    /// An acknowledgement comes, with what it says of segments beyond the first hole; `echo` says
    /// that it echoes a mark.
    #[inline]
    pub fn reported(
        &mut self,
        now: Time,
        report: &Report,
        echo: bool,
        dice: &mut Rng,
        out: &mut Vec<Output>,
    ) {
        match (&self.board, &self.rack) {
            (Some(_), _) if self.rules == Rules::Ns2 => self.sack1(now, report, echo, dice, out),
            (Some(_), _) => self.selective(now, report, echo, dice, out),
            (_, Some(_)) => self.timely(now, report, echo, dice, out),
            (None, None) => self.acknowledged(now, report.ack, echo, dice, out),
        }
    }

    fn selective(
        &mut self,
        now: Time,
        report: &Report,
        echo: bool,
        dice: &mut Rng,
        out: &mut Vec<Output>,
    ) {
        let echo = self.heard(now, report.ack, echo);
        let before = self.before();
        let Some(board) = &mut self.board else { return };
        let news = match &mut self.deliveries {
            None => board.update(report),
            Some(deliveries) => board.update_telling(report, |seq| deliveries.arrived(now, seq)),
        };
        if report.ack > self.una {
            board.limited = 0;
            if self.last == Last::Duplicates && report.ack < self.recover {
                self.rto.acked_in_part(&self.answer(now, report.ack));
                self.una = report.ack;
                self.set_timer(now);
            } else {
                self.advance(now, report.ack, echo);
            }
        } else if news > 0 {
            self.duplicates += 1;
        }
        self.look_for_loss(now, out);
        if let Some(before) = before {
            self.model(now, before, dice);
        }
        self.fill(now, u32::MAX, dice, out);
    }

    /// Begins a recovery if there is a loss of a window not yet answered for (RFC 6675 §5 steps 2
    /// and 4, §5.1).
    fn look_for_loss(&mut self, now: Time, out: &mut Vec<Output>) {
        let Some(board) = &mut self.board else { return };
        // A mark has cut the window for this round trip; the loss is only repaired.
        let cut = self.last == Last::Echo && self.una < self.recover;
        let old = self.una < self.recover && !cut;
        if !board.sees_loss() || self.last == Last::Duplicates || old {
            return;
        }
        board.begin();
        // What is paced lets the first repair wait for its turn too.
        let at_once = self.departures != Departures::Paced;
        if at_once {
            board.sent_again();
        }
        if !cut {
            // What limited transmit has let out does not count (RFC 5681 §3.2 step 2), nor what was
            // sent past an older hole: the loss is held against no more than the
            // window.
            let flight = (self.max - self.una - board.limited).min(self.window.segments());
            self.window.on_loss(Found { now, una: self.una, flight });
            self.reduced = true;
        }
        self.recover = self.max;
        self.last = Last::Duplicates;
        self.rto.abandon();
        self.set_timer(now);
        if at_once {
            self.send(now, self.una, out);
        }
    }

    /// Whether what is under way leaves room in the window.
    pub(super) fn has_room(&self) -> bool {
        let Some(board) = &self.board else { return false };
        let waits =
            self.limited_transmit == LimitedTransmit::Off && !self.repairing() && board.held() > 0;
        let flight = if waits { self.max - self.una } else { board.pipe(self.max) };
        flight < self.window.segments()
    }

    /// Whether there may be something to send: new data, or what a recovery sends again.
    pub(super) fn has_work(&self) -> bool {
        self.has_fresh() || self.repairing() && self.una < self.max
    }

    pub(super) fn has_fresh(&self) -> bool {
        self.max < self.end && self.max - self.una < self.window.most()
    }

    /// Which lost segments are to be sent again: in recovery, and after a timeout as far as it
    /// reaches.
    pub(super) fn repairs(&self) -> Repair {
        match self.last {
            Last::Duplicates => Repair::Loss,
            Last::Timeout if self.una < self.recover => Repair::All,
            _ => Repair::Nothing,
        }
    }

    fn repairing(&self) -> bool {
        self.repairs() != Repair::Nothing
    }

    /// Sends what the window allows.
    pub(super) fn repair(&mut self, now: Time, out: &mut Vec<Output>) {
        while self.has_room() {
            let Some(seq) = self.choose() else { return };
            self.send(now, seq, out);
            self.next = self.max;
        }
    }

    /// What to send next (RFC 6675 §4, NextSeg): what is lost, else new data, else what may be
    /// lost, else once the last of all.
    pub(super) fn choose(&mut self) -> Option<u32> {
        let repairing = self.repairing();
        let fresh = self.has_fresh();
        let beyond = self.max - self.una >= self.window.segments();
        // What is lost of the data sent since a timeout waits for a recovery of its own.
        let limit = if self.last == Last::Timeout { self.recover } else { self.max };
        let board = self.board.as_mut()?;
        if repairing && let Some(seq) = board.next_lost(limit) {
            board.sent_again();
            return Some(seq);
        }
        if fresh {
            board.limited += (!repairing && beyond) as u32;
            return Some(self.max);
        }
        if self.last != Last::Duplicates {
            return None;
        }
        if let Some(seq) = board.next_missing() {
            board.sent_again();
            return Some(seq);
        }
        board.rescue(self.max)
    }
}

#[cfg(test)]
#[path = "selective_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "selective_twin.rs"]
mod twin;
