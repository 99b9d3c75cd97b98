//! The receiving end: finds losses, keeps their history, and reports (RFC 5348 §5, §6): once a
//! round trip, by a timer, and at once with a new loss event.
use std::collections::VecDeque;

use tidegate::{Span, Time};

use super::history::History;
use super::note::Note;
use super::{Tfrc, TfrcRules, Times};

/// How many later packets make a missing one lost (RFC 5348 §5.1); ns-2: one.
const LATER: u8 = 3;
/// How many reports are kept until their sender reads them. One goes a round trip, as the packet
/// bears it; while a queue grows without limit, more are on their way.
const KEPT: usize = 256;

/// After how many round trips ns-2 reports in any case.
const NS2_PATIENCE: f64 = 1.5;

/// What the receiver tells the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Report {
    /// Bytes a second that arrived since the report before.
    pub received: f64,
    /// The loss event rate.
    pub loss: f64,
}

/// A packet as it arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub seq: u32,
    pub marked: bool,
    /// When it was sent.
    pub sent: Time,
    pub note: Note,
}

/// What is to be sent back, and when to look again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Feedback {
    /// The number of a report to send now, and when a packet was sent that it answers at once: the
    /// one that came last, as if it had been sent later by as long as it has been here (RFC
    /// 5348 §6.2, t_delay).
    pub report: Option<(u32, Time)>,
    /// The time of an event to be added, [`Time::MAX`] for none.
    pub next: Time,
}

/// Packets that are missing, until enough later ones have come.
#[derive(Clone, Copy, Debug)]
struct Gap {
    first: u32,
    /// The packet after the gap.
    after: u32,
    /// The time of the packet before it, and of that after it, in seconds.
    between: (f64, f64),
    /// How many later packets have come.
    later: u8,
}

/// The receiving end of one flow.
#[derive(Clone, Debug)]
pub(crate) struct TfrcReceiver {
    rules: TfrcRules,
    size: f64,
    /// The packet expected next.
    next: u32,
    /// The time of the last one that losses go by: when it came (ns-2: when it was sent).
    last: f64,
    /// What it told.
    note: Note,
    gaps: [Option<Gap>; LATER as usize],
    history: History,
    /// The round of the youngest loss event; `None` before the first.
    event_round: Option<u32>,
    /// When it reported last, in seconds; `None` before the first packet.
    reported: Option<f64>,
    /// Bytes since then.
    bytes: f64,
    /// Whether a packet has come since the last report.
    news: bool,
    /// How long the last packet took to come.
    took: Span,
    /// When the feedback timer runs out; [`Time::MAX`] while there is nothing to report.
    due: Time,
    /// The earliest event that is pending for it. Others are void.
    armed: Time,
    /// The rate of the report before.
    rate: f64,
    /// When the packets of about the last round trip came, the oldest first (ns-2).
    recent: VecDeque<f64>,
    reports: Box<[Report; KEPT]>,
    count: u32,
}

impl TfrcReceiver {
    pub fn new(tfrc: &Tfrc) -> TfrcReceiver {
        TfrcReceiver {
            rules: tfrc.rules,
            size: tfrc.packet.get() as f64,
            next: 0,
            last: 0.0,
            note: Note::default(),
            gaps: [None; LATER as usize],
            history: History::default(),
            event_round: None,
            reported: None,
            bytes: 0.0,
            news: false,
            took: Span::ZERO,
            due: Time::MAX,
            armed: Time::MAX,
            rate: 0.0,
            recent: VecDeque::new(),
            reports: Box::new([Report::default(); KEPT]),
            count: 0,
        }
    }

    /// A packet arrives at `now`.
    pub fn receive(&mut self, now: Time, packet: Arrival) -> Feedback {
        let at = now.as_secs();
        self.note = packet.note;
        self.start_timer(now);
        self.bytes += self.size;
        self.news = true;
        self.took = now.since(packet.sent);
        let time = if self.rules == TfrcRules::Ns2 { packet.sent.as_secs() } else { at };
        if self.rules == TfrcRules::Ns2 {
            self.remember(at);
        }
        let mut event = self.notice(time, at, packet.seq);
        if packet.marked {
            event |= self.lost(packet.seq, time, at);
        }
        let due = self.is_due(now);
        let report = (event || due).then(|| self.report(now, due));
        self.feedback(now, report)
    }

    /// Whether a packet is to be reported although nothing is lost: the first (RFC 5348 §6.3), by
    /// ns-2's rules the first of a round trip, and one for which the timer has run out.
    fn is_due(&self, now: Time) -> bool {
        let Some(then) = self.reported else { return true };
        let rtt = self.note.path.rtt;
        match self.rules {
            TfrcRules::Rfc => self.due <= now,
            TfrcRules::Ns2 => self.note.urgent || rtt > 0.0 && now.as_secs() - then >= rtt,
        }
    }

    /// The timer begins to run again, a packet having come. It runs out every round trip, and while
    /// nothing came nobody looked; what is measured is of the round trip that it is in now.
    fn start_timer(&mut self, now: Time) {
        let (rtt, at) = (self.note.path.rtt, now.as_secs());
        let (TfrcRules::Rfc, Time::MAX, Some(then)) = (self.rules, self.due, self.reported) else {
            return;
        };
        if rtt == 0.0 {
            return;
        }
        let mut from = then;
        if !self.news {
            from += ((at - then) / rtt).floor() * rtt;
            (self.reported, self.bytes) = (Some(from), 0.0);
        }
        self.due = Time::ZERO + Span::from_secs(from + rtt);
    }

    /// The time has come for which an event was asked.
    pub fn ring(&mut self, now: Time) -> Feedback {
        if self.armed != now {
            return Feedback { report: None, next: Time::MAX };
        }
        self.armed = Time::MAX;
        if self.due > now {
            return self.feedback(now, None);
        }
        if self.rules == TfrcRules::Ns2 || self.news {
            let report = self.report(now, true);
            return self.feedback(now, Some(report));
        }
        (self.reported, self.bytes) = (Some(now.as_secs()), 0.0);
        self.due = Time::MAX;
        self.feedback(now, None)
    }

    /// A report, if there is one, and the event for the timer, if none is pending in time.
    fn feedback(&mut self, now: Time, report: Option<u32>) -> Feedback {
        let answered = Time::ZERO + now.since(Time::ZERO + self.took);
        let next = if self.due < self.armed { self.due } else { Time::MAX };
        self.armed = self.armed.min(self.due);
        Feedback { report: report.map(|number| (number, answered)), next }
    }

    /// Which packets are missing, and which of those are now lost: whether a new loss event has
    /// begun.
    fn notice(&mut self, time: f64, at: f64, seq: u32) -> bool {
        let mut event = false;
        for i in 0..self.gaps.len() {
            let Some(gap) = &mut self.gaps[i] else { continue };
            gap.later += 1;
            if gap.later >= LATER {
                let gap = *gap;
                self.gaps[i] = None;
                event |= self.close(gap, at);
            }
        }
        if seq > self.next {
            let before = if self.next == 0 { time } else { self.last };
            let gap = Gap { first: self.next, after: seq, between: (before, time), later: 1 };
            if self.rules == TfrcRules::Ns2 {
                self.last = time;
                event |= self.close(gap, at);
            } else if let Some(free) = self.gaps.iter_mut().find(|gap| gap.is_none()) {
                *free = Some(gap);
            }
        }
        self.next = self.next.max(seq.wrapping_add(1));
        self.last = time;
        event
    }

    /// The packets of `gap` are lost, at times between those of its neighbours (§5.2).
    fn close(&mut self, gap: Gap, now: f64) -> bool {
        let (before, after) = gap.between;
        let steps = (gap.after - gap.first + 1) as f64;
        let mut event = false;
        for seq in gap.first..gap.after {
            let time = before + (after - before) * (seq - gap.first + 1) as f64 / steps;
            event |= self.lost(seq, time, now);
        }
        event
    }

    fn lost(&mut self, seq: u32, mut time: f64, now: f64) -> bool {
        // Before the first report comes back nothing is known of the round trip: a second, as the
        // rate then is.
        let path = if self.note.path.rtt > 0.0 { self.note.path } else { Times::of(1.0) };
        if self.rules == TfrcRules::Ns2 {
            if self.event_round == Some(self.note.round) {
                return false;
            }
            if self.event_round.is_none() {
                time = self.last; // the first event is dated by the packet that shows it
            }
        }
        let (rules, size) = (self.rules, self.size);
        let target = if self.event_round.is_none() { self.target(seq, now, path.rtt) } else { 0.0 };
        let event = self.history.lost(seq, time, path.rtt, || 1.0 / rules.loss(size, path, target));
        if event {
            self.event_round = Some(self.note.round);
        }
        event
    }

    /// The rate for which the first interval stands, `seq` being the first packet lost: what was
    /// received in the last round trip, and if that was nothing, or less, half a packet
    /// (§6.3.1).
    fn target(&self, seq: u32, now: f64, rtt: f64) -> f64 {
        let least = match self.rules {
            TfrcRules::Rfc => 0.5 * self.size / rtt,
            TfrcRules::Ns2 => 0.0,
        };
        if seq == 0 && least > 0.0 { least } else { self.measured(now, rtt).max(least) }
    }

    /// The rate received over the last round trip or more.
    fn measured(&self, now: f64, rtt: f64) -> f64 {
        match self.reported {
            Some(then) if now - then >= rtt && self.bytes > 0.0 => self.bytes / (now - then),
            Some(then) if now - then >= rtt => self.size, // a packet a second, for want of any
            _ if self.rules == TfrcRules::Ns2 => self.recent_rate(now, rtt),
            _ if self.rate > 0.0 => self.rate,
            _ => self.size / rtt,
        }
    }

    /// Takes the arrival of a packet down.
    fn remember(&mut self, at: f64) {
        let since = at - 2.0 * self.note.path.rtt;
        while self.recent.front().is_some_and(|&then| then < since) {
            self.recent.pop_front();
        }
        self.recent.push_back(at);
    }

    /// The rate of the packets of the last round trip.
    fn recent_rate(&self, now: f64, rtt: f64) -> f64 {
        let count = self.recent.iter().rev().take_while(|&&then| then + rtt > now).count();
        self.size * count.max(1) as f64 / rtt
    }

    /// Reports at `now`, when it is `due` or before that.
    fn report(&mut self, now: Time, due: bool) -> u32 {
        let at = now.as_secs();
        let rtt = self.note.path.rtt;
        let since = self.reported.map_or(0.0, |then| at - then);
        // A report before its time, for a loss, is of the rate of the one before: too few packets
        // have come since.
        let whole = since > 0.0 && (due || since >= rtt);
        if self.rules == TfrcRules::Ns2 {
            self.rate = if rtt > 0.0 { self.measured(at, rtt) } else { self.size };
            (self.reported, self.bytes) = (Some(at), 0.0);
        } else if whole || self.rate == 0.0 {
            self.rate = if since > 0.0 { self.bytes / since } else { 0.0 };
            (self.reported, self.bytes) = (Some(at), 0.0);
        }
        let patience = if self.rules == TfrcRules::Ns2 { NS2_PATIENCE } else { 1.0 };
        self.due = if rtt > 0.0 { now + Span::from_secs(patience * rtt) } else { Time::MAX };
        self.news = false;
        let number = self.count;
        self.count = self.count.wrapping_add(1);
        let report = Report { received: self.rate, loss: self.history.loss_event_rate(self.next) };
        self.reports[number as usize % KEPT] = report;
        number
    }

    /// The report of this number.
    pub fn read(&self, number: u32) -> Report {
        self.reports[number as usize % KEPT]
    }
}

#[cfg(test)]
#[path = "receiver_tests.rs"]
mod tests;
