//! A link that several streams enter, all of which come out of one port: what enters it needs no event either.
//!
//! A stream that comes out of a port over links that are fed in order is known as far ahead as they are long. So the order in which
//! such streams enter a link is known as far ahead as the shortest of them: whatever has yet to leave the port comes later. In a
//! dumbbell this is where the acknowledgements meet. Streams of one length are one *strand*: what they bring is in order but for the
//! differences of a few transmission times, so that a packet finds its place from the tail in a step or two, whatever the number of flows.
use crate::flight::Flight;
use crate::line::Line;
use crate::routes::Joint;

/// Most strands of a confluence: who is first of them is found by looking at all.
pub(crate) const STRANDS: usize = 8;

/// What is to enter one such link.
#[derive(Clone, Debug)]
pub(crate) struct Confluence {
    /// The link.
    pub link: u32,
    strands: Vec<Line>,
}

impl Confluence {
    /// With nothing to enter yet.
    pub fn new(joint: &Joint) -> Confluence {
        Confluence { link: joint.link, strands: vec![Line::new(u32::MAX, u32::MAX); joint.lengths.len()] }
    }

    /// `flight` will enter, in the place that `earlier` gives it.
    #[inline(always)]
    pub fn join(&mut self, strand: usize, flight: Flight, earlier: impl Fn(&Flight, &Flight) -> bool) {
        self.strands[strand].insert(flight, earlier);
    }

    /// The first of each strand, with its number.
    #[inline(always)]
    fn heads(&self) -> impl Iterator<Item = (usize, &Flight)> {
        self.strands.iter().enumerate().filter_map(|(i, strand)| Some((i, strand.head()?)))
    }

    /// The first that is to enter, if that is before `end`.
    #[inline(always)]
    pub fn pop(&mut self, end: u64, earlier: impl Fn(&Flight, &Flight) -> bool) -> Option<Flight> {
        let (strand, head) = self.heads().reduce(|first, next| if earlier(next.1, first.1) { next } else { first })?;
        if head.time >= end {
            return None;
        }
        self.strands[strand].pop(u64::MAX)
    }

    /// When the first enters, `u64::MAX` for never.
    #[inline]
    pub fn next(&self) -> u64 {
        self.heads().map(|(_, head)| head.time).min().unwrap_or(u64::MAX)
    }
}
