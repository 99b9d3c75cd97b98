//! DRR against its paper: the naive twin, its rounds, its fairness, and the longest queue that
//! makes room.
use crate::support::stats;
use crate::support::twin::OPERATIONS;
use crate::twinned::drr::{Stolen, Twinned};
use crate::{support, twinned};
use tidegate::queues::Drr;
use tidegate::{Backlog, Link, NullSink, Packet, Qdisc, Rng, Time, catalog};

fn drr(settings: &[(&str, &str)], link: Link, seed: u64) -> Drr {
    let settings = [&[("map", "class")], settings].concat();
    match support::config("drr", None, &settings, &link).build(link, Rng::from_seed(seed)).unwrap()
    {
        catalog::AnyQueue::Drr(queue) => queue,
        other => panic!("{other:?}"),
    }
}

fn wide() -> Link {
    support::link("8 Mbit/s", "100 MB", "1000 B")
}

fn offer(queue: &mut Drr, class: u16, len: u32) {
    queue.enqueue(Time::ZERO, Packet::new(class as u64, len).with_class(class), &mut NullSink);
}

fn drive(settings: &[(&str, &str)], limit: &str, operations: u64) -> Twinned {
    let link = support::link("10 Mbit/s", limit, "770 B");
    let settings = [&[("classes", "8")], settings].concat();
    let config = support::config("drr", None, &settings, &link);
    twinned::restless(&config, &link, operations)
}

#[test]
fn twin_agrees_over_a_million_operations() {
    let seen = drive(&[], "100 packets", OPERATIONS * 5 / 4);
    assert!(seen.operations >= OPERATIONS, "{}", seen.operations);
    assert!(seen.dropped.min(seen.idle) > 10_000, "{} {}", seen.dropped, seen.idle);
    assert_eq!((seen.busiest, seen.most), (8, 1));
}

#[test]
fn twin_agrees_in_every_mode() {
    for overflow in ["longest_head", "longest_tail", "arrival"] {
        for (longest, ties) in
            [("bytes", "number"), ("packets", "number"), ("bytes", "turn"), ("packets", "turn")]
        {
            let settings = [
                ("overflow", overflow),
                ("longest", longest),
                ("ties", ties),
                ("quantum", "400 B"),
            ];
            let seen = drive(&settings, "30 kB", 60_000);
            assert!(
                seen.dropped > 1_000 && seen.busiest == 8,
                "{overflow} {longest} {ties}: {}",
                seen.dropped
            );
            assert_eq!(
                seen.most > 1,
                overflow != "arrival",
                "long packets take the room of several"
            );
        }
    }
    // Rounds in which nobody can send, up to 1500 of them, are counted and not made.
    drive(&[("quantum", "1 B")], "50 packets", 20_000);
    drive(&[("quantum", "10 B"), ("weights", "0.01:3:0.5:40:1")], "50 packets", 60_000);
    drive(&[("weights", "0.25:10:1:3"), ("quantum", "1 kB")], "50 packets", 60_000);
    drive(&[("classes", "1")], "3 packets", 20_000);
    assert!(drive(&[("classes", "3")], "1400 B", 20_000).itself > 100);
}

/// §3: the counter in rounds of 500 bytes. Packets of 200 bytes go two, three, two … at a time,
/// those of 750 in two rounds of three.
#[test]
fn golden_rounds() {
    let mut queue = drr(&[("quantum", "500 B")], wide(), 1);
    for _ in 0..100 {
        offer(&mut queue, 0, 200);
        offer(&mut queue, 1, 750);
    }
    // The first visit of A ends when B is asked, so each round's A's are counted before B's.
    let mut sent = Vec::new();
    let mut deficits = Vec::new();
    for _ in 0..14 {
        sent.push(queue.dequeue(Time::ZERO, &mut NullSink).unwrap().class);
        deficits.push((queue.deficit(0), queue.deficit(1)));
    }
    // Rounds: A A | A A A, B | A A, B | A A A | A A, B
    assert_eq!(sent, [0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0]);
    assert_eq!(deficits[1], (100, 0), "two of 200 of the first 500");
    assert_eq!(deficits[4], (0, 500), "B has had its first quantum and sent nothing");
    assert_eq!((deficits[5], deficits[8]), ((0, 250), (100, 0)));
}

/// §3, the paper's theorem on throughput: After m visits a queue that always has packets has sent m
/// Q_i bytes, less what is left in its counter. That is less than its longest packet.
#[test]
fn every_round_is_worth_a_quantum() {
    let weights = [1.0, 2.5, 0.4, 7.0];
    let mut queue = drr(&[("weights", "1:2.5:0.4:7"), ("quantum", "1200 B")], wide(), 1);
    let mut dice = stats::dice("rounds", 0);
    for class in 0..4 {
        (0..5_000).for_each(|_| offer(&mut queue, class, 40 + dice.below(1461) as u32));
    }
    let (mut sent, mut visits, mut last) = ([0_u64; 4], [0_u64; 4], None);
    for _ in 0..3_000 {
        let pkt = queue.dequeue(Time::ZERO, &mut NullSink).unwrap();
        let class = pkt.class as usize;
        sent[class] += pkt.len as u64;
        // A visit is told by the counter: what was sent and what is left are whole quanta.
        let quantum = (1200.0 * weights[class]) as u64;
        let worth = sent[class] + queue.deficit(class);
        assert_eq!(worth % quantum, 0, "class {class}");
        assert!(worth / quantum >= visits[class]);
        visits[class] = worth / quantum;
        assert!(last == Some(class) || sent[class] > 0);
        last = Some(class);
        assert!(queue.deficit(class) < 1500 + quantum, "{}", queue.deficit(class));
    }
    // Nobody is a round ahead of anybody else, but for those who have not been asked again since.
    let rounds: Vec<u64> = (0..4)
        .map(|class| (sent[class] + queue.deficit(class)) / (1200.0 * weights[class]) as u64)
        .collect();
    assert!(rounds.iter().max().unwrap() - rounds.iter().min().unwrap() <= 1, "{rounds:?}");
}

/// §3, the paper's measure of fairness: Between any two times at which both have packets, what two
/// queues send differs, per weight, by no more than Q + 2 Max. Weights are 1 and above here, and
/// visits on either side are whole.
#[test]
fn no_two_queues_drift_apart() {
    let (quantum, longest) = (1500.0, 1500.0);
    let weights = [1.0, 1.0, 2.0, 5.0];
    let mut queue = drr(&[("weights", "1:1:2:5")], wide(), 1);
    let mut dice = stats::dice("drift", 0);
    // Lengths that differ by flow: short, long, mixed, long.
    for class in 0..4_u16 {
        for _ in 0..20_000 {
            let len = [40, 1500, 40 + dice.below(1461) as u32, 1500][class as usize];
            offer(&mut queue, class, len);
        }
    }
    let mut sent = [0.0_f64; 4];
    // The largest and the least difference so far between each two: their distance bounds every
    // interval.
    let mut ends = [[(0.0_f64, 0.0_f64); 4]; 4];
    for _ in 0..20_000 {
        let pkt = queue.dequeue(Time::ZERO, &mut NullSink).unwrap();
        sent[pkt.class as usize] += pkt.len as f64 / weights[pkt.class as usize];
        for a in 0..4 {
            for b in 0..4 {
                let (low, high) = &mut ends[a][b];
                let apart = sent[a] - sent[b];
                (*low, *high) = (low.min(apart), high.max(apart));
                assert!(*high - *low <= quantum + 2.0 * longest, "{a} and {b}: {sent:?}");
            }
        }
    }
}

/// A queue that becomes empty forfeits what is left of its counter, and begins anew behind all
/// others.
#[test]
fn an_empty_queue_saves_nothing_up() {
    let mut queue = drr(&[("quantum", "1500 B")], wide(), 1);
    for _ in 0..3 {
        offer(&mut queue, 0, 100);
        assert_eq!(queue.dequeue(Time::ZERO, &mut NullSink).unwrap().class, 0);
    }
    for _ in 0..20 {
        offer(&mut queue, 0, 1000);
        offer(&mut queue, 1, 1000);
    }
    let turns: Vec<u16> =
        (0..6).map(|_| queue.dequeue(Time::ZERO, &mut NullSink).unwrap().class).collect();
    assert_eq!(
        turns,
        [0, 1, 0, 0, 1, 1],
        "with 4200 bytes saved up, class 0 would send five first"
    );
}

/// Four queues with a packet each fill the buffer, and a fifth comes: By number queue 0 makes room
/// whenever that is, by turn the one that has waited longest.
#[test]
fn of_equally_long_queues_one_makes_room() {
    for (ties, last) in [("number", [1, 2, 3, 4]), ("turn", [0, 2, 1, 4])] {
        let mut queue = drr(
            &[("classes", "5"), ("ties", ties)],
            support::link("8 Mbit/s", "4 packets", "1000 B"),
            1,
        );
        for class in [3, 0, 2, 1, 4] {
            offer(&mut queue, class, 1000);
        }
        let mut held = [(); 4].map(|()| queue.dequeue(Time::ZERO, &mut NullSink).unwrap().class);
        if ties == "number" {
            held.sort_unstable();
        }
        assert_eq!(held, last, "{ties}");
    }
}

/// mckenney1990: who has the most waiting makes room; the others lose nothing. A flood of ten times
/// the rate, nine flows at half of theirs, each in a queue of its own.
#[test]
fn a_flood_harms_itself_only() {
    let small = support::link("8 Mbit/s", "200 packets", "1000 B");
    for overflow in ["longest_head", "longest_tail"] {
        let mut queue = drr(&[("overflow", overflow)], small, 1);
        let mut dice = stats::dice("flood", 0);
        let mut lost = [0_u64; 10];
        let mut sent = [0_u64; 10];
        let mut slot = 0;
        for n in 0..200_000_u64 {
            let now = Time::from_nanos(n * 100_000);
            let mut offer = |queue: &mut Drr, class: u16| {
                let mut stolen = Stolen::for_arrival(slot);
                let pkt = Packet::new(class as u64, 1000).with_class(class).with_slot(slot);
                queue.enqueue(now, pkt, &mut stolen);
                slot += 1;
                stolen.flows.iter().for_each(|&flow| lost[flow as usize] += 1);
            };
            offer(&mut queue, 0);
            if dice.chance(0.045) {
                offer(&mut queue, 1 + dice.below(9) as u16);
            }
            if n % 10 == 0 {
                sent[queue.dequeue(now, &mut NullSink).unwrap().class as usize] += 1;
            }
        }
        assert!(
            lost[0] > 100_000 && lost[1..].iter().all(|&lost| lost == 0),
            "{overflow}: {lost:?}"
        );
        // 9000 of 20000 are the others'; the flood has what they leave.
        assert!(sent[0].abs_diff(11_000) < 500, "{overflow}: {sent:?}");
    }
}

/// Of the longest queue it is the head or the tail; longest is in bytes or in packets.
#[test]
fn the_longest_queue_makes_room() {
    let small = support::link("8 Mbit/s", "10 packets", "1000 B");
    let cases = [
        ("longest_head", "bytes", 0),
        ("longest_tail", "bytes", 3),
        ("longest_head", "packets", 4),
        ("longest_tail", "packets", 9),
        ("arrival", "bytes", 10),
    ];
    for (overflow, longest, victim) in cases {
        let mut queue = drr(&[("overflow", overflow), ("longest", longest)], small, 1);
        // Four of 1500 bytes, six of 100, and one of a third queue.
        for slot in 0..11 {
            let (class, len) = match slot {
                0..4 => (0, 1500),
                4..10 => (1, 100),
                _ => (2, 100),
            };
            let mut stolen = Stolen::for_arrival(slot);
            let pkt = Packet::new(class as u64, len).with_class(class).with_slot(slot);
            queue.enqueue(Time::ZERO, pkt, &mut stolen);
            let expected = if slot == 10 { vec![victim] } else { vec![] };
            assert_eq!(stolen.dropped, expected, "{overflow}, {longest}");
        }
    }
}

/// Packets without length, which a capture may have: no queue is the longest, and one of the
/// arrival's own goes.
#[test]
fn packets_without_length() {
    let mut queue = drr(&[], support::link("8 Mbit/s", "3 packets", "1000 B"), 1);
    for (slot, class) in [0, 1, 2, 3, 1].into_iter().enumerate() {
        let slot = slot as u32;
        let mut stolen = Stolen::for_arrival(slot);
        queue.enqueue(Time::ZERO, Packet::new(7, 0).with_class(class).with_slot(slot), &mut stolen);
        let expected = match slot {
            3 => vec![3],
            4 => vec![1],
            _ => vec![],
        };
        assert_eq!(stolen.dropped, expected);
    }
    assert_eq!(queue.backlog(), Backlog { packets: 3, bytes: 0 });
}

/// Flows are spread evenly over the queues, whatever class the driver gave them (chi-square, false
/// alarm 1e-6 each).
#[test]
fn flows_are_spread_evenly() {
    for index in 0..5 {
        let seed = stats::seed("spread", index).get();
        let queue = drr(&[("classes", "50"), ("map", "flow")], wide(), seed);
        let mut counts = [0; 50];
        for flow in 0..50_000 {
            counts[queue.class_of(&Packet::new(flow, 1000).with_class(flow as u16))] += 1;
        }
        stats::assert_counts("queues", &counts, &[1_000.0; 50]);
    }
}

/// Who has packets waiting keeps to their queue. Who has none shares one only where all of his set
/// are busy, where somebody came to share his own, or where a queue is shared already.
#[test]
fn in_sets_of_queues_nobody_shares_while_one_is_free() {
    let (classes, ways) = (64_usize, 8);
    let settings = [("map", "flow"), ("classes", "64"), ("ways", "8")];
    let mut queue = drr(&settings, support::link("10 Mbit/s", "300 packets", "1000 B"), 3);
    let mut dice = Rng::from_seed(4);
    // The flows and numbers of the packets that wait in each queue.
    let mut waiting: Vec<Vec<(u64, u32)>> = vec![Vec::new(); classes];
    // Who was the last to come to it while it was empty, and whether another has come since.
    let mut owner = vec![None; classes];
    let mut shared = vec![false; classes];
    let (mut sharing, mut alone) = (0, 0);
    for slot in 0..40_000_u32 {
        if dice.chance(0.5) && queue.backlog().packets < 299 {
            let pkt = Packet { slot, ..Packet::new(dice.bits() % 150, 1000) };
            let place = queue.class_of(&pkt);
            let mut set = place / ways * ways..(place / ways + 1) * ways;
            let own = (0..classes).find(|&at| waiting[at].iter().any(|one| one.0 == pkt.flow));
            if let Some(own) = own {
                assert_eq!(place, own, "its packets would overtake each other");
            } else if !waiting[place].is_empty() && owner[place] != Some(pkt.flow) {
                assert!(shared[place] || set.all(|at| !waiting[at].is_empty()), "there was room");
                sharing += 1;
            } else {
                alone += 1;
            }
            if waiting[place].is_empty() {
                (owner[place], shared[place]) = (Some(pkt.flow), false);
            } else {
                shared[place] |= owner[place] != Some(pkt.flow);
            }
            queue.enqueue(Time::ZERO, pkt, &mut NullSink);
            waiting[place].push((pkt.flow, slot));
        } else if let Some(pkt) = queue.dequeue(Time::ZERO, &mut NullSink) {
            let place =
                waiting.iter().position(|flows| flows.contains(&(pkt.flow, pkt.slot))).unwrap();
            assert_eq!(waiting[place].remove(0), (pkt.flow, pkt.slot));
        }
    }
    assert!(sharing > 500 && alone > 3000, "{sharing} {alone}");
}
