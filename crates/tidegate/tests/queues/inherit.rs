//! A queue that is exchanged while packets wait: the next queue judges none of them again and loses
//! none.
use crate::support::checked::Checked;
use crate::support::workload::Workload;
use crate::support::{every_preset, links, reference_link};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::{Backlog, Gauge, Link, NullSink, Packet, Qdisc, Rng, Sink, Time};

/// Queues whose lines hang on their parameters.
const KEEPS_ITS_LINES: [&str; 12] = [
    "cebinae", "fq_codel", "cake", "fq_pie", "hhf", "afq", "wfq", "ewfq", "drr", "sfq", "sfq_red",
    "dualpi2",
];

/// A queue that is exchanged for a new one of its kind after every so many packets offered.
struct Exchanged {
    queue: AnyQueue,
    config: AnyConfig,
    link: Link,
    offered: u64,
    exchanges: u64,
}

impl Exchanged {
    fn exchange(&mut self) {
        let mut fresh = self.config.build(self.link, Rng::from_seed(self.offered)).unwrap();
        let waited = self.queue.backlog();
        assert!(fresh.inherit(&mut self.queue));
        assert_eq!((fresh.backlog(), self.queue.backlog()), (waited, Backlog::default()));
        self.exchanges += u64::from(waited.packets > 0);
        self.queue = fresh;
    }
}

impl Qdisc for Exchanged {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        self.offered += 1;
        if self.offered.is_multiple_of(37) {
            self.exchange();
        }
        self.queue.enqueue(now, pkt, out);
    }
    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        self.queue.dequeue(now, out)
    }
    fn advance(&mut self, now: Time) {
        self.queue.advance(now);
    }
    fn wake_at(&self) -> Option<Time> {
        self.queue.wake_at()
    }
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        self.queue.probe(see);
    }
}

/// The checker asserts that every packet has one fate, that flows stay in order, and what waits.
#[test]
fn what_waits_is_handed_over() {
    for link in links() {
        for (row, preset, config) in every_preset(&link) {
            if KEEPS_ITS_LINES.contains(&row.name) {
                continue;
            }
            let queue = config.build(link, Rng::from_seed(1)).unwrap();
            let mut queue =
                Checked::new(Exchanged { queue, config, link, offered: 0, exchanges: 0 }, link);
            Workload::mixed(500).run(&mut queue, &link, &mut Rng::from_seed(2), &mut NullSink);
            assert!(
                queue.queue().exchanges > 10,
                "{}/{preset}: there was nothing to hand over",
                row.name
            );
        }
    }
}

#[test]
fn a_queue_of_several_lines_or_of_another_kind_is_left_as_it_was() {
    let link = reference_link();
    let filled = |config: &AnyConfig| {
        let mut queue = config.build(link, Rng::from_seed(1)).unwrap();
        (0..3).for_each(|flow| queue.enqueue(Time::ZERO, Packet::new(flow, 1000), &mut NullSink));
        queue
    };
    let configs: Vec<_> = every_preset(&link).into_iter().collect();
    for (one, preset, config) in &configs {
        for (other, _, new) in &configs {
            let mut old = filled(config);
            let mut fresh = new.build(link, Rng::from_seed(2)).unwrap();
            let takes = one.name == other.name && !KEEPS_ITS_LINES.contains(&one.name);
            assert_eq!(fresh.inherit(&mut old), takes, "{}/{preset} by {}", one.name, other.name);
            let (left, taken) = (old.backlog().packets, fresh.backlog().packets);
            assert_eq!((left, taken), if takes { (0, 3) } else { (3, 0) }, "{}/{preset}", one.name);
        }
    }
}

/// What waits above a smaller limit is not lost: it leaves, and until it has nothing comes in.
#[test]
fn a_smaller_limit_loses_nothing_that_waits() {
    let link = reference_link();
    for (row, preset, config) in every_preset(&link) {
        if KEEPS_ITS_LINES.contains(&row.name) || row.name == "purge" {
            continue; // purge evicts whoever has most to let others in
        }
        let small = Link { limit: tidegate::Size::Packets(5), ..link };
        let mut old = config.build(link, Rng::from_seed(1)).unwrap();
        for flow in 0..20 {
            old.enqueue(Time::ZERO, Packet::new(flow, 1000), &mut NullSink);
        }
        let waited = old.backlog().packets;
        let Some(mut fresh) = tidegate::catalog::config(row.name, Some(preset), &small)
            .unwrap()
            .build(small, Rng::from_seed(2))
            .ok()
        else {
            continue;
        };
        assert!(waited > 5 && fresh.inherit(&mut old), "{}/{preset}: {waited}", row.name);
        fresh.enqueue(Time::ZERO, Packet::new(99, 1000), &mut NullSink);
        assert_eq!(fresh.backlog().packets, waited, "{}/{preset}", row.name);
    }
}
