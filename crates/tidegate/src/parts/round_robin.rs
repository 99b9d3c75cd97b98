//! Lines that take turns over one buffer. Those with packets stand in a circle. When the buffer is
//! full one of the longest line's packets goes, not the one that happened to arrive.
//!
//! ```
//! use tidegate::parts::{longest::By, round_robin::{Overflow, RoundRobin}};
//! use tidegate::{Link, NullSink, Packet, Time};
//! let link = Link::new("10 Mbit/s".parse()?, "4 packets".parse()?, "1000 B".parse()?)?;
//! let mut robin = RoundRobin::new(1024, By::Bytes, Overflow::LongestTail, link);
//! for flow in [7, 7, 7, 7, 20] {
//!     robin.enqueue(Time::ZERO, flow as usize, Packet::new(flow, 1000), &mut NullSink);
//! }
//! let flows = [(); 4].map(|()| robin.next().unwrap().flow); // the last of flow 7 made room
//! assert_eq!(flows, [7, 20, 7, 7]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
use crate::choices;
use crate::packet::Packet;
use crate::parts::host_shares::HostShares;
use crate::parts::longest::{By, Longest};
use crate::parts::turns::Turns;
use crate::qdisc::{Backlog, DropReason, Link, Sink};
use crate::units::Time;

choices! {
    /// Who goes when there is no room: the parameter `overflow`.
    pub enum Overflow {
        /// The head of the longest line.
        LongestHead = "longest_head",
        /// The tail of the longest line.
        LongestTail = "longest_tail",
        /// The packet that arrives.
        Arrival = "arrival",
    }
}

choices! {
    /// Which of equally long lines is the longest: the parameter `ties`.
    pub enum Ties {
        /// The first by number, at once.
        Number = "number",
        /// The first in turn, found by a walk along those whose turn comes before.
        Turn = "turn",
    }
}

/// Lines that take turns.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    held: Longest,
    turns: Turns,
    hosts: HostShares,
    overflow: Overflow,
    ties: Ties,
    link: Link,
}

impl RoundRobin {
    /// `lines` empty lines, numbered from 0, for `link`. Of equally long ones the first by number
    /// is the longest.
    pub fn new(lines: usize, by: By, overflow: Overflow, link: Link) -> RoundRobin {
        let (held, turns) = (Longest::new(lines, by), Turns::new(lines));
        let hosts = HostShares::none();
        RoundRobin { held, turns, hosts, overflow, ties: Ties::Number, link }
    }

    /// The same with lines whose `hosts` divide shares. A line counts while it has packets.
    pub fn with_hosts(self, hosts: HostShares) -> RoundRobin {
        RoundRobin { hosts, ..self }
    }

    /// The same with another way to choose from equally long ones.
    pub fn with_ties(self, ties: Ties) -> RoundRobin {
        RoundRobin { ties, ..self }
    }

    /// What `lines` lines with as many packets as `link` can hold, and one, take besides the
    /// packets, in bytes.
    pub fn bytes(lines: u64, link: &Link) -> u64 {
        Longest::bytes(lines, link.most_packets() + 1) + Turns::bytes(lines)
    }

    /// The packets.
    #[inline]
    pub fn held(&self) -> &Longest {
        &self.held
    }

    /// Which lines have packets, in the order of turns.
    #[inline]
    pub fn turns(&self) -> &Turns {
        &self.turns
    }

    /// Whose lines they are.
    #[inline]
    pub fn hosts(&self) -> &HostShares {
        &self.hosts
    }

    /// What waits in `line`.
    #[inline]
    pub fn of(&self, line: usize) -> Backlog {
        self.held.of(line)
    }

    /// `pkt` joins the tail of `line`, whether there is room or not.
    #[inline]
    pub fn push(&mut self, line: usize, pkt: Packet) {
        if self.held.of(line).packets == 0 {
            self.turns.join(line);
            self.hosts.begin(line, &pkt);
            self.hosts.count(line);
        }
        self.held.push(line, pkt);
    }

    /// `pkt` joins the tail of `line`, and where there is no room somebody goes. A packet that
    /// would not fit an empty buffer is refused; everything else would go for it in vain.
    #[inline]
    pub fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, line: usize, pkt: Packet, out: &mut S) {
        let before =
            if self.overflow == Overflow::Arrival { self.held.all() } else { Backlog::default() };
        if !self.link.has_room(before, pkt.len) {
            return out.dropped(now, &pkt, DropReason::Overlimit);
        }
        self.push(line, pkt);
        while self.held.is_over(&self.link) {
            self.steal(now, line, out);
        }
    }

    /// A packet of the longest line goes. `arrival` is the line that has grown; where no packet has
    /// any length it is taken for the longest.
    fn steal<S: Sink + ?Sized>(&mut self, now: Time, arrival: usize, out: &mut S) {
        let line = match self.held.longest() {
            (line, most) if most > 0 && self.ties == Ties::Turn => {
                self.turns.iter().find(|&line| self.held.length(line) == most).unwrap_or(line)
            }
            _ => self.held.longest_or(arrival),
        };
        let tail = self.overflow == Overflow::LongestTail;
        if let Some((victim, why)) = self.held.evict(line, arrival, tail) {
            if self.held.of(line).packets == 0 {
                self.leave(line);
            }
            out.dropped(now, &victim, why);
        }
    }

    /// All that waits, in the order in which it would leave by [`next`](RoundRobin::next), is put
    /// into the lines that `line_of` says.
    pub fn deal_anew(&mut self, line_of: impl Fn(&Packet) -> usize) {
        while let Some(pkt) = self.next() {
            self.held.put_aside(pkt);
        }
        while let Some(pkt) = self.held.take_back() {
            self.push(line_of(&pkt), pkt);
        }
    }

    /// The head of the line whose turn it is leaves; a line that has no more packets steps out.
    #[inline]
    pub fn send(&mut self) -> Option<Packet> {
        let line = self.turns.first()?;
        let pkt = self.held.pop(line)?;
        if self.held.of(line).packets == 0 {
            self.leave(line);
        }
        Some(pkt)
    }

    /// `line` has no more packets.
    #[inline]
    fn leave(&mut self, line: usize) {
        self.turns.leave(line);
        self.hosts.end(line);
    }

    /// The line whose turn it is goes behind all others.
    #[inline]
    pub fn pass(&mut self) {
        self.turns.pass();
    }

    /// A packet of the line whose turn it is, and then it is the next one's. Where hosts divide
    /// shares, a line is passed over until it has stood first as often as its host has lines.
    #[inline]
    #[allow(clippy::should_implement_trait, reason = "not an iterator: packets come in between")]
    pub fn next(&mut self) -> Option<Packet> {
        self.hosts.pass_to(&mut self.turns);
        let line = self.turns.first()?;
        let pkt = self.send()?;
        if self.turns.first() == Some(line) {
            self.pass();
        }
        Some(pkt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines, turns, and places for what the link holds and for what arrives.
    #[test]
    fn stated_to_the_byte() {
        let (rate, mean) = ("10 Mbit/s".parse().unwrap(), "1000 B".parse().unwrap());
        let link = Link::new(rate, "100 packets".parse().unwrap(), mean).unwrap();
        assert_eq!(RoundRobin::bytes(7, &link), Longest::bytes(7, 101) + Turns::bytes(7));
    }
}
