//! Acknowledgements that a newer one makes superfluous (tc-cake(8), `ack-filter`; the rules are
//! those of Linux's `cake`).
//!
//! ```
//! use tidegate::{Ack, parts::ack_filter::{AckFilter, WaitingAcks}};
//! let mut acks = WaitingAcks::new(AckFilter::Filter);
//! for place in 0..3 {
//!     acks.came(place, Some(&Ack::new(0xc0, 1_000 * (place + 1))));
//! }
//! // Two wait, and a third comes: the oldest says nothing that the others do not say.
//! assert_eq!(acks.superfluous([0, 1].into_iter(), &Ack::new(0xc0, 3_000)), Some(0));
//! assert_eq!(acks.superfluous([1].into_iter(), &Ack::new(0xc0, 3_000)), None);
//! ```
use alloc::vec::Vec;

use crate::ack::Ack;
use crate::choices;

choices! {
    /// Whether acknowledgements go that a newer one makes superfluous.
    pub enum AckFilter {
        /// None does.
        No = "no",
        /// All but two of a connection's.
        Filter = "filter",
        /// All but one.
        Aggressive = "aggressive",
    }
}

/// What waiting packets acknowledge, by their places.
#[derive(Clone, Debug)]
pub struct WaitingAcks {
    mode: AckFilter,
    known: Vec<Option<Ack>>,
}

/// Whether `a` comes after `b`, modulo 2^32.
const fn is_after(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a) as i32) < 0
}

/// Whether nothing is lost if `older` goes, since `newer` is behind it.
pub fn covers(newer: &Ack, older: &Ack) -> bool {
    let stamps = match (older.stamps(), newer.stamps()) {
        (None, _) => true,
        (Some(old), Some(new)) => !is_after(old[0], new[0]) && !is_after(old[1], new[1]),
        (Some(_), None) => false,
    };
    older.is_pure()
        && stamps
        && !is_after(older.number(), newer.number())
        && covers_blocks(newer, older)
}

/// Whether each block of `older` lies in one of `newer`, and there is news beside it: a repeated
/// acknowledgement tells of a segment. A block of what came twice (RFC 2883) is news of its own.
fn covers_blocks(newer: &Ack, older: &Ack) -> bool {
    let covered = older.blocks().iter().all(|&[from, to]| {
        !is_after(older.number(), from)
            && newer.blocks().iter().any(|&[a, b]| !is_after(a, from) && !is_after(to, b))
    });
    let bytes = |ack: &Ack| -> u64 {
        ack.blocks().iter().map(|&[from, to]| u64::from(to.wrapping_sub(from))).sum()
    };
    covered && (newer.number() != older.number() || bytes(newer) > bytes(older))
}

impl WaitingAcks {
    /// Nothing waits yet.
    pub fn new(mode: AckFilter) -> WaitingAcks {
        WaitingAcks { mode, known: Vec::new() }
    }

    /// What `packets` waiting packets take, in bytes.
    pub fn bytes(mode: AckFilter, packets: u64) -> u64 {
        if mode == AckFilter::No { 0 } else { packets * size_of::<Option<Ack>>() as u64 }
    }

    /// Whether some may go.
    #[inline]
    pub fn are_filtered(&self) -> bool {
        self.mode != AckFilter::No
    }

    /// A packet waits at `place` from now on, with what it acknowledges, if anything.
    #[inline]
    pub fn came(&mut self, place: u32, ack: Option<&Ack>) {
        let place = place as usize;
        if self.known.len() <= place {
            self.known.resize(place + 1, None);
        }
        self.known[place] = ack.copied();
    }

    /// Which of those that wait at `places`, in this order, may go now that `newest` has come
    /// behind them. It is the first of two that may; or with `aggressive` the last packet before
    /// it. Between two whose ECN flags differ the older stays: the change is news.
    pub fn superfluous(&self, places: impl Iterator<Item = u32>, newest: &Ack) -> Option<u32> {
        let (mut found, mut last) = (None, None);
        for place in places {
            last = Some(place);
            let known = self.known[place as usize].as_ref();
            let Some(ack) = known.filter(|ack| ack.connection() == newest.connection()) else {
                continue;
            };
            found = found.filter(|&(_, echo)| echo == ack.echo());
            if covers(newest, ack) {
                match found {
                    Some((first, _)) => return Some(first),
                    None => found = Some((place, ack.echo())),
                }
            }
        }
        let (place, echo) = found?;
        let may = self.mode == AckFilter::Aggressive && last == Some(place);
        (may && echo == newest.echo()).then_some(place)
    }
}
