//! The receiver: detects losses, keeps their history, and reports (RFC 5348 §5, §6). A timer makes
//! it report once a round trip; a new loss event makes it report at once.
use std::collections::VecDeque;

use tidegate::{Span, Time};

use super::history::History;
use super::note::Note;
use super::{Tfrc, TfrcRules, Times};

/// The later packets after which a missing one is lost (RFC 5348 §5.1); one in ns-2.
const LATER: u8 = 3;
/// The reports kept until the sender reads them. At one per round trip few are in flight. More are
/// while a queue grows without limit.
const KEPT: usize = 256;

/// The round trips after which ns-2 reports, whatever has come.
const NS2_PATIENCE: f64 = 1.5;

/// A report from the receiver to the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TfrcReport {
    /// The bytes per second received since the last report.
    pub received: f64,
    /// The loss event rate.
    pub loss: f64,
}

/// An arriving packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TfrcArrival {
    pub seq: u32,
    pub marked: bool,
    /// When it was sent.
    pub sent: Time,
    pub note: Note,
}

/// The report to send, and the time of the next timer event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Feedback {
    /// The number of the report to send now, and the send time that it echoes. That is the last
    /// packet's, later by the time since its arrival (RFC 5348 §6.2, t_delay).
    pub report: Option<(u32, Time)>,
    /// The time of an event to add, [`Time::MAX`] for none.
    pub next: Time,
}

/// Missing packets, until enough later ones have come.
#[derive(Clone, Copy, Debug)]
struct Gap {
    first: u32,
    /// The packet after the gap.
    after: u32,
    /// The times of the packets before and after the gap, in seconds.
    between: (f64, f64),
    /// The number of later packets so far.
    later: u8,
}

/// The receiver of one flow.
#[derive(Clone, Debug)]
pub(crate) struct TfrcReceiver {
    rules: TfrcRules,
    size: f64,
    /// The next packet expected.
    next: u32,
    /// The time that dates losses: the last packet's arrival (its sending in ns-2), in seconds.
    last: f64,
    /// The note in the last packet.
    note: Note,
    gaps: [Option<Gap>; LATER as usize],
    history: History,
    /// The round of the youngest loss event; `None` before the first.
    event_round: Option<u32>,
    /// The time of the last report, in seconds; `None` before the first packet.
    reported: Option<f64>,
    /// Bytes since then.
    bytes: f64,
    /// Whether a packet has come since the last report.
    news: bool,
    /// The one-way delay of the last packet.
    took: Span,
    /// When the feedback timer expires; [`Time::MAX`] while there is nothing to report.
    due: Time,
    /// The earliest event that is pending for it. Others are void.
    armed: Time,
    /// The rate in the last report.
    rate: f64,
    /// The arrivals of about the last two round trips, the oldest first (ns-2).
    recent: VecDeque<f64>,
    reports: Box<[TfrcReport; KEPT]>,
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
            reports: Box::new([TfrcReport::default(); KEPT]),
            count: 0,
        }
    }

    /// Takes a packet that arrives at `now`.
    pub fn receive(&mut self, now: Time, packet: TfrcArrival) -> Feedback {
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

    /// Whether to report without a loss. The first packet is reported (RFC 5348 §6.3), and one that
    /// comes after the timer has expired. By ns-2's rules so is the first of each round trip.
    fn is_due(&self, now: Time) -> bool {
        let Some(then) = self.reported else { return true };
        let rtt = self.note.path.rtt;
        match self.rules {
            TfrcRules::Rfc => self.due <= now,
            TfrcRules::Ns2 => self.note.urgent || rtt > 0.0 && now.as_secs() - then >= rtt,
        }
    }

    /// Restarts a stopped timer when a packet comes. The timer would have expired every round trip
    /// in between. The rate is measured from the start of the current round trip.
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

    /// Handles the timer event at `now`.
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

    /// Returns `report`, and the timer's next event unless one is pending early enough.
    fn feedback(&mut self, now: Time, report: Option<u32>) -> Feedback {
        let answered = Time::ZERO + now.since(Time::ZERO + self.took);
        let next = if self.due < self.armed { self.due } else { Time::MAX };
        self.armed = self.armed.min(self.due);
        Feedback { report: report.map(|number| (number, answered)), next }
    }

    /// Finds missing packets, and those that are now lost. Returns whether a new loss event began.
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

    /// Counts the packets of `gap` as lost, at times between those of its neighbours (§5.2).
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
        // The round trip is unknown before the first report returns. Take a second, since the rate
        // is then one packet a second.
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

    /// The rate that sets the first loss interval (§6.3.1): the rate received in the last round
    /// trip, and at least half a packet. `seq` is the first packet lost.
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

    /// Records the arrival of a packet.
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

    /// Makes a report at `now`, which is `due` or early. Returns its number.
    fn report(&mut self, now: Time, due: bool) -> u32 {
        let at = now.as_secs();
        let rtt = self.note.path.rtt;
        let since = self.reported.map_or(0.0, |then| at - then);
        // An early report, for a loss, repeats the last rate: too few packets have come since.
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
        let report =
            TfrcReport { received: self.rate, loss: self.history.loss_event_rate(self.next) };
        self.reports[number as usize % KEPT] = report;
        number
    }

    /// The report of this number.
    pub fn read(&self, number: u32) -> TfrcReport {
        self.reports[number as usize % KEPT]
    }
}

#[cfg(test)]
#[path = "receiver_tests.rs"]
mod tests;
