//! Tide as `docs/tide/specification.md` has it, with numbers that never run over: bids and the
//! round are kept from the beginning of time, cells that nobody used are not kept.
//!
//! The driver says to which cells a flow hashes; the rest is decided here.
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
    /// What the last packet charged to it left, in 2^-16.
    factor: i128,
    hosts: [Option<HostPlaces>; 2],
}

#[derive(Clone, Copy, Debug)]
struct Waits {
    id: u32,
    len: i128,
    came: i128,
}

/// A host's place in each of two rows.
pub type HostPlaces = [usize; 2];

/// What the twin learns of an arrival.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    pub id: u32,
    pub len: u32,
    /// Its cell in each row.
    pub places: &'a [usize],
    pub marks: bool,
    /// The factor of its class, in 2^-16.
    pub factor: i128,
    /// The places of its source and its destination, where those divide shares.
    pub hosts: [Option<HostPlaces>; 2],
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
    pub express: bool,
}

#[derive(Clone, Debug)]
pub struct NaiveTide {
    given: Given,
    /// What waits in the main line and in the express line.
    main: VecDeque<Waits>,
    express: VecDeque<Waits>,
    /// How many packets ever entered and left the main line.
    entered: i128,
    left: i128,
    /// Bytes that overtook, less what the main line has sent.
    lead: i128,
    /// The last packet in the main line, by row and place, of the first two rows.
    last_in_main: BTreeMap<(usize, usize), i128>,
    cells: Vec<BTreeMap<usize, Cell>>,
    /// How many flows a host has, in 2^-4, by its side, row and place, where it was ever above 1.
    hosts: BTreeMap<(usize, usize, usize), i128>,
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
            hosts: BTreeMap::new(),
            main: VecDeque::new(),
            express: VecDeque::new(),
            entered: 0,
            left: 0,
            lead: 0,
            last_in_main: BTreeMap::new(),
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
        self.main.iter().chain(&self.express).map(|waits| waits.len).sum()
    }

    pub fn packets(&self) -> usize {
        self.main.len() + self.express.len()
    }

    fn join_main(&mut self, places: &[usize], waits: Waits) {
        self.entered += 1;
        for (row, place) in places.iter().take(2).enumerate() {
            self.last_in_main.insert((row, *place), self.entered);
        }
        self.main.push_back(waits);
    }

    /// Whether none of the flow's packets waits in the main line, as far as cells tell.
    fn none_in_main(&self, places: &[usize]) -> bool {
        let last = |at| self.last_in_main.get(&at).copied().unwrap_or(0);
        places.iter().take(2).enumerate().any(|(row, place)| last((row, *place)) <= self.left)
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
        let mut seen = self.cells.iter().map(|row| self.flows_of(ahead(row) as i128)).sum::<i128>()
            / self.given.rows as i128;
        let part = ((1 << 16) * self.given.interval / self.given.memory).clamp(1, 1 << 16);
        let first: Vec<Cell> =
            self.cells[0].values().filter(|cell| cell.bid > round).copied().collect();
        if !first.is_empty() {
            let weights: i128 = first.iter().map(|cell| (1 << 32) / cell.factor).sum();
            seen = seen * weights / (first.len() as i128 * (1 << 16));
        }
        self.count_flows_of_hosts(&first, part);
        if seen > self.flows {
            self.flows = seen;
        } else {
            self.flows -= (self.flows - seen) * part / (1 << 16);
        }
        self.share();
        self.cells.iter_mut().for_each(|row| row.retain(|_, cell| cell.bid > round));
    }

    /// How many flows each host has, by the cells of the first row that are ahead.
    fn count_flows_of_hosts(&mut self, first: &[Cell], part: i128) {
        let taken = first.len() as i128;
        let mut now: BTreeMap<_, i128> = self.hosts.keys().map(|&host| (host, 0)).collect();
        for cell in first {
            for (side, places) in cell.hosts.into_iter().enumerate() {
                for (row, place) in places.into_iter().flatten().enumerate() {
                    *now.entry((side, row, place)).or_default() += 1;
                }
            }
        }
        for (host, cells) in now {
            let seen =
                if cells == 0 { 0 } else { cells * self.flows_of(taken) / (taken * (1 << 12)) };
            let seen = seen.min(65_535);
            let was = self.hosts.get(&host).copied().unwrap_or(16);
            let falls = ((was - seen) * part + 65_535) / 65_536;
            self.hosts.insert(host, if seen > was { seen } else { (was - falls).max(16) });
        }
    }

    /// The factor of a packet, in 2^-16.
    fn factor(&self, arrival: &Arrival) -> i128 {
        let kept = |host| self.hosts.get(&host).copied().unwrap_or(16);
        let side = |(side, places): (usize, Option<HostPlaces>)| {
            let [one, other] = places?;
            Some(kept((side, 0, one)).min(kept((side, 1, other))))
        };
        match arrival.hosts.into_iter().enumerate().filter_map(side).max() {
            Some(flows) => (arrival.factor * flows / 16).min(1 << 26),
            None => arrival.factor,
        }
    }

    fn live_until(&mut self, now: i128) {
        let due =
            if now < self.next_pass { 0 } else { (now - self.next_pass) / self.given.interval + 1 };
        if due > 64 {
            self.next_pass += due * self.given.interval;
            self.cells.iter_mut().for_each(BTreeMap::clear);
            self.hosts.clear();
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
    fn ladder(&mut self, arrival: &Arrival, f: i128, v: i128, len: i128, may: i128) -> bool {
        let Arrival { places, marks, .. } = *arrival;
        let Given { packet, first, step, .. } = self.given;
        let scaled = |packets: i128| (packets * packet * f / (1 << 16)).min(1 << 30);
        let bottom = if marks { may / 4 } else { may / 2 };
        let first = bottom.max(may.min(scaled(first)));
        let step = (may / 16).max(scaled(step));
        let level_at =
            |(place, row): (&usize, &BTreeMap<usize, Cell>)| row.get(place).map_or(0, |c| c.level);
        let known = places.iter().zip(&self.cells).map(level_at).max().unwrap();
        let mut level = first.max(known.min(v + step));
        let climbs = v + len > level;
        if climbs {
            level = v + len + step;
        }
        // A cell that nobody used bids as one that is not ahead: with the round.
        let fresh = Cell { bid: self.whole_round(), ..Cell::default() };
        for (place, row) in places.iter().zip(&mut self.cells) {
            row.entry(*place).or_insert(fresh).level = level;
        }
        climbs || marks && v > 0 && v + len > may - may / 8
    }

    /// What goes in charged: which line it joins, and what its cells say from then on.
    fn charge(&mut self, arrival: &Arrival, f: i128, v: i128, len: i128, waits: Waits) {
        let Arrival { places, hosts, .. } = *arrival;
        if self.given.express && v == 0 && self.none_in_main(places) {
            self.express.push_back(waits);
        } else {
            self.join_main(places, waits);
        }
        let round = self.whole_round();
        for (place, row) in places.iter().zip(&mut self.cells) {
            let cell = row.entry(*place).or_insert(Cell { bid: round, ..Cell::default() });
            *cell = Cell { bid: cell.bid.max(round + v + len), factor: f, hosts, ..*cell };
        }
    }

    pub fn enqueue(&mut self, now: u64, arrival: Arrival) -> Fate {
        let Arrival { id, len, places, marks, .. } = arrival;
        self.live_until(now as i128);
        let q = self.bytes();
        let room = match self.given.limit {
            Limit::Packets { most, mean } => (most - self.packets() as i128) * mean,
            Limit::Bytes(most) => most - q,
        };
        let fits = match self.given.limit {
            Limit::Packets { .. } => room > 0,
            Limit::Bytes(_) => room >= len as i128,
        };
        if !fits {
            return Fate::NoRoom;
        }
        let waits = Waits { id, len: len as i128, came: now as i128 };
        let f = self.factor(&arrival);
        let len = ((len as i128 * f + 65_535) / 65_536).min(1 << 30);
        let aim = self.given.aim;
        let round = self.whole_round();
        let found: Vec<Cell> = places
            .iter()
            .zip(&self.cells)
            .map(|(place, row)| row.get(place).copied().unwrap_or_default())
            .collect();
        let v = found.iter().map(|cell| (cell.bid - round).max(0)).min().unwrap();
        let by_rate = self.fair * self.given.horizon / (1 << 40);
        let packets = (self.given.allowance * self.given.packet * f / 65_536).min(1 << 30);
        let may =
            (by_rate + packets).min(1 << 30).min((room.min(1 << 30) * f / 65_536).min(1 << 30));
        if v > 0 && v + len > may {
            if q < aim / 10 {
                self.join_main(places, waits);
                return Fate::Waits;
            }
            return Fate::Unfair;
        }
        let mut fate = Fate::Waits;
        if q >= aim / 2 && self.ladder(&arrival, f, v, len, may) {
            fate = Fate::Signal;
        }
        if fate == Fate::Waits || marks {
            self.charge(&arrival, f, v, len, waits);
        }
        fate
    }

    pub fn dequeue(&mut self) -> Option<u32> {
        if let Some(express) = self.express.front().copied() {
            let came_first = self.main.front().is_none_or(|main| express.came <= main.came);
            if came_first || self.lead < self.given.aim {
                self.lead += if came_first { 0 } else { express.len };
                self.express.pop_front();
                return Some(express.id);
            }
        }
        let main = self.main.pop_front()?;
        self.left += 1;
        self.lead = (self.lead - main.len).max(0);
        Some(main.id)
    }
}
