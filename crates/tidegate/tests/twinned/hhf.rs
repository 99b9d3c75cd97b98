//! HHF and its twin.
use super::Set;
use crate::naive::hhf::{Item, Limit, NaiveHhf};
use crate::support::{Both, Heard};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::Hhf;
use tidegate::{DropReason, Link, Packet, Qdisc, Rng, Sink, Size, Time};

/// The queue with its twin beside it: every drop, every packet sent, the table and the buckets.
pub struct Twinned {
    pub queue: Hhf,
    pub twin: NaiveHhf,
    pub arrays: usize,
    pub operations: u64,
    pub drops: u64,
}

impl Twinned {
    fn compare(&mut self) {
        self.operations += 1;
        let twin = &self.twin;
        let mut gauges = Vec::new();
        self.queue.probe(&mut |gauge| gauges.push(gauge.value as u64));
        let of = |bucket: usize| twin.buckets[bucket].iter().map(|item| item.bytes).sum::<u64>();
        let expected = [twin.heavy.len() as u64, twin.admitted, twin.overlimit, of(0), of(1)];
        assert_eq!(gauges, expected, "operation {}", self.operations);
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
        let item = Item { id: pkt.slot, flow: pkt.flow, bytes: pkt.len as u64 };
        let dropped = self.twin.enqueue(now.as_nanos(), item, &places);
        let reason = |id| if id == pkt.slot { DropReason::Overlimit } else { DropReason::Evicted };
        let dropped: Vec<_> = dropped.into_iter().map(|id| (id, reason(id))).collect();
        assert_eq!(lost, dropped, "operation {}", self.operations);
        self.drops += dropped.len() as u64;
        self.compare();
    }

    as_the_queue!(dequeue);
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        let AnyQueue::Hhf(queue) = config.build(link, dice).ok()? else { return None };
        let set = Set(config);
        let limit = match link.limit {
            Size::Packets(n) => Limit::Packets(n as usize),
            Size::Bytes(b) => Limit::Bytes(b),
        };
        let twin = NaiveHhf {
            quantum: set.bytes("quantum") as i64,
            weight: set.number("non_hh_weight") as i64,
            most_heavy: set.number("hh_limit") as usize,
            reset_timeout: set.nanos("reset_timeout"),
            evict_timeout: set.nanos("evict_timeout"),
            admit_bytes: set.bytes("admit_bytes"),
            ..NaiveHhf::new(limit)
        };
        let arrays = set.number("arrays") as usize;
        Some(Twinned { queue, twin, arrays, operations: 0, drops: 0 })
    }
}
