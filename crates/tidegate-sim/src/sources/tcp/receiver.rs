//! The receiving end: what is to be acknowledged, what came out of order, what marks to echo.
use super::report::{BLOCKS, Report, SackBlock};
use super::{Flavor, Rules, Tcp};

/// The receiving end of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Receiver {
    /// The segment expected next.
    next: u32,
    /// How many segments beyond `next` are here already.
    early: u32,
    /// Which: one bit a segment, at its number modulo the length.
    bits: Box<[u64]>,
    /// A mark has come and is echoed until the sender says that it has reduced its window (RFC
    /// 3168 §6.1.3).
    echo: bool,
    /// Each acknowledgement says whether its own segment was marked, instead (RFC 8257 §3.2;
    /// ns-1).
    exact: bool,
    /// What was lost is taken for received.
    conceals: bool,
    /// Of a receiver that acknowledges selectively.
    recent: Option<Box<Recent>>,
}

/// What a selective acknowledgement reports.
#[derive(Clone, Debug)]
struct Recent {
    /// The blocks beyond what is in order, the one with the latest arrival first.
    blocks: Vec<SackBlock>,
    /// How many of them are remembered.
    memory: usize,
}

/// How many blocks are remembered in the order of their latest arrivals. Three are reported; behind
/// these stand those that come up again when two of them grow together or are acknowledged. ns-2
/// remembers only the three.
const RECENT: usize = 32;

/// What an arriving segment led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    /// The segment expected next.
    pub ack: u32,
    /// How many segments are now in order that were not.
    pub new: u32,
    /// Whether it was the one expected, with nothing beyond it here already.
    pub in_order: bool,
}

impl Receiver {
    pub fn new(tcp: &Tcp) -> Receiver {
        let memory = if tcp.rules == Rules::Ns2 { BLOCKS } else { RECENT };
        let recent = matches!(tcp.flavor, Flavor::Sack | Flavor::Rack)
            .then(|| Box::new(Recent { blocks: Vec::new(), memory }));
        Receiver {
            recent,
            exact: tcp.congestion.counts_marks() || tcp.rules == Rules::Ns1,
            conceals: tcp.acks.conceals_losses(),
            ..Receiver::default()
        }
    }

    /// What the next acknowledgement says beside its number, if anything (RFC 2018 §4).
    #[inline]
    pub fn report(&self) -> Option<Report> {
        let recent = self.recent.as_ref().filter(|_| self.early > 0)?;
        let mut report = Report::plain(self.next);
        report
            .blocks
            .iter_mut()
            .zip(recent.blocks.iter().take(BLOCKS))
            .for_each(|(slot, block)| *slot = *block);
        Some(report)
    }

    /// Segment `seq` arrives, `marked` or not, with the sender's word that it `reduced` its window
    /// or without.
    #[inline]
    pub fn receive(&mut self, seq: u32, marked: bool, reduced: bool) -> Received {
        self.echo = marked || self.echo && !reduced && !self.exact;
        let before = self.next;
        let in_order = seq == before && self.early == 0;
        if seq == self.next {
            self.next += 1;
            while self.early > 0 && self.take(self.next) {
                self.next += 1;
            }
        } else if seq > self.next {
            if self.conceals {
                self.next = seq + 1;
                return Received { ack: self.next, new: 1, in_order: true };
            }
            self.keep(seq);
        }
        if self.recent.is_some() {
            self.remember(seq);
        }
        Received { ack: self.next, new: self.next - before, in_order }
    }

    /// Whether each acknowledgement reports the marks of its own segments only.
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// What an acknowledgement says now: the segment expected next, and whether it echoes a mark.
    #[inline]
    pub fn state(&self) -> (u32, bool) {
        (self.next, self.echo)
    }

    /// Another connection begins; the room is kept.
    pub fn restart(&mut self) {
        let mut bits = std::mem::take(&mut self.bits);
        let mut recent = self.recent.take();
        bits.fill(0);
        recent.iter_mut().for_each(|recent| recent.blocks.clear());
        let (exact, conceals) = (self.exact, self.conceals);
        *self = Receiver { bits, recent, exact, conceals, ..Receiver::default() };
    }

    /// The block with `seq` in it, if it lies beyond what is in order, is the latest; what is in
    /// order is not reported any more.
    fn remember(&mut self, seq: u32) {
        let latest =
            (seq > self.next).then(|| SackBlock { from: self.run_down(seq), to: self.run_up(seq) });
        let (next, Some(recent)) = (self.next, self.recent.as_deref_mut()) else { return };
        let Recent { blocks, memory } = recent;
        blocks.retain(|block| {
            block.from > next && latest.is_none_or(|l| block.from < l.from || block.from >= l.to)
        });
        if let Some(latest) = latest {
            blocks.truncate(*memory - 1);
            blocks.insert(0, latest);
        }
    }

    /// The first segment of those held without a gap down from `seq`, which is held.
    fn run_down(&self, mut seq: u32) -> u32 {
        loop {
            let at = (seq & (self.room() - 1)) as usize;
            let held = (!(self.bits[at / 64] << (63 - at % 64))).leading_zeros();
            // The segment expected next is not held, so that the run ends there or before.
            if held <= at as u32 % 64 {
                return seq + 1 - held;
            }
            seq -= held;
        }
    }

    /// One past the last segment of those held without a gap up from `seq`.
    fn run_up(&self, mut seq: u32) -> u32 {
        loop {
            let at = (seq & (self.room() - 1)) as usize;
            let held =
                (!(self.bits[at / 64] >> (at % 64))).trailing_zeros().min(64 - at as u32 % 64);
            seq += held;
            if held < 64 - at as u32 % 64 {
                return seq;
            }
        }
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
        let old: Vec<u32> = (self.next..self.next + self.room())
            .filter(|&s| self.early > 0 && self.take(s))
            .collect();
        self.bits = vec![0; ((seq - self.next) as usize / 64 + 1).next_power_of_two()].into();
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
            assert_eq!(
                (got.ack, got.new, receiver.early as usize),
                (next, next - before, set.len())
            );
        }
        assert!(next > 1000);
    }

    /// RFC 2018 §4: the first block holds the segment that has just come, the others those told of
    /// last; against a set of segments and the list of arrivals.
    #[test]
    fn blocks_are_told_in_the_order_of_their_latest_arrivals() {
        let mut receiver = Receiver::new(&Tcp { flavor: Flavor::Sack, ..Tcp::reno() });
        let (mut set, mut next, mut arrivals) = (BTreeSet::new(), 0u32, Vec::new());
        let mut told = [0; BLOCKS + 1];
        for i in 0..30_000u64 {
            let dice = mix(i + 77);
            let span = if dice.is_multiple_of(50) { 300 } else { 14 };
            let ahead = if dice >> 8 & 3 == 0 { (dice >> 32) as u32 % span } else { 0 };
            let seq = (next + ahead).saturating_sub((dice >> 12) as u32 % 2);
            if seq >= next {
                set.insert(seq);
                arrivals.push(seq);
            }
            while set.remove(&next) {
                next += 1;
            }
            arrivals.retain(|&s| s > next);
            let got = receiver.receive(seq, false, false);
            assert_eq!(got.ack, next);
            let mut wanted: Vec<SackBlock> = Vec::new();
            for &latest in arrivals.iter().rev() {
                let from = (0..=latest).rev().take_while(|s| set.contains(s)).last().unwrap();
                let to = (latest..).find(|s| !set.contains(s)).unwrap();
                if !wanted.contains(&SackBlock { from, to }) {
                    wanted.push(SackBlock { from, to });
                }
            }
            assert!(wanted.len() <= RECENT, "the test has fewer blocks than are remembered");
            wanted.truncate(BLOCKS);
            told[wanted.len()] += 1;
            let report = receiver.report();
            assert_eq!(report.is_some(), !wanted.is_empty());
            let blocks: Vec<SackBlock> = report.map_or(vec![], |r| r.blocks.to_vec());
            assert_eq!(
                blocks.into_iter().filter(|b| b.from < b.to).collect::<Vec<_>>(),
                wanted,
                "after {seq}"
            );
        }
        assert!(told.iter().all(|&n| n > 100), "{told:?}");
    }

    /// ns-1 copies a packet's bits into its acknowledgement: nothing is latched, and nobody has to
    /// say that he has heard.
    #[test]
    fn by_ns_1_each_mark_is_echoed_once() {
        let mut receiver = Receiver::new(&Tcp::ns1(Flavor::Reno));
        let marks = [false, true, false, true, true, false];
        let echoes: Vec<bool> = (0..6)
            .map(|seq| {
                receiver.receive(seq, marks[seq as usize], false);
                receiver.state().1
            })
            .collect();
        assert_eq!(echoes, marks);
    }

    #[test]
    fn a_mark_is_echoed_until_the_window_is_reduced() {
        let mut receiver = Receiver::default();
        let mut echo = |seq, marked, reduced| {
            receiver.receive(seq, marked, reduced);
            receiver.state().1
        };
        assert!(!echo(0, false, false));
        assert!(echo(1, true, false) && echo(2, false, false));
        assert!(!echo(3, false, true) && !echo(4, false, false));
        assert!(echo(5, true, true));
    }
}
