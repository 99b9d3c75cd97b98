//! What happened in a second, from two snapshots of a gate.
use std::collections::BTreeMap;

use tidegate_gateway::watch::counters::Tally;
use tidegate_gateway::watch::snapshot::{Class, Direction, Link, Snapshot};

/// Two snapshots that are further apart, in seconds, say nothing of a second.
const LONGEST: f64 = 10.0;
/// By so much, in seconds, the time of two starts may seem to differ that are one: clocks are set.
const SAME_START: f64 = 0.5;

/// Frames of a kind in a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rate {
    /// Their lengths, in bit/s.
    pub bps: f64,
    /// How many, 1/s.
    pub frames: f64,
}

/// What became of a direction's frames in a second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rates {
    /// Received.
    pub received: Rate,
    /// Sent.
    pub sent: Rate,
    /// Lost for any reason.
    pub lost: Rate,
    /// Lost for each reason for which any were, the most frequent first, 1/s.
    pub lost_by: Vec<(String, f64)>,
    /// Marked for any reason, 1/s.
    pub marked: f64,
    /// Marked for each reason for which any were, the most frequent first, 1/s.
    pub marked_by: Vec<(String, f64)>,
    /// Missed by the kernel, 1/s.
    pub missed: f64,
    /// For each class, what left the queue and what it lost; none just after they have changed.
    pub classes: Vec<Option<[Rate; 2]>>,
}

/// Both directions of a link: the managed one, the reverse.
pub type Both = [Rates; 2];

/// Whether two snapshots are of the same run of a gate, `old` the earlier one.
pub fn same_run(old: &Snapshot, new: &Snapshot) -> bool {
    let start = |snapshot: &Snapshot| snapshot.time_s - snapshot.uptime_s;
    new.uptime_s >= old.uptime_s && (start(new) - start(old)).abs() < SAME_START
}

/// For each link of `new` what happened since `old`; none if that cannot be told: the gate was
/// started anew, the link was not there, its figures are the same still, or too much time has
/// passed.
pub fn between(old: &Snapshot, new: &Snapshot) -> Vec<Option<Both>> {
    let same = same_run(old, new);
    let of = |link: &Link| {
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

fn rate(old: Tally, new: Tally, span: f64) -> Option<Rate> {
    let frames = new.frames.checked_sub(old.frames)? as f64 / span;
    Some(Rate { bps: new.bytes.checked_sub(old.bytes)? as f64 * 8.0 / span, frames })
}

/// Frames a second for each reason for which there are any, the most frequent first.
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
fn class_rates(old: &Class, new: &Class, span: f64) -> Option<[Rate; 2]> {
    let same = old.name == new.name && old.received.frames <= new.received.frames;
    same.then_some([rate(old.left, new.left, span)?, rate(old.lost, new.lost, span)?])
}

#[cfg(test)]
mod tests {
    use super::super::sample::{gate, grow, more};
    use super::*;

    #[test]
    fn differences_are_divided_by_the_time_that_the_figures_were_taken() {
        let old = gate();
        let mut new = grow(&old, 2.0);
        let managed = &mut new.links[0].managed;
        more(&mut managed.received, 2000, 2_000_000);
        more(&mut managed.sent, 500, 500_000);
        managed.lost.get_mut("penalty").unwrap().add(1000);
        more(managed.lost.get_mut("early").unwrap(), 600, 600_000);
        *managed.marked.get_mut("early").unwrap() += 30;
        managed.missed += 4;
        more(&mut managed.queue.as_mut().unwrap().classes[0].left, 10, 10_000);
        let rates = between(&old, &new);
        let [there, back] = rates[0].as_ref().unwrap();
        assert_eq!(there.received, Rate { bps: 8e6, frames: 1000.0 });
        assert_eq!(there.sent, Rate { bps: 2e6, frames: 250.0 });
        assert_eq!(there.lost, Rate { bps: 2.404e6, frames: 300.5 });
        assert_eq!(there.lost_by, [("early".to_string(), 300.0), ("penalty".to_string(), 0.5)]);
        assert_eq!((there.marked, there.missed), (15.0, 2.0));
        assert_eq!(there.marked_by, [("early".to_string(), 15.0)]);
        assert_eq!(
            there.classes,
            [Some([Rate { bps: 4e4, frames: 5.0 }, Rate::default()]), Some(Default::default())]
        );
        assert_eq!(*back, Rates::default());
        assert_eq!(rates[1].as_ref().unwrap()[0], Rates { classes: vec![], ..Rates::default() });
    }

    #[test]
    fn a_gate_that_was_started_anew_has_no_rates_even_if_its_counters_are_higher() {
        let old = gate();
        let mut restarted = grow(&old, 1.0);
        restarted.uptime_s = 0.5;
        assert!(!same_run(&old, &restarted));
        assert_eq!(between(&old, &restarted), [None, None]);
        // It has run for longer than the one before had, but began later.
        let mut later = grow(&old, 5000.0);
        later.uptime_s = old.uptime_s + 1000.0;
        assert!(!same_run(&old, &later) && same_run(&old, &grow(&old, 5000.0)));
        // A clock that is set a little is no new gate.
        let mut set = grow(&old, 1.0);
        set.time_s += 0.2;
        assert!(same_run(&old, &set) && between(&old, &set)[0].is_some());
    }

    #[test]
    fn what_cannot_be_told_is_not_told() {
        let old = gate();
        assert_eq!(between(&old, &old), [None, None], "no time has passed");
        assert_eq!(between(&old, &grow(&old, 60.0)), [None, None], "too much has");
        let mut stopped = grow(&old, 1.0);
        stopped.links[0].taken_s = old.links[0].taken_s;
        assert!(
            between(&old, &stopped)[0].is_none() && between(&old, &stopped)[1].is_some(),
            "one was stopped"
        );
        let mut other = grow(&old, 1.0);
        other.links[0].name = "new".into();
        assert!(between(&old, &other)[0].is_none(), "it was not there");
        let mut back = grow(&old, 1.0);
        back.links[0].reverse.missed = 0;
        back.links[0].managed.received.bytes -= 1;
        assert!(between(&old, &back)[0].is_none(), "a counter has gone back");
    }

    #[test]
    fn a_reload_keeps_the_rates_but_those_of_classes_that_it_changed() {
        let old = gate();
        let mut new = grow(&old, 1.0);
        new.reloads.done += 1;
        more(&mut new.links[0].managed.received, 5, 5000);
        let queue = new.links[0].managed.queue.as_mut().unwrap();
        queue.label = "drr".into();
        queue.classes.insert(0, Class { name: "new".into(), ..Class::default() });
        let rates = between(&old, &new);
        let there = &rates[0].as_ref().unwrap()[0];
        assert_eq!(there.received.frames, 5.0);
        assert_eq!(there.classes, [None, None, None]);
        let mut anew = grow(&old, 1.0);
        anew.links[0].managed.queue.as_mut().unwrap().classes[0] =
            Class { name: "voice".into(), ..Class::default() };
        assert_eq!(
            between(&old, &anew)[0].as_ref().unwrap()[0].classes,
            [None, Some(Default::default())]
        );
    }

    #[test]
    fn frames_that_were_not_sent_after_all_make_no_rate_negative() {
        let old = gate();
        let mut new = grow(&old, 1.0);
        new.links[0].managed.sent.frames -= 1;
        assert_eq!(between(&old, &new)[0].as_ref().unwrap()[0].sent, Rate::default());
    }
}
