//! Two laws of waiting lines: Poisson arrivals at a link, packets of one length (M/D/1, Pollaczek
//! and Khinchine) or of exponential lengths (M/M/1). The exact mean number of waiting packets lies
//! in the 99.9 % interval of replications.
use tidegate::{Bytes, Link, Rate, Rng, Seed, Size, Span, Time, catalog};
use tidegate_sim::{Cbr, Delays, Flow, Network, Plan, Source, simulate};

/// Bytes of a packet on average; a millisecond on the link.
const MEAN: f64 = 1000.0;
const RATE: u64 = 8_000_000;

#[derive(Clone, Copy, Debug)]
enum Lengths {
    Equal,
    Exponential,
}

impl Lengths {
    /// The exact mean number of waiting packets, the one in transmission not counted.
    fn waiting(self, load: f64) -> f64 {
        match self {
            Lengths::Equal => load * load / (2.0 * (1.0 - load)),
            Lengths::Exponential => load * load / (1.0 - load),
        }
    }
}

fn exponential(mean: f64, dice: &mut Rng) -> f64 {
    -mean * libm::log(1.0 - dice.uniform())
}

/// The mean number of waiting packets over `measured` packet times after `warmup` ones. Every
/// packet is a flow of its own that stops a nanosecond after it has begun.
fn replication(lengths: Lengths, load: f64, [warmup, measured]: [u64; 2], seed: u64) -> f64 {
    let mut dice = Rng::from_seed(seed);
    let rate = Rate::from_bps(RATE);
    let link = Link::new(rate, Size::Packets(10_000_000), Bytes::new(MEAN as u64)).unwrap();
    let queue =
        catalog::config("drop_tail", None, &link).unwrap().build(link, Rng::from_seed(1)).unwrap();
    let mut network = Network::new();
    let (a, b) = (network.node("a"), network.node("b"));
    network.queue("a->b", (a, b), rate, Span::from_millis(1), queue);
    let group = network.group("all");
    let end = Time::ZERO + Span::from_millis(warmup + measured);
    let mut at = 0.0;
    loop {
        at += exponential(1e6 / load, &mut dice);
        let start = Time::from_nanos(at as u64);
        if start >= end {
            break;
        }
        let len = match lengths {
            Lengths::Equal => MEAN,
            Lengths::Exponential => exponential(MEAN, &mut dice).clamp(1.0, 65_535.0),
        };
        let source = Source::Cbr(Cbr::new(rate, Bytes::new((len + 0.5) as u64)));
        let stop = start + Span::from_nanos(1);
        network.flow(Flow { group, from: a, to: b, key: 1, class: 0, start, stop, source });
    }
    let plan = Plan {
        warmup: Time::ZERO + Span::from_millis(warmup),
        delays: Delays::Off,
        ..Plan::until(end)
    };
    simulate(network, &plan, Seed::new(seed)).unwrap().links[0].mean_packets
}

fn holds(lengths: Lengths, load: f64, times: [u64; 2]) {
    // Twelve replications; 4.437 is Student's t for 11 degrees of freedom at 99.95 %.
    let seen: Vec<f64> = (0..12).map(|i| replication(lengths, load, times, 1000 + i)).collect();
    let n = seen.len() as f64;
    let mean = seen.iter().sum::<f64>() / n;
    let square = seen.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    let (half, exact) = (4.437 * (square / n).sqrt(), lengths.waiting(load));
    assert!(
        (mean - exact).abs() <= half,
        "{lengths:?} at {load}: {mean} +- {half}, exactly {exact}"
    );
    assert!(
        half < 0.2 * exact,
        "{lengths:?} at {load}: an interval of {half} around {mean} says nothing"
    );
}

#[test]
fn equal_packets_at_half_and_four_fifths() {
    holds(Lengths::Equal, 0.5, [500, 15_000]);
    holds(Lengths::Equal, 0.8, [2_000, 15_000]);
}

#[test]
fn exponential_packets_at_half_and_four_fifths() {
    holds(Lengths::Exponential, 0.5, [500, 15_000]);
    holds(Lengths::Exponential, 0.8, [2_000, 20_000]);
}

#[test]
#[ignore = "long: six million packets, half a minute; make test-long"]
fn at_nineteen_twentieths() {
    holds(Lengths::Equal, 0.95, [30_000, 200_000]);
    holds(Lengths::Exponential, 0.95, [30_000, 300_000]);
}
