//! FRED against its paper: the naive twin, the golden numbers, and what the paper says that holds
//! on the queue alone.
use crate::naive::fred::{Above, Flow, NaiveFred, Said, Setting};
use crate::support;
use crate::support::Fate;
use crate::support::stats;
use crate::support::twin::OPERATIONS;
use crate::support::workload::{Phase, Workload};
use crate::twinned::Twinned as _;
use crate::twinned::fred::Twinned;
use tidegate::queues::Fred;
use tidegate::{DropReason, Link, NullSink, Packet, Qdisc, Rng, Span, Time, catalog};

fn fred(preset: &str, settings: &[(&str, &str)], link: Link, dice: Rng) -> Fred {
    match support::config("fred", Some(preset), settings, &link).build(link, dice).unwrap() {
        catalog::AnyQueue::Fred(queue) => queue,
        other => panic!("{other:?}"),
    }
}

fn papers_link() -> Link {
    support::link("10 Mbit/s", "160 kB", "1000 B")
}

fn offer(queue: &mut Fred, now: Time, flow: u64, len: u32) -> Option<DropReason> {
    let mut fate = Fate::default();
    queue.enqueue(now, Packet::new(flow, len), &mut fate);
    assert_eq!(fate.marked, None, "FRED does not mark");
    fate.dropped
}

/// cho2001 §IV-A: thresholds of 40 and 160 kB, max_p .2, minq 2000 B.
const CHO2001: Setting = Setting {
    min: 40e3,
    max: 160e3,
    max_p: 0.2,
    weight: 0.002,
    min_q: 2000.0,
    max_q: 40e3,
    one: 1000.0,
    multiple: 2.0,
    strikes: 1.0,
    above: Above::Tail,
    s: 8e5,
};

/// Two flows, avg 60 kB: avgcq is 30 kB. 35 kB waiting: the dice decide, or, after two strikes, it
/// is dropped surely; 20 kB: let in; 40 kB = maxq: dropped and a strike.
#[test]
fn the_twin_gives_the_golden_verdicts() {
    let with = |qlen: f64, strike: f64| {
        let mut fred = NaiveFred::new(CHO2001);
        fred.flows.insert(1, Flow { qlen, strike });
        fred.flows.insert(2, Flow { qlen: 60e3 - qlen, strike: 0.0 });
        (fred.q, fred.avg) = (60e3, 60e3);
        assert_eq!(fred.avgcq(), 30e3);
        (fred.arrive(0.0, 1), fred.flows[&1].strike)
    };
    assert_eq!(with(35e3, 0.0), (Said::Die(0.2 * 20.0 / 120.0), 0.0));
    assert_eq!(with(35e3, 2.0), (Said::Drop, 3.0));
    assert_eq!(with(20e3, 0.0), (Said::Pass, 0.0));
    assert_eq!(with(40e3, 0.0), (Said::Drop, 1.0));
}

/// Above max_th: one queue drops all; for many flows each may have two packets.
#[test]
fn the_twin_above_max() {
    let with = |above, qlen: f64| {
        let mut fred = NaiveFred::new(Setting { above, max: 100e3, ..CHO2001 });
        fred.flows.insert(1, Flow { qlen, strike: 0.0 });
        (fred.q, fred.avg) = (120e3, 120e3);
        fred.arrive(0.0, 1)
    };
    for (above, qlen, said) in [
        (Above::Tail, 1000.0, Said::Drop),
        (Above::Both, 1000.0, Said::Drop),
        (Above::Two, 1999.0, Said::Pass),
        (Above::Two, 2000.0, Said::Drop),
    ] {
        assert_eq!(with(above, qlen), said, "{above:?} {qlen}");
    }
}

// ---- the twin
// -------------------------------------------------------------------------------------------------

/// Overload, underload and idleness with skewed flows and mixed sizes.
fn drive(what: &str, settings: &[(&str, &str)], set: Setting, operations: u64) -> Twinned {
    let link = support::link("10 Mbit/s", "60 packets", "770 B");
    let phase =
        |load, idle| Phase { load, packets: operations / 12, idle: Span::from_millis(idle) };
    let phases = vec![
        phase(1.6, 0),
        phase(0.7, 0),
        phase(1.05, 100),
        phase(0.98, 5),
        phase(3.0, 40),
        phase(0.3, 200),
    ];
    let bytes = settings.contains(&("mode", "bytes"));
    let config = support::config("fred", Some("paper"), settings, &link);
    let mut twinned = Twinned::beside(&config, link, stats::dice(what, 0)).unwrap();
    let set = Setting { s: 770.0 * 8.0 * 100.0, one: if bytes { 770.0 } else { 1.0 }, ..set };
    assert_eq!(twinned.twin.set, set, "the parameters mean what is written here");
    let workload = Workload::new(20, 1.1, (40, 1500), 0.6, phases);
    workload.run(&mut twinned, &link, &mut stats::dice(what, 1), &mut NullSink);
    twinned.disputes.settle();
    assert!(!twinned.on_the_edge, "{what}: compared to the end");
    assert!(
        twinned.forced > 1_000 && twinned.early > 500,
        "{what}: {} {}",
        twinned.forced,
        twinned.early
    );
    assert!(twinned.struck > 100, "{what}: {}", twinned.struck);
    twinned
}

/// lin1997's constants for a limit of 60 packets, but an average that moves and a maxq that is
/// often met.
const MOVING: Setting = Setting {
    min: 15.0,
    max: 30.0,
    max_p: 0.1,
    weight: 0.01,
    min_q: 3.0,
    max_q: 9.0,
    one: 1.0,
    ..CHO2001
};

const MOVES: [(&str, &str); 4] = [
    ("probability", "0.1"),
    ("weight", "0.01"),
    ("min_queue", "3 packets"),
    ("max_queue", "9 packets"),
];

#[test]
fn twin_agrees_over_a_million_operations() {
    let twinned = drive("paper", &MOVES, MOVING, OPERATIONS);
    assert!(twinned.operations >= OPERATIONS * 3 / 4, "{}", twinned.operations);
}

#[test]
fn twin_agrees_in_every_mode() {
    for (many, above) in [("off", Above::Tail), ("on", Above::Two), ("both", Above::Both)] {
        let settings =
            [&MOVES[..], &[("many_flows", many), ("strikes", "3"), ("shares", "1.5")]].concat();
        drive(many, &settings, Setting { above, strikes: 3.0, multiple: 1.5, ..MOVING }, 200_000);
    }
    // The queue itself for its average, so that it stands at min and at max exactly.
    let settings = [
        ("probability", "0.1"),
        ("weight", "1"),
        ("min_queue", "3 packets"),
        ("max_queue", "9 packets"),
    ];
    drive("weight 1", &settings, Setting { weight: 1.0, ..MOVING }, 200_000);
    let settings = [&MOVES[..3], &[("mode", "bytes"), ("max_queue", "7 kB")]].concat();
    let set =
        Setting { min: 15.0 * 770.0, max: 30.0 * 770.0, min_q: 3.0 * 770.0, max_q: 7e3, ..MOVING };
    drive("bytes", &settings, set, 200_000);
}

// ---- golden numbers
// -------------------------------------------------------------------------------------------------

/// A queue of two flows with so many packets each, in which avg is the queue (w_q = 1).
fn filled(settings: &[(&str, &str)], packets: [u32; 2]) -> Fred {
    let all = [&[("weight", "1"), ("probability", "0")], settings].concat();
    let mut queue =
        fred("cho2001", &all, support::link("10 Mbit/s", "1000 kB", "1000 B"), Rng::from_seed(1));
    for n in 0..packets[0].max(packets[1]) {
        for flow in [1, 2] {
            if n < packets[flow as usize - 1] {
                assert_eq!(offer(&mut queue, Time::ZERO, flow, 1000), None);
            }
        }
    }
    queue
}

/// Two flows, 60 kB: avgcq is about 30 kB (avg has not seen the last packet). maxq is 40 kB.
#[test]
fn golden_verdicts() {
    let mut queue = filled(&[], [39, 21]);
    assert_eq!(queue.policy().share(), 29_500.0);
    assert_eq!(offer(&mut queue, Time::ZERO, 1, 1000), None, "39 kB are below maxq");
    for strikes in 1..=2 {
        assert_eq!(
            offer(&mut queue, Time::ZERO, 1, 1000),
            Some(DropReason::Forced),
            "40 kB are not"
        );
        assert_eq!(queue.policy().flow(1), Some((40, strikes)));
    }
    // With two strikes the flow has the average share and no more: 31 kB would be too much, 30 kB
    // are.
    for left in (31..40).rev() {
        while queue.policy().flow(1).unwrap().0 > left {
            queue.dequeue(Time::ZERO, &mut NullSink);
        }
        assert_eq!(
            offer(&mut queue, Time::ZERO, 1, 1000),
            Some(DropReason::Forced),
            "{left} kB with strikes"
        );
    }
    assert_eq!(offer(&mut queue, Time::ZERO, 2, 1000), None);
}

/// Strikes last as long as something of the flow waits.
#[test]
fn strikes_are_forgotten_with_the_flow() {
    let mut queue = filled(&[], [40, 1]);
    for strikes in 1..=5 {
        assert_eq!(offer(&mut queue, Time::ZERO, 1, 1000), Some(DropReason::Forced));
        assert_eq!(queue.policy().flow(1).unwrap().1, strikes);
    }
    while queue.dequeue(Time::ZERO, &mut NullSink).is_some() {}
    assert_eq!((queue.policy().flow(1), queue.policy().flows()), (None, 0));
    offer(&mut queue, Time::ZERO, 1, 1000);
    assert_eq!(queue.policy().flow(1), Some((1, 0)));
}

/// An idle time of 125 packet times: (1 − .002)^125 = .778606 times what it was; a second packet
/// takes nothing more.
#[test]
fn golden_idle_decay() {
    let mut queue = filled(&[("weight", "0.002")], [10, 10]);
    while queue.dequeue(Time::ZERO, &mut NullSink).is_some() {}
    let before = queue.policy().avg();
    let late = Time::ZERO + Span::from_millis(100);
    offer(&mut queue, late, 1, 1000);
    let after = queue.policy().avg();
    assert!((after / before - 0.778606).abs() < 1e-6, "{after} {before}");
    queue.dequeue(late, &mut NullSink);
    offer(&mut queue, late, 1, 1000);
    assert!((queue.policy().avg() / after - 0.998).abs() < 1e-9);
}

/// Random drops at constant p_b = .05 of a flow above its share: gaps are uniform on 1 … 19, as
/// RED's are after a drop.
#[test]
fn gaps_between_random_drops_are_uniform() {
    let settings = [
        ("min", "0 B"),
        ("max", "40 kB"),
        ("probability", "0.1"),
        ("weight", "1"),
        ("max_queue", "99 kB"),
    ];
    let mut counts = [0_u64; 19];
    for run in 0..2_000 {
        let mut queue = fred("cho2001", &settings, papers_link(), stats::dice("fred's gaps", run));
        while queue.backlog().packets < 21 {
            offer(&mut queue, Time::ZERO, 1, 1000);
        }
        let (mut gap, mut drops) = (0, 0);
        while drops < 6 {
            // avg is what the last departure left: 20 kB, half of max, so p_b = .05.
            if queue.backlog().packets > 20 {
                queue.dequeue(Time::ZERO, &mut NullSink);
            }
            assert_eq!(queue.policy().avg(), 20e3);
            gap += 1;
            if let Some(why) = offer(&mut queue, Time::ZERO, 1, 1000) {
                assert_eq!(why, DropReason::Early);
                if drops > 0 {
                    counts[gap - 1] += 1;
                }
                (gap, drops) = (0, drops + 1);
            }
        }
    }
    stats::assert_counts("gaps", &counts, &[10_000.0 / 19.0; 19]);
}

// ---- what the paper says
// -------------------------------------------------------------------------------------------

/// Below max_th FRED never drops a packet of a flow that has less than minq waiting, unless it has
/// earned strikes. Ten of twenty flows flood, so that the dice are busy and strikes are many.
#[test]
fn a_flow_under_minq_loses_nothing() {
    for (preset, minq) in [("paper", 2), ("cho2001", 2), ("many", 2), ("auto", 2)] {
        let link = papers_link();
        let mut queue = fred(
            preset,
            &[("min", "10 packets"), ("max_queue", "4 packets")],
            link,
            stats::dice("minq", minq),
        );
        let mut traffic = stats::dice("minq's traffic", minq);
        let max = if preset == "cho2001" { 160e3 } else { 80.0 };
        let (mut early, mut forced, mut under, mut high) = (0, 0, 0, 0);
        for n in 0..200_000_u64 {
            let now = Time::ZERO + Span::from_micros(400 * n);
            let flow = if traffic.chance(0.9) { traffic.below(10) } else { traffic.below(20) };
            let (waiting, strikes) = queue.policy().flow(flow).unwrap_or_default();
            let is_under = waiting < minq as u32 && strikes <= 1 && queue.policy().avg() < max;
            let room = link.has_room(queue.backlog(), 1000);
            let fate = offer(&mut queue, now, flow, 1000);
            match fate {
                Some(DropReason::Early) => early += 1,
                Some(DropReason::Forced) => forced += 1,
                _ => {}
            }
            high += u64::from(queue.policy().avg() >= max);
            if is_under && room {
                under += 1;
                assert_eq!(
                    fate, None,
                    "{preset}, packet {n}: {waiting} waiting, {strikes} strikes"
                );
            }
            if n % 2 == 1 {
                queue.dequeue(now, &mut NullSink);
            }
        }
        assert!(
            early > 100 && forced > 100 && under > 1_000,
            "{preset}: {early} {forced} {under} {high}"
        );
    }
}

/// The extension for many flows: with the average above max_th each flow finds room for two
/// packets, where the rules for one queue drop everything.
#[test]
fn many_flows_have_two_packets_each() {
    for (many, most) in [("on", 2), ("off", 0), ("both", 0)] {
        let settings = [("many_flows", many), ("max", "50 kB"), ("min", "20 kB")];
        let mut queue = filled(&settings, [26, 25]);
        assert!(queue.policy().avg() >= 50e3);
        for flow in 10..20 {
            for n in 0..4 {
                let fate = offer(&mut queue, Time::ZERO, flow, 1000);
                assert_eq!(
                    fate,
                    (n >= most).then_some(DropReason::Forced),
                    "{many}: packet {n} of flow {flow}"
                );
            }
        }
    }
}

/// A full table refuses a new flow and changes nothing.
#[test]
fn a_full_table() {
    let mut queue = fred("paper", &[("flows", "2")], papers_link(), Rng::from_seed(1));
    assert_eq!(
        [1, 2, 3, 1].map(|flow| offer(&mut queue, Time::ZERO, flow, 1000)),
        [None, None, Some(DropReason::Overlimit), None]
    );
    queue.dequeue(Time::ZERO, &mut NullSink);
    queue.dequeue(Time::ZERO, &mut NullSink);
    assert_eq!(offer(&mut queue, Time::ZERO, 3, 1000), None, "flow 2 has left its place");
    assert_eq!(queue.policy().flows(), 2);
}

#[test]
fn max_must_be_above_min() {
    let mut config = catalog::config("fred", Some("paper"), &papers_link()).unwrap();
    config.set("max", "40 packets").unwrap();
    let error = config.build(papers_link(), Rng::from_seed(1)).unwrap_err();
    assert_eq!(
        (error.field.as_str(), error.why.as_str()),
        ("max", "must be above min = 40 packets")
    );
}

/// A flow with strikes may have less than the average share, not the share itself.
#[test]
fn the_share_itself_is_too_much_for_a_flow_with_strikes() {
    let mut queue = filled(&[], [40, 39]);
    for _ in 0..2 {
        assert_eq!(offer(&mut queue, Time::ZERO, 1, 1000), Some(DropReason::Forced));
    }
    while queue.backlog().packets > 59 {
        queue.dequeue(Time::ZERO, &mut NullSink);
    }
    assert_eq!((queue.policy().flow(1), queue.policy().flow(2)), (Some((30, 2)), Some((29, 0))));
    assert_eq!(offer(&mut queue, Time::ZERO, 2, 1000), None);
    queue.dequeue(Time::ZERO, &mut NullSink);
    queue.dequeue(Time::ZERO, &mut NullSink);
    assert_eq!((queue.policy().flow(1), queue.policy().share()), (Some((29, 2)), 29e3));
    assert_eq!(offer(&mut queue, Time::ZERO, 1, 1000), Some(DropReason::Forced));
}

/// At max_th itself all is dropped; a strike is for a flow above so many shares, not at them.
#[test]
fn strikes_at_max() {
    for (packets, flow, strikes) in
        [([30, 21], 1, 1), ([30, 21], 2, 0), ([26, 25], 2, 0), ([26, 25], 1, 1)]
    {
        let mut queue = filled(&[("max", "50 kB"), ("shares", "1"), ("min", "20 kB")], packets);
        assert_eq!((queue.policy().avg(), queue.policy().share()), (50e3, 25e3));
        assert_eq!(offer(&mut queue, Time::ZERO, flow, 1000), Some(DropReason::Forced));
        assert_eq!(queue.policy().flow(flow).unwrap().1, strikes, "flow {flow} of {packets:?}");
    }
}

/// lin1997's rule for the thresholds, and the weight of an average that looks back over a second at
/// two updates a packet.
#[test]
fn presets_follow_the_link() {
    let value = |preset, limit: &str, param| {
        let link = support::link("10 Mbit/s", limit, "1000 B");
        catalog::config("fred", Some(preset), &link).unwrap().get(param).unwrap()
    };
    for (limit, min, max, minq) in [
        ("100 packets", "25 packets", "50 packets", "2 packets"),
        ("199 packets", "49 packets", "98 packets", "2 packets"),
        ("200 packets", "50 packets", "100 packets", "4 packets"),
        ("2 MB", "125 packets", "250 packets", "4 packets"), /* what is in flight in 100 ms, a
                                                              * sixteenth of the limit */
        ("1 packet", "1 packet", "2 packets", "2 packets"),
    ] {
        let texts =
            ["min", "max", "max_queue", "min_queue"].map(|param| value("paper", limit, param));
        assert_eq!(texts, [min, max, min, minq], "{limit}");
    }
    let weight: f64 = value("auto", "100 packets", "weight").parse().unwrap();
    assert!((weight - 1.0 / 2500.0).abs() < 1e-6, "{weight}");
    assert_eq!(
        (value("auto", "100 packets", "many_flows"), value("many", "2 MB", "many_flows")),
        ("on".into(), "on".into())
    );
}
