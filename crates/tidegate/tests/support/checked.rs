//! A checker around any queue: every packet's fate is reported exactly once, and nothing else
//! happens to it.
use std::collections::BTreeMap;

use tidegate::catalog::AnyConfig;
use tidegate::rng::mix;
use tidegate::{
    Ack, Backlog, DropReason, Ecn, Gauge, Link, MarkReason, Packet, Qdisc, Sink, Size, Time,
};

/// A queue under watch. Offer it packets whose `slot` counts up from 0: that is how it tells them
/// apart.
pub struct Checked<Q> {
    queue: Q,
    link: Link,
    ledger: Ledger,
}

/// How many packets met which fate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub offered: u64,
    pub dequeued: u64,
    pub dropped: BTreeMap<DropReason, u64>,
    pub marked: BTreeMap<MarkReason, u64>,
}

impl Tally {
    pub fn all_dropped(&self) -> u64 {
        self.dropped.values().sum()
    }
    pub fn all_marked(&self) -> u64 {
        self.marked.values().sum()
    }
}

/// What the checker knows of the queue from outside.
#[derive(Default)]
struct Ledger {
    now: Time,
    /// By slot.
    packets: Vec<Known>,
    /// The last slot that left, by flow, class and line: a flow of several may overtake itself.
    last_out: BTreeMap<(u64, u16, u32), u32>,
    /// Whether packets of a flow may stand in several lines; which it was is their tag.
    several_lines: bool,
    held: Backlog,
    tally: Tally,
    trace: u64,
}

struct Known {
    offered: Packet,
    marked: bool,
    gone: bool,
}

impl Ledger {
    fn note(&mut self, word: u64) {
        self.trace = mix(self.trace ^ word);
    }

    /// The one fate of the packet in `pkt.slot`.
    fn leaves(&mut self, pkt: &Packet) {
        let known = &mut self.packets[pkt.slot as usize];
        assert!(!known.gone, "the fate of packet {} is told twice", pkt.slot);
        known.gone = true;
        let ecn = if known.marked { Ecn::Ce } else { known.offered.ecn };
        // The tag is the queue's own.
        let expected = Packet { ecn, tag: pkt.tag, ..known.offered };
        assert_eq!(*pkt, expected, "the packet is not what it was");
        self.held.remove(pkt.len);
    }
}

/// Passes on to the driver's sink what the ledger has taken down.
struct Tap<'a, S: ?Sized>(&'a mut Ledger, &'a mut S);

impl<S: Sink + ?Sized> Sink for Tap<'_, S> {
    fn dropped(&mut self, now: Time, pkt: &Packet, why: DropReason) {
        let ledger = &mut *self.0;
        assert_eq!(now, ledger.now, "a drop is told when it happens");
        ledger.leaves(pkt);
        *ledger.tally.dropped.entry(why).or_default() += 1;
        ledger.note(1 << 40 | (why as u64) << 32 | pkt.slot as u64);
        self.1.dropped(now, pkt, why);
    }

    fn marked(&mut self, now: Time, pkt: &Packet, why: MarkReason) {
        let ledger = &mut *self.0;
        assert_eq!(now, ledger.now, "a mark is told when it happens");
        let known = &mut ledger.packets[pkt.slot as usize];
        assert!(
            !known.gone && !known.marked,
            "packet {} is marked once, while it is here",
            pkt.slot
        );
        assert!(known.offered.ecn.is_capable(), "packet {} cannot be marked", pkt.slot);
        assert_eq!(pkt.ecn, Ecn::Ce, "a marked packet bears CE");
        known.marked = true;
        *ledger.tally.marked.entry(why).or_default() += 1;
        ledger.note(2 << 40 | (why as u64) << 32 | pkt.slot as u64);
        self.1.marked(now, pkt, why);
    }
}

impl<Q: Qdisc> Checked<Q> {
    /// Watches `queue`, which must be empty, built for `link`.
    pub fn new(queue: Q, link: Link) -> Checked<Q> {
        assert_eq!(queue.backlog(), Backlog::default());
        Checked { queue, link, ledger: Ledger::default() }
    }

    /// The same for a queue of the catalog. One that sorts packets by their codepoint, or by its
    /// rounds, keeps a flow in order only within each of its lines, and notes the line in the
    /// packet's tag.
    pub fn of(config: &AnyConfig, queue: Q, link: Link) -> Checked<Q> {
        let mut checked = Checked::new(queue, link);
        checked.ledger.several_lines = ["cebinae", "dualpi2"].contains(&config.name());
        checked
    }

    pub fn queue(&self) -> &Q {
        &self.queue
    }

    pub fn tally(&self) -> &Tally {
        &self.ledger.tally
    }

    /// A hash of everything that happened, in order.
    pub fn trace(&self) -> u64 {
        self.ledger.trace
    }

    fn goes_on(&mut self, now: Time) {
        assert!(now >= self.ledger.now, "the driver's time runs back");
        self.ledger.now = now;
    }

    /// What must hold after every call.
    fn audit(&self) {
        let backlog = self.queue.backlog();
        assert_eq!(backlog, self.ledger.held, "backlog() is what is held");
        match self.link.limit {
            Size::Packets(n) => {
                assert!(backlog.packets as u64 <= n, "{backlog:?} above {n} packets")
            }
            Size::Bytes(b) => assert!(backlog.bytes <= b, "{backlog:?} above {b} bytes"),
        }
        let tally = &self.ledger.tally;
        assert_eq!(tally.offered, tally.dequeued + tally.all_dropped() + backlog.packets as u64);
        if let Some(wake) = self.queue.wake_at() {
            assert!(
                wake > self.ledger.now,
                "a queue that is to be asked at {wake} should have answered now"
            );
        }
    }
}

impl<Q: Qdisc> Checked<Q> {
    fn is_offered(&mut self, now: Time, pkt: Packet) {
        self.goes_on(now);
        assert_eq!(pkt.slot as usize, self.ledger.packets.len(), "slots count up from 0");
        let offered = Packet { arrived: now, ..pkt };
        self.ledger.packets.push(Known { offered, marked: false, gone: false });
        self.ledger.held.add(pkt.len);
        self.ledger.tally.offered += 1;
    }
}

impl<Q: Qdisc> Qdisc for Checked<Q> {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        self.is_offered(now, pkt);
        self.queue.enqueue(now, pkt, &mut Tap(&mut self.ledger, out));
        self.audit();
    }

    fn enqueue_ack<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, ack: &Ack, out: &mut S) {
        self.is_offered(now, pkt);
        self.queue.enqueue_ack(now, pkt, ack, &mut Tap(&mut self.ledger, out));
        self.audit();
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        self.goes_on(now);
        let sent = self.queue.dequeue(now, &mut Tap(&mut self.ledger, out));
        match &sent {
            Some(pkt) => {
                self.ledger.leaves(pkt);
                self.ledger.tally.dequeued += 1;
                self.ledger.note(3 << 40 | pkt.slot as u64);
                let line = if self.ledger.several_lines { pkt.tag } else { 0 };
                let key = (pkt.flow, pkt.class, line);
                let before = self.ledger.last_out.insert(key, pkt.slot);
                assert!(
                    before < Some(pkt.slot),
                    "flow {} out of order: {before:?}, {}",
                    pkt.flow,
                    pkt.slot
                );
            }
            None => {
                let waits = self.queue.backlog().packets;
                assert!(
                    waits == 0 || self.queue.wake_at().is_some(),
                    "{waits} wait, and nobody says until when"
                );
            }
        }
        self.audit();
        sent
    }

    fn advance(&mut self, now: Time) {
        self.goes_on(now);
        self.queue.advance(now);
        self.audit();
    }

    fn wake_at(&self) -> Option<Time> {
        self.queue.wake_at()
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        self.queue.probe(see);
    }
}
