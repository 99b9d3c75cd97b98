//! What happened in a second, from two snapshots.

use crate::standing::{gate, grow, more};
use tidegate_gateway::watch::rates::{FrameRate, Rates, between, same_run};
use tidegate_gateway::watch::snapshot::ClassAccount;

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
    assert_eq!(there.received, FrameRate { bps: 8e6, frames: 1000.0 });
    assert_eq!(there.sent, FrameRate { bps: 2e6, frames: 250.0 });
    assert_eq!(there.lost, FrameRate { bps: 2.404e6, frames: 300.5 });
    assert_eq!(there.lost_by, [("early".to_string(), 300.0), ("penalty".to_string(), 0.5)]);
    assert_eq!((there.marked, there.missed), (15.0, 2.0));
    assert_eq!(there.marked_by, [("early".to_string(), 15.0)]);
    assert_eq!(
        there.classes,
        [
            Some([FrameRate { bps: 4e4, frames: 5.0 }, FrameRate::default()]),
            Some(Default::default())
        ]
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
    queue.classes.insert(0, ClassAccount { name: "new".into(), ..ClassAccount::default() });
    let rates = between(&old, &new);
    let there = &rates[0].as_ref().unwrap()[0];
    assert_eq!(there.received.frames, 5.0);
    assert_eq!(there.classes, [None, None, None]);
    let mut anew = grow(&old, 1.0);
    anew.links[0].managed.queue.as_mut().unwrap().classes[0] =
        ClassAccount { name: "voice".into(), ..ClassAccount::default() };
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
    assert_eq!(between(&old, &new)[0].as_ref().unwrap()[0].sent, FrameRate::default());
}
