//! BLUE read straight from its paper (feng1999blue, the algorithm's figure), in floats and seconds.
//!
//! Written to be plainly right, not fast. The driver says what happened (a loss for want of room, a
//! queue longer than L, an idle link) and asks for `p_m`.

/// Whether the figure's `last_update` is one variable or one for each direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Clock {
    Shared,
    Separate,
}

#[derive(Clone, Debug)]
pub struct NaiveBlue {
    /// Added to p_m upon loss.
    pub d1: f64,
    /// Taken from p_m upon idleness.
    pub d2: f64,
    /// Least time between two changes, in seconds.
    pub freeze_time: f64,
    pub clock: Clock,
    pub p_m: f64,
    last_up: f64,
    last_down: f64,
}

impl NaiveBlue {
    pub fn new(d1: f64, d2: f64, freeze_time: f64, clock: Clock) -> NaiveBlue {
        let never = f64::NEG_INFINITY;
        NaiveBlue { d1, d2, freeze_time, clock, p_m: 0.0, last_up: never, last_down: never }
    }

    /// "Upon packet loss (or Qlen > L) event".
    pub fn loss(&mut self, now: f64) {
        if now - self.last_up > self.freeze_time {
            self.p_m = (self.p_m + self.d1).min(1.0);
            self.last_up = now;
            if self.clock == Clock::Shared {
                self.last_down = now;
            }
        }
    }

    /// "Upon link idle event".
    pub fn idle(&mut self, now: f64) {
        if now - self.last_down > self.freeze_time {
            self.p_m = (self.p_m - self.d2).max(0.0);
            self.last_down = now;
            if self.clock == Clock::Shared {
                self.last_up = now;
            }
        }
    }

    /// The link has been idle since `since` and still is at `now`, or has just ceased to be. There
    /// is an idle event whenever the freeze time since the last change has passed.
    pub fn idle_throughout(&mut self, since: f64, now: f64) {
        self.idle(since);
        while now - self.last_down > self.freeze_time {
            let event = self.last_down + self.freeze_time;
            self.last_down = f64::NEG_INFINITY;
            self.idle(event);
        }
    }
}
