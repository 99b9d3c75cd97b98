//! AFD against pan2003: the naive twin, the golden numbers, and what the paper says that holds on
//! the queue alone.
use crate::naive::afd::NaiveAfd;
use crate::support;
use crate::support::twin::OPERATIONS;
use crate::support::workload::Workload;
use crate::support::{Fate, stats};
use crate::twinned::Twinned as _;
use crate::twinned::afd::Twinned;
use tidegate::queues::Afd;
use tidegate::{Link, NullSink, Packet, Qdisc, Rng, Span, Time, catalog};

fn afd(settings: &[(&str, &str)], link: Link, seed: u64) -> Afd {
    match support::config("afd", None, settings, &link).build(link, Rng::from_seed(seed)).unwrap() {
        catalog::AnyQueue::Afd(queue) => queue,
        other => panic!("{other:?}"),
    }
}

/// m_i = 160 with m_fair = 100: three packets in eight.
#[test]
fn the_twin_gives_the_golden_numbers() {
    let mut twin = NaiveAfd::new(500, 5.0, 1.7, 1.8, 50.0);
    twin.shadow = [vec![7; 160], vec![8; 340]].concat();
    (twin.m_fair, twin.q_old) = (100.0, 60.0);
    assert_eq!((twin.drop(7), twin.drop(9)), (0.375, 0.0));
    twin.update(70.0);
    assert!((twin.m_fair - 81.0).abs() < 1e-12);
}

fn drive(settings: &[(&str, &str)], twin: NaiveAfd, limit: &str, operations: u64) -> Twinned {
    let link = support::link("10 Mbit/s", limit, "770 B");
    let config = support::config("afd", None, settings, &link);
    let mut twinned = Twinned::beside(&config, link, Rng::from_seed(7)).unwrap();
    assert_eq!(twinned.twin, twin, "the parameters mean what is written in the test");
    Workload::restless(operations).run(&mut twinned, &link, &mut Rng::from_seed(11), &mut NullSink);
    twinned.disputes.settle();
    twinned
}

#[test]
fn twin_agrees_over_a_million_operations() {
    let seen =
        drive(&[], NaiveAfd::new(500, 5.0, 1.7, 1.8, 50.0), "100 packets", OPERATIONS * 5 / 4);
    assert!(seen.operations >= OPERATIONS, "{}", seen.operations);
    assert!(
        seen.samples.min(seen.dropped) > 10_000 && seen.overflows > 1_000,
        "{} {}",
        seen.dropped,
        seen.overflows
    );
    assert!(seen.most_due > 64, "long idleness: {}", seen.most_due);
}

#[test]
fn twin_agrees_in_every_mode() {
    let settings =
        [("sample", "1"), ("shadow", "20"), ("update", "1 ms"), ("alpha", "0.3"), ("beta", "0.5")];
    let target = 0.5 * 40_000.0 / 770.0;
    let seen = drive(&settings, NaiveAfd::new(20, 1.0, 0.3, 0.5, target), "40 kB", 100_000);
    assert!(seen.dropped > 1_000, "{}", seen.dropped);
    drive(
        &[("shadow", "1"), ("target", "1")],
        NaiveAfd::new(1, 5.0, 1.7, 1.8, 100.0),
        "100 packets",
        50_000,
    );
    drive(&[("target", "0")], NaiveAfd::new(500, 5.0, 1.7, 1.8, 0.0), "100 packets", 50_000);
}

/// One packet in s is sampled (z test, false alarm 1e-6): the shadow buffer fills as fast as a
/// binomial says.
#[test]
fn one_in_s_is_sampled() {
    let link = support::link("10 Mbit/s", "1000000 packets", "1000 B");
    for (sample, packets) in [("5", 20_000_u64), ("2.5", 10_000), ("1", 1_000)] {
        let mut sum = 0.0;
        let (runs, p) = (50, 1.0 / sample.parse::<f64>().unwrap());
        for index in 0..runs {
            let seed = stats::seed("one in s", index).get();
            let mut queue = afd(&[("sample", sample), ("shadow", "100000")], link, seed);
            for _ in 0..packets {
                queue.enqueue(Time::ZERO, Packet::new(7, 1000), &mut NullSink);
            }
            sum += queue.policy().count(7) as f64;
        }
        let mean = packets as f64 * p;
        let (low, high) = (mean * runs as f64 - 0.5, mean * runs as f64 + 0.5);
        match p {
            1.0 => assert!(sum > low && sum < high),
            _ => stats::assert_mean(sample, sum, runs, mean, packets as f64 * p * (1.0 - p)),
        }
    }
}

/// §3: three CBR flows at 4, 2 and 1 times the fair share of ten, seven at .9 of it. A flow that
/// sends too much gets the fair share, give or take the luck of 50 samples. One that does not loses
/// next to nothing.
#[test]
fn floods_are_held_to_the_fair_share() {
    let link = support::link("8 Mbit/s", "100 packets", "1000 B");
    let mut queue = afd(&[], link, 1);
    let (mut sent, mut lost) = ([0_u64; 10], [0_u64; 10]);
    let mut dice = stats::dice("afd floods", 0);
    let rates = [0.4, 0.3, 0.2, 0.09, 0.09, 0.09, 0.09, 0.09, 0.09, 0.09];
    for n in 0..200_000_u64 {
        let now = Time::ZERO + Span::from_millis(n);
        for (flow, &rate) in rates.iter().enumerate() {
            if dice.chance(rate) {
                let mut fate = Fate::default();
                queue.enqueue(now, Packet::new(flow as u64, 1000), &mut fate);
                lost[flow] += u64::from(n >= 20_000 && fate.dropped.is_some());
            }
        }
        if let Some(pkt) = queue.dequeue(now, &mut NullSink) {
            sent[pkt.flow as usize] += u64::from(n >= 20_000);
        }
    }
    let total: u64 = sent.iter().sum();
    assert!(total > 176_000, "the link is busy: {total}");
    // Max-min: seven at .09, and the three others divide the rest, .123 each.
    for flow in 0..3 {
        let share = sent[flow] as f64 / 180_000.0;
        assert!((share - 0.123).abs() < 0.02, "{sent:?}");
    }
    for flow in 3..10 {
        let loss = lost[flow] as f64 / 16_200.0;
        assert!(loss < 0.12, "{lost:?}");
    }
}
