//! BARE against its paper: the naive twin, the golden numbers, and what the paper says that holds
//! on the queue alone.
use crate::naive::bare::{Count, Growth, NaiveBare, Setting, Threshold};
use crate::support;
use crate::support::Fate;
use crate::support::stats;
use crate::support::twin::OPERATIONS;
use crate::support::workload::{Phase, Workload};
use crate::twinned::Twinned as _;
use crate::twinned::bare::Twinned;
use tidegate::queues::Bare;
use tidegate::{DropReason, Link, NullSink, Packet, Qdisc, Rng, Span, Time, catalog};

fn bare(settings: &[(&str, &str)], link: Link, dice: Rng) -> Bare {
    match support::config("bare", None, settings, &link).build(link, dice).unwrap() {
        catalog::AnyQueue::Bare(queue) => queue,
        other => panic!("{other:?}"),
    }
}

/// The paper's bottleneck.
fn papers_link() -> Link {
    support::link("10 Mbit/s", "160 kB", "1000 B")
}

fn offer(queue: &mut Bare, now: Time, flow: u64, len: u32) -> Option<DropReason> {
    let mut fate = Fate::default();
    queue.enqueue(now, Packet::new(flow, len), &mut fate);
    assert_eq!(fate.marked, None, "BARE does not mark");
    fate.dropped
}

fn ms(n: u64) -> Time {
    Time::ZERO + Span::from_millis(n)
}

/// cho2001 §III-A, on its link of 10 Mbit/s.
const PAPER: Setting = Setting {
    c: 1.2,
    w_q: 0.006,
    beta_max: 10.0,
    beta_min: 0.5,
    beta_init: 7.5,
    k: 0.384,
    mu: 1_250_000.0,
    threshold: Threshold { most: 8000.0, least: 4000.0, roomy: 9.0, crowded: 40.0 },
    target: 0.5,
    trigger: 6.0,
    timeout: 1.5,
    growth: Growth::Constant,
    count: Count::Reset,
    recount: None,
    by_backlog: None,
    constant: None,
};

const MS: f64 = 1e6;

fn close(what: &str, a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance, "{what}: {a}, expected {b}");
}

/// §III-B: at half of max_th a flow with beta 7.5 loses .5^7.5 of its packets; at max_th all.
#[test]
fn the_twin_gives_the_golden_probabilities() {
    let mut bare = NaiveBare::new(PAPER);
    assert_eq!(bare.arrive(0.0, 1, 3000.0), None, "the first packet of a flow is always let in");
    bare.buffered(0.0, 1, 3000.0);
    for (size, p) in [(1000.0, 0.0055243), (3000.0, 0.1156004), (5000.0, 1.0)] {
        close("p", bare.clone().arrive(0.0, 1, size).unwrap(), p, 5e-8);
    }
}

/// 1000 bytes every 8 ms: 2577.2 B/s after the first interval, 125 000 B/s at last.
#[test]
fn the_twin_gives_the_golden_rate() {
    let mut bare = NaiveBare::new(PAPER);
    bare.buffered(0.0, 1, 1000.0);
    for n in 1..=600 {
        bare.depart((n - 1) as f64 * 8.0 * MS, 1, 1000.0);
        bare.buffered(n as f64 * 8.0 * MS, 1, 1000.0);
        if n == 1 {
            close("first step", bare.flows[&1].rate, 2577.227, 0.0005);
        }
    }
    close("fixed point", bare.flows[&1].rate, 125_000.0, 1.0);
}

/// Twice the fair rate above the target halves beta down to .5; otherwise it grows by a fifth up to
/// 10.
#[test]
fn the_twin_gives_the_golden_betas() {
    let after = |avg_q: f64| {
        let mut bare = NaiveBare::new(PAPER);
        bare.buffered(0.0, 1, 8000.0);
        bare.avg_q = avg_q;
        let mut betas = Vec::new();
        for _ in 0..5 {
            let flow = bare.flows.get_mut(&1).unwrap();
            (flow.rate, flow.count, flow.q) = (2.0 * PAPER.mu, 48_000.0 - 1000.0, 0.0);
            bare.arrive(0.0, 1, 1000.0);
            assert_eq!(bare.flows[&1].count, 0.0);
            betas.push(bare.flows[&1].beta);
        }
        betas
    };
    assert_eq!(after(4001.0), [3.75, 1.875, 0.9375, 0.5, 0.5]);
    assert_eq!(after(4000.0), [9.0, 10.0, 10.0, 10.0, 10.0]);
}

/// With growth by the ratio beta doubles at half the fair rate, stays at the fair rate, and doubles
/// at twice it below the target. Without a reset of count each packet adjusts it.
#[test]
fn the_twin_gives_the_other_betas() {
    let mut bare = NaiveBare::new(Setting {
        growth: Growth::Ratio,
        count: Count::Keep,
        beta_max: 50.0,
        ..PAPER
    });
    bare.buffered(0.0, 1, 48_000.0);
    let betas = [0.5, 1.0, 2.0, 4.0].map(|ratio| {
        bare.flows.get_mut(&1).unwrap().rate = ratio * PAPER.mu;
        bare.arrive(0.0, 1, 1000.0);
        bare.flows[&1].beta
    });
    assert_eq!(betas, [15.0, 15.0, 30.0, 50.0]);
}

/// The virtual threshold: 8000 B a flow to 9 flows, 160 kB at 40, 4000 B a flow beyond.
#[test]
fn the_twin_gives_the_golden_thresholds() {
    for (n, vth) in [
        (5, 40_000.0),
        (9, 72_000.0),
        (20, 103_225.8),
        (30, 131_612.9),
        (40, 160_000.0),
        (68, 272_000.0),
    ] {
        close("Vth", PAPER.threshold.at(n as f64), vth, 0.05);
    }
}

/// A flow is forgotten 1.5 s after its last buffering, and not while something of it waits.
#[test]
fn the_twin_forgets() {
    let mut bare = NaiveBare::new(PAPER);
    bare.buffered(0.0, 1, 1000.0);
    bare.buffered(0.0, 2, 1000.0);
    bare.depart(1.0 * MS, 1, 1000.0);
    bare.forget(1499.999 * MS);
    assert_eq!(bare.flows.len(), 2);
    bare.forget(1500.0 * MS);
    assert_eq!(bare.flows.keys().collect::<Vec<_>>(), [&2]);
}

// ---- the twin
// -------------------------------------------------------------------------------------------------

/// Overload, idleness, flows that come and go (skewed shares and a short timeout), mixed sizes.
fn drive(
    what: &str,
    settings: &[(&str, &str)],
    set: Setting,
    flows: u32,
    link: Link,
    operations: u64,
) -> Twinned {
    let phase =
        |load, idle| Phase { load, packets: operations / 12, idle: Span::from_millis(idle) };
    let phases = vec![
        phase(1.6, 0),
        phase(0.7, 0),
        phase(1.05, 3_000),
        phase(0.98, 5),
        phase(3.0, 40),
        phase(0.3, 200),
    ];
    let config = support::config("bare", None, settings, &link);
    let mut twinned = Twinned::beside(&config, link, stats::dice(what, 0)).unwrap();
    assert_eq!(twinned.twin.set, set, "the parameters mean what is written here");
    twinned.flows = flows as u64;
    let workload = Workload::new(flows, 1.1, (40, 1500), 0.6, phases);
    workload.run(&mut twinned, &link, &mut stats::dice(what, 1), &mut NullSink);
    twinned.disputes.settle();
    assert!(
        twinned.early > 1_000 && twinned.forgotten > 100,
        "{what}: {} {}",
        twinned.early,
        twinned.forgotten
    );
    twinned
}

#[test]
fn twin_agrees_over_a_million_operations() {
    let twinned = drive("paper", &[], PAPER, 60, papers_link(), OPERATIONS);
    assert!(twinned.operations >= OPERATIONS * 3 / 4, "{}", twinned.operations);
    assert!(twinned.forced > 1_000, "{}", twinned.forced);
}

/// Constants that are all others than the paper's.
const OTHERS: [(&str, &str); 13] = [
    ("most", "9 packets"),
    ("least", "3000 B"),
    ("roomy", "5"),
    ("crowded", "11"),
    ("target", "0.3"),
    ("weight", "0.02"),
    ("memory", "50 ms"),
    ("beta", "3"),
    ("beta_min", "0.7"),
    ("beta_max", "5"),
    ("increase", "1.1"),
    ("update_after", "2.5"),
    ("timeout", "120 ms"),
];

/// The same for the twin.
const OTHER: Setting = Setting {
    c: 1.1,
    w_q: 0.02,
    beta_max: 5.0,
    beta_min: 0.7,
    beta_init: 3.0,
    k: 0.05,
    mu: 2_500_000.0,
    threshold: Threshold { most: 6930.0, least: 3000.0, roomy: 5.0, crowded: 11.0 },
    target: 0.3,
    trigger: 2.5,
    timeout: 0.12,
    ..PAPER
};

/// Drives both with [`OTHERS`] and `more`, on a link where the limit is often reached.
fn drive_others(what: &str, more: &[(&str, &str)], set: Setting, operations: u64) {
    let link = support::link("20 Mbit/s", "30 packets", "770 B");
    drive(what, &[&OTHERS[..], more].concat(), set, 25, link, operations);
}

#[test]
fn twin_agrees_with_other_constants() {
    drive_others("other constants", &[], OTHER, 300_000);
    drive_others(
        "counted by rate",
        &[("active", "by_rate"), ("recount", "7 ms")],
        Setting { recount: Some(7e6), ..OTHER },
        300_000,
    );
    drive_others(
        "share by backlog",
        &[("share", "backlog"), ("share_weight", "0.05")],
        Setting { by_backlog: Some(0.05), ..OTHER },
        200_000,
    );
    drive_others(
        "constant law",
        &[("law", "constant"), ("chance", "0.03")],
        Setting { constant: Some(0.03), ..OTHER },
        200_000,
    );
}

#[test]
fn twin_agrees_with_other_rules_of_growth() {
    for (what, growth, count) in [
        ("growth by the ratio", Growth::Ratio, Count::Reset),
        ("no reset", Growth::Constant, Count::Keep),
        ("neither", Growth::Ratio, Count::Keep),
    ] {
        let words = [
            ("growth", if growth == Growth::Ratio { "ratio" } else { "constant" }),
            ("count", if count == Count::Keep { "keep" } else { "reset" }),
        ];
        drive_others(what, &words, Setting { growth, count, ..OTHER }, 200_000);
    }
}

// ---- golden numbers
// -------------------------------------------------------------------------------------------------

/// Drops of a packet that makes `queued` wait, of a flow alone (max_th 8000 B), in so many queues
/// with dice of their own.
fn drops_at(queued: u32, queues: u64) -> (u64, u64) {
    let mut counts = (0, 0);
    for n in 0..queues {
        let mut queue = bare(
            &[("flows", "4")],
            papers_link(),
            stats::dice("eq. 6", n * 8 + queued as u64 / 1000),
        );
        assert_eq!(
            offer(&mut queue, Time::ZERO, 1, queued - 1000),
            None,
            "the first packet is let in"
        );
        match offer(&mut queue, Time::ZERO, 1, 1000) {
            Some(DropReason::Early) => counts.0 += 1,
            Some(DropReason::Forced) => counts.1 += 1,
            other => assert_eq!(other, None),
        }
    }
    counts
}

/// Eq. 6 with the paper's numbers: binomial with .5^7.5, .75^7.5 and 1 (z test, false alarm 1e-6).
#[test]
fn drops_are_a_power_of_the_share() {
    let n = 20_000;
    for (queued, p) in [(4000, 0.0055243), (6000, 0.1156004), (7000, libm::pow(0.875, 7.5))] {
        let (early, forced) = drops_at(queued, n);
        assert_eq!(forced, 0);
        stats::assert_mean(&format!("{queued} B"), early as f64, n, p, p * (1.0 - p));
    }
    assert_eq!(drops_at(8000, 50), (0, 50), "at max_th the dice are not asked");
    assert_eq!(drops_at(9000, 50), (0, 50));
}

/// 1000 B every 8 ms: 2577.2 B/s after the first gap, 125 000 B/s at last.
#[test]
fn golden_rate() {
    let mut queue = bare(&[], papers_link(), Rng::from_seed(1));
    for n in 0..=600 {
        assert_eq!(offer(&mut queue, ms(8 * n), 1, 1000), None);
        let (_, rate, _) = queue.policy().flow(1).unwrap();
        match n {
            0 => assert_eq!(rate, 0.0),
            1 => close("first step", rate, 2577.227, 0.0005),
            _ => {}
        }
        queue.dequeue(ms(8 * n), &mut NullSink);
    }
    close("fixed point", queue.policy().flow(1).unwrap().1, 125_000.0, 1.0);
}

/// The thresholds and targets with so many flows known, in every preset that reads Fig. 1.
#[test]
fn golden_thresholds() {
    let thresholds = |preset: &str, flows: u64| {
        let config = catalog::config("bare", Some(preset), &papers_link()).unwrap();
        let catalog::AnyQueue::Bare(mut queue) =
            config.build(papers_link(), Rng::from_seed(1)).unwrap()
        else {
            panic!()
        };
        for flow in 0..flows {
            assert_eq!(offer(&mut queue, Time::ZERO, flow, 1000), None);
        }
        (queue.policy().max_th(), queue.policy().target())
    };
    for (n, max_th, target) in [
        (1, 8000.0, 4000.0),
        (5, 8000.0, 20_000.0),
        (9, 8000.0, 36_000.0),
        (20, 5161.29, 51_612.9),
        (30, 4387.10, 65_806.5),
        (40, 4000.0, 80_000.0),
        (68, 4000.0, 136_000.0),
    ] {
        let (ours, our_target) = thresholds("paper", n);
        close("max_th", ours, max_th, 0.005);
        close("target", our_target, target, 0.05);
    }
    for (preset, n, vth) in [
        ("flat120", 15, 120e3),
        ("flat120", 22, 120e3),
        ("flat120", 31, 124e3),
        ("flat160", 20, 160e3),
        ("flat160", 33, 160e3),
    ] {
        close(preset, thresholds(preset, n).1, vth / 2.0, 0.05);
    }
}

/// Preset `auto`: K as at the paper's link, nineteen twentieths of the limit for all together.
#[test]
fn auto_goes_by_the_link() {
    let config = catalog::config("bare", Some("auto"), &papers_link()).unwrap();
    for (param, value) in [
        ("memory", "384 ms"),
        ("roomy", "1"),
        ("crowded", "76"),
        ("timeout", "1.536 s"),
        ("most", "152 packets"),
    ] {
        assert_eq!(config.get(param).as_deref(), Some(value), "{param}");
    }
    let fast = catalog::config(
        "bare",
        Some("auto"),
        &support::link("10 Gbit/s", "1000 packets", "1000 B"),
    )
    .unwrap();
    assert_eq!(fast.get("memory").as_deref(), Some("100 ms"));
    assert_eq!(fast.get("timeout").as_deref(), Some("1.5 s"));
}

/// Constants that contradict each other are refused by name.
#[test]
fn contradictions_are_refused() {
    for (settings, field) in [
        (&[("roomy", "41")][..], "crowded"),
        (&[("beta_max", "0.4"), ("beta", "0.4")], "beta_max"),
        (&[("beta", "0.4")], "beta"),
        (&[("beta", "11")], "beta"),
    ] {
        let mut config = catalog::config("bare", Some("paper"), &papers_link()).unwrap();
        settings.iter().for_each(|(name, value)| config.set(name, value).unwrap());
        let error = config.build(papers_link(), Rng::from_seed(1)).unwrap_err();
        assert_eq!(error.field, field, "{error}");
        assert!(error.why.contains("must"), "{error}");
    }
}

// ---- the table
// -------------------------------------------------------------------------------------------------

/// Forgotten 1.5 s after the last packet that was let in: not earlier, and not while something
/// waits.
#[test]
fn idle_flows_are_forgotten() {
    let mut queue = bare(&[], papers_link(), Rng::from_seed(1));
    offer(&mut queue, ms(0), 1, 1000);
    offer(&mut queue, ms(100), 2, 1000);
    offer(&mut queue, ms(200), 3, 1000);
    queue.dequeue(ms(300), &mut NullSink);
    queue.dequeue(ms(300), &mut NullSink);
    for (at, flows) in [(1499, 3), (1500, 2), (1599, 2), (1600, 1), (9000, 1)] {
        queue.advance(ms(at));
        assert_eq!(queue.policy().flows(), flows, "at {at} ms");
    }
    // What was waiting leaves; its time is long over.
    queue.dequeue(ms(9000), &mut NullSink);
    queue.advance(ms(9000));
    assert_eq!(queue.policy().flows(), 0);
}

/// A refused packet does not keep its flow alive; one that is admitted does.
#[test]
fn only_what_is_let_in_keeps_a_flow() {
    for (len, flows) in [(9000, 0), (1000, 1)] {
        let mut queue = bare(&[], papers_link(), Rng::from_seed(1));
        offer(&mut queue, ms(0), 1, 1000);
        queue.dequeue(ms(1), &mut NullSink);
        assert_eq!(offer(&mut queue, ms(1400), 1, len).is_some(), len == 9000);
        queue.dequeue(ms(1401), &mut NullSink);
        queue.advance(ms(1501));
        assert_eq!(queue.policy().flows(), flows, "{len} B");
    }
}

/// A full table forgets the flow that is idle longest; if all have packets waiting, the newcomer is
/// refused.
#[test]
fn a_full_table() {
    let mut queue = bare(&[("flows", "3")], papers_link(), Rng::from_seed(1));
    for flow in 1..=3 {
        assert_eq!(offer(&mut queue, ms(flow), flow, 1000), None);
    }
    assert_eq!(offer(&mut queue, ms(4), 4, 1000), Some(DropReason::Overlimit));
    assert!(queue.policy().flow(4).is_none());
    queue.dequeue(ms(5), &mut NullSink);
    queue.dequeue(ms(5), &mut NullSink);
    // Flow 1 comes back, so flow 2 has been idle longest.
    assert_eq!(offer(&mut queue, ms(6), 1, 1000), None);
    assert_eq!(offer(&mut queue, ms(7), 4, 1000), None);
    let known: Vec<u64> = (1..=4).filter(|&flow| queue.policy().flow(flow).is_some()).collect();
    assert_eq!(known, [1, 3, 4]);
    assert_eq!(queue.policy().flows(), 3);
}

/// At the fair rate exactly, and at the target exactly, beta still grows; above both it is divided
/// by the ratio. One flow on a link of 1000 B/s, K = 1 s, packets without a gap: its rate goes 0,
/// 1000, 2000 B/s; avg is what waits.
#[test]
fn beta_shrinks_only_above_the_fair_rate_and_the_target() {
    let betas = |target: &str| {
        let settings =
            [("memory", "1 s"), ("weight", "1"), ("update_after", "0.125"), ("target", target)];
        let mut queue =
            bare(&settings, support::link("8 kbit/s", "160 kB", "1000 B"), Rng::from_seed(1));
        [0, 1000, 2000, 3000].map(|rate| {
            assert_eq!(offer(&mut queue, Time::ZERO, 1, 1000), None);
            let (_, after, beta) = queue.policy().flow(1).unwrap();
            assert_eq!(after, rate as f64);
            beta
        })
    };
    assert_eq!(
        betas("0.1"),
        [7.5, 9.0, 10.0, 5.0],
        "800 B: above the target from the second packet on"
    );
    assert_eq!(
        betas("0.375"),
        [7.5, 9.0, 10.0, 10.0],
        "3000 B: at the target when the fourth packet comes"
    );
}

/// One flow on a link of 4000 B/s, K = 1 s, packets without a gap, each sent at once. Beta is
/// adjusted at every third packet, when its rate is 1000, 4000 and 7000 B/s. It is always below the
/// target. Without a reset of the count it is adjusted from there at each arrival and departure.
#[test]
fn by_what_and_how_often_beta_grows() {
    let betas = |growth: &str, count: &str| {
        let settings = [("memory", "1 s"), ("update_after", "0.375"), ("beta_max", "1000")];
        let choices = [("growth", growth), ("count", count)];
        let link = support::link("32 kbit/s", "160 kB", "1000 B");
        let mut queue = bare(&[&settings[..], &choices].concat(), link, Rng::from_seed(1));
        [(); 9].map(|()| {
            assert_eq!(offer(&mut queue, Time::ZERO, 1, 1000), None);
            let (_, _, beta) = queue.policy().flow(1).unwrap();
            queue.dequeue(Time::ZERO, &mut NullSink);
            beta
        })
    };
    let check = |what: &str, ours: [f64; 9], expected: [f64; 9]| {
        for (a, b) in ours.into_iter().zip(expected) {
            close(what, a, b, 1e-9 * b);
        }
    };
    check(
        "constant",
        betas("constant", "reset"),
        [7.5, 7.5, 9.0, 9.0, 9.0, 10.8, 10.8, 10.8, 12.96],
    );
    check("ratio", betas("ratio", "reset"), [7.5, 7.5, 30.0, 30.0, 30.0, 30.0, 30.0, 30.0, 52.5]);
    let grown = |times: i32| 7.5 * libm::pow(1.2, times as f64);
    let kept = [0, 0, 1, 3, 5, 7, 9, 11, 13].map(grown);
    check("keep", betas("constant", "keep"), kept);
}

/// Without a slope, few flows end at `roomy`, that number included.
#[test]
fn a_threshold_without_a_slope() {
    let mut queue = bare(&[("roomy", "2"), ("crowded", "2")], papers_link(), Rng::from_seed(1));
    for (flow, max_th) in [(1, 8000.0), (2, 8000.0), (3, 4000.0)] {
        assert_eq!(offer(&mut queue, Time::ZERO, flow, 1000), None);
        assert_eq!(queue.policy().max_th(), max_th, "{flow} flows");
    }
}

/// Line 29: a new flow lowers max_th, and what has gone by is enough for an adjustment at the next
/// departure already.
#[test]
fn beta_is_adjusted_at_departures_too() {
    let settings = [("roomy", "1"), ("crowded", "2"), ("update_after", "1")];
    let mut queue = bare(&settings, papers_link(), Rng::from_seed(1));
    for _ in 0..4 {
        assert_eq!(offer(&mut queue, Time::ZERO, 1, 1000), None);
    }
    offer(&mut queue, Time::ZERO, 2, 1000);
    assert_eq!((queue.policy().max_th(), queue.policy().flow(1).unwrap().2), (4000.0, 7.5));
    queue.dequeue(Time::ZERO, &mut NullSink);
    assert_eq!((queue.policy().flow(1).unwrap().2, queue.policy().flow(2).unwrap().2), (9.0, 7.5));
}

/// Bounds that coincide are no contradiction: the exponent is then the same for all.
#[test]
fn one_exponent_for_all() {
    let settings = [("beta_min", "3"), ("beta", "3"), ("beta_max", "3"), ("update_after", "0")];
    let mut queue = bare(&settings, papers_link(), Rng::from_seed(1));
    for n in 0..20 {
        offer(&mut queue, ms(n), 1, 1000);
        queue.dequeue(ms(n), &mut NullSink);
        assert_eq!(queue.policy().flow(1).unwrap().2, 3.0);
    }
}
