//! Cebinae and its twin.
use super::Set;
use crate::naive::cebinae::{Fate, Item, Limit, NaiveCebinae, TOP};
use crate::support::{Both, Heard};
use std::collections::BTreeMap;
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::Cebinae;
use tidegate::{DropReason, Link, Packet, Qdisc, Rng, Sink, Size, Time};

/// The queue with its twin beside it: every drop with its reason, every packet sent, both groups.
pub struct Twinned {
    pub queue: Cebinae,
    pub twin: NaiveCebinae,
    pub stages: usize,
    pub operations: u64,
    pub fates: BTreeMap<&'static str, u64>,
    /// Packets of flows at the top.
    pub of_top: u64,
}

impl Twinned {
    fn compare(&mut self) {
        self.operations += 1;
        let twin = &self.twin;
        let mut gauges = Vec::new();
        self.queue.probe(&mut |gauge| gauges.push(gauge.value as u64));
        let behind = twin.queues[1 - twin.first].iter().map(|item| item.bytes).sum();
        let [top, bottom] = twin.passed;
        let expected = [twin.top.len() as u64, twin.computed[TOP], top, bottom, behind];
        assert_eq!(gauges, expected, "operation {}", self.operations);
        let backlog = self.queue.backlog();
        assert_eq!((backlog.packets as u64, backlog.bytes), (twin.packets(), twin.bytes()));
    }

    pub fn fate(&self, name: &str) -> u64 {
        self.fates.get(name).copied().unwrap_or(0)
    }
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        let mut heard = Heard::default();
        self.queue.enqueue(now, pkt, &mut Both(&mut heard, out));
        assert!(heard.marked.is_empty(), "it marks nothing");
        let item = Item { id: pkt.slot, flow: pkt.flow, bytes: pkt.len as u64 };
        let fate = self.twin.enqueue(now.as_nanos(), item);
        let (name, expected) = match fate {
            Fate::Head => ("head", None),
            Fate::Tail => ("tail", None),
            Fate::Filtered => ("filtered", Some(DropReason::Unfair)),
            Fate::Full => ("full", Some(DropReason::Overlimit)),
        };
        let lost: Vec<_> = heard.lost.iter().map(|(pkt, why)| (pkt.slot, *why)).collect();
        let expected: Vec<_> = expected.into_iter().map(|why| (pkt.slot, why)).collect();
        assert_eq!(lost, expected, "operation {}", self.operations);
        *self.fates.entry(name).or_insert(0) += 1;
        self.of_top += u64::from(self.twin.top.contains(&pkt.flow));
        self.compare();
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        let sent = self.queue.dequeue(now, out);
        let (queue, stages) = (&self.queue, self.stages);
        let slots = |flow| {
            let places = queue.slots_of(flow);
            (0..stages).map(|stage| places.on(stage).index()).collect()
        };
        let twins = self.twin.dequeue(now.as_nanos(), slots);
        assert_eq!(sent.map(|pkt| pkt.slot), twins, "operation {}", self.operations);
        self.compare();
        sent
    }

    as_the_queue!(advance);
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        let AnyQueue::Cebinae(queue) = config.build(link, dice).ok()? else { return None };
        let set = Set(config);
        let limit = match link.limit {
            Size::Packets(n) => Limit::Packets(n),
            Size::Bytes(b) => Limit::Bytes(b),
        };
        let (round, tick, lead) = (set.nanos("round"), set.nanos("tick"), set.nanos("lead"));
        let twin = NaiveCebinae {
            halves: set.is("buffer", "halves"),
            rounds: set.number("rounds") as u64,
            tax: set.number("tax"),
            port_margin: set.number("port_margin"),
            flow_margin: set.number("flow_margin"),
            alone: set.number("alone"),
            uncounted: set.bytes("uncounted"),
            ..NaiveCebinae::new(link.rate.as_bps(), limit, round, tick, lead)
        };
        let stages = set.number("stages") as usize;
        Some(Twinned { queue, twin, stages, operations: 0, fates: BTreeMap::new(), of_top: 0 })
    }

    fn patience(&self) -> u64 {
        10_000 * self.twin.round
    }
}
