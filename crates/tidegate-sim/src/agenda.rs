//! What happens next: keys that order events, a tournament for the few things that happen all the time, and a heap for the
//! many that happen seldom.
//!
//! A key is (time, class, id) in one 128-bit number, and it alone says what the event is; there is nothing to order by
//! insertion. Players of the tournament are numbered in the order of their keys. That the order of simultaneous events follows from the network and not from who scheduled what first is
//! what makes the results independent of how many events the engine saves (see [`engine`](crate::engine)).

/// What an event is. The order of simultaneous events: departures before readings before arrivals, then sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Class {
    /// A port brings its departures up to date; the id is the port's (in the reference, a departure; the link's).
    Depart,
    /// Everything is read for the series.
    Sample,
    /// A packet comes out of a link; the id is the link's.
    Arrive,
    /// A source that is not answered has its turn; the id is the flow's.
    Tick,
    /// A connection starts, or sends what waited; the id is the flow's.
    Send,
    /// A retransmission timer may have run out; the id is the flow's.
    Timeout,
    /// An acknowledgement may have waited enough; the id is the flow's.
    Acknowledge,
}

const CLASSES: [Class; 7] =
    [Class::Depart, Class::Sample, Class::Arrive, Class::Tick, Class::Send, Class::Timeout, Class::Acknowledge];

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(u128);

impl Key {
    /// Later than every event.
    pub const NEVER: Key = Key(u128::MAX);

    #[inline]
    pub fn new(time: u64, class: Class, id: u32) -> Key {
        Key((time as u128) << 64 | ((class as u64) << 32 | id as u64) as u128)
    }

    #[inline]
    pub fn time(self) -> u64 {
        (self.0 >> 64) as u64
    }

    #[inline]
    pub fn class(self) -> Class {
        CLASSES[(self.0 as u64 >> 32) as usize]
    }

    #[inline]
    pub fn id(self) -> usize {
        self.0 as u32 as usize
    }
}

/// When each of a fixed set of players acts next, and who is the next of all: a tree of winners. To change a player's
/// time costs one comparison a round, and none of the rounds that it does not change.
///
/// A time and its player are one number; of simultaneous players the one with the lower number is first.
#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    /// The winner of all at 1, the players from the middle on; at each other place the lower of the two at twice its index
    /// and the next. As a match has no sides, that works for any number of players.
    turns: Box<[u64]>,
    /// How many bits of a turn are the player.
    bits: u32,
}

impl Agenda {
    /// For so many players, with nothing pending.
    pub fn new(players: usize) -> Agenda {
        let players = players.max(1);
        Agenda { turns: vec![u64::MAX; 2 * players].into(), bits: players.next_power_of_two().trailing_zeros() }
    }

    /// Times from this on are never.
    pub fn horizon(&self) -> u64 {
        u64::MAX >> self.bits
    }

    /// The time of the next turn and whose it is. If there is none, a time not before the horizon.
    #[inline]
    pub fn next(&self) -> (u64, u32) {
        let turn = self.turns[1];
        (turn >> self.bits, (turn & ((1 << self.bits) - 1)) as u32)
    }

    /// `player` acts next at `time`, in place of whenever it would have.
    #[inline]
    pub fn set(&mut self, player: u32, time: u64) {
        let mut winner = time.min(self.horizon()) << self.bits | player as u64;
        let turns = &mut *self.turns;
        let mut at = turns.len() / 2 + player as usize;
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

/// A heap with four children a node: shallower than a binary one, and the children share cache lines.
#[derive(Clone, Debug)]
pub(crate) struct Heap {
    keys: Vec<Key>,
}

impl Heap {
    /// Empty, with room for so many events.
    pub fn with_room(events: usize) -> Heap {
        Heap { keys: Vec::with_capacity(events) }
    }

    /// The next event; [`Key::NEVER`] if there is none.
    #[inline]
    pub fn next(&self) -> Key {
        self.keys.first().copied().unwrap_or(Key::NEVER)
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, key: Key) {
        let mut at = self.keys.len();
        self.keys.push(key);
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.keys[parent] < key {
                break;
            }
            self.keys[at] = self.keys[parent];
            at = parent;
        }
        self.keys[at] = key;
    }

    /// Takes the next event off.
    #[inline]
    pub fn pop(&mut self) {
        if let Some(last) = self.keys.pop()
            && !self.keys.is_empty()
        {
            self.sink(last);
        }
    }

    /// Puts `key` where it belongs, starting from the top, whose own key is given up.
    #[inline]
    fn sink(&mut self, key: Key) {
        let keys = self.keys.as_mut_slice();
        let mut at = 0;
        loop {
            let first = 4 * at + 1;
            let Some(children) = keys.get(first..(first + 4).min(keys.len())) else { break };
            let Some((nearest, least)) = least_of(children) else { break };
            if key < least {
                break;
            }
            keys[at] = least;
            at = first + nearest;
        }
        keys[at] = key;
    }
}

#[inline]
fn least_of(children: &[Key]) -> Option<(usize, Key)> {
    let mut least = (0, *children.first()?);
    for (i, &child) in children.iter().enumerate().skip(1) {
        if child < least.1 {
            least = (i, child);
        }
    }
    Some(least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tidegate::rng::mix;

    #[test]
    fn keys_order_by_time_class_and_id_and_give_them_back() {
        let keys = [
            Key::new(1, Class::Timeout, 9),
            Key::new(2, Class::Depart, 7),
            Key::new(2, Class::Sample, 0),
            Key::new(2, Class::Arrive, 3),
            Key::new(2, Class::Arrive, 4),
            Key::new(u64::MAX - 1, Class::Send, u32::MAX),
        ];
        assert!(keys.is_sorted() && keys[5] < Key::NEVER);
        assert_eq!((keys[3].time(), keys[3].class(), keys[3].id()), (2, Class::Arrive, 3));
        assert_eq!((keys[5].class(), keys[5].id()), (Class::Send, u32::MAX as usize));
    }

    #[test]
    fn the_heap_agrees_with_a_sorted_set() {
        let mut heap = Heap::with_room(0);
        let mut set = BTreeSet::new();
        for i in 0..20_000u64 {
            let dice = mix(i);
            let key = Key::new(dice % 10_000, Class::Arrive, i as u32);
            if dice >> 62 == 0 {
                heap.pop();
                set.pop_first();
            } else {
                heap.push(key);
                set.insert(key);
            }
            assert_eq!(heap.next(), set.first().copied().unwrap_or(Key::NEVER));
        }
    }

    #[test]
    fn the_tournament_agrees_with_a_search() {
        for players in [1usize, 2, 3, 17, 64] {
            let mut agenda = Agenda::new(players);
            let mut all = vec![u64::MAX; players];
            for i in 0..5_000u64 {
                let dice = mix(i);
                let player = (dice >> 32) as usize % players;
                all[player] = if dice.is_multiple_of(5) { u64::MAX } else { dice % 1_000 };
                agenda.set(player as u32, all[player]);
                // Of equals the first.
                let first = (0..players).min_by_key(|&p| all[p]).unwrap();
                match all[first] {
                    u64::MAX => assert!(agenda.next().0 >= agenda.horizon()),
                    time => assert_eq!(agenda.next(), (time, first as u32)),
                }
            }
        }
    }
}
