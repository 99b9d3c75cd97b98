//! SFQ with RED in every bin, read from feng2001 §III-B: flows hashed to bins of a fixed size, a
//! packet of each in turn, and floyd1993's RED in each bin. Written to be plainly right, not fast.
//!
//! The driver says which bin a flow hashes to, and rolls the dice.
use std::collections::VecDeque;

use super::hosts::{Divided, Hosts};
use super::red::{NaiveRed, Said as RedSaid, Unit};

/// What is to become of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Said {
    /// Its bin, or the buffer of all, has no room for it.
    Full,
    Red(RedSaid),
}

#[derive(Clone, Debug)]
pub struct Bin {
    pub red: NaiveRed,
    /// Ids and lengths.
    pub packets: VecDeque<(u32, u64)>,
    /// Whose it is, and how often it has stood first in vain.
    pub hosts: Hosts,
    pub passed: u64,
}

impl Bin {
    pub fn bytes(&self) -> u64 {
        self.packets.iter().map(|packet| packet.1).sum()
    }
}

#[derive(Clone, Debug)]
pub struct NaiveSfqRed {
    pub bins: Vec<Bin>,
    /// What a bin may hold, in packets or bytes.
    pub bin_limit: u64,
    pub in_bytes: bool,
    pub turns: VecDeque<usize>,
    /// Which hosts divide a share.
    pub divided: Divided,
}

impl NaiveSfqRed {
    pub fn new(bins: usize, bin_limit: u64, in_bytes: bool, red: &NaiveRed) -> NaiveSfqRed {
        let bin = Bin { red: red.clone(), packets: VecDeque::new(), hosts: (0, 0), passed: 0 };
        NaiveSfqRed {
            bins: vec![bin; bins],
            bin_limit,
            in_bytes,
            turns: VecDeque::new(),
            divided: Divided::default(),
        }
    }

    /// A packet of `len` bytes comes to `bin`; `room_for_all` tells whether the buffer of all has
    /// room.
    pub fn arrive(&mut self, now: f64, bin: usize, len: u64, room_for_all: bool) -> Said {
        let bin = &mut self.bins[bin];
        let (packets, bytes) = (bin.packets.len() as u64, bin.bytes());
        let fits =
            if self.in_bytes { bytes + len <= self.bin_limit } else { packets < self.bin_limit };
        bin.red.estimate(now, packets as f64, bytes as f64);
        if !fits || !room_for_all {
            bin.red.overflowed(packets as f64);
            return Said::Full;
        }
        Said::Red(bin.red.judge(packets as f64, len as f64))
    }

    /// It was let in.
    pub fn admitted(&mut self, bin: usize, hosts: Hosts, id: u32, len: u64) {
        if self.bins[bin].packets.is_empty() {
            (self.bins[bin].hosts, self.bins[bin].passed) = (hosts, 0);
        }
        self.bins[bin].red.admitted();
        self.bins[bin].packets.push_back((id, len));
        if !self.turns.contains(&bin) {
            self.turns.push_back(bin);
        }
    }

    /// A packet of the bin whose turn it is. A bin that becomes empty has no turn, and is idle from
    /// here on. Of a host with n bins that have packets, it is a bin's turn when it stands first
    /// for the n-th time.
    pub fn dequeue(&mut self, now: f64) -> Option<(usize, u32)> {
        let bin = loop {
            let bin = self.turns.pop_front()?;
            let busy = self.bins.iter().filter(|bin| !bin.packets.is_empty());
            let busy: Vec<Hosts> = busy.map(|bin| bin.hosts).collect();
            self.bins[bin].passed += 1;
            if self.bins[bin].passed >= self.divided.load(self.bins[bin].hosts, &busy) {
                break bin;
            }
            self.turns.push_back(bin);
        };
        self.bins[bin].passed = 0;
        let (id, _) =
            self.bins[bin].packets.pop_front().expect("only bins with packets have a turn");
        if self.bins[bin].packets.is_empty() {
            self.bins[bin].red.idle(now);
        } else {
            self.turns.push_back(bin);
        }
        Some((bin, id))
    }

    /// The count of a bin's RED, in packets.
    pub fn count(&self, bin: usize) -> f64 {
        let red = &self.bins[bin].red;
        if red.unit == Unit::BytesAfter { red.count / red.mean_packet } else { red.count }
    }
}
