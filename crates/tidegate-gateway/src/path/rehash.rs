//! The keys that the queue knows flows by, which change from time to time.
//!
//! A queue may hash flows to places for long. Then somebody who watches his own packets can find
//! out who shares a place with whom. So the queue is not shown a frame's flow key but a keyed hash
//! of it, whose secret is drawn anew every so often. All that must follow a flow for longer, above
//! all the search for offenders, goes by the flow key itself.
//!
//! A flow takes its new key as soon as nothing of it waits. If something of it waits, it keeps the
//! old key until nothing does, or until the next rehash. In the second case its packets wait in two
//! places for a while. Whichever of them the queue gives, the frame of its flow and class that came
//! first leaves. So a rehash puts no flow out of order. Flows that share a
//! [line](crate::path::waiting) wait for each other.
//!
//! ```
//! use tidegate::{Packet, Span, Time};
//! use tidegate_gateway::path::rehash::{Keys, Rehash};
//! let mut keys = Keys::new("1 s".parse::<Rehash>()?, 7, 4);
//! let at = |ms| Time::ZERO + Span::from_millis(ms);
//! let packet = |slot| Packet::new(42, 1000).with_slot(slot);
//! let first = keys.arrived(at(0), &packet(0));
//! assert_eq!(keys.arrived(at(1500), &packet(1)), first, "a frame of it still waits");
//! assert_ne!(keys.arrived(at(2500), &packet(2)), first, "it has waited long enough");
//! // The queue gives that one, and the one that came first takes its turn; it waits on in slot 0.
//! assert_eq!(keys.left(2).unwrap().slot, 0);
//! # Ok::<(), tidegate::units::UnitError>(())
//! ```
use std::fmt;
use std::str::FromStr;

use siphasher::sip::SipHasher13;
use tidegate::catalog::AnyConfig;
use tidegate::parts::every::Every;
use tidegate::units::UnitError;
use tidegate::{Packet, Rng, Seed, Span, Time};

use crate::path::waiting::{Earlier, WaitingFrames};

/// How often, where nobody says otherwise and the queue needs it. In the experiment of
/// `validation/adversary.md` somebody who watches does no measurable harm then; with 2 s he did, in
/// the first second of a flood.
const USUAL: Span = Span::from_millis(1_000);
/// The shortest and the longest period that are meant seriously.
const BOUNDS: (Span, Span) = (Span::from_millis(100), Span::from_millis(3_600_000));

/// How often flows get new keys before the queue, if they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rehash(Option<Span>);

impl Rehash {
    /// Never: flows keep the keys that they have; from the start on, their flow keys.
    pub const OFF: Rehash = Rehash(None);

    /// What is right for `queue`: a second where flows keep their places for longer. It is never
    /// where the queue deals them anew as often itself, has none, or would forget what it has
    /// learnt about flows.
    pub fn usual(queue: &AnyConfig) -> Rehash {
        Rehash(queue.bucket_lifetime().filter(|&last| last > USUAL).map(|_| USUAL))
    }

    /// The period; none for never.
    pub const fn period(self) -> Option<Span> {
        self.0
    }
}

impl fmt::Display for Rehash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(period) => write!(f, "{period}"),
            None => f.write_str("off"),
        }
    }
}

impl FromStr for Rehash {
    type Err = UnitError;

    /// `"1 s"`, or `"off"`.
    fn from_str(text: &str) -> Result<Rehash, UnitError> {
        if text == "off" {
            return Ok(Rehash::OFF);
        }
        match text.parse::<Span>() {
            Ok(period) if (BOUNDS.0..=BOUNDS.1).contains(&period) => Ok(Rehash(Some(period))),
            Ok(_) => Err(UnitError {
                text: text.into(),
                why: format!("must lie in {} to {}, or be off", BOUNDS.0, BOUNDS.1),
            }),
            Err(error) => Err(UnitError { why: format!("{}; or write `off`", error.why), ..error }),
        }
    }
}

/// The keys of flows as a queue knows them.
#[derive(Debug)]
pub struct Keys {
    every: Every,
    /// Secrets are drawn from these.
    dice: Rng,
    /// Of this generation and of the one before. Before the first rehash there is none, and flows
    /// keep their flow keys.
    secrets: [Option<SipHasher13>; 2],
    generation: u32,
    waiting: WaitingFrames,
}

impl Keys {
    /// Keys that change every `rehash`, by secrets that follow from `seed` alone, where frames wait
    /// in so many slots.
    pub fn new(rehash: Rehash, seed: u64, slots: u32) -> Keys {
        let every = rehash.period().map_or(Every::never(), Every::new);
        let (dice, waiting) = (Seed::new(seed).stream("rehash"), WaitingFrames::new(slots));
        Keys { every, dice, secrets: [None; 2], generation: 0, waiting }
    }

    /// A frame has arrived and is to wait, `packet` by its flow key. Returns the key that the queue
    /// is to know its flow by. `now` is no earlier than in any call before.
    #[inline]
    pub fn arrived(&mut self, now: Time, packet: &Packet) -> u64 {
        if now >= self.every.due() {
            self.rehash(now);
        }
        let generation = self.waiting.join(now, packet, self.generation);
        match &self.secrets[usize::from(generation != self.generation)] {
            Some(secret) => secret.hash(&packet.flow.to_le_bytes()),
            None => packet.flow,
        }
    }

    /// The frame in `slot` was dropped.
    #[inline]
    pub fn dropped(&mut self, slot: u32) {
        self.waiting.drop_out(slot);
    }

    /// The queue has given the frame in `slot`, which leaves. If there is one of its flow that has
    /// waited for longer, that one is to leave, and the frames are to change slots.
    #[inline]
    pub fn left(&mut self, slot: u32) -> Option<Earlier> {
        self.waiting.leave(slot)
    }

    /// The flow key of the frame in `slot`, which waits or was the last there.
    #[inline]
    pub(crate) fn flow(&self, slot: u32) -> u64 {
        self.waiting.flow(slot)
    }

    /// How many frames wait.
    pub(crate) fn waiting(&self) -> u32 {
        self.waiting.count()
    }

    /// Goes on at `now` with the period and the dice of `to`. If `larger` is given it goes on with
    /// its room, too, which is larger; the first so many slots may be in use. Flows keep their keys
    /// until then. What is left over is to be given back.
    pub(crate) fn renew(&mut self, now: Time, mut to: Keys, larger: Option<u32>) -> Keys {
        (self.every, self.dice) = (to.every, to.dice.clone());
        self.every.skip(self.every.overdue(now));
        if let Some(used) = larger {
            to.waiting = self.waiting.grow(to.waiting, used);
        }
        to
    }

    /// Draws a secret; two where nothing has arrived for longer, so that no key lives on through
    /// that.
    #[cold]
    fn rehash(&mut self, now: Time) {
        let overdue = self.every.overdue(now);
        self.every.skip(overdue);
        for _ in 0..overdue.min(2) {
            let secret = SipHasher13::new_with_keys(self.dice.bits(), self.dice.bits());
            self.secrets = [Some(secret), self.secrets[0]];
            self.generation = self.generation.wrapping_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn keys(rehash: &str) -> Keys {
        Keys::new(rehash.parse().unwrap(), 1, 100)
    }

    /// The key of a frame that waits in `slot`.
    fn waits(keys: &mut Keys, now: Time, flow: u64, slot: u32) -> u64 {
        keys.arrived(now, &Packet::new(flow, 1000).with_slot(slot))
    }

    /// The key of a frame that does not wait.
    fn passing(keys: &mut Keys, now: Time, flow: u64) -> u64 {
        let key = waits(keys, now, flow, 99);
        assert_eq!(keys.left(99), None);
        key
    }

    #[test]
    fn text_in_text_out() {
        for text in ["off", "100 ms", "1 s", "3600 s"] {
            assert_eq!(text.parse::<Rehash>().unwrap().to_string(), text);
        }
        for text in ["99 ms", "0 s", "3601 s"] {
            assert!(
                text.parse::<Rehash>()
                    .unwrap_err()
                    .why
                    .contains("must lie in 100 ms to 3600 s, or be off"),
                "{text}"
            );
        }
        assert!("5".parse::<Rehash>().unwrap_err().why.ends_with("; or write `off`"));
    }

    #[test]
    fn keys_stay_for_a_period_and_then_are_others() {
        let mut keys = keys("1 s");
        let mut seen = Vec::new();
        for second in 0..5 {
            let now: Vec<u64> =
                (0..100).map(|flow| passing(&mut keys, at(1000 * second), flow)).collect();
            assert_eq!(
                now,
                (0..100)
                    .map(|flow| passing(&mut keys, at(1000 * second + 999), flow))
                    .collect::<Vec<_>>()
            );
            seen.extend(now);
        }
        assert_eq!(seen[..100], (0..100).collect::<Vec<_>>(), "at first they are the flow keys");
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 500);
    }

    #[test]
    fn off_is_off() {
        let mut keys = keys("off");
        (0..10_000).for_each(|day| assert_eq!(passing(&mut keys, at(86_400_000 * day), day), day));
    }

    #[test]
    fn a_flow_keeps_its_key_while_it_waits_and_for_two_periods_at_most() {
        let mut keys = keys("1 s");
        let first = waits(&mut keys, at(500), 1, 0);
        assert_eq!(waits(&mut keys, at(1000), 1, 1), first);
        assert_ne!(passing(&mut keys, at(1000), 2), 2, "another flow waits for nobody");
        assert_eq!(dropped(&mut keys, at(1999), 1), first);
        let second = waits(&mut keys, at(2000), 1, 2);
        assert_ne!(second, first, "now it must, though two of its frames wait");
        assert_eq!(waits(&mut keys, at(3999), 1, 3), second, "two periods again");
        assert_ne!(waits(&mut keys, at(4000), 1, 4), second);
    }

    /// The key of a frame that is dropped.
    fn dropped(keys: &mut Keys, now: Time, flow: u64) -> u64 {
        let key = waits(keys, now, flow, 99);
        keys.dropped(99);
        key
    }

    #[test]
    fn who_waits_alone_through_a_pause_has_another_key_after_it() {
        let mut keys = keys("1 s");
        let first = waits(&mut keys, at(0), 1, 0);
        assert_ne!(
            waits(&mut keys, at(2500), 1, 1),
            first,
            "two have fallen due, and nobody has asked"
        );
    }

    #[test]
    fn flows_of_one_line_wait_for_each_other() {
        let (mut keys, like) = (keys("1 s"), 1 + (1 << 20));
        let first = waits(&mut keys, at(0), 1, 0);
        assert_eq!(passing(&mut keys, at(1500), like), like);
        keys.dropped(0);
        assert_ne!(passing(&mut keys, at(1600), like), like);
        assert_ne!(passing(&mut keys, at(1600), 1), first);
    }

    #[test]
    fn another_period_begins_at_once_and_flows_keep_their_keys_until_then() {
        let mut one = keys("1 s");
        let before = passing(&mut one, at(5500), 1);
        one.renew(at(5700), keys("300 ms"), None);
        assert_eq!(passing(&mut one, at(5999), 1), before);
        let then = passing(&mut one, at(6000), 1);
        assert_ne!(then, before);
        one.renew(at(6100), keys("off"), None);
        assert_eq!(passing(&mut one, at(1_000_000), 1), then);
    }

    #[test]
    fn secrets_follow_from_the_seed() {
        let later = |seed| passing(&mut Keys::new("1 s".parse().unwrap(), seed, 100), at(1000), 7);
        assert_eq!(later(1), later(1));
        assert_ne!(later(1), later(2));
    }
}
