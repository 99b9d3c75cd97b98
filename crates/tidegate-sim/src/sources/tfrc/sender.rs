//! The sending end: the rate, and when the next packet goes (RFC 5348 §4).
use tidegate::{Ecn, Span, Time};

use super::{Damping, Equation, Report, Tfrc};
use crate::sources::tcp::Output;

/// The longest time between two packets, t_mbi, in seconds.
const LONGEST: f64 = 64.0;
/// The initial window is at least two packets and up to this, in bytes (§4.2).
const WINDOW: f64 = 4380.0;
/// What a new sample of the round trip counts (q = 0.9).
const NEWS: f64 = 0.1;
/// How many of the receiver's rates are kept, and how many round trips; more never reach back two round trips.
const KEPT: usize = 32;

/// The sending end of one flow. Rates in bytes a second, times in seconds but for those of events.
#[derive(Clone, Debug)]
pub(crate) struct TfrcSender {
    equation: Equation,
    damping: Damping,
    ecn: Ecn,
    size: f64,
    /// X.
    rate: f64,
    /// R; 0 before the first report.
    rtt: f64,
    /// Of the square root of its samples the mean.
    root: f64,
    /// The last sample.
    sample: f64,
    loss: f64,
    /// When the rate was doubled last.
    doubled: f64,
    /// X_recv_set: the receiver's rates of the last two round trips, and when they came.
    received: Recent,
    /// The round trips that packets bore, from which number on: for the receiver, who reads it in a packet.
    rtts: Box<[(u32, f64); KEPT]>,
    changes: usize,
    next: u32,
    /// When the last packet was sent.
    sent_at: Time,
    /// When the next one is due; [`Time::MAX`] before the start.
    pub send_at: Time,
    /// When the rate is halved for want of reports; [`Time::MAX`] before the start.
    pub timeout_at: Time,
}

/// The receiver's rates, the youngest first.
#[derive(Clone, Copy, Debug)]
struct Recent {
    rates: [(f64, f64); 8],
    count: usize,
}

impl Recent {
    fn only(at: f64, rate: f64) -> Recent {
        let mut recent = Recent { rates: [(0.0, 0.0); 8], count: 1 };
        recent.rates[0] = (at, rate);
        recent
    }

    /// Takes `rate` in and forgets those older than `since`.
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
        TfrcSender {
            equation: tfrc.equation,
            damping: tfrc.damping,
            ecn: tfrc.ecn,
            size,
            rate: size, // a packet a second (§4.2)
            rtt: 0.0,
            root: 0.0,
            sample: 0.0,
            loss: 0.0,
            doubled: 0.0,
            received: Recent::only(0.0, f64::INFINITY),
            rtts: Box::new([(0, 0.0); KEPT]),
            changes: 1,
            next: 0,
            sent_at: Time::ZERO,
            send_at: Time::MAX,
            timeout_at: Time::MAX,
        }
    }

    /// It starts, or its next packet may be due.
    pub fn wake(&mut self, now: Time, out: &mut Vec<Output>) {
        if self.send_at == Time::MAX {
            self.send_at = now;
            self.timeout_at = now + Span::from_secs(2.0); // §4.2
        }
        if now < self.send_at {
            return;
        }
        out.push(Output { seq: self.next, len: self.size as u16, flags: self.ecn as u8 });
        self.next = self.next.wrapping_add(1);
        self.sent_at = now;
        self.plan(now);
    }

    /// The packet that answers one sent at `born` brings `report`.
    pub fn reported(&mut self, now: Time, report: Report, born: Time) {
        self.measure(now.since(born).as_secs());
        let at = now.as_secs();
        self.loss = report.loss;
        let first = self.changes == 2;
        if first {
            // The rate that the first packets arrived at says nothing.
            self.received = Recent::only(at, f64::INFINITY);
            self.rate = self.initial_rate();
            self.doubled = at;
        } else {
            self.received.add(at, report.received, at - 2.0 * self.rtt);
            self.adjust(at);
        }
        self.timeout_at = now + self.patience();
        self.plan(now);
    }

    /// No report has come for long: half the rate (§4.4).
    pub fn timed_out(&mut self, now: Time) {
        self.rate = (self.rate / 2.0).max(self.size / LONGEST);
        // Until something else is heard, what was received allows no more than that.
        self.received = Recent::only(now.as_secs(), self.rate / 2.0);
        self.timeout_at = now + self.patience();
        self.plan(now);
    }

    /// The round trip that packet `seq` bore.
    pub fn rtt_of(&self, seq: u32) -> f64 {
        let oldest = self.changes.saturating_sub(KEPT);
        let kept = (oldest..self.changes).rev().map(|i| self.rtts[i % KEPT]);
        kept.into_iter().find(|change| change.0 <= seq).map_or(0.0, |change| change.1)
    }

    fn measure(&mut self, sample: f64) {
        self.sample = sample;
        if self.rtt == 0.0 {
            (self.rtt, self.root) = (sample, sample.sqrt());
        } else {
            self.rtt += NEWS * (sample - self.rtt);
            self.root += NEWS * (sample.sqrt() - self.root);
        }
        self.rtts[self.changes % KEPT] = (self.next, self.rtt);
        self.changes += 1;
    }

    /// Step (4) of §4.3.
    fn adjust(&mut self, at: f64) {
        let limit = 2.0 * self.received.most();
        if self.loss > 0.0 {
            let fair = self.equation.rate(self.size, self.rtt, self.loss);
            self.rate = fair.min(limit).max(self.size / LONGEST);
        } else if at - self.doubled >= self.rtt {
            self.rate = (2.0 * self.rate).min(limit).max(self.initial_rate());
            self.doubled = at;
        }
    }

    /// The initial window a round trip.
    fn initial_rate(&self) -> f64 {
        let window = (4.0 * self.size).min((2.0 * self.size).max(WINDOW));
        window / self.rtt
    }

    fn patience(&self) -> Span {
        let two_packets = 2.0 * self.size / self.rate;
        Span::from_secs((4.0 * self.rtt).max(two_packets))
    }

    /// When the next packet goes, by the rate as it is now.
    fn plan(&mut self, now: Time) {
        let rate = match self.damping {
            Damping::On if self.sample > 0.0 => self.rate * self.root / self.sample.sqrt(),
            _ => self.rate,
        };
        let interval = Span::from_secs(self.size / rate.max(self.size / LONGEST));
        self.send_at = (self.sent_at + interval).max(now + Span::from_nanos(1));
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
        let report = |received: f64, loss: f64| Report { received, loss };
        sender.reported(second(0.1), report(0.0, 0.0), second(0.0));
        assert_eq!(sender.rate, 40_000.0, "four packets a round trip of 0.1 s");
        sender.reported(second(0.2), report(40_000.0, 0.0), second(0.1));
        assert_eq!(sender.rate, 80_000.0);
        sender.reported(second(0.25), report(40_000.0, 0.0), second(0.15));
        assert_eq!(sender.rate, 80_000.0, "not twice within a round trip");
        sender.reported(second(0.42), report(50_000.0, 0.0), second(0.32));
        assert_eq!(sender.rate, 100_000.0, "not above twice what was received");
        sender.reported(second(0.5), report(100_000.0, 0.01), second(0.4));
        assert!((sender.rate - 112_332.2).abs() < 0.1, "{}", sender.rate);
        assert_eq!((sender.rtt_of(0), sender.rtt_of(1)), (0.0, sender.rtt));
    }

    #[test]
    fn silence_halves_the_rate_down_to_a_packet_in_64_s() {
        let mut sender = TfrcSender::new(&Tfrc::default());
        sender.wake(second(0.0), &mut vec![]);
        for halvings in 1..=10 {
            let at = sender.timeout_at;
            sender.timed_out(at);
            assert_eq!(sender.rate, (1000.0 / (1 << halvings) as f64).max(1000.0 / 64.0));
        }
    }
}
