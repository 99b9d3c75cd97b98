//! CUBIC (RFC 9438). Windows in segments, times in seconds.
use tidegate::Time;

use super::hystart::HyStart;
use super::{Acked, CubicParams, FastConvergence, LossSignal, STEP, SlowStart};

/// CUBIC by the RFC, at work.
#[derive(Clone, Debug)]
pub(in super::super) struct RfcCubic {
    beta: f64,
    c: f64,
    fast: FastConvergence,
    hystart: Option<HyStart>,
    /// The window before the last reduction, less what fast convergence takes off: W_max.
    w_max: f64,
    /// The window just before the last reduction: cwnd_prior.
    prior: f64,
    /// When this stage of congestion avoidance began; `None` before its first acknowledgement.
    epoch: Option<Time>,
    /// How long after that the cubic is back at W_max: K.
    k: f64,
    /// Reno's window in its place: W_est.
    estimate: f64,
    /// The last reduction was a timeout, or there was none yet: the next stage starts flat (RFC
    /// 9438 §4.8, §4.10).
    flat: bool,
}

impl RfcCubic {
    pub fn new(params: &CubicParams) -> RfcCubic {
        RfcCubic {
            beta: params.beta,
            c: params.c,
            fast: params.fast_convergence,
            hystart: (params.slow_start == SlowStart::HyStart).then(HyStart::new),
            w_max: 0.0,
            prior: 0.0,
            epoch: None,
            k: 0.0,
            estimate: 0.0,
            flat: true,
        }
    }

    /// New data are acknowledged: the new window.
    pub fn on_ack(&mut self, cwnd: f64, ssthresh: &mut f64, ack: &Acked) -> f64 {
        if cwnd < *ssthresh {
            return match &mut self.hystart {
                Some(hystart) => hystart.acked(cwnd, ssthresh, ack),
                None => cwnd + ack.segments.min(STEP) as f64,
            };
        }
        self.avoid(cwnd, ack)
    }

    /// What a loss leaves.
    pub fn on_loss(&mut self, loss: &LossSignal) -> f64 {
        self.hystart = None;
        let cwnd = loss.cwnd;
        let gives_way = self.fast == FastConvergence::On && cwnd < self.w_max;
        self.w_max = if gives_way { cwnd * (1.0 + self.beta) / 2.0 } else { cwnd };
        self.prior = cwnd;
        self.epoch = None;
        self.flat = false;
        loss.found * self.beta
    }

    /// What a timeout leaves. The next stage starts flat.
    pub fn on_rto(&mut self, loss: &LossSignal) -> f64 {
        let left = self.on_loss(loss);
        self.flat = true;
        left
    }

    /// The window of congestion avoidance (RFC 9438 §4.2 to §4.5).
    fn avoid(&mut self, cwnd: f64, ack: &Acked) -> f64 {
        let epoch = *self.epoch.get_or_insert(ack.now);
        if epoch == ack.now {
            self.begin(cwnd);
        }
        let elapsed = ack.now.since(epoch).as_secs();
        let acked = ack.segments.min(STEP) as f64;
        self.estimate += self.alpha() * acked / cwnd;
        if self.w_cubic(elapsed) < self.estimate {
            return self.estimate.max(cwnd);
        }
        let target = self.w_cubic(elapsed + ack.rtt as f64 / 1e9).clamp(cwnd, 1.5 * cwnd);
        cwnd + acked * (target - cwnd) / cwnd
    }

    /// A stage of congestion avoidance begins at `cwnd`.
    fn begin(&mut self, cwnd: f64) {
        if self.flat || self.w_max < cwnd {
            // Beyond W_max already, which only happens flat: the plateau is here.
            self.w_max = cwnd;
        }
        self.k = libm::cbrt((self.w_max - cwnd) / self.c);
        self.estimate = cwnd;
    }

    /// RFC 9438 eq. 1, `elapsed` after the stage began.
    fn w_cubic(&self, elapsed: f64) -> f64 {
        let t = elapsed - self.k;
        self.c * t * t * t + self.w_max
    }

    /// What Reno with this β would add per round trip to be fair to Reno (RFC 9438 §4.3), once it
    /// is where it was.
    fn alpha(&self) -> f64 {
        if self.estimate >= self.prior { 1.0 } else { 3.0 * (1.0 - self.beta) / (1.0 + self.beta) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::bench::{ack, loss};
    use super::*;
    use tidegate::Span;

    fn plain() -> RfcCubic {
        RfcCubic::new(&CubicParams { slow_start: SlowStart::Standard, ..CubicParams::default() })
    }

    /// A path of 100 ms with a segment's acknowledgement every `100 ms / cwnd`, from a loss at 1000
    /// segments on. The window keeps to RFC 9438's closed form within a segment, since it aims a
    /// round trip ahead and takes that to get there.
    #[test]
    fn the_window_follows_the_closed_form_between_losses() {
        let mut cubic = plain();
        let mut cwnd = cubic.on_loss(&loss(1000.0, 2.0));
        assert_eq!(cwnd, 700.0);
        let k = libm::cbrt(300.0 / 0.4);
        let (mut ssthresh, mut now) = (cwnd, 0.0);
        let mut crossed = 0;
        while now < 1.8 * k {
            let ack = Acked { now: Time::ZERO + Span::from_secs(now), ..ack() };
            cwnd = cubic.on_ack(cwnd, &mut ssthresh, &ack);
            let exact = 0.4 * (now - k) * (now - k) * (now - k) + 1000.0;
            // The slope is at most 3 C (0.8 K)^2 a second; of a tenth of that the window may be off
            // at either side.
            assert!(
                (cwnd - exact).abs() < 0.1 * 1.2 * k * k * 0.1 + 1.0 || now < 0.2,
                "{now} s: {cwnd} for {exact}"
            );
            crossed += ((now - k).abs() < 0.01) as u32;
            now += 0.1 / cwnd;
        }
        assert!(crossed > 10);
    }

    /// What a filled hole brings along opens a small window by no more than two segments do.
    #[test]
    fn a_filled_hole_is_no_burst_of_growth() {
        let mut cubic = plain();
        let mut cwnd = cubic.on_rto(&loss(4.0, 2.0)).max(2.0);
        let mut ssthresh = cwnd;
        for i in 0..4 {
            let now = Time::ZERO + Span::from_secs(i as f64);
            let before = cwnd;
            cwnd = cubic.on_ack(cwnd, &mut ssthresh, &Acked { now, segments: 60, ..ack() });
            assert!(cwnd - before <= 1.0, "{before} to {cwnd}");
        }
    }

    /// RFC 9438 §4.7: of a flow that loses at 80 after 100, W_max is 0.85 · 80.
    #[test]
    fn a_flow_that_has_less_than_before_gives_way() {
        let mut cubic = plain();
        cubic.on_loss(&loss(100.0, 2.0));
        assert_eq!(cubic.w_max, 100.0);
        assert_eq!(cubic.on_loss(&loss(80.0, 2.0)), 56.0);
        assert!((cubic.w_max - 68.0).abs() < 1e-12);
        let mut stays = RfcCubic { fast: FastConvergence::Off, ..plain() };
        stays.on_loss(&loss(100.0, 2.0));
        stays.on_loss(&loss(80.0, 2.0));
        assert_eq!(stays.w_max, 80.0);
    }

    /// RFC 9438 §4.3: on a short path W_est, which gains 9/17 a round trip, is ahead of the cubic.
    #[test]
    fn on_a_short_path_it_is_as_fast_as_reno() {
        let mut cubic = plain();
        let mut cwnd = cubic.on_loss(&loss(20.0, 2.0));
        let mut ssthresh = cwnd;
        for round in 0..10 {
            for _ in 0..cwnd as u32 {
                let now = Time::ZERO + Span::from_millis(round);
                cwnd = cubic.on_ack(cwnd, &mut ssthresh, &Acked { now, rtt: 1_000_000, ..ack() });
            }
        }
        assert!((cwnd - 14.0 - 10.0 * 9.0 / 17.0).abs() < 0.4, "{cwnd}");
    }
}
