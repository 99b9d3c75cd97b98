//! LEDBAT (RFC 6817): a background transport that yields. It measures the one-way delay of each
//! segment that is acknowledged and keeps what it adds to the queue at `target`.
//!
//! What is queued is the current delay less the base delay. The former is the least of the last few
//! samples, the latter the least of the last minutes. The window moves by `gain` times the distance
//! to the target, in parts of the target, for every window acknowledged (§2.4.2).
//!
//! The receiver measures: its acknowledgement says how long the segment was under way (§2.4.1).
//! Both ends have one clock here, so that there is no offset and no skew (§2.5, A.1, A.2). A SYN
//! gives no sample, since it is shorter than data.
//!
//! Ours where the RFC leaves a choice: the filter is the minimum of [`current_filter`] samples, and
//! all that an acknowledgement covers counts as newly acknowledged. There is no slow start. A mark
//! counts as a loss.
//!
//! [`current_filter`]: LedbatParams::current_filter
use std::collections::VecDeque;

use tidegate::{Span, Time};

use super::{Acked, CongestionControl, LossSignal, Needs};
use crate::sources::tcp::Tcp;

tidegate::params! {
    /// The parameters of LEDBAT.
    pub struct LedbatParams {
        /// The delay that it adds to a queue at most, at most 100 ms (RFC 6817 §2.5).
        target: Span = Span::from_millis(100), "TARGET", 1_000_000 ..= 100_000_000u64;
        /// How fast the window follows the distance to the target, at most 1, so that it never
        /// grows faster than Reno's (RFC 6817 §2.5).
        gain: f64 = 1.0, "GAIN", 0.001 ..= 1.0;
        /// For how many minutes the least delay is remembered.
        base_history: u32 = 10, "BASE_HISTORY", 1 ..= 1440;
        /// Of how many of the last samples the least is the current delay.
        current_filter: u32 = 4, "CURRENT_FILTER", 1 ..= 1000;
        /// How many packets the window may exceed what is in flight.
        allowed_increase: f64 = 1.0, "ALLOWED_INCREASE", 0.001 ..= 1000.0;
    }
}

/// The least window while acknowledgements come, in segments (MIN_CWND).
const LEAST: f64 = 2.0;
/// Over how long each minimum of the base delay is taken.
const MINUTE: u64 = 60_000_000_000;

/// LEDBAT at work; delays in microseconds, as they travel.
#[derive(Clone, Debug)]
pub(super) struct Ledbat {
    target: f64,
    gain: f64,
    allowed_increase: f64,
    /// The least delay of each of the last minutes that had one, the latest last.
    base: VecDeque<u32>,
    history: usize,
    /// The minute of the last of them.
    minute: Option<u64>,
    /// The last delays.
    current: VecDeque<u32>,
    filter: usize,
}

impl Ledbat {
    /// What it takes to be queued, in microseconds; `None` before the first sample. It is negative
    /// where the base delay was forgotten and a sample of before was not.
    fn queued(&self) -> Option<i64> {
        let (current, base) = (self.current.iter().min()?, self.base.iter().min()?);
        Some(*current as i64 - *base as i64)
    }
}

/// Adds `item` to a list of the last `most`.
fn push(list: &mut VecDeque<u32>, most: usize, item: u32) {
    if list.len() == most {
        list.pop_front();
    }
    list.push_back(item);
}

impl CongestionControl for Ledbat {
    type Params = LedbatParams;

    const NEEDS: Needs = Needs { delays: true, ..Needs::CLASSIC };

    fn new(params: &LedbatParams, _: &Tcp) -> Ledbat {
        let (history, filter) = (params.base_history as usize, params.current_filter as usize);
        Ledbat {
            target: params.target.as_nanos() as f64 / 1e3,
            gain: params.gain,
            allowed_increase: params.allowed_increase,
            base: VecDeque::with_capacity(history),
            history,
            minute: None,
            current: VecDeque::with_capacity(filter),
            filter,
        }
    }

    fn on_ack(&mut self, cwnd: f64, _: &mut f64, ack: &Acked) -> f64 {
        let Some(queued) = self.queued() else { return cwnd };
        let off_target = (self.target - queued as f64) / self.target;
        let segments = ack.segments as f64;
        let flight = (ack.next - ack.una) as f64 + segments;
        let wanted = cwnd + self.gain * off_target * segments / cwnd;
        wanted.min(flight + self.allowed_increase).max(LEAST)
    }

    fn on_loss(&mut self, loss: &LossSignal) -> f64 {
        (loss.cwnd / 2.0).max(LEAST).min(loss.cwnd)
    }

    fn on_delay(&mut self, now: Time, delay: u32) {
        let minute = now.as_nanos() / MINUTE;
        match self.base.back_mut().filter(|_| self.minute == Some(minute)) {
            Some(least) => *least = delay.min(*least),
            None => {
                self.minute = Some(minute);
                push(&mut self.base, self.history, delay);
            }
        }
        push(&mut self.current, self.filter, delay);
    }
}

#[cfg(test)]
mod tests;
