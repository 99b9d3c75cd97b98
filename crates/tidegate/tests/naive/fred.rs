//! FRED read from its pseudo-code (lin1997 §4 and, for many flows, §5), in floats. Written to be
//! plainly right, not fast. Lengths are in packets or in bytes, as the driver likes; `one` is a
//! packet.
use std::collections::BTreeMap;

use super::red::is_near;

/// Which of the rules for an average above max_th apply.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Above {
    /// Those of one queue: no flow above twice the average share (B), and nothing random: all is
    /// dropped (C).
    Tail,
    /// Those for many flows: two packets each (A).
    Two,
    /// A, B and C.
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    pub min: f64,
    pub max: f64,
    pub max_p: f64,
    pub weight: f64,
    pub min_q: f64,
    pub max_q: f64,
    /// A packet, in the unit of the lengths.
    pub one: f64,
    /// A flow above so many average shares is refused (B).
    pub multiple: f64,
    /// A flow with more strikes than this has the average share and no more.
    pub strikes: f64,
    pub above: Above,
    /// Time on the wire of a packet, in nanoseconds.
    pub s: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flow {
    pub qlen: f64,
    pub strike: f64,
}

/// What is to become of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Said {
    Pass,
    Die(f64),
    Drop,
}

#[derive(Clone, Debug)]
pub struct NaiveFred {
    pub set: Setting,
    /// Those that have something waiting: N_active is their number.
    pub flows: BTreeMap<u64, Flow>,
    pub q: f64,
    pub avg: f64,
    pub count: f64,
    /// Since when the queue is empty, without the packet times that have been taken off the
    /// average.
    pub q_time: f64,
}

impl NaiveFred {
    pub fn new(set: Setting) -> NaiveFred {
        NaiveFred { set, flows: BTreeMap::new(), q: 0.0, avg: 0.0, count: -1.0, q_time: 0.0 }
    }

    /// avgcq: the average share of a flow, at least a packet.
    pub fn avgcq(&self) -> f64 {
        (self.avg / self.flows.len().max(1) as f64).max(self.set.one)
    }

    /// Whether an average that differs by rounding may decide otherwise on a packet of flow `id`.
    pub fn is_edge(&self, id: u64) -> bool {
        // A share of one packet, the least, is exact.
        let (set, share) = (self.set, self.avg / self.flows.len().max(1) as f64);
        let qlen = self.flows.get(&id).map_or(0.0, |flow| flow.qlen);
        let edges =
            [(self.avg, set.min), (self.avg, set.max), (qlen, share), (qlen, set.multiple * share)];
        edges.iter().any(|&(is, edge)| is_near(is, edge))
    }

    fn average(&mut self, now: f64, departing: bool) {
        let w = self.set.weight;
        if self.q > 0.0 || departing {
            self.avg = (1.0 - w) * self.avg + w * self.q;
        } else {
            let m = ((now - self.q_time) / self.set.s).floor();
            self.avg *= libm::pow(1.0 - w, m);
            self.q_time += m * self.set.s;
        }
    }

    /// A packet arrives and finds room. Say afterwards what came of it.
    pub fn arrive(&mut self, now: f64, id: u64) -> Said {
        if self.q == 0.0 {
            self.average(now, false);
        }
        let (set, avgcq) = (self.set, self.avgcq());
        let high = self.avg >= set.max;
        let max_q = if high && set.above != Above::Tail { 2.0 * set.one } else { set.max_q };
        let Flow { qlen, strike } = self.flows.get(&id).copied().unwrap_or_default();
        let twice = high && set.above != Above::Two && qlen > set.multiple * avgcq;
        if qlen >= max_q || twice || (qlen >= avgcq && strike > set.strikes) {
            if let Some(flow) = self.flows.get_mut(&id) {
                flow.strike += 1.0;
            }
            return Said::Drop;
        }
        if self.avg < set.min {
            self.count = -1.0;
            return Said::Pass;
        }
        if high {
            if set.above == Above::Two {
                return Said::Pass;
            }
            self.count = 0.0;
            return Said::Drop;
        }
        self.count += 1.0;
        if qlen < set.min_q.max(avgcq) {
            return Said::Pass;
        }
        let p_b = set.max_p * (self.avg - set.min) / (set.max - set.min);
        let product = self.count * p_b;
        Said::Die(if product < 1.0 { (p_b / (1.0 - product)).min(1.0) } else { 1.0 })
    }

    /// The die fell so that the packet was dropped.
    pub fn dropped(&mut self) {
        self.count = 0.0;
    }

    pub fn accepted(&mut self, now: f64, id: u64, size: f64) {
        self.flows.entry(id).or_default();
        self.average(now, false);
        self.flows.get_mut(&id).unwrap().qlen += size;
        self.q += size;
    }

    pub fn depart(&mut self, now: f64, id: u64, size: f64) {
        self.q -= size;
        self.flows.get_mut(&id).unwrap().qlen -= size;
        self.average(now, true);
        if self.flows[&id].qlen == 0.0 {
            self.flows.remove(&id);
        }
        if self.q == 0.0 {
            self.q_time = now;
        }
    }
}
