//! The sender: the rate, and the time of the next packet (RFC 5348 §4).
use tidegate::{Ecn, Span, Time};

use super::note::Note;
use super::ns2::{Ns2, TfrcSending};
use super::{Damping, Tfrc, TfrcReport, TfrcRules, Times};
use crate::sources::tcp::Output;

/// The longest time between two packets, t_mbi, in seconds.
const LONGEST: f64 = 64.0;
/// The initial window is at least two packets and up to this, in bytes (§4.2).
const WINDOW: f64 = 4380.0;
/// The weight of a new sample of the round trip (q = 0.9).
const NEWS: f64 = 0.1;
/// The notes kept for the receiver to read. A packet's note is as old as the packet. The packet may
/// have waited in a long queue while many reports arrived.
const KEPT: usize = 256;

/// The sender of one flow. Rates are in bytes per second, times in seconds except those of events.
#[derive(Clone, Debug)]
pub(crate) struct TfrcSender {
    rules: TfrcRules,
    damping: Damping,
    ecn: Ecn,
    size: f64,
    /// X.
    rate: f64,
    /// R and t_RTO; 0 before the first report.
    path: Times,
    /// The mean of the square roots of R's samples.
    root: f64,
    /// The last sample.
    sample: f64,
    pub(super) loss: f64,
    control: RateControl,
    /// The notes in packets, each with the first packet that has it.
    notes: Box<[(u32, Note); KEPT]>,
    changes: usize,
    next: u32,
    /// When the last packet was sent.
    sent_at: Time,
    /// When the next one is due; [`Time::MAX`] before the start.
    pub send_at: Time,
    /// When missing reports halve the rate; [`Time::MAX`] before the start.
    pub timeout_at: Time,
}

/// How the rate follows the reports.
#[derive(Clone, Debug)]
enum RateControl {
    Rfc(Rfc),
    Ns2(Ns2),
}

/// The RFC's control (§4.3).
#[derive(Clone, Copy, Debug)]
struct Rfc {
    /// The time of the last doubling.
    doubled: f64,
    /// X_recv_set: the rates reported in the last two round trips, with their times, youngest
    /// first.
    rates: [(f64, f64); 8],
    count: usize,
}

impl Rfc {
    fn only(at: f64, rate: f64) -> Rfc {
        let mut recent = Rfc { doubled: at, rates: [(0.0, 0.0); 8], count: 1 };
        recent.rates[0] = (at, rate);
        recent
    }

    /// Adds `rate`, and removes those older than `since`.
    fn add(&mut self, at: f64, rate: f64, since: f64) {
        self.rates.rotate_right(1);
        self.rates[0] = (at, rate);
        self.count = (self.count + 1).min(self.rates.len());
        while self.count > 1 && self.rates[self.count - 1].0 < since {
            self.count -= 1;
        }
    }

    fn most(&self) -> f64 {
        self.rates[..self.count].iter().fold(0.0, |most, r| most.max(r.1))
    }
}

impl TfrcSender {
    pub fn new(tfrc: &Tfrc) -> TfrcSender {
        let size = tfrc.packet.get() as f64;
        let (rate, control) = match tfrc.rules {
            // A packet a second (§4.2).
            TfrcRules::Rfc => (size, RateControl::Rfc(Rfc::only(0.0, f64::INFINITY))),
            TfrcRules::Ns2 => (Ns2::FIRST, RateControl::Ns2(Ns2::default())),
        };
        TfrcSender {
            rules: tfrc.rules,
            damping: tfrc.damping,
            ecn: tfrc.ecn,
            size,
            rate,
            path: Times::default(),
            root: 0.0,
            sample: 0.0,
            loss: 0.0,
            control,
            notes: Box::new([(0, Note { urgent: true, ..Note::default() }); KEPT]),
            changes: 1,
            next: 0,
            sent_at: Time::ZERO,
            send_at: Time::MAX,
            timeout_at: Time::MAX,
        }
    }

    /// Starts, or sends the next packet if it is due.
    pub fn wake(&mut self, now: Time, out: &mut Vec<Output>) {
        if self.send_at == Time::MAX {
            self.send_at = now;
            // §4.2: two seconds
            self.timeout_at = now + Span::from_secs(2.0 * self.size / self.rate);
        }
        if now >= self.send_at {
            self.send(now, out);
        }
    }

    fn send(&mut self, now: Time, out: &mut Vec<Output>) {
        out.push(Output { seq: self.next, len: self.size as u16, flags: self.ecn as u8 });
        self.next = self.next.wrapping_add(1);
        self.sent_at = now;
        self.send_at = now + self.interval();
    }

    /// Takes `report`, which answers a packet sent at `born`.
    pub fn reported(&mut self, now: Time, report: TfrcReport, born: Time, out: &mut Vec<Output>) {
        let (at, first) = (now.as_secs(), self.path.rtt == 0.0);
        self.measure(now.since(born).as_secs());
        self.loss = report.loss;
        match &mut self.control {
            RateControl::Ns2(control) => {
                let mut control = *control;
                self.timeout_at = now + self.patience(2.0);
                let mut sending = self.sending();
                let out_of_turn = control.reported(&mut sending, at, report, first);
                self.rate = sending.rate;
                self.control = RateControl::Ns2(control);
                self.tell(control.round, false);
                if out_of_turn {
                    self.send(now, out);
                }
            }
            RateControl::Rfc(control) => {
                if first {
                    // The rate that the first packets arrived at says nothing.
                    *control = Rfc::only(at, f64::INFINITY);
                    self.rate = self.initial_rate();
                } else {
                    control.add(at, report.received, at - 2.0 * self.path.rtt);
                    let mut control = *control;
                    self.adjust(at, &mut control);
                    self.control = RateControl::Rfc(control);
                }
                self.timeout_at = now + self.patience(4.0);
                self.tell(0, false);
                self.replan(now);
            }
        }
    }

    /// The state that ns-2's control reads.
    fn sending(&self) -> TfrcSending {
        let (rules, size, path, rate) = (self.rules, self.size, self.path, self.rate);
        TfrcSending { rules, size, path, initial_rate: self.initial_rate(), rate }
    }

    /// Halves the rate: no report has come for too long (§4.4).
    pub fn timed_out(&mut self, now: Time, out: &mut Vec<Output>) {
        match &mut self.control {
            RateControl::Ns2(control) => {
                control.round += 1;
                let round = control.round;
                self.rate /= 2.0;
                self.timeout_at = now + self.patience(2.0);
                self.tell(round, true);
                self.send(now, out);
            }
            RateControl::Rfc(control) => {
                self.rate = (self.rate / 2.0).max(self.size / LONGEST);
                // Until the next report, the received rate allows no more than this.
                *control =
                    Rfc { doubled: control.doubled, ..Rfc::only(now.as_secs(), self.rate / 2.0) };
                self.timeout_at = now + self.patience(4.0);
                self.replan(now);
            }
        }
    }

    /// The note in packet `seq`.
    pub fn note_of(&self, seq: u32) -> Note {
        let oldest = self.changes.saturating_sub(KEPT);
        let kept = (oldest..self.changes).rev().map(|i| self.notes[i % KEPT]);
        kept.into_iter()
            .find(|change| change.0 <= seq)
            .map_or_else(Note::default, |change| change.1)
    }

    /// Sets the note for packets from now on.
    fn tell(&mut self, round: u32, urgent: bool) {
        self.notes[self.changes % KEPT] = (self.next, Note { path: self.path, round, urgent });
        self.changes += 1;
    }

    fn measure(&mut self, sample: f64) {
        self.sample = sample;
        let news = if self.rules == TfrcRules::Ns2 { Ns2::NEWS } else { NEWS };
        if self.path.rtt == 0.0 {
            (self.path.rtt, self.root) = (sample, sample.sqrt());
        } else {
            self.path.rtt += news * (sample - self.path.rtt);
            self.root += news * (sample.sqrt() - self.root);
        }
        self.path.rto = match &mut self.control {
            RateControl::Rfc(_) => Times::of(self.path.rtt).rto,
            RateControl::Ns2(control) => control.timeout(sample),
        };
    }

    /// Step (4) of §4.3.
    fn adjust(&mut self, at: f64, control: &mut Rfc) {
        let limit = 2.0 * control.most();
        if self.loss > 0.0 {
            let fair = self.rules.rate(self.size, self.path, self.loss);
            self.rate = fair.min(limit).max(self.size / LONGEST);
        } else if at - control.doubled >= self.path.rtt {
            self.rate = (2.0 * self.rate).min(limit).max(self.initial_rate());
            control.doubled = at;
        }
    }

    /// The initial window a round trip.
    fn initial_rate(&self) -> f64 {
        let window = (4.0 * self.size).min((2.0 * self.size).max(WINDOW));
        window / self.path.rtt
    }

    /// How long to wait for a report: `round_trips` or two packets, whichever is longer.
    fn patience(&self, round_trips: f64) -> Span {
        let two_packets = 2.0 * self.size / self.rate;
        Span::from_secs((round_trips * self.path.rtt).max(two_packets))
    }

    /// The interval between packets at the current rate.
    fn interval(&mut self) -> Span {
        let slow = match &mut self.control {
            RateControl::Ns2(control) => control.slow_increase(self.rate),
            RateControl::Rfc(_) => None,
        };
        let rate = match self.damping {
            _ if slow.is_some() => slow.unwrap_or(self.rate),
            Damping::On if self.sample > 0.0 => self.rate * self.root / self.sample.sqrt(),
            _ => self.rate,
        };
        Span::from_secs(self.size / rate.max(self.size / LONGEST))
    }

    /// Reschedules the next packet by the current rate.
    fn replan(&mut self, now: Time) {
        self.send_at = (self.sent_at + self.interval()).max(now + Span::from_nanos(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(s: f64) -> Time {
        Time::ZERO + Span::from_secs(s)
    }

    #[test]
    fn the_rate_doubles_each_round_trip_until_a_loss() {
        let mut sender = TfrcSender::new(&Tfrc::default());
        let mut out = vec![];
        sender.wake(second(0.0), &mut out);
        assert_eq!((out.len(), sender.send_at, sender.timeout_at), (1, second(1.0), second(2.0)));
        let mut report = |now: f64, received: f64, loss: f64| {
            let report = TfrcReport { received, loss };
            sender.reported(second(now), report, second(now - 0.1), &mut vec![]);
            sender.rate
        };
        assert_eq!(report(0.1, 0.0, 0.0), 40_000.0, "four packets a round trip of 0.1 s");
        assert_eq!(report(0.2, 40_000.0, 0.0), 80_000.0);
        assert_eq!(report(0.25, 40_000.0, 0.0), 80_000.0, "not twice within a round trip");
        assert_eq!(report(0.42, 50_000.0, 0.0), 100_000.0, "not above twice what was received");
        let rate = report(0.5, 100_000.0, 0.01);
        assert!((rate - 112_332.2).abs() < 0.1, "{rate}");
        assert_eq!((sender.note_of(0).path.rtt, sender.note_of(1).path), (0.0, sender.path));
    }

    #[test]
    fn silence_halves_the_rate_down_to_a_packet_in_64_s() {
        let mut sender = TfrcSender::new(&Tfrc::default());
        sender.wake(second(0.0), &mut vec![]);
        for halvings in 1..=10 {
            let at = sender.timeout_at;
            sender.timed_out(at, &mut vec![]);
            assert_eq!(sender.rate, (1000.0 / (1 << halvings) as f64).max(1000.0 / 64.0));
        }
    }

    /// ns-2: after the first loss the rate that the equation allows is approached by a packet per
    /// round trip.
    #[test]
    fn by_ns2_s_rules_the_rate_grows_by_a_packet_a_round_trip() {
        let mut sender = TfrcSender::new(&Tfrc { rules: TfrcRules::Ns2, ..Tfrc::default() });
        let mut out = vec![];
        sender.wake(second(0.0), &mut out);
        assert_eq!(sender.timeout_at, second(2.0 * 1000.0 / 300.0));
        let mut report = |now: f64, received: f64, loss: f64| {
            let report = TfrcReport { received, loss };
            sender.reported(second(now), report, second(now - 0.1), &mut out);
            sender.rate
        };
        assert_eq!(report(0.1, 0.0, 0.0), 40_000.0, "four packets a round trip of 0.1 s");
        let low = report(0.2, 40_000.0, 0.02);
        assert!(low < 80_000.0, "the first loss sets the rate to what the equation gives: {low}");
        let after = report(0.3, 60_000.0, 0.005);
        assert!(
            (after - low - 20_000.0).abs() < 1.0,
            "two round trips after slow start's last step: {low} to {after}"
        );
        let grown = report(0.4, 60_000.0, 0.005);
        assert!((grown - after - 10_000.0).abs() < 1.0, "{after} to {grown}");
        let late = report(1.4, 90_000.0, 0.002);
        assert!(
            (late - grown - 20_000.0).abs() < 1.0,
            "at most two packets at once: {grown} to {late}"
        );
        assert!(report(1.5, 20_000.0, 0.01) == 40_000.0, "not above twice what was received");
        assert_eq!(
            out.len(),
            2,
            "a packet when it starts, one with the first report, none with the others"
        );
    }
}
