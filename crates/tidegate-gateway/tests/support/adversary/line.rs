//! What flows do on a line: users who heed losses, a flood, and one who looks about before he
//! floods.
use std::collections::VecDeque;

use tidegate::catalog::AnyQueue;
use tidegate::{DropReason, MarkReason, Packet, Qdisc, Rng, Sink, Span, Time};
use tidegate_gateway::path::rehash::Keys;
use tidegate_gateway::run::way::Secret;
use tidegate_packet::FlowHasher;

use super::{Aim, LEN, Target, any_flow, hasher, user};

/// Users, each of whom has one connection.
pub const USERS: u16 = 8;
/// Flows of the flood.
pub const FLOOD: usize = 16;
/// How long an acknowledgement takes from the line back to what it lets go.
const ROUND_TRIP: Span = Span::from_millis(40);
/// After a loss with hardly a window a user is silent for so long. After each further loss it is
/// twice as long, up to the longest (RFC 6298 §5.5), until something of his arrives.
const TIMEOUT: Span = Span::from_millis(200);
const LONGEST_TIMEOUT: Span = Span::from_millis(60_000);
/// Packets that may wait.
const SLOTS: u32 = 1024;
/// A second, in slots of the line: 1000 B at 10 Mbit/s.
pub const SECOND: u64 = 1250;
const SLOT: Span = Span::from_micros(800);
/// Users are alone for so long, in seconds, and up to so much more by chance, so that it is all one
/// when places change. Then the adversary looks about, and then he floods.
const ALONE: (u64, u64) = (6, 10);
const LOOKS: u64 = 5;
const FLOODS: u64 = 20;
/// All flows of the flood together send so many packets in a slot.
const LOUD: f64 = 2.0;
/// One that looks sends a packet of a new flow every so many slots, a fifth of the line.
const PROBE_EVERY: u64 = 5;

/// What the adversary floods with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attack {
    /// Nothing.
    None,
    /// Flows that were chosen beforehand, as many against each user.
    Chosen(Aim),
    /// Those of 1250 flows, of a packet each, whose packet was lost or waited longest: the
    /// adversary watches his own.
    Watched,
}

/// What users got, in parts of the line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kept {
    /// In the first second of the flood.
    pub first: f64,
    /// In all of it.
    pub whole: f64,
    /// In its last five seconds.
    pub last: f64,
    /// What the worst of them got in all of it, in parts of a fair share.
    pub worst: f64,
}

/// A user's sender: a window that grows by a packet in a round trip and is halved by a loss, as
/// Reno's.
#[derive(Debug)]
struct User {
    window: f64,
    threshold: f64,
    under_way: u32,
    deaf_until: Time,
    silent_until: Time,
    /// How long he is silent next time.
    timeout: Span,
}

impl User {
    fn may_send(&self, now: Time) -> bool {
        (self.under_way as f64) < self.window && now >= self.silent_until
    }

    fn hears(&mut self, now: Time, arrived: bool) {
        self.under_way -= 1;
        if arrived {
            self.timeout = TIMEOUT;
            self.window += if self.window < self.threshold { 1.0 } else { 1.0 / self.window };
        } else if now >= self.deaf_until {
            if self.window < 4.0 {
                // Too few are under way for three more acknowledgements to tell of it.
                self.silent_until = now + self.timeout;
                self.timeout = (self.timeout + self.timeout).min(LONGEST_TIMEOUT);
            }
            self.threshold = (self.window / 2.0).max(2.0);
            self.window = if self.window < 4.0 { 1.0 } else { self.threshold };
            self.deaf_until = now + ROUND_TRIP;
        }
    }
}

/// Flows that heed nothing: the simulator's `cbr` with half an interval of jitter.
struct Flood(Vec<(u32, f64)>);

impl Flood {
    /// Of these flows, in slot `now`.
    fn begun(flows: Vec<u32>, now: u64, dice: &mut Rng) -> Flood {
        let every = flows.len() as f64 / LOUD;
        Flood(flows.into_iter().map(|flow| (flow, now as f64 + every * dice.uniform())).collect())
    }

    /// Has those send whose turn comes in `slot`.
    fn send(&mut self, slot: u64, dice: &mut Rng, arriving: &mut Vec<u32>) {
        let every = self.0.len() as f64 / LOUD;
        for (flow, next) in &mut self.0 {
            while *next < (slot + 1) as f64 {
                arriving.push(*flow);
                *next += every * (0.5 + dice.uniform());
            }
        }
    }
}

/// Packets that were dropped, by their slot.
#[derive(Default)]
struct Lost(Vec<u32>);

impl Sink for Lost {
    fn dropped(&mut self, _: Time, pkt: &Packet, _: DropReason) {
        self.0.push(pkt.slot);
    }
    fn marked(&mut self, _: Time, _: &Packet, _: MarkReason) {
        unreachable!("nobody here speaks ECN")
    }
}

/// Runs `attack` on a queue of `target` with this secret.
pub fn run(target: &Target, secret: Secret, attack: Attack, dice: &mut Rng) -> Kept {
    let hasher = hasher(secret);
    let mut line = Line::new(target, secret, &hasher, dice);
    let mut flood: Vec<u32> = match attack {
        Attack::Chosen(aim) => {
            let each = FLOOD / USERS as usize;
            let tries = (40.0 * target.places) as u32;
            let chosen = |number| target.chosen(aim, secret, user(number), tries, each, dice);
            (0..USERS).flat_map(chosen).map(|ends| line.add(hasher.hash(&ends))).collect()
        }
        Attack::None | Attack::Watched => vec![],
    };
    line.slots(ALONE.0 * SECOND + dice.below(ALONE.1 * SECOND), |_, _| {});
    line.slots(LOOKS * SECOND, |line, slot| {
        if attack == Attack::Watched && slot % PROBE_EVERY == 0 {
            let probe = line.add(hasher.hash(&any_flow(dice)));
            line.arriving.push(probe);
        }
    });
    if attack == Attack::Watched {
        flood = line.slowest(FLOOD);
    }
    let mut flood = Flood::begun(flood, line.slot, dice);
    let mut each = [0; USERS as usize];
    let mut floods = |line: &mut Line, seconds| {
        line.got = [0; USERS as usize];
        line.slots(seconds * SECOND, |line, slot| flood.send(slot, dice, &mut line.arriving));
        each.iter_mut().zip(line.got).for_each(|(all, got)| *all += got);
        line.got.iter().sum::<u64>() as f64
    };
    let parts = [1, FLOODS - 6, 5].map(|seconds| floods(&mut line, seconds));
    let of = |got: f64, seconds: u64| got / (seconds * SECOND) as f64;
    let fair = 1.0 / (FLOOD + USERS as usize) as f64;
    let least = each.into_iter().min().unwrap_or_default() as f64;
    Kept {
        first: of(parts[0], 1),
        whole: of(parts.iter().sum(), FLOODS),
        last: of(parts[2], 5),
        worst: of(least, FLOODS) / fair,
    }
}

/// The queue, the line behind it and the users before it.
struct Line {
    queue: AnyQueue,
    keys: Keys,
    /// Slots where nothing waits, and the numbers of the flows that wait in the others.
    free: Vec<u32>,
    numbers: Vec<u32>,
    /// Flow keys by the number of the flow: users first, then flows of the adversary.
    flows: Vec<u64>,
    users: Vec<User>,
    now: Time,
    slot: u64,
    /// Flows that send in this slot, a packet each, and the dice that say in which order.
    arriving: Vec<u32>,
    order: Rng,
    /// What users will hear: when, who, and whether the packet arrived.
    event: VecDeque<(Time, u32, bool)>,
    lost: Lost,
    /// Packets of each user that arrived.
    got: [u64; USERS as usize],
    /// How long packets of the adversary's flows have waited, if they were not lost.
    waited: Vec<(u32, Option<Span>)>,
}

impl Line {
    fn new(target: &Target, secret: Secret, hasher: &FlowHasher, dice: &mut Rng) -> Line {
        let begins = |dice: &mut Rng| Time::ZERO + Span::from_micros(dice.below(100_000));
        let users = (0..USERS).map(|_| User {
            window: 2.0,
            threshold: 16.0,
            under_way: 0,
            deaf_until: Time::ZERO,
            silent_until: begins(dice),
            timeout: TIMEOUT,
        });
        let users = users.collect();
        let flows = (0..USERS).map(|number| hasher.hash(&user(number))).collect();
        let (queue, keys) = (target.queue(secret), Keys::new(target.rehash, secret.seed, SLOTS));
        let (free, numbers) = ((0..SLOTS).collect(), vec![0; SLOTS as usize]);
        let (now, slot, order) = (Time::ZERO, 0, Rng::from_seed(dice.bits()));
        let got = [0; USERS as usize];
        let (arriving, event, lost, waited) = Default::default();
        Line {
            queue,
            keys,
            free,
            numbers,
            flows,
            users,
            now,
            slot,
            arriving,
            order,
            event,
            lost,
            got,
            waited,
        }
    }

    /// One flow more: its number.
    fn add(&mut self, flow: u64) -> u32 {
        self.flows.push(flow);
        self.flows.len() as u32 - 1
    }

    /// Lets so many slots go by. In each `more` may have others send, by [`Line::arriving`].
    fn slots(&mut self, slots: u64, mut more: impl FnMut(&mut Line, u64)) {
        for _ in 0..slots {
            self.tell_users();
            for number in 0..self.users.len() {
                if self.users[number].may_send(self.now) {
                    self.users[number].under_way += 1;
                    self.arriving.push(number as u32);
                }
            }
            let slot = self.slot;
            more(self, slot);
            self.offer_by_chance();
            if let Some(pkt) = self.queue.dequeue(self.now, &mut self.lost) {
                let arrived =
                    self.keys.left(pkt.slot).map_or(pkt.arrived, |earlier| earlier.arrived);
                self.ended(pkt.slot, Some(self.now.since(arrived)));
            }
            self.hear_losses();
            self.slot += 1;
            self.now += SLOT;
        }
    }

    fn tell_users(&mut self) {
        while let Some(&(when, number, arrived)) =
            self.event.front().filter(|event| event.0 <= self.now)
        {
            self.event.pop_front();
            self.users[number as usize].hears(when, arrived);
        }
    }

    /// Offers what arrives in this slot, in any order. If users came first, the place that the
    /// packet before left free would always be theirs, and no full queue would ever turn them
    /// away.
    fn offer_by_chance(&mut self) {
        for left in (1..=self.arriving.len()).rev() {
            let number = self.arriving.swap_remove(self.order.below(left as u64) as usize);
            self.offer(number);
        }
    }

    fn offer(&mut self, number: u32) {
        let slot = self.free.pop().expect("more wait than the limit lets");
        self.numbers[slot as usize] = number;
        let packet = Packet::new(self.flows[number as usize], LEN).with_slot(slot);
        let packet = Packet { flow: self.keys.arrived(self.now, &packet), ..packet };
        self.queue.enqueue(self.now, packet, &mut self.lost);
        self.hear_losses();
    }

    fn hear_losses(&mut self) {
        for slot in std::mem::take(&mut self.lost.0) {
            self.keys.dropped(slot);
            self.ended(slot, None);
        }
    }

    /// The packet in `slot` has left after so long, or was lost. One that leaves in another's stead
    /// is of the same flow.
    fn ended(&mut self, slot: u32, after: Option<Span>) {
        self.free.push(slot);
        let number = self.numbers[slot as usize];
        if number < USERS as u32 {
            self.got[number as usize] += u64::from(after.is_some());
            self.event.push_back((self.now + ROUND_TRIP, number, after.is_some()));
        } else {
            self.waited.push((number, after));
        }
    }

    /// The flows of the adversary whose packets were lost or waited longest.
    fn slowest(&self, most: usize) -> Vec<u32> {
        let mut waited = self.waited.clone();
        waited.sort_by_key(|&(number, span)| (span.is_some(), std::cmp::Reverse(span), number));
        waited.into_iter().map(|(number, _)| number).take(most).collect()
    }
}
