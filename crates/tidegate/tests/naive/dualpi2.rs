//! DualPI2 read straight from deschepper2023 (RFC 9332 appendix A.1, with the overload protection
//! of A.2), in floats and seconds.
//!
//! It is a queue of its own: it is offered the same packets and must lose, mark and send the same
//! ones at the same instants. Dice, where there are any, are a copy of the queue's.
use std::collections::{BTreeMap, VecDeque};

use tidegate::{Rng, rng};

/// A packet as the twin sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item {
    pub id: u32,
    pub bytes: u64,
    /// When it was enqueued, in ns.
    pub stamp: u64,
    pub flow: u64,
    /// The two bits: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    pub ecn: u8,
}

/// What one call of dequeue did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Did {
    pub dropped: Vec<u32>,
    pub marked: Vec<u32>,
    pub sent: Option<u32>,
}

/// One of the two queues, with the sum of likelihoods of A.1's function `recur`.
#[derive(Clone, Debug, Default)]
pub struct Line {
    pub items: VecDeque<Item>,
    pub count: f64,
}

impl Line {
    /// How long its first packet has waited, in seconds; 0 when there is none.
    pub fn time(&self, now: u64) -> f64 {
        self.items.front().map_or(0.0, |item| (now - item.stamp) as f64 / 1e9)
    }
}

/// How it is decided that something of a likelihood happens.
#[derive(Clone, Debug)]
pub enum Decide {
    Recur,
    Dice(Rng),
}

/// Which queue may send while both wait.
#[derive(Clone, Debug)]
pub enum Scheduler {
    /// Weighted round robin: the C queue gets `share` of 65536 of the link. Counted are the bytes
    /// that each has sent while both waited, since the last time both were empty.
    Weighted { share: u64, mtu: u64, l_sent: u64, c_sent: u64 },
    /// The packet that has waited longest, those of the L queue counted as `shift` ns older.
    Shifted { shift: u64 },
}

/// Queue protection: briscoe2026 §4, its functions `qprotect`, `pick_bucket` and `fill_bucket`,
/// with a map for the buckets.
#[derive(Clone, Debug)]
pub struct NaiveProtection {
    pub key: u64,
    pub buckets: u64,
    /// How long a byte ages, in ns.
    pub aging: f64,
    /// CRITICALqL and CRITICALqLSCORE in ns.
    pub critical: (u64, u64),
    /// By number: whose it is, and when it will be empty. The default bucket is the last.
    pub held: BTreeMap<u64, (u64, u64)>,
}

impl NaiveProtection {
    fn sanctions(&mut self, item: Item, delay: u64, native: f64) -> bool {
        let now = item.stamp;
        let hash = rng::mix(item.flow ^ self.key);
        let tried = [hash & 0xffff_ffff, hash >> 32].map(|half| (half * self.buckets) >> 32);
        let held = |bucket: &u64| self.held.get(bucket).copied().unwrap_or_default();
        let own = tried.iter().find(|bucket| held(bucket).0 == item.flow);
        let free = tried.iter().find(|bucket| held(bucket).1 <= now);
        let bucket = *own.or(free).unwrap_or(&self.buckets);
        let added = (native * item.bytes as f64 * self.aging) as u64;
        let expires = (held(&bucket).1.max(now) + added).min(now + 5_000_000_000);
        self.held.insert(bucket, (item.flow, expires));
        let score = expires - now;
        let (critical, most) = self.critical;
        delay > critical && delay as u128 * score as u128 > critical as u128 * most as u128
    }
}

#[derive(Clone, Debug)]
pub struct NaiveDualPi2 {
    /// target in seconds, alpha and beta in Hz, the coupling factor, the greatest base probability.
    pub target: f64,
    pub alpha: f64,
    pub beta: f64,
    pub k: f64,
    pub p_max: f64,
    /// The ramp of the L queue in ns.
    pub min_th: u64,
    pub range: u64,
    pub l: Line,
    pub c: Line,
    pub p: f64,
    pub previous: f64,
    pub decide: Decide,
    pub scheduler: Scheduler,
    pub protection: Option<NaiveProtection>,
    /// How long the link takes for a byte, in ns.
    pub byte: f64,
    /// While less than twice so many bytes wait behind a packet, the controller spares it.
    pub mtu: u64,
}

impl NaiveDualPi2 {
    pub fn packets(&self) -> usize {
        self.l.items.len() + self.c.items.len()
    }

    /// p_C, the square.
    pub fn p_c(&self) -> f64 {
        self.p * self.p
    }

    /// p_CL, the coupled probability, no more than certainty.
    pub fn p_cl(&self) -> f64 {
        (self.k * self.p).min(1.0)
    }

    /// Whether the coupled probability, and with it p_C, has reached its maximum: p_Cmax is 1/k²,
    /// no more than 1, and p_Lmax k times its root.
    pub fn overloaded(&self) -> bool {
        self.p >= (1.0 / self.k).min(1.0)
    }

    /// The classifier: the low bit of the two; and queue protection (briscoe2026 §4). Whether the
    /// packet was sanctioned.
    pub fn enqueue(&mut self, item: Item) -> bool {
        if item.ecn.is_multiple_of(2) {
            self.c.items.push_back(item);
            return false;
        }
        let bytes: u64 = self.l.items.iter().map(|item| item.bytes).sum();
        let delay = (bytes as f64 * self.byte) as u64;
        let native = self.laqm(delay);
        if let Some(protection) = &mut self.protection
            && protection.sanctions(item, delay, native)
        {
            self.c.items.push_back(item);
            return true;
        }
        self.l.items.push_back(item);
        false
    }

    /// Every Tupdate (A.2: the longer of the two delays counts).
    pub fn update(&mut self, now: u64) {
        let current = self.c.time(now).max(self.l.time(now));
        self.p += self.alpha * (current - self.target) + self.beta * (current - self.previous);
        self.p = self.p.clamp(0.0, self.p_max);
        self.previous = current;
    }

    /// The native AQM of the L queue, for a packet that waited `delay` ns.
    pub fn laqm(&self, delay: u64) -> f64 {
        if delay >= self.min_th + self.range {
            1.0
        } else if delay > self.min_th {
            (delay - self.min_th) as f64 / self.range as f64
        } else {
            0.0
        }
    }

    fn happens(decide: &mut Decide, count: &mut f64, likelihood: f64) -> bool {
        match decide {
            Decide::Dice(dice) => dice.uniform() < likelihood,
            Decide::Recur => {
                *count += likelihood;
                if *count > 1.0 {
                    *count -= 1.0;
                    return true;
                }
                false
            }
        }
    }

    /// Whether the L queue is next; both wait.
    fn l_is_next(&self, now: u64) -> bool {
        match &self.scheduler {
            Scheduler::Weighted { share, mtu, l_sent, c_sent } => {
                share * l_sent < (65_536 - share) * (mtu + c_sent)
            }
            Scheduler::Shifted { shift } => {
                now - self.l.items[0].stamp + shift >= now - self.c.items[0].stamp
            }
        }
    }

    /// A packet is sent; `both` says whether both queues had one.
    fn sent(&mut self, from_l: bool, both: bool, bytes: u64) {
        if let Scheduler::Weighted { l_sent, c_sent, .. } = &mut self.scheduler {
            match (both, from_l) {
                (false, _) => {}
                (true, true) => *l_sent += bytes,
                (true, false) => *c_sent += bytes,
            }
        }
    }

    /// After each departure: nobody is owed anything once both are empty.
    fn settle(&mut self) {
        let empty = self.packets() == 0;
        if let Scheduler::Weighted { l_sent, c_sent, .. } = &mut self.scheduler
            && empty
        {
            (*l_sent, *c_sent) = (0, 0);
        }
    }

    /// Whether so little waits behind the packet in hand that the controller leaves it alone.
    fn spares(&self) -> bool {
        let waits: u64 = self.l.items.iter().chain(&self.c.items).map(|item| item.bytes).sum();
        waits < 2 * self.mtu
    }

    /// Whether the first packet of the L queue is dropped, and whether it is marked.
    fn judge_l(&mut self, delay: u64) -> (bool, bool) {
        if self.spares() {
            let p_l = self.laqm(delay);
            return (false, Self::happens(&mut self.decide, &mut self.l.count, p_l));
        }
        let (p_c, p_cl) = (self.p_c(), self.p_cl());
        if !self.overloaded() {
            let p_l = self.laqm(delay).max(p_cl);
            return (false, Self::happens(&mut self.decide, &mut self.l.count, p_l));
        }
        if Self::happens(&mut self.decide, &mut self.l.count, p_c) {
            return (true, false);
        }
        (false, Self::happens(&mut self.decide, &mut self.l.count, p_cl))
    }

    /// The same of the C queue.
    fn judge_c(&mut self, ecn: u8) -> (bool, bool) {
        if self.spares() {
            return (false, false);
        }
        let p_c = self.p_c();
        let happens = Self::happens(&mut self.decide, &mut self.c.count, p_c);
        let drops = ecn == 0 || self.overloaded();
        (happens && drops, happens && !drops)
    }

    pub fn dequeue(&mut self, now: u64) -> Did {
        let mut did = Did::default();
        while self.packets() > 0 {
            let both = !self.l.items.is_empty() && !self.c.items.is_empty();
            let from_l = if both { self.l_is_next(now) } else { self.c.items.is_empty() };
            let line = if from_l { &mut self.l } else { &mut self.c };
            let item = line.items.pop_front().unwrap();
            let (dropped, marked) =
                if from_l { self.judge_l(now - item.stamp) } else { self.judge_c(item.ecn) };
            if dropped {
                did.dropped.push(item.id);
                continue;
            }
            if marked {
                did.marked.push(item.id);
            }
            self.sent(from_l, both, item.bytes);
            did.sent = Some(item.id);
            break;
        }
        self.settle();
        did
    }
}
