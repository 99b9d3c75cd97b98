//! TFRC against its equation, where packets are lost at random.
use tidegate::policy::{Fifo, Policy, QueueView, Verdict};
use tidegate::{Bytes, DropReason, Link, Packet, Prob, Rate, Rng, Seed, Size, Span, Time};
use tidegate_sim::sources::{TfrcRules, Times};
use tidegate_sim::{Flow, GroupOutcome, Network, Plan, Source, Tfrc, simulate};

/// Every packet is lost with the same probability.
#[derive(Clone, Debug)]
struct Lossy(Prob);

impl Policy for Lossy {
    fn arrive(&mut self, _: Time, _: &mut Packet, _: &impl QueueView, dice: &mut Rng) -> Verdict {
        if dice.chance(self.0.get()) { Verdict::Drop(DropReason::Early) } else { Verdict::Admit }
    }
}

/// One flow over 100 Mbit/s with round trips of 100 ms, for 1000 s after a warm-up of 50 s.
fn alone(loss: f64, seed: u64, tfrc: Tfrc) -> GroupOutcome {
    let mut network = Network::new();
    let [a, b] = ["a", "b"].map(|name| network.node(name));
    let rate = Rate::from_bps(100_000_000);
    let link = Link::new(rate, Size::Packets(10_000), Bytes::new(1000)).unwrap();
    let queue = Fifo::new(Lossy(Prob::clip(loss)), link, Rng::from_seed(seed));
    network.queue("a->b", (a, b), rate, Span::from_micros(49_940), queue);
    network.link("b->a", b, a, rate, Span::from_micros(49_976));
    let group = network.group("tfrc");
    let source = Source::Tfrc(tfrc);
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
    let second = |s| Time::ZERO + Span::from_secs(s);
    let plan = Plan { warmup: second(50.0), ..Plan::until(second(1050.0)) };
    simulate(network, &plan, Seed::new(seed)).unwrap().groups.remove(0)
}

/// The rate at which the equation holds. In the round trip after an event losses are of the same
/// event. So the interval to the next is 1/p and a round trip's packets long.
fn wanted(loss: f64) -> f64 {
    let (mut low, mut high) = (10.0, 12.5e6);
    for _ in 0..100 {
        let rate = (low + high) / 2.0;
        let events = 1.0 / (1.0 / loss + rate * 0.1 / 1000.0);
        if TfrcRules::Rfc.rate(1000.0, Times::of(0.1), events) > rate {
            low = rate
        } else {
            high = rate
        }
    }
    low
}

#[test]
fn it_sends_what_its_equation_says() {
    // Measured: 1.01, 1.00, 1.00, 0.98 and 0.92 of it; two runs of 1000 s leave a deviation of 1 %.
    for loss in [0.001, 0.003, 0.01, 0.05, 0.1] {
        let rates = [0, 1]
            .map(|seed| alone(loss, seed, Tfrc::default()).counters.sent.bytes as f64 / 1000.0);
        let ratio = (rates[0] + rates[1]) / 2.0 / wanted(loss);
        assert!((0.9..1.1).contains(&ratio), "{loss}: {rates:?} is not {}", wanted(loss));
    }
}

#[test]
fn without_loss_it_fills_the_line_and_does_not_stop() {
    let group = alone(0.0, 1, Tfrc::default());
    assert!(group.counters.delivered.rate(Span::from_secs(1000.0)) > 95e6, "{group:?}");
    assert_eq!(group.counters.timeouts, 0);
}
