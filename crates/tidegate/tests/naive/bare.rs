//! BARE read straight from its paper (cho2001 §III-A: the pseudo-code by its line numbers, eqs. 4
//! and 6), in floats. Written to be plainly right, not fast: all flows are walked at every call.
//!
//! The driver rolls the dice and says what became of a packet. What the print leaves out is
//! derived: beta's update sets `count` back, and a flow that is deleted changes the thresholds as a
//! new one does.
use std::collections::BTreeMap;

/// The virtual threshold (Fig. 1): `most` bytes per flow up to `roomy` flows, `least` from
/// `crowded` flows on, a straight line between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    pub most: f64,
    pub least: f64,
    pub roomy: f64,
    pub crowded: f64,
}

impl Threshold {
    pub fn at(&self, flows: f64) -> f64 {
        if flows <= self.roomy {
            self.most * flows
        } else if flows >= self.crowded {
            self.least * flows
        } else {
            let (from, to) = (self.most * self.roomy, self.least * self.crowded);
            from + (to - from) * (flows - self.roomy) / (self.crowded - self.roomy)
        }
    }
}

/// By what beta grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Growth {
    /// By c (line 16's procedure).
    Constant,
    /// By as much as the flow's rate is away from the fair one, up or down: how it shrinks, read
    /// into the text.
    Ratio,
}

/// What beta's update does to `count`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Count {
    /// Sets it back.
    Reset,
    /// Nothing, as printed.
    Keep,
}

/// The paper's constants; sizes in bytes, times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    pub c: f64,
    pub w_q: f64,
    pub beta_max: f64,
    pub beta_min: f64,
    pub beta_init: f64,
    pub k: f64,
    pub mu: f64,
    pub threshold: Threshold,
    pub target: f64,
    /// beta is updated after so many times max_th.
    pub trigger: f64,
    pub timeout: f64,
    pub growth: Growth,
    pub count: Count,
    /// Every so many nanoseconds flows are counted by rate; without it each that is known is one.
    /// Of more than 65 counts that are due at once only the last is made.
    pub recount: Option<f64>,
    /// The weight of eq. (5), if shares are estimated by what waits and not by eq. (4).
    pub by_backlog: Option<f64>,
    /// The drop probability below max_th, if it is not eq. (6)'s.
    pub constant: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    pub q: f64,
    pub rate: f64,
    pub beta: f64,
    pub count: f64,
    /// In nanoseconds, which a float holds exactly for 104 days.
    pub t_prev: f64,
}

#[derive(Clone, Debug)]
pub struct NaiveBare {
    pub set: Setting,
    pub flows: BTreeMap<u64, Flow>,
    pub q: f64,
    pub avg_q: f64,
    /// N by rate, and how often it was counted.
    pub active: f64,
    pub counts: f64,
}

impl NaiveBare {
    pub fn new(set: Setting) -> NaiveBare {
        NaiveBare { set, flows: BTreeMap::new(), q: 0.0, avg_q: 0.0, active: 1.0, counts: 0.0 }
    }

    /// N.
    pub fn n(&self) -> f64 {
        match self.set.recount {
            Some(_) => self.active,
            None => self.flows.len() as f64,
        }
    }

    /// A flow is one at half of the fair rate or more, below that a part of one; its rate fades
    /// from its last packet on.
    fn recount(&mut self, now: f64) {
        let Some(every) = self.set.recount else { return };
        let due = (now / every).floor() - self.counts;
        if due > 65.0 {
            self.counts += due - 1.0;
        }
        while (self.counts + 1.0) * every <= now {
            self.counts += 1.0;
            let at = self.counts * every;
            let half = self.rate_fair() / 2.0;
            let parts = self.flows.values().map(|flow| {
                let faded = flow.rate * libm::exp(-(at - flow.t_prev) / 1e9 / self.set.k);
                (faded / half).min(1.0)
            });
            self.active = parts.sum::<f64>().max(1.0);
        }
    }

    pub fn vmax_q(&self) -> f64 {
        self.set.threshold.at(self.n())
    }

    pub fn max_th(&self) -> f64 {
        self.vmax_q() / self.n()
    }

    pub fn target_q(&self) -> f64 {
        self.vmax_q() * self.set.target
    }

    pub fn rate_fair(&self) -> f64 {
        self.set.mu / self.n()
    }

    fn update_q(&mut self, change: f64) {
        self.q += change;
        self.avg_q = (1.0 - self.set.w_q) * self.avg_q + self.set.w_q * self.q;
    }

    /// Lines 16 and 29: beta, if enough bytes have gone by.
    fn update_beta(&mut self, id: u64) {
        // By what waits, a fair share is an equal part of the average backlog; of nothing nobody
        // has too much.
        let fair = match self.set.by_backlog {
            None => self.rate_fair(),
            Some(_) if self.avg_q <= 0.0 => f64::INFINITY,
            Some(_) => self.avg_q / self.n(),
        };
        let (max_th, target) = (self.max_th(), self.target_q());
        let (set, congested) = (self.set, self.avg_q > target);
        let flow = self.flows.get_mut(&id).unwrap();
        if flow.count < set.trigger * max_th {
            return;
        }
        let ratio = flow.rate / fair;
        flow.beta = if ratio > 1.0 && congested {
            (flow.beta / ratio).max(set.beta_min)
        } else {
            let factor = match set.growth {
                Growth::Constant => set.c,
                Growth::Ratio if ratio < 1.0 => 1.0 / ratio,
                Growth::Ratio => ratio,
            };
            (flow.beta * factor).min(set.beta_max)
        };
        if set.count == Count::Reset {
            flow.count = 0.0;
        }
    }

    /// §V-B: a flow that has nothing waiting, and has buffered nothing for so long, is forgotten.
    pub fn forget(&mut self, now: f64) {
        self.recount(now);
        let timeout = self.set.timeout * 1e9;
        self.flows.retain(|_, flow| flow.q > 0.0 || now - flow.t_prev < timeout);
    }

    /// Lines 14 to 18: the probability with which the packet is dropped; `None` for a flow that is
    /// new. Say afterwards whether it was `buffered`; a packet that finds no room counts up to
    /// here too.
    pub fn arrive(&mut self, now: f64, id: u64, size: f64) -> Option<f64> {
        self.forget(now);
        self.flows.get_mut(&id)?.count += size;
        self.update_beta(id);
        let flow = &self.flows[&id];
        match self.set.constant {
            Some(chance) if flow.q + size < self.max_th() => Some(chance),
            _ => Some(libm::pow((flow.q + size) / self.max_th(), flow.beta)), // eq. 6
        }
    }

    /// Lines 2 to 12 for a new flow, 22 to 25 for another.
    pub fn buffered(&mut self, now: f64, id: u64, size: f64) {
        self.update_q(size);
        let (k, beta) = (self.set.k, self.set.beta_init);
        let Some(flow) = self.flows.get_mut(&id) else {
            self.flows.insert(id, Flow { q: size, rate: 0.0, beta, count: size, t_prev: now });
            return;
        };
        flow.q += size;
        let t = (now - flow.t_prev) / 1e9;
        flow.t_prev = now;
        if let Some(w) = self.set.by_backlog {
            flow.rate = (1.0 - w) * flow.rate + w * flow.q; // eq. 5
            return;
        }
        // Eq. 4; for t = 0 its limit.
        let fresh = if t > 0.0 { -libm::expm1(-t / k) / t } else { 1.0 / k };
        flow.rate = fresh * size + libm::exp(-t / k) * flow.rate;
    }

    /// Lines 27 to 30.
    pub fn depart(&mut self, now: f64, id: u64, size: f64) {
        self.forget(now);
        self.flows.get_mut(&id).unwrap().q -= size;
        self.update_beta(id);
        self.update_q(-size);
    }
}
