//! BLUE and its twin.
use super::Set;
use crate::naive::blue::{Clock, NaiveBlue};
use crate::support::twin::{Disputes, agree, rolled};
use crate::support::{Both, Fate};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::Blue;
use tidegate::{Backlog, DropReason, Link, Packet, Qdisc, Rng, Sink, Size, Time};

/// BLUE with its twin beside it, which learns losses and idle times. It must come to the same p_m,
/// and so to the same verdict on the same dice.
pub struct Twinned {
    pub queue: Blue,
    pub twin: NaiveBlue,
    pub link: Link,
    pub ecn: bool,
    /// Whether an idle link goes on lowering p_m while nobody asks.
    pub elapsed: bool,
    /// L, where an arrival that finds more is congestion.
    pub longest: Option<Size>,
    pub idle_since: Option<f64>,
    pub operations: u64,
    pub disputes: Disputes,
    pub early: u64,
    pub lost: u64,
    pub idles: u64,
}

impl Twinned {
    fn catch_up(&mut self, secs: f64) {
        if let (true, Some(since)) = (self.elapsed, self.idle_since) {
            self.twin.idle_throughout(since, secs);
        }
    }

    fn compare(&mut self) {
        self.operations += 1;
        agree("p_m", self.operations, self.queue.policy().p_m(), self.twin.p_m, 1e-6);
    }

    fn too_long(&self, backlog: Backlog) -> bool {
        match self.longest {
            Some(Size::Packets(n)) => backlog.packets as u64 > n,
            Some(Size::Bytes(n)) => backlog.bytes > n,
            None => false,
        }
    }
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        let (secs, backlog) = (now.as_nanos() as f64 / 1e9, self.queue.backlog());
        let before = self.queue.dice().clone();
        let mut fate = Fate::default();
        self.queue.enqueue(now, pkt, &mut Both(&mut fate, out));
        self.catch_up(secs);
        let die = rolled(&before, self.queue.dice());
        assert_eq!(die.is_some(), self.link.has_room(backlog, pkt.len));
        if let Some(die) = die {
            if self.too_long(backlog) {
                self.twin.loss(secs);
            }
            let signalled = fate.is_signal();
            self.disputes.verdict(self.operations, die, self.twin.p_m, signalled);
            assert_eq!(fate.marked.is_some(), signalled && self.ecn && pkt.ecn.is_capable());
            self.early += u64::from(signalled);
            self.idle_since = self.idle_since.filter(|_| fate.dropped.is_some());
        } else {
            assert_eq!(fate.dropped, Some(DropReason::Overlimit));
            self.twin.loss(secs);
            self.lost += 1;
        }
        self.compare();
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        let pkt = self.queue.dequeue(now, out);
        if pkt.is_none() {
            let secs = now.as_nanos() as f64 / 1e9;
            let since = *self.idle_since.get_or_insert(secs);
            if self.elapsed {
                self.twin.idle_throughout(since, secs)
            } else {
                self.twin.idle(secs)
            }
            self.idles += 1;
        }
        self.compare();
        pkt
    }

    fn advance(&mut self, now: Time) {
        self.queue.advance(now);
        self.catch_up(now.as_nanos() as f64 / 1e9);
        self.compare();
    }

    as_the_queue!();
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        let AnyQueue::Blue(queue) = config.build(link, dice).ok()? else { return None };
        let set = Set(config);
        let clock = if set.is("clock", "shared") { Clock::Shared } else { Clock::Separate };
        let longest =
            set.is("trigger", "length").then(|| link.limit.scale(set.number("threshold")));
        Some(Twinned {
            queue,
            twin: NaiveBlue::new(
                set.number("d1"),
                set.number("d2"),
                set.secs("freeze_time"),
                clock,
            ),
            link,
            ecn: set.is("ecn", "on"),
            elapsed: set.is("idle", "elapsed"),
            longest,
            idle_since: None,
            operations: 0,
            disputes: Disputes::default(),
            early: 0,
            lost: 0,
            idles: 0,
        })
    }

    fn patience(&self) -> u64 {
        (1e3 * self.twin.freeze_time * 1e9) as u64
    }
}
