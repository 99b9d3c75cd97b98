//! What every TCP must do: repair whatever is lost, and no more; and known laws of congestion control.
use std::collections::VecDeque;

use tidegate::{Backlog, DropReason, Packet, Qdisc, Rate, Rng, Seed, Sink, Span, Time};
use tidegate_sim::sources::tcp::{Congestion, CubicParams};
use tidegate_sim::sources::{Flavor, Rules};
use tidegate_sim::{Flow, FlowOutcome, Network, Plan, Simulation, Source, Tcp};

/// A queue without limit that loses each packet with one probability.
#[derive(Clone)]
struct Lossy {
    probability: f64,
    dice: Rng,
    line: VecDeque<Packet>,
    bytes: u64,
}

impl Lossy {
    fn new(probability: f64, seed: u64) -> Lossy {
        Lossy { probability, dice: Rng::from_seed(seed), line: VecDeque::new(), bytes: 0 }
    }
}

impl Qdisc for Lossy {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, mut pkt: Packet, out: &mut S) {
        pkt.arrived = now;
        if self.dice.chance(self.probability) {
            return out.dropped(now, &pkt, DropReason::Forced);
        }
        self.bytes += pkt.len as u64;
        self.line.push_back(pkt);
    }
    fn dequeue<S: Sink + ?Sized>(&mut self, _: Time, _: &mut S) -> Option<Packet> {
        let packet = self.line.pop_front()?;
        self.bytes -= packet.len as u64;
        Some(packet)
    }
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.line.len() as u32, bytes: self.bytes }
    }
}

const MBIT: u64 = 1_000_000;

/// One connection over a link that loses `loss` of the data and `loss_back` of the acknowledgements: what became of it.
fn lossy(tcp: Tcp, rate: Rate, delay: Span, (loss, loss_back): (f64, f64), end: f64, seed: u64) -> FlowOutcome {
    let mut network = Network::new();
    let [a, b] = ["a", "b"].map(|name| network.node(name));
    network.queue("a->b", (a, b), rate, delay, Lossy::new(loss, seed));
    network.queue("b->a", (b, a), rate, delay, Lossy::new(loss_back, seed + 1000));
    let group = network.group("tcp");
    let source = Source::Tcp(tcp);
    network.flow(Flow { group, from: a, to: b, key: 1, class: 0, start: Time::ZERO, stop: Time::MAX, source });
    let plan = Plan::until(Time::ZERO + Span::from_secs(end));
    Simulation::new(network, plan, Seed::new(seed)).unwrap().finish().flows.remove(0)
}

fn every_tcp() -> Vec<Tcp> {
    let cubic = Congestion::Cubic(CubicParams::default());
    vec![
        Tcp::reno(),
        Tcp::new_reno(),
        Tcp::sack(),
        Tcp { rules: Rules::Ns2, ..Tcp::sack() },
        Tcp::cubic(),
        Tcp { flavor: Flavor::NewReno, congestion: cubic, ..Tcp::new_reno() },
    ]
}

/// 500 segments get there however many are lost on either way.
#[test]
fn every_tcp_repairs_every_loss() {
    for (i, tcp) in every_tcp().into_iter().enumerate() {
        for (seed, loss) in (0..).zip([0.0, 0.01, 0.05, 0.2, 0.4]) {
            let tcp = Tcp { data: Some(500), ..tcp.clone() };
            let flow = lossy(tcp, Rate::from_bps(10 * MBIT), Span::from_millis(10), (loss, loss / 2.0), 5e4, seed);
            assert_eq!(flow.counters.goodput_bytes, 500_000, "sender {i}, loss {loss}");
        }
    }
}

/// With selective acknowledgements nothing is sent again that was not lost, the rescue of RFC 6675 and what a timeout
/// takes for lost apart.
#[test]
fn selective_repairs_are_of_what_was_lost() {
    let (mut lost, mut again, mut timeouts) = (0, 0, 0);
    for seed in 0..20 {
        let rate = Rate::from_bps(50 * MBIT);
        let flow = lossy(Tcp::sack(), rate, Span::from_millis(20), (0.01, 0.0), 20.0, seed);
        let (drops, repairs) = (flow.counters.dropped.packets, flow.counters.retransmits);
        // What is lost at the very end is not repaired yet.
        assert!(repairs + 60 > drops, "{repairs} repairs of {drops} losses");
        (lost, again, timeouts) = (lost + drops, again + repairs, timeouts + flow.counters.timeouts);
    }
    assert!(lost > 1_000, "{lost}");
    let spurious = again.saturating_sub(lost);
    assert!(spurious <= 20 * timeouts, "{again} repairs of {lost} losses with {timeouts} timeouts");
}

/// At one loss in ten thousand and 200 ms CUBIC has 2.6 times Reno's rate (RFC 9438 §5.1, table 1: 315 segments to 120).
#[test]
fn cubic_is_ahead_of_reno_on_a_long_path() {
    let got = |tcp: Tcp| {
        let (tcp, rate) = (Tcp { receiver_window: 2000, ..tcp }, Rate::from_bps(1000 * MBIT));
        lossy(tcp, rate, Span::from_millis(100), (1e-4, 0.0), 300.0, 3).counters.goodput_bytes as f64
    };
    let (cubic, reno) = (got(Tcp::cubic()), got(Tcp::sack()));
    assert!(cubic > 1.8 * reno && cubic < 4.0 * reno, "{cubic} and {reno}");
}
