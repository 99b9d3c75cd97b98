//! The sender of ns-2.35's Sack1, where its rules hold in place of RFC 6675's.
//!
//! In recovery what is under way is counted, not worked out: every acknowledgement takes one off, a
//! partial one two, every segment sent puts one on. Whatever is missing below a segment that the
//! receiver holds is sent again, however few it holds beyond. After a timeout all that it has told
//! is forgotten and everything is sent again; its duplicates are not heard before new data are
//! acknowledged.
use tidegate::{Rng, Time};

use super::congestion::Found;
use super::report::Report;
use super::sender::{DUPLICATES, Last, Output, TcpSender};
use super::{Handshake, LimitedTransmit};

/// What it keeps beside the scoreboard.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sack1 {
    /// How many segments are taken to be under way; of no meaning outside of a recovery, and of
    /// either sign.
    pipe: i32,
    recovering: bool,
    /// The timer has run out, and nothing new has been acknowledged since.
    deaf: bool,
}

impl TcpSender {
    /// An acknowledgement comes, as in [`TcpSender::reported`].
    pub(super) fn sack1(
        &mut self,
        now: Time,
        report: &Report,
        echo: bool,
        dice: &mut Rng,
        out: &mut Vec<Output>,
    ) {
        let echo = self.heard(now, report.ack, echo);
        let Some(board) = &mut self.board else { return };
        if board.sack1.recovering {
            self.sack1_recovers(now, report, echo);
            return self.fill(now, u32::MAX, dice, out);
        }
        if report.ack > self.una {
            self.advance(now, report.ack, echo);
            self.sack1_forgets(Sack1::default());
        } else if report.ack == self.una
            && self.una < self.end
            && !board.sack1.deaf
            && board.update(report) > 0
        {
            self.sack1_duplicate(now, out);
        }
        // Duplicates that begin no recovery, as of a loss below an older one, hold everything up
        // until new data are acknowledged or the timer runs out.
        if self.duplicates == 0 {
            self.fill(now, u32::MAX, dice, out);
        }
    }

    /// All that the receiver has told is forgotten.
    fn sack1_forgets(&mut self, state: Sack1) {
        let una = self.una;
        if let Some(board) = &mut self.board {
            board.forget(una);
            board.sack1 = state;
        }
    }

    /// The timer has run out: everything is sent again.
    pub(super) fn sack1_restarts(&mut self) {
        self.next = self.una;
        self.sack1_forgets(Sack1 { deaf: true, ..Sack1::default() });
    }

    /// The receiver holds more than it did.
    fn sack1_duplicate(&mut self, now: Time, out: &mut Vec<Output>) {
        self.duplicates += 1;
        if self.duplicates == DUPLICATES {
            self.sack1_begins(now, out);
        } else if self.duplicates < DUPLICATES && self.limited_transmit == LimitedTransmit::On {
            self.send_one(now, out);
        }
    }

    /// A recovery begins, unless the loss is of a window already answered for.
    fn sack1_begins(&mut self, now: Time, out: &mut Vec<Output>) {
        let beginning = self.una == (self.handshake == Handshake::Syn) as u32;
        if self.una > self.recover || beginning {
            // The congestion window is halved, whatever is in flight.
            self.window.on_loss(Found { now, una: self.una, flight: 0 });
            self.recover = self.max;
            self.reduced = true;
        } else if self.last != Last::Echo {
            return; // a mark has halved the window; a loss then is only repaired
        }
        self.last = Last::Duplicates;
        self.rto.abandon();
        self.set_timer(now);
        if let Some(board) = &mut self.board {
            board.sack1.recovering = true;
            // What has been retransmitted does not count.
            board.sack1.pipe = (self.max - self.una) as i32 - DUPLICATES as i32;
            board.first_sent_again();
        }
        self.send(now, self.una, out);
    }

    /// An acknowledgement in recovery.
    fn sack1_recovers(&mut self, now: Time, report: &Report, echo: bool) {
        let Some(board) = &mut self.board else { return };
        board.sack1.pipe -= 1;
        if report.ack >= self.recover {
            self.accept(now, report.ack, echo); // which opens no window
            self.recover = 1; // any loss begins a recovery
            self.sack1_forgets(Sack1::default());
        } else if report.ack > self.una {
            board.sack1.pipe -= 1;
            board.update(report);
            self.una = report.ack;
            self.next = self.next.max(report.ack);
            self.set_timer(now);
            self.rto.end_back_off();
        } else if !board.sack1.deaf {
            board.update(report);
        }
    }

    /// Whether it may send, though perhaps there is nothing to send.
    pub(super) fn sack1_may_send(&self) -> bool {
        let Some(board) = &self.board else { return false };
        let room = match board.sack1.recovering {
            true => board.sack1.pipe < self.window.cwnd as i32,
            false => self.next - self.una < self.window.segments(),
        };
        room && self.una < self.end
    }

    /// Sends what the window allows.
    pub(super) fn sack1_sends(&mut self, now: Time, out: &mut Vec<Output>) {
        while self.sack1_may_send() {
            let Some(seq) = self.sack1_chooses() else { return };
            self.send(now, seq, out);
            self.next = self.next.max(seq + 1);
            if let Some(board) = &mut self.board {
                board.sack1.pipe += 1;
            }
        }
    }

    /// What to send next: what is missing, else what follows.
    fn sack1_chooses(&mut self) -> Option<u32> {
        let board = self.board.as_mut()?;
        if let Some(seq) = board.next_missing() {
            // Also outside of a recovery, when a burst that waited goes out; but only with an older
            // loss on record.
            return (self.recover > 1).then(|| {
                board.sent_again();
                seq
            });
        }
        let window =
            if board.sack1.recovering { self.window.most() } else { self.window.segments() };
        (self.next - self.una < window && self.next < self.end).then_some(self.next)
    }
}
