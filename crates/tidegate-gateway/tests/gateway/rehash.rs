//! Flows get new keys before the queue: which queues get that, what is in order then, and what
//! nobody notices.

use std::collections::HashMap;

use crate::frames::{frame, label};
use crate::rig::{Fates, Rig, SECRET, balanced, link, send, settings, way};
use tidegate::catalog::{self, QUEUES};
use tidegate::{Ecn, Rng, Size, Span};
use tidegate_gateway::path::rehash::Rehash;
use tidegate_gateway::run::plan::GatePlan;
use tidegate_gateway::run::way::Way;
use tidegate_packet::{Frame, LinkType, set_ce};

#[test]
fn flows_get_new_keys_where_they_keep_their_places_for_long() {
    let link = link("10 Mbit/s", Size::Packets(100));
    let usual: Vec<&str> = QUEUES
        .iter()
        .filter(|row| way(row.name, link).rehash != Rehash::OFF)
        .map(|row| row.name)
        .collect();
    assert_eq!(
        usual,
        [
            "fq_codel", "cake", "dualpi2", "wfq", "ewfq", "drr", "sfq", "sfq_red", "fq_pie", "afq",
            "bc_pqp",
        ]
    );
    for (name, param, value, on) in [
        ("sfq", "perturb", "10 s", true),
        ("sfq", "perturb", "1 s", false),
        ("sfq", "map", "class", false),
        ("drr", "map", "class", false),
        ("wfq", "map", "class", false),
        ("ewfq", "map", "class", false),
        ("drr", "classes", "16", true),
    ] {
        let mut queue = way(name, link).queue;
        queue.set(param, value).unwrap();
        assert_eq!(Rehash::usual(&queue) != Rehash::OFF, on, "{name} with {param} = {value}");
    }
}

/// A gate with DRR in single places on 10 Mbit/s: a thousand bytes leave every 0.8 ms.
fn plan(rehash: &str) -> GatePlan {
    let link = link("10 Mbit/s", Size::Packets(100));
    let queue = catalog::config("drr", Some("paper"), &link).unwrap();
    let there = Way { rehash: rehash.parse().unwrap(), queue, ..way("drr", link) };
    GatePlan::new(settings(there, None), 1500).unwrap()
}

/// What left a gate that goes by `plan`, by flow and number, with its time to the millisecond: in
/// each millisecond `next` says what arrives.
fn through(
    plan: &GatePlan,
    millis: u64,
    mut next: impl FnMut(u64, &mut Rng) -> Vec<u8>,
) -> Vec<(u64, u8, u32)> {
    let mut fates = Fates::default();
    let mut rig = Rig::new(plan, &mut fates);
    let (mut dice, mut number, mut left) = (Rng::from_seed(1), 0, Vec::new());
    for milli in 0..millis {
        for flow in next(milli, &mut dice) {
            number += 1;
            send(&mut rig.clients, &frame(&mut dice, flow, number, Ecn::NotEct, 1000));
        }
        rig.until(rig.now + Span::from_millis(1));
        left.extend(rig.servers.all().unwrap().iter().map(|frame| {
            let (flow, number) = label(frame).unwrap();
            (milli, flow, number)
        }));
    }
    let managed = rig.gate.account().managed;
    balanced(&managed, "rehash");
    assert_eq!(managed.sent.frames, left.len() as u64);
    left
}

/// Those of them that left after a later one of their flow.
fn overtaken(left: &[(u64, u8, u32)]) -> Vec<(u64, u8)> {
    let mut last: HashMap<u8, u32> = HashMap::new();
    let late = left.iter().filter(|(_, flow, number)| {
        let last = last.entry(*flow).or_default();
        *last = (*last).max(*number);
        *last > *number
    });
    late.map(|&(milli, flow, _)| (milli, flow)).collect()
}

/// Bursts of twenty flows at once. The last frame has left 32 ms later.
fn burst(milli: u64, dice: &mut Rng) -> Vec<u8> {
    let frames = if milli.is_multiple_of(40) { 40 } else { 0 };
    (0..frames).map(|_| dice.below(20) as u8).collect()
}

#[test]
fn no_flow_is_overtaken_where_the_queue_empties() {
    let never = through(&plan("off"), 3000, burst);
    assert_eq!(never.len(), 3000);
    assert_eq!(
        through(&plan("3600 s"), 3000, burst),
        never,
        "until the first rehash nothing is otherwise"
    );
    let often = through(&plan("100 ms"), 3000, burst);
    assert_eq!(overtaken(&never), []);
    assert_eq!(overtaken(&often), []);
    let after =
        |left: &[(u64, u8, u32)]| left.iter().position(|(milli, ..)| *milli >= 100).unwrap();
    assert_eq!(often[..after(&often)], never[..after(&never)]);
    // Two flows that shared a class do so no more, so that it is another's turn.
    assert_ne!(often, never);
}

/// Two flows that always have something waiting, and one that sends a frame now and then.
fn standing(milli: u64, _: &mut Rng) -> Vec<u8> {
    let quiet = (milli % 20 == 7).then_some(2);
    [0, 1].into_iter().chain(quiet).collect()
}

/// Where a flow must change its place while something of it waits, too.
#[test]
fn no_flow_is_overtaken_that_always_waits() {
    let never = through(&plan("off"), 5000, standing);
    assert_eq!(overtaken(&never), []);
    let left = through(&plan("500 ms"), 5000, standing);
    assert_eq!(overtaken(&left), []);
    assert_ne!(left, never, "nobody has changed his place");
    assert!(left.iter().filter(|(_, flow, _)| *flow == 2).count() >= 249);
    let until =
        |left: &[(u64, u8, u32)]| left.iter().take_while(|(milli, ..)| *milli < 1000).count();
    assert_eq!(
        left[..until(&left)],
        never[..until(&never)],
        "they have changed before two periods were over"
    );
}

/// Frames of all lengths, some with ECN and some without, behind each queue that gets new keys for
/// its flows. Each frame leaves in its turn, unchanged except for a mark. Only frames that can be
/// marked are, and as many as the gate says.
#[test]
fn whatever_a_flow_sends_is_in_order_and_marks_are_where_they_can_be() {
    for queue in ["fq_codel", "cake", "fq_pie", "afq", "wfq", "ewfq", "drr", "sfq", "sfq_red"] {
        let there = Way {
            rehash: "100 ms".parse().unwrap(),
            ..way(queue, link("10 Mbit/s", Size::Packets(200)))
        };
        let mut fates = Fates::default();
        let mut rig = Rig::new(&GatePlan::new(settings(there, None), 1500).unwrap(), &mut fates);
        let mut dice = Rng::from_seed(4);
        let (mut sent, mut last, mut marked) = (HashMap::new(), HashMap::new(), 0);
        for number in 0..12_000 {
            let (ecn, len) =
                ([Ecn::NotEct, Ecn::Ect0][dice.below(2) as usize], 60 + dice.below(1440) as usize);
            // Four flows that always wait, and forty that sometimes do.
            let flow = if dice.chance(0.8) { dice.below(4) } else { dice.below(44) } as u8;
            let bytes = frame(&mut dice, flow, number, ecn, len);
            send(&mut rig.clients, &bytes);
            sent.insert((flow, number), (ecn, bytes));
            rig.until(rig.now + Span::from_micros(dice.below(900)));
            for bytes in rig.servers.all().unwrap() {
                let (flow, number) = label(&bytes).unwrap();
                let before = last.insert(flow, number);
                assert!(
                    before < Some(number),
                    "{queue}: {number} of flow {flow} came after {before:?}"
                );
                let (ecn, mut offered) = sent.remove(&(flow, number)).unwrap();
                let here = Frame::parse(LinkType::Ethernet, &bytes, bytes.len() as u32);
                if here.ecn == Ecn::Ce {
                    assert_eq!(ecn, Ecn::Ect0, "{queue}: a mark on {number}");
                    marked += 1;
                    set_ce(&mut offered, &here);
                }
                assert!(bytes == offered, "{queue}: {number} has changed");
            }
        }
        let managed = rig.gate.account().managed;
        balanced(&managed, queue);
        assert!(managed.lost_in_all().frames > 1000, "{queue}: nothing ever waited: {managed:?}");
        let said: u64 = managed.marked.iter().sum();
        assert!(marked <= said, "{queue}: {marked} marks, and {said} were told");
        if queue == "fq_codel" {
            // The rest were marked and dropped before they left.
            assert!(marked > 100 && said - marked < said / 4, "{queue}: {marked} of {said}");
        }
    }
}

/// The same traffic through the same queue, whatever the period and however it changes: as much
/// received, sent, lost and held.
#[test]
fn neither_a_rehash_nor_another_period_changes_an_account() {
    let run = |periods: &[&str]| {
        let mut fates = Fates::default();
        let mut now = plan(periods[0]);
        let mut rig = Rig::new(&now, &mut fates);
        let mut dice = Rng::from_seed(3);
        for number in 0..4000 {
            if number % 1000 == 999 {
                let next = plan(periods[number as usize / 1000 % periods.len()]);
                let (before, renewal) =
                    (rig.gate.account(), next.instead_of(&now, SECRET).unwrap());
                drop(rig.gate.renew(rig.now, renewal));
                assert_eq!(rig.gate.account(), before);
                now = next;
            }
            send(
                &mut rig.clients,
                &frame(&mut dice, (number % 7) as u8, number, Ecn::NotEct, 1000),
            );
            rig.until(rig.now + Span::from_nanos(500_000));
        }
        let held = rig.gate.account().managed.held.frames;
        rig.drain();
        let account = rig.gate.account();
        balanced(&account.managed, "periods");
        drop(rig);
        fates.check(&account.managed);
        (account.managed.received, account.managed.sent, account.managed.lost_in_all(), held)
    };
    let never = run(&["off"]);
    assert!(never.2.frames > 1000, "{never:?}");
    for periods in [&["100 ms"][..], &["100 ms", "off"], &["off", "300 ms", "1 s"]] {
        assert_eq!(run(periods), never, "{periods:?}");
    }
}
