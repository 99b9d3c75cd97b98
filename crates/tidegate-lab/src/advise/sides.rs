//! Which side of the captured link a sender is on.
//!
//! Every packet of a link goes from one side to the other. So the senders' hardware addresses, or
//! where a capture has none their network addresses, fall into two sides. A place where packets of
//! many links meet (a switch's mirror port) gives a contradiction instead.
use std::collections::BTreeMap;

use tidegate_packet::Address;

/// Addresses that are remembered.
const MOST: usize = 1 << 17;

/// A union of sets in which each member knows whether it is on the side of its set's first member.
#[derive(Clone, Debug, Default)]
pub(super) struct Sides {
    numbers: BTreeMap<Address, u32>,
    /// Another member of the set, and whether it is on the other side; the first is its own.
    parents: Vec<(u32, Side)>,
    /// How deep the members below each one stand at most, so that ways to the first stay short.
    depths: Vec<u8>,
    contradictions: u64,
}

/// One side, or the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    #[default]
    This,
    Other,
}

impl Side {
    pub(super) fn turned(self) -> Side {
        self.seen_from(Side::Other)
    }

    /// This side as somebody on side `from` calls it.
    fn seen_from(self, from: Side) -> Side {
        if self == from { Side::This } else { Side::Other }
    }
}

/// Where a sender is: a set of addresses that have to do with each other, and its side in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SenderPlace {
    pub(super) set: u32,
    pub(super) side: Side,
}

impl Sides {
    /// A packet goes from `source` to `destination`; the number of the source.
    pub(super) fn pass(&mut self, source: Address, destination: Address) -> Option<u32> {
        let (source, destination) = (self.number(source)?, self.number(destination)?);
        let (a, b) = (self.place(source), self.place(destination));
        if a.set != b.set {
            let depth = |place: SenderPlace| self.depths[place.set as usize];
            let (above, below) = if depth(a) < depth(b) { (b, a) } else { (a, b) };
            let deepest = depth(above).max(depth(below) + 1);
            // Their firsts are on different sides if the two are on the same side of theirs.
            let side = a.side.seen_from(b.side).turned();
            self.parents[below.set as usize] = (above.set, side);
            self.depths[above.set as usize] = deepest;
        } else if a.side == b.side {
            self.contradictions += 1;
        }
        Some(source)
    }

    /// Whether there are two sides.
    pub(super) fn agree(&self) -> bool {
        self.contradictions == 0
    }

    fn number(&mut self, address: Address) -> Option<u32> {
        if let Some(&number) = self.numbers.get(&address) {
            return Some(number);
        }
        let number = self.parents.len() as u32;
        (self.parents.len() < MOST).then(|| {
            self.numbers.insert(address, number);
            self.parents.push((number, Side::This));
            self.depths.push(0);
            number
        })
    }

    /// Where `number` is.
    pub(super) fn place(&self, number: u32) -> SenderPlace {
        let (mut at, mut side) = (number, Side::This);
        loop {
            let (parent, turn) = self.parents[at as usize];
            if parent == at {
                return SenderPlace { set: at, side };
            }
            (at, side) = (parent, side.seen_from(turn));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(n: u8) -> Address {
        Address::V4([10, 0, 0, n])
    }

    #[test]
    fn two_sides_whatever_the_order() {
        let mut sides = Sides::default();
        // Odd hosts are on one side.
        let passes = [(1, 2), (4, 3), (5, 6), (1, 4), (6, 3), (2, 5), (7, 8)];
        let numbers: Vec<u32> = passes.map(|(a, b)| sides.pass(host(a), host(b)).unwrap()).to_vec();
        assert!(sides.agree());
        let places: Vec<SenderPlace> = numbers.iter().map(|&n| sides.place(n)).collect();
        for (pass, place) in passes.iter().zip(&places).take(6) {
            assert_eq!(place.set, places[0].set);
            let odd = pass.0 % 2 == 1;
            assert_eq!(place.side == places[0].side, odd, "{pass:?}");
        }
        assert_ne!(places[6].set, places[0].set, "nothing joins these two to the others");
    }

    #[test]
    fn a_mirror_port_has_no_sides() {
        let mut sides = Sides::default();
        for (a, b) in [(1, 2), (2, 3), (3, 1)] {
            sides.pass(host(a), host(b));
        }
        assert!(!sides.agree());
    }
}
