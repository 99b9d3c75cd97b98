//! CAKE and its twin.
use super::{Set, with_known};
use crate::naive::cake::{Divided, NaiveCake, NaiveQueue, NaiveTin, Stand};
use crate::naive::cobalt::NaiveCobalt;
use crate::naive::codel::{Did, Item};
use crate::naive::fq_codel::Limit;
use crate::support::Both;
use std::collections::{BTreeMap, VecDeque};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::Cake;
use tidegate::{
    Ack, DropReason, Ecn, Link, MarkReason, Packet, Qdisc, Rate, Rng, Sink, Size, Time,
};

/// What a call told.
#[derive(Debug, Default)]
pub struct Heard {
    pub did: Did,
    pub by_limit: Vec<u32>,
    pub itself: Option<u32>,
}

impl Sink for Heard {
    fn dropped(&mut self, _: Time, pkt: &Packet, why: DropReason) {
        match why {
            DropReason::Forced | DropReason::Early => self.did.dropped.push(pkt.slot),
            DropReason::Evicted => self.by_limit.push(pkt.slot),
            DropReason::Overlimit => {
                self.by_limit.push(pkt.slot);
                self.itself = Some(pkt.slot);
            }
            other => panic!("CAKE drops for {other:?}"),
        }
    }
    fn marked(&mut self, _: Time, pkt: &Packet, _: MarkReason) {
        self.did.marked.push(pkt.slot);
    }
}

/// The queue with its twin beside it.
pub struct Twinned {
    pub queue: Cake,
    pub twin: NaiveCake,
    flows: usize,
    pub operations: u64,
    pub drops: u64,
    pub marks: u64,
    pub by_limit: u64,
    /// How often a queue was not served, although packets waited: the shaper's doing.
    pub held_back: u64,
}

impl Twinned {
    fn take<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, ack: Option<&Ack>, out: &mut S) {
        let line = self.queue.queue_of(&pkt);
        let at = (self.queue.tin_of(&pkt), line % self.flows);
        assert_eq!(at.0, line / self.flows);
        let mut heard = Heard::default();
        match ack {
            Some(ack) => self.queue.enqueue_ack(now, pkt, ack, &mut Both(&mut heard, out)),
            None => self.queue.enqueue(now, pkt, &mut Both(&mut heard, out)),
        }
        let (bytes, markable) = (pkt.len as u64, pkt.ecn != Ecn::NotEct);
        let item = Item { id: pkt.slot, bytes, stamp: now.as_nanos(), markable };
        let hosts = (pkt.hosts().source, pkt.hosts().destination);
        let dropped = self.twin.enqueue(now.as_nanos(), at, hosts, item, ack);
        assert_eq!(heard.did, Did::default());
        assert_eq!(heard.by_limit, dropped, "operation {}", self.operations);
        // The arrival is told apart from the victims that went before it.
        let itself = dropped.contains(&pkt.slot).then_some(pkt.slot);
        assert_eq!(heard.itself, itself, "operation {}", self.operations);
        self.by_limit += dropped.len() as u64;
        self.operations += 1;
    }
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        self.take(now, pkt, None, out);
    }

    fn enqueue_ack<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, ack: &Ack, out: &mut S) {
        self.take(now, pkt, Some(ack), out);
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        let mut heard = Heard::default();
        let sent = self.queue.dequeue(now, &mut Both(&mut heard, out));
        heard.did.sent = sent.map(|pkt| pkt.slot);
        assert_eq!(heard.did, self.twin.dequeue(now.as_nanos()), "operation {}", self.operations);
        let mut gauges = Vec::new();
        self.queue.probe(&mut |g| gauges.push(g.value as usize));
        let count = |of: fn(&NaiveTin) -> usize| self.twin.tins.iter().map(of).sum::<usize>();
        let lists = [count(|t| t.new.len()), count(|t| t.old.len()), count(|t| t.decaying.len())];
        assert_eq!(gauges[..3], lists, "operation {}", self.operations);
        let backlog = self.queue.backlog();
        let (packets, bytes) = (self.twin.packets(), self.twin.bytes());
        assert_eq!((backlog.packets as usize, backlog.bytes), (packets, bytes));
        self.held_back += (sent.is_none() && packets > 0) as u64;
        let due = self.twin.paid.0;
        let wake = self.twin.bandwidth.filter(|_| packets > 0 && due > now.as_nanos()).map(|_| due);
        assert_eq!(self.queue.wake_at().map(Time::as_nanos), wake);
        self.drops += heard.did.dropped.len() as u64;
        self.marks += heard.did.marked.len() as u64;
        self.operations += 1;
        sent
    }

    fn wake_at(&self) -> Option<Time> {
        self.queue.wake_at()
    }

    as_the_queue!(advance);
}

/// tc-cake(8): the part of the line up to which each tin has priority.
fn parts(diffserv: &str) -> Vec<f64> {
    match diffserv {
        "besteffort" => vec![1.0],
        "diffserv3" => vec![1.0, 0.0625, 0.25],
        "diffserv4" => vec![1.0, 0.0625, 0.5, 0.25],
        _ => (0..8).map(|n| (0..n).fold(1.0, |part, _| part * 0.875)).collect(),
    }
}

/// A tin with `part` of `rate`, whose queues have dice that are never rolled.
fn tin(set: &Set<'_>, rate: Rate, part: f64) -> NaiveTin {
    let rate = ((rate.as_bps() as f64 * part) as u64).max(1);
    let time = |bytes: u64| (bytes as u128 * 8_000_000_000 / rate as u128) as u64;
    let rtt = set.nanos("rtt");
    let mtu = set.bytes("mtu");
    // A target is a twentieth of the round trip, or one and a half packets.
    let target =
        (rtt / 20).max((time(mtu) as u128 * 3 / 2).min(60_000_000_000) as u64).min(60_000_000_000);
    let interval = (rtt + target - (rtt / 20).min(target)).max(2 * target).min(600_000_000_000);
    let cobalt = NaiveCobalt {
        target,
        interval,
        floor: time(4 * mtu),
        increment: 1.0 / 256.0,
        decrement: 1.0 / 4096.0,
        ecn: set.is("ecn", "on"),
        items: VecDeque::new(),
        dice: Rng::from_seed(0),
        count: 0,
        due: 0,
        too_long: false,
        p: 0.0,
        changed: None,
        by_blue: Vec::new(),
    };
    let queue = NaiveQueue { cobalt, stand: Stand::Idle, deficit: 0, hosts: (0, 0) };
    NaiveTin {
        rate,
        quantum: (rate / 8 / 4096).clamp(300, set.bytes("quantum")),
        queues: vec![queue; set.number("flows") as usize],
        new: VecDeque::new(),
        old: VecDeque::new(),
        decaying: VecDeque::new(),
        paid: (0, 0),
    }
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        // It walks all queues at every call.
        let few = Set(config).number("flows") <= 16.0;
        let config = with_known(config, if few { &[] } else { &[("flows", "16")] });
        let AnyQueue::Cake(queue) = config.build(link, dice).ok()? else { return None };
        let set = Set(&config);
        let own = set.text("bandwidth").parse::<Rate>().unwrap();
        let rate = if own.as_bps() > 0 { own } else { link.rate };
        let (diffserv, isolation) = (set.text("diffserv"), set.text("isolation"));
        let tins = parts(&diffserv).into_iter().map(|part| tin(&set, rate, part)).collect();
        let twin = NaiveCake {
            limit: match link.limit {
                Size::Packets(n) => Limit::Packets(n as usize),
                Size::Bytes(b) => Limit::Bytes(b),
            },
            divided: Divided::by(&isolation),
            tins,
            dice: queue.dice().clone(),
            filters: (!set.is("ack_filter", "no")).then(|| set.is("ack_filter", "aggressive")),
            acks: BTreeMap::new(),
            bandwidth: Some(own.as_bps()).filter(|&bps| bps > 0),
            paid: (0, 0),
        };
        let flows = set.number("flows") as usize;
        let (operations, drops, marks, by_limit, held_back) = (0, 0, 0, 0, 0);
        Some(Twinned { queue, twin, flows, operations, drops, marks, by_limit, held_back })
    }
}
