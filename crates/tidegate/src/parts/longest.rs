//! Packets in many lines over one buffer. The longest line is known at all times: to make room by
//! taking from it (buffer stealing, mckenney1990).
//!
//! ```
//! use tidegate::{Packet, parts::longest::{By, Longest}};
//! let mut held = Longest::new(1024, By::Bytes);
//! held.push(7, Packet::new(1, 1000));
//! held.push(9, Packet::new(2, 400));
//! held.push(9, Packet::new(3, 400));
//! assert_eq!((held.longest(), held.all().packets), ((7, 1000), 3));
//! assert_eq!(held.pop_tail(9).unwrap().flow, 3);
//! ```
use crate::choices;
use crate::packet::Packet;
use crate::parts::heaviest::Heaviest;
use crate::parts::lines::Lines;
use crate::qdisc::{Backlog, DropReason, Link};

choices! {
    /// Which of many lines is the longest: the parameter `longest` of queues that make room by
    /// taking from it.
    pub enum By {
        /// The one with the most bytes.
        Bytes = "bytes",
        /// The one with the most packets.
        Packets = "packets",
    }
}

/// Many lines, what waits in all of them, and which is the longest.
#[derive(Clone, Debug)]
pub struct Longest {
    /// One more than are asked for, for those who are put aside.
    lines: Lines,
    longest: Heaviest,
    backlog: Backlog,
    by: By,
}

impl Longest {
    /// `lines` empty lines, numbered from 0.
    pub fn new(lines: usize, by: By) -> Longest {
        Longest {
            lines: Lines::new(lines + 1),
            longest: Heaviest::new(lines),
            backlog: Backlog::default(),
            by,
        }
    }

    /// What `lines` lines with up to `packets` packets in all take besides the packets, in bytes.
    pub const fn bytes(lines: u64, packets: u64) -> u64 {
        Lines::bytes(lines + 1, packets) + Heaviest::bytes(lines)
    }

    /// What waits, all together.
    #[inline]
    pub fn all(&self) -> Backlog {
        self.backlog
    }

    /// What waits in `line`.
    ///
    /// # Panics
    /// When there is no such line.
    #[inline]
    pub fn of(&self, line: usize) -> Backlog {
        self.lines.backlog(line)
    }

    /// How many packets there are places for: as many as ever waited at once.
    pub fn places(&self) -> usize {
        self.lines.places()
    }

    /// The longest line, the first of equals, and its length, in bytes or packets.
    #[inline]
    pub fn longest(&self) -> (usize, u64) {
        self.longest.get()
    }

    /// Whether more waits than the limit of `link` allows.
    #[inline]
    pub fn is_over(&self, link: &Link) -> bool {
        link.is_exceeded_by(self.backlog)
    }

    /// How long `line` is, in bytes or packets.
    #[inline]
    pub fn length(&self, line: usize) -> u64 {
        let Backlog { packets, bytes } = self.lines.backlog(line);
        if self.by == By::Bytes { bytes } else { packets as u64 }
    }

    #[inline]
    fn weigh(&mut self, line: usize) {
        self.longest.set(line, self.length(line));
    }

    /// The head of `line`.
    #[inline]
    pub fn head(&self, line: usize) -> Option<&Packet> {
        self.lines.head(line)
    }

    /// `pkt` joins the tail of `line`. Returns its place, which is its own until it leaves.
    #[inline]
    pub fn push(&mut self, line: usize, pkt: Packet) -> u32 {
        self.backlog.add(pkt.len);
        let place = self.lines.push(line, pkt);
        self.weigh(line);
        place
    }

    /// The places of those that wait in `line`, from the head on.
    pub fn places_of(&self, line: usize) -> impl Iterator<Item = u32> {
        self.lines.places_of(line)
    }

    /// The packet at `place`, where one waits in `line`, leaves.
    #[inline]
    pub fn remove(&mut self, line: usize, place: u32) -> Packet {
        let pkt = self.lines.remove(line, place);
        self.backlog.remove(pkt.len);
        self.weigh(line);
        pkt
    }

    /// The head of `line` leaves.
    #[inline]
    pub fn pop(&mut self, line: usize) -> Option<Packet> {
        let pkt = self.lines.pop(line)?;
        self.backlog.remove(pkt.len);
        self.weigh(line);
        Some(pkt)
    }

    /// The tail of `line` leaves.
    #[inline]
    pub fn pop_tail(&mut self, line: usize) -> Option<Packet> {
        let pkt = self.lines.pop_tail(line)?;
        self.backlog.remove(pkt.len);
        self.weigh(line);
        Some(pkt)
    }

    /// The longest line to take from; the `arrival`'s where no packet has any length.
    #[inline]
    pub fn longest_or(&self, arrival: usize) -> usize {
        match self.longest() {
            (_, 0) => arrival,
            (line, _) => line,
        }
    }

    /// A packet leaves `line` to make room, its head or its `tail`. The reason says whether it was
    /// itself the arrival, which stands at the tail of the line `arrival`.
    #[inline]
    pub fn evict(
        &mut self,
        line: usize,
        arrival: usize,
        tail: bool,
    ) -> Option<(Packet, DropReason)> {
        let victim = if tail { self.pop_tail(line) } else { self.pop(line) }?;
        let itself = line == arrival && (tail || self.of(line).packets == 0);
        Some((victim, if itself { DropReason::Overlimit } else { DropReason::Evicted }))
    }

    /// `pkt`, which waits in no line, is put aside: it is neither counted nor weighed.
    #[inline]
    pub fn put_aside(&mut self, pkt: Packet) {
        self.lines.push(self.lines.len() - 1, pkt);
    }

    /// Who was put aside first comes back.
    #[inline]
    pub fn take_back(&mut self) -> Option<Packet> {
        self.lines.pop(self.lines.len() - 1)
    }
}
