//! Packets of many flows, evenly or not, and how many different flows there were.
use serde::Serialize;
use tidegate::rng::mix;
use tidegate::{Rng, Seed};

/// How unevenly flows send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Skew {
    /// All alike.
    #[serde(rename = "equal")]
    Equal,
    /// The r-th as r^-1.1, a usual figure for flows on the Internet.
    #[serde(rename = "zipf 1.1")]
    Zipf,
    /// One sends half of all packets, the others the rest evenly.
    #[serde(rename = "one elephant")]
    Elephant,
}

impl Skew {
    /// Every skew.
    pub const ALL: [Skew; 3] = [Skew::Equal, Skew::Zipf, Skew::Elephant];
    /// Its exponent, of [`Skew::Zipf`].
    const EXPONENT: f64 = 1.1;
    /// The elephant's part of the packets.
    const SHARE: f64 = 0.5;

    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Skew::Equal => "equal",
            Skew::Zipf => "zipf 1.1",
            Skew::Elephant => "one elephant",
        }
    }
}

/// Who may send, and how often.
#[derive(Clone, Debug)]
pub struct Population {
    flows: u64,
    skew: Skew,
    /// The weights added up, of [`Skew::Zipf`] only.
    cumulative: Vec<f64>,
}

impl Population {
    /// `flows` flows, at least one.
    pub fn new(flows: u64, skew: Skew) -> Population {
        let flows = flows.max(1);
        let weights = if skew == Skew::Zipf { flows } else { 0 };
        let cumulative = (1..=weights).scan(0.0, |sum, rank| {
            *sum += libm::pow(rank as f64, -Skew::EXPONENT);
            Some(*sum)
        });
        Population { flows, skew, cumulative: cumulative.collect() }
    }

    /// Who sends the next packet, as a rank from 0.
    fn rank(&self, dice: &mut Rng) -> u64 {
        match (self.skew, self.cumulative.last()) {
            (Skew::Zipf, Some(&total)) => {
                let u = dice.between(0.0, total);
                (self.cumulative.partition_point(|&sum| sum <= u) as u64).min(self.flows - 1)
            }
            (Skew::Elephant, _) if self.flows > 1 => {
                if dice.chance(Skew::SHARE) {
                    0
                } else {
                    1 + dice.below(self.flows - 1)
                }
            }
            _ => dice.below(self.flows),
        }
    }

    /// The packets that `seed` draws.
    pub fn traffic(&self, seed: Seed) -> Traffic<'_> {
        let words = self.flows.div_ceil(64) as usize;
        Traffic {
            population: self,
            dice: seed.stream("traffic"),
            names: seed.get(),
            seen: vec![0; words],
            distinct: 0,
        }
    }
}

/// Packets as they come.
#[derive(Clone, Debug)]
pub struct Traffic<'p> {
    population: &'p Population,
    dice: Rng,
    /// Counters see flows as hashes, other ones in each replication.
    names: u64,
    /// A bit a flow.
    seen: Vec<u64>,
    distinct: u64,
}

impl Traffic<'_> {
    /// The flows of the next packets, as many as there is room for.
    pub fn fill(&mut self, packets: &mut [u64]) {
        for packet in packets {
            let rank = self.population.rank(&mut self.dice);
            let (word, bit) = (&mut self.seen[rank as usize / 64], 1 << (rank % 64));
            self.distinct += (*word & bit == 0) as u64;
            *word |= bit;
            *packet = mix(rank ^ self.names);
        }
    }

    /// How many different flows there were so far.
    pub fn distinct(&self) -> u64 {
        self.distinct
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares of the first flow: a tenth; 1 / Σ r^-1.1 = 1 / 2.6802; a half. 10^6 draws, five and
    /// more deviations.
    #[test]
    fn the_first_flows_share() {
        for (skew, share) in [(Skew::Equal, 0.1), (Skew::Zipf, 0.37311), (Skew::Elephant, 0.5)] {
            let population = Population::new(10, skew);
            let mut dice = Rng::from_seed(1);
            let first = (0..1_000_000).filter(|_| population.rank(&mut dice) == 0).count();
            assert!((first as f64 / 1e6 - share).abs() < 0.0026, "{skew:?}: {first}");
        }
    }

    #[test]
    fn flows_are_counted_once() {
        for skew in Skew::ALL {
            for flows in [1, 64, 65, 1000] {
                let population = Population::new(flows, skew);
                let mut traffic = population.traffic(Seed::new(flows));
                let mut packets = vec![0; 5000];
                traffic.fill(&mut packets);
                packets.sort_unstable();
                packets.dedup();
                assert_eq!(traffic.distinct(), packets.len() as u64);
                assert!(
                    traffic.distinct() <= flows
                        && (skew != Skew::Equal || traffic.distinct() > flows * 9 / 10)
                );
            }
        }
    }
}
