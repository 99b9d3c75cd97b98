//! DualPI2 and its twin.
use super::Set;
use crate::naive::dualpi2::{Decide, Did, Item, Line, NaiveDualPi2, NaiveProtection, Scheduler};
use crate::support::Both;
use std::collections::BTreeMap;
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::DualPi2;
use tidegate::{Bytes, DropReason, Link, MarkReason, Packet, Qdisc, Rate, Rng, Sink, Time};

/// What a call told.
#[derive(Debug, Default)]
pub struct Heard {
    pub did: Did,
    pub overlimit: u32,
    pub forced: u64,
}

impl Sink for Heard {
    fn dropped(&mut self, _: Time, pkt: &Packet, why: DropReason) {
        match why {
            DropReason::Early => self.did.dropped.push(pkt.slot),
            DropReason::Overlimit => self.overlimit += 1,
            other => panic!("DualPI2 drops for {other:?}"),
        }
    }
    fn marked(&mut self, _: Time, pkt: &Packet, why: MarkReason) {
        self.forced += (why == MarkReason::Forced) as u64;
        self.did.marked.push(pkt.slot);
    }
}

/// The queue with its twin beside it.
pub struct Twinned {
    pub queue: DualPi2,
    pub twin: NaiveDualPi2,
    pub link: Link,
    pub update: u64,
    pub due: u64,
    pub operations: u64,
    pub drops: u64,
    pub marks: u64,
    pub forced: u64,
    pub overlimit: u64,
    /// Calls of dequeue under overload.
    pub overloaded: u64,
    /// Packets sent from the L queue and from the C queue while both waited.
    pub contended: [u64; 2],
    pub sanctioned: u64,
}

impl Twinned {
    fn updates(&mut self, now: Time) {
        while self.due <= now.as_nanos() {
            self.twin.update(self.due);
            self.due += self.update;
        }
    }

    fn compare(&mut self) {
        self.operations += 1;
        assert_eq!(self.queue.probability(), self.twin.p, "operation {}", self.operations);
        let (low, classic) = self.queue.backlogs();
        assert_eq!(low.packets as usize, self.twin.l.items.len());
        assert_eq!(classic.packets as usize, self.twin.c.items.len());
        if let Decide::Dice(dice) = &self.twin.decide {
            assert_eq!(self.queue.dice(), dice);
        }
    }
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        self.updates(now);
        let fits = self.link.has_room(self.queue.backlog(), pkt.len);
        let mut heard = Heard::default();
        self.queue.enqueue(now, pkt, &mut Both(&mut heard, out));
        assert_eq!((heard.did, heard.overlimit), (Did::default(), !fits as u32));
        if fits {
            let (bytes, ecn) = (pkt.len as u64, pkt.ecn as u8);
            let item = Item { id: pkt.slot, bytes, stamp: now.as_nanos(), flow: pkt.flow, ecn };
            self.sanctioned += self.twin.enqueue(item) as u64;
            assert_eq!(self.queue.sanctioned(), self.sanctioned, "operation {}", self.operations);
        }
        self.overlimit += !fits as u64;
        self.compare();
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        self.updates(now);
        let mut heard = Heard::default();
        let both = !self.twin.l.items.is_empty() && !self.twin.c.items.is_empty();
        let sent = self.queue.dequeue(now, &mut Both(&mut heard, out));
        heard.did.sent = sent.map(|pkt| pkt.slot);
        let did = self.twin.dequeue(now.as_nanos());
        assert_eq!(heard.did, did, "operation {}", self.operations);
        self.drops += did.dropped.len() as u64;
        self.marks += did.marked.len() as u64;
        self.forced += heard.forced;
        self.overloaded += self.twin.overloaded() as u64;
        if let Some(pkt) = sent.filter(|_| both) {
            self.contended[pkt.tag as usize] += 1;
        }
        self.compare();
        sent
    }

    fn advance(&mut self, now: Time) {
        self.updates(now);
        self.queue.advance(now);
        self.compare();
    }

    as_the_queue!();
}

/// The naive DualPI2 that `config` describes.
pub fn naive(config: &AnyConfig, link: &Link, mut dice: Rng) -> NaiveDualPi2 {
    let set = Set(config);
    let critical = (set.nanos("min_th") + set.nanos("range"), set.nanos("critical_score"));
    let protection = set.is("protection", "on").then(|| NaiveProtection {
        key: dice.bits(),
        buckets: set.number("buckets") as u64,
        aging: 8e9 / set.text("aging").parse::<Rate>().unwrap().as_bps() as f64,
        critical,
        held: BTreeMap::new(),
    });
    let scheduler = if set.is("scheduler", "wrr") {
        let share = (set.number("classic_protection") * 65_536.0) as u64;
        let mtu = link.mean_packet.get().max(1500);
        Scheduler::Weighted { share, mtu, l_sent: 0, c_sent: 0 }
    } else {
        Scheduler::Shifted { shift: set.nanos("tshift") }
    };
    NaiveDualPi2 {
        target: set.secs("target"),
        alpha: set.number("alpha"),
        beta: set.number("beta"),
        k: set.number("coupling_factor"),
        p_max: set.number("p_max"),
        min_th: set.nanos("min_th"),
        range: set.nanos("range"),
        l: Line::default(),
        c: Line::default(),
        p: 0.0,
        previous: 0.0,
        decide: if set.is("decide", "dice") { Decide::Dice(dice) } else { Decide::Recur },
        scheduler,
        protection,
        byte: 8e9 / link.rate.as_bps() as f64,
        mtu: set.text("mtu").parse::<Bytes>().unwrap().get(),
    }
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        let twin = naive(config, &link, dice.clone());
        let AnyQueue::DualPi2(queue) = config.build(link, dice).ok()? else { return None };
        let update = Set(config).nanos("tupdate");
        Some(Twinned {
            queue,
            twin,
            link,
            update,
            due: update,
            operations: 0,
            drops: 0,
            marks: 0,
            forced: 0,
            overlimit: 0,
            overloaded: 0,
            contended: [0; 2],
            sanctioned: 0,
        })
    }

    fn patience(&self) -> u64 {
        1_000 * self.update
    }
}
