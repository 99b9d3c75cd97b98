//! The senders of a capture in groups of like ones, as they are reported and rebuilt.
use serde::Serialize;
use tidegate::{Rate, Span};

use super::conversation::DirectedFlow;
use super::judge::{CongestedSenders, Judged, SenderKind, Spot};

/// Groups of one kind; what is left over goes with the last.
const MOST_GROUPS: usize = 6;
/// Senders whose rates differ by no more than this factor are alike.
const ALIKE: f64 = 1.25;
/// What Ethernet carries, and so what frames are rebuilt with that a driver had merged.
const FRAME: u32 = 1514;
/// A flood that sends for less of its time comes and goes.
const GOES: f64 = 0.85;
/// Values that a scenario takes in a list.
pub(super) const MOST_LISTED: usize = 1000;

/// What kind of senders a group has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GroupConduct {
    /// TCP that goes on and heeds losses.
    Users,
    /// Transfers over TCP that end.
    Short,
    /// They heed nothing and ask for more than their share.
    Flood,
    /// They heed nothing, or were never held back, and ask for less than their share.
    Thin,
    /// Encrypted QUIC, taken to react.
    Quic,
    /// Datagrams both ways at a varying rate, taken to react.
    Untold,
}

/// Senders that are alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Senders {
    /// Its name in the scenario and in results.
    pub name: String,
    /// What kind they are.
    pub conduct: GroupConduct,
    /// How many.
    pub count: u32,
    /// Whether they speak ECN.
    pub ecn: bool,
    /// Their round trips without the wait in the queue, in ms, in order; as far as known.
    pub round_trips_ms: Vec<f64>,
    /// What each asks for while it sends, in bit/s; of users, what each sent.
    pub rate_bps: f64,
    /// Part of its time in which each sends.
    pub duty: f64,
    /// Length of their packets, in bytes.
    pub packet: u32,
    /// Of their packets, how many were lost; of a flood nobody can see it.
    pub lost: f64,
    /// Whom they are, the first few by name.
    pub who: Vec<String>,
    /// What each of them got, in bit/s, from least to most; of transfers that end, their sizes in
    /// bytes as they came.
    #[serde(skip)]
    pub(super) each: Vec<f64>,
    /// How long they send and are silent, in ms.
    #[serde(skip)]
    pub(super) periods_ms: (Vec<f64>, Vec<f64>),
    /// How many a second begin, of transfers that end.
    pub arrivals_per_s: Option<f64>,
    /// How long each took that ended, in ms, from least to most.
    #[serde(skip)]
    pub(super) took_ms: Vec<f64>,
}

/// Names that are listed.
const NAMED: usize = 3;

impl Senders {
    /// Whether they heed losses, as far as anybody can tell.
    pub fn responsive(&self) -> bool {
        matches!(
            self.conduct,
            GroupConduct::Users | GroupConduct::Short | GroupConduct::Quic | GroupConduct::Untold
        )
    }

    /// Whether they go on, and so have a share.
    pub fn goes_on(&self) -> bool {
        self.responsive() && self.conduct != GroupConduct::Short
    }

    /// What each asks for in the mean; none for what takes all it gets.
    pub fn demand(&self) -> Option<f64> {
        (!self.responsive()).then_some(self.rate_bps * self.duty)
    }

    /// Whether they come and go.
    pub(super) fn comes_and_goes(&self) -> bool {
        let (on, off) = &self.periods_ms;
        self.duty < GOES && on.len() > 1 && !off.is_empty()
    }
}

/// The groups of `judgement` on a link of `rate`.
pub(super) fn groups(
    judgement: &CongestedSenders<'_>,
    grid: super::conversation::TimeGrid,
) -> Vec<Senders> {
    let pen = GroupWriter {
        judgement,
        seconds: judgement.window.seconds(grid),
        step_ms: grid.seconds() * 1e3,
    };
    let mut groups = vec![];
    let kinds = [
        (SenderKind::Long, GroupConduct::Users, "users"),
        (SenderKind::Quic, GroupConduct::Quic, "quic"),
        (SenderKind::Untold, GroupConduct::Untold, "untold"),
        (SenderKind::Short, GroupConduct::Short, "transfers"),
        (SenderKind::Thin, GroupConduct::Thin, "thin"),
        (SenderKind::Flood, GroupConduct::Flood, "flood"),
    ];
    for (kind, conduct, name) in kinds {
        let mut of_kind: Vec<&Judged<'_>> =
            judgement.flows.iter().filter(|j| j.kind == kind).collect();
        let (plain, capable): (Vec<_>, Vec<_>) = of_kind.drain(..).partition(|j| !capable(j));
        let both = !plain.is_empty() && !capable.is_empty();
        for (members, ecn) in [(plain, false), (capable, true)] {
            let name = if both && ecn { format!("{name}-ecn") } else { name.to_string() };
            for (index, part) in parts(members, conduct).into_iter().enumerate() {
                let number = if index == 0 { String::new() } else { format!("-{}", index + 1) };
                groups.push(pen.senders(&part, conduct, format!("{name}{number}"), ecn));
            }
        }
    }
    groups
}

/// Whether most of a flow's packets may be marked.
fn capable(judged: &Judged<'_>) -> bool {
    let way = judged.flow.way();
    let of = if way.data_packets > 0 { way.data_packets } else { way.packets };
    way.capable * 2 > of
}

/// Flows at a fixed rate by their rates, the greatest first; others all together.
fn parts<'j, 's>(
    mut flows: Vec<&'j Judged<'s>>,
    conduct: GroupConduct,
) -> Vec<Vec<&'j Judged<'s>>> {
    flows.sort_by(|a, b| b.rate.total_cmp(&a.rate));
    let by_rate = matches!(conduct, GroupConduct::Flood | GroupConduct::Thin);
    let mut parts: Vec<Vec<&Judged<'_>>> = vec![];
    for flow in flows {
        let full = parts.len() == MOST_GROUPS;
        let alike = |part: &&mut Vec<&Judged<'_>>| {
            !by_rate || full || part.first().is_some_and(|first| first.rate < ALIKE * flow.rate)
        };
        match parts.last_mut().filter(alike) {
            Some(part) => part.push(flow),
            None => parts.push(vec![flow]),
        }
    }
    parts
}

/// What groups are written from.
struct GroupWriter<'j, 's> {
    judgement: &'j CongestedSenders<'s>,
    seconds: f64,
    step_ms: f64,
}

impl GroupWriter<'_, '_> {
    fn senders(
        &self,
        flows: &[&Judged<'_>],
        conduct: GroupConduct,
        name: String,
        ecn: bool,
    ) -> Senders {
        let count = flows.len().max(1) as f64;
        let sum = |of: fn(&Judged<'_>) -> f64| flows.iter().map(|j| of(j)).sum::<f64>();
        let packets = sum(|j| j.sent.packets as f64).max(1.0);
        let fixed = matches!(conduct, GroupConduct::Flood | GroupConduct::Thin);
        let rate = if fixed {
            sum(|j| j.rate) / count * self.thinned(conduct)
        } else {
            sum(|j| j.sent.bytes as f64) * 8.0 / self.seconds / count
        };
        let step = |steps: &Vec<u32>| steps.iter().map(|&n| f64::from(n) * self.step_ms).collect();
        let mut round_trips_ms: Vec<f64> = flows
            .iter()
            .filter_map(|j| j.round_trip)
            .map(|(span, _)| span.as_secs() * 1e3)
            .collect();
        round_trips_ms.sort_by(f64::total_cmp);
        Senders {
            name,
            conduct,
            count: flows.len() as u32,
            ecn,
            round_trips_ms,
            rate_bps: rate,
            duty: if fixed { sum(|j| j.sent.duty()) / count } else { 1.0 },
            packet: self.packet(flows, fixed),
            lost: sum(|j| j.sent.again as f64) / packets,
            who: flows.iter().take(NAMED).map(|j| j.flow.ends().to_string()).collect(),
            each: self.each(flows, conduct),
            periods_ms: flows
                .first()
                .map_or_else(Default::default, |j| (step(&j.sent.on), step(&j.sent.off))),
            arrivals_per_s: (conduct == GroupConduct::Short).then(|| count / self.seconds),
            took_ms: took(flows),
        }
    }

    /// By what a rate grows that was captured behind the queue: what was lost there is missing.
    fn thinned(&self, conduct: GroupConduct) -> f64 {
        if self.judgement.spot != Spot::Behind || conduct != GroupConduct::Flood {
            return 1.0;
        }
        let users = self.judgement.flows.iter().filter(|j| j.kind == SenderKind::Long);
        let (lost, packets) = users
            .fold((0, 0), |(lost, packets), j| (lost + j.sent.again, packets + j.sent.packets));
        (packets + lost) as f64 / packets.max(1) as f64
    }

    /// The usual length of their packets: of TCP the longest, of others the mean.
    fn packet(&self, flows: &[&Judged<'_>], fixed: bool) -> u32 {
        let tcp = flows.iter().all(|j| j.flow.way().data > 0);
        if tcp && !fixed {
            let mut longest: Vec<u32> = flows.iter().map(|j| j.flow.way().longest).collect();
            longest.sort_unstable();
            let median = longest.get(longest.len() / 2).copied().unwrap_or(FRAME);
            return if median > 9_300 { FRAME } else { median.max(100) };
        }
        let sum = |of: fn(&Judged<'_>) -> u64| flows.iter().map(|j| of(j)).sum::<u64>();
        let mean = sum(|j| j.sent.bytes) / sum(|j| j.sent.packets).max(1);
        if mean > 9_300 { FRAME } else { (mean as u32).max(41) }
    }

    /// What each got; of transfers that end, how much each sent.
    fn each(&self, flows: &[&Judged<'_>], conduct: GroupConduct) -> Vec<f64> {
        if conduct == GroupConduct::Short {
            let mut by_time: Vec<_> = flows.iter().map(|j| j.flow).collect();
            by_time.sort_by_key(|flow| flow.way().first);
            return by_time.iter().map(|flow| self.size(*flow).max(1) as f64).collect();
        }
        let got = |j: &&Judged<'_>| {
            // Behind the queue each segment passes once.
            let twice = if self.judgement.spot == Spot::Behind { 0 } else { j.sent.again };
            let once = 1.0 - twice as f64 / j.sent.packets.max(1) as f64;
            j.sent.bytes as f64 * once.max(0.0) * 8.0 / self.seconds
        };
        let mut each: Vec<f64> = flows.iter().map(got).collect();
        each.sort_by(f64::total_cmp);
        each
    }

    /// How much a transfer sends. One that has not ended has sent a part: it is taken to be as
    /// large as the median of those larger ones that have.
    fn size(&self, flow: DirectedFlow<'_>) -> u64 {
        let sent = flow.way().once();
        if flow.ended().is_some() {
            return sent;
        }
        let sizes = &self.judgement.sizes;
        let larger = &sizes[sizes.partition_point(|size| *size < sent)..];
        larger.get(larger.len() / 2).copied().unwrap_or(sent)
    }
}

/// How long each took that ended, in ms, from least to most.
fn took(flows: &[&Judged<'_>]) -> Vec<f64> {
    let took = |j: &&Judged<'_>| {
        let (way, back) = (j.flow.way(), j.flow.back());
        let begun = [way.opened, back.opened].into_iter().flatten().min()?;
        Some(j.flow.ended()?.since(begun).as_secs() * 1e3)
    };
    let mut took: Vec<f64> = flows.iter().filter_map(took).collect();
    took.sort_by(f64::total_cmp);
    took
}

/// `values` in a list that a scenario takes: as they come, or so many of them, evenly picked.
pub(super) fn picked(values: &[f64]) -> Vec<f64> {
    let count = values.len().min(MOST_LISTED);
    (0..count).map(|i| values[i * values.len() / count]).collect()
}

/// `bps` as a rate, at least one bit a second.
pub(super) fn rate(bps: f64) -> Rate {
    Rate::from_bps(bps.round().max(1.0) as u64)
}

/// `ms` as a time, to the microsecond.
pub(super) fn span(ms: f64) -> Span {
    Span::from_nanos((ms * 1e3).round().max(0.0) as u64 * 1000)
}
