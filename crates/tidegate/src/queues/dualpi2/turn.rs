//! Which queue sends while both wait (deschepper2023 §4.2.2 leaves the scheduler open).
use super::{C, DualPi2Config, L, Scheduler};
use crate::parts::lines::Lines;
use crate::qdisc::Link;
use crate::queues::codel::auto_mtu;
use crate::units::{Span, Time};

/// The whole of the link in shares.
const WHOLE: i64 = 1 << 16;

/// Whose turn it is while both wait.
#[derive(Clone, Debug)]
pub(super) enum Turn {
    /// The L queue's while it has credit, which begins with `fresh`: `share` of [`WHOLE`] of what
    /// it sends is taken from that, the rest of what the C queue sends is added.
    Weighted { share: i64, fresh: i64, credit: i64 },
    /// His who waited longest, the L queue so much longer.
    Shifted(Span),
}

impl Turn {
    pub fn new(config: &DualPi2Config, link: &Link) -> Turn {
        match config.scheduler {
            Scheduler::Shifted => Turn::Shifted(config.tshift),
            Scheduler::Wrr => {
                let share = (config.classic_protection.get() * WHOLE as f64) as i64;
                // As if a packet of the C queue had just been sent.
                let fresh = (WHOLE - share) * auto_mtu(link).get() as i64;
                Turn::Weighted { share, fresh, credit: fresh }
            }
        }
    }

    /// The line whose head is to be sent, and whether both wait.
    #[inline]
    pub fn next(&self, now: Time, lines: &Lines) -> Option<(usize, bool)> {
        let (low, classic) = match (lines.head(L), lines.head(C)) {
            (Some(low), Some(classic)) => (low, classic),
            (Some(_), None) => return Some((L, false)),
            (None, Some(_)) => return Some((C, false)),
            (None, None) => return None,
        };
        let low_first = match self {
            Turn::Weighted { credit, .. } => *credit > 0,
            Turn::Shifted(shift) => now.since(low.arrived) + *shift >= now.since(classic.arrived),
        };
        Some((if low_first { L } else { C }, true))
    }

    /// `len` bytes of `line` are sent while both wait; what is dropped counts for nothing.
    #[inline]
    pub fn sent(&mut self, line: usize, len: u32) {
        if let Turn::Weighted { share, credit, .. } = self {
            match line {
                L => *credit -= *share * len as i64,
                _ => *credit += (WHOLE - *share) * len as i64,
            }
        }
    }

    /// Both were empty: neither is owed anything.
    #[inline]
    pub fn begin_anew(&mut self) {
        if let Turn::Weighted { fresh, credit, .. } = self {
            *credit = *fresh;
        }
    }
}
