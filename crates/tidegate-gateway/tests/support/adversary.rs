//! An adversary who knows this code and the users' flows, but not the gate's secret. Which of the
//! flows that he can send share a place with a user's? What is left to users when those flood the
//! link?
//!
//! The gate's own hash of five-tuples and its own queues, over a line on which a packet takes a
//! slot of time.
#![allow(dead_code, reason = "the test takes a part, the figures all of it")]
#[path = "adversary/line.rs"]
mod line;

use line::run;
pub use line::{Attack, Kept};
use tidegate::catalog::{self, AnyConfig, AnyQueue};
use tidegate::{Link, NullSink, Packet, Qdisc, Rng, Time};
use tidegate_gateway::path::rehash::Rehash;
use tidegate_gateway::run::way::Secret;
use tidegate_packet::{Address, Ends, FlowHasher, FlowKey, Transport};

/// Bytes of every packet.
const LEN: u32 = 1000;

/// A queue with places that flows are hashed to, and the link it is for.
#[derive(Clone)]
pub struct Target {
    pub link: Link,
    pub config: AnyConfig,
    /// How often the gate gives flows other keys.
    pub rehash: Rehash,
    /// One flow in so many shares the place of another.
    pub places: f64,
}

/// How somebody finds flows that harm another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// He does not aim: any addresses and ports.
    Random,
    /// As near to the other's addresses and ports as can be, in case that the hash keeps near what
    /// is near.
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

/// The `n`-th of the flows next to `user`: bits of its ports and its address are turned over, the
/// lowest first.
fn near(user: Ends, n: u32) -> Ends {
    let (Address::V4(from), Address::V4(to), Transport::Ports { protocol, source, destination }) =
        (user.source, user.destination, user.transport)
    else {
        panic!("a user is TCP over IPv4")
    };
    let turned = n + 1;
    let (ports, rest) = ((turned & 0xff) as u16, turned >> 8);
    let from = u32::from_be_bytes(from) ^ rest >> 4;
    five_tuple(
        from,
        u32::from_be_bytes(to),
        source ^ ports,
        destination ^ (rest & 0xf) as u16,
        protocol,
    )
}

pub fn secret(dice: &mut Rng) -> Secret {
    Secret { hash: [dice.bits(), dice.bits()], seed: dice.bits() }
}

fn hasher(secret: Secret) -> FlowHasher {
    FlowHasher::new(FlowKey::FiveTuple, secret.hash)
}

impl Target {
    /// The queue `name` in this preset and with these settings, on a link of 10 Mbit/s with a limit
    /// of 125 packets.
    pub fn new(name: &str, preset: &str, settings: &[(&str, &str)], places: f64) -> Target {
        let parsed = (
            "10 Mbit/s".parse().unwrap(),
            "125 packets".parse().unwrap(),
            "1000 B".parse().unwrap(),
        );
        let link = Link::new(parsed.0, parsed.1, parsed.2).unwrap();
        let mut config = catalog::config(name, Some(preset), &link).unwrap();
        settings.iter().for_each(|(param, value)| config.set(param, value).unwrap());
        let rehash = Rehash::usual(&config);
        Target { link, config, rehash, places }
    }

    /// The same behind a gate that gives flows other keys so often.
    pub fn rehashed(self, rehash: Rehash) -> Target {
        Target { rehash, ..self }
    }

    pub fn queue(&self, secret: Secret) -> AnyQueue {
        self.config.build(self.link, Rng::from_seed(secret.seed)).unwrap()
    }

    /// What tells which flows share the place of the flow `of`, until places or keys change.
    pub fn shares(&self, secret: Secret, of: Ends) -> impl Fn(Ends) -> bool {
        let hasher = hasher(secret);
        let own = hasher.hash(&of);
        let mut queue = self.queue(secret);
        let ways = self.config.hash_table().map_or(1, |table| table.ways as usize);
        // Where accounts are kept, the flow's own are raised above all others by what it alone
        // sends.
        let mut packets = 0;
        let base = account(&queue, own);
        while base.is_some() && account(&queue, own) <= base {
            // Far enough apart for accounts that change at most so often.
            queue.enqueue(
                Time::from_nanos(packets * 10_000_000),
                Packet::new(own, LEN),
                &mut NullSink,
            );
            packets += 1;
            assert!(packets < 100_000, "the flow's accounts tell nothing");
        }
        move |other| {
            let other = hasher.hash(&other);
            match account(&queue, other) {
                Some(height) => Some(height) > base,
                None => place(&queue, other, ways) == place(&queue, own, ways),
            }
        }
    }

    /// Flows that `aim` has found among so many tries, for use against `of`. At most `most`.
    pub fn chosen(
        &self,
        aim: Aim,
        secret: Secret,
        of: Ends,
        tries: u32,
        most: usize,
        dice: &mut Rng,
    ) -> Vec<Ends> {
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

/// Where a queue of places has put the flow: of its places in sets of `ways`, the set.
fn place(queue: &AnyQueue, flow: u64, ways: usize) -> usize {
    let packet = Packet::new(flow, LEN);
    let place = match queue {
        AnyQueue::FqCodel(queue) => queue.queue_of(flow),
        AnyQueue::FqPie(queue) => queue.queue_of(flow),
        AnyQueue::Sfq(queue) => queue.bin_of(&packet),
        AnyQueue::SfqRed(queue) => queue.bin_of(flow),
        AnyQueue::Drr(queue) => queue.class_of(&packet),
        AnyQueue::Wfq(queue) => queue.class_of(&packet),
        AnyQueue::Ewfq(queue) => queue.class_of(&packet),
        AnyQueue::BcPqp(queue) => queue.policy().class_of(&packet),
        other => panic!("{other:?} has no places"),
    };
    place / ways
}

/// The least of a flow's accounts on all levels, in a queue that has such.
fn account(queue: &AnyQueue, flow: u64) -> Option<f64> {
    match queue {
        AnyQueue::Sfb(queue) => Some(queue.policy().p_min(flow)),
        AnyQueue::Sfred(queue) => Some(queue.policy().max_p(flow)),
        _ => None,
    }
}

// ---- figures
// -------------------------------------------------------------------------------------------------

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

/// Aims at user 0 with `each` flows under each of so many secrets. What somebody guesses he does
/// once for all, and among a million flows.
pub fn hits(target: &Target, aim: Aim, secrets: u64, each: usize, seed: u64) -> Hits {
    let mut dice = Rng::from_seed(seed);
    let (mut found, victim) = (Hits::default(), user(0));
    let guessed = (aim == Aim::Guess)
        .then(|| target.chosen(aim, secret(&mut dice), victim, 1_000_000, each, &mut dice));
    for _ in 0..secrets {
        let secret = secret(&mut dice);
        let shares = target.shares(secret, victim);
        let chosen = match &guessed {
            Some(guessed) => guessed.clone(),
            None => target.chosen(
                aim,
                secret,
                victim,
                (4.0 * each as f64 * target.places) as u32,
                each,
                &mut dice,
            ),
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
        let variance =
            values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (n - 1.0);
        Mean { mean, error: (variance / n).sqrt() }
    }
}

/// Of a part of what users kept.
pub fn mean(all: &[Kept], part: fn(&Kept) -> f64) -> Mean {
    Mean::of(&all.iter().map(part).collect::<Vec<_>>())
}

/// What users keep of the line under `attack`, with so many secrets.
pub fn kept(target: &Target, attack: Attack, secrets: u64, seed: u64) -> Vec<Kept> {
    let mut dice = Rng::from_seed(seed);
    (0..secrets).map(|_| run(target, secret(&mut dice), attack, &mut dice)).collect()
}
