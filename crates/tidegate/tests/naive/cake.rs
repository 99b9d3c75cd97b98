//! CAKE by its description (tc-cake(8)), on top of the naive COBALT.
//!
//! The driver tells which queue of its tin a packet joins. Everything else is decided here, and
//! must be what the queue decides, die for die.
use std::collections::{BTreeMap, VecDeque};

use super::acks::superfluous;
use super::cobalt::NaiveCobalt;
use super::codel::{Did, Item};
use super::fq_codel::Limit;
pub use super::hosts::Divided;
use tidegate::{Ack, Rng};

/// In which rotation a queue stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Stand {
    /// In none: it has no packet and remembers nothing.
    #[default]
    Idle,
    /// Among the new ones.
    Sparse,
    /// Empty and in debt: it waits among the old ones, but does not count as one.
    InDebt,
    Bulk,
    /// Empty, but its COBALT remembers.
    Decaying,
}

#[derive(Clone, Debug)]
pub struct NaiveQueue {
    pub cobalt: NaiveCobalt,
    pub stand: Stand,
    /// In 65,536ths of a byte.
    pub deficit: i64,
    pub hosts: (u16, u16),
}

#[derive(Clone, Debug)]
pub struct NaiveTin {
    /// The rate up to which it has priority, in bit/s.
    pub rate: u64,
    pub quantum: u64,
    pub queues: Vec<NaiveQueue>,
    pub new: VecDeque<usize>,
    pub old: VecDeque<usize>,
    pub decaying: VecDeque<usize>,
    /// When what it has sent is paid for at its rate: ns, and the rest of the division.
    pub paid: (u64, u64),
}

impl NaiveTin {
    /// By how many a flow of these hosts shares: the bulk flows of the busier one.
    fn load(&self, own: (u16, u16), divided: Divided) -> u64 {
        let bulk = self.queues.iter().filter(|q| q.stand == Stand::Bulk);
        divided.load(own, &bulk.map(|q| q.hosts).collect::<Vec<_>>())
    }

    fn share(&self, queue: usize, divided: Divided) -> i64 {
        let load = self.load(self.queues[queue].hosts, divided);
        (self.quantum as f64 * 65_536.0 / load as f64).floor() as i64
    }

    fn is_active(&self) -> bool {
        self.queues.iter().any(|q| !matches!(q.stand, Stand::Idle | Stand::Decaying))
    }

    fn is_empty(&self) -> bool {
        self.queues.iter().all(|q| q.cobalt.items.is_empty())
    }
}

/// How long `bytes` take at `rate` bit/s with what the last division left, in ns; and what is left.
fn time_of(bytes: u64, left: u64, rate: u64) -> (u64, u64) {
    let work = bytes as u128 * 8_000_000_000 + left as u128;
    ((work / rate as u128) as u64, (work % rate as u128) as u64)
}

#[derive(Clone, Debug)]
pub struct NaiveCake {
    pub limit: Limit,
    pub divided: Divided,
    /// From those that go last to those that go first.
    pub tins: Vec<NaiveTin>,
    pub dice: Rng,
    /// Whether acknowledgements are filtered, and whether aggressively; what packets acknowledge.
    pub filters: Option<bool>,
    pub acks: BTreeMap<u32, Ack>,
    /// Its own shaper: the rate, and when what was sent is paid for.
    pub bandwidth: Option<u64>,
    pub paid: (u64, u64),
}

impl NaiveCake {
    fn queues(&self) -> impl Iterator<Item = &NaiveQueue> {
        self.tins.iter().flat_map(|tin| &tin.queues)
    }

    pub fn packets(&self) -> usize {
        self.queues().map(|q| q.cobalt.items.len()).sum()
    }

    pub fn bytes(&self) -> u64 {
        self.queues().map(|q| q.cobalt.bytes()).sum()
    }

    fn too_much(&self) -> bool {
        match self.limit {
            Limit::Packets(most) => self.packets() > most,
            Limit::Bytes(most) => self.bytes() > most,
        }
    }

    /// Returns what was dropped for it.
    pub fn enqueue(
        &mut self,
        now: u64,
        at: (usize, usize),
        hosts: (u16, u16),
        item: Item,
        ack: Option<&Ack>,
    ) -> Vec<u32> {
        if matches!(self.limit, Limit::Bytes(most) if item.bytes > most) {
            return vec![item.id];
        }
        if self.packets() == 0 && self.paid.0 < now {
            self.paid.0 = now;
        }
        let tin = &mut self.tins[at.0];
        if tin.is_empty() && tin.paid.0 < now {
            tin.paid.0 = now;
        }
        let queue = &mut tin.queues[at.1];
        queue.cobalt.items.push_back(item);
        match queue.stand {
            Stand::Idle | Stand::Decaying => {
                if queue.stand == Stand::Idle {
                    queue.hosts = hosts;
                }
                queue.stand = Stand::Sparse;
                tin.decaying.retain(|&q| q != at.1);
                tin.new.push_back(at.1);
                tin.queues[at.1].deficit = tin.share(at.1, self.divided);
            }
            Stand::InDebt => queue.stand = Stand::Bulk,
            Stand::Sparse | Stand::Bulk => {}
        }
        let mut dropped = self.filter(at, item.id, ack);
        while self.too_much() {
            dropped.push(self.drop_from_longest(now, at));
        }
        dropped
    }

    /// The acknowledgement that goes because `newest`, the packet `id`, has joined its queue.
    fn filter(&mut self, at: (usize, usize), id: u32, newest: Option<&Ack>) -> Vec<u32> {
        let (Some(aggressive), Some(newest)) = (self.filters, newest) else { return vec![] };
        self.acks.insert(id, *newest);
        let items = &mut self.tins[at.0].queues[at.1].cobalt.items;
        let known = |item: &Item| (item.id, self.acks.get(&item.id).copied());
        let before: Vec<_> = items.iter().filter(|item| item.id != id).map(known).collect();
        let goes = superfluous(&before, newest, aggressive);
        items.retain(|item| Some(item.id) != goes);
        goes.into_iter().collect()
    }

    /// The head of the queue with the most bytes goes, of equals the first; if nothing has any
    /// length, that of the arrival's own. BLUE hears of it.
    fn drop_from_longest(&mut self, now: u64, arrival: (usize, usize)) -> u32 {
        let mut longest = arrival;
        if self.bytes() > 0 {
            longest = (0, 0);
            for tin in 0..self.tins.len() {
                for q in 0..self.tins[tin].queues.len() {
                    let bytes = |(t, q): (usize, usize)| self.tins[t].queues[q].cobalt.bytes();
                    if bytes((tin, q)) > bytes(longest) {
                        longest = (tin, q);
                    }
                }
            }
        }
        let cobalt = &mut self.tins[longest.0].queues[longest.1].cobalt;
        let victim = cobalt.items.pop_front().unwrap();
        cobalt.overflow(now);
        victim.id
    }

    /// Of the tins with flows, the highest that has kept to its rate; if none has, the one
    /// that will first.
    fn tin(&self, now: u64) -> Option<usize> {
        let active: Vec<usize> =
            (0..self.tins.len()).filter(|&t| self.tins[t].is_active()).collect();
        let kept = active.iter().rev().find(|&&t| self.tins[t].paid.0 <= now);
        kept.or_else(|| active.iter().rev().min_by_key(|&&t| self.tins[t].paid.0)).copied()
    }

    /// Queue `q` of tin `at`, whose turn it was, has sent `bytes`: it stays where it was, in debt.
    fn served(&mut self, now: u64, at: usize, q: usize, bytes: u64) {
        let tin = &mut self.tins[at];
        tin.queues[q].deficit -= 65_536 * bytes as i64;
        let sparse = tin.queues[q].stand == Stand::Sparse;
        let list = if sparse { &mut tin.new } else { &mut tin.old };
        list.push_front(q);
        // A tin is never in debt by more than a packet, however long it had the line alone.
        let (time, left) = time_of(bytes, tin.paid.1, tin.rate);
        let paid = if tin.paid.0 < now { tin.paid.0 + time } else { tin.paid.0.max(now + time) };
        tin.paid = (paid, left);
        if let Some(rate) = self.bandwidth {
            let (time, left) = time_of(bytes, self.paid.1, rate);
            self.paid = (self.paid.0 + time, left);
        }
    }

    pub fn dequeue(&mut self, now: u64) -> Did {
        let mut did = Did::default();
        if self.bandwidth.is_some() && self.paid.0 > now {
            return did;
        }
        let mut first = true;
        loop {
            let Some(at) = self.tin(now) else { return did };
            let divided = self.divided;
            let tin = &mut self.tins[at];
            // One of those that only remember is looked after at each departure.
            let list = if first && !tin.decaying.is_empty() {
                &mut tin.decaying
            } else if !tin.new.is_empty() {
                &mut tin.new
            } else {
                &mut tin.old
            };
            let q = list.pop_front().unwrap();
            first = false;
            if tin.queues[q].deficit <= 0 {
                if tin.queues[q].stand == Stand::Sparse {
                    let waits = !tin.queues[q].cobalt.items.is_empty();
                    tin.queues[q].stand = if waits { Stand::Bulk } else { Stand::InDebt };
                }
                let share = tin.share(q, divided);
                tin.queues[q].deficit += share;
                tin.old.push_back(q);
                continue;
            }
            let queue = &mut tin.queues[q];
            let lengths: BTreeMap<u32, u64> =
                queue.cobalt.items.iter().map(|item| (item.id, item.bytes)).collect();
            std::mem::swap(&mut self.dice, &mut queue.cobalt.dice);
            let cobalt = queue.cobalt.dequeue(now);
            std::mem::swap(&mut self.dice, &mut queue.cobalt.dice);
            did.dropped.extend(cobalt.dropped);
            did.marked.extend(cobalt.marked);
            let Some(sent) = cobalt.sent else {
                let remembers =
                    queue.cobalt.p > 0.0 || queue.cobalt.count > 0 || now < queue.cobalt.due;
                queue.stand = if remembers { Stand::Decaying } else { Stand::Idle };
                if remembers {
                    tin.decaying.push_back(q);
                }
                continue;
            };
            self.served(now, at, q, lengths[&sent]);
            did.sent = Some(sent);
            return did;
        }
    }
}
