//! The sender by RACK-TLP (RFC 8985): losses told by time, probes for what nothing tells of, and a
//! window that falls by proportional rate reduction (RFC 9937), as in Linux.
use tidegate::{Rng, Span, Time};

use super::congestion::Found;
use super::rack::{Doubt, Probe};
use super::report::Report;
use super::sender::{Last, Output, TcpSender};

/// What a receiver may wait with an acknowledgement at worst, by which a probe of a single segment
/// comes later (RFC 8985 §7.2, TLP.max_ack_delay).
const WORST_DELAY: Span = Span::from_millis(200);

impl TcpSender {
    /// An acknowledgement comes.
    pub(super) fn timely(
        &mut self,
        now: Time,
        report: &Report,
        echo: bool,
        dice: &mut Rng,
        out: &mut Vec<Output>,
    ) {
        let echo = self.heard(now, report.ack, echo);
        let before = self.before();
        let (Some(rack), deliveries) = (&mut self.rack, &mut self.deliveries) else { return };
        let news = match deliveries {
            None => rack.update(now, report),
            Some(deliveries) => {
                rack.update_telling(now, report, |seq| deliveries.arrived(now, seq))
            }
        };
        let advanced = report.ack > self.una;
        let mut opens = None;
        if advanced {
            if self.last == Last::Duplicates && report.ack < self.recover {
                self.rto.acked_in_part(&self.answer(now, report.ack));
                self.una = report.ack;
                self.set_timer(now);
            } else if self.is_linux() {
                opens = self.delivered(now, report.ack, news);
            } else {
                self.advance(now, report.ack, echo);
            }
        }
        self.try_new(advanced);
        self.end_probe(now, report.ack, advanced, news);
        self.find_losses(now, news, advanced);
        if let Some(acked) = opens {
            self.grow_unless_reducing(&acked);
        }
        if let Some(before) = before {
            self.model(now, before, dice);
        }
        self.fill(now, u32::MAX, dice, out);
        if advanced {
            self.plan_probe(now);
        }
    }

    /// Looks for losses, of which the first begins a recovery, and lets the window of a recovery
    /// follow what has arrived.
    fn find_losses(&mut self, now: Time, news: u32, advanced: bool) {
        let repairing = self.mends();
        let Some(rack) = &mut self.rack else { return };
        let again = rack.again();
        let lost = rack.detect(now, repairing);
        let repairs_lost = rack.again() < again;
        let (waits, missing) = (rack.has_lost(), rack.has_missing());
        // By Linux's rules what the last recovery has sent again, beyond what it was for, is a loss
        // of its own until it has arrived.
        let begins = if repairing {
            waits && repairs_lost && self.begins_anew()
        } else {
            waits || missing && self.is_linux()
        };
        if begins {
            self.begin_recovery(now);
        }
        if (self.last == Last::Duplicates || self.is_marked())
            && news > 0
            && self.window.answers_losses()
            && let Some(rack) = &mut self.rack
        {
            self.window.cwnd = rack.reduce(news, lost, advanced, self.window.ssthresh);
        }
    }

    /// Whether it is in a recovery, or after a timeout within what was sent before it.
    pub(super) fn mends(&self) -> bool {
        match self.last {
            Last::Duplicates => true,
            Last::Timeout => self.una < self.recover,
            _ => false,
        }
    }

    fn begin_recovery(&mut self, now: Time) {
        // A mark has cut the window for this round trip; the loss is only repaired.
        let cut = self.is_marked() || self.last == Last::Echo && self.una < self.recover;
        let prior = self.window.cwnd;
        if !cut {
            let flight = (self.max - self.una).min(self.window.segments());
            self.window.on_loss(Found { now, una: self.una, flight });
            self.reduced = true;
        }
        let goes_on = cut && self.is_marked();
        if let Some(rack) = &mut self.rack {
            rack.probe_at = Time::MAX;
            if self.window.answers_losses() && !goes_on {
                rack.begin(prior);
                self.window.cwnd = rack.reduce(0, 1, false, self.window.ssthresh);
            }
        }
        // What is lost beyond what the mark was of is another loss.
        self.recover = if goes_on { self.recover } else { self.max };
        self.last = Last::Duplicates;
        self.rto.abandon();
        self.set_timer(now);
    }

    /// Sends what the window allows, lost segments first.
    pub(super) fn resend(&mut self, now: Time, out: &mut Vec<Output>) {
        while self.has_place() {
            let Some(seq) = self.choose_by_time() else { return };
            self.send_by_time(now, seq, out);
        }
    }

    /// Whether what is under way leaves room in the window.
    pub(super) fn has_place(&self) -> bool {
        self.rack.as_ref().is_some_and(|rack| rack.pipe() < self.window.segments())
    }

    /// What to send next: what is lost, else new data; after a timeout that is doubted, once new
    /// data first.
    pub(super) fn choose_by_time(&mut self) -> Option<u32> {
        let fresh = self.has_fresh().then_some(self.max);
        let rack = self.rack.as_mut()?;
        if rack.doubt == Doubt::Trying && fresh.is_some() {
            fresh
        } else {
            rack.next_lost().or(fresh)
        }
    }

    pub(super) fn send_by_time(&mut self, now: Time, seq: u32, out: &mut Vec<Output>) {
        let Some(rack) = &mut self.rack else { return };
        rack.reduction.sent += 1;
        let fresh = seq == self.max;
        self.send(now, seq, out);
        self.next = self.max;
        if fresh {
            self.plan_probe(now);
        }
    }

    /// Whether there is something to send that the window allows.
    pub(super) fn may_resend(&self) -> bool {
        self.has_place()
            && (self.has_fresh() || self.rack.as_ref().is_some_and(|rack| rack.has_lost()))
    }

    /// Sets the probe's time anew, while nothing is known to be missing and none is under way.
    fn plan_probe(&mut self, now: Time) {
        let (idle, mends, srtt) = (self.una == self.max, self.mends(), self.rto.smooth);
        let opening = self.is_opening();
        let Some(rack) = &mut self.rack else { return };
        if idle || opening || mends || rack.probe.is_some() || !rack.is_open() {
            rack.probe_at = Time::MAX;
        } else {
            rack.set_probe(now, srtt, self.timeout_at, WORST_DELAY);
        }
    }

    /// The time for which something was planned has come, other than the retransmission timer's:
    /// whether there was such a thing.
    pub fn look(&mut self, now: Time, dice: &mut Rng, out: &mut Vec<Output>) -> bool {
        let Some(rack) = &mut self.rack else { return false };
        if rack.reorder_at <= now {
            self.find_losses(now, 0, false);
            self.fill(now, u32::MAX, dice, out);
            return true;
        }
        if rack.probe_at > now {
            return false;
        }
        rack.probe_at = Time::MAX;
        if self.una < self.max {
            self.probe(now, out);
        }
        true
    }

    /// Sends a segment beyond the window, new if there is one, so that an acknowledgement tells of
    /// what is lost (RFC 8985 §7.3).
    fn probe(&mut self, now: Time, out: &mut Vec<Output>) {
        let again = self.max == self.end || self.max - self.una >= self.window.most();
        let seq = if again { self.max - 1 } else { self.max };
        self.send(now, seq, out);
        self.next = self.max;
        self.set_timer(now);
        if let Some(rack) = &mut self.rack {
            rack.probe = Some(Probe { end: self.max, again });
            rack.reduction.sent += 1;
        }
    }

    /// Whether `ack` ends the probe. What it has repaired was a loss, and the window answers for it
    /// (RFC 8985 §7.4).
    fn end_probe(&mut self, now: Time, ack: u32, advanced: bool, news: u32) {
        let Some(rack) = &mut self.rack else { return };
        let Some(Probe { end, again }) = rack.probe else { return };
        if ack < end {
            return;
        }
        let lost = again && ack > end;
        if !again || lost || !advanced && news == 0 {
            rack.probe = None;
        }
        if lost && !self.mends() {
            let flight = (self.max - self.una).min(self.window.segments());
            self.window.on_loss(Found { now, una: self.una, flight });
            self.reduced = true;
            self.recover = self.max;
            self.last = Last::Recovered;
        }
    }

    /// When the next of its timers runs out.
    #[inline]
    pub fn alarm(&self) -> Time {
        match &self.rack {
            None => self.timeout_at,
            Some(rack) => self.timeout_at.min(rack.reorder_at).min(rack.probe_at),
        }
    }
}

#[cfg(test)]
#[path = "timely_tests.rs"]
mod tests;
