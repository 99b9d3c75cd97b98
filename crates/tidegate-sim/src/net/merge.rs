//! A merge point: a link that several streams from one port enter. Entering it needs no event.
//!
//! A stream leaves the port over links that are fed in order. Its arrivals are known ahead by the
//! delay of those links. The order in which the streams enter the merge point is known ahead by
//! the shortest such delay: packets still in the port come later. In a dumbbell, acknowledgements
//! meet here.
//!
//! Streams of equal delay form one *branch*. Their packets are in order up to a few transmission
//! times. A packet finds its place from the tail in a step or two, for any number of flows.
//!
//! This assumes that an acknowledgement is no longer than the packet it answers. If it is longer,
//! more of them wait on the way back, and finding the place takes longer.
use crate::event::queue::{NEVER, NONE};
use crate::net::flight::Flight;
use crate::net::line::FlightLine;
use crate::net::merge_point::MergePoint;

/// The packets that will enter one merge point.
#[derive(Clone, Debug)]
pub(crate) struct Merge {
    /// The link.
    pub link: u32,
    branches: Vec<FlightLine>,
    /// The delay of the shortest branch.
    lookahead: u64,
    /// When the first packet enters, `NEVER` for never.
    pub next: u64,
}

impl Merge {
    /// With nothing to enter yet.
    pub fn new(merge_point: &MergePoint) -> Merge {
        let branches = vec![FlightLine::new(NONE, NONE); merge_point.lengths.len()];
        let lookahead = merge_point.lengths.iter().copied().min().unwrap_or(NEVER);
        Merge { link: merge_point.link, branches, lookahead, next: NEVER }
    }

    /// Adds `flight` to its branch, in the order that `earlier` gives.
    #[inline(always)]
    pub fn join(
        &mut self,
        branch: usize,
        flight: Flight,
        earlier: impl Fn(&Flight, &Flight) -> bool,
    ) {
        self.branches[branch].insert(flight, earlier);
        self.next = self.next.min(flight.time);
    }

    /// The head of each branch, with the branch's number.
    #[inline(always)]
    fn heads(&self) -> impl Iterator<Item = (usize, &Flight)> {
        self.branches.iter().enumerate().filter_map(|(i, branch)| Some((i, branch.head()?)))
    }

    /// The time before which all entries are known, given all departures before `departed`.
    #[inline]
    pub fn known(&self, departed: u64) -> u64 {
        departed.saturating_add(self.lookahead)
    }

    /// Removes the first packet to enter, if it enters before `end`.
    #[inline(always)]
    pub fn pop(&mut self, end: u64, earlier: impl Fn(&Flight, &Flight) -> bool) -> Option<Flight> {
        let first =
            self.heads().reduce(|first, next| if earlier(next.1, first.1) { next } else { first });
        let (branch, time) = first.map_or((0, NEVER), |(branch, head)| (branch, head.time));
        if time < end {
            return self.branches[branch].pop(NEVER);
        }
        self.next = time;
        None
    }
}
