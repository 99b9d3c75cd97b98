#![doc = include_str!("sred.md")]
use crate::choices;
use crate::config::ConfigError;
use crate::entry::{Entry, Info, Preset, TARGET_RTT};
use crate::packet::Packet;
use crate::parts::zombies::{Filling, Zombies};
use crate::policy::{Fifo, Policy, QueueView, Verdict};
use crate::qdisc::{Backlog, DropReason, Gauge, Link};
use crate::rng::Rng;
use crate::units::{Prob, Size, Time};

/// A FIFO that drops by its length and by the number of flows, which it counts by hits (ott1999).
pub type Sred = Fifo<SredRule>;

choices! {
    /// Who is dropped from.
    pub enum DropVictim {
        /// All alike (ott1999 §4).
        Simple = "simple",
        /// Packets that are hits more than others (ott1999 §5).
        Full = "full",
    }
}

crate::params! {
    /// SRED's parameters. Defaults are the preset `paper`.
    pub struct SredConfig {
        /// Length of the zombie list.
        zombies: u32 = 1000, "M", 1 ..= 1_048_576;
        /// Probability with which a zombie that was no hit is overwritten.
        overwrite: Prob = Prob::clip(0.25), "p", 0.0 ..= 1.0;
        /// Weight of a packet in the hit frequency.
        alpha: f64 = 0.001, "alpha", 1e-9 ..= 1.0;
        /// What a packet that comes while the list fills is to the hit frequency.
        filling: Filling = Filling::Miss, "", 0 ..= 0;
        /// Who is dropped from: all alike, or packets that are hits more than others.
        law: DropVictim = DropVictim::Full, "", 0 ..= 0;
        /// The largest drop probability of a packet that is no hit.
        probability: Prob = Prob::clip(0.15), "p_max", 0.0 ..= 1.0;
        /// So many flows bring the drop probability to its full height; with fewer it falls with
        /// their square.
        flows: f64 = 256.0, "256", 1.0 ..= 1e9;
        /// From this share of the limit on a quarter of `probability` is due.
        low: Prob = Prob::clip(1.0 / 6.0), "1/6", 0.0 ..= 1.0;
        /// From this share on all of it.
        high: Prob = Prob::clip(1.0 / 3.0), "1/3", 0.0 ..= 1.0;
    }
}

/// The rule of SRED.
#[derive(Clone, Debug)]
pub struct SredRule {
    zombies: Zombies,
    law: DropVictim,
    max_p: f64,
    many: f64,
    /// Where drops begin and where they are at their height, in the unit of the limit.
    low: f64,
    high: f64,
    /// The arriving packet met its own flow.
    hit: bool,
}

impl SredRule {
    /// The zombies and the hit frequency.
    pub fn zombies(&self) -> &Zombies {
        &self.zombies
    }

    /// p_sred: what the length of the queue alone asks for.
    #[inline]
    pub fn p_sred(&self, waiting: Backlog, link: &Link) -> f64 {
        let q = match link.limit {
            Size::Packets(_) => waiting.packets as f64,
            Size::Bytes(_) => waiting.bytes as f64,
        };
        if q < self.low {
            0.0
        } else if q < self.high {
            self.max_p / 4.0
        } else {
            self.max_p
        }
    }

    /// Whether a packet is dropped, given p_sred, the die and whether it is a hit, without a
    /// division. The rule is u < p_sred · min(1, 1 / (256 P)²), with 1 + 1 / P times that for a
    /// hit.
    #[inline]
    fn is_zapped(&self, p_sred: f64, die: f64) -> bool {
        let p = self.zombies.hit_frequency();
        let few = (self.many * p).max(1.0);
        let die = die * few * few;
        match self.law {
            DropVictim::Full if self.hit => die * p < p_sred * (p + 1.0),
            DropVictim::Simple | DropVictim::Full => die < p_sred,
        }
    }
}

impl Policy for SredRule {
    /// Every arrival is compared with a zombie, also one that finds no room.
    #[inline]
    fn offered(&mut self, _: Time, pkt: &Packet, _: &impl QueueView, dice: &mut Rng) {
        self.hit = self.zombies.compare(pkt.flow, dice);
    }

    #[inline]
    fn arrive(
        &mut self,
        _: Time,
        _: &mut Packet,
        queue: &impl QueueView,
        dice: &mut Rng,
    ) -> Verdict {
        let p_sred = self.p_sred(queue.backlog(), queue.link());
        if self.is_zapped(p_sred, dice.uniform()) {
            Verdict::Drop(DropReason::Early)
        } else {
            Verdict::Admit
        }
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        see(Gauge { name: "flows", unit: "", value: self.zombies.flows().unwrap_or(0.0) });
        see(Gauge { name: "hit_frequency", unit: "", value: self.zombies.hit_frequency() });
        see(Gauge { name: "zombies", unit: "", value: self.zombies.len() as f64 });
    }
}

/// Packets of the limit for each of the flows at which drops are at their height. ott1999's 256
/// flows have 3.4 each, of 576 bytes in .5 MB.
const PACKETS_PER_FLOW: f64 = 3.0;

fn flows_of(link: &Link) -> f64 {
    (link.limit_packets() / PACKETS_PER_FLOW).max(1.0)
}

impl Entry for Sred {
    type Config = SredConfig;
    const INFO: Info = Info {
        title: "counts flows by how often a packet meets its own in a list, and drops by that and \
             by the queue",
        paper: "ott1999",
        manual: include_str!("sred.md"),
    };
    const PRESETS: &'static [Preset<SredConfig>] = &[
        Preset {
            name: "paper",
            doc: "full SRED with the constants of ott1999",
            config: |_| SredConfig::default(),
        },
        Preset {
            name: "simple",
            doc: "simple SRED with the same",
            config: |_| SredConfig { law: DropVictim::Simple, ..SredConfig::default() },
        },
        Preset {
            name: "port",
            doc: "as ports to simulators have it: a short list, and 256 by the limit",
            config: |link| SredConfig {
                zombies: 200,
                overwrite: Prob::clip(0.8),
                flows: flows_of(link),
                ..SredConfig::default()
            },
        },
        Preset {
            name: "auto",
            doc: "a list for four target RTTs at the link's rate, 256 by the limit",
            config: |link| {
                let packets = link.packets_per_second() * TARGET_RTT.as_secs() * 4.0;
                let zombies = (packets * 0.25).clamp(1000.0, 65_536.0);
                SredConfig {
                    zombies: zombies as u32,
                    alpha: 1.0 / zombies,
                    flows: flows_of(link),
                    ..SredConfig::default()
                }
            },
        },
    ];

    fn build(config: &SredConfig, link: Link, dice: Rng) -> Result<Self, ConfigError> {
        if config.high.get() < config.low.get() {
            let why = alloc::format!("must not be below low = {}", config.low);
            return Err(ConfigError::new("high", config.high, why));
        }
        let (Size::Packets(limit) | Size::Bytes(limit)) = link.limit;
        let rule = SredRule {
            zombies: Zombies::new(
                config.zombies,
                config.overwrite.get(),
                config.alpha,
                config.filling,
            ),
            law: config.law,
            max_p: config.probability.get(),
            many: config.flows,
            low: config.low.get() * limit as f64,
            high: config.high.get() * limit as f64,
            hit: false,
        };
        Ok(Fifo::new(rule, link, dice))
    }

    fn state_bytes(config: &SredConfig, _: &Link) -> u64 {
        core::mem::size_of::<SredRule>() as u64 + Zombies::bytes(config.zombies)
    }
}
