//! DRR and its twin.
use super::{Set, with_known};
use crate::naive::drr::{Limit, NaiveBuffer, NaiveDrr, Overflow};
use crate::naive::hosts::{self, Divided};
use crate::support::Both;
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::Drr;
use tidegate::{DropReason, Link, MarkReason, Packet, Qdisc, Rng, Sink, Size, Time};

/// Who was dropped, in order, and whether the arrival was reported apart from the victims.
pub struct Stolen {
    pub arrival: u32,
    pub dropped: Vec<u32>,
    pub flows: Vec<u64>,
}

impl Stolen {
    pub fn for_arrival(slot: u32) -> Stolen {
        Stolen { arrival: slot, dropped: Vec::new(), flows: Vec::new() }
    }
}

impl Sink for Stolen {
    fn dropped(&mut self, _: Time, pkt: &Packet, why: DropReason) {
        let expected =
            if pkt.slot == self.arrival { DropReason::Overlimit } else { DropReason::Evicted };
        assert_eq!(why, expected, "packet {}, when {} arrives", pkt.slot, self.arrival);
        self.dropped.push(pkt.slot);
        self.flows.push(pkt.flow);
    }
    fn marked(&mut self, _: Time, pkt: &Packet, _: MarkReason) {
        panic!("packet {} is marked", pkt.slot);
    }
}

/// The buffer that `config` describes, for `queues` queues.
pub(super) fn buffer(config: &AnyConfig, link: &Link, queues: usize) -> NaiveBuffer {
    let set = Set(config);
    NaiveBuffer {
        limit: match link.limit {
            Size::Packets(n) => Limit::Packets(n as usize),
            Size::Bytes(b) => Limit::Bytes(b),
        },
        overflow: match set.text("overflow").as_str() {
            "longest_head" => Overflow::LongestHead,
            "longest_tail" => Overflow::LongestTail,
            _ => Overflow::Arrival,
        },
        by_bytes: set.is("longest", "bytes"),
        by_turn: config.get("ties").is_some_and(|ties| ties == "turn"),
        queues: vec![Default::default(); queues],
    }
}

/// The queue with its twin beside it: the same packets in, dropped and out.
pub struct Twinned {
    pub queue: Drr,
    pub twin: NaiveDrr,
    pub operations: u64,
    /// Victims, those of them that had just arrived, and the most with one arrival.
    pub dropped: u64,
    pub itself: u64,
    pub most: usize,
    pub idle: u64,
    pub busiest: usize,
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        let mut stolen = Stolen::for_arrival(pkt.slot);
        self.queue.enqueue(now, pkt, &mut Both(&mut stolen, out));
        let (class, hosts) = (self.queue.class_of(&pkt), hosts::of(&pkt));
        let dropped = self.twin.enqueue(class, hosts, pkt.slot, pkt.len as u64);
        assert_eq!(stolen.dropped, dropped, "operation {}", self.operations);
        self.dropped += dropped.len() as u64;
        self.itself += u64::from(dropped.contains(&pkt.slot));
        self.most = self.most.max(dropped.len());
        self.operations += 1;
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        self.busiest = self.busiest.max(self.twin.active.len());
        let sent = self.queue.dequeue(now, out);
        assert_eq!(sent.map(|pkt| pkt.slot), self.twin.dequeue(), "operation {}", self.operations);
        for &class in &self.twin.active {
            assert_eq!(
                self.queue.deficit(class),
                self.twin.deficit[class] / 65_536,
                "operation {}",
                self.operations
            );
        }
        self.idle += u64::from(sent.is_none());
        self.operations += 1;
        sent
    }

    as_the_queue!(advance);
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        // It walks all queues at every call.
        let few = Set(config).number("classes").min(32.0);
        let config = with_known(config, &[("classes", &few.to_string())]);
        let AnyQueue::Drr(queue) = config.build(link, dice).ok()? else { return None };
        let set = Set(&config);
        let twin = NaiveDrr::new(
            buffer(&config, &link, few as usize),
            set.quanta(few as usize),
            Divided::by(&set.text("isolation")),
        );
        Some(Twinned {
            queue,
            twin,
            operations: 0,
            dropped: 0,
            itself: 0,
            most: 0,
            idle: 0,
            busiest: 0,
        })
    }
}
