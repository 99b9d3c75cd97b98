//! What Linux's sender does beyond RACK-TLP.
//!
//! A mark lowers the window in proportion, as a loss does. After a timeout a repair that is lost
//! again is a loss like any other. A timeout is doubted once (F-RTO, RFC 5682, as far as that lets
//! new data out). What opens the window is what has arrived.
//!
//! Its states in our terms: CWR is [`Rack::is_marked`], Recovery [`Phase::Recovery`], Loss a
//! [`Phase::Timeout`] until what was sent before it is acknowledged.
use tidegate::Time;

use super::prr::Reduction;
use super::{Doubt, Rack};
use crate::sources::tcp::congestion::{Acked, Found, Repair};
use crate::sources::tcp::connection::{Connection, Phase};
use crate::sources::tcp::recovery::LossRecovery;
use crate::sources::tcp::rules::RackStates;

impl Rack {
    #[inline]
    pub(super) fn is_linux(&self) -> bool {
        self.states == RackStates::Linux
    }

    /// Whether the window is on its way down for a mark; that ends with data sent after it.
    pub(super) fn is_marked(&self, connection: &Connection) -> bool {
        self.is_linux() && connection.phase == Phase::Marked && connection.una <= connection.recover
    }

    /// An acknowledgement up to `ack` echoes a mark. A reduction that is under way, and after a
    /// timeout what is repaired, answers for it too.
    pub(super) fn reduce_for_mark(&mut self, connection: &mut Connection, now: Time, ack: u32) {
        let repairs = connection.repairs() != Repair::Nothing && ack < connection.recover;
        if repairs || self.is_marked(connection) && ack <= connection.recover {
            return;
        }
        self.end_reduction(connection);
        let prior = connection.window.cwnd.min(connection.window.most() as f64);
        let found = Found { now, una: connection.una, flight: self.flight(connection) };
        connection.window.on_ecn(found);
        connection.window.cwnd = prior;
        self.reduction = Reduction::begin(prior);
        connection.recover = connection.max;
        connection.phase = Phase::Marked;
        connection.marks.reduced = true;
    }

    /// A reduction has come to its end.
    fn end_reduction(&self, connection: &mut Connection) {
        if connection.phase == Phase::Recovery || self.is_marked(connection) {
            connection.window.on_recovered();
            connection.phase = Phase::Recovered;
        }
    }

    /// New data are acknowledged up to `ack`, outside of a recovery or to its end; `news` segments
    /// have arrived that were not known to have. Returns what then opens the window, if nothing is
    /// found lost. That is two segments for an acknowledgement at most. Linux has no such bound,
    /// which matters where acknowledgements are lost.
    pub(super) fn advance_delivered(
        &self,
        connection: &mut Connection,
        now: Time,
        ack: u32,
        news: u32,
    ) -> Option<Acked> {
        if !self.is_marked(connection) || ack > connection.recover {
            self.end_reduction(connection);
        }
        let opens = connection.opening.ends_at(connection.una);
        let acked = Acked { segments: news, ..connection.accept(now, ack, false) };
        if opens {
            connection.open(&acked);
            return None;
        }
        Some(acked)
    }

    /// The window opens, unless it is on its way down.
    pub(super) fn grow_unless_reducing(&self, connection: &mut Connection, acked: &Acked) {
        if connection.phase != Phase::Recovery && !self.is_marked(connection) {
            connection.window.on_ack(acked);
        }
    }

    /// After a timeout a repair has been lost: whether that begins a recovery.
    pub(super) fn begins_anew(&self, connection: &Connection) -> bool {
        self.is_linux() && connection.phase == Phase::Timeout
    }

    /// The timer has expired: whether that is doubted.
    pub(super) fn doubt_timeout(&mut self, connection: &Connection) {
        let repairing = matches!(connection.phase, Phase::Recovery | Phase::Timeout)
            && connection.una < connection.recover;
        let again = connection.timed_out == Some(connection.una);
        let doubted = self.is_linux() && (!repairing || again);
        self.doubt = if doubted { Doubt::Doubted } else { Doubt::None };
    }

    /// An acknowledgement has come, which has `advanced` or not. The first that does after a
    /// doubted timeout, and does not end what the timeout began, lets new data out in place of
    /// repairs.
    pub(super) fn try_new_data(&mut self, connection: &Connection, advanced: bool) {
        let first = connection.phase == Phase::Timeout
            && connection.una < connection.recover
            && connection.max == connection.recover;
        self.doubt = match self.doubt {
            Doubt::Doubted if !advanced => Doubt::Doubted,
            Doubt::Doubted if first => Doubt::Trying,
            _ => Doubt::None,
        };
    }
}
