//! What a bottleneck costs a packet above its queue alone: 1000-byte packets of a thousand flows at
//! 10 Gbit/s, at nine tenths of the link's rate and at twice that rate.
//!
//! The queue alone is polled whenever the link comes free, as the bottleneck does: also when it is
//! empty, so that it knows. The bottleneck is offered the same packets and polled after each pair
//! until it has nothing. Payloads have 24 bytes, as a `Vec` has. The two take turns by batches, so
//! that what else the machine does meets both. The figure is the median of their differences,
//! with the quartiles. Beside it stands what the same bottleneck costs above a queue that is never
//! polled in vain.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, reason = "a benchmark measures")]
#![allow(missing_docs, reason = "criterion's macros write undocumented functions")]
use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tidegate::catalog::{self, AnyQueue};
use tidegate::{Bottleneck, Link, NullSink, Packet, Qdisc, Rng, Span, Time, rng};

/// Packets of one iteration.
const BATCH: u64 = 1_000;
/// Batches that are compared.
const BATCHES: usize = 2_000;
/// 1000 bytes at 10 Gbit/s, in nanoseconds.
const SENDING: u64 = 800;

type Payload = [u64; 3];

/// Who is offered packets at a steady pace.
trait Subject {
    fn pair(&mut self, at: [Time; 2], packets: [Packet; 2]);
}

/// A queue alone, polled as often as a link at 10 Gbit/s would.
struct Bare {
    queue: AnyQueue,
    /// When the link comes free; `None` when it is, and the queue knows.
    free: Option<u64>,
    /// Whether an empty queue is polled, too.
    in_vain: bool,
}

impl Bare {
    fn new(name: &str, in_vain: bool) -> Bare {
        Bare { queue: queue(name).1, free: None, in_vain }
    }

    #[inline]
    fn poll(&mut self, at: u64) {
        let packet = black_box(self.queue.dequeue(Time::from_nanos(at), &mut NullSink));
        self.free = packet.map(|_| at + SENDING);
    }
}

impl Subject for Bare {
    #[inline]
    fn pair(&mut self, at: [Time; 2], packets: [Packet; 2]) {
        for (at, packet) in at.into_iter().zip(packets) {
            while let Some(free) = self.free.filter(|&free| free <= at.as_nanos()) {
                if self.in_vain || self.queue.backlog().packets > 0 {
                    self.poll(free);
                } else {
                    self.free = None;
                }
            }
            self.queue.enqueue(at, packet, &mut NullSink);
            if self.free.is_none() {
                self.poll(at.as_nanos());
            }
        }
    }
}

impl Subject for Bottleneck<Payload> {
    #[inline]
    fn pair(&mut self, at: [Time; 2], packets: [Packet; 2]) {
        for (at, packet) in at.into_iter().zip(packets) {
            self.offer(at, packet, [packet.flow; 3]);
        }
        while let Some(fate) = self.poll(at[1]) {
            black_box(fate);
        }
    }
}

struct Rig<S> {
    subject: S,
    gap: Span,
    now: Time,
    next: u64,
}

impl<S: Subject> Rig<S> {
    fn new(subject: S, load: f64) -> Rig<S> {
        let gap = Span::from_nanos((SENDING as f64 / load) as u64);
        let mut rig = Rig { subject, gap, now: Time::ZERO, next: 0 };
        (0..500).for_each(|_| rig.run());
        rig
    }

    /// One batch.
    #[inline(never)]
    fn run(&mut self) {
        for _ in 0..BATCH / 2 {
            let mut one = || {
                self.now += self.gap;
                self.next += 1;
                (self.now, Packet::new(rng::mix(self.next % 1_000), 1000))
            };
            let [first, second] = [one(), one()];
            self.subject.pair([first.0, second.0], [first.1, second.1]);
        }
    }

    fn timed(&mut self) -> f64 {
        let start = Instant::now();
        self.run();
        start.elapsed().as_nanos() as f64 / BATCH as f64
    }
}

fn queue(name: &str) -> (Link, AnyQueue) {
    let (rate, limit, mean) = ("10 Gbit/s", "2000 packets", "1000 B");
    let link =
        Link::new(rate.parse().unwrap(), limit.parse().unwrap(), mean.parse().unwrap()).unwrap();
    let config = catalog::config(name, None, &link).unwrap();
    (link, config.build(link, Rng::from_seed(1)).unwrap())
}

fn bottleneck(name: &str) -> Bottleneck<Payload> {
    let (link, queue) = queue(name);
    Bottleneck::new(link.rate, Span::from_millis(1), queue).unwrap()
}

/// The quartiles of what `whole` takes above `bare`, in nanoseconds a packet.
fn above(bare: &mut Rig<Bare>, whole: &mut Rig<Bottleneck<Payload>>) -> [f64; 3] {
    let mut more: Vec<_> = (0..BATCHES).map(|_| (bare.timed(), whole.timed())).collect();
    more.sort_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)));
    [1, 2, 3].map(|quarter| more[quarter * BATCHES / 4]).map(|(bare, whole)| whole - bare)
}

fn above_the_queue(c: &mut Criterion) {
    for (load, called) in [(0.9, "0.9 of the rate"), (2.0, "twice the rate")] {
        let mut group = c.benchmark_group(called);
        group.throughput(Throughput::Elements(BATCH));
        for name in ["drop_tail", "sfb", "fq_codel"] {
            let mut bare = Rig::new(Bare::new(name, true), load);
            let mut never_in_vain = Rig::new(Bare::new(name, false), load);
            let mut whole = Rig::new(bottleneck(name), load);
            group.bench_function(format!("{name}, alone"), |b| b.iter(|| bare.run()));
            group.bench_function(format!("{name}, bottleneck"), |b| b.iter(|| whole.run()));
            let [low, middle, high] = above(&mut bare, &mut whole);
            let [.., least, _] = above(&mut never_in_vain, &mut whole);
            println!(
                "{name}, {called}: {middle:.1} ns a packet above the queue \
                 ({low:.1} to {high:.1}), {least:.1} above one that is never polled in vain"
            );
        }
        group.finish();
    }
}

fn short() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_millis(700))
        .sample_size(30)
        .without_plots()
}

criterion_group! { name = benches; config = short(); targets = above_the_queue }
criterion_main!(benches);
