//! BLUE against its paper: the golden trace, the naive twin, and what the paper says of it.
use crate::naive::blue::{Clock, NaiveBlue};
use crate::support;
use crate::support::Fate;
use crate::support::stats;
use crate::support::twin::OPERATIONS;
use crate::twinned::Twinned as _;
use crate::twinned::blue::Twinned;
use tidegate::queues::Blue;
use tidegate::{
    DropReason, Ecn, Link, MarkReason, NullSink, Packet, Qdisc, Rng, Span, Time, catalog,
};

const MS: u64 = 1_000_000;

fn blue(settings: &[(&str, &str)], link: Link, dice: Rng) -> Blue {
    match support::config("blue", None, settings, &link).build(link, dice).unwrap() {
        catalog::AnyQueue::Blue(queue) => queue,
        other => panic!("{other:?}"),
    }
}

fn link(limit: &str) -> Link {
    support::link("10 Mbit/s", limit, "1000 B")
}

fn offer(queue: &mut Blue, now: Time, pkt: Packet) -> Fate {
    let mut fate = Fate::default();
    queue.enqueue(now, pkt, &mut fate);
    fate
}

/// Three overflows and three idle events by hand: the freeze time swallows the second of each.
#[test]
fn the_twin_gives_the_golden_trace() {
    let mut blue = NaiveBlue::new(0.0025, 0.00025, 0.1, Clock::Shared);
    for now in [0.0, 0.05, 0.2] {
        blue.loss(now);
    }
    assert_eq!(blue.p_m, 0.005);
    for now in [0.31, 0.35, 0.5] {
        blue.idle(now);
    }
    assert!((blue.p_m - 0.0045).abs() < 1e-12);
}

/// The same trace on the queue. `elapsed` ends with the same value: its second step falls due at
/// .41 s instead.
#[test]
fn golden_trace() {
    for idle in ["event", "elapsed"] {
        let mut queue = blue(&[("idle", idle)], link("1 packet"), Rng::from_seed(1));
        let now = Time::ZERO;
        assert_eq!(offer(&mut queue, now, Packet::new(1, 1000)).dropped, None);
        for (at, p_m) in [(0, 0.0025), (50, 0.0025), (200, 0.005)] {
            let fate = offer(&mut queue, Time::from_nanos(at * MS), Packet::new(1, 1000));
            assert_eq!(fate.dropped, Some(DropReason::Overlimit));
            assert_eq!(queue.policy().p_m(), p_m, "{idle} at {at} ms");
        }
        assert!(queue.dequeue(Time::from_nanos(300 * MS), &mut NullSink).is_some());
        for (at, p_m) in [(310, 0.00475), (350, 0.00475), (500, 0.0045)] {
            assert!(queue.dequeue(Time::from_nanos(at * MS), &mut NullSink).is_none());
            assert!(
                (queue.policy().p_m() - p_m).abs() < 1e-12,
                "{idle} at {at} ms: {}",
                queue.policy().p_m()
            );
        }
    }
}

/// A link that asks once and then sleeps for ten seconds: `event` sees one idle event, `elapsed`
/// the 99 freeze times that passed after it (the hundredth is not over yet at 10 s sharp).
#[test]
fn a_sleeping_link() {
    for (idle, steps) in [("event", 1.0), ("elapsed", 100.0)] {
        let settings = [("idle", idle), ("d1", "1"), ("d2", "0.001")];
        let mut queue = blue(&settings, link("1 packet"), Rng::from_seed(1));
        offer(&mut queue, Time::ZERO, Packet::new(1, 1000));
        offer(&mut queue, Time::ZERO, Packet::new(1, 1000));
        assert_eq!(queue.policy().p_m(), 1.0);
        queue.dequeue(Time::from_nanos(1), &mut NullSink);
        queue.dequeue(Time::from_nanos(200 * MS), &mut NullSink);
        queue.advance(Time::from_nanos(10_200 * MS));
        assert!(
            (queue.policy().p_m() - (1.0 - 0.001 * steps)).abs() < 1e-12,
            "{idle}: {}",
            queue.policy().p_m()
        );
        // What was caught up once is not caught up again.
        queue.advance(Time::from_nanos(10_200 * MS));
        assert!((queue.policy().p_m() - (1.0 - 0.001 * steps)).abs() < 1e-12);
        // A packet that gets in ends the idle time; p_m is near 1, so only a mark lets it in.
        let fate = offer(
            &mut queue,
            Time::from_nanos(10_200 * MS),
            Packet::new(1, 1000).with_ecn(Ecn::Ect0),
        );
        assert_eq!(fate.dropped, None);
        let before = queue.policy().p_m();
        queue.advance(Time::from_nanos(20_000 * MS));
        assert_eq!(queue.policy().p_m(), before);
    }
}

/// The freeze time itself is still frozen; one nanosecond later is not.
#[test]
fn frozen_until_more_than_the_freeze_time_has_passed() {
    let mut queue = blue(&[], link("1 packet"), Rng::from_seed(1));
    offer(&mut queue, Time::ZERO, Packet::new(1, 1000));
    for (at, p_m) in [(0, 0.0025), (100 * MS, 0.0025), (100 * MS + 1, 0.005)] {
        offer(&mut queue, Time::from_nanos(at), Packet::new(1, 1000));
        assert_eq!(queue.policy().p_m(), p_m, "at {at} ns");
    }
}

/// An idle event at p_m = 0 changes nothing and yet freezes p_m, as the paper's figure has it; two
/// clocks undo that.
#[test]
fn an_idle_event_freezes_even_at_zero() {
    for (clock, idle, p_m) in [
        ("shared", "event", 0.0),
        ("shared", "elapsed", 0.0),
        ("separate", "event", 0.0025),
        ("separate", "elapsed", 0.0025),
    ] {
        let mut queue =
            blue(&[("clock", clock), ("idle", idle)], link("1 packet"), Rng::from_seed(1));
        assert!(queue.dequeue(Time::ZERO, &mut NullSink).is_none());
        offer(&mut queue, Time::ZERO, Packet::new(1, 1000));
        assert_eq!(
            offer(&mut queue, Time::ZERO, Packet::new(1, 1000)).dropped,
            Some(DropReason::Overlimit)
        );
        assert_eq!(queue.policy().p_m(), p_m, "{clock}, {idle}");
    }
}

/// A packet too long for the queue is lost on an idle link: the idle time before it counts first,
/// its loss after it.
#[test]
fn a_loss_ends_no_idle_time() {
    let settings = [("idle", "elapsed"), ("d1", "0.5"), ("d2", "0.001"), ("clock", "separate")];
    let mut queue = blue(&settings, link("1 kB"), Rng::from_seed(1));
    assert!(queue.dequeue(Time::ZERO, &mut NullSink).is_none());
    for (at, p_m) in [(1_000, 0.5), (2_000, 0.99), (3_000, 1.0)] {
        offer(&mut queue, Time::from_nanos(at * MS + 1), Packet::new(1, 1001));
        assert!((queue.policy().p_m() - p_m).abs() < 1e-12, "at {at} ms: {}", queue.policy().p_m());
    }
}

/// Signals come with p_m, each by its own roll: how many, and how far apart (geometric).
#[test]
fn signals_come_with_p_m_independently() {
    const P: f64 = 0.2;
    let (mut signals, mut offered, mut gaps, mut gap) = (0.0, 0, [0_u64; 12], 0);
    for index in 0..100 {
        let mut queue =
            blue(&[("d1", "0.2")], link("2 packets"), stats::dice("blue signals", index));
        for _ in 0..3 {
            offer(&mut queue, Time::ZERO, Packet::new(1, 1000));
        }
        assert_eq!(queue.policy().p_m(), P);
        queue.dequeue(Time::ZERO, &mut NullSink);
        for _ in 0..2_000 {
            let fate = offer(&mut queue, Time::ZERO, Packet::new(1, 1000).with_ecn(Ecn::Ect0));
            queue.dequeue(Time::ZERO, &mut NullSink);
            offered += 1;
            gap += 1;
            if fate.marked.is_some() {
                signals += 1.0;
                gaps[gap.min(gaps.len()) - 1] += 1;
                gap = 0;
            }
        }
    }
    stats::assert_mean("signals", signals, offered, P, P * (1.0 - P));
    let mut left = signals;
    let expected: Vec<f64> = (1..=gaps.len())
        .map(|gap| {
            let here = if gap == gaps.len() { left } else { left * P };
            left -= here;
            here
        })
        .collect();
    stats::assert_counts("gaps between signals", &gaps, &expected);
}

/// p_m stays within 0 and 1 however often it is pushed.
#[test]
fn p_m_is_a_probability() {
    let mut queue = blue(
        &[("d1", "0.3"), ("d2", "0.4"), ("freeze_time", "1 us")],
        link("1 packet"),
        Rng::from_seed(1),
    );
    offer(&mut queue, Time::ZERO, Packet::new(1, 1000));
    let mut at = 0;
    for p_m in [0.3, 0.6, 0.9, 1.0, 1.0] {
        at += MS;
        offer(&mut queue, Time::from_nanos(at), Packet::new(1, 1000));
        assert!((queue.policy().p_m() - p_m).abs() < 1e-12);
    }
    queue.dequeue(Time::from_nanos(at), &mut NullSink);
    for p_m in [0.6, 0.2, 0.0, 0.0] {
        at += MS;
        queue.dequeue(Time::from_nanos(at), &mut NullSink);
        assert!((queue.policy().p_m() - p_m).abs() < 1e-12);
    }
}

/// With `trigger = length` an arrival that finds more than L waiting raises p_m, one that finds L
/// does not.
#[test]
fn a_queue_longer_than_l_is_congestion() {
    for limit in ["10 packets", "10 kB"] {
        let settings = [("trigger", "length"), ("threshold", "0.3"), ("d1", "0.0001")];
        let mut queue = blue(&settings, link(limit), Rng::from_seed(1));
        for (waiting, p_m) in [(0, 0.0), (1, 0.0), (2, 0.0), (3, 0.0), (4, 0.0001), (5, 0.0002)] {
            let now = Time::ZERO + Span::from_millis(200 * waiting);
            assert_eq!(queue.backlog().packets as u64, waiting);
            offer(&mut queue, now, Packet::new(1, 1000));
            assert!((queue.policy().p_m() - p_m).abs() < 1e-15, "{limit}, {waiting} waiting");
        }
    }
}

/// At p_m = 1 ECN-capable packets are marked and the others dropped; with `ecn = off` all are
/// dropped. BLUE's own drops leave p_m alone.
#[test]
fn marks_and_drops() {
    for (ecn, signal) in
        [("on", Fate { dropped: None, marked: Some(MarkReason::Early) }), ("off", EARLY)]
    {
        let settings = [("ecn", ecn), ("d1", "1"), ("freeze_time", "1 us")];
        let mut queue = blue(&settings, link("2 packets"), Rng::from_seed(1));
        offer(&mut queue, Time::ZERO, Packet::new(1, 1000));
        offer(&mut queue, Time::ZERO, Packet::new(1, 1000));
        offer(&mut queue, Time::ZERO, Packet::new(1, 1000));
        queue.dequeue(Time::ZERO, &mut NullSink);
        let later = Time::from_nanos(MS);
        let fate = offer(&mut queue, later, Packet::new(1, 1000));
        assert_eq!((fate.dropped, fate.marked), (EARLY.dropped, None));
        let fate = offer(&mut queue, later, Packet::new(1, 1000).with_ecn(Ecn::Ect0));
        assert_eq!((fate.dropped, fate.marked), (signal.dropped, signal.marked), "ecn {ecn}");
    }
}

const EARLY: Fate = Fate { dropped: Some(DropReason::Early), marked: None };

/// A million operations in which overload, calm and sleep take turns. The twin learns the queue's
/// losses and idle times. It must come to the same p_m, and so to the same verdict on the same
/// dice.
fn against_the_twin(name: &str, settings: &[(&str, &str)]) {
    let seed = stats::seed(name, 0);
    let link = link("20 packets");
    let config = support::config("blue", None, settings, &link);
    let mut queue = Twinned::beside(&config, link, seed.stream("dice")).unwrap();
    let mut world = seed.stream("world");
    let mut at = 0;
    for step in 0..OPERATIONS {
        // overload, overload, even, calm, and calm with sleep
        let phase = (step / 5_000 % 5) as usize;
        at += world.below(if phase == 4 { 100 * MS } else { 2 * MS });
        let now = Time::from_nanos(at);
        if world.uniform() < [0.8, 0.65, 0.5, 0.3, 0.3][phase] {
            let pkt = Packet::new(step, 1000).with_ecn(if step % 3 == 0 {
                Ecn::Ect0
            } else {
                Ecn::NotEct
            });
            queue.enqueue(now, pkt, &mut NullSink);
        } else {
            queue.dequeue(now, &mut NullSink);
        }
    }
    let Twinned { early, lost, idles, disputes, .. } = queue;
    assert!(
        early > 1_000 && lost > 1_000 && idles > 1_000,
        "{early} {lost} {idles}: every branch was taken"
    );
    disputes.settle();
}

#[test]
fn twin_with_the_papers_constants() {
    against_the_twin("blue paper", &[]);
}

#[test]
fn twin_with_steep_steps_and_two_clocks() {
    let settings =
        [("d1", "0.02"), ("d2", "0.002"), ("clock", "separate"), ("freeze_time", "10 ms")];
    against_the_twin("blue steep", &settings);
}

#[test]
fn twin_with_elapsed_idle_times() {
    let settings = [("idle", "elapsed"), ("freeze_time", "15 ms")];
    against_the_twin("blue elapsed", &settings);
    let settings = [("idle", "elapsed"), ("freeze_time", "15 ms"), ("clock", "separate")];
    against_the_twin("blue two clocks", &settings);
}

/// The manual page says 120 bytes.
#[test]
fn state_is_as_small_as_the_manual_says() {
    let config = catalog::config("blue", Some("paper"), &link("20 packets")).unwrap();
    assert!(
        (100..=120).contains(&config.state_bytes(&link("20 packets"))),
        "{}",
        config.state_bytes(&link("1 packet"))
    );
}
