//! REM against its paper: golden numbers and the naive twin.
use crate::naive::rem::NaiveRem;
use crate::support;
use crate::support::twin::OPERATIONS;
use crate::support::workload::{Phase, Workload};
use crate::twinned::Twinned as _;
use crate::twinned::rem::Twinned;
use tidegate::queues::Rem;
use tidegate::{Ecn, Link, NullSink, Packet, Qdisc, Rng, Span, Time, catalog};

fn rem(settings: &[(&str, &str)], link: Link, dice: Rng) -> Rem {
    match support::config("rem", None, settings, &link).build(link, dice).unwrap() {
        catalog::AnyQueue::Rem(queue) => queue,
        other => panic!("{other:?}"),
    }
}

/// X = 12, c = 10, b = 50, b* = 20: the price rises by .005; p = 100 marks with .095117, p = 1000
/// with .631936.
#[test]
fn the_twin_gives_the_golden_numbers() {
    let mut twin = NaiveRem::new(0.1, 0.001, 1.001, 20.0, 10.0, 1.0);
    twin.arrived = 12.0;
    twin.period(50.0);
    assert!((twin.price - 0.005).abs() < 1e-12);
    // From 30 to 50 waiting: .001 (50 − .9 · 30 − .1 · 20).
    (twin.price, twin.backlog) = (0.0, 30.0);
    twin.period_by_backlog(50.0);
    assert!((twin.price - 0.021).abs() < 1e-12);
    twin.price = 100.0;
    assert!((twin.mark_probability() - 0.095117).abs() < 1e-6);
    twin.price = 1000.0;
    assert!((twin.mark_probability() - 0.631936).abs() < 1e-6);
}

/// Load above and below the rate, mixed sizes, idle times of up to three seconds (300 periods: the
/// closed form).
fn drive(settings: &[(&str, &str)], limit: &str, operations: u64) -> Twinned {
    let link = support::link("10 Mbit/s", limit, "770 B");
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
    let settings = [&[("gamma", "0.01")], settings].concat();
    let config = support::config("rem", None, &settings, &link);
    let mut twinned = Twinned::beside(&config, link, Rng::from_seed(3)).unwrap();
    Workload::new(20, 1.1, (40, 1500), 0.6, phases).run(
        &mut twinned,
        &link,
        &mut Rng::from_seed(11),
        &mut NullSink,
    );
    twinned.disputes.settle();
    assert!(twinned.marks > 1000, "{}", twinned.marks);
    twinned
}

#[test]
fn twin_agrees_over_a_million_operations() {
    let twinned = drive(&[], "100 packets", OPERATIONS);
    assert!(twinned.operations >= OPERATIONS * 3 / 4, "{}", twinned.operations);
}

#[test]
fn twin_agrees_in_every_mode() {
    drive(&[("weight", "0.2")], "100 packets", 200_000);
    drive(&[("form", "backlog")], "100 packets", 200_000);
    drive(&[("mode", "bytes")], "100 kB", 200_000);
    drive(&[("mark_at", "dequeue")], "100 packets", 200_000);
    let dropped = drive(&[("non_ect", "drop")], "1000 packets", 200_000);
    assert!(dropped.drops > 1000);
}

/// A full queue that sends nothing, and twenty more packets refused in each interval. By rates
/// these count against a capacity of ten, by backlogs only what waits does. α (100 − 20) = 8 in
/// both.
#[test]
fn what_a_full_queue_refuses_counts_by_rates_only() {
    for (form, prices) in [("rate", [0.118, 0.136, 0.154]), ("backlog", [0.098, 0.106, 0.114])] {
        let mut queue = rem(
            &[("form", form)],
            support::link("8 Mbit/s", "100 packets", "1000 B"),
            Rng::from_seed(1),
        );
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        (0..100).for_each(|_| queue.enqueue(at(0), Packet::new(1, 1000), &mut NullSink));
        for (n, price) in (0..).zip(prices) {
            (0..20)
                .for_each(|_| queue.enqueue(at(10 * n + 5), Packet::new(1, 1000), &mut NullSink));
            queue.advance(at(10 * (n + 1)));
            let ours = queue.policy().price().get();
            assert!((ours - price).abs() < 1e-12, "{form}: {ours}, {price}");
        }
        assert_eq!(queue.backlog().packets, 100);
    }
}

/// The paper's claim: in equilibrium the backlog is b*, whatever the number of flows. Senders that
/// answer marks with a lower rate: the rate is steered by hand so that demand is supply, and the
/// price then stands still at b = b*.
#[test]
fn price_stands_still_at_the_target() {
    let link = support::link("8 Mbit/s", "1000 packets", "1000 B");
    let mut queue = rem(&[], link, Rng::from_seed(1));
    let at = |n: u64| Time::from_nanos(n * 1_000_000);
    for _ in 0..20 {
        queue.enqueue(Time::ZERO, Packet::new(1, 1000).with_ecn(Ecn::Ect0), &mut NullSink);
    }
    for n in 0..10_000 {
        queue.dequeue(at(n), &mut NullSink);
        queue.enqueue(at(n), Packet::new(1, 1000).with_ecn(Ecn::Ect0), &mut NullSink);
    }
    assert_eq!(queue.backlog().packets, 20);
    // The first interval saw the twenty packets of the start besides its own ten: .001 (20 + 10 −
    // 10) = .02.
    assert!((queue.policy().price().get() - 0.02).abs() < 2e-3, "{}", queue.policy().price().get());
}
