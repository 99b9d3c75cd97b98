//! What a lane is made of, what its link does, and what is left over after a change.
use tidegate::catalog::AnyQueue;
use tidegate::{ConfigError, Link, Time};

use crate::path::delay::DelayLine;
use crate::path::lane::Lane;
use crate::path::pace::{LinkPace, Paced};
use crate::path::pool::FramePool;
use crate::path::rehash::Keys;
use crate::path::sort::Sorter;
use crate::watch::meter::Meter;

/// What a lane is made of.
#[derive(Debug)]
pub struct LaneParts {
    /// The queue, empty.
    pub queue: AnyQueue,
    /// The link that it was built for: at its rate frames leave, and so much may wait unjudged,
    /// too.
    pub link: Link,
    /// Which frames are one flow or of one class, and which are not judged.
    pub sorter: Sorter,
    /// The keys of flows as the queue knows them.
    pub keys: Keys,
    /// Frames under way after they left the queue: none, and how long.
    pub under_way: DelayLine,
    /// Where frames wait, in the queue and under way.
    pub pool: FramePool,
    /// What is measured.
    pub meter: Meter,
}

/// What a lane needed before it was [renewed](Lane::renew). It may hold much memory.
#[derive(Debug)]
pub struct LeftOver {
    pub(super) _queue: Option<AnyQueue>,
    pub(super) _pool: FramePool,
    pub(super) _under_way: DelayLine,
    pub(super) _sorter: Sorter,
    pub(super) _keys: Keys,
    pub(super) _meter: Meter,
}

impl<W> Lane<W> {
    /// The same before the first frame, paced so until it is [renewed](Lane::renew).
    ///
    /// # Errors
    /// None: a trace that could be read can be followed.
    pub fn paced(self, paced: &Paced) -> Result<Lane<W>, ConfigError> {
        Ok(Lane { pace: LinkPace::new(paced, self.link.rate)?, ..self })
    }

    /// Frames of up to `longest` bytes may wait from here on.
    pub(crate) fn reach(&mut self, longest: u32) {
        self.pool.reach(longest);
    }

    /// The memory of waiting frames.
    pub(crate) fn pool(&self) -> &FramePool {
        &self.pool
    }

    /// The observer.
    pub(crate) fn into_observer(self) -> W {
        self.observer
    }
}

/// What the link behind the queue is doing.
#[derive(Clone, Copy, Debug)]
pub(super) enum LinkState {
    /// It sends until then.
    Busy(Time),
    /// It asked in vain, then for the last time.
    Idle(Time),
}
