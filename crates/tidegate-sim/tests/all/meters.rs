//! The meters against the same figures worked out by brute force from a list of every packet sent,
//! delivered and dropped.
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tidegate::{Bytes, Link, Prob, Rate, Rng, Seed, Size, Span, Time, catalog};
use tidegate_sim::sources::Handshake;
use tidegate_sim::{
    Cbr, Delay, FairShare, Flow, GroupId, LOSS_EVENT, Network, NodeId, Outcome, Plan, STARVED,
    Simulation, Source, Spread, Tcp, Trace,
};

const WARMUP: u64 = 1_000_000_000;
const END: u64 = 9_000_000_000;
const TAU: u64 = 250_000_000;
const STEP: u64 = 400_000_000;
/// The flows' fair shares in bit/s, as if; the last may be silent by itself.
const SHARES: [(f64, bool); 3] = [(16.2e6, true), (4.3e6, true), (17e6, false)];

fn plan() -> Plan {
    Plan {
        warmup: Time::from_nanos(WARMUP),
        step: Some(Span::from_nanos(STEP)),
        rate_window: Some(Span::from_nanos(TAU)),
        ..Plan::until(Time::from_nanos(END))
    }
}

fn flow(group: GroupId, from: NodeId, to: NodeId, source: Source) -> Flow {
    let key = group.index() as u64;
    Flow { group, from, to, key, class: 0, start: Time::ZERO, stop: Time::MAX, source }
}

fn cbr(mbit: f64, packet: u64, jitter: f64) -> Source {
    let rate = Rate::from_bps((mbit * 1e6) as u64);
    Source::Cbr(Cbr::new(rate, Bytes::new(packet)).with_jitter(Prob::clip(jitter)))
}

/// a =4 Mbit/s= b =2 Mbit/s= c, a short queue at each; group 0 goes all the way with two flows,
/// group 1 to b.
fn two_queues() -> (Outcome, Trace) {
    let mut network = Network::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| network.node(name));
    for (i, (from, to, mbit)) in [(a, b, 4), (b, c, 2)].into_iter().enumerate() {
        let (rate, limit) = (Rate::from_bps(mbit * 1_000_000), Size::Packets(12));
        let link = Link::new(rate, limit, Bytes::new(1000)).unwrap();
        let queue = catalog::config("red", Some("paper"), &link)
            .unwrap()
            .build(link, Rng::from_seed(i as u64))
            .unwrap();
        let id = network.queue(format!("{i}"), (from, to), rate, Span::from_millis(3), queue);
        network.limit(id, limit);
    }
    let (through, cross) = (network.group("through"), network.group("cross"));
    network.flow(flow(through, a, c, cbr(2.3, 1000, 0.9)));
    network.flow(flow(through, a, c, cbr(0.6, 500, 0.5)));
    network.flow(flow(cross, a, b, cbr(1.7, 1200, 1.0)));
    network.fair_shares(SHARES.map(|(rate, throughout)| FairShare { rate, throughout }).into());
    let long = |nanos_a_byte: u64, delay: u64| {
        [delay, delay + 65_536 * nanos_a_byte].map(Span::from_nanos)
    };
    network.idle_ways(vec![long(6000, 6_000_000), long(6000, 6_000_000), long(2000, 3_000_000)]);
    Simulation::new(network, plan(), Seed::new(4)).unwrap().finish_traced()
}

fn counts(at: u64) -> bool {
    (WARMUP..END).contains(&at)
}

/// Mean and standard deviation as one learns them at school.
fn mean_and_sd(values: &[u64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().map(|&v| v as f64).sum::<f64>() / n;
    let square = values.iter().map(|&v| (v as f64 - mean) * (v as f64 - mean)).sum::<f64>() / n;
    (mean, square.sqrt())
}

fn is_spread_of(spread: &Spread, values: &[u64], what: &str) {
    assert!(values.len() > 20, "{what}: too few to tell, {}", values.len());
    let (mean, sd) = mean_and_sd(values);
    assert_eq!(spread.count, values.len() as u64, "{what}");
    assert!((spread.mean().unwrap() - mean).abs() <= 1e-9 * mean, "{what}");
    assert!((spread.deviation().unwrap() - sd).abs() <= 1e-9 * mean, "{what}");
    assert!((spread.variation().unwrap() - sd / mean).abs() <= 1e-9, "{what}");
}

fn is_delay_of(delay: Delay, mut values: Vec<u64>, what: &str) {
    let (mean, sd) = mean_and_sd(&values);
    let nanos = |span: Option<Span>| span.unwrap().as_nanos() as f64;
    assert!((nanos(delay.mean) - mean).abs() <= 1.0, "{what}: {:?} for {mean}", delay.mean);
    assert!((nanos(delay.sd) - sd).abs() <= 1.0, "{what}: {:?} for {sd}", delay.sd);
    values.sort_unstable();
    for (q, got) in [(0.5, delay.p50), (0.95, delay.p95), (0.99, delay.p99)] {
        let exact = values[(q * values.len() as f64) as usize] as f64;
        assert!(
            (nanos(got) - exact).abs() <= exact / 32.0 + 1024.0,
            "{what} q {q}: {got:?} for {exact}"
        );
    }
}

#[test]
fn delays_from_end_to_end() {
    let (outcome, trace) = two_queues();
    let sent: BTreeMap<(u32, u32), u64> =
        trace.sent.iter().map(|&(at, flow, seq, _)| ((flow, seq), at)).collect();
    for group in 0..2 {
        let seen = trace
            .delivered
            .iter()
            .filter(|s| counts(s.0) && outcome.flows[s.1 as usize].group.index() == group);
        let took: Vec<u64> = seen.map(|&(at, flow, seq, _)| at - sent[&(flow, seq)]).collect();
        is_delay_of(outcome.groups[group].one_way, took, "one way");
    }
}

#[test]
fn variation_is_what_a_packet_takes_beyond_an_idle_way() {
    let (outcome, trace) = two_queues();
    let sent: BTreeMap<(u32, u32), u64> =
        trace.sent.iter().map(|&(at, flow, seq, _)| ((flow, seq), at)).collect();
    for group in 0..2 {
        // 4 and 2 Mbit/s are 2 and 4 us a byte; each link has 3 ms.
        let idle =
            |len: u64| if group == 0 { len * 6000 + 6_000_000 } else { len * 2000 + 3_000_000 };
        let seen = trace
            .delivered
            .iter()
            .filter(|s| counts(s.0) && outcome.flows[s.1 as usize].group.index() == group);
        let over: Vec<u64> =
            seen.map(|&(at, flow, seq, len)| at - sent[&(flow, seq)] - idle(len as u64)).collect();
        is_delay_of(outcome.groups[group].variation.unwrap(), over, "variation");
    }
}

/// Flows of UDP and short transfers of TCP, which begin with a handshake, at a short queue; all are
/// at rest at the end.
fn short_transfers() -> (Outcome, Trace) {
    let mut network = Network::new();
    let [a, b] = ["a", "b"].map(|name| network.node(name));
    let (rate, limit) = (Rate::from_bps(4_000_000), Size::Packets(8));
    let link = Link::new(rate, limit, Bytes::new(1000)).unwrap();
    let queue =
        catalog::config("drop_tail", None, &link).unwrap().build(link, Rng::from_seed(1)).unwrap();
    network.queue("a->b", (a, b), rate, Span::from_millis(5), queue);
    network.link("b->a", b, a, Rate::from_bps(1_000_000_000), Span::from_millis(5));
    let (udp, tcp) = (network.group("udp"), network.group("tcp"));
    for mbit in [4.4, 1.3] {
        let stop = Time::from_nanos(7_000_000_000);
        network.flow(Flow { stop, ..flow(udp, a, b, cbr(mbit, 700, 1.0)) });
    }
    for n in 0..60 {
        let start = Time::from_nanos(n * 83_333_333);
        let source = Source::Tcp(Tcp {
            data: Some(4),
            handshake: Handshake::Syn,
            initial_rto: Span::from_millis(400),
            ..Tcp::new_reno()
        });
        network.flow(Flow { start, ..flow(tcp, a, b, source) });
    }
    network.idle_ways(vec![[Span::ZERO; 2]; 62]);
    let plan = Plan::until(Time::from_nanos(20_000_000_000));
    Simulation::new(network, plan, Seed::new(3)).unwrap().finish_traced()
}

#[test]
fn runs_of_losses_are_gaps_in_the_numbers_that_arrive() {
    let (outcome, trace) = short_transfers();
    for flow in 0..2 {
        let seqs = |all: &[(u64, u32, u32, u16)]| -> BTreeSet<u32> {
            all.iter().filter(|s| s.1 == flow).map(|s| s.2).collect()
        };
        let (sent, got) = (seqs(&trace.sent), seqs(&trace.delivered));
        let lost: Vec<u32> = sent.difference(&got).copied().collect();
        let runs = lost.iter().filter(|seq| **seq == 0 || got.contains(&(**seq - 1))).count();
        assert!(runs > 20 && lost.len() > runs + 20, "{runs} runs of {} losses", lost.len());
        let flow = &outcome.flows[flow as usize];
        assert_eq!(
            (flow.loss_runs, flow.counters.dropped.packets),
            (Some(runs as u32), lost.len() as u64)
        );
    }
}

#[test]
fn requests_arrive_and_transfers_end_when_the_list_says_so() {
    let (outcome, trace) = short_transfers();
    let mut took = vec![];
    for n in 0..60 {
        let flow = n + 2;
        let at = |seq: u32| {
            let found = trace.delivered.iter().find(|s| s.1 == flow && s.2 == seq);
            found.expect("every segment arrives at last").0
        };
        took.push(at(0) - n as u64 * 83_333_333);
        let end = (1..=4).map(at).max().map(Time::from_nanos);
        assert_eq!(outcome.flows[flow as usize].finished, end, "flow {n}");
    }
    let again = took.iter().filter(|took| **took > 400_000_000).count();
    assert!((3..40).contains(&again), "{again} requests were lost: too few to tell anything");
    let startup = outcome.groups[1].startup.unwrap();
    let nanos = |span: Option<Span>| span.unwrap().as_nanos() as f64;
    let (mean, sd) = mean_and_sd(&took);
    assert!((nanos(startup.mean) - mean).abs() <= 1.0 && (nanos(startup.sd) - sd).abs() <= 1.0);
    assert_eq!(outcome.groups[0].startup.unwrap().mean, None);
}

#[test]
fn gaps_between_drops() {
    let (outcome, trace) = two_queues();
    let gaps = |which: &dyn Fn(u32) -> bool, link: u32| -> Vec<u64> {
        let drops = trace.dropped.iter().filter(|d| counts(d.0) && d.1 == link && which(d.2));
        let times: Vec<u64> = drops.map(|d| d.0).collect();
        times.windows(2).map(|pair| pair[1] - pair[0]).collect()
    };
    for (link, l) in (0..).zip(&outcome.links) {
        is_spread_of(&l.drop_gaps, &gaps(&|_| true, link), "a queue's drops");
    }
    for (g, group) in outcome.groups.iter().enumerate() {
        let of = |flow: u32| outcome.flows[flow as usize].group.index() == g;
        is_spread_of(&group.drop_gaps, &[gaps(&of, 0), gaps(&of, 1)].concat(), "a group's drops");
    }
    for (f, flow) in (0..).zip(&outcome.flows) {
        let of = |flow: u32| flow == f;
        is_spread_of(&flow.drop_gaps, &[gaps(&of, 0), gaps(&of, 1)].concat(), "a flow's drops");
    }
}

/// The congestion events of a group as lists of flows: each begins with a drop while none is on.
fn loss_events(outcome: &Outcome, trace: &Trace, group: usize, link: u32) -> Vec<BTreeSet<u32>> {
    let of = |flow: u32| outcome.flows[flow as usize].group.index() == group;
    let mut events: Vec<(u64, BTreeSet<u32>)> = vec![];
    for &(at, _, flow, _) in trace.dropped.iter().filter(|d| counts(d.0) && d.1 == link && of(d.2))
    {
        match events.last_mut() {
            Some((begin, flows)) if at - *begin < LOSS_EVENT.as_nanos() => {
                flows.insert(flow);
            }
            _ => events.push((at, BTreeSet::from([flow]))),
        }
    }
    events.into_iter().map(|(_, flows)| flows).collect()
}

#[test]
fn congestion_events_and_who_loses_in_them() {
    let (outcome, trace) = two_queues();
    let mut together = 0;
    for (g, group) in outcome.groups.iter().enumerate() {
        let all: Vec<_> =
            [0, 1].into_iter().flat_map(|link| loss_events(&outcome, &trace, g, link)).collect();
        assert_eq!(group.observed.loss_events, all.len() as u64, "{}", group.name);
        together += all.iter().filter(|flows| flows.len() > 1).count();
        for (f, flow) in (0..).zip(&outcome.flows).filter(|(_, flow)| flow.group.index() == g) {
            let lost = all.iter().filter(|flows| flows.contains(&f)).count();
            assert_eq!(flow.observed.loss_events as usize, lost, "flow {f}");
        }
    }
    assert!(together > 20, "both flows lose in {together} events: too few to tell anything");
}

#[test]
fn windows_in_which_a_flow_starves() {
    let (outcome, trace) = two_queues();
    for ((f, flow), (share, throughout)) in (0..).zip(&outcome.flows).zip(SHARES) {
        // Of these sources everything that is delivered is new.
        let mut windows = vec![0u64; ((END - WARMUP) / TAU) as usize];
        for &(at, _, _, len) in trace.delivered.iter().filter(|s| s.1 == f && counts(s.0)) {
            windows[((at - WARMUP) / TAU) as usize] += len as u64;
        }
        let rate = |bytes: u64| bytes as f64 * 8.0 / (TAU as f64 / 1e9);
        let starved = windows.iter().filter(|bytes| rate(**bytes) < STARVED * share).count();
        assert_eq!(flow.observed.starved, throughout.then_some(starved as u64), "flow {f}");
        assert!(
            !throughout || (2..30).contains(&starved),
            "flow {f}: {starved} tell nothing, {windows:?}"
        );
    }
}

#[test]
fn rates_in_windows_and_on_the_grid() {
    let (outcome, trace) = two_queues();
    for (f, flow) in (0..).zip(&outcome.flows) {
        let mut windows = vec![0u64; ((END - WARMUP) / TAU) as usize];
        for &(at, _, _, len) in trace.delivered.iter().filter(|s| s.1 == f && counts(s.0)) {
            windows[((at - WARMUP) / TAU) as usize] += len as u64;
        }
        is_spread_of(&flow.windows, &windows, "bytes a window");
    }
    for group in 0..2 {
        let of = |flow: u32| outcome.flows[flow as usize].group.index() == group;
        for k in 0..(END / STEP) {
            let within = |at: u64| (k * STEP..(k + 1) * STEP).contains(&at);
            let got = trace
                .delivered
                .iter()
                .filter(|s| of(s.1) && within(s.0))
                .map(|s| s.3 as u64)
                .sum::<u64>();
            let lost = trace
                .dropped
                .iter()
                .filter(|d| of(d.2) && within(d.0))
                .map(|d| d.3 as u64)
                .sum::<u64>();
            assert_eq!(outcome.delivered_bytes[group][k as usize], got, "interval {k}");
            assert_eq!(outcome.dropped_bytes[group][k as usize], lost, "interval {k}");
        }
    }
    for (l, link) in (0..).zip(&outcome.links) {
        let series = link.series.as_ref().unwrap();
        let lost =
            |k: u64| trace.dropped.iter().filter(|d| d.1 == l && d.0 / STEP == k).count() as u32;
        assert_eq!(series.dropped, (0..END / STEP).map(lost).collect::<Vec<_>>());
        let kept: u64 =
            series.offered.iter().zip(&series.dropped).map(|(o, d)| (o - d) as u64).sum();
        assert!(kept > 2000, "{kept}");
    }
}

/// One first-in first-out line with room for `limit` packets: who waits how long, and how long
/// `full` or more waited.
fn line(
    arrivals: &[(u64, u64)],
    service: impl Fn(u64) -> u64,
    limit: usize,
    full: usize,
) -> (Vec<u64>, u64) {
    let (mut free, mut dwell, mut last) = (0u64, 0u64, 0u64);
    let mut waits = vec![];
    // Of those that wait: when transmission begins.
    let mut starts: VecDeque<u64> = VecDeque::new();
    let clip = |at: u64| at.clamp(WARMUP, END);
    for &(at, len) in arrivals.iter().chain([&(END, 0)]) {
        while let Some(&start) = starts.front().filter(|&&start| start <= at) {
            dwell += if starts.len() >= full { clip(start) - clip(last) } else { 0 };
            last = start;
            starts.pop_front();
        }
        dwell += if starts.len() >= full { clip(at) - clip(last) } else { 0 };
        last = at;
        if starts.len() < limit && len > 0 {
            let start = free.max(at);
            free = start + service(len);
            if counts(start) {
                waits.push(start - at);
            }
            if start > at {
                starts.push_back(start);
            }
        }
    }
    (waits, dwell)
}

#[test]
fn a_queue_that_is_nearly_full_and_how_long_one_waits_in_it() {
    let mut network = Network::new();
    let [a, b] = ["a", "b"].map(|name| network.node(name));
    let (rate, limit) = (Rate::from_bps(8_000_000), Size::Packets(40));
    let link = Link::new(rate, limit, Bytes::new(1000)).unwrap();
    let queue =
        catalog::config("drop_tail", None, &link).unwrap().build(link, Rng::from_seed(1)).unwrap();
    let id = network.queue("a->b", (a, b), rate, Span::from_millis(1), queue);
    network.limit(id, limit);
    let all = network.group("all");
    network.flow(flow(all, a, b, cbr(5.1, 1000, 1.0)));
    network.flow(flow(all, a, b, cbr(2.95, 500, 1.0)));
    let (outcome, trace) = Simulation::new(network, plan(), Seed::new(8)).unwrap().finish_traced();
    let arrivals: Vec<(u64, u64)> = trace.sent.iter().map(|s| (s.0, s.3 as u64)).collect();
    // A byte a microsecond; 95 % of 40 packets are 38.
    let (waits, dwell) = line(&arrivals, |len| len * 1000, 40, 38);
    let link = &outcome.links[0];
    assert!(dwell > 50_000_000 && dwell < END - WARMUP, "worth measuring: {dwell}");
    assert_eq!(link.nearly_full, Some(Span::from_nanos(dwell)));
    is_delay_of(link.delay, waits.clone(), "wait at the queue");
    is_delay_of(outcome.groups[0].delay, waits, "wait of the group");
}

/// One connection of 3000 segments behind a short queue: what comes back and when it is done.
#[test]
fn round_trips_completion_and_what_is_sent_again() {
    let mut network = Network::new();
    let [a, b] = ["a", "b"].map(|name| network.node(name));
    let (rate, limit) = (Rate::from_bps(8_000_000), Size::Packets(30));
    let link = Link::new(rate, limit, Bytes::new(1000)).unwrap();
    let queue =
        catalog::config("drop_tail", None, &link).unwrap().build(link, Rng::from_seed(1)).unwrap();
    network.queue("a->b", (a, b), rate, Span::from_millis(10), queue);
    // The way back is so fast that acknowledgements never wait for each other.
    network.link("b->a", b, a, Rate::from_bps(40_000_000_000), Span::from_millis(7));
    let all = network.group("all");
    let start = Time::from_nanos(123_456_789);
    let tcp = Source::Tcp(Tcp { data: Some(3000), ..Tcp::new_reno() });
    network.flow(Flow { start, ..flow(all, a, b, tcp) });
    let plan = Plan::until(Time::from_nanos(20_000_000_000));
    let (outcome, trace) = Simulation::new(network, plan, Seed::new(1)).unwrap().finish_traced();
    let group = &outcome.groups[0];
    // 40 bytes take 8 ns, and every packet that arrives is answered at once.
    let back = Span::from_millis(7) + Span::from_nanos(8);
    assert_eq!(group.round_trip.mean, group.one_way.mean.map(|there| there + back));
    assert_eq!(group.round_trip.sd, group.one_way.sd);
    // Base 18 ms and 0 to 30 packets of 1 ms each.
    assert!(
        group.one_way.mean > Some(Span::from_millis(12))
            && group.one_way.p99 < Some(Span::from_millis(43))
    );
    let mut had = vec![false; 3000];
    let mut done = None;
    for &(at, _, seq, _) in &trace.delivered {
        had[seq as usize] = true;
        if done.is_none() && had.iter().all(|&h| h) {
            done = Some(at);
        }
    }
    assert_eq!(
        (group.completions.transfers.packets, group.completions.transfers.bytes),
        (1, 3_000_000)
    );
    assert_eq!(group.completions.time.mean, done.map(|at| Time::from_nanos(at).since(start)));
    let again = trace.sent.len() as u64 - 3000;
    assert!(again > 10, "{again}");
    assert_eq!(
        (group.counters.retransmits, group.counters.retransmitted_bytes),
        (again, again * 1000)
    );
}
