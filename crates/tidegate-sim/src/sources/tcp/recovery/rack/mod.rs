//! Recovery by RACK-TLP (RFC 8985), as in Linux.
//!
//! Losses are found by time, and probes go out where no acknowledgement comes. The window falls by
//! proportional rate reduction (RFC 9937).
use tidegate::{Span, Time};

use super::{AlarmOutcome, Burst, LossRecovery, RecoveryAck};
use crate::sources::tcp::congestion::Repair;
use crate::sources::tcp::connection::{Connection, Output, Phase};
use crate::sources::tcp::rules::{RackStates, RuleSet};

mod linux;
mod prr;
mod segments;

use prr::{AckProgress, Reduction};
use segments::Segments;

/// How long a receiver may hold an acknowledgement at worst. A probe of a single segment comes so
/// much later (RFC 8985 §7.2, TLP.max_ack_delay).
const WORST_DELAY: Span = Span::from_millis(200);

/// What one connection keeps and goes by.
#[derive(Clone, Debug)]
pub(in super::super) struct Rack {
    segments: Segments,
    /// When to look for losses without an acknowledgement; [`Time::MAX`] for never.
    reorder_at: Time,
    /// When to send a probe; [`Time::MAX`] for never.
    probe_at: Time,
    /// The probe that is under way.
    probe: Option<TailLossProbe>,
    reduction: Reduction,
    doubt: Doubt,
    states: RackStates,
}

/// Whether the last timeout may have been in vain (F-RTO, RFC 5682), as Linux doubts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doubt {
    /// It was not, or that has been tried.
    None,
    /// The first acknowledgement after it lets new data out.
    Doubted,
    /// It has come.
    Trying,
}

/// A tail loss probe (RFC 8985 §7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TailLossProbe {
    /// One past the greatest number sent when it was.
    end: u32,
    /// Whether it repeats a segment.
    again: bool,
}

impl Rack {
    pub fn new(rules: &RuleSet) -> Rack {
        Rack {
            segments: Segments::default(),
            reorder_at: Time::MAX,
            probe_at: Time::MAX,
            probe: None,
            reduction: Reduction::default(),
            doubt: Doubt::None,
            states: rules.rack,
        }
    }

    /// Takes in what an acknowledgement says: how many segments have arrived that were not known to
    /// have.
    #[inline]
    fn update(&mut self, connection: &mut Connection, ack: &RecoveryAck) -> u32 {
        match &mut connection.deliveries {
            None => self.segments.update(ack.now, ack.report),
            Some(deliveries) => {
                let arrived = |seq| deliveries.arrived(ack.now, seq);
                self.segments.update_telling(ack.now, ack.report, arrived)
            }
        }
    }

    /// Looks for losses. The first begins a recovery, whose window then follows what has arrived.
    fn find_losses(&mut self, connection: &mut Connection, now: Time, news: u32, advanced: bool) {
        let repairing = connection.repairs() != Repair::Nothing;
        let again = self.segments.again();
        let (lost, reorder_at) = self.segments.detect(now, repairing);
        self.reorder_at = reorder_at;
        let repairs_lost = self.segments.again() < again;
        let (waits, missing) = (self.segments.has_lost(), self.segments.has_missing());
        // By Linux's rules what the last recovery has sent again, beyond what it was for, is a loss
        // of its own until it has arrived.
        let begins = if repairing {
            waits && repairs_lost && self.begins_anew(connection)
        } else {
            waits || missing && self.is_linux()
        };
        if begins {
            self.begin_recovery(connection, now);
        }
        if (connection.phase == Phase::Recovery || self.is_marked(connection))
            && news > 0
            && connection.window.answers_losses()
        {
            self.reduce(connection, news, lost, advanced);
        }
    }

    /// Sets the window on its way down.
    fn reduce(&mut self, connection: &mut Connection, news: u32, lost: u32, advanced: bool) {
        let progress = AckProgress { news, lost, advanced, pipe: self.segments.pipe() };
        let window = &mut connection.window;
        window.cwnd = self.reduction.window(&progress, window.ssthresh);
    }

    fn begin_recovery(&mut self, connection: &mut Connection, now: Time) {
        // A mark has cut the window for this round trip; the loss is only repaired.
        let marked = self.is_marked(connection);
        let cut =
            marked || connection.phase == Phase::Marked && connection.una < connection.recover;
        let prior = connection.window.cwnd;
        if !cut {
            self.cut(connection, now);
        }
        let goes_on = cut && marked;
        self.probe_at = Time::MAX;
        if connection.window.answers_losses() && !goes_on {
            self.reduction = Reduction::begin(prior);
            self.reduce(connection, 0, 1, false);
        }
        // What is lost beyond what the mark was of is another loss.
        if !goes_on {
            connection.recover = connection.max;
        }
        connection.enter_recovery(now);
    }

    /// A loss cuts the window, of what it let out.
    fn cut(&self, connection: &mut Connection, now: Time) {
        let flight = connection.max - connection.una;
        connection.cut(now, flight.min(connection.window.segments()));
    }

    /// What to send next: what is lost, else new data; after a timeout that is doubted, once new
    /// data first.
    fn choose(&mut self, connection: &Connection) -> Option<u32> {
        let fresh = connection.has_fresh().then_some(connection.max);
        if self.doubt == Doubt::Trying && fresh.is_some() {
            fresh
        } else {
            self.segments.next_lost().or(fresh)
        }
    }

    fn send(&mut self, connection: &mut Connection, now: Time, seq: u32, out: &mut Vec<Output>) {
        self.reduction.sent += 1;
        self.segments.sent(seq, now);
        connection.send(now, seq, out);
        connection.next = connection.max;
    }

    /// Sets the probe's time anew, while nothing is known to be missing and none is under way (RFC
    /// 8985 §7.2).
    fn plan_probe(&mut self, connection: &Connection, now: Time) {
        let Connection { una, max, timeout_at, .. } = *connection;
        let repairing = connection.repairs() != Repair::Nothing;
        let opens = connection.opening.ends_at(una);
        if una == max || opens || repairing || self.probe.is_some() || !self.segments.is_open() {
            self.probe_at = Time::MAX;
            return;
        }
        let srtt = connection.rto.smooth;
        let delay = if srtt == 0 { Span::from_secs(1.0) } else { Span::from_nanos(2 * srtt) };
        let delay = if self.segments.is_single() { delay + WORST_DELAY } else { delay };
        self.probe_at = (now + delay).min(timeout_at);
    }

    /// Sends a segment beyond the window, new if there is one, so that an acknowledgement tells of
    /// what is lost (RFC 8985 §7.3).
    fn send_probe(&mut self, connection: &mut Connection, now: Time, out: &mut Vec<Output>) {
        let again = !connection.has_fresh();
        let seq = if again { connection.max - 1 } else { connection.max };
        self.send(connection, now, seq, out);
        connection.set_timer(now);
        self.probe = Some(TailLossProbe { end: connection.max, again });
    }

    /// Whether `ack` ends the probe. What it has repaired was a loss, and the window answers for it
    /// (RFC 8985 §7.4).
    fn end_probe(
        &mut self,
        connection: &mut Connection,
        ack: &RecoveryAck,
        advanced: bool,
        news: u32,
    ) {
        let Some(TailLossProbe { end, again }) = self.probe else { return };
        let upto = ack.report.ack;
        if upto < end {
            return;
        }
        let lost = again && upto > end;
        if !again || lost || !advanced && news == 0 {
            self.probe = None;
        }
        if lost && connection.repairs() == Repair::Nothing {
            self.cut(connection, ack.now);
            connection.recover = connection.max;
            connection.phase = Phase::Recovered;
        }
    }
}

impl LossRecovery for Rack {
    fn on_ack(
        &mut self,
        connection: &mut Connection,
        ack: &RecoveryAck,
        _: &mut Vec<Output>,
    ) -> Burst {
        let (now, upto) = (ack.now, ack.report.ack);
        let news = self.update(connection, ack);
        let advanced = upto > connection.una;
        let mut opens = None;
        if advanced {
            if connection.is_partial(upto) {
                connection.accept_in_part(now, upto);
            } else if self.is_linux() {
                opens = self.advance_delivered(connection, now, upto, news);
            } else {
                connection.advance(now, upto, ack.echo);
            }
        }
        self.try_new_data(connection, advanced);
        self.end_probe(connection, ack, advanced, news);
        self.find_losses(connection, now, news, advanced);
        if let Some(acked) = opens {
            self.grow_unless_reducing(connection, &acked);
        }
        Burst::WINDOW
    }

    fn after_ack(&mut self, connection: &mut Connection, now: Time, advanced: bool) {
        if advanced {
            self.plan_probe(connection, now);
        }
    }

    fn on_ecn(&mut self, connection: &mut Connection, now: Time, ack: u32) {
        if self.is_linux() {
            self.reduce_for_mark(connection, now, ack);
        } else {
            connection.on_mark(now, ack, self.flight(connection));
        }
    }

    fn before_rto(&mut self, connection: &Connection) {
        self.doubt_timeout(connection);
    }

    fn on_rto(&mut self, connection: &mut Connection, now: Time) {
        self.segments.time_out(now);
        (self.reorder_at, self.probe_at, self.probe) = (Time::MAX, Time::MAX, None);
        connection.window.cwnd += self.segments.pipe() as f64;
    }

    #[inline]
    fn flight(&self, _: &Connection) -> u32 {
        self.segments.pipe()
    }

    fn found_lost(&self) -> u32 {
        self.segments.found_lost
    }

    fn may_send(&self, connection: &Connection) -> bool {
        self.has_room(connection) && (connection.has_fresh() || self.segments.has_lost())
    }

    fn send_next(&mut self, connection: &mut Connection, now: Time, out: &mut Vec<Output>) -> bool {
        if !self.has_room(connection) {
            return false;
        }
        let Some(seq) = self.choose(connection) else { return false };
        let fresh = seq == connection.max;
        self.send(connection, now, seq, out);
        if fresh {
            self.plan_probe(connection, now);
        }
        true
    }

    #[inline]
    fn alarm_at(&self) -> Time {
        self.reorder_at.min(self.probe_at)
    }

    fn on_alarm(
        &mut self,
        connection: &mut Connection,
        now: Time,
        out: &mut Vec<Output>,
    ) -> AlarmOutcome {
        if self.reorder_at <= now {
            self.find_losses(connection, now, 0, false);
            return AlarmOutcome::Fill;
        }
        self.probe_at = Time::MAX;
        if connection.una < connection.max {
            self.send_probe(connection, now, out);
        }
        AlarmOutcome::Done
    }
}

#[cfg(test)]
mod tests;
