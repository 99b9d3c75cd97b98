//! AFQ as NetBench and its descriptions have it: flows bid for rounds, a count-min sketch keeps the
//! bids, and a calendar of FIFO queues serves the rounds.
//!
//! The driver says to which counters a flow hashes; the rest is decided here.
use std::collections::{BTreeMap, VecDeque};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item {
    pub id: u32,
    pub bytes: u64,
}

/// The limit, in whichever unit.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    Packets(usize),
    Bytes(u64),
}

/// What becomes of an arrival.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// Its round is beyond the calendar.
    TooFar,
    /// There is no room.
    Full,
    /// It waits, and these went for it.
    Waits(Vec<u32>),
}

#[derive(Clone, Debug)]
pub struct NaiveAfq {
    pub limit: Limit,
    pub bytes_per_round: u64,
    pub queues: u64,
    /// Whether who is farthest in the calendar makes room.
    pub farthest_goes: bool,
    pub round: u64,
    pub bids: BTreeMap<(usize, usize), u64>,
    /// By round.
    pub calendar: BTreeMap<u64, VecDeque<Item>>,
}

impl NaiveAfq {
    pub fn packets(&self) -> usize {
        self.calendar.values().map(VecDeque::len).sum()
    }

    pub fn bytes(&self) -> u64 {
        self.calendar.values().flatten().map(|item| item.bytes).sum()
    }

    fn fits(&self, packets: usize, bytes: u64, more: u64) -> bool {
        match self.limit {
            Limit::Packets(most) => packets < most,
            Limit::Bytes(most) => bytes + more <= most,
        }
    }

    pub fn enqueue(&mut self, item: Item, places: &[usize]) -> Fate {
        let places: Vec<(usize, usize)> = places.iter().copied().enumerate().collect();
        let last = places.iter().map(|place| self.bids.get(place).copied().unwrap_or(0)).min();
        // A flow that was silent bids from the round that is being served on.
        let bid = last.unwrap().max(self.round * self.bytes_per_round) + item.bytes;
        let round = bid / self.bytes_per_round;
        if round - self.round >= self.queues {
            return Fate::TooFar;
        }
        // Those in later rounds may go, the last first, if they are enough.
        let stay: Vec<Item> = self.calendar.range(..=round).flat_map(|(_, q)| q.clone()).collect();
        let bytes = stay.iter().map(|item| item.bytes).sum();
        let enough = self.farthest_goes && self.fits(stay.len(), bytes, item.bytes);
        if !enough && !self.fits(self.packets(), self.bytes(), item.bytes) {
            return Fate::Full;
        }
        let mut gone = Vec::new();
        while !self.fits(self.packets(), self.bytes(), item.bytes) {
            let (_, queue) =
                self.calendar.iter_mut().rfind(|(_, queue)| !queue.is_empty()).unwrap();
            gone.push(queue.pop_back().unwrap().id);
        }
        for place in places {
            let counter = self.bids.entry(place).or_default();
            *counter = (*counter).max(bid);
        }
        self.calendar.entry(round).or_default().push_back(item);
        Fate::Waits(gone)
    }

    pub fn dequeue(&mut self) -> Option<u32> {
        if self.packets() == 0 {
            return None;
        }
        while self.calendar.get(&self.round).is_none_or(VecDeque::is_empty) {
            self.calendar.remove(&self.round);
            self.round += 1;
        }
        self.calendar.get_mut(&self.round).unwrap().pop_front().map(|item| item.id)
    }
}
