//! A capacity that varies: the times at which a link can send, as `mm-link` of mahimahi reads them
//! (netravali2015).
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::str::FromStr;

use crate::config::ConfigError;
use crate::units::{Bytes, Rate, Span, Time};

/// What one delivery opportunity carries.
pub const OPPORTUNITY: Bytes = Bytes::new(1500);

/// The most lines of a trace.
pub const MOST_LINES: usize = 10_000_000;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// A trace of capacity, in the format of `mm-link`.
///
/// Each line is a time in whole milliseconds from the start ([`Time::ZERO`]), no earlier than the
/// line before. At that time the link can send [`OPPORTUNITY`]: one packet of 1500 bytes, several
/// small ones, or a part of a longer one. What nothing waits for is wasted. The last time is the
/// trace's length, after which it begins again.
///
/// ```
/// use tidegate::bottleneck::Trace;
/// let trace: Trace = "1\n2\n2\n4\n".parse()?;
/// assert_eq!(trace.mean_rate().to_string(), "12 Mbit/s");
/// let error = "5\n3\n".parse::<Trace>().unwrap_err();
/// assert_eq!(error.to_string(), "line 2 = 3: time runs back; the line before has 5");
/// # Ok::<(), tidegate::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// In milliseconds, never falling; the last is above zero.
    times: Arc<[u32]>,
}

impl Trace {
    /// A trace of delivery opportunities at `times`, in milliseconds.
    ///
    /// # Errors
    /// No time, too many, a time before the one that precedes it, or a length of zero. `field`
    /// names the line.
    pub fn new(times: impl IntoIterator<Item = u32>) -> Result<Trace, ConfigError> {
        let times: Vec<u32> = times.into_iter().take(MOST_LINES + 1).collect();
        if times.len() > MOST_LINES {
            let why = format!("must have at most {MOST_LINES} lines");
            return Err(ConfigError::new("trace", "more lines", why));
        }
        if let Some(i) = times.windows(2).position(|pair| pair[1] < pair[0]) {
            let why = format!("time runs back; the line before has {}", times[i]);
            return Err(ConfigError::new(format!("line {}", i + 2), times[i + 1], why));
        }
        match times.last() {
            None => Err(ConfigError::new("trace", "no lines", "must have a line at least")),
            Some(0) => {
                let why = "the last time is the trace's length and must be above 0 ms";
                Err(ConfigError::new(format!("line {}", times.len()), 0, why))
            }
            Some(_) => Ok(Trace { times: times.into() }),
        }
    }

    /// The rate of the whole trace, rounded down: what a queue for it is built with.
    pub fn mean_rate(&self) -> Rate {
        let bits = self.times.len() as u64 * OPPORTUNITY.bits();
        Rate::from_bps((bits * 1_000 / self.length()).max(1))
    }

    /// The most that it carries in any time of this length.
    ///
    /// ```
    /// # use tidegate::{Bytes, Span, bottleneck::Trace};
    /// let trace: Trace = "1\n2\n2\n10\n".parse()?;
    /// assert_eq!(trace.most_in(Span::from_millis(1)), Bytes::new(3 * 1500));
    /// assert_eq!(trace.most_in(Span::from_millis(12)), Bytes::new(8 * 1500));
    /// # Ok::<(), tidegate::ConfigError>(())
    /// ```
    pub fn most_in(&self, span: Span) -> Bytes {
        let (count, length) = (self.times.len(), self.length());
        let millis = span.as_nanos().div_ceil(NANOS_PER_MILLI);
        let (whole, rest) = (millis / length, millis % length);
        let at = |line: usize| self.times[line % count] as u64 + (line / count) as u64 * length;
        let (mut end, mut most) = (0, 0);
        for start in 0..count {
            while at(end) <= at(start) + rest {
                end += 1;
            }
            most = most.max(end - start);
        }
        let all = whole.saturating_mul(count as u64).saturating_add(most as u64);
        Bytes::new(all.saturating_mul(OPPORTUNITY.get()))
    }

    /// What it can carry from one time to another, in bits: the opportunities at `from` or later,
    /// and before `to`.
    pub(super) fn bits_between(&self, from: Time, to: Time) -> f64 {
        let (count, length) = (self.times.len() as u64, self.length());
        // So many before a time: those of whole repetitions, and those in the last. Its end is the
        // beginning of the next, but belongs to it.
        let before = |time: Time| {
            let millis = time.as_nanos().div_ceil(NANOS_PER_MILLI);
            let whole = millis.saturating_sub(1) / length;
            let within = millis - whole * length;
            whole * count + self.times.partition_point(|&line| (line as u64) < within) as u64
        };
        before(to).saturating_sub(before(from)) as f64 * OPPORTUNITY.bits() as f64
    }

    /// In milliseconds.
    fn length(&self) -> u64 {
        self.times.last().map_or(1, |&last| last as u64)
    }
}

impl FromStr for Trace {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Trace, ConfigError> {
        let mut times = Vec::new();
        for (i, line) in text.lines().take(MOST_LINES + 1).enumerate() {
            let line = line.trim();
            times.push(line.parse().map_err(|_| {
                let whole = !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit());
                let why = if whole {
                    format!("must be at most {} ms (49 days)", u32::MAX)
                } else {
                    "must be a time in whole milliseconds, such as 12".into()
                };
                ConfigError::new(format!("line {}", i + 1), format!("{line:?}"), why)
            })?);
        }
        Trace::new(times)
    }
}

/// A place in a [`Trace`] that repeats for ever: one opportunity, and what is left of it.
#[derive(Clone, Debug)]
pub(super) struct TraceCursor {
    trace: Trace,
    /// When this repetition began, in milliseconds.
    began: u64,
    /// The line within it.
    line: usize,
    /// Bytes.
    left: u64,
}

impl TraceCursor {
    pub fn new(trace: Trace) -> TraceCursor {
        TraceCursor { trace, began: 0, line: 0, left: OPPORTUNITY.get() }
    }

    /// When this opportunity comes.
    pub fn time(&self) -> Time {
        let millis = self.began.saturating_add(self.trace.times[self.line] as u64);
        Time::from_nanos(millis.saturating_mul(NANOS_PER_MILLI))
    }

    /// Goes to the first opportunity at or after `time`.
    pub fn seek(&mut self, time: Time) {
        self.left = OPPORTUNITY.get();
        let (millis, length) = (time.as_nanos().div_ceil(NANOS_PER_MILLI), self.trace.length());
        // A repetition ends with its last line, so a time at its end is still within it.
        self.began = millis.saturating_sub(1) / length * length;
        let within = (millis - self.began) as u32;
        self.line = self.trace.times.partition_point(|&line| line < within);
    }

    /// Sends `len` bytes from here on. Returns when the last of them leaves.
    pub fn send(&mut self, len: u32) -> Time {
        let mut rest = len as u64;
        while rest > self.left {
            rest -= self.left;
            self.step();
        }
        let end = self.time();
        self.left -= rest;
        if self.left == 0 {
            self.step();
        }
        end
    }

    fn step(&mut self) {
        self.left = OPPORTUNITY.get();
        self.line += 1;
        if self.line == self.trace.times.len() {
            self.began += self.trace.length();
            self.line = 0;
        }
    }
}
