//! The receiving end: acknowledges every segment at once, keeps what came out of order, echoes marks.

/// The receiving end of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Receiver {
    /// The segment expected next.
    next: u32,
    /// How many segments beyond `next` are here already.
    early: u32,
    /// Which: one bit a segment, at its number modulo the length.
    bits: Vec<u64>,
    /// A mark has come and is echoed until the sender says that it has reduced its window (RFC 3168 §6.1.3).
    echo: bool,
}

/// What an arriving segment led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    /// The acknowledgement to send: the segment expected next.
    pub ack: u32,
    /// Whether it echoes a mark.
    pub echo: bool,
    /// How many segments are now in order that were not.
    pub new: u32,
}

impl Receiver {
    /// Segment `seq` arrives, `marked` or not, with the sender's word that it `reduced` its window or without.
    #[inline]
    pub fn receive(&mut self, seq: u32, marked: bool, reduced: bool) -> Received {
        self.echo = marked || self.echo && !reduced;
        let before = self.next;
        if seq == self.next {
            self.next += 1;
            while self.early > 0 && self.take(self.next) {
                self.next += 1;
            }
        } else if seq > self.next {
            self.keep(seq);
        }
        Received { ack: self.next, echo: self.echo, new: self.next - before }
    }

    /// Another connection begins; the room is kept.
    pub fn restart(&mut self) {
        let mut bits = std::mem::take(&mut self.bits);
        bits.fill(0);
        *self = Receiver { bits, ..Receiver::default() };
    }

    fn room(&self) -> u32 {
        self.bits.len() as u32 * 64
    }

    fn place(&self, seq: u32) -> (usize, u64) {
        let at = seq & (self.room() - 1);
        ((at / 64) as usize, 1 << (at % 64))
    }

    /// Takes `seq` out, if it is there.
    fn take(&mut self, seq: u32) -> bool {
        let (word, bit) = self.place(seq);
        let there = self.bits[word] & bit != 0;
        self.bits[word] &= !bit;
        self.early -= there as u32;
        there
    }

    fn keep(&mut self, seq: u32) {
        if seq - self.next >= self.room() {
            self.widen(seq);
        }
        let (word, bit) = self.place(seq);
        self.early += (self.bits[word] & bit == 0) as u32;
        self.bits[word] |= bit;
    }

    /// Makes room up to `seq`; the receiver's window bounds it.
    #[cold]
    fn widen(&mut self, seq: u32) {
        let old: Vec<u32> = (self.next..self.next + self.room()).filter(|&s| self.early > 0 && self.take(s)).collect();
        self.bits = vec![0; ((seq - self.next) as usize / 64 + 1).next_power_of_two()];
        old.into_iter().for_each(|s| self.keep(s));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tidegate::rng::mix;

    #[test]
    fn it_agrees_with_a_set() {
        let mut receiver = Receiver::default();
        let (mut set, mut next) = (BTreeSet::new(), 0u32);
        for i in 0..50_000u64 {
            let dice = mix(i);
            // Mostly near what is expected, sometimes far ahead, sometimes old.
            let span = if dice.is_multiple_of(50) { 3000 } else { 40 };
            let seq = (next + (dice >> 32) as u32 % span).saturating_sub(5);
            let before = next;
            if seq >= next {
                set.insert(seq);
            }
            while set.remove(&next) {
                next += 1;
            }
            let got = receiver.receive(seq, false, false);
            assert_eq!((got.ack, got.new, receiver.early as usize), (next, next - before, set.len()));
        }
        assert!(next > 1000);
    }

    #[test]
    fn a_mark_is_echoed_until_the_window_is_reduced() {
        let mut receiver = Receiver::default();
        let mut echo = |seq, marked, reduced| receiver.receive(seq, marked, reduced).echo;
        assert!(!echo(0, false, false));
        assert!(echo(1, true, false) && echo(2, false, false));
        assert!(!echo(3, false, true) && !echo(4, false, false));
        assert!(echo(5, true, true));
    }
}
