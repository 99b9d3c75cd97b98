//! BLACK and its twins: its own, and RED's for the packets that BLACK leaves to RED.
use std::collections::VecDeque;

use super::Set;
use crate::naive::black::{Judges, NaiveBlack};
use crate::naive::red::{NaiveRed, Said};
use crate::support::twin::{Disputes, agree};
use crate::support::{Both, Fate};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::Black;
use tidegate::{DropReason, Link, MarkReason, Packet, Qdisc, Rng, Sink, Size, Time};

/// BLACK with its twins beside it: the hits, the number of flows, the verdicts on high-bandwidth
/// flows, and those of RED on the others.
pub struct Twinned {
    pub queue: Black,
    pub twin: NaiveBlack,
    pub red: NaiveRed,
    ecn: bool,
    /// Rounding has decided, in RED or on who is above the fair share: from there on RED is not
    /// compared.
    on_the_edge: bool,
    pub link: Link,
    pub threshold: Size,
    pub waiting: VecDeque<u64>,
    pub due: u64,
    pub every: u64,
    pub operations: u64,
    pub disputes: Disputes,
    pub dropped: u64,
    /// Signals of RED's.
    pub by_red: u64,
}

impl Twinned {
    fn periods(&mut self, now: Time) {
        while self.twin.period == 0.0 && self.due <= now.as_nanos() {
            self.twin.end_of_period();
            self.due += self.every;
        }
    }

    /// What RED says of a packet where BLACK says nothing.
    fn judge_by_red(&mut self, said: Said, pkt: &Packet, fate: &Fate, dice: &mut Rng) {
        let signal = |why: DropReason| {
            if self.ecn && pkt.ecn.is_capable() && why == DropReason::Early {
                Fate { dropped: None, marked: Some(MarkReason::Early) }
            } else {
                Fate { dropped: Some(why), marked: None }
            }
        };
        let expected = match said {
            _ if self.on_the_edge => return,
            Said::Pass => Fate::default(),
            Said::Forced => signal(DropReason::Forced),
            Said::Die { p_a, .. } => {
                self.disputes.verdict(self.operations, dice.uniform(), p_a, fate.is_signal());
                if fate.is_signal() { signal(DropReason::Early) } else { Fate::default() }
            }
        };
        assert_eq!(*fate, expected, "operation {}: {:?}", self.operations, self.red);
        if fate.is_signal() {
            self.red.signalled();
            self.by_red += 1;
        }
    }

    /// The queue's average, by its gauge.
    fn avg(&self) -> f64 {
        let mut avg = f64::NAN;
        self.queue.probe(&mut |gauge| avg = if gauge.name == "avg" { gauge.value } else { avg });
        avg
    }

    fn compare(&mut self) {
        self.operations += 1;
        if !self.on_the_edge {
            agree("avg", self.operations, self.avg(), self.red.avg, 1e-3);
        }
        agree("flows", self.operations, self.queue.policy().flows(), self.twin.flows, 1.0);
        if let Some(last) = self.twin.cache.list.last() {
            let fraction = self
                .queue
                .policy()
                .cache()
                .fraction(last.flow)
                .expect("the flow hit last is in the cache");
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
            self.twin
                .sample(pkt.flow, self.waiting[dice.below(self.waiting.len() as u64) as usize]);
        }
        let has_room = self.link.has_room(backlog, pkt.len);
        let judged = self.twin.drop(pkt.flow, waiting);
        let mut fate = Fate::default();
        self.queue.enqueue(now, pkt, &mut Both(&mut fate, out));
        let (nanos, packets, bytes) =
            (now.as_nanos() as f64, backlog.packets as f64, backlog.bytes as f64);
        match judged {
            _ if !has_room => {
                assert_eq!(fate.dropped, Some(DropReason::Overlimit));
                self.red.overflow(nanos, packets, bytes);
                self.on_the_edge |= self.red.is_edge(self.avg());
            }
            // At exactly the fair share one of the two may see an excess of rounding.
            Some(p) if p > 1e-12 => {
                assert!(fate.marked.is_none());
                let unfair = fate.dropped == Some(DropReason::Unfair);
                self.disputes.verdict(self.operations, dice.uniform(), p, unfair);
                self.dropped += u64::from(unfair);
                self.red.estimate(nanos, packets, bytes);
            }
            Some(_) => self.on_the_edge = true,
            None => {
                assert_ne!(fate.dropped, Some(DropReason::Unfair));
                let said = self.red.arrive(nanos, packets, bytes, pkt.len as f64);
                self.on_the_edge |= self.red.is_edge(self.avg());
                self.judge_by_red(said, &pkt, &fate, &mut dice);
            }
        }
        if has_room && fate.dropped.is_none() {
            self.red.admitted();
        }
        assert!(
            self.on_the_edge || &dice == self.queue.dice(),
            "operation {}: as many dice",
            self.operations
        );
        if fate.dropped.is_none() {
            self.waiting.push_back(pkt.flow);
        }
        self.compare();
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        self.periods(now);
        let pkt = self.queue.dequeue(now, out);
        assert_eq!(pkt.map(|pkt| pkt.flow), self.waiting.pop_front());
        if pkt.is_none() {
            self.red.idle(now.as_nanos() as f64);
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
            red: NaiveRed {
                min: set.size("min").in_packets(link.mean_packet),
                max: set.size("max").in_packets(link.mean_packet),
                max_p: set.number("probability"),
                weight: set.number("weight"),
                gentle: set.is("gentle", "on"),
                wait: set.is("wait", "on"),
                ..NaiveRed::of(&link)
            },
            ecn: set.is("ecn", "on"),
            on_the_edge: false,
            link,
            threshold,
            waiting: VecDeque::new(),
            due: set.nanos("interval"),
            every: set.nanos("interval"),
            operations: 0,
            disputes: Disputes::default(),
            dropped: 0,
            by_red: 0,
        })
    }

    fn patience(&self) -> u64 {
        60 * self.every
    }
}
