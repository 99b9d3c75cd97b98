//! HHF read straight from its announcement (Linux, T. Lam, 2013) and from estan2002 §3.2 and §3.3:
//! the multistage filter with shielding and conservative update, the table of heavy hitters, and
//! two buckets in weighted deficit round robin.
//!
//! The driver says to which counters a flow hashes; the rest is decided here.
use std::collections::{BTreeMap, VecDeque};

use super::turns::NaiveTurns;

pub const HEAVY: usize = 0;
pub const LIGHT: usize = 1;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item {
    pub id: u32,
    pub flow: u64,
    pub bytes: u64,
}

/// The limit, in whichever unit.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    Packets(usize),
    Bytes(u64),
}

#[derive(Clone, Debug)]
pub struct NaiveHhf {
    pub limit: Limit,
    pub quantum: i64,
    pub weight: i64,
    pub most_heavy: usize,
    /// Times in nanoseconds.
    pub reset_timeout: u64,
    pub evict_timeout: u64,
    pub admit_bytes: u64,
    /// Bytes by array and place, and when they were last forgotten.
    pub counters: BTreeMap<(usize, usize), u64>,
    pub reset_at: u64,
    /// The heavy hitters with when each was last seen, the longest silent first.
    pub heavy: Vec<(u64, u64)>,
    pub buckets: [VecDeque<Item>; 2],
    pub turns: NaiveTurns,
    /// Flows that were found heavy, and that were not let in for want of room.
    pub admitted: u64,
    pub overlimit: u64,
    pub expired: u64,
}

impl NaiveHhf {
    pub fn new(limit: Limit) -> NaiveHhf {
        NaiveHhf {
            limit,
            quantum: 1514,
            weight: 2,
            most_heavy: 2048,
            reset_timeout: 40_000_000,
            evict_timeout: 1_000_000_000,
            admit_bytes: 131_072,
            counters: BTreeMap::new(),
            reset_at: 0,
            heavy: Vec::new(),
            buckets: [VecDeque::new(), VecDeque::new()],
            turns: NaiveTurns::new(2),
            admitted: 0,
            overlimit: 0,
            expired: 0,
        }
    }

    fn of(&self, bucket: usize) -> i64 {
        if bucket == HEAVY { self.quantum } else { self.quantum * self.weight }
    }

    pub fn packets(&self) -> usize {
        self.buckets.iter().map(VecDeque::len).sum()
    }

    pub fn bytes(&self) -> u64 {
        self.buckets.iter().flatten().map(|item| item.bytes).sum()
    }

    fn too_much(&self, packets: usize, bytes: u64) -> bool {
        match self.limit {
            Limit::Packets(most) => packets > most,
            Limit::Bytes(most) => bytes > most,
        }
    }

    /// A heavy hitter is forgotten when it has been silent for longer than the timeout, and nothing
    /// of it waits: then it is a flow like others.
    fn is_over(&self, (flow, seen): (u64, u64), now: u64) -> bool {
        now - seen > self.evict_timeout && self.buckets[HEAVY].iter().all(|item| item.flow != flow)
    }

    /// Which bucket a packet goes to; `places` are the flow's counters, one in each array.
    fn classify(&mut self, now: u64, item: Item, places: &[usize]) -> usize {
        if now - self.reset_at > self.reset_timeout {
            self.counters.clear();
            self.reset_at = now;
        }
        if let Some(at) = self.heavy.iter().position(|(flow, _)| *flow == item.flow) {
            let known = self.heavy.remove(at);
            if !self.is_over(known, now) {
                self.heavy.push((item.flow, now));
                return HEAVY;
            }
            self.expired += 1;
        }
        let places: Vec<(usize, usize)> = places.iter().copied().enumerate().collect();
        let value = |place| self.counters.get(place).copied().unwrap_or(0);
        let least = places.iter().map(value).min().unwrap() + item.bytes;
        if least <= self.admit_bytes {
            // Conservative update (§3.3.2): no counter rises above what the flow can have sent.
            for place in places {
                let counter = self.counters.entry(place).or_default();
                *counter = (*counter).max(least);
            }
            return LIGHT;
        }
        // Shielding (§3.3.1): what a heavy hitter sends is not counted.
        if self.heavy.len() == self.most_heavy {
            if !self.is_over(self.heavy[0], now) {
                self.overlimit += 1;
                return LIGHT;
            }
            self.heavy.remove(0);
            self.expired += 1;
        }
        self.heavy.push((item.flow, now));
        self.admitted += 1;
        // What waits of it goes along, so that it does not overtake itself.
        let (its, others): (Vec<Item>, Vec<Item>) =
            self.buckets[LIGHT].iter().partition(|waiting| waiting.flow == item.flow);
        self.buckets[LIGHT] = others.into();
        self.buckets[HEAVY].extend(its);
        HEAVY
    }

    /// Returns who is dropped for the packet.
    pub fn enqueue(&mut self, now: u64, item: Item, places: &[usize]) -> Vec<u32> {
        if self.too_much(1, item.bytes) {
            return vec![item.id];
        }
        let bucket = self.classify(now, item, places);
        self.buckets[bucket].push_back(item);
        self.turns.joined(bucket, (0, 0), self.of(bucket), bucket == LIGHT);
        let mut dropped = Vec::new();
        while self.too_much(self.packets(), self.bytes()) {
            let from = if self.buckets[HEAVY].is_empty() { LIGHT } else { HEAVY };
            dropped.push(self.buckets[from].pop_front().unwrap().id);
        }
        dropped
    }

    pub fn dequeue(&mut self) -> Option<u32> {
        let (heavy, light) = (self.of(HEAVY), self.of(LIGHT));
        let buckets = &self.buckets;
        let head = |bucket: usize| buckets[bucket].front().map(|item| item.bytes);
        let bucket = self.turns.next(|bucket| if bucket == HEAVY { heavy } else { light }, head)?;
        Some(self.buckets[bucket].pop_front().unwrap().id)
    }
}
