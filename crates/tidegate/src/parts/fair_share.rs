//! The fair share of a node: how much each of its children may pass on, found from how much comes
//! and how much is accepted (stoica1998 Fig. 3, `estimate_alpha`, and the heuristics of §3.4).
//!
//! The node is a link with its flows, or a link with its tenants, or a tenant with its flows. While
//! more comes than the capacity, the share α is multiplied by capacity / accepted, window by
//! window. Otherwise it is the largest label of the window that ended.
//!
//! ```
//! use tidegate::parts::fair_share::{FairShare, FairShareLaw, NodeCapacity, ShareArrival};
//! use tidegate::parts::rate::RateEstimator;
//! use tidegate::{Span, Time};
//! let law = FairShareLaw::stoica1998(
//!     RateEstimator::new(Span::from_millis(200)),
//!     Span::from_millis(200),
//!     None,
//! );
//! let (mut node, capacity) = (FairShare::default(), NodeCapacity { rate: 1e6, most: 1e6 });
//! for n in 0..10_000u64 {
//!     // 2 MB/s in packets of 1000 bytes, of four children of the same rate; none is dropped.
//!     let now = Time::ZERO + Span::from_micros(500 * n);
//!     let arrival = ShareArrival { now, len: 1000, dropped: false, short: false };
//!     node.count(&law, arrival);
//!     node.judge(&law, arrival, 5e5, capacity);
//! }
//! assert!(node.is_congested() && node.alpha() < 1e4); // lower and lower, as nobody heeds it
//! ```
use crate::parts::rate::{RateEstimator, RateStream};
use crate::qdisc::{Backlog, Gauge};
use crate::units::{Size, Span, Time};

/// What all nodes of a queue have in common.
#[derive(Clone, Debug)]
pub struct FairShareLaw {
    /// Of the rates at which packets arrive and are accepted.
    pub estimator: RateEstimator,
    /// How long congestion, or its absence, must last before the fair share changes.
    pub window: Span,
    /// A packet that is dropped brings the accepted rate up to date if none did for longer than
    /// this; `None`: never.
    pub quiet: Option<Span>,
    /// What an update leaves of the fair share at least.
    pub keeps: f64,
    /// Without congestion the fair share is at least this part of the capacity.
    pub least: f64,
}

impl FairShareLaw {
    /// The law as printed, without bounds on what an update does.
    pub fn stoica1998(estimator: RateEstimator, window: Span, quiet: Option<Span>) -> FairShareLaw {
        FairShareLaw { estimator, window, quiet, keeps: 0.0, least: 0.0 }
    }
}

/// What a node can pass on, and what no child's share is above, in bytes per second.
#[derive(Clone, Copy, Debug)]
pub struct NodeCapacity {
    /// C.
    pub rate: f64,
    /// While there is congestion no label can be fair that is above this.
    pub most: f64,
}

/// A packet of `len` bytes that came and was dropped or not.
#[derive(Clone, Copy, Debug)]
pub struct ShareArrival {
    /// When.
    pub now: Time,
    /// Its length in bytes.
    pub len: u32,
    /// Whether it is dropped as unfair.
    pub dropped: bool,
    /// Whether it found the queue so short that nothing needs to be dropped.
    pub short: bool,
}

/// The fair share and what it is estimated from; rates in bytes per second.
#[derive(Clone, Copy, Debug, Default)]
pub struct FairShare {
    /// A and F.
    arriving: RateStream,
    accepted: RateStream,
    /// α: 0 while nothing is known, and then nobody is dropped from.
    alpha: f64,
    since: Time,
    /// The largest label of a window without congestion.
    largest: f64,
    congested: bool,
}

impl FairShare {
    /// Of a node whose first window begins now.
    pub fn since(now: Time) -> FairShare {
        FairShare { since: now, ..FairShare::default() }
    }

    /// α in bytes per second, 0 while nothing is known of it.
    #[inline]
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// A: the rate at which packets arrive, in bytes per second.
    #[inline]
    pub const fn arrival_rate(&self) -> f64 {
        self.arriving.rate()
    }

    /// F: the rate at which they are accepted, in bytes per second.
    pub const fn accepted_rate(&self) -> f64 {
        self.accepted.rate()
    }

    /// Whether more came than the capacity when a packet came last.
    pub const fn is_congested(&self) -> bool {
        self.congested
    }

    /// Shows α, A, F, and whether there is congestion.
    pub fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        let mut rate = |name, bytes| see(Gauge { name, unit: "bit/s", value: 8.0 * bytes });
        rate("alpha", self.alpha());
        rate("arrivals", self.arrival_rate());
        rate("accepted", self.accepted_rate());
        let congested = f64::from(u8::from(self.is_congested()));
        see(Gauge { name: "congested", unit: "", value: congested });
    }

    /// Whether a packet with this label is to be dropped when `die` is uniform on [0, 1).
    #[inline]
    pub fn drops(&self, label: f64, die: f64) -> bool {
        // u < 1 − α / label, without the division.
        self.alpha > 0.0 && self.alpha < label * (1.0 - die)
    }

    /// Brings A and F up to date.
    #[inline]
    pub fn count(&mut self, law: &FairShareLaw, arrival: ShareArrival) {
        let ShareArrival { now, len, dropped, .. } = arrival;
        self.arriving.update(&law.estimator, now, len);
        if !dropped {
            self.accepted.update(&law.estimator, now, len);
        } else if law.quiet.is_some_and(|quiet| self.accepted.is_quiet(now, quiet)) {
            self.accepted.update(&law.estimator, now, 0);
        }
    }

    /// Brings α up to date, after the counts, for a packet with this label.
    #[inline]
    pub fn judge(
        &mut self,
        law: &FairShareLaw,
        arrival: ShareArrival,
        label: f64,
        capacity: NodeCapacity,
    ) {
        if self.alpha == 0.0 && arrival.short {
            self.largest = self.largest.max(label);
        } else if self.arriving.rate() >= capacity.rate {
            self.congested(law, arrival.now, label, capacity);
        } else {
            self.uncongested(law, arrival, label, law.least * capacity.rate);
        }
    }

    #[inline]
    fn congested(&mut self, law: &FairShareLaw, now: Time, label: f64, to: NodeCapacity) {
        if !self.congested {
            (self.congested, self.since) = (true, now);
        } else if now > self.since + law.window {
            if self.alpha > 0.0 {
                let fits = (self.alpha * (to.rate / self.accepted.rate())).min(to.most);
                self.alpha = fits.max(self.alpha * law.keeps);
            }
            self.since = now;
        }
        // The pseudo-code does this with the first packet only, whose label may be 0.
        if self.alpha == 0.0 {
            self.alpha = label.max(self.largest).min(to.most);
        }
    }

    #[inline]
    fn uncongested(&mut self, law: &FairShareLaw, arrival: ShareArrival, label: f64, least: f64) {
        let ShareArrival { now, short, .. } = arrival;
        if self.congested {
            (self.congested, self.since, self.largest) = (false, now, least);
        } else if now < self.since + law.window {
            self.largest = self.largest.max(label);
        } else if short {
            (self.since, self.alpha) = (now, 0.0);
        } else {
            self.alpha = self.largest.max(self.alpha * law.keeps);
            (self.since, self.largest) = (now, least);
        }
    }
}

/// Whether no more waits than the threshold; never where that is 0.
#[inline]
pub fn is_short(threshold: Size, waiting: Backlog) -> bool {
    match threshold {
        Size::Packets(0) | Size::Bytes(0) => false,
        Size::Packets(n) => waiting.packets as u64 <= n,
        Size::Bytes(b) => waiting.bytes <= b,
    }
}

/// How packets that find no room lower the fair share of a link (stoica1998 §3.4).
#[derive(Clone, Debug)]
pub struct Overflows {
    factor: f64,
    /// What is left of α after all that overflows may take of it within a window.
    least: f64,
    /// The end of the window, and α's floor in it.
    until: Time,
    floor: f64,
}

impl Overflows {
    /// Each takes the part `each` of α, and all within a window no more than the part `most`.
    pub fn new(each: f64, most: f64) -> Overflows {
        Overflows { factor: 1.0 - each, least: 1.0 - most, until: Time::ZERO, floor: 0.0 }
    }

    /// An accepted packet found no room.
    #[cold]
    pub fn lower(&mut self, share: &mut FairShare, now: Time, window: Span) {
        if now >= self.until {
            (self.until, self.floor) = (now + window, share.alpha * self.least);
        }
        if share.alpha > self.floor {
            share.alpha = (share.alpha * self.factor).max(self.floor);
        }
    }
}
