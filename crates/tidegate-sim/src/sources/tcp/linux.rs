//! What Linux's sender does beyond RACK-TLP: a mark lowers the window in proportion, as a loss
//! does; after a timeout a repair that is lost again is a loss like any other; a timeout is doubted
//! once (F-RTO, RFC 5682, as far as that lets new data out); and what opens the window is what has
//! arrived.
//!
//! Its states in our terms: CWR is [`TcpSender::is_marked`], Recovery [`Last::Duplicates`], Loss a
//! [`Last::Timeout`] until what was sent before it is acknowledged.
use tidegate::Time;

use super::rack::Doubt;
use super::sender::{Last, TcpSender};
use super::{Acked, Rules};

impl TcpSender {
    #[inline]
    pub(super) fn is_linux(&self) -> bool {
        self.rules == Rules::Linux && self.rack.is_some()
    }

    /// Whether the window is on its way down for a mark; that ends with data sent after it.
    pub(super) fn is_marked(&self) -> bool {
        self.is_linux() && self.last == Last::Echo && self.una <= self.recover
    }

    /// An acknowledgement up to `ack` echoes a mark. A reduction that is under way, and after a
    /// timeout what is repaired, answers for it too.
    pub(super) fn marked(&mut self, now: Time, ack: u32) {
        if self.mends() && ack < self.recover || self.is_marked() && ack <= self.recover {
            return;
        }
        self.end_reduction();
        let prior = self.window.cwnd.min(self.window.most() as f64);
        self.window.on_ecn(self.found(now));
        self.window.cwnd = prior;
        if let Some(rack) = &mut self.rack {
            rack.begin(prior);
        }
        self.recover = self.max;
        self.last = Last::Echo;
        self.reduced = true;
    }

    /// A reduction has come to its end.
    fn end_reduction(&mut self) {
        if self.last == Last::Duplicates || self.is_marked() {
            self.window.on_recovered();
            self.last = Last::Recovered;
        }
    }

    /// New data are acknowledged up to `ack`, outside of a recovery or to its end; `news` segments
    /// have arrived that were not known to have. What then opens the window, if nothing is
    /// found lost; two segments for an acknowledgement at most, which matters
    /// where acknowledgements are lost and Linux has no such bound.
    pub(super) fn delivered(&mut self, now: Time, ack: u32, news: u32) -> Option<Acked> {
        if !self.is_marked() || ack > self.recover {
            self.end_reduction();
        }
        let opening = self.is_opening();
        let acked = Acked { segments: news, ..self.accept(now, ack, false) };
        if opening {
            self.open(&acked);
            return None;
        }
        Some(acked)
    }

    /// The window opens, unless it is on its way down.
    pub(super) fn grow_unless_reducing(&mut self, acked: &Acked) {
        if self.last != Last::Duplicates && !self.is_marked() {
            self.window.on_ack(acked);
        }
    }

    /// After a timeout a repair has been lost: whether that begins a recovery.
    pub(super) fn begins_anew(&self) -> bool {
        self.is_linux() && self.last == Last::Timeout
    }

    /// The timer has run out, and what was repaired or reduced for until then went up to `recover`:
    /// whether it is doubted.
    pub(super) fn doubt(&mut self, recover: u32) {
        let repairing = matches!(self.last, Last::Duplicates | Last::Timeout) && self.una < recover;
        let doubted = self.is_linux() && (!repairing || self.timed_out == self.una);
        if let Some(rack) = &mut self.rack {
            rack.doubt = if doubted { Doubt::Doubted } else { Doubt::None };
        }
    }

    /// An acknowledgement has come, which has `advanced` or not: the first that does after a
    /// doubted timeout, and does not end what the timeout began, lets new data out in place of
    /// repairs.
    pub(super) fn try_new(&mut self, advanced: bool) {
        let first =
            self.last == Last::Timeout && self.una < self.recover && self.max == self.recover;
        if let Some(rack) = &mut self.rack {
            rack.doubt = match rack.doubt {
                Doubt::Doubted if !advanced => Doubt::Doubted,
                Doubt::Doubted if first => Doubt::Trying,
                _ => Doubt::None,
            };
        }
    }
}
