//! The sending end of a connection: what is in flight, when it is sent again, and fast recovery.
//!
//! It reads no clock and sends nothing itself: it is told of acknowledgements and of time, puts segments into a list and
//! says when it wants to be woken.
use tidegate::{Ecn, Rng, Span, Time};

use super::congestion::{Acked, Window};
use super::rto::Rto;
use super::scoreboard::Scoreboard;
use super::{EcnUse, Flavor, Handshake, LimitedTransmit, Rules, Tcp};
use crate::flight::flag;

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
const DUPLICATES: u32 = 3;
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
    /// When the segment was sent that the last acknowledgement answers (as a time stamp would say, RFC 7323).
    pub answered: Time,
    /// A partial acknowledgement has come in this recovery.
    partial: bool,
    /// The next new segment (ns-2: the next segment) tells the receiver that the window was reduced.
    pub(super) reduced: bool,
    /// The last mark came when the window could not be halved: another one doubles the timer instead.
    doubling: bool,
    /// The segment whose timer ran out last.
    timed_out: u32,
    pub(super) rto: Rto,
    /// When to see whether the retransmission timer has run out; [`Time::MAX`] for never.
    pub timeout_at: Time,
    /// When to send the burst that waits; [`Time::MAX`] for none.
    pub send_at: Time,
    /// The retransmission timer has run out at least once.
    ever_timed_out: bool,
    /// One past the last segment to send.
    pub(super) end: u32,
    flavor: Flavor,
    rules: Rules,
    handshake: Handshake,
    pub(super) limited_transmit: LimitedTransmit,
    pub(super) ecn: EcnUse,
    initial_window: f32,
    len: u16,
    syn_len: u16,
    overhead: u32,
}

impl TcpSender {
    pub fn new(tcp: &Tcp, dice: &mut Rng) -> TcpSender {
        let first = (tcp.handshake == Handshake::Syn) as u32;
        let cwnd = if tcp.handshake == Handshake::Syn { 1.0 } else { tcp.initial_window };
        TcpSender {
            board: (tcp.flavor == Flavor::Sack).then(Box::default),
            answered: Time::ZERO,
            una: 0,
            next: 0,
            max: 0,
            recover: 0,
            duplicates: 0,
            window: Window::new(tcp, cwnd),
            last: Last::Nothing,
            partial: false,
            reduced: false,
            doubling: false,
            timed_out: u32::MAX,
            rto: Rto::new(tcp.tick, tcp.min_rto, tcp.initial_rto, tcp.max_rto, dice),
            timeout_at: Time::MAX,
            send_at: Time::MAX,
            ever_timed_out: false,
            end: tcp.data.map_or(u32::MAX, |n| n.saturating_add(first)),
            flavor: tcp.flavor,
            rules: tcp.rules,
            handshake: tcp.handshake,
            limited_transmit: tcp.limited_transmit,
            ecn: tcp.ecn,
            initial_window: tcp.initial_window as f32,
            len: tcp.segment.get() as u16,
            syn_len: tcp.ack.get() as u16,
            overhead: tcp.overhead.as_nanos() as u32,
        }
    }

    /// Whether all data are acknowledged.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.una == self.end
    }

    /// The flow begins, or the burst that waited goes out.
    pub fn wake(&mut self, now: Time, dice: &mut Rng, out: &mut Vec<Output>) {
        if self.send_at == Time::MAX {
            return self.fill(now, u32::MAX, dice, out);
        }
        self.send_at = Time::MAX;
        self.burst(now, u32::MAX, out);
    }

    /// Every segment below `ack` has arrived; `echo` says that a mark did.
    pub fn acknowledged(&mut self, now: Time, ack: u32, echo: bool, dice: &mut Rng, out: &mut Vec<Output>) {
        if echo && self.ecn == EcnUse::On {
            self.echoed(ack);
        }
        if ack > self.una {
            if self.last == Last::Duplicates && ack < self.recover && self.flavor == Flavor::NewReno {
                self.partial(now, ack, out);
            } else {
                self.advance(now, ack, echo);
            }
        } else if ack == self.una && (self.max > self.una || self.rules == Rules::Ns2 && self.una < self.end) {
            // ns-2 counts duplicates also when nothing is in flight (RFC 5681 §2 does not).
            self.duplicate(now, out);
        }
        if self.duplicates == 0 {
            self.fill(now, u32::MAX, dice, out);
        } else if self.duplicates >= DUPLICATES {
            let burst = if self.rules == Rules::Ns2 { BURST } else { u32::MAX };
            self.fill(now, burst, dice, out);
        }
    }

    /// The retransmission timer has run out: everything from the first hole is sent again as the window allows.
    /// Whether there was anything to time out.
    pub fn timed_out(&mut self, now: Time, dice: &mut Rng, out: &mut Vec<Output>) -> bool {
        self.timeout_at = Time::MAX;
        if self.una == self.max {
            self.reopen(now, dice, out);
            return false;
        }
        self.ever_timed_out = true;
        self.duplicates = 0;
        self.recover = self.max;
        self.reduced = true;
        if self.last == Last::Echo && self.rules == Rules::Ns2 {
            self.window.restart(); // the mark has cut ssthresh already
        } else {
            self.window.collapse(self.flight(), self.timed_out != self.una);
        }
        self.timed_out = self.una;
        self.last = Last::Timeout;
        self.rto.back_off();
        self.rto.abandon();
        self.set_timer(now);
        match &mut self.board {
            Some(board) => board.lose_all(self.max),
            None => self.next = self.una,
        }
        self.fill(now, u32::MAX, dice, out);
        true
    }

    /// Marks had closed the window, and the timer has run out with nothing in flight: one segment may go.
    fn reopen(&mut self, now: Time, dice: &mut Rng, out: &mut Vec<Output>) {
        if !self.window.closed() {
            return;
        }
        self.window.restart();
        self.duplicates = 0;
        self.recover = self.max;
        self.last = Last::Timeout;
        self.reduced = true;
        self.rto.abandon();
        self.set_timer(now);
        self.fill(now, u32::MAX, dice, out);
    }

    /// The round trip is in order: new data are acknowledged and recovery, if any, is over.
    #[inline]
    pub(super) fn advance(&mut self, now: Time, ack: u32, echo: bool) {
        if self.window.inflation > 0 || self.last == Last::Duplicates {
            self.leave_recovery();
        }
        self.partial = false;
        self.duplicates = 0;
        let opening = self.una == 0 && self.handshake == Handshake::Syn;
        let segments = ack - self.una;
        self.una = ack;
        self.next = self.next.max(ack);
        self.rto.acked(ack, now, echo && self.doubling);
        if self.una < self.max || self.window.closed() {
            self.set_timer(now);
        } else {
            self.timeout_at = Time::MAX;
        }
        if opening {
            let lost = self.ever_timed_out && self.rules == Rules::Ns2;
            self.window.cwnd = if lost { 1.0 } else { self.initial_window as f64 };
        } else if !echo {
            self.doubling = false;
            let (rtt, sent) = (self.rto.smooth, self.answered);
            self.window.grow(&Acked { now, segments, rtt, sent, una: ack, max: self.max });
        }
    }

    fn leave_recovery(&mut self) {
        if self.last == Last::Duplicates {
            self.window.recovered();
            self.last = Last::Recovered;
        }
        self.window.inflation = 0;
    }

    /// A partial acknowledgement: the next hole goes out at once, and recovery goes on (RFC 6582 §3.2 step 5).
    fn partial(&mut self, now: Time, ack: u32, out: &mut Vec<Output>) {
        // "Impatient": only the first restarts the timer, so that many holes end in a timeout.
        if !self.partial {
            self.partial = true;
            self.set_timer(now);
        }
        self.window.deflate(ack - self.una);
        self.una = ack;
        self.next = self.next.max(ack);
        self.rto.acked_in_part(ack);
        self.send(now, ack, out);
    }

    fn duplicate(&mut self, now: Time, out: &mut Vec<Output>) {
        self.duplicates += 1;
        if self.duplicates == DUPLICATES {
            self.third_duplicate(now, out);
        } else if self.duplicates > DUPLICATES {
            if self.last == Last::Duplicates {
                self.window.inflation += 1;
            }
        } else if self.limited_transmit == LimitedTransmit::On {
            self.send_one(now, out);
        }
    }

    /// Fast retransmit, unless the loss is of a window already cut.
    fn third_duplicate(&mut self, now: Time, out: &mut Vec<Output>) {
        let beginning = match self.rules {
            Rules::Rfc => self.recover == 0,
            Rules::Ns2 => self.una == (self.handshake == Handshake::Syn) as u32,
        };
        let news = self.una > self.recover || beginning;
        let again = self.flavor == Flavor::Reno && self.rules == Rules::Rfc;
        let cut = self.last == Last::Echo && self.una <= self.recover;
        if cut {
            // A mark has halved the window for this round trip; the loss is only repaired.
        } else if news || again {
            self.window.cut(self.next - self.una);
            self.recover = self.max;
            self.reduced = true;
        } else {
            return;
        }
        self.last = Last::Duplicates;
        self.window.inflation = DUPLICATES;
        self.rto.abandon();
        self.set_timer(now);
        self.send(now, self.una, out);
    }

    /// An echoed mark: at most one reduction per window of data (RFC 3168 §6.1.2).
    pub(super) fn echoed(&mut self, ack: u32) {
        if ack <= self.recover && self.last != Last::Timeout {
            return;
        }
        if self.last == Last::Duplicates && ack < self.recover {
            return;
        }
        if self.window.cwnd > 1.0 {
            self.doubling = false;
        } else if std::mem::replace(&mut self.doubling, true) {
            self.rto.back_off();
        }
        self.recover = self.max;
        self.last = Last::Echo;
        self.window.mark(self.flight());
        self.reduced = true;
    }

    /// How many segments are under way: with selective acknowledgements not those that the receiver holds, or that are lost.
    fn flight(&self) -> u32 {
        self.board.as_ref().map_or(self.next - self.una, |board| board.pipe(self.max))
    }

    /// Sends what the window allows, at once or after the random delay.
    #[inline]
    pub(super) fn fill(&mut self, now: Time, most: u32, dice: &mut Rng, out: &mut Vec<Output>) {
        if self.overhead == 0 {
            self.burst(now, most, out);
        } else if self.send_at == Time::MAX && self.may_send() {
            self.send_at = now + Span::from_nanos(dice.below(self.overhead as u64));
        }
    }

    #[inline]
    fn may_send(&self) -> bool {
        if self.board.is_some() {
            return self.has_room() && self.has_work();
        }
        self.next - self.una < self.window.segments() && self.next < self.end
    }

    #[inline]
    fn burst(&mut self, now: Time, most: u32, out: &mut Vec<Output>) {
        if self.board.is_some() {
            return self.repair(now, out);
        }
        let mut sent = 0;
        while sent < most && self.may_send() {
            self.send(now, self.next, out);
            self.next += 1;
            sent += 1;
        }
    }

    /// Limited transmit: one new segment if it is within the window and the duplicates (RFC 3042).
    fn send_one(&mut self, now: Time, out: &mut Vec<Output>) {
        let flight = self.next - self.una;
        // `flight` and the window count from the first segment not acknowledged; both ends of the comparison are whole.
        let room = self.window.cwnd + self.duplicates as f64;
        if flight < self.window.most() && self.next < self.end && (flight + 1) as f64 <= room {
            self.send(now, self.next, out);
            self.next += 1;
        }
    }

    #[inline]
    pub(super) fn send(&mut self, now: Time, seq: u32, out: &mut Vec<Output>) {
        let again = seq < self.max;
        let idle = self.una == self.max;
        let syn = seq == 0 && self.handshake == Handshake::Syn;
        let mut flags = 0;
        if again {
            flags |= flag::AGAIN;
        } else {
            self.max = seq + 1;
            self.rto.sent(seq, now);
        }
        // RFC 3168 §6.1.5: what is sent again is not ECN-capable, and only new data say that the window was reduced.
        if self.ecn == EcnUse::On && !syn && (!again || self.rules == Rules::Ns2) {
            flags |= Ecn::Ect0 as u8;
            if std::mem::take(&mut self.reduced) {
                flags |= flag::REDUCED;
            }
        }
        if idle || self.timeout_at == Time::MAX {
            self.set_timer(now);
        }
        out.push(Output { seq, len: if syn { self.syn_len } else { self.len }, flags });
    }

    #[inline]
    pub(super) fn set_timer(&mut self, now: Time) {
        self.timeout_at = now + self.rto.timeout();
    }
}

#[cfg(test)]
#[path = "sender_tests.rs"]
mod tests;
