//! Queue protection (briscoe2026, RFC 9957): who congests the L queue is sent to the C queue.
//!
//! A bucket for each flow holds a score in units of time: how long it takes to age away. A packet
//! adds its length times the probability that the native AQM would mark it with, at the rate of
//! aging. So a flow that sends while nobody waits has no score, however fast it is.
use alloc::vec;
use alloc::vec::Vec;

use super::DualPi2Config;
use crate::packet::Packet;
use crate::rng::{Rng, mix};
use crate::units::{Span, Time};

/// So many buckets a flow may have: ATTEMPTS.
pub(super) const ATTEMPTS: u32 = 2;
/// No score is greater: MAX_QLSCORE.
const MOST: Span = Span::from_millis(5_000);

/// The buckets, and what is critical.
#[derive(Clone, Debug)]
pub(super) struct Protection {
    /// The last one is for flows that find none.
    buckets: Vec<ScoreBucket>,
    perturbation: u64,
    /// How long a byte ages, in nanoseconds.
    aging: f64,
    /// CRITICALqL, and the product of it and CRITICALqLSCORE.
    delay: Span,
    product: u128,
}

/// A bucket: whose it is, and when its score will have aged away.
#[derive(Clone, Copy, Debug)]
struct ScoreBucket {
    flow: u64,
    expires: Time,
}

impl Protection {
    /// As `config` says, keyed by a number drawn from `dice`. The critical delay is the ramp's end
    /// (MAXTH).
    pub fn new(config: &DualPi2Config, dice: &mut Rng) -> Protection {
        let delay = config.min_th + config.range;
        let empty = ScoreBucket { flow: 0, expires: Time::ZERO };
        Protection {
            buckets: vec![empty; config.buckets as usize + 1],
            perturbation: dice.bits(),
            aging: 8e9 / config.aging.as_bps() as f64,
            delay,
            product: delay.as_nanos() as u128 * config.critical_score.as_nanos() as u128,
        }
    }

    /// Whether `pkt` is to join the C queue instead: the L queue has this `delay`, at which its
    /// AQM would mark with the probability `native`.
    #[inline]
    pub fn sanctions(&mut self, now: Time, pkt: &Packet, delay: Span, native: f64) -> bool {
        let bucket = self.pick(now, pkt.flow);
        let bucket = &mut self.buckets[bucket];
        let added = Span::from_nanos((native * pkt.len as f64 * self.aging) as u64);
        bucket.expires = (bucket.expires + added).min(now + MOST);
        let score = bucket.expires.since(now);
        delay > self.delay && delay.as_nanos() as u128 * score.as_nanos() as u128 > self.product
    }

    /// The bucket of `flow`: its own, else the first of its two whose score has aged away, else the
    /// last, which is shared. What was left of another flow's score does not count.
    #[inline]
    fn pick(&mut self, now: Time, flow: u64) -> usize {
        let (hash, most) = (mix(flow ^ self.perturbation), self.buckets.len() - 1);
        let mut found = most;
        for attempt in 0..ATTEMPTS {
            let half = hash >> (32 * attempt) & 0xffff_ffff;
            let at = ((half * most as u64) >> 32) as usize;
            let bucket = &mut self.buckets[at];
            if bucket.flow == flow {
                bucket.expires = bucket.expires.max(now);
                return at;
            }
            if found == most && bucket.expires <= now {
                found = at;
            }
        }
        let bucket = &mut self.buckets[found];
        *bucket = ScoreBucket { flow, expires: bucket.expires.max(now) };
        found
    }

    /// What so many buckets take, in bytes.
    pub fn bytes(buckets: u32) -> u64 {
        (buckets as u64 + 1) * core::mem::size_of::<ScoreBucket>() as u64
    }
}
