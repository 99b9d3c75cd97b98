//! REM and its twin.
use super::Set;
use crate::naive::rem::NaiveRem;
use crate::support::twin::{Disputes, agree, rolled};
use crate::support::{Both, Fate};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::Rem;
use tidegate::{DropReason, Link, Packet, Qdisc, Rng, Sink, Time};

/// REM with its twin beside it: every price and every verdict compared.
pub struct Twinned {
    pub queue: Rem,
    pub twin: NaiveRem,
    pub link: Link,
    pub interval: u64,
    pub due: u64,
    pub by_backlog: bool,
    pub byte_mode: bool,
    pub at_departure: bool,
    pub ecn: bool,
    pub pass: bool,
    pub operations: u64,
    pub disputes: Disputes,
    pub marks: u64,
    pub drops: u64,
}

impl Twinned {
    /// Every period that ended by `now`, with what waited all the while.
    fn periods(&mut self, now: Time, backlog: u64) {
        while self.due <= now.as_nanos() {
            let backlog = backlog as f64 / self.link.mean_packet.get() as f64;
            if self.by_backlog {
                self.twin.period_by_backlog(backlog)
            } else {
                self.twin.period(backlog)
            }
            self.due += self.interval;
        }
    }

    fn probability(&self, len: u32) -> f64 {
        let scale =
            if self.byte_mode { len as f64 / self.link.mean_packet.get() as f64 } else { 1.0 };
        self.twin.mark_probability() * scale
    }

    fn compare(&mut self) {
        self.operations += 1;
        agree("price", self.operations, self.queue.policy().price().get(), self.twin.price, 1e-3);
    }
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        let backlog = self.queue.backlog();
        self.periods(now, backlog.bytes);
        self.twin.arrived += pkt.len as f64 / self.link.mean_packet.get() as f64;
        let before = self.queue.dice().clone();
        let mut fate = Fate::default();
        self.queue.enqueue(now, pkt, &mut Both(&mut fate, out));
        let die = rolled(&before, self.queue.dice());
        let later = self.at_departure && self.ecn && pkt.ecn.is_capable();
        if !self.link.has_room(backlog, pkt.len) {
            assert_eq!(
                (fate.dropped, fate.marked.is_some(), die),
                (Some(DropReason::Overlimit), false, None)
            );
        } else if later {
            assert_eq!((fate.dropped, fate.marked.is_some(), die), (None, false, None));
        } else if !self.ecn {
            assert_eq!(fate.marked, None);
            self.disputes.verdict(
                self.operations,
                die.unwrap(),
                self.probability(pkt.len),
                fate.dropped.is_some(),
            );
        } else {
            let signalled = fate.marked.is_some() || fate.dropped.is_some();
            if pkt.ecn.is_capable() {
                assert_eq!(fate.dropped, None);
            } else {
                assert!(!(fate.marked.is_some() || self.pass && fate.dropped.is_some()));
            }
            if pkt.ecn.is_capable() || !self.pass {
                self.disputes.verdict(
                    self.operations,
                    die.unwrap(),
                    self.probability(pkt.len),
                    signalled,
                );
            }
        }
        self.marks += fate.marked.is_some() as u64;
        self.drops += fate.dropped.is_some() as u64;
        self.compare();
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        let backlog = self.queue.backlog().bytes;
        self.periods(now, backlog);
        let before = self.queue.dice().clone();
        let mut fate = Fate::default();
        let pkt = self.queue.dequeue(now, &mut Both(&mut fate, out));
        let die = rolled(&before, self.queue.dice());
        match pkt {
            Some(pkt) if self.at_departure && self.ecn && pkt.ecn.is_capable() => {
                self.disputes.verdict(
                    self.operations,
                    die.unwrap(),
                    self.probability(pkt.len),
                    fate.marked.is_some(),
                );
            }
            _ => assert_eq!((die, fate.marked.is_some()), (None, false)),
        }
        self.marks += fate.marked.is_some() as u64;
        self.compare();
        pkt
    }

    fn advance(&mut self, now: Time) {
        self.periods(now, self.queue.backlog().bytes);
        self.queue.advance(now);
        self.compare();
    }

    as_the_queue!();
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        let AnyQueue::Rem(queue) = config.build(link, dice).ok()? else { return None };
        let set = Set(config);
        let interval = set.nanos("interval");
        let packet = link.mean_packet.get() as f64;
        let capacity = link.rate.as_bps() as f64 / 8.0 / packet * set.secs("interval");
        let target = set.size("target").in_packets(link.mean_packet);
        let number = |name| set.number(name);
        let twin = NaiveRem::new(
            number("alpha"),
            number("gamma"),
            number("phi"),
            target,
            capacity,
            number("weight"),
        );
        Some(Twinned {
            queue,
            twin,
            link,
            interval,
            due: interval,
            by_backlog: set.is("form", "backlog"),
            byte_mode: set.is("mode", "bytes"),
            at_departure: set.is("mark_at", "dequeue"),
            ecn: set.is("ecn", "on"),
            pass: set.is("non_ect", "pass"),
            operations: 0,
            disputes: Disputes::default(),
            marks: 0,
            drops: 0,
        })
    }

    /// Beyond 64 periods without arrivals a slow memory of the input is cut short.
    fn patience(&self) -> u64 {
        if self.twin.weight == 1.0 { 1_000 * self.interval } else { 60 * self.interval }
    }
}
