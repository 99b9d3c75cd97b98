//! What every TCP must do: repair whatever is lost, and no more; and known laws of congestion
//! control.
use std::collections::VecDeque;

use tidegate::{Backlog, DropReason, Packet, Qdisc, Rate, Rng, Seed, Sink, Span, Time};
use tidegate_sim::sources::tcp::Congestion;
use tidegate_sim::sources::{EcnUse, Flavor, Rules, Timestamps};
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

/// One connection over a link that loses `loss` of the data and `loss_back` of the
/// acknowledgements: what became of it.
fn lossy(
    tcp: Tcp,
    rate: Rate,
    delay: Span,
    (loss, loss_back): (f64, f64),
    end: f64,
    seed: u64,
) -> FlowOutcome {
    let mut network = Network::new();
    let [a, b] = ["a", "b"].map(|name| network.node(name));
    network.queue("a->b", (a, b), rate, delay, Lossy::new(loss, seed));
    network.queue("b->a", (b, a), rate, delay, Lossy::new(loss_back, seed + 1000));
    let group = network.group("tcp");
    let source = Source::Tcp(tcp);
    network.flow(Flow {
        group,
        from: a,
        to: b,
        key: 1,
        class: 0,
        start: Time::ZERO,
        stop: Time::MAX,
        source,
    });
    let plan = Plan::until(Time::ZERO + Span::from_secs(end));
    Simulation::new(network, plan, Seed::new(seed)).unwrap().finish().flows.remove(0)
}

/// Every congestion control with every way to repair losses, by all rules; by Linux's with delayed
/// acknowledgements. BBR with its own way.
fn every_tcp() -> Vec<Tcp> {
    let mut all = vec![];
    for congestion in Congestion::all() {
        for flavor in [Flavor::Reno, Flavor::NewReno, Flavor::Sack, Flavor::Rack] {
            for rules in [Rules::Rfc, Rules::Ns2, Rules::Linux, Rules::Ns1] {
                let delayed_ack = Span::from_millis(if rules == Rules::Linux { 40 } else { 0 });
                let paced = matches!(
                    congestion,
                    Congestion::Bbr(_)
                        | Congestion::Bbr3(_)
                        | Congestion::Prague(_)
                        | Congestion::Unresponsive(_)
                );
                if paced
                    && (matches!(flavor, Flavor::Reno | Flavor::NewReno) || rules == Rules::Ns2)
                {
                    continue;
                }
                let reno = matches!(
                    (&congestion, flavor),
                    (Congestion::Reno, Flavor::Reno | Flavor::NewReno)
                );
                if rules == Rules::Ns1 && !reno {
                    continue;
                }
                let ecn = if congestion.counts_marks() { EcnUse::On } else { EcnUse::Off };
                let timestamps = if matches!(rules, Rules::Ns2 | Rules::Ns1) {
                    Timestamps::Off
                } else {
                    Timestamps::On
                };
                let congestion = congestion.clone();
                all.push(Tcp {
                    flavor,
                    rules,
                    timestamps,
                    ecn,
                    delayed_ack,
                    congestion,
                    ..Tcp::reno()
                });
            }
        }
    }
    all
}

/// 500 segments get there however many are lost on either way.
#[test]
fn every_tcp_repairs_every_loss() {
    for (i, tcp) in every_tcp().into_iter().enumerate() {
        for (seed, loss) in (0..).zip([0.0, 0.01, 0.05, 0.2, 0.4]) {
            let tcp = Tcp { data: Some(500), ..tcp.clone() };
            let flow = lossy(
                tcp,
                Rate::from_bps(10 * MBIT),
                Span::from_millis(10),
                (loss, loss / 2.0),
                5e4,
                seed,
            );
            assert_eq!(
                flow.counters.goodput_bytes,
                500_000,
                "sender {i} {:?}, loss {loss}",
                every_tcp()[i]
            );
        }
    }
}

/// With selective acknowledgements nothing is sent again that was not lost, the rescue of RFC 6675
/// and what a timeout takes for lost apart.
#[test]
fn selective_repairs_are_of_what_was_lost() {
    let (mut lost, mut again, mut timeouts) = (0, 0, 0);
    for seed in 0..20 {
        let rate = Rate::from_bps(50 * MBIT);
        let flow = lossy(Tcp::sack(), rate, Span::from_millis(20), (0.01, 0.0), 20.0, seed);
        let (drops, repairs) = (flow.counters.dropped.packets, flow.counters.retransmits);
        // What is lost at the very end is not repaired yet.
        assert!(repairs + 60 > drops, "{repairs} repairs of {drops} losses");
        (lost, again, timeouts) =
            (lost + drops, again + repairs, timeouts + flow.counters.timeouts);
    }
    assert!(lost > 1_000, "{lost}");
    let spurious = again.saturating_sub(lost);
    assert!(spurious <= 20 * timeouts, "{again} repairs of {lost} losses with {timeouts} timeouts");
}

/// Repairs that are lost again, and the last of a window, need no timer with RACK-TLP. And all that
/// is sent again was lost, probes and timeouts apart.
#[test]
fn losses_told_by_time_need_few_timeouts() {
    let sum = |tcp: Tcp| {
        let mut sums = (0, 0, 0);
        for seed in 0..10 {
            let rate = Rate::from_bps(50 * MBIT);
            let counters =
                lossy(tcp.clone(), rate, Span::from_millis(20), (0.03, 0.0), 20.0, seed).counters;
            sums = (
                sums.0 + counters.dropped.packets,
                sums.1 + counters.retransmits,
                sums.2 + counters.timeouts,
            );
        }
        sums
    };
    let (_, _, by_count) = sum(Tcp::sack());
    let (lost, again, by_time) = sum(Tcp { flavor: Flavor::Rack, ..Tcp::sack() });
    assert!(by_count > 20 && 5 * by_time < by_count, "{by_time} timeouts for {by_count}");
    assert!(
        lost > 1_000 && again + 200 > lost && again < lost + 20 * by_time + 50,
        "{again} repairs of {lost} losses"
    );
}

/// A path that loses nothing carries half as many acknowledgements with delayed ones, and as many
/// data (RFC 5681 §4.2: at least every second segment). The first 25 and those of single segments
/// are exceptions.
#[test]
fn delayed_acknowledgements_are_half_as_many() {
    let counts = |delayed_ack: Span| {
        let mut network = Network::new();
        let [a, b] = ["a", "b"].map(|name| network.node(name));
        let rate = Rate::from_bps(10 * MBIT);
        network.queue("a->b", (a, b), rate, Span::from_millis(10), Lossy::new(0.0, 1));
        network.link("b->a", b, a, rate, Span::from_millis(10));
        let group = network.group("tcp");
        let source = Source::Tcp(Tcp { delayed_ack, receiver_window: 60, ..Tcp::new_reno() });
        network.flow(Flow {
            group,
            from: a,
            to: b,
            key: 1,
            class: 0,
            start: Time::ZERO,
            stop: Time::MAX,
            source,
        });
        let plan = Plan::until(Time::ZERO + Span::from_secs(20.0));
        let outcome = Simulation::new(network, plan, Seed::new(1)).unwrap().finish();
        let data = outcome.flows[0].counters.sent.packets;
        (data, outcome.packets - data)
    };
    let (all, each) = counts(Span::ZERO);
    let (data, half) = counts(Span::from_millis(40));
    assert!(each + 60 > all && all > 24_000, "{each} for {all}");
    assert!(data + 60 > all, "the line is as full: {data} of {all}");
    assert!(half.abs_diff(data / 2) < 40, "{half} for {data}");
}

/// At one loss in ten thousand and 200 ms CUBIC has 2.6 times Reno's rate (RFC 9438 §5.1, table 1:
/// 315 segments to 120).
#[test]
fn cubic_is_ahead_of_reno_on_a_long_path() {
    let got = |tcp: Tcp| {
        let (tcp, rate) = (Tcp { receiver_window: 2000, ..tcp }, Rate::from_bps(1000 * MBIT));
        lossy(tcp, rate, Span::from_millis(100), (1e-4, 0.0), 300.0, 3).counters.goodput_bytes
            as f64
    };
    let (cubic, reno) = (got(Tcp::cubic()), got(Tcp::sack()));
    assert!(cubic > 1.8 * reno && cubic < 4.0 * reno, "{cubic} and {reno}");
}
