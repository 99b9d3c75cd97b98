//! From stamps to a time that begins at zero and never runs back.
use tidegate::{Span, Time};

/// A capture that lasts longer than a century has a damaged stamp in it.
const MAX_NANOS: u64 = 100 * 366 * 24 * 3600 * 1_000_000_000;

#[derive(Debug, Default)]
pub(super) struct Clock {
    /// The first stamp, in nanoseconds since 1970.
    first: Option<i128>,
    last: Time,
    backward: u64,
}

impl Clock {
    /// The time of a packet with this `stamp`; the sentence that says what is wrong with it
    /// otherwise.
    pub(super) fn read(&mut self, stamp: Option<i128>) -> Result<Time, String> {
        let Some(stamp) = stamp else { return Ok(self.last) };
        let nanos = stamp - *self.first.get_or_insert(stamp);
        // A stamp before the first one is before the last one too.
        let time = Time::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX));
        if time > Time::ZERO + Span::from_nanos(MAX_NANOS) {
            return Err("a packet more than a hundred years after the first".into());
        }
        if nanos < self.last.as_nanos() as i128 {
            self.backward += 1;
        }
        self.last = self.last.max(time);
        Ok(self.last)
    }

    pub(super) fn backward(&self) -> u64 {
        self.backward
    }

    pub(super) fn started(&self) -> Option<i128> {
        self.first
    }
}
