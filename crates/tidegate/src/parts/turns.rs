//! Whose turn it is. Those who have something to send stand in a circle; after being served one
//! goes behind all others. Anybody can step out at once, wherever he stands.
//!
//! ```
//! use tidegate::parts::turns::Turns;
//! let mut turns = Turns::new(1024);
//! [7, 700, 20].into_iter().for_each(|one| turns.join(one));
//! turns.pass();
//! turns.leave(20);
//! assert_eq!(turns.first(), Some(700));
//! assert_eq!(turns.iter().collect::<Vec<_>>(), [700, 7]);
//! ```
use alloc::vec;
use alloc::vec::Vec;

/// A circle of some of the numbers 0 .. n.
#[derive(Clone, Debug)]
pub struct Turns {
    seats: Vec<Seat>,
    /// Means something only while somebody stands in the circle.
    first: u32,
    standing: u32,
}

/// Neighbours in the circle; of those who stand there.
#[derive(Clone, Copy, Debug, Default)]
struct Seat {
    before: u32,
    behind: u32,
}

impl Turns {
    /// Room for the numbers 0 .. `count`; none stands in the circle.
    pub fn new(count: usize) -> Turns {
        Turns { seats: vec![Seat::default(); count], first: 0, standing: 0 }
    }

    /// What a circle for `count` numbers takes, in bytes.
    pub const fn bytes(count: u64) -> u64 {
        count * core::mem::size_of::<Seat>() as u64
    }

    /// How many stand in the circle.
    #[inline]
    pub fn len(&self) -> usize {
        self.standing as usize
    }

    /// Whether nobody does.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.standing == 0
    }

    /// Whose turn it is.
    #[inline]
    pub fn first(&self) -> Option<usize> {
        (self.standing > 0).then_some(self.first as usize)
    }

    /// Who comes behind `one`, who stands in the circle.
    #[inline]
    pub fn behind(&self, one: usize) -> usize {
        self.seats[one].behind as usize
    }

    /// `one`, who does not stand in the circle, joins it behind all others.
    #[inline]
    pub fn join(&mut self, one: usize) {
        let one = one as u32;
        if self.standing == 0 {
            self.first = one;
            self.seats[one as usize] = Seat { before: one, behind: one };
        } else {
            let last = core::mem::replace(&mut self.seats[self.first as usize].before, one);
            self.seats[last as usize].behind = one;
            self.seats[one as usize] = Seat { before: last, behind: self.first };
        }
        self.standing += 1;
    }

    /// `one`, who stands in the circle, steps out. If it was his turn it is the next one's.
    #[inline]
    pub fn leave(&mut self, one: usize) {
        let Seat { before, behind } = self.seats[one];
        self.seats[before as usize].behind = behind;
        self.seats[behind as usize].before = before;
        if self.first as usize == one {
            self.first = behind;
        }
        self.standing -= 1;
    }

    /// The first goes behind all others.
    #[inline]
    pub fn pass(&mut self) {
        if self.standing > 0 {
            self.first = self.seats[self.first as usize].behind;
        }
    }

    /// Everybody, in the order of turns.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        let mut one = self.first as usize;
        (0..self.standing).map(move |_| {
            let behind = self.seats[one].behind as usize;
            core::mem::replace(&mut one, behind)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use alloc::collections::VecDeque;

    /// Against a deque, through circles of one, of all, and of none.
    #[test]
    fn turns_go_round() {
        let mut dice = Rng::from_seed(6);
        let (mut turns, mut naive) = (Turns::new(9), VecDeque::new());
        for step in 0..50_000_u64 {
            let one = dice.below(9) as usize;
            // Fuller and emptier in turn.
            match (dice.chance(0.3), naive.iter().position(|&other| other == one)) {
                (true, _) => {
                    turns.pass();
                    naive.rotate_left(usize::from(!naive.is_empty()));
                }
                (_, None) if dice.chance(if step / 100 % 2 == 0 { 0.8 } else { 0.2 }) => {
                    turns.join(one);
                    naive.push_back(one);
                }
                (_, Some(at)) => {
                    turns.leave(one);
                    naive.remove(at);
                }
                _ => {}
            }
            assert_eq!((turns.len(), turns.is_empty()), (naive.len(), naive.is_empty()));
            assert_eq!(turns.first(), naive.front().copied());
            assert!(turns.iter().eq(naive.iter().copied()), "{turns:?} {naive:?}");
            if let (Some(first), second) = (turns.first(), naive.get(1).or(naive.front())) {
                assert_eq!(Some(&turns.behind(first)), second);
            }
        }
    }
}
