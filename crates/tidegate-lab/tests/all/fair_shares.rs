//! Fair shares of a network's flows and what arrives of fixed rates, worked out by hand.
use tidegate::Rate;
use tidegate_lab::{Check, check, overloads};

use crate::jobs::scenario;

const MEGA: f64 = 1e6;

/// A dumbbell of 10 Mbit/s with this key for flows and these groups.
fn dumbbell(key: &str, groups: &str) -> Check {
    let text = format!(
        "[run]\nflow_key = \"{key}\"\n[network]\nrate = \"10 Mbit/s\"\nlimit = \"100 \
         packets\"\n{groups}"
    );
    check(&scenario(&text), &[]).unwrap()
}

fn tcp(name: &str, more: &str) -> String {
    format!("[[group]]\nname = \"{name}\"\nsource = \"sack\"\n{more}\n")
}

fn cbr(name: &str, rate: &str, more: &str) -> String {
    format!("[[group]]\nname = \"{name}\"\nsource = \"cbr\"\nrate = \"{rate}\"\n{more}\n")
}

/// Of one flow of each group, in bit/s, rounded down.
fn shares(check: &Check) -> Vec<u64> {
    check.groups.iter().map(|group| group.fair_share.as_bps()).collect()
}

#[test]
fn flows_share_what_those_who_want_less_leave() {
    let five = "five-tuple";
    assert_eq!(shares(&dumbbell(five, &tcp("a", "count = 4"))), [2_500_000]);
    let modest = cbr("modest", "100 kbit/s", "count = 2") + &tcp("a", "count = 4");
    assert_eq!(shares(&dumbbell(five, &modest)), [100_000, 2_450_000]);
    // A flood has no more than the others.
    let flood = cbr("flood", "100 Mbit/s", "") + &tcp("a", "count = 4");
    assert_eq!(shares(&dumbbell(five, &flood)), [2_000_000, 2_000_000]);
    // An access link may be narrower than a share.
    let narrow = tcp("narrow", "access_rate = \"1 Mbit/s\"") + &tcp("a", "count = 3");
    assert_eq!(shares(&dumbbell(five, &narrow)), [1_000_000, 3_000_000]);
}

#[test]
fn flows_of_one_key_have_one_share() {
    let both = tcp("host", "count = 4\nhosts = 1") + &tcp("a", "count = 1");
    assert_eq!(shares(&dumbbell("five-tuple", &both)), [2_000_000, 2_000_000]);
    assert_eq!(shares(&dumbbell("source", &both)), [1_250_000, 5_000_000]);
    // Every flow has a server of its own, and so a pair and a destination.
    for key in ["pair", "destination"] {
        assert_eq!(shares(&dumbbell(key, &both)), [2_000_000, 2_000_000], "{key}");
    }
    // Two hosts of four flows: two flows each.
    let two = tcp("host", "count = 4\nhosts = 2") + &tcp("a", "count = 1");
    let third = 10.0 * MEGA / 3.0;
    assert_eq!(shares(&dumbbell("source", &two)), [(third / 2.0) as u64, third as u64]);
    // What wants less than its part of the share leaves it to others, not to its own.
    let modest = cbr("host", "500 kbit/s", "count = 4\nhosts = 1") + &tcp("a", "");
    assert_eq!(shares(&dumbbell("source", &modest)), [500_000, 8_000_000]);
}

#[test]
fn each_group_begins_a_network_of_its_own() {
    let prefix = |bits: u32| format!("source-prefix/{bits}");
    let groups = tcp("three", "count = 3") + &tcp("one", "");
    let of = |bits: u32| shares(&dumbbell(&prefix(bits), &groups));
    // Ten million among two networks of 256 addresses, then among five million flows.
    let sixth = 5.0 * MEGA / 3.0;
    assert_eq!(of(24), [sixth as u64, 5_000_000]);
    assert_eq!(of(32), [2_500_000, 2_500_000]);
    assert_eq!(of(8), [2_500_000, 2_500_000], "one flow: a quarter of it each");
    // 300 hosts are more than a network has: two of three parts.
    let many = tcp("many", "count = 300") + &tcp("one", "");
    let third = 10.0 * MEGA / 3.0;
    assert_eq!(shares(&dumbbell(&prefix(24), &many)), [(third / 150.0) as u64, third as u64]);
}

/// A chain of so many links of 10 Mbit/s, each with a queue.
fn hops(hops: u32, groups: &str) -> Check {
    let text = format!(
        "[network]\nkind = \"parking_lot\"\nhops = {hops}\nrate = \"10 Mbit/s\"\nlimit = \"50 \
         packets\"\n{groups}"
    );
    check(&scenario(&text), &[]).unwrap()
}

fn ends(from: u32, to: u32) -> String {
    format!("from = \"r{from}\"\nto = \"r{to}\"\n")
}

#[test]
fn a_long_way_has_the_least_share_on_it() {
    let across = tcp("across", "");
    let crossed = across.clone() + &tcp("first", &ends(0, 1)) + &tcp("second", &ends(1, 2));
    assert_eq!(shares(&hops(2, &crossed)), [5_000_000; 3]);
    // Three at the first link: what the long flow leaves at the second is another's.
    let three =
        across.clone() + &tcp("first", &(ends(0, 1) + "count = 3\n")) + &tcp("second", &ends(1, 2));
    assert_eq!(shares(&hops(2, &three)), [2_500_000, 2_500_000, 7_500_000]);
    // The other way there is nobody.
    let back = across + &tcp("back", &(ends(2, 0) + "count = 2\n"));
    assert_eq!(shares(&hops(2, &back)), [10_000_000, 5_000_000]);
}

#[test]
fn what_a_plain_link_cannot_carry_never_arrives() {
    let arrives = |check: &Check, group: usize| check.groups[group].arrives.map(Rate::as_bps);
    // Half of each flow's rate passes its host's link, whatever the bottleneck does.
    let two = cbr("flood", "4 Mbit/s", "count = 2\nhosts = 1\naccess_rate = \"4 Mbit/s\"");
    let two = dumbbell("five-tuple", &(two + &cbr("calm", "1 Mbit/s", "")));
    assert_eq!((arrives(&two, 0), arrives(&two, 1)), (Some(4_000_000), Some(1_000_000)));
    assert_eq!(two.overloads.len(), 1);
    assert_eq!(two.overloads[0].groups, ["flood"]);
    // Behind the queue of one link, the plain rest of a chain carries as much.
    let first = "[network]\nkind = \"parking_lot\"\nhops = 2\nmanaged = \"first\"\nrate = \"10 \
                 Mbit/s\"\nlimit = \"50 packets\"\n";
    let text = format!("{first}{}", cbr("flood", "30 Mbit/s", ""));
    assert_eq!(overloads(&scenario(&text)), []);
    let late = format!("{text}{}", cbr("late", "1 Mbit/s", &ends(1, 2)));
    let found = overloads(&scenario(&late));
    let told: Vec<_> = found.iter().map(|o| (o.link.as_str(), o.rate_bps, o.offered_bps)).collect();
    assert_eq!(told, [("link r1->r2", 10e6, 11e6)]);
    assert_eq!(found[0].groups, ["flood", "late"]);
}

#[test]
fn only_what_is_sent_at_one_time_is_too_much() {
    let access = "access_rate = \"1 Mbit/s\"\ncount = 3\nhosts = 1";
    let found = |source: &str| {
        let group = format!("[[group]]\nname = \"g\"\nsource = {source}\n{access}\n");
        let check = dumbbell("five-tuple", &group);
        let offered: Vec<f64> = check.overloads.iter().map(|o| o.offered_bps / MEGA).collect();
        offered
    };
    let cbr = |more: &str| found(&format!("\"cbr\"\nrate = \"600 kbit/s\"\n{more}"));
    assert_eq!(cbr(""), [1.8]);
    // A period that begins after the end is none, nor one that has no time in it.
    assert_eq!(cbr("active = [\"60 s..70 s\"]"), [] as [f64; 0]);
    assert_eq!(cbr("active = [\"1 s..2 s\", \"59 s..70 s\"]"), [1.8]);
    // Of what starts one after the other and stops, two are there at a time.
    assert_eq!(cbr("start = \"every(10 s)\"\nstop = \"25 s\""), [1.2]);
    // Calls and what comes and goes count by their means, all the time.
    assert_eq!(
        found("\"voip\"\nerlangs = 3\nrate = \"1 Mbit/s\"\ntalk = \"1 s\"\nsilence = \"1 s\""),
        [1.5]
    );
    assert_eq!(found("\"unresponsive\"\nrate = \"800 kbit/s\""), [1.2]);
    assert_eq!(found("\"unresponsive\"\nrate = \"600 kbit/s\""), [] as [f64; 0]);
    // What heeds losses is never too much.
    assert_eq!(found("\"newreno\""), [] as [f64; 0]);
}
