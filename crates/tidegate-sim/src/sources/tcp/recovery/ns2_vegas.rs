//! ns-2.35's Vegas, where its rules hold in place of the RFCs'.
//!
//! It consults a fine timeout at every duplicate, and takes for overdue also what has not been
//! sent. Duplicates widen the window whether or not a recovery is under way. The window falls back
//! to what the last cut has left only after more than three of them. A timeout forgets that figure,
//! so that such a recovery closes the window until the timer expires again.
use tidegate::Time;

use super::{Burst, DUPLICATES, LossRecovery, RecoveryAck};
use crate::sources::tcp::congestion::Found;
use crate::sources::tcp::connection::{Connection, Output, Phase};

/// What one connection keeps.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Ns2Vegas {
    duplicates: u32,
}

impl Ns2Vegas {
    fn duplicate(&mut self, connection: &mut Connection, now: Time, out: &mut Vec<Output>) {
        self.duplicates += 1;
        let una = connection.una;
        let outstanding = una < connection.max;
        let overdue = !outstanding || connection.window.is_overdue(una, now);
        if !overdue && self.duplicates != DUPLICATES {
            if self.duplicates > DUPLICATES {
                connection.window.cwnd += 1.0;
            }
            return;
        }
        if connection.phase == Phase::Timeout && una <= connection.recover {
            return; // of the window that the timeout sends again
        }
        connection.phase = Phase::Recovery;
        connection.recover = connection.max;
        connection.marks.reduced = true;
        let found = Found { now, una, flight: connection.next - una };
        let times = connection.window.on_vegas_loss(found, outstanding, self.duplicates);
        connection.rto.back_off();
        connection.restart_timer(now);
        connection.send(now, una, out);
        if times == 1 {
            self.duplicates = DUPLICATES;
        }
    }
}

impl LossRecovery for Ns2Vegas {
    const TIMES_OUT_IDLE: bool = true;

    fn on_ack(
        &mut self,
        connection: &mut Connection,
        ack: &RecoveryAck,
        out: &mut Vec<Output>,
    ) -> Burst {
        let (now, upto) = (ack.now, ack.report.ack);
        if upto > connection.una {
            if self.duplicates > DUPLICATES {
                connection.window.settle_vegas();
            }
            connection.advance(now, upto, ack.echo);
            self.duplicates = 0;
            let una = connection.una;
            if una < connection.end
                && connection.window.sees_another_hole(una, una < connection.max, now)
            {
                self.duplicates = DUPLICATES;
                connection.send(now, una, out);
            }
        } else if upto == connection.una && connection.una < connection.end {
            self.duplicate(connection, now, out);
        }
        match self.duplicates {
            0 | DUPLICATES.. => Burst::WINDOW,
            _ => Burst::NOTHING,
        }
    }

    /// Everything from the first hole on is sent again, as the window allows.
    fn on_rto(&mut self, connection: &mut Connection, _: Time) {
        self.duplicates = 0;
        connection.next = connection.una;
    }

    fn flight(&self, connection: &Connection) -> u32 {
        connection.next - connection.una
    }

    fn may_send(&self, connection: &Connection) -> bool {
        self.has_room(connection) && connection.next < connection.end
    }

    fn send_next(&mut self, connection: &mut Connection, now: Time, out: &mut Vec<Output>) -> bool {
        let may = self.may_send(connection);
        if may {
            connection.send(now, connection.next, out);
            connection.next += 1;
        }
        may
    }
}
