//! What packets of condemned flows pass: so much a second, all of them together. Three boxes are in
//! use.
//!
//! ```
//! use tidegate::parts::penalty_box::{PenaltyBox, PenaltyBoxKind};
//! use tidegate::{Link, Rate, Size, Time};
//! let link = Link::new("10 Mbit/s".parse()?, "100 packets".parse()?, "1000 B".parse()?)?;
//! let rate = Rate::from_bps(80_000);
//! let mut pauses = PenaltyBox::new(PenaltyBoxKind::Spaced, rate, Size::Packets(2), &link);
//! let passed = (0..1000).filter(|ms| pauses.take(Time::from_nanos(ms * 1_000_000), 1000)).count();
//! assert_eq!(passed, 10); // one each 100 ms
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
use crate::choices;
use crate::parts::token_bucket::TokenBucket;
use crate::qdisc::Link;
use crate::units::{Bytes, Rate, Size, Time};

choices! {
    /// How a penalty box keeps its rate.
    pub enum PenaltyBoxKind {
        /// By bytes, saved up in parts to a depth.
        Bucket = "bucket",
        /// By whole packets. A look at an empty box that has not earned a whole one forgets what
        /// was earned. So a flood that asks more often than that gets no other once the depth is
        /// used up (Linux's sch_sfb).
        Whole = "whole",
        /// A packet, and then none for as long as the rate takes for one (XNU's classq_sfb).
        Spaced = "spaced",
    }
}

/// A billion: nanoseconds in a second.
const SECOND: u128 = 1_000_000_000;

/// One box.
#[derive(Clone, Copy, Debug)]
pub struct PenaltyBox(Inside);

#[derive(Clone, Copy, Debug)]
enum Inside {
    Bucket(TokenBucket),
    /// Packets that are left, how many there can be, and when the last were earned.
    Whole {
        price: Cost,
        left: u32,
        depth: u32,
        since: Time,
    },
    /// When the last passed.
    Spaced {
        price: Cost,
        last: Option<Time>,
    },
}

/// What a packet costs.
#[derive(Clone, Copy, Debug)]
struct Cost {
    rate: Rate,
    packet: Bytes,
}

impl Cost {
    /// How many whole packets are earned from `since` to `now`.
    fn earned(self, since: Time, now: Time) -> u128 {
        let bits = self.rate.as_bps() as u128 * now.since(since).as_nanos() as u128;
        bits / (self.packet.get() as u128 * 8 * SECOND)
    }
}

impl PenaltyBox {
    /// A full box. No packet longer than `depth` ever passes a bucket.
    pub fn new(kind: PenaltyBoxKind, rate: Rate, depth: Size, link: &Link) -> PenaltyBox {
        let price = Cost { rate, packet: link.mean_packet };
        PenaltyBox(match kind {
            PenaltyBoxKind::Bucket => {
                Inside::Bucket(TokenBucket::new(rate, Bytes::new(depth.in_bytes(link.mean_packet))))
            }
            PenaltyBoxKind::Whole => {
                let depth = depth.in_packets(link.mean_packet) as u32;
                Inside::Whole { price, left: depth, depth, since: Time::ZERO }
            }
            PenaltyBoxKind::Spaced => Inside::Spaced { price, last: None },
        })
    }

    /// Whether a packet of `len` bytes passes at `now`.
    pub fn take(&mut self, now: Time, len: u32) -> bool {
        match &mut self.0 {
            Inside::Bucket(bucket) => bucket.take(now, len),
            Inside::Whole { price, left, depth, since } => {
                if *left == 0 {
                    *left = price.earned(*since, now).min(*depth as u128) as u32;
                    *since = now;
                }
                let passes = *left > 0;
                *left -= passes as u32;
                passes
            }
            Inside::Spaced { price, last } => {
                let passes = last.is_none_or(|last| price.earned(last, now) > 0);
                if passes {
                    *last = Some(now);
                }
                passes
            }
        }
    }

    /// What is left after the last call of [`take`](PenaltyBox::take), in bytes.
    pub fn tokens(&self) -> f64 {
        match &self.0 {
            Inside::Bucket(bucket) => bucket.tokens(),
            Inside::Whole { price, left, .. } => *left as f64 * price.packet.get() as f64,
            Inside::Spaced { last: Some(_), .. } => 0.0,
            Inside::Spaced { price, last: None } => price.packet.get() as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flood of 1000 packets a second for 10 s before a box of ten packets a second and twenty
    /// saved. The bucket gives all it has and earns, the box of whole packets its twenty, the
    /// pauses one each tenth of a second.
    #[test]
    fn three_boxes_under_a_flood() {
        let link = Link::new(
            "10 Mbit/s".parse().unwrap(),
            "100 packets".parse().unwrap(),
            Bytes::new(1000),
        )
        .unwrap();
        for (kind, passed) in [
            (PenaltyBoxKind::Bucket, 20 + 99),
            (PenaltyBoxKind::Whole, 20),
            (PenaltyBoxKind::Spaced, 100),
        ] {
            let mut penalty =
                PenaltyBox::new(kind, Rate::from_bps(80_000), Size::Packets(20), &link);
            let ask = |ms: u64| penalty.take(Time::from_nanos(ms * 1_000_000), 1000);
            assert_eq!((0..10_000).map(ask).filter(|&passes| passes).count(), passed, "{kind:?}");
        }
    }

    /// Who asks less often than a packet is earned gets each of his through.
    #[test]
    fn a_slow_sender_passes_every_box() {
        let link = Link::new(
            "10 Mbit/s".parse().unwrap(),
            "100 packets".parse().unwrap(),
            Bytes::new(1000),
        )
        .unwrap();
        for kind in [PenaltyBoxKind::Bucket, PenaltyBoxKind::Whole, PenaltyBoxKind::Spaced] {
            let mut penalty =
                PenaltyBox::new(kind, Rate::from_bps(80_000), Size::Packets(2), &link);
            assert!(
                (0..100).all(|i| penalty.take(Time::from_nanos(i * 101_000_000), 1000)),
                "{kind:?}"
            );
            let mut none = PenaltyBox::new(kind, Rate::from_bps(0), Size::Packets(1), &link);
            assert_eq!(
                [none.take(Time::ZERO, 1000), none.take(Time::from_nanos(1 << 62), 1000)],
                [true, false]
            );
        }
    }
}
