//! CSFQ against its paper: the naive twin, golden numbers, and how the fair share converges.
use crate::naive::csfq::{Estimate, Forwarded, NaiveCsfq, Setting};
use crate::support;
use crate::support::twin::OPERATIONS;
use crate::support::workload::Workload;
use crate::support::{Fate, stats};
use crate::twinned::Twinned as _;
use crate::twinned::csfq::Twinned;
use tidegate::queues::Csfq;
use tidegate::units::Pacer;
use tidegate::{DropReason, Link, NullSink, Packet, Qdisc, Rng, Span, Time, catalog};

fn csfq(preset: &str, settings: &[(&str, &str)], link: Link, dice: Rng) -> Csfq {
    match support::config("csfq", Some(preset), settings, &link).build(link, dice).unwrap() {
        catalog::AnyQueue::Csfq(queue) => queue,
        other => panic!("{other:?}"),
    }
}

/// stoica1998 §4: 10 Mbit/s, 64 kB.
fn papers_link() -> Link {
    support::link("10 Mbit/s", "64 kB", "1000 B")
}

fn ms(n: u64) -> Time {
    Time::ZERO + Span::from_millis(n)
}

/// stoica1998's constants at 10 Mbit/s.
const PAPER: Setting = Setting {
    k: 0.1,
    k_alpha: 0.2,
    k_c: 2e8,
    capacity: 1.25e6,
    most: 1.25e6,
    overflow: 0.99,
    overflow_most: 0.25,
    threshold: 0.0,
    forwarded: Forwarded::Accepted,
};

/// C = 10, alpha = 1, F = 12.5 Mbit/s: alpha becomes .8; a label of 2 is then dropped with .6. And
/// the estimator: 1000 bytes every 8 ms.
#[test]
fn the_twin_gives_the_golden_numbers() {
    let mut twin = NaiveCsfq::new(PAPER);
    let estimate = |rate| Estimate { rate, last: Some(1e9), waiting: 0.0 };
    (twin.alpha, twin.congested, twin.since) = (125e3, true, 0.0);
    // At the time of the last packet, so that the rates stay what they are.
    (twin.arriving, twin.accepted) = (estimate(1.5e6), estimate(12.5e6 / 8.0));
    twin.estimate_alpha(1e9, 0.0, 0.0, false, 0.0);
    assert!((twin.alpha - 100e3).abs() < 1e-6, "{}", twin.alpha);
    assert!((twin.drop(250e3) - 0.6).abs() < 1e-12);
    assert_eq!((twin.drop(100e3), twin.drop(0.0)), (0.0, 0.0));
    let mut rate = Estimate::default();
    assert_eq!(rate.update(0.0, 1000.0, 0.1), 0.0);
    assert!((rate.update(8e6, 1000.0, 0.1) - 9610.5).abs() < 0.06);
    for n in 2..500 {
        rate.update(n as f64 * 8e6, 1000.0, 0.1);
    }
    assert!((rate.rate - 125e3).abs() < 1e-3);
}

/// Within K_c nothing happens; without congestion alpha becomes the largest label; overflows take a
/// hundredth each, and a quarter at most.
#[test]
fn the_twin_keeps_its_windows() {
    let mut twin = NaiveCsfq::new(PAPER);
    twin.estimate_alpha(1e6, 5e3, 1000.0, false, 0.0);
    twin.estimate_alpha(2e6, 9e3, 1000.0, false, 0.0);
    twin.estimate_alpha(1.99e8, 7e3, 1000.0, false, 0.0);
    assert_eq!((twin.alpha, twin.largest), (0.0, 9e3));
    twin.estimate_alpha(2e8, 20e3, 1000.0, false, 0.0);
    assert_eq!((twin.alpha, twin.largest), (9e3, 0.0));
    twin.overflow(2e8);
    assert_eq!(twin.alpha, 9e3 * 0.99);
    (0..100).for_each(|_| twin.overflow(3.99e8));
    assert_eq!(twin.alpha, 9e3 * 0.75);
    twin.overflow(4e8);
    assert_eq!(twin.alpha, 9e3 * 0.75 * 0.99);
}

// ---- the twin
// -------------------------------------------------------------------------------------------------

fn drive(preset: &str, settings: &[(&str, &str)], limit: &str, operations: u64) -> Twinned {
    let link = support::link("10 Mbit/s", limit, "770 B");
    let config = support::config("csfq", Some(preset), settings, &link);
    let mut twinned = Twinned::beside(&config, link, stats::dice(preset, 0)).unwrap();
    Workload::restless(operations).run(
        &mut twinned,
        &link,
        &mut stats::dice(preset, 1),
        &mut NullSink,
    );
    twinned.disputes.settle();
    assert!(!twinned.on_the_edge, "compared to the end");
    assert!(
        twinned.drops > operations / 100 && twinned.changes > 100,
        "{} {}",
        twinned.drops,
        twinned.changes
    );
    twinned
}

#[test]
fn twin_agrees_over_a_million_packets() {
    let twinned = drive("paper", &[], "64 kB", 2 * OPERATIONS);
    assert!(twinned.operations >= OPERATIONS * 3 / 4 && twinned.full > 1_000, "{}", twinned.full);
}

#[test]
fn twin_agrees_in_every_mode() {
    drive("threshold", &[], "64 kB", 200_000);
    drive("auto", &[], "50 packets", 200_000);
    let fast = [
        ("memory", "5 ms"),
        ("link_memory", "20 ms"),
        ("window", "10 ms"),
        ("threshold", "3 packets"),
    ];
    drive("auto", &fast, "20 packets", 200_000);
    drive(
        "paper",
        &[("overflow", "0.2"), ("overflow_most", "0.9"), ("weights", "0.5:2")],
        "10 kB",
        200_000,
    );
}

// ---- golden numbers on the queue
// ------------------------------------------------------------------------------------

#[test]
fn golden_rate_of_a_flow() {
    let mut queue = csfq("paper", &[], papers_link(), Rng::from_seed(1));
    for (n, rate) in [(0, 0.0), (1, 9610.46), (2, 18482.03)] {
        queue.enqueue(ms(8 * n), Packet::new(7, 1000), &mut NullSink);
        queue.dequeue(ms(8 * n), &mut NullSink);
        assert!(
            (queue.policy().rate(7).unwrap() - rate).abs() < 0.1,
            "{:?}",
            queue.policy().rate(7)
        );
    }
    for n in 3..500 {
        queue.enqueue(ms(8 * n), Packet::new(7, 1000), &mut NullSink);
        queue.dequeue(ms(8 * n), &mut NullSink);
    }
    assert!((queue.policy().rate(7).unwrap() - 125e3).abs() < 1e-3);
    assert_eq!(queue.policy().rate(8), None);
}

/// CBR flows of these rates in Mbit/s, packets of 1000 bytes that begin at random times, into a
/// link of 10 Mbit/s. Returns what each gets, in Mbit/s, from the third second on, and the fair
/// share each tenth of a second.
fn share(queue: &mut Csfq, rates: &[f64], seconds: u64) -> (Vec<f64>, Vec<f64>) {
    let mut start = stats::dice("start", 0);
    let gap = |rate: f64| Span::from_secs(8e-3 / rate);
    let mut next: Vec<(Time, u64)> = (0_u64..)
        .zip(rates)
        .map(|(flow, &rate)| {
            (Time::ZERO + Span::from_secs(start.uniform() * gap(rate).as_secs()), flow)
        })
        .collect();
    let (mut line, mut free, mut sent, mut alphas) =
        (Pacer::new(papers_link().rate), Time::ZERO, vec![0.0; rates.len()], vec![]);
    while let Some(first) = (0..next.len()).min_by_key(|&at| next[at]) {
        let (now, flow) = next[first];
        if now >= ms(1000 * seconds) {
            break;
        }
        while free <= now {
            let Some(pkt) = queue.dequeue(free, &mut NullSink) else { break };
            if free >= ms(3000) {
                sent[pkt.flow as usize] += 8e-3 / (seconds as f64 - 3.0);
            }
            free += line.next(pkt.len);
        }
        free = free.max(now);
        if now >= ms(100 * alphas.len() as u64) {
            alphas.push(queue.policy().fair_share() * 8e-6);
        }
        queue.enqueue(now, Packet::new(flow, 1000), &mut NullSink);
        next[first].0 += gap(rates[flow as usize]);
    }
    (sent, alphas)
}

/// stoica1998 §4.1: 32 CBR flows on 10 Mbit/s, the i-th with i times the fair share of .3125
/// Mbit/s. The paper's Fig. 5 has all of them near the fair share.
#[test]
fn thirty_two_flows_get_the_same() {
    for preset in ["paper", "threshold", "auto"] {
        let rates: Vec<f64> = (1..=32).map(|i| i as f64 * 0.3125).collect();
        let mut queue = csfq(preset, &[], papers_link(), stats::dice("32", 0));
        let (sent, alphas) = share(&mut queue, &rates, 23);
        let total: f64 = sent.iter().sum();
        assert!(total > 9.8 && total < 10.01, "{preset}: {total}");
        assert!(sent.iter().all(|rate| (rate / 0.3125 - 1.0).abs() < 0.1), "{preset}: {sent:?}");
        assert!(
            alphas[30..].iter().all(|alpha| (alpha / 0.3125 - 1.0).abs() < 0.25),
            "{preset}: {alphas:?}"
        );
    }
}

/// The fair share is the alpha where Σ min(r_i, alpha) = C. With flows of 1, 2, 4, 8 and 16 Mbit/s
/// on 10 Mbit/s it is 7/3, and the first two keep all they send.
#[test]
fn the_fair_share_is_max_min() {
    let mut queue = csfq("paper", &[], papers_link(), stats::dice("max-min", 0));
    let (sent, alphas) = share(&mut queue, &[1.0, 2.0, 4.0, 8.0, 16.0], 33);
    for (rate, fair) in sent.iter().zip([1.0, 2.0, 7.0 / 3.0, 7.0 / 3.0, 7.0 / 3.0]) {
        assert!((rate / fair - 1.0).abs() < 0.05, "{sent:?}");
    }
    assert!(alphas[30..].iter().all(|alpha| (alpha * 3.0 / 7.0 - 1.0).abs() < 0.2), "{alphas:?}");
}

/// §2.2: alpha C / F converges within a few windows. There are eight flows of 2.5 Mbit/s for three
/// seconds; then two of them stop and come back. So alpha goes from 1.25 Mbit/s to 10/6 and back.
#[test]
fn the_fair_share_follows_the_number_of_flows() {
    let mut queue = csfq("paper", &[], papers_link(), stats::dice("follows", 0));
    let (mut line, mut free) = (Pacer::new(papers_link().rate), Time::ZERO);
    let mut alphas = vec![];
    // A packet of each flow in turn every 3.2 ms.
    for n in 0..8 * 2_800_u64 {
        let now = Time::ZERO + Span::from_micros(400 * n);
        let flow = n % 8;
        if flow >= 2 || !(3_000_000..6_000_000).contains(&(400 * n)) {
            queue.enqueue(now, Packet::new(flow, 1000), &mut NullSink);
        }
        while free <= now {
            match queue.dequeue(free, &mut NullSink) {
                Some(pkt) => free += line.next(pkt.len),
                None => free = now + Span::from_nanos(1),
            }
        }
        if n % 2_500 == 2_499 {
            alphas.push(queue.policy().fair_share() * 8e-6); // each second
        }
    }
    for (second, fair) in [(2, 1.25), (4, 10.0 / 6.0), (5, 10.0 / 6.0), (7, 1.25)] {
        assert!((alphas[second] / fair - 1.0).abs() < 0.1, "second {second}: {alphas:?}");
    }
}

/// Two flows of 10 Mbit/s each, the class of one with weight 3: it gets three quarters. So does one
/// of a class beyond the last, which goes by the last one's weight.
#[test]
fn weights_divide_the_link() {
    [1, 2, 9].into_iter().for_each(weights_divide_it_among_class_0_and);
}

fn weights_divide_it_among_class_0_and(last: u16) {
    let mut queue = csfq("paper", &[("weights", "1:3")], papers_link(), stats::dice("weights", 0));
    let mut sent = [0.0; 2];
    for n in 0..20_000_u64 {
        let now = Time::ZERO + Span::from_micros(800 * n);
        for flow in 0..2 {
            queue.enqueue(
                now,
                Packet::new(flow, 1000).with_class(flow as u16 * last),
                &mut NullSink,
            );
        }
        let pkt = queue.dequeue(now, &mut NullSink);
        if let (true, Some(pkt)) = (n > 4_000, pkt) {
            sent[pkt.flow as usize] += 1.0 / 16_000.0;
        }
    }
    assert!(
        (sent[0] - 0.25_f64).abs() < 0.02 && (sent[1] - 0.75_f64).abs() < 0.02,
        "class {last}: {sent:?}"
    );
}

/// As long as nothing is known nobody is dropped from, and a flow's first packet has no label.
#[test]
fn invented_flows_pass() {
    let mut queue = csfq("paper", &[("flows", "100")], papers_link(), Rng::from_seed(1));
    for flow in 0..5_000 {
        let mut fate = Fate::default();
        queue.enqueue(Time::from_nanos(flow * 100_000), Packet::new(flow, 1000), &mut fate);
        assert!(fate.dropped.is_none_or(|why| why == DropReason::Overlimit));
    }
    assert_eq!((queue.policy().fair_share(), queue.policy().is_congested()), (0.0, true));
    // They are known in turn: the last hundred.
    assert_eq!((queue.policy().rate(4_900), queue.policy().rate(4_899)), (Some(0.0), None));
}

/// A flow whose packets keep coming is not the one that makes room.
#[test]
fn the_flow_that_is_idle_longest_makes_room() {
    let mut queue = csfq("paper", &[("flows", "3")], papers_link(), Rng::from_seed(1));
    for n in 0..300 {
        for flow in [0, 1_000 + n] {
            queue.enqueue(ms(8 * n), Packet::new(flow, 1000), &mut NullSink);
            queue.dequeue(ms(8 * n), &mut NullSink);
        }
    }
    assert!((queue.policy().rate(0).unwrap() - 125e3).abs() < 1e-3);
    assert_eq!(
        [1_297, 1_298, 1_299].map(|flow| queue.policy().rate(flow).is_some()),
        [false, true, true]
    );
}

/// A flood of new flows, which nobody holds back, drives the fair share far down; then comes a
/// flood of one flow. With `arrivals` F falls as soon as nothing is accepted, and alpha recovers
/// within seconds. By the pseudo-code it does not.
#[test]
fn a_fair_share_that_is_far_too_small_recovers_if_arrivals_move_f() {
    for (forwarded, recovers) in [("arrivals", true), ("accepted", false)] {
        let link = support::link("10 Mbit/s", "2000 packets", "1000 B");
        let mut queue =
            csfq("paper", &[("forwarded", forwarded)], link, stats::dice("recovers", 0));
        let offer = |queue: &mut Csfq, micros: u64, flow| {
            let now = Time::ZERO + Span::from_micros(micros);
            queue.enqueue(now, Packet::new(flow, 1000), &mut NullSink);
            queue.dequeue(now, &mut NullSink);
        };
        // Ten times the link for 5 s, of new flows but for one packet in a hundred.
        (0..62_500).for_each(|n| offer(&mut queue, 80 * n, if n % 100 == 0 { 0 } else { n }));
        let low = queue.policy().fair_share();
        assert!(low < 1e-9, "{forwarded}: {low}");
        (0..10_000).for_each(|n| offer(&mut queue, 5_000_000 + 400 * n, 0));
        let alpha = queue.policy().fair_share();
        assert_eq!(alpha > 1e5, recovers, "{forwarded}: {alpha}");
    }
}

/// Eight bytes for each weight.
#[test]
fn weights_are_stated_to_the_byte() {
    let stated = |weights| {
        let config =
            support::config("csfq", Some("paper"), &[("weights", weights)], &papers_link());
        config.state_bytes(&papers_link())
    };
    assert_eq!(stated("1:2:3:4:5") - stated("1:2"), 3 * 8);
}
