//! LEDBAT (RFC 6817) in the network: Alone it fills the line and adds its target to the queue.
//! Beside Reno it yields; in a buffer that is shorter than its target it cannot.
use tidegate::{Bytes, Link, Rate, Rng, Seed, Size, Span, Time, catalog};
use tidegate_sim::sources::tcp::{Congestion, LedbatParams};
use tidegate_sim::{Flow, Network, Outcome, Plan, Source, Tcp, simulate};

fn ledbat() -> Tcp {
    Tcp { congestion: Congestion::Ledbat(LedbatParams::default()), ..Tcp::sack() }
}

/// One flow of each of `sources` over 10 Mbit/s and 40 ms, behind a drop-tail queue that holds
/// `limit` packets; from a minute on for four.
fn share(sources: &[Tcp], limit: u64) -> Outcome {
    let mut network = Network::new();
    let [a, b] = ["a", "b"].map(|name| network.node(name));
    let rate = Rate::from_bps(10_000_000);
    let link = Link::new(rate, Size::Packets(limit), Bytes::new(1000)).unwrap();
    let queue = catalog::config("drop_tail", None, &link).unwrap();
    let queue = queue.build(link, Rng::from_seed(1)).unwrap();
    let half = Span::from_millis(20);
    network.queue("a->b", (a, b), rate, half, queue);
    network.link("b->a", b, a, rate, half);
    for (key, tcp) in sources.iter().enumerate() {
        let group = network.group(format!("{key}"));
        let start = Time::from_nanos(key as u64 * 777_000_000);
        let (class, stop, source) = (0, Time::MAX, Source::Tcp(tcp.clone()));
        network.flow(Flow { group, from: a, to: b, key: key as u64, class, start, stop, source });
    }
    let second = |s: f64| Time::ZERO + Span::from_secs(s);
    simulate(network, &Plan { warmup: second(60.0), ..Plan::until(second(300.0)) }, Seed::new(1))
        .unwrap()
}

/// The part of the line that flow `key` gets through.
fn part(out: &Outcome, key: usize) -> f64 {
    out.groups[key].counters.goodput_bytes as f64 * 8.0 / 240.0 / 1e7
}

#[test]
fn alone_it_fills_the_line_and_keeps_the_queue_at_its_target() {
    for delayed_ack in [0, 40] {
        let delayed_ack = Span::from_millis(delayed_ack);
        let out = share(&[Tcp { delayed_ack, ..ledbat() }], 1000);
        let waited = out.links[0].delay.mean.unwrap().as_secs();
        assert!(out.links[0].utilization > 0.999, "{}", out.links[0].utilization);
        // The least delay has a packet's own transmission in it; the window is whole segments.
        assert!((waited - 0.1).abs() < 0.003, "{waited}");
        assert_eq!(out.links[0].all_drops().packets, 0);
    }
}

/// Of a shorter target the queue is shorter.
#[test]
fn the_queue_goes_with_the_target() {
    let params = LedbatParams { target: Span::from_millis(25), ..LedbatParams::default() };
    let out = share(&[Tcp { congestion: Congestion::Ledbat(params), ..Tcp::sack() }], 1000);
    let waited = out.links[0].delay.mean.unwrap().as_secs();
    assert!((waited - 0.025).abs() < 0.003 && out.links[0].utilization > 0.999, "{waited}");
}

/// Rossi et al. 2010: in a buffer of more than its target it leaves Reno nearly all of the line.
/// 300 packets are 240 ms.
#[test]
fn beside_reno_it_yields() {
    for order in [[Tcp::sack(), ledbat()], [ledbat(), Tcp::sack()]] {
        let out = share(&order, 300);
        let of = |congestion: &Congestion| {
            part(&out, order.iter().position(|tcp| tcp.congestion == *congestion).unwrap())
        };
        let (reno, ledbat) = (of(&Congestion::Reno), of(&ledbat().congestion));
        assert!(ledbat < 0.02 && reno > 0.98, "{reno} and {ledbat}");
        assert!(ledbat > 0.001, "it goes on: {ledbat}");
    }
}

/// In a buffer of 20 ms it never sees its target, and only losses hold it back.
#[test]
fn in_a_short_buffer_it_cannot_yield() {
    let out = share(&[Tcp::sack(), ledbat()], 25);
    let (reno, ledbat) = (part(&out, 0), part(&out, 1));
    assert!(ledbat > 0.3, "{reno} and {ledbat}");
}
