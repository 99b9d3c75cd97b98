//! CSFQ read straight from its paper (stoica1998 §3, the pseudo-code of Fig. 3 and the heuristics
//! of §3.4), in floats, edge and core in one router. Written to be plainly right, not fast: flows
//! are never forgotten.
//!
//! Rates are in bytes per second, times in nanoseconds, which a float holds exactly for 104 days.
//! The driver says what became of a packet.
use std::collections::BTreeMap;

/// Which arrivals bring the accepted rate up to date.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Forwarded {
    /// Those that are accepted, as the pseudo-code has it.
    Accepted,
    /// All, those that are dropped with a length of 0.
    Arrivals,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// K and K_alpha, in seconds.
    pub k: f64,
    pub k_alpha: f64,
    /// K_c, in nanoseconds.
    pub k_c: f64,
    /// C.
    pub capacity: f64,
    /// alpha is no more than this while the link is congested.
    pub most: f64,
    /// By what alpha is multiplied when the buffer overflows, and how far that may go within K_c.
    pub overflow: f64,
    pub overflow_most: f64,
    /// Up to this queue an uncongested link has no fair share; 0: this is not looked at. In the
    /// unit of the lengths that the driver gives.
    pub threshold: f64,
    pub forwarded: Forwarded,
}

/// (1 − e^(−T/K)) L/T + e^(−T/K) r (eq. 3).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    pub rate: f64,
    /// When the last packet came, if one did.
    pub last: Option<f64>,
    /// Bytes that came at that very time, after the packet that was counted.
    pub waiting: f64,
}

impl Estimate {
    pub fn update(&mut self, now: f64, len: f64, k: f64) -> f64 {
        match self.last {
            // Nothing is known of a first packet's rate.
            None => self.last = Some(now),
            Some(last) if now == last => self.waiting += len,
            Some(last) => {
                let t = (now - last) / 1e9;
                let l = len + self.waiting;
                self.rate = -libm::expm1(-t / k) * l / t + libm::exp(-t / k) * self.rate;
                (self.last, self.waiting) = (Some(now), 0.0);
            }
        }
        self.rate
    }
}

#[derive(Clone, Debug)]
pub struct NaiveCsfq {
    pub set: Setting,
    pub flows: BTreeMap<u64, Estimate>,
    /// A.
    pub arriving: Estimate,
    /// F.
    pub accepted: Estimate,
    pub alpha: f64,
    pub congested: bool,
    /// When the window of K_c began.
    pub since: f64,
    /// The largest label of a window without congestion.
    pub largest: f64,
    /// Within the window that began then, overflows take alpha no further down than this.
    pub overflows_since: f64,
    pub floor: f64,
}

impl NaiveCsfq {
    pub fn new(set: Setting) -> NaiveCsfq {
        NaiveCsfq {
            set,
            flows: BTreeMap::new(),
            arriving: Estimate::default(),
            accepted: Estimate::default(),
            alpha: 0.0,
            congested: false,
            since: 0.0,
            largest: 0.0,
            overflows_since: f64::NEG_INFINITY,
            floor: 0.0,
        }
    }

    /// The edge: the packet's label.
    pub fn label(&mut self, now: f64, flow: u64, len: f64, weight: f64) -> f64 {
        self.flows.entry(flow).or_default().update(now, len, self.set.k) / weight
    }

    /// The probability with which the packet is dropped; none before there is a fair share.
    pub fn drop(&self, label: f64) -> f64 {
        if self.alpha > 0.0 && label > 0.0 { (1.0 - self.alpha / label).max(0.0) } else { 0.0 }
    }

    /// estimate_alpha, for a packet that finds `q` waiting.
    pub fn estimate_alpha(&mut self, now: f64, label: f64, len: f64, dropped: bool, q: f64) {
        self.arriving.update(now, len, self.set.k_alpha);
        match (dropped, self.set.forwarded) {
            (false, _) => drop(self.accepted.update(now, len, self.set.k_alpha)),
            (true, Forwarded::Arrivals) => drop(self.accepted.update(now, 0.0, self.set.k_alpha)),
            (true, Forwarded::Accepted) => {}
        }
        let k_c = self.set.k_c;
        let below = self.set.threshold > 0.0 && q <= self.set.threshold;
        if self.alpha == 0.0 && below {
            self.largest = self.largest.max(label);
        } else if self.arriving.rate >= self.set.capacity {
            if !self.congested {
                (self.congested, self.since) = (true, now);
            } else if now > self.since + k_c {
                if self.alpha > 0.0 {
                    self.alpha = f64::min(
                        self.alpha * (self.set.capacity / self.accepted.rate),
                        self.set.most,
                    );
                }
                self.since = now;
            }
            // The pseudo-code does this with the first packet only, whose label may be 0.
            if self.alpha == 0.0 {
                self.alpha = f64::min(label.max(self.largest), self.set.most);
            }
        } else if self.congested {
            (self.congested, self.since, self.largest) = (false, now, 0.0);
        } else if now < self.since + k_c {
            self.largest = self.largest.max(label);
        } else {
            self.since = now;
            // The authors' code: a short queue needs no fair share.
            if below {
                self.alpha = 0.0;
            } else {
                (self.alpha, self.largest) = (self.largest, 0.0);
            }
        }
    }

    /// An accepted packet found no room (§3.4).
    pub fn overflow(&mut self, now: f64) {
        if now >= self.overflows_since + self.set.k_c {
            (self.overflows_since, self.floor) = (now, self.alpha * (1.0 - self.set.overflow_most));
        }
        if self.alpha > self.floor {
            self.alpha = (self.alpha * self.set.overflow).max(self.floor);
        }
    }
}
