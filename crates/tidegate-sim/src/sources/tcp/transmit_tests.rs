//! When segments leave that are paced.
use super::*;
use tidegate::Rate;

use crate::sources::tcp::report::{Report, SackBlock};
use crate::sources::tcp::{AckArrival, Tcp, TcpSender};
use crate::sources::{EcnUse, Handshake, Rules};

struct Bench {
    sender: TcpSender,
    dice: Rng,
    out: Vec<Output>,
    now: Time,
}

const RTT: Span = Span::from_millis(100);

impl Bench {
    fn new(tcp: &Tcp) -> Bench {
        let mut dice = Rng::from_seed(1);
        let sender = TcpSender::new(tcp, &mut dice);
        Bench { sender, dice, out: vec![], now: Time::ZERO }
    }

    fn wake(&mut self) -> Vec<u32> {
        self.sender.wake(self.now, &mut self.dice, &mut self.out);
        self.out.drain(..).map(|o| o.seq).collect()
    }

    fn report(&mut self, ack: u32, held: &[(u32, u32)]) -> Vec<u32> {
        let mut report = Report::plain(ack);
        report
            .blocks
            .iter_mut()
            .zip(held)
            .for_each(|(block, &(from, to))| *block = SackBlock { from, to });
        let arrival = AckArrival { report: &report, echo: false, part: false, answers: self.now };
        self.sender.on_ack(self.now, &arrival, &mut self.dice, &mut self.out);
        self.out.drain(..).map(|o| o.seq).collect()
    }

    /// Goes on to when something waits to be sent.
    fn turn(&mut self) -> Vec<u32> {
        assert!(self.sender.send_at() > self.now && self.sender.send_at() < Time::MAX);
        self.now = self.sender.send_at();
        self.wake()
    }
}

/// Ten segments in 100 ms at a gain of 2/ln 2 are 289 a second. Two leave together, every 10 ms ·
/// ln 2.
#[test]
fn the_initial_window_leaves_in_pairs() {
    let mut bench = Bench::new(&Tcp { handshake: Handshake::Syn, ..Tcp::bbr() });
    assert_eq!(bench.wake(), [0]);
    bench.now += RTT;
    assert_eq!(bench.report(1, &[]), [1, 2]);
    let mut last = bench.now;
    for pair in [[3, 4], [5, 6], [7, 8], [9, 10]] {
        assert_eq!(bench.turn(), pair);
        assert_eq!(bench.now.since(last).as_nanos(), 6_931_472);
        last = bench.now;
    }
    // The window is full (the SYN's acknowledgement has opened it by one), and one more is sent
    // when it is.
    assert_eq!(bench.sender.send_at(), last + Span::from_nanos(6_931_472));
    assert_eq!(bench.turn(), [11]);
    assert_eq!(bench.sender.send_at(), Time::MAX);
}

/// An acknowledgement that comes while something waits changes nothing of when it leaves, and a
/// repair waits too.
#[test]
fn a_repair_waits_for_its_turn() {
    let mut bench = Bench::new(&Tcp { handshake: Handshake::Syn, ..Tcp::bbr() });
    bench.wake();
    bench.now += RTT;
    bench.report(1, &[]);
    let due = bench.sender.send_at();
    assert_eq!(bench.report(1, &[(2, 3)]), []);
    assert_eq!(bench.sender.send_at(), due);
    (0..4).for_each(|_| drop(bench.turn()));
    assert_eq!(bench.report(1, &[(2, 5)]), [], "the third beyond it, and it is lost");
    assert_eq!(bench.turn()[0], 1);
}

#[test]
fn what_waits_for_its_turn_is_not_late() {
    let mut bench = Bench::new(&Tcp::bbr());
    bench.wake();
    bench.sender.connection.departures.free = bench.now + Span::from_secs(5.0);
    bench.sender.connection.set_timer(bench.now);
    assert_eq!(
        bench.sender.timeout_at(),
        bench.sender.connection.departures.free + Span::from_secs(3.0)
    );
}

/// Linux (tcp_update_skb_after_send): what leaves late pays so much less, but half at least.
#[test]
fn by_linux_what_leaves_late_pays_less() {
    let price = |rules: Rules, late: Span| {
        let mut bench = Bench::new(&Tcp { rules, ..Tcp::bbr() });
        bench.sender.connection.departures.free = Time::ZERO + Span::from_secs(1.0);
        bench.now = bench.sender.connection.departures.free + late;
        assert_eq!(bench.wake().len(), 10);
        bench.sender.connection.departures.free.since(bench.now).as_nanos()
    };
    let whole = price(Rules::Rfc, Span::ZERO);
    let late = Span::from_nanos(whole / 4);
    assert_eq!(price(Rules::Rfc, late), whole);
    assert_eq!(
        [price(Rules::Linux, Span::ZERO), price(Rules::Linux, late)],
        [whole, whole - whole / 4]
    );
    assert_eq!(price(Rules::Linux, Span::from_secs(1.0)), whole - whole / 2);
}

#[test]
fn it_needs_selective_acknowledgements_and_no_other_delay() {
    use crate::sources::Flavor;
    let refused = |tcp: Tcp| tcp.check().unwrap_err().to_string();
    assert!(refused(Tcp { flavor: Flavor::NewReno, ..Tcp::bbr() }).contains("flavor"));
    assert!(
        refused(Tcp { flavor: Flavor::Reno, ..Tcp::unresponsive(Rate::from_bps(1)) })
            .contains("an unresponsive")
    );
    assert!(refused(Tcp { rules: Rules::Ns2, ..Tcp::bbr() }).contains("rules"));
    assert!(refused(Tcp { overhead: RTT, ..Tcp::bbr() }).contains("overhead"));
    assert!(
        Tcp::bbr().check().is_ok() && Tcp { flavor: Flavor::Rack, ..Tcp::bbr() }.check().is_ok()
    );
}

/// With room for more and no more to send, rates are of the sender and not of the path.
#[test]
fn a_sender_that_has_no_more_says_so() {
    for (data, lacks) in [(Some(5), true), (Some(10), false), (None, false)] {
        let mut bench = Bench::new(&Tcp { data, ..Tcp::bbr() });
        assert_eq!(bench.wake().len() as u32, data.unwrap_or(10));
        let Some(deliveries) = &mut bench.sender.connection.deliveries else {
            panic!("{:?}", bench.sender)
        };
        deliveries.sent(bench.now, 4, 0, 5);
        deliveries.arrived(bench.now + RTT, 4);
        assert_eq!(deliveries.sample(RTT).limited, lacks, "{data:?}");
    }
}

/// 1000 bytes at 8 Mbit/s leave a millisecond apart: new data, repairs, and what goes again after a
/// timeout, as often as the timer runs out. The timeout stays the same.
#[test]
fn an_unresponsive_sender_keeps_its_times() {
    let mut bench =
        Bench::new(&Tcp { ecn: EcnUse::On, ..Tcp::unresponsive(Rate::from_bps(8_000_000)) });
    assert_eq!(bench.wake(), [0]);
    let mut sent = vec![];
    let mut go = |bench: &mut Bench, times: u64| {
        for _ in 0..times {
            let due = bench.now + Span::from_millis(1);
            sent = bench.turn();
            assert_eq!((sent.len(), bench.now), (1, due));
        }
        sent[0]
    };
    assert_eq!(go(&mut bench, 50), 50);
    assert_eq!(bench.report(1, &[]), [], "an acknowledgement lets nothing out");
    assert_eq!(bench.report(1, &[(2, 9)]), [], "nor a loss");
    assert_eq!((go(&mut bench, 1), go(&mut bench, 1)), (1, 51), "the repair goes in its turn");
    let patience = bench.sender.connection.rto.timeout();
    for _ in 0..5 {
        assert!(bench.sender.timed_out(bench.now, &mut bench.dice, &mut bench.out));
        assert_eq!(bench.out, []);
        go(&mut bench, 3);
        assert_eq!(bench.sender.connection.rto.timeout(), patience);
    }
}
