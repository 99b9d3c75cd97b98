//! How a gate stands, as plain figures that the thread that moves frames copies into memory that is
//! there already.
//!
//! A few samples go round between that thread and their reader, through two channels with room for
//! all. The thread takes an empty one and gives it away filled. It never waits, allocates or asks
//! the system for anything. A reader that is slow has fewer of them, and misses nothing, since what
//! is counted goes up only and an interval ends only when it can be given away.
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use tidegate::{Backlog, Gauge, Rate, Span, Time};

use crate::path::pool::FrameMemory;
use crate::watch::counters::{Account, ClassTally};
use crate::watch::heavy;
use crate::watch::interval::Interval;
use crate::watch::sojourn::Sojourns;

/// How many samples go round: one that is read, one that is kept, and others for a reader that
/// comes late.
const ROUND: usize = 6;
/// Gauges that there is room for; no queue of the catalog has so many, and a test says so.
const GAUGES: usize = 16;

/// How a gate stood.
#[derive(Clone, Debug)]
pub struct GateSample {
    /// When.
    pub at: Time,
    /// How often the gate had been renewed.
    pub renewals: u64,
    /// What had become of all frames.
    pub account: Account,
    /// The memory of waiting frames, of both directions.
    pub memory: [FrameMemory; 2],
    /// The managed direction.
    pub there: LaneSample,
    /// The other, if it is managed, too.
    pub back: Option<LaneSample>,
}

/// How a managed direction stood.
#[derive(Clone, Debug)]
pub struct LaneSample {
    /// The link's rate.
    pub rate: Rate,
    /// What waited.
    pub backlog: Backlog,
    /// How long frames have waited since the beginning.
    pub sojourns: Sojourns,
    /// The longest that one has waited since the sample before.
    pub longest: Span,
    /// What the queue shows of itself.
    pub gauges: Vec<Gauge>,
    /// The classes.
    pub classes: Vec<ClassTally>,
    /// Whether an interval has ended with this sample.
    pub closed: bool,
    /// What arrived in it; if none has ended it means nothing.
    pub interval: Interval,
}

/// Gives samples away: the end of the thread that moves frames.
#[derive(Debug)]
pub struct Sampler {
    full: SyncSender<Box<GateSample>>,
    spare: Receiver<Box<GateSample>>,
}

/// Takes them: the reader's end.
#[derive(Debug)]
pub struct Samples {
    full: Receiver<Box<GateSample>>,
    spare: SyncSender<Box<GateSample>>,
}

/// Both ends for a gate with so many classes in the one direction and, if it is managed, in the
/// other. The samples that go round have room for those; only of more classes, after a reload, is
/// memory asked for once more.
pub fn samples(there: usize, back: Option<usize>) -> (Sampler, Samples) {
    let (full, filled) = sync_channel(ROUND);
    let (emptied, spare) = sync_channel(ROUND);
    for _ in 0..ROUND {
        let _ = emptied.try_send(Box::new(GateSample::empty(there, back))); // there is room for all
    }
    (Sampler { full, spare }, Samples { full: filled, spare: emptied })
}

impl Sampler {
    /// Has an empty sample filled and gives it away, if one is at hand.
    pub fn take(&mut self, fill: impl FnOnce(&mut GateSample)) {
        let Ok(mut sample) = self.spare.try_recv() else { return };
        fill(&mut sample);
        // There is room for all; it fails when nobody reads any more.
        let _ = self.full.try_send(sample);
    }
}

impl Samples {
    /// The next, if there is one. Never waits, so that the giver has nobody to awake.
    pub fn next(&self) -> Option<Box<GateSample>> {
        self.full.try_recv().ok()
    }

    /// Gives one back to be filled again.
    pub fn give_back(&self, sample: Box<GateSample>) {
        // There is room for all; it fails when the gate has ended.
        let _ = self.spare.try_send(sample);
    }
}

impl GateSample {
    /// One of nothing, with room for so many classes.
    pub fn empty(there: usize, back: Option<usize>) -> GateSample {
        GateSample {
            at: Time::ZERO,
            renewals: 0,
            account: Account::default(),
            memory: [FrameMemory::default(); 2],
            there: LaneSample::empty(there),
            back: back.map(LaneSample::empty),
        }
    }

    /// The directions that are managed, and none for one that is not.
    pub fn lanes(&self) -> [Option<&LaneSample>; 2] {
        [Some(&self.there), self.back.as_ref()]
    }
}

impl LaneSample {
    fn empty(classes: usize) -> LaneSample {
        LaneSample {
            rate: Rate::from_bps(0),
            backlog: Backlog::default(),
            sojourns: Sojourns::default(),
            longest: Span::ZERO,
            gauges: Vec::with_capacity(GAUGES),
            classes: Vec::with_capacity(classes),
            closed: false,
            interval: Interval {
                flows: Vec::with_capacity(heavy::MOST),
                classes: Vec::with_capacity(classes),
                ..Interval::default()
            },
        }
    }
}
