//! BARE against its paper: the naive twin, the golden numbers, and what the paper says that holds on the queue alone.
#[path = "naive/bare.rs"]
mod naive;

use naive::{NaiveBare, Setting, Threshold};

/// cho2001 §III-A, on its link of 10 Mbit/s.
const PAPER: Setting = Setting {
    c: 1.2,
    w_q: 0.006,
    beta_max: 10.0,
    beta_min: 0.5,
    beta_init: 7.5,
    k: 0.384,
    mu: 1_250_000.0,
    threshold: Threshold { most: 8000.0, least: 4000.0, roomy: 14.0, crowded: 40.0 },
    target: 0.5,
    trigger: 6.0,
    timeout: 1.5,
};

const MS: f64 = 1e6;

fn close(what: &str, a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance, "{what}: {a}, expected {b}");
}

/// §III-B: at half of max_th a flow with beta 7.5 loses .5^7.5 of its packets; at max_th all.
#[test]
fn the_twin_gives_the_golden_probabilities() {
    let mut bare = NaiveBare::new(PAPER);
    assert_eq!(bare.arrive(0.0, 1, 3000.0), None, "the first packet of a flow is always let in");
    bare.buffered(0.0, 1, 3000.0);
    for (size, p) in [(1000.0, 0.0055243), (3000.0, 0.1156004), (5000.0, 1.0)] {
        close("p", bare.clone().arrive(0.0, 1, size).unwrap(), p, 5e-8);
    }
}

/// 1000 bytes every 8 ms: 2577.2 B/s after the first interval, 125 000 B/s in the end.
#[test]
fn the_twin_gives_the_golden_rate() {
    let mut bare = NaiveBare::new(PAPER);
    bare.buffered(0.0, 1, 1000.0);
    for n in 1..=600 {
        bare.depart((n - 1) as f64 * 8.0 * MS, 1, 1000.0);
        bare.buffered(n as f64 * 8.0 * MS, 1, 1000.0);
        if n == 1 {
            close("first step", bare.flows[&1].rate, 2577.227, 0.0005);
        }
    }
    close("fixed point", bare.flows[&1].rate, 125_000.0, 1.0);
}

/// Twice the fair rate above the target halves beta down to .5; otherwise it grows by a fifth up to 10.
#[test]
fn the_twin_gives_the_golden_betas() {
    let after = |avg_q: f64| {
        let mut bare = NaiveBare::new(PAPER);
        bare.buffered(0.0, 1, 8000.0);
        bare.avg_q = avg_q;
        let mut betas = Vec::new();
        for _ in 0..5 {
            let flow = bare.flows.get_mut(&1).unwrap();
            (flow.rate, flow.count, flow.q) = (2.0 * PAPER.mu, 48_000.0 - 1000.0, 0.0);
            bare.arrive(0.0, 1, 1000.0);
            assert_eq!(bare.flows[&1].count, 0.0);
            betas.push(bare.flows[&1].beta);
        }
        betas
    };
    assert_eq!(after(4001.0), [3.75, 1.875, 0.9375, 0.5, 0.5]);
    assert_eq!(after(4000.0), [9.0, 10.0, 10.0, 10.0, 10.0]);
}

/// The virtual threshold: 8000 B a flow to 14 flows, 160 kB at 40, 4000 B a flow beyond.
#[test]
fn the_twin_gives_the_golden_thresholds() {
    for (n, vth) in [(5, 40_000.0), (14, 112_000.0), (20, 123_076.9), (30, 141_538.5), (40, 160_000.0), (68, 272_000.0)]
    {
        close("Vth", PAPER.threshold.at(n as f64), vth, 0.05);
    }
}

/// A flow is forgotten 1.5 s after its last buffering, and not while something of it waits.
#[test]
fn the_twin_forgets() {
    let mut bare = NaiveBare::new(PAPER);
    bare.buffered(0.0, 1, 1000.0);
    bare.buffered(0.0, 2, 1000.0);
    bare.depart(1.0 * MS, 1, 1000.0);
    bare.forget(1499.999 * MS);
    assert_eq!(bare.flows.len(), 2);
    bare.forget(1500.0 * MS);
    assert_eq!(bare.flows.keys().collect::<Vec<_>>(), [&2]);
}
