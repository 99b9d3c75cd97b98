//! AFD and its twin.
use super::{Set, with_known};
use crate::naive::afd::NaiveAfd;
use crate::support::twin::{Disputes, agree};
use crate::support::{Both, Fate};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::parts::every::Every;
use tidegate::queues::Afd;
use tidegate::{DropReason, Link, Packet, Qdisc, Rng, Sink, Size, Span, Time};

/// AFD with its twin beside it.
pub struct Twinned {
    pub queue: Afd,
    pub twin: NaiveAfd,
    pub every: Every,
    interval: u64,
    pub link: Link,
    pub operations: u64,
    pub disputes: Disputes,
    pub samples: u64,
    pub dropped: u64,
    pub overflows: u64,
    /// Most steps that were due at once.
    pub most_due: u64,
}

impl Twinned {
    fn q(&self) -> f64 {
        match self.link.limit {
            Size::Packets(_) => self.queue.backlog().packets as f64,
            Size::Bytes(_) => {
                self.queue.backlog().bytes as f64 / self.link.mean_packet.get() as f64
            }
        }
    }

    fn update(&mut self, now: Time) {
        let q = self.q();
        let mut due = 0;
        while self.every.step(now).is_some() {
            self.twin.update(q);
            due += 1;
        }
        self.most_due = self.most_due.max(due);
    }

    fn compare(&mut self, flow: u64) {
        self.operations += 1;
        agree("m_fair", self.operations, self.queue.policy().m_fair(), self.twin.m_fair, 1.0);
        // To count is slow in the twin; flows come round.
        if self.operations.is_multiple_of(16) {
            assert_eq!(self.queue.policy().count(flow) as f64, self.twin.count(flow));
        }
    }
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        self.update(now);
        let has_room = self.link.has_room(self.queue.backlog(), pkt.len);
        let mut mirror = self.queue.dice().clone();
        let rolled = self.twin.arrive(pkt.flow, has_room, &mut mirror);
        let mut fate = Fate::default();
        self.queue.enqueue(now, pkt, &mut Both(&mut fate, out));
        assert_eq!(&mirror, self.queue.dice(), "operation {}: as many dice", self.operations);
        match rolled.drop {
            None => assert_eq!(fate.dropped, Some(DropReason::Overlimit)),
            Some((p, die)) => {
                self.disputes.verdict(
                    self.operations,
                    die,
                    p,
                    fate.dropped == Some(DropReason::Unfair),
                );
                assert_ne!(fate.dropped, Some(DropReason::Overlimit));
                self.dropped += u64::from(fate.dropped.is_some());
            }
        }
        self.samples += u64::from(rolled.sampled);
        self.overflows += u64::from(!has_room);
        self.compare(pkt.flow);
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        self.update(now);
        let pkt = self.queue.dequeue(now, out);
        self.compare(pkt.map_or(0, |pkt| pkt.flow));
        pkt
    }

    fn advance(&mut self, now: Time) {
        self.update(now);
        self.queue.advance(now);
        self.compare(0);
    }

    as_the_queue!();
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        // The twin walks its shadow buffer for every packet.
        let shadow = Set(config).number("shadow").min(500.0).to_string();
        let config = with_known(config, &[("shadow", &shadow)]);
        let AnyQueue::Afd(queue) = config.build(link, dice).ok()? else { return None };
        let set = Set(&config);
        let [size, sample, alpha, beta, target] =
            ["shadow", "sample", "alpha", "beta", "target"].map(|name| set.number(name));
        Some(Twinned {
            queue,
            twin: NaiveAfd::new(size as usize, sample, alpha, beta, target * link.limit_packets()),
            every: Every::new(Span::from_nanos(set.nanos("update"))),
            interval: set.nanos("update"),
            link,
            operations: 0,
            disputes: Disputes::default(),
            samples: 0,
            dropped: 0,
            overflows: 0,
            most_due: 0,
        })
    }

    fn patience(&self) -> u64 {
        1_000 * self.interval
    }
}
