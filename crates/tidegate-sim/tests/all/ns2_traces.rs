//! What ns-2's TCP sends when exactly given packets are lost or marked (`validation/ns2/traces`),
//! against the oracle and against the simulator.
use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;

use crate::newreno::Sender;
use tidegate::{Backlog, Bytes, DropReason, Ecn, Packet, Qdisc, Rate, Seed, Sink, Span, Time};
use tidegate_sim::sources::tcp::{AimdParams, BinomialParams, Congestion, VegasParams};
use tidegate_sim::sources::{EcnUse, Flavor};
use tidegate_sim::{Flow, Network, Plan, Simulation, Source, Tcp};

/// A recorded run: what the second link did, and each packet sent, with its time in seconds.
struct Trace {
    name: String,
    tcp: Tcp,
    /// Arrivals lost, by number.
    lost: BTreeSet<u64>,
    /// Those marked, by number among the others; `None` without ECN.
    marked: Option<BTreeSet<u64>>,
    sent: Vec<(f64, i64)>,
}

/// The numbers in `words`.
fn numbers(words: &str) -> BTreeSet<u64> {
    words.split_whitespace().map(|n| n.parse().unwrap()).collect()
}

/// ns-2's NewReno with another congestion control.
fn with(congestion: Congestion) -> Tcp {
    Tcp { congestion, ..Tcp::ns2(Flavor::NewReno) }
}

fn traces() -> Vec<Trace> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../validation/ns2/traces");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let (head, rows) = text.split_once('\n').unwrap();
        let row = |line: &str| {
            line.split_once(',').map(|(t, n)| (t.parse().unwrap(), n.parse().unwrap())).unwrap()
        };
        let (sender, fates) = head.split_once(" lost").unwrap();
        let (lost, marked) =
            fates.split_once(" marked").map_or((fates, None), |(l, m)| (l, Some(m)));
        Trace {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            tcp: match sender {
                "newreno" => Tcp::ns2(Flavor::NewReno),
                "reno" => Tcp::ns2(Flavor::Reno),
                "sack1" => Tcp::ns2(Flavor::Sack),
                // ns-2's Vegas adds no headers to its packets.
                "vegas" => {
                    let congestion = Congestion::Vegas(VegasParams::default());
                    Tcp { congestion, segment: Bytes::new(960), ..Tcp::ns2(Flavor::Reno) }
                }
                "aimd" => {
                    with(Congestion::Aimd(AimdParams { a: 0.75, b: 0.31, ..AimdParams::default() }))
                }
                "binomial" => {
                    let (k, l, alpha, beta) = (2.0, 0.0, 1.5, 1.0);
                    with(Congestion::Binomial(BinomialParams {
                        k,
                        l,
                        alpha,
                        beta,
                        ..BinomialParams::default()
                    }))
                }
                other => panic!("{path:?}: unknown sender {other:?}"),
            },
            lost: numbers(lost),
            marked: marked.map(numbers),
            sent: rows.lines().map(row).collect(),
        }
    };
    files.iter().map(read).collect()
}

/// A link of the recorded network: when it falls free, and what is under way on it.
struct Wire {
    rate: f64,
    delay: f64,
    free: f64,
    under_way: VecDeque<(f64, i64)>,
}

impl Wire {
    fn new(rate: f64, delay: f64) -> Wire {
        Wire { rate, delay, free: 0.0, under_way: VecDeque::new() }
    }

    fn put(&mut self, now: f64, bits: f64, number: i64) {
        self.free = self.free.max(now) + bits / self.rate;
        self.under_way.push_back((self.free + self.delay, number));
    }

    fn next(&self) -> f64 {
        self.under_way.front().map_or(f64::INFINITY, |p| p.0)
    }
}

/// The network of `tcptrace.tcl`, run until `end`: what the sender sends, and when.
fn run(lost: &BTreeSet<u64>, end: f64) -> Vec<(f64, i64)> {
    let mut sender = Sender::new(0.003);
    let mut wires = [(100e6, 0.001), (10e6, 0.024), (10e6, 0.024), (100e6, 0.001)]
        .map(|(r, d)| Wire::new(r, d));
    let (mut arrivals, mut expected, mut early) = (0, 0, BTreeSet::new());
    let mut log = vec![];
    let mut now = 0.0;
    sender.send_window(now);
    loop {
        for number in sender.out.drain(..) {
            log.push((now, number));
            wires[0].put(now, if number == 0 { 320.0 } else { 8000.0 }, number);
        }
        let timer = sender.deadline.unwrap_or(f64::INFINITY);
        let at = (0..4).min_by(|&a, &b| wires[a].next().total_cmp(&wires[b].next())).unwrap();
        if wires[at].next().min(timer) > end {
            return log;
        }
        if timer < wires[at].next() {
            now = timer;
            sender.deadline = None;
            sender.expire(now);
            continue;
        }
        let (arrival, number) = wires[at].under_way.pop_front().unwrap();
        now = arrival;
        match at {
            0 => {
                if !lost.contains(&arrivals) {
                    wires[1].put(now, if number == 0 { 320.0 } else { 8000.0 }, number);
                }
                arrivals += 1;
            }
            1 => {
                early.insert(number);
                while early.remove(&expected) {
                    expected += 1;
                }
                wires[2].put(now, 320.0, expected - 1);
            }
            2 => wires[3].put(now, 320.0, number),
            _ => sender.ack(now, number),
        }
    }
}

/// A queue without limit that loses or marks exactly given arrivals.
struct Lossy {
    lost: BTreeSet<u64>,
    marked: BTreeSet<u64>,
    arrivals: u64,
    survivors: u64,
    line: VecDeque<Packet>,
}

impl Qdisc for Lossy {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, mut pkt: Packet, out: &mut S) {
        pkt.arrived = now;
        self.arrivals += 1;
        if self.lost.contains(&(self.arrivals - 1)) {
            return out.dropped(now, &pkt, DropReason::Forced);
        }
        if self.marked.contains(&self.survivors) && pkt.ecn.is_capable() {
            pkt.ecn = Ecn::Ce;
        }
        self.survivors += 1;
        self.line.push_back(pkt);
    }
    fn dequeue<S: Sink + ?Sized>(&mut self, _: Time, _: &mut S) -> Option<Packet> {
        self.line.pop_front()
    }
    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.line.len() as u32,
            bytes: self.line.iter().map(|p| p.len as u64).sum(),
        }
    }
}

/// The same network in the simulator.
fn simulate(trace: &Trace, end: f64, seed: u64) -> Vec<(f64, i64)> {
    let mut network = Network::new();
    let [s, a, d] = ["s", "a", "d"].map(|name| network.node(name));
    let (fast, slow) = (Rate::from_bps(100_000_000), Rate::from_bps(10_000_000));
    network.duplex(s, a, fast, Span::from_millis(1));
    let queue = Lossy {
        lost: trace.lost.clone(),
        marked: trace.marked.clone().unwrap_or_default(),
        arrivals: 0,
        survivors: 0,
        line: VecDeque::new(),
    };
    network.queue("a->d", (a, d), slow, Span::from_millis(24), queue);
    network.link("d->a", d, a, slow, Span::from_millis(24));
    let group = network.group("tcp");
    let ecn = if trace.marked.is_some() { EcnUse::On } else { EcnUse::Off };
    let source = Source::Tcp(Tcp { ecn, ..trace.tcp.clone() });
    network.flow(Flow {
        group,
        from: s,
        to: d,
        key: 1,
        class: 0,
        start: Time::ZERO,
        stop: Time::MAX,
        source,
    });
    let plan = Plan::until(Time::ZERO + Span::from_secs(end));
    let (_, trace) = Simulation::new(network, plan, Seed::new(seed)).unwrap().finish_traced();
    trace
        .sent
        .iter()
        .map(|&(at, _, number, _)| (Time::from_nanos(at).as_secs(), number as i64))
        .collect()
}

fn compare(who: &str, trace: &Trace, ours: &[(f64, i64)]) {
    for (i, (theirs, ours)) in trace.sent.iter().zip(ours).enumerate() {
        let near = (theirs.0 - ours.0).abs() <= 1e-5 * theirs.0.max(1.0);
        assert!(
            near && theirs.1 == ours.1,
            "{}, packet {i}: ns-2 {theirs:?}, {who} {ours:?}",
            trace.name
        );
    }
    let (theirs, ours) = (trace.sent.len(), ours.len());
    assert!(ours >= theirs, "{}: ns-2 sent {theirs}, {who} {ours}", trace.name);
}

#[test]
fn the_simulator_sends_what_ns2_sends() {
    for trace in traces() {
        let end = trace.sent.last().unwrap().0;
        for seed in 1..4 {
            compare("we", &trace, &simulate(&trace, end + 1e-4 * end.max(1.0), seed));
        }
    }
}

#[test]
fn the_oracle_sends_what_ns2_sends() {
    let traces = traces();
    assert_eq!(traces.len(), 47);
    // The oracle knows NewReno and losses only.
    for trace in traces.iter().filter(|t| t.tcp == Tcp::ns2(Flavor::NewReno) && t.marked.is_none())
    {
        // The record has six digits.
        let end = trace.sent.last().unwrap().0;
        compare("oracle", trace, &run(&trace.lost, end + 1e-4 * end.max(1.0)));
    }
}
