//! Stochastic fairness queueing read straight from mckenney1990: flows hashed to queues, a packet
//! of each in turn, buffers taken from the longest; new hash functions from time to time. And
//! ns-2's rule, which refuses instead. Written to be plainly right, not fast.
//!
//! The paper leaves the hash function open, so it comes in from outside: `hash(epoch, flow)` is a
//! queue.
use std::collections::VecDeque;

use super::drr::NaiveBuffer;
use super::hosts::{Divided, Hosts};

/// ns-2's rule, with what it takes for the limit, in packets.
#[derive(Clone, Copy, Debug)]
pub struct Ns2 {
    pub limit: u64,
}

pub struct NaiveSfq {
    pub buffer: NaiveBuffer,
    pub ns2: Option<Ns2>,
    hash: Box<dyn Fn(u64, u64) -> usize>,
    /// Time from one hash function to the next, if there is one; time in any unit.
    pub perturb: Option<u64>,
    pub epoch: u64,
    /// Queues with packets, in the order of turns.
    pub turns: VecDeque<usize>,
    /// Which hosts divide a share; each queue's, and how often it has stood first in vain.
    pub divided: Divided,
    pub hosts: Vec<Hosts>,
    pub passed: Vec<u64>,
    /// Flows and hosts by id, of what waits.
    flows: Vec<(u32, u64, Hosts)>,
}

impl NaiveSfq {
    pub fn new(
        buffer: NaiveBuffer,
        ns2: Option<Ns2>,
        perturb: Option<u64>,
        hash: impl Fn(u64, u64) -> usize + 'static,
    ) -> NaiveSfq {
        let queues = buffer.queues.len();
        NaiveSfq {
            buffer,
            ns2,
            hash: Box::new(hash),
            perturb,
            epoch: 0,
            turns: VecDeque::new(),
            divided: Divided::default(),
            hosts: vec![(0, 0); queues],
            passed: vec![0; queues],
            flows: Vec::new(),
        }
    }

    /// What ns-2 refuses: a queue that has half of what is left or more. While less is left than
    /// there are queues it refuses one that has more than its part of the limit. It refuses
    /// everything when nothing is left. Not into an empty buffer (ours: with a limit of one packet
    /// nothing would ever pass).
    fn refuses(&self, queue: usize) -> bool {
        let Some(Ns2 { limit }) = self.ns2 else { return false };
        let (used, queues) =
            (self.buffer.queues[queue].len() as u64, self.buffer.queues.len() as u64);
        let left = limit.saturating_sub(self.buffer.packets() as u64);
        let too_much = used >= left / 2 || (left < queues && used > limit / queues) || left == 0;
        too_much && self.buffer.packets() > 0
    }

    /// The hash function that is in force at `now`. What waits is hashed anew, in the order in
    /// which it would have left.
    fn catch_up(&mut self, now: u64) {
        let Some(perturb) = self.perturb else { return };
        if now / perturb > self.epoch {
            let mut waiting = Vec::new();
            while let Some((id, len)) = self.next() {
                waiting.push((id, len));
            }
            self.epoch = now / perturb;
            for (id, len) in waiting {
                let (_, flow, hosts) = self.known(id);
                let queue = (self.hash)(self.epoch, flow);
                self.begin(queue, hosts);
                self.buffer.queues[queue].push_back((id, len));
                self.keep_turns(Some(queue));
            }
        }
    }

    fn known(&self, id: u32) -> (u32, u64, Hosts) {
        *self.flows.iter().find(|known| known.0 == id).expect("it came in")
    }

    /// A packet between `hosts` comes to `queue`: an empty one becomes theirs.
    fn begin(&mut self, queue: usize, hosts: Hosts) {
        if self.buffer.queues[queue].is_empty() {
            (self.hosts[queue], self.passed[queue]) = (hosts, 0);
        }
    }

    /// Queues without packets have no turn; `joined` has one, last of all if it is new.
    fn keep_turns(&mut self, joined: Option<usize>) {
        self.turns.retain(|&queue| !self.buffer.queues[queue].is_empty());
        if let Some(queue) = joined
            && !self.turns.contains(&queue)
            && !self.buffer.queues[queue].is_empty()
        {
            self.turns.push_back(queue);
        }
    }

    /// Returns who was dropped.
    pub fn enqueue(
        &mut self,
        now: u64,
        (flow, hosts): (u64, Hosts),
        id: u32,
        len: u64,
    ) -> Vec<u32> {
        self.catch_up(now);
        let queue = (self.hash)(self.epoch, flow);
        if self.refuses(queue) {
            return vec![id];
        }
        self.flows.push((id, flow, hosts));
        self.begin(queue, hosts);
        let dropped = self.buffer.enqueue(&self.turns, queue, id, len);
        self.keep_turns(Some(queue));
        self.flows.retain(|known| !dropped.contains(&known.0));
        dropped
    }

    /// A packet of the queue whose turn it is, which then goes behind the others if it has more.
    /// Of a host with n queues that have packets, it is a queue's turn when it stands first for the
    /// n-th time.
    fn next(&mut self) -> Option<(u32, u64)> {
        let mut queue = *self.turns.front()?;
        loop {
            let waits = |other: usize| !self.buffer.queues[other].is_empty();
            let load = self.divided.load_of(queue, &self.hosts, waits);
            self.passed[queue] += 1;
            if self.passed[queue] >= load {
                break;
            }
            self.turns.rotate_left(1);
            queue = self.turns[0];
        }
        self.passed[queue] = 0;
        let sent = self.buffer.queues[queue].pop_front();
        self.turns.rotate_left(1);
        self.keep_turns(None);
        sent
    }

    pub fn dequeue(&mut self, now: u64) -> Option<u32> {
        self.catch_up(now);
        let (id, _) = self.next()?;
        self.flows.retain(|known| known.0 != id);
        Some(id)
    }
}
