//! CUBIC's congestion avoidance as Linux 6 does it: in whole segments and in ticks of its clock.
//! Windows of a few segments open less than by RFC 9438, for three reasons. What a loss leaves is
//! rounded down. While the window stands still nothing is aimed at anew for 28 ms. Reno's window
//! gains 8/15 of a segment a round trip also beyond where it was before the loss; §4.3 has it gain
//! 1 there.
use tidegate::Time;

use super::hystart_linux::LinuxHyStart;
use super::{Acked, CubicParams, FastConvergence, STEP, SlowStart};
use crate::sources::tcp::congestion::whole::Whole;
use crate::sources::tcp::rto::UNMEASURED;

/// Ticks of a second, as distributions configure it.
const TICKS: u64 = 250;
/// A target holds for so many ticks, as long as the window stands still.
const HOLDS: u64 = TICKS / 32;
/// β is a fraction of this.
const SCALE: u32 = 1024;
/// Acknowledgements for one segment more, at most: where there was no loss yet or a timeout, and
/// where the target is reached.
const MOST_FLAT: u32 = 20;
const MOST: u32 = 100;
/// And at least.
const LEAST: u32 = 2;

/// At work. Windows in segments.
#[derive(Clone, Debug)]
pub(in super::super) struct LinuxCubic {
    /// What a loss leaves, of [`SCALE`].
    beta: u32,
    c: f64,
    fast: bool,
    /// The window before the last reduction, less what fast convergence takes off; 0 before the
    /// first and after a timeout.
    w_max: u32,
    /// The plateau, and how many seconds after the beginning of the stage it is reached.
    plateau: u32,
    k: f64,
    /// The tick at which this stage of congestion avoidance began.
    epoch: Option<u64>,
    /// Reno's window in its place, and what was acknowledged since it grew last.
    estimate: u32,
    acked: u32,
    /// The window and the tick when a target was last set.
    set: (u32, u64),
    /// So many acknowledged segments open the window by one.
    every: u32,
    whole: Whole,
    /// The least round-trip time, in nanoseconds; in the first second of a stage none counts.
    least: u64,
    hystart: Option<LinuxHyStart>,
}

impl LinuxCubic {
    pub fn new(params: &CubicParams) -> LinuxCubic {
        LinuxCubic {
            beta: libm::ceil(params.beta * SCALE as f64) as u32,
            c: params.c,
            fast: params.fast_convergence == FastConvergence::On,
            w_max: 0,
            plateau: 0,
            k: 0.0,
            epoch: None,
            estimate: 0,
            acked: 0,
            set: (0, 0),
            every: LEAST,
            whole: Whole::default(),
            least: UNMEASURED,
            hystart: (params.slow_start == SlowStart::HyStart).then(LinuxHyStart::new),
        }
    }

    /// New data are acknowledged: the new window.
    pub fn on_ack(&mut self, cwnd: f64, ssthresh: &mut f64, ack: &Acked) -> f64 {
        self.measured(ack);
        if cwnd < *ssthresh { self.search(cwnd, ssthresh, ack) } else { self.avoid(cwnd, ack) }
    }

    /// A round trip is measured.
    pub fn measured(&mut self, ack: &Acked) {
        if self.epoch.is_none_or(|epoch| ticks(ack.now.as_nanos()) - epoch >= TICKS) {
            self.least = self.least.min(ack.sample());
        }
    }

    /// The window of slow start, which may end here.
    fn search(&mut self, cwnd: f64, ssthresh: &mut f64, ack: &Acked) -> f64 {
        let window = cwnd as u32;
        if let Some(hystart) = &mut self.hystart
            && hystart.ends(window, self.least, ack)
        {
            *ssthresh = window as f64;
            return self.avoid(cwnd, ack);
        }
        // What slow start has no need of opens the window as after it.
        let segments = ack.segments.min(STEP);
        let slow = segments.min((*ssthresh as u32).saturating_sub(window));
        let cwnd = cwnd + slow as f64;
        if slow == segments {
            cwnd
        } else {
            self.avoid(cwnd, &Acked { segments: segments - slow, ..*ack })
        }
    }

    /// The window of congestion avoidance.
    fn avoid(&mut self, cwnd: f64, ack: &Acked) -> f64 {
        let window = (cwnd as u32).max(1);
        let segments = ack.segments.min(STEP);
        self.aim(window, segments, ack.now);
        self.whole.count(window, self.every, segments) as f64
    }

    /// Sets after how many acknowledged segments the window opens by one.
    fn aim(&mut self, window: u32, segments: u32, now: Time) {
        let tick = ticks(now.as_nanos());
        self.acked = self.acked.saturating_add(segments);
        if self.set.0 == window && tick - self.set.1 <= HOLDS {
            return;
        }
        if self.epoch.is_none() || tick != self.set.1 {
            self.set = (window, tick);
            self.aim_at_cubic(window, segments, tick);
        }
        // What opens Reno's window by one if it is to be fair to Reno with this β.
        let share = 8 * (SCALE + self.beta) / 3 / (SCALE - self.beta).max(1);
        let one_more = part(window, share, 8).max(1);
        while self.acked > one_more {
            self.acked -= one_more;
            self.estimate += 1;
        }
        if self.estimate > window {
            self.every = self.every.min(window / (self.estimate - window));
        }
        self.every = self.every.max(LEAST);
    }

    fn aim_at_cubic(&mut self, window: u32, segments: u32, tick: u64) {
        let epoch = *self.epoch.get_or_insert_with(|| {
            (self.acked, self.estimate) = (segments, window);
            self.plateau = self.w_max.max(window);
            self.k = libm::cbrt((self.plateau - window) as f64 / self.c);
            tick
        });
        let ahead = ticks(if self.least == UNMEASURED { 0 } else { self.least });
        let t = (tick - epoch + ahead) as f64 / TICKS as f64 - self.k;
        let target = self.plateau as f64 + libm::trunc(self.c * t * t * t);
        let above = (target - window as f64).clamp(0.0, u32::MAX as f64) as u32;
        self.every = window.checked_div(above).unwrap_or(MOST.saturating_mul(window));
        if self.w_max == 0 {
            self.every = self.every.min(MOST_FLAT);
        }
    }

    /// What a loss leaves of `found`.
    pub fn on_loss(&mut self, found: f64) -> f64 {
        let window = found as u32;
        let gives_way = self.fast && window < self.w_max;
        self.w_max = if gives_way { part(window, SCALE + self.beta, 2 * SCALE) } else { window };
        self.epoch = None;
        self.whole.forget();
        part(window, self.beta, SCALE) as f64
    }

    /// The next stage starts flat, and nothing is known of the path.
    pub fn on_rto(&mut self, found: f64) -> f64 {
        let left = self.on_loss(found);
        self.forget();
        left
    }

    /// The same where nothing is cut.
    pub fn forget(&mut self) {
        (self.w_max, self.set, self.least, self.epoch) = (0, (0, 0), UNMEASURED, None);
        self.hystart = self.hystart.map(|_| LinuxHyStart::new());
        self.whole.forget();
    }
}

/// `window` times `over` / `under`, rounded down.
fn part(window: u32, over: u32, under: u32) -> u32 {
    u32::try_from(window as u64 * over as u64 / under as u64).unwrap_or(u32::MAX)
}

fn ticks(nanos: u64) -> u64 {
    nanos / (1_000_000_000 / TICKS)
}

#[cfg(test)]
mod tests {
    use super::super::super::bench::ack;
    use super::*;
    use tidegate::Span;

    /// Runs `rounds` of `rtt` from what a loss at `window` leaves; the windows at their ends.
    fn rounds(window: f64, rtt: Span, rounds: u64) -> Vec<f64> {
        let mut cubic = LinuxCubic::new(&CubicParams::default());
        let mut cwnd = cubic.on_loss(window);
        let round = |i: u64| {
            let begin = Time::from_nanos(1_000_000_000 + i * rtt.as_nanos());
            let gap = rtt.as_nanos() / cwnd as u64;
            for k in 1..=cwnd as u64 {
                let sent = begin + Span::from_nanos(k * gap);
                let ack = Acked { now: sent + rtt, sent, rtt: rtt.as_nanos(), ..ack() };
                cubic.measured(&ack);
                cwnd = cubic.avoid(cwnd, &ack);
            }
            cwnd
        };
        (0..rounds).map(round).collect()
    }

    #[test]
    fn what_a_loss_leaves_is_whole_and_rounded_down() {
        let mut cubic = LinuxCubic::new(&CubicParams::default());
        let left = [(10.0, 7.0), (8.9, 5.0), (7.0, 4.0), (5.0, 3.0), (4.0, 2.0)];
        for (window, expected) in left {
            assert_eq!(cubic.on_loss(window), expected, "{window}");
        }
    }

    /// 717/1024 for β makes Reno's window one greater for every 15/8 of a window acknowledged.
    #[test]
    fn a_small_window_gains_half_a_segment_a_round_trip_also_beyond_where_it_was() {
        let windows = rounds(8.0, Span::from_millis(40), 30);
        assert!(windows.is_sorted() && windows.iter().all(|w| w.fract() == 0.0), "{windows:?}");
        let gained = windows[29] - 5.0;
        assert!(
            (30.0 * 0.4..=30.0 * 8.0 / 15.0 + 1.0).contains(&gained),
            "{gained} in 30 round trips: {windows:?}"
        );
        assert!(windows[29] > 8.0 + 4.0);
    }

    /// After a loss at 1000 segments on a long path it is back there K later, and passes by slowly.
    #[test]
    fn a_large_window_follows_the_cubic() {
        let windows = rounds(1000.0, Span::from_millis(100), 140);
        let k = libm::cbrt(300.0 / 0.4);
        for (i, window) in windows.iter().enumerate().skip(2) {
            let t = (i as f64 + 1.5) * 0.1 - k;
            let exact = 0.4 * t * t * t + 1000.0;
            assert!((window - exact).abs() < 12.0, "round {i}: {window} for {exact}");
        }
    }

    #[test]
    fn after_a_timeout_it_starts_flat() {
        let mut cubic = LinuxCubic::new(&CubicParams::default());
        assert_eq!(cubic.on_rto(100.0), 70.0);
        let mut cwnd = 70.0;
        for i in 0..210 {
            cwnd = cubic.avoid(
                cwnd,
                &Acked { now: Time::from_nanos(5_000_000_000 + i * 1_000_000), ..ack() },
            );
        }
        assert!(
            (79.0..=82.0).contains(&cwnd),
            "one segment more for at most every twentieth: {cwnd}"
        );
    }
}
