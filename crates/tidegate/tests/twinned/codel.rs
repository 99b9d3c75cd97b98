//! CoDel and its twin.
use super::Set;
use crate::naive::codel::{Did, Item, NaiveCodel};
use crate::support::Both;
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::Codel;
use tidegate::{DropReason, Ecn, Link, MarkReason, Packet, Qdisc, Rng, Sink, Time};

/// What a call told.
#[derive(Debug, Default)]
pub struct Heard {
    pub did: Did,
    pub overlimit: u32,
}

impl Sink for Heard {
    fn dropped(&mut self, _: Time, pkt: &Packet, why: DropReason) {
        match why {
            DropReason::Forced => self.did.dropped.push(pkt.slot),
            DropReason::Overlimit => self.overlimit += 1,
            other => panic!("CoDel drops for {other:?}"),
        }
    }
    fn marked(&mut self, _: Time, pkt: &Packet, why: MarkReason) {
        assert_eq!(why, MarkReason::Forced);
        self.did.marked.push(pkt.slot);
    }
}

/// The queue with its twin beside it.
pub struct Twinned {
    pub queue: Codel,
    pub twin: NaiveCodel,
    pub link: Link,
    pub operations: u64,
    pub drops: u64,
    pub marks: u64,
    pub overlimit: u64,
    /// The most drops in one call, and how often the dropping state began with more than one.
    pub longest: usize,
    pub resumed: u64,
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        let fits = self.link.has_room(self.queue.backlog(), pkt.len);
        let mut heard = Heard::default();
        self.queue.enqueue(now, pkt, &mut Both(&mut heard, out));
        assert_eq!((heard.did, heard.overlimit), (Did::default(), !fits as u32));
        if fits {
            let (bytes, markable) = (pkt.len as u64, pkt.ecn != Ecn::NotEct);
            self.twin.items.push_back(Item {
                id: pkt.slot,
                bytes,
                stamp: now.as_nanos(),
                markable,
            });
        }
        self.overlimit += !fits as u64;
        self.operations += 1;
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        let mut heard = Heard::default();
        let sent = self.queue.dequeue(now, &mut Both(&mut heard, out));
        heard.did.sent = sent.map(|pkt| pkt.slot);
        let before = self.twin.dropping;
        let did = self.twin.dequeue(now.as_nanos());
        assert_eq!(heard.did, did, "operation {}", self.operations);
        let mut state = Vec::new();
        self.queue.probe(&mut |g| state.push(g.value));
        assert_eq!(state[1..], [self.twin.count as f64, self.twin.dropping as u8 as f64]);
        assert_eq!(self.queue.backlog().packets as usize, self.twin.items.len());
        self.drops += did.dropped.len() as u64;
        self.marks += did.marked.len() as u64;
        self.longest = self.longest.max(did.dropped.len());
        self.resumed += (!before && self.twin.dropping && self.twin.count > 1) as u64;
        self.operations += 1;
        sent
    }

    as_the_queue!(advance);
}

/// The naive CoDel that `config` describes.
pub fn naive(config: &AnyConfig) -> NaiveCodel {
    let set = Set(config);
    let mut twin = NaiveCodel::new(
        set.nanos("target"),
        set.nanos("interval"),
        set.bytes("mtu"),
        set.is("ecn", "on"),
    );
    twin.newton = set.is("root", "newton").then_some(0);
    twin
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        let AnyQueue::Codel(queue) = config.build(link, dice).ok()? else { return None };
        let twin = naive(config);
        Some(Twinned {
            queue,
            twin,
            link,
            operations: 0,
            drops: 0,
            marks: 0,
            overlimit: 0,
            longest: 0,
            resumed: 0,
        })
    }
}
