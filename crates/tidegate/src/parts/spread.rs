//! To which of so many queues, classes or bins a packet goes: by a hash of its flow, perturbed by a random number so that
//! nobody can choose flows that collide, or by the class that the driver gave it.
//!
//! ```
//! use tidegate::{Packet, Rng, parts::spread::{Classes, Map, Spread}};
//! let mut dice = Rng::from_seed(1);
//! let spread = Spread::new(1024, &mut dice);
//! assert!(spread.of(0xf10) < 1024 && spread.of(0xf10) == spread.of(0xf10));
//! let given = Classes::new(Map::Class, 3, &mut dice);
//! assert_eq!([1, 2, 3, 9].map(|class| given.of(&Packet::new(7, 1000).with_class(class))), [1, 2, 2, 2]);
//! ```
use crate::choices;
use crate::packet::Packet;
use crate::rng::{Rng, mix};

/// A hash of flows onto 0 .. n.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    perturbation: u64,
    over: u64,
}

impl Spread {
    /// A hash onto 0 .. `over`, perturbed by a number drawn from `dice`.
    pub fn new(over: u32, dice: &mut Rng) -> Spread {
        Spread::keyed(over, dice.bits())
    }

    /// The same, perturbed by `perturbation`.
    pub const fn keyed(over: u32, perturbation: u64) -> Spread {
        Spread { perturbation, over: over as u64 }
    }

    /// Where `flow` goes.
    #[inline]
    pub fn of(&self, flow: u64) -> usize {
        // The high half of a product is uniform on 0 .. n, without a division.
        ((mix(flow ^ self.perturbation) as u128 * self.over as u128) >> 64) as usize
    }
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
#[derive(Clone, Copy, Debug)]
pub struct Classes {
    map: Map,
    spread: Spread,
    last: usize,
}

impl Classes {
    /// The classes 0 .. `classes`, of which there is one at least.
    pub fn new(map: Map, classes: u32, dice: &mut Rng) -> Classes {
        Classes::keyed(map, classes, dice.bits())
    }

    /// The same, perturbed by `perturbation`.
    pub fn keyed(map: Map, classes: u32, perturbation: u64) -> Classes {
        let classes = classes.max(1);
        Classes { map, spread: Spread::keyed(classes, perturbation), last: classes as usize - 1 }
    }

    /// The class of `pkt`.
    #[inline]
    pub fn of(&self, pkt: &Packet) -> usize {
        match self.map {
            Map::Flow => self.spread.of(pkt.flow),
            Map::Class => (pkt.class as usize).min(self.last),
        }
    }
}
