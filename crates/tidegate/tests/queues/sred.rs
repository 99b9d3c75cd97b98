//! SRED against its paper: the naive twin, golden numbers, and what its hits say of the flows.
use crate::naive::sred::{Filling, Law, NaiveSred, Setting};
use crate::support;
use crate::support::twin::OPERATIONS;
use crate::support::workload::Workload;
use crate::support::{Fate, stats};
use crate::twinned::Twinned as _;
use crate::twinned::sred::Twinned;
use tidegate::parts::zombies::{self, Zombies};
use tidegate::queues::Sred;
use tidegate::{Backlog, DropReason, Link, NullSink, Packet, Qdisc, Rng, Time, catalog};

fn sred(preset: &str, settings: &[(&str, &str)], link: Link, dice: Rng) -> Sred {
    match support::config("sred", Some(preset), settings, &link).build(link, dice).unwrap() {
        catalog::AnyQueue::Sred(queue) => queue,
        other => panic!("{other:?}"),
    }
}

/// ott1999 §3 to §5.
const PAPER: Setting = Setting {
    size: 1000,
    overwrite: 0.25,
    alpha: 0.001,
    p_max: 0.15,
    many: 256.0,
    buffer: 500_000.0,
    low: 1.0 / 6.0,
    high: 1.0 / 3.0,
    law: Law::Full,
    filling: Filling::Miss,
};

/// At B/3 and P = .01: .15 / 2.56²; a hit would have 101 times that, so it is certain. Up to 1/256
/// there is no reduction; of p_sred a quarter is due from B/6 on, and nothing below.
#[test]
fn the_twin_gives_the_golden_numbers() {
    let zap = |p, hit, q| NaiveSred { p, ..NaiveSred::new(PAPER) }.p_zap(hit, q);
    assert!((zap(0.01, false, 170e3) - 0.0228882).abs() < 1e-7);
    assert_eq!(zap(0.01, true, 170e3), 1.0);
    assert_eq!((zap(1.0 / 512.0, false, 170e3), zap(0.0, false, 170e3)), (0.15, 0.15));
    assert!((zap(0.01, false, 100e3) - 0.0228882 / 4.0).abs() < 1e-7);
    assert_eq!(zap(0.01, true, 83e3), 0.0);
    assert!((zap(0.1, true, 170e3) - 0.15 / (25.6 * 25.6) * 11.0).abs() < 1e-12);
}

// ---- the twin
// -------------------------------------------------------------------------------------------------

fn drive(preset: &str, settings: &[(&str, &str)], limit: &str, operations: u64) -> Twinned {
    let link = support::link("10 Mbit/s", limit, "770 B");
    // A short list and few flows for full drops, so that both matter.
    let settings = [&[("zombies", "100"), ("alpha", "0.01"), ("flows", "8")], settings].concat();
    let config = support::config("sred", Some(preset), &settings, &link);
    let mut twinned = Twinned::beside(&config, link, stats::dice(limit, 0)).unwrap();
    Workload::restless(operations).run(
        &mut twinned,
        &link,
        &mut stats::dice(limit, 1),
        &mut NullSink,
    );
    twinned.disputes.settle();
    assert!(twinned.hits > 1_000 && twinned.drops > 1_000, "{} {}", twinned.hits, twinned.drops);
    twinned
}

#[test]
fn twin_agrees_over_a_million_packets() {
    let twinned = drive("paper", &[], "100 packets", 2 * OPERATIONS);
    assert!(
        twinned.operations >= OPERATIONS * 3 / 4 && twinned.full > 0,
        "{} {}",
        twinned.operations,
        twinned.full
    );
}

#[test]
fn twin_agrees_in_every_mode() {
    drive("paper", &[("zombies", "1000"), ("alpha", "0.001"), ("flows", "20")], "30 kB", 200_000);
    drive("simple", &[("filling", "nothing")], "60 packets", 200_000);
    drive("port", &[("overwrite", "1"), ("low", "0.1"), ("high", "0.1")], "20 packets", 200_000);
    drive("paper", &[("zombies", "1"), ("probability", "1"), ("alpha", "1")], "40 kB", 200_000);
}

// ---- the queue
// -------------------------------------------------------------------------------------------------

#[test]
fn the_law_has_two_steps() {
    let limits = [
        (
            "500 kB",
            [(83_333, 0.0), (83_334, 0.0375), (166_666, 0.0375), (166_667, 0.15), (500_000, 0.15)],
        ),
        ("600 packets", [(99, 0.0), (100, 0.0375), (199, 0.0375), (200, 0.15), (600, 0.15)]),
    ];
    for (limit, steps) in limits {
        let link = support::link("45 Mbit/s", limit, "576 B");
        let queue = sred("paper", &[], link, Rng::from_seed(1));
        for (waiting, p) in steps {
            let backlog = Backlog { packets: waiting as u32, bytes: waiting };
            assert_eq!(queue.policy().p_sred(backlog, &link), p, "{limit} {waiting}");
        }
    }
}

/// The share of its packets that each flow loses, the queue kept above a third of the limit:
/// packets of flow i come with probability `shares[i]`.
fn losses(law: &str, shares: &[f64], packets: u64) -> Vec<f64> {
    let settings = [("law", law), ("flows", "1"), ("probability", "0.1"), ("alpha", "0.0001")];
    let link = support::link("45 Mbit/s", "30 packets", "1000 B");
    let mut queue = sred("paper", &settings, link, stats::dice("losses", 0));
    let mut traffic = stats::dice("losses", 1);
    let (mut sent, mut lost) = (vec![0.0; shares.len()], vec![0.0; shares.len()]);
    for n in 0..packets {
        let (mut flow, mut u) = (0, traffic.uniform());
        while flow + 1 < shares.len() && u >= shares[flow] {
            u -= shares[flow];
            flow += 1;
        }
        let mut fate = Fate::default();
        queue.enqueue(Time::from_nanos(n), Packet::new(flow as u64, 1000), &mut fate);
        if queue.backlog().packets > 20 {
            queue.dequeue(Time::from_nanos(n), &mut NullSink);
        }
        assert!(fate.dropped.is_none_or(|why| why == DropReason::Early));
        if n >= 200_000 {
            sent[flow] += 1.0;
            lost[flow] += f64::from(u8::from(fate.dropped.is_some()));
        }
    }
    sent.iter().zip(lost).map(|(sent, lost)| lost / sent).collect()
}

/// §5: in full SRED flow i loses 1 + p_i / Σ p_j² times as much as in simple SRED. Here Σ p² =
/// .375: .1 · 2.333 and .1 · 1.667. Of 400 000 packets and more a share of .2 has a standard
/// deviation of .0006.
#[test]
fn full_sred_drops_more_from_who_sends_more() {
    let shares = [0.5, 0.25, 0.25];
    let simple = losses("simple", &shares, 2_000_000);
    assert!(simple.iter().all(|loss| (loss - 0.1).abs() < 0.004), "{simple:?}");
    let full = losses("full", &shares, 2_000_000);
    for (loss, expected) in full.iter().zip([0.23333, 0.16667, 0.16667]) {
        assert!((loss - expected).abs() < 0.02 * expected, "{full:?}");
    }
}

// ---- what hits say
// -------------------------------------------------------------------------------------------------

/// P after 20 000 packets (the memory of the beginning is e^-19), for as many lists, each with dice
/// of its own. Flow i comes with the probability that `flow` gives it.
fn hit_frequencies(what: &str, lists: u64, flow: impl Fn(&mut Rng) -> u64) -> Vec<f64> {
    let of = |index| {
        let (mut dice, mut traffic) =
            (stats::dice(what, index), stats::dice(what, 1_000_000 + index));
        let mut zombies = Zombies::new(1000, 0.25, 0.001, zombies::Filling::Miss);
        for _ in 0..20_000 {
            zombies.compare(flow(&mut traffic), &mut dice);
        }
        zombies.hit_frequency()
    };
    (0..lists).map(of).collect()
}

/// The mean, and the standard deviation of a value.
fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0)).sqrt())
}

/// A hundred equal flows: P is .01 on average, with a variance of alpha / (2 − alpha) · .01 · .99
/// (z test; of 300 lists the sample deviation is known to 4.1 %; false alarm 1e-6).
#[test]
fn a_hundred_equal_flows_are_a_hundred() {
    let (mean, deviation) =
        mean_and_deviation(&hit_frequencies("equal", 300, |dice| dice.below(100)));
    let expected = (0.001_f64 / 1.999 * 0.01 * 0.99).sqrt();
    assert!((mean - 0.01).abs() < 4.892 * expected / 300_f64.sqrt(), "{mean}");
    assert!((deviation / expected - 1.0).abs() < 0.21, "{deviation}, expected {expected}");
}

/// §3: P goes to Σ p_i². With p_i = 2^-i that is 1/3, and not the 3/16 that (3.6) prints.
#[test]
fn hits_come_with_the_sum_of_squares() {
    let halving = |dice: &mut Rng| 1 + (dice.bits() | 1 << 63).trailing_zeros() as u64;
    let (mean, deviation) = mean_and_deviation(&hit_frequencies("halving", 200, halving));
    let error = 4.892 * deviation / 200_f64.sqrt();
    assert!((mean - 1.0 / 3.0).abs() < error && error < 0.02, "{mean} ± {error}");
    // chan2003 §V-B: one flow with 30 % of the packets among forty others: no more than 9.8 flows.
    let loud = |dice: &mut Rng| if dice.chance(0.3) { 0 } else { 1 + dice.below(40) };
    let (mean, deviation) = mean_and_deviation(&hit_frequencies("loud", 200, loud));
    let (sum, error) = (0.3 * 0.3 + 0.7 * 0.7 / 40.0, 4.892 * deviation / 200_f64.sqrt());
    assert!(
        (mean - sum).abs() < error && error < 0.01 && (1.0 / sum - 9.78).abs() < 0.01,
        "{mean} ± {error}"
    );
}

/// The list tells who sends much (§2): of equal zombies the loud flow's occurrence is the largest
/// by far.
#[test]
fn occurrences_tell_who_sends_much() {
    let (mut dice, mut traffic) = (stats::dice("occurrence", 0), stats::dice("occurrence", 1));
    let mut zombies = Zombies::new(1000, 0.25, 0.001, zombies::Filling::Miss);
    for _ in 0..50_000 {
        let flow = if traffic.chance(0.3) { 0 } else { 1 + traffic.below(40) };
        zombies.compare(flow, &mut dice);
    }
    let (loud, others) =
        (zombies.occurrence(0), (1..=40).map(|flow| zombies.occurrence(flow)).max().unwrap());
    assert!(loud > 10 * others, "{loud} {others}");
}
