//! Golden numbers of echoed marks, by the RFCs and by ns-1.
use super::*;

#[test]
fn marks_reduce_once_a_window_and_are_answered() {
    let mut bench = Bench::avoiding(Tcp { ecn: EcnUse::On, ..one(Flavor::NewReno) }, 16);
    (1..4).for_each(|a| bench.acknowledge(a, false));
    bench.out.clear();
    (4..12).for_each(|a| bench.acknowledge(a, true));
    let window = &bench.sender.connection.window;
    assert_eq!(window.ssthresh, 8.0, "16 in flight, halved once for eight echoes");
    assert_eq!(window.cwnd, 8.0, "and no growth while they last");
    (12..17).for_each(|a| bench.acknowledge(a, false));
    let told: Vec<bool> = bench.out.iter().map(|o| o.flags & flag::REDUCED != 0).collect();
    assert!(told.len() > 1 && told[0] && !told[1..].contains(&true), "said once: {told:?}");
    assert!(bench.out.iter().all(|o| o.flags & flag::ECN == Ecn::Ect0 as u8));
    // Beyond the window that was cut, a mark counts again.
    let recover = bench.sender.connection.recover;
    bench.acknowledge(recover + 1, true);
    assert!(bench.sender.connection.window.ssthresh < 8.0);
}

/// RFC 3168 §6.1.2: with a window of one the next segment waits for the timer; by ns-2's rules a
/// second mark doubles it.
#[test]
fn marks_at_a_window_of_one_wait_for_the_timer() {
    for rules in [Rules::Rfc, Rules::Ns2] {
        let mut bench = Bench::new(by(rules, Tcp { ecn: EcnUse::On, ..one(Flavor::NewReno) }));
        assert_eq!(bench.take(), [0]);
        let mut waits = Vec::new();
        for ack in [1, 2] {
            let doubled = if rules == Rules::Ns2 { ack as u64 } else { 1 };
            bench.now += RTT;
            bench.acknowledge(ack, true);
            assert_eq!(bench.take(), [], "{rules:?}: the window is closed");
            let due = bench.sender.timeout_at().as_nanos();
            waits.push((due - bench.now) / doubled);
            bench.now = due;
            assert!(
                !bench.sender.timed_out(Time::from_nanos(due), &mut bench.dice, &mut bench.out),
                "nothing was lost"
            );
            assert!(bench.out.iter().all(|o| o.flags & flag::REDUCED != 0));
            assert_eq!(bench.take(), [ack]);
        }
        // One sample of 100 ms: 100 + 4 · 50; two: 100 + 4 · 37.5 rounded down to whole ticks; a
        // tick of phase each.
        assert!(
            waits[0].abs_diff(300_000_000) <= 50_000_000
                && waits[1].abs_diff(250_000_000) <= 50_000_000,
            "{waits:?}"
        );
        bench.now += RTT;
        bench.acknowledge(3, false);
        assert_eq!(bench.take(), [3, 4], "{rules:?}: without a mark it opens again");
    }
}

/// RFC 3168 §6.1.2: a timeout has reduced the window, so that echoes of what was sent before it
/// reduce nothing again, and the timer does not grow with them. The receiver goes on echoing, since
/// what is sent again cannot say that the window was reduced.
#[test]
fn an_old_mark_after_a_timeout_is_no_new_one() {
    for flavor in [Flavor::Reno, Flavor::NewReno] {
        let mut bench = Bench::avoiding(Tcp { ecn: EcnUse::On, ..one(flavor) }, 8);
        bench.now += RTT;
        bench.acknowledge(1, true);
        bench.out.clear();
        let usual = bench.sender.connection.rto.timeout();
        let recover = bench.sender.connection.max;
        bench.timeout();
        for ack in 2..=recover {
            bench.now += RTT;
            bench.acknowledge(ack, true);
            assert!(!bench.sender.connection.window.is_closed(), "{flavor:?}: at {ack}");
            assert!(bench.sender.connection.rto.timeout() <= usual, "{flavor:?}: at {ack}");
            assert!(!bench.take().is_empty(), "{flavor:?}: something goes out at {ack}");
        }
        let before = bench.sender.connection.window.ssthresh;
        bench.now += RTT;
        bench.acknowledge(recover + 1, true);
        assert!(
            bench.sender.connection.window.ssthresh <= before
                && bench.sender.connection.window.cwnd <= 1.0,
            "beyond it a mark counts again"
        );
    }
}

/// With nothing in flight there are no duplicates (RFC 5681 §2); ns-2 counts them and sends by
/// limited transmit.
#[test]
fn duplicates_when_a_mark_has_closed_the_window() {
    for (rules, sent) in [(Rules::Rfc, vec![]), (Rules::Ns2, vec![1])] {
        let limited_transmit = LimitedTransmit::On;
        let mut bench = Bench::new(by(
            rules,
            Tcp { ecn: EcnUse::On, limited_transmit, ..one(Flavor::NewReno) },
        ));
        assert_eq!(bench.take(), [0]);
        bench.now += RTT;
        bench.acknowledge(1, true);
        assert_eq!(bench.take(), []);
        bench.acknowledge(1, true);
        assert_eq!(bench.take(), sent, "{rules:?}");
    }
}

/// RFC 3168 §6.1.2 and §6.1.5: new data tell of any reduction, and what is sent again is not
/// ECN-capable; by ns-2's rules the retransmission is and does.
#[test]
fn a_loss_is_answered_like_a_mark() {
    for rules in [Rules::Rfc, Rules::Ns2] {
        let mut bench =
            Bench::avoiding(by(rules, Tcp { ecn: EcnUse::On, ..one(Flavor::NewReno) }), 16);
        (0..16).for_each(|_| bench.acknowledge(0, false));
        let again: Vec<u8> = bench.out.iter().filter(|o| o.seq == 0).map(|o| o.flags).collect();
        let reduced: Vec<u32> =
            bench.out.iter().filter(|o| o.flags & flag::REDUCED != 0).map(|o| o.seq).collect();
        let (capable, told) = match rules {
            Rules::Rfc | Rules::Linux => (0, 16),
            Rules::Ns2 | Rules::Ns1 => (Ecn::Ect0 as u8, 0),
        };
        assert_eq!(again.iter().map(|f| f & flag::ECN).collect::<Vec<_>>(), [capable], "{rules:?}");
        assert_eq!(reduced, [told], "{rules:?}");
    }
}

fn ns1(flavor: Flavor) -> Tcp {
    Tcp { ecn: EcnUse::On, initial_window: 1.0, ..Tcp::ns1(flavor) }
}

/// Half of nine segments is four, and the acknowledgement that says so opens the window by a
/// quarter; the next cut is not before what had been sent is acknowledged.
#[test]
fn by_ns_1_an_echo_halves_by_whole_segments_and_opens_too() {
    for flavor in [Flavor::Reno, Flavor::NewReno] {
        let mut bench = Bench::avoiding(ns1(flavor), 9);
        bench.ack(1);
        bench.take();
        bench.now += RTT;
        bench.acknowledge(2, true);
        assert_eq!(
            (bench.sender.connection.window.ssthresh, bench.sender.connection.window.cwnd),
            (4.0, 4.25),
            "of 9.11"
        );
        let recover = bench.sender.connection.recover;
        assert_eq!(recover, 10, "sent before it");
        for ack in 3..=recover {
            bench.acknowledge(ack, true);
            assert_eq!(
                bench.sender.connection.window.ssthresh, 4.0,
                "{flavor:?}: once a round trip, {ack}"
            );
        }
        let cwnd = bench.sender.connection.window.cwnd;
        bench.acknowledge(recover + 1, true);
        assert_eq!(bench.sender.connection.window.ssthresh, 2.0, "{cwnd}");
    }
}

/// A mark closes a window of one, and the same acknowledgement opens it: marks never make a
/// connection wait for its timer.
#[test]
fn by_ns_1_a_window_of_one_never_closes() {
    let mut bench = Bench::new(ns1(Flavor::Reno));
    assert_eq!(bench.take(), [0]);
    bench.now += RTT;
    bench.acknowledge(1, true);
    assert_eq!(
        (bench.sender.connection.window.cwnd, bench.take()),
        (2.0, vec![1, 2]),
        "the first halves nothing"
    );
    bench.now += RTT;
    bench.acknowledge(2, true);
    assert_eq!(
        (bench.sender.connection.window.cwnd, bench.take()),
        (2.0, vec![3]),
        "one, and one more: two are under way"
    );
    bench.acknowledge(3, true);
    assert_eq!(
        (bench.sender.connection.window.cwnd, bench.take()),
        (2.5, vec![4]),
        "what is told in the same round trip only opens"
    );
    for ack in 4..50 {
        bench.now += RTT;
        bench.acknowledge(ack, true);
        assert!(
            !bench.take().is_empty() && bench.sender.connection.window.ssthresh == 2.0,
            "{ack}: ssthresh is at least two"
        );
        assert!(
            (1.0..=2.5).contains(&bench.sender.connection.window.cwnd),
            "{ack}: {}",
            bench.sender.connection.window.cwnd
        );
    }
}

/// A loss just after a mark halves once more; the first two duplicates let nothing out; what is
/// sent again can be marked.
#[test]
fn by_ns_1_a_loss_cuts_after_a_mark() {
    let mut bench = Bench::avoiding(ns1(Flavor::Reno), 16);
    bench.now += RTT;
    bench.ack(1);
    bench.acknowledge(2, true);
    bench.take();
    assert_eq!(bench.sender.connection.window.ssthresh, 8.0);
    assert_eq!((bench.ack(2), bench.ack(2)), (vec![], vec![]), "no limited transmit");
    bench.acknowledge(2, false);
    assert_eq!(
        bench.out.iter().map(|o| (o.seq, o.flags & flag::ECN)).collect::<Vec<_>>(),
        [(2, Ecn::Ect0 as u8)]
    );
    assert_eq!(bench.sender.connection.window.ssthresh, 4.0);
    let cwnd = bench.sender.connection.window.cwnd;
    bench.ack(17);
    assert_eq!(
        bench.sender.connection.window.cwnd,
        cwnd + 1.0 / cwnd,
        "recovery ends with the window where it stands"
    );
}

/// After a timeout duplicates of what was sent before it are no new loss; an echo of what was sent
/// before it is no new mark.
#[test]
fn by_ns_1_a_timeout_is_answered_once() {
    let mut bench = Bench::avoiding(ns1(Flavor::Reno), 16);
    assert_eq!(bench.timeout(), [0]);
    assert_eq!(
        (bench.sender.connection.window.ssthresh, bench.sender.connection.window.cwnd),
        (8.0, 1.0)
    );
    bench.now += RTT;
    bench.acknowledge(2, true);
    (0..3).for_each(|_| bench.acknowledge(2, false));
    assert_eq!(bench.sender.connection.window.ssthresh, 8.0);
    bench.acknowledge(16, false);
    bench.acknowledge(17, true);
    assert!(bench.sender.connection.window.ssthresh < 8.0);
}

#[test]
fn ns_1_is_reno() {
    let refused = |tcp: Tcp| tcp.check().unwrap_err().to_string();
    assert!(
        refused(Tcp { flavor: Flavor::Sack, ..ns1(Flavor::Reno) })
            .contains("Reno and NewReno only")
    );
    assert!(refused(Tcp { timestamps: Timestamps::On, ..ns1(Flavor::Reno) }).contains("Karn"));
    assert!(ns1(Flavor::NewReno).check().is_ok());
}
