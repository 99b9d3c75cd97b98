//! When what the window allows leaves: with the acknowledgement, after a random delay, or paced,
//! that is on a schedule of the congestion control's, a few segments at a time.
use tidegate::{Span, Time};

use super::Tcp;
use super::rules::{PacingCredit, RuleSet};

/// The departures of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departures {
    pub schedule: Schedule,
    /// When to send the burst that waits; [`Time::MAX`] for none.
    pub send_at: Time,
    /// Nothing that is paced leaves before.
    pub free: Time,
}

/// When segments leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Schedule {
    /// At once.
    AtOnce,
    /// After a time uniform on [0, this).
    Scattered(Span),
    /// At the pace of the congestion control.
    Paced(PacingCredit),
}

impl Departures {
    pub fn new(tcp: &Tcp, rules: &RuleSet) -> Departures {
        let schedule = match tcp.overhead {
            _ if tcp.congestion.needs().paces_as.is_some() => Schedule::Paced(rules.pacing_credit),
            Span::ZERO => Schedule::AtOnce,
            overhead => Schedule::Scattered(overhead),
        };
        Departures { schedule, send_at: Time::MAX, free: Time::ZERO }
    }

    /// Whether segments leave by the pace of the congestion control.
    #[inline]
    pub fn are_paced(&self) -> bool {
        matches!(self.schedule, Schedule::Paced(_))
    }
}
