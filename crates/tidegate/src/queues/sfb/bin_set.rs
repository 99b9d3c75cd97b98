//! The bins of one hash function, or of two while it changes.
use super::*;
use crate::parts::bins::{BinIndex, Bins};
use crate::units::{Span, Time};
use alloc::vec;
use alloc::vec::Vec;

/// One account: what waits in the queue of the flows that share it, and how they are marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// Waiting packets.
    pub(super) qlen: u32,
    /// Marking probability in billionths.
    pub(super) p_m: u32,
}

impl Bin {
    /// Waiting packets that are counted here.
    pub fn qlen(&self) -> u32 {
        self.qlen
    }

    /// p_m: exactly 1 when unresponsive.
    pub fn p_m(&self) -> f64 {
        self.p_m as f64 / ONE as f64
    }
}

/// Bins, and from when on the p_m of each may change; the latter only where p_m is held.
#[derive(Clone, Debug)]
pub(super) struct BinSet {
    pub(super) bins: Bins<Bin>,
    pub(super) open: Vec<Time>,
}

impl BinSet {
    pub(super) fn new(levels: u32, bins: u32, hold: Span) -> BinSet {
        let held = if hold > Span::ZERO { levels as usize * bins as usize } else { 0 };
        BinSet { bins: Bins::new(levels as usize, bins), open: vec![Time::ZERO; held] }
    }

    pub(super) fn clear(&mut self) {
        self.bins.clear();
        self.open.fill(Time::ZERO);
    }

    /// Whether p_m at `place` may change now; then not again for the time of holding.
    #[inline]
    pub(super) fn may_change(&mut self, place: BinIndex, now: Time, hold: Span) -> bool {
        let Some(open) = self.open.get_mut(place.index()) else { return true };
        let free = now >= *open;
        if free {
            *open = now + hold;
        }
        free
    }

    #[inline]
    pub(super) fn raise(&mut self, place: BinIndex, now: Time, hold: Span, step: u32, most: u32) {
        if self.may_change(place, now, hold) {
            let p_m = &mut self.bins[place].p_m;
            *p_m = (*p_m + step).min(most);
        }
    }

    #[inline]
    pub(super) fn lower(&mut self, place: BinIndex, now: Time, hold: Span, step: u32) {
        if self.may_change(place, now, hold) {
            let p_m = &mut self.bins[place].p_m;
            *p_m = p_m.saturating_sub(step);
        }
    }
}
