//! The receiving end: finds losses, keeps their history, and reports.
use super::history::History;
use super::{Equation, Tfrc};

/// How many later packets make a missing one lost (RFC 5348 §5.1).
const LATER: u8 = 3;
/// How many reports are kept until their sender reads them; more are never on their way, since one goes a round trip.
const KEPT: usize = 64;

/// What the receiver tells the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Report {
    /// Bytes a second that arrived since the report before.
    pub received: f64,
    /// The loss event rate.
    pub loss: f64,
}

/// Packets that are missing, until enough later ones have come.
#[derive(Clone, Copy, Debug)]
struct Gap {
    first: u32,
    /// The packet after the gap.
    after: u32,
    /// When the packet before it came, and that after it, in seconds.
    between: (f64, f64),
    /// How many later packets have come.
    later: u8,
}

/// The receiving end of one flow.
#[derive(Clone, Debug)]
pub(crate) struct TfrcReceiver {
    equation: Equation,
    size: f64,
    /// The packet expected next.
    next: u32,
    /// When the last one came, in seconds.
    last: f64,
    gaps: [Option<Gap>; LATER as usize],
    history: History,
    /// When it reported last, in seconds; `None` before the first packet.
    reported: Option<f64>,
    /// Bytes since then.
    bytes: f64,
    /// The rate of the report before.
    rate: f64,
    reports: Box<[Report; KEPT]>,
    count: u32,
}

impl TfrcReceiver {
    pub fn new(tfrc: &Tfrc) -> TfrcReceiver {
        TfrcReceiver {
            equation: tfrc.equation,
            size: tfrc.packet.get() as f64,
            next: 0,
            last: 0.0,
            gaps: [None; LATER as usize],
            history: History::default(),
            reported: None,
            bytes: 0.0,
            rate: 0.0,
            reports: Box::new([Report::default(); KEPT]),
            count: 0,
        }
    }

    /// Packet `seq`, marked or not, arrives at `now`, in seconds, and says that the sender measures round trips of `rtt` (0 for
    /// none yet): the number of the report that it gives rise to, if it does.
    pub fn receive(&mut self, now: f64, seq: u32, marked: bool, rtt: f64) -> Option<u32> {
        self.bytes += self.size;
        let mut event = self.notice(now, seq, rtt);
        if marked {
            event |= self.lost(seq, now, now, rtt);
        }
        let due = self.reported.is_none_or(|then| rtt > 0.0 && now - then >= rtt);
        (due || event).then(|| self.report(now, rtt))
    }

    /// Which packets are missing, and which of those are now lost: whether a new loss event has begun.
    fn notice(&mut self, now: f64, seq: u32, rtt: f64) -> bool {
        let mut event = false;
        for i in 0..self.gaps.len() {
            let Some(gap) = &mut self.gaps[i] else { continue };
            gap.later += 1;
            if gap.later >= LATER {
                let gap = *gap;
                self.gaps[i] = None;
                event |= self.close(gap, now, rtt);
            }
        }
        if seq > self.next
            && let Some(free) = self.gaps.iter_mut().find(|gap| gap.is_none())
        {
            *free = Some(Gap { first: self.next, after: seq, between: (self.last, now), later: 1 });
        }
        self.next = self.next.max(seq.wrapping_add(1));
        self.last = now;
        event
    }

    /// The packets of `gap` are lost, at times between those of its neighbours (§5.2).
    fn close(&mut self, gap: Gap, now: f64, rtt: f64) -> bool {
        let (before, after) = gap.between;
        let steps = (gap.after - gap.first + 1) as f64;
        let mut event = false;
        for seq in gap.first..gap.after {
            let at = before + (after - before) * (seq - gap.first + 1) as f64 / steps;
            event |= self.lost(seq, at, now, rtt);
        }
        event
    }

    fn lost(&mut self, seq: u32, at: f64, now: f64, rtt: f64) -> bool {
        // Before the first report comes back nothing is known of the round trip: a second, as the rate then is.
        let rtt = if rtt > 0.0 { rtt } else { 1.0 };
        let (equation, size) = (self.equation, self.size);
        let rate = self.measured(now, rtt);
        self.history.lost(seq, at, rtt, || 1.0 / equation.loss(size, rtt, rate))
    }

    /// The rate received over the last round trip or more.
    fn measured(&self, now: f64, rtt: f64) -> f64 {
        match self.reported {
            Some(then) if now - then >= rtt => self.bytes / (now - then),
            _ if self.rate > 0.0 => self.rate,
            _ => self.size / rtt,
        }
    }

    fn report(&mut self, now: f64, rtt: f64) -> u32 {
        let since = self.reported.map_or(0.0, |then| now - then);
        // A report before its time, for a loss, is of the rate of the one before: too few packets have come since.
        let whole = since > 0.0 && since >= rtt;
        if whole || self.rate == 0.0 {
            self.rate = if since > 0.0 { self.bytes / since } else { 0.0 };
            (self.reported, self.bytes) = (Some(now), 0.0);
        }
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
mod tests {
    use super::*;

    #[test]
    fn three_later_packets_make_a_loss() {
        let mut receiver = TfrcReceiver::new(&Tfrc::default());
        assert_eq!(receiver.receive(0.0, 0, false, 0.0), Some(0), "the first packet is reported at once");
        for seq in 1..100 {
            receiver.receive(seq as f64 * 0.01, seq, false, 0.1);
        }
        let before = receiver.count;
        for (i, seq) in [101, 102].into_iter().enumerate() {
            receiver.receive(1.01 + i as f64 * 0.001, seq, false, 0.1);
            assert_eq!(receiver.history.loss_event_rate(receiver.next), 0.0);
        }
        assert!(receiver.receive(1.013, 103, false, 0.1).is_some(), "and a new event is reported at once");
        assert!(receiver.count > before);
        // A hundred packets a second: the first interval is the one for which the equation gives that.
        let p = receiver.history.loss_event_rate(receiver.next);
        let x = Equation::Rfc.rate(1000.0, 0.1, p);
        assert!((x / 100_000.0 - 1.0).abs() < 0.05, "{x}");
    }
}
