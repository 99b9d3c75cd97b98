//! Golden sequences of recovery with selective acknowledgements, worked out by hand from RFC 6675.
use std::collections::BTreeSet;

use tidegate::Span;

use super::*;
use crate::net::flight::flag;
use crate::sources::EcnUse;
use crate::sources::tcp::recovery::bench::Bench;
use crate::sources::tcp::{AckArrival, Tcp};

#[test]
fn one_loss_of_ten() {
    let mut bench = Bench::avoiding(Tcp::sack(), 10);
    assert_eq!((bench.arrive(1), bench.arrive(2)), (vec![10], vec![11]), "limited transmit");
    assert_eq!(bench.arrive(3), [0], "three held beyond it: lost");
    let window = &bench.sender.connection.window;
    assert_eq!(
        (window.cwnd, window.ssthresh),
        (5.0, 5.0),
        "of ten under way, the two of limited transmit apart"
    );
    // Under way: 4 to 11, which are not known to be held, and 0; nine. Four more must arrive before
    // a fifth lets one out.
    assert_eq!(bench.arrive_all(4..8), []);
    assert_eq!(bench.arrive_all(8..12), [12, 13, 14, 15]);
    assert_eq!(
        bench.arrive(0),
        [16],
        "5 and this acknowledgement's fifth, of which 4 are under way"
    );
    assert!(
        (bench.sender.connection.window.cwnd - 5.2).abs() < 1e-12
            && bench.sender.connection.phase == Phase::Recovered
    );
    assert_eq!(bench.sender.connection.window.segments(), 5);
}

#[test]
fn without_limited_transmit_the_first_two_let_nothing_out() {
    let mut bench =
        Bench::avoiding(Tcp { limited_transmit: LimitedTransmit::Off, ..Tcp::sack() }, 10);
    assert_eq!((bench.arrive(1), bench.arrive(2)), (vec![], vec![]));
    assert_eq!(bench.arrive(3), [0]);
}

#[test]
fn many_losses_of_a_window_take_one_cut_and_are_each_sent_once() {
    let mut bench = Bench::avoiding(Tcp::sack(), 20);
    let lost: BTreeSet<u32> = [0, 3, 4, 9, 15].into();
    let mut under_way: Vec<u32> = (0..20).filter(|s| !lost.contains(s)).collect();
    let mut again = Vec::new();
    for _ in 0..3 {
        let sent = bench.arrive_all(std::mem::take(&mut under_way));
        again.extend(sent.iter().copied().filter(|s| lost.contains(s)));
        under_way = sent;
    }
    assert_eq!(again, [0, 3, 4, 9, 15]);
    assert_eq!(bench.sender.connection.window.ssthresh, 10.0);
    assert!(bench.sender.connection.una >= 20 && bench.sender.connection.phase == Phase::Recovered);
}

/// The last segment of a window is lost together with another: no evidence beyond it, so the rescue
/// repairs it.
#[test]
fn the_rescue_saves_a_timeout() {
    let mut bench = Bench::avoiding(Tcp { data: Some(10), ..Tcp::sack() }, 10);
    // 8 and 9 are lost, and 2.
    let sent = bench.arrive_all([0, 1, 3, 4, 5, 6, 7]);
    assert_eq!(sent, [2], "the data are at their end, and nothing is known to be lost beyond");
    assert_eq!(bench.arrive(2), [9], "so there is room for what may be lost: the last of all");
    assert_eq!(bench.arrive(9), [8], "now there is something held beyond it");
    assert_eq!((bench.arrive(8), bench.sender.connection.una), (vec![], 10));
}

#[test]
fn after_a_timeout_what_is_held_is_not_sent_again() {
    let mut bench = Bench::avoiding(Tcp::sack(), 8);
    // Only 2 and 5 arrive; limited transmit's 8 and 9 are lost, too.
    assert_eq!(bench.arrive_all([2, 5]), [8, 9]);
    assert_eq!(bench.time_out(), [0]);
    assert_eq!(
        (bench.sender.connection.window.cwnd, bench.sender.connection.window.ssthresh),
        (1.0, 4.0)
    );
    assert_eq!(bench.arrive(0), [1, 3], "slow start, past 2");
    assert_eq!(bench.arrive(1), [4, 6], "1 brings 2 along, for one segment's growth");
    assert_eq!(bench.arrive(3), [7, 8]);
    assert_eq!(bench.time_out(), [4], "sent again and lost again");
    assert_eq!(bench.sender.connection.window.cwnd, 1.0);
}

/// A loss among the segments sent since a timeout starts a recovery only when all of before is
/// there.
#[test]
fn a_timeouts_losses_are_cut_for_once() {
    let mut bench = Bench::avoiding(Tcp::sack(), 4);
    assert_eq!(bench.time_out(), [0]);
    assert_eq!(bench.arrive(0), [1, 2]);
    assert_eq!(bench.arrive(1), [3], "at ssthresh, 2");
    let cut = bench.sender.connection.window.ssthresh;
    // 2 is lost once more; 3 and what it lets out arrive: no second cut, the timer must find it.
    let mut sent = vec![3];
    for _ in 0..6 {
        sent = bench.arrive_all(sent);
    }
    assert_eq!((bench.sender.connection.una, bench.sender.connection.window.ssthresh), (2, cut));
    assert_eq!(bench.time_out(), [2]);
}

#[test]
fn what_is_sent_again_says_so() {
    let mut bench = Bench::avoiding(Tcp { ecn: EcnUse::On, ..Tcp::sack() }, 10);
    let (now, mut out) = (Time::ZERO + Span::from_millis(100), Vec::new());
    for seq in 1..4 {
        bench.receiver.receive(seq, false, false);
        let report = bench.receiver.report().unwrap();
        let arrival = AckArrival {
            report: &report,
            echo: false,
            part: false,
            answers: bench.sender.connection.answered,
        };
        bench.sender.on_ack(now, &arrival, &mut bench.dice, &mut out);
    }
    let again: Vec<_> = out.iter().filter(|o| o.flags & flag::AGAIN != 0).collect();
    assert_eq!((again.len(), again[0].seq, again[0].flags & flag::ECN), (1, 0, 0));
}
