//! CAKE's filter of acknowledgements on a slow way back.
use tidegate::catalog::{self, AnyQueue};
use tidegate::{Bytes, Link, Rate, Rng, Seed, Size, Span, Time};
use tidegate_sim::sources::tcp::Congestion;
use tidegate_sim::{Flow, Network, Outcome, Plan, Source, Tcp, simulate, simulate_by_packet};

/// Four downloads over 50 Mbit/s and an upload over 1 Mbit/s, where CAKE filters or not. Packets
/// have 1500 bytes; each is acknowledged by a frame of 84 bytes, the least that Ethernet sends.
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
    let [down, up] = ["downloads", "upload"].map(|name| network.group(name));
    for key in 0..5 {
        let (group, from, to) = if key < 4 { (down, a, b) } else { (up, b, a) };
        let tcp = Tcp {
            segment: Bytes::new(1500),
            ack: Bytes::new(84),
            delayed_ack: Span::from_millis(delayed_ms),
            congestion: Congestion::Cubic(Default::default()),
            ..Tcp::sack()
        };
        let start = Time::ZERO + Span::from_millis(100 * key);
        let (source, stop) = (Source::Tcp(tcp), Time::MAX);
        network.flow(Flow { group, from, to, key, class: 0, start, stop, source });
    }
    network
}

fn plan(seconds: f64) -> Plan {
    let at = |second| Time::ZERO + Span::from_secs(second);
    Plan { warmup: at(seconds / 4.0), ..Plan::until(at(seconds)) }
}

/// How much of its line is goodput, of the downloads and of the upload.
fn goodput(filter: &str, delayed_ms: u64) -> [f64; 2] {
    let outcome = simulate(network(filter, delayed_ms), &plan(40.0), Seed::new(1)).unwrap();
    [(0, 50e6), (1, 1e6)].map(|(group, line)| {
        let bytes = outcome.groups[group].counters.goodput_bytes as f64;
        bytes * 8.0 / outcome.plan.window().as_secs() / line
    })
}

/// With the filter downloads get more of their line: .93 without, .99 with it; .97 and .98 with
/// delayed acknowledgements. The upload has a fifth of its line either way, as one of five flows.
/// Without a byte count a sender grows by acknowledgements, so `aggressive` need not gain.
#[test]
fn a_slow_way_back_carries_fewer_acknowledgements() {
    for delayed_ms in [0, 40] {
        let got = ["no", "filter"].map(|filter| goodput(filter, delayed_ms));
        assert!(got[0][0] < got[1][0], "{delayed_ms}: {got:?}");
        assert!(got.iter().all(|[_, up]| (up - 0.2).abs() < 0.01), "{delayed_ms}: {got:?}");
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
