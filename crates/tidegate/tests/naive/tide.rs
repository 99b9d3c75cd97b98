//! Tide as `docs/tide/specification.md` has it, with numbers that never run over: bids and the
//! round are kept from the beginning of time, cells that nobody used are not kept.
//!
//! To which cells a flow hashes is told by the driver; the rest is decided here.
use std::collections::{BTreeMap, VecDeque};

/// The limit, in whichever unit.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    Packets { most: i128, mean: i128 },
    Bytes(i128),
}

/// What becomes of an arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    NoRoom,
    /// Its flow's virtual backlog exceeds the allowance.
    Unfair,
    /// It carries a signal.
    Signal,
    Waits,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    bid: i128,
    level: i128,
}

/// What is given, in bytes, nanoseconds, and the units of the specification.
#[derive(Clone, Copy, Debug)]
pub struct Given {
    pub limit: Limit,
    pub bits_per_second: i128,
    pub rows: usize,
    pub cells: i128,
    pub aim: i128,
    pub drain: i128,
    pub fastest: i128,
    pub slowest: i128,
    pub interval: i128,
    pub memory: i128,
    pub horizon: i128,
    pub packet: i128,
    pub allowance: i128,
    pub first: i128,
    pub step: i128,
}

#[derive(Clone, Debug)]
pub struct NaiveTide {
    given: Given,
    /// What waits: a number and a length each.
    pub line: VecDeque<(u32, i128)>,
    cells: Vec<BTreeMap<usize, Cell>>,
    /// In 2^-32 bytes.
    round: i128,
    /// In 2^-16.
    pub flows: i128,
    /// In 2^-40 bytes per nanosecond.
    pub fair: i128,
    pub allowance: i128,
    last: i128,
    next_pass: i128,
}

impl NaiveTide {
    pub fn new(given: Given) -> NaiveTide {
        let mut new = NaiveTide {
            cells: vec![BTreeMap::new(); given.rows],
            line: VecDeque::new(),
            round: 0,
            flows: 1 << 16,
            fair: 0,
            allowance: 0,
            last: 0,
            next_pass: given.interval,
            given,
        };
        new.share();
        new
    }

    /// The fair rate and the allowance of so many flows.
    fn share(&mut self) {
        let line = self.given.bits_per_second * (1 << 40) / 8_000_000_000;
        self.fair = line * (1 << 16) / self.flows.max(1 << 16);
        let by_rate = self.fair * self.given.horizon / (1 << 40);
        self.allowance = (by_rate + self.given.allowance * self.given.packet).min(1 << 30);
    }

    pub fn bytes(&self) -> i128 {
        self.line.iter().map(|(_, len)| len).sum()
    }

    fn whole_round(&self) -> i128 {
        self.round / (1 << 32)
    }

    fn grow_to(&mut self, then: i128) {
        let Given { aim, drain, fastest, slowest, .. } = self.given;
        let q = self.bytes();
        let kappa = if q < aim {
            fastest - q * ((fastest - (1 << 16)) * (1 << 32) / aim) / (1 << 32)
        } else {
            slowest.max((1 << 16) - (q - aim) * ((1 << 48) / drain) / (1 << 32))
        };
        self.round += kappa * self.fair / (1 << 16) * (then - self.last) / (1 << 8);
        self.last = then;
    }

    /// After how many flows so many cells of a row are expected to be taken.
    fn flows_of(&self, taken: i128) -> i128 {
        let cells = self.given.cells;
        (0..taken).map(|i| cells * (1 << 16) / (cells - i)).sum()
    }

    fn pass(&mut self) {
        let round = self.whole_round();
        let ahead = |row: &BTreeMap<usize, Cell>| row.values().filter(|c| c.bid > round).count();
        let seen = self.cells.iter().map(|row| self.flows_of(ahead(row) as i128)).sum::<i128>()
            / self.given.rows as i128;
        let part = ((1 << 16) * self.given.interval / self.given.memory).clamp(1, 1 << 16);
        if seen > self.flows {
            self.flows = seen;
        } else {
            self.flows -= (self.flows - seen) * part / (1 << 16);
        }
        self.share();
        self.cells.iter_mut().for_each(|row| row.retain(|_, cell| cell.bid > round));
    }

    fn live_until(&mut self, now: i128) {
        let due =
            if now < self.next_pass { 0 } else { (now - self.next_pass) / self.given.interval + 1 };
        if due > 64 {
            self.next_pass += due * self.given.interval;
            self.cells.iter_mut().for_each(BTreeMap::clear);
            self.flows = 1 << 16;
            self.share();
            self.last = now;
            return;
        }
        for _ in 0..due {
            self.grow_to(self.next_pass);
            self.pass();
            self.next_pass += self.given.interval;
        }
        self.grow_to(now);
    }

    /// Whether a packet that finds the virtual backlog `v` carries a signal.
    fn ladder(&mut self, places: &[usize], v: i128, len: i128, may: i128, marks: bool) -> bool {
        let Given { packet, first, step, .. } = self.given;
        let bottom = if marks { may / 4 } else { may / 2 };
        let first = bottom.max(may.min(first * packet));
        let step = (may / 16).max(step * packet);
        let level_at =
            |(place, row): (&usize, &BTreeMap<usize, Cell>)| row.get(place).map_or(0, |c| c.level);
        let known = places.iter().zip(&self.cells).map(level_at).max().unwrap();
        let mut level = first.max(known.min(v + step));
        let climbs = v + len > level;
        if climbs {
            level = v + len + step;
        }
        // A cell that nobody used bids as one that is not ahead: with the round.
        let fresh = Cell { bid: self.whole_round(), level: 0 };
        for (place, row) in places.iter().zip(&mut self.cells) {
            row.entry(*place).or_insert(fresh).level = level;
        }
        climbs || marks && v > 0 && v + len > may - may / 8
    }

    pub fn enqueue(&mut self, now: u64, id: u32, len: u32, places: &[usize], marks: bool) -> Fate {
        self.live_until(now as i128);
        let q = self.bytes();
        let room = match self.given.limit {
            Limit::Packets { most, mean } => (most - self.line.len() as i128) * mean,
            Limit::Bytes(most) => most - q,
        };
        let fits = match self.given.limit {
            Limit::Packets { .. } => room > 0,
            Limit::Bytes(_) => room >= len as i128,
        };
        if !fits {
            return Fate::NoRoom;
        }
        let waits = (id, len as i128);
        let len = (len as i128).min(1 << 30);
        let aim = self.given.aim;
        let round = self.whole_round();
        let found: Vec<Cell> = places
            .iter()
            .zip(&self.cells)
            .map(|(place, row)| row.get(place).copied().unwrap_or_default())
            .collect();
        let v = found.iter().map(|cell| (cell.bid - round).max(0)).min().unwrap();
        let may = self.allowance.min(room.min(1 << 30));
        if v > 0 && v + len > may {
            if q < aim / 10 {
                self.line.push_back(waits);
                return Fate::Waits;
            }
            return Fate::Unfair;
        }
        let mut fate = Fate::Waits;
        if q >= aim / 2 && self.ladder(places, v, len, may, marks) {
            fate = Fate::Signal;
        }
        if fate == Fate::Waits || marks {
            self.line.push_back(waits);
            for (place, row) in places.iter().zip(&mut self.cells) {
                let cell = row.entry(*place).or_insert(Cell { bid: round, level: 0 });
                cell.bid = cell.bid.max(round + v + len);
            }
        }
        fate
    }

    pub fn dequeue(&mut self) -> Option<u32> {
        self.line.pop_front().map(|(id, _)| id)
    }
}
