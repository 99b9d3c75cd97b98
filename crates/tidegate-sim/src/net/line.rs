//! The packets on a link that need an event at its far end, in the order in which they come out;
//! also those of one branch of a merge point, which have no turn of their own.
use crate::event::prefetch::fetch;
use crate::event::queue::EventQueue;
use crate::net::flight::Flight;

/// How many places behind the head is asked for.
const AHEAD: usize = 8;

/// A first-in first-out line in a ring whose length is a power of two; it grows and never shrinks.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    ring: Box<[Flight]>,
    head: u32,
    len: u32,
    /// The link's place among the event sources of the [`EventQueue`].
    pub slot: u32,
    /// The port whose queue all that is in line joins, `u32::MAX` if not all do. Nobody can
    /// foretell whether such a line is next, so it is asked for as late as may be: meanwhile
    /// what is the same for all is done.
    pub sink_port: u32,
    /// The flow whose sender is the sole user of its first link on the link, if one is.
    pub owner: u32,
    /// When the first of what that sender has yet to send comes out, `u64::MAX` for never; it may
    /// be early.
    pub pending: u64,
    /// Its turn, as the event queue knows it.
    known: u64,
}

impl Line {
    /// An empty line; it takes no memory yet.
    pub fn new(slot: u32, sink_port: u32) -> Line {
        Line {
            ring: Box::default(),
            head: 0,
            len: 0,
            slot,
            sink_port,
            owner: u32::MAX,
            pending: u64::MAX,
            known: u64::MAX,
        }
    }

    /// Joins the tail. Whether the line was empty.
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

    /// Joins from the tail on, before all that it is `earlier` than.
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

    /// Has those fetched that are a few places behind the head: what entered a long line is no
    /// longer in the cache when it leaves.
    #[inline]
    pub fn fetch(&self) {
        let mask = self.ring.len().wrapping_sub(1);
        fetch(self.ring.get((self.head as usize + AHEAD) & mask));
    }

    /// When the next one comes out, or may be pending.
    #[inline]
    fn turn(&self) -> u64 {
        self.head().map_or(u64::MAX, |head| head.time).min(self.pending)
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

    /// Leaves from the head, if its time has come.
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

    /// The one so many places behind the head.
    #[inline]
    pub fn peek(&self, behind: usize) -> Option<&Flight> {
        if behind < self.len as usize {
            self.ring.get((self.head as usize + behind) & (self.ring.len() - 1))
        } else {
            None
        }
    }

    /// The one at the head.
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
        let (mut line, mut deque) = (Line::new(0, u32::MAX), VecDeque::new());
        for i in 0..10_000u64 {
            // Waves, so that it grows, wraps and runs empty.
            if mix(i) % 100 < 35 + 30 * (i / 500 % 2) {
                let flight = Flight { time: i + 1, ..Flight::default() };
                assert_eq!(line.push(flight), deque.is_empty());
                deque.push_back(flight);
            } else {
                let head = deque.front().copied();
                line.pending = if i % 7 == 0 { mix(i) % 10_000 } else { u64::MAX };
                assert_eq!(
                    line.turn(),
                    head.map_or(u64::MAX, |f: Flight| f.time).min(line.pending)
                );
                assert_eq!(line.pop(head.map_or(i, |f| f.time - 1)), None, "before its time");
                assert_eq!(line.pop(i + 1), head);
                deque.pop_front();
            }
        }
    }

    #[test]
    fn what_joins_from_the_tail_is_in_order() {
        let (mut line, mut sorted) = (Line::new(0, u32::MAX), Vec::new());
        for i in 0..5_000u64 {
            // Of equals the first remains so; half of them leave, so that it wraps.
            let flight = Flight { time: i + mix(i) % 10, flow: i as u32, ..Flight::default() };
            line.insert(flight, |a, b| a.time < b.time);
            sorted.push(flight);
            sorted.sort_by_key(|f| f.time);
            if mix(i).is_multiple_of(2) {
                assert_eq!(line.pop(u64::MAX), Some(sorted.remove(0)));
            }
        }
        assert!(sorted.len() > 1_000);
        sorted.into_iter().for_each(|flight| assert_eq!(line.pop(u64::MAX), Some(flight)));
    }
}
