//! A gate that goes on by another plan while frames wait, over cables in memory: nothing is lost by
//! that, nothing is reported twice, no flow is overtaken. And what both directions, classes and
//! prefixes that are not judged do.

use std::collections::HashMap;

use crate::frames::{Kind, frame, kind, label};
use crate::rig::{Fates, Rig, SECRET, Terms, Trial, balanced, link, send, settings, way};
use tidegate::catalog;
use tidegate::{DropReason, Ecn, Rng, Size, Span, Time};
use tidegate_gateway::path::sort::{Class, deal};
use tidegate_gateway::run::plan::{GatePlan, Settings};
use tidegate_gateway::run::way::Way;
use tidegate_gateway::watch::counters::{DirectionCounters, LossReason, Tally};

#[test]
fn whatever_plan_comes_after_whatever_other_no_frame_is_lost_or_overtaken_by_it() {
    for seed in 0..60 {
        let mut dice = Rng::from_seed(seed);
        let mut fates = Fates::default();
        let terms = Terms { both_ways: dice.chance(0.5), with_list: dice.chance(0.3) };
        let mut trial = Trial::new(&mut dice, terms, &mut fates);
        for _ in 0..400 {
            for _ in 0..dice.below(8) {
                let (len, flow) = (60 + dice.below(1400) as usize, dice.below(40) as u8);
                let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][dice.below(4) as usize];
                let way = usize::from(dice.chance(0.3));
                trial.offer(&mut dice, way, flow, ecn, len);
            }
            trial.wait(Span::from_micros(dice.below(3000)));
            if dice.chance(0.1) {
                trial.reload(&mut dice);
            }
        }
        let plans = trial.plans;
        let account = trial.end();
        for counters in [account.managed, account.reverse] {
            assert_eq!(counters.lost(LossReason::NoMemory).frames, 0, "seed {seed}: {counters:?}");
        }
        assert!(plans > 10, "seed {seed}: {plans}");
        fates.check(&account.managed);
    }
}

/// A hundred frames wait, and a smaller limit comes, by the same kind of queue and by another.
#[test]
fn what_waits_leaves_in_its_order_and_before_what_comes_later() {
    for (old, new) in [
        ("drop_tail", "drop_tail"),
        ("drop_tail", "fq_codel"),
        ("red", "sfb"),
        ("wfq", "wfq"),
        ("drr", "codel"),
    ] {
        let mut fates = Fates::default();
        let first =
            GatePlan::new(settings(way(old, link("10 Mbit/s", Size::Packets(400))), None), 1500)
                .unwrap();
        let mut rig = Rig::new(&first, &mut fates);
        let mut dice = Rng::from_seed(1);
        let mut offer = |rig: &mut Rig<'_>, numbers: std::ops::Range<u32>| {
            numbers.for_each(|number| {
                send(&mut rig.clients, &frame(&mut dice, 0, number, Ecn::NotEct, 1000))
            });
        };
        offer(&mut rig, 0..100);
        rig.until(Time::from_nanos(2));
        let held = rig.gate.account().managed.held.frames;
        assert!(held > 3, "{old}");
        let second =
            GatePlan::new(settings(way(new, link("20 Mbit/s", Size::Packets(30))), None), 1500)
                .unwrap();
        drop(rig.gate.renew(rig.now, second.instead_of(&first, SECRET).unwrap()));
        assert_eq!(rig.gate.lane().backlog().packets as u64, held, "{old}, {new}");
        offer(&mut rig, 100..120);
        rig.until(Time::from_nanos(3));
        // Within a kind the limit sees what waits, and there is no room; another one has its own.
        let waits = rig.gate.lane().backlog().packets as u64;
        match (old, new) {
            ("drop_tail", "drop_tail") => assert_eq!(waits, held, "{old}, {new}"),
            _ => assert!(waits > held, "{old}, {new}: {waits} after {held}"),
        }
        let begun = rig.now;
        rig.drain();
        let numbers: Vec<u32> =
            rig.servers.all().unwrap().iter().map(|frame| label(frame).unwrap().1).collect();
        assert!(numbers.is_sorted() && numbers.len() as u64 > held, "{old}, {new}: {numbers:?}");
        // 1000 B at 20 Mbit/s: the new rate holds for what had waited, too; the first was on its
        // way at the old one.
        let took = rig.now.since(begun).as_nanos();
        assert_eq!(took.div_ceil(400_000), waits + 1, "{old}, {new}: {took} ns");
    }
}

/// The clock began when the machine did. A queue that is new must not reckon with that time by what
/// waits in it now.
#[test]
fn a_machine_that_has_been_up_for_long_makes_no_price_of_it() {
    for queue in ["rem", "purge", "black", "pie", "ewfq", "afd"] {
        let mut fates = Fates::default();
        let mut way = way(queue, link("10 Mbit/s", Size::Packets(400)));
        if queue == "rem" {
            way.queue.set("form", "backlog").unwrap();
        }
        let plan = GatePlan::new(settings(way, None), 1500).unwrap();
        let mut rig = Rig::new(&plan, &mut fates);
        rig.now = Time::ZERO + Span::from_secs(10.0 * 86_400.0);
        let mut dice = Rng::from_seed(1);
        let mut number = 0;
        let mut offer = |rig: &mut Rig<'_>, frames: u32| {
            for _ in 0..frames {
                send(
                    &mut rig.clients,
                    &frame(&mut dice, (number % 50) as u8, number, Ecn::NotEct, 1000),
                );
                number += 1;
            }
        };
        // A burst, of which all that is there waits at the reload.
        offer(&mut rig, 390);
        rig.until(rig.now + Span::from_nanos(1));
        let held = rig.gate.account().managed.held.frames;
        drop(rig.gate.renew(rig.now, plan.instead_of(&plan, SECRET).unwrap()));
        // Half of the link's rate for a second: all that waited can leave meanwhile, and there is
        // no reason to drop much.
        let before = rig.gate.account().managed;
        for _ in 0..600 {
            offer(&mut rig, 1);
            rig.until(rig.now + Span::from_micros(1600));
        }
        let after = rig.gate.account().managed;
        let lost = after.lost_in_all().frames - before.lost_in_all().frames;
        assert!(lost < 300, "{queue}: {held} waited; of 600 frames {lost} were lost");
    }
}

/// What was under way for longer is not overtaken, nor does everything behind it leave at once.
#[test]
fn a_shorter_delay_is_reached_by_and_by() {
    let mut fates = Fates::default();
    let plan_of = |delay| {
        let settings = settings(way("drop_tail", link("10 Mbit/s", Size::Packets(400))), None);
        GatePlan::new(Settings { delay, ..settings }, 1500).unwrap()
    };
    let (long, short) = (plan_of(Span::from_millis(100)), plan_of(Span::from_millis(10)));
    let mut rig = Rig::new(&long, &mut fates);
    let mut dice = Rng::from_seed(1);
    let (mut came, mut most) = (vec![], 0);
    for number in 0..500 {
        if number == 200 {
            drop(rig.gate.renew(rig.now, short.instead_of(&long, SECRET).unwrap()));
        }
        send(&mut rig.clients, &frame(&mut dice, 0, number, Ecn::NotEct, 1000));
        // One in a millisecond, and what came in it.
        rig.until(rig.now + Span::from_millis(1));
        let now: Vec<u32> =
            rig.servers.all().unwrap().iter().map(|frame| label(frame).unwrap().1).collect();
        most = most.max(now.len());
        came.extend(now);
    }
    assert!(came.is_sorted(), "{came:?}");
    assert!(most <= 3, "{most} frames in a millisecond, of one that came in");
    // The last ten are under way, and no more.
    assert!((488..=491).contains(&came.len()), "{}", came.len());
}

#[test]
fn a_plan_that_cannot_follow_is_refused_by_its_field() {
    let both = |queue| Some(way(queue, link("1 Mbit/s", Size::Packets(10))));
    let one = settings(both("red").unwrap(), None);
    let plan = |settings: &Settings| GatePlan::new(settings.clone(), 1500).unwrap();
    let refused = |settings: Settings| {
        plan(&settings).instead_of(&plan(&one), SECRET).unwrap_err().to_string()
    };
    let anew = "cannot be otherwise while the gate runs; end it and start it anew";
    assert_eq!(
        refused(Settings { inner: "if3".into(), ..one.clone() }),
        format!("in = if3: {anew}")
    );
    assert_eq!(
        refused(Settings { outer: "if3".into(), ..one.clone() }),
        format!("out = if3: {anew}")
    );
    assert_eq!(
        refused(Settings { back: both("red"), ..one.clone() }),
        format!("back = managed: {anew}")
    );
    assert!(plan(&one).instead_of(&plan(&one), SECRET).is_ok());
    // Room for 4.4 GB of frames, and as much again for what the queue before it still has to give.
    let huge = settings(way("fq_codel", link("10 Gbit/s", Size::Bytes(1_000_000_000))), None);
    let error = plan(&huge).instead_of(&plan(&huge), SECRET).unwrap_err();
    assert!(
        error.field == "limit"
            && error.to_string().contains("with what waits in the queue before it"),
        "{error}"
    );
    let impossible = Settings {
        back: Some(Way {
            queue: catalog::config("red", Some("paper"), &link("1 Mbit/s", Size::Packets(100)))
                .unwrap(),
            ..both("drop_tail").unwrap()
        }),
        ..one.clone()
    };
    let mut queue = impossible.back.clone().unwrap().queue;
    queue.set("max", "1 packets").unwrap();
    let mut back = impossible.back.clone().unwrap();
    back.queue = queue;
    let error = GatePlan::new(Settings { back: Some(back), ..impossible }, 1500).unwrap_err();
    assert!(error.field.starts_with("back."), "{error}");
}

#[test]
fn both_directions_have_their_own_queue_and_rate() {
    let mut fates = Fates::default();
    let there = way("drop_tail", link("10 Mbit/s", Size::Packets(50)));
    let back = way("drop_tail", link("2 Mbit/s", Size::Packets(20)));
    let plan = GatePlan::new(settings(there, Some(back)), 1500).unwrap();
    let mut rig = Rig::new(&plan, &mut fates);
    let mut dice = Rng::from_seed(1);
    for number in 0..100 {
        let frame = frame(&mut dice, 0, number, Ecn::NotEct, 1000);
        send(&mut rig.clients, &frame);
        send(&mut rig.servers, &frame);
    }
    rig.until(Time::from_nanos(2));
    let account = rig.gate.account();
    let held_and_lost = |of: &DirectionCounters| {
        (of.held.frames, of.lost(LossReason::Queue(DropReason::Overlimit)).frames)
    };
    assert_eq!(held_and_lost(&account.managed), (50, 49), "one is on its way");
    assert_eq!(held_and_lost(&account.reverse), (20, 79));
    // In 8 ms ten frames leave there and two back.
    rig.until(Time::from_nanos(8_000_001));
    let sent = rig.gate.account();
    assert_eq!((sent.managed.sent.frames, sent.reverse.sent.frames), (11, 3));
    rig.drain();
    let sent = rig.gate.account();
    assert_eq!((sent.managed.sent.frames, sent.reverse.sent.frames), (51, 21));
    assert_eq!((rig.servers.all().unwrap().len(), rig.clients.all().unwrap().len()), (51, 21));
}

/// Under a flood of three times the rate, a flow of a twentieth of it: lost with the rest by
/// drop-tail, and left alone when it is on the list. The rate is the same.
#[test]
fn frames_on_the_list_are_not_judged_and_take_their_part_of_the_rate() {
    assert_eq!(kind(0), Kind::Udp4);
    let run = |allowed: &[&str]| {
        let mut fates = Fates::default();
        let allowed = allowed.iter().map(|text| text.parse().unwrap()).collect();
        let there = Way { allowed, ..way("drop_tail", link("10 Mbit/s", Size::Packets(50))) };
        let plan = GatePlan::new(settings(there, None), 1500).unwrap();
        let mut rig = Rig::new(&plan, &mut fates);
        let (mut dice, mut came) = (Rng::from_seed(7), 0);
        let mut waits = Span::ZERO;
        let mut sent_at = HashMap::new();
        for number in 0..6000 {
            // 1000 B every 267 us or so are 30 Mbit/s; every sixtieth frame is of flow 11,
            // 10.0.0.11, the others of flow 0.
            let flow = if number % 60 == 59 { 11 } else { 0 };
            send(&mut rig.clients, &frame(&mut dice, flow, number, Ecn::NotEct, 1000));
            sent_at.insert(number, rig.now);
            rig.until(rig.now + Span::from_nanos(dice.below(533_333)));
            for frame in rig.servers.all().unwrap() {
                let (flow, number) = label(&frame).unwrap();
                if flow == 11 {
                    came += 1;
                    waits = waits.max(rig.now.since(sent_at[&number]));
                }
            }
        }
        let account = rig.gate.account().managed;
        balanced(&account, "allowed");
        let rate = account.sent.bytes as f64 * 8.0 / rig.now.as_secs();
        (came, account.allowed.frames, waits, rate)
    };
    let (judged, none, _, _) = run(&[]);
    assert!(judged < 60 && none == 0, "{judged} of 100 came");
    for list in [&["10.0.0.11"][..], &["192.0.2.0/24", "10.0.0.8/30"]] {
        let (came, counted, waits, rate) = run(list);
        assert!(came >= 97 && counted == 100, "{came} of 100 came; the last may wait still");
        // They wait behind the 50 that waited, 40 ms, and one in transmission; a frame is seen up
        // to 0.53 ms later.
        assert!(waits < Span::from_millis(43), "{waits}");
        assert!((rate / 10e6 - 1.0).abs() < 0.005, "{rate}");
    }
}

#[test]
fn a_flood_on_the_list_has_its_own_limit() {
    let mut fates = Fates::default();
    let there = Way {
        allowed: vec!["10.0.0.0/8".parse().unwrap()],
        ..way("sfb", link("10 Mbit/s", Size::Packets(50)))
    };
    let plan = GatePlan::new(settings(there, None), 1500).unwrap();
    let mut rig = Rig::new(&plan, &mut fates);
    let mut dice = Rng::from_seed(1);
    (0..500)
        .for_each(|number| send(&mut rig.clients, &frame(&mut dice, 0, number, Ecn::NotEct, 1000)));
    rig.until(Time::from_nanos(2));
    let account = rig.gate.account().managed;
    assert_eq!(
        (account.held.frames, account.lost(LossReason::Queue(DropReason::Overlimit)).frames),
        (50, 449)
    );
    rig.drain();
    let numbers: Vec<u32> =
        rig.servers.all().unwrap().iter().map(|frame| label(frame).unwrap().1).collect();
    assert_eq!(numbers, (0..51).collect::<Vec<_>>());
}

/// Two classes flood the link; each gets by its weight.
#[test]
fn classes_share_by_weight() {
    for queue in ["wfq", "drr"] {
        let mut fates = Fates::default();
        let heavy = Class {
            name: "heavy".into(),
            weight: 3.0,
            prefixes: vec!["10.0.0.11".parse().unwrap()],
            ..Class::default()
        };
        let mut there = way(queue, link("10 Mbit/s", Size::Packets(100)));
        deal(&mut there.queue, std::slice::from_ref(&heavy)).unwrap();
        there.classes = vec![heavy];
        let plan = GatePlan::new(settings(there, None), 1500).unwrap();
        let mut rig = Rig::new(&plan, &mut fates);
        let (mut dice, mut bytes) = (Rng::from_seed(7), [0u64; 2]);
        for number in 0..12_000 {
            // Each a frame of 1000 B every 0.5 ms: 16 Mbit/s.
            let flow = [0, 11][number as usize % 2];
            send(&mut rig.clients, &frame(&mut dice, flow, number, Ecn::NotEct, 1000));
            rig.until(rig.now + Span::from_micros(250));
            for frame in rig.servers.all().unwrap() {
                bytes[usize::from(label(&frame).unwrap().0 == 11)] += frame.len() as u64;
            }
        }
        let share = bytes[1] as f64 / (bytes[0] + bytes[1]) as f64;
        assert!((share - 0.75).abs() < 0.02, "{queue}: {share} of the link");
    }
}

/// Each kind takes what arrives while the one before still gives: of three there would be more than
/// there is room for.
#[test]
fn a_third_queue_waits_for_the_first_and_memory_never_runs_out() {
    let mut fates = Fates::default();
    let kinds = ["drop_tail", "fq_codel", "sfb", "drr", "red", "wfq"];
    let plan = |queue, rate| {
        GatePlan::new(settings(way(queue, link(rate, Size::Packets(300))), None), 1500).unwrap()
    };
    let mut old = plan(kinds[5], "10 Mbit/s");
    let mut rig = Rig::new(&old, &mut fates);
    let mut dice = Rng::from_seed(1);
    let (mut number, mut renewed, mut refused) = (0, 0, 0);
    // Every 10 ms frames for 60 ms of the line, and a request to change.
    for turn in 0..400 {
        for _ in 0..50 {
            number += 1;
            send(
                &mut rig.clients,
                &frame(&mut dice, (number % 30) as u8, number, Ecn::NotEct, 1514),
            );
        }
        rig.until(rig.now + Span::from_millis(10));
        if rig.gate.is_settled(rig.now) {
            let next = plan(kinds[renewed % kinds.len()], ["10 Mbit/s", "9 Mbit/s"][turn % 2]);
            drop(rig.gate.renew(rig.now, next.instead_of(&old, SECRET).unwrap()));
            (old, renewed) = (next, renewed + 1);
        } else {
            refused += 1
        }
    }
    let managed = rig.gate.account().managed;
    balanced(&managed, "at the end");
    assert!(renewed > 6 && refused > renewed, "{renewed} times changed, {refused} times to wait");
    assert_eq!(managed.lost(LossReason::NoMemory), Tally::default(), "{managed:?}");
}
