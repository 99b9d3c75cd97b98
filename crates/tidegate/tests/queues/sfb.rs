//! SFB against its paper: golden numbers, the naive twin, and what the paper says that holds on the
//! queue alone.
use crate::naive::sfb::{
    DropRule, Early, Fall, NaiveSfb, Penalty, PenaltyBox, Rehash, Said, Setting,
};
use crate::support;
use crate::support::Fate;
use crate::support::stats;
use crate::support::twin::OPERATIONS;
use crate::twinned::Twinned as _;
use crate::twinned::sfb::{Twinned, documented_hash};
use tidegate::queues::Sfb;
use tidegate::queues::sfb::{Bin, misclassification, polluted_bins};
use tidegate::{DropReason, Ecn, Link, MarkReason, NullSink, Packet, Qdisc, Rng, Time, catalog};

const MS: u64 = 1_000_000;
const SEC: u64 = 1_000 * MS;

/// The paper's bottleneck: 45 Mbit/s, 200 kB, packets of 1 kB.
fn papers_link() -> Link {
    link("45 Mbit/s", "200 kB")
}

fn link(rate: &str, limit: &str) -> Link {
    support::link(rate, limit, "1000 B")
}

fn sfb(preset: &str, settings: &[(&str, &str)], link: Link, seed: u64) -> Sfb {
    match support::config("sfb", Some(preset), settings, &link)
        .build(link, Rng::from_seed(seed))
        .unwrap()
    {
        catalog::AnyQueue::Sfb(queue) => queue,
        other => panic!("{other:?}"),
    }
}

fn offer(queue: &mut Sfb, at: u64, flow: u64) -> Fate {
    let mut fate = Fate::default();
    queue.enqueue(Time::from_nanos(at), Packet::new(flow, 1000).with_ecn(Ecn::Ect0), &mut fate);
    fate
}

fn bins(queue: &Sfb, levels: usize) -> impl Iterator<Item = &Bin> {
    (0..levels).flat_map(|level| queue.policy().level(level))
}

/// The flow's bins are driven to p_m = 1 (calibrated: 14 packets fill them, 125 steps of .008 make
/// 1).
fn offend(queue: &mut Sfb, at: u64, flow: u64) {
    for _ in 0..14 + 125 {
        offer(queue, at, flow);
    }
    assert_eq!(queue.policy().p_min(flow), 1.0);
}

// ---- golden numbers
// -------------------------------------------------------------------------------------------------

/// The constants of feng2001 §III-B with one delta of .005 for both directions.
const LITERAL: Setting = Setting {
    levels: 2,
    bins: 23,
    bin_size: 13,
    overbook: 0.0,
    limit: 60.0,
    max: 0,
    d_up: 0.005,
    d_down: 0.005,
    fall: Fall::Arrival,
    hold: 0.0,
    drop_rule: DropRule::Any,
    early: Early::On,
    condemn: 1.0,
    penalty: Penalty::After,
    refused_raises: false,
    penalty_box: PenaltyBox::Bucket,
    packet: 1_000.0,
    penalty_rate: 20_000.0,
    penalty_depth: 2_000.0,
    rehash: Rehash::Off,
    rehash_interval: 2.0,
    warm_up: 2.0,
    warm_cap: 1.0,
};

/// One flow, nothing leaves: the fifteenth packet is the first to find more than 13 in its bins.
#[test]
fn the_twin_gives_the_golden_trace() {
    let mut sfb = NaiveSfb::new(LITERAL, |_, level, flow| (flow as usize + level) % 23);
    for _ in 0..14 {
        assert_eq!(sfb.arrive(0.0, 1), Said::Coin { p_min: 0.0 });
        sfb.enqueue(1, 0.0);
    }
    for p_m in [0.005, 0.010] {
        assert_eq!(sfb.arrive(0.0, 1), Said::Full);
        assert_eq!(sfb.active[0][1].p_m, p_m);
        assert_eq!(sfb.active[1][2].p_m, p_m);
    }
}

/// The same on the queue.
#[test]
fn golden_trace() {
    let mut queue = sfb("literal", &[], papers_link(), 1);
    for _ in 0..14 {
        assert_eq!(offer(&mut queue, 0, 1), Fate::default());
        assert_eq!(queue.policy().p_min(1), 0.0);
    }
    for p_m in [0.005, 0.010] {
        assert_eq!(offer(&mut queue, 0, 1).dropped, Some(DropReason::BinFull));
        assert_eq!(queue.policy().p_min(1), p_m);
        let mut touched: Vec<(u32, f64)> = bins(&queue, 2).map(|b| (b.qlen(), b.p_m())).collect();
        touched.retain(|&(qlen, p)| qlen > 0 || p > 0.0);
        assert_eq!(touched, [(14, p_m); 2], "one bin on each level, no other");
    }
}

/// p_min = 1 is reached at the step that arithmetic says, not one later by rounding.
#[test]
fn one_is_reached_exactly() {
    for (d_up, steps) in [
        ("0.008", 125),
        ("0.005", 200),
        ("0.001", 1000),
        ("0.02", 50),
        ("0.0005", 2000),
        ("0.3", 4),
    ] {
        let mut queue = sfb("paper", &[("d_up", d_up), ("penalty", "after")], papers_link(), 1);
        for _ in 0..14 + steps - 1 {
            offer(&mut queue, 0, 1);
        }
        assert!(queue.policy().p_min(1) < 1.0, "{d_up}");
        assert_eq!(offer(&mut queue, 0, 1).dropped, Some(DropReason::BinFull));
        assert_eq!(queue.policy().p_min(1), 1.0, "{d_up}");
        offer(&mut queue, 0, 1);
        assert_eq!(queue.policy().p_min(1), 1.0, "{d_up}: and no further");
    }
}

/// Equation (1): our arithmetic, and the numbers of 400 flows that §III-C prints (11, 36, 34, 64).
#[test]
fn equation_1() {
    for (levels, bins, offenders, p, flows) in [
        (2, 23, 4, 0.0265351, 10.6),
        (2, 23, 8, 0.0895548, 35.8),
        (1, 46, 4, 0.0841619, 33.7),
        (1, 46, 8, 0.1612405, 64.5),
    ] {
        let ours = misclassification(levels, bins, offenders);
        assert!((ours - p).abs() < 5e-8, "{levels} {bins} {offenders}: {ours}");
        assert!((400.0 * ours - flows).abs() < 0.05);
    }
    assert!((misclassification(8, 16, 10) - 0.0026).abs() < 5e-5);
    assert!((polluted_bins(23, 8) - 6.88).abs() < 0.005);
    assert_eq!(
        (misclassification(2, 23, 0), misclassification(3, 1, 1), misclassification(1, 0, 1)),
        (0.0, 1.0, 1.0)
    );
    assert_eq!((polluted_bins(23, 0), polluted_bins(0, 3)), (0.0, 0.0));
}

/// Fig. 4: from how many offenders on two levels beat three, and one beats two, with 90 and 900
/// bins in all.
#[test]
fn crossovers_of_figure_4() {
    let best = |bins: u32, offenders: u32| {
        let p = |levels: u32| misclassification(levels, bins / levels, offenders);
        (1..=3).min_by(|&a, &b| p(a).total_cmp(&p(b))).unwrap()
    };
    for (bins, two, one) in [(90, 25, 43), (900, 253, 433)] {
        for offenders in 1..bins {
            let levels = if offenders < two {
                3
            } else if offenders < one {
                2
            } else {
                1
            };
            assert_eq!(best(bins, offenders), levels, "{bins} bins, {offenders} offenders");
        }
    }
}

/// How many flows really share all bins with offenders, on the queue's own bins and hash functions,
/// over many seeds. Seeds are independent and a seed's share lies in 0 to 1, so that their mean is
/// nearly normal.
#[test]
fn misclassification_is_as_equation_1_says() {
    for (levels, n, offenders) in [(2, 23, 8), (1, 46, 4), (3, 15, 6)] {
        let settings = [("levels", &*format!("{levels}")), ("bins", &*format!("{n}"))];
        let (seeds, flows) = (1_500, 60);
        let shares: Vec<f64> = (0..seeds)
            .map(|index| {
                let seed = stats::seed("equation 1", index).get();
                let mut queue = sfb("paper", &settings, papers_link(), seed);
                (0..offenders as u64).for_each(|flow| offend(&mut queue, 0, flow));
                let hit =
                    (0..flows).filter(|flow| queue.policy().p_min(1_000 + flow) == 1.0).count();
                hit as f64 / flows as f64
            })
            .collect();
        let sum = shares.iter().sum::<f64>();
        let mean = sum / seeds as f64;
        let variance =
            shares.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / (seeds - 1) as f64;
        let p = misclassification(levels, n, offenders);
        stats::assert_mean(
            &format!("{levels} x {n}, {offenders} offenders"),
            sum,
            seeds,
            p,
            variance,
        );
        assert!((variance / seeds as f64).sqrt() < 0.15 * p, "the test is not sharp: {variance}");
    }
}

/// A packet with p_min between 0 and 1 is marked with exactly that probability.
#[test]
fn marks_come_with_p_min() {
    let (mut marked, mut offered) = (0.0, 0);
    for index in 0..200 {
        let seed = stats::seed("marks", index).get();
        let mut queue = sfb("paper", &[("d_up", "0.03")], papers_link(), seed);
        for _ in 0..14 + 10 {
            offer(&mut queue, 0, 1);
        }
        assert!((queue.policy().p_min(1) - 0.3).abs() < 1e-12);
        queue.dequeue(Time::ZERO, &mut NullSink); // 13 wait: neither full nor empty
        for _ in 0..500 {
            let fate = offer(&mut queue, 0, 1);
            assert_eq!(fate.dropped, None);
            marked += f64::from(u8::from(fate.marked == Some(MarkReason::Early)));
            offered += 1;
            queue.dequeue(Time::ZERO, &mut NullSink);
        }
    }
    stats::assert_mean("marks at p_min = .3", marked, offered, 0.3, 0.3 * 0.7);
}

/// A flow that shares one of its two bins with a flow that fills them: `any` drops its packets,
/// `min` does not.
#[test]
fn one_full_bin_hurts_only_under_any() {
    let hash = documented_hash(LITERAL.levels, LITERAL.bins, Rng::from_seed(1));
    let shares_one =
        |flow: &u64| hash(0, 0, *flow) == hash(0, 0, 1) && hash(0, 1, *flow) != hash(0, 1, 1);
    let flow = (2..).find(shares_one).unwrap();
    for (rule, dropped) in [("any", Some(DropReason::BinFull)), ("min", None)] {
        let mut queue = sfb("paper", &[("drop_rule", rule)], papers_link(), 1);
        offend(&mut queue, 0, 1);
        assert_eq!(offer(&mut queue, 0, flow), Fate { dropped, marked: None }, "{rule}");
        assert_eq!(queue.policy().p_min(flow), 0.0, "its clean bin speaks for it");
        assert_eq!(
            bins(&queue, 2).filter(|bin| bin.p_m() == 1.0).count(),
            2,
            "all bins are updated all the same"
        );
    }
}

/// A packet that finds no room raises p_m of its bins or does not, as `overflow` says.
#[test]
fn packets_without_room() {
    for (overflow, p_m) in [("count", 0.008), ("ignore", 0.0)] {
        let mut queue = sfb("paper", &[("overflow", overflow)], link("45 Mbit/s", "14 packets"), 1);
        for _ in 0..14 {
            assert_eq!(offer(&mut queue, 0, 1), Fate::default());
        }
        assert_eq!(offer(&mut queue, 0, 1).dropped, Some(DropReason::Overlimit));
        assert_eq!(queue.policy().p_min(1), p_m, "{overflow}");
    }
    // It, too, is an arrival at which a rehash falls due: the old bins are full, the new ones
    // empty.
    let mut queue = sfb("moving", &[], link("45 Mbit/s", "14 packets"), 1);
    for _ in 0..14 {
        offer(&mut queue, 0, 1);
    }
    assert_eq!(offer(&mut queue, 2 * SEC, 1).dropped, Some(DropReason::Overlimit));
    assert!(bins(&queue, 2).all(|bin| *bin == Bin::default()));
}

/// With `ecn = off` a signal is a drop also to those who could be marked.
#[test]
fn without_ecn_signals_are_drops() {
    for (ecn, fate) in [
        ("on", Fate { dropped: None, marked: Some(MarkReason::Early) }),
        ("off", Fate { dropped: Some(DropReason::Early), marked: None }),
    ] {
        let settings = [("ecn", ecn), ("d_up", "0.999999999")];
        let mut queue = sfb("paper", &settings, papers_link(), 1);
        for _ in 0..15 {
            offer(&mut queue, 0, 1);
        }
        queue.dequeue(Time::ZERO, &mut NullSink);
        assert_eq!(offer(&mut queue, 0, 1), fate, "ecn {ecn}");
    }
}

/// p_m falls at arrivals that find the bin empty, which a flood's refused packets are, or once for
/// each time that it empties.
#[test]
fn p_m_falls_at_arrivals_or_at_departures() {
    for (fall, after_departures, after_arrivals) in
        [("arrival", 0.08, 0.078), ("departure", 0.079, 0.079)]
    {
        let settings =
            [("fall", fall), ("d_down", "0.001"), ("d_up", "0.04"), ("penalty_rate", "0 bit/s")];
        let mut queue = sfb("paper", &settings, papers_link(), 1);
        for _ in 0..14 + 2 {
            offer(&mut queue, 0, 1);
        }
        while queue.dequeue(Time::ZERO, &mut NullSink).is_some() {}
        let near = |queue: &Sfb, p: f64| {
            assert!((queue.policy().p_min(1) - p).abs() < 1e-12, "{fall}, {p}")
        };
        near(&queue, after_departures);
        let refused = [1, 1].map(|flow| {
            let fate = offer(&mut queue, 0, flow);
            queue.dequeue(Time::ZERO, &mut NullSink);
            fate
        });
        let passed = refused.iter().filter(|fate| fate.dropped.is_none()).count() as f64;
        near(
            &queue,
            if fall == "arrival" { after_arrivals } else { after_arrivals - 0.001 * passed },
        );
    }
}

/// Between `bin_size` and `max` packets p_m rises, and nothing is dropped because of full bins.
#[test]
fn two_thresholds() {
    let mut queue = sfb("paper", &[("max", "20"), ("d_up", "0.000000001")], papers_link(), 1);
    for i in 0..30_u32 {
        let fate = offer(&mut queue, 0, 1);
        assert_eq!(fate.dropped, (i >= 21).then_some(DropReason::BinFull), "packet {i}");
        let rises = f64::from((i + 1).saturating_sub(14));
        assert!((queue.policy().p_min(1) * 1e9 - rises).abs() < 1e-6, "packet {i}");
    }
    let mut queue = sfb("paper", &[("max", "5")], papers_link(), 1);
    let held = (0..30).filter(|_| offer(&mut queue, 0, 1).dropped.is_none()).count();
    assert_eq!(held, 14, "never less than bin_size");
}

/// A condemned flow whose bins are full: the box before them lets its two packets in, after them
/// none.
#[test]
fn the_box_before_or_after_the_full_bins() {
    for (penalty, passed) in [("after", 0), ("before", 2)] {
        let mut queue = sfb("paper", &[("penalty", penalty), ("d_up", "1")], papers_link(), 1);
        for _ in 0..14 {
            offer(&mut queue, 0, 1);
        }
        let fates: Vec<Fate> = (0..10).map(|_| offer(&mut queue, 0, 1)).collect();
        assert_eq!(fates.iter().filter(|fate| fate.dropped.is_none()).count(), passed, "{penalty}");
        let why = if penalty == "after" { DropReason::BinFull } else { DropReason::Penalty };
        assert_eq!(fates[9].dropped, Some(why));
    }
}

/// p_m of a bin changes at most once in each time of holding, up or down.
#[test]
fn p_m_is_held() {
    let mut queue = sfb("paper", &[("hold", "10 ms"), ("d_up", "0.1")], papers_link(), 1);
    for at in 0..14 + 100 {
        offer(&mut queue, at * MS, 1); // full from the 14th ms on: rises at 14, 24, ... 104
    }
    let p_m = queue.policy().p_min(1);
    assert!((p_m - 1.0).abs() < 1e-12, "{p_m}");
    let mut queue = sfb("paper", &[("hold", "10 ms"), ("d_up", "0.1")], papers_link(), 1);
    for at in 0..14 + 50 {
        offer(&mut queue, at * MS, 1);
    }
    let p_m = queue.policy().p_min(1);
    assert!((p_m - 0.5).abs() < 1e-12, "{p_m}");
}

/// Condemned from a p_m below 1 on.
#[test]
fn condemned_below_one() {
    let mut queue = sfb(
        "paper",
        &[("condemn", "0.5"), ("d_up", "0.25"), ("penalty_rate", "0 bit/s")],
        papers_link(),
        1,
    );
    for _ in 0..14 + 2 {
        offer(&mut queue, 0, 1);
    }
    assert_eq!(queue.policy().p_min(1), 0.5);
    queue.dequeue(Time::ZERO, &mut NullSink);
    let fates: Vec<_> = (0..3).map(|_| offer(&mut queue, 0, 1).dropped).collect();
    assert_eq!(
        fates,
        [None, Some(DropReason::BinFull), Some(DropReason::BinFull)],
        "the box is full at first"
    );
    while queue.dequeue(Time::ZERO, &mut NullSink).is_some() {}
    queue.probe(&mut |gauge| {
        assert!(gauge.name != "bins_at_one" || gauge.value == 2.0, "{gauge:?}")
    });
}

/// With p_min = .8 and marks up to .5, six in ten packets are dropped that could be marked, and two
/// in ten marked.
#[test]
fn marks_turn_into_drops() {
    let (mut dropped, mut marked, mut offered) = (0.0, 0.0, 0);
    for index in 0..200 {
        let seed = stats::seed("marks and drops", index).get();
        let mut queue =
            sfb("paper", &[("d_up", "0.08"), ("mark_up_to", "0.5")], papers_link(), seed);
        for _ in 0..14 + 10 {
            offer(&mut queue, 0, 1);
        }
        while queue.backlog().packets > 13 {
            queue.dequeue(Time::ZERO, &mut NullSink);
        }
        for _ in 0..200 {
            let fate = offer(&mut queue, 0, 1);
            dropped += f64::from(u8::from(fate.dropped == Some(DropReason::Early)));
            marked += f64::from(u8::from(fate.marked == Some(MarkReason::Early)));
            offered += 1;
            while queue.backlog().packets > 13 {
                queue.dequeue(Time::ZERO, &mut NullSink);
            }
        }
    }
    stats::assert_mean("drops at p_min = .8", dropped, offered, 0.6, 0.6 * 0.4);
    stats::assert_mean("marks at p_min = .8", marked, offered, 0.2, 0.2 * 0.8);
}

/// With `early = full` p_min decides only for what finds its bins full, in place of the drop.
#[test]
fn only_full_bins_are_judged() {
    let settings = [("early", "full"), ("d_up", "0.999999999"), ("penalty", "after")];
    let mut queue = sfb("paper", &settings, papers_link(), 1);
    for _ in 0..14 {
        assert_eq!(offer(&mut queue, 0, 1), Fate::default());
    }
    assert_eq!(offer(&mut queue, 0, 1), Fate { dropped: None, marked: Some(MarkReason::Early) });
    let mut plain = Fate::default();
    queue.enqueue(Time::ZERO, Packet::new(1, 1000), &mut plain);
    assert_eq!(plain.dropped, Some(DropReason::BinFull));
    let mut queue = sfb("paper", &[("early", "full"), ("d_up", "0.9")], papers_link(), 1);
    for _ in 0..15 {
        offer(&mut queue, 0, 1);
    }
    while queue.backlog().packets > 13 {
        queue.dequeue(Time::ZERO, &mut NullSink);
    }
    assert_eq!(queue.policy().p_min(1), 0.9);
    assert_eq!(offer(&mut queue, 0, 1), Fate::default(), "bins that are not full let all in");
}

/// What takes over at a change knows no p_m beyond `warm_cap`.
#[test]
fn the_second_set_learns_up_to_its_cap() {
    let mut queue = sfb("double", &[("warm_cap", "0.2")], papers_link(), 1);
    offend(&mut queue, 0, 1);
    for _ in 0..125 {
        offer(&mut queue, SEC, 1);
    }
    queue.advance(Time::from_nanos(2 * SEC));
    assert_eq!(queue.policy().p_min(1), 0.2);
}

// ---- presets
// -------------------------------------------------------------------------------------------------

/// `auto` follows its rule and stays within bounds; its penalty rate is the paper's share of the
/// line.
#[test]
fn auto_is_scaled_to_the_link() {
    let get = |link: &Link, param| {
        catalog::config("sfb", Some("auto"), link).unwrap().get(param).unwrap()
    };
    assert_eq!(get(&papers_link(), "penalty_rate"), "160 kbit/s");
    // 45 Mbit/s × 100 ms are 562.5 packets in flight, whose root is 23.7, as the paper's 23 bins.
    assert_eq!([get(&papers_link(), "levels"), get(&papers_link(), "bins")], ["3", "237"]);
    for (rate, limit, bins) in [
        ("1 kbit/s", "1 packet", "64"),
        ("20 Mbit/s", "250 kB", "158"),
        ("1000000 Gbit/s", "16777216 packets", "1024"),
    ] {
        let link = link(rate, limit);
        assert_eq!(get(&link, "bins"), bins);
        catalog::config("sfb", Some("auto"), &link)
            .unwrap()
            .build(link, Rng::from_seed(1))
            .unwrap();
    }
}

/// With `overbook` a bin alone on its level is never full; beside n others it may hold b / (b + n)
/// of the limit.
#[test]
fn bins_share_the_limit_among_those_in_use() {
    let rise = [("overbook", "0.6"), ("d_up", "0.000000001")];
    let mut queue = sfb("paper", &rise, link("45 Mbit/s", "100 packets"), 1);
    for _ in 0..200 {
        offer(&mut queue, 0, 1);
    }
    assert_eq!((queue.backlog().packets, queue.policy().p_min(1)), (100, 0.0));
    // 60 / 1.6 = 37.5 beside one other, 60 / 2.6 = 23.1 beside two.
    for (others, held) in [(1, 38), (2, 24)] {
        let mut queue = sfb("paper", &rise, link("45 Mbit/s", "100 packets"), 1);
        let apart = |queue: &Sfb| bins(queue, 2).filter(|bin| bin.qlen() > 0).count();
        let mut flow = 1;
        while apart(&queue) < 2 * others {
            flow += 1;
            let mut trial = queue.clone();
            offer(&mut trial, 0, flow);
            if apart(&trial) == apart(&queue) + 2 {
                queue = trial;
            }
        }
        let mut own = flow + 1;
        while {
            let mut trial = queue.clone();
            offer(&mut trial, 0, own);
            apart(&trial) < 2 * others + 2
        } {
            own += 1;
        }
        let passed = (0..60).filter(|_| offer(&mut queue, 0, own).dropped.is_none()).count();
        assert_eq!(passed, held, "beside {others}");
    }
}

/// What the penalty box refuses raises p_m of bins that are not full, if asked to.
#[test]
fn refusals_raise_p_m() {
    for (refused, p_m) in [("ignore", 0.25), ("raise", 0.5)] {
        let settings = [
            ("refused", refused),
            ("condemn", "0.25"),
            ("d_up", "0.25"),
            ("d_down", "0"),
            ("penalty_rate", "0 bit/s"),
            ("penalty_depth", "1 packets"),
            ("penalty", "before"),
        ];
        let mut queue = sfb("paper", &settings, papers_link(), 1);
        for _ in 0..14 + 1 {
            assert_eq!(
                offer(&mut queue, 0, 1).dropped,
                None,
                "the last is condemned, and passes the box"
            );
        }
        while queue.dequeue(Time::ZERO, &mut NullSink).is_some() {}
        assert_eq!(offer(&mut queue, 0, 1).dropped, Some(DropReason::Penalty));
        assert_eq!(queue.policy().p_min(1), p_m, "{refused}");
    }
}

/// Linux's and XNU's numbers: printed probabilities to the last digit of theirs, times by whole
/// powers of ten of the rate.
#[test]
fn other_kernels_presets() {
    let get = |preset, link: &Link, param| {
        catalog::config("sfb", Some(preset), link).unwrap().get(param).unwrap()
    };
    let line = link("100 Mbit/s", "200 packets");
    let linux = |param| get("linux", &line, param);
    assert_eq!(
        [linux("levels"), linux("bins"), linux("bin_size"), linux("max")],
        ["8", "16", "19", "24"]
    );
    assert_eq!([linux("penalty_rate"), linux("penalty_depth")], ["80 kbit/s", "20 packets"]);
    let steps = linux("d_up").parse::<f64>().unwrap() * 65_535.0;
    assert!((steps - 66.0).abs() < 1e-9, "{steps}");
    for (rate, hold, penalty) in [
        ("500 kbit/s", "100 s", "26 bit/s"),
        ("99 Mbit/s", "10 s", "266 bit/s"),
        ("100 Mbit/s", "1 s", "2.666 kbit/s"),
        ("1 Gbit/s", "100 ms", "26.666 kbit/s"),
        ("999 Gbit/s", "1 ms", "2.666666 Mbit/s"),
        ("1000 Gbit/s", "1 ms", "2.666666 Mbit/s"), // no more decades than XNU knows
    ] {
        let line = link(rate, "300 packets");
        let apple = |param| get("apple", &line, param);
        assert_eq!([apple("hold"), apple("penalty_rate")], [hold, penalty], "{rate}");
        assert_eq!([apple("bin_size"), apple("max")], ["99", "149"]);
    }
}

/// What the manual page says of the state: 8 bytes per bin, twice that with two sets, and some 550
/// bytes besides.
#[test]
fn state_is_as_small_as_the_manual_says() {
    let link = papers_link();
    let bytes = |preset, bins: &str| {
        let mut config = catalog::config("sfb", Some(preset), &link).unwrap();
        config.set("bins", bins).unwrap();
        config.state_bytes(&link)
    };
    assert!(
        (46 * 8 + 500..46 * 8 + 600).contains(&bytes("paper", "23")),
        "{}",
        bytes("paper", "23")
    );
    assert_eq!(bytes("paper", "1023") - bytes("paper", "23"), 2 * 1_000 * 8);
    assert_eq!(bytes("double", "23") - bytes("paper", "23"), 2 * 23 * 8);
}

/// What the gauges show after one flood: two bins at 1 and full, 1/23 of each level.
#[test]
fn gauges() {
    let mut queue = sfb("paper", &[("penalty", "after")], papers_link(), 1);
    for (waiting, full) in [(13, 0.0), (14, 2.0)] {
        while queue.backlog().packets < waiting {
            offer(&mut queue, 0, 1);
        }
        queue.probe(&mut |gauge| {
            assert!(gauge.name != "bins_full" || gauge.value == full, "{waiting}: {gauge:?}")
        });
    }
    let mut queue = sfb("paper", &[("penalty", "after")], papers_link(), 1);
    offend(&mut queue, 0, 1);
    offer(&mut queue, 0, 1);
    let mut seen = Vec::new();
    queue.probe(&mut |gauge| seen.push((gauge.name, gauge.value)));
    let expected = [
        ("p_max", 1.0),
        ("p_mean", 2.0 / 46.0),
        ("bins_full", 2.0),
        ("bins_at_one", 2.0),
        ("misclassified", 1.0 / 529.0),
        ("penalised", 2.0 / 140.0),
        ("tokens", 2_000.0),
    ];
    assert_eq!(seen.len(), expected.len());
    for ((name, value), (expected_name, expected)) in seen.into_iter().zip(expected) {
        assert!(name == expected_name && (value - expected).abs() < 1e-12, "{name}: {value}");
    }
}

// ---- moving hash and double buffer
// ---------------------------------------------------------------------------------

/// Packets that wait through a rehash leave without touching the new bins.
#[test]
fn packets_counted_under_the_old_hash_leave_the_new_bins_alone() {
    for preset in ["moving", "double"] {
        let mut queue = sfb(preset, &[], papers_link(), 1);
        for flow in 0..30 {
            offer(&mut queue, 2 * SEC - 1, flow);
        }
        let total = |queue: &Sfb| bins(queue, 2).map(Bin::qlen).sum::<u32>();
        assert_eq!(total(&queue), 60);
        for flow in 0..5 {
            offer(&mut queue, 2 * SEC, flow); // the first thing after the change
        }
        assert_eq!(
            (queue.backlog().packets, total(&queue)),
            (35, 10),
            "{preset}: only the new ones count"
        );
        for _ in 0..30 {
            queue.dequeue(Time::from_nanos(2 * SEC), &mut NullSink).unwrap();
            assert_eq!(total(&queue), 10, "{preset}");
        }
        for left in (0..5).rev() {
            queue.dequeue(Time::from_nanos(2 * SEC), &mut NullSink).unwrap();
            assert_eq!(total(&queue), 2 * left, "{preset}");
        }
    }
}

/// A rehash changes the bins of flows: of 400, about 1/529 keep both, so 20 would be a wonder (P <
/// 1e-18).
#[test]
fn a_rehash_moves_flows() {
    let mut queue = sfb("moving", &[], papers_link(), 1);
    let place = |queue: &mut Sfb, at, flow| {
        assert!(offer(queue, at, flow).dropped.is_none());
        let held: Vec<usize> =
            bins(queue, 2).enumerate().filter(|(_, b)| b.qlen() > 0).map(|(i, _)| i).collect();
        queue.dequeue(Time::from_nanos(at), &mut NullSink).unwrap();
        held
    };
    let before: Vec<_> = (0..400).map(|flow| place(&mut queue, 0, flow)).collect();
    let after: Vec<_> = (0..400).map(|flow| place(&mut queue, 2 * SEC, flow)).collect();
    let stayed = before.iter().zip(&after).filter(|(a, b)| a == b).count();
    assert!(stayed < 20, "{stayed} of 400 stayed");
}

/// What becomes of a caught flow's p_min at the change: kept for ever, forgotten, or learned
/// beforehand.
#[test]
fn the_second_set_warms_up() {
    for (settings, before, after) in [
        (&[("rehash", "off")][..], 1.0, 1.0),
        (&[("rehash", "moving")], 1.0, 0.0),
        (&[("rehash", "double")], 1.0, 1.0),
        // It is caught too early for a set that learns in the last tenth only.
        (&[("rehash", "double"), ("warm_up", "0.1")], 1.0, 0.0),
    ] {
        let mut queue = sfb("paper", settings, papers_link(), 1);
        offend(&mut queue, 0, 1);
        for _ in 0..125 {
            offer(&mut queue, SEC, 1);
        }
        assert_eq!(queue.policy().p_min(1), before, "{settings:?}");
        queue.advance(Time::from_nanos(2 * SEC));
        assert_eq!(queue.policy().p_min(1), after, "{settings:?}");
    }
    // Within the window, each packet of a caught flow is one step in the second set, and in its
    // bins only.
    let mut queue = sfb("double", &[("warm_up", "0.1")], papers_link(), 1);
    offend(&mut queue, 0, 1);
    for at in [1_800 * MS - 1, 1_800 * MS, 2_000 * MS - 1] {
        offer(&mut queue, at, 1);
    }
    queue.advance(Time::from_nanos(2 * SEC));
    assert!((queue.policy().p_min(1) - 0.016).abs() < 1e-12, "{}", queue.policy().p_min(1));
    assert_eq!(bins(&queue, 2).filter(|bin| bin.p_m() > 0.0).count(), 2);
}

/// A century of silence at a change per millisecond is not 10^12 steps, and leaves nothing behind.
#[test]
fn a_long_silence_is_caught_up_at_once() {
    const CENTURY: u64 = 100 * 365 * 86_400 * SEC;
    for preset in ["moving", "double"] {
        let mut queue = sfb(preset, &[("rehash_interval", "1 ms")], papers_link(), 1);
        offend(&mut queue, 0, 1);
        queue.advance(Time::from_nanos(CENTURY));
        assert!(bins(&queue, 2).all(|bin| *bin == Bin::default()), "{preset}");
        if preset == "double" {
            assert!(
                (0..2)
                    .flat_map(|level| queue.policy().warming_level(level))
                    .all(|bin| *bin == Bin::default())
            );
        }
        while queue.dequeue(Time::from_nanos(CENTURY), &mut NullSink).is_some() {}
        assert!(bins(&queue, 2).all(|bin| *bin == Bin::default()), "{preset}");
    }
}

// ---- the naive twin
// -------------------------------------------------------------------------------------------------

/// A million operations: 40 flows, where the first few send most, in phases of overload, calm and
/// sleep. `setting` has seconds.
fn against_the_twin(name: &str, setting: Setting, settings: &[(&str, &str)]) -> Twinned {
    let seed = stats::seed(name, 0);
    let link = link("45 Mbit/s", "60 packets");
    let config = support::config("sfb", Some("literal"), settings, &link);
    let mut queue = Twinned::beside(&config, link, Rng::from_seed(seed.get())).unwrap();
    let setting = Setting {
        penalty_rate: setting.penalty_rate / 1e9,
        rehash_interval: setting.rehash_interval * 1e9,
        warm_up: setting.warm_up * 1e9,
        hold: setting.hold * 1e9,
        ..setting
    };
    assert_eq!(queue.twin.setting, setting, "the parameters mean what is written in the test");
    let mut world = seed.stream("world");
    let mut at = 0;
    for step in 0..OPERATIONS {
        // flood, flood of one, even, calm, and calm with sleep
        let phase = (step / 4_000 % 5) as usize;
        at += world.below(if phase == 4 && step % 500 == 0 { 3 * SEC } else { 400_000 });
        let now = Time::from_nanos(at);
        if world.uniform() < [0.85, 0.7, 0.5, 0.35, 0.35][phase] {
            let few = [0.8, 0.9, 0.3, 0.1, 0.1][phase];
            let flow = if world.uniform() < few {
                world.below([4, 1, 4, 4, 4][phase])
            } else {
                world.below(40)
            };
            let ecn = if flow % 2 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
            let pkt = Packet::new(flow, [1000, 300, 1500][world.below(3) as usize]).with_ecn(ecn);
            queue.enqueue(now, pkt, &mut NullSink);
        } else {
            queue.dequeue(now, &mut NullSink);
        }
        if step % 199 == 0 || step + 1 == OPERATIONS {
            queue.advance(now);
        }
    }
    queue.disputes.settle();
    assert!(
        setting.rehash == Rehash::Off || queue.twin.generation > 100,
        "{} rehashes",
        queue.twin.generation
    );
    queue
}

/// Every way out of the rule was taken often.
fn all_paths(queue: &Twinned) {
    let Twinned { full, penalised, paid, coins, early, overlimit, sent, .. } = *queue;
    let seen = [full, penalised, paid, coins, early, overlimit, sent, penalised - paid];
    assert!(seen.iter().all(|&n| n > 100), "{seen:?}");
}

#[test]
fn twin_literal() {
    against_the_twin("sfb literal", LITERAL, &[]);
}

#[test]
fn twin_calibrated() {
    let setting = Setting { d_up: 0.008, d_down: 0.0001, drop_rule: DropRule::Min, ..LITERAL };
    let settings = [("d_up", "0.008"), ("d_down", "0.0001"), ("drop_rule", "min")];
    all_paths(&against_the_twin("sfb calibrated", setting, &settings));
}

#[test]
fn twin_moving() {
    let setting = Setting {
        d_up: 0.03,
        d_down: 0.001,
        drop_rule: DropRule::Min,
        bin_size: 6,
        rehash: Rehash::Moving,
        rehash_interval: 0.3,
        warm_up: 0.3,
        penalty_rate: 100_000.0,
        penalty_depth: 3_000.0,
        ..LITERAL
    };
    let settings = [
        ("d_up", "0.03"),
        ("d_down", "0.001"),
        ("drop_rule", "min"),
        ("bin_size", "6"),
        ("rehash", "moving"),
        ("rehash_interval", "300 ms"),
        ("penalty_rate", "800 kbit/s"),
        ("penalty_depth", "3 kB"),
    ];
    all_paths(&against_the_twin("sfb moving", setting, &settings));
}

#[test]
fn twin_double() {
    let mut setting = Setting {
        levels: 3,
        bins: 11,
        d_up: 0.03,
        d_down: 0.001,
        drop_rule: DropRule::Min,
        bin_size: 6,
        rehash: Rehash::Double,
        rehash_interval: 0.3,
        warm_up: 0.3,
        ..LITERAL
    };
    let mut settings = vec![
        ("levels", "3"),
        ("bins", "11"),
        ("d_up", "0.03"),
        ("d_down", "0.001"),
        ("drop_rule", "min"),
        ("bin_size", "6"),
        ("rehash", "double"),
        ("rehash_interval", "300 ms"),
    ];
    all_paths(&against_the_twin("sfb double", setting, &settings));
    setting.warm_up = 0.075;
    settings.push(("warm_up", "0.25"));
    all_paths(&against_the_twin("sfb double, late", setting, &settings));
}

/// Linux's ways: two thresholds, whole packets in the box, marks that turn into drops.
#[test]
fn twin_two_thresholds() {
    let setting = Setting {
        bin_size: 4,
        max: 7,
        d_up: 0.02,
        d_down: 0.002,
        drop_rule: DropRule::Min,
        penalty_box: PenaltyBox::Whole,
        penalty_rate: 100_000.0,
        penalty_depth: 5_000.0,
        ..LITERAL
    };
    let settings = [
        ("bin_size", "4"),
        ("max", "7"),
        ("d_up", "0.02"),
        ("d_down", "0.002"),
        ("drop_rule", "min"),
        ("penalty_box", "whole"),
        ("penalty_rate", "800 kbit/s"),
        ("penalty_depth", "5 packets"),
        ("mark_up_to", "0.5"),
    ];
    all_paths(&against_the_twin("sfb two thresholds", setting, &settings));
}

/// XNU's: p_m held and falling at departures, pauses for the box, condemned below 1, a capped
/// second set.
#[test]
fn twin_held() {
    let mut setting = Setting {
        bin_size: 4,
        max: 7,
        d_up: 0.1,
        d_down: 0.02,
        fall: Fall::Departure,
        hold: 0.002,
        condemn: 0.9,
        penalty: Penalty::Before,
        penalty_box: PenaltyBox::Spaced,
        penalty_rate: 200_000.0,
        drop_rule: DropRule::Min,
        rehash: Rehash::Double,
        rehash_interval: 0.3,
        warm_up: 0.3,
        warm_cap: 0.4,
        ..LITERAL
    };
    let mut settings = vec![
        ("bin_size", "4"),
        ("max", "7"),
        ("d_up", "0.1"),
        ("d_down", "0.02"),
        ("fall", "departure"),
        ("hold", "2 ms"),
        ("condemn", "0.9"),
        ("penalty", "before"),
        ("penalty_box", "spaced"),
        ("penalty_rate", "1600 kbit/s"),
        ("drop_rule", "min"),
        ("rehash", "double"),
        ("rehash_interval", "300 ms"),
        ("warm_cap", "0.4"),
    ];
    all_paths(&against_the_twin("sfb held", setting, &settings));
    (setting.early, setting.drop_rule, setting.penalty) =
        (Early::Full, DropRule::Any, Penalty::After);
    settings.extend([("early", "full"), ("drop_rule", "any"), ("penalty", "after")]);
    let queue = against_the_twin("sfb held, full bins judged", setting, &settings);
    assert!(
        queue.full > 100 && queue.penalised > 100 && queue.coins > 100,
        "{} {}",
        queue.full,
        queue.penalised
    );
}

/// `auto`'s ways: the limit shared among the bins in use, refusals that raise p_m.
#[test]
fn twin_sharing() {
    let setting = Setting {
        levels: 3,
        bins: 11,
        overbook: 0.6,
        d_up: 0.05,
        d_down: 0.01,
        fall: Fall::Departure,
        hold: 0.001,
        penalty: Penalty::Before,
        refused_raises: true,
        drop_rule: DropRule::Min,
        penalty_rate: 200_000.0,
        rehash: Rehash::Double,
        rehash_interval: 0.3,
        warm_up: 0.3,
        ..LITERAL
    };
    let settings = [
        ("levels", "3"),
        ("bins", "11"),
        ("overbook", "0.6"),
        ("d_up", "0.05"),
        ("d_down", "0.01"),
        ("fall", "departure"),
        ("hold", "1 ms"),
        ("penalty", "before"),
        ("refused", "raise"),
        ("drop_rule", "min"),
        ("penalty_rate", "1600 kbit/s"),
        ("rehash", "double"),
        ("rehash_interval", "300 ms"),
    ];
    all_paths(&against_the_twin("sfb sharing", setting, &settings));
}

/// The corners of the bounds: eight levels, one bin.
#[test]
fn twin_at_the_corners() {
    let setting = Setting { levels: 8, bins: 16, drop_rule: DropRule::Min, d_down: 0.0, ..LITERAL };
    against_the_twin(
        "sfb eight levels",
        setting,
        &[("levels", "8"), ("bins", "16"), ("drop_rule", "min"), ("d_down", "0")],
    );
    let setting = Setting { levels: 1, bins: 1, bin_size: 1, d_up: 1.0, d_down: 1.0, ..LITERAL };
    let settings =
        [("levels", "1"), ("bins", "1"), ("bin_size", "1"), ("d_up", "1"), ("d_down", "1")];
    against_the_twin("sfb one bin", setting, &settings);
}
