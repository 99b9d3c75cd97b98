//! Phantom queues: counters of bytes that are served in turn as if packets waited there.
//!
//! ```
//! use tidegate::parts::phantoms::Phantoms;
//! let mut phantoms = Phantoms::new([1000, 1000].into_iter(), 5000);
//! phantoms.add(0, 3000);
//! phantoms.add(1, 1500);
//! assert_eq!(phantoms.serve(4000), 0); // 1000, 1000, 1000, 500, 500
//! assert_eq!((phantoms.of(0).size, phantoms.of(1).size), (500, 0));
//! assert_eq!(phantoms.serve(4000), 3500); // what nobody takes is left
//! ```
use alloc::vec::Vec;

use crate::parts::turns::Turns;

/// A phantom queue, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phantom {
    /// What is in it.
    pub size: u64,
    /// How much of that it was filled up with. It leaves last.
    pub magic: u64,
    /// While it has bytes: its size when the window began.
    pub before: u64,
    /// While it has bytes: what was served in the window.
    pub served: u64,
    /// While it has bytes: what was added in the window, since it was filled up if it was.
    pub added: u64,
    /// While it has bytes: whether it was filled up in the window.
    pub filled: bool,
    /// What it may take in a turn.
    quantum: u64,
    /// The window that its counters are of.
    window: u64,
}

/// What becomes of a phantom queue at a window's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhantomJudgement {
    /// It stays as it is.
    Keep,
    /// It is filled up to the limit.
    FillUp,
    /// What filled it up is taken out.
    TakeOut,
}

/// Phantom queues that take turns.
#[derive(Clone, Debug)]
pub struct Phantoms {
    list: Vec<Phantom>,
    limit: u64,
    /// Those with bytes.
    turns: Turns,
    /// What the first may still take before it is the next one's turn.
    left: u64,
    /// The quanta of those with bytes, together.
    quanta: u64,
    /// How many windows have ended.
    window: u64,
}

impl Phantoms {
    /// One for each quantum, each for at most `limit` bytes.
    pub fn new(quanta: impl Iterator<Item = u64>, limit: u64) -> Phantoms {
        let list = quanta.map(|quantum| Phantom { quantum, ..Phantom::default() });
        let list: Vec<Phantom> = list.collect();
        let turns = Turns::new(list.len());
        Phantoms { list, limit, turns, left: 0, quanta: 0, window: 0 }
    }

    /// What `count` of them take, in bytes.
    pub const fn bytes(count: u64) -> u64 {
        count * core::mem::size_of::<Phantom>() as u64 + Turns::bytes(count)
    }

    /// The phantom queue `one`.
    #[inline]
    pub fn of(&self, one: usize) -> &Phantom {
        &self.list[one]
    }

    /// Those with bytes, in the order of turns.
    pub fn busy(&self) -> &Turns {
        &self.turns
    }

    /// The quanta of those with bytes, together.
    #[inline]
    pub fn quanta(&self) -> u64 {
        self.quanta
    }

    /// Whether `len` more bytes fit into `one`.
    #[inline]
    pub fn has_room(&self, one: usize, len: u64) -> bool {
        self.list[one].size + len <= self.limit
    }

    /// `len` bytes, which find room, come to `one`.
    #[inline]
    pub fn add(&mut self, one: usize, len: u64) {
        if self.list[one].size == 0 && len > 0 {
            self.join(one);
        }
        let phantom = &mut self.list[one];
        phantom.size += len;
        phantom.added += len;
    }

    /// Serves `bytes` in turns; what is left when all are empty.
    #[inline]
    pub fn serve(&mut self, mut bytes: u64) -> u64 {
        let mut turns = 0;
        while bytes > 0
            && let Some(first) = self.turns.first()
        {
            if self.left == self.list[first].quantum {
                turns += 1;
                if turns > self.turns.len() {
                    bytes = self.skip_rounds(bytes);
                    turns = 0;
                }
            }
            bytes -= self.serve_first(first, bytes);
        }
        bytes
    }

    #[inline]
    fn serve_first(&mut self, first: usize, bytes: u64) -> u64 {
        let phantom = &mut self.list[first];
        let taken = phantom.size.min(self.left).min(bytes);
        phantom.take(taken);
        self.left -= taken;
        if phantom.size == 0 {
            self.leave(first);
        } else if self.left == 0 {
            self.turns.pass();
            self.begin_turn();
        }
        taken
    }

    /// As many whole rounds at once as empty nobody; what is left then. A turn is about to begin.
    #[cold]
    fn skip_rounds(&mut self, bytes: u64) -> u64 {
        let rounds = |phantom: &Phantom| (phantom.size - 1) / phantom.quantum;
        let least = self.turns.iter().map(|one| rounds(&self.list[one])).min().unwrap_or(0);
        let rounds = least.min((bytes - 1) / self.quanta);
        for one in self.turns.iter() {
            let phantom = &mut self.list[one];
            phantom.take(rounds * phantom.quantum);
        }
        bytes - rounds * self.quanta
    }

    /// Fills `one`, which has bytes, up to the limit. What is added to it is counted anew.
    pub fn fill_up(&mut self, one: usize) {
        let phantom = &mut self.list[one];
        phantom.magic += self.limit - phantom.size;
        phantom.size = self.limit;
        (phantom.added, phantom.filled) = (0, true);
    }

    /// Takes out of `one` what it was filled up with.
    fn take_out(&mut self, one: usize) {
        let phantom = &mut self.list[one];
        if phantom.magic == 0 {
            return;
        }
        phantom.size -= phantom.magic;
        phantom.magic = 0;
        if phantom.size == 0 {
            self.leave(one);
        }
    }

    /// A window ends: each that has bytes is judged, and its counters begin anew. `judge` sees it,
    /// and the quanta of all that had bytes before any was judged.
    pub fn end_window(&mut self, judge: impl Fn(&Phantom, u64) -> PhantomJudgement) {
        self.window += 1;
        let quanta = self.quanta;
        let mut next = self.turns.first();
        for _ in 0..self.turns.len() {
            let Some(one) = next else { return };
            next = Some(self.turns.behind(one));
            match judge(&self.list[one], quanta) {
                PhantomJudgement::Keep => {}
                PhantomJudgement::FillUp => self.fill_up(one),
                PhantomJudgement::TakeOut => self.take_out(one),
            }
            self.list[one].begin_window(self.window);
        }
    }

    /// All are empty.
    pub fn forget(&mut self) {
        while let Some(one) = self.turns.first() {
            let phantom = &mut self.list[one];
            (phantom.size, phantom.magic) = (0, 0);
            phantom.begin_window(self.window);
            self.leave(one);
        }
    }

    #[inline]
    fn join(&mut self, one: usize) {
        let phantom = &mut self.list[one];
        if phantom.window != self.window {
            phantom.begin_window(self.window);
        }
        self.turns.join(one);
        self.quanta += self.list[one].quantum;
        if self.turns.len() == 1 {
            self.begin_turn();
        }
    }

    #[inline]
    fn leave(&mut self, one: usize) {
        let first = self.turns.first() == Some(one);
        self.turns.leave(one);
        self.quanta -= self.list[one].quantum;
        if first {
            self.begin_turn();
        }
    }

    #[inline]
    fn begin_turn(&mut self) {
        self.left = self.turns.first().map_or(0, |first| self.list[first].quantum);
    }
}

impl Phantom {
    /// Its part of `whole`. It is one of those with bytes, which have `quanta` together.
    #[inline]
    pub fn part_of(&self, whole: f64, quanta: u64) -> f64 {
        whole * self.quantum as f64 / quanta as f64
    }

    fn begin_window(&mut self, window: u64) {
        self.window = window;
        (self.before, self.served, self.added, self.filled) = (self.size, 0, 0, false);
    }

    #[inline]
    fn take(&mut self, bytes: u64) {
        self.size -= bytes;
        self.magic = self.magic.min(self.size);
        self.served += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds are skipped only while they empty nobody: who is emptied leaves in his own turn.
    #[test]
    fn no_round_that_empties_one_is_skipped() {
        let mut phantoms = Phantoms::new([10, 10].into_iter(), 1000);
        phantoms.add(0, 100);
        phantoms.add(1, 20);
        assert_eq!(phantoms.serve(41), 0);
        assert_eq!([0, 1].map(|one| phantoms.of(one).size), [79, 0]);
        assert_eq!((phantoms.quanta(), phantoms.busy().len()), (10, 1));
    }
}
