//! Somebody who knows this code, and whose flows he wants to harm, but not the gate's secret: which of the flows that he can
//! send share a place with a user's, and what users are left with when those flood the link.
//!
//! The gate's own hash of five-tuples and its own queues, over a line on which a packet takes a slot of time.
#![allow(dead_code, reason = "the test takes a part, the figures all of it")]
use std::collections::VecDeque;

use tidegate::catalog::{self, AnyConfig, AnyQueue};
use tidegate::{DropReason, Link, MarkReason, NullSink, Packet, Qdisc, Rng, Sink, Span, Time};
use tidegate_gateway::plan::Secret;
use tidegate_packet::{Address, Ends, FlowHasher, FlowKey, Transport};

/// Bytes of every packet.
const LEN: u32 = 1000;

/// A queue with places that flows are hashed to, and the link it is for.
#[derive(Clone)]
pub struct Target {
    pub link: Link,
    pub config: AnyConfig,
    /// One flow in so many shares the place of another.
    pub places: f64,
}

/// How somebody finds flows that harm another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// He does not aim: any addresses and ports.
    Random,
    /// As near to the other's addresses and ports as can be, in case that the hash keeps near what is near.
    Near,
    /// Those that share the other's place under a secret that he has guessed.
    Guess,
    /// The same, where the key of the flows' hash has leaked and the queue's dice have not.
    HashKey,
    /// Those that share it: the secret has leaked. What a hash without a key comes to.
    Secret,
}

/// User number `number`: TCP to a server's port 443.
pub fn user(number: u16) -> Ends {
    five_tuple(0x0a00_0001 + number as u32, 0xc000_0201, 40_000 + 7 * number, 443, 6)
}

fn five_tuple(from: u32, to: u32, source: u16, destination: u16, protocol: u8) -> Ends {
    Ends {
        source: Address::V4(from.to_be_bytes()),
        destination: Address::V4(to.to_be_bytes()),
        transport: Transport::Ports { protocol, source, destination },
    }
}

/// A flow of the adversary's choosing, to the same server: he can forge addresses.
pub fn any_flow(dice: &mut Rng) -> Ends {
    let (from, ports) = (dice.bits() as u32, dice.bits() as u32);
    five_tuple(from, 0xc000_0201, ports as u16, (ports >> 16) as u16, 17)
}

/// The `n`-th of the flows next to `user`: bits of its ports and its address are turned over, the lowest first.
fn near(user: Ends, n: u32) -> Ends {
    let (Address::V4(from), Address::V4(to), Transport::Ports { protocol, source, destination }) =
        (user.source, user.destination, user.transport)
    else {
        panic!("a user is TCP over IPv4")
    };
    let turned = n + 1;
    let (ports, rest) = ((turned & 0xff) as u16, turned >> 8);
    let from = u32::from_be_bytes(from) ^ rest >> 4;
    five_tuple(from, u32::from_be_bytes(to), source ^ ports, destination ^ (rest & 0xf) as u16, protocol)
}

pub fn secret(dice: &mut Rng) -> Secret {
    Secret { hash: [dice.bits(), dice.bits()], seed: dice.bits() }
}

fn hasher(secret: Secret) -> FlowHasher {
    FlowHasher::new(FlowKey::FiveTuple, secret.hash)
}

impl Target {
    /// The queue `name` in this preset and with these settings, on a link of 10 Mbit/s with a limit of 125 packets.
    pub fn new(name: &str, preset: &str, settings: &[(&str, &str)], places: f64) -> Target {
        let parsed = ("10 Mbit/s".parse().unwrap(), "125 packets".parse().unwrap(), "1000 B".parse().unwrap());
        let link = Link::new(parsed.0, parsed.1, parsed.2).unwrap();
        let mut config = catalog::config(name, Some(preset), &link).unwrap();
        settings.iter().for_each(|(param, value)| config.set(param, value).unwrap());
        Target { link, config, places }
    }

    fn queue(&self, secret: Secret) -> AnyQueue {
        self.config.build(self.link, Rng::from_seed(secret.seed)).unwrap()
    }

    /// What tells which flows share the place of the flow `of`, until the hash changes.
    pub fn shares(&self, secret: Secret, of: Ends) -> impl Fn(Ends) -> bool {
        let hasher = hasher(secret);
        let own = hasher.hash(&of);
        let mut queue = self.queue(secret);
        // Where accounts are kept, the flow's own are raised above all others by what it alone sends.
        let mut packets = 0;
        let base = account(&queue, own);
        while base.is_some() && account(&queue, own) <= base {
            queue.enqueue(Time::from_nanos(packets), Packet::new(own, LEN), &mut NullSink);
            packets += 1;
            assert!(packets < 100_000, "the flow's accounts tell nothing");
        }
        move |other| {
            let other = hasher.hash(&other);
            match account(&queue, other) {
                Some(height) => Some(height) > base,
                None => place(&queue, other) == place(&queue, own),
            }
        }
    }

    /// Flows that `aim` has found among so many tries, for use against `of`. At most `most`.
    pub fn chosen(&self, aim: Aim, secret: Secret, of: Ends, tries: u32, most: usize, dice: &mut Rng) -> Vec<Ends> {
        let believed = match aim {
            Aim::Random => return (0..most).map(|_| any_flow(dice)).collect(),
            Aim::Near => return (0..most as u32).map(|n| near(of, n)).collect(),
            Aim::Guess => Secret { hash: [0, 0], seed: 0 },
            Aim::HashKey => Secret { seed: 0, ..secret },
            Aim::Secret => secret,
        };
        let shares = self.shares(believed, of);
        (0..tries).map(|_| any_flow(dice)).filter(|flow| shares(*flow)).take(most).collect()
    }
}

/// Where a queue of places has put the flow.
fn place(queue: &AnyQueue, flow: u64) -> usize {
    let packet = Packet::new(flow, LEN);
    match queue {
        AnyQueue::FqCodel(queue) => queue.queue_of(flow),
        AnyQueue::Sfq(queue) => queue.bin_of(&packet),
        AnyQueue::SfqRed(queue) => queue.bin_of(flow),
        AnyQueue::Drr(queue) => queue.class_of(&packet),
        AnyQueue::Wfq(queue) => queue.class_of(&packet),
        AnyQueue::Ewfq(queue) => queue.class_of(&packet),
        other => panic!("{other:?} has no places"),
    }
}

/// The least of a flow's accounts on all levels, in a queue that has such.
fn account(queue: &AnyQueue, flow: u64) -> Option<f64> {
    match queue {
        AnyQueue::Sfb(queue) => Some(queue.policy().p_min(flow)),
        AnyQueue::Sfred(queue) => Some(queue.policy().max_p(flow)),
        _ => None,
    }
}

// ---- what the flows do on the line ----------------------------------------------------------------------------------

/// Users, each of whom has one connection.
pub const USERS: u16 = 8;
/// Flows of the flood.
pub const FLOOD: usize = 16;
/// How long an acknowledgement takes from the line back to what it lets go.
const ROUND_TRIP: Span = Span::from_millis(40);
/// After a loss with hardly a window a user is silent for so long.
const TIMEOUT: Span = Span::from_millis(200);
/// A second, in slots of the line: 1000 B at 10 Mbit/s.
pub const SECOND: u64 = 1250;
const SLOT: Span = Span::from_micros(800);
/// Users are alone for so long, in seconds; then the adversary looks about; then he floods. The flood does not begin where a hash
/// changes.
const ALONE: u64 = 6;
const LOOKS: u64 = 5;
const FLOODS: u64 = 20;
/// All flows of the flood together send so many packets in a slot.
const LOUD: usize = 2;
/// One that looks sends a packet of a new flow every so many slots, a fifth of the line.
const PROBE_EVERY: u64 = 5;

/// What the adversary floods with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attack {
    /// Nothing.
    None,
    /// Flows that were chosen beforehand, as many against each user.
    Chosen(Aim),
    /// Those of a thousand flows, of a packet each, whose packet was lost or waited longest: the adversary watches his own.
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
}

/// A user's sender: a window that grows by a packet in a round trip and is halved by a loss, as Reno's.
#[derive(Debug)]
struct User {
    flow: u64,
    window: f64,
    threshold: f64,
    under_way: u32,
    deaf_until: Time,
    silent_until: Time,
}

impl User {
    fn may_send(&self, now: Time) -> bool {
        (self.under_way as f64) < self.window && now >= self.silent_until
    }

    fn hears(&mut self, now: Time, arrived: bool) {
        self.under_way -= 1;
        if arrived {
            self.window += if self.window < self.threshold { 1.0 } else { 1.0 / self.window };
        } else if now >= self.deaf_until {
            if self.window < 4.0 {
                // Too few are under way for three more acknowledgements to tell of it.
                self.silent_until = now + TIMEOUT;
            }
            self.threshold = (self.window / 2.0).max(2.0);
            self.window = if self.window < 4.0 { 1.0 } else { self.threshold };
            self.deaf_until = now + ROUND_TRIP;
        }
    }
}

/// What became of packets, by the number in their slot: users first, then flows of the adversary.
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
    let mut line = Line::new(target.queue(secret), &hasher, dice);
    let mut flood: Vec<Ends> = match attack {
        Attack::Chosen(aim) => {
            let each = FLOOD / USERS as usize;
            let tries = (40.0 * target.places) as u32;
            (0..USERS).flat_map(|number| target.chosen(aim, secret, user(number), tries, each, dice)).collect()
        }
        Attack::None | Attack::Watched => vec![],
    };
    let mut probes: Vec<Ends> = vec![];
    line.seconds(ALONE, |_, _| {});
    line.seconds(LOOKS, |line, slot| {
        if attack == Attack::Watched && slot % PROBE_EVERY == 0 {
            probes.push(any_flow(dice));
            let number = probes.len() - 1;
            line.offer(hasher.hash(&probes[number]), USERS as u32 + number as u32);
        }
    });
    if attack == Attack::Watched {
        flood = line.slowest(FLOOD).into_iter().map(|number| probes[number]).collect();
    }
    line.waited.clear();
    // Each sends by chance.
    let flows: Vec<u64> = flood.iter().map(|ends| hasher.hash(ends)).collect();
    let mut floods = |line: &mut Line, seconds| {
        line.got = 0;
        line.seconds(seconds, |line, _| {
            for _ in 0..if flows.is_empty() { 0 } else { LOUD } {
                line.offer(flows[dice.below(flows.len() as u64) as usize], u32::MAX);
            }
        });
        line.got as f64
    };
    let parts = [1, FLOODS - 6, 5].map(|seconds| floods(&mut line, seconds));
    let of = |got: f64, seconds: u64| got / (seconds * SECOND) as f64;
    Kept { first: of(parts[0], 1), whole: of(parts.iter().sum(), FLOODS), last: of(parts[2], 5) }
}

/// The queue, the line behind it and the users before it.
struct Line {
    queue: AnyQueue,
    users: Vec<User>,
    now: Time,
    slot: u64,
    /// What users will hear: when, who, and whether the packet arrived.
    news: VecDeque<(Time, u32, bool)>,
    lost: Lost,
    /// Packets of users that arrived.
    got: u64,
    /// How long each probe has waited, if it was not lost.
    waited: Vec<(usize, Option<Span>)>,
}

impl Line {
    fn new(queue: AnyQueue, hasher: &FlowHasher, dice: &mut Rng) -> Line {
        let begins = |dice: &mut Rng| Time::ZERO + Span::from_micros(dice.below(100_000));
        let users = (0..USERS).map(|number| User {
            flow: hasher.hash(&user(number)),
            window: 2.0,
            threshold: 16.0,
            under_way: 0,
            deaf_until: Time::ZERO,
            silent_until: begins(dice),
        });
        let users = users.collect();
        let (news, lost, waited) = Default::default();
        Line { queue, users, now: Time::ZERO, slot: 0, news, lost, got: 0, waited }
    }

    /// Lets so many seconds go by, in each slot of which `more` may send.
    fn seconds(&mut self, seconds: u64, mut more: impl FnMut(&mut Line, u64)) {
        for _ in 0..seconds * SECOND {
            self.tell_users();
            // Who comes first takes turns.
            for at in 0..self.users.len() {
                let number = (at + self.slot as usize) % self.users.len();
                if self.users[number].may_send(self.now) {
                    self.users[number].under_way += 1;
                    self.offer(self.users[number].flow, number as u32);
                }
            }
            let slot = self.slot;
            more(self, slot);
            if let Some(pkt) = self.queue.dequeue(self.now, &mut self.lost) {
                self.ended(pkt.slot, Some(self.now.since(pkt.arrived)));
            }
            self.hear_losses();
            self.slot += 1;
            self.now += SLOT;
        }
    }

    fn tell_users(&mut self) {
        while let Some(&(when, number, arrived)) = self.news.front().filter(|news| news.0 <= self.now) {
            self.news.pop_front();
            self.users[number as usize].hears(when, arrived);
        }
    }

    fn offer(&mut self, flow: u64, number: u32) {
        self.queue.enqueue(self.now, Packet::new(flow, LEN).with_slot(number), &mut self.lost);
        self.hear_losses();
    }

    fn hear_losses(&mut self) {
        for number in std::mem::take(&mut self.lost.0) {
            self.ended(number, None);
        }
    }

    /// A packet has left after so long, or was lost.
    fn ended(&mut self, number: u32, after: Option<Span>) {
        if number < USERS as u32 {
            self.got += u64::from(after.is_some());
            self.news.push_back((self.now + ROUND_TRIP, number, after.is_some()));
        } else if number != u32::MAX {
            self.waited.push(((number - USERS as u32) as usize, after));
        }
    }

    /// The probes that were lost or waited longest.
    fn slowest(&self, most: usize) -> Vec<usize> {
        let mut waited = self.waited.clone();
        waited.sort_by_key(|&(number, span)| (span.is_some(), std::cmp::Reverse(span), number));
        waited.into_iter().map(|(number, _)| number).take(most).collect()
    }
}

// ---- figures ---------------------------------------------------------------------------------------------------------

/// How often flows that were chosen by an aim shared the user's place: of how many.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hits {
    pub hits: u64,
    pub of: u64,
}

impl Hits {
    /// By how many standard deviations more than by chance.
    pub fn deviations(&self, places: f64) -> f64 {
        let (n, p) = (self.of as f64, 1.0 / places);
        (self.hits as f64 - n * p) / (n * p * (1.0 - p)).sqrt()
    }
}

/// Aims at user 0 with `each` flows under each of so many secrets. What somebody guesses he does once for all, and among a
/// million flows.
pub fn hits(target: &Target, aim: Aim, secrets: u64, each: usize, seed: u64) -> Hits {
    let mut dice = Rng::from_seed(seed);
    let (mut found, victim) = (Hits::default(), user(0));
    let guessed =
        (aim == Aim::Guess).then(|| target.chosen(aim, secret(&mut dice), victim, 1_000_000, each, &mut dice));
    for _ in 0..secrets {
        let secret = secret(&mut dice);
        let shares = target.shares(secret, victim);
        let chosen = match &guessed {
            Some(guessed) => guessed.clone(),
            None => target.chosen(aim, secret, victim, (4.0 * each as f64 * target.places) as u32, each, &mut dice),
        };
        found.hits += chosen.iter().filter(|flow| shares(**flow)).count() as u64;
        found.of += chosen.len() as u64;
    }
    found
}

/// Mean and its standard error.
#[derive(Clone, Copy, Debug)]
pub struct Mean {
    pub mean: f64,
    pub error: f64,
}

impl Mean {
    pub fn of(values: &[f64]) -> Mean {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (n - 1.0);
        Mean { mean, error: (variance / n).sqrt() }
    }
}

/// What users keep of the line under `attack`, with so many secrets.
pub fn kept(target: &Target, attack: Attack, secrets: u64, seed: u64) -> Vec<Kept> {
    let mut dice = Rng::from_seed(seed);
    (0..secrets).map(|_| run(target, secret(&mut dice), attack, &mut dice)).collect()
}
