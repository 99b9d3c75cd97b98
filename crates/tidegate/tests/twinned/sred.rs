//! SRED and its twin.
use super::Set;
use crate::naive::sred::{Filling, Law, NaiveSred, Setting};
use crate::support::twin::{Disputes, agree};
use crate::support::{Both, Fate};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::Sred;
use tidegate::{DropReason, Link, Packet, Qdisc, Rng, Sink, Size, Time};

/// SRED with its twin beside it, which rolls the same dice: every verdict, the hit frequency and,
/// in turn, what flows have in the list.
pub struct Twinned {
    pub queue: Sred,
    pub twin: NaiveSred,
    pub dice: Rng,
    pub link: Link,
    pub operations: u64,
    pub disputes: Disputes,
    pub hits: u64,
    pub drops: u64,
    pub full: u64,
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        let waiting = self.queue.backlog();
        let has_room = self.link.has_room(waiting, pkt.len);
        let hit = self.twin.compare(pkt.flow, &mut self.dice);
        let mut fate = Fate::default();
        self.queue.enqueue(now, pkt, &mut Both(&mut fate, out));
        assert_eq!(fate.marked, None, "SRED does not mark");
        if has_room {
            let q = match self.link.limit {
                Size::Packets(_) => waiting.packets as f64,
                Size::Bytes(_) => waiting.bytes as f64,
            };
            let p = self.twin.p_zap(hit, q);
            self.disputes.verdict(self.operations, self.dice.uniform(), p, fate.dropped.is_some());
            self.drops += u64::from(fate.dropped.is_some());
        } else {
            assert_eq!(fate.dropped, Some(DropReason::Overlimit));
            self.full += 1;
        }
        self.hits += u64::from(hit);
        let (step, zombies) = (self.operations, self.queue.policy().zombies());
        assert_eq!(self.queue.dice(), &self.dice, "operation {step}: as many dice as the twin's");
        assert_eq!(zombies.len(), self.twin.zombies.len());
        agree("P", step, zombies.hit_frequency(), self.twin.p, 1e-3);
        if step.is_multiple_of(16) {
            assert_eq!(
                zombies.occurrence(pkt.flow) as f64,
                self.twin.occurrence(pkt.flow),
                "operation {step}"
            );
        }
        self.operations += 1;
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        self.queue.dequeue(now, out)
    }

    as_the_queue!();
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        let AnyQueue::Sred(queue) = config.build(link, dice.clone()).ok()? else { return None };
        let set = Set(config);
        let (Size::Packets(limit) | Size::Bytes(limit)) = link.limit;
        let setting = Setting {
            size: set.number("zombies") as usize,
            overwrite: set.number("overwrite"),
            alpha: set.number("alpha"),
            p_max: set.number("probability"),
            many: set.number("flows"),
            buffer: limit as f64,
            low: set.number("low"),
            high: set.number("high"),
            law: if set.is("law", "full") { Law::Full } else { Law::Simple },
            filling: if set.is("filling", "miss") { Filling::Miss } else { Filling::Nothing },
        };
        let twin = NaiveSred::new(setting);
        let disputes = Disputes::default();
        Some(Twinned {
            queue,
            twin,
            dice,
            link,
            operations: 0,
            disputes,
            hits: 0,
            drops: 0,
            full: 0,
        })
    }
}
