#![doc = include_str!("sfq.md")]
use crate::choices;
use crate::config::ConfigError;
use crate::entry::{
    DEFAULT_PRESET, Entry, FOREVER, HashTable, Info, Linux, Preset, WAYS, auto_buckets,
};
use crate::packet::{Asks, Packet};
use crate::parts::every::Every;
use crate::parts::host_shares::HostShares;
use crate::parts::isolation::{Isolation, needs_flows};
use crate::parts::longest::By;
use crate::parts::round_robin::{self, RoundRobin};
use crate::parts::spread::{Classifier, Map};
use crate::qdisc::{Backlog, DropReason, Gauge, Link, Qdisc, Sink};
use crate::rng::{Rng, mix};
use crate::units::{Span, Time};

choices! {
    /// Who goes when there is no room.
    pub enum SfqVictim {
        /// The tail of the longest bin.
        LongestTail = "longest_tail",
        /// The head of the longest bin.
        LongestHead = "longest_head",
        /// The packet that arrives.
        Arrival = "arrival",
        /// The packet that arrives, and long before the limit if its bin has much already (ns-2).
        Ns2 = "ns2",
    }
}

crate::params! {
    /// SFQ's parameters. Defaults are the preset `paper`.
    pub struct SfqConfig {
        /// How many bins flows are hashed to.
        bins: u32 = 1024, "", 1 ..= 65_536;
        /// What decides the bin of a packet: a hash of its flow, or the class that the driver gave
        /// it.
        map: Map = Map::Flow, "", 0 ..= 0;
        /// Which packets are one flow, and which hosts divide a share; with `map` flow.
        isolation: Isolation = Isolation::Flows, "", 0 ..= 0;
        /// How often the hash function changes; 0: never.
        perturb: Span = Span::ZERO, "", 0 ..= 86_400_000_000_000_u64;
        /// Who goes when there is no room.
        overflow: SfqVictim = SfqVictim::LongestTail, "", 0 ..= 0;
        /// Which bin is the longest.
        longest: By = By::Packets, "", 0 ..= 0;
    }
}

/// The hash function changes no more often.
const LEAST_PERTURB: Span = Span::from_millis(1);

/// Stochastic fairness queueing (mckenney1990).
#[derive(Clone, Debug)]
pub struct Sfq {
    robin: RoundRobin,
    classes: Classifier,
    map: Map,
    isolation: Isolation,
    bins: u32,
    /// What the hash functions' keys are made from, so that they do not depend on how often anybody
    /// asks.
    key: u64,
    epoch: u64,
    perturb: Every,
    /// ns-2's rule.
    ns2: Option<Ns2Limit>,
}

/// ns-2's rule in packets: the limit, and a bin's part of it.
#[derive(Clone, Copy, Debug)]
struct Ns2Limit {
    limit: u64,
    part: u64,
    bins: u64,
}

impl Ns2Limit {
    fn new(bins: u32, link: &Link) -> Ns2Limit {
        let limit = link.limit_packets() as u64;
        Ns2Limit { limit, part: limit / bins as u64, bins: bins as u64 }
    }

    /// Whether a packet is refused whose bin has `used` packets, of `all` that wait. Not with an
    /// empty buffer: with a limit of one packet nothing would ever pass.
    #[inline]
    fn refuses(&self, used: u32, all: u32) -> bool {
        let (used, left) = (used as u64, self.limit.saturating_sub(all as u64));
        all > 0 && (used >= left / 2 || (left < self.bins && used > self.part) || left == 0)
    }
}

impl Sfq {
    /// Which bin `pkt` joins.
    #[inline]
    pub fn bin_of(&self, pkt: &Packet) -> usize {
        self.classes.of(pkt)
    }

    /// What waits in `bin`, of those from 0 to `bins` - 1.
    ///
    /// # Panics
    /// When there is no such bin.
    pub fn bin_backlog(&self, bin: usize) -> Backlog {
        self.robin.of(bin)
    }

    /// Changes the hash function if that has fallen due. Only when a packet comes or goes: in
    /// between nobody can tell.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        if now >= self.perturb.due() {
            self.hash_anew(now);
        }
    }

    /// What waits is lined up in the order in which it would have left, and hashed to the bins
    /// anew: a flow's packets stay in their order.
    #[cold]
    fn hash_anew(&mut self, now: Time) {
        let steps = self.perturb.overdue(now);
        self.perturb.skip(steps);
        self.epoch += steps;
        self.classes =
            Classifier::keyed(self.map, self.bins, mix(self.key.wrapping_add(self.epoch)))
                .with_isolation(self.isolation);
        let classes = &self.classes;
        self.robin.deal_anew(|pkt| classes.of(pkt));
    }
}

impl Qdisc for Sfq {
    #[inline]
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, mut pkt: Packet, out: &mut S) {
        self.catch_up(now);
        pkt.arrived = now;
        let bin = self.classes.of(&pkt);
        let (used, all) = (self.robin.of(bin).packets, self.robin.held().all().packets);
        if self.ns2.is_some_and(|ns2| ns2.refuses(used, all)) {
            return out.dropped(now, &pkt, DropReason::Overlimit);
        }
        self.robin.enqueue(now, bin, pkt, out);
    }

    #[inline]
    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, _: &mut S) -> Option<Packet> {
        self.catch_up(now);
        self.robin.next()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.robin.held().all()
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        see(Gauge { name: "busy_bins", unit: "bins", value: self.robin.turns().len() as f64 });
        let (longest, _) = self.robin.held().longest();
        see(Gauge {
            name: "longest",
            unit: "packets",
            value: self.robin.of(longest).packets as f64,
        });
    }
}

impl Entry for Sfq {
    type Config = SfqConfig;
    const INFO: Info = Info {
        title: "stochastic fairness queueing: flows hashed to bins, a packet of each in turn",
        paper: "mckenney1990",
        manual: include_str!("sfq.md"),
    };
    const LINUX: Option<Linux> = Some(Linux {
        tc: "sfq limit {limit:packets} depth 127 flows {sfq_flows} divisor {bins:power} \
             perturb {perturb:s} quantum 1514",
        preset: DEFAULT_PRESET,
        differs: "Linux gives a flow 127 packets at most, and takes turns by bytes, not by \
             packets.",
        whole: true,
    });
    const PRESETS: &'static [Preset<SfqConfig>] = &[
        Preset {
            name: "paper",
            doc: "1024 bins, one hash function",
            config: |_| SfqConfig::default(),
        },
        Preset {
            name: "ns2",
            doc: "ns-2's 16 bins and its rule of who is refused",
            config: |_| SfqConfig { bins: 16, overflow: SfqVictim::Ns2, ..SfqConfig::default() },
        },
        Preset {
            name: "auto",
            doc: "a new hash function every ten seconds, the bin with the most bytes makes room, \
                 bins by the link's rate",
            config: |link| SfqConfig {
                bins: (auto_buckets(link) * WAYS).min(65_536), // no sets here: eight times as many
                perturb: Span::from_millis(10_000),
                longest: By::Bytes,
                ..SfqConfig::default()
            },
        },
    ];

    fn build(config: &SfqConfig, link: Link, mut dice: Rng) -> Result<Self, ConfigError> {
        if config.perturb > Span::ZERO && config.perturb < LEAST_PERTURB {
            return Err(ConfigError::new(
                "perturb",
                config.perturb,
                "must be 0 (never) or at least 1 ms",
            ));
        }
        needs_flows(config.isolation, config.map == Map::Flow)?;
        let overflow = match config.overflow {
            SfqVictim::LongestTail => round_robin::Overflow::LongestTail,
            SfqVictim::LongestHead => round_robin::Overflow::LongestHead,
            SfqVictim::Arrival | SfqVictim::Ns2 => round_robin::Overflow::Arrival,
        };
        let key = dice.bits();
        let hosts = HostShares::new(config.isolation.divide(), config.bins, &mut dice);
        Ok(Sfq {
            robin: RoundRobin::new(config.bins as usize, config.longest, overflow, link)
                .with_hosts(hosts),
            classes: Classifier::keyed(config.map, config.bins, mix(key))
                .with_isolation(config.isolation),
            map: config.map,
            isolation: config.isolation,
            bins: config.bins,
            key,
            epoch: 0,
            perturb: if config.perturb == Span::ZERO {
                Every::never()
            } else {
                Every::new(config.perturb)
            },
            ns2: (config.overflow == SfqVictim::Ns2).then(|| Ns2Limit::new(config.bins, &link)),
        })
    }

    fn state_bytes(config: &SfqConfig, link: &Link) -> u64 {
        core::mem::size_of::<Sfq>() as u64
            + RoundRobin::bytes(config.bins as u64, link)
            + HostShares::bytes(config.isolation.divide(), config.bins)
    }

    fn asks(config: &SfqConfig) -> Asks {
        config.isolation.asks()
    }

    fn bucket_lifetime(config: &SfqConfig) -> Option<Span> {
        let lifetime = if config.perturb == Span::ZERO { FOREVER } else { config.perturb };
        (config.map == Map::Flow).then_some(lifetime)
    }

    fn hash_table(config: &SfqConfig) -> Option<HashTable> {
        (config.map == Map::Flow).then_some(HashTable { buckets: config.bins, ways: 1 })
    }
}
