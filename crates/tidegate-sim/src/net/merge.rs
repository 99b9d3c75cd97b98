//! A link that several streams enter, all of which come out of one port: what enters it needs no
//! event either.
//!
//! A stream that comes out of a port over links that are fed in order is known as far ahead as they
//! are long. So the order in which such streams enter a link is known as far ahead as the shortest
//! of them: whatever has yet to leave the port comes later. In a dumbbell this is where the
//! acknowledgements meet. Streams of one length are one *branch*: what they bring is in order but
//! for the differences of a few transmission times, so that a packet finds its place from the tail
//! in a step or two, whatever the number of flows. (An acknowledgement is taken to be no longer
//! than what it answers; if it is, more of them wait on the way back, and finding the place takes
//! longer.)
use crate::net::flight::Flight;
use crate::net::line::Line;
use crate::net::merge_point::MergePoint;

/// What is to enter one such link.
#[derive(Clone, Debug)]
pub(crate) struct Merge {
    /// The link.
    pub link: u32,
    branches: Vec<Line>,
    /// How long the shortest branch is.
    lookahead: u64,
    /// When the first enters, `u64::MAX` for never.
    pub next: u64,
}

impl Merge {
    /// With nothing to enter yet.
    pub fn new(merge_point: &MergePoint) -> Merge {
        let branches = vec![Line::new(u32::MAX, u32::MAX); merge_point.lengths.len()];
        let lookahead = merge_point.lengths.iter().copied().min().unwrap_or(u64::MAX);
        Merge { link: merge_point.link, branches, lookahead, next: u64::MAX }
    }

    /// `flight` will enter, in the place that `earlier` gives it.
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

    /// The first of each branch, with its number.
    #[inline(always)]
    fn heads(&self) -> impl Iterator<Item = (usize, &Flight)> {
        self.branches.iter().enumerate().filter_map(|(i, branch)| Some((i, branch.head()?)))
    }

    /// Until when it is known what enters, if what has departed by `departed` is all here: what
    /// departs then may enter then.
    #[inline]
    pub fn known(&self, departed: u64) -> u64 {
        departed.saturating_add(self.lookahead)
    }

    /// The first that is to enter, if that is before `end`.
    #[inline(always)]
    pub fn pop(&mut self, end: u64, earlier: impl Fn(&Flight, &Flight) -> bool) -> Option<Flight> {
        let first =
            self.heads().reduce(|first, next| if earlier(next.1, first.1) { next } else { first });
        let (branch, time) = first.map_or((0, u64::MAX), |(branch, head)| (branch, head.time));
        if time < end {
            return self.branches[branch].pop(u64::MAX);
        }
        self.next = time;
        None
    }
}
