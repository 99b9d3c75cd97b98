//! What a byte of a packet costs in bytes of the round: weights, and hosts that divide a share.
use alloc::vec;
use alloc::vec::Vec;

use super::{MOST, ONE};
use crate::config::ByClass;
use crate::packet::Packet;
use crate::parts::isolation::{Divide, Isolation};
use crate::rng::{Rng, mix};

/// Places in a row of hosts.
pub(super) const HOST_PLACES: usize = 512;
/// No factor is more, in 2^-16.
const MOST_FACTOR: u64 = 1 << 26;
/// One flow, in the unit in which hosts' flows are kept.
const ONE_FLOW: u16 = 16;

/// Packets' factors.
#[derive(Clone, Debug)]
pub(super) struct Factors {
    isolation: Isolation,
    /// By class, in 2^-16; the last holds for all further classes. None: all are 1.
    classes: Vec<u32>,
    /// Of the last packet charged to each cell of the first row; empty if all are 1.
    last: Vec<u32>,
    sides: [Option<HostSide>; 2],
}

/// The hosts of one side, sources or destinations.
#[derive(Clone, Debug)]
struct HostSide {
    key: u64,
    /// The host of the last packet charged to each cell of the first row.
    last: Vec<u16>,
    /// Two rows of places.
    places: Vec<HostPlace>,
}

#[derive(Clone, Copy, Debug)]
struct HostPlace {
    /// How many flows its hosts have, in 2^-4.
    flows: u16,
    /// Cells that are ahead, while a pass counts.
    seen: u16,
}

impl HostSide {
    fn new(cells: usize, dice: &mut Rng) -> HostSide {
        let empty = HostPlace { flows: ONE_FLOW, seen: 0 };
        HostSide { key: dice.bits(), last: vec![0; cells], places: vec![empty; 2 * HOST_PLACES] }
    }

    /// How many flows the host has, in 2^-4.
    #[inline]
    fn flows(&self, host: u16) -> u16 {
        let [one, other] = places(self.key, host);
        self.places[one].flows.min(self.places[other].flows)
    }

    /// Counts anew by the cells of the first row that are `ahead`: so many `cells`, which stand for
    /// `flows`, in 2^-16.
    fn count(&mut self, ahead: impl Iterator<Item = bool>, cells: u64, flows: u64, forgets: u64) {
        for (host, _) in self.last.iter().zip(ahead).filter(|(_, ahead)| *ahead) {
            places(self.key, *host).into_iter().for_each(|place| self.places[place].seen += 1);
        }
        for place in &mut self.places {
            let seen = u64::from(place.seen) * flows / (cells.max(1) << 12);
            let seen = seen.min(u16::MAX.into()) as u16;
            let falls = (u64::from(place.flows.saturating_sub(seen)) * forgets).div_ceil(ONE);
            place.flows = seen.max(place.flows - falls as u16).max(ONE_FLOW);
            place.seen = 0;
        }
    }
}

/// The place of `host` in each row, among all places.
#[inline]
fn places(key: u64, host: u16) -> [usize; 2] {
    let word = mix(u64::from(host) ^ key);
    let place = |half: u64| half as usize % HOST_PLACES;
    [place(word), HOST_PLACES + place(word >> 32)]
}

impl Factors {
    /// For `cells` in the first row. Keys of hosts are drawn only where hosts divide shares.
    pub(super) fn new(
        weights: &ByClass<f64>,
        isolation: Isolation,
        cells: usize,
        dice: &mut Rng,
    ) -> Factors {
        let given = weights.given();
        let least = given.iter().copied().fold(f64::INFINITY, f64::min);
        let factor = |weight: &f64| ((ONE as f64 * least / weight) as u32).max(1);
        let sides = isolation.divide().sides().map(|on| on.then(|| HostSide::new(cells, dice)));
        let (classes, last) = if all_are_one(weights, isolation) {
            (Vec::new(), Vec::new())
        } else {
            (given.iter().map(factor).collect(), vec![ONE as u32; cells])
        };
        Factors { isolation, classes, last, sides }
    }

    /// What this takes besides itself, in bytes.
    pub(super) fn bytes(weights: &ByClass<f64>, isolation: Isolation, cells: u64) -> u64 {
        if all_are_one(weights, isolation) {
            return 0;
        }
        let classes = weights.given().len() as u64;
        let place = core::mem::size_of::<HostPlace>() as u64;
        4 * (classes + cells)
            + isolation.divide().count() * (2 * cells + 2 * HOST_PLACES as u64 * place)
    }

    /// Whether every packet has the factor 1.
    #[inline]
    pub(super) fn are_one(&self) -> bool {
        self.last.is_empty()
    }

    /// What is hashed to cells.
    #[inline]
    pub(super) fn key(&self, pkt: &Packet) -> u64 {
        self.isolation.key(pkt)
    }

    /// The places of the packet's source and destination, in each of two rows, where those divide
    /// shares.
    pub(super) fn hosts_of(&self, pkt: &Packet) -> [Option<[usize; 2]>; 2] {
        let hosts = pkt.hosts();
        let [source, destination] = &self.sides;
        let of = |side: &Option<HostSide>, host| side.as_ref().map(|side| places(side.key, host));
        [of(source, hosts.source), of(destination, hosts.destination)]
    }

    /// The factor of a packet, in 2^-16.
    #[inline]
    pub(super) fn of(&self, pkt: &Packet) -> u64 {
        let further = self.classes.len() - 1;
        let class = u64::from(self.classes[further.min(pkt.class as usize)]);
        let hosts = pkt.hosts();
        let [source, destination] = &self.sides;
        let of = |side: &Option<HostSide>, host| side.as_ref().map(|side| side.flows(host));
        match of(source, hosts.source).max(of(destination, hosts.destination)) {
            Some(flows) => (class * u64::from(flows) / u64::from(ONE_FLOW)).min(MOST_FACTOR),
            None => class,
        }
    }

    /// A packet was charged to `cell` of the first row.
    #[inline]
    pub(super) fn charged(&mut self, cell: usize, factor: u64, pkt: &Packet) {
        self.last[cell] = factor as u32;
        let hosts = pkt.hosts();
        for (side, host) in self.sides.iter_mut().zip([hosts.source, hosts.destination]) {
            if let Some(side) = side {
                side.last[cell] = host;
            }
        }
    }

    /// A pass: `flows` by weight, and how many flows each host has. `ahead` says which cells of
    /// the first row are; so many `cells`, which stand for `worth` flows. In 2^-16.
    pub(super) fn pass(
        &mut self,
        ahead: impl Iterator<Item = bool> + Clone,
        (cells, worth): (u64, u64),
        flows: u64,
        forgets: u64,
    ) -> u64 {
        for side in self.sides.iter_mut().flatten() {
            side.count(ahead.clone(), cells, worth, forgets);
        }
        let weights = self.last.iter().zip(ahead).filter(|(_, ahead)| *ahead);
        let sum: u64 = weights.map(|(factor, _)| (1 << 32) / u64::from(*factor)).sum();
        if cells == 0 {
            flows
        } else {
            (flows as u128 * sum as u128 / (cells << 16) as u128) as u64
        }
    }

    /// All is forgotten.
    pub(super) fn forget(&mut self) {
        for side in self.sides.iter_mut().flatten() {
            side.places.fill(HostPlace { flows: ONE_FLOW, seen: 0 });
        }
    }
}

/// Whether every packet has the factor 1.
fn all_are_one(weights: &ByClass<f64>, isolation: Isolation) -> bool {
    let given = weights.given();
    given.iter().all(|&weight| weight == given[0]) && isolation.divide() == Divide::Never
}

/// `bytes` of a packet with this factor, as bytes of the round.
#[inline]
pub(super) fn of_the_round(bytes: u64, factor: u64) -> u32 {
    super::scaled(bytes, factor, 16).min(MOST) as u32
}
