//! SFQ with RED against feng2001's description: the naive twin, bins of their own, and what it does
//! to a flood.
use crate::support;
use crate::support::twin::OPERATIONS;
use crate::support::workload::Workload;
use crate::support::{Fate, stats};
use crate::twinned::Twinned as _;
use crate::twinned::sfq_red::Twinned;
use tidegate::queues::SfqRed;
use tidegate::{DropReason, Ecn, Link, NullSink, Packet, Qdisc, Rng, Size, Time, catalog};

fn sfq_red(settings: &[(&str, &str)], link: Link, seed: u64) -> SfqRed {
    match support::config("sfq_red", None, settings, &link)
        .build(link, Rng::from_seed(seed))
        .unwrap()
    {
        catalog::AnyQueue::SfqRed(queue) => queue,
        other => panic!("{other:?}"),
    }
}

/// feng2001's: 45 Mbit/s, 46 bins of 9 kB.
fn papers_link() -> Link {
    support::link("45 Mbit/s", "414 kB", "1000 B")
}

fn drive(settings: &[(&str, &str)], limit: &str, operations: u64) -> Twinned {
    let link = support::link("10 Mbit/s", limit, "770 B");
    let settings = [&[("bins", "8")], settings].concat();
    let config = support::config("sfq_red", None, &settings, &link);
    let mut twinned = Twinned::beside(&config, link, stats::dice("sfq_red", 0)).unwrap();
    Workload::restless(operations).run(&mut twinned, &link, &mut Rng::from_seed(11), &mut NullSink);
    assert!(!twinned.on_the_edge, "compared to the end");
    twinned.disputes.settle();
    twinned
}

#[test]
fn twin_agrees_over_a_million_operations() {
    let seen = drive(&[("weight", "0.02")], "60 kB", OPERATIONS * 5 / 4);
    assert!(seen.operations >= OPERATIONS, "{}", seen.operations);
    assert!(
        seen.full.min(seen.forced).min(seen.signals).min(seen.woken) > 1_000,
        "{} {}",
        seen.full,
        seen.woken
    );
    assert_eq!(seen.busiest, 8);
}

#[test]
fn twin_agrees_in_every_mode() {
    let bytes = [
        ("mode", "bytes"),
        ("gentle", "on"),
        ("ecn", "off"),
        ("weight", "0.1"),
        ("probability", "0.5"),
    ];
    assert!(drive(&bytes, "60 kB", 100_000).signals > 100);
    let before = [("mode", "bytes"), ("byte_order", "before"), ("wait", "on"), ("weight", "0.1")];
    assert!(drive(&before, "60 kB", 100_000).signals > 100);
    // Bins in packets, more than the limit for all has room for.
    let packets = [
        ("bin_limit", "20 packets"),
        ("min", "2 packets"),
        ("max", "18 packets"),
        ("weight", "0.1"),
    ];
    assert!(drive(&packets, "30 packets", 100_000).full > 1_000);
    drive(&[("bins", "1"), ("weight", "0.5")], "100 packets", 50_000);
}

/// `count` flows that hash to bins of their own.
fn apart(queue: &SfqRed, count: usize) -> Vec<u64> {
    support::apart(count, |flow| queue.bin_of(flow))
}

/// feng2001 §III-B: 414 kB are 46 bins of 9 kB, which share nothing. One flow has no more than nine
/// packets of a thousand bytes, and all bins together what the paper says.
#[test]
fn bins_share_nothing() {
    let mut queue = sfq_red(&[("max", "100 kB"), ("probability", "0")], papers_link(), 1);
    let flows = apart(&queue, 46);
    for n in 0..20 {
        let mut fate = Fate::default();
        queue.enqueue(Time::ZERO, Packet::new(flows[0], 1000), &mut fate);
        assert_eq!(fate.dropped, (n >= 9).then_some(DropReason::Overlimit));
    }
    for &flow in &flows {
        (0..20).for_each(|_| queue.enqueue(Time::ZERO, Packet::new(flow, 1000), &mut NullSink));
        assert_eq!(queue.bin_backlog(queue.bin_of(flow)).packets, 9);
    }
    assert_eq!(queue.backlog().bytes, 414_000);
    // A packet of each in turn.
    for _ in 0..9 {
        let mut turns: Vec<u64> =
            (0..46).map(|_| queue.dequeue(Time::ZERO, &mut NullSink).unwrap().flow).collect();
        turns.sort_unstable();
        assert_eq!(turns, flows);
    }
}

/// The RED of one bin hears of its own packets only: a flood is signalled, the others are not.
#[test]
fn each_bin_has_a_red_of_its_own() {
    let mut queue = sfq_red(&[("weight", "0.05")], papers_link(), 1);
    let flows = apart(&queue, 2);
    let mut fates = [(0, 0); 2];
    // The line sends 45 packets in 8 ms; the flood brings as many, the other 9, and half of the
    // time is its own.
    for n in 0..90_000_u64 {
        let now = Time::from_nanos(n * 177_777);
        let flow = usize::from(n % 10 == 0);
        for _ in 0..=usize::from(flow == 0) {
            let mut fate = Fate::default();
            queue.enqueue(now, Packet::new(flows[flow], 1000).with_ecn(Ecn::Ect0), &mut fate);
            fates[flow].0 += u64::from(fate.marked.is_some());
            fates[flow].1 += u64::from(fate.dropped.is_some());
        }
        queue.dequeue(now, &mut NullSink);
    }
    assert!(fates[0].0 > 100 && fates[0].1 > 10_000, "{fates:?}");
    assert_eq!(fates[1], (0, 0));
    let red = |flow: usize| queue.red(queue.bin_of(flows[flow])).avg();
    assert!(red(0) > 5.0 && red(1) < 1.0, "{} {}", red(0), red(1));
}

/// A bin's average falls with the time that the bin has been empty, whatever the others do.
#[test]
fn an_idle_bin_forgets() {
    let mut queue = sfq_red(&[("weight", "0.05")], papers_link(), 1);
    let flows = apart(&queue, 2);
    for _ in 0..200 {
        queue.enqueue(Time::ZERO, Packet::new(flows[0], 1000), &mut NullSink);
    }
    let bin = queue.bin_of(flows[0]);
    let before = queue.red(bin).avg();
    assert!(before > 6.0, "{before}");
    while queue.dequeue(Time::ZERO, &mut NullSink).is_some() {}
    // Twenty packet times of 177.8 us, in which the other bin is busy; then the packet that comes
    // finds .95^20 of it.
    let wire = 8_000_000_000_000 / 45_000_000;
    for n in 0..20 {
        queue.enqueue(Time::from_nanos(n * wire), Packet::new(flows[1], 1000), &mut NullSink);
    }
    queue.enqueue(Time::from_nanos(20 * wire + 100), Packet::new(flows[0], 1000), &mut NullSink);
    assert!(
        (queue.red(bin).avg() / before - libm::pow(0.95, 20.0)).abs() < 1e-9,
        "{}",
        queue.red(bin).avg()
    );
}

/// `auto`: bins are those of a 46th of the limit, or nine packets, thresholds in the paper's
/// proportion; on the paper's link the paper's.
#[test]
fn auto_is_the_paper_scaled() {
    let get = |limit: &str, param: &str| {
        let link = support::link("45 Mbit/s", limit, "1000 B");
        catalog::config("sfq_red", Some("auto"), &link)
            .unwrap()
            .get(param)
            .unwrap()
            .parse::<Size>()
            .unwrap()
    };
    for (limit, sizes) in [
        ("414 kB", [9_000, 2_000, 8_000].map(Size::Bytes)),
        ("4140 kB", [90_000, 20_000, 80_000].map(Size::Bytes)),
        ("20 kB", [9_000, 2_000, 8_000].map(Size::Bytes)),
        ("1000 packets", [21, 5, 19].map(Size::Packets)),
        ("100 packets", [9, 2, 8].map(Size::Packets)),
    ] {
        assert_eq!(["bin_limit", "min", "max"].map(|param| get(limit, param)), sizes, "{limit}");
    }
}
