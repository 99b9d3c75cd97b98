//! The lists of new and of old queues, read straight from hoeiland2018 (RFC 8290 §4.1, §4.2), which
//! FQ-PIE and HHF take over.
use std::collections::VecDeque;

#[derive(Clone, Debug, Default)]
pub struct NaiveTurns {
    pub new: VecDeque<usize>,
    pub old: VecDeque<usize>,
    pub credits: Vec<i64>,
}

impl NaiveTurns {
    pub fn new(queues: usize) -> NaiveTurns {
        NaiveTurns { credits: vec![0; queues], ..NaiveTurns::default() }
    }

    /// Whether `queue` stands on a list.
    pub fn is_active(&self, queue: usize) -> bool {
        self.new.contains(&queue) || self.old.contains(&queue)
    }

    /// §4.1: a packet has joined `queue`. `as_new`: to which list an inactive one goes.
    pub fn joined(&mut self, queue: usize, quantum: i64, as_new: bool) {
        if !self.is_active(queue) {
            self.credits[queue] = quantum;
            if as_new { self.new.push_back(queue) } else { self.old.push_back(queue) }
        }
    }

    /// §4.2: which queue sends its head, of those that have one by `head` (its length).
    pub fn next(
        &mut self,
        quantum: impl Fn(usize) -> i64,
        head: impl Fn(usize) -> Option<u64>,
    ) -> Option<usize> {
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let &queue = list.front()?;
            if self.credits[queue] <= 0 {
                self.credits[queue] += quantum(queue);
                list.pop_front();
                self.old.push_back(queue);
            } else if let Some(bytes) = head(queue) {
                self.credits[queue] -= bytes as i64;
                return Some(queue);
            } else {
                list.pop_front();
                if from_new {
                    self.old.push_back(queue);
                }
            }
        }
    }
}
