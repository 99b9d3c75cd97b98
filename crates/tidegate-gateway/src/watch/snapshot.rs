//! How the gates of a process stand, as one document: `tidegate.snapshot/1`.
//!
//! Counters go up only, from the start of the process on and across reloads; readers take
//! differences. Times are in seconds, lengths in bytes, rates in bit/s. docs/reference/gate.md says
//! what every key is.
//!
//! ```
//! use tidegate_gateway::watch::snapshot::{SCHEMA, Snapshot};
//! let text = format!(
//!     r#"{{ "schema": "{SCHEMA}", "version": "0.1.0", "time_s": 1.7e9, "uptime_s": 60.0,
//! "resident_bytes": 9000000,
//!          "reloads": {{ "done": 1, "refused": 0, "last_error": null }}, "links": [] }}"#
//! );
//! let snapshot: Snapshot = serde_json::from_str(&text)?;
//! assert_eq!(snapshot.reloads.done, 1);
//! # Ok::<(), serde_json::Error>(())
//! ```
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tidegate::{MarkReason, Size};

use crate::path::pool::FrameMemory;
use crate::watch::counters::{DirectionCounters, LossReason, Tally};

/// The document's name and version.
pub const SCHEMA: &str = "tidegate.snapshot/1";

/// The gates of a process at one time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// [`SCHEMA`].
    pub schema: String,
    /// The version of Tidegate that runs.
    pub version: String,
    /// The time of day, in seconds from 1970 on.
    pub time_s: f64,
    /// How long the gates have been running, in seconds.
    pub uptime_s: f64,
    /// The memory of the process that is not swapped out, in bytes.
    pub resident_bytes: u64,
    /// How often the file of links was read again.
    pub reloads: Reloads,
    /// The links, in the order of the file.
    pub links: Vec<LinkSnapshot>,
}

/// How often the file of links was read again, and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reloads {
    /// How often all links went on by it.
    pub done: u64,
    /// So often it was not heeded.
    pub refused: u64,
    /// Why not the last time, if that was the last time that it was read.
    pub last_error: Option<String>,
}

/// A link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkSnapshot {
    /// What it is called.
    pub name: String,
    /// Whether frames are moved still; a link of several may end alone.
    pub running: bool,
    /// When the figures were taken, in seconds from 1970 on. Without much delay, unless the gate
    /// was stopped or has ended.
    pub taken_s: f64,
    /// From `in` to `out`, through the queue.
    pub managed: Direction,
    /// From `out` to `in`; through a queue if the file says so.
    pub reverse: Direction,
}

/// A direction: the account as docs/reference/gate.md has it, and what it is like just now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Direction {
    /// The interface that frames come in by.
    pub from: String,
    /// The interface that they leave by.
    pub to: String,
    /// Taken over from the interface: sent + lost + held.
    pub received: Tally,
    /// Given to the other interface.
    pub sent: Tally,
    /// In the queue and on the delay line now. Not a counter.
    pub held: Tally,
    /// Not sent on, by reason; every reason is there.
    pub lost: BTreeMap<String, Tally>,
    /// Frames that the queue marked, by reason; every reason is there.
    pub marked: BTreeMap<String, u64>,
    /// Of those received, the ones that no queue was to judge.
    pub allowed: Tally,
    /// Frames whose checksum the sender left to hardware.
    pub unfinished: u64,
    /// Frames that the kernel had no room for before we came to receive them: not in `received`.
    pub missed: u64,
    /// Rates of late.
    pub recent: RecentRates,
    /// The memory of waiting frames.
    pub memory: FrameMemory,
    /// The queue; null where there is none.
    pub queue: Option<QueueSnapshot>,
}

/// Rates over the last second or so, of frames without `overhead`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecentRates {
    /// Over how many seconds: about one; less just after the start.
    pub span_s: f64,
    /// What was received, in bit/s.
    pub received_bps: f64,
    /// What was sent, in bit/s.
    pub sent_bps: f64,
    /// What was lost for any reason, in bit/s.
    pub lost_bps: f64,
}

/// A queue and the link behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueSnapshot {
    /// What to call it.
    pub label: String,
    /// Its name in the catalog.
    pub name: String,
    /// Its parameters as texts with units, by name.
    pub parameters: BTreeMap<String, String>,
    /// The managed link's rate, in bit/s.
    pub rate_bps: u64,
    /// How much may wait.
    pub limit: Limit,
    /// Which frames are one flow.
    pub flow_key: String,
    /// How often flows get new keys before the queue, or `off`.
    pub rehash: String,
    /// What a frame takes on the wire beyond its bytes.
    pub overhead: String,
    /// What waits, in queues and beside them (bytes on the wire, `overhead` included); what is on
    /// the delay line does not.
    pub backlog: Tally,
    /// How long the frames had waited that left it over the time of [`RecentRates`]; null if none
    /// did.
    pub delay: Option<QueueDelay>,
    /// The same from the start on.
    pub delays: DelayHistogram,
    /// What the queue shows of its inner state; `tidegate show QUEUE` explains it.
    pub gauges: Vec<GaugeReading>,
    /// The classes, in the order of the file, with the one for what no class takes; empty without
    /// classes.
    pub classes: Vec<ClassAccount>,
    /// Who sends most.
    pub flows: Flows,
}

/// A hard limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// In bytes.
    Bytes(u64),
    /// In packets.
    Packets(u64),
}

/// How long frames had waited in a queue when they left it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueDelay {
    /// How many frames those were.
    pub frames: u64,
    /// The mean, in seconds.
    pub mean_s: f64,
    /// The median, in seconds: at most a quarter too high.
    pub p50_s: f64,
    /// What 99 of 100 do not exceed, in seconds: at most a quarter too high.
    pub p99_s: f64,
    /// The longest, in seconds.
    pub max_s: f64,
}

/// How long frames had waited, counted from the start on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DelayHistogram {
    /// Frames that left the queue.
    pub frames: u64,
    /// How long all of them waited together, in seconds.
    pub sum_s: f64,
    /// How many of them waited no longer than so many seconds; rising, and each with those before
    /// it.
    pub at_most: Vec<Bucket>,
}

/// How many frames waited no longer than a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bucket {
    /// The time, in seconds.
    pub le_s: f64,
    /// How many frames.
    pub frames: u64,
}

/// A gauge of a queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GaugeReading {
    /// Its name, in the paper's terms.
    pub name: String,
    /// Its unit; empty for pure numbers.
    pub unit: String,
    /// The reading; null if it is no finite number.
    pub value: Option<f64>,
}

/// What became of the frames of a class that the queue was to judge: received = left + lost +
/// waiting. Lengths are those on the wire. When a reload changes the classes, their counters begin
/// anew.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassAccount {
    /// What it is called; empty for the one of frames that no class takes.
    pub name: String,
    /// Offered to the queue.
    pub received: Tally,
    /// Left the queue for the link.
    pub left: Tally,
    /// Dropped by the queue, for whatever reason.
    pub lost: Tally,
    /// Waiting now. Not a counter.
    pub waiting: Tally,
}

/// Who sends how much of what the queue is to judge, over the last whole interval. Lengths are
/// those on the wire.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Flows {
    /// How long the interval was, in seconds; 0 before the first has ended.
    pub interval_s: f64,
    /// What arrived, in bit/s.
    pub arrived_bps: f64,
    /// What the flows may send, each no more than this, so that together they fill the link, in
    /// bit/s; null while the link is not congested. With classes the least of them.
    pub fair_bps: Option<f64>,
    /// No flow that is not seen sent more than this, and none of those that are seen sent more than
    /// this beyond what is reported, in bit/s.
    pub unseen_bps: f64,
    /// How often a flow has become an offender. A counter.
    pub became_offender: u64,
    /// Those that are offenders now, the one that sends most first.
    pub offenders: Vec<FlowState>,
    /// The ten that sent most, offenders among them, the one that sent most first.
    pub top: Vec<FlowState>,
}

/// A flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowState {
    /// Who it is, by the flow key: `10.0.0.1:5001 -> 10.0.1.2:80 udp`, `10.0.0.1`.
    pub flow: String,
    /// What arrived of it, in bit/s.
    pub rate_bps: f64,
    /// Its part of all arrivals, 0 to 1.
    pub share: f64,
    /// How many times the fair rate that is; null while the link is not congested.
    pub fair_shares: Option<f64>,
    /// Since when it has been an offender, in seconds from 1970 on; null for one that is none.
    pub offender_since_s: Option<f64>,
    /// Frames of it that the queue dropped: of an offender since it became one, of others in the
    /// interval.
    pub lost_frames: u64,
}

impl From<Size> for Limit {
    fn from(size: Size) -> Limit {
        match size {
            Size::Bytes(bytes) => Limit::Bytes(bytes),
            Size::Packets(packets) => Limit::Packets(packets),
        }
    }
}

impl Snapshot {
    /// The document in one line, with the end of the line.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("names and finite numbers are always JSON") + "\n"
    }
}

impl Direction {
    /// What was lost for any reason.
    pub fn lost_in_all(&self) -> Tally {
        self.lost.values().fold(Tally::default(), |sum, &one| sum + one)
    }

    /// Whether every frame and every byte received is accounted for.
    pub fn balanced(&self) -> bool {
        self.received == self.sent + self.held + self.lost_in_all()
    }
}

/// The lost frames of `counters`, by reason.
pub(crate) fn lost(counters: &DirectionCounters) -> BTreeMap<String, Tally> {
    LossReason::all().map(|why| (why.name().into(), counters.lost(why))).collect()
}

/// The marked frames of `counters`, by reason.
pub(crate) fn marked(counters: &DirectionCounters) -> BTreeMap<String, u64> {
    MarkReason::ALL.iter().map(|&why| (why.name().into(), counters.marked[why as usize])).collect()
}
