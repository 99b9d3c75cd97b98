//! AFQ and its twin.
use super::Set;
use crate::naive::afq::{Fate, Item, Limit, NaiveAfq};
use crate::support::{Both, Heard};
use std::collections::BTreeMap;
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::Afq;
use tidegate::{DropReason, Link, Packet, Qdisc, Rng, Sink, Size, Time};

/// The queue with its twin beside it: every drop with its reason, every packet sent, the round.
pub struct Twinned {
    pub queue: Afq,
    pub twin: NaiveAfq,
    pub arrays: usize,
    pub operations: u64,
    pub too_far: u64,
    pub full: u64,
    pub evicted: u64,
}

impl Twinned {
    fn compare(&mut self) {
        self.operations += 1;
        let twin = &self.twin;
        let mut gauges = Vec::new();
        self.queue.probe(&mut |gauge| gauges.push(gauge.value as u64));
        let busy = twin.calendar.values().filter(|queue| !queue.is_empty()).count() as u64;
        assert_eq!(gauges, [twin.round, busy], "operation {}", self.operations);
        let backlog = self.queue.backlog();
        assert_eq!((backlog.packets as usize, backlog.bytes), (twin.packets(), twin.bytes()));
    }
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        let places: Vec<usize> = self.queue.places_of(pkt.flow).collect();
        let mut heard = Heard::default();
        self.queue.enqueue(now, pkt, &mut Both(&mut heard, out));
        assert!(heard.marked.is_empty(), "it marks nothing");
        let lost: Vec<_> = heard.lost.iter().map(|(pkt, why)| (pkt.slot, *why)).collect();
        let item = Item { id: pkt.slot, bytes: pkt.len as u64 };
        let expected: Vec<_> = match self.twin.enqueue(item, &places) {
            Fate::TooFar => vec![(pkt.slot, DropReason::Unfair)],
            Fate::Full => vec![(pkt.slot, DropReason::Overlimit)],
            Fate::Waits(gone) => gone.into_iter().map(|id| (id, DropReason::Evicted)).collect(),
        };
        assert_eq!(lost, expected, "operation {}", self.operations);
        let mut by_reason = BTreeMap::new();
        lost.iter().for_each(|(_, why)| *by_reason.entry(*why).or_insert(0) += 1);
        let of = |why| by_reason.get(&why).copied().unwrap_or(0);
        self.too_far += of(DropReason::Unfair);
        self.full += of(DropReason::Overlimit);
        self.evicted += of(DropReason::Evicted);
        self.compare();
    }

    as_the_queue!(dequeue);
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        let AnyQueue::Afq(queue) = config.build(link, dice).ok()? else { return None };
        let set = Set(config);
        let limit = match link.limit {
            Size::Packets(n) => Limit::Packets(n as usize),
            Size::Bytes(b) => Limit::Bytes(b),
        };
        // Its calendar is walked round by round.
        let bytes_per_round = set.bytes("bytes_per_round");
        if bytes_per_round < 50 {
            return None;
        }
        let twin = NaiveAfq {
            limit,
            bytes_per_round,
            queues: set.number("queues") as u64,
            farthest_goes: set.is("overflow", "farthest"),
            round: 0,
            bids: BTreeMap::new(),
            calendar: BTreeMap::new(),
        };
        let arrays = set.number("arrays") as usize;
        Some(Twinned { queue, twin, arrays, operations: 0, too_far: 0, full: 0, evicted: 0 })
    }
}
