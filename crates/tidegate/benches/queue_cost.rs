//! What a packet costs: enqueue, and dequeue if it gets so far, at 10 Gbit/s, 1000-byte packets,
//! twice the link's rate.
//!
//! Every queue of the catalog, through `AnyQueue` and a counting sink, with flows drawn
//! uniformly of 1,000, 100,000 and a million, and with Zipf 1.1 over a million. Flows are drawn
//! beforehand; `empty` is the loop without a queue, to subtract. Figures are per offered packet
//! (criterion's `thrpt` counts packets; `time` is for 1000 of them).
//!
//! A figure means little without the path that the packets took. So for the queues below the
//! benchmark asserts that at least nine packets in ten took the path that is meant: see
//! [`Subject`].
#![allow(clippy::disallowed_macros, reason = "a benchmark prints")]
#![allow(missing_docs, reason = "criterion's macros write undocumented functions")]
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tidegate::catalog::{self, AnyQueue};
use tidegate::{Backlog, DropReason, Link, MarkReason, Packet, Qdisc, Rng, Sink, Span, Time, rng};

/// Offered in one iteration; half as many are asked for.
const BATCH: u64 = 1_000;
/// Offered before measuring, so that averages and probabilities have settled.
const WARM_UP: u64 = 4_000_000;
/// 1000 bytes at twice 10 Gbit/s.
const GAP: Span = Span::from_nanos(400);

/// A queue, how it is set, and the path that it must show.
struct Subject {
    name: &'static str,
    settings: &'static [(&'static str, &'static str)],
    path: &'static str,
    /// How many packets took it.
    took: fn(&Counts) -> u64,
    /// Which mixes of flows it must show it with.
    mixes: Mixes,
}

/// Mixes of flows.
#[derive(PartialEq)]
enum Mixes {
    All,
    /// A thousand flows. Of a million a scheme with state per flow forgets most before they come
    /// again.
    Thousand,
}

/// Limits and thresholds are such that the rule, not the hard limit, sheds the surplus, except for
/// drop-tail.
const SUBJECTS: &[Subject] = &[
    Subject {
        name: "drop_tail",
        settings: &[],
        path: "comes to a full queue: each second packet is refused",
        took: |c| 2 * c.dropped(DropReason::Overlimit),
        mixes: Mixes::All,
    },
    Subject {
        // Without `wait`, so that no branch predictor foresees the verdict. The average settles
        // above `max`, where p_b is about a third, well below certainty at 1600 and the
        // limit of 2000.
        name: "red",
        settings: &[
            ("min", "200 packets"),
            ("max", "800 packets"),
            ("probability", "0.1"),
            ("gentle", "on"),
            ("wait", "off"),
        ],
        path: DIE,
        took: rolled,
        mixes: Mixes::All,
    },
    Subject {
        name: "ared",
        settings: &[("min", "200 packets"), ("max", "800 packets")],
        path: DIE,
        took: rolled,
        mixes: Mixes::All,
    },
    Subject {
        name: "feng_red",
        settings: &[("min", "200 packets"), ("max", "1600 packets")],
        path: DIE,
        took: rolled,
        mixes: Mixes::All,
    },
    Subject {
        name: "blue",
        settings: &[("freeze_time", "1 ms"), ("d1", "0.001")],
        path: "rolls a die of p_m",
        took: |c| c.offered - c.dropped(DropReason::Overlimit),
        mixes: Mixes::All,
    },
    Subject {
        name: "sfb",
        settings: &[("bin_size", "60")],
        path: "is judged by its bins, none for want of room",
        took: |c| c.offered - c.dropped(DropReason::Overlimit),
        mixes: Mixes::All,
    },
    Subject {
        // Packets are Not-ECT, so it drops. By rates the price counts what REM has dropped itself,
        // and under a load that does not answer rises until nothing passes; by backlogs it
        // finds the price at which half does. A packet's path is the same.
        name: "rem",
        settings: &[
            ("form", "backlog"),
            ("interval", "100 us"),
            ("gamma", "2"),
            ("alpha", "0.05"),
            ("target", "500 packets"),
            ("non_ect", "drop"),
        ],
        path: "rolls a die of m, none for want of room",
        took: |c| c.offered - c.dropped(DropReason::Overlimit),
        mixes: Mixes::All,
    },
    Subject {
        // RED as above, so that the surplus is shed by dice and not by the limit.
        name: "black",
        settings: &[("min", "200 packets"), ("max", "800 packets"), ("wait", "off")],
        path: "samples the queue and rolls a die, RED's or its own",
        took: rolled,
        mixes: Mixes::All,
    },
    Subject {
        // What cannot be marked passes, so the queue is full: dearest, since every arrival samples.
        name: "purge",
        settings: &[],
        path: "samples a full queue, and each second one costs another its place",
        took: stolen,
        mixes: Mixes::All,
    },
    Subject {
        // At 4000 bytes a flow a thousand flows would fill the limit before their dice fall.
        name: "bare",
        settings: &[("least", "2500 B")],
        path: "rolls a die, biased by its flow's account",
        took: |c| c.offered - c.dropped(DropReason::Overlimit),
        mixes: Mixes::Thousand,
    },
    Subject {
        // RED as above. One packet in a thousand meets its own flow; with Zipf's flows, one in ten.
        name: "choke",
        settings: &[
            ("min", "200 packets"),
            ("max", "800 packets"),
            ("probability", "0.1"),
            ("gentle", "on"),
        ],
        path: "is compared with a waiting packet, and if it passes rolls a die",
        took: rolled,
        mixes: Mixes::All,
    },
    Subject {
        name: "fred",
        settings: &[
            ("min", "200 packets"),
            ("max", "1600 packets"),
            ("min_queue", "1 packet"),
            ("probability", "1"),
        ],
        path: "is judged by its flow's account between the thresholds",
        took: |c| c.offered - c.dropped(DropReason::Overlimit) - c.below_min,
        mixes: Mixes::All,
    },
    Subject {
        // An interval so short that the law itself sheds half of the packets: a root and a division
        // for each.
        name: "codel",
        settings: &[("target", "100 us"), ("interval", "10 us")],
        path: "finds room: the surplus is shed at the head, by the law",
        took: |c| c.offered - c.dropped(DropReason::Overlimit),
        mixes: Mixes::All,
    },
    Subject {
        // As CoDel above; BLUE stays at 0.
        name: "cobalt",
        settings: &[("target", "100 us"), ("interval", "10 us")],
        path: "finds room: the surplus is shed at the head, by CoDel",
        took: |c| c.offered - c.dropped(DropReason::Overlimit) - c.dropped(DropReason::Early),
        mixes: Mixes::All,
    },
    Subject {
        // Every flow is a host of its own, one of each in the triple's tables.
        name: "cake",
        settings: &[],
        path: "joins its queue, and each second one costs a head: of the longest queue, or by its \
             COBALT",
        took: |c| {
            let heads =
                [DropReason::Evicted, DropReason::Overlimit, DropReason::Forced, DropReason::Early];
            2 * heads.iter().map(|&why| c.dropped(why)).sum::<u64>()
        },
        mixes: Mixes::All,
    },
    Subject {
        // Two packets per flow: the dearest case, as a batch is one packet.
        name: "fq_codel",
        settings: &[],
        path: "joins its queue, and each second one costs a head: of the fattest queue, or by its \
             CoDel",
        took: |c| {
            let heads = [DropReason::Evicted, DropReason::Overlimit, DropReason::Forced];
            2 * heads.iter().map(|&why| c.dropped(why)).sum::<u64>()
        },
        mixes: Mixes::All,
    },
    Subject {
        // Two packets per flow are fewer than a PIE signals, so the longest makes room.
        name: "fq_pie",
        settings: &[],
        path: "joins its queue, and each second one costs the longest its head",
        took: stolen,
        mixes: Mixes::All,
    },
    Subject {
        // Two packets per flow: the buffer is full before the calendar.
        name: "afq",
        settings: &[],
        path: "bids for a round, and each second one finds no room or costs the farthest its own",
        took: stolen,
        mixes: Mixes::Thousand,
    },
    Subject {
        name: "tide",
        settings: &[],
        path: "reads its cells, and is charged, signalled or refused",
        took: |c| c.offered - c.dropped(DropReason::Overlimit),
        mixes: Mixes::All,
    },
    Subject {
        name: "cebinae",
        settings: &[],
        path: "passes the filter of its group, or is beyond both rounds",
        took: |c| c.offered,
        mixes: Mixes::All,
    },
    Subject {
        // A thousand flows of 20 Mbit/s each: all pass the filter, none is found.
        name: "hhf",
        settings: &[("admit_bytes", "1 MB")],
        path: "passes the filter, and each second one costs the light bucket its head",
        took: stolen,
        mixes: Mixes::Thousand,
    },
    Subject {
        // All classes have packets; the limit of all is what sheds.
        name: "drr",
        settings: &[("classes", "100")],
        path: "joins one of a hundred queues, all busy, and each second one costs the longest its \
             head",
        took: stolen,
        mixes: Mixes::Thousand,
    },
    Subject {
        // Two packets per flow.
        name: "sfq",
        settings: &[],
        path: "joins its bin, and each second one costs the longest its tail",
        took: stolen,
        mixes: Mixes::All,
    },
    Subject {
        // A hundred bins of twenty packets, all busy, whose REDs shed the surplus: p_b of a third,
        // as RED above.
        name: "sfq_red",
        settings: &[
            ("bins", "100"),
            ("bin_limit", "40 packets"),
            ("min", "2 packets"),
            ("max", "8 packets"),
            ("gentle", "on"),
        ],
        path: DIE,
        took: |c| c.offered - c.dropped(DropReason::Overlimit) - c.dropped(DropReason::Forced),
        mixes: Mixes::Thousand,
    },
    Subject {
        // RED as above, with a max_p that no bin changes: a hundred on each level, with twenty
        // packets each.
        name: "sfred",
        settings: &[
            ("bins", "100"),
            ("bin_min", "0"),
            ("bin_max", "1000"),
            ("min", "200 packets"),
            ("max", "800 packets"),
            ("gentle", "on"),
        ],
        path: "brings its bins up to date and rolls a die between the thresholds",
        took: rolled,
        mixes: Mixes::All,
    },
    Subject {
        // Gains for delays of a millisecond, where the paper's are for tens of them.
        name: "pie",
        settings: &[
            ("target", "500 us"),
            ("tupdate", "1 ms"),
            ("alpha", "10"),
            ("beta", "100"),
            ("derandomize", "off"),
        ],
        path: "is judged with a die, none for want of room",
        took: |c| c.offered - c.dropped(DropReason::Overlimit),
        mixes: Mixes::All,
    },
    Subject {
        // What is not ECN-capable joins the C queue, which the controller drops from.
        name: "dualpi2",
        settings: &[("target", "500 us"), ("tupdate", "1 ms"), ("alpha", "10"), ("beta", "100")],
        path: "joins the C queue and is judged when it leaves, none for want of room",
        took: |c| c.offered - c.dropped(DropReason::Overlimit),
        mixes: Mixes::All,
    },
    Subject {
        // Ten samples for each of a thousand flows; steps and gains for a queue that fills in a
        // fifth of a millisecond, where the paper's are for tens of them. m_fair is where
        // half of the packets go.
        name: "afd",
        settings: &[
            ("shadow", "10000"),
            ("sample", "250"),
            ("update", "100 us"),
            ("alpha", "0.01"),
            ("beta", "0.011"),
        ],
        path: "is judged by its flow's samples, none for want of room",
        took: |c| c.offered - c.dropped(DropReason::Overlimit),
        mixes: Mixes::Thousand,
    },
    Subject {
        // All classes have packets, and the buffer of each, 20 packets, is what sheds.
        name: "wfq",
        settings: &[("classes", "100")],
        path: "joins one of a hundred classes, all busy, and each second one finds its class's \
             buffer full",
        took: |c| 2 * c.dropped(DropReason::Overlimit),
        mixes: Mixes::Thousand,
    },
    Subject {
        // Each class offers twice its share; all are held, and their drops keep the queue near its
        // target.
        name: "ewfq",
        settings: &[("classes", "100"), ("busy", "100")],
        path: "is judged by what its class sends, one of a hundred, none for want of room",
        took: |c| c.offered - c.dropped(DropReason::Overlimit),
        mixes: Mixes::Thousand,
    },
    Subject {
        // RED as above.
        name: "red_pd",
        settings: &[("min", "200 packets"), ("max", "800 packets"), ("mode", "packets")],
        path: "rolls a die, the pre-filter's or RED's",
        took: rolled,
        mixes: Mixes::Thousand,
    },
    Subject {
        // A law that is steep enough to shed half, however few flows hits speak of.
        name: "sred",
        settings: &[("probability", "1"), ("flows", "1")],
        path: "is compared with a zombie and judged, none for want of room",
        took: |c| c.offered - c.dropped(DropReason::Overlimit),
        mixes: Mixes::All,
    },
    Subject {
        name: "csfq",
        settings: &[],
        path: "is judged by its label, none for want of room",
        took: |c| c.offered - c.dropped(DropReason::Overlimit),
        mixes: Mixes::Thousand,
    },
    Subject {
        name: "hcsfq",
        settings: &[],
        path: "is judged by its label, none for want of room",
        took: |c| c.offered - c.dropped(DropReason::Overlimit),
        mixes: Mixes::Thousand,
    },
];

const DIE: &str = "rolls a die between the thresholds";

/// Each second packet takes the room of another, or is the one that goes.
fn stolen(c: &Counts) -> u64 {
    2 * (c.dropped(DropReason::Evicted) + c.dropped(DropReason::Overlimit))
}

/// Of RED's family: neither without room, nor above certainty, nor below `min`.
fn rolled(c: &Counts) -> u64 {
    c.offered - c.dropped(DropReason::Overlimit) - c.dropped(DropReason::Forced) - c.below_min
}

/// A sink that counts, as a driver's does; and what the loop saw.
#[derive(Clone, Debug, Default)]
struct Counts {
    offered: u64,
    sent: u64,
    by_reason: [u64; DropReason::ALL.len()],
    marks: u64,
    /// Arrivals that saw RED's average below `min`, by samples.
    below_min: u64,
}

impl Counts {
    fn dropped(&self, why: DropReason) -> u64 {
        self.by_reason[why as usize]
    }
}

impl Sink for Counts {
    #[inline]
    fn dropped(&mut self, _: Time, _: &Packet, why: DropReason) {
        self.by_reason[why as usize] += 1;
    }
    #[inline]
    fn marked(&mut self, _: Time, _: &Packet, _: MarkReason) {
        self.marks += 1;
    }
}

/// The loop's cost without a queue: it takes a packet, and gives one.
struct Empty(u64);

impl Qdisc for Empty {
    #[inline]
    fn enqueue<S: Sink + ?Sized>(&mut self, _: Time, pkt: Packet, _: &mut S) {
        self.0 ^= black_box(pkt).flow;
    }
    #[inline]
    fn dequeue<S: Sink + ?Sized>(&mut self, _: Time, _: &mut S) -> Option<Packet> {
        Some(Packet::new(self.0, 1000))
    }
    fn backlog(&self) -> Backlog {
        Backlog::default()
    }
}

/// A queue, the packets it is offered, and the clock.
struct Rig<'a, Q> {
    queue: Q,
    flows: &'a [u64],
    next: usize,
    now: Time,
    counts: Counts,
}

impl<'a, Q: Qdisc> Rig<'a, Q> {
    fn new(queue: Q, flows: &'a [u64]) -> Self {
        Rig { queue, flows, next: 0, now: Time::ZERO, counts: Counts::default() }
    }

    #[inline]
    fn offer(&mut self) {
        let flow = self.flows[self.next];
        self.next = (self.next + 1) & (self.flows.len() - 1);
        self.now += GAP;
        self.queue.enqueue(self.now, Packet::new(flow, 1000), &mut self.counts);
    }

    /// `packets` arrivals, a departure after each second one.
    #[inline(never)]
    fn run(&mut self, packets: u64) {
        for _ in 0..packets / 2 {
            self.offer();
            self.offer();
            if let Some(pkt) = self.queue.dequeue(self.now, &mut self.counts) {
                self.counts.sent += 1;
                black_box(&pkt);
            }
        }
        self.counts.offered += packets;
    }
}

/// A power of two of flows, drawn.
fn flows(kind: &str) -> Vec<u64> {
    const DRAWN: usize = 1 << 20;
    let mut dice = Rng::from_seed(7);
    let hash = |flow: u64| rng::mix(flow ^ 0x71de_9a7e);
    if kind == "zipf 1.1 of 1M" {
        let mut sum = 0.0;
        let shares: Vec<f64> = (1..=1_000_000)
            .map(|rank| {
                sum += libm::pow(rank as f64, -1.1);
                sum
            })
            .collect();
        let mut rank = || {
            let u = dice.between(0.0, sum);
            shares.partition_point(|&s| s <= u) as u64
        };
        return (0..DRAWN).map(|_| hash(rank())).collect();
    }
    let among = match kind {
        "1000" => 1_000,
        "100k" => 100_000,
        _ => 1_000_000,
    };
    (0..DRAWN).map(|_| hash(dice.below(among))).collect()
}

fn build(name: &str) -> AnyQueue {
    let link = Link::new(
        "10 Gbit/s".parse().unwrap(),
        "2000 packets".parse().unwrap(),
        "1000 B".parse().unwrap(),
    )
    .unwrap();
    let mut config = catalog::config(name, None, &link).unwrap();
    let settings = SUBJECTS.iter().find(|s| s.name == name).map_or(&[][..], |s| s.settings);
    for (param, value) in settings {
        config.set(param, value).unwrap();
    }
    config.build(link, Rng::from_seed(1)).unwrap()
}

/// Says what the packets of the measured stretch met with, and asserts the path where one is meant.
fn account(name: &str, kind: &str, queue: &AnyQueue, counts: &Counts) {
    let share = |n: u64| format!("{:.1} %", 100.0 * n as f64 / counts.offered as f64);
    let dropped: Vec<String> = DropReason::ALL
        .iter()
        .filter(|&&why| counts.dropped(why) > 0)
        .map(|&why| format!("{} {}", why.name(), share(counts.dropped(why))))
        .collect();
    println!("{name}, flows {kind}: sent {}, dropped: {}", share(counts.sent), dropped.join(", "));
    let mut gauges = String::new();
    queue.probe(&mut |g| gauges += &format!(" {} {:.4}", g.name, g.value));
    println!("    waiting {}{gauges}", queue.backlog().packets);
    if let Some(subject) =
        SUBJECTS.iter().find(|s| s.name == name && (s.mixes == Mixes::All || kind == "1000"))
    {
        let took = (subject.took)(counts);
        println!("    {} {}", share(took), subject.path);
        assert!(took * 10 >= counts.offered * 9, "{name}: only {} {}", share(took), subject.path);
    }
}

/// RED's average, or above every threshold for queues that have none.
fn average(queue: &impl Qdisc) -> f64 {
    let mut avg = f64::INFINITY;
    queue.probe(&mut |gauge| {
        if gauge.name == "avg" {
            avg = gauge.value;
        }
    });
    avg
}

/// The same path again, watched: RED's average is sampled a thousand times, and each batch is timed
/// by itself. On a machine that others use too the median says more than a mean does.
#[allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn watched<Q: Qdisc>(rig: &mut Rig<Q>) -> f64 {
    let mut times = Vec::new();
    for _ in 0..1_000 {
        let start = std::time::Instant::now();
        rig.run(BATCH);
        times.push(start.elapsed().as_nanos());
        rig.counts.below_min += if average(&rig.queue) < 200.0 { BATCH } else { 0 };
    }
    times.sort_unstable();
    times[500] as f64 / BATCH as f64
}

fn queue_cost(c: &mut Criterion) {
    // Criterion's filter, read here too: a queue that is not measured need not be warmed up.
    let filter = std::env::args().skip(1).find(|word| !word.starts_with('-')).unwrap_or_default();
    for kind in ["1000", "100k", "zipf 1.1 of 1M", "uniform of 1M"] {
        let flows = flows(kind);
        let mut group = c.benchmark_group(format!("flows {kind}"));
        group.throughput(Throughput::Elements(BATCH));
        let mut empty = Rig::new(Empty(0), &flows);
        group.bench_function("empty", |b| b.iter(|| empty.run(BATCH)));
        println!("the loop alone: {:.1} ns per packet", watched(&mut empty));
        let asked = |name: &str| format!("flows {kind}/{name}").contains(&filter);
        for row in catalog::QUEUES.iter().filter(|row| asked(row.name)) {
            let mut rig = Rig::new(build(row.name), &flows);
            rig.run(WARM_UP);
            rig.counts = Counts::default();
            group.bench_function(row.name, |b| b.iter(|| rig.run(BATCH)));
            let median = watched(&mut rig);
            account(row.name, kind, &rig.queue, &rig.counts);
            println!("    loop included, median of 1000 batches: {median:.1} ns per packet");
        }
        group.finish();
    }
}

fn short() -> Criterion {
    Criterion::default()
        .warm_up_time(std::time::Duration::from_millis(300))
        .measurement_time(std::time::Duration::from_millis(700))
        .sample_size(30)
        .without_plots()
}

criterion_group! { name = benches; config = short(); targets = queue_cost }
criterion_main!(benches);
