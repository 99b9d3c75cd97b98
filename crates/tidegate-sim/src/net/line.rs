//! The packets on a link that need an event at its far end, in order of arrival. A branch of a
//! merge point uses the same structure, but has no slot of its own.
use crate::event::prefetch::fetch;
use crate::event::queue::{EventQueue, NEVER, NONE};
use crate::net::flight::Flight;

/// The distance of the prefetch from the head.
const AHEAD: usize = 8;

/// A FIFO in a ring buffer whose length is a power of two. It grows and never shrinks.
#[derive(Clone, Debug)]
pub(crate) struct FlightLine {
    ring: Box<[Flight]>,
    head: u32,
    len: u32,
    /// The link's slot in the [`EventQueue`].
    pub slot: u32,
    /// The port that all packets of this line enter, `NONE` if they go to several places. No
    /// processor can predict whether such a line is next. The engine therefore tests for it late,
    /// after the work that all cases share.
    pub sink_port: u32,
    /// The flow whose sender is the sole user of this link, `NONE` for none.
    pub owner: u32,
    /// When that sender's next packet comes out, `NEVER` for never. The time may be too early,
    /// never too late.
    pub pending: u64,
    /// The time that the event queue has for this line.
    known: u64,
}

impl FlightLine {
    /// An empty line, which allocates nothing yet.
    pub fn new(slot: u32, sink_port: u32) -> FlightLine {
        FlightLine {
            ring: Box::default(),
            head: 0,
            len: 0,
            slot,
            sink_port,
            owner: NONE,
            pending: NEVER,
            known: NEVER,
        }
    }

    /// Appends at the tail. Returns whether the line was empty.
    #[inline]
    pub fn push(&mut self, flight: Flight) -> bool {
        if self.len as usize == self.ring.len() {
            self.grow();
        }
        let mask = self.ring.len() - 1;
        self.ring[(self.head + self.len) as usize & mask] = flight;
        self.len += 1;
        self.len == 1
    }

    /// Inserts before every packet that `flight` is `earlier` than, searching from the tail.
    #[inline(always)]
    pub fn insert(&mut self, flight: Flight, earlier: impl Fn(&Flight, &Flight) -> bool) {
        self.push(flight);
        let mask = self.ring.len() - 1;
        let mut at = self.head as usize + self.len as usize - 1;
        while at > self.head as usize && earlier(&flight, &self.ring[(at - 1) & mask]) {
            self.ring[at & mask] = self.ring[(at - 1) & mask];
            at -= 1;
            self.ring[at & mask] = flight;
        }
    }

    /// Prefetches packets a few places behind the head. In a long line they have left the cache
    /// since they entered.
    #[inline]
    pub fn fetch(&self) {
        let mask = self.ring.len().wrapping_sub(1);
        fetch(self.ring.get((self.head as usize + AHEAD) & mask));
    }

    /// When the next packet comes out, pending output included.
    #[inline]
    fn turn(&self) -> u64 {
        self.head().map_or(NEVER, |head| head.time).min(self.pending)
    }

    /// Tells the event queue of its turn, if that has changed.
    #[inline]
    pub fn tell(&mut self, events_due: &mut EventQueue) {
        let turn = self.turn();
        if turn != self.known {
            self.known = turn;
            events_due.set(self.slot, turn);
        }
    }

    /// Removes the head, if its time has come.
    #[inline]
    pub fn pop(&mut self, now: u64) -> Option<Flight> {
        let flight = *self.head()?;
        if flight.time > now {
            return None;
        }
        self.len -= 1;
        // A line that is mostly empty stays where the cache has it. A product in place of a branch
        // that nobody can foretell.
        self.head = ((self.head + 1) & (self.ring.len() - 1) as u32) * (self.len > 0) as u32;
        Some(flight)
    }

    /// The packet `behind` places behind the head.
    #[inline]
    pub fn peek(&self, behind: usize) -> Option<&Flight> {
        if behind < self.len as usize {
            self.ring.get((self.head as usize + behind) & (self.ring.len() - 1))
        } else {
            None
        }
    }

    /// The packet at the head.
    #[inline]
    pub fn head(&self) -> Option<&Flight> {
        if self.len > 0 { self.ring.get(self.head as usize & (self.ring.len() - 1)) } else { None }
    }

    #[cold]
    fn grow(&mut self) {
        let mut wider = vec![Flight::default(); (self.ring.len() * 2).max(16)];
        for (i, slot) in wider.iter_mut().enumerate().take(self.len as usize) {
            *slot = self.ring[(self.head as usize + i) & (self.ring.len() - 1)];
        }
        self.ring = wider.into();
        self.head = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use tidegate::rng::mix;

    #[test]
    fn it_agrees_with_a_deque() {
        let (mut line, mut deque) = (FlightLine::new(0, NONE), VecDeque::new());
        for i in 0..10_000u64 {
            // Waves, so that it grows, wraps and runs empty.
            if mix(i) % 100 < 35 + 30 * (i / 500 % 2) {
                let flight = Flight { time: i + 1, ..Flight::default() };
                assert_eq!(line.push(flight), deque.is_empty());
                deque.push_back(flight);
            } else {
                let head = deque.front().copied();
                line.pending = if i % 7 == 0 { mix(i) % 10_000 } else { NEVER };
                assert_eq!(line.turn(), head.map_or(NEVER, |f: Flight| f.time).min(line.pending));
                assert_eq!(line.pop(head.map_or(i, |f| f.time - 1)), None, "before its time");
                assert_eq!(line.pop(i + 1), head);
                deque.pop_front();
            }
        }
    }

    #[test]
    fn what_joins_from_the_tail_is_in_order() {
        let (mut line, mut sorted) = (FlightLine::new(0, NONE), Vec::new());
        for i in 0..5_000u64 {
            // Of equals the first remains so; half of them leave, so that it wraps.
            let flight = Flight { time: i + mix(i) % 10, flow: i as u32, ..Flight::default() };
            line.insert(flight, |a, b| a.time < b.time);
            sorted.push(flight);
            sorted.sort_by_key(|f| f.time);
            if mix(i).is_multiple_of(2) {
                assert_eq!(line.pop(NEVER), Some(sorted.remove(0)));
            }
        }
        assert!(sorted.len() > 1_000);
        sorted.into_iter().for_each(|flight| assert_eq!(line.pop(NEVER), Some(flight)));
    }
}
