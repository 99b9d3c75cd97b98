//! Among how many flows a host's share is divided: for each source and each destination, how many
//! of its flows are bulk (tc-cake(8), *Flow isolation parameters*).
//!
//! Hosts are kept in places, in sets like flows ([`HashWays`]). A host keeps its place while flows
//! refer to it; hosts that must share a place share its load.
//!
//! ```
//! use tidegate::{Hosts, Rng, parts::{host_load::HostLoads, isolation::Divide}};
//! let mut loads = HostLoads::new(Divide::BySource, 1024, &mut Rng::from_seed(1));
//! let (one, other) = (loads.refer(Hosts::new(7, 1)), loads.refer(Hosts::new(8, 1)));
//! (0..3).for_each(|_| loads.add_bulk(one));
//! assert_eq!((loads.load(one), loads.load(other)), (3, 1));
//! ```
use alloc::vec;
use alloc::vec::Vec;

use crate::packet::Hosts;
use crate::parts::isolation::Divide;
use crate::parts::spread::HashWays;
use crate::rng::Rng;

/// The number of places in a set.
const WAYS: u32 = 8;

/// The loads of hosts.
#[derive(Clone, Debug)]
pub struct HostLoads {
    sources: Option<LoadTable>,
    destinations: Option<LoadTable>,
}

/// Where a flow's source and destination are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostPlaces {
    source: u16,
    destination: u16,
}

#[derive(Clone, Debug)]
struct LoadTable {
    ways: HashWays,
    places: Vec<LoadPlace>,
}

#[derive(Clone, Copy, Debug, Default)]
struct LoadPlace {
    /// Flows that refer to it.
    flows: u32,
    /// Those of them that are bulk.
    bulk: u32,
}

impl LoadTable {
    fn new(places: u32, dice: &mut Rng) -> LoadTable {
        let empty = vec![LoadPlace::default(); places as usize];
        LoadTable { ways: HashWays::new(places, WAYS, dice), places: empty }
    }

    fn refer(&mut self, host: u16) -> u16 {
        let place = self.ways.take(u64::from(host), |place| self.places[place].flows > 0);
        self.places[place].flows += 1;
        place as u16
    }
}

impl HostLoads {
    /// No loads yet, for up to `places` (65,536 at most) hosts on a side where they are looked at.
    pub fn new(divide: Divide, places: u32, dice: &mut Rng) -> HostLoads {
        let [sources, destinations] =
            divide.sides().map(|on| on.then(|| LoadTable::new(places, dice)));
        HostLoads { sources, destinations }
    }

    /// What the loads of `places` hosts on each side take, in bytes.
    pub fn bytes(divide: Divide, places: u32) -> u64 {
        let place = core::mem::size_of::<LoadPlace>() as u64;
        divide.count() * (HashWays::bytes(places, WAYS) + u64::from(places) * place)
    }

    /// A flow between `hosts` begins.
    #[inline]
    pub fn refer(&mut self, hosts: Hosts) -> HostPlaces {
        let refer =
            |table: &mut Option<LoadTable>, host: u16| table.as_mut().map_or(0, |t| t.refer(host));
        HostPlaces {
            source: refer(&mut self.sources, hosts.source),
            destination: refer(&mut self.destinations, hosts.destination),
        }
    }

    #[inline]
    fn each(&mut self, at: HostPlaces, change: impl Fn(&mut LoadPlace)) {
        if let Some(table) = &mut self.sources {
            change(&mut table.places[at.source as usize]);
        }
        if let Some(table) = &mut self.destinations {
            change(&mut table.places[at.destination as usize]);
        }
    }

    /// The flow, which is not bulk, has ended.
    #[inline]
    pub fn forget(&mut self, at: HostPlaces) {
        self.each(at, |place| place.flows -= 1);
    }

    /// The flow has become bulk.
    #[inline]
    pub fn add_bulk(&mut self, at: HostPlaces) {
        self.each(at, |place| place.bulk += 1);
    }

    /// The flow is bulk no more.
    #[inline]
    pub fn remove_bulk(&mut self, at: HostPlaces) {
        self.each(at, |place| place.bulk -= 1);
    }

    /// Among how many a share is divided for a flow that is kept there; 1 at least.
    #[inline]
    pub fn load(&self, at: HostPlaces) -> u64 {
        let bulk = |table: &Option<LoadTable>, place: u16| {
            table.as_ref().map_or(0, |table| table.places[place as usize].bulk)
        };
        let (source, destination) =
            (bulk(&self.sources, at.source), bulk(&self.destinations, at.destination));
        u64::from(source.max(destination).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight places, and eight hosts at a time: each has one of its own as long as those before
    /// have ended.
    #[test]
    fn places_are_free_when_flows_have_ended() {
        let mut loads = HostLoads::new(Divide::ByDestination, 8, &mut Rng::from_seed(1));
        for first in (0..80).step_by(8) {
            let kept: Vec<HostPlaces> =
                (first..first + 8).map(|host| loads.refer(Hosts::new(1, host))).collect();
            let busy: Vec<u16> = kept.iter().map(|at| at.destination).collect();
            assert!((0..8).all(|place| busy.contains(&place)), "{first}: {busy:?}");
            kept.iter().for_each(|&at| loads.forget(at));
        }
    }
}
