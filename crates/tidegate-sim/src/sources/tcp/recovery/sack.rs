//! Recovery with selective acknowledgements (RFC 6675).
//!
//! In recovery as much is sent as the window exceeds what is under way, lost segments first. After
//! a timeout everything that the receiver does not hold counts as lost and is sent again in slow
//! start; what it holds is not.
use tidegate::Time;

use super::scoreboard::Scoreboard;
use super::{Burst, LossRecovery, RecoveryAck};
use crate::sources::tcp::LimitedTransmit;
use crate::sources::tcp::congestion::Repair;
use crate::sources::tcp::connection::{Connection, Output, Phase};
use crate::sources::tcp::rules::RuleSet;

/// What one connection keeps and goes by.
#[derive(Clone, Debug)]
pub(in super::super) struct Sack {
    board: Scoreboard,
    /// How many segments limited transmit has let out since the last new acknowledgement.
    limited: u32,
    limited_transmit: LimitedTransmit,
}

impl Sack {
    pub fn new(rules: &RuleSet) -> Sack {
        let limited_transmit = rules.limited_transmit;
        Sack { board: Scoreboard::default(), limited: 0, limited_transmit }
    }

    /// Takes in what an acknowledgement says.
    #[inline]
    fn update(&mut self, connection: &mut Connection, ack: &RecoveryAck) {
        match &mut connection.deliveries {
            None => self.board.update(ack.report),
            Some(deliveries) => {
                let arrived = |seq| deliveries.arrived(ack.now, seq);
                self.board.update_telling(ack.report, arrived)
            }
        };
    }

    /// Begins a recovery if there is a loss of a window not yet answered for (RFC 6675 §5 steps 2
    /// and 4, §5.1).
    fn look_for_loss(&mut self, connection: &mut Connection, now: Time, out: &mut Vec<Output>) {
        let una = connection.una;
        // A mark has cut the window for this round trip; the loss is only repaired.
        let cut = connection.phase == Phase::Marked && una < connection.recover;
        let old = una < connection.recover && !cut;
        if !self.board.sees_loss() || connection.phase == Phase::Recovery || old {
            return;
        }
        self.board.begin();
        // What is paced lets the first repair wait for its turn too.
        let at_once = !connection.departures.are_paced();
        if at_once {
            self.board.sent_again();
        }
        if !cut {
            // What limited transmit has let out does not count (RFC 5681 §3.2 step 2), nor what was
            // sent past an older hole: the loss is held against no more than the window.
            let flight = connection.max - una - self.limited;
            connection.cut(now, flight.min(connection.window.segments()));
        }
        connection.recover = connection.max;
        connection.enter_recovery(now);
        if at_once {
            connection.send(now, una, out);
        }
    }

    /// What to send next (RFC 6675 §4, NextSeg): what is lost, else new data, else what may be
    /// lost, else once the last of all.
    fn choose(&mut self, connection: &Connection) -> Option<u32> {
        let repairing = connection.repairs() != Repair::Nothing;
        let beyond = connection.max - connection.una >= connection.window.segments();
        // What is lost of the data sent since a timeout waits for a recovery of its own.
        let timeout = connection.phase == Phase::Timeout;
        let limit = if timeout { connection.recover } else { connection.max };
        if repairing && let Some(seq) = self.board.next_lost(limit) {
            self.board.sent_again();
            return Some(seq);
        }
        if connection.has_fresh() {
            self.limited += (!repairing && beyond) as u32;
            return Some(connection.max);
        }
        if connection.phase != Phase::Recovery {
            return None;
        }
        if let Some(seq) = self.board.next_missing() {
            self.board.sent_again();
            return Some(seq);
        }
        self.board.rescue(connection.max)
    }
}

impl LossRecovery for Sack {
    #[inline]
    fn on_ack(
        &mut self,
        connection: &mut Connection,
        ack: &RecoveryAck,
        out: &mut Vec<Output>,
    ) -> Burst {
        let upto = ack.report.ack;
        self.update(connection, ack);
        if upto > connection.una {
            self.limited = 0;
            if connection.is_partial(upto) {
                connection.accept_in_part(ack.now, upto);
            } else {
                connection.advance(ack.now, upto, ack.echo);
            }
        }
        self.look_for_loss(connection, ack.now, out);
        Burst::WINDOW
    }

    fn on_rto(&mut self, connection: &mut Connection, _: Time) {
        self.board.lose_all(connection.max);
    }

    #[inline]
    fn flight(&self, connection: &Connection) -> u32 {
        self.board.pipe(connection.max)
    }

    fn found_lost(&self) -> u32 {
        self.board.found_lost
    }

    #[inline]
    fn has_room(&self, connection: &Connection) -> bool {
        let waits = self.limited_transmit == LimitedTransmit::Off
            && connection.repairs() == Repair::Nothing
            && self.board.held() > 0;
        let all = connection.max - connection.una;
        let flight = if waits { all } else { self.flight(connection) };
        flight < connection.window.segments()
    }

    fn may_send(&self, connection: &Connection) -> bool {
        let repairs = connection.repairs() != Repair::Nothing;
        self.has_room(connection)
            && (connection.has_fresh() || repairs && connection.una < connection.max)
    }

    #[inline]
    fn send_next(&mut self, connection: &mut Connection, now: Time, out: &mut Vec<Output>) -> bool {
        if !self.has_room(connection) {
            return false;
        }
        let Some(seq) = self.choose(connection) else { return false };
        connection.send(now, seq, out);
        connection.next = connection.max;
        true
    }
}

#[cfg(test)]
#[path = "sack_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "sack_twin.rs"]
mod twin;
