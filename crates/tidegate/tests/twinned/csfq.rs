//! CSFQ and its twin.
use super::{Set, with_known};
use crate::naive::csfq::{Forwarded, NaiveCsfq, Setting};
use crate::support::twin::{Disputes, agree, rolled};
use crate::support::{Both, Fate};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::config::{ByClass, Value};
use tidegate::queues::Csfq;
use tidegate::{DropReason, Link, Packet, Qdisc, Rng, Sink, Size, Time};

/// CSFQ with its twin beside it: every verdict, every rate and the fair share.
pub struct Twinned {
    pub queue: Csfq,
    pub twin: NaiveCsfq,
    pub link: Link,
    weights: ByClass<f64>,
    threshold: Size,
    /// A came so near to C that rounding decides which is larger: from there on nothing is
    /// compared.
    pub on_the_edge: bool,
    pub operations: u64,
    pub disputes: Disputes,
    pub drops: u64,
    pub full: u64,
    /// How often congestion began, or ended.
    pub changes: u64,
}

impl Twinned {
    fn compare(&mut self, flow: u64) {
        let (step, rule, twin) = (self.operations, self.queue.policy(), &self.twin);
        agree("rate", step, rule.rate(flow).unwrap(), twin.flows[&flow].rate, 1.0);
        agree("A", step, rule.arrival_rate(), twin.arriving.rate, 1.0);
        agree("F", step, rule.accepted_rate(), twin.accepted.rate, 1.0);
        assert_eq!(rule.is_congested(), twin.congested, "operation {step}: {twin:?}");
        agree("alpha", step, rule.fair_share(), twin.alpha, 1.0);
    }
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        let waiting = self.queue.backlog();
        let has_room = self.link.has_room(waiting, pkt.len);
        let before = self.queue.dice().clone();
        let mut fate = Fate::default();
        self.queue.enqueue(now, pkt, &mut Both(&mut fate, out));
        let die = rolled(&before, self.queue.dice()).expect("a die for every arrival");
        assert_eq!(fate.marked, None, "CSFQ does not mark");
        self.operations += 1;
        if self.on_the_edge {
            return;
        }
        let (nanos, len) = (now.as_nanos() as f64, pkt.len as f64);
        let label = self.twin.label(nanos, pkt.flow, len, self.weights.of(pkt.class as usize));
        let p = self.twin.drop(label);
        // A packet without room does not tell whether it was accepted; a die that leaves no doubt
        // does.
        let dropped = if has_room { fate.dropped.is_some() } else { die < p };
        if has_room {
            self.disputes.verdict(self.operations, die, p, dropped);
            assert!(fate.dropped.is_none_or(|why| why == DropReason::Unfair));
        } else {
            assert_eq!(fate.dropped, Some(DropReason::Overlimit));
            self.full += 1;
            self.on_the_edge |= (die - p).abs() < 1e-9;
        }
        let q = match self.threshold {
            Size::Packets(_) => waiting.packets as f64,
            Size::Bytes(_) => waiting.bytes as f64,
        };
        let was = self.twin.congested;
        self.twin.estimate_alpha(nanos, label, len, dropped, q);
        let (ours, theirs, c) =
            (self.queue.policy().arrival_rate(), self.twin.arriving.rate, self.twin.set.capacity);
        self.on_the_edge |= ours != theirs && (theirs - c).abs() < 1e-9 * c;
        if !has_room && !dropped {
            self.twin.overflow(nanos);
        }
        self.drops += u64::from(dropped);
        self.changes += u64::from(was != self.twin.congested);
        if !self.on_the_edge {
            self.compare(pkt.flow);
        }
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        let before = self.queue.dice().clone();
        let pkt = self.queue.dequeue(now, out);
        assert_eq!(rolled(&before, self.queue.dice()), None);
        pkt
    }

    as_the_queue!(advance);
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        // The twin forgets no flow.
        let config = with_known(config, &[("flows", "4096")]);
        let AnyQueue::Csfq(queue) = config.build(link, dice).ok()? else { return None };
        let set = Set(&config);
        let weights: ByClass<f64> = ByClass::read(&set.text("weights")).unwrap();
        let capacity = link.rate.as_bps() as f64 / 8.0;
        let threshold = set.size("threshold");
        let (Size::Packets(most) | Size::Bytes(most)) = threshold;
        let setting = Setting {
            k: set.secs("memory"),
            k_alpha: set.secs("link_memory"),
            k_c: set.nanos("window") as f64,
            capacity,
            most: capacity / weights.given().iter().copied().fold(f64::INFINITY, f64::min),
            overflow: 1.0 - set.number("overflow"),
            overflow_most: set.number("overflow_most"),
            threshold: most as f64,
            forwarded: if set.is("forwarded", "accepted") {
                Forwarded::Accepted
            } else {
                Forwarded::Arrivals
            },
        };
        Some(Twinned {
            queue,
            twin: NaiveCsfq::new(setting),
            link,
            weights,
            threshold,
            on_the_edge: false,
            operations: 0,
            disputes: Disputes::default(),
            drops: 0,
            full: 0,
            changes: 0,
        })
    }
}
