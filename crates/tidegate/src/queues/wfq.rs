#![doc = include_str!("wfq.md")]
use alloc::vec::Vec;

use crate::config::{ByClass, ConfigError};
use crate::entry::{Entry, FOREVER, HashTable, Info, Preset, WAYS, auto_buckets};
use crate::packet::{Asks, Packet};
use crate::parts::class_lines::ClassLines;
use crate::parts::fair_clock::Order;
use crate::parts::host_shares::HostShares;
use crate::parts::isolation::{Isolation, needs_flows};
use crate::parts::spread::{Classifier, HashWays, Map};
use crate::qdisc::{Backlog, DropReason, Gauge, Link, Qdisc, Sink};
use crate::rng::Rng;
use crate::units::{Size, Span, Time};

crate::params! {
    /// WFQ's parameters.
    pub struct WfqConfig {
        /// How many classes there are.
        classes: u32 = 1024, "n", 1 ..= 65_536;
        /// What decides the class of a packet: a hash of its flow, or the class that the driver
        /// gave it.
        map: Map = Map::Flow, "", 0 ..= 0;
        /// A flow goes to any of so many places that its hash deals it, where nobody waits if there
        /// is one; with `map` flow.
        ways: u32 = 1, "", 1 ..= 16;
        /// Which packets are one flow, and which hosts divide a share; with `map` flow.
        isolation: Isolation = Isolation::Flows, "", 0 ..= 0;
        /// Each class's part of the link, in proportion.
        weights: ByClass<f64> = ByClass::all(1.0), "w_i", 0.01 ..= 10_000.0;
        /// Each class's part of the buffer, in proportion.
        buffers: ByClass<f64> = ByClass::all(1.0), "B_i", 0.01 ..= 10_000.0;
        /// What a class may have waiting at least, however small its part.
        least: Size = Size::Packets(4), "", 1 ..= 1_000_000_000;
        /// How many times the room that is free a class may have waiting where that is more; 0: its
        /// own part only.
        alpha: f64 = 0.0, "alpha", 0.0 ..= 1000.0;
        /// In which order classes are served.
        order: Order = Order::Wf2qPlus, "", 0 ..= 0;
    }
}

/// Weighted fair queueing with a fixed part of the buffer for each class.
#[derive(Clone, Debug)]
pub struct Wfq {
    classes: Classifier,
    held: ClassLines,
    /// B_i, in the unit of the link's limit.
    buffers: Vec<Size>,
    alpha: f64,
    link: Link,
}

impl Wfq {
    /// The class of `pkt`.
    #[inline]
    pub fn class_of(&self, pkt: &Packet) -> usize {
        self.classes.among(pkt, |class| self.held.of(class).packets > 0)
    }

    /// What waits in `class`, of those from 0 to `classes` - 1.
    ///
    /// # Panics
    /// When there is no such class.
    pub fn class_backlog(&self, class: usize) -> Backlog {
        self.held.of(class)
    }

    /// What `class` may have waiting.
    ///
    /// # Panics
    /// When there is no such class.
    pub fn buffer(&self, class: usize) -> Size {
        self.buffers[class]
    }
}

impl Wfq {
    /// B_i, or with dynamic thresholds alpha times what is free, where that is more (choudhury1998
    /// eq. 1).
    #[inline]
    fn room(&self, class: usize) -> Size {
        let held = self.held.all();
        let more = |free: u64| (self.alpha * free as f64) as u64;
        match (self.buffers[class], self.link.limit) {
            (Size::Bytes(own), Size::Bytes(most)) => {
                Size::Bytes(own.max(more(most.saturating_sub(held.bytes))))
            }
            (Size::Packets(own), Size::Packets(most)) => {
                Size::Packets(own.max(more(most.saturating_sub(held.packets as u64))))
            }
            (own, _) => own,
        }
    }
}

impl Qdisc for Wfq {
    #[inline]
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, mut pkt: Packet, out: &mut S) {
        pkt.arrived = now;
        let class = self.classes.take(&pkt, |class| self.held.of(class).packets > 0);
        let own = Link { limit: self.room(class), ..self.link };
        if own.has_room(self.held.of(class), pkt.len)
            && self.link.has_room(self.held.all(), pkt.len)
        {
            self.held.push(class, pkt);
        } else {
            out.dropped(now, &pkt, DropReason::Overlimit);
        }
    }

    #[inline]
    fn dequeue<S: Sink + ?Sized>(&mut self, _: Time, _: &mut S) -> Option<Packet> {
        self.held.pop()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.held.all()
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        see(Gauge { name: "busy_classes", unit: "", value: self.held.busy() as f64 });
    }
}

/// The limit divided among the classes, each with at least `least`, in the unit of the limit.
fn divide(config: &WfqConfig, link: &Link) -> Vec<Size> {
    let share = |class: usize| config.buffers.of(class);
    let all: f64 = (0..config.classes as usize).map(share).sum();
    (0..config.classes as usize)
        .map(|class| match link.limit {
            // A part of a packet is no place for one; what is a whole number but for rounding is
            // that number.
            Size::Packets(n) => {
                let least = config.least.in_packets(link.mean_packet) as u64;
                Size::Packets(((n as f64 * share(class) / all + 1e-9) as u64).max(least).max(1))
            }
            Size::Bytes(b) => {
                let least = config.least.in_bytes(link.mean_packet);
                Size::Bytes(((b as f64 * share(class) / all + 1e-6) as u64).max(least))
            }
        })
        .collect()
}

impl Entry for Wfq {
    type Config = WfqConfig;
    const INFO: Info = Info {
        title: "weighted fair queueing (WF2Q+ or SCFQ) with a fixed buffer for each class",
        paper: "bennett1997",
        manual: include_str!("wfq.md"),
    };
    const PRESETS: &'static [Preset<WfqConfig>] = &[
        Preset {
            name: "auto",
            doc: "flows hashed to classes by the link's rate, in sets of eight; each may have four \
                 packets, or twice the room that is free",
            config: |link| WfqConfig {
                classes: auto_buckets(link),
                ways: WAYS,
                alpha: 2.0,
                ..WfqConfig::default()
            },
        },
        Preset {
            name: "paper",
            doc: "lu2012 §V: three classes as the driver gives them, equal weights and buffers",
            config: |_| WfqConfig {
                classes: 3,
                map: Map::Class,
                least: Size::Packets(1),
                ..WfqConfig::default()
            },
        },
    ];

    fn build(config: &WfqConfig, link: Link, mut dice: Rng) -> Result<Self, ConfigError> {
        needs_flows(config.isolation, config.map == Map::Flow)?;
        let classes = Classifier::new(config.map, config.classes, config.ways, &mut dice);
        let hosts = HostShares::new(config.isolation.divide(), config.classes, &mut dice);
        Ok(Wfq {
            classes: classes.with_isolation(config.isolation),
            held: ClassLines::new(config.classes, &config.weights, config.order, &link)
                .with_hosts(hosts),
            buffers: divide(config, &link),
            alpha: config.alpha,
            link,
        })
    }

    fn state_bytes(config: &WfqConfig, link: &Link) -> u64 {
        let classes = config.classes as u64;
        let buffers = classes * core::mem::size_of::<Size>() as u64;
        core::mem::size_of::<Wfq>() as u64
            + ClassLines::bytes(classes, link)
            + buffers
            + HashWays::bytes(config.classes, config.ways)
            + HostShares::bytes(config.isolation.divide(), config.classes)
    }

    fn asks(config: &WfqConfig) -> Asks {
        config.isolation.asks()
    }

    fn bucket_lifetime(config: &WfqConfig) -> Option<Span> {
        (config.map == Map::Flow).then_some(FOREVER)
    }

    fn hash_table(config: &WfqConfig) -> Option<HashTable> {
        (config.map == Map::Flow)
            .then_some(HashTable { buckets: config.classes, ways: config.ways })
    }
}
