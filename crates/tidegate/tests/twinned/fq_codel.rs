//! FQ-CoDel and its twin.
use super::{Set, with_known};
use crate::naive::codel::{Did, Item, NaiveCodel};
use crate::naive::fq_codel::{Limit, NaiveFqCodel};
use crate::naive::hosts::{self, Divided};
use crate::support::Both;
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::FqCodel;
use tidegate::{DropReason, Ecn, Link, MarkReason, Packet, Qdisc, Rng, Sink, Size, Time};

/// What a call told, drops with their flow.
#[derive(Debug, Default)]
pub struct Heard {
    pub did: Did,
    pub by_limit: Vec<u32>,
    pub flows: Vec<u64>,
}

impl Sink for Heard {
    fn dropped(&mut self, _: Time, pkt: &Packet, why: DropReason) {
        self.flows.push(pkt.flow);
        match why {
            DropReason::Forced => self.did.dropped.push(pkt.slot),
            DropReason::Overlimit | DropReason::Evicted => self.by_limit.push(pkt.slot),
            other => panic!("FQ-CoDel drops for {other:?}"),
        }
    }
    fn marked(&mut self, _: Time, pkt: &Packet, _: MarkReason) {
        self.did.marked.push(pkt.slot);
    }
}

/// The queue with its twin beside it.
pub struct Twinned {
    pub queue: FqCodel,
    pub twin: NaiveFqCodel,
    isolation: String,
    pub operations: u64,
    pub drops: u64,
    pub marks: u64,
    pub by_limit: u64,
    /// The most packets that one arrival cost, and how often it was itself among them.
    pub longest: usize,
    pub itself: u64,
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        let (mut heard, mut reason) = (Heard::default(), Reason(None, pkt.slot));
        self.queue.enqueue(now, pkt, &mut Both(&mut Both(&mut heard, &mut reason), out));
        let item = Item {
            id: pkt.slot,
            bytes: pkt.len as u64,
            stamp: now.as_nanos(),
            markable: pkt.ecn != Ecn::NotEct,
        };
        let queue = self.queue.queue_of(hosts::key(&self.isolation, &pkt));
        let dropped = self.twin.enqueue(queue, hosts::of(&pkt), item);
        assert_eq!(heard.did, Did::default());
        assert_eq!(heard.by_limit, dropped, "operation {}", self.operations);
        // The arrival is told apart from the victims that went before it.
        assert_eq!(reason.0 == Some(DropReason::Overlimit), dropped.contains(&pkt.slot));
        self.by_limit += dropped.len() as u64;
        self.longest = self.longest.max(dropped.len());
        self.itself += dropped.contains(&pkt.slot) as u64;
        self.operations += 1;
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        let mut heard = Heard::default();
        let sent = self.queue.dequeue(now, &mut Both(&mut heard, out));
        heard.did.sent = sent.map(|pkt| pkt.slot);
        assert_eq!(heard.did, self.twin.dequeue(now.as_nanos()), "operation {}", self.operations);
        let mut lists = Vec::new();
        self.queue.probe(&mut |g| lists.push(g.value as usize));
        let fattest = self.twin.queues.iter().map(NaiveCodel::bytes).max().unwrap() as usize;
        assert_eq!(lists, [self.twin.turns.new.len(), self.twin.turns.old.len(), fattest]);
        let backlog = self.queue.backlog();
        assert_eq!(
            (backlog.packets as usize, backlog.bytes),
            (self.twin.packets(), self.twin.bytes())
        );
        self.drops += heard.did.dropped.len() as u64;
        self.marks += heard.did.marked.len() as u64;
        self.operations += 1;
        sent
    }

    as_the_queue!(advance);
}

/// The reason told for the packet in this slot.
struct Reason(Option<DropReason>, u32);

impl Sink for Reason {
    fn dropped(&mut self, _: Time, pkt: &Packet, why: DropReason) {
        if pkt.slot == self.1 {
            self.0 = Some(why);
        } else {
            assert_ne!(why, DropReason::Overlimit);
        }
    }
    fn marked(&mut self, _: Time, _: &Packet, _: MarkReason) {}
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        // It walks all queues at every call.
        let few = Set(config).number("flows") <= 64.0;
        let config = with_known(config, if few { &[] } else { &[("flows", "64")] });
        let AnyQueue::FqCodel(queue) = config.build(link, dice).ok()? else { return None };
        let set = Set(&config);
        let (flows, quantum, batch) =
            (set.number("flows"), set.bytes("quantum"), set.number("drop_batch"));
        let limit = match link.limit {
            Size::Packets(n) => Limit::Packets(n as usize),
            Size::Bytes(b) => Limit::Bytes(b),
        };
        let codel = super::codel::naive(&config);
        let mut twin =
            NaiveFqCodel::new(flows as usize, quantum as i64, batch as usize, limit, &codel);
        let isolation = set.text("isolation");
        twin.turns.divided = Divided::by(&isolation);
        twin.half_of_bytes = set.is("half", "bytes");
        twin.counts_all = set.is("counts", "all");
        Some(Twinned {
            queue,
            twin,
            isolation,
            operations: 0,
            drops: 0,
            marks: 0,
            by_limit: 0,
            longest: 0,
            itself: 0,
        })
    }
}
