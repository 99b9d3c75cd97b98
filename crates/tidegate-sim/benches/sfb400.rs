//! The speed of the simulator on the network of Feng et al. (2001): 400 NewReno flows and one CBR
//! flood of 45 Mb/s through a bottleneck of 45 Mb/s, every link 10 ms, 100 s; per-flow meters and
//! delay histograms on; one thread.
//!
//! `cargo bench -p tidegate-sim` prints, per queue, the best and the median of several runs. As
//! ns-2 needs 0.57 s for the run (1.40 s as a process), the targets are 0.11 s for the process,
//! 0.063 s for the run. Arguments: how many runs, and the one queue to run.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a benchmark reads the clock and prints"
)]
use std::time::Instant;

use tidegate::catalog::AnyConfig;
use tidegate::{Bytes, Link, Prob, Rate, Seed, Size, Span, Time, catalog};
use tidegate_sim::sources::Flavor;
use tidegate_sim::{Cbr, Flow, Network, Outcome, Plan, Source, Tcp, simulate};

/// Hosts on each side.
const HOSTS: usize = 5;

/// `queue` on `link`, `scale` times as fast.
fn config(queue: &str, link: &Link, scale: u64) -> AnyConfig {
    let mut config = catalog::config(queue, None, link).expect("a queue of the catalog");
    if queue == "red" {
        // As ns-2 is run for the comparison: 40 and 160 of 200 packets, gentle, wait.
        let (min, max) = (format!("{} packets", 40 * scale), format!("{} packets", 160 * scale));
        for (name, text) in [
            ("min", min.as_str()),
            ("max", &max),
            ("probability", "0.1"),
            ("gentle", "on"),
            ("wait", "on"),
        ] {
            config.set(name, text).expect("a parameter of RED");
        }
    }
    config
}

/// The network with `queue` before the bottleneck, `flows` TCP flows and everything `scale` times
/// as fast.
fn network(queue: &str, flows: u64, scale: u64, seed: Seed) -> Network {
    let mut network = Network::new();
    let mut dice = seed.stream("network");
    let [a, b, c] = ["A", "B", "C"].map(|name| network.node(name));
    let (delay, access, core) =
        (Span::from_millis(10), 100_000_000 * scale, Rate::from_bps(45_000_000 * scale));
    let mut hosts = |router| {
        [(); HOSTS].map(|()| {
            let host = network.node("n");
            network.duplex(host, router, Rate::from_bps(access), delay);
            host
        })
    };
    let (left, right) = (hosts(a), hosts(c));
    let link = Link::new(core, Size::Packets(200 * scale), Bytes::new(1000)).expect("a link");
    let dice_of_queue = seed.stream("queue A->B");
    let queue = config(queue, &link, scale).build(link, dice_of_queue).expect("a queue");
    network.queue("A->B", (a, b), core, delay, queue);
    network.link("B->A", b, a, core, delay);
    network.duplex(b, c, core, delay);
    let (tcp, flood) = (network.group("tcp"), network.group("flood"));
    let cbr = Cbr::new(core, Bytes::new(1000)).with_jitter(Prob::clip(0.5));
    for i in 0..=flows {
        let (from, to) =
            (left[dice.below(HOSTS as u64) as usize], right[dice.below(HOSTS as u64) as usize]);
        let start = Time::from_nanos(dice.below(1_000_000_000));
        let (group, source) = if i == flows {
            (flood, Source::Cbr(cbr.clone()))
        } else {
            (tcp, Source::Tcp(Tcp::ns2(Flavor::NewReno)))
        };
        let (key, class, stop) = (tidegate::rng::mix(i), 0, Time::MAX);
        network.flow(Flow { group, from, to, key, class, start, stop, source });
    }
    network
}

/// Seconds on the processor so far, which a busy machine disturbs less than it does the clock on
/// the wall; where the system does not tell, that clock.
fn processor_time() -> f64 {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos: Option<f64> = stat.split_whitespace().next().and_then(|n| n.parse().ok());
    nanos.map_or_else(|| START.elapsed().as_secs_f64(), |n| n / 1e9)
}

fn report(name: &str, mut seconds: Vec<f64>, outcome: &Outcome) {
    seconds.sort_by(f64::total_cmp);
    let (best, median) = (seconds[0], seconds[seconds.len() / 2]);
    let link = &outcome.links[0];
    let window = outcome.plan.window();
    println!(
        "{name:<22} best {:7.2} ms  median {:7.2} ms  {:5.1} ns/event  {:6.1} ns/bottleneck packet \
          {} events  {} departures",
        best * 1e3,
        median * 1e3,
        best * 1e9 / outcome.events as f64,
        best * 1e9 / link.departures.packets as f64,
        outcome.events,
        link.departures.packets,
    );
    let rate = |g: usize| outcome.groups[g].counters.departed.rate(window) / 1e6;
    let loss = link.all_drops().packets as f64 / link.arrivals.packets as f64;
    println!(
        "{:<22} tcp {:.2} Mbit/s, flood {:.2} Mbit/s, loss {loss:.4}, queue {:.1} packets, \
         utilization {:.4}",
        "",
        rate(0),
        rate(1),
        link.mean_packets,
        link.utilization
    );
}

fn bench(queue: &str, flows: u64, scale: u64, end: f64, runs: usize) {
    if catalog::find(queue).is_none() {
        return println!("{queue} is not in the catalog yet");
    }
    let plan = Plan::until(Time::ZERO + Span::from_secs(end));
    let mut seconds = Vec::new();
    let mut last = None;
    for run in 0..runs {
        let network = network(queue, flows, scale, Seed::new(1 + run as u64 % 2));
        let start = processor_time();
        let outcome = simulate(network, &plan, Seed::new(1)).expect("it runs");
        seconds.push(processor_time() - start);
        last = Some(outcome);
    }
    if let Some(outcome) = last {
        report(&format!("{queue} {flows} x{scale}"), seconds, &outcome);
    }
}

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let runs = arguments.first().and_then(|a| a.parse().ok()).unwrap_or(10);
    if let Some(queue) = arguments.get(1) {
        return bench(queue, 400, 1, 100.0, runs);
    }
    for queue in ["drop_tail", "red", "blue", "sfb"] {
        bench(queue, 400, 1, 100.0, runs);
    }
    // Many flows: 100,000 on about 10 Gb/s, one second.
    bench("drop_tail", 100_000, 222, 1.0, 1 + runs / 10);
}
