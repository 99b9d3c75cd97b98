//! HCSFQ and its twin.
use super::{Set, with_known};
use crate::naive::hcsfq::{Arrival, NaiveHcsfq, Node, Setting};
use crate::support::twin::{Disputes, agree, rolled};
use crate::support::{Both, Fate};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::config::{ByClass, Value};
use tidegate::parts::fair_share::FairShare;
use tidegate::queues::Hcsfq;
use tidegate::{DropReason, Link, Packet, Qdisc, Rng, Sink, Size, Time};

/// HCSFQ with its twin beside it: every verdict, every rate and all fair shares.
pub struct Twinned {
    pub queue: Hcsfq,
    pub twin: NaiveHcsfq,
    pub link: Link,
    tenant: String,
    weights: ByClass<f64>,
    threshold: Size,
    /// A rate came so near to a capacity that rounding decides which is larger: from there on
    /// nothing is compared.
    pub on_the_edge: bool,
    pub operations: u64,
    pub disputes: Disputes,
    pub drops: u64,
    pub full: u64,
    /// How often the congestion of the link, and of a tenant, began or ended.
    pub changes: [u64; 2],
}

impl Twinned {
    fn tenant_of(&self, pkt: &Packet) -> u64 {
        u64::from(match self.tenant.as_str() {
            "srchost" => pkt.hosts().source,
            "dsthost" => pkt.hosts().destination,
            _ => pkt.class,
        })
    }

    /// Both say the same of a node with this capacity, or rounding alone makes the difference.
    fn congestion(&mut self, fast: bool, node: Node, capacity: f64) {
        if fast != node.congested {
            let off = (node.arriving.rate - capacity).abs();
            assert!(off < 1e-9 * capacity, "operation {}: {node:?}", self.operations);
            self.on_the_edge = true;
        }
    }

    fn compare(&self, flow: u64, tenant: u64) {
        let (step, rule) = (self.operations, self.queue.policy());
        let node = |what: &str, fast: &FairShare, twin: &Node| {
            agree(&format!("{what}'s A"), step, fast.arrival_rate(), twin.arriving.rate, 1.0);
            agree(&format!("{what}'s F"), step, fast.accepted_rate(), twin.accepted.rate, 1.0);
            agree(&format!("{what}'s alpha"), step, fast.alpha(), twin.alpha, 1.0);
        };
        agree("rate", step, rule.rate(flow).unwrap(), self.twin.flows[&flow].rate, 1.0);
        node("the link", rule.link(), &self.twin.link);
        node("the tenant", rule.tenant(tenant).unwrap(), &self.twin.tenants[&tenant]);
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
        assert_eq!(fate.marked, None, "HCSFQ does not mark");
        self.operations += 1;
        if self.on_the_edge {
            return;
        }
        let (nanos, len, tenant) = (now.as_nanos() as f64, pkt.len as f64, self.tenant_of(&pkt));
        let label = self.twin.label(nanos, pkt.flow, len);
        let p = self.twin.drop(nanos, tenant, label);
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
        let was = [self.twin.link.congested, self.twin.tenants[&tenant].congested];
        let weight = self.weights.of(pkt.class as usize);
        self.twin.arrival(Arrival { now: nanos, len, dropped, q }, tenant, weight, label);
        let nodes = [self.twin.link, self.twin.tenants[&tenant]];
        let part = self.twin.capacity(nodes[1].arriving.rate, weight);
        let rule = self.queue.policy();
        let fast = [rule.link().is_congested(), rule.tenant(tenant).unwrap().is_congested()];
        self.congestion(fast[0], nodes[0], self.twin.set.capacity);
        self.congestion(fast[1], nodes[1], part);
        if !has_room && !dropped {
            self.twin.overflow(nanos);
        }
        self.drops += u64::from(dropped);
        for (at, node) in nodes.iter().enumerate() {
            self.changes[at] += u64::from(was[at] != node.congested);
        }
        if !self.on_the_edge {
            self.compare(pkt.flow, tenant);
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
        // The twin forgets nobody.
        let config = with_known(config, &[("flows", "4096"), ("tenants", "4096")]);
        let AnyQueue::Hcsfq(queue) = config.build(link, dice).ok()? else { return None };
        let set = Set(&config);
        let weights: ByClass<f64> = ByClass::read(&set.text("weights")).unwrap();
        let capacity = link.rate.as_bps() as f64 / 8.0 * set.number("part");
        let threshold = set.size("threshold");
        let (Size::Packets(most) | Size::Bytes(most)) = threshold;
        let setting = Setting {
            k: set.secs("memory"),
            k_a: set.secs("link_memory"),
            k_c: set.nanos("window") as f64,
            k_f: set.nanos("quiet") as f64,
            capacity,
            most: capacity / weights.given().iter().copied().fold(f64::INFINITY, f64::min),
            fall: set.number("fall"),
            least: set.number("least"),
            overflow: set.number("overflow"),
            overflow_most: set.number("overflow_most"),
            threshold: most as f64,
        };
        let tenant = set.text("tenant");
        Some(Twinned {
            queue,
            twin: NaiveHcsfq::new(setting),
            link,
            tenant,
            weights,
            threshold,
            on_the_edge: false,
            operations: 0,
            disputes: Disputes::default(),
            drops: 0,
            full: 0,
            changes: [0; 2],
        })
    }
}
