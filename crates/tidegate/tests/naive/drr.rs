//! Deficit round robin read straight from shreedhar1995 (§3, Fig. 2), with buffer stealing from the
//! longest queue (mckenney1990; suter1998 from its head). Written to be plainly right, not fast: it
//! makes every round.
//!
//! The driver says which queue a flow hashes to; everything else is decided here.
use std::collections::VecDeque;

pub use super::fq_codel::Limit;
use super::hosts::{Divided, Hosts};

/// Who goes when there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    LongestHead,
    LongestTail,
    Arrival,
}

/// Ids and lengths.
type Line = VecDeque<(u32, u64)>;

/// The queues, whichever way they are served.
#[derive(Clone, Debug)]
pub struct NaiveBuffer {
    pub limit: Limit,
    pub overflow: Overflow,
    /// Whether the longest queue is the one with the most bytes; else with the most packets.
    pub by_bytes: bool,
    /// Whether the longest of equals is the first in turn; else the first by number.
    pub by_turn: bool,
    pub queues: Vec<Line>,
}

impl NaiveBuffer {
    pub fn bytes(&self, queue: usize) -> u64 {
        self.queues[queue].iter().map(|item| item.1).sum()
    }

    pub fn packets(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    fn too_much(&self, more: &[u64]) -> bool {
        match self.limit {
            Limit::Packets(most) => self.packets() + more.len() > most,
            Limit::Bytes(most) => {
                (0..self.queues.len()).map(|queue| self.bytes(queue)).sum::<u64>()
                    + more.iter().sum::<u64>()
                    > most
            }
        }
    }

    fn length(&self, queue: usize) -> u64 {
        if self.by_bytes { self.bytes(queue) } else { self.queues[queue].len() as u64 }
    }

    /// A packet joins its queue, and as long as that is too much for the buffer one goes from the
    /// longest queue. Of several longest ones it is the first, by number or in the order of
    /// `turns`. There the arrival's queue stands last if it was empty. If all have no length it is
    /// the arrival's own. Returns who went. A packet that would not fit into an empty buffer is
    /// refused.
    pub fn enqueue(
        &mut self,
        turns: &VecDeque<usize>,
        queue: usize,
        id: u32,
        len: u64,
    ) -> Vec<u32> {
        if matches!(self.limit, Limit::Bytes(most) if len > most) {
            return vec![id];
        }
        if self.overflow == Overflow::Arrival && self.too_much(&[len]) {
            return vec![id];
        }
        self.queues[queue].push_back((id, len));
        let mut dropped = Vec::new();
        while self.too_much(&[]) {
            let most = (0..self.queues.len()).map(|queue| self.length(queue)).max().unwrap();
            let order: Vec<usize> = if self.by_turn {
                turns.iter().copied().chain([queue]).collect()
            } else {
                (0..self.queues.len()).collect()
            };
            let longest = order.into_iter().find(|&queue| self.length(queue) == most).unwrap();
            let longest = &mut self.queues[if most == 0 { queue } else { longest }];
            let victim = match self.overflow {
                Overflow::LongestHead => longest.pop_front(),
                _ => longest.pop_back(),
            };
            dropped.push(victim.unwrap().0);
        }
        dropped
    }
}

#[derive(Clone, Debug)]
pub struct NaiveDrr {
    pub buffer: NaiveBuffer,
    /// Which hosts divide a share, and each queue's.
    pub divided: Divided,
    pub hosts: Vec<Hosts>,
    /// Q_i in bytes, and DC_i in 65,536ths of a byte.
    pub quantum: Vec<u64>,
    pub deficit: Vec<u64>,
    /// The active list; whether its first has had its quantum in this visit.
    pub active: VecDeque<usize>,
    pub visited: bool,
}

impl NaiveDrr {
    pub fn new(buffer: NaiveBuffer, quantum: Vec<u64>, divided: Divided) -> NaiveDrr {
        let (deficit, hosts) = (vec![0; quantum.len()], vec![(0, 0); quantum.len()]);
        let active = VecDeque::new();
        NaiveDrr { buffer, divided, hosts, quantum, deficit, active, visited: false }
    }

    /// Q_i among the queues with packets of the same host.
    fn share(&self, queue: usize) -> u64 {
        let waits = |other: usize| !self.buffer.queues[other].is_empty();
        let load = self.divided.load_of(queue, &self.hosts, waits);
        (65_536.0 * self.quantum[queue] as f64 / load as f64).floor() as u64
    }

    /// A queue that gets a packet and is not active joins the end of the active list with nothing
    /// in its counter. A queue whose last packet is taken for another's room is not active any
    /// longer.
    pub fn enqueue(&mut self, queue: usize, hosts: Hosts, id: u32, len: u64) -> Vec<u32> {
        if self.buffer.queues[queue].is_empty() {
            self.hosts[queue] = hosts;
        }
        let dropped = self.buffer.enqueue(&self.active, queue, id, len);
        if !self.active.contains(&queue) && !self.buffer.queues[queue].is_empty() {
            self.active.push_back(queue);
        }
        self.forget_empty();
        dropped
    }

    fn forget_empty(&mut self) {
        let before = self.active.front().copied();
        self.active.retain(|&queue| !self.buffer.queues[queue].is_empty());
        for (queue, deficit) in self.deficit.iter_mut().enumerate() {
            if self.buffer.queues[queue].is_empty() {
                *deficit = 0;
            }
        }
        self.visited &= self.active.front().copied() == before;
    }

    /// The first of the active list gets its quantum once a visit, and sends while its counter
    /// covers its head. Then it goes to the end. If it has nothing left it goes away with what its
    /// counter held.
    pub fn dequeue(&mut self) -> Option<u32> {
        loop {
            let &queue = self.active.front()?;
            if !self.visited {
                self.deficit[queue] += self.share(queue);
                self.visited = true;
            }
            let &(id, len) =
                self.buffer.queues[queue].front().expect("only queues with packets are active");
            if 65_536 * len <= self.deficit[queue] {
                self.deficit[queue] -= 65_536 * len;
                self.buffer.queues[queue].pop_front();
                self.forget_empty();
                return Some(id);
            }
            self.active.rotate_left(1);
            self.visited = false;
        }
    }
}
