//! WFQ and its twin.
use super::{Set, with_known};
use crate::naive::hosts::{self, Divided};
use crate::naive::wfq::{NaiveWfq, Order};
use crate::support::{Both, Fate};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::config::{ByClass, Value};
use tidegate::queues::Wfq;
use tidegate::{DropReason, Link, Packet, Qdisc, Rng, Sink, Size, Time};

/// The queue with its twin beside it: the same packets in, dropped and out.
pub struct Twinned {
    pub queue: Wfq,
    pub twin: NaiveWfq,
    link: Link,
    pub operations: u64,
    pub dropped: u64,
    pub idle: u64,
    pub busiest: usize,
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        let class = self.queue.class_of(&pkt);
        // Buffers may add up to more than the limit for all.
        let room_for_all = self.link.has_room(self.queue.backlog(), pkt.len);
        let mut fate = Fate::default();
        self.queue.enqueue(now, pkt, &mut Both(&mut fate, out));
        let fits = room_for_all && self.twin.has_room(class, pkt.len as f64);
        assert_eq!(
            fate.dropped,
            (!fits).then_some(DropReason::Overlimit),
            "operation {}",
            self.operations
        );
        if fits {
            self.twin.push(class, hosts::of(&pkt), pkt.slot, pkt.len as f64);
        }
        self.dropped += u64::from(!fits);
        self.operations += 1;
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        let busy = self.twin.classes.iter().filter(|class| !class.packets.is_empty()).count();
        self.busiest = self.busiest.max(busy);
        let sent = self.queue.dequeue(now, out);
        let expected = self.twin.pop();
        assert_eq!(
            sent.map(|pkt| pkt.slot),
            expected.map(|(_, slot)| slot),
            "operation {}",
            self.operations
        );
        self.idle += u64::from(sent.is_none());
        self.operations += 1;
        sent
    }

    as_the_queue!(advance);
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        let few = Set(config).number("classes").min(16.0).to_string();
        let config = with_known(config, &[("classes", &few)]);
        let AnyQueue::Wfq(queue) = config.build(link, dice).ok()? else { return None };
        let set = Set(&config);
        let weights: ByClass<f64> = Value::read(&set.text("weights")).unwrap();
        let class = |class: usize| match queue.buffer(class) {
            Size::Bytes(most) => Some((weights.of(class), most as f64)),
            Size::Packets(_) => None,
        };
        let classes: Vec<(f64, f64)> =
            (0..set.number("classes") as usize).map(class).collect::<Option<_>>()?;
        let order = if set.is("order", "scfq") { Order::Scfq } else { Order::Wf2qPlus };
        let mut twin = NaiveWfq::new(order, &classes);
        let Size::Bytes(most) = link.limit else { return None };
        twin.divided = Divided::by(&set.text("isolation"));
        twin.dynamic = (set.number("alpha"), most as f64);
        Some(Twinned { queue, twin, link, operations: 0, dropped: 0, idle: 0, busiest: 0 })
    }
}
