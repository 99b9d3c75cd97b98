//! The sending end of a connection without its loss recovery: sequence numbers, window, timer,
//! handshake, marks and departures.
use tidegate::{Rng, Time};

use super::congestion::{Acked, Found, RateNews, Repair, Sending, Window};
use super::delivery::Deliveries;
use super::departures::Departures;
use super::marks::MarkReply;
use super::opening::Opening;
use super::rto::{NewAck, Rto};
use super::rules::{Growth, MarkResponse, MarkedAck, RuleSet, TimeoutAfterCut};
use super::{Handshake, Tcp};
use crate::net::flight::flag;

/// The end of data that have none.
const ENDLESS: u32 = u32::MAX;

/// A segment to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Output {
    /// Its number.
    pub seq: u32,
    /// Its length on the wire.
    pub len: u16,
    /// Its [`flag`]s.
    pub flags: u8,
}

/// What last changed the window other than growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing yet.
    Undisturbed,
    /// Fast recovery, which is under way.
    Recovery,
    /// Fast recovery, which has ended.
    Recovered,
    /// A timeout.
    Timeout,
    /// An echoed mark.
    Marked,
}

/// The sending end of one connection, except for the repair of losses.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    /// The first segment not acknowledged.
    pub una: u32,
    /// The segment to send next.
    pub next: u32,
    /// One past the greatest number sent.
    pub max: u32,
    /// One past the last segment to send.
    pub end: u32,
    /// `max` at the last fast retransmit, timeout or reduction: losses below it are old news.
    pub recover: u32,
    pub phase: Phase,
    pub window: Window,
    /// How fast segments arrive, if the congestion control goes by it.
    pub deliveries: Option<Box<Deliveries>>,
    /// When the segment was sent that the last acknowledgement answers (as a time stamp would say,
    /// RFC 7323).
    pub answered: Time,
    pub rto: Rto,
    /// When to see whether the retransmission timer has expired; [`Time::MAX`] for never.
    pub timeout_at: Time,
    /// The segment whose timeout expired last.
    pub timed_out: Option<u32>,
    pub timeout_after_cut: TimeoutAfterCut,
    growth: Growth,
    pub opening: Opening,
    pub marks: MarkReply,
    pub departures: Departures,
    /// The length of a data segment on the wire.
    pub len: u16,
}

impl Connection {
    pub fn new(tcp: &Tcp, rules: &RuleSet, dice: &mut Rng) -> Connection {
        let opening = Opening::new(tcp, rules);
        let cwnd = if tcp.handshake == Handshake::Syn { 1.0 } else { tcp.initial_window };
        Connection {
            una: 0,
            next: 0,
            max: 0,
            end: tcp.data.map_or(ENDLESS, |n| n.saturating_add(opening.first_data())),
            recover: 0,
            phase: Phase::Undisturbed,
            window: Window::new(tcp, rules, cwnd),
            deliveries: tcp.congestion.needs().rate_samples.then(Box::default),
            answered: Time::ZERO,
            rto: Rto::new(tcp, dice),
            timeout_at: Time::MAX,
            timed_out: None,
            timeout_after_cut: rules.timeout_after_cut,
            growth: rules.growth,
            opening,
            marks: MarkReply::new(tcp, rules),
            departures: Departures::new(tcp, rules),
            len: tcp.segment.get() as u16,
        }
    }

    /// Describes an acknowledgement of new data to the congestion control.
    #[inline]
    pub fn acked(&self, now: Time, ack: u32, echo: bool) -> Acked {
        let (rtt, sent, next) = (self.rto.smooth, self.answered, self.next.max(ack));
        let (segments, step) = (ack - self.una, self.window.step);
        Acked { now, segments, step, rtt, sent, una: ack, next, max: self.max, echo }
    }

    /// New data are acknowledged: recovery, if any, is over, and the window opens.
    #[inline(always)]
    pub fn advance(&mut self, now: Time, ack: u32, echo: bool) {
        let opens = self.opening.ends_at(self.una);
        let acked = self.accept(now, ack, echo);
        if opens {
            self.open(&acked);
        } else if !echo || self.marks.marked_ack == MarkedAck::Grows {
            self.marks.doubles = false;
            self.window.on_ack(&acked);
        }
    }

    /// The handshake is over.
    pub fn open(&mut self, acked: &Acked) {
        self.window.on_open(self.opening.initial_window(), acked);
    }

    /// Does the same without growing the window. Returns what the acknowledgement says.
    #[inline(always)]
    pub fn accept(&mut self, now: Time, ack: u32, echo: bool) -> Acked {
        if self.window.inflation > 0 || self.phase == Phase::Recovery {
            self.leave_recovery();
        }
        let mut acked = self.acked(now, ack, echo);
        let answer = self.answer(now, ack);
        self.una = ack;
        self.next = self.next.max(ack);
        self.rto.acked(&answer, echo && self.marks.doubles);
        acked.rtt = self.rto.smooth;
        if self.una < self.max || self.window.is_closed() {
            self.set_timer(now);
        } else {
            self.timeout_at = Time::MAX;
        }
        acked
    }

    fn leave_recovery(&mut self) {
        if self.phase == Phase::Recovery {
            self.window.on_recovered();
            self.phase = Phase::Recovered;
        }
        self.window.inflation = 0;
    }

    /// A partial acknowledgement: recovery goes on, and the timer starts anew.
    #[inline]
    pub fn accept_in_part(&mut self, now: Time, ack: u32) {
        self.rto.acked_in_part(&self.answer(now, ack));
        self.una = ack;
        self.set_timer(now);
    }

    /// Describes an acknowledgement up to `ack` to the timer. It does not count in `una` yet.
    #[inline(always)]
    pub fn answer(&self, now: Time, ack: u32) -> NewAck {
        let per_round = (self.max - self.una).div_ceil(self.window.step).max(1);
        NewAck { now, ack, sent: self.answered, per_round }
    }

    /// Whether an acknowledgement of a part of a segment opens the window now.
    pub fn counts_parts(&self) -> bool {
        self.growth == Growth::ByAck
            && self.phase != Phase::Recovery
            && !self.opening.ends_at(self.una)
    }

    /// Whether an acknowledgement up to `ack` leaves a recovery under way.
    #[inline]
    pub fn is_partial(&self, ack: u32) -> bool {
        self.phase == Phase::Recovery && ack < self.recover
    }

    /// A loss cuts the window, with `flight` segments under way.
    #[inline]
    pub fn cut(&mut self, now: Time, flight: u32) {
        self.window.on_loss(Found { now, una: self.una, flight });
        self.marks.reduced = true;
    }

    /// A recovery begins.
    #[inline]
    pub fn enter_recovery(&mut self, now: Time) {
        self.phase = Phase::Recovery;
        self.restart_timer(now);
    }

    /// A segment is sent again: the timer starts anew, and the running measurement is given up.
    pub fn restart_timer(&mut self, now: Time) {
        self.rto.abandon();
        self.set_timer(now);
    }

    /// The retransmission timer has expired with `flight` segments under way: window and timer.
    pub fn time_out(&mut self, now: Time, flight: u32) {
        let recover = std::mem::replace(&mut self.recover, self.max);
        self.opening.note_timeout();
        self.marks.reduced = true;
        let again = self.timed_out == Some(self.una);
        let marked = self.phase == Phase::Marked;
        let reducing = (marked || self.phase == Phase::Recovery) && self.una < recover;
        let found = Found { now, una: self.una, flight };
        match self.timeout_after_cut {
            TimeoutAfterCut::RestartsAfterMark if marked => self.window.restart(),
            TimeoutAfterCut::Restarts => self.window.on_rto(found, !again && !reducing),
            _ => self.window.on_rto(found, !again),
        }
        self.timed_out = Some(self.una);
        self.phase = Phase::Timeout;
        if self.window.answers_timeouts() {
            self.rto.back_off();
        }
        self.restart_timer(now);
    }

    /// Marks had closed the window, and the timer has expired with nothing in flight: one segment
    /// may go.
    pub fn reopen(&mut self, now: Time) {
        self.window.restart();
        self.recover = self.max;
        self.phase = Phase::Timeout;
        self.marks.reduced = true;
        self.restart_timer(now);
    }

    /// An acknowledgement up to `ack` echoes a mark, with `flight` segments under way. At most one
    /// reduces the window for each window of data, and none where a loss or a timeout has reduced
    /// it already (RFC 3168 §6.1.2). What is sent again says nothing of a reduction (§6.1.5), so
    /// that the receiver goes on echoing an old mark until new data come. By ns-2's rules, where
    /// retransmissions do say so, every echo after a timeout is a new mark.
    pub fn on_mark(&mut self, now: Time, ack: u32, flight: u32) {
        let found = Found { now, una: self.una, flight };
        let response = self.marks.response;
        if response == MarkResponse::FirstOfRoundTrip {
            return self.quench(found);
        }
        let after_timeout = response == MarkResponse::AfterTimeoutToo;
        if ack <= self.recover && !(self.phase == Phase::Timeout && after_timeout) {
            return;
        }
        if self.is_partial(ack) {
            return;
        }
        if after_timeout {
            self.double();
        }
        self.recover = self.max;
        self.phase = Phase::Marked;
        self.window.on_ecn(found);
        self.marks.reduced = true;
    }

    /// ns-1's answer to an echo, before the acknowledgement itself counts. The first
    /// acknowledgement of all halves nothing.
    fn quench(&mut self, found: Found) {
        if self.una >= self.recover.max(1) {
            self.recover = self.next;
            self.phase = Phase::Marked;
            self.window.on_ecn(found);
        }
    }

    /// A mark that finds a window of one makes ns-2 double the timer, if another did before. RFC
    /// 3168 §6.1.2 has the sender wait for the timer as it is.
    fn double(&mut self) {
        if self.window.cwnd > 1.0 {
            self.marks.doubles = false;
        } else if std::mem::replace(&mut self.marks.doubles, true) {
            self.rto.back_off();
        }
    }

    /// Whether there are new data that the receiver has room for.
    #[inline]
    pub fn has_fresh(&self) -> bool {
        self.max < self.end && self.max - self.una < self.window.most()
    }

    /// Which lost segments are to be sent again. After a timeout these are all that were sent
    /// before it.
    #[inline]
    pub fn repairs(&self) -> Repair {
        match self.phase {
            Phase::Recovery => Repair::Loss,
            Phase::Timeout if self.una < self.recover => Repair::All,
            _ => Repair::Nothing,
        }
    }

    /// Gives a sample of the delivery rate to the congestion control. The acknowledgement showed
    /// `lost` segments to be lost and left `flight` of `before` in flight.
    pub fn sample_rate(&mut self, now: Time, before: u32, flight: u32, lost: u32, dice: &mut Rng) {
        let repair = self.repairs();
        let Some(deliveries) = &mut self.deliveries else { return };
        deliveries.in_flight(flight);
        let sample = deliveries.sample(self.window.min_rtt());
        // What was sent twice is timed by the stamp that the acknowledgement brings back.
        let rtt = sample.prior.map(|_| sample.rtt.unwrap_or(now.since(self.answered)));
        let wait = self.departures.free.since(now);
        self.window
            .on_sample(&RateNews { now, sample, rtt, lost, before, flight, wait, repair }, dice);
        if self.window.holds_back() {
            deliveries.limit(flight);
        }
    }

    /// Limited transmit after so many `duplicates`: one new segment if it is within the window and
    /// these (RFC 3042).
    pub fn limited_transmit(&mut self, now: Time, duplicates: u32, out: &mut Vec<Output>) {
        let flight = self.next - self.una;
        // `flight` and the window count from the first segment not acknowledged; both ends of the
        // comparison are whole.
        let room = self.window.cwnd + duplicates as f64;
        if flight < self.window.most() && self.next < self.end && (flight + 1) as f64 <= room {
            self.send(now, self.next, out);
            self.next += 1;
        }
    }

    #[inline(always)]
    pub fn send(&mut self, now: Time, seq: u32, out: &mut Vec<Output>) {
        let again = seq < self.max;
        self.window.on_sent(&Sending { now, seq, una: self.una, again });
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.sent(now, seq, self.una, self.max);
        }
        let idle = self.una == self.max;
        let syn = self.opening.is_syn(seq);
        let mut flags = 0;
        if again {
            flags |= flag::AGAIN;
        } else {
            self.max = seq + 1;
            self.rto.sent(seq, now);
        }
        if !syn {
            flags |= self.marks.flags(again);
        }
        if idle || self.timeout_at == Time::MAX {
            self.set_timer(now);
        }
        out.push(Output { seq, len: if syn { self.opening.syn_len } else { self.len }, flags });
    }

    #[inline]
    pub fn set_timer(&mut self, now: Time) {
        // What waits for its turn is not late.
        self.timeout_at = now.max(self.departures.free) + self.rto.timeout();
    }
}
