//! To which of so many queues, classes or bins a packet goes: by a hash of its flow, or by the
//! class that the driver gave it. A random number perturbs the hash, so that nobody can choose
//! flows that collide.
//!
//! ```
//! use tidegate::{Packet, Rng, parts::spread::{Classifier, FlowSpread, Map}};
//! let mut dice = Rng::from_seed(1);
//! let spread = FlowSpread::new(1024, &mut dice);
//! assert!(spread.of(0xf10) < 1024 && spread.of(0xf10) == spread.of(0xf10));
//! let given = Classifier::new(Map::Class, 3, 1, &mut dice);
//! let of = |class| given.of(&Packet::new(7, 1000).with_class(class));
//! assert_eq!([1, 2, 3, 9].map(of), [1, 2, 2, 2]);
//! ```
use alloc::vec;
use alloc::vec::Vec;

use crate::choices;
use crate::packet::Packet;
use crate::parts::isolation::Isolation;
use crate::rng::{Rng, mix};

/// A hash of flows onto 0 .. n.
#[derive(Clone, Copy, Debug)]
pub struct FlowSpread {
    perturbation: u64,
    over: u64,
}

impl FlowSpread {
    /// A hash onto 0 .. `over`, perturbed by a number drawn from `dice`.
    pub fn new(over: u32, dice: &mut Rng) -> FlowSpread {
        FlowSpread::keyed(over, dice.bits())
    }

    /// The same, perturbed by `perturbation`.
    pub const fn keyed(over: u32, perturbation: u64) -> FlowSpread {
        FlowSpread { perturbation, over: over as u64 }
    }

    /// Where `flow` goes.
    #[inline]
    pub fn of(&self, flow: u64) -> usize {
        // The high half of a product is uniform on 0 .. n, without a division.
        ((mix(flow ^ self.perturbation) as u128 * self.over as u128) >> 64) as usize
    }
}

/// Hash places in sets. A flow may go to any place of the set that its hash deals it. It keeps its
/// place while packets of it wait, and who comes anew takes a place of the set where nobody waits.
/// So two flows meet only while all places of their set are busy, where with single places they do
/// whenever their hashes agree (tc-cake(8), *Flow isolation parameters*). Who has to share goes to
/// the place of the set that its hash names. So does everybody of that hash until nobody waits
/// there: packets of a flow stay in order.
///
/// ```
/// use tidegate::{Rng, parts::spread::HashWays};
/// let mut ways = HashWays::new(8, 8, &mut Rng::from_seed(1)); // one set
/// let mut busy = [false; 8];
/// for flow in 0..8 {
///     let place = ways.take(flow, |place| busy[place]);
///     assert!(!busy[place]);
///     busy[place] = true;
/// }
/// let shared = ways.take(9, |place| busy[place]); // the ninth must share
/// busy[(shared + 1) % 8] = false;
/// assert_eq!(ways.of(9, |place| busy[place]), shared); // and stays there while somebody waits
/// ```
#[derive(Clone, Debug)]
pub struct HashWays {
    /// Onto sets.
    spread: FlowSpread,
    ways: usize,
    /// Whose place it is; empty with one way, where a hash says it all.
    keys: Vec<u64>,
    /// Whether others joined it since it was last empty.
    shared: Vec<bool>,
}

impl HashWays {
    /// `places` in sets of `ways`, or of as many as there are places; what is left over belongs to
    /// no set. The hash is perturbed by a number drawn from `dice`.
    pub fn new(places: u32, ways: u32, dice: &mut Rng) -> HashWays {
        HashWays::keyed(places, ways, dice.bits())
    }

    /// The same, perturbed by `perturbation`.
    pub fn keyed(places: u32, ways: u32, perturbation: u64) -> HashWays {
        let places = places.max(1);
        let ways = ways.clamp(1, places);
        let known = if ways == 1 { 0 } else { places as usize };
        let spread = FlowSpread::keyed(places / ways, perturbation);
        HashWays { spread, ways: ways as usize, keys: vec![0; known], shared: vec![false; known] }
    }

    /// What `places` in sets of `ways` take, in bytes.
    pub fn bytes(places: u32, ways: u32) -> u64 {
        if ways == 1 { 0 } else { 9 * places as u64 }
    }

    /// Where `flow` goes: to its own place, else to the first of its set that is not `busy`, else
    /// to one by its hash.
    #[inline]
    pub fn of(&self, flow: u64, busy: impl Fn(usize) -> bool) -> usize {
        let set = self.spread.of(flow);
        if self.ways == 1 {
            return set;
        }
        let places = set * self.ways..(set + 1) * self.ways;
        let home = places.start + mix(flow) as usize % self.ways;
        if let Some(own) = places.clone().find(|&place| self.keys[place] == flow) {
            return own;
        }
        if self.shared[home] && busy(home) {
            return home;
        }
        places.clone().find(|&place| !busy(place)).unwrap_or(home)
    }

    /// The same for a packet that joins those who wait there: the place is its own from now on, or
    /// shared if it was busy.
    #[inline]
    pub fn take(&mut self, flow: u64, busy: impl Fn(usize) -> bool) -> usize {
        let place = self.of(flow, &busy);
        if self.ways == 1 {
            return place;
        }
        if !busy(place) {
            (self.keys[place], self.shared[place]) = (flow, false);
        } else if self.keys[place] != flow {
            self.shared[place] = true;
        }
        place
    }
}

/// How likely one of `flows` busy flows has to share its place, of `places` in sets of `ways`. In
/// single places: that another is dealt the same one. In sets: that a set is dealt more than it
/// has, by Poisson's law.
///
/// ```
/// use tidegate::parts::spread::sharing;
/// assert!((sharing(1024, 1, 41) - 0.038).abs() < 0.001 && sharing(1024, 8, 41) < 1e-8);
/// ```
pub fn sharing(places: u32, ways: u32, flows: u64) -> f64 {
    let others = flows.saturating_sub(1) as f64;
    let sets = (places / ways.max(1)).max(1) as f64;
    if ways <= 1 {
        return 1.0 - libm::pow(1.0 - 1.0 / sets, others);
    }
    // Eight others or more in the set of eight: the ninth shares.
    let mean = others / sets;
    let mut term = libm::exp(-mean);
    let mut fewer = 0.0;
    for k in 0..ways {
        fewer += term;
        term *= mean / (k + 1) as f64;
    }
    // What the sum of the others leaves is rounding where it is small: the terms themselves are
    // not.
    if mean < 1.0 { term / (1.0 - mean / (ways + 1) as f64) } else { (1.0 - fewer).clamp(0.0, 1.0) }
}

choices! {
    /// What decides the class of a packet: the parameter `map` of queues with classes.
    pub enum Map {
        /// A hash of its flow.
        Flow = "flow",
        /// The class that the driver gave it; numbers beyond the last class go to the last.
        Class = "class",
    }
}

/// Packets to classes.
#[derive(Clone, Debug)]
pub struct Classifier {
    map: Map,
    isolation: Isolation,
    ways: HashWays,
    last: usize,
}

impl Classifier {
    /// The classes 0 .. `classes`, at least one, in sets of `ways` as [`HashWays`] has them; in
    /// none if the driver gives the classes. The hash is perturbed by a number drawn from `dice`.
    pub fn new(map: Map, classes: u32, ways: u32, dice: &mut Rng) -> Classifier {
        let ways = if map == Map::Flow { ways } else { 1 };
        Classifier::with(map, classes, HashWays::new(classes, ways, dice))
    }

    /// Classes in no sets, perturbed by `perturbation`.
    pub fn keyed(map: Map, classes: u32, perturbation: u64) -> Classifier {
        Classifier::with(map, classes, HashWays::keyed(classes, 1, perturbation))
    }

    fn with(map: Map, classes: u32, ways: HashWays) -> Classifier {
        let isolation = Isolation::Flows;
        Classifier { map, isolation, ways, last: classes.max(1) as usize - 1 }
    }

    /// The same with what `isolation` says in place of the flow.
    pub fn with_isolation(self, isolation: Isolation) -> Classifier {
        Classifier { isolation, ..self }
    }

    /// The class of `pkt`, of classes that are in no sets.
    #[inline]
    pub fn of(&self, pkt: &Packet) -> usize {
        self.among(pkt, |_| false)
    }

    /// The class of `pkt` where packets wait in those that are `busy`.
    #[inline]
    pub fn among(&self, pkt: &Packet, busy: impl Fn(usize) -> bool) -> usize {
        match self.map {
            Map::Flow => self.ways.of(self.isolation.key(pkt), busy),
            Map::Class => self.given(pkt),
        }
    }

    /// The same for a packet that joins those who wait there.
    #[inline]
    pub fn take(&mut self, pkt: &Packet, busy: impl Fn(usize) -> bool) -> usize {
        match self.map {
            Map::Flow => self.ways.take(self.isolation.key(pkt), busy),
            Map::Class => self.given(pkt),
        }
    }

    #[inline]
    fn given(&self, pkt: &Packet) -> usize {
        (pkt.class as usize).min(self.last)
    }
}
