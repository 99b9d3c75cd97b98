//! Self-configuring RED read from its paper (feng1999, the algorithm's figure), around the naive
//! RED.
use super::red::{NaiveRed, Said};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Status {
    Below,
    Between,
    Above,
}

#[derive(Clone, Debug)]
pub struct NaiveFengRed {
    pub red: NaiveRed,
    pub status: Status,
    pub alpha: f64,
    pub beta: f64,
    pub floor: f64,
}

impl NaiveFengRed {
    /// "Every Q_ave update".
    pub fn adapt(&mut self) {
        let (avg, red) = (self.red.avg, &mut self.red);
        if red.min < avg && avg < red.max {
            self.status = Status::Between;
        }
        if avg < red.min && self.status != Status::Below {
            self.status = Status::Below;
            red.max_p = (red.max_p / self.alpha).max(self.floor);
        }
        if avg > red.max && self.status != Status::Above {
            self.status = Status::Above;
            red.max_p = (red.max_p * self.beta).min(1.0);
        }
    }

    pub fn arrive(&mut self, now: f64, packets: f64, bytes: f64, size: f64) -> Said {
        self.red.estimate(now, packets, bytes);
        self.adapt();
        self.red.judge(packets, size)
    }

    pub fn overflow(&mut self, now: f64, packets: f64, bytes: f64) {
        self.red.estimate(now, packets, bytes);
        self.adapt();
        self.red.overflowed(packets);
    }
}
