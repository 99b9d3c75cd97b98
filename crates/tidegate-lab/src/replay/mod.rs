//! Real packets of a capture, offered to a queue at their recorded times.
//!
//! The link behind the queue is work-conserving and paced exactly
//! ([`Pacer`](tidegate::units::Pacer)). The senders of a capture do not react: a replay shows what
//! a queue would have done to *this* traffic, not what the traffic would then have become. Lengths
//! are those on the wire. A packet that arrives in the instant in which the link falls free finds
//! the place that the next departure left.
//!
//! **Figures.** Rates, utilization and the mean queue are taken over the capture's duration, from
//! its first packet to its last. What still waits then is sent on, so that every packet's fate is
//! known: counts and delays are of all packets. The series ends with the capture. Groups are by
//! protocol, packet by packet: `tcp`, `udp`, `other`, which are also the packets' classes 0, 1 and
//! 2 to queues with classes. Goodput is not known to a replay.
//!
//! **Memory** does not grow with the file. There is room for [`FLOWS`] flows; packets of later ones
//! are counted together as `other flows`. Then there is no Jain index and no fair share, which
//! would need every flow. Flows share [`CELLS`] cells for their delay quantiles; a flow that finds
//! none left has a mean but no quantiles. The series has at most [`POINTS`] points; its grid grows
//! with the capture.
//!
//! ```
//! use tidegate_lab::replay::{ReplayJob, replay};
//! # let dir = tempfile::tempdir()?;
//! # let file = dir.path().join("two.pcap");
//! # std::fs::write(&file, [
//! #     &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0][..],
//! #     &[0, 0, 0, 0, 96, 0, 0, 0, 1, 0, 0, 0],
//! #     &[10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 232, 3, 0, 0],
//! #     &[11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 232, 3, 0, 0],
//! # ].concat())?;
//! let job = ReplayJob::new(file, "10 Mbit/s".parse()?, vec!["drop_tail".parse()?]);
//! let replayed = replay(&job, &())?;
//! let flows = replayed.outcomes[0].document.flows.as_ref().unwrap();
//! assert_eq!(flows[0].packets.unwrap().delivered, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
mod delays;
mod flows;
mod line;
mod result;
mod series;

use std::fmt;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rayon::prelude::*;
use tidegate::catalog::{AnyConfig, TARGET_RTT};
use tidegate::{Asks, Bytes, ConfigError, Link, Packet, Rate, Seed, Size, Time};
use tidegate_packet::{Capture, CaptureError, Ends, FlowHasher, FlowKey, Skips, Transport};

use crate::replication::{Progress, QueueOutcome, Watch};
use crate::results::{self, ResultFile};
use crate::spec::QueueSpec;
pub use delays::CELLS;
pub use flows::FLOWS;
use line::ReplayLine;
pub use series::POINTS;

/// The most bytes a link's default limit holds.
const MOST_DEFAULT: u64 = 16_000_000_000;
/// The least mean packets a link's default limit holds.
const LEAST_DEFAULT: u64 = 10;
/// Packets between two looks at whether to give up.
const LOOK_EVERY: u64 = 4096;

/// What to replay, and through what.
#[derive(Clone, Debug)]
pub struct ReplayJob {
    /// The capture file, pcap or pcapng, perhaps packed by gzip.
    pub capture: PathBuf,
    /// The link's rate.
    pub rate: Rate,
    /// The queue's hard limit.
    pub limit: Size,
    /// The usual length of a packet, which turns bytes into packets and back.
    pub mean_packet: Bytes,
    /// The queues, one result each.
    pub queues: Vec<QueueSpec>,
    /// Which packets are one flow.
    pub flow_key: FlowKey,
    /// The seed of the queue's dice and of the flow hash.
    pub seed: u64,
    /// The most flows that a document lists, those that offered most bytes first; the rest is
    /// summed up as one.
    pub listed: usize,
}

impl ReplayJob {
    /// Replays `capture` through each of `queues` before a link of `rate`. It takes the [default
    /// limit](default_limit), packets of 1000 B in the mean, flows by five-tuple and seed 1, and
    /// lists a thousand flows.
    pub fn new(capture: impl Into<PathBuf>, rate: Rate, queues: Vec<QueueSpec>) -> ReplayJob {
        let mean_packet = Bytes::new(1000);
        ReplayJob {
            capture: capture.into(),
            rate,
            limit: default_limit(rate, mean_packet),
            mean_packet,
            queues,
            flow_key: FlowKey::FiveTuple,
            seed: 1,
            listed: 1000,
        }
    }

    /// The capture's name: its file's.
    pub fn name(&self) -> String {
        self.capture.file_name().unwrap_or(self.capture.as_os_str()).to_string_lossy().into_owned()
    }

    /// The job as TOML with every default spelled out, for people to read.
    pub fn resolved(&self) -> String {
        let quoted = |text: String| serde_json::Value::from(text).to_string();
        let queues: Vec<String> = self.queues.iter().map(|q| quoted(q.to_string())).collect();
        let pairs = [
            ("capture", quoted(self.name())),
            ("rate", quoted(self.rate.to_string())),
            ("limit", quoted(self.limit.to_string())),
            ("mean_packet", quoted(self.mean_packet.to_string())),
            ("flow_key", quoted(self.flow_key.to_string())),
            ("seed", self.seed.to_string()),
            ("queues", format!("[{}]", queues.join(", "))),
        ];
        pairs.map(|(key, value)| format!("{key} = {value}\n")).concat()
    }

    /// The link and every queue's parameters on it.
    ///
    /// # Errors
    /// A link that cannot be, a queue that does not exist, a parameter out of bounds, two queues of
    /// one label.
    pub fn resolve(&self) -> Result<(Link, Vec<AnyConfig>), ConfigError> {
        let link = Link::new(self.rate, self.limit, self.mean_packet)?;
        QueueSpec::distinct(&self.queues).map_err(|(_, error)| error)?;
        let configs: Vec<AnyConfig> =
            self.queues.iter().map(|q| q.resolve(&link)).collect::<Result<_, _>>()?;
        for config in &configs {
            config.build(link, Seed::new(self.seed).stream("queue"))?;
        }
        Ok((link, configs))
    }
}

/// The limit of a link at `rate` that names none: what it sends in [`TARGET_RTT`], at least ten
/// mean packets.
pub fn default_limit(rate: Rate, mean_packet: Bytes) -> Size {
    let least = LEAST_DEFAULT.saturating_mul(mean_packet.get());
    Size::Bytes(rate.bytes_in(TARGET_RTT).get().min(MOST_DEFAULT).max(least))
}

/// What came of a replay.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// One per queue, in order.
    pub outcomes: Vec<QueueOutcome>,
    /// What stopped the reading before the file's end. The outcomes are then of the packets
    /// before.
    pub damage: Option<CaptureError>,
    /// How many packets were stamped earlier than the one before them; they were offered at that
    /// one's time.
    pub backward: u64,
    /// Packets that were passed over because their interface's link type cannot be read.
    pub skipped: Skips,
    /// How many packets were of flows that there was no room for any more (see [`FLOWS`]).
    pub crowded: u64,
}

impl Replayed {
    /// What is odd about the capture, in sentences; empty for a usual one.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = vec![];
        if self.skipped.packets() > 0 {
            notes.push(format!("{}.", self.skipped));
        }
        if self.backward > 0 {
            notes.push(format!(
                "{} packets were stamped earlier than the one before them; they were offered at \
                 that one's time.",
                self.backward
            ));
        }
        if self.crowded > 0 {
            notes.push(format!(
                "The capture has more than {FLOWS} flows: {} packets of later ones are counted \
                 together, and there is no Jain index and no fair share. A coarser flow key makes \
                 fewer flows.",
                self.crowded
            ));
        }
        notes
    }
}

/// Why there is no result at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayError {
    /// The capture cannot be read, not even its first packet.
    Capture(CaptureError),
    /// It is sound and holds no packet.
    Empty(PathBuf),
    /// The link or a queue cannot be.
    Queue(ConfigError),
    /// [`Watch::cancelled`] said so.
    Cancelled,
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::Capture(error) => error.fmt(f),
            ReplayError::Empty(path) => {
                write!(f, "`{}` is a capture without a packet", path.display())
            }
            ReplayError::Queue(error) => error.fmt(f),
            ReplayError::Cancelled => f.write_str("cancelled; nothing was written"),
        }
    }
}

impl std::error::Error for ReplayError {}

/// Replays the capture of `job` through each of its queues, side by side on all cores.
///
/// # Errors
/// See [`ReplayError`]. A capture that is damaged after its first packet is no error: see
/// [`Replayed::damage`].
pub fn replay(job: &ReplayJob, watch: &dyn Watch) -> Result<Replayed, ReplayError> {
    let (link, configs) = job.resolve().map_err(ReplayError::Queue)?;
    let work: Vec<(&QueueSpec, &AnyConfig)> = job.queues.iter().zip(&configs).collect();
    let passes = Passes::new(watch, work.len(), file_length(&job.capture));
    let done: Vec<Pass> = work
        .into_par_iter()
        .enumerate()
        .map(|(i, (spec, config))| pass(job, &link, spec, config, &mut |at| passes.tell(i, at)))
        .collect::<Result<_, _>>()?;
    // Every pass has read the same file.
    let first = done.first();
    let damage = first.and_then(|p| p.damage.clone());
    let skipped = first.map(|p| p.skipped.clone()).unwrap_or_default();
    let (backward, crowded) = first.map_or((0, 0), |p| (p.backward, p.crowded));
    Ok(Replayed {
        outcomes: done.into_iter().map(|p| p.outcome).collect(),
        damage,
        backward,
        skipped,
        crowded,
    })
}

/// The files that go with `replayed`: `result.json` (one document, or a list for several queues),
/// `series.json` and `replay.toml` (resolved). `report.html` is the report crate's; add it.
pub fn files(job: &ReplayJob, outcomes: &[QueueOutcome]) -> Vec<ResultFile> {
    let mut files = results::documents(outcomes);
    files.push(ResultFile { name: "replay.toml".into(), bytes: job.resolved().into_bytes() });
    files
}

/// One queue's way through the file.
struct Pass {
    outcome: QueueOutcome,
    damage: Option<CaptureError>,
    backward: u64,
    skipped: Skips,
    crowded: u64,
}

fn pass(
    job: &ReplayJob,
    link: &Link,
    spec: &QueueSpec,
    config: &AnyConfig,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<Pass, ReplayError> {
    let begun = Instant::now();
    let mut capture = Capture::open(&job.capture).map_err(ReplayError::Capture)?;
    let seed = Seed::new(job.seed);
    let queue = config.build(*link, seed.stream("queue")).map_err(ReplayError::Queue)?;
    let mut line = ReplayLine::new(queue, link);
    let hasher = FlowHasher::seeded(job.flow_key, seed);
    let (damage, last) = offer_all(&mut capture, &mut line, (hasher, config.asks()), go_on)?;
    if line.offered() == 0 {
        return Err(
            damage.map_or_else(|| ReplayError::Empty(job.capture.clone()), ReplayError::Capture)
        );
    }
    line.end(last);
    let crowded = line.tally.flows.others.packets.offered;
    let mut outcome = result::outcome(job, link, spec, config, line, last);
    let skipped = capture.skipped().clone();
    outcome.document.incomplete = incomplete(damage.as_ref(), &skipped);
    outcome.document.wall_s = Some(begun.elapsed().as_secs_f64());
    Ok(Pass { outcome, damage, backward: capture.backward(), skipped, crowded })
}

/// What the result lacks of the capture.
fn incomplete(damage: Option<&CaptureError>, skipped: &Skips) -> Option<String> {
    let skipped = (skipped.packets() > 0).then(|| skipped.to_string());
    let parts: Vec<String> = damage.map(ToString::to_string).into_iter().chain(skipped).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Offers every packet that can be read; what stopped the reading, and the time of the last packet.
fn offer_all(
    capture: &mut Capture<BufReader<std::fs::File>>,
    line: &mut ReplayLine,
    (hasher, asks): (FlowHasher, Asks),
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<(Option<CaptureError>, Time), ReplayError> {
    let mut last = Time::ZERO;
    loop {
        if line.offered().is_multiple_of(LOOK_EVERY) && !go_on(capture.offset()) {
            return Err(ReplayError::Cancelled);
        }
        match capture.next_packet() {
            Ok(Some(captured)) => {
                last = captured.time;
                let frame = captured.frame();
                let class = class(&frame.ends);
                let slot = line
                    .tally
                    .flows
                    .slot(hasher.hash(&frame.ends), class, || hasher.flow(&frame.ends));
                let packet = Packet::new(slot.flow_hash, frame.len).with_class(class as u16);
                let packet = packet.with_ecn(frame.ecn).with_slot(slot.number);
                let packet = hasher.answer(asks, packet, &frame, captured.bytes);
                let ack = hasher.ack(asks, &frame, captured.bytes);
                line.offer(last, packet, ack.as_ref());
            }
            Ok(None) => return Ok((None, last)),
            Err(damage) => return Ok((Some(damage), last)),
        }
    }
}

/// The groups of a replay, in the order of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplayGroup {
    Tcp,
    Udp,
    Other,
}

impl ReplayGroup {
    const ALL: [ReplayGroup; 3] = [ReplayGroup::Tcp, ReplayGroup::Udp, ReplayGroup::Other];

    const fn name(self) -> &'static str {
        match self {
            ReplayGroup::Tcp => "tcp",
            ReplayGroup::Udp => "udp",
            ReplayGroup::Other => "other",
        }
    }
}

fn class(ends: &Ends) -> ReplayGroup {
    let protocol = match ends.transport {
        Transport::Ports { protocol, .. }
        | Transport::Portless { protocol }
        | Transport::Fragment { protocol } => protocol,
        _ => return ReplayGroup::Other,
    };
    match protocol {
        6 => ReplayGroup::Tcp,
        17 => ReplayGroup::Udp,
        _ => ReplayGroup::Other,
    }
}

fn file_length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |m| m.len())
}

/// How far the passes have come, all together.
struct Passes<'a> {
    watch: &'a dyn Watch,
    length: u64,
    at: Vec<std::sync::atomic::AtomicU64>,
}

impl<'a> Passes<'a> {
    fn new(watch: &'a dyn Watch, passes: usize, length: u64) -> Passes<'a> {
        Passes { watch, length, at: (0..passes).map(|_| Default::default()).collect() }
    }

    /// Pass `i` has read the file up to byte `at`; whether it shall go on.
    fn tell(&self, i: usize, at: u64) -> bool {
        use std::sync::atomic::Ordering::Relaxed;
        self.at[i].store(at, Relaxed);
        let at: Vec<u64> = self.at.iter().map(|a| a.load(Relaxed)).collect();
        let whole = self.length.max(1) as f64 * at.len() as f64;
        let fraction = (at.iter().sum::<u64>() as f64 / whole).min(1.0);
        let done = at.iter().filter(|&&a| a >= self.length).count();
        self.watch.progress(Progress { fraction, done, of: at.len() });
        !self.watch.cancelled()
    }
}
