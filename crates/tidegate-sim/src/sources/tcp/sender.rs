//! The sending end of a connection.
//!
//! It reads no clock and sends nothing itself: it receives acknowledgements and the time, puts
//! segments into a list and says when it wants to be woken. What repairs losses is in `recovery`,
//! the window in `congestion`, the rest in `connection`.
use tidegate::{Rng, Time};

use super::Tcp;
use super::congestion::Acked;
use super::connection::{Connection, Output};
use super::recovery::{AlarmOutcome, Burst, LossRecovery, Recovery, RecoveryAck, with_recovery};
use super::report::Report;
use super::rules::RuleSet;
use super::transmit::{fill, wake};

/// The sending end of one connection.
#[derive(Clone, Debug)]
pub(crate) struct TcpSender {
    pub(super) connection: Connection,
    recovery: Recovery,
}

/// An acknowledgement that arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckArrival<'a> {
    /// What it acknowledges.
    pub report: &'a Report,
    /// Whether it echoes a mark.
    pub echo: bool,
    /// Whether it is of a part of the segment expected next.
    pub part: bool,
    /// When the segment was sent that it answers (as a time stamp would say, RFC 7323).
    pub answers: Time,
}

impl TcpSender {
    /// That of a connection like `tcp`.
    pub fn new(tcp: &Tcp, dice: &mut Rng) -> TcpSender {
        let rules = RuleSet::of(tcp);
        let connection = Connection::new(tcp, &rules, dice);
        TcpSender { connection, recovery: Recovery::new(tcp, &rules) }
    }

    /// Whether all data are acknowledged.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.connection.una == self.connection.end
    }

    /// The congestion window, in segments, without what fast recovery adds; 0 before the first
    /// segment is sent and when all data are acknowledged.
    pub fn window(&self) -> f64 {
        if self.connection.max == 0 || self.is_done() { 0.0 } else { self.connection.window.cwnd }
    }

    /// The length of the shortest packet that it may send next.
    #[inline]
    pub fn least_len(&self) -> u16 {
        let Connection { una, len, opening, .. } = &self.connection;
        if *una == 0 { opening.least_len(*len) } else { *len }
    }

    /// When to see whether the retransmission timer has expired; [`Time::MAX`] for never.
    #[inline]
    pub fn timeout_at(&self) -> Time {
        self.connection.timeout_at
    }

    /// When to send the burst that waits; [`Time::MAX`] for none.
    #[inline]
    pub fn send_at(&self) -> Time {
        self.connection.departures.send_at
    }

    /// A burst that waited has nothing left to send.
    pub fn cancel_burst(&mut self) {
        self.connection.departures.send_at = Time::MAX;
    }

    /// When the next of its timers expires.
    #[inline]
    pub fn alarm(&self) -> Time {
        self.connection.timeout_at.min(self.recovery.alarm_at())
    }

    /// The flow begins, or the burst that waited goes out.
    pub fn wake(&mut self, now: Time, dice: &mut Rng, out: &mut Vec<Output>) {
        let connection = &mut self.connection;
        with_recovery!(&mut self.recovery, recovery => wake(recovery, connection, now, dice, out))
    }

    /// An acknowledgement arrives.
    #[inline(always)]
    pub fn on_ack(&mut self, now: Time, ack: &AckArrival, dice: &mut Rng, out: &mut Vec<Output>) {
        let connection = &mut self.connection;
        if ack.part || ack.report.ack > connection.max {
            return self.on_false_ack(now, ack, dice, out);
        }
        connection.answered = ack.answers;
        with_recovery!(&mut self.recovery, recovery => {
            on_ack(recovery, connection, now, ack, dice, out)
        })
    }

    /// An acknowledgement that no honest receiver sends. What has not been sent cannot have been
    /// received (RFC 9293 §3.10.7.4). A part of a segment opens the window of a sender that counts
    /// acknowledgements; one that counts what is acknowledged (RFC 3465) waits for the rest.
    #[cold]
    fn on_false_ack(&mut self, now: Time, ack: &AckArrival, dice: &mut Rng, out: &mut Vec<Output>) {
        let connection = &mut self.connection;
        let upto = ack.report.ack;
        let expected = upto == connection.una && upto < connection.max;
        if ack.part && expected && connection.counts_parts() {
            connection.answered = ack.answers;
            let acked = Acked { segments: 1, ..connection.acked(now, upto, false) };
            connection.window.on_ack(&acked);
            with_recovery!(&mut self.recovery, recovery => {
                fill(recovery, connection, now, Burst::WINDOW, dice, out)
            });
        }
    }

    /// The retransmission timer has expired. Whether there was anything to time out.
    pub fn timed_out(&mut self, now: Time, dice: &mut Rng, out: &mut Vec<Output>) -> bool {
        let connection = &mut self.connection;
        with_recovery!(&mut self.recovery, recovery => {
            time_out(recovery, connection, now, dice, out)
        })
    }

    /// The time of something other than the retransmission timer may have come: whether it has.
    pub fn look(&mut self, now: Time, dice: &mut Rng, out: &mut Vec<Output>) -> bool {
        if self.recovery.alarm_at() > now {
            return false;
        }
        let connection = &mut self.connection;
        with_recovery!(&mut self.recovery, recovery => {
            if recovery.on_alarm(connection, now, out) == AlarmOutcome::Fill {
                fill(recovery, connection, now, Burst::WINDOW, dice, out);
            }
        });
        true
    }
}

/// An acknowledgement arrives: the congestion control's counts, marks, losses, departures. It is a
/// function of its own for each recovery, so that the cache need not hold all of them.
#[inline(never)]
fn on_ack<R: LossRecovery>(
    recovery: &mut R,
    connection: &mut Connection,
    now: Time,
    ack: &AckArrival,
    dice: &mut Rng,
    out: &mut Vec<Output>,
) {
    let report = ack.report;
    let echo = observe(recovery, connection, now, ack);
    let before = connection
        .deliveries
        .is_some()
        .then(|| (recovery.flight(connection), recovery.found_lost()));
    let advanced = report.ack > connection.una;
    let most = recovery.on_ack(connection, &RecoveryAck { now, report, echo }, out);
    if let Some((flight, lost)) = before {
        let lost = recovery.found_lost() - lost;
        connection.sample_rate(now, flight, recovery.flight(connection), lost, dice);
    }
    if most != Burst::NOTHING {
        fill(recovery, connection, now, most, dice, out);
    }
    recovery.after_ack(connection, now, advanced);
}

/// The congestion control counts the acknowledgement, and a mark that it echoes is answered.
/// Whether there was one for the connection to answer.
#[inline(always)]
fn observe<R: LossRecovery>(
    recovery: &mut R,
    connection: &mut Connection,
    now: Time,
    ack: &AckArrival,
) -> bool {
    let Report { ack: upto, delay, .. } = *ack.report;
    if let Some(delay) = delay {
        connection.window.on_delay(now, delay);
    }
    if upto > connection.una {
        let acked = connection.acked(now, upto, ack.echo);
        connection.window.on_every_ack(&acked);
    }
    let echo = connection.marks.heeds(ack.echo) && !connection.window.control_answers_marks();
    if echo && connection.marks.is_on() {
        if connection.window.answers_losses() {
            recovery.on_ecn(connection, now, upto);
        } else {
            connection.marks.reduced = true; // so that the receiver stops echoing it
        }
    }
    echo
}

/// The retransmission timer has expired: everything that counts as lost is sent again as the window
/// allows. Whether there was anything to time out.
fn time_out<R: LossRecovery>(
    recovery: &mut R,
    connection: &mut Connection,
    now: Time,
    dice: &mut Rng,
    out: &mut Vec<Output>,
) -> bool {
    connection.timeout_at = Time::MAX;
    if connection.una == connection.max && !R::TIMES_OUT_IDLE {
        if connection.window.is_closed() {
            connection.reopen(now);
            recovery.on_reopen(connection);
            fill(recovery, connection, now, Burst::WINDOW, dice, out);
        }
        return false;
    }
    recovery.before_rto(connection);
    connection.time_out(now, recovery.flight(connection));
    recovery.on_rto(connection, now);
    fill(recovery, connection, now, Burst::WINDOW, dice, out);
    true
}

#[cfg(test)]
#[path = "sender_tests.rs"]
mod tests;
