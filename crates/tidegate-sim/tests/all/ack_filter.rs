//! CAKE's filter of acknowledgements on a slow way back.
use tidegate::catalog::{self, AnyQueue};
use tidegate::{Bytes, Link, Rate, Rng, Seed, Size, Span, Time};
use tidegate_sim::sources::tcp::Congestion;
use tidegate_sim::{Flow, Network, Outcome, Plan, Source, Tcp, simulate, simulate_by_packet};

/// Four downloads over 50 Mbit/s there and 1 Mbit/s back, where CAKE filters or not. Packets have
/// 1500 bytes; each is acknowledged by a frame of 84 bytes, the least that Ethernet sends.
fn network(filter: &str, delayed_ms: u64) -> Network<AnyQueue> {
    let mut network = Network::new();
    let [a, b] = ["a", "b"].map(|name| network.node(name));
    let half = Span::from_millis(20);
    let queue = |name: &str, rate: Rate, settings: &[(&str, &str)]| {
        let link = Link::new(rate, Size::Bytes(rate.as_bps() / 40), Bytes::new(1500)).unwrap();
        let mut config = catalog::config(name, None, &link).unwrap();
        settings.iter().for_each(|(name, value)| config.set(name, value).unwrap());
        (config.asks(), config.build(link, Rng::from_seed(7)).unwrap())
    };
    let (down, up) = (Rate::from_bps(50_000_000), Rate::from_bps(1_000_000));
    network.queue("down", (a, b), down, half, queue("fq_codel", down, &[]).1);
    let (asks, cake) = queue("cake", up, &[("ack_filter", filter)]);
    network.queue("up", (b, a), up, half, cake);
    network.ask(asks);
    let group = network.group("downloads");
    for key in 0..4 {
        let tcp = Tcp {
            segment: Bytes::new(1500),
            ack: Bytes::new(84),
            delayed_ack: Span::from_millis(delayed_ms),
            congestion: Congestion::Cubic(Default::default()),
            ..Tcp::sack()
        };
        let start = Time::ZERO + Span::from_millis(100 * key);
        let (source, stop) = (Source::Tcp(tcp), Time::MAX);
        network.flow(Flow { group, from: a, to: b, key, class: 0, start, stop, source });
    }
    network
}

fn plan(seconds: f64) -> Plan {
    let at = |second| Time::ZERO + Span::from_secs(second);
    Plan { warmup: at(seconds / 4.0), ..Plan::until(at(seconds)) }
}

/// Of the line there, how much is goodput.
fn goodput(outcome: &Outcome) -> f64 {
    let bytes = outcome.groups[0].counters.goodput_bytes as f64;
    bytes * 8.0 / outcome.plan.window().as_secs() / 50e6
}

/// With the filter a download fills its line, which it does not without.
#[test]
fn downloads_fill_their_line_although_the_way_back_is_slow() {
    for delayed_ms in [0, 40] {
        let [no, filter, aggressive] = ["no", "filter", "aggressive"].map(|filter| {
            let network = network(filter, delayed_ms);
            let outcome = simulate(network, &plan(40.0), Seed::new(1)).unwrap();
            println!("{filter} {delayed_ms}: {}", goodput(&outcome));
            goodput(&outcome)
        });
        assert!(no < filter && no < aggressive, "{no} {filter} {aggressive}");
    }
}

/// The engine, which saves events, agrees with the simulator that saves none.
#[test]
fn the_engines_agree_on_what_is_filtered() {
    for filter in ["filter", "aggressive"] {
        let text = |mut outcome: Outcome| {
            outcome.events = 0;
            format!("{outcome:?}")
        };
        let plan = plan(4.0);
        let (slow, _) = simulate_by_packet(network(filter, 40), &plan, Seed::new(1)).unwrap();
        let fast = simulate(network(filter, 40), &plan, Seed::new(1)).unwrap();
        let gone: u64 = fast.links.iter().map(|link| link.all_drops().packets).sum();
        assert!(gone > 500, "{gone}");
        assert_eq!(text(fast), text(slow));
    }
}
