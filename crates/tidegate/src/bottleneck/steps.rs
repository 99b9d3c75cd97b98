//! A capacity that changes in steps: one rate until the next takes over.
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::config::ConfigError;
use crate::units::{Bytes, Rate, Time};

/// The most steps.
pub const MOST_STEPS: usize = 1_000_000;

/// The greatest rate, in bit/s.
const MOST_RATE: u64 = 1_000_000_000_000_000;

const NANOS: u128 = 1_000_000_000;

/// Rates, each from its time on. The last holds for ever.
///
/// A packet whose transmission straddles a change is sent at each rate in turn. At 8 Mbit/s half of
/// 1000 bytes takes 500 us; the other half takes 2 ms at 2 Mbit/s. A rate of zero is an outage.
///
/// ```
/// use tidegate::bottleneck::{Steps, Wire};
/// use tidegate::{Rate, Span, Time};
/// let at = |us: u64| Time::ZERO + Span::from_micros(us);
/// let steps = Steps::new([
///     (Time::ZERO, "8 Mbit/s".parse()?),
///     (at(500), Rate::from_bps(0)),
///     (at(10_000), "2 Mbit/s".parse()?),
/// ])?;
/// let mut wire = Wire::new(steps.into())?;
/// assert_eq!(wire.send(Time::ZERO, 1000), at(12_000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    /// The first from time zero, the times rising.
    pieces: Arc<[(Time, Rate)]>,
}

impl Steps {
    /// `steps`, the first of them at time zero, each of the others later than the one before.
    ///
    /// # Errors
    /// None or too many, a first that is late, a time that does not rise, a rate above 1 Pbit/s, a
    /// last rate of zero. `field` names the step.
    pub fn new(steps: impl IntoIterator<Item = (Time, Rate)>) -> Result<Steps, ConfigError> {
        let pieces: Vec<(Time, Rate)> = steps.into_iter().take(MOST_STEPS + 1).collect();
        if pieces.len() > MOST_STEPS {
            let why = format!("must have at most {MOST_STEPS} steps");
            return Err(ConfigError::new("steps", "more steps", why));
        }
        let step = |i: usize| format!("step {}", i + 1);
        let (Some(&(first, _)), Some(&(_, last))) = (pieces.first(), pieces.last()) else {
            return Err(ConfigError::new("steps", "no steps", "must have a step at least"));
        };
        if first > Time::ZERO {
            return Err(ConfigError::new(step(0), first, "the first must be at 0 s"));
        }
        if last.as_bps() == 0 {
            let why = "the last rate holds for ever and must be above 0 bit/s";
            return Err(ConfigError::new(step(pieces.len() - 1), last, why));
        }
        if let Some(i) = pieces.windows(2).position(|pair| pair[1].0 <= pair[0].0) {
            let why = format!("must be later than the one before, at {}", pieces[i].0);
            return Err(ConfigError::new(step(i + 1), pieces[i + 1].0, why));
        }
        if let Some(i) = pieces.iter().position(|(_, rate)| rate.as_bps() > MOST_RATE) {
            return Err(ConfigError::new(step(i), pieces[i].1, "must be at most 1 Pbit/s"));
        }
        Ok(Steps { pieces: pieces.into() })
    }

    /// The steps.
    pub fn pieces(&self) -> &[(Time, Rate)] {
        &self.pieces
    }

    /// The greatest of the rates.
    pub fn peak(&self) -> Rate {
        self.pieces.iter().map(|&(_, rate)| rate).max().unwrap_or(Rate::from_bps(0))
    }

    /// What can be sent from one time to another, in bits.
    pub fn bits_between(&self, from: Time, to: Time) -> f64 {
        let ends = self.pieces.iter().skip(1).map(|piece| piece.0).chain([Time::MAX]);
        let piece = |(&(begin, rate), end): (&(Time, Rate), Time)| {
            let span = end.min(to).since(begin.max(from));
            rate.as_bps() as u128 * span.as_nanos() as u128
        };
        self.pieces.iter().zip(ends).map(piece).sum::<u128>() as f64 / NANOS as f64
    }
}

/// A place in [`Steps`].
#[derive(Clone, Debug)]
pub(super) struct StepsCursor {
    steps: Steps,
    /// The step that holds.
    at: usize,
    /// What the last transmission left over of its last nanosecond, in bit/s · ns.
    rest: u64,
}

impl StepsCursor {
    pub fn new(steps: Steps) -> StepsCursor {
        StepsCursor { steps, at: 0, rest: 0 }
    }

    /// The link was idle: what was left over is gone.
    pub fn reset(&mut self) {
        self.rest = 0;
    }

    /// Sends `len` bytes from `start` on, no earlier than what was sent before. Returns when the
    /// last of them leaves.
    pub fn send(&mut self, start: Time, len: u32) -> Time {
        let bits = u128::from(Bytes::new(len as u64).bits());
        let mut work = u128::from(self.rest) + bits * NANOS;
        let mut now = start.as_nanos();
        loop {
            let rate = self.steps.pieces[self.at].1.as_bps();
            let end = self.steps.pieces.get(self.at + 1).map_or(u64::MAX, |next| next.0.as_nanos());
            let room = rate as u128 * end.saturating_sub(now) as u128;
            if rate > 0 && (work <= room || end == u64::MAX) {
                let rate = u128::from(rate);
                self.rest = (work % rate) as u64;
                let took = u64::try_from(work / rate).unwrap_or(u64::MAX);
                return Time::from_nanos(now.saturating_add(took));
            }
            work -= room;
            (now, self.at) = (now.max(end), self.at + 1);
        }
    }
}
