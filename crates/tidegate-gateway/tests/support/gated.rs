//! A queue as the gate drives it, for the simulator: flows bear the keys that the gate gives them,
//! which change, and marks that nobody heeds become losses. What the simulator runs by itself is
//! the queue alone.
use tidegate::catalog::AnyQueue;
use tidegate::{Backlog, DropReason, Ecn, MarkReason, Packet, Qdisc, Sink, Time};
use tidegate_gateway::path::rehash::{Keys, Rehash};

#[path = "../../src/path/overload.rs"]
#[allow(dead_code, reason = "its own tests come with it")]
mod overload;
use overload::MarkOverload;

/// Packets that may wait.
const SLOTS: u32 = 4096;

/// A queue of the catalog on the gate's path.
pub struct Gated {
    queue: AnyQueue,
    keys: Keys,
    overload: MarkOverload,
    /// Slots where nothing waits, and what waits in the others as the simulator knows it.
    free: Vec<u32>,
    held: Vec<Packet>,
}

impl Gated {
    pub fn new(queue: AnyQueue, rehash: Rehash, seed: u64) -> Gated {
        let (keys, free) = (Keys::new(rehash, seed, SLOTS), (0..SLOTS).collect());
        Gated {
            overload: MarkOverload::behind(&queue),
            queue,
            keys,
            free,
            held: vec![Packet::new(0, 0); SLOTS as usize],
        }
    }
}

/// Tells the simulator of its own packets, and gives their slots back.
struct Fate<'a, S: ?Sized> {
    keys: &'a mut Keys,
    overload: &'a mut MarkOverload,
    free: &'a mut Vec<u32>,
    held: &'a [Packet],
    arriving: Option<u32>,
    out: &'a mut S,
}

impl<S: Sink + ?Sized> Sink for Fate<'_, S> {
    fn dropped(&mut self, now: Time, pkt: &Packet, why: DropReason) {
        self.keys.dropped(pkt.slot);
        self.arriving.take_if(|slot| *slot == pkt.slot);
        self.free.push(pkt.slot);
        self.out.dropped(now, &self.held[pkt.slot as usize].with_ecn(pkt.ecn), why);
    }
    fn marked(&mut self, now: Time, pkt: &Packet, why: MarkReason) {
        self.overload.marked();
        self.out.marked(now, &self.held[pkt.slot as usize].with_ecn(Ecn::Ce), why);
    }
}

impl Qdisc for Gated {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        let Gated { queue, keys, overload, free, held } = self;
        let slot = free.pop().expect("more wait than the limit lets");
        held[slot as usize] = Packet { arrived: now, ..pkt };
        let shown = pkt.with_slot(slot);
        let shown = Packet { flow: keys.arrived(now, &shown), ..shown };
        let mut fate = Fate { keys, overload, free, held, arriving: Some(slot), out };
        queue.enqueue(now, shown, &mut fate);
        if fate.arriving.is_some() && pkt.ecn.is_capable() {
            overload.admitted(now);
        }
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        let Gated { queue, keys, overload, free, held } = self;
        loop {
            let given = queue
                .dequeue(now, &mut Fate { keys, overload, free, held, arriving: None, out })?;
            let marked = given.ecn == Ecn::Ce;
            let mut leaves = held[given.slot as usize];
            if let Some(earlier) = keys.left(given.slot) {
                // The one that came first leaves, and the other waits in its place.
                leaves = std::mem::replace(&mut held[earlier.slot as usize], leaves);
            }
            free.push(given.slot);
            let leaves =
                if marked && leaves.ecn.is_capable() { leaves.with_ecn(Ecn::Ce) } else { leaves };
            if !(marked && overload.is_on()) {
                return Some(leaves);
            }
            out.dropped(now, &leaves, DropReason::Forced);
        }
    }

    fn advance(&mut self, now: Time) {
        self.queue.advance(now);
    }

    fn wake_at(&self) -> Option<Time> {
        self.queue.wake_at()
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
}
