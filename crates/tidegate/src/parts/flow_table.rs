//! State per flow with a hard cap: a table that is allocated once, so that invented flows cannot
//! exhaust memory.
//!
//! Its owner keeps a line of flows that may be forgotten ([`retire`](FlowTable::retire)), oldest
//! first. It forgets them when their time is over or when the table is full; nothing is evicted
//! behind its back. All steps take constant time. Flows are taken as the keyed hashes that drivers
//! give: nobody can aim at a run of places.
//!
//! ```
//! use tidegate::parts::flow_table::FlowTable;
//! let mut table: FlowTable<u32> = FlowTable::new(2);
//! let first = table.insert(0xf10, 7).unwrap();
//! table.insert(0xf11, 8).unwrap();
//! assert_eq!(table.insert(0xf12, 9), None); // full
//! table.retire(first); // nothing of it waits any more
//! table.remove(table.oldest_retired().unwrap());
//! assert!(table.find(0xf10).is_none() && table.insert(0xf12, 9).is_some());
//! ```
use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

use crate::rng::mix;

/// The most flows that a table can be asked to hold.
pub const MOST_FLOWS: u32 = 1 << 24;

/// No slot.
const NONE: u32 = u32::MAX;
/// In place of a neighbour: the slot does not stand in the line of the retired.
const ACTIVE: u32 = u32::MAX - 1;
/// The same: no flow is in the slot.
const FREE: u32 = u32::MAX - 2;

/// A flow and what is known of it.
#[derive(Clone, Copy, Debug)]
struct FlowSlot<T> {
    flow: u64,
    /// Neighbours in the line of the retired. Free slots are chained by `newer`.
    older: u32,
    newer: u32,
    state: T,
}

/// A table of at most so many flows, each with a `T`. A flow's slot does not move while the flow is
/// in the table.
#[derive(Debug)]
pub struct FlowTable<T> {
    /// Open addressing, at most half full: a part of the flow's hash, and its slot plus one (0: a
    /// free place).
    places: Vec<[u32; 2]>,
    slots: Vec<FlowSlot<T>>,
    capacity: u32,
    len: u32,
    /// The first of the slots that were freed.
    free: u32,
    oldest: u32,
    newest: u32,
}

impl<T: Copy> FlowTable<T> {
    /// An empty table for 1 to [`MOST_FLOWS`] flows; other numbers are taken as the nearest of
    /// these.
    pub fn new(capacity: u32) -> FlowTable<T> {
        let capacity = capacity.clamp(1, MOST_FLOWS);
        FlowTable {
            places: alloc::vec![[0, 0]; Self::places_for(capacity)],
            slots: Vec::with_capacity(capacity as usize),
            capacity,
            len: 0,
            free: NONE,
            oldest: NONE,
            newest: NONE,
        }
    }

    fn places_for(capacity: u32) -> usize {
        (2 * capacity as usize).next_power_of_two()
    }

    /// What a table of `capacity` flows takes, in bytes.
    pub fn state_bytes(capacity: u32) -> u64 {
        let capacity = capacity.clamp(1, MOST_FLOWS);
        capacity as u64 * size_of::<FlowSlot<T>>() as u64 + Self::places_for(capacity) as u64 * 8
    }

    /// How many flows it holds.
    #[inline]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn hash(flow: u64) -> u32 {
        mix(flow) as u32
    }

    #[inline]
    fn home(&self, hash: u32) -> usize {
        hash as usize & (self.places.len() - 1)
    }

    #[inline]
    fn after(&self, place: usize) -> usize {
        (place + 1) & (self.places.len() - 1)
    }

    /// The slot of `flow`.
    #[inline]
    pub fn find(&self, flow: u64) -> Option<u32> {
        let hash = Self::hash(flow);
        let mut place = self.home(hash);
        loop {
            let [other, slot] = self.places[place];
            if slot == 0 {
                return None;
            }
            if other == hash && self.slots[slot as usize - 1].flow == flow {
                return Some(slot - 1);
            }
            place = self.after(place);
        }
    }

    /// Takes in `flow`, which must not be there; `None` when the table is full.
    pub fn insert(&mut self, flow: u64, state: T) -> Option<u32> {
        debug_assert!(self.find(flow).is_none());
        let entry = FlowSlot { flow, older: ACTIVE, newer: ACTIVE, state };
        let slot = if self.free != NONE {
            let slot = self.free;
            self.free = self.slots[slot as usize].newer;
            self.slots[slot as usize] = entry;
            slot
        } else if (self.slots.len() as u32) < self.capacity {
            self.slots.push(entry);
            self.slots.len() as u32 - 1
        } else {
            return None;
        };
        let hash = Self::hash(flow);
        let mut place = self.home(hash);
        while self.places[place][1] != 0 {
            place = self.after(place);
        }
        self.places[place] = [hash, slot + 1];
        self.len += 1;
        Some(slot)
    }

    /// The slot of `flow`, now the newest in the line of the retired. A flow that is not known
    /// comes in with `state`, if need be in place of the oldest: for tables in which all flows
    /// stand in that line.
    #[inline]
    pub fn renew(&mut self, flow: u64, state: T) -> u32 {
        let slot = match self.find(flow) {
            Some(slot) => {
                self.recall(slot);
                slot
            }
            None => self.insert(flow, state).unwrap_or_else(|| {
                self.remove(self.oldest_retired().expect("all flows are in the line"));
                self.insert(flow, state).expect("there is room for one")
            }),
        };
        self.retire(slot);
        slot
    }

    /// Forgets the flow in `slot`, retired or not.
    pub fn remove(&mut self, slot: u32) {
        self.recall(slot);
        let mut place = self.home(Self::hash(self.slots[slot as usize].flow));
        while self.places[place][1] != slot + 1 {
            place = self.after(place);
        }
        self.close_gap(place);
        (self.slots[slot as usize].older, self.slots[slot as usize].newer) = (FREE, self.free);
        self.free = slot;
        self.len -= 1;
    }

    /// Asks `keep` of every flow, in no particular order, and forgets those that it rejects. Takes
    /// time for every slot that was ever in use.
    pub fn retain(&mut self, mut keep: impl FnMut(u64, &mut T) -> bool) {
        for slot in 0..self.slots.len() as u32 {
            let flow = self.slots[slot as usize].flow;
            // A freed slot keeps its flow, which then is nowhere, or in another slot.
            if self.find(flow) == Some(slot) && !keep(flow, &mut self.slots[slot as usize].state) {
                self.remove(slot);
            }
        }
    }

    /// What is known of each flow, in no particular order.
    pub fn states(&self) -> impl Iterator<Item = &T> {
        self.places
            .iter()
            .filter(|place| place[1] != 0)
            .map(|place| &self.slots[place[1] as usize - 1].state)
    }

    /// The same, to be changed, by slots that were ever in use.
    pub fn states_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().filter(|slot| slot.older != FREE).map(|slot| &mut slot.state)
    }

    /// Every flow with what is known of it, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.slots.iter().filter(|slot| slot.older != FREE).map(|slot| (slot.flow, &slot.state))
    }

    /// Moves later members of the probing run into the freed place, so that none becomes
    /// unreachable.
    fn close_gap(&mut self, mut gap: usize) {
        let mask = self.places.len() - 1;
        let mut place = self.after(gap);
        while self.places[place][1] != 0 {
            let from_home = place.wrapping_sub(self.home(self.places[place][0])) & mask;
            if from_home >= place.wrapping_sub(gap) & mask {
                self.places[gap] = self.places[place];
                gap = place;
            }
            place = self.after(place);
        }
        self.places[gap] = [0, 0];
    }

    /// The flow in `slot` joins the line of those that may be forgotten, as its newest.
    #[inline]
    pub fn retire(&mut self, slot: u32) {
        debug_assert_eq!(self.slots[slot as usize].newer, ACTIVE, "retired already");
        (self.slots[slot as usize].older, self.slots[slot as usize].newer) = (self.newest, NONE);
        match self.newest {
            NONE => self.oldest = slot,
            before => self.slots[before as usize].newer = slot,
        }
        self.newest = slot;
    }

    /// It leaves that line, if it stands in it.
    #[inline]
    pub fn recall(&mut self, slot: u32) {
        let FlowSlot { older, newer, .. } = self.slots[slot as usize];
        if newer == ACTIVE {
            return;
        }
        match older {
            NONE => self.oldest = newer,
            before => self.slots[before as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            behind => self.slots[behind as usize].older = older,
        }
        (self.slots[slot as usize].older, self.slots[slot as usize].newer) = (ACTIVE, ACTIVE);
    }

    /// The slot that has stood longest in that line.
    #[inline]
    pub fn oldest_retired(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }
}

impl<T: Copy> Clone for FlowTable<T> {
    /// The copy has its memory at once, as the original has.
    fn clone(&self) -> Self {
        let mut slots = Vec::with_capacity(self.capacity as usize);
        slots.extend_from_slice(&self.slots);
        FlowTable { places: self.places.clone(), slots, ..*self }
    }
}

impl<T> Index<u32> for FlowTable<T> {
    type Output = T;
    #[inline]
    fn index(&self, slot: u32) -> &T {
        &self.slots[slot as usize].state
    }
}

impl<T> IndexMut<u32> for FlowTable<T> {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut T {
        &mut self.slots[slot as usize].state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use alloc::collections::{BTreeMap, VecDeque};

    /// Two flows whose hashes are the same in the 32 bits that the table keeps stand side by side,
    /// and each is found.
    #[test]
    fn flows_of_one_hash_are_told_apart() {
        let mut by_hash = BTreeMap::new();
        let pair = (0..1_000_000)
            .find_map(|flow| Some((by_hash.insert(FlowTable::<u8>::hash(flow), flow)?, flow)));
        let (one, other) = pair.expect("among a million flows about a hundred pairs");
        let mut table = FlowTable::new(4);
        assert_eq!((table.insert(one, 1), table.find(other)), (Some(0), None));
        assert_eq!(
            (table.insert(other, 2), table.find(one), table.find(other)),
            (Some(1), Some(0), Some(1))
        );
        table.remove(0);
        assert_eq!((table.find(one), table.find(other)), (None, Some(1)));
    }

    /// Against a map and a queue: who is there, with what, where, and who has been retired longest,
    /// after every step.
    #[test]
    fn agrees_with_a_map() {
        for (capacity, flows) in [(1, 3), (2, 5), (7, 12), (64, 100), (64, 60)] {
            let mut dice = Rng::from_seed(capacity as u64);
            let mut table = FlowTable::new(capacity);
            let mut map: BTreeMap<u64, (u32, u64)> = BTreeMap::new();
            let mut retired: VecDeque<u64> = VecDeque::new();
            for step in 0..20_000u64 {
                let flow = dice.below(flows);
                match (map.get(&flow).copied(), dice.below(4)) {
                    (None, _) => match table.insert(flow, step) {
                        Some(slot) => assert!(map.insert(flow, (slot, step)).is_none()),
                        None => assert_eq!(map.len() as u32, capacity),
                    },
                    (Some((slot, _)), 0) => {
                        table.remove(slot);
                        map.remove(&flow);
                        retired.retain(|f| *f != flow);
                    }
                    (Some((slot, _)), 1) if !retired.contains(&flow) => {
                        table.retire(slot);
                        retired.push_back(flow);
                    }
                    (Some((slot, _)), _) => {
                        table.recall(slot);
                        retired.retain(|f| *f != flow);
                        table[slot] += 1;
                        map.get_mut(&flow).unwrap().1 += 1;
                    }
                }
                assert_eq!(table.len() as usize, map.len());
                assert_eq!(table.is_empty(), map.is_empty());
                assert_eq!(table.oldest_retired(), retired.front().map(|flow| map[flow].0));
                for flow in 0..flows {
                    assert_eq!(
                        table.find(flow).map(|slot| (slot, table[slot])),
                        map.get(&flow).copied()
                    );
                }
            }
        }
    }

    /// Runs of places that wrap around the end, with gaps closed in them: every flow that hashes to
    /// few homes.
    #[test]
    fn crowded_places() {
        let mut table = FlowTable::new(8);
        let last = |flow: &u64| mix(*flow) as usize % 16 >= 14;
        let flows: Vec<u64> = (0..).filter(last).take(8).collect();
        for round in 0..8 {
            let slots: Vec<u32> =
                flows.iter().map(|&flow| table.insert(flow, flow).unwrap()).collect();
            for i in 0..8 {
                table.remove(slots[(i + round) % 8]);
                for j in i + 1..8 {
                    let flow = flows[(j + round) % 8];
                    assert_eq!(table.find(flow).map(|slot| table[slot]), Some(flow));
                }
            }
            assert!(table.is_empty() && flows.iter().all(|&flow| table.find(flow).is_none()));
        }
    }

    /// Whatever was removed and came back before: each flow is asked once, and those that go are
    /// gone.
    #[test]
    fn retains_what_is_to_stay() {
        let mut dice = Rng::from_seed(8);
        let mut table = FlowTable::new(40);
        for _ in 0..300 {
            for _ in 0..50 {
                let flow = dice.below(60);
                match table.find(flow) {
                    Some(slot) if dice.chance(0.5) => table.remove(slot),
                    Some(_) => {}
                    None => drop(table.insert(flow, flow)),
                }
            }
            let (before, mut asked) = (table.len(), BTreeMap::new());
            assert_eq!(table.states().count() as u32, before);
            assert!(table.iter().all(|(flow, state)| flow == *state && table.find(flow).is_some()));
            assert_eq!(
                (table.iter().count(), table.states_mut().count()),
                (before as usize, before as usize)
            );
            let odd = dice.below(2);
            table.retain(|flow, state| asked.insert(flow, *state).is_none() && flow % 2 == odd);
            assert_eq!(asked.len() as u32, before);
            assert!(asked.iter().all(|(flow, state)| flow == state));
            let stay = asked.keys().filter(|flow| *flow % 2 == odd).count();
            assert_eq!((table.len() as usize, table.states().count()), (stay, stay));
            assert!(asked.keys().all(|&flow| table.find(flow).is_some() == (flow % 2 == odd)));
        }
    }

    #[test]
    fn memory_is_what_is_stated_and_never_grows() {
        let mut table: FlowTable<[u64; 3]> = FlowTable::new(100);
        let bytes = |table: &FlowTable<[u64; 3]>| {
            (table.slots.capacity() * size_of::<FlowSlot<[u64; 3]>>() + table.places.capacity() * 8)
                as u64
        };
        assert_eq!(bytes(&table), FlowTable::<[u64; 3]>::state_bytes(100));
        for flow in 0..100_000 {
            if table.insert(flow, [0; 3]).is_none() {
                table.remove(table.oldest_retired().unwrap());
                table.insert(flow, [1; 3]).unwrap();
            }
            table.retire(table.find(flow).unwrap());
        }
        assert_eq!(table.len(), 100);
        assert_eq!(bytes(&table), FlowTable::<[u64; 3]>::state_bytes(100));
        assert_eq!(bytes(&table.clone()), bytes(&table));
        assert_eq!(FlowTable::<u8>::state_bytes(0), FlowTable::<u8>::state_bytes(1));
        assert_eq!(
            FlowTable::<u8>::state_bytes(u32::MAX),
            FlowTable::<u8>::state_bytes(MOST_FLOWS)
        );
    }
}
