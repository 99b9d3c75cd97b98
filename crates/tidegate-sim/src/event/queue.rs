//! The event queue. A winner tree holds the few frequent event sources; heaps hold the many rare
//! events.
//!
//! A key is (time, class, id) in one 128-bit number. The key alone identifies the event, so
//! insertion order never breaks a tie. Slots of the winner tree are numbered in the order of their
//! keys.
//!
//! The order of simultaneous events therefore follows from the network, not from who scheduled
//! first. This keeps the results independent of how many events the engine saves (see
//! [`engine`](crate::engine)).

/// Later than every event: the time of what is not pending.
pub(crate) const NEVER: u64 = u64::MAX;

/// The number of no flow, port, link or slot.
pub(crate) const NONE: u32 = u32::MAX;

/// The kind of an event. Simultaneous events run in this order: departures, readings, arrivals,
/// then sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum EventClass {
    /// A port brings its departures up to date; the id is the port's. In the reference simulator
    /// it is one departure, and the id is the link's.
    Depart,
    /// All queues are sampled for the series.
    Sample,
    /// A packet comes out of a link; the id is the link's.
    Arrive,
    /// An open-loop source may send; the id is the flow's.
    Tick,
    /// A connection starts, or sends data that waited; the id is the flow's.
    Send,
    /// A retransmission timer may have run out; the id is the flow's.
    Timeout,
    /// A delayed acknowledgement may be due; the id is the flow's.
    Acknowledge,
}

const CLASSES: [EventClass; 7] = [
    EventClass::Depart,
    EventClass::Sample,
    EventClass::Arrive,
    EventClass::Tick,
    EventClass::Send,
    EventClass::Timeout,
    EventClass::Acknowledge,
];

/// The sort key of an event, which also identifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EventKey(u128);

impl EventKey {
    #[inline]
    pub fn new(time: u64, class: EventClass, id: u32) -> EventKey {
        EventKey((time as u128) << 64 | ((class as u64) << 32 | id as u64) as u128)
    }

    #[inline]
    pub fn time(self) -> u64 {
        (self.0 >> 64) as u64
    }

    #[inline]
    pub fn class(self) -> EventClass {
        CLASSES[(self.0 as u64 >> 32) as usize]
    }

    #[inline]
    pub fn id(self) -> usize {
        self.0 as u32 as usize
    }
}

/// Packs a time and an index into one number. Of equal times the lower index comes first.
#[derive(Clone, Copy, Debug)]
struct PackedTimes {
    /// The number of low bits that hold the index.
    bits: u32,
}

impl PackedTimes {
    /// For this many indices.
    fn of(many: usize) -> PackedTimes {
        PackedTimes { bits: many.next_power_of_two().trailing_zeros() }
    }

    /// Times from here on mean never.
    fn horizon(self) -> u64 {
        u64::MAX >> self.bits
    }

    #[inline]
    fn join(self, time: u64, whose: u32) -> u64 {
        time.min(self.horizon()) << self.bits | whose as u64
    }

    #[inline]
    fn part(self, turn: u64) -> (u64, u32) {
        (turn >> self.bits, (turn & ((1 << self.bits) - 1)) as u32)
    }
}

/// A tree of at most so many event sources has a fixed size.
const FEW: usize = 64;

/// The next time of each of a fixed set of event sources, in a winner tree. Changing one time costs
/// one comparison per level.
#[derive(Clone, Debug)]
pub(crate) struct EventQueue {
    turns: Tree,
    form: PackedTimes,
}

/// The overall winner is at index 1, and the leaves fill the upper half. Every other node `i` holds
/// the lower of nodes `2i` and `2i + 1`.
#[derive(Clone, Debug)]
enum Tree {
    /// A small tree: a change always goes up to the root. Stopping early needs a branch that the
    /// processor cannot predict, and that costs more than the few levels left. The fixed size
    /// removes every other check.
    Few(Box<[u64; 2 * FEW]>),
    /// A large tree: a change stops at the first node that it leaves as it was.
    Many(Box<[u64]>),
}

impl EventQueue {
    /// For this many slots, with nothing pending.
    pub fn new(slots: usize) -> EventQueue {
        let form = PackedTimes::of(slots.max(1));
        let turns = match slots {
            0..=FEW => Tree::Few(Box::new([NEVER; 2 * FEW])),
            _ => Tree::Many(vec![NEVER; 2 * slots.next_power_of_two()].into()),
        };
        EventQueue { turns, form }
    }

    /// Times from this on are never.
    pub fn horizon(&self) -> u64 {
        self.form.horizon()
    }

    /// The time and the slot of the next event. With nothing pending, a time at or after the
    /// horizon.
    #[inline]
    pub fn next(&self) -> (u64, u32) {
        self.form.part(match &self.turns {
            Tree::Few(turns) => turns[1],
            Tree::Many(turns) => turns[1],
        })
    }

    /// Sets the next time of `slot` to `time`, in place of the one before.
    #[inline(always)]
    pub fn set(&mut self, slot: u32, time: u64) {
        let turn = self.form.join(time, slot);
        match &mut self.turns {
            Tree::Few(turns) => EventQueue::set_few(turns, slot, turn),
            Tree::Many(turns) => EventQueue::set_many(turns, slot, turn),
        }
    }

    #[inline(never)]
    fn set_few(turns: &mut [u64; 2 * FEW], slot: u32, mut winner: u64) {
        let mut at = FEW + slot as usize % FEW;
        turns[at] = winner;
        for _ in 0..FEW.trailing_zeros() {
            winner = winner.min(turns[at ^ 1]);
            at /= 2;
            turns[at] = winner;
        }
    }

    #[inline]
    fn set_many(turns: &mut [u64], slot: u32, mut winner: u64) {
        let mut at = turns.len() / 2 + slot as usize;
        turns[at] = winner;
        while at > 1 {
            winner = winner.min(turns[at ^ 1]);
            at /= 2;
            if turns[at] == winner {
                return;
            }
            turns[at] = winner;
        }
    }
}

/// The children of a heap node: as many as one cache line holds.
const CHILDREN: usize = 8;

/// The children of one node, in one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Children([u64; CHILDREN]);

/// A heap of events of one class, any number per flow. The children of a node share a cache line,
/// because the heap may be larger than the cache.
#[derive(Clone, Debug)]
pub(crate) struct Heap {
    /// The root is the last entry of the first node. Unused entries hold [`NEVER`]: the others of
    /// the first node, and all after the last event.
    nodes: Vec<Children>,
    len: usize,
    form: PackedTimes,
}

impl Heap {
    const ROOT: usize = CHILDREN - 1;

    /// An empty heap for `flows` flows, with room for `room` events.
    pub fn new(flows: usize, room: usize) -> Heap {
        let mut nodes = Vec::with_capacity(room / CHILDREN + 2);
        nodes.push(Children([NEVER; CHILDREN]));
        Heap { nodes, len: 0, form: PackedTimes::of(flows) }
    }

    /// Times from this on are never.
    pub fn horizon(&self) -> u64 {
        self.form.horizon()
    }

    /// The time and the flow of the next event. With none, a time at or after the horizon.
    #[inline]
    pub fn next(&self) -> (u64, u32) {
        self.form.part(self.node(Heap::ROOT))
    }

    /// Adds an event of `flow` at `time`. Returns whether it is now the next.
    #[inline]
    pub fn push(&mut self, time: u64, flow: u32) -> bool {
        let turn = self.form.join(time, flow);
        let mut at = Heap::ROOT + self.len;
        self.len += 1;
        if at / CHILDREN == self.nodes.len() {
            self.nodes.push(Children([NEVER; CHILDREN]));
        }
        while at > Heap::ROOT {
            let parent = at / CHILDREN + CHILDREN - 2;
            let above = self.node(parent);
            if above <= turn {
                break;
            }
            self.put(at, above);
            at = parent;
        }
        self.put(at, turn);
        at == Heap::ROOT
    }

    /// Removes the next event.
    #[inline]
    pub fn pop(&mut self) {
        if self.len == 0 {
            return;
        }
        self.len -= 1;
        let last = self.node(Heap::ROOT + self.len);
        self.put(Heap::ROOT + self.len, NEVER);
        if self.len == 0 {
            return;
        }
        let mut at = Heap::ROOT;
        while let Some(Children(children)) = self.nodes.get(at + 2 - CHILDREN) {
            let least = children.iter().fold(NEVER, |least, &child| least.min(child));
            if last <= least {
                break;
            }
            let which = children.iter().position(|&child| child == least).unwrap_or_default();
            let child = (at + 2 - CHILDREN) * CHILDREN + which;
            self.put(at, least);
            at = child;
        }
        self.put(at, last);
    }

    #[inline]
    fn node(&self, at: usize) -> u64 {
        self.nodes[at / CHILDREN].0[at % CHILDREN]
    }

    #[inline]
    fn put(&mut self, at: usize, turn: u64) {
        self.nodes[at / CHILDREN].0[at % CHILDREN] = turn;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tidegate::rng::mix;

    #[test]
    fn keys_order_by_time_class_and_id_and_give_them_back() {
        let keys = [
            EventKey::new(1, EventClass::Timeout, 9),
            EventKey::new(2, EventClass::Depart, 7),
            EventKey::new(2, EventClass::Sample, 0),
            EventKey::new(2, EventClass::Arrive, 3),
            EventKey::new(2, EventClass::Arrive, 4),
            EventKey::new(u64::MAX - 1, EventClass::Send, u32::MAX),
        ];
        assert!(keys.is_sorted());
        assert_eq!((keys[3].time(), keys[3].class(), keys[3].id()), (2, EventClass::Arrive, 3));
        assert_eq!((keys[5].class(), keys[5].id()), (EventClass::Send, u32::MAX as usize));
    }

    #[test]
    fn the_heap_agrees_with_a_sorted_set() {
        let mut heap = Heap::new(20_000, 0);
        let (mut set, mut most, mut empty) = (BTreeSet::new(), 0, 0);
        for i in 0..20_000u64 {
            let dice = mix(i);
            // Waves, so that it runs empty and grows again.
            if dice % 100 < 25 + 60 * (i / 2_000 % 2) {
                heap.pop();
                set.pop_first();
            } else {
                let event = (dice >> 32 & 0xfff, i as u32);
                set.insert(event);
                assert_eq!(heap.push(event.0, event.1), set.first() == Some(&event));
            }
            match set.first() {
                Some(&first) => assert_eq!(heap.next(), first),
                None => assert!(heap.next().0 >= heap.horizon()),
            }
            most = most.max(set.len());
            empty += set.is_empty() as u32;
        }
        assert!(most > 500 && empty > 10, "{most} {empty}");
    }

    #[test]
    fn the_tournament_agrees_with_a_search() {
        for sources_by_slot in [1usize, 2, 3, 17, 64, FEW, FEW + 1] {
            let mut events_due = EventQueue::new(sources_by_slot);
            let mut all = vec![u64::MAX; sources_by_slot];
            for i in 0..5_000u64 {
                let dice = mix(i);
                let slot = (dice >> 32) as usize % sources_by_slot;
                all[slot] = if dice.is_multiple_of(5) { u64::MAX } else { dice % 1_000 };
                events_due.set(slot as u32, all[slot]);
                // Of equals the first.
                let first = (0..sources_by_slot).min_by_key(|&p| all[p]).unwrap();
                match all[first] {
                    u64::MAX => assert!(events_due.next().0 >= events_due.horizon()),
                    time => assert_eq!(events_due.next(), (time, first as u32)),
                }
            }
        }
    }
}
