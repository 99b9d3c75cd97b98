//! The link behind a queue: when a packet that begins now has left, and when the next may begin.
use super::steps::{self, Steps};
use super::trace::{Trace, TraceCursor};
use crate::config::ConfigError;
use crate::units::{Pacer, Rate, Span, Time};

/// What a link can carry.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Capacity {
    /// The same rate at all times, above zero and at most 1 Pbit/s.
    Rate(Rate),
    /// As a trace has it.
    Trace(Trace),
    /// One rate after the other.
    Steps(Steps),
}

impl Capacity {
    /// What it can carry from one time to another, in bits: of a trace the opportunities at `from`
    /// or later, and before `to`.
    pub fn bits_between(&self, from: Time, to: Time) -> f64 {
        match self {
            Capacity::Rate(rate) => rate.as_bps() as f64 * to.since(from).as_secs(),
            Capacity::Trace(trace) => trace.bits_between(from, to),
            Capacity::Steps(steps) => steps.bits_between(from, to),
        }
    }
}

impl From<Rate> for Capacity {
    fn from(rate: Rate) -> Capacity {
        Capacity::Rate(rate)
    }
}

impl From<Trace> for Capacity {
    fn from(trace: Trace) -> Capacity {
        Capacity::Trace(trace)
    }
}

impl From<Steps> for Capacity {
    fn from(steps: Steps) -> Capacity {
        Capacity::Steps(steps)
    }
}

/// A link, and how far it has got, for a driver that has a queue and a delay of its own.
///
/// ```
/// use tidegate::{Span, Time};
/// use tidegate::bottleneck::{Trace, Wire};
/// let trace: Trace = "1\n3\n".parse()?;
/// let mut wire = Wire::new(trace.into())?;
/// let begins = wire.after(Time::ZERO);
/// assert_eq!(begins, Time::ZERO + Span::from_millis(1));
/// assert_eq!(wire.send(begins, 3000), Time::ZERO + Span::from_millis(3));
/// # Ok::<(), tidegate::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Wire {
    kind: WireKind,
    /// When the next packet may begin.
    free: Time,
}

#[derive(Clone, Debug)]
enum WireKind {
    Rate(Pacer),
    Trace(TraceCursor),
    Steps(steps::StepsCursor),
}

impl Wire {
    /// An idle link at the beginning of time.
    ///
    /// # Errors
    /// A rate of zero or above 1 Pbit/s.
    pub fn new(capacity: Capacity) -> Result<Wire, ConfigError> {
        let kind = match capacity {
            Capacity::Rate(rate) if !(1..=1_000_000_000_000_000).contains(&rate.as_bps()) => {
                return Err(ConfigError::new(
                    "capacity",
                    rate,
                    "must lie above 0 bit/s, up to 1 Pbit/s",
                ));
            }
            Capacity::Rate(rate) => WireKind::Rate(Pacer::new(rate)),
            Capacity::Trace(trace) => WireKind::Trace(TraceCursor::new(trace)),
            Capacity::Steps(steps) => WireKind::Steps(steps::StepsCursor::new(steps)),
        };
        Ok(Wire { kind, free: Time::ZERO })
    }

    /// When the next packet may begin, if nothing is waited for.
    #[inline]
    pub fn free(&self) -> Time {
        self.free
    }

    /// When a packet begins that comes to a free link at `now`: a trace's opportunity of that very
    /// moment has passed.
    #[inline]
    pub fn after(&mut self, now: Time) -> Time {
        match &mut self.kind {
            WireKind::Rate(_) | WireKind::Steps(_) => now,
            WireKind::Trace(_) => self.at_or_after(now + Span::from_nanos(1)),
        }
    }

    /// When a packet begins that may do so from `time` on, with the link free.
    #[inline]
    pub fn at_or_after(&mut self, time: Time) -> Time {
        match &mut self.kind {
            WireKind::Rate(_) | WireKind::Steps(_) => time,
            WireKind::Trace(cursor) => {
                cursor.seek(time);
                cursor.time()
            }
        }
    }

    /// Sends `len` bytes at `start`, which is [`free`](Wire::free) or came from
    /// [`after`](Wire::after) or [`at_or_after`](Wire::at_or_after). Returns when the last has
    /// left.
    #[inline]
    pub fn send(&mut self, start: Time, len: u32) -> Time {
        match &mut self.kind {
            WireKind::Rate(pacer) => {
                if start > self.free {
                    pacer.reset();
                }
                self.free = start + pacer.next(len);
                self.free
            }
            WireKind::Steps(cursor) => {
                if start > self.free {
                    cursor.reset();
                }
                self.free = cursor.send(start, len);
                self.free
            }
            WireKind::Trace(cursor) => {
                let end = cursor.send(len);
                self.free = cursor.time();
                end
            }
        }
    }
}
