//! Purge and its twin.
use std::collections::VecDeque;

use super::{Set, with_known};
use crate::naive::hits::NaiveHits;
use crate::naive::purge::{Count, Memory, NaivePurge, Own, Said};
use crate::support::twin::{Disputes, agree};
use crate::support::{Both, Heard};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::Purge;
use tidegate::{Backlog, DropReason, Link, Packet, Qdisc, Rng, Sink, Time};

/// Purge with its twin beside it. The twin counts flows one by one, so there are fewer of them than
/// MINCOUNT needs to fill a bucket with `minima` = 16, where it counts exactly too.
pub struct Twinned {
    pub queue: Purge,
    pub twin: NaivePurge,
    pub link: Link,
    pub waiting: VecDeque<(u64, u32)>,
    pub bits: f64,
    /// When the next price, the next period and the next update of the hit fractions are due, and
    /// how far apart they are.
    pub due: [u64; 3],
    pub every: [u64; 3],
    pub operations: u64,
    pub disputes: Disputes,
    pub purged: u64,
    pub marked: u64,
    pub pushed_out: u64,
}

impl Twinned {
    /// The twin lets go whom the queue let go for a packet of `len`; whether that makes room.
    fn room(&mut self, len: u32, lost: &[(Packet, DropReason)]) -> bool {
        let mut lost = lost.iter();
        loop {
            let (packets, bytes) = (self.waiting.len() as u32, (self.bits / 8.0) as u64);
            if self.link.has_room(Backlog { packets, bytes }, len) {
                return true;
            }
            let waiting: Vec<u64> = self.waiting.iter().map(|&(flow, _)| flow).collect();
            let Some(position) = self.twin.make_room(&waiting, self.bits) else { return false };
            let (flow, took) = self.waiting.remove(position).unwrap();
            let victim = lost.next().map(|(pkt, why)| (pkt.flow, pkt.len, *why));
            assert_eq!(
                victim,
                Some((flow, took, DropReason::Evicted)),
                "operation {}: the twin's victim at {position}",
                self.operations
            );
            self.bits -= took as f64 * 8.0;
            self.pushed_out += 1;
        }
    }

    fn periods(&mut self, now: Time) {
        // The clocks run on their own; none reads what the other sets within the same instant.
        while self.due[0] <= now.as_nanos() {
            self.twin.price_update(self.bits);
            self.due[0] += self.every[0];
        }
        while self.due[1] <= now.as_nanos() {
            self.twin.end_of_period();
            self.due[1] += self.every[1];
        }
        while self.due[2] <= now.as_nanos() {
            self.twin.end_of_sampling();
            self.due[2] += self.every[2];
        }
    }

    fn compare(&mut self) {
        self.operations += 1;
        let (ours, twin) = (self.queue.policy(), &self.twin);
        agree("price", self.operations, ours.price().get(), twin.price, 1e-3);
        agree(
            "price for offenders",
            self.operations,
            ours.offenders_price(),
            twin.offenders_price,
            1e-4,
        );
        agree("flows", self.operations, ours.flows(), twin.flows, 1.0);
        if let Some(cached) = twin.cache.list.last() {
            let fraction =
                ours.cache().fraction(cached.flow).expect("the flow hit last is in the cache");
            agree("fraction", self.operations, fraction, cached.fraction, 1e-3);
        }
    }
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        self.periods(now);
        let mut dice = self.queue.dice().clone();
        self.twin.offer(pkt.flow, pkt.len as f64 * 8.0);
        if self.bits > self.twin.target {
            let (flow, len) = self.waiting[dice.below(self.waiting.len() as u64) as usize];
            self.twin.cache.hit_by(flow, if self.twin.weigh_bytes { len as f64 } else { 1.0 });
        }
        let mut heard = Heard::default();
        self.queue.enqueue(now, pkt, &mut Both(&mut heard, out));
        let before = self.pushed_out;
        let room = self.room(pkt.len, &heard.lost);
        // What is left is this packet's own fate.
        let mut fates = heard.lost[(self.pushed_out - before) as usize..].iter();
        let dropped = fates.next().map(|&(_, why)| why);
        assert_eq!(fates.next(), None, "operation {}", self.operations);
        let marked = !heard.marked.is_empty();
        if !room {
            assert_eq!(dropped, Some(DropReason::Overlimit));
        } else {
            let die = dice.uniform();
            match self.twin.judge(pkt.flow, self.bits) {
                Said::Drop(p) => {
                    assert!(!marked);
                    let purged = dropped == Some(DropReason::Unfair);
                    self.disputes.verdict(self.operations, die, p, purged);
                    self.purged += dropped.is_some() as u64;
                }
                Said::Mark(p) => {
                    assert_eq!(dropped, None);
                    if pkt.ecn.is_capable() {
                        self.disputes.verdict(self.operations, die, p, marked);
                    }
                    self.marked += marked as u64;
                }
            }
        }
        assert_eq!(
            &dice,
            self.queue.dice(),
            "operation {}: as many dice as the twin's",
            self.operations
        );
        if dropped.is_none() {
            self.waiting.push_back((pkt.flow, pkt.len));
            self.bits += pkt.len as f64 * 8.0;
            self.twin.let_in(pkt.flow, pkt.len as f64 * 8.0);
        }
        self.compare();
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        self.periods(now);
        let pkt = self.queue.dequeue(now, out);
        if let Some(pkt) = pkt {
            assert_eq!(self.waiting.pop_front(), Some((pkt.flow, pkt.len)));
            self.bits -= pkt.len as f64 * 8.0;
        }
        self.compare();
        pkt
    }

    fn advance(&mut self, now: Time) {
        self.periods(now);
        self.queue.advance(now);
        self.compare();
    }

    as_the_queue!();
}

/// What the paper has, with our readings of it, and so many minima that MINCOUNT counts a few
/// hundred flows exactly.
const KNOWN: [(&str, &str); 8] = [
    ("unit", "bits"),
    ("input", "admitted"),
    ("stronger", "larger"),
    ("ecn", "on"),
    ("non_ect", "pass"),
    ("buckets", "1024"),
    ("minima", "16"),
    ("estimator", "auto"),
];

fn twin(set: &Set, link: &Link) -> NaivePurge {
    let own = if set.is("own", "price") {
        Own::Price { gain: set.number("gain"), ceiling: set.number("ceiling") }
    } else {
        Own::Mismatch
    };
    let memory = match set.text("memory").as_str() {
        "hold" => Memory::Hold,
        "gate" => Memory::Gate,
        "fade" => Memory::Fade,
        other => panic!("{other}"),
    };
    NaivePurge {
        own,
        memory,
        push_out: set.is("push_out", "on"),
        spare: set.is("spare", "on"),
        weigh_bytes: set.is("weigh", "bytes"),
        offenders_price: 1e-7,
        offered_since: 0.0,
        separate_updates: set.nanos("update") > 0,
        count_anew: set.is("window", "period"),
        alpha: set.number("alpha"),
        gamma: set.number("gamma"),
        phi: set.number("phi"),
        target: set.size("target").in_bytes(link.mean_packet) as f64 * 8.0,
        capacity: link.rate.as_bps() as f64,
        packet: link.mean_packet.bits() as f64,
        price_period: set.secs("price_interval"),
        period: set.secs("interval"),
        persist: set.number("persist") as u32,
        price: 0.0,
        admitted: 0.0,
        offered: 0.0,
        input: 0.0,
        overload_run: 0,
        cache: NaiveHits { past: set.number("past"), fresh: set.number("fresh"), ..set.hits() },
        count: if set.is("count", "offered") { Count::Offered } else { Count::Admitted },
        seen: Vec::new(),
        flows: 0.0,
    }
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        let config = with_known(config, &KNOWN);
        let AnyQueue::Purge(queue) = config.build(link, dice).ok()? else { return None };
        let set = Set(&config);
        let update = set.nanos("update");
        let every = [
            set.nanos("price_interval"),
            set.nanos("interval"),
            if update > 0 { update } else { u64::MAX },
        ];
        Some(Twinned {
            queue,
            twin: twin(&set, &link),
            link,
            waiting: VecDeque::new(),
            bits: 0.0,
            due: every,
            every,
            operations: 0,
            disputes: Disputes::default(),
            purged: 0,
            marked: 0,
            pushed_out: 0,
        })
    }

    /// 64 periods are caught up one by one.
    fn patience(&self) -> u64 {
        (1_000 * self.every[0]).min(60 * self.every[1]).min(self.every[2].saturating_mul(10_000))
    }
}
