//! After warm-up the simulator allocates nothing.
#[path = "../../tidegate/tests/support/counting.rs"]
mod counting;

use counting::{Calls, calls};
use tidegate::{Bytes, Ecn, Link, Prob, Rate, Rng, Seed, Size, Span, Time, catalog};
use tidegate_sim::sources::{Begin, Flavor, Law, Web};
use tidegate_sim::{Cbr, Flow, Network, OnOff, Plan, Simulation, Source, Tcp};

/// Each kind of source by turns.
fn source(i: u64) -> Source {
    match i % 5 {
        0 => Source::Cbr(
            Cbr::new(Rate::from_bps(500_000), Bytes::new(1000)).with_jitter(Prob::clip(0.5)),
        ),
        1 if i == 1 => Source::OnOff(OnOff {
            rate: Rate::from_bps(500_000),
            packet: Bytes::new(200),
            on: Law::Scaled(
                Box::new(Law::Exponential { mean: 1 }),
                Box::new(Law::Constant(10_000_000)),
            ),
            off: Law::Pareto { shape: 1.5, least: 10_000_000 },
            begin: Begin::Either,
            ecn: Ecn::NotEct,
        }),
        // Rings and boards are as long as what is outstanding, which the window bounds.
        3 if i == 3 => Source::Tcp(Tcp { receiver_window: 60, ..Tcp::bbr() }),
        2 if i == 2 => Source::Web(Web::neidhardt(Tcp::new_reno())),
        2 => Source::Tcp(Tcp { delayed_ack: Span::from_millis(40), ..Tcp::new_reno() }),
        _ => Source::Tcp(Tcp::ns2(Flavor::NewReno)),
    }
}

/// A bottleneck of 10 Mbit/s, and twenty flows with hosts of their own.
fn network() -> Network {
    let mut network = Network::new();
    let [a, b] = ["a", "b"].map(|name| network.node(name));
    let rate = Rate::from_bps(10_000_000);
    let link = Link::new(rate, Size::Packets(50), Bytes::new(1000)).unwrap();
    let queue =
        catalog::config("drop_tail", None, &link).unwrap().build(link, Rng::from_seed(1)).unwrap();
    network.queue("a->b", (a, b), rate, Span::from_millis(5), queue);
    network.link("b->a", b, a, rate, Span::from_millis(5));
    let group = network.group("all");
    for key in 0..20 {
        let [from, to] = [a, b].map(|router| {
            let host = network.node("host");
            network.duplex(host, router, Rate::from_bps(100_000_000), Span::from_millis(2));
            host
        });
        let (start, stop, source) = (Time::ZERO, Time::MAX, source(key));
        network.flow(Flow { group, from, to, key, class: 0, start, stop, source });
    }
    network
}

#[test]
fn nothing_is_allocated_after_warm_up() {
    let second = Span::from_secs(1.0);
    let plan =
        Plan { warmup: Time::ZERO + second, ..Plan::until(Time::ZERO + Span::from_secs(60.0)) };
    let mut run = Simulation::new(network(), plan, Seed::new(1)).unwrap();
    // By then every receiver has had something out of order.
    run.run_until(Time::ZERO + Span::from_secs(30.0));
    let calls = calls(|| run.run_until(Time::ZERO + Span::from_secs(59.0)));
    let outcome = run.finish();
    assert!(outcome.links[0].departures.packets > 70_000, "it ran");
    assert_eq!(calls, Calls::NONE);
}
