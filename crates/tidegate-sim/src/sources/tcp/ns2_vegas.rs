//! The sender of ns-2.35's Vegas, where its rules hold in place of the RFCs'.
//!
//! Its fine timeout is asked at every duplicate, and takes for overdue also what has not been sent.
//! Duplicates widen the window whether or not a recovery is under way. The window falls back to
//! what the last cut has left only after more than three of them; a timeout forgets that figure, so
//! that such a recovery closes the window until the timer runs out again.
use tidegate::{Rng, Time};

use super::congestion::Found;
use super::sender::{DUPLICATES, Last, Output, TcpSender};

impl TcpSender {
    /// An acknowledgement comes, as in [`TcpSender::acknowledged`].
    pub(super) fn ns2_vegas(
        &mut self,
        now: Time,
        ack: u32,
        echo: bool,
        dice: &mut Rng,
        out: &mut Vec<Output>,
    ) {
        let echo = self.heard(now, ack, echo);
        if ack > self.una {
            if self.duplicates > DUPLICATES {
                self.window.settle_vegas();
            }
            self.advance(now, ack, echo);
            if self.una < self.end
                && self.window.sees_another_hole(self.una, self.una < self.max, now)
            {
                self.duplicates = DUPLICATES;
                self.send(now, self.una, out);
            }
        } else if ack == self.una && self.una < self.end {
            self.ns2_vegas_duplicate(now, out);
        }
        if self.duplicates == 0 || self.duplicates >= DUPLICATES {
            self.fill(now, u32::MAX, dice, out);
        }
    }

    fn ns2_vegas_duplicate(&mut self, now: Time, out: &mut Vec<Output>) {
        self.duplicates += 1;
        let outstanding = self.una < self.max;
        let overdue = !outstanding || self.window.is_overdue(self.una, now);
        if !overdue && self.duplicates != DUPLICATES {
            if self.duplicates > DUPLICATES {
                self.window.cwnd += 1.0;
            }
            return;
        }
        if self.last == Last::Timeout && self.una <= self.recover {
            return; // of the window that the timeout sends again
        }
        self.last = Last::Duplicates;
        self.recover = self.max;
        self.reduced = true;
        let found = Found { now, una: self.una, flight: self.next - self.una };
        let times = self.window.on_vegas_loss(found, outstanding, self.duplicates);
        self.rto.back_off();
        self.rto.abandon();
        self.set_timer(now);
        self.send(now, self.una, out);
        if times == 1 {
            self.duplicates = DUPLICATES;
        }
    }
}
