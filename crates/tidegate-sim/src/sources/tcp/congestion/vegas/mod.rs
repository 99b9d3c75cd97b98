//! Vegas (brakmo1995), in the form in which ns-2.35 has it.
//!
//! Once a round trip Vegas works out how many of its packets wait in queues: diff = (window / base
//! RTT − rate) · base RTT. Below α it adds a packet in the next round trip, above β it takes one
//! away. In slow start it doubles every other round trip, and ends when diff exceeds γ. α, β and γ
//! are the paper's. Three rules are ns-2's: diff is rounded to whole packets, the window never
//! falls below two, and round trips of segments sent twice do not count.
//!
//! Its recovery from loss is Reno's with a timeout of its own that is as fine as the clock. If that
//! has run out, a duplicate acknowledgement repairs the first hole without waiting for a third. So
//! do the two acknowledgements after a repair. It gives up a quarter of the window, half if the
//! segment was lost twice, and nothing if the window has been cut since the segment was sent. With
//! selective acknowledgements (which neither has) what is to be repaired is known without all that.
use tidegate::{ConfigError, Time};

use super::{Acked, CongestionControl, LossSignal, Sending, SynAck, VegasCut, VegasLoss};
use crate::sources::tcp::{Rules, Tcp};

mod fine_timeout;
mod log;

use fine_timeout::FineTimeout;
use log::{LastSent, Log};

tidegate::params! {
    /// The parameters of Vegas.
    pub struct VegasParams {
        /// The fewest packets that it wants waiting in queues.
        alpha: u32 = 1, "alpha", 0 ..= 1000;
        /// The most packets that it wants waiting in queues; at least `alpha`.
        beta: u32 = 3, "beta", 0 ..= 1000;
        /// How many waiting packets end slow start.
        gamma: u32 = 1, "gamma", 0 ..= 1000;
    }
}

/// The least window, in segments.
const LEAST: f64 = 2.0;
/// How many acknowledgements after a repair are checked for another hole.
const WORRIED: u32 = 2;

/// Vegas at work; times in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Vegas {
    alpha: i64,
    beta: i64,
    gamma: i64,
    /// The least round-trip time: of a path without queues.
    base: f64,
    /// This round trip: the segment whose acknowledgement ends it, when it began, and the sum of
    /// its measurements.
    end: u32,
    began: Time,
    sum: f64,
    count: u32,
    /// What each acknowledgement adds to the window in this round trip.
    step: f64,
    /// In slow start the window grows in every other round trip.
    grows: bool,
    /// Slow start is not over.
    searching: bool,
    /// By ns-2's rules the threshold alone says that, so that slow start may come again.
    by_threshold: bool,
    /// How the acknowledgement of a SYN counts: by ns-2's rules as any other.
    syn_ack: SynAck,
    /// When the window was last cut.
    cut: Option<Time>,
    /// What that has left, by ns-2's rules; nothing after a timeout.
    left: f64,
    fine: FineTimeout,
    log: Log,
    /// How many more acknowledgements are checked for another hole.
    worried: u32,
}

impl Vegas {
    /// Whether slow start is under way.
    fn doubles(&self, cwnd: f64, ssthresh: f64) -> bool {
        (self.searching || self.by_threshold) && cwnd < ssthresh
    }

    /// A round trip is over: the window, and what the next one adds to it.
    fn round(&mut self, mut cwnd: f64, ssthresh: &mut f64, ack: &Acked) -> f64 {
        let rtt =
            if self.count > 0 { self.sum / self.count as f64 } else { nanos(ack.now, self.began) };
        (self.sum, self.count) = (0.0, 0);
        let sent = ack.next.saturating_sub(self.end);
        if rtt < self.base || sent <= 1 {
            self.base = rtt;
        }
        // The acknowledged segment was in flight, too.
        let flight = ack.next.saturating_sub(ack.una) + 1;
        let waiting = flight as f64 - sent as f64 * self.base / rtt;
        let diff = (waiting + 0.5) as i64;
        if self.doubles(cwnd, *ssthresh) {
            self.grows = !self.grows;
            self.step = 0.0;
            if self.grows && diff > self.gamma {
                self.searching = false;
                if self.by_threshold {
                    *ssthresh = LEAST;
                }
                cwnd = (cwnd - cwnd / 8.0).max(LEAST);
            } else if self.grows {
                self.step = 1.0;
            }
        } else if diff > self.beta {
            cwnd = (cwnd - 1.0).max(LEAST);
            self.step = 0.0;
        } else {
            self.step = if diff < self.alpha { 1.0 / cwnd } else { 0.0 };
        }
        self.end = ack.next;
        self.began = ack.now;
        cwnd
    }

    /// What the loss of a segment that was sent so many times leaves of `window`.
    fn leaves(window: u64, times: u32) -> f64 {
        let left = match times {
            _ if window <= 3 => 2,
            0 | 1 => window - window / 4,
            _ => window / 2,
        };
        left as f64
    }

    /// Takes the time of the last segment that is acknowledged, unless it was sent twice.
    fn measure(&mut self, ack: &Acked) {
        let last = ack.una.saturating_sub(1);
        // The very first may be a SYN (ns-2 leaves it out, too).
        if let Some(LastSent { at, times: 1 }) = self.log.get(last).filter(|_| last > 0) {
            let rtt = nanos(ack.now, at);
            self.sum += rtt;
            self.count += 1;
            self.base = self.base.min(rtt);
            self.fine.measure(rtt);
        }
    }
}

fn nanos(now: Time, then: Time) -> f64 {
    now.since(then).as_nanos() as f64
}

impl CongestionControl for Vegas {
    type Params = VegasParams;

    fn new(params: &VegasParams, tcp: &Tcp) -> Vegas {
        let ns2 = tcp.rules == Rules::Ns2;
        Vegas {
            alpha: params.alpha as i64,
            beta: params.beta as i64,
            gamma: params.gamma as i64,
            base: f64::MAX,
            end: 0,
            began: Time::ZERO,
            sum: 0.0,
            count: 0,
            step: 0.0,
            grows: true,
            searching: true,
            by_threshold: tcp.is_ns2_vegas(),
            syn_ack: if ns2 { SynAck::CountsAsData } else { SynAck::OpensOnly },
            cut: None,
            left: 0.0,
            fine: FineTimeout::default(),
            log: Log::default(),
            worried: 0,
        }
    }

    fn check(params: &VegasParams) -> Result<(), ConfigError> {
        if params.beta < params.alpha {
            let why = format!("must be at least alpha, {}", params.alpha);
            return Err(ConfigError::new("beta", params.beta, why));
        }
        Ok(())
    }

    fn on_ack(&mut self, mut cwnd: f64, ssthresh: &mut f64, ack: &Acked) -> f64 {
        self.fine.begin(nanos(ack.now, self.began));
        if ack.una > self.end {
            cwnd = self.round(cwnd, ssthresh, ack);
        }
        if self.step == 1.0 && !self.doubles(cwnd, *ssthresh) {
            self.step = 0.0; // slow start is over, be it within a round trip
        }
        // What is not used is not enlarged.
        let flight = ack.next.saturating_sub(ack.una) + 1;
        if cwnd - flight as f64 <= 2.0 {
            cwnd += self.step * ack.counted();
        }
        self.measure(ack);
        cwnd
    }

    fn on_loss(&mut self, loss: &LossSignal) -> f64 {
        let Some(LastSent { at, times }) = self.log.get(loss.una) else { return loss.found / 2.0 };
        self.fine.back_off(times);
        self.worried = WORRIED;
        self.searching = false;
        if self.cut.is_some_and(|cut| cut >= at) {
            return loss.cwnd;
        }
        self.cut = Some(loss.now);
        Vegas::leaves(loss.found.min(loss.inflated) as u64, times)
    }

    fn on_ecn(&mut self, loss: &LossSignal) -> f64 {
        self.searching = false;
        loss.found / 2.0
    }

    fn on_rto(&mut self, loss: &LossSignal) -> f64 {
        self.searching = true;
        self.cut = Some(loss.now);
        self.left = 0.0;
        loss.found / 2.0
    }

    fn restart_window(&self) -> f64 {
        LEAST
    }

    fn on_sent(&mut self, sending: &Sending) {
        if sending.seq == 0 && !sending.again {
            self.began = sending.now;
        }
        self.log.on_sent(sending);
    }

    /// Its round trip says nothing of the path of data: a SYN is short.
    fn on_open(&mut self, ack: &Acked) -> SynAck {
        if self.syn_ack == SynAck::OpensOnly {
            self.fine.begin(nanos(ack.now, self.began));
            (self.end, self.began, self.grows) = (ack.next, ack.now, false);
        }
        self.syn_ack
    }

    fn is_overdue(&self, seq: u32, now: Time) -> bool {
        self.log.get(seq).is_some_and(|sent| nanos(now, sent.at) >= self.fine.timeout)
    }

    fn sees_another_hole(&mut self, una: u32, in_flight: bool, now: Time) -> bool {
        if self.worried == 0 {
            return false;
        }
        let expired = !in_flight || self.is_overdue(una, now);
        self.worried = if expired { self.worried - 1 } else { 0 };
        expired
    }

    fn on_vegas_loss(&mut self, loss: &VegasLoss) -> VegasCut {
        let VegasLoss { found, outstanding, window } = *loss;
        let sent = self.log.get(found.una).filter(|_| outstanding);
        let times = sent.map_or(0, |sent| sent.times);
        self.fine.back_off(times);
        self.worried = WORRIED.min(found.flight + 1);
        let uncut = sent.is_some_and(|sent| self.cut.is_none_or(|cut| cut < sent.at));
        if uncut {
            self.cut = Some(found.now);
            self.left = Vegas::leaves(window as u64, times);
        }
        VegasCut { times, window: uncut.then_some(self.left) }
    }

    fn vegas_window(&self) -> Option<f64> {
        Some(self.left)
    }
}

#[cfg(test)]
mod tests;
