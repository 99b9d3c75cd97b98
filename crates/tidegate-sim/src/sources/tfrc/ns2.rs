//! ns-2.35's TFRC where it differs from the RFC: the control of the rate, the timeout in the
//! equation, and the inversion of the equation. Rates are in bytes per second, times in seconds.
use super::{TfrcReport, TfrcRules, Times};

/// ns-2's control of the rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ns2 {
    /// The number of reports received and timeouts.
    pub round: u32,
    /// A loss has been reported.
    lossy: bool,
    /// The time of the last change of the rate.
    changed: f64,
    /// In slow start the rate grows with each packet: its value so far, and the step.
    grown: f64,
    step: f64,
    /// The round trip in eighths of a tick, and its deviation in quarters of a tick.
    srtt: i64,
    rttvar: i64,
}

/// The sender's state that the control reads, and the rate that it sets.
pub(super) struct TfrcSending {
    pub rules: TfrcRules,
    /// The length of a packet.
    pub size: f64,
    pub path: Times,
    /// The rate after the first report.
    pub initial_rate: f64,
    pub rate: f64,
}

/// The tick in which the timeout is measured.
const TICK: f64 = 0.1;
/// The tolerance of the inversion of the equation, and its most steps.
const NEAR: f64 = 0.05;
const STEPS: u32 = 32;

impl Ns2 {
    /// The rate to begin with.
    pub const FIRST: f64 = 300.0;
    /// The weight of a new sample of the round trip.
    pub const NEWS: f64 = 0.05;

    /// t_RTO after another `sample` of the round trip: TCP's, in whole ticks, with no least value.
    pub fn timeout(&mut self, sample: f64) -> f64 {
        let ticks = ((sample / TICK + 0.5) as i64).max(1);
        if self.srtt == 0 {
            (self.srtt, self.rttvar) = (ticks << 3, ticks << 1);
        } else {
            let error = ticks - (self.srtt >> 3);
            self.srtt = (self.srtt + error).max(1);
            self.rttvar = (self.rttvar + error.abs() - (self.rttvar >> 2)).max(1);
        }
        (((self.rttvar << 3) + self.srtt) >> 3) as f64 * TICK
    }

    /// Sets `sender`'s rate by `report`, the `first` or a later one. Returns whether to send a
    /// packet at once.
    pub fn reported(
        &mut self,
        sender: &mut TfrcSending,
        at: f64,
        report: TfrcReport,
        first: bool,
    ) -> bool {
        self.round += 1;
        let most = if self.round > 1 { 2.0 * report.received } else { 0.0 };
        if !self.lossy && (first || report.loss == 0.0) {
            self.slow_start(sender, at, most);
            return true;
        }
        let fair = sender.rules.rate(sender.size, sender.path, report.loss);
        let packet = sender.size / sender.path.rtt; // a packet a round trip
        if !self.lossy {
            // The first loss ends slow start; it does not count as a change of the rate.
            self.lossy = true;
            sender.rate = fair;
            return false;
        }
        let limit = most.max(packet).min(fair);
        let trips = ((at - self.changed) / sender.path.rtt).min(2.0);
        sender.rate =
            if fair > sender.rate { (sender.rate + packet * trips).min(limit) } else { limit };
        self.changed = at;
        false
    }

    /// Before the first loss: doubles the rate per round trip, up to twice the rate received.
    fn slow_start(&mut self, sender: &mut TfrcSending, at: f64, most: f64) {
        let packet = sender.size / sender.path.rtt;
        let before = sender.rate;
        let begins = self.round <= 2;
        let after = if begins {
            before.max(sender.initial_rate)
        } else if most <= 0.0 {
            packet
        } else if before < most && at - self.changed > sender.path.rtt {
            (2.0 * before).min(most).max(packet)
        } else if before > most {
            most / 2.0
        } else {
            return;
        };
        let rises = begins || after > before;
        sender.rate = after;
        self.changed = at;
        self.grown = if rises { before } else { after };
        self.step = if rises { (after - before) / (after / packet) } else { 0.0 };
    }

    /// The rate for the interval to the next packet, while it grows towards `rate`.
    pub fn slow_increase(&mut self, rate: f64) -> Option<f64> {
        if self.lossy || self.round <= 2 || self.grown + 1e-6 >= rate {
            return None;
        }
        self.grown += self.step;
        Some(self.grown)
    }
}

/// Solves `at(p) = x` for a decreasing function `at` within 5 %, by halving the steps.
pub(super) fn near(x: f64, at: impl Fn(f64) -> f64) -> f64 {
    let (mut p, mut step) = (0.5, 0.25);
    for _ in 0..STEPS {
        let here = at(p);
        if (here / x - 1.0).abs() < NEAR {
            break;
        }
        p += if here > x { step } else { -step };
        step /= 2.0;
    }
    p
}
