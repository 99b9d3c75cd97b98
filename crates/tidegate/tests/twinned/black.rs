//! BLACK and its twin.
use std::collections::VecDeque;

use super::Set;
use crate::naive::black::{Judges, NaiveBlack};
use crate::support::twin::{Disputes, agree};
use crate::support::{Both, Fate};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::Black;
use tidegate::{Backlog, DropReason, Gauge, Link, Packet, Qdisc, Rng, Sink, Size, Time};

/// BLACK with its twin beside it: the hits, the number of flows and the verdicts on high-bandwidth flows. RED has a twin of
/// its own.
pub struct Twinned {
    pub queue: Black,
    pub twin: NaiveBlack,
    pub link: Link,
    pub threshold: Size,
    pub waiting: VecDeque<u64>,
    pub due: u64,
    pub every: u64,
    pub operations: u64,
    pub disputes: Disputes,
    pub dropped: u64,
}

impl Twinned {
    fn periods(&mut self, now: Time) {
        while self.twin.period == 0.0 && self.due <= now.as_nanos() {
            self.twin.end_of_period();
            self.due += self.every;
        }
    }

    fn compare(&mut self) {
        self.operations += 1;
        agree("flows", self.operations, self.queue.policy().flows(), self.twin.flows, 1.0);
        if let Some(last) = self.twin.cache.list.last() {
            let fraction = self.queue.policy().cache().fraction(last.flow).expect("the flow hit last is in the cache");
            agree("fraction", self.operations, fraction, last.fraction, 1e-3);
        }
    }
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        self.periods(now);
        let backlog = self.queue.backlog();
        let mut dice = self.queue.dice().clone();
        let waiting = match self.threshold {
            Size::Packets(_) => backlog.packets as f64,
            Size::Bytes(_) => backlog.bytes as f64,
        };
        if self.twin.samples(waiting) {
            self.twin.sample(pkt.flow, self.waiting[dice.below(self.waiting.len() as u64) as usize]);
        }
        let has_room = self.link.has_room(backlog, pkt.len);
        let judged = self.twin.drop(pkt.flow, waiting);
        let mut fate = Fate::default();
        self.queue.enqueue(now, pkt, &mut Both(&mut fate, out));
        match judged {
            // At exactly the fair share one of the two may see an excess of rounding.
            Some(p) if has_room && p > 1e-12 => {
                assert!(fate.marked.is_none());
                let unfair = fate.dropped == Some(DropReason::Unfair);
                self.disputes.verdict(self.operations, dice.uniform(), p, unfair);
                self.dropped += u64::from(unfair);
            }
            _ => assert_ne!(fate.dropped, Some(DropReason::Unfair)),
        }
        if fate.dropped.is_none() {
            self.waiting.push_back(pkt.flow);
        }
        self.compare();
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        self.periods(now);
        let pkt = self.queue.dequeue(now, out);
        assert_eq!(pkt.map(|pkt| pkt.flow), self.waiting.pop_front());
        self.compare();
        pkt
    }

    fn advance(&mut self, now: Time) {
        self.periods(now);
        self.queue.advance(now);
        self.compare();
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        self.queue.probe(see);
    }
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        let AnyQueue::Black(queue) = config.build(link, dice).ok()? else { return None };
        let set = Set(config);
        let threshold = match set.size("threshold") {
            Size::Packets(0) | Size::Bytes(0) => set.size("min"),
            threshold => threshold,
        };
        let (Size::Packets(most) | Size::Bytes(most)) = threshold;
        let twin = NaiveBlack {
            period: set.number("samplings"),
            threshold: most as f64,
            judges: if set.is("gate", "on") { Judges::Above } else { Judges::Always },
            cache: set.hits(),
            ..NaiveBlack::new(0)
        };
        Some(Twinned {
            queue,
            twin,
            link,
            threshold,
            waiting: VecDeque::new(),
            due: set.nanos("interval"),
            every: set.nanos("interval"),
            operations: 0,
            disputes: Disputes::default(),
            dropped: 0,
        })
    }

    fn patience(&self) -> u64 {
        60 * self.every
    }
}
