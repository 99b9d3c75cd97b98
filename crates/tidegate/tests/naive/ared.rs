//! Adaptive RED read from its paper (floyd2001 §IV), around the naive RED: max_p moves on a true
//! timer.
use super::red::{NaiveRed, Said, is_near};

#[derive(Clone, Debug)]
pub struct NaiveAred {
    pub red: NaiveRed,
    /// Nanoseconds.
    pub interval: f64,
    pub due: f64,
    /// At a step avg was so near to a bound that rounding decides.
    pub is_edge: bool,
}

impl NaiveAred {
    pub fn new(red: NaiveRed, interval: f64) -> NaiveAred {
        NaiveAred { red, interval, due: interval, is_edge: false }
    }

    /// One step, when the average is `avg`.
    pub fn adapt(&mut self, avg: f64) {
        let red = &mut self.red;
        let width = red.max - red.min;
        let edges = [red.min + 0.6 * width, red.min + 0.4 * width];
        self.is_edge |= edges.iter().any(|&edge| avg != edge && is_near(avg, edge));
        if avg > red.min + 0.6 * width && red.max_p <= 0.5 {
            red.max_p += (0.01_f64).min(red.max_p / 4.0);
        } else if avg < red.min + 0.4 * width && red.max_p >= 0.01 {
            red.max_p *= 0.9;
        }
    }

    /// The steps that are due by `now`; past 64 of them the rest is left out.
    pub fn tick(&mut self, now: f64) {
        for _ in 0..64 {
            if self.due <= now {
                self.adapt(self.red.avg_at(self.due.max(self.red.idle_since.unwrap_or(0.0))));
                self.due += self.interval;
            }
        }
        while self.due <= now {
            self.due += self.interval;
        }
    }

    pub fn arrive(&mut self, now: f64, packets: f64, bytes: f64, size: f64) -> Said {
        self.tick(now);
        self.red.arrive(now, packets, bytes, size)
    }

    pub fn overflow(&mut self, now: f64, packets: f64, bytes: f64) {
        self.tick(now);
        self.red.overflow(now, packets, bytes);
    }
}
