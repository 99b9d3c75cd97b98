//! HCSFQ read from its paper's abstract and from what its authors' simulator does (yu2021), with
//! the pseudo-code of CSFQ (stoica1998 Fig. 3) at every inner node of the tree: the link, whose
//! children are tenants, and each tenant, whose children are flows. In floats. Written to be
//! plainly right, not fast: nobody is ever forgotten.
//!
//! Rates are in bytes per second, times in nanoseconds, which a float holds exactly for 104 days.
//! The driver says what became of a packet.
use crate::naive::csfq::Estimate;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// K of the flows and K_a of what arrives and is accepted, in seconds.
    pub k: f64,
    pub k_a: f64,
    /// K_c and K_f, in nanoseconds.
    pub k_c: f64,
    pub k_f: f64,
    /// What the link gives out, and the most that a tenant of the least weight may have.
    pub capacity: f64,
    pub most: f64,
    /// By what share an update lowers alpha at most.
    pub fall: f64,
    /// Without congestion alpha is at least this share of the node's capacity.
    pub least: f64,
    /// By what share the link's alpha falls when the buffer overflows, and how far within K_c.
    pub overflow: f64,
    pub overflow_most: f64,
    /// Up to this queue a node without congestion has no fair share; 0: this is not looked at. In
    /// the unit of the lengths that the driver gives.
    pub threshold: f64,
}

/// An inner node of the tree: how much comes to it and is accepted, and its children's fair share.
#[derive(Clone, Copy, Debug, Default)]
pub struct Node {
    /// A and F.
    pub arriving: Estimate,
    pub accepted: Estimate,
    /// 0: nothing is known, and nobody is dropped from.
    pub alpha: f64,
    pub congested: bool,
    /// When the window of K_c began.
    pub since: f64,
    /// The largest label of a window without congestion.
    pub largest: f64,
}

/// A packet as the nodes see it: `q` waited, and it was dropped or not.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub now: f64,
    pub len: f64,
    pub dropped: bool,
    pub q: f64,
}

impl Node {
    pub fn count(&mut self, set: &Setting, at: Arrival) {
        self.arriving.update(at.now, at.len, set.k_a);
        // A packet that is dropped brings F down, if none was accepted for long.
        let quiet = self.accepted.last.is_none_or(|last| at.now - last > set.k_f);
        if !at.dropped {
            self.accepted.update(at.now, at.len, set.k_a);
        } else if quiet {
            self.accepted.update(at.now, 0.0, set.k_a);
        }
    }

    /// estimate_alpha of a node that may pass on `capacity`, no child of it more than `most`.
    pub fn estimate(
        &mut self,
        set: &Setting,
        at: Arrival,
        label: f64,
        (capacity, most): (f64, f64),
    ) {
        let before = self.alpha;
        let below = set.threshold > 0.0 && at.q <= set.threshold;
        let over = at.now - self.since;
        if self.alpha == 0.0 && below {
            self.largest = f64::max(self.largest, label);
        } else if self.arriving.rate >= capacity {
            if !self.congested {
                (self.congested, self.since) = (true, at.now);
            } else if over > set.k_c {
                let fits = f64::min(self.alpha * (capacity / self.accepted.rate), most);
                if self.alpha > 0.0 {
                    self.alpha = f64::max(fits, before * (1.0 - set.fall));
                }
                self.since = at.now;
            }
            if self.alpha == 0.0 {
                self.alpha = f64::min(f64::max(label, self.largest), most);
            }
        } else if self.congested {
            (self.congested, self.since, self.largest) = (false, at.now, set.least * capacity);
        } else if over < set.k_c {
            self.largest = f64::max(self.largest, label);
        } else if below {
            (self.since, self.alpha) = (at.now, 0.0);
        } else {
            self.alpha = f64::max(self.largest, before * (1.0 - set.fall));
            (self.since, self.largest) = (at.now, set.least * capacity);
        }
    }
}

#[derive(Clone, Debug)]
pub struct NaiveHcsfq {
    pub set: Setting,
    pub flows: BTreeMap<u64, Estimate>,
    pub tenants: BTreeMap<u64, Node>,
    pub link: Node,
    /// Within the window that began then, overflows take alpha no further down than this.
    pub overflows_since: f64,
    pub floor: f64,
}

impl NaiveHcsfq {
    pub fn new(set: Setting) -> NaiveHcsfq {
        NaiveHcsfq {
            set,
            flows: BTreeMap::new(),
            tenants: BTreeMap::new(),
            link: Node::default(),
            overflows_since: f64::NEG_INFINITY,
            floor: 0.0,
        }
    }

    /// The packet's label: what its flow sends.
    pub fn label(&mut self, now: f64, flow: u64, len: f64) -> f64 {
        self.flows.entry(flow).or_default().update(now, len, self.set.k)
    }

    /// The probability with which a packet of `tenant` is dropped: none without a fair share. A
    /// tenant that was never seen begins its first window with this packet.
    pub fn drop(&mut self, now: f64, tenant: u64, label: f64) -> f64 {
        let node = self.tenants.entry(tenant).or_insert(Node { since: now, ..Node::default() });
        if node.alpha > 0.0 && label > 0.0 { f64::max(1.0 - node.alpha / label, 0.0) } else { 0.0 }
    }

    /// What a tenant of this weight that sends so much may pass on. The link's fair share is its
    /// capacity, or the whole link if nobody else sends a thousandth of what comes.
    pub fn capacity(&self, sends: f64, weight: f64) -> f64 {
        if self.link.alpha == 0.0 || sends >= 0.999 * self.link.arriving.rate {
            self.set.capacity
        } else {
            self.link.alpha * weight
        }
    }

    /// A packet of a flow with this label came: the link's fair share, then the tenant's.
    pub fn arrival(&mut self, at: Arrival, tenant: u64, weight: f64, label: f64) {
        let set = self.set;
        let mut node = self.tenants[&tenant];
        node.count(&set, at);
        self.link.count(&set, at);
        let sends = node.arriving.rate;
        self.link.estimate(&set, at, sends / weight, (set.capacity, set.most));
        let capacity = self.capacity(sends, weight);
        node.estimate(&set, at, label, (capacity, capacity));
        self.tenants.insert(tenant, node);
    }

    /// An accepted packet found no room (stoica1998 §3.4).
    pub fn overflow(&mut self, now: f64) {
        if now >= self.overflows_since + self.set.k_c {
            let floor = self.link.alpha * (1.0 - self.set.overflow_most);
            (self.overflows_since, self.floor) = (now, floor);
        }
        if self.link.alpha > self.floor {
            let lower = self.link.alpha * (1.0 - self.set.overflow);
            self.link.alpha = f64::max(lower, self.floor);
        }
    }
}
