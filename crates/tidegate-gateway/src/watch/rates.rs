//! What happened in a second, from two snapshots of a gate.
use std::collections::BTreeMap;

use serde::Serialize;

use crate::watch::counters::Tally;
use crate::watch::snapshot::{ClassAccount, Direction, LinkSnapshot, Snapshot};

/// Two snapshots that are further apart, in seconds, say nothing of a second.
const LONGEST: f64 = 10.0;
/// By so much, in seconds, the time of two starts may seem to differ that are one: clocks are set.
const SAME_START: f64 = 0.5;

/// Frames of a kind in a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FrameRate {
    /// Their lengths, in bit/s.
    pub bps: f64,
    /// How many, 1/s.
    pub frames: f64,
}

/// What became of a direction's frames in a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Rates {
    /// Received.
    pub received: FrameRate,
    /// Sent.
    pub sent: FrameRate,
    /// Lost for any reason.
    pub lost: FrameRate,
    /// Lost for each reason that any were lost for, the most frequent first, 1/s.
    pub lost_by: Vec<(String, f64)>,
    /// Marked for any reason, 1/s.
    pub marked: f64,
    /// Marked for each reason that any were marked for, the most frequent first, 1/s.
    pub marked_by: Vec<(String, f64)>,
    /// Missed by the kernel, 1/s.
    pub missed: f64,
    /// For each class, what left the queue and what it lost; none just after they have changed.
    pub classes: Vec<Option<[FrameRate; 2]>>,
}

/// Both directions of a link: the managed one, the reverse.
pub type Both = [Rates; 2];

/// Whether two snapshots are of the same run of a gate, `old` the earlier one.
pub fn same_run(old: &Snapshot, new: &Snapshot) -> bool {
    let start = |snapshot: &Snapshot| snapshot.time_s - snapshot.uptime_s;
    new.uptime_s >= old.uptime_s && (start(new) - start(old)).abs() < SAME_START
}

/// For each link of `new` what happened since `old`. It is none if that is unknown: the gate was
/// started anew, the link was not there, its figures are the same still, or too much time has
/// passed.
pub fn between(old: &Snapshot, new: &Snapshot) -> Vec<Option<Both>> {
    let same = same_run(old, new);
    let of = |link: &LinkSnapshot| {
        let before = old.links.iter().find(|before| before.name == link.name)?;
        let span = link.taken_s - before.taken_s;
        if !same || span <= 0.0 || span > LONGEST {
            return None;
        }
        let managed = direction(&before.managed, &link.managed, span)?;
        Some([managed, direction(&before.reverse, &link.reverse, span)?])
    };
    new.links.iter().map(of).collect()
}

/// None if a counter has gone back.
fn direction(old: &Direction, new: &Direction, span: f64) -> Option<Rates> {
    let lost = by(&old.lost, &new.lost, |tally| tally.frames, span)?;
    let marked = by(&old.marked, &new.marked, |&frames| frames, span)?;
    let [was, is] = [old, new].map(|of| of.queue.as_ref().map_or(&[][..], |queue| &queue.classes));
    Some(Rates {
        received: rate(old.received, new.received, span)?,
        // Frames that an interface did not take after all are taken back.
        sent: rate(old.sent, new.sent, span).unwrap_or_default(),
        lost: rate(old.lost_in_all(), new.lost_in_all(), span)?,
        lost_by: lost,
        marked: marked.iter().map(|(_, frames)| frames).sum(),
        marked_by: marked,
        missed: new.missed.checked_sub(old.missed)? as f64 / span,
        classes: is
            .iter()
            .enumerate()
            .map(|(at, class)| class_rates(was.get(at)?, class, span))
            .collect(),
    })
}

fn rate(old: Tally, new: Tally, span: f64) -> Option<FrameRate> {
    let frames = new.frames.checked_sub(old.frames)? as f64 / span;
    Some(FrameRate { bps: new.bytes.checked_sub(old.bytes)? as f64 * 8.0 / span, frames })
}

/// Frames a second for each reason that has any, the most frequent first.
fn by<T>(
    old: &BTreeMap<String, T>,
    new: &BTreeMap<String, T>,
    count: impl Fn(&T) -> u64,
    span: f64,
) -> Option<Vec<(String, f64)>> {
    let mut rates = Vec::new();
    for (why, now) in new {
        let more = count(now).checked_sub(old.get(why).map_or(0, &count))?;
        if more > 0 {
            rates.push((why.clone(), more as f64 / span));
        }
    }
    rates.sort_by(|one, other| other.1.total_cmp(&one.1));
    Some(rates)
}

/// None if a reload has put another class in its place, or has begun its counters anew.
fn class_rates(old: &ClassAccount, new: &ClassAccount, span: f64) -> Option<[FrameRate; 2]> {
    let same = old.name == new.name && old.received.frames <= new.received.frames;
    same.then_some([rate(old.left, new.left, span)?, rate(old.lost, new.lost, span)?])
}
