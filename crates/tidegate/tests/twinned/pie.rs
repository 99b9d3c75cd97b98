//! PIE and its twin.
use super::Set;
use crate::naive::pie::{NaivePie, Said};
use crate::support::twin::{Disputes, agree, rolled};
use crate::support::{Both, Fate};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::Pie;
use tidegate::{DropReason, Ecn, Link, MarkReason, Packet, Qdisc, Rng, Sink, Time};

/// PIE with its twin beside it: every probability and every verdict compared.
pub struct Twinned {
    pub queue: Pie,
    pub twin: NaivePie,
    pub link: Link,
    pub ecn: bool,
    pub mark_up_to: f64,
    pub delay: f64,
    pub update: u64,
    pub due: u64,
    pub operations: u64,
    pub disputes: Disputes,
    pub marks: u64,
    pub drops: u64,
    pub passed: u64,
    pub sure: u64,
    /// Arrivals within the allowance for bursts, after the first.
    pub bursts: u64,
}

impl Twinned {
    fn updates(&mut self, now: Time) {
        while self.due <= now.as_nanos() {
            self.twin.update(self.delay);
            self.due += self.update;
        }
    }

    fn compare(&mut self) {
        self.operations += 1;
        agree("p", self.operations, self.queue.policy().probability(), self.twin.drop_prob, 1e-9);
        agree(
            "burst",
            self.operations,
            self.queue.policy().burst().as_millis(),
            self.twin.burst_allowance,
            1.0,
        );
    }
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        let backlog = self.queue.backlog();
        self.updates(now);
        let before = self.queue.dice().clone();
        let mut fate = Fate::default();
        self.queue.enqueue(now, pkt, &mut Both(&mut fate, out));
        let die = rolled(&before, self.queue.dice());
        let signalled = fate != Fate::default();
        if !self.link.has_room(backlog, pkt.len) {
            assert_eq!((fate.dropped, die), (Some(DropReason::Overlimit), None));
            self.twin.signalled();
        } else {
            match self.twin.arrive(backlog.bytes as f64, self.delay) {
                Said::Pass => {
                    assert_eq!(
                        (signalled, die),
                        (false, None),
                        "operation {}: {:?}",
                        self.operations,
                        self.twin
                    );
                    self.passed += 1;
                }
                Said::Sure => {
                    assert_eq!((signalled, die), (true, None));
                    self.sure += 1;
                }
                Said::Die(p) => self.disputes.verdict(self.operations, die.unwrap(), p, signalled),
            }
            if signalled {
                self.twin.signalled();
                let marked =
                    self.ecn && pkt.ecn != Ecn::NotEct && self.twin.drop_prob < self.mark_up_to;
                let (dropped, marked) =
                    ((!marked).then_some(DropReason::Early), marked.then_some(MarkReason::Early));
                assert_eq!(fate, Fate { dropped, marked });
            }
            self.drops += fate.dropped.is_some() as u64;
            self.marks += fate.marked.is_some() as u64;
            self.bursts += (self.twin.burst_allowance > 0.0 && self.operations > 10_000) as u64;
        }
        self.compare();
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        self.updates(now);
        let sent = self.queue.dequeue(now, out);
        if let Some(pkt) = sent {
            let waits = self.queue.backlog().packets > 0;
            self.delay =
                if waits { (now.as_nanos() - pkt.arrived.as_nanos()) as f64 / 1e9 } else { 0.0 };
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

/// The twin as the parameters set it.
pub(super) fn naive(set: &Set, link: Link) -> NaivePie {
    let max_burst = set.secs("max_burst") * 1e3;
    NaivePie {
        target: set.secs("target"),
        alpha: set.number("alpha"),
        beta: set.number("beta"),
        update: set.secs("tupdate") * 1e3,
        max_burst,
        burst_allowance: max_burst,
        derandomize: set.is("derandomize", "on"),
        cap: set.is("cap", "on"),
        decay_when_calm: set.is("decay", "calm"),
        ..NaivePie::new(link.mean_packet.get() as f64)
    }
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        let AnyQueue::Pie(queue) = config.build(link, dice).ok()? else { return None };
        let set = Set(config);
        let twin = naive(&set, link);
        Some(Twinned {
            queue,
            twin,
            link,
            ecn: set.is("ecn", "on"),
            mark_up_to: set.number("mark_ecnth"),
            delay: 0.0,
            update: set.nanos("tupdate"),
            due: set.nanos("tupdate"),
            operations: 0,
            disputes: Disputes::default(),
            marks: 0,
            drops: 0,
            passed: 0,
            sure: 0,
            bursts: 0,
        })
    }

    fn patience(&self) -> u64 {
        1_000 * self.update
    }
}
