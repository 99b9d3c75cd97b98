//! Cake's presets, and the queue that is made of parameters.

use super::{Cake, CakeConfig, QUANTUM_LEAST, QUANTUM_PART, ShaperClock, Tin};
use crate::config::ConfigError;
use crate::entry::{Entry, FOREVER, HashTable, Info, Linux, Preset, auto_buckets};
use crate::packet::Asks;
use crate::parts::ack_filter::{AckFilter, WaitingAcks};
use crate::parts::cobalt_law::CobaltLaw;
use crate::parts::diffserv::Diffserv;
use crate::parts::longest::{By, Longest};
use crate::parts::sparse_first::SparseFirst;
use crate::parts::spread::HashWays;
use crate::qdisc::Link;
use crate::queues::cobalt::{auto_times, floor_of};
use crate::queues::codel::auto_frame;
use crate::rng::Rng;
use crate::units::{Rate, Span, Time};

impl CakeConfig {
    /// The rate that tins divide: its own, else the link's.
    fn rate(&self, link: &Link) -> Rate {
        if self.bandwidth.as_bps() > 0 { self.bandwidth } else { link.rate }
    }

    fn tin(&self, index: usize, link: &Link, dice: &mut Rng) -> Tin {
        let part = self.diffserv.share(index);
        let rate = Rate::from_bps(((self.rate(link).as_bps() as f64 * part) as u64).max(1));
        let at = Link { rate, ..*link };
        let (target, interval) = auto_times(&at, self.mtu, self.rtt);
        let quantum = (rate.as_bps() / 8 / QUANTUM_PART).clamp(QUANTUM_LEAST, self.quantum.get());
        Tin {
            places: HashWays::new(self.flows, self.ways, dice),
            queues: SparseFirst::new(self.flows, quantum, self.isolation.divide(), dice),
            law: CobaltLaw { floor: floor_of(&at, self.mtu), ..CobaltLaw::new(target, interval) },
            clock: ShaperClock::new(rate),
            packets: 0,
        }
    }
}

/// `auto`: the longest packet is the link's, the queues are as many as its rate asks for.
fn auto(link: &Link) -> CakeConfig {
    let longest = auto_frame(link);
    CakeConfig {
        flows: auto_buckets(link),
        mtu: longest,
        quantum: longest,
        ..CakeConfig::default()
    }
}

impl Entry for Cake {
    type Config = CakeConfig;
    const INFO: Info = Info {
        title: "tins of queues that take turns, hosts before flows, COBALT in every queue",
        paper: "hoiland2018",
        manual: include_str!("../cake.md"),
    };
    const LINUX: Option<Linux> = Some(Linux {
        tc: "cake bandwidth {bandwidth:bit} {diffserv} {isolation}{ack_filter} rtt {rtt:us} \
             memlimit {limit:memory}",
        preset: "linux",
        differs: "`memlimit` counts the kernel's own bytes. Here it has 2304 for each packet, as \
             much as a full one takes. Without it Linux takes four times the rate × RTT, and \
             4 MiB at least. Linux always marks what can be marked.",
        whole: true,
    });
    const PRESETS: &'static [Preset<CakeConfig>] = &[
        Preset {
            name: "paper",
            doc: "the defaults of tc-cake(8), on a link that the driver shapes",
            config: |_| CakeConfig::default(),
        },
        Preset {
            name: "linux",
            doc: "the same with its own shaper at the link's rate: `tc qdisc … cake bandwidth RATE`",
            config: |link| CakeConfig { bandwidth: link.rate, ..CakeConfig::default() },
        },
        Preset {
            name: "auto",
            doc: "the defaults, with queues by the link's rate and its longest packet",
            config: auto,
        },
    ];

    fn build(config: &CakeConfig, link: Link, mut dice: Rng) -> Result<Self, ConfigError> {
        let tins = config.diffserv.tins();
        let flows = config.flows as usize;
        Ok(Cake {
            held: Longest::new(tins * flows, By::Bytes),
            acks: WaitingAcks::new(config.ack_filter),
            tins: (0..tins).map(|index| config.tin(index, &link, &mut dice)).collect(),
            flows,
            isolation: config.isolation,
            diffserv: config.diffserv,
            ecn: config.ecn,
            shaper: (config.bandwidth.as_bps() > 0).then(|| ShaperClock::new(config.bandwidth)),
            now: Time::ZERO,
            link,
            dice,
        })
    }

    fn state_bytes(config: &CakeConfig, link: &Link) -> u64 {
        let tins = config.diffserv.tins() as u64;
        let tin = core::mem::size_of::<Tin>() as u64
            + SparseFirst::bytes(config.flows, config.isolation.divide())
            + HashWays::bytes(config.flows, config.ways);
        let lines = tins * u64::from(config.flows);
        core::mem::size_of::<Cake>() as u64
            + Longest::bytes(lines, link.most_packets() + 1)
            + WaitingAcks::bytes(config.ack_filter, link.most_packets() + 1)
            + tins * tin
    }

    fn bucket_lifetime(_: &CakeConfig) -> Option<Span> {
        Some(FOREVER)
    }

    fn hash_table(config: &CakeConfig) -> Option<HashTable> {
        Some(HashTable { buckets: config.flows, ways: config.ways })
    }

    fn asks(config: &CakeConfig) -> Asks {
        Asks {
            hosts: config.isolation.asks_for_hosts(),
            dscp: config.diffserv != Diffserv::BestEffort,
            acks: config.ack_filter != AckFilter::No,
        }
    }
}
