//! What part of a turn a line has whose host has others, too: an n-th, where n of the host's lines
//! count (tc-cake(8), *Flow isolation parameters*).
//!
//! A scheduler that serves by bytes divides the quantum. One that serves a packet in each turn
//! passes a line over until it has stood first n times. Which lines count is the owner's business.
//!
//! ```
//! use tidegate::{Hosts, Packet, Rng, parts::{host_shares::HostShares, isolation::Divide}};
//! let mut shares = HostShares::new(Divide::BySource, 8, &mut Rng::from_seed(1));
//! for (line, host) in [(0, 7), (1, 7), (2, 8)] {
//!     shares.begin(line, &Packet::new(line as u64, 1000).with_hosts(Hosts::new(host, 1)));
//!     shares.count(line);
//! }
//! assert_eq!([0, 1, 2].map(|line| shares.load(line)), [2, 2, 1]);
//! assert_eq!(shares.part(0, 1500) >> HostShares::FRACTION, 750);
//! ```
use alloc::vec;
use alloc::vec::Vec;

use crate::packet::Packet;
use crate::parts::host_load::{HostLoads, HostPlaces};
use crate::parts::isolation::Divide;
use crate::parts::turns::Turns;
use crate::rng::Rng;

/// The lines' hosts, where hosts divide shares.
#[derive(Clone, Debug)]
pub struct HostShares {
    loads: HostLoads,
    /// Empty where no host divides a share.
    lines: Vec<HostLine>,
}

#[derive(Clone, Copy, Debug, Default)]
struct HostLine {
    hosts: HostPlaces,
    /// Whether it is one of those among which its host's share is divided.
    counts: bool,
    /// How often it has stood first and was passed over.
    passed: u32,
}

impl HostShares {
    /// Parts are in 2^-16.
    pub const FRACTION: u32 = 16;

    /// For `lines` lines, nobody's yet. Keys are drawn from `dice` only where hosts divide shares.
    pub fn new(divide: Divide, lines: u32, dice: &mut Rng) -> HostShares {
        let kept = if divide == Divide::Never { 0 } else { lines as usize };
        HostShares {
            loads: HostLoads::new(divide, lines, dice),
            lines: vec![HostLine::default(); kept],
        }
    }

    /// Where no host divides a share.
    pub fn none() -> HostShares {
        HostShares::new(Divide::Never, 0, &mut Rng::from_seed(0))
    }

    /// What this takes for `lines` lines, in bytes.
    pub fn bytes(divide: Divide, lines: u32) -> u64 {
        let own = core::mem::size_of::<HostLine>() as u64;
        let kept = if divide == Divide::Never { 0 } else { u64::from(lines) };
        HostLoads::bytes(divide, lines) + kept * own
    }

    /// Whether some host divides a share.
    #[inline]
    pub fn divides(&self) -> bool {
        !self.lines.is_empty()
    }

    /// `line`, which was nobody's, is that of the hosts of `pkt`. It does not count yet.
    #[inline]
    pub fn begin(&mut self, line: usize, pkt: &Packet) {
        if let Some(it) = self.lines.get_mut(line) {
            *it = HostLine { hosts: self.loads.refer(pkt.hosts()), ..HostLine::default() };
        }
    }

    /// `line`, which is somebody's, counts from now on, if it did not before.
    #[inline]
    pub fn count(&mut self, line: usize) {
        if let Some(it) = self.lines.get_mut(line)
            && !it.counts
        {
            it.counts = true;
            self.loads.add_bulk(it.hosts);
        }
    }

    /// `line` is nobody's any more.
    #[inline]
    pub fn end(&mut self, line: usize) {
        if let Some(it) = self.lines.get(line) {
            if it.counts {
                self.loads.remove_bulk(it.hosts);
            }
            self.loads.forget(it.hosts);
        }
    }

    /// How many lines divide the share that `line` has a part in: n, 1 at least.
    #[inline]
    pub fn load(&self, line: usize) -> u64 {
        self.lines.get(line).map_or(1, |it| self.loads.load(it.hosts))
    }

    /// An n-th of `quantum`, in 2^-16.
    #[inline]
    pub fn part(&self, line: usize, quantum: u64) -> u64 {
        let whole = quantum << Self::FRACTION;
        if self.divides() { whole / self.load(line) } else { whole }
    }

    /// Where hosts divide shares, passes lines over until one stands first for the n-th time: it is
    /// that one's turn.
    #[inline]
    pub fn pass_to(&mut self, turns: &mut Turns) {
        if self.divides() {
            self.pass_over(turns);
        }
    }

    fn pass_over(&mut self, turns: &mut Turns) {
        let mut in_vain = 0;
        while let Some(line) = turns.first() {
            let load = self.load(line);
            let it = &mut self.lines[line];
            it.passed += 1;
            if u64::from(it.passed) >= load {
                it.passed = 0;
                return;
            }
            turns.pass();
            in_vain += 1;
            if in_vain == turns.len() {
                self.skip_rounds(turns);
            }
        }
    }

    /// All lines were passed over: as many rounds more at once as would be in vain. So it takes two
    /// rounds at most.
    #[cold]
    fn skip_rounds(&mut self, turns: &Turns) {
        let missing = |line: usize| self.load(line).saturating_sub(self.lines[line].passed.into());
        // The round in which the first has its turn is made in the usual way.
        let rounds = turns.iter().map(missing).min().unwrap_or(0).saturating_sub(1);
        turns.iter().for_each(|line| self.lines[line].passed += rounds as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Hosts;

    /// So many lines, all of one host, which stand in turn.
    fn of_one_host(lines: usize) -> (HostShares, Turns) {
        let mut shares = HostShares::new(Divide::BySource, lines as u32, &mut Rng::from_seed(1));
        let mut turns = Turns::new(lines);
        for line in 0..lines {
            shares.begin(line, &Packet::new(line as u64, 1000).with_hosts(Hosts::new(7, 1)));
            shares.count(line);
            turns.join(line);
        }
        (shares, turns)
    }

    /// The rounds that are skipped leave the last one, in which somebody has a turn.
    #[test]
    fn as_many_rounds_are_skipped_as_are_in_vain() {
        let (mut shares, turns) = of_one_host(5);
        for (line, passed) in [1, 2, 1, 0, 1].into_iter().enumerate() {
            shares.lines[line].passed = passed;
        }
        // Line 1 stands first for the fifth time in the third round from here.
        shares.skip_rounds(&turns);
        let passed: Vec<u32> = shares.lines.iter().map(|line| line.passed).collect();
        assert_eq!(passed, [3, 4, 3, 2, 3]);
    }

    /// A turn costs two rounds, not as many as the host has lines: those would take minutes.
    #[test]
    fn a_turn_costs_two_rounds_at_most() {
        let (mut shares, mut turns) = of_one_host(65_536);
        for expected in 0..3 {
            shares.pass_to(&mut turns);
            assert_eq!(turns.first(), Some(expected));
            turns.pass();
        }
    }
}
