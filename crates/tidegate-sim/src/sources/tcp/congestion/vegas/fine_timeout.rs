//! A retransmission timeout finer than the sender's (brakmo1995 §3.1).

/// A retransmission timeout without ticks: mean and deviation of round trips as in 4.3BSD, in
/// nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct FineTimeout {
    /// Eight times the mean, and four times the deviation; zero before the first round trip.
    mean: f64,
    deviation: f64,
    pub timeout: f64,
}

impl Default for FineTimeout {
    fn default() -> FineTimeout {
        FineTimeout { mean: 0.0, deviation: 0.0, timeout: f64::MAX }
    }
}

impl FineTimeout {
    /// The first acknowledgement comes `rtt` after the first segment.
    pub fn begin(&mut self, rtt: f64) {
        if self.mean == 0.0 {
            (self.mean, self.deviation) = (8.0 * rtt, rtt);
            self.timeout = (self.mean / 4.0 + self.deviation) / 2.0;
        }
    }

    pub fn measure(&mut self, rtt: f64) {
        let error = rtt - self.mean / 8.0;
        self.mean += error;
        self.deviation += error.abs() - self.deviation / 4.0;
        self.timeout = (self.mean / 4.0 + self.deviation) / 2.0 * (1.0 + 1.0 / 16.0);
    }

    /// A segment that was sent so many times is lost.
    pub fn back_off(&mut self, times: u32) {
        self.timeout *= if times > 1 { 2.0 } else { 1.0 + 1.0 / 8.0 };
    }
}
