//! SFRED against what feng2001 says of it: the naive twin, whose max_p a flow gets, and that it
//! takes the responsive for others.
use std::collections::VecDeque;

use crate::support;
use crate::support::twin::OPERATIONS;
use crate::support::workload::Workload;
use crate::support::{Fate, stats};
use crate::twinned::Twinned as _;
use crate::twinned::sfred::Twinned;
use tidegate::queues::Sfred;
use tidegate::{DropReason, Ecn, Link, NullSink, Packet, Qdisc, Rng, Time, catalog};

fn sfred(settings: &[(&str, &str)], link: Link, seed: u64) -> Sfred {
    match support::config("sfred", None, settings, &link).build(link, Rng::from_seed(seed)).unwrap()
    {
        catalog::AnyQueue::Sfred(queue) => queue,
        other => panic!("{other:?}"),
    }
}

fn papers_link() -> Link {
    support::link("45 Mbit/s", "200 kB", "1000 B")
}

fn drive(settings: &[(&str, &str)], limit: &str, operations: u64) -> Twinned {
    let link = support::link("10 Mbit/s", limit, "770 B");
    let config = support::config("sfred", None, settings, &link);
    let mut twinned = Twinned::beside(&config, link, stats::dice("sfred", 0)).unwrap();
    Workload::restless(operations).run(&mut twinned, &link, &mut Rng::from_seed(11), &mut NullSink);
    assert!(!twinned.on_the_edge, "compared to the end");
    twinned.disputes.settle();
    twinned
}

/// Thresholds no average comes to rest on.
const SETTINGS: [(&str, &str); 5] = [
    ("scaling", "crossing"),
    ("bin_weight", "0.05"),
    ("weight", "0.01"),
    ("bin_min", "1.3"),
    ("bin_max", "5.7"),
];

#[test]
fn twin_agrees_over_a_million_operations() {
    let seen = drive(&SETTINGS, "60 packets", OPERATIONS * 5 / 4);
    assert!(seen.operations >= OPERATIONS, "{}", seen.operations);
    let all = [seen.penalised, seen.paid, seen.passed, seen.signals, seen.forced, seen.overlimit];
    assert!(all.iter().all(|&n| n > 100), "{all:?}");
    assert_eq!(seen.range, (0.001, 1.0), "from the floor to certainty");
}

#[test]
fn twin_agrees_in_every_mode() {
    let with = |more: &[(&str, &str)], limit| drive(&[&SETTINGS, more].concat(), limit, 100_000);
    let levels = with(&[("levels", "3"), ("bins", "11"), ("ecn", "off")], "60 packets");
    assert!(levels.signals > 100, "{}", levels.signals);
    let rules =
        [("gentle", "on"), ("wait", "on"), ("alpha", "1.7"), ("beta", "3.1"), ("floor", "0.01")];
    let rules = with(&rules, "60 kB");
    assert!(rules.signals.min(rules.penalised) > 100, "{} {}", rules.signals, rules.penalised);
    let always = with(&[("scaling", "arrival")], "60 packets");
    assert!(always.penalised.min(always.passed) > 1_000, "{} {}", always.penalised, always.passed);
    with(&[("levels", "1"), ("bins", "1")], "60 packets");
    with(&[("levels", "8"), ("bins", "5"), ("penalty_rate", "2 Mbit/s")], "60 packets");
}

fn offer(queue: &mut Sfred, flow: u64) -> Fate {
    let mut fate = Fate::default();
    queue.enqueue(Time::ZERO, Packet::new(flow, 1000).with_ecn(Ecn::Ect0), &mut fate);
    fate
}

/// feng1999's golden sequence in a bin, by its average of the moment: .1, .2 above ten packets,
/// once; .0667 below three. At 1 the flow gets its tokens, two packets of them, and no more.
#[test]
fn golden_sequence() {
    let mut queue = sfred(
        &[("scaling", "crossing"), ("bin_weight", "1"), ("penalty_rate", "0 bit/s")],
        papers_link(),
        1,
    );
    let at = |queue: &mut Sfred, packets: u32| {
        while queue.backlog().packets > packets {
            queue.dequeue(Time::ZERO, &mut NullSink);
        }
        while queue.backlog().packets < packets {
            offer(queue, 7);
        }
        let fate = offer(queue, 7);
        (queue.policy().max_p(7), fate)
    };
    let steps = [
        (5, 0.1),
        (11, 0.2),
        (15, 0.2),
        (5, 0.2),
        (2, 0.2 / 3.0),
        (1, 0.2 / 3.0),
        (11, 0.4 / 3.0),
        (5, 0.4 / 3.0),
    ];
    for (packets, max_p) in steps {
        let (ours, fate) = at(&mut queue, packets);
        assert!(
            (ours - max_p).abs() < 1e-12 && fate == Fate::default(),
            "{packets}: {ours} {fate:?}"
        );
    }
    for max_p in [0.8 / 3.0, 1.6 / 3.0, 1.0] {
        let (ours, _) = at(&mut queue, 11);
        assert!((ours - max_p).abs() < 1e-12, "{ours}");
        if max_p < 1.0 {
            at(&mut queue, 5);
        }
    }
    // The first of two tokens is gone already.
    let fates: Vec<_> = (0..3).map(|_| offer(&mut queue, 7).dropped).collect();
    assert_eq!(fates, [None, Some(DropReason::Penalty), Some(DropReason::Penalty)]);
}

/// A flow's max_p is the least of its bins': who shares one bin with a flood keeps his own, who
/// shares all is taken for it.
#[test]
fn the_least_of_its_bins_speaks_for_a_flow() {
    let mut queue = sfred(
        &[("scaling", "crossing"), ("bin_weight", "1"), ("probability", "0.9")],
        papers_link(),
        1,
    );
    for _ in 0..12 {
        offer(&mut queue, 7);
    }
    assert_eq!(queue.policy().max_p(7), 1.0);
    let counts = (1_000..100_000).filter(|&flow| queue.policy().max_p(flow) == 1.0).count();
    // One in 529, of 99000: 187, and six deviations of 13.7 are 82.
    assert!(counts.abs_diff(187) < 82, "{counts}");
    assert_eq!(
        (0..2)
            .map(|level| queue
                .policy()
                .level(level)
                .iter()
                .filter(|bin| bin.max_p() == 1.0)
                .count())
            .sum::<usize>(),
        2
    );
}

/// `auto` at the paper's link is the paper, except that the bins' averages follow faster. Bins
/// scale as SFB's.
#[test]
fn auto_is_the_paper_scaled() {
    let get = |preset: &str, link: &Link| catalog::config("sfred", Some(preset), link).unwrap();
    let mut slow = get("auto", &papers_link());
    assert_eq!(slow.get("bin_weight").unwrap(), "0.25");
    slow.set("bin_weight", "0.002").unwrap();
    assert_eq!(slow, get("paper", &papers_link()));
    let fast = support::link("10 Gbit/s", "125 MB", "1000 B");
    assert_eq!(get("crossing", &fast).get("scaling").unwrap(), "crossing");
    for (param, value) in [("bins", "353"), ("penalty_rate", "35.555555 Mbit/s"), ("min", "25 MB")]
    {
        assert_eq!(get("auto", &fast).get(param).unwrap(), value);
    }
    let bin_max: f64 = get("auto", &fast).get("bin_max").unwrap().parse().unwrap();
    assert!((bin_max - 531.0 * 10.0 / 13.0).abs() < 1e-9, "{bin_max}");
}

/// Bins whose upper threshold is not above the lower one are refused with both.
#[test]
fn thresholds_must_be_in_order() {
    let config = support::config("sfred", None, &[("bin_min", "10")], &papers_link());
    let error = config.build(papers_link(), Rng::from_seed(1)).unwrap_err();
    assert_eq!((&*error.field, &*error.why), ("bin_max", "must be above bin_min = 10"));
}

/// What a flood at the line's rate gets, in Mbit/s, beside 400 flows with a packet on its way each.
/// They send again a round trip after it arrived or was lost (as in `sfb_claims.rs`).
fn flood(scaling: &str, index: u64) -> f64 {
    const WIRE: u64 = 8_000_000_000_000 / 45_000_000;
    const ROUND_TRIP: u64 = 80_000_000;
    let mut queue =
        sfred(&[("scaling", scaling)], papers_link(), stats::seed("claims", index).get());
    let mut dice = stats::dice("claims", index);
    let mut others: VecDeque<(u64, u64)> =
        (1..=400).map(|flow| (dice.below(ROUND_TRIP), flow)).collect();
    others.make_contiguous().sort_unstable();
    let (seconds, mut sent) = (30, 0_u64);
    for n in 0..seconds * 45_000_000 / 8_000 {
        let now = n * WIRE;
        let mut offer = |flow, ecn| {
            let mut fate = Fate::default();
            queue.enqueue(Time::from_nanos(now), Packet::new(flow, 1000).with_ecn(ecn), &mut fate);
            fate.dropped.is_some()
        };
        // Not quite every time, so that it does not keep step with the line.
        if dice.chance(0.97) {
            offer(0, Ecn::NotEct);
        }
        while others.front().is_some_and(|&(due, _)| due <= now) {
            let (_, flow) = others.pop_front().unwrap();
            if offer(flow, Ecn::Ect0) {
                others.push_back((now + ROUND_TRIP, flow));
            }
        }
        match queue.dequeue(Time::from_nanos(now), &mut NullSink).map(|pkt| pkt.flow) {
            Some(0) => sent += 1,
            Some(flow) => others.push_back((now + ROUND_TRIP, flow)),
            None => {}
        }
    }
    sent as f64 * 8e-3 / seconds as f64
}

/// feng2001 §III-B, Fig. 3(c): a flood at the line's 45 Mbit/s is held to about a tenth of it, 4.76
/// Mbit/s. If max_p changes only once per crossing it is not: its bins never come back below the
/// upper threshold, and max_p is doubled once.
#[test]
fn a_flood_is_held_to_a_tenth_of_the_line() {
    for index in 0..3 {
        let (arrival, crossing) = (flood("arrival", index), flood("crossing", index));
        assert!((3.5..7.0).contains(&arrival), "{arrival}");
        assert!(crossing > 15.0, "{crossing}");
    }
}
