//! BC-PQP and its twin.
use super::{Set, with_known};
use crate::naive::bc_pqp::{Control, NaiveBcPqp};
use crate::support::{Both, Fate};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::BcPqp;
use tidegate::{DropReason, Link, Packet, Qdisc, Rng, Sink, Time};

/// BC-PQP with its twin beside it: every verdict and every phantom queue compared.
pub struct Twinned {
    pub queue: BcPqp,
    pub twin: NaiveBcPqp,
    pub link: Link,
    pub operations: u64,
    pub admitted: u64,
    pub refused: u64,
    /// The most that was ever filled up, in bytes.
    pub magic: u64,
    /// The most phantom queues that had bytes at once.
    pub busiest: usize,
}

impl Twinned {
    fn compare(&mut self) {
        let phantoms = self.queue.policy().phantoms();
        assert!(phantoms.busy().iter().eq(self.twin.turns.iter().copied()), "{}", self.operations);
        for (one, twin) in self.twin.phantoms.iter().enumerate() {
            let ours = phantoms.of(one);
            let place = format!("phantom queue {one}, operation {}", self.operations);
            assert_eq!((ours.size, ours.magic), (twin.size, twin.magic), "{place}");
            assert!(
                twin.size == 0
                    || (ours.before, ours.served, ours.added, ours.filled)
                        == (twin.before, twin.served, twin.admitted, twin.filled),
                "{place}: {ours:?} {twin:?}"
            );
        }
        self.magic = self.magic.max(self.twin.phantoms.iter().map(|one| one.magic).sum());
        self.busiest = self.busiest.max(self.twin.turns.len());
    }
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        let room = self.link.has_room(self.queue.backlog(), pkt.len);
        let before = self.queue.dice().clone();
        let mut fate = Fate::default();
        self.queue.enqueue(now, pkt, &mut Both(&mut fate, out));
        self.operations += 1;
        assert!(fate.marked.is_none() && &before == self.queue.dice());
        if !room {
            assert_eq!(fate.dropped, Some(DropReason::Overlimit));
            return;
        }
        let one = self.queue.policy().class_of(&pkt);
        let admitted = self.twin.arrive(now.as_nanos(), one, pkt.len as u64);
        let expected = (!admitted).then_some(DropReason::Unfair);
        assert_eq!(fate.dropped, expected, "operation {}", self.operations);
        self.admitted += u64::from(admitted);
        self.refused += u64::from(!admitted);
        self.compare();
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        self.operations += 1;
        self.queue.dequeue(now, out)
    }

    fn advance(&mut self, now: Time) {
        self.queue.advance(now);
        self.twin.catch_up(now.as_nanos());
        self.compare();
    }

    as_the_queue!();
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        // It walks all phantom queues at every call.
        let few = Set(config).number("classes").min(16.0);
        let config = with_known(config, &[("classes", &few.to_string())]);
        let AnyQueue::BcPqp(queue) = config.build(link, dice).ok()? else { return None };
        let set = Set(&config);
        let rate = (link.rate.as_bps() as f64 * set.number("share")).round().max(1.0) as u64;
        let control = match set.text("burst_control").as_str() {
            "off" => Control::Off,
            "growth" => Control::Growth,
            _ => Control::Share,
        };
        let twin = NaiveBcPqp::new(
            rate,
            (set.bytes("phantom_limit"), set.bytes("burst")),
            (set.nanos("window"), set.number("theta"), control),
            set.quanta(few as usize),
        );
        Some(Twinned {
            queue,
            twin,
            link,
            operations: 0,
            admitted: 0,
            refused: 0,
            magic: 0,
            busiest: 0,
        })
    }
}
