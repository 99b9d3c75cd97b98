//! COBALT and its twin.
use super::Set;
use crate::naive::cobalt::NaiveCobalt;
use crate::naive::codel::{Did, Item};
use crate::support::Both;
use std::collections::VecDeque;
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::Cobalt;
use tidegate::{DropReason, Ecn, Link, MarkReason, Packet, Qdisc, Rate, Rng, Sink, Time};

/// What a call told.
#[derive(Debug, Default)]
pub struct Heard {
    pub did: Did,
    pub by_blue: Vec<u32>,
    pub overlimit: u32,
}

impl Sink for Heard {
    fn dropped(&mut self, _: Time, pkt: &Packet, why: DropReason) {
        match why {
            DropReason::Forced => self.did.dropped.push(pkt.slot),
            DropReason::Early => {
                self.did.dropped.push(pkt.slot);
                self.by_blue.push(pkt.slot);
            }
            DropReason::Overlimit => self.overlimit += 1,
            other => panic!("COBALT drops for {other:?}"),
        }
    }
    fn marked(&mut self, _: Time, pkt: &Packet, why: MarkReason) {
        assert_eq!(why, MarkReason::Forced);
        self.did.marked.push(pkt.slot);
    }
}

/// The queue with its twin beside it.
pub struct Twinned {
    pub queue: Cobalt,
    pub twin: NaiveCobalt,
    pub link: Link,
    pub operations: u64,
    pub drops: u64,
    pub by_blue: u64,
    pub marks: u64,
    pub overlimit: u64,
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        let fits = self.link.has_room(self.queue.backlog(), pkt.len);
        let mut heard = Heard::default();
        self.queue.enqueue(now, pkt, &mut Both(&mut heard, out));
        assert_eq!((heard.did, heard.overlimit), (Did::default(), !fits as u32));
        if fits {
            let (bytes, markable) = (pkt.len as u64, pkt.ecn != Ecn::NotEct);
            let stamp = now.as_nanos();
            self.twin.items.push_back(Item { id: pkt.slot, bytes, stamp, markable });
        } else {
            self.twin.overflow(now.as_nanos());
        }
        self.overlimit += !fits as u64;
        self.operations += 1;
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        let mut heard = Heard::default();
        let sent = self.queue.dequeue(now, &mut Both(&mut heard, out));
        heard.did.sent = sent.map(|pkt| pkt.slot);
        self.twin.by_blue.clear();
        let did = self.twin.dequeue(now.as_nanos());
        assert_eq!(heard.did, did, "operation {}", self.operations);
        assert_eq!(heard.by_blue, self.twin.by_blue, "operation {}", self.operations);
        let mut state = Vec::new();
        self.queue.probe(&mut |g| state.push(g.value));
        assert_eq!(state, [self.twin.p, self.twin.count as f64, self.twin.too_long as u8 as f64]);
        assert_eq!(self.queue.backlog().packets as usize, self.twin.items.len());
        assert_eq!(self.queue.backlog().bytes, self.twin.bytes());
        self.drops += did.dropped.len() as u64;
        self.by_blue += heard.by_blue.len() as u64;
        self.marks += did.marked.len() as u64;
        self.operations += 1;
        sent
    }

    as_the_queue!(advance);
}

/// The naive COBALT that `config` describes, for a line at `rate`, rolling `dice`.
pub fn naive(config: &AnyConfig, rate: Rate, dice: Rng) -> NaiveCobalt {
    let set = Set(config);
    let four = 4 * 8 * set.bytes("mtu") as u128 * 1_000_000_000;
    NaiveCobalt {
        target: set.nanos("target"),
        interval: set.nanos("interval"),
        floor: (four / rate.as_bps() as u128) as u64,
        increment: set.number("increment"),
        decrement: set.number("decrement"),
        ecn: set.is("ecn", "on"),
        items: VecDeque::new(),
        dice,
        count: 0,
        due: 0,
        too_long: false,
        p: 0.0,
        changed: None,
        by_blue: Vec::new(),
    }
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        let twin = naive(config, link.rate, dice.clone());
        let AnyQueue::Cobalt(queue) = config.build(link, dice).ok()? else { return None };
        let (operations, drops, by_blue, marks, overlimit) = (0, 0, 0, 0, 0);
        Some(Twinned { queue, twin, link, operations, drops, by_blue, marks, overlimit })
    }
}
