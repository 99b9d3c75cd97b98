//! Fast retransmit and fast recovery: three duplicate acknowledgements are a loss. Reno (RFC 5681)
//! and NewReno (RFC 6582).
use tidegate::Time;

use super::{Burst, DUPLICATES, LossRecovery, RecoveryAck};
use crate::sources::tcp::connection::{Connection, Output, Phase};
use crate::sources::tcp::rules::{IdleDuplicates, PartialAck, RecoveryEntry, RuleSet};
use crate::sources::tcp::{Flavor, LimitedTransmit};

/// What one connection keeps and goes by.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct DuplicateAcks {
    duplicates: u32,
    /// A partial acknowledgement has come in this recovery.
    partial: bool,
    flavor: Flavor,
    entry: RecoveryEntry,
    partial_ack: PartialAck,
    idle_duplicates: IdleDuplicates,
    limited_transmit: LimitedTransmit,
    /// How many segments an acknowledgement lets out in recovery.
    burst: Burst,
}

impl DuplicateAcks {
    pub fn new(flavor: Flavor, rules: &RuleSet) -> DuplicateAcks {
        DuplicateAcks {
            duplicates: 0,
            partial: false,
            flavor,
            entry: rules.entry,
            partial_ack: rules.partial_ack,
            idle_duplicates: rules.idle_duplicates,
            limited_transmit: rules.limited_transmit,
            burst: rules.recovery_burst.map_or(Burst::WINDOW, Burst),
        }
    }

    /// New data are acknowledged, and a recovery is over or there was none.
    #[inline(always)]
    fn advance(&mut self, connection: &mut Connection, ack: &RecoveryAck, out: &mut Vec<Output>) {
        connection.advance(ack.now, ack.report.ack, ack.echo);
        (self.partial, self.duplicates) = (false, 0);
        // The next hole, if a finer timeout shows one (brakmo1995 §3.1).
        let una = connection.una;
        if una < connection.max && connection.window.sees_another_hole(una, true, ack.now) {
            self.duplicates = DUPLICATES;
            connection.phase = Phase::Recovery;
            connection.send(ack.now, una, out);
        }
    }

    /// A partial acknowledgement: the next hole goes out at once, and recovery goes on (RFC 6582
    /// §3.2 step 5).
    fn partial(&mut self, connection: &mut Connection, ack: &RecoveryAck, out: &mut Vec<Output>) {
        let (now, ack) = (ack.now, ack.report.ack);
        connection.rto.acked_in_part(&connection.answer(now, ack));
        if !self.partial || self.partial_ack == PartialAck::EachRestartsTimer {
            self.partial = true;
            connection.set_timer(now);
        }
        connection.window.deflate(ack - connection.una);
        connection.una = ack;
        connection.next = connection.next.max(ack);
        connection.send(now, ack, out);
    }

    /// Whether an acknowledgement that acknowledges nothing new is a duplicate.
    fn counts(&self, connection: &Connection) -> bool {
        let idle = self.idle_duplicates == IdleDuplicates::Counted;
        connection.max > connection.una || idle && connection.una < connection.end
    }

    fn duplicate(&mut self, connection: &mut Connection, now: Time, out: &mut Vec<Output>) {
        self.duplicates += 1;
        let una = connection.una;
        if self.duplicates == DUPLICATES
            || una < connection.max && connection.window.is_overdue(una, now)
        {
            self.third_duplicate(connection, now, out);
        } else if self.duplicates > DUPLICATES {
            if connection.phase == Phase::Recovery {
                connection.window.inflation += 1;
            }
        } else if self.limited_transmit == LimitedTransmit::On {
            connection.limited_transmit(now, self.duplicates, out);
        }
    }

    /// Fast retransmit, unless the loss is of a window already cut. A finer timeout may have it
    /// come before the third.
    fn third_duplicate(&mut self, connection: &mut Connection, now: Time, out: &mut Vec<Output>) {
        if self.is_only_repaired(connection) {
            // A mark has halved the window for this round trip.
        } else if self.begins(connection) {
            connection.cut(now, connection.next - connection.una);
            connection.recover = connection.max;
        } else {
            return;
        }
        connection.window.inflation = self.duplicates;
        self.duplicates = self.duplicates.max(DUPLICATES);
        connection.enter_recovery(now);
        connection.send(now, connection.una, out);
    }

    fn is_only_repaired(&self, connection: &Connection) -> bool {
        connection.phase == Phase::Marked
            && connection.una <= connection.recover
            && self.entry != RecoveryEntry::UnlessTimeout
    }

    /// Whether three duplicates begin a recovery now.
    fn begins(&self, connection: &Connection) -> bool {
        let Connection { una, recover, phase, .. } = *connection;
        una > recover
            || match self.entry {
                RecoveryEntry::OncePerWindow => recover == 0,
                RecoveryEntry::EveryTime => true,
                RecoveryEntry::OncePerWindowOrFirst => una == connection.opening.first_data(),
                RecoveryEntry::UnlessTimeout => phase != Phase::Timeout,
            }
    }
}

impl LossRecovery for DuplicateAcks {
    #[inline(always)]
    fn on_ack(
        &mut self,
        connection: &mut Connection,
        ack: &RecoveryAck,
        out: &mut Vec<Output>,
    ) -> Burst {
        let upto = ack.report.ack;
        if upto > connection.una {
            if self.flavor == Flavor::NewReno && connection.is_partial(upto) {
                self.partial(connection, ack, out);
            } else {
                self.advance(connection, ack, out);
            }
        } else if upto == connection.una && self.counts(connection) {
            self.duplicate(connection, ack.now, out);
        }
        match self.duplicates {
            0 => Burst::WINDOW,
            DUPLICATES.. => self.burst,
            _ => Burst::NOTHING,
        }
    }

    /// Everything from the first hole on is sent again, as the window allows.
    fn on_rto(&mut self, connection: &mut Connection, _: Time) {
        self.duplicates = 0;
        connection.next = connection.una;
    }

    fn on_reopen(&mut self, _: &mut Connection) {
        self.duplicates = 0;
    }

    #[inline]
    fn flight(&self, connection: &Connection) -> u32 {
        connection.next - connection.una
    }

    #[inline]
    fn may_send(&self, connection: &Connection) -> bool {
        self.has_room(connection) && connection.next < connection.end
    }

    #[inline(always)]
    fn send_next(&mut self, connection: &mut Connection, now: Time, out: &mut Vec<Output>) -> bool {
        if !self.may_send(connection) {
            return false;
        }
        connection.send(now, connection.next, out);
        connection.next += 1;
        true
    }
}
