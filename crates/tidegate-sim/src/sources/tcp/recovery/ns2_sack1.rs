//! ns-2.35's Sack1, where its rules hold in place of RFC 6675's.
//!
//! In recovery what is under way is counted, not worked out: every acknowledgement takes one off, a
//! partial one two, every segment sent puts one on. Whatever is missing below a segment that the
//! receiver holds is sent again, however few it holds beyond. After a timeout all its reports
//! are forgotten and everything is sent again. Its duplicates do not count before new data are
//! acknowledged.
use tidegate::Time;

use super::scoreboard::Scoreboard;
use super::{Burst, DUPLICATES, LossRecovery, RecoveryAck};
use crate::sources::tcp::LimitedTransmit;
use crate::sources::tcp::connection::{Connection, Output, Phase};
use crate::sources::tcp::rules::RuleSet;

/// What one connection keeps and goes by.
#[derive(Clone, Debug)]
pub(in super::super) struct Sack1 {
    board: Scoreboard,
    stage: Stage,
    duplicates: u32,
    limited_transmit: LimitedTransmit,
}

/// What it makes of acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Duplicates count.
    Open,
    /// A recovery is under way, with so many segments taken to be in flight, of either sign.
    Recovery { pipe: i32 },
    /// The timer has expired: duplicates say nothing before new data are acknowledged.
    Deaf,
}

impl Sack1 {
    pub fn new(rules: &RuleSet) -> Sack1 {
        let limited_transmit = rules.limited_transmit;
        Sack1 { board: Scoreboard::default(), stage: Stage::Open, duplicates: 0, limited_transmit }
    }

    /// All reports of the receiver are forgotten; everything below `una` is acknowledged.
    fn forget(&mut self, una: u32, stage: Stage) {
        self.board.forget(una);
        self.stage = stage;
    }

    /// The timer has expired: everything is sent again.
    fn restart(&mut self, connection: &mut Connection) {
        self.duplicates = 0;
        connection.next = connection.una;
        self.forget(connection.una, Stage::Deaf);
    }

    /// The receiver holds more than it did.
    fn duplicate(&mut self, connection: &mut Connection, now: Time, out: &mut Vec<Output>) {
        self.duplicates += 1;
        if self.duplicates == DUPLICATES {
            self.begin(connection, now, out);
        } else if self.duplicates < DUPLICATES && self.limited_transmit == LimitedTransmit::On {
            connection.limited_transmit(now, self.duplicates, out);
        }
    }

    /// A recovery begins, unless the loss is of a window already answered for.
    fn begin(&mut self, connection: &mut Connection, now: Time, out: &mut Vec<Output>) {
        let una = connection.una;
        if una > connection.recover || una == connection.opening.first_data() {
            // The congestion window is halved, whatever is in flight.
            connection.cut(now, 0);
            connection.recover = connection.max;
        } else if connection.phase != Phase::Marked {
            return; // a mark has halved the window; a loss then is only repaired
        }
        connection.enter_recovery(now);
        // What has been retransmitted does not count.
        let pipe = (connection.max - una) as i32 - DUPLICATES as i32;
        self.stage = Stage::Recovery { pipe };
        self.board.first_sent_again();
        connection.send(now, una, out);
    }

    /// An acknowledgement in recovery, with so many segments in flight before it.
    fn recover(&mut self, connection: &mut Connection, pipe: i32, ack: &RecoveryAck) {
        let (now, upto) = (ack.now, ack.report.ack);
        if upto >= connection.recover {
            connection.accept(now, upto, ack.echo); // which opens no window
            self.duplicates = 0;
            connection.recover = 1; // any loss begins a recovery
            return self.forget(connection.una, Stage::Open);
        }
        let partial = upto > connection.una;
        self.stage = Stage::Recovery { pipe: pipe - if partial { 2 } else { 1 } };
        self.board.update(ack.report);
        if partial {
            connection.una = upto;
            connection.next = connection.next.max(upto);
            connection.set_timer(now);
            connection.rto.end_back_off();
        }
    }

    /// What to send next: what is missing, else what follows.
    fn choose(&mut self, connection: &Connection) -> Option<u32> {
        if let Some(seq) = self.board.next_missing() {
            // Also outside of a recovery, when a burst that waited goes out; but only with an older
            // loss on record.
            return (connection.recover > 1).then(|| {
                self.board.sent_again();
                seq
            });
        }
        let window = match self.stage {
            Stage::Recovery { .. } => connection.window.most(),
            Stage::Open | Stage::Deaf => connection.window.segments(),
        };
        let next = connection.next;
        (next - connection.una < window && next < connection.end).then_some(next)
    }
}

impl LossRecovery for Sack1 {
    fn on_ack(
        &mut self,
        connection: &mut Connection,
        ack: &RecoveryAck,
        out: &mut Vec<Output>,
    ) -> Burst {
        if let Stage::Recovery { pipe } = self.stage {
            self.recover(connection, pipe, ack);
            return Burst::WINDOW;
        }
        let upto = ack.report.ack;
        if upto > connection.una {
            connection.advance(ack.now, upto, ack.echo);
            self.duplicates = 0;
            self.forget(connection.una, Stage::Open);
        } else if upto == connection.una
            && connection.una < connection.end
            && self.stage != Stage::Deaf
            && self.board.update(ack.report) > 0
        {
            self.duplicate(connection, ack.now, out);
        }
        // Duplicates that begin no recovery, as of a loss below an older one, hold everything up
        // until new data are acknowledged or the timer expires.
        if self.duplicates == 0 { Burst::WINDOW } else { Burst::NOTHING }
    }

    fn on_rto(&mut self, connection: &mut Connection, _: Time) {
        self.restart(connection);
    }

    fn on_reopen(&mut self, connection: &mut Connection) {
        self.restart(connection);
    }

    fn flight(&self, connection: &Connection) -> u32 {
        self.board.pipe(connection.max)
    }

    /// In recovery its own count is held against the window.
    fn has_room(&self, connection: &Connection) -> bool {
        match self.stage {
            Stage::Recovery { pipe } => pipe < connection.window.cwnd as i32,
            Stage::Open | Stage::Deaf => {
                connection.next - connection.una < connection.window.segments()
            }
        }
    }

    fn may_send(&self, connection: &Connection) -> bool {
        self.has_room(connection) && connection.una < connection.end
    }

    fn send_next(&mut self, connection: &mut Connection, now: Time, out: &mut Vec<Output>) -> bool {
        if !self.may_send(connection) {
            return false;
        }
        let Some(seq) = self.choose(connection) else { return false };
        connection.send(now, seq, out);
        connection.next = connection.next.max(seq + 1);
        if let Stage::Recovery { pipe } = &mut self.stage {
            *pipe += 1;
        }
        true
    }
}
