//! The lists of new and of old queues, read straight from hoeiland2018 (RFC 8290 §4.1, §4.2), which
//! FQ-PIE and HHF take over.
use std::collections::VecDeque;

use super::hosts::{Divided, Hosts};

#[derive(Clone, Debug, Default)]
pub struct NaiveTurns {
    pub new: VecDeque<usize>,
    pub old: VecDeque<usize>,
    /// In 65,536ths of a byte.
    pub credits: Vec<i64>,
    /// Which hosts divide a share, and each queue's.
    pub divided: Divided,
    pub hosts: Vec<Hosts>,
    /// Which queues count: those that have sent something as old ones since they became active.
    pub bulk: Vec<bool>,
}

impl NaiveTurns {
    pub fn new(queues: usize) -> NaiveTurns {
        NaiveTurns {
            credits: vec![0; queues],
            hosts: vec![(0, 0); queues],
            bulk: vec![false; queues],
            ..NaiveTurns::default()
        }
    }

    /// What `queue` may send in a turn.
    pub fn share(&self, queue: usize, quantum: i64) -> i64 {
        let load = self.divided.load_of(queue, &self.hosts, |other| self.bulk[other]);
        (65_536.0 * quantum as f64 / load as f64).floor() as i64
    }

    /// Whether `queue` stands on a list.
    pub fn is_active(&self, queue: usize) -> bool {
        self.new.contains(&queue) || self.old.contains(&queue)
    }

    /// §4.1: a packet has joined `queue`. `as_new`: to which list an inactive one goes.
    pub fn joined(&mut self, queue: usize, hosts: Hosts, quantum: i64, as_new: bool) {
        if !self.is_active(queue) {
            self.hosts[queue] = hosts;
            self.credits[queue] = self.share(queue, quantum);
            if as_new { self.new.push_back(queue) } else { self.old.push_back(queue) }
        }
    }

    /// §4.2: which queue sends, and `send` says how many bytes, if it has any.
    pub fn next(
        &mut self,
        quantum: impl Fn(usize) -> i64,
        mut send: impl FnMut(usize) -> Option<u64>,
    ) -> Option<usize> {
        loop {
            let from_new = !self.new.is_empty();
            let &queue = if from_new { &self.new } else { &self.old }.front()?;
            let used_up = self.credits[queue] <= 0;
            if used_up {
                self.credits[queue] += self.share(queue, quantum(queue));
            } else if let Some(bytes) = send(queue) {
                self.credits[queue] -= 65_536 * bytes as i64;
                self.bulk[queue] |= !from_new;
                return Some(queue);
            }
            if from_new { &mut self.new } else { &mut self.old }.pop_front();
            if from_new || used_up {
                self.old.push_back(queue);
            } else {
                self.bulk[queue] = false;
            }
        }
    }
}
