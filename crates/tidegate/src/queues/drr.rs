#![doc = include_str!("drr.md")]
use alloc::vec::Vec;

use super::codel::auto_frame;
use crate::config::{ByClass, ConfigError};
use crate::entry::{
    DEFAULT_PRESET, Entry, FOREVER, HashTable, Info, Linux, Preset, WAYS, auto_buckets,
};
use crate::packet::{Asks, Packet};
use crate::parts::host_shares::HostShares;
use crate::parts::isolation::{Isolation, needs_flows};
use crate::parts::longest::By;
use crate::parts::round_robin::{Overflow, RoundRobin, Ties};
use crate::parts::spread::{Classifier, HashWays, Map};
use crate::qdisc::{Backlog, Gauge, Link, Qdisc, Sink};
use crate::rng::Rng;
use crate::units::{Bytes, Span, Time};

crate::params! {
    /// DRR's parameters. Defaults are the preset `paper`.
    pub struct DrrConfig {
        /// How many queues there are.
        classes: u32 = 1024, "n", 1 ..= 65_536;
        /// What decides the queue of a packet: a hash of its flow, or the class that the driver
        /// gave it.
        map: Map = Map::Flow, "", 0 ..= 0;
        /// A flow goes to any of so many places that its hash deals it, where nobody waits if there
        /// is one; with `map` flow.
        ways: u32 = 1, "", 1 ..= 16;
        /// Which packets are one flow, and which hosts divide a share; with `map` flow.
        isolation: Isolation = Isolation::Flows, "", 0 ..= 0;
        /// How many bytes a queue of weight 1 may send in a round.
        quantum: Bytes = Bytes::new(1500), "Q", 1 ..= 1_000_000_000;
        /// Each queue's quantum in quanta.
        weights: ByClass<f64> = ByClass::all(1.0), "f_i", 0.01 ..= 10_000.0;
        /// Who goes when there is no room.
        overflow: Overflow = Overflow::LongestHead, "", 0 ..= 0;
        /// Which queue is the longest.
        longest: By = By::Bytes, "", 0 ..= 0;
        /// Which of equally long ones it is: the first by number, or the first in turn.
        ties: Ties = Ties::Number, "", 0 ..= 0;
    }
}

/// Deficit round robin over one buffer (shreedhar1995).
#[derive(Clone, Debug)]
pub struct Drr {
    classes: Classifier,
    robin: RoundRobin,
    accounts: Vec<Balance>,
    /// The queue that has had its quantum in the visit that is going on.
    visited: Option<u32>,
}

/// Of a queue; means something only while it has packets.
#[derive(Clone, Copy, Debug)]
struct Balance {
    /// Q_i, in bytes.
    quantum: u64,
    /// DC_i, in 2^-16 bytes: what it may still send.
    deficit: u64,
}

impl Drr {
    /// The queue that `pkt` joins.
    #[inline]
    pub fn class_of(&self, pkt: &Packet) -> usize {
        self.classes.among(pkt, |class| self.robin.of(class).packets > 0)
    }

    /// What waits in `class`, of those from 0 to `classes` - 1.
    ///
    /// # Panics
    /// When there is no such class.
    pub fn class_backlog(&self, class: usize) -> Backlog {
        self.robin.of(class)
    }

    /// DC_i, of a queue that has packets: what `class` may still send, in bytes.
    ///
    /// # Panics
    /// When there is no such class.
    pub fn deficit(&self, class: usize) -> u64 {
        self.accounts[class].deficit >> HostShares::FRACTION
    }

    /// Q_i, or this class's part of it where hosts divide shares, in 2^-16 bytes.
    #[inline]
    fn part(&self, class: usize) -> u64 {
        self.robin.hosts().part(class, self.accounts[class].quantum)
    }

    /// How long the head of `class` is, in 2^-16 bytes.
    #[inline]
    fn head(&self, class: usize) -> u64 {
        self.robin.held().head(class).map_or(0, |pkt| u64::from(pkt.len) << HostShares::FRACTION)
    }

    /// Whether the first queue's counter covers its head. It gets its quantum when its visit
    /// begins.
    #[inline]
    fn may_send(&mut self, class: usize) -> bool {
        if self.visited != Some(class as u32) {
            self.visited = Some(class as u32);
            self.accounts[class].deficit += self.part(class);
        }
        let len = self.head(class);
        let account = &mut self.accounts[class];
        let covered = len <= account.deficit;
        if covered {
            account.deficit -= len;
        }
        covered
    }

    /// Nobody can send, although everybody has had a quantum: as many rounds at once as will pass
    /// until somebody can. So a dequeue takes two rounds at most, however small the quantum.
    #[cold]
    fn skip_rounds(&mut self) {
        let missing = |class: usize| {
            let behind = self.head(class).saturating_sub(self.accounts[class].deficit);
            behind.div_ceil(self.part(class))
        };
        // The round in which the first can send is made in the usual way.
        let rounds = self.robin.turns().iter().map(missing).min().unwrap_or(0).saturating_sub(1);
        for class in self.robin.turns().iter() {
            let part = self.robin.hosts().part(class, self.accounts[class].quantum);
            self.accounts[class].deficit += rounds * part;
        }
    }
}

impl Qdisc for Drr {
    #[inline]
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, mut pkt: Packet, out: &mut S) {
        pkt.arrived = now;
        let class = self.classes.take(&pkt, |class| self.robin.of(class).packets > 0);
        if self.robin.of(class).packets == 0 {
            // Whatever it left when it became empty is forfeit.
            self.accounts[class].deficit = 0;
            if self.visited == Some(class as u32) {
                self.visited = None;
            }
        }
        self.robin.enqueue(now, class, pkt, out);
    }

    #[inline]
    fn dequeue<S: Sink + ?Sized>(&mut self, _: Time, _: &mut S) -> Option<Packet> {
        let mut in_vain = 0;
        loop {
            let class = self.robin.turns().first()?;
            if self.may_send(class) {
                return self.robin.send();
            }
            self.robin.pass();
            self.visited = None;
            in_vain += 1;
            if in_vain == self.robin.turns().len() {
                self.skip_rounds();
            }
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.robin.held().all()
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        see(Gauge { name: "busy_classes", unit: "", value: self.robin.turns().len() as f64 });
        let (longest, _) = self.robin.held().longest();
        see(Gauge { name: "longest", unit: "B", value: self.robin.of(longest).bytes as f64 });
    }
}

impl Entry for Drr {
    type Config = DrrConfig;
    const INFO: Info = Info {
        title: "deficit round robin: queues take turns, as many bytes each; the longest makes room",
        paper: "shreedhar1995",
        manual: include_str!("drr.md"),
    };
    const LINUX: Option<Linux> = Some(Linux {
        tc: "drr",
        preset: DEFAULT_PRESET,
        differs: "Linux makes no queues by itself: each needs `tc class add … drr quantum \
             BYTES`, and filters that sort packets into them. Ours hash flows, and the longest \
             makes room.",
        whole: false,
    });
    const PRESETS: &'static [Preset<DrrConfig>] = &[
        Preset {
            name: "paper",
            doc: "flows hashed to 1024 queues, a quantum of the longest packet",
            config: |_| DrrConfig::default(),
        },
        Preset {
            name: "ns2",
            doc: "ns-2's defaults: ten queues, 250 bytes; of equally long ones the first in turn \
                 makes room",
            config: |_| DrrConfig {
                classes: 10,
                quantum: Bytes::new(250),
                ties: Ties::Turn,
                ..DrrConfig::default()
            },
        },
        Preset {
            name: "auto",
            doc: "a quantum of the longest packet with an Ethernet header, queues by the link's \
                 rate in sets of eight",
            config: |link| DrrConfig {
                classes: auto_buckets(link),
                ways: WAYS,
                quantum: auto_frame(link),
                ..DrrConfig::default()
            },
        },
    ];

    fn build(config: &DrrConfig, link: Link, mut dice: Rng) -> Result<Self, ConfigError> {
        let quantum = |class| {
            let quantum = config.weights.quantum(class, config.quantum);
            Balance { quantum, deficit: 0 }
        };
        needs_flows(config.isolation, config.map == Map::Flow)?;
        let classes = Classifier::new(config.map, config.classes, config.ways, &mut dice);
        let hosts = HostShares::new(config.isolation.divide(), config.classes, &mut dice);
        Ok(Drr {
            classes: classes.with_isolation(config.isolation),
            robin: RoundRobin::new(config.classes as usize, config.longest, config.overflow, link)
                .with_ties(config.ties)
                .with_hosts(hosts),
            accounts: (0..config.classes as usize).map(quantum).collect(),
            visited: None,
        })
    }

    fn state_bytes(config: &DrrConfig, link: &Link) -> u64 {
        let classes = config.classes as u64;
        let accounts = classes * core::mem::size_of::<Balance>() as u64;
        core::mem::size_of::<Drr>() as u64
            + RoundRobin::bytes(classes, link)
            + accounts
            + HashWays::bytes(config.classes, config.ways)
            + HostShares::bytes(config.isolation.divide(), config.classes)
    }

    fn asks(config: &DrrConfig) -> Asks {
        config.isolation.asks()
    }

    fn bucket_lifetime(config: &DrrConfig) -> Option<Span> {
        (config.map == Map::Flow).then_some(FOREVER)
    }

    fn hash_table(config: &DrrConfig) -> Option<HashTable> {
        (config.map == Map::Flow)
            .then_some(HashTable { buckets: config.classes, ways: config.ways })
    }
}
