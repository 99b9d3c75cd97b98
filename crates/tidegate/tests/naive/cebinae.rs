//! Cebinae written down from yu2022's description and from what its ns-3 model does, step by step.
//! There are two queues that take turns at being first, and a leaky-bucket filter for each of two
//! groups of flows. There is a flow cache, and rates are worked out anew every P rounds.
//!
//! The driver says in which slots of the cache a flow may be; the rest is decided here.
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub const TOP: usize = 0;
pub const BOTTOM: usize = 1;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item {
    pub id: u32,
    pub flow: u64,
    pub bytes: u64,
}

/// The limit, in whichever unit.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    Packets(u64),
    Bytes(u64),
}

/// What becomes of an arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    Head,
    Tail,
    /// Its group is more than two rounds ahead of its rate.
    Filtered,
    /// There is no room.
    Full,
}

/// What the control plane does next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    Rotate,
    Reconfigure,
}

#[derive(Clone, Debug)]
pub struct NaiveCebinae {
    /// Of the link, in bit/s.
    pub rate: u64,
    pub limit: Limit,
    /// Whether each queue has half of the limit to itself.
    pub halves: bool,
    /// dT, vdT and L, in nanoseconds.
    pub round: u64,
    pub tick: u64,
    pub lead: u64,
    pub rounds: u64,
    pub tax: f64,
    pub port_margin: f64,
    pub flow_margin: f64,
    /// The part of the port that others than the top must have for a tax.
    pub alone: f64,
    /// Bytes of each packet that the flow cache leaves out.
    pub uncounted: u64,

    pub next: Next,
    pub due: u64,
    pub base: u64,
    pub round_time: u64,
    pub counter: u64,
    pub queues: [VecDeque<Item>; 2],
    pub head: usize,
    /// The queue that is served first.
    pub first: usize,
    /// Bytes that each group has passed since the round began.
    pub passed: [u64; 2],
    /// The rate of each group, by queue, in bit/s.
    pub rates: [[u64; 2]; 2],
    pub computed: [u64; 2],
    pub last: [u64; 2],
    pub port_bytes: u64,
    /// By stage and slot: the flow and its bytes.
    pub cache: BTreeMap<(usize, usize), (u64, u64)>,
    pub top: BTreeSet<u64>,
    pub saturated: u64,
    pub spared: u64,
}

impl NaiveCebinae {
    pub fn new(rate: u64, limit: Limit, round: u64, tick: u64, lead: u64) -> NaiveCebinae {
        NaiveCebinae {
            rate,
            limit,
            halves: false,
            round,
            tick,
            lead,
            rounds: 1,
            tax: 0.01,
            port_margin: 0.01,
            flow_margin: 0.01,
            alone: 0.0,
            uncounted: 0,
            next: Next::Rotate,
            due: round + tick + lead,
            base: 0,
            round_time: 0,
            counter: 1,
            queues: [VecDeque::new(), VecDeque::new()],
            head: 0,
            first: 1,
            passed: [0, 0],
            rates: [[0, 0], [rate, rate]],
            computed: [0, rate],
            last: [0, rate],
            port_bytes: 0,
            cache: BTreeMap::new(),
            top: BTreeSet::new(),
            saturated: 0,
            spared: 0,
        }
    }

    pub fn packets(&self) -> u64 {
        self.queues.iter().map(|queue| queue.len() as u64).sum()
    }

    pub fn bytes(&self) -> u64 {
        self.queues.iter().flatten().map(|item| item.bytes).sum()
    }

    /// The whole bytes that `rate` sends in `nanos`.
    fn sends(rate: u64, nanos: u64) -> u64 {
        (rate as u128 * nanos as u128 / 8_000_000_000) as u64
    }

    /// Everything that the control plane had to do by `now`.
    pub fn advance(&mut self, now: u64) {
        while self.due <= now {
            match self.next {
                Next::Rotate => self.rotate(),
                Next::Reconfigure => self.reconfigure(),
            }
        }
    }

    fn rotate(&mut self) {
        for group in [TOP, BOTTOM] {
            self.rates[group][self.head] = self.computed[group];
            let budget = Self::sends(self.last[group], self.round);
            self.passed[group] = self.passed[group].saturating_sub(budget);
        }
        self.base += self.round;
        self.head = 1 - self.head;
        self.next = Next::Reconfigure;
        self.due += self.round - self.lead;
    }

    fn reconfigure(&mut self) {
        self.first = 1 - self.head;
        self.counter += 1;
        if self.counter.is_multiple_of(self.rounds) {
            self.counter = 0;
            self.recompute();
        }
        for group in [TOP, BOTTOM] {
            self.last[group] = self.rates[group][self.head];
        }
        self.next = Next::Rotate;
        self.due += self.lead;
    }

    fn recompute(&mut self) {
        let period = self.rounds * self.round;
        let could = self.rate as f64 * (period as f64 / 1e9) * (1.0 - self.port_margin);
        self.top.clear();
        self.computed = [0, self.rate];
        if self.port_bytes * 8 > could as u64 {
            self.saturated += 1;
            let most = self.cache.values().map(|(_, bytes)| *bytes).max().unwrap_or(0);
            let mut of_top = 0;
            for (flow, bytes) in self.cache.values() {
                if *bytes as f64 > most as f64 * (1.0 - self.flow_margin) {
                    self.top.insert(*flow);
                    of_top += bytes;
                }
            }
            if of_top as f64 > self.port_bytes as f64 * (1.0 - self.alone) {
                self.spared += 1;
                self.top.clear();
                of_top = 0;
            }
            let taxed = (of_top as f64 * (1.0 - self.tax)) as u64;
            let rate = (taxed as u128 * 8_000_000_000 / period as u128) as u64;
            let rate = rate.min((self.rate as f64 * (1.0 - self.tax)) as u64);
            self.computed = [rate, self.rate - rate];
        }
        self.cache.clear();
        self.port_bytes = 0;
    }

    fn fits(&self, limit: Limit, packets: u64, bytes: u64, more: u64) -> bool {
        match limit {
            Limit::Packets(most) => packets < most,
            Limit::Bytes(most) => bytes + more <= most,
        }
    }

    fn has_room(&self, queue: usize, more: u64) -> bool {
        let whole = self.fits(self.limit, self.packets(), self.bytes(), more);
        let half = match self.limit {
            Limit::Packets(most) => Limit::Packets((most / 2).max(1)),
            Limit::Bytes(most) => Limit::Bytes(most / 2),
        };
        let packets = self.queues[queue].len() as u64;
        let bytes = self.queues[queue].iter().map(|item| item.bytes).sum();
        whole && (!self.halves || self.fits(half, packets, bytes, more))
    }

    pub fn enqueue(&mut self, now: u64, item: Item) -> Fate {
        self.advance(now);
        let group = if self.top.contains(&item.flow) { TOP } else { BOTTOM };
        if now - self.round_time >= self.tick {
            self.round_time = now;
        }
        let tail = 1 - self.head;
        let (rate_head, rate_tail) = (self.rates[group][self.head], self.rates[group][tail]);
        let (budget_head, budget_tail) =
            (Self::sends(rate_head, self.round), Self::sends(rate_tail, self.round));
        // What the group may have passed so far; what it left unused is not saved.
        let elapsed = self.round_time - self.base;
        let earned = if elapsed < self.round {
            Self::sends(rate_head, elapsed)
        } else {
            budget_head + Self::sends(rate_tail, elapsed - self.round)
        };
        let passed = self.passed[group];
        // Packets that are dropped count, too.
        self.passed[group] = passed.max(earned) + item.bytes;
        let (queue, fate) = if passed <= budget_head {
            (self.head, Fate::Head)
        } else if passed - budget_head <= budget_tail {
            (tail, Fate::Tail)
        } else {
            return Fate::Filtered;
        };
        if !self.has_room(queue, item.bytes) {
            return Fate::Full;
        }
        self.queues[queue].push_back(item);
        fate
    }

    /// `slots` are those of a flow, one in each stage.
    pub fn dequeue(&mut self, now: u64, slots: impl Fn(u64) -> Vec<usize>) -> Option<u32> {
        self.advance(now);
        let queue = if self.queues[self.first].is_empty() { 1 - self.first } else { self.first };
        let item = self.queues[queue].pop_front()?;
        self.port_bytes += item.bytes;
        let counts = item.bytes.saturating_sub(self.uncounted);
        if counts > 0 {
            for place in slots(item.flow).into_iter().enumerate() {
                // First come, first served; a flow that finds all its slots taken is not counted.
                let slot = self.cache.entry(place).or_insert((item.flow, 0));
                if slot.0 == item.flow {
                    slot.1 += counts;
                    break;
                }
            }
        }
        Some(item.id)
    }
}
