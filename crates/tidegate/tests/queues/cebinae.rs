//! Cebinae against yu2022: the naive twin, the rates and rounds that the authors' model prints, and
//! what the filter owes each group.
use crate::support::Heard;
use crate::support::twin::OPERATIONS;
use crate::twinned::cebinae::Twinned;
use crate::{support, twinned};
use tidegate::catalog;
use tidegate::queues::Cebinae;
use tidegate::{DropReason, Link, NullSink, Packet, Qdisc, Rng, Time};

const MS: u64 = 1_000_000;
/// The round of most tests, and when the first two sets of rates are worked out.
const ROUND: u64 = 100 * MS;

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn cebinae(settings: &[(&str, &str)], link: Link) -> Cebinae {
    let config = support::config("cebinae", Some("paper"), settings, &link);
    match config.build(link, Rng::from_seed(1)).unwrap() {
        catalog::AnyQueue::Cebinae(queue) => queue,
        other => panic!("{other:?}"),
    }
}

/// A packet of 1000 bytes a millisecond, and more room than anybody needs.
fn link() -> Link {
    support::link("8 Mbit/s", "1000 packets", "1000 B")
}

fn gauge(queue: &Cebinae, name: &str) -> f64 {
    support::gauges(queue).into_iter().find(|gauge| gauge.name == name).unwrap().value
}

/// Thirty flows, load above and below the rate and idle times; the twin must do the same at every
/// step.
fn drive(settings: &[(&str, &str)], limit: &str, operations: u64) -> Twinned {
    let link = support::link("10 Mbit/s", limit, "770 B");
    let config = support::config("cebinae", Some("paper"), settings, &link);
    twinned::restless(&config, &link, operations)
}

#[test]
fn twin_agrees_over_a_million_operations() {
    let seen = drive(&[("lead", "1 ms")], "200 packets", OPERATIONS * 5 / 4);
    assert!(seen.operations >= OPERATIONS, "{}", seen.operations);
    let fates = ["head", "tail", "filtered", "full"].map(|name| seen.fate(name));
    assert!(fates.iter().all(|&fate| fate > 1_000), "{fates:?}");
    assert!(seen.of_top > 1_000 && seen.twin.saturated > 100, "{} {fates:?}", seen.of_top);
}

#[test]
fn twin_agrees_in_every_mode() {
    let halves = [("buffer", "halves"), ("round", "20 ms"), ("rounds", "3"), ("lead", "0 ns")];
    let seen = drive(&halves, "20 packets", 100_000);
    assert!(seen.fate("full") > 100 && seen.of_top > 100, "{:?}", seen.fates);
    drive(&[("buffer", "halves"), ("round", "5 ms")], "30 kB", 100_000);
    drive(&[("buffer", "halves")], "1 packet", 20_000);
    let wide = [("flow_margin", "0.6"), ("port_margin", "0.2"), ("tax", "0.3")];
    let seen = drive(&wide, "100 packets", 100_000);
    assert!(seen.of_top > 1_000, "{}", seen.of_top);
    let seen = drive(&[("alone", "0.9"), ("port_margin", "0.1")], "100 packets", 100_000);
    assert!(seen.twin.spared > 10, "{}", seen.twin.spared);
    let seen = drive(&[("alone", "0.1"), ("port_margin", "0.1")], "100 packets", 100_000);
    assert!(seen.of_top > 100, "{}", seen.of_top);
    drive(&[("stages", "1"), ("slots", "4"), ("uncounted", "100 B")], "100 packets", 100_000);
    drive(&[("stages", "3"), ("slots", "2")], "100 packets", 100_000);
    drive(&[("tick", "40 ms"), ("lead", "5 ms"), ("round", "50 ms")], "100 packets", 100_000);
}

/// The rounds of the rows of the authors' table follow from the buffer.
#[test]
fn rounds_are_those_of_the_published_table() {
    for (rate, packets, millis) in [
        ("100 Mbit/s", 250, 33.554432),
        ("100 Mbit/s", 350, 67.108864),
        ("100 Mbit/s", 500, 67.108864),
        ("100 Mbit/s", 850, 134.217728),
        ("100 Mbit/s", 1_700, 268.435456),
        ("1 Gbit/s", 850, 16.777216),
        ("1 Gbit/s", 8_500, 134.217728),
        ("10 Gbit/s", 41_667, 67.108864),
        ("10 Gbit/s", 85_000, 134.217728),
    ] {
        let link = support::link(rate, &format!("{packets} packets"), "1500 B");
        let config = catalog::config("cebinae", Some("paper"), &link).unwrap();
        assert_eq!(config.get("round").unwrap(), format!("{millis} ms"), "{rate}, {packets}");
    }
}

/// `auto` works the rates out every 100 ms at most, whatever the line.
#[test]
fn auto_waits_for_a_round_trip() {
    for (rate, limit, rounds) in
        [("10 Mbit/s", "125 kB", 1), ("1 Gbit/s", "1 MB", 6), ("100 Gbit/s", "10 kB", 96)]
    {
        let link = support::link(rate, limit, "1500 B");
        let config = catalog::config("cebinae", None, &link).unwrap();
        assert_eq!(config.get("rounds").unwrap(), rounds.to_string(), "{rate}");
    }
}

/// Rounds in which the packets of [`feed`] make the port saturated.
const SATURATED: [(&str, &str); 2] = [("round", "100 ms"), ("port_margin", "0.05")];

/// Offers flow `n` `packets[n]` packets, evenly, in each of `rounds` rounds on a line that sends a
/// packet a millisecond, from round `from` on. Returns what was lost.
fn feed(queue: &mut impl Qdisc, packets: &[u64], from: u64, rounds: u64) -> Heard {
    let mut heard = Heard::default();
    for ms in from * 100..(from + rounds) * 100 {
        for (flow, &packets) in packets.iter().enumerate() {
            let nth = |ms: u64| ms * packets / 100;
            for _ in nth(ms)..nth(ms + 1) {
                queue.enqueue(at(ms * MS), Packet::new(flow as u64, 1000), &mut heard);
            }
        }
        queue.dequeue(at(ms * MS + MS / 2), &mut NullSink);
    }
    heard
}

/// Who sends most on a saturated port may send 1 % less of it; the rest is for the others.
#[test]
fn the_top_is_taxed() {
    let mut queue = cebinae(&SATURATED, link());
    // The first rates come after two rounds, whose bytes the model holds against one.
    feed(&mut queue, &[60, 40], 0, 3);
    assert_eq!((gauge(&queue, "top_flows"), gauge(&queue, "top_rate")), (1.0, 0.99 * 8e6));
    feed(&mut queue, &[60, 40], 3, 1);
    // Sixty packets of 1000 bytes in 100 ms, less 1 %.
    assert_eq!(gauge(&queue, "top_flows"), 1.0);
    let rate = gauge(&queue, "top_rate");
    assert!((rate - 0.99 * 4.8e6).abs() < 0.02 * 4.8e6, "{rate}");
    // Both are at the top if they are within the margin of each other, for 1 % less than the line.
    let mut queue = cebinae(&[&SATURATED[..], &[("flow_margin", "0.4")]].concat(), link());
    feed(&mut queue, &[60, 40], 0, 4);
    assert_eq!(gauge(&queue, "top_flows"), 2.0);
    assert_eq!(gauge(&queue, "top_rate"), 0.99 * 8e6);
}

/// Who has the line nearly to himself is not taxed by `alone`, until somebody else is there.
#[test]
fn who_is_alone_is_spared() {
    for (others, alone, top) in [(4, "0.05", 0.0), (4, "0", 1.0), (10, "0.05", 1.0)] {
        let settings = [&SATURATED[..], &[("alone", alone)]].concat();
        let mut queue = cebinae(&settings, link());
        feed(&mut queue, &[100 - others, others], 0, 4);
        assert_eq!(gauge(&queue, "top_flows"), top, "{others} {alone}");
    }
}

/// A bold flow and a timid one ask for more after each round without loss and for less after one
/// with. A FIFO leaves the timid one little; the tax makes the bold one hear losses of its own.
#[test]
fn shares_become_even() {
    let mut shares = [0.0; 2];
    for (name, share) in ["drop_tail", "cebinae"].into_iter().zip(&mut shares) {
        let small = support::link("8 Mbit/s", "100 packets", "1000 B");
        let config = support::config(name, Some("paper"), &[], &small);
        let mut queue = config.build(small, Rng::from_seed(1)).unwrap();
        let (mut wants, mut sent) = ([50.0_f64; 2], [0.0; 2]);
        for round in 0..600 {
            let lost = feed(&mut queue, &wants.map(|wants| wants as u64), round, 1);
            for (flow, (up, down)) in [(8.0, 0.8), (2.0, 0.5)].into_iter().enumerate() {
                let heard = lost.lost.iter().any(|(pkt, _)| pkt.flow == flow as u64);
                wants[flow] = if heard { wants[flow] * down } else { wants[flow] + up };
                sent[flow] += if round >= 100 { wants[flow] } else { 0.0 };
            }
        }
        *share = sent[1] / (sent[0] + sent[1]);
    }
    assert!(shares[0] < 0.2 && shares[1] > 0.35, "{shares:?}");
}

/// A port that is not saturated taxes nobody, and as long as the line is not overloaded nothing is
/// lost.
#[test]
fn an_unsaturated_port_is_left_alone() {
    let mut queue = cebinae(&[("round", "100 ms")], link());
    let lost = feed(&mut queue, &[80, 10], 0, 100);
    assert_eq!((lost.lost.len(), gauge(&queue, "top_flows")), (0, 0.0));
    assert_eq!(gauge(&queue, "top_rate"), 0.0);
}

/// However long a group was silent, it may pass its two rounds and no more.
#[test]
fn silence_is_not_saved_up() {
    for silent in [0, 3, 50] {
        let mut queue = cebinae(&[("round", "100 ms"), ("tick", "1 ns")], link());
        let mut heard = Heard::default();
        let now = at(silent * ROUND + 2 * MS);
        for _ in 0..400 {
            queue.enqueue(now, Packet::new(7, 1000), &mut heard);
        }
        // Two milliseconds are over, and a packet is judged by those before it.
        assert_eq!(queue.backlog().packets, 199, "after {silent}");
        assert!(heard.lost.iter().all(|(_, why)| *why == DropReason::Unfair));
    }
}

/// Drops count as if they had passed: a flood that goes on stays locked out.
#[test]
fn what_is_dropped_counts() {
    let mut queue = cebinae(&[("round", "100 ms")], link());
    let mut heard = Heard::default();
    for _ in 0..1_000 {
        queue.enqueue(at(0), Packet::new(7, 1000), &mut heard);
    }
    // Ten rounds' worth are gone after eight more; before that nothing passes.
    let until = |rounds: u64| {
        let mut later = queue.clone();
        let mut heard = Heard::default();
        later.enqueue(at(rounds * ROUND + 2 * MS), Packet::new(7, 1000), &mut heard);
        heard.lost.is_empty()
    };
    assert!(!until(7) && until(8));
}

/// What is beyond a round's budget waits behind what comes within it, and goes first in the next.
#[test]
fn the_queues_take_turns() {
    let settings = [("round", "100 ms"), ("lead", "10 ms"), ("rounds", "5")];
    let mut queue = cebinae(&settings, link());
    feed(&mut queue, &[60, 40], 0, 5);
    // The first flow is at the top, and in the next round nothing is its own.
    feed(&mut queue, &[10, 40], 5, 2);
    while queue.dequeue(at(7 * ROUND), &mut NullSink).is_some() {}
    // It may send 59.4 packets in a round; after 10 ms of this, and 20 ms in all, a fifth is gone.
    let now = 7 * ROUND + 20 * MS;
    (0..80).for_each(|_| queue.enqueue(at(now), Packet::new(0, 1000), &mut NullSink));
    (0..10).for_each(|_| queue.enqueue(at(now), Packet::new(1, 1000), &mut NullSink));
    let order: Vec<u64> =
        core::iter::from_fn(|| queue.dequeue(at(now), &mut NullSink)).map(|pkt| pkt.flow).collect();
    let first = order.iter().position(|&flow| flow == 1).unwrap();
    assert!((46..=50).contains(&first), "{first}");
    assert!(order[first..first + 10].iter().all(|&flow| flow == 1), "{order:?}");
    assert!(order[first + 10..].iter().all(|&flow| flow == 0) && order.len() == 90);
}

/// Flows that find their slots taken are never at the top, whatever they send.
#[test]
fn flows_without_a_slot_are_not_seen() {
    let settings = [&SATURATED[..], &[("stages", "1"), ("slots", "1")]].concat();
    let mut queue = cebinae(&settings, link());
    // The second flow's packet comes after the first's in every round.
    feed(&mut queue, &[40, 60], 0, 1);
    feed(&mut queue, &[40, 60], 1, 5);
    assert_eq!(gauge(&queue, "top_flows"), 1.0);
    let two = cebinae(&[("stages", "2"), ("slots", "1")], link());
    let places = two.slots_of(7);
    assert_ne!(places.on(0).index(), places.on(1).index());
}

/// Headers that the cache leaves out make the tax higher.
#[test]
fn uncounted_bytes_add_to_the_tax() {
    let rate = |uncounted| {
        let settings = [&SATURATED[..], &[("uncounted", uncounted)]].concat();
        let mut queue = cebinae(&settings, link());
        feed(&mut queue, &[60, 40], 0, 4);
        gauge(&queue, "top_rate")
    };
    assert!((rate("20 B") / rate("0 B") - 0.98).abs() < 1e-3);
}

/// With halves a burst finds half of the buffer in the queue whose turn it is.
#[test]
fn halves_are_halves() {
    for (buffer, room) in [("shared", 100), ("halves", 50)] {
        let small = support::link("8 Mbit/s", "100 packets", "1000 B");
        let mut queue = cebinae(&[("round", "200 ms"), ("buffer", buffer)], small);
        let mut heard = Heard::default();
        (0..150).for_each(|_| queue.enqueue(at(0), Packet::new(7, 1000), &mut heard));
        assert_eq!(queue.backlog().packets, room);
        assert!(heard.lost.iter().all(|(_, why)| *why == DropReason::Overlimit));
    }
}

/// After a long silence the queue is where it would be had it been asked in every round.
#[test]
fn silent_rounds_are_left_out() {
    for (rounds, silence) in [("1", 1_000), ("1", 1_001), ("7", 12_345), ("5", 60)] {
        let settings = [("round", "100 ms"), ("rounds", rounds), ("lead", "10 ms")];
        let mut one = cebinae(&settings, link());
        feed(&mut one, &[90, 80, 10], 0, 8);
        (0..500).for_each(|_| one.enqueue(at(8 * ROUND), Packet::new(1, 1000), &mut NullSink));
        let mut all = one.clone();
        (8..8 + silence).for_each(|round| all.advance(at(round * ROUND + 50 * MS)));
        one.advance(at((7 + silence) * ROUND + 50 * MS));
        assert_eq!(format!("{one:?}"), format!("{all:?}"), "{rounds} {silence}");
    }
}

/// The lead and the tick must end before the round does.
#[test]
fn a_lead_is_shorter_than_its_round() {
    let config = support::config("cebinae", None, &[("round", "1 ms"), ("lead", "1 ms")], &link());
    assert!(config.build(link(), Rng::from_seed(1)).is_err());
}

/// A port that sends exactly what the margin leaves is not saturated; with one packet more it is.
#[test]
fn what_the_margin_leaves_is_not_saturated() {
    // 95 of the 100 packets that the line sends in a round.
    for (packets, top) in [([57, 38], 0.0), ([58, 38], 1.0)] {
        let mut queue = cebinae(&SATURATED, link());
        feed(&mut queue, &packets, 0, 6);
        assert_eq!(gauge(&queue, "top_flows"), top, "{packets:?}");
    }
}

/// A caller that only advances the queue sees what its rounds have made of it.
#[test]
fn silent_rounds_are_made_when_the_time_comes() {
    let mut queue = cebinae(&SATURATED, link());
    feed(&mut queue, &[60, 40], 0, 4);
    assert_eq!(gauge(&queue, "top_flows"), 1.0);
    queue.advance(at(50 * ROUND));
    assert_eq!(gauge(&queue, "top_flows"), 0.0);
    assert_eq!((gauge(&queue, "top_passed"), gauge(&queue, "bottom_passed")), (0.0, 0.0));
}

/// Two tables with 16 bytes a slot, two lines with 24 bytes each, and 8 bytes for each packet that
/// may wait and for one that arrives.
#[test]
fn what_it_states_is_right_to_the_byte() {
    let config = support::config("cebinae", None, &[("stages", "3"), ("slots", "5")], &link());
    let stated = config.state_bytes(&link()) - size_of::<Cebinae>() as u64;
    assert_eq!(stated, 2 * 3 * 5 * 16 + 2 * 24 + 8 * 1_001);
}

/// A flow with exactly what the margin leaves of the most is not at the top, nor counted there.
#[test]
fn what_the_margin_leaves_of_the_most_is_not_the_top() {
    let settings = [&SATURATED[..], &[("flow_margin", "0.5")]].concat();
    let mut queue = cebinae(&settings, link());
    // In each round 66 packets of one flow and 33 of the other.
    for ms in (0..400).filter(|ms| ms % 100 < 99) {
        let flow = u64::from(ms % 100 % 3 == 0);
        queue.enqueue(at(ms * MS), Packet::new(flow, 1000), &mut NullSink);
        queue.dequeue(at(ms * MS), &mut NullSink);
    }
    assert_eq!(gauge(&queue, "top_flows"), 1.0);
    let passed = |queue: &Cebinae| ["top_passed", "bottom_passed"].map(|name| gauge(queue, name));
    let [top, bottom] = passed(&queue);
    queue.enqueue(at(4 * ROUND - MS / 4), Packet::new(1, 1000), &mut NullSink);
    assert_eq!(passed(&queue)[0], top);
    assert!(passed(&queue)[1] >= bottom + 1000.0);
}
