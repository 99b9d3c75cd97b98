//! RED against its papers: the golden numbers, the naive twin, the distribution of its signals.
use crate::family::{against_the_twin, ns2_twin, twin_link};
use crate::naive::red::{NaiveRed, Said, Unit};
use crate::support;
use crate::support::Fate;
use crate::support::stats;
use tidegate::policy::Verdict;
use tidegate::queues::{Red, red::RedRule};
use tidegate::{
    Backlog, DropReason, Ecn, Link, MarkReason, NullSink, Packet, Qdisc, Rng, Span, Time, catalog,
    catalog::AnyQueue,
};

fn red(preset: &str, settings: &[(&str, &str)], link: Link, dice: Rng) -> Red {
    match support::config("red", Some(preset), settings, &link).build(link, dice).unwrap() {
        AnyQueue::Red(queue) => queue,
        other => panic!("{other:?}"),
    }
}

/// The worked numbers: avg 10 gives p_b = .01; 50 packets after a mark p_a = .02; with wait after
/// 150.
#[test]
fn the_twin_gives_the_golden_numbers() {
    let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-4, "{a} {b}");
    let mut red =
        NaiveRed { avg: 10.0, weight: 1.0, idle_since: None, ..NaiveRed::paper(1000.0, 8e5) };
    assert_eq!(red.arrive(0.0, 10.0, 1e4, 1000.0), Said::Die { p_a: 0.01, p_b: 0.01 });
    close(red.p_a(0.01, 50.0), 0.02);
    close(red.p_a(0.01, 99.0), 1.0);
    red.wait = true;
    close(red.p_a(0.01, 150.0), 0.02);
    red.weight = 0.002;
    red.idle(0.0);
    close(red.avg_at(1e8), 7.7859);
    let red = NaiveRed { gentle: true, max_p: 0.1, avg: 20.0, ..red };
    close(red.p_b(), 0.4);
    let mut red = NaiveRed { idle_since: None, ..NaiveRed::paper(1000.0, 8e5) };
    red.arrive(0.0, 10.0, 1e4, 1000.0);
    close(red.avg, 0.02);
}

#[test]
fn twin_with_the_papers_constants() {
    let twin = NaiveRed { weight: 0.01, ..NaiveRed::paper(1000.0, 8e5) };
    let seen = against_the_twin::<RedRule, _>(
        ("red", Some("paper")),
        &[("weight", "0.01")],
        &twin,
        "paper",
    );
    assert!(seen.forced > 1_000, "{seen:?}");
}

#[test]
fn twin_with_the_rules_of_ns2() {
    let seen = against_the_twin::<RedRule, _>(("red", Some("ns2")), &[], &ns2_twin(20.0), "ns2");
    assert!(seen.above_max > 1_000, "{seen:?}");
}

#[test]
fn twin_in_bytes() {
    for (order, wait, unit, count) in [
        ("before", "off", Unit::BytesBefore, -1.0),
        ("before", "on", Unit::BytesBefore, -1.0),
        ("after", "off", Unit::BytesAfter, -1000.0),
        ("after", "on", Unit::BytesAfter, -1000.0),
    ] {
        let settings =
            [("mode", "bytes"), ("byte_order", order), ("wait", wait), ("short_queue", "roll")];
        let (wait, short_passes) = (wait == "on", false);
        let twin =
            NaiveRed { unit, count, min: 4e3, max: 16e3, wait, short_passes, ..ns2_twin(20.0) };
        against_the_twin::<RedRule, _>(("red", Some("ns2")), &settings, &twin, order);
    }
}

#[test]
fn twin_gentle_without_wait_to_certainty() {
    let settings =
        [("gentle", "on"), ("min", "2 packets"), ("max", "7 packets"), ("weight", "0.02")];
    let twin =
        NaiveRed { gentle: true, min: 2.0, max: 7.0, weight: 0.02, ..NaiveRed::paper(1000.0, 8e5) };
    let seen = against_the_twin::<RedRule, _>(("red", Some("paper")), &settings, &twin, "gentle");
    assert!(seen.above_max > 1_000 && seen.forced > 1_000, "{seen:?}");
}

/// The rule of `queue`, with a packet let in, so that its link is not idle.
fn awake(queue: &Red) -> RedRule {
    let mut queue = queue.clone();
    queue.enqueue(Time::ZERO, Packet::new(1, 1000), &mut NullSink);
    queue.policy().clone()
}

/// Gaps between signals at constant p_b = .01: with w_q = 1 the average is the queue, and we say
/// that it is 10 packets. Returns the gap to the first signal after the average rose above `min`,
/// and the one after it.
fn gaps(wait: &str, run: u64) -> (u64, u64) {
    let queue = red(
        "paper",
        &[("weight", "1"), ("wait", wait)],
        twin_link("100 packets"),
        stats::dice(wait, run),
    );
    let (mut rule, mut dice) = (awake(&queue), queue.dice().clone());
    assert_eq!(rule.count(), -1.0);
    let (mut first, mut offered) = (0, 0);
    loop {
        rule.estimate(Time::ZERO, Backlog { packets: 10, bytes: 10_000 });
        offered += 1;
        match rule.judge(1000, 10, &mut dice) {
            Verdict::Admit => {}
            Verdict::Mark(MarkReason::Early) if first == 0 => (first, offered) = (offered, 0),
            Verdict::Mark(MarkReason::Early) => return (first, offered),
            other => panic!("{other:?}"),
        }
    }
}

const RUNS: u64 = 20_000;

/// Counts how often each value of `from ..= to` came, asserts that they are equally likely, and
/// their mean.
fn assert_uniform(what: &str, values: &[u64], from: u64, to: u64) {
    let cells = (to - from + 1) as usize;
    let mut counts = vec![0; cells];
    for &value in values {
        assert!((from..=to).contains(&value), "{what}: {value} is not in {from} to {to}");
        counts[(value - from) as usize] += 1;
    }
    stats::assert_counts(what, &counts, &vec![values.len() as f64 / cells as f64; cells]);
    let variance = (cells * cells - 1) as f64 / 12.0;
    let sum: u64 = values.iter().sum();
    stats::assert_mean(what, sum as f64, values.len() as u64, (from + to) as f64 / 2.0, variance);
}

/// floyd1993 §IV, its second method: the gap is uniform on 1 … 1/p_b, mean 50.5, variance 833.25.
/// After a signal the figure begins to count with 1, and the gap is one shorter.
#[test]
fn gaps_without_wait() {
    let (first, second): (Vec<_>, Vec<_>) = (0..RUNS).map(|run| gaps("off", run)).unzip();
    assert_uniform("first gap", &first, 1, 100);
    assert_uniform("second gap", &second, 1, 99);
}

/// With wait: uniform on 1/p_b … 2/p_b.
#[test]
fn gaps_with_wait() {
    let (first, second): (Vec<_>, Vec<_>) = (0..RUNS).map(|run| gaps("on", run)).unzip();
    assert_uniform("first gap", &first, 101, 200);
    assert_uniform("second gap", &second, 100, 199);
}

/// Holds the average at `avg` packets (w_q = 1, so it is the queue) and offers one more.
fn offer_at(queue: &mut Red, avg: u32, pkt: Packet) -> Fate {
    while queue.backlog().packets > avg {
        queue.dequeue(Time::ZERO, &mut NullSink);
    }
    let mut fate = Fate::default();
    queue.enqueue(Time::ZERO, pkt, &mut fate);
    fate
}

/// Fills a queue to `packets` while nothing is dropped, because max_p is 0 and the thresholds are
/// out of reach.
fn filled(settings: &[(&str, &str)], packets: u32) -> Red {
    let all: Vec<_> = [("weight", "1")].iter().chain(settings).copied().collect();
    let mut queue = red("paper", &all, twin_link("100 packets"), Rng::from_seed(1));
    let mut tries = 0;
    while queue.backlog().packets < packets {
        queue.enqueue(Time::ZERO, Packet::new(1, 1000).with_ecn(Ecn::Ect0), &mut NullSink);
        tries += 1;
        assert!(tries < 10_000, "the queue does not fill");
    }
    queue
}

/// Where RED is certain, packets are dropped, or marked if they can be and `mark_above_max` says
/// so.
#[test]
fn certainty() {
    let ect = Packet::new(1, 1000).with_ecn(Ecn::Ect1);
    for (above, ecn, fate) in [
        ("off", "on", Fate { dropped: Some(DropReason::Forced), marked: None }),
        ("on", "on", Fate { dropped: None, marked: Some(MarkReason::Forced) }),
        ("on", "off", Fate { dropped: Some(DropReason::Forced), marked: None }),
    ] {
        let mut queue =
            filled(&[("probability", "0"), ("mark_above_max", above), ("ecn", ecn)], 15);
        assert_eq!(offer_at(&mut queue, 15, ect), fate);
        assert_eq!(queue.policy().p_b(), 1.0);
        let fate = offer_at(&mut queue, 15, Packet::new(1, 1000));
        assert_eq!(fate, Fate { dropped: Some(DropReason::Forced), marked: None });
        assert_eq!(
            offer_at(&mut queue, 14, ect),
            Fate::default(),
            "below max the die never hits at max_p = 0"
        );
    }
}

/// Above `mark_up_to` a packet that the die hits is dropped although it could be marked.
#[test]
fn marks_up_to_a_probability() {
    let ect = Packet::new(1, 1000).with_ecn(Ecn::Ect0);
    for (mark_up_to, fate) in [
        ("0.51", Fate { dropped: None, marked: Some(MarkReason::Early) }),
        ("0.49", Fate { dropped: Some(DropReason::Early), marked: None }),
    ] {
        let mut queue =
            filled(&[("probability", "1"), ("mark_up_to", mark_up_to), ("max", "15 packets")], 10);
        // p_b = .5 at 10 packets: hit at the second packet at the latest.
        let fates = [
            offer_at(&mut queue, 10, ect),
            offer_at(&mut queue, 10, ect),
            offer_at(&mut queue, 10, ect),
        ];
        let hits: Vec<_> = fates.iter().filter(|fate| fate.is_signal()).collect();
        assert!(
            !hits.is_empty() && hits.iter().all(|hit| **hit == fate),
            "{mark_up_to}: {fates:?}"
        );
    }
}

/// The rule's verdicts on packets that find these queues, with w_q = 1 and max_p = 1.
fn verdicts(settings: &[(&str, &str)], queues: &[u32]) -> Vec<Verdict> {
    let all: Vec<_> =
        [("weight", "1"), ("probability", "1")].iter().chain(settings).copied().collect();
    let queue = red("paper", &all, twin_link("100 packets"), Rng::from_seed(1));
    let (mut rule, mut dice) = (awake(&queue), queue.dice().clone());
    let backlog = |packets| Backlog { packets, bytes: packets as u64 * 1000 };
    let judge = |&packets: &u32| {
        rule.estimate(Time::ZERO, backlog(packets));
        rule.judge(1000, packets, &mut dice)
    };
    queues.iter().map(judge).collect()
}

/// ns-2's leniencies: the packet that crosses `min` passes, and so does one that finds at most one
/// waiting.
#[test]
fn leniencies() {
    const PASS: Verdict = Verdict::Admit;
    const EARLY: Verdict = Verdict::Mark(MarkReason::Early);
    const FORCED: Verdict = Verdict::Drop(DropReason::Forced);
    let always = [("min", "0 packets"), ("max", "1 packet")];
    assert_eq!(verdicts(&always, &[1, 2, 1]), [FORCED, FORCED, FORCED]);
    let short = [("min", "0 packets"), ("max", "1 packet"), ("short_queue", "pass")];
    assert_eq!(verdicts(&short, &[1, 2, 1]), [PASS, FORCED, PASS]);
    // p_b = 1 at max, and certainty only at twice max.
    let above =
        [("min", "4 packets"), ("max", "5 packets"), ("gentle", "on"), ("on_crossing", "roll")];
    assert_eq!(verdicts(&above, &[3, 5, 5, 3, 5]), [PASS, EARLY, EARLY, PASS, EARLY]);
    let crossing =
        [("min", "4 packets"), ("max", "5 packets"), ("gentle", "on"), ("on_crossing", "pass")];
    assert_eq!(verdicts(&crossing, &[3, 5, 5, 3, 5]), [PASS, PASS, EARLY, PASS, PASS]);
}

/// A link that sleeps forgets; a refused packet does not end the sleep.
#[test]
fn idle_time_goes_on_when_the_packet_is_refused() {
    let settings =
        [("weight", "0.5"), ("max", "6 packets"), ("min", "1 packet"), ("probability", "1")];
    let mut queue = red("paper", &settings, twin_link("100 packets"), Rng::from_seed(1));
    for _ in 0..200 {
        queue.enqueue(Time::ZERO, Packet::new(1, 1000).with_ecn(Ecn::Ect0), &mut NullSink);
    }
    while queue.dequeue(Time::ZERO, &mut NullSink).is_some() {}
    let before = queue.policy().avg();
    assert!(before >= 6.0, "{before}");
    // Two packet times later the average is a quarter; ten later, after a refusal or not, 1/1024.
    let at = |packets: u64| Time::ZERO + Span::from_micros(800 * packets);
    let fate = {
        let mut fate = Fate::default();
        queue.enqueue(Time::ZERO, Packet::new(1, 1000), &mut fate);
        fate
    };
    assert_eq!(fate.dropped, Some(DropReason::Forced), "still above max");
    assert!((queue.policy().avg_at(at(10)) - before / 1024.0).abs() < 1e-9);
    queue.enqueue(at(10), Packet::new(1, 1000), &mut NullSink);
    assert!((queue.policy().avg() - before / 1024.0).abs() < 1e-9);
}

/// The manual page says less than 300 bytes.
#[test]
fn state_is_as_small_as_the_manual_says() {
    let link = twin_link("100 packets");
    let bytes = catalog::config("red", Some("paper"), &link).unwrap().state_bytes(&link);
    assert!((100..300).contains(&bytes), "{bytes}");
}
