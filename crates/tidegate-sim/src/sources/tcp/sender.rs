//! The sending end of a connection: what is in flight, when it is sent again, and fast recovery.
//!
//! It reads no clock and sends nothing itself: it is told of acknowledgements and of time, puts
//! segments into a list and says when it wants to be woken.
use tidegate::{Ecn, Rng, Span, Time};

use super::congestion::{Acked, Found, Sending, Window};
use super::delivery::Deliveries;
use super::paced::Departures;
use super::rack::Rack;
use super::rto::{Answer, Rto};
use super::rules::RuleSet;
use super::scoreboard::Scoreboard;
use super::{EcnUse, Flavor, Handshake, LimitedTransmit, Rules, Tcp};
use crate::net::flight::flag;

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
pub(super) enum Last {
    Nothing,
    /// Duplicates: fast recovery is under way.
    Duplicates,
    /// Fast recovery, which has ended.
    Recovered,
    Timeout,
    Echo,
}

/// How many duplicates make a loss (RFC 5681 §3.2).
pub(super) const DUPLICATES: u32 = 3;
/// How many segments an acknowledgement lets out in recovery, by ns-2's rules.
const BURST: u32 = 2;

/// The sending end of one connection.
#[derive(Clone, Debug)]
pub(crate) struct TcpSender {
    /// The first segment not acknowledged.
    pub(super) una: u32,
    /// The segment to send next.
    pub(super) next: u32,
    /// One past the greatest number sent.
    pub(super) max: u32,
    /// `max` at the last fast retransmit, timeout or reduction: losses below it are old news.
    pub(super) recover: u32,
    pub(super) duplicates: u32,
    pub(super) window: Window,
    pub(super) last: Last,
    /// What selective acknowledgements have told.
    pub(super) board: Option<Box<Scoreboard>>,
    /// In place of that, what is known of each segment's time.
    pub(super) rack: Option<Box<Rack>>,
    /// How fast they arrive, if the congestion control goes by it.
    pub(super) deliveries: Option<Box<Deliveries>>,
    /// When the segment was sent that the last acknowledgement answers (as a time stamp would say,
    /// RFC 7323).
    pub answered: Time,
    /// A partial acknowledgement has come in this recovery.
    partial: bool,
    /// The next new segment (ns-2: the next segment) tells the receiver that the window was
    /// reduced.
    pub(super) reduced: bool,
    /// By ns-2's rules: the last mark came when the window could not be halved, so that another
    /// one doubles the timer instead.
    doubling: bool,
    /// The segment whose timer ran out last.
    pub(super) timed_out: u32,
    pub(super) rto: Rto,
    /// When to see whether the retransmission timer has run out; [`Time::MAX`] for never.
    pub timeout_at: Time,
    /// When to send the burst that waits; [`Time::MAX`] for none.
    pub send_at: Time,
    /// Nothing that is paced leaves before.
    pub(super) free: Time,
    /// The retransmission timer has run out at least once.
    ever_timed_out: bool,
    /// One past the last segment to send.
    pub(super) end: u32,
    flavor: Flavor,
    ns2_vegas: bool,
    pub(super) rules: Rules,
    pub(super) handshake: Handshake,
    /// The segment whose acknowledgement ends the handshake.
    opening: u32,
    pub(super) limited_transmit: LimitedTransmit,
    pub(super) ecn: EcnUse,
    initial_window: f32,
    len: u16,
    syn_len: u16,
    pub(super) departures: Departures,
}

impl TcpSender {
    pub fn new(tcp: &Tcp, dice: &mut Rng) -> TcpSender {
        let first = (tcp.handshake == Handshake::Syn) as u32;
        let cwnd = if tcp.handshake == Handshake::Syn { 1.0 } else { tcp.initial_window };
        // ns-2's Vegas sends a segment as any other for a SYN, and opens its window with the second
        // acknowledgement.
        let ns2_vegas = tcp.is_ns2_vegas();
        let syn = if ns2_vegas { tcp.segment } else { tcp.ack };
        TcpSender {
            opening: ns2_vegas as u32,
            board: (tcp.flavor == Flavor::Sack).then(Box::default),
            rack: (tcp.flavor == Flavor::Rack).then(Box::default),
            deliveries: tcp.congestion.needs().rate_samples.then(Box::default),
            answered: Time::ZERO,
            una: 0,
            next: 0,
            max: 0,
            recover: 0,
            duplicates: 0,
            window: Window::new(tcp, &RuleSet::of(tcp), cwnd),
            last: Last::Nothing,
            partial: false,
            reduced: false,
            doubling: false,
            timed_out: u32::MAX,
            rto: Rto::new(tcp, dice),
            timeout_at: Time::MAX,
            send_at: Time::MAX,
            free: Time::ZERO,
            ever_timed_out: false,
            end: tcp.data.map_or(u32::MAX, |n| n.saturating_add(first)),
            flavor: tcp.flavor,
            rules: tcp.rules,
            handshake: tcp.handshake,
            limited_transmit: tcp.limited_transmit,
            ns2_vegas,
            ecn: tcp.ecn,
            initial_window: tcp.initial_window as f32,
            len: tcp.segment.get() as u16,
            syn_len: syn.get() as u16,
            departures: Departures::of(tcp),
        }
    }

    /// Whether all data are acknowledged.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.una == self.end
    }

    /// The length of the shortest packet that it may send next.
    #[inline]
    pub fn least_len(&self) -> u16 {
        if self.una == 0 { self.len.min(self.syn_len) } else { self.len }
    }

    /// The flow begins, or the burst that waited goes out.
    pub fn wake(&mut self, now: Time, dice: &mut Rng, out: &mut Vec<Output>) {
        let waited = std::mem::replace(&mut self.send_at, Time::MAX) != Time::MAX;
        match self.departures {
            Departures::Scattered(_) if waited => self.burst(now, u32::MAX, out),
            _ => self.fill(now, u32::MAX, dice, out),
        }
    }

    /// Every segment below `ack` has arrived; `echo` says that a mark did.
    pub fn acknowledged(
        &mut self,
        now: Time,
        ack: u32,
        echo: bool,
        dice: &mut Rng,
        out: &mut Vec<Output>,
    ) {
        if self.ns2_vegas {
            return self.ns2_vegas(now, ack, echo, dice, out);
        }
        let echo = self.heard(now, ack, echo);
        if ack > self.una {
            if self.last == Last::Duplicates && ack < self.recover && self.flavor == Flavor::NewReno
            {
                self.partial(now, ack, out);
            } else {
                self.advance(now, ack, echo);
                self.look_again(now, out);
            }
        } else if ack == self.una
            && (self.max > self.una || self.rules.is_ns() && self.una < self.end)
        {
            // ns counts duplicates also when nothing is in flight (RFC 5681 §2 does not).
            self.duplicate(now, out);
        }
        if self.duplicates == 0 {
            self.fill(now, u32::MAX, dice, out);
        } else if self.duplicates >= DUPLICATES {
            let burst = if self.rules == Rules::Ns2 { BURST } else { u32::MAX };
            self.fill(now, burst, dice, out);
        }
    }

    /// The congestion control hears of the acknowledgement, and a mark that it echoes is answered.
    /// Whether there was one to be answered.
    #[inline(always)]
    pub(super) fn heard(&mut self, now: Time, ack: u32, echo: bool) -> bool {
        if ack > self.una {
            let acked = self.news(now, ack, echo);
            self.window.on_every_ack(&acked);
        }
        let echo = echo && !self.window.control_answers_marks();
        if echo && self.ecn == EcnUse::On {
            self.echoed(now, ack);
        }
        echo
    }

    /// What an acknowledgement of new data says.
    #[inline]
    fn news(&self, now: Time, ack: u32, echo: bool) -> Acked {
        let (rtt, sent, next) = (self.rto.smooth, self.answered, self.next.max(ack));
        let (segments, step) = (ack - self.una, self.window.step);
        Acked { now, segments, step, rtt, sent, una: ack, next, max: self.max, echo }
    }

    /// The retransmission timer has run out: everything from the first hole is sent again as the
    /// window allows. Whether there was anything to time out.
    pub fn timed_out(&mut self, now: Time, dice: &mut Rng, out: &mut Vec<Output>) -> bool {
        self.timeout_at = Time::MAX;
        if self.una == self.max && !self.ns2_vegas {
            self.reopen(now, dice, out);
            return false;
        }
        self.ever_timed_out = true;
        self.duplicates = 0;
        let recover = std::mem::replace(&mut self.recover, self.max);
        self.reduced = true;
        if self.last == Last::Echo && self.rules == Rules::Ns2 {
            self.window.restart(); // the mark has cut ssthresh already
        } else {
            // What a recovery or a mark has cut for already Linux does not cut for again.
            let reducing = matches!(self.last, Last::Duplicates | Last::Echo) && self.una < recover;
            let cut = self.rules == Rules::Linux && reducing;
            self.doubt(recover);
            self.window.on_rto(self.found(now), self.timed_out != self.una && !cut);
        }
        self.timed_out = self.una;
        self.last = Last::Timeout;
        if self.window.answers_timeouts() {
            self.rto.back_off();
        }
        self.rto.abandon();
        self.set_timer(now);
        match (&mut self.board, &mut self.rack) {
            (Some(_), _) if self.rules == Rules::Ns2 => self.sack1_restarts(),
            (Some(board), _) => board.lose_all(self.max),
            (_, Some(rack)) => {
                rack.time_out(now);
                self.window.cwnd += rack.pipe() as f64;
            }
            (None, None) => self.next = self.una,
        }
        self.fill(now, u32::MAX, dice, out);
        true
    }

    /// Marks had closed the window, and the timer has run out with nothing in flight: one segment
    /// may go.
    fn reopen(&mut self, now: Time, dice: &mut Rng, out: &mut Vec<Output>) {
        if !self.window.is_closed() {
            return;
        }
        self.window.restart();
        self.duplicates = 0;
        self.recover = self.max;
        self.last = Last::Timeout;
        self.reduced = true;
        if self.board.is_some() && self.rules == Rules::Ns2 {
            self.sack1_restarts();
        }
        self.rto.abandon();
        self.set_timer(now);
        self.fill(now, u32::MAX, dice, out);
    }

    /// The round trip is in order: new data are acknowledged, recovery, if any, is over, and the
    /// window opens.
    #[inline(always)]
    pub(super) fn advance(&mut self, now: Time, ack: u32, echo: bool) {
        let opening = self.is_opening();
        let acked = self.accept(now, ack, echo);
        if opening {
            self.open(&acked);
        } else if !echo || self.rules == Rules::Ns1 {
            self.doubling = false;
            self.window.on_ack(&acked);
        }
    }

    /// Whether the next acknowledgement ends the handshake.
    #[inline]
    pub(super) fn is_opening(&self) -> bool {
        self.una == self.opening && self.handshake == Handshake::Syn
    }

    /// The handshake is over.
    pub(super) fn open(&mut self, acked: &Acked) {
        let lost = self.ever_timed_out && self.rules == Rules::Ns2;
        self.window.on_open(if lost { 1.0 } else { self.initial_window as f64 }, acked);
    }

    /// The same but for the window: what the acknowledgement says.
    #[inline(always)]
    pub(super) fn accept(&mut self, now: Time, ack: u32, echo: bool) -> Acked {
        if self.window.inflation > 0 || self.last == Last::Duplicates {
            self.leave_recovery();
        }
        self.partial = false;
        self.duplicates = 0;
        let mut acked = self.news(now, ack, echo);
        let answer = self.answer(now, ack);
        self.una = ack;
        self.next = self.next.max(ack);
        self.rto.acked(&answer, echo && self.doubling);
        acked.rtt = self.rto.smooth;
        if self.una < self.max || self.window.is_closed() {
            self.set_timer(now);
        } else {
            self.timeout_at = Time::MAX;
        }
        acked
    }

    /// What the acknowledgement of everything below `ack` lets the timer learn; `una` is still as
    /// it was before it.
    #[inline]
    pub(super) fn answer(&self, now: Time, ack: u32) -> Answer {
        let per_round = (self.max - self.una).div_ceil(self.window.step).max(1);
        Answer { now, ack, sent: self.answered, per_round }
    }

    fn leave_recovery(&mut self) {
        if self.last == Last::Duplicates {
            self.window.on_recovered();
            self.last = Last::Recovered;
        }
        self.window.inflation = 0;
    }

    /// A partial acknowledgement: the next hole goes out at once, and recovery goes on (RFC 6582
    /// §3.2 step 5).
    fn partial(&mut self, now: Time, ack: u32, out: &mut Vec<Output>) {
        self.rto.acked_in_part(&self.answer(now, ack));
        // "Impatient": only the first restarts the timer, so that many holes end in a timeout.
        // Linux is "slow but steady" (§4).
        if !self.partial || self.rules == Rules::Linux {
            self.partial = true;
            self.set_timer(now);
        }
        self.window.deflate(ack - self.una);
        self.una = ack;
        self.next = self.next.max(ack);
        self.send(now, ack, out);
    }

    /// The next hole, if a finer timeout shows one (brakmo1995 §3.1).
    #[inline]
    fn look_again(&mut self, now: Time, out: &mut Vec<Output>) {
        if self.una < self.max && self.window.sees_another_hole(self.una, true, now) {
            self.duplicates = DUPLICATES;
            self.last = Last::Duplicates;
            self.send(now, self.una, out);
        }
    }

    fn duplicate(&mut self, now: Time, out: &mut Vec<Output>) {
        self.duplicates += 1;
        if self.duplicates == DUPLICATES
            || self.una < self.max && self.window.is_overdue(self.una, now)
        {
            self.third_duplicate(now, out);
        } else if self.duplicates > DUPLICATES {
            if self.last == Last::Duplicates {
                self.window.inflation += 1;
            }
        } else if self.limited_transmit == LimitedTransmit::On && self.rules != Rules::Ns1 {
            self.send_one(now, out);
        }
    }

    /// Fast retransmit, unless the loss is of a window already cut. A finer timeout may have it
    /// come before the third.
    fn third_duplicate(&mut self, now: Time, out: &mut Vec<Output>) {
        let beginning = match self.rules {
            Rules::Rfc | Rules::Linux => self.recover == 0,
            Rules::Ns2 => self.una == (self.handshake == Handshake::Syn) as u32,
            Rules::Ns1 => false,
        };
        let news = self.una > self.recover || beginning;
        let again = match self.rules {
            Rules::Rfc | Rules::Linux => self.flavor == Flavor::Reno,
            Rules::Ns2 => false,
            Rules::Ns1 => self.last != Last::Timeout,
        };
        let cut = self.last == Last::Echo && self.una <= self.recover && self.rules != Rules::Ns1;
        if cut {
            // A mark has halved the window for this round trip; the loss is only repaired.
        } else if news || again {
            self.window.on_loss(Found { now, una: self.una, flight: self.next - self.una });
            self.recover = self.max;
            self.reduced = true;
        } else {
            return;
        }
        self.last = Last::Duplicates;
        self.window.inflation = self.duplicates;
        self.duplicates = self.duplicates.max(DUPLICATES);
        self.rto.abandon();
        self.set_timer(now);
        self.send(now, self.una, out);
    }

    /// An echoed mark: at most one reduction per window of data, and none where a loss or a timeout
    /// has reduced the window already (RFC 3168 §6.1.2). What is sent again says nothing of a
    /// reduction (§6.1.5), so that the receiver goes on echoing an old mark until new data
    /// come. By ns-2's rules, where retransmissions do say so, every echo after a timeout is a new
    /// mark.
    pub(super) fn echoed(&mut self, now: Time, ack: u32) {
        if !self.window.answers_losses() {
            self.reduced = true; // it is not told of the same one for ever
            return;
        }
        if self.is_linux() {
            return self.marked(now, ack);
        }
        if self.rules == Rules::Ns1 {
            return self.quench(now);
        }
        if ack <= self.recover && !(self.last == Last::Timeout && self.rules == Rules::Ns2) {
            return;
        }
        if self.last == Last::Duplicates && ack < self.recover {
            return;
        }
        if self.rules == Rules::Ns2 {
            self.double();
        }
        self.recover = self.max;
        self.last = Last::Echo;
        self.window.on_ecn(self.found(now));
        self.reduced = true;
    }

    /// ns-1's answer to an echo, before the acknowledgement itself counts. The first
    /// acknowledgement of all halves nothing.
    fn quench(&mut self, now: Time) {
        if self.una >= self.recover.max(1) {
            self.recover = self.next;
            self.last = Last::Echo;
            self.window.on_ecn(self.found(now));
        }
    }

    /// A mark that finds a window of one makes ns-2 double the timer, if another did before. RFC
    /// 3168 §6.1.2 has the sender wait for the timer as it is.
    fn double(&mut self) {
        if self.window.cwnd > 1.0 {
            self.doubling = false;
        } else if std::mem::replace(&mut self.doubling, true) {
            self.rto.back_off();
        }
    }

    /// What a loss, a mark or a timeout finds.
    pub(super) fn found(&self, now: Time) -> Found {
        Found { now, una: self.una, flight: self.flight() }
    }

    /// How many segments are under way: with selective acknowledgements not those that the receiver
    /// holds, or that are lost.
    pub(super) fn flight(&self) -> u32 {
        match (&self.board, &self.rack) {
            (Some(board), _) => board.pipe(self.max),
            (_, Some(rack)) => rack.pipe(),
            (None, None) => self.next - self.una,
        }
    }

    /// Sends what the window allows, at once or after the random delay.
    #[inline(always)]
    pub(super) fn fill(&mut self, now: Time, most: u32, dice: &mut Rng, out: &mut Vec<Output>) {
        match self.departures {
            Departures::AtOnce => self.burst(now, most, out),
            Departures::Scattered(over) if self.send_at == Time::MAX && self.may_send() => {
                self.send_at = now + Span::from_nanos(dice.below(over.as_nanos()));
            }
            Departures::Scattered(_) => {}
            Departures::Paced => self.pace(now, out),
        }
    }

    #[inline(always)]
    pub(super) fn may_send(&self) -> bool {
        match (&self.board, &self.rack) {
            (None, None) => self.next - self.una < self.window.segments() && self.next < self.end,
            (Some(_), _) if self.rules == Rules::Ns2 => self.sack1_may_send(),
            (Some(_), _) => self.has_room() && self.has_work(),
            (_, Some(_)) => self.may_resend(),
        }
    }

    #[inline(always)]
    fn burst(&mut self, now: Time, most: u32, out: &mut Vec<Output>) {
        if self.board.is_some() {
            return if self.rules == Rules::Ns2 {
                self.sack1_sends(now, out)
            } else {
                self.repair(now, out)
            };
        }
        if self.rack.is_some() {
            return self.resend(now, out);
        }
        let (mut sent, window) = (0, self.window.segments());
        while sent < most && self.next - self.una < window && self.next < self.end {
            self.send(now, self.next, out);
            self.next += 1;
            sent += 1;
        }
    }

    /// Limited transmit: one new segment if it is within the window and the duplicates (RFC 3042).
    pub(super) fn send_one(&mut self, now: Time, out: &mut Vec<Output>) {
        let flight = self.next - self.una;
        // `flight` and the window count from the first segment not acknowledged; both ends of the
        // comparison are whole.
        let room = self.window.cwnd + self.duplicates as f64;
        if flight < self.window.most() && self.next < self.end && (flight + 1) as f64 <= room {
            self.send(now, self.next, out);
            self.next += 1;
        }
    }

    #[inline(always)]
    pub(super) fn send(&mut self, now: Time, seq: u32, out: &mut Vec<Output>) {
        let again = seq < self.max;
        self.window.on_sent(&Sending { now, seq, una: self.una, again });
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.sent(now, seq, self.una, self.max);
        }
        let idle = self.una == self.max;
        let syn = seq == 0 && self.handshake == Handshake::Syn;
        let mut flags = 0;
        if again {
            flags |= flag::AGAIN;
        } else {
            self.max = seq + 1;
            self.rto.sent(seq, now);
        }
        // RFC 3168 §6.1.5: what is sent again is not ECN-capable, and only new data say that the
        // window was reduced.
        if self.ecn == EcnUse::On && !syn && (!again || self.rules.is_ns()) {
            flags |= Ecn::Ect0 as u8;
            if std::mem::take(&mut self.reduced) {
                flags |= flag::REDUCED;
            }
        }
        if let Some(rack) = &mut self.rack {
            rack.sent(seq, now);
        }
        if idle || self.timeout_at == Time::MAX {
            self.set_timer(now);
        }
        out.push(Output { seq, len: if syn { self.syn_len } else { self.len }, flags });
    }

    #[inline]
    pub(super) fn set_timer(&mut self, now: Time) {
        // What waits for its turn is not late.
        self.timeout_at = now.max(self.free) + self.rto.timeout();
    }
}

#[cfg(test)]
#[path = "sender_tests.rs"]
mod tests;
