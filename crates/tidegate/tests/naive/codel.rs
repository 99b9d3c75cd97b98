//! CoDel read straight from nichols2018 (RFC 8289 §5), step by step, with a clock of whole
//! nanoseconds.
//!
//! Nothing is random in CoDel, so the twin is a queue of its own. It gets the same packets and must
//! lose, mark and send the same ones at the same instants.
use std::collections::VecDeque;

/// A packet as the twin sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item {
    pub id: u32,
    pub bytes: u64,
    /// When it was enqueued, in ns (§5.4).
    pub stamp: u64,
    pub markable: bool,
}

/// What one call of dequeue did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Did {
    pub dropped: Vec<u32>,
    pub marked: Vec<u32>,
    pub sent: Option<u32>,
}

#[derive(Clone, Debug)]
pub struct NaiveCodel {
    /// TARGET and INTERVAL in ns, the largest packet in bytes (§5.3).
    pub target: u64,
    pub interval: u64,
    pub mtu: u64,
    /// Whether what can be marked is marked instead of dropped.
    pub ecn: bool,
    pub items: VecDeque<Item>,
    /// What waits for the same link in other queues, in bytes (§4.4).
    pub elsewhere: u64,
    /// The state of §5.2; `None` is the RFC's 0.
    pub first_above: Option<u64>,
    pub drop_next: u64,
    pub count: u64,
    pub last_count: u64,
    pub dropping: bool,
    /// With Linux's root: what it takes for 1/√count, in 2^-16ths. `None`: the root itself.
    pub newton: Option<u64>,
}

impl NaiveCodel {
    pub fn new(target: u64, interval: u64, mtu: u64, ecn: bool) -> NaiveCodel {
        NaiveCodel {
            target,
            interval,
            mtu,
            ecn,
            items: VecDeque::new(),
            elsewhere: 0,
            first_above: None,
            drop_next: 0,
            count: 0,
            last_count: 0,
            dropping: false,
            newton: None,
        }
    }

    /// Newton's step from x to x (3 − count x²) / 2 once the count is known. With x = r/2^16 the
    /// square has 32 bits after the point, the rest 30 and the product 16; each is rounded down.
    fn newton_step(&mut self) {
        let Some(r) = self.newton else { return };
        // Below 0 it is taken modulo 2^64, as the kernel's numbers are; so is the product, whose
        // point they keep 16 bits further to the left, and its 16 bits after the point.
        let rest = (3 * 2_i128.pow(32) - (self.count * r * r) as i128).rem_euclid(2_i128.pow(64));
        let product = (rest / 4) * (r as i128 * 65_536) % 2_i128.pow(64);
        self.newton = Some((product / 2_i128.pow(47) % 65_536) as u64);
    }

    pub fn bytes(&self) -> u64 {
        self.items.iter().map(|item| item.bytes).sum()
    }

    /// §5.6: the next drop comes an interval over the root of the count after `from`.
    pub fn control_law(&self, from: u64, count: u64) -> u64 {
        if let Some(r) = self.newton {
            return from + (self.interval as u128 * r as u128 / 65536) as u64;
        }
        from + (self.interval as f64 / (count as f64).sqrt()).floor() as u64
    }

    /// §5.6: takes the head, and says whether its delay has been above target for a whole interval.
    /// What is left for the link to send counts, in whichever of its queues it waits (§4.4).
    fn take(&mut self, now: u64) -> Option<(Item, bool)> {
        let Some(head) = self.items.pop_front() else {
            self.first_above = None;
            return None;
        };
        if now - head.stamp < self.target || self.bytes() + self.elsewhere <= self.mtu {
            self.first_above = None;
            return Some((head, false));
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + self.interval);
                Some((head, false))
            }
            Some(since) => Some((head, now >= since)),
        }
    }

    /// True if the packet was marked and goes on; false if it was dropped.
    fn marks(&self, item: Item, did: &mut Did) -> bool {
        if self.ecn && item.markable {
            did.marked.push(item.id);
            return true;
        }
        did.dropped.push(item.id);
        false
    }

    /// §5.5.
    pub fn dequeue(&mut self, now: u64) -> Did {
        let mut did = Did::default();
        let mut head = self.take(now);
        if self.dropping {
            // The delay fell: leave the dropping state.
            if !matches!(head, Some((_, true))) {
                self.dropping = false;
            }
            // Every drop that has fallen due.
            while self.dropping && now >= self.drop_next {
                let (item, _) = head.unwrap();
                self.count += 1;
                self.newton_step();
                if self.marks(item, &mut did) {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                    break;
                }
                head = self.take(now);
                if matches!(head, Some((_, true))) {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if let Some((item, true)) = head {
            if !self.marks(item, &mut did) {
                head = self.take(now);
            }
            self.dropping = true;
            // Back so soon: begin with the rate that last held the queue, as far as it had risen.
            let never = self.last_count == 0;
            let risen = if never { 0 } else { self.count - self.last_count };
            let soon = now < self.drop_next + 16 * self.interval;
            self.count = if risen > 1 && soon { risen } else { 1 };
            if self.count > 1 {
                self.newton_step();
            } else if self.newton.is_some() {
                self.newton = Some(65_535);
            }
            self.last_count = self.count;
            self.drop_next = self.control_law(now, self.count);
        }
        did.sent = head.map(|(item, _)| item.id);
        did
    }
}
