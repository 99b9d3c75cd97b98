//! CARE and its twin.
use super::{Set, with_known};
use crate::naive::care::NaiveCare;
use crate::support::twin::{Disputes, agree};
use crate::support::{Both, Fate};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::Care;
use tidegate::{DropReason, Link, Packet, Qdisc, Rng, Sink, Time};

/// A longer packet counts as one of this length.
const LONGEST: u32 = 65_535;
/// A chance that is rounding: at exactly the fair share one of the two may roll a die for it.
const NOTHING: f64 = 1e-12;

/// CARE with its twin beside it, which rolls the same dice: every verdict and the estimate
/// compared.
pub struct Twinned {
    pub queue: Care,
    pub twin: NaiveCare,
    pub dice: Rng,
    pub link: Link,
    pub operations: u64,
    pub disputes: Disputes,
    pub drops: u64,
    pub full: u64,
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        let has_room = self.link.has_room(self.queue.backlog(), pkt.len);
        let backlog = self.queue.backlog().bytes as f64;
        let judged = self.twin.arrive(
            now.as_nanos(),
            pkt.flow,
            pkt.len.min(LONGEST),
            backlog,
            self.dice.uniform(),
        );
        let mut fate = Fate::default();
        self.queue.enqueue(now, pkt, &mut Both(&mut fate, out));
        assert_eq!(fate.marked, None, "CARE does not mark");
        if judged.flows > 0.0 {
            agree("flows", self.operations, self.queue.policy().flows(), judged.flows, 1.0);
        }
        if !has_room {
            assert_eq!(fate.dropped, Some(DropReason::Overlimit));
            self.full += 1;
        } else if judged.drop < NOTHING {
            assert_eq!(fate.dropped, None, "operation {}: {judged:?}", self.operations);
            self.dice = self.queue.dice().clone();
        } else {
            self.disputes.verdict(
                self.operations,
                self.dice.uniform(),
                judged.drop,
                fate.dropped.is_some(),
            );
            self.drops += u64::from(fate.dropped.is_some());
        }
        assert_eq!(
            self.queue.dice(),
            &self.dice,
            "operation {}: as many dice as the twin's",
            self.operations
        );
        self.operations += 1;
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        self.queue.dequeue(now, out)
    }

    as_the_queue!(advance);
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        // The twin has one list, and walks it for every packet.
        let occasions = (Set(config).number("occasions") as u32).min(300).to_string();
        let config =
            with_known(config, &[("occasions", &occasions), ("flow_occasions", &occasions)]);
        let AnyQueue::Care(queue) = config.build(link, dice.clone()).ok()? else { return None };
        let set = Set(&config);
        let mut twin = NaiveCare::new(
            set.number("occasions") as usize,
            set.number("capture"),
            set.number("least_captures") as usize,
        );
        twin.bytes = set.is("weigh", "bytes");
        twin.by_length = set.is("weigh", "chance").then_some(link.mean_packet.get() as f64);
        let limit = link.limit.in_bytes(link.mean_packet) as f64;
        twin.gate = set.number("gate") * limit;
        twin.pull = set.number("pull");
        twin.expire = Some(set.nanos("expire")).filter(|&expire| expire > 0);
        twin.line = set.is("share", "line").then_some((link.rate.as_bps() as f64 / 8.0, limit));
        Some(Twinned {
            queue,
            twin,
            dice,
            link,
            operations: 0,
            disputes: Disputes::default(),
            drops: 0,
            full: 0,
        })
    }
}
