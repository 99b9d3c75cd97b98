//! COBALT by its description (*[Codel] Proposing COBALT*, 2016, and ns-3's model page): CoDel and
//! BLUE side by side over one queue.
//!
//! The twin has dice of its own that lie as the queue's do, and must lose, mark and send the same
//! packets at the same instants.
use std::collections::VecDeque;

use super::codel::{Did, Item};
use tidegate::Rng;

#[derive(Clone, Debug)]
pub struct NaiveCobalt {
    /// In ns.
    pub target: u64,
    pub interval: u64,
    /// No wait up to this is too long, in ns.
    pub floor: u64,
    pub increment: f64,
    pub decrement: f64,
    pub ecn: bool,
    pub items: VecDeque<Item>,
    pub dice: Rng,
    /// CoDel: its count, when its next step is due, whether the last packet had waited too long.
    pub count: u64,
    pub due: u64,
    pub too_long: bool,
    /// BLUE: its probability, and when that changed.
    pub p: f64,
    pub changed: Option<u64>,
    /// Packets that BLUE dropped.
    pub by_blue: Vec<u32>,
}

impl NaiveCobalt {
    fn gap(&self) -> u64 {
        (self.interval as f64 / (self.count.max(1) as f64).sqrt()).floor() as u64
    }

    pub fn bytes(&self) -> u64 {
        self.items.iter().map(|item| item.bytes).sum()
    }

    /// BLUE moves at most once per target.
    fn blue(&mut self, now: u64, step: f64) {
        if self.changed.is_some_and(|then| now - then <= self.target) {
            return;
        }
        self.p = (self.p + step).clamp(0.0, 1.0);
        self.changed = Some(now);
    }

    /// A packet was lost for want of room: BLUE goes up, CoDel is due at once.
    pub fn overflow(&mut self, now: u64) {
        self.blue(now, self.increment);
        self.too_long = true;
        self.count = self.count.max(1);
        self.due = now;
    }

    /// Nothing waits: BLUE goes down if it is up, CoDel one step.
    pub fn empty(&mut self, now: u64) {
        if self.p > 0.0 {
            self.blue(now, -self.decrement);
        }
        self.too_long = false;
        if self.count > 0 && now >= self.due {
            self.count -= 1;
            self.due += self.gap();
        }
    }

    /// CoDel, without its memory of 16 intervals: the count goes back one by one.
    fn codel(&mut self, now: u64, waited: u64) -> bool {
        let due = self.count > 0 && now >= self.due;
        let was = self.too_long;
        self.too_long = waited > self.target.max(self.floor);
        if !self.too_long {
            while self.count > 0 && now >= self.due {
                self.count -= 1;
                self.due += self.gap();
            }
            return false;
        }
        if !was {
            self.due = now + self.gap();
        }
        if self.count == 0 {
            self.count = 1;
        }
        if due {
            self.count += 1;
            self.due += self.gap();
        }
        due
    }

    /// Takes packets until one is to be sent. The last one that waits is never dropped.
    pub fn dequeue(&mut self, now: u64) -> Did {
        let mut did = Did::default();
        while let Some(item) = self.items.pop_front() {
            let last = self.items.is_empty();
            let signal = self.codel(now, now - item.stamp);
            let mark = signal && self.ecn && item.markable;
            let by_codel = signal && !mark;
            let by_blue = !by_codel && self.p > 0.0 && self.dice.uniform() < self.p;
            if self.count == 0 {
                self.due = now + self.interval;
            } else if !by_codel && !by_blue && self.due < now {
                self.due = now;
            }
            if (by_codel || by_blue) && !last {
                did.dropped.push(item.id);
                if by_blue {
                    self.by_blue.push(item.id);
                }
                continue;
            }
            if mark && !by_blue {
                did.marked.push(item.id);
            }
            did.sent = Some(item.id);
            return did;
        }
        self.empty(now);
        did
    }
}
