//! CHOKe against its paper: the naive twin, what a match costs, and the bound on what one flood can
//! have.
use crate::support;
use crate::support::stats;
use crate::support::twin::OPERATIONS;
use crate::support::workload::Workload;
use crate::twinned::Twinned as _;
use crate::twinned::choke::{Heard, Twinned};
use tidegate::parts::lines::Lines;
use tidegate::queues::Choke;
use tidegate::{DropReason, Ecn, Link, NullSink, Packet, Qdisc, Rng, Time, catalog};

fn choke(settings: &[(&str, &str)], link: Link, dice: Rng) -> Choke {
    match support::config("choke", None, settings, &link).build(link, dice).unwrap() {
        catalog::AnyQueue::Choke(queue) => queue,
        other => panic!("{other:?}"),
    }
}

fn drive(settings: &[(&str, &str)], limit: &str, operations: u64) -> Twinned {
    let link = support::link("10 Mbit/s", limit, "770 B");
    let config = support::config("choke", None, settings, &link);
    let mut twinned = Twinned::beside(&config, link, stats::dice("choke", 0)).unwrap();
    Workload::restless(operations).run(&mut twinned, &link, &mut Rng::from_seed(11), &mut NullSink);
    assert!(!twinned.on_the_edge, "compared to the end");
    twinned.disputes.settle();
    twinned
}

#[test]
fn twin_agrees_over_a_million_operations() {
    let seen = drive(&[("weight", "0.01")], "60 packets", OPERATIONS * 5 / 4);
    assert!(seen.operations >= OPERATIONS, "{}", seen.operations);
    assert!(
        seen.matches.min(seen.signals).min(seen.forced) > 1_000,
        "{} {}",
        seen.matches,
        seen.forced
    );
    assert_eq!((seen.matches, seen.most_victims, seen.most_candidates), (seen.victims, 1, 1));
}

#[test]
fn twin_agrees_in_every_mode() {
    let several = drive(&[("weight", "0.01"), ("candidates", "5")], "60 packets", 100_000);
    assert!(several.most_victims > 2 && several.most_candidates == 5, "{}", several.most_victims);
    let regions = drive(&[("weight", "0.1"), ("regions", "4")], "100 packets", 100_000);
    assert!(
        regions.most_candidates == 8 && regions.most_victims > 3,
        "{}",
        regions.most_candidates
    );
    // The limit is met before the average is: packets without room are compared, too.
    let full = drive(
        &[("weight", "0.05"), ("min", "5 packets"), ("max", "5000 packets")],
        "20 packets",
        100_000,
    );
    assert!(full.full > 1_000 && full.full_matches > 100, "{} {}", full.full, full.full_matches);
    let bytes = [
        ("mode", "bytes"),
        ("min", "5 kB"),
        ("max", "30 kB"),
        ("gentle", "on"),
        ("probability", "0.1"),
        ("probability", "0.1"),
        ("ecn", "off"),
    ];
    let bytes = drive(&[&bytes[..], &[("weight", "0.02")]].concat(), "60 kB", 100_000);
    assert!(bytes.matches.min(bytes.signals) > 1_000, "{} {}", bytes.matches, bytes.signals);
}

/// A queue whose average is what waits, and in which RED does nothing.
const PLAIN: [(&str, &str); 3] =
    [("weight", "1"), ("probability", "0"), ("max", "1000000 packets")];

/// §II: a flow with 30 of 100 waiting packets is matched with probability .3, with two candidates
/// .51, and a match costs both packets, whatever their ECN.
#[test]
fn a_flow_is_matched_by_its_share_of_the_queue() {
    let link = support::link("10 Mbit/s", "1000 packets", "1000 B");
    for (candidates, p) in [("1", 0.3), ("2", 0.51), ("3", 0.657)] {
        let (trials, mut matched) = (4_000, 0);
        for trial in 0..trials {
            // While thirty wait nothing is drawn yet.
            let settings =
                [&PLAIN[..], &[("min", "31 packets"), ("candidates", candidates)]].concat();
            let mut queue = choke(&settings, link, stats::dice(candidates, trial));
            for n in 0..100 {
                let flow = if n < 30 { 7 } else { 1_000 + n };
                queue.enqueue(
                    Time::ZERO,
                    Packet::new(flow, 1000).with_slot(n as u32),
                    &mut NullSink,
                );
            }
            assert_eq!(queue.backlog().packets, 100);
            let mut heard = Heard::default();
            queue.enqueue(
                Time::ZERO,
                Packet::new(7, 1000).with_slot(100).with_ecn(Ecn::Ect0),
                &mut heard,
            );
            let Some(&(last, why)) = heard.dropped.last() else {
                assert_eq!(queue.backlog().packets, 101);
                continue;
            };
            matched += 1;
            assert_eq!((last, why), (100, DropReason::Unfair), "the arriving one is told last");
            let victims = &heard.dropped[..heard.dropped.len() - 1];
            assert!(
                !victims.is_empty()
                    && victims.iter().all(|&(slot, why)| slot < 30 && why == DropReason::Unfair)
            );
            assert_eq!(queue.backlog().packets as usize, 100 - victims.len());
        }
        stats::assert_mean(
            &format!("{candidates} candidates"),
            f64::from(matched),
            trials,
            p,
            p * (1.0 - p),
        );
    }
}

/// Which packet is drawn: each of forty with the same probability, whatever has left from the head
/// and the middle before (chi-square over many seeds, false alarm 1e-6).
#[test]
fn draws_are_even() {
    let link = support::link("10 Mbit/s", "1000 packets", "1000 B");
    let mut counts = [0_u64; 40];
    for trial in 0..20_000 {
        let settings = [&PLAIN[..], &[("min", "50 packets")]].concat();
        let mut queue = choke(&settings, link, stats::dice("draws", trial));
        // Beyond fifty they match one another; then some leave, and ten strangers come.
        for slot in 0..60 {
            queue.enqueue(Time::ZERO, Packet::new(7, 1000).with_slot(slot), &mut NullSink);
        }
        while queue.backlog().packets > 40 {
            queue.dequeue(Time::ZERO, &mut NullSink);
        }
        for n in 0..10 {
            queue.enqueue(Time::ZERO, Packet::new(1_000 + n, 1000).with_slot(100), &mut NullSink);
        }
        let (mut held, mut heard) = (queue.clone(), Heard::default());
        queue.enqueue(Time::ZERO, Packet::new(7, 1000).with_slot(101), &mut heard);
        // A stranger was drawn if nothing was dropped.
        if let Some(&(victim, _)) = heard.dropped.first() {
            counts[(0..)
                .find(|_| held.dequeue(Time::ZERO, &mut NullSink).unwrap().slot == victim)
                .unwrap()] += 1;
        }
    }
    let total: u64 = counts.iter().sum();
    stats::assert_counts("places in the line", &counts, &[total as f64 / 40.0; 40]);
}

/// Above `max`, what was not compared away is dropped, or marked where that is asked for.
#[test]
fn above_max_packets_are_dropped_or_marked() {
    let link = support::link("10 Mbit/s", "1000 packets", "1000 B");
    for (above, marks) in [("off", 0), ("on", 20)] {
        let settings =
            [("min", "10 packets"), ("max", "20 packets"), ("weight", "1"), ("probability", "0")];
        let settings = [&settings[..], &[("mark_above_max", above)]].concat();
        let (mut queue, mut heard) = (choke(&settings, link, Rng::from_seed(1)), Heard::default());
        for flow in 0..40 {
            queue.enqueue(Time::ZERO, Packet::new(flow, 1000).with_ecn(Ecn::Ect0), &mut heard);
        }
        assert_eq!((heard.marked.len(), heard.dropped.len()), (marks, 20 - marks), "{above}");
    }
}

/// §III: with k regions between the thresholds, 2 i candidates in the i-th, and no more above the
/// upper one.
#[test]
fn candidates_by_region() {
    let link = support::link("10 Mbit/s", "1000 packets", "1000 B");
    let settings = [
        ("regions", "4"),
        ("min", "100 packets"),
        ("max", "200 packets"),
        ("weight", "1"),
        ("gentle", "on"),
    ];
    let mut queue =
        choke(&[&settings[..], &[("probability", "0")]].concat(), link, Rng::from_seed(1));
    for flow in 0..250 {
        queue.enqueue(Time::ZERO, Packet::new(flow, 1000).with_ecn(Ecn::Ect0), &mut NullSink);
        let region = match flow {
            0..125 => 1, // below the lower threshold nothing is drawn at all
            125..150 => 2,
            150..175 => 3,
            _ => 4,
        };
        assert_eq!(queue.candidates(), 2 * region, "at {flow}");
    }
    assert_eq!(queue.backlog().packets, 250);
}

/// What one flood that offers `x` times the link's rate gets of it beside many flows that fill what
/// it leaves (tang2004): with s = (x + μ)/2, s = (1 − μ) ln(s/μ). It is at most 1/(e + 1).
fn share(x: f64) -> f64 {
    let (mut low, mut high) = (0.0, x.min(1.0));
    for _ in 0..200 {
        let mu = 0.5 * (low + high);
        let s = 0.5 * (x + mu);
        *if (1.0 - mu) * libm::log(s / mu) > s { &mut low } else { &mut high } = mu;
    }
    low
}

/// The same on the queue: a thousand packets wait all the time, what is not the flood's is of flows
/// that are met once.
fn measured(x: f64) -> f64 {
    const WAITING: u32 = 1_000;
    let link = support::link("8 Mbit/s", "2000 packets", "1000 B");
    let settings = [&PLAIN[..], &[("min", "1 packet")]].concat();
    let mut queue = choke(&settings, link, stats::dice("flood", 0));
    let mut world = stats::dice("flood", 1);
    let (mut stranger, mut due, mut sent) = (1, 0.0, 0);
    let (warm, end) = (30_000, 150_000);
    for ms in 0..end {
        let now = Time::from_nanos(ms * 1_000_000);
        while due < ms as f64 {
            queue.enqueue(now, Packet::new(0, 1000), &mut NullSink);
            due += world.exponential(1.0 / x);
        }
        while queue.backlog().packets < WAITING {
            queue.enqueue(now, Packet::new(stranger, 1000), &mut NullSink);
            stranger += 1;
        }
        let pkt = queue.dequeue(now, &mut NullSink).unwrap();
        sent += u64::from(pkt.flow == 0 && ms >= warm);
    }
    sent as f64 / (end - warm) as f64
}

/// tang2004: a flood's share of the link rises with its rate to 1/(e + 1), at 1.193 times the
/// link's rate, and falls beyond, towards nothing.
#[test]
fn a_flood_gets_at_most_one_of_e_plus_one() {
    let bound = 1.0 / (core::f64::consts::E + 1.0);
    let peak = 2.0 - 3.0 * bound;
    assert!(
        (peak - 1.193).abs() < 5e-4 && (share(peak) - bound).abs() < 1e-9,
        "{peak} {}",
        share(peak)
    );
    let mut before = 0.0;
    for x in [0.25, 0.5, 0.8, peak, 2.0, 4.0, 8.0, 16.0] {
        let (theirs, ours) = (share(x), measured(x));
        // 120000 departures, of which the flood's come in stretches as long as what waits: a
        // deviation of .002.
        assert!((ours - theirs).abs() < 0.01, "at {x}: {ours}, in theory {theirs}");
        assert!(ours < bound + 0.01, "at {x}: {ours}");
        assert_eq!(ours > before, x <= peak, "at {x}: {before}, then {ours}");
        before = ours;
    }
    assert!(before < 0.01, "sixteen times the link's rate: {before}");
}

/// Four bytes for each candidate that a packet may be compared with: as many as are drawn, or two
/// for each region.
#[test]
fn candidates_are_stated_to_the_byte() {
    let link = support::link("10 Mbit/s", "100 packets", "1000 B");
    let stated = |candidates, regions| {
        let settings = [("candidates", candidates), ("regions", regions)];
        support::config("choke", Some("paper"), &settings, &link).state_bytes(&link)
    };
    assert_eq!(stated("200", "0") - stated("10", "0"), 4 * 190);
    assert_eq!(stated("200", "0"), stated("1", "100"));
    let lists = Lines::bytes(1, link.most_packets()) + 4 * link.most_packets();
    assert_eq!(stated("10", "0"), size_of::<Choke>() as u64 + lists + 40);
}
