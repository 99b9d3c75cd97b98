//! Deficit round robin in which queues that just became active go first (hoeiland2018 §4; DRR++).
//!
//! An active queue stands on one of two lists: the new or the old ones. Which queue has packets,
//! and what is done to them before one leaves, is the owner's business.
//!
//! ```
//! use tidegate::{Packet, parts::{lines::Lines, new_and_old::NewAndOld}};
//! let (mut lines, mut turns) = (Lines::new(3), NewAndOld::new(3, ()));
//! for queue in [0, 0, 0, 2] {
//!     let pkt = Packet::new(queue as u64, 1000);
//!     lines.push(queue, pkt);
//!     turns.activate(queue, 1500, &pkt);
//! }
//! let mut next = || turns.next(|_| 1500, |queue, _| lines.pop(queue)).map(|pkt| pkt.flow);
//! assert_eq!([next(), next(), next(), next()], [Some(0), Some(0), Some(2), Some(0)]);
//! assert_eq!(next(), None);
//! ```
use alloc::vec;
use alloc::vec::Vec;

use crate::packet::Packet;
use crate::parts::host_shares::HostShares;
use crate::parts::ring::Ring;

/// The turns of queues, and a state `T` for each.
#[derive(Clone, Debug)]
pub struct NewAndOld<T> {
    queues: Vec<RotatedQueue<T>>,
    /// Queues that became active and have not used up their first quantum; their order is their
    /// turn.
    new: Ring<u32>,
    /// The other active queues.
    old: Ring<u32>,
    hosts: HostShares,
}

#[derive(Clone, Debug)]
struct RotatedQueue<T> {
    state: T,
    /// What it may still send in its turn, in 2^-16 bytes; a last packet may overdraw it.
    credit: i64,
    /// Whether it stands in one of the lists. It may stand there empty.
    active: bool,
}

impl<T: Clone> NewAndOld<T> {
    /// The queues 0 .. `count`, none active, each with `state`.
    pub fn new(count: usize, state: T) -> NewAndOld<T> {
        NewAndOld {
            queues: vec![RotatedQueue { state, credit: 0, active: false }; count],
            new: Ring::with_capacity(count),
            old: Ring::with_capacity(count),
            hosts: HostShares::none(),
        }
    }

    /// The same with queues whose `hosts` divide shares. A queue counts from the first packet that
    /// it sends as an old one until it is found empty there.
    pub fn with_hosts(self, hosts: HostShares) -> NewAndOld<T> {
        NewAndOld { hosts, ..self }
    }
}

impl<T> NewAndOld<T> {
    /// What `count` queues take, in bytes.
    pub const fn bytes(count: u64) -> u64 {
        count * (core::mem::size_of::<RotatedQueue<T>>() + 2 * core::mem::size_of::<u32>()) as u64
    }

    /// How many stand on the list of new queues, and on that of old ones.
    pub fn listed(&self) -> (usize, usize) {
        (self.new.len(), self.old.len())
    }

    /// Whether `queue` stands on a list.
    #[inline]
    pub fn is_active(&self, queue: usize) -> bool {
        self.queues[queue].active
    }

    /// The state of `queue`.
    #[inline]
    pub fn state(&self, queue: usize) -> &T {
        &self.queues[queue].state
    }

    /// The same, to change.
    #[inline]
    pub fn state_mut(&mut self, queue: usize) -> &mut T {
        &mut self.queues[queue].state
    }

    /// Puts an inactive queue, which `pkt` has joined, on the list of new ones, with `quantum`
    /// bytes to send (§4.1).
    #[inline]
    pub fn activate(&mut self, queue: usize, quantum: i64, pkt: &Packet) {
        if self.begin(queue, quantum, pkt) {
            self.new.push(queue as u32);
        }
    }

    /// The same on the list of old ones: without their first turn.
    #[inline]
    pub fn activate_as_old(&mut self, queue: usize, quantum: i64, pkt: &Packet) {
        if self.begin(queue, quantum, pkt) {
            self.old.push(queue as u32);
        }
    }

    /// Whether `queue` was inactive; it is not any more.
    #[inline]
    fn begin(&mut self, queue: usize, quantum: i64, pkt: &Packet) -> bool {
        let it = &mut self.queues[queue];
        let begins = !it.active;
        if begins {
            self.hosts.begin(queue, pkt);
            (it.active, it.credit) = (true, self.hosts.part(queue, quantum as u64) as i64);
        }
        begins
    }

    /// The packet to send (§4.2): `send` takes it from the queue whose turn it is, or finds that
    /// this has none. `quantum` is what a queue may send in a turn.
    #[inline]
    pub fn next(
        &mut self,
        quantum: impl Fn(usize) -> i64,
        mut send: impl FnMut(usize, &mut T) -> Option<Packet>,
    ) -> Option<Packet> {
        let mut in_vain = 0;
        loop {
            let first = self.new.head().copied();
            let queue = first.or_else(|| self.old.head().copied())?;
            let it = &mut self.queues[queue as usize];
            let used_up = it.credit <= 0;
            if used_up {
                let quantum = quantum(queue as usize) as u64;
                it.credit += self.hosts.part(queue as usize, quantum) as i64;
            } else if let Some(pkt) = send(queue as usize, &mut it.state) {
                it.credit -= i64::from(pkt.len) << HostShares::FRACTION;
                if first.is_none() {
                    self.hosts.count(queue as usize);
                }
                return Some(pkt);
            }
            // A queue that leaves the new list, spent or empty, has to stand in the old one for a
            // round: else one that is refilled whenever it is empty would always come first.
            if first.is_some() {
                self.new.pop();
                self.old.push(queue);
            } else {
                self.old.pop();
                if used_up {
                    self.old.push(queue);
                    in_vain += 1;
                    if in_vain == self.old.len() {
                        self.skip_rounds(&quantum);
                        in_vain = 0;
                    }
                } else {
                    self.queues[queue as usize].active = false;
                    self.hosts.end(queue as usize);
                }
            }
        }
    }

    /// A whole round of old queues was in vain: as many more at once as would be. So a departure
    /// takes a few rounds at most, however long a packet is and however many share a quantum.
    #[cold]
    fn skip_rounds(&mut self, quantum: &impl Fn(usize) -> i64) {
        let part =
            |queue: u32| self.hosts.part(queue as usize, quantum(queue as usize) as u64) as i64;
        let missing = |&queue: &u32| {
            let credit = self.queues[queue as usize].credit;
            if credit > 0 { 0 } else { -credit / part(queue) }
        };
        let rounds = self.old.iter().map(missing).min().unwrap_or(0);
        if rounds > 0 {
            for &queue in self.old.iter() {
                self.queues[queue as usize].credit += rounds * part(queue);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    /// Rounds in vain are skipped, not made: a departure asks for a few quanta, however many a long
    /// packet costs. Who comes next is the same as if they had been made.
    #[test]
    fn long_packets_cost_few_rounds() {
        let mut turns = NewAndOld::new(3, ());
        for (queue, len) in [(0, 1_000_000), (1, 999_990), (2, 2_000_000)] {
            turns.activate(queue, 1, &Packet::new(queue as u64, len));
        }
        let asked = Cell::new(0);
        let mut next = |most: u32| {
            asked.set(0);
            let sizes = [1_000_000, 999_990, 2_000_000];
            let ask = |_| {
                asked.set(asked.get() + 1);
                1
            };
            let sent = turns.next(ask, |queue, ()| Some(Packet::new(queue as u64, sizes[queue])));
            assert!(asked.get() <= most, "{} quanta", asked.get());
            sent.map(|pkt| pkt.flow)
        };
        let order: Vec<_> = (0..9).map(|_| next(24).unwrap()).collect();
        assert_eq!(order, [0, 1, 2, 1, 0, 1, 0, 2, 1]);
    }
}
