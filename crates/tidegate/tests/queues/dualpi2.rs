//! DualPI2 against deschepper2023 (RFC 9332): numbers worked out by hand, the naive twin, and what
//! the RFC promises.
use crate::naive::dualpi2::NaiveDualPi2;
use crate::support::twin::OPERATIONS;
use crate::support::workload::{Phase, Workload};
use crate::support::{config, gauges};
use crate::twinned::Twinned as _;
use crate::twinned::dualpi2::Twinned;
use crate::{naive, support, twinned};
use tidegate::catalog::AnyQueue;
use tidegate::queues::DualPi2;
use tidegate::{DropReason, Ecn, Link, MarkReason, NullSink, Packet, Qdisc, Rng, Sink, Span, Time};

/// 1000 bytes a millisecond.
fn link() -> Link {
    support::link("8 Mbit/s", "10000 packets", "1000 B")
}

fn dualpi2(settings: &[(&str, &str)], link: Link) -> DualPi2 {
    match config("dualpi2", None, settings, &link).build(link, Rng::from_seed(1)).unwrap() {
        AnyQueue::DualPi2(queue) => queue,
        other => panic!("{other:?}"),
    }
}

fn paper() -> NaiveDualPi2 {
    twinned::dualpi2::naive(&config("dualpi2", None, &[], &link()), &link(), Rng::from_seed(1))
}

/// From 15 to 35 ms: .15 · .02 + 3 · .02 = .063. At .1, p_C is .01 and p_CL .2; overload begins at
/// 1/2. The ramp on this link begins at 1.5 ms, a packet of 1500 bytes, and ends .4 ms above.
#[test]
fn the_twin_gives_the_golden_numbers() {
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    let mut twin = NaiveDualPi2 { p: 0.1, previous: 0.015, ..paper() };
    twin.enqueue(naive::dualpi2::Item { id: 0, bytes: 1000, stamp: 0, flow: 1, ecn: 0 });
    near(twin.p_c(), 0.01);
    near(twin.p_cl(), 0.2);
    twin.update(35_000_000);
    near(twin.p, 0.163);
    twin.p = 0.6;
    near(twin.p_cl(), 1.0);
    assert!(twin.overloaded());
    twin.p = 0.499;
    assert!(!twin.overloaded());
    for (delay, p) in
        [(1_500_000, 0.0), (1_600_000, 0.25), (1_900_000, 1.0), (1_899_999, 0.9999975)]
    {
        near(twin.laqm(delay), p);
    }
    assert!(!NaiveDualPi2 { k: 0.5, ..paper() }.overloaded());
    assert!(NaiveDualPi2 { k: 0.5, p: 1.0, ..paper() }.overloaded());
}

/// Load above and below the rate, mixed sizes and codepoints, idle times of up to fifteen seconds.
fn drive(settings: &[(&str, &str)], limit: &str, operations: u64) -> Twinned {
    let link = support::link("10 Mbit/s", limit, "770 B");
    let config = config("dualpi2", None, settings, &link);
    let mut twinned = Twinned::beside(&config, link, Rng::from_seed(3)).unwrap();
    let phase = |&(load, idle)| Phase { load, packets: 20_000, idle: Span::from_millis(idle) };
    let stretches =
        [(1.05, 0), (1.6, 0), (0.7, 0), (1.1, 15_000), (0.98, 5), (3.0, 40), (0.3, 200)];
    let phases =
        (0..(operations / 260_000).max(1)).flat_map(|_| stretches.iter().map(phase)).collect();
    Workload::new(20, 1.1, (40, 1500), 0.8, phases).run(
        &mut twinned,
        &link,
        &mut Rng::from_seed(11),
        &mut NullSink,
    );
    let seen = [twinned.drops, twinned.marks, twinned.forced, twinned.overloaded];
    assert!(seen.iter().all(|&n| n > 100), "{seen:?}");
    assert!(twinned.contended.iter().all(|&n| n > 500), "{:?}", twinned.contended);
    twinned
}

#[test]
fn twin_agrees_over_a_million_operations() {
    let seen = drive(&[], "500 packets", OPERATIONS * 6 / 5);
    assert!(seen.operations >= OPERATIONS, "{}", seen.operations);
}

#[test]
fn twin_agrees_in_every_mode() {
    drive(&[("decide", "dice")], "300 kB", 260_000);
    drive(&[("scheduler", "tsfifo")], "500 packets", 260_000);
    drive(&[("mtu", "2000 B"), ("range", "0 ns")], "500 packets", 260_000);
    drive(&[("range", "0 ns"), ("classic_protection", "0.5")], "500 packets", 260_000);
    let critical = [("min_th", "0 ns"), ("range", "1 ms"), ("critical_score", "3 ms")];
    let guard = [("protection", "on"), ("buckets", "3")];
    let guarded = drive(&[critical.as_slice(), &guard].concat(), "500 packets", 260_000);
    assert!(guarded.sanctioned > 100, "{}", guarded.sanctioned);
    let tight = drive(&[("p_max", "0.5")], "100 packets", 260_000);
    assert!(tight.overlimit > 1_000, "{}", tight.overlimit);
}

/// What was reported, by codepoint before the fate: drops, and marks that were certain and that
/// were not.
#[derive(Debug, Default)]
struct Told {
    dropped: u64,
    overlimit: u64,
    early: u64,
    forced: u64,
}

impl Sink for Told {
    fn dropped(&mut self, _: Time, _: &Packet, why: DropReason) {
        self.dropped += 1;
        self.overlimit += (why == DropReason::Overlimit) as u64;
    }
    fn marked(&mut self, _: Time, _: &Packet, why: MarkReason) {
        match why {
            MarkReason::Early => self.early += 1,
            _ => self.forced += 1,
        }
    }
}

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn gauge(queue: &DualPi2, name: &str) -> f64 {
    gauges(queue).iter().find(|gauge| gauge.name == name).unwrap().value
}

/// ECT(1) and CE go to the L queue, Not-ECT and ECT(0) to the C queue; after a packet of each, the
/// L queue is first.
#[test]
fn the_low_bit_decides() {
    let mut queue = dualpi2(&[], link());
    for (slot, ecn) in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce].into_iter().enumerate() {
        let pkt = Packet::new(1, 1000).with_ecn(ecn).with_slot(slot as u32);
        queue.enqueue(at(0), pkt, &mut NullSink);
    }
    assert_eq!((gauge(&queue, "l_backlog"), gauge(&queue, "c_backlog")), (2000.0, 2000.0));
    let order: Vec<u32> =
        std::iter::from_fn(|| queue.dequeue(at(0), &mut NullSink)).map(|pkt| pkt.slot).collect();
    assert_eq!(order, [2, 3, 0, 1]);
}

/// A packet of the L queue is marked as likely as the ramp says, for certain above it.
#[test]
fn the_ramp_marks_by_the_delay() {
    for (waited, early, forced) in
        [(1_499_999, 0, 0), (1_600_000, 250, 0), (1_800_000, 750, 0), (1_900_000, 0, 1000)]
    {
        let mut queue = dualpi2(&[], link());
        let mut told = Told::default();
        for n in 0..=1000 {
            let now = at(n * 2_000_000);
            queue.enqueue(now, Packet::new(1, 1000).with_ecn(Ecn::Ect1), &mut told);
            queue.dequeue(now + Span::from_nanos(waited), &mut told).unwrap();
        }
        assert_eq!((told.early, told.forced, told.dropped), (early, forced, 0), "{waited}");
    }
}

/// Offers each millisecond what `load` says of each codepoint, sends a packet a millisecond, and
/// calls `see` with the delay of each packet sent after the first `skip` milliseconds.
fn offer(
    queue: &mut DualPi2,
    (skip, ms): (u64, u64),
    load: &[(Ecn, f64)],
    told: &mut Told,
    mut see: impl FnMut(&Packet, Span),
) {
    let mut owed = vec![0.0; load.len()];
    for n in 0..ms {
        let now = at(n * 1_000_000);
        for (owed, &(ecn, rate)) in owed.iter_mut().zip(load) {
            *owed += rate;
            while *owed >= 1.0 {
                *owed -= 1.0;
                queue.enqueue(now, Packet::new(1, 1000).with_ecn(ecn), told);
            }
        }
        if n == skip {
            *told = Told::default();
        }
        let sent = queue.dequeue(now, told);
        if let Some(pkt) = sent.filter(|_| n >= skip) {
            see(&pkt, now.since(pkt.arrived));
        }
    }
}

/// While both wait, the C queue has its sixteenth of the link, in bytes; what it drops is not
/// counted.
#[test]
fn the_classic_queue_keeps_its_share() {
    for (share, part) in [("0.0625", 16), ("0.25", 4)] {
        let settings =
            [("classic_protection", share), ("alpha", "0"), ("beta", "0"), ("min_th", "60 s")];
        let mut queue = dualpi2(&settings, link());
        for slot in 0..4000 {
            let ecn = if slot % 2 == 0 { Ecn::Ect1 } else { Ecn::NotEct };
            queue.enqueue(at(0), Packet::new(1, 500 + slot % 501).with_ecn(ecn), &mut NullSink);
        }
        let mut bytes = [0; 2];
        for _ in 0..1500 {
            let pkt = queue.dequeue(at(0), &mut NullSink).unwrap();
            bytes[pkt.tag as usize] += pkt.len;
        }
        let total = bytes[0] + bytes[1];
        assert!(total.abs_diff(part * bytes[1]) < part * 2_000, "{share}: {bytes:?}");
    }
    // An empty line begins anew: as much of the L queue goes first as after a packet of the other.
    let mut queue = dualpi2(&[], link());
    for slot in 0..60 {
        let ecn = if slot < 40 { Ecn::Ect1 } else { Ecn::Ect0 };
        queue.enqueue(at(0), Packet::new(1, 1000).with_ecn(ecn), &mut NullSink);
    }
    let lines: Vec<u32> =
        (0..41).map(|_| queue.dequeue(at(0), &mut NullSink).unwrap().tag).collect();
    // 1500 · 15 bytes; then each packet of the C queue earns 15 of the L queue.
    let first = lines.iter().position(|&line| line == 1).unwrap();
    assert_eq!(first, 23);
    assert_eq!(lines[24..].iter().position(|&line| line == 1), Some(15));
}

/// The packet with the earlier time of arrival goes first, those of the L queue 30 ms earlier.
#[test]
fn the_shifted_fifo_shifts() {
    for (lead, first) in [(29_999_999, 0), (30_000_000, 0), (30_000_001, 1)] {
        let mut queue = dualpi2(&[("scheduler", "tsfifo")], link());
        queue.enqueue(at(0), Packet::new(1, 1000), &mut NullSink);
        queue.enqueue(at(lead), Packet::new(2, 1000).with_ecn(Ecn::Ect1), &mut NullSink);
        assert_eq!(queue.dequeue(at(lead), &mut NullSink).unwrap().tag, first, "{lead}");
    }
}

/// Half as much again as the link sends, of senders that do not react. The delay comes to the
/// target, and a third is lost whatever the codepoint, none of it at the limit (appendix A.2,
/// §4.2.3). With the base probability bounded as in Linux, a quarter is not enough.
#[test]
fn overload_is_shed() {
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1] {
        let (mut delay, mut sent, mut told) = (0.0, 0, Told::default());
        let mut queue = dualpi2(&[], link());
        offer(&mut queue, (20_000, 60_000), &[(ecn, 1.5)], &mut told, |_, waited| {
            delay += waited.as_secs();
            sent += 1;
        });
        assert_eq!((sent, told.overlimit), (40_000, 0), "{ecn:?}");
        assert!(told.dropped.abs_diff(20_000) < 200, "{ecn:?}: {told:?}");
        assert!((delay / 40_000.0 - 0.015).abs() < 0.002, "{ecn:?}: {}", delay / 40_000.0);
        assert!((gauge(&queue, "p") - (1.0_f64 / 3.0).sqrt()).abs() < 0.02);

        let mut bounded =
            dualpi2(&[("p_max", "0.5")], support::link("8 Mbit/s", "300 packets", "1000 B"));
        let (mut least, mut told) = (f64::MAX, Told::default());
        offer(&mut bounded, (20_000, 60_000), &[(ecn, 1.5)], &mut told, |_, waited| {
            least = least.min(waited.as_secs());
        });
        assert!(told.overlimit > 5_000 && least > 0.2, "{ecn:?}: {told:?} {least}");
    }
}

/// A load that the link could just send, half of it ECT(0) and half Not-ECT, with p' held at .2. A
/// twenty-fifth of the one is marked and of the other dropped, evenly. An L queue beside it that
/// never waits has two fifths of its packets marked.
#[test]
fn both_queues_hear_of_the_same_congestion() {
    let mut queue = dualpi2(&[("alpha", "0.2"), ("beta", "0"), ("p_max", "0.2")], link());
    let mut told = Told::default();
    let load = [(Ecn::NotEct, 0.5), (Ecn::Ect0, 0.5), (Ecn::Ect1, 0.1)];
    let mut marks = [0; 2];
    let mut sent = [0; 2];
    offer(&mut queue, (40_000, 90_000), &load, &mut told, |pkt, _| {
        marks[pkt.tag as usize] += (pkt.ecn == Ecn::Ce) as u64;
        sent[pkt.tag as usize] += 1;
    });
    assert_eq!(gauge(&queue, "p"), 0.2);
    assert!(marks[0].abs_diff(2_000) <= 2 && sent[0] == 5_000, "{marks:?} {sent:?}");
    let classic = sent[1] + told.dropped;
    assert!(marks[1] + told.dropped == classic / 25 || marks[1] + told.dropped == classic / 25 + 1);
    assert!(told.dropped > 500 && marks[1] > 500, "{told:?} {marks:?}");
}

/// When the load is gone the probability falls by alpha times the target with each update, to 0.
#[test]
fn congestion_is_forgotten() {
    let mut queue = dualpi2(&[], link());
    offer(&mut queue, (0, 5_000), &[(Ecn::NotEct, 2.0)], &mut Told::default(), |_, _| {});
    while queue.dequeue(at(5_000_000_000), &mut NullSink).is_some() {}
    // The first empty update takes the delay's last change, too.
    queue.advance(at(5_020_000_000));
    let before = gauge(&queue, "p");
    assert!(before > 0.1);
    queue.advance(at(5_020_000_000 + 10 * 15_000_000));
    assert!((gauge(&queue, "p") - (before - 10.0 * 0.15 * 0.015)).abs() < 1e-9);
    queue.advance(at(30_000_000_000));
    assert_eq!((gauge(&queue, "p"), gauge(&queue, "delay")), (0.0, 0.0));
}

/// Which lines packets of `flow` join that come at `now`, so many at once.
fn lines(queue: &mut DualPi2, now: u64, flow: u64, packets: u32) -> String {
    let mut lines = String::new();
    for _ in 0..packets {
        let before = queue.backlogs().0.packets;
        queue.enqueue(at(now), Packet::new(flow, 1000).with_ecn(Ecn::Ect1), &mut NullSink);
        lines.push(if queue.backlogs().0.packets > before { 'L' } else { 'C' });
    }
    lines
}

/// briscoe2026 §4. The critical delay here is 1.9 ms, a byte ages in 2^-19 s. Of a burst the third
/// packet finds 2 ms before it and has a score of 1.91 ms: 3.8 is less than 1.9 · 4. The fourth
/// finds 3 ms, with 3.81 ms. Another flow has no score yet: at 3 ms its first has 5.7, its second
/// too much. 30 ms later none is left, and nothing waits.
#[test]
fn who_congests_the_l_queue_is_sent_to_the_other() {
    let mut queue = dualpi2(&[("protection", "on")], link());
    assert_eq!(lines(&mut queue, 0, 1, 6), "LLLCCC");
    assert_eq!(lines(&mut queue, 0, 2, 3), "LCC");
    assert_eq!((queue.sanctioned(), gauge(&queue, "sanctioned")), (5, 5.0));
    while queue.dequeue(at(1_000_000), &mut NullSink).is_some() {}
    // Of the first one's 7.6 ms, 5.6 are left: with 2 ms of others' packets before it that is too
    // much, while a fourth flow has no more than its own 1.9.
    assert_eq!(lines(&mut queue, 2_000_000, 3, 2), "LL");
    assert_eq!(lines(&mut queue, 2_000_000, 1, 1), "C");
    assert_eq!(lines(&mut queue, 2_000_000, 4, 1), "L");
    while queue.dequeue(at(3_000_000), &mut NullSink).is_some() {}
    assert_eq!(lines(&mut queue, 40_000_000, 1, 6), "LLLCCC");
    // Without it all stay, and classic packets are never asked.
    assert_eq!(lines(&mut dualpi2(&[], link()), 0, 1, 6), "LLLLLL");
    let mut queue = dualpi2(&[("protection", "on")], link());
    for _ in 0..20 {
        queue.enqueue(at(0), Packet::new(1, 1000), &mut NullSink);
    }
    assert_eq!((queue.sanctioned(), queue.backlogs().0.packets), (0, 0));
}

/// With one bucket a second flow shares the default one with a third: it has a score of theirs.
#[test]
fn flows_without_a_bucket_share_one() {
    let mut queue = dualpi2(&[("protection", "on"), ("buckets", "1")], link());
    assert_eq!(lines(&mut queue, 0, 1, 4), "LLLC");
    assert_eq!(lines(&mut queue, 0, 2, 1), "L");
    assert_eq!(lines(&mut queue, 0, 3, 1), "C");
    assert_eq!(queue.sanctioned(), 2);
}

/// A flood of ECT(1) as fast as the link, beside a thin flow of ECT(1). Protected, the thin flow
/// waits for less than the ramp's end and one packet. Unprotected, it waits for most of the target
/// and more.
#[test]
fn a_flood_harms_no_thin_flow_of_the_l_queue() {
    let waits = |protection| {
        let mut queue = dualpi2(&[("protection", protection)], link());
        let (mut sum, mut sent, mut lost) = (0.0, 0, 0);
        for ms in 0..20_000u64 {
            let now = at(ms * 1_000_000);
            let mut told = Told::default();
            queue.enqueue(now, Packet::new(1, 1000).with_ecn(Ecn::Ect1), &mut told);
            if ms % 20 == 0 {
                let thin = Packet::new(2, 200).with_ecn(Ecn::Ect1);
                queue.enqueue(now, thin, &mut told);
            }
            if let Some(pkt) = queue.dequeue(now, &mut told)
                && pkt.flow == 2
                && ms > 5_000
            {
                sum += now.since(pkt.arrived).as_secs();
                sent += 1;
            }
            lost += told.dropped;
        }
        (sum / sent as f64, lost)
    };
    let ((guarded, _), (bare, _)) = (waits("on"), waits("off"));
    assert!(guarded < 0.002 && bare > 0.008, "{guarded} {bare}");
}

/// A step at the very delay, and an update at the very instant.
#[test]
fn what_is_due_at_an_instant_happens_then() {
    let mut queue = dualpi2(&[("min_th", "2 ms"), ("range", "0 ns")], link());
    let (mut told, mut now) = (Told::default(), 0);
    for wait in [1_999_999, 2_000_000, 2_000_000] {
        queue.enqueue(at(now), Packet::new(1, 1000).with_ecn(Ecn::Ect1), &mut told);
        now += wait;
        queue.dequeue(at(now), &mut told).unwrap();
    }
    // The sum passes 1 with the second certainty.
    assert_eq!((told.early, told.forced), (0, 1));
    let mut queue = dualpi2(&[], link());
    queue.enqueue(at(0), Packet::new(1, 1000), &mut told);
    queue.advance(at(14_999_999));
    assert_eq!(gauge(&queue, "delay"), 0.0);
    queue.advance(at(15_000_000));
    assert_eq!(gauge(&queue, "delay"), 0.015);
}

/// At the critical delay itself nobody is sanctioned; above it anybody with a score is, if no score
/// is borne. Protected, it has a table of flows, and only then.
#[test]
fn the_critical_delay_is_borne() {
    let settings =
        [("protection", "on"), ("min_th", "1 ms"), ("range", "1 ms"), ("critical_score", "0 ns")];
    assert_eq!(lines(&mut dualpi2(&settings, link()), 0, 1, 5), "LLLCC");
    let table = |protection| config("dualpi2", None, &[("protection", protection)], &link());
    let with = table("on");
    assert_eq!(with.hash_table().map(|table| (table.buckets, table.ways)), Some((32, 2)));
    assert!(with.bucket_lifetime().is_some());
    assert!(table("off").hash_table().is_none() && table("off").bucket_lifetime().is_none());
}

/// At p' = 1 every packet is dropped, except what has less than two frames behind it.
#[test]
fn little_that_waits_is_spared() {
    let settings = [("mtu", "1500 B"), ("alpha", "1000"), ("beta", "0"), ("decide", "dice")];
    for (ecn, spared) in [(Ecn::NotEct, 3), (Ecn::Ect1, 3)] {
        let mut queue = dualpi2(&settings, link());
        for _ in 0..10 {
            queue.enqueue(at(0), Packet::new(1, 1000).with_ecn(ecn), &mut NullSink);
        }
        let late = at(100_000_000);
        queue.advance(late);
        assert_eq!(queue.probability(), 1.0);
        let sent = std::iter::from_fn(|| queue.dequeue(late, &mut NullSink)).count();
        assert_eq!(sent, spared, "2000, 1000 and 0 bytes wait behind them");
    }
}
