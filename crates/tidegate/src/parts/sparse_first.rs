//! DRR++ as CAKE has it (tc-cake(8), *Flow isolation parameters*): queues take turns, new ones
//! first, and a host's queues divide one share.
//!
//! A queue is *sparse* from its first packet on until it has used up a quantum, then *bulk*. One
//! that is emptied first leaves; if its COBALT remembers something it is looked after until that
//! has faded. A debt must be paid off among the bulk queues, so nobody is new again by being empty
//! for a moment.
use alloc::vec;
use alloc::vec::Vec;

use crate::packet::Hosts;
use crate::parts::cobalt_law::CobaltState;
use crate::parts::host_load::{HostLoads, HostPlaces};
use crate::parts::isolation::Divide;
use crate::parts::turns::Turns;
use crate::rng::Rng;

/// Deficits are counted in this part of a byte, so that a quantum can be divided.
const FRACTION: u32 = 16;

/// In which rotation a queue stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Rotation {
    /// In none: it is empty and remembers nothing.
    #[default]
    Idle,
    /// Among the new.
    Sparse,
    /// Empty, among the old, until its debt is paid.
    InDebt,
    /// Among the old.
    Bulk,
    /// Empty, among those that are looked after.
    Decaying,
}

/// What is kept of a queue besides its packets.
#[derive(Clone, Copy, Debug, Default)]
struct QueueState {
    cobalt: CobaltState,
    deficit: i64,
    hosts: HostPlaces,
    stand: Rotation,
}

/// The queues of one tin.
#[derive(Clone, Debug)]
pub struct SparseFirst {
    queues: Vec<QueueState>,
    new: Turns,
    old: Turns,
    decaying: Turns,
    loads: HostLoads,
    quantum: u64,
}

impl SparseFirst {
    /// `queues` empty queues. Each may send `quantum` bytes in a turn, divided by the load of its
    /// hosts.
    pub fn new(queues: u32, quantum: u64, divide: Divide, dice: &mut Rng) -> SparseFirst {
        let count = queues as usize;
        SparseFirst {
            queues: vec![QueueState::default(); count],
            new: Turns::new(count),
            old: Turns::new(count),
            decaying: Turns::new(count),
            loads: HostLoads::new(divide, queues, dice),
            quantum: quantum << FRACTION,
        }
    }

    /// What `queues` queues take, in bytes.
    pub fn bytes(queues: u32, divide: Divide) -> u64 {
        let own = core::mem::size_of::<QueueState>() as u64;
        u64::from(queues) * own
            + 3 * Turns::bytes(u64::from(queues))
            + HostLoads::bytes(divide, queues)
    }

    /// Whether `queue` is somebody's.
    #[inline]
    pub fn is_busy(&self, queue: usize) -> bool {
        self.queues[queue].stand != Rotation::Idle
    }

    /// Whether some queue has packets, or has been left since it had.
    #[inline]
    pub fn is_active(&self) -> bool {
        !(self.new.is_empty() && self.old.is_empty())
    }

    /// How many queues are new, old, and looked after.
    pub fn counts(&self) -> [usize; 3] {
        [self.new.len(), self.old.len(), self.decaying.len()]
    }

    /// What the law remembers of `queue`.
    #[inline]
    pub fn cobalt(&mut self, queue: usize) -> &mut CobaltState {
        &mut self.queues[queue].cobalt
    }

    #[inline]
    fn share(&self, hosts: HostPlaces) -> i64 {
        (self.quantum / self.loads.load(hosts)) as i64
    }

    /// A packet between `hosts` has joined `queue`.
    #[inline]
    pub fn arrived(&mut self, queue: usize, hosts: Hosts) {
        match self.queues[queue].stand {
            Rotation::Sparse | Rotation::Bulk => {}
            Rotation::InDebt => {
                self.queues[queue].stand = Rotation::Bulk;
                self.loads.add_bulk(self.queues[queue].hosts);
            }
            Rotation::Idle => {
                self.queues[queue].hosts = self.loads.refer(hosts);
                self.begin(queue);
            }
            Rotation::Decaying => {
                self.decaying.leave(queue);
                self.begin(queue);
            }
        }
    }

    #[inline]
    fn begin(&mut self, queue: usize) {
        self.queues[queue].deficit = self.share(self.queues[queue].hosts);
        self.queues[queue].stand = Rotation::Sparse;
        self.new.join(queue);
    }

    /// The queue that may send next, if there is one; it may be found empty. `look_after`: one of
    /// those that decay goes before all others. `waits` says whether a queue has packets.
    #[inline]
    pub fn next(&mut self, look_after: bool, waits: impl Fn(usize) -> bool) -> Option<usize> {
        if look_after && let Some(queue) = self.decaying.first() {
            return Some(queue);
        }
        let mut in_vain = 0;
        loop {
            let queue = self.new.first().or_else(|| self.old.first())?;
            if self.queues[queue].deficit > 0 {
                return Some(queue);
            }
            if self.queues[queue].stand == Rotation::Sparse {
                self.leave_new(queue, waits(queue));
            } else {
                self.old.pass();
                in_vain += 1;
            }
            self.queues[queue].deficit += self.share(self.queues[queue].hosts);
            if in_vain == self.old.len() {
                self.skip_rounds();
                in_vain = 0;
            }
        }
    }

    /// `queue` has used up what it may send as a new one.
    fn leave_new(&mut self, queue: usize, waits: bool) {
        self.new.leave(queue);
        self.old.join(queue);
        self.queues[queue].stand = if waits { Rotation::Bulk } else { Rotation::InDebt };
        if waits {
            self.loads.add_bulk(self.queues[queue].hosts);
        }
    }

    /// A whole round was in vain: as many more at once as would be. So a departure takes a few
    /// rounds at most, however long a packet is and however many share a quantum.
    #[cold]
    fn skip_rounds(&mut self) {
        let missing = |queue: usize| {
            let QueueState { deficit, hosts, .. } = self.queues[queue];
            if deficit > 0 { 0 } else { -deficit / self.share(hosts) }
        };
        let rounds = self.old.iter().map(missing).min().unwrap_or(0);
        if rounds > 0 {
            for queue in self.old.iter() {
                let share = self.share(self.queues[queue].hosts);
                self.queues[queue].deficit += rounds * share;
            }
        }
    }

    /// `queue` has sent a packet of `len` bytes.
    #[inline]
    pub fn sent(&mut self, queue: usize, len: u32) {
        self.queues[queue].deficit -= i64::from(len) << FRACTION;
    }

    /// `queue`, whose turn it was, was found empty. `remembers`: its COBALT does.
    #[inline]
    pub fn emptied(&mut self, queue: usize, remembers: bool) {
        let QueueState { stand, hosts, .. } = self.queues[queue];
        match stand {
            Rotation::Idle => return,
            Rotation::Sparse => self.new.leave(queue),
            Rotation::InDebt => self.old.leave(queue),
            Rotation::Bulk => {
                self.old.leave(queue);
                self.loads.remove_bulk(hosts);
            }
            Rotation::Decaying => self.decaying.leave(queue),
        }
        if remembers {
            self.queues[queue].stand = Rotation::Decaying;
            self.decaying.join(queue);
        } else {
            self.queues[queue].stand = Rotation::Idle;
            self.loads.forget(hosts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A debt of billions of rounds is paid in a few steps, and who comes next is the same as if
    /// each round had been made.
    #[test]
    fn long_debts_cost_few_rounds() {
        let mut queues = SparseFirst::new(3, 1, Divide::Never, &mut Rng::from_seed(1));
        (0..3).for_each(|queue| queues.arrived(queue, Hosts::new(1, 1)));
        let debts = [1_000_000_000, 999_999_990, 2_000_000_000];
        let mut next = || {
            let queue = queues.next(false, |_| true)?;
            (0..1000).for_each(|_| queues.sent(queue, debts[queue]));
            Some(queue)
        };
        let order: Vec<_> = (0..9).map(|_| next().unwrap()).collect();
        assert_eq!(order, [0, 1, 2, 1, 0, 1, 0, 2, 1]);
    }
}
