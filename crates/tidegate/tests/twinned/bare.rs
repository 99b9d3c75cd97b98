//! BARE and its twin.
use super::{Set, with_known};
use crate::naive::bare::{Count, Growth, NaiveBare, Setting, Threshold};
use crate::support::twin::{Disputes, agree, rolled};
use crate::support::{Both, Fate};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::Bare;
use tidegate::{DropReason, Link, Packet, Qdisc, Rng, Sink, Time};

/// BARE with its twin beside it: every verdict and every number compared.
pub struct Twinned {
    pub queue: Bare,
    pub twin: NaiveBare,
    pub link: Link,
    /// One flow of each comparison is looked at, in turn; all come round many times.
    pub flows: u64,
    pub operations: u64,
    pub disputes: Disputes,
    pub early: u64,
    pub forced: u64,
    pub forgotten: u64,
}

impl Twinned {
    fn compare(&mut self) {
        self.operations += 1;
        let (step, rule, twin) = (self.operations, self.queue.policy(), &self.twin);
        assert_eq!(rule.flows() as usize, twin.flows.len(), "step {step}: N");
        agree("avg", step, rule.avg(), twin.avg_q, 1.0);
        if !twin.flows.is_empty() {
            agree("max_th", step, rule.max_th(), twin.max_th(), 1.0);
            agree("target", step, rule.target(), twin.target_q(), 1.0);
        }
        let id = tidegate::rng::mix(step % self.flows);
        match (rule.flow(id), twin.flows.get(&id)) {
            (Some((queued, rate, beta)), Some(flow)) => {
                assert_eq!(queued as f64, flow.q, "step {step}: q");
                agree("rate", step, rate, flow.rate, 1.0);
                agree("beta", step, beta, flow.beta, 1e-3);
            }
            (ours, theirs) => {
                assert!(ours.is_none() && theirs.is_none(), "step {step}: {ours:?} {theirs:?}")
            }
        }
    }

    /// Lets the twin forget what time has come for.
    fn forget(&mut self, now: Time) {
        let before = self.twin.flows.len();
        self.twin.forget(now.as_nanos() as f64);
        self.forgotten += (before - self.twin.flows.len()) as u64;
    }
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        self.forget(now);
        let has_room = self.link.has_room(self.queue.backlog(), pkt.len);
        let (nanos, len) = (now.as_nanos() as f64, pkt.len as f64);
        let p = self.twin.arrive(nanos, pkt.flow, len);
        let before = self.queue.dice().clone();
        let mut told = Fate::default();
        self.queue.enqueue(now, pkt, &mut Both(&mut told, out));
        assert_eq!(told.marked, None, "BARE does not mark");
        let fate = told.dropped;
        let die = rolled(&before, self.queue.dice());
        match (has_room, p) {
            (false, _) => assert_eq!((fate, die), (Some(DropReason::Overlimit), None)),
            (true, None) => assert_eq!((fate, die), (None, None), "a new flow is let in"),
            (true, Some(p)) => {
                self.disputes.verdict(self.operations, die.unwrap(), p, fate.is_some());
                assert!(fate != Some(DropReason::Forced) || p > 1.0 - 1e-9);
            }
        }
        if fate.is_none() {
            self.twin.buffered(nanos, pkt.flow, len);
        }
        self.early += u64::from(fate == Some(DropReason::Early));
        self.forced += u64::from(fate == Some(DropReason::Forced));
        self.compare();
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        let before = self.queue.dice().clone();
        let pkt = self.queue.dequeue(now, out)?;
        assert_eq!(rolled(&before, self.queue.dice()), None);
        self.forget(now);
        self.twin.depart(now.as_nanos() as f64, pkt.flow, pkt.len as f64);
        self.compare();
        Some(pkt)
    }

    fn advance(&mut self, now: Time) {
        self.queue.advance(now);
        self.forget(now);
    }

    as_the_queue!();
}

impl super::Twinned for Twinned {
    /// A packet without length would leave the twin with a flow that has nothing waiting.
    const LEAST: u32 = 1;

    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        let config = with_known(config, &[("flows", "4096")]);
        let AnyQueue::Bare(queue) = config.build(link, dice).ok()? else { return None };
        let set = Set(&config);
        let bytes = |name| set.size(name).in_bytes(link.mean_packet) as f64;
        let setting = Setting {
            c: set.number("increase"),
            w_q: set.number("weight"),
            beta_max: set.number("beta_max"),
            beta_min: set.number("beta_min"),
            beta_init: set.number("beta"),
            k: set.secs("memory"),
            mu: link.rate.as_bps() as f64 / 8.0,
            threshold: Threshold {
                most: bytes("most"),
                least: bytes("least"),
                roomy: set.number("roomy"),
                crowded: set.number("crowded"),
            },
            target: set.number("target"),
            trigger: set.number("update_after"),
            timeout: set.secs("timeout"),
            growth: if set.is("growth", "constant") { Growth::Constant } else { Growth::Ratio },
            count: if set.is("count", "reset") { Count::Reset } else { Count::Keep },
            by_backlog: set.is("share", "backlog").then(|| set.number("share_weight")),
            constant: set.is("law", "constant").then(|| set.number("chance")),
            recount: set.is("active", "by_rate").then(|| (set.secs("recount") * 1e9).round()),
        };
        Some(Twinned {
            queue,
            twin: NaiveBare::new(setting),
            link,
            flows: 8,
            operations: 0,
            disputes: Disputes::default(),
            early: 0,
            forced: 0,
            forgotten: 0,
        })
    }
}
