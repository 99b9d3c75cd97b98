//! Loss recovery: what an acknowledgement says is lost, and what is sent again.
//!
//! Each recovery is a file that implements [`LossRecovery`], and an arm of [`Recovery`]. It owns
//! what it knows of the segments under way; all else of the sending end is the [`Connection`] that
//! it is handed.
use tidegate::Time;

use super::connection::{Connection, Output};
use super::report::Report;
use super::rules::{RuleSet, SackRecovery};
use super::{Flavor, Tcp};

#[cfg(test)]
mod bench;
mod duplicate_acks;
mod ns2_sack1;
mod ns2_vegas;
mod rack;
mod sack;
mod scoreboard;

use duplicate_acks::DuplicateAcks;
use ns2_sack1::Sack1;
use ns2_vegas::Ns2Vegas;
use rack::Rack;
use sack::Sack;

/// How many duplicates make a loss (RFC 5681 §3.2).
const DUPLICATES: u32 = 3;

/// How many segments may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Burst(pub u32);

impl Burst {
    /// None.
    pub const NOTHING: Burst = Burst(0);
    /// As many as the window allows.
    pub const WINDOW: Burst = Burst(u32::MAX);
}

/// An acknowledgement that a recovery takes in.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecoveryAck<'a> {
    pub now: Time,
    pub report: &'a Report,
    /// It echoes a mark, which has been answered.
    pub echo: bool,
}

/// What came of an alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AlarmOutcome {
    /// It is dealt with.
    Done,
    /// Segments may leave now.
    Fill,
}

/// How a connection finds and repairs losses.
pub(super) trait LossRecovery {
    /// Whether the retransmission timer means a loss even with nothing in flight.
    const TIMES_OUT_IDLE: bool = false;

    /// An acknowledgement comes; marks and the congestion control's own counts have been dealt
    /// with. How many segments it lets out.
    fn on_ack(
        &mut self,
        connection: &mut Connection,
        ack: &RecoveryAck,
        out: &mut Vec<Output>,
    ) -> Burst;

    /// What an acknowledgement let out has left; it was of new data if it `advanced`.
    #[inline]
    fn after_ack(&mut self, _: &mut Connection, _now: Time, _advanced: bool) {}

    /// An acknowledgement up to `ack` echoes a mark.
    fn on_ecn(&mut self, connection: &mut Connection, now: Time, ack: u32) {
        connection.on_mark(now, ack, self.flight(connection));
    }

    /// The retransmission timer expires, and nothing has been done about it.
    fn before_rto(&mut self, _: &Connection) {}

    /// It has expired, and the window is cut: what counts as lost.
    fn on_rto(&mut self, connection: &mut Connection, now: Time);

    /// It has expired with nothing in flight, and the window is open again.
    fn on_reopen(&mut self, _: &mut Connection) {}

    /// How many segments are under way.
    fn flight(&self, connection: &Connection) -> u32;

    /// How many segments have been found lost, in all, for a congestion control with a model.
    fn found_lost(&self) -> u32 {
        0
    }

    /// Whether what is under way leaves room in the window.
    fn has_room(&self, connection: &Connection) -> bool {
        self.flight(connection) < connection.window.segments()
    }

    /// Whether there is something to send that the window allows.
    fn may_send(&self, connection: &Connection) -> bool;

    /// Sends the next segment that the window allows, new or again. Whether there was one.
    fn send_next(&mut self, connection: &mut Connection, now: Time, out: &mut Vec<Output>) -> bool;

    /// When to look for losses or to probe without an acknowledgement; [`Time::MAX`] for never.
    #[inline]
    fn alarm_at(&self) -> Time {
        Time::MAX
    }

    /// Such a time has come.
    fn on_alarm(&mut self, _: &mut Connection, _now: Time, _: &mut Vec<Output>) -> AlarmOutcome {
        AlarmOutcome::Done
    }
}

/// The recovery of one connection. What duplicates have no need of stands elsewhere, so that such
/// connections stay small.
#[derive(Clone, Debug)]
pub(super) enum Recovery {
    /// Three duplicates: Reno (RFC 5681) and NewReno (RFC 6582).
    DuplicateAcks(DuplicateAcks),
    /// Selective acknowledgements (RFC 6675).
    Sack(Box<Sack>),
    /// Time (RFC 8985).
    Rack(Box<Rack>),
    /// Selective acknowledgements, as ns-2's Sack1 reads them.
    Sack1(Box<Sack1>),
    /// Duplicates and a fine timeout, as in ns-2's Vegas.
    Ns2Vegas(Ns2Vegas),
}

impl Recovery {
    /// That of a connection like `tcp`.
    pub fn new(tcp: &Tcp, rules: &RuleSet) -> Recovery {
        match (tcp.flavor, rules.sack) {
            _ if tcp.is_ns2_vegas() => Recovery::Ns2Vegas(Ns2Vegas::default()),
            (Flavor::Reno | Flavor::NewReno, _) => {
                Recovery::DuplicateAcks(DuplicateAcks::new(tcp.flavor, rules))
            }
            (Flavor::Sack, SackRecovery::Rfc) => Recovery::Sack(Box::new(Sack::new(rules))),
            (Flavor::Sack, SackRecovery::Sack1) => Recovery::Sack1(Box::new(Sack1::new(rules))),
            (Flavor::Rack, _) => Recovery::Rack(Box::new(Rack::new(rules))),
        }
    }

    /// When to look for losses or to probe without an acknowledgement; [`Time::MAX`] for never.
    #[inline]
    pub fn alarm_at(&self) -> Time {
        match self {
            Recovery::DuplicateAcks(recovery) => recovery.alarm_at(),
            Recovery::Sack(recovery) => recovery.alarm_at(),
            Recovery::Rack(recovery) => recovery.alarm_at(),
            Recovery::Sack1(recovery) => recovery.alarm_at(),
            Recovery::Ns2Vegas(recovery) => recovery.alarm_at(),
        }
    }
}

/// Does the same with whichever recovery it is, statically known in each arm.
macro_rules! with_recovery {
    ($recovery:expr, $name:ident => $call:expr) => {
        match $recovery {
            Recovery::DuplicateAcks($name) => $call,
            Recovery::Sack($name) => {
                let $name = &mut **$name;
                $call
            }
            Recovery::Rack($name) => {
                let $name = &mut **$name;
                $call
            }
            Recovery::Sack1($name) => {
                let $name = &mut **$name;
                $call
            }
            Recovery::Ns2Vegas($name) => $call,
        }
    };
}
pub(super) use with_recovery;
