//! SFQ and its twin.
use super::drr::{Stolen, buffer};
use super::{Set, with_known};
use crate::naive::hosts::{self, Divided};
use crate::naive::sfq::{NaiveSfq, Ns2};
use crate::support::Both;
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::Sfq;
use tidegate::rng::mix;
use tidegate::{Link, Packet, Qdisc, Rng, Sink, Time};

/// The hash functions of a queue with `bins` bins that was given `dice`, by epoch.
fn documented_hash(bins: u64, mut dice: Rng) -> impl Fn(u64, u64) -> usize + use<> {
    let key = dice.bits();
    move |epoch, flow| {
        ((mix(flow ^ mix(key.wrapping_add(epoch))) as u128 * bins as u128) >> 64) as usize
    }
}

/// The queue with its twin beside it: the same packets in, dropped and out.
pub struct Twinned {
    pub queue: Sfq,
    pub twin: NaiveSfq,
    /// Whether the driver's classes are the bins; the twin then takes them for flows.
    by_class: bool,
    isolation: String,
    pub operations: u64,
    pub dropped: u64,
    pub itself: u64,
    pub idle: u64,
    pub busiest: usize,
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        let mut stolen = Stolen::for_arrival(pkt.slot);
        self.queue.enqueue(now, pkt, &mut Both(&mut stolen, out));
        let key = hosts::key(&self.isolation, &pkt);
        let flow = (if self.by_class { pkt.class as u64 } else { key }, hosts::of(&pkt));
        let dropped = self.twin.enqueue(now.as_nanos(), flow, pkt.slot, pkt.len as u64);
        assert_eq!(stolen.dropped, dropped, "operation {}", self.operations);
        self.dropped += dropped.len() as u64;
        self.itself += u64::from(dropped.contains(&pkt.slot));
        self.operations += 1;
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        self.busiest = self.busiest.max(self.twin.turns.len());
        let sent = self.queue.dequeue(now, out);
        assert_eq!(
            sent.map(|pkt| pkt.slot),
            self.twin.dequeue(now.as_nanos()),
            "operation {}",
            self.operations
        );
        let mut busy = f64::NAN;
        self.queue
            .probe(&mut |gauge| busy = if gauge.name == "busy_bins" { gauge.value } else { busy });
        assert_eq!(busy as usize, self.twin.turns.len());
        self.idle += u64::from(sent.is_none());
        self.operations += 1;
        sent
    }

    as_the_queue!(advance);
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        // It walks all queues at every call.
        let few = Set(config).number("bins").min(32.0);
        let config = with_known(config, &[("bins", &few.to_string())]);
        let AnyQueue::Sfq(queue) = config.build(link, dice.clone()).ok()? else { return None };
        let set = Set(&config);
        let ns2 = set.is("overflow", "ns2").then(|| Ns2 { limit: link.limit_packets() as u64 });
        let perturb = Some(set.nanos("perturb")).filter(|&nanos| nanos > 0);
        let by_class = set.is("map", "class");
        let hash = documented_hash(few as u64, dice);
        let bin = move |epoch, flow| {
            if by_class { (flow as usize).min(few as usize - 1) } else { hash(epoch, flow) }
        };
        let mut twin = NaiveSfq::new(buffer(&config, &link, few as usize), ns2, perturb, bin);
        let isolation = set.text("isolation");
        twin.divided = Divided::by(&isolation);
        Some(Twinned {
            queue,
            twin,
            by_class,
            isolation,
            operations: 0,
            dropped: 0,
            itself: 0,
            idle: 0,
            busiest: 0,
        })
    }
}
