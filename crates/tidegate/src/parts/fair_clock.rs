//! Which class's packet goes next so that each gets its share of the link by weight: the virtual
//! time of WF²Q+ (bennett1997) and, as an option, of SCFQ (golestani1994).
//!
//! Each class with packets has a start tag S and a finish tag F for its head packet of L bytes: F =
//! S + L / w. S is the finish of the packet before, or the virtual time V if that is later and the
//! class had nothing waiting.
//! - WF²Q+ sends, among the classes that have S ≤ V, the one with the least F. V grows by the bytes
//!   sent over the sum of all weights, and never stays behind the least S. A class is so never
//!   ahead of its share by more than a packet.
//! - SCFQ sends the least F of all, and V is the F of the packet in service. It is cheaper and may
//!   serve a heavy class in a burst.
//!
//! Of equal tags the lowest class wins. Tags are fixed-point numbers, so that nothing drifts over
//! any length of busy period. They are compared to a millionth of a byte, so that a rounding makes
//! no difference. When the link finds nothing to send, tags start from a common point again. Both
//! choose in O(log n).
//!
//! ```
//! use tidegate::parts::fair_clock::{FairClock, Order};
//! let mut clock = FairClock::new([2.0, 1.0].into_iter(), Order::Wf2qPlus);
//! clock.backlogged(0, 1000);
//! clock.backlogged(1, 1000);
//! let mut turns = vec![];
//! for _ in 0..6 {
//!     let class = clock.next().unwrap();
//!     turns.push(class);
//!     clock.sent(class, 1000, Some(1000)); // each has another packet behind it
//! }
//! assert_eq!(turns, [0, 1, 0, 0, 1, 0]);
//! ```
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::choices;

choices! {
    /// In which order classes are served.
    pub enum Order {
        /// WF²Q+: the least finish tag among those that would have started in the fluid system.
        Wf2qPlus = "wf2q+",
        /// SCFQ: the least finish tag.
        Scfq = "scfq",
    }
}

/// A tag: bytes per unit of weight, times 2^[`FRACTION`]. At weight .01, 2^65 bytes go by before it
/// overflows.
type Tag = u128;

const FRACTION: u32 = 56;

/// The bits of a tag below a millionth of a byte, which do not count when tags are compared.
const ROUNDING: u32 = FRACTION - 20;

/// The weights that a class can have.
pub const WEIGHTS: core::ops::RangeInclusive<f64> = 0.01..=10_000.0;

/// A class's place in a heap: its tag as it is compared, then its number.
type Queued = Reverse<(Tag, u32)>;

#[derive(Clone, Copy, Debug)]
struct ClassTags {
    /// One over its weight.
    per_byte: Tag,
    /// F of its head packet, or of the last one that was sent.
    finish: Tag,
}

/// The clock.
#[derive(Clone, Debug)]
pub struct FairClock {
    order: Order,
    classes: Vec<ClassTags>,
    /// One over the sum of all weights.
    per_byte_of_all: Tag,
    /// V.
    now: Tag,
    /// The greatest F so far.
    latest: Tag,
    /// What was sent since V was last brought up to date.
    sent: u32,
    /// Classes that may be served, by F.
    started: BinaryHeap<Queued>,
    /// Classes that have to wait until V reaches their S, by S.
    early: BinaryHeap<Queued>,
}

/// A tag as it is compared: rounded to the nearest millionth of a byte.
#[inline]
const fn rounded(tag: Tag) -> Tag {
    (tag + (1 << (ROUNDING - 1))) >> ROUNDING
}

fn one_over(weight: f64) -> Tag {
    ((1u128 << FRACTION) as f64 / weight) as Tag
}

impl FairClock {
    /// Classes with these weights, all without packets. Weights outside [`WEIGHTS`] are brought to
    /// the nearest bound.
    pub fn new(weights: impl Iterator<Item = f64>, order: Order) -> FairClock {
        let weights: Vec<f64> =
            weights.map(|w| w.clamp(*WEIGHTS.start(), *WEIGHTS.end())).collect();
        let class = |&weight: &f64| ClassTags { per_byte: one_over(weight), finish: 0 };
        FairClock {
            order,
            classes: weights.iter().map(class).collect(),
            per_byte_of_all: one_over(weights.iter().sum()),
            now: 0,
            latest: 0,
            sent: 0,
            started: BinaryHeap::with_capacity(weights.len()),
            early: BinaryHeap::with_capacity(weights.len()),
        }
    }

    /// What `classes` classes take, in bytes.
    pub const fn bytes(classes: u64) -> u64 {
        classes * (core::mem::size_of::<ClassTags>() + 2 * core::mem::size_of::<Queued>()) as u64
    }

    /// How many classes have packets.
    pub fn backlogged_classes(&self) -> usize {
        self.started.len() + self.early.len()
    }

    /// A packet that costs `bytes`, its length or more, came to `class`, which had none.
    ///
    /// # Panics
    /// When there is no such class.
    #[inline]
    pub fn backlogged(&mut self, class: usize, bytes: u64) {
        self.queue(class, self.classes[class].finish.max(self.now), bytes);
    }

    /// The class whose head packet goes next; `None` when none has any. Tell with
    /// [`sent`](FairClock::sent) what it was.
    #[inline]
    #[allow(
        clippy::should_implement_trait,
        reason = "it does not iterate: what is next depends on what was sent"
    )]
    pub fn next(&mut self) -> Option<usize> {
        if self.order == Order::Wf2qPlus {
            self.now += self.sent as Tag * self.per_byte_of_all;
            self.sent = 0;
            self.start();
        }
        let Some(Reverse((_, class))) = self.started.pop() else {
            // Everybody's S will be this: the same as tags that begin at 0.
            self.now = self.latest;
            return None;
        };
        if self.order == Order::Scfq {
            self.now = self.classes[class as usize].finish;
        }
        Some(class as usize)
    }

    /// `class` has sent a packet of `len` bytes; behind it the next one costs `behind` bytes, if
    /// there is one.
    #[inline]
    pub fn sent(&mut self, class: usize, len: u32, behind: Option<u64>) {
        self.sent = len;
        if let Some(bytes) = behind {
            self.queue(class, self.classes[class].finish, bytes);
        }
    }

    /// `class` has a head packet that costs `bytes`, with the start tag `start`.
    #[inline]
    fn queue(&mut self, class: usize, start: Tag, bytes: u64) {
        let its = &mut self.classes[class];
        its.finish = start + bytes as Tag * its.per_byte;
        self.latest = self.latest.max(its.finish);
        if self.order == Order::Scfq || rounded(start) <= rounded(self.now) {
            self.started.push(Reverse((rounded(its.finish), class as u32)));
        } else {
            self.early.push(Reverse((rounded(start), class as u32)));
        }
    }

    /// Moves the classes whose S has come by V; if nobody could be served, V goes on to the least
    /// S.
    #[inline]
    fn start(&mut self) {
        let mut reached = rounded(self.now);
        while let Some(&Reverse((start, class))) = self.early.peek() {
            if start > reached {
                if !self.started.is_empty() {
                    return;
                }
                self.now = self.now.max(start << ROUNDING);
                reached = start;
            }
            self.early.pop();
            self.started.push(Reverse((rounded(self.classes[class as usize].finish), class)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    /// Serves a fixed amount of packets of `len` bytes, all there from the start, and returns the
    /// classes in order.
    fn serve(order: Order, weights: &[f64], packets: &[u32], len: u32) -> Vec<usize> {
        let mut clock = FairClock::new(weights.iter().copied(), order);
        let mut left = packets.to_vec();
        for class in 0..left.len() {
            clock.backlogged(class, len.into());
        }
        let mut turns = vec![];
        while let Some(class) = clock.next() {
            left[class] -= 1;
            clock.sent(class, len, (left[class] > 0).then_some(len.into()));
            turns.push(class);
        }
        turns
    }

    /// bennett1996's example of how WF²Q differs from WFQ. A class has half of the link and eleven
    /// packets, ten classes have a twentieth and a packet each, all at once. By finish tags alone
    /// ten packets of the first go in a row; in WF²Q+ it has every second slot.
    #[test]
    fn service_order_of_wfq_and_wf2q() {
        for unit in [1, 1000, 1500] {
            for scale in [0.05, 1.0, 7.0] {
                let weights: Vec<f64> =
                    (0..11).map(|class| if class == 0 { 10.0 } else { 1.0 } * scale).collect();
                let packets: Vec<u32> =
                    (0..11).map(|class| if class == 0 { 11 } else { 1 }).collect();
                let wfq = [vec![0; 10], (1..=10).collect(), vec![0]].concat();
                assert_eq!(serve(Order::Scfq, &weights, &packets, unit), wfq);
                let turns: Vec<usize> =
                    (0..21).map(|slot| if slot % 2 == 0 { 0 } else { slot / 2 + 1 }).collect();
                assert_eq!(serve(Order::Wf2qPlus, &weights, &packets, unit), turns);
            }
        }
    }

    /// WF²Q+ is never ahead or behind of the exact shares by more than a packet of each, with any
    /// weights, as long as all have packets; SCFQ is behind by no more than a packet of every
    /// other class.
    #[test]
    fn shares_go_by_weight() {
        let weights = [0.01, 0.3, 1.0, 7.0, 123.0];
        let all: f64 = weights.iter().sum();
        for order in [Order::Wf2qPlus, Order::Scfq] {
            let mut clock = FairClock::new(weights.into_iter(), order);
            let lens = [1500, 40, 999, 777, 64];
            (0..5).for_each(|class| clock.backlogged(class, lens[class].into()));
            let (mut sent, mut total) = ([0.0; 5], 0.0);
            for n in 0..1_000_000 {
                let class = clock.next().unwrap();
                clock.sent(class, lens[class], Some(lens[class].into()));
                sent[class] += lens[class] as f64;
                total += lens[class] as f64;
                for i in 0..5 {
                    let ahead = sent[i] - total * weights[i] / all;
                    let room = lens[i] as f64 + 1500.0;
                    let bound = if order == Order::Wf2qPlus { room } else { 1500.0 * 5.0 };
                    assert!(
                        ahead.abs() <= bound,
                        "{order:?}, packet {n}: class {i} is ahead by {ahead}"
                    );
                }
            }
        }
    }

    /// Thirds do not drift: after three million turns of three equal classes and one of weight 3
    /// the order is as in the beginning.
    #[test]
    fn nothing_drifts() {
        let mut clock = FairClock::new([3.0, 1.0, 1.0, 1.0].into_iter(), Order::Wf2qPlus);
        (0..4).for_each(|class| clock.backlogged(class, 1000));
        let mut turn = || {
            let class = clock.next().unwrap();
            clock.sent(class, 1000, Some(1000));
            class
        };
        let first: Vec<usize> = (0..6).map(|_| turn()).collect();
        assert_eq!(first, [0, 1, 0, 2, 0, 3]);
        for round in 0..500_000 {
            for &class in &first {
                assert_eq!(turn(), class, "round {round}");
            }
        }
    }

    /// After idleness all are equal again, whatever they sent before.
    #[test]
    fn idleness_forgets() {
        for order in [Order::Wf2qPlus, Order::Scfq] {
            let mut clock = FairClock::new([1.0, 1.0].into_iter(), order);
            for _ in 0..100 {
                clock.backlogged(1, 1000);
                assert_eq!(clock.next(), Some(1));
                clock.sent(1, 1000, None);
            }
            assert_eq!(clock.next(), None);
            clock.backlogged(1, 900);
            clock.backlogged(0, 1000);
            assert_eq!(clock.next(), Some(1), "{order:?}");
            clock.sent(1, 900, None);
            assert_eq!(clock.next(), Some(0));
            clock.sent(0, 1000, None);
            assert_eq!(clock.backlogged_classes(), 0);
        }
    }
}
