//! CAKE's filter of acknowledgements against tc-cake(8), and beside its twin.
use crate::support::{self, Heard};
use crate::twinned::Twinned as _;
use crate::twinned::cake::Twinned;
use tidegate::catalog::AnyConfig;
use tidegate::{Ack, DropReason, Link, NullSink, Packet, Qdisc, Rng, Time};

fn link() -> Link {
    support::link("8 Mbit/s", "1000 packets", "1000 B")
}

fn config(filter: &str) -> AnyConfig {
    support::config("cake", Some("paper"), &[("ack_filter", filter)], &link())
}

fn ack(number: u32) -> Ack {
    Ack::new(0xc0, number)
}

/// Offers acknowledgements of one flow in this order, and says which went for a later one.
fn gone(filter: &str, acks: &[Option<Ack>]) -> Vec<u32> {
    let mut queue = config(filter).build(link(), Rng::from_seed(1)).unwrap();
    let mut heard = Heard::default();
    for (slot, ack) in acks.iter().enumerate() {
        let pkt = Packet::new(7, 64).with_slot(slot as u32);
        match ack {
            Some(ack) => queue.enqueue_ack(Time::ZERO, pkt, ack, &mut heard),
            None => queue.enqueue(Time::ZERO, pkt, &mut heard),
        }
    }
    assert!(heard.lost.iter().all(|(_, why)| *why == DropReason::Evicted));
    let left = (acks.len() - heard.lost.len()) as u32;
    assert_eq!(queue.backlog(), tidegate::Backlog { packets: left, bytes: u64::from(left) * 64 });
    heard.lost.iter().map(|(pkt, _)| pkt.slot).collect()
}

fn all(acks: &[Ack]) -> Vec<Option<Ack>> {
    acks.iter().copied().map(Some).collect()
}

/// Two of a connection's acknowledgements stay, with `aggressive` the newest.
#[test]
fn older_ones_go_when_a_newer_one_comes() {
    let five: Vec<Ack> = (1..6).map(|n| ack(1_000 * n)).collect();
    assert_eq!(gone("no", &all(&five)), []);
    assert_eq!(gone("filter", &all(&five)), [0, 1, 2]);
    assert_eq!(gone("aggressive", &all(&five)), [0, 1, 2, 3]);
    assert_eq!(gone("filter", &all(&five[..2])), []);
    // Numbers wrap around.
    let wrapped: Vec<Ack> = (0..4).map(|n| ack(0xffff_fc00_u32.wrapping_add(1_000 * n))).collect();
    assert_eq!(gone("filter", &all(&wrapped)), [0, 1]);
}

/// What a newer one does not say stays: data, other flags, what it says of another connection. So
/// do selective acknowledgements, a repetition, a change of the ECN flags, a later time stamp.
#[test]
fn what_says_more_stays() {
    let newer = [ack(3_000), ack(4_000), ack(5_000)];
    let stays = |first: Option<Ack>| {
        let acks = [vec![first], all(&newer)].concat();
        assert!(!gone("aggressive", &acks).contains(&0), "{first:?}");
    };
    stays(None);
    stays(Some(ack(1_000).saying_more()));
    stays(Some(Ack::new(0xc1, 1_000)));
    stays(Some(ack(9_000)));
    stays(Some(ack(1_000).with_blocks(&[[2_000, 3_000]])));
    stays(Some(ack(1_000).with_stamps(Some([1, 1]))));
    // ECE or CWR set or gone.
    assert_eq!(gone("aggressive", &all(&[ack(1_000).with_echo(1), ack(2_000)])), []);
    // What came twice (RFC 2883).
    let twice = ack(2_000).with_blocks(&[[500, 1_000]]);
    assert_eq!(gone("aggressive", &all(&[twice, twice, ack(9_000)])), []);
    // Duplicates, which a sender counts.
    assert_eq!(gone("aggressive", &all(&[ack(1_000); 6])), []);
    // A stamp that goes back, either of the two.
    let stamped = |n: u32, stamps| ack(1_000 * n).with_stamps(Some(stamps));
    let back = [stamped(1, [9, 9]), stamped(2, [8, 9]), stamped(3, [9, 8])];
    assert_eq!(gone("aggressive", &all(&back)), []);
}

/// A repetition with more blocks takes the place of one with fewer, and a block that has grown that
/// of the smaller one.
#[test]
fn blocks_that_are_covered_go() {
    let with = |to: u32| ack(1_000).with_blocks(&[[2_000, to]]);
    assert_eq!(gone("filter", &all(&[ack(1_000), with(3_000), with(4_000), with(5_000)])), [0, 1]);
    let apart = ack(1_000).with_blocks(&[[6_000, 9_000]]);
    assert_eq!(gone("aggressive", &all(&[with(3_000), apart])), []);
}

/// A change of the ECN flags is news where it happens, not for ever.
#[test]
fn acknowledgements_alike_go_on_each_side_of_a_change() {
    let marked = [true, true, true, false, false, false];
    let acks = marked.iter().enumerate();
    let acks: Vec<Ack> =
        acks.map(|(n, echo)| ack(1_000 * n as u32 + 1_000).with_echo(u8::from(*echo))).collect();
    assert_eq!(gone("aggressive", &all(&acks)), [0, 1, 3, 4]);
}

/// Data that goes the same way acknowledges, too, and stays itself.
#[test]
fn data_makes_acknowledgements_superfluous() {
    let acks = [ack(1_000), ack(2_000), ack(3_000).saying_more(), ack(4_000).saying_more()];
    assert_eq!(gone("filter", &all(&acks)), [0]);
    assert_eq!(gone("aggressive", &all(&acks)), [0, 1]);
}

/// The queue asks for them only where it looks at them.
#[test]
fn it_asks_for_what_it_looks_at() {
    assert!(!config("no").asks().acks && config("filter").asks().acks);
}

/// Beside the twin: bursts of acknowledgements of six connections in four flows, some with blocks,
/// flags, stamps and data.
#[test]
fn the_twin_agrees() {
    for filter in ["no", "filter", "aggressive"] {
        let config =
            support::config("cake", None, &[("ack_filter", filter), ("flows", "8")], &link());
        let mut dice = Rng::from_seed(5);
        let mut twinned = Twinned::beside(&config, link(), Rng::from_seed(6)).unwrap();
        let mut numbers = [0; 6];
        for slot in 0..60_000_u32 {
            let now = Time::from_nanos(u64::from(slot) * 200_000);
            let connection = dice.below(6);
            let number = &mut numbers[connection as usize];
            *number += [0, 10, 10, 20][dice.below(4) as usize];
            let mut ack = Ack::new(connection, *number).with_echo(u8::from(dice.chance(0.1)));
            if dice.chance(0.3) {
                let from = *number + 10 * dice.below(3) as u32;
                let last = from + 20 + 10 * dice.below(4) as u32;
                ack = ack.with_blocks(&[[from, from + 10], [from + 20, last]]);
            }
            if dice.chance(0.5) {
                ack = ack.with_stamps(Some([slot, slot - slot % 7]));
            }
            if dice.chance(0.1) {
                ack = ack.saying_more();
            }
            let pkt = Packet::new(connection % 4, 64).with_slot(slot);
            twinned.enqueue_ack(now, pkt, &ack, &mut NullSink);
            // Forty come, then forty more while eighty go.
            for _ in 0..slot / 40 % 2 * 2 {
                twinned.dequeue(now, &mut NullSink);
            }
        }
        let went = twinned.by_limit;
        assert!(if filter == "no" { went == 0 } else { went > 5_000 }, "{filter}: {went}");
    }
}
