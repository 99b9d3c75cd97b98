//! FQ-PIE read straight from tc-fq_pie(8): the lists of hoeiland2018, and the naive PIE in every
//! queue.
//!
//! The driver says which queue a flow hashes to and whether a packet was signalled; the rest is
//! decided here.
use std::collections::VecDeque;

use super::hosts::Hosts;
use super::pie::{NaivePie, Said};
use super::turns::NaiveTurns;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item {
    pub id: u32,
    pub bytes: u64,
    /// When it arrived, in nanoseconds.
    pub stamp: u64,
}

/// Who goes when there is no room.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goes {
    Arrival,
    LongestHead,
    LongestTail,
}

/// The limit, in whichever unit.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    Packets(usize),
    Bytes(u64),
}

#[derive(Clone, Debug)]
pub struct NaiveFqPie {
    pub limit: Limit,
    pub goes: Goes,
    pub quantum: i64,
    pub turns: NaiveTurns,
    pub queues: Vec<VecDeque<Item>>,
    pub pies: Vec<NaivePie>,
    /// How long the last packet of each had waited, in seconds; 0 when it is empty.
    pub delays: Vec<f64>,
    /// Updates of each since a packet of it came or went.
    pub silent: Vec<u32>,
}

/// Our bound on the updates of a queue in which nothing happens.
const MOST_UPDATES: u32 = 4096;

impl NaiveFqPie {
    pub fn new(
        queues: usize,
        quantum: i64,
        limit: Limit,
        goes: Goes,
        pie: &NaivePie,
    ) -> NaiveFqPie {
        NaiveFqPie {
            limit,
            goes,
            quantum,
            turns: NaiveTurns::new(queues),
            queues: vec![VecDeque::new(); queues],
            pies: vec![pie.clone(); queues],
            delays: vec![0.0; queues],
            silent: vec![0; queues],
        }
    }

    pub fn packets(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    pub fn bytes_of(&self, queue: usize) -> u64 {
        self.queues[queue].iter().map(|item| item.bytes).sum()
    }

    pub fn bytes(&self) -> u64 {
        (0..self.queues.len()).map(|queue| self.bytes_of(queue)).sum()
    }

    fn fits(&self, packets: usize, bytes: u64) -> bool {
        match self.limit {
            Limit::Packets(most) => packets <= most,
            Limit::Bytes(most) => bytes <= most,
        }
    }

    /// Every T_UPDATE each queue's PIE makes a step.
    pub fn update(&mut self) {
        for (queue, pie) in self.pies.iter_mut().enumerate() {
            if self.silent[queue] < MOST_UPDATES {
                pie.update(self.delays[queue]);
                self.silent[queue] += 1;
            }
        }
    }

    /// A packet of `bytes` comes to `queue`: `None` where there is no room for it, else what the
    /// queue's PIE says. Where others make room only a packet that is too long for an empty buffer
    /// finds none.
    pub fn offer(&mut self, queue: usize, bytes: u64) -> Option<Said> {
        let full = match self.goes {
            Goes::Arrival => !self.fits(self.packets() + 1, self.bytes() + bytes),
            _ => !self.fits(1, bytes),
        };
        if full {
            self.pies[queue].signalled();
            return None;
        }
        self.silent[queue] = 0;
        let waits = self.bytes_of(queue) as f64;
        Some(self.pies[queue].arrive(waits, self.delays[queue]))
    }

    /// The packet enters; returns who goes for it. A loss is a signal to the queue that it hits.
    pub fn admit(&mut self, queue: usize, hosts: Hosts, item: Item) -> Vec<u32> {
        self.queues[queue].push_back(item);
        self.turns.joined(queue, hosts, self.quantum, true);
        let mut gone = Vec::new();
        while !self.fits(self.packets(), self.bytes()) {
            // The first of the longest; the arrival's where no packet has any length.
            let mut longest = if self.bytes() > 0 { 0 } else { queue };
            for q in 1..self.queues.len() {
                if self.bytes_of(q) > self.bytes_of(longest) {
                    longest = q;
                }
            }
            let line = &mut self.queues[longest];
            let victim =
                if self.goes == Goes::LongestTail { line.pop_back() } else { line.pop_front() };
            gone.push(victim.unwrap().id);
            self.pies[longest].signalled();
            self.silent[longest] = 0;
            if self.queues[longest].is_empty() {
                self.delays[longest] = 0.0;
            }
        }
        gone
    }

    pub fn dequeue(&mut self, now: u64) -> Option<u32> {
        let head = |queue: usize| self.queues[queue].front().map(|item| item.bytes);
        let queue = self.turns.next(|_| self.quantum, head)?;
        let sent = self.queues[queue].pop_front().unwrap();
        self.silent[queue] = 0;
        let waits = !self.queues[queue].is_empty();
        self.delays[queue] = if waits { (now - sent.stamp) as f64 / 1e9 } else { 0.0 };
        Some(sent.id)
    }
}
