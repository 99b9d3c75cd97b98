//! FQ-PIE and its twin.
use super::{Set, with_known};
use crate::naive::fq_pie::{Goes, Item, Limit, NaiveFqPie};
use crate::naive::hosts::{self, Divided};
use crate::naive::pie::{NaivePie, Said};
use crate::support::Both;
use crate::support::twin::{Disputes, agree, rolled};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::FqPie;
use tidegate::{DropReason, Ecn, Link, MarkReason, Packet, Qdisc, Rng, Sink, Size, Time};

/// What a call told.
#[derive(Debug, Default)]
struct Heard {
    dropped: Vec<(u32, DropReason)>,
    marked: Vec<u32>,
}

impl Sink for Heard {
    fn dropped(&mut self, _: Time, pkt: &Packet, why: DropReason) {
        self.dropped.push((pkt.slot, why));
    }
    fn marked(&mut self, _: Time, pkt: &Packet, _: MarkReason) {
        self.marked.push(pkt.slot);
    }
}

/// The queue with its twin beside it: every verdict, every probability of a queue that is touched.
pub struct Twinned {
    pub queue: FqPie,
    pub twin: NaiveFqPie,
    isolation: String,
    pub ecn: bool,
    pub mark_up_to: f64,
    pub update: u64,
    pub due: u64,
    pub operations: u64,
    pub disputes: Disputes,
    pub marks: u64,
    pub early: u64,
    pub full: u64,
    pub evicted: u64,
}

impl Twinned {
    fn updates(&mut self, now: Time) {
        while self.due <= now.as_nanos() {
            self.twin.update();
            self.due += self.update;
        }
    }

    fn compare(&mut self, queue: usize) {
        self.operations += 1;
        let control = self.queue.control(queue);
        let pie = &self.twin.pies[queue];
        agree("p", self.operations, control.probability(), pie.drop_prob, 1e-9);
        agree("delay", self.operations, control.delay(), self.twin.delays[queue], 1e-9);
        agree("burst", self.operations, control.burst().as_millis(), pie.burst_allowance, 1.0);
        let backlog = self.queue.backlog();
        let twins = (self.twin.packets(), self.twin.bytes());
        assert_eq!((backlog.packets as usize, backlog.bytes), twins);
        let mut gauges = Vec::new();
        self.queue.probe(&mut |g| gauges.push(g.value));
        let turns = &self.twin.turns;
        let longest = (0..self.twin.queues.len()).map(|q| self.twin.bytes_of(q)).max().unwrap();
        assert_eq!(gauges[..3], [turns.new.len() as f64, turns.old.len() as f64, longest as f64]);
    }
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        self.updates(now);
        let queue = self.queue.queue_of(hosts::key(&self.isolation, &pkt));
        let before = self.queue.dice().clone();
        let mut heard = Heard::default();
        self.queue.enqueue(now, pkt, &mut Both(&mut heard, out));
        let die = rolled(&before, self.queue.dice());
        let early = heard.dropped.contains(&(pkt.slot, DropReason::Early));
        let signalled = early || heard.marked == [pkt.slot];
        let Some(said) = self.twin.offer(queue, pkt.len as u64) else {
            assert_eq!((die, heard.dropped), (None, vec![(pkt.slot, DropReason::Overlimit)]));
            self.full += 1;
            return self.compare(queue);
        };
        match said {
            Said::Pass => assert_eq!((signalled, die), (false, None), "{}", self.operations),
            Said::Sure => assert_eq!((signalled, die), (true, None), "{}", self.operations),
            Said::Die(p) => self.disputes.verdict(self.operations, die.unwrap(), p, signalled),
        }
        if signalled {
            self.twin.pies[queue].signalled();
            let markable = self.ecn && pkt.ecn != Ecn::NotEct;
            let marked = markable && self.twin.pies[queue].drop_prob < self.mark_up_to;
            assert_eq!((heard.marked.len(), early), (marked as usize, !marked));
        }
        if early {
            assert_eq!(heard.dropped.len(), 1);
        } else {
            let (id, bytes, stamp) = (pkt.slot, pkt.len as u64, now.as_nanos());
            let gone = self.twin.admit(queue, hosts::of(&pkt), Item { id, bytes, stamp });
            let reason =
                |id| if id == pkt.slot { DropReason::Overlimit } else { DropReason::Evicted };
            let gone: Vec<_> = gone.into_iter().map(|id| (id, reason(id))).collect();
            assert_eq!(heard.dropped, gone, "operation {}", self.operations);
            self.evicted += gone.len() as u64;
        }
        (self.marks, self.early) =
            (self.marks + heard.marked.len() as u64, self.early + early as u64);
        self.compare(queue);
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        self.updates(now);
        let sent = self.queue.dequeue(now, out);
        let twins = self.twin.dequeue(now.as_nanos());
        assert_eq!(sent.map(|pkt| pkt.slot), twins, "operation {}", self.operations);
        let key = |pkt: &Packet| hosts::key(&self.isolation, pkt);
        self.compare(sent.map_or(0, |pkt| self.queue.queue_of(key(&pkt))));
        sent
    }

    fn advance(&mut self, now: Time) {
        self.updates(now);
        self.queue.advance(now);
        self.compare(0);
    }

    as_the_queue!();
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        // It walks all queues at every call.
        let few = Set(config).number("flows") <= 64.0;
        let config = with_known(config, if few { &[] } else { &[("flows", "64")] });
        let AnyQueue::FqPie(queue) = config.build(link, dice).ok()? else { return None };
        let set = Set(&config);
        let limit = match link.limit {
            Size::Packets(n) => Limit::Packets(n as usize),
            Size::Bytes(b) => Limit::Bytes(b),
        };
        let goes = match set.text("overflow").as_str() {
            "arrival" => Goes::Arrival,
            "longest_head" => Goes::LongestHead,
            "longest_tail" => Goes::LongestTail,
            other => panic!("{other}"),
        };
        let ceiling = set.number("ceiling");
        let pie = NaivePie { ceiling, ..super::pie::naive(&set, link) };
        let (flows, quantum) = (set.number("flows") as usize, set.bytes("quantum") as i64);
        let mut twin = NaiveFqPie::new(flows, quantum, limit, goes, &pie);
        let isolation = set.text("isolation");
        twin.turns.divided = Divided::by(&isolation);
        Some(Twinned {
            queue,
            twin,
            isolation,
            ecn: set.is("ecn", "on"),
            mark_up_to: set.number("ecn_prob"),
            update: set.nanos("tupdate"),
            due: set.nanos("tupdate"),
            operations: 0,
            disputes: Disputes::default(),
            marks: 0,
            early: 0,
            full: 0,
            evicted: 0,
        })
    }

    fn patience(&self) -> u64 {
        1_000 * self.update
    }
}
