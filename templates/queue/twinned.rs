//! TEMPLATE and its twin.
use super::Set;
use crate::naive::template::NaiveTemplate;
use crate::support::twin::{Disputes, rolled};
use crate::support::{Both, Fate};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::Template;
use tidegate::{DropReason, Link, Packet, Qdisc, Rng, Sink, Time};

/// TEMPLATE with its twin beside it: every verdict compared.
pub struct Twinned {
    pub queue: Template,
    pub twin: NaiveTemplate,
    pub link: Link,
    pub ecn: bool,
    pub operations: u64,
    pub disputes: Disputes,
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        let room = self.link.has_room(self.queue.backlog(), pkt.len);
        let before = self.queue.dice().clone();
        let mut fate = Fate::default();
        self.queue.enqueue(now, pkt, &mut Both(&mut fate, out));
        let die = rolled(&before, self.queue.dice());
        self.operations += 1;
        if !room {
            assert_eq!((fate.dropped, fate.marked, die), (Some(DropReason::Overlimit), None, None));
            return;
        }
        let p = self.twin.signal_probability();
        self.disputes.verdict(self.operations, die.unwrap(), p, fate.is_signal());
        // A signal is a mark where there can be one.
        assert!(!fate.is_signal() || fate.marked.is_some() == (self.ecn && pkt.ecn.is_capable()));
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        self.operations += 1;
        self.queue.dequeue(now, out)
    }

    as_the_queue!(advance);
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        let AnyQueue::Template(queue) = config.build(link, dice).ok()? else { return None };
        let set = Set(config);
        let twin = NaiveTemplate { probability: set.number("probability") };
        let ecn = set.is("ecn", "on");
        Some(Twinned { queue, twin, link, ecn, operations: 0, disputes: Disputes::default() })
    }
}
