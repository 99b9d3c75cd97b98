//! "Will it help my link?": from a capture and a rate to an advice.
//!
//! 1. `survey` reads the capture once, in memory that has a bound: who talks to whom, what each
//!    sends when, what was lost, how long round trips are (`sequence`, `round_trip`, `sides`).
//! 2. `window` finds when the link was busy, `judge` who reacts and who floods.
//! 3. `senders` makes groups of like ones and `rebuild` a scenario of them: senders that hear what
//!    becomes of their packets, since a capture's own would not react to another queue.
//! 4. The scenario runs with each queue; `choose` takes the best.
//!
//! The thresholds were set on captures of one kind and proved on others: see
//! `validation/advise.md`.
mod choose;
mod conversation;
mod gate;
mod judge;
mod promise;
mod rebuild;
mod round_trip;
mod senders;
mod sequence;
mod sides;
mod survey;
mod unknown;
mod window;

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;
use tidegate::{Bytes, ConfigError, Link, Rate, Size};
use tidegate_packet::CaptureError;

pub use choose::{QUEUES, usual};
pub use promise::Promise;
pub use senders::{GroupConduct, Senders};
pub use survey::CONVERSATIONS;

use crate::linux;
use crate::problem::Problems;
use crate::replay::default_limit;
use crate::replication::{Job, Progress, QueueOutcome, RunError, Watch, run};
use crate::scenario::Scenario;
use crate::spec::QueueSpec;
use rebuild::{RebuildSetting, Rebuilt};
use survey::{READING, Survey};
use window::LinkLoad;

/// JSON Schema of [`Advice`].
pub const SCHEMA: &str = include_str!("../../schema/tidegate.advice-1.json");

/// What is asked.
#[derive(Clone, Debug)]
pub struct Advise {
    /// The capture file.
    pub capture: PathBuf,
    /// The link's rate.
    pub rate: Rate,
    /// How much may wait.
    pub limit: Size,
    /// The usual length of a packet.
    pub mean_packet: Bytes,
    /// The queues to try.
    pub queues: Vec<QueueSpec>,
    /// Number of replications; none for five, or down to two where they take long.
    pub seeds: Option<u32>,
    /// Seed of the first replication.
    pub seed: u64,
    /// Whether a capture of one direction is judged. Who reacts shows less well in one.
    pub one_direction: bool,
}

impl Advise {
    /// Asks about the link of `rate` that `capture` is of. It takes the usual queues, a limit of
    /// what the link sends in 100 ms, packets of 1000 B, and seeds from 1 on.
    pub fn new(capture: impl Into<PathBuf>, rate: Rate) -> Advise {
        let mean_packet = Bytes::new(1000);
        let limit = default_limit(rate, mean_packet);
        Advise {
            capture: capture.into(),
            rate,
            limit,
            mean_packet,
            queues: usual(),
            seeds: None,
            seed: 1,
            one_direction: false,
        }
    }

    /// The capture's name: its file's.
    pub fn name(&self) -> String {
        self.capture.file_name().unwrap_or(self.capture.as_os_str()).to_string_lossy().into_owned()
    }

    /// The link.
    ///
    /// # Errors
    /// A link that cannot be; a queue that cannot be on it; two of one label.
    pub fn link(&self) -> Result<Link, ConfigError> {
        let link = Link::new(self.rate, self.limit, self.mean_packet)?;
        QueueSpec::distinct(&self.queues).map_err(|(_, error)| error)?;
        for queue in &self.queues {
            queue.possible(&link)?;
        }
        Ok(link)
    }
}

/// What the answer comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// Another queue helps users.
    Change,
    /// Drop-tail does as well as any queue that was tried.
    Keep,
    /// The link was not congested: no queue can mend anything here.
    NothingToMend,
    /// It was congested, but nobody here could be helped: there are floods only.
    NobodyToHelp,
}

/// What the capture is like.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Seen {
    /// Packets in all.
    pub packets: u64,
    /// From the first to the last, in s.
    pub seconds: f64,
    /// The most that went the loaded way in a tenth of a second or more, in bit/s.
    pub most_bps: f64,
    /// Part of the time in which the link was busy.
    pub busy: f64,
    /// From when to when the answer is about, in s; none without congestion.
    pub window_s: Option<(f64, f64)>,
    /// Of the segments of TCP in the loaded direction, how many were lost.
    pub lost: f64,
    /// What went the other way in the mean, in bit/s.
    pub back_bps: f64,
}

/// The queue to choose, and how.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Choice {
    /// The queue's label, as among those tried.
    pub queue: String,
    /// Its parameters on this link.
    pub params: Vec<(String, String)>,
    /// A gate's file.
    pub gate_toml: String,
    /// The commands for Linux; none if it has no such queue.
    pub tc: Option<Vec<String>>,
}

/// The answer. Fields may be added, never changed: `schema/tidegate.advice-1.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Advice {
    /// `tidegate.advice/1`.
    pub schema: &'static str,
    /// The capture's name.
    pub capture: String,
    /// The link's rate, in bit/s.
    pub rate_bps: f64,
    /// How much may wait, as text with its unit.
    pub limit: String,
    /// What it comes to.
    pub verdict: Conclusion,
    /// What the capture is like.
    pub seen: Seen,
    /// Who sends while the link is congested.
    pub senders: Vec<Senders>,
    /// What users get now, by the capture.
    pub now: Option<Promise>,
    /// What they would get, in the order of the queues tried.
    pub tried: Vec<Promise>,
    /// The queue to choose.
    pub choice: Option<Choice>,
    /// The best of those that Linux has, if that is another one.
    pub linux: Option<Choice>,
    /// What could not be known, in sentences.
    pub unknown: Vec<String>,
}

/// The answer, and what it was worked out from.
#[derive(Clone, Debug)]
pub struct Advised {
    /// The answer.
    pub advice: Advice,
    /// The traffic rebuilt, and what became of it behind each queue; none without congestion.
    pub tried: Option<(Scenario, Vec<QueueOutcome>)>,
    /// What stopped the reading before the file's end. The answer is of the packets before.
    pub damage: Option<CaptureError>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AdviseError {
    /// The capture cannot be read, not even its first packet.
    Capture(CaptureError),
    /// It is sound and holds no packet.
    Empty(PathBuf),
    /// No packet of it is one of IP.
    NoIp(PathBuf, Option<CaptureError>),
    /// Nobody's answers are in it, and [`Advise::one_direction`] was not asked for; and what
    /// stopped the reading before the file's end.
    OneDirection(PathBuf, Option<CaptureError>),
    /// The link or a queue cannot be.
    Queue(ConfigError),
    /// The rebuilt traffic cannot be simulated.
    Scenario(Problems),
    /// [`Watch::cancelled`] said so.
    Cancelled,
}

impl fmt::Display for AdviseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AdviseError::Capture(error) => error.fmt(f),
            AdviseError::Empty(path) => {
                write!(f, "`{}` is a capture without a packet", path.display())
            }
            AdviseError::NoIp(path, damage) => {
                write!(f, "{}: no IP packets in it, so nobody to advise", path.display())?;
                damaged(f, damage.as_ref())
            }
            AdviseError::OneDirection(path, damage) => {
                write!(
                    f,
                    "{}: one direction only: nobody's answers are in it, so round trips and who \
                     reacts show less well. Capture both directions, or let this one do with \
                     --one-direction",
                    path.display()
                )?;
                damaged(f, damage.as_ref())
            }
            AdviseError::Queue(error) => error.fmt(f),
            AdviseError::Scenario(problems) => problems.fmt(f),
            AdviseError::Cancelled => f.write_str("cancelled; nothing was written"),
        }
    }
}

/// What stopped the reading of a capture, behind what was found before.
fn damaged(f: &mut fmt::Formatter<'_>, damage: Option<&CaptureError>) -> fmt::Result {
    damage.map_or(Ok(()), |damage| write!(f, "\nOnly a part was read: {damage}"))
}

impl std::error::Error for AdviseError {}

/// Answers `job`.
///
/// # Errors
/// See [`AdviseError`]. A capture that is damaged after its first packet is no error: the answer
/// says so.
pub fn advise(job: &Advise, watch: &dyn Watch) -> Result<Advised, AdviseError> {
    let link = job.link().map_err(AdviseError::Queue)?;
    let survey = Survey::read(&job.capture, watch)?;
    if !survey.has_ip() {
        return Err(AdviseError::NoIp(job.capture.clone(), survey.damage));
    }
    let loaded = survey.loaded();
    if loaded.back_packets == 0 && !job.one_direction {
        return Err(AdviseError::OneDirection(job.capture.clone(), survey.damage.clone()));
    }
    let load = LinkLoad::new(&survey, &loaded, job.rate);
    let capacity = job.rate.as_bps() as f64;
    let mut advice = Advice {
        schema: "tidegate.advice/1",
        capture: job.name(),
        rate_bps: capacity,
        limit: job.limit.to_string(),
        verdict: Conclusion::NothingToMend,
        seen: seen(&survey, &loaded, &load),
        senders: vec![],
        now: None,
        tried: vec![],
        choice: None,
        linux: None,
        unknown: unknown::of_capture(&survey),
    };
    let damage = survey.damage.clone();
    let Some(window) = load.congested() else { return Ok(Advised { advice, tried: None, damage }) };
    let judgement = judge::judge(&survey, &loaded, &load, window, capacity);
    let grid = load.grid;
    let at = |index: u32| f64::from(index) * grid.seconds();
    advice.seen.window_s = Some((at(judgement.window.from), at(judgement.window.to)));
    advice.senders = senders::groups(&judgement, grid);
    let more = unknown::of_senders(&judgement, &loaded, &load, &advice.senders);
    advice.unknown.splice(0..0, more);
    advice.now = Some(promise::now(&judgement, &advice.senders, capacity));
    if !advice.senders.iter().any(|group| group.conduct != GroupConduct::Flood) {
        advice.verdict = Conclusion::NobodyToHelp;
        return Ok(Advised { advice, tried: None, damage });
    }
    let (scenario, short) = rebuilt(job, &advice.senders)?;
    advice.unknown.extend(short.map(unknown::of_length));
    let outcomes = tried(job, &scenario, watch)?;
    for (spec, outcome) in job.queues.iter().zip(&outcomes) {
        let promise = promise::simulated(spec, &outcome.document, &advice.senders, capacity);
        advice.tried.push(promise);
    }
    decide(job, &link, &mut advice);
    Ok(Advised { advice, tried: Some((scenario, outcomes)), damage })
}

fn seen(survey: &Survey, loaded: &survey::Loaded<'_>, load: &LinkLoad) -> Seen {
    let seconds = survey.last.as_nanos() as f64 / 1e9;
    let ways = || loaded.flows.iter().map(|flow| flow.way());
    let sent: u64 = ways().map(|way| way.data_packets).sum();
    Seen {
        packets: survey.packets,
        seconds,
        most_bps: load.most(),
        busy: load.busy(),
        window_s: None,
        lost: ways().map(|way| way.lost()).sum::<u64>() as f64 / sent.max(1) as f64,
        back_bps: loaded.back_bytes as f64 * 8.0 / seconds.max(1e-3),
    }
}

/// The traffic rebuilt.
fn rebuilt(job: &Advise, senders: &[Senders]) -> Result<Rebuilt, AdviseError> {
    let setting = RebuildSetting {
        rate: job.rate,
        limit: job.limit,
        mean_packet: job.mean_packet,
        queues: &job.queues,
        usual: QUEUES.len(),
        seeds: job.seeds,
        seed: job.seed,
        name: &job.name(),
    };
    rebuild::scenario(&setting, senders).map_err(AdviseError::Scenario)
}

/// What becomes of it behind each queue.
fn tried(
    job: &Advise,
    scenario: &Scenario,
    watch: &dyn Watch,
) -> Result<Vec<QueueOutcome>, AdviseError> {
    let (scenario, queues) = (scenario.clone(), job.queues.clone());
    let of = Job { scenario, queues, flows: false, series: false, threads: None };
    run(&of, &Rest(watch)).map_err(|error| match error {
        RunError::Cancelled => AdviseError::Cancelled,
        RunError::Invalid(problems) => AdviseError::Scenario(problems),
    })
}

/// The part of the work that comes after the capture was read.
struct Rest<'w>(&'w dyn Watch);

impl Watch for Rest<'_> {
    fn progress(&self, progress: Progress) {
        let fraction = READING + (1.0 - READING) * progress.fraction;
        self.0.progress(Progress { fraction, ..progress });
    }
    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
    fn thread(&self, work: &mut (dyn FnMut() + Send)) {
        self.0.thread(work);
    }
}

/// Takes the best queue, and the best that Linux has.
fn decide(job: &Advise, link: &Link, advice: &mut Advice) {
    let choice = |index: usize| {
        let spec = &job.queues[index];
        let config = spec.resolve(link).ok()?;
        Some(Choice {
            queue: spec.label(),
            params: config.values().into_iter().map(|(p, value)| (p.name.into(), value)).collect(),
            gate_toml: gate::toml(spec, &config, link),
            tc: linux::commands(spec, &config, link, "eth2"),
        })
    };
    let present = job.queues.iter().position(|spec| spec.name == "drop_tail");
    let Some(best) = choose::best(&advice.tried, |_| true) else {
        advice.verdict = Conclusion::NobodyToHelp;
        return;
    };
    let helps = present.is_none_or(|now| choose::helps(&advice.tried[best], &advice.tried[now]));
    if !helps {
        advice.verdict = Conclusion::Keep;
        return;
    }
    advice.verdict = Conclusion::Change;
    advice.choice = choice(best);
    let has = |index: usize| choice(index).is_some_and(|choice| choice.tc.is_some());
    let linux = choose::best(&advice.tried, has).filter(|&index| index != best);
    let better = |&index: &usize| {
        present.is_none_or(|now| choose::helps(&advice.tried[index], &advice.tried[now]))
    };
    advice.linux = linux.filter(|_| !has(best)).filter(better).and_then(choice);
}
