//! Golden numbers of the window: slow start, recovery, timeouts, echoes.
use tidegate::{Ecn, Span};

use super::*;
use crate::net::flight::flag;
use crate::sources::tcp::{EcnUse, Flavor, Handshake, LimitedTransmit, Rules, Timestamps};

#[path = "sender_mark_tests.rs"]
mod marks;

/// A sender and the segments it has put out and nobody has looked at.
struct Bench {
    sender: TcpSender,
    dice: Rng,
    out: Vec<Output>,
    now: u64,
}

const RTT: u64 = 100_000_000;

impl Bench {
    fn new(tcp: Tcp) -> Bench {
        let mut dice = Rng::from_seed(1);
        let sender = TcpSender::new(&tcp, &mut dice);
        let mut bench = Bench { sender, dice, out: Vec::new(), now: 0 };
        bench.sender.wake(Time::ZERO, &mut bench.dice, &mut bench.out);
        bench
    }

    /// In congestion avoidance with a window of `cwnd`, all of it in flight.
    fn avoiding(tcp: Tcp, cwnd: u32) -> Bench {
        let mut bench = Bench::new(Tcp { initial_window: cwnd as f64, ..tcp });
        bench.sender.connection.window.ssthresh = cwnd as f64;
        assert_eq!(bench.take(), (0..cwnd).collect::<Vec<_>>());
        bench
    }

    fn take(&mut self) -> Vec<u32> {
        self.out.drain(..).map(|o| o.seq).collect()
    }

    fn ack(&mut self, ack: u32) -> Vec<u32> {
        self.acknowledge(ack, false);
        self.take()
    }

    fn acknowledge(&mut self, ack: u32, echo: bool) {
        let (now, answers) = (self.now, Time::from_nanos(self.now.saturating_sub(RTT)));
        let arrival = AckArrival { report: &Report::plain(ack), echo, part: false, answers };
        self.sender.on_ack(Time::from_nanos(now), &arrival, &mut self.dice, &mut self.out);
    }

    fn timeout(&mut self) -> Vec<u32> {
        self.now = self.sender.timeout_at().as_nanos();
        assert!(self.sender.timed_out(Time::from_nanos(self.now), &mut self.dice, &mut self.out));
        self.take()
    }
}

/// With `rules`, and time stamps where these have them.
fn by(rules: Rules, tcp: Tcp) -> Tcp {
    let timestamps = if rules.is_ns() { Timestamps::Off } else { Timestamps::On };
    Tcp { rules, timestamps, ..tcp }
}

fn one(flavor: Flavor) -> Tcp {
    Tcp { flavor, initial_window: 1.0, limited_transmit: LimitedTransmit::Off, ..Tcp::reno() }
}

#[test]
fn a_loss_free_connection_doubles_each_round_trip() {
    let mut bench = Bench::new(one(Flavor::Reno));
    let (mut sent, mut acked) = (Vec::new(), 0);
    for _ in 0..6 {
        let round = bench.take();
        sent.push(round.len());
        bench.now += RTT;
        for _ in round {
            acked += 1;
            bench.acknowledge(acked, false);
        }
    }
    assert_eq!(sent, [1, 2, 4, 8, 16, 32]);
}

#[test]
fn congestion_avoidance_adds_one_each_round_trip() {
    let mut bench = Bench::avoiding(one(Flavor::Reno), 10);
    (1..=10).for_each(|a| drop(bench.ack(a)));
    assert!(
        (bench.sender.connection.window.cwnd - 11.0).abs() < 0.06,
        "{}",
        bench.sender.connection.window.cwnd
    );
}

/// RFC 3465: an acknowledgement of two segments opens the window by what two acknowledgements
/// would; one that fills a hole, by no more than that (§2.2).
#[test]
fn delayed_acknowledgements_do_not_slow_growth_down() {
    let delayed = Tcp { delayed_ack: Span::from_millis(40), ..one(Flavor::Reno) };
    let mut bench = Bench::new(Tcp { initial_window: 2.0, ..delayed.clone() });
    let mut rounds = Vec::new();
    for _ in 0..5 {
        let round = bench.take();
        rounds.push(round.len());
        bench.now += RTT;
        round.iter().skip(1).step_by(2).for_each(|&seq| bench.acknowledge(seq + 1, false));
    }
    assert_eq!(rounds, [2, 4, 8, 16, 32]);
    let mut bench = Bench::avoiding(delayed, 10);
    (2..=10).step_by(2).for_each(|a| drop(bench.ack(a)));
    assert!(
        (bench.sender.connection.window.cwnd - 11.0).abs() < 0.1,
        "{}",
        bench.sender.connection.window.cwnd
    );
    let before = bench.sender.connection.window.cwnd;
    bench.ack(20);
    assert!(
        (bench.sender.connection.window.cwnd - before - 2.0 / before).abs() < 1e-12,
        "of ten at once two count"
    );
}

#[test]
fn a_loss_at_16_halves_to_8() {
    for flavor in [Flavor::Reno, Flavor::NewReno] {
        let mut bench = Bench::avoiding(one(flavor), 16);
        // Segment 0 is lost; the other fifteen each yield a duplicate.
        assert_eq!((bench.ack(0), bench.ack(0)), (vec![], vec![]));
        assert_eq!(bench.ack(0), [0], "the third is a fast retransmit");
        let window = &bench.sender.connection.window;
        assert_eq!((window.ssthresh, window.cwnd, window.inflation), (8.0, 8.0, 3));
        let recovery: Vec<u32> = (0..12).flat_map(|_| bench.ack(0)).collect();
        assert_eq!(
            recovery,
            (16..23).collect::<Vec<_>>(),
            "8 + 15 of 16 in flight leave room for 7"
        );
        bench.now += RTT;
        bench.ack(16);
        assert_eq!(bench.sender.connection.window.inflation, 0);
        assert!(
            (bench.sender.connection.window.cwnd - 8.125).abs() < 1e-12,
            "8, and this acknowledgement's eighth"
        );
    }
}

#[test]
fn a_partial_acknowledgement_keeps_new_reno_in_recovery_and_lets_reno_out() {
    for (flavor, expected) in [(Flavor::NewReno, Some(5)), (Flavor::Reno, None)] {
        let mut bench = Bench::avoiding(one(flavor), 16);
        // 0 and 5 are lost: fourteen duplicates, then the repair of 0 acknowledges up to 5.
        (0..14).for_each(|_| drop(bench.ack(0)));
        assert_eq!(bench.ack(5).first().copied().filter(|&s| s == 5), expected);
        let inflated = bench.sender.connection.window.inflation > 0;
        assert_eq!(inflated, flavor == Flavor::NewReno);
        bench.ack(bench.sender.connection.max);
        assert_eq!(
            (bench.sender.connection.window.inflation, bench.sender.connection.window.ssthresh),
            (0, 8.0)
        );
    }
}

#[test]
fn old_losses_start_no_second_recovery_in_new_reno() {
    let mut bench = Bench::avoiding(one(Flavor::NewReno), 16);
    (0..6).for_each(|_| drop(bench.ack(0)));
    bench.timeout();
    let cut = bench.sender.connection.window.ssthresh;
    // Duplicates for what is sent again below `recover` say nothing new.
    (0..5).for_each(|_| assert_eq!(bench.ack(0), []));
    assert_eq!(bench.sender.connection.window.ssthresh, cut);
}

#[test]
fn limited_transmit_lets_two_new_segments_out() {
    let mut bench =
        Bench::avoiding(Tcp { limited_transmit: LimitedTransmit::On, ..one(Flavor::NewReno) }, 4);
    assert_eq!((bench.ack(0), bench.ack(0)), (vec![4], vec![5]));
    assert_eq!(bench.ack(0).first(), Some(&0));
}

#[test]
fn timeouts_double_and_go_back_to_the_first_hole() {
    // What was sent again ends the back-off with time stamps, and none without (Karn): 100 ms, half
    // of that four times.
    for (timestamps, after) in [(Timestamps::On, 300), (Timestamps::Off, 48_000)] {
        doubling(Tcp { timestamps, ..one(Flavor::NewReno) }, Span::from_millis(after));
    }
}

fn doubling(tcp: Tcp, after: Span) {
    let mut bench = Bench::avoiding(tcp, 8);
    let mut gaps = Vec::new();
    for _ in 0..4 {
        let before = bench.now;
        assert_eq!(bench.timeout(), [0]);
        gaps.push((bench.now - before) / 1_000_000);
        assert_eq!(bench.sender.connection.window.cwnd, 1.0);
    }
    assert_eq!(gaps, [3000, 6000, 12_000, 24_000]);
    assert_eq!(
        bench.sender.connection.window.ssthresh, 4.0,
        "a segment that times out again does not cut again"
    );
    bench.now += RTT;
    assert_eq!(bench.ack(1), [1, 2], "slow start, from the hole");
    let timeout = bench.sender.connection.rto.timeout();
    assert!(
        timeout.as_nanos().abs_diff(after.as_nanos()) <= 30_000_000,
        "{timeout:?} for {after:?}, up to a tick"
    );
}

#[test]
fn finite_data_end() {
    let mut bench = Bench::new(Tcp { data: Some(3), handshake: Handshake::Syn, ..Tcp::reno() });
    assert_eq!(bench.take(), [0]);
    bench.now += RTT;
    assert_eq!(bench.ack(1), [1, 2]);
    assert_eq!((bench.ack(2), bench.ack(3), bench.ack(4)), (vec![3], vec![], vec![]));
    assert_eq!(bench.sender.timeout_at(), Time::MAX);
}
