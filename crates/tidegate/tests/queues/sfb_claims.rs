//! What feng2001 says of SFB and what can be seen on the queue alone, without TCP.
//!
//! The others are 400 flows that send their next packet one round trip after the last one got
//! through or was lost. They never overload a bin, keep the queue busy, and lose throughput when
//! they lose packets. On the paper's link their fair share is 0.11 Mbit/s. Each sentence is checked
//! on several seeds of hash functions.
use crate::support;
use std::collections::VecDeque;

use tidegate::queues::Sfb;
use tidegate::rng::mix;
use tidegate::{DropReason, Ecn, MarkReason, Packet, Qdisc, Rng, Sink, Time, catalog};

const SEC: u64 = 1_000_000_000;
const OTHERS: usize = 400;
const FAIR: f64 = 45.0 / OTHERS as f64;

/// A bottleneck of 45 Mbit/s with 200 kB and packets of 1 kB, its floods and its 400 others.
struct Bottleneck {
    queue: Sfb,
    /// When each flood sends next, how often it sends, and its flow.
    floods: Vec<(u64, u64, u64)>,
    /// Who sends next, one round trip after his last packet's fate.
    others: VecDeque<(u64, usize)>,
    send_due: u64,
    /// Packets sent on the link since the last reading, by flood and by other flow.
    flood_sent: Vec<u64>,
    other_sent: Vec<u64>,
    flood_lost: Vec<u64>,
    read_at: u64,
}

const ROUND_TRIP: u64 = 45_000_000;
const WIRE_TIME: u64 = 8_000 * SEC / 45_000_000;

fn gap(mbps: f64) -> u64 {
    (8_000.0 * 1e3 / mbps) as u64
}

fn other(index: usize) -> u64 {
    mix(index as u64)
}

struct Lost(bool);

impl Sink for Lost {
    fn dropped(&mut self, _: Time, _: &Packet, _: DropReason) {
        self.0 = true;
    }
    fn marked(&mut self, _: Time, _: &Packet, _: MarkReason) {}
}

impl Bottleneck {
    fn new(preset: &str, seed: u64, floods: &[f64]) -> Bottleneck {
        let link = support::link("45 Mbit/s", "200 kB", "1000 B");
        let config = catalog::config("sfb", Some(preset), &link).unwrap();
        let catalog::AnyQueue::Sfb(queue) = config.build(link, Rng::from_seed(seed)).unwrap()
        else {
            panic!()
        };
        let mut world = Rng::from_seed(!seed);
        let floods = floods.iter().enumerate();
        let floods: Vec<_> = floods
            .map(|(i, &mbps)| (world.below(gap(mbps)), gap(mbps), mix(0xf100d + i as u64)))
            .collect();
        let mut starts: Vec<u64> = (0..OTHERS).map(|_| world.below(ROUND_TRIP)).collect();
        starts.sort_unstable();
        Bottleneck {
            queue,
            flood_sent: vec![0; floods.len()],
            flood_lost: vec![0; floods.len()],
            other_sent: vec![0; OTHERS],
            floods,
            others: starts.into_iter().enumerate().map(|(i, at)| (at, i)).collect(),
            send_due: 0,
            read_at: 0,
        }
    }

    /// Runs to `end` seconds; what was counted before is forgotten.
    fn run_to(&mut self, end: u64) {
        for counts in [&mut self.flood_sent, &mut self.flood_lost, &mut self.other_sent] {
            counts.fill(0);
        }
        self.read_at = self.send_due;
        while self.send_due < end * SEC {
            let flood = (0..self.floods.len()).min_by_key(|&i| self.floods[i].0);
            let flood_due = flood.map_or(u64::MAX, |i| self.floods[i].0);
            let other_due = self.others.front().map_or(u64::MAX, |&(at, _)| at);
            match flood {
                Some(i) if flood_due <= other_due && flood_due <= self.send_due => {
                    let (at, gap, flow) = self.floods[i];
                    self.floods[i].0 = at + gap;
                    let pkt = Packet::new(flow, 1000).with_slot(i as u32);
                    self.flood_lost[i] += u64::from(self.lost(at, pkt));
                }
                _ if other_due <= self.send_due => {
                    let (at, i) = self.others.pop_front().unwrap();
                    let pkt = Packet::new(other(i), 1000).with_slot((self.floods.len() + i) as u32);
                    if self.lost(at, pkt.with_ecn(Ecn::Ect0)) {
                        self.resend(at, i);
                    }
                }
                _ => self.send(),
            }
        }
    }

    fn lost(&mut self, at: u64, pkt: Packet) -> bool {
        let mut lost = Lost(false);
        self.queue.enqueue(Time::from_nanos(at), pkt, &mut lost);
        lost.0
    }

    fn resend(&mut self, now: u64, i: usize) {
        // A packet's fate is known in the order of time up to one time on the wire; keep the line
        // sorted.
        let at = (now + ROUND_TRIP).max(self.others.back().map_or(0, |&(at, _)| at));
        self.others.push_back((at, i));
    }

    fn send(&mut self) {
        let now = self.send_due;
        self.send_due += WIRE_TIME;
        if let Some(pkt) = self.queue.dequeue(Time::from_nanos(now), &mut Lost(false)) {
            match (pkt.slot as usize).checked_sub(self.floods.len()) {
                None => self.flood_sent[pkt.slot as usize] += 1,
                Some(i) => {
                    self.other_sent[i] += 1;
                    self.resend(now, i);
                }
            }
        }
    }

    fn mbps(&self, packets: u64) -> f64 {
        packets as f64 * 8_000.0 * 1e3 / (self.send_due - self.read_at) as f64
    }

    fn floods_mbps(&self) -> f64 {
        self.mbps(self.flood_sent.iter().sum())
    }

    /// The others that are taken for unresponsive now.
    fn misclassified(&self) -> Vec<usize> {
        (0..OTHERS).filter(|&i| self.queue.policy().p_min(other(i)) == 1.0).collect()
    }
}

const SEEDS: std::ops::Range<u64> = 0..8;

/// §III-A, §III-B: a flood at the rate of the link is identified and held at the penalty rate, 0.16
/// Mbit/s, while the others keep their fair share. But a flow that shares all its bins with the
/// flood is shut out with it (§III-C).
#[test]
fn a_flood_is_held_at_the_penalty_rate_and_the_others_keep_their_share() {
    let mut shut_out = 0;
    for seed in SEEDS {
        let mut link = Bottleneck::new("paper", seed, &[45.0]);
        link.run_to(4);
        link.run_to(24);
        assert_eq!(link.queue.policy().p_min(link.floods[0].2), 1.0, "seed {seed}");
        let flood = link.floods_mbps();
        assert!((0.13..0.17).contains(&flood), "seed {seed}: the flood has {flood} Mbit/s");
        let misclassified = link.misclassified();
        for i in 0..OTHERS {
            let got = link.mbps(link.other_sent[i]) / FAIR;
            if misclassified.contains(&i) {
                assert!(got < 0.1, "seed {seed}: flow {i} is penalised and has {got} of its share")
            } else {
                assert!(got > 0.95, "seed {seed}: flow {i} has {got} of its share")
            }
        }
        shut_out += misclassified.len();
    }
    // About 8 × 400/529 = 6 by equation (1), and those whom their sharing makes a flood for others.
    assert!(shut_out > 0, "no seed showed the other side");
}

/// §III-D: with moving hash functions nobody is shut out for long; without them, eight floods shut
/// out some for ever.
#[test]
fn moving_hash_functions_spread_the_misfortune() {
    for seed in 0..4 {
        let worst = |preset| {
            let mut link = Bottleneck::new(preset, seed, &[45.0; 8]);
            link.run_to(4);
            link.run_to(24);
            link.mbps(*link.other_sent.iter().min().unwrap()) / FAIR
        };
        let (fixed, moving, double) = (worst("paper"), worst("moving"), worst("double"));
        assert!(fixed < 0.05, "seed {seed}: {fixed}");
        assert!(moving > 0.5 && double > 0.5, "seed {seed}: {moving} and {double}");
    }
}

/// §III-D: parole costs something, which a second set of bins wins back.
#[test]
fn parole_costs_and_warming_up_wins_it_back() {
    let mean = |preset| {
        let floods = SEEDS.map(|seed| {
            let mut link = Bottleneck::new(preset, seed, &[45.0]);
            link.run_to(4);
            link.run_to(24);
            link.floods_mbps()
        });
        floods.sum::<f64>() / SEEDS.end as f64
    };
    let (fixed, moving, double) = (mean("paper"), mean("moving"), mean("double"));
    assert!(moving > 1.2 * fixed, "{fixed} and {moving}");
    assert!(double < 0.9 * moving, "{moving} and {double}");
}

/// §III-D: a flood that reforms is released at the next change of the hash functions, while another
/// flood is still held. Without changes it stays in the penalty box beside the other, which takes
/// all the tokens.
#[test]
fn a_reformed_flow_is_released() {
    for (preset, released) in [("moving", true), ("double", true), ("paper", false)] {
        for seed in SEEDS {
            let mut link = Bottleneck::new(preset, seed, &[45.0, 45.0]);
            link.run_to(10);
            link.floods[1].1 = gap(0.1);
            link.run_to(15); // two intervals: with `double` the first new set still remembers it
            link.run_to(35);
            let (sent, lost) = (link.flood_sent[1] as f64, link.flood_lost[1] as f64);
            assert_eq!(sent + lost, 250.0, "it sends 0.1 Mbit/s");
            let ratio = lost / (sent + lost);
            assert!(
                if released { ratio < 0.05 } else { ratio > 0.9 },
                "{preset}, seed {seed}: {ratio} lost"
            );
            assert!(
                link.mbps(link.flood_sent[0]) < 0.3,
                "{preset}, seed {seed}: the other is held"
            );
        }
    }
}
