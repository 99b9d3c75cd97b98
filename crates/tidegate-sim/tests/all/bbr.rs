//! BBR on paths that its model is to find out.
use tidegate::catalog::AnyQueue;
use tidegate::{Bytes, Link, Rate, Rng, Seed, Size, Span, Time, catalog};
use tidegate_sim::{Cbr, Flow, Network, NodeId, Outcome, Plan, Source, Tcp, simulate};

const RATE: Rate = Rate::from_bps(10_000_000);
/// One way; there and back fifty segments of 1000 B are under way at 10 Mbit/s.
const DELAY: Span = Span::from_millis(20);
/// How long it takes the line to send three quanta and what is on its way in.
const SLACK: Span = Span::from_millis(8);

fn second(s: f64) -> Time {
    Time::ZERO + Span::from_secs(s)
}

/// A line of 10 Mbit/s with room for a second of it.
struct Path {
    network: Network<AnyQueue>,
    ends: [NodeId; 2],
    flows: u64,
}

impl Path {
    fn new() -> Path {
        let mut network = Network::new();
        let ends = ["a", "b"].map(|name| network.node(name));
        let link = Link::new(RATE, Size::Packets(1250), Bytes::new(1000)).unwrap();
        let queue = catalog::config("drop_tail", None, &link)
            .unwrap()
            .build(link, Rng::from_seed(1))
            .unwrap();
        network.queue("a->b", (ends[0], ends[1]), RATE, DELAY, queue);
        network.link("b->a", ends[1], ends[0], RATE, DELAY);
        Path { network, ends, flows: 0 }
    }

    fn with(mut self, (start, stop): (f64, f64), source: Source) -> Path {
        let group = self.network.group(format!("flow {}", self.flows));
        let [from, to] = self.ends;
        let (start, stop) = (second(start), second(stop));
        self.network.flow(Flow { group, from, to, key: self.flows, class: 0, start, stop, source });
        self.flows += 1;
        self
    }

    /// What `from` to `to` saw, in seconds, with the seed.
    fn run(self, (from, to): (f64, f64), seed: u64) -> Outcome {
        let plan = Plan { warmup: second(from), ..Plan::until(second(to)) };
        simulate(self.network, &plan, Seed::new(seed)).unwrap()
    }
}

/// The share of the line that each flow got.
fn shares(outcome: &Outcome) -> Vec<f64> {
    let window = outcome.plan.window();
    outcome
        .groups
        .iter()
        .map(|g| g.counters.delivered.rate(window) / RATE.as_bps() as f64)
        .collect()
}

fn waits(outcome: &Outcome) -> [Span; 2] {
    let delay = outcome.links[0].delay;
    [delay.p50.unwrap(), delay.p99.unwrap()]
}

#[test]
fn alone_it_fills_the_line_and_not_the_queue() {
    for seed in 1..6 {
        let path = Path::new().with((0.0, 1e6), Source::Tcp(Tcp::bbr()));
        let outcome = path.run((5.0, 65.0), seed);
        let (shares, [p50, p99]) = (shares(&outcome), waits(&outcome));
        // Six ProbeRTTs of a quarter of a second, of which each leaves a tenth of the line, would
        // cost 2 %.
        assert!(shares[0] > 0.95, "{shares:?}");
        // What is taken to wait in both ends, three quanta of two segments, waits here: 4.8 ms. The
        // phase of 5/4 adds a quarter of the product.
        assert!(p50 < SLACK && p99 < SLACK + Span::from_millis(10), "{p50} {p99}");
        assert_eq!(outcome.flows[0].counters.retransmits, 0);
    }
}

/// Startup overshoots by as much as a round trip at twice the rate brings, and Drain takes it away
/// again.
#[test]
fn startup_fills_the_line_at_once_and_drain_empties_the_queue() {
    let path = || Path::new().with((0.0, 1e6), Source::Tcp(Tcp::bbr()));
    let begin = path().run((0.0, 1.0), 1);
    // From 10 segments a round trip to 50 there are three doublings, 120 ms.
    assert!(shares(&begin)[0] > 0.8, "{:?}", shares(&begin));
    let most = most_waited(&begin);
    assert!(most > Span::from_millis(30) && most < Span::from_millis(100), "{most}");
    let after = path().run((1.0, 3.0), 1);
    assert!(waits(&after)[0] < SLACK, "{:?}", waits(&after));
}

fn most_waited(outcome: &Outcome) -> Span {
    outcome.links[0].delay.p99.unwrap()
}

/// A flood of a tenth more than the line has filled the queue, so that for 20 s no round trip was
/// short. When it is gone BBR finds the least round trip again, within 10 s: so long it waits
/// before it looks.
#[test]
fn the_least_round_trip_is_found_again_after_a_queue() {
    let flood = Source::Cbr(Cbr::new(Rate::from_bps(11_000_000), Bytes::new(1000)));
    let path =
        || Path::new().with((0.0, 1e6), Source::Tcp(Tcp::bbr())).with((5.0, 25.0), flood.clone());
    let during = path().run((15.0, 25.0), 1);
    assert!(waits(&during)[0] > Span::from_millis(500), "{:?}", waits(&during));
    let after = path().run((40.0, 60.0), 1);
    let (shares, [p50, _]) = (shares(&after), waits(&after));
    assert!(shares[0] > 0.95 && p50 < SLACK, "{shares:?} {p50}");
}

/// Two that begin apart share in the long run, since ProbeRTT lets both see the path without their
/// queue.
#[test]
fn two_share_the_line() {
    let mut sums = [0.0; 2];
    for seed in 1..4 {
        let path = Path::new()
            .with((0.0, 1e6), Source::Tcp(Tcp::bbr()))
            .with((10.0, 1e6), Source::Tcp(Tcp::bbr()));
        let outcome = path.run((40.0, 120.0), seed);
        let shares = shares(&outcome);
        assert!(shares[0] + shares[1] > 0.95, "{shares:?}");
        (0..2).for_each(|i| sums[i] += shares[i]);
        // Each keeps twice what it takes for its product under way, and what both take for theirs
        // is up to 5/4 of the line's: a product and a half waits, and the quanta.
        assert!(waits(&outcome)[1] < Span::from_millis(60) + SLACK, "{:?}", waits(&outcome));
    }
    assert!((0.6..1.7).contains(&(sums[0] / sums[1])), "{sums:?}");
}
