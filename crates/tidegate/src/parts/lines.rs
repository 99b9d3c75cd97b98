//! Many first-in first-out lines of packets in one pool of places, so that memory goes by what
//! waits, not by the number of lines. The pool grows to what is needed and then allocates no more.
//!
//! ```
//! use tidegate::{Packet, parts::lines::Lines};
//! let mut lines = Lines::new(1024);
//! lines.push(7, Packet::new(1, 1000));
//! lines.push(9, Packet::new(2, 500));
//! assert_eq!(lines.backlog(7).bytes, 1000);
//! assert_eq!(lines.pop(7).unwrap().flow, 1);
//! assert!(lines.pop(7).is_none());
//! let place = lines.push(9, Packet::new(3, 500));
//! lines.push(9, Packet::new(4, 500));
//! assert_eq!(lines.remove(9, place).flow, 3); // from the middle
//! assert_eq!(lines.pop_tail(9).unwrap().flow, 4); // from the end
//! ```
use alloc::vec;
use alloc::vec::Vec;

use crate::packet::Packet;
use crate::qdisc::Backlog;

const NONE: u32 = u32::MAX;

/// Several lines of packets over one pool.
#[derive(Clone, Debug)]
pub struct Lines {
    places: Vec<LineNode>,
    /// The first free place; the others follow by `next`.
    free: u32,
    lines: Vec<LineEnds>,
}

#[derive(Clone, Copy, Debug)]
struct LineNode {
    pkt: Packet,
    /// The place behind this one in its line, or the next free one.
    next: u32,
    /// The place before this one in its line; means nothing at the head.
    previous: u32,
}

/// `head` means something only while the backlog is not empty; so does `tail`.
#[derive(Clone, Debug, Default)]
struct LineEnds {
    head: u32,
    tail: u32,
    backlog: Backlog,
}

impl Lines {
    /// `lines` empty lines, numbered from 0.
    pub fn new(lines: usize) -> Lines {
        Lines { places: Vec::new(), free: NONE, lines: vec![LineEnds::default(); lines] }
    }

    /// The same with room for `packets` packets from the start.
    pub fn with_room(lines: usize, packets: usize) -> Lines {
        Lines { places: Vec::with_capacity(packets), ..Lines::new(lines) }
    }

    /// What `lines` lines with up to `packets` packets in all take besides the packets, in bytes.
    pub const fn bytes(lines: u64, packets: u64) -> u64 {
        let place = core::mem::size_of::<LineNode>() - core::mem::size_of::<Packet>();
        lines * core::mem::size_of::<LineEnds>() as u64 + packets * place as u64
    }

    /// How many lines.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there is no line at all.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// How many packets have ever waited at once: the size of the pool.
    pub fn places(&self) -> usize {
        self.places.len()
    }

    /// What waits in `line`.
    #[inline]
    pub fn backlog(&self, line: usize) -> Backlog {
        self.lines[line].backlog
    }

    /// `pkt` joins the tail of `line`. Returns its place, which is its own until it leaves.
    ///
    /// # Panics
    /// When there is no such line, or 2^32 − 1 packets wait already.
    #[inline]
    pub fn push(&mut self, line: usize, pkt: Packet) -> u32 {
        let place = self.place_for(pkt);
        let ends = &mut self.lines[line];
        match ends.backlog.packets {
            0 => ends.head = place,
            _ => {
                self.places[ends.tail as usize].next = place;
                self.places[place as usize].previous = ends.tail;
            }
        }
        ends.tail = place;
        ends.backlog.add(pkt.len);
        place
    }

    /// The packet at `place`, where one waits.
    #[inline]
    pub fn packet(&self, place: u32) -> &Packet {
        &self.places[place as usize].pkt
    }

    /// The same, for an owner that keeps notes in its tag. Its length must stay what it is.
    #[inline]
    pub fn packet_mut(&mut self, place: u32) -> &mut Packet {
        &mut self.places[place as usize].pkt
    }

    /// The head of `line`.
    #[inline]
    pub fn head(&self, line: usize) -> Option<&Packet> {
        let ends = &self.lines[line];
        (ends.backlog.packets > 0).then(|| &self.places[ends.head as usize].pkt)
    }

    /// The places of those that wait in `line`, from the head on.
    pub fn places_of(&self, line: usize) -> impl Iterator<Item = u32> {
        let LineEnds { head, backlog, .. } = &self.lines[line];
        let mut place = *head;
        (0..backlog.packets).map(move |_| {
            let next = self.places[place as usize].next;
            core::mem::replace(&mut place, next)
        })
    }

    /// The head of `line` leaves.
    #[inline]
    pub fn pop(&mut self, line: usize) -> Option<Packet> {
        let ends = &mut self.lines[line];
        if ends.backlog.packets == 0 {
            return None;
        }
        let at = ends.head;
        let place = &mut self.places[at as usize];
        ends.backlog.remove(place.pkt.len);
        ends.head = place.next;
        place.next = self.free;
        self.free = at;
        Some(place.pkt)
    }

    /// The tail of `line` leaves.
    #[inline]
    pub fn pop_tail(&mut self, line: usize) -> Option<Packet> {
        let LineEnds { tail, ref backlog, .. } = self.lines[line];
        (backlog.packets > 0).then(|| self.remove(line, tail))
    }

    /// The packet at `place`, where one waits in `line`, leaves from wherever in the line it is.
    #[inline]
    pub fn remove(&mut self, line: usize, place: u32) -> Packet {
        let LineNode { pkt, next, previous } = self.places[place as usize];
        let ends = &mut self.lines[line];
        ends.backlog.remove(pkt.len);
        match (ends.head == place, ends.tail == place) {
            (true, _) => ends.head = next,
            (false, true) => ends.tail = previous,
            (false, false) => {
                self.places[previous as usize].next = next;
                self.places[next as usize].previous = previous;
            }
        }
        self.places[place as usize].next = self.free;
        self.free = place;
        pkt
    }

    /// A place with `pkt` in it.
    #[inline]
    fn place_for(&mut self, pkt: Packet) -> u32 {
        if self.free == NONE {
            let at = self.places.len();
            assert!(at < NONE as usize, "too many packets wait");
            self.places.push(LineNode { pkt, next: NONE, previous: NONE });
            return at as u32;
        }
        let at = self.free;
        let place = &mut self.places[at as usize];
        self.free = place.next;
        *place = LineNode { pkt, next: NONE, previous: NONE };
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use alloc::collections::VecDeque;

    /// Against one deque per line, packets leaving from the head, the tail or the middle; the pool
    /// is never larger than what has waited at once.
    #[test]
    fn lines_are_lines() {
        let mut dice = Rng::from_seed(5);
        let (mut lines, mut naive) = (Lines::new(7), vec![VecDeque::<(u32, Packet)>::new(); 7]);
        let (mut held, mut most) = (0, 0);
        for n in 0..100_000_u64 {
            let line = dice.below(7) as usize;
            // Fuller and emptier in turn.
            if dice.chance(if n / 1000 % 2 == 0 { 0.6 } else { 0.4 }) {
                let pkt = Packet::new(n, dice.below(1500) as u32);
                naive[line].push_back((lines.push(line, pkt), pkt));
                held += 1;
                most = most.max(held);
            } else {
                assert_eq!(lines.head(line), naive[line].front().map(|(_, pkt)| pkt));
                let (ours, theirs) = match dice.below(3) {
                    0 => (lines.pop(line), naive[line].pop_front()),
                    1 => (lines.pop_tail(line), naive[line].pop_back()),
                    _ => {
                        let at = dice.below(naive[line].len().max(1) as u64) as usize;
                        let theirs = naive[line].remove(at);
                        (theirs.map(|(place, _)| lines.remove(line, place)), theirs)
                    }
                };
                assert_eq!(ours, theirs.map(|(_, pkt)| pkt));
                held -= theirs.is_some() as usize;
            }
            assert!(naive[line].iter().all(|(place, pkt)| lines.packet(*place) == pkt));
            let bytes = naive[line].iter().map(|(_, pkt)| pkt.len as u64).sum();
            assert_eq!(lines.backlog(line), Backlog { packets: naive[line].len() as u32, bytes });
        }
        assert_eq!(lines.places(), most);
    }
}
