//! Which of the last waiting packets may be of a high-bandwidth flow: what the push-out looks at.
//!
//! Between two updates of the hit fractions and of the count no flow becomes one of high bandwidth.
//! So a packet that was looked at and is of none need not be looked at again before the next
//! update, and each push-out looks at what is new.

/// How far back from the tail they reach.
const REACH: usize = 256;
const WORDS: usize = REACH / 64;

/// A bit for each of the last [`REACH`] waiting packets: whether it may be of a high-bandwidth
/// flow. Packets are counted from the tail, the newest is 0.
#[derive(Clone, Debug)]
pub struct Suspects {
    bits: [u64; WORDS],
    /// The newest packet's bit; older ones follow, in a ring.
    newest: u8,
}

impl Suspects {
    /// Nothing is known: each may be.
    pub const ALL: Suspects = Suspects { bits: [u64::MAX; WORDS], newest: 0 };

    /// A packet joins the tail.
    #[inline]
    pub fn join(&mut self, suspect: bool) {
        self.newest = self.newest.wrapping_sub(1);
        let (word, bit) = (self.newest as usize / 64, self.newest % 64);
        self.bits[word] = self.bits[word] & !(1 << bit) | (suspect as u64) << bit;
    }

    /// The newest packet that may be.
    #[inline]
    pub fn newest(&self) -> Option<usize> {
        let (first, bit) = (self.newest as usize / 64, self.newest % 64);
        // The first word has the newest above `bit`, and the oldest below.
        let mut word = self.bits[first] & (u64::MAX << bit);
        for more in 1..=WORDS {
            if word != 0 {
                let at = (first + more - 1) * 64 + word.trailing_zeros() as usize;
                return Some((at as u8).wrapping_sub(self.newest) as usize);
            }
            word = self.bits[(first + more) % WORDS];
        }
        word &= !(u64::MAX << bit);
        let at = first * 64 + word.trailing_zeros() as usize;
        (word != 0).then(|| (at as u8).wrapping_sub(self.newest) as usize)
    }

    /// The packet at `depth` is of no high-bandwidth flow.
    #[inline]
    pub fn clear(&mut self, depth: usize) {
        let at = self.newest.wrapping_add(depth as u8);
        self.bits[at as usize / 64] &= !(1 << (at % 64));
    }

    /// The newest suspect, at `depth`, leaves. None of those behind it is one, so it is they who
    /// move up; of the one that comes into reach nothing is known.
    #[inline]
    pub fn leave(&mut self, depth: usize) {
        self.clear(depth);
        self.bits[self.newest as usize / 64] |= 1 << (self.newest % 64);
        self.newest = self.newest.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use alloc::vec;

    /// Against a list, newest first.
    #[test]
    fn behaves_as_a_list() {
        let mut dice = Rng::from_seed(3);
        let (mut suspects, mut list) = (Suspects::ALL, vec![true; REACH]);
        for round in 0..200_000 {
            // Now and then nothing is left of what was not known.
            if round % 5_000 == 0 {
                (suspects, list) = (Suspects::ALL, vec![true; REACH]);
            }
            let newest = list.iter().position(|&suspect| suspect);
            assert_eq!(suspects.newest(), newest, "round {round}");
            match (newest, dice.below(4)) {
                (Some(depth), 0) => {
                    suspects.leave(depth);
                    list.remove(depth);
                    list.push(true);
                }
                (Some(depth), 1 | 2) => {
                    suspects.clear(depth);
                    list[depth] = false;
                }
                _ => {
                    let suspect = dice.chance(0.3);
                    suspects.join(suspect);
                    list.insert(0, suspect);
                    list.pop();
                }
            }
        }
    }
}
