//! The counters: what a queue could keep to know how many flows there are.
use datasketches::hll::{HllSketch, HllType};
use serde::Serialize;
use tidegate::parts::capture_list::CaptureList;
use tidegate::parts::jackknife::Jackknife;
use tidegate::parts::matches::Matches;
use tidegate::parts::mincount::{Estimator, MinCount};
use tidegate::parts::zombies::{Filling, Zombies};
use tidegate::{Rng, Seed};

/// One way to count flows, with the constants of its paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Method {
    /// MINCOUNT by the formula of the Purge paper.
    #[serde(rename = "mincount/paper")]
    MinCountPaper,
    /// MINCOUNT by the censored estimate.
    #[serde(rename = "mincount/censored")]
    MinCountCensored,
    /// SRED's hits.
    #[serde(rename = "sred/hits")]
    SredHits,
    /// BLACK's samplings over matches.
    #[serde(rename = "black/matches")]
    BlackMatches,
    /// Two capture occasions, as chan2003 §III-A has them.
    #[serde(rename = "care/M0")]
    CareM0,
    /// CARE's jackknife.
    #[serde(rename = "care/Mh")]
    CareMh,
    /// The yardstick: none of our queues has it.
    #[serde(rename = "hyperloglog")]
    HyperLogLog,
}

/// MINCOUNT's m in the Purge paper (§4.1); with k it takes 12 KiB.
const BUCKETS: u32 = 1024;
/// MINCOUNT's k.
const MINIMA: u32 = 3;
/// CARE's t (chan2003 §V-A).
const OCCASIONS: u32 = 200;
/// CARE's p_cap.
const CAPTURE: f64 = 0.04;
/// SRED's M, and one over its alpha (ott1999 §3).
const ZOMBIES: u32 = 1000;
/// SRED's p.
const OVERWRITE: f64 = 0.25;
/// Packets in the buffer that BLACK draws from: a queue that stays about full.
const BUFFERED: usize = 100;
/// 2^14 registers of 6 bits: 12 KiB, as MINCOUNT has.
const LG_REGISTERS: u8 = 14;

impl Method {
    /// Every method.
    pub const ALL: [Method; 7] = [
        Method::MinCountPaper,
        Method::MinCountCensored,
        Method::SredHits,
        Method::BlackMatches,
        Method::CareM0,
        Method::CareMh,
        Method::HyperLogLog,
    ];

    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Method::MinCountPaper => "mincount/paper",
            Method::MinCountCensored => "mincount/censored",
            Method::SredHits => "sred/hits",
            Method::BlackMatches => "black/matches",
            Method::CareM0 => "care/M0",
            Method::CareMh => "care/Mh",
            Method::HyperLogLog => "hyperloglog",
        }
    }

    /// A counter that has seen nothing, with dice and hashes from `seed`.
    pub(super) fn counter(self, seed: Seed) -> Box<dyn Counter> {
        let dice = seed.stream(self.name());
        let captures = |dice| Captures { dice, list: CaptureList::new(OCCASIONS) };
        match self {
            Method::MinCountPaper => Box::new(min_count(Estimator::Paper, dice)),
            Method::MinCountCensored => Box::new(min_count(Estimator::Censored, dice)),
            Method::SredHits => Box::new(Hits { dice, zombies: zombies() }),
            Method::BlackMatches => Box::new(Buffer::new(dice)),
            Method::CareM0 => Box::new(TwoOccasions(Vec::new(), dice)),
            Method::CareMh => Box::new(captures(dice)),
            Method::HyperLogLog => Box::new(HyperLogLog::new()),
        }
    }
}

/// What counts the flows of the packets that it is shown.
pub(super) trait Counter {
    /// Packets of these flows pass.
    fn pass(&mut self, flows: &[u64]);
    /// How many flows there were.
    fn estimate(&self) -> f64;
    /// State at present, in bytes.
    fn bytes(&self) -> u64;
}

fn min_count(estimator: Estimator, mut dice: Rng) -> MinCount {
    MinCount::new(BUCKETS, MINIMA, estimator, dice.bits())
}

impl Counter for MinCount {
    fn pass(&mut self, flows: &[u64]) {
        flows.iter().for_each(|&flow| self.add(flow));
    }
    fn estimate(&self) -> f64 {
        MinCount::estimate(self)
    }
    fn bytes(&self) -> u64 {
        MinCount::bytes(self) as u64
    }
}

fn zombies() -> Zombies {
    Zombies::new(ZOMBIES, OVERWRITE, 1.0 / ZOMBIES as f64, Filling::Miss)
}

/// SRED's zombies: one is drawn for each packet that arrives.
struct Hits {
    dice: Rng,
    zombies: Zombies,
}

impl Counter for Hits {
    fn pass(&mut self, flows: &[u64]) {
        for &flow in flows {
            self.zombies.compare(flow, &mut self.dice);
        }
    }

    /// 0 before the first hit, as the queue's gauge has it.
    fn estimate(&self) -> f64 {
        self.zombies.flows().unwrap_or(0.0)
    }

    fn bytes(&self) -> u64 {
        Zombies::bytes(ZOMBIES)
    }
}

/// A buffer of the last packets. BLACK draws one for each that arrives.
struct Buffer {
    dice: Rng,
    flows: Vec<u64>,
    next: usize,
    matches: Matches,
}

impl Buffer {
    fn new(dice: Rng) -> Buffer {
        Buffer { dice, flows: Vec::with_capacity(BUFFERED), next: 0, matches: Matches::default() }
    }
}

impl Counter for Buffer {
    fn pass(&mut self, flows: &[u64]) {
        for &flow in flows {
            if self.flows.len() < BUFFERED {
                self.flows.push(flow); // BLACK does not sample a short queue
                continue;
            }
            let sampled = self.flows[self.dice.below(BUFFERED as u64) as usize];
            self.matches.sample(sampled, flow);
            self.flows[self.next] = flow;
            self.next = (self.next + 1) % BUFFERED;
        }
    }

    /// 0 without a match, as BLACK has it before its first.
    fn estimate(&self) -> f64 {
        self.matches.estimate().unwrap_or(0.0)
    }

    /// The queue itself is there anyway.
    fn bytes(&self) -> u64 {
        size_of::<Matches>() as u64
    }
}

/// CARE's capture list and the jackknife on it.
struct Captures {
    dice: Rng,
    list: CaptureList,
}

impl Counter for Captures {
    fn pass(&mut self, flows: &[u64]) {
        for &flow in flows {
            if self.dice.chance(CAPTURE) {
                self.list.capture(flow, 1);
            }
        }
    }
    fn estimate(&self) -> f64 {
        Jackknife::new(self.list.len() as u32).estimate(self.list.frequencies())
    }
    fn bytes(&self) -> u64 {
        CaptureList::bytes(OCCASIONS)
    }
}

/// The last t captures as two occasions, oldest first. Flows caught in the older half are marked,
/// and m_2 of the n_2 captures in the newer half are of marked flows. By chan2003 §III-A m_2 / n_2
/// = n_1 / N. Since m_2 may be 0 we add one to both (bailey1951, for captures with replacement): N
/// = n_1 (n_2 + 1) / (m_2 + 1).
struct TwoOccasions(Vec<u64>, Rng);

impl Counter for TwoOccasions {
    fn pass(&mut self, flows: &[u64]) {
        let TwoOccasions(captured, dice) = self;
        captured.extend(flows.iter().filter(|_| dice.chance(CAPTURE)));
        let surplus = captured.len().saturating_sub(OCCASIONS as usize);
        captured.drain(..surplus);
    }
    fn estimate(&self) -> f64 {
        let (older, newer) = self.0.split_at(self.0.len() / 2);
        let mut marked = older.to_vec();
        marked.sort_unstable();
        marked.dedup();
        let recaptured = newer.iter().filter(|flow| marked.binary_search(flow).is_ok()).count();
        marked.len() as f64 * (newer.len() as f64 + 1.0) / (recaptured as f64 + 1.0)
    }
    fn bytes(&self) -> u64 {
        OCCASIONS as u64 * size_of::<u64>() as u64
    }
}

struct HyperLogLog(HllSketch);

impl HyperLogLog {
    fn new() -> HyperLogLog {
        HyperLogLog(HllSketch::new(LG_REGISTERS, HllType::Hll6).expect("14 lies in its 4 to 21"))
    }
}

impl Counter for HyperLogLog {
    fn pass(&mut self, flows: &[u64]) {
        flows.iter().for_each(|&flow| self.0.update(flow));
    }
    fn estimate(&self) -> f64 {
        self.0.estimate()
    }
    fn bytes(&self) -> u64 {
        self.0.estimated_size() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// t = 200 captures in order, two halves. Flows 0 … 49 twice in the older half: n_1 = 50. In
    /// the newer half 60 captures are of these and 40 of others: N = 50 · 101 / 61.
    #[test]
    fn two_occasions() {
        let older = (0..100).map(|n| n % 50);
        let newer = (0..100).map(|n| if n < 60 { n % 50 } else { 1000 + n });
        let mut counter = TwoOccasions(older.chain(newer).collect(), Rng::from_seed(1));
        assert_eq!(counter.estimate(), 50.0 * 101.0 / 61.0);
        counter.pass(&vec![7; 20_000]);
        assert_eq!(counter.0, [7; 200], "the last 200 captures");
        assert_eq!(counter.estimate(), 1.0);
    }

    #[test]
    fn one_flow_is_one() {
        for method in Method::ALL.into_iter().skip(1) {
            let mut counter = method.counter(Seed::new(3));
            counter.pass(&[77; 10_000]);
            assert!((counter.estimate() - 1.0).abs() < 1e-3, "{method:?}: {}", counter.estimate());
        }
    }

    #[test]
    fn as_much_memory_for_the_yardstick() {
        let flows: Vec<u64> = (0..100_000).collect();
        let bytes = [Method::MinCountPaper, Method::HyperLogLog].map(|method| {
            let mut counter = method.counter(Seed::new(1));
            counter.pass(&flows);
            counter.bytes() as f64
        });
        assert!((bytes[1] / bytes[0] - 1.0).abs() < 0.05, "{bytes:?}");
    }
}
