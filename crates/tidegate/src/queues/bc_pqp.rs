#![doc = include_str!("bc_pqp.md")]
use super::codel::auto_frame;
use crate::choices;
use crate::config::{ByClass, ConfigError};
use crate::entry::{Entry, FOREVER, HashTable, Info, Preset, TARGET_RTT, WAYS, auto_buckets};
use crate::packet::Packet;
use crate::parts::every::Every;
use crate::parts::phantoms::{PhantomJudgement, Phantoms};
use crate::parts::spread::{Classifier, HashWays, Map};
use crate::policy::{Fifo, Policy, QueueView, Verdict};
use crate::qdisc::{DropReason, Gauge, Link};
use crate::rng::Rng;
use crate::units::{Bytes, Prob, Span, Time};

/// A FIFO behind a policer with a phantom queue for each flow (tahir2024).
pub type BcPqp = Fifo<BcPqpRule>;

choices! {
    /// When a phantom queue is filled up, so that its flow's burst ends: the parameter
    /// `burst_control`.
    pub enum BurstControl {
        /// Never: plain phantom queues.
        Off = "off",
        /// At the end of a window in which it grew too much.
        Growth = "growth",
        /// As soon as too much was admitted in a window.
        Share = "share",
    }
}

crate::params! {
    /// The parameters of BC-PQP. Defaults are the preset `paper`.
    pub struct BcPqpConfig {
        /// How many phantom queues there are.
        classes: u32 = 5, "N", 1 ..= 65_536;
        /// What decides the phantom queue of a packet: a hash of its flow, or the class that the
        /// driver gave it.
        map: Map = Map::Flow, "", 0 ..= 0;
        /// A flow goes to any of so many phantom queues that its hash deals it, where nothing
        /// waits if there is one; with `map` flow.
        ways: u32 = 1, "", 1 ..= 16;
        /// The rate at which phantom queues are served, as a share of the link's.
        share: Prob = Prob::clip(1.0), "r / C", 0.01 ..= 1.0;
        /// How many bytes a phantom queue holds.
        phantom_limit: Bytes = Bytes::new(1_000_000), "B", 1 ..= 1_000_000_000_000_u64;
        /// How many bytes a phantom queue of weight 1 is served in a turn.
        quantum: Bytes = Bytes::new(1504), "", 1 ..= 1_000_000_000;
        /// Each phantom queue's quantum in quanta.
        weights: ByClass<f64> = ByClass::all(1.0), "w_i", 0.01 ..= 10_000.0;
        /// How many unused bytes of service are saved.
        burst: Bytes = Bytes::new(3000), "", 0 ..= 1_000_000_000;
        /// When a phantom queue is filled up, so that its flow's burst ends.
        burst_control: BurstControl = BurstControl::Growth, "", 0 ..= 0;
        /// The time over which bursts are judged.
        window: Span = Span::from_millis(120), "T", 1_000 ..= 3_600_000_000_000_u64;
        /// How much more or less than a share is too much, as a part of it.
        theta: f64 = 0.5, "theta", 0.0 ..= 1.0;
    }
}

/// So many windows without an arrival, and everything is forgotten.
const QUIET: u64 = 64;

/// A bit per second for a nanosecond, in these a byte.
const BYTE: u128 = 8_000_000_000;

/// The rule of BC-PQP.
#[derive(Clone, Debug)]
pub struct BcPqpRule {
    classes: Classifier,
    phantoms: Phantoms,
    /// Bit/s.
    rate: u64,
    /// What is served in a window, in bytes.
    window: f64,
    /// What was earned and makes no byte yet.
    rest: u64,
    /// Unused service, in bytes, and the most of it.
    saved: u64,
    burst: u64,
    served_at: Time,
    control: BurstControl,
    theta: f64,
    every: Every,
    /// Windows since the last arrival.
    quiet: u64,
}

impl BcPqpRule {
    /// The phantom queue that `pkt` is counted in.
    #[inline]
    pub fn class_of(&self, pkt: &Packet) -> usize {
        self.classes.among(pkt, |class| self.phantoms.of(class).size > 0)
    }

    /// The phantom queues, as they were at the last call.
    pub fn phantoms(&self) -> &Phantoms {
        &self.phantoms
    }

    #[inline]
    fn catch_up(&mut self, now: Time) {
        while let Some(end) = self.every.step(now) {
            self.serve(end);
            self.window_ends();
            if self.quiet >= QUIET {
                self.every.skip(self.every.overdue(now));
            }
        }
        self.serve(now);
    }

    #[inline]
    fn serve(&mut self, until: Time) {
        let span = until.since(self.served_at).as_nanos();
        if span == 0 && self.saved == 0 {
            return;
        }
        self.served_at = until;
        let (bytes, rest) = match self.rate.checked_mul(span) {
            Some(earned) if earned <= u64::MAX - self.rest => {
                let earned = earned + self.rest;
                (earned / BYTE as u64, earned % BYTE as u64)
            }
            _ => {
                let earned = self.rate as u128 * span as u128 + self.rest as u128;
                (u64::try_from(earned / BYTE).unwrap_or(u64::MAX), (earned % BYTE) as u64)
            }
        };
        self.rest = rest;
        self.saved = self.phantoms.serve(self.saved.saturating_add(bytes)).min(self.burst);
    }

    #[cold]
    fn window_ends(&mut self) {
        let (control, theta, window) = (self.control, self.theta, self.window);
        self.phantoms.end_window(|phantom, quanta| {
            let grown = phantom.size as f64 - phantom.before as f64;
            let bound = theta * phantom.served as f64;
            match control {
                BurstControl::Growth if grown > bound => PhantomJudgement::FillUp,
                BurstControl::Growth if grown < -bound => PhantomJudgement::TakeOut,
                BurstControl::Share if !phantom.filled => {
                    let least = (1.0 - theta) * phantom.part_of(window, quanta);
                    let little = (phantom.added as f64) < least;
                    if little { PhantomJudgement::TakeOut } else { PhantomJudgement::Keep }
                }
                _ => PhantomJudgement::Keep,
            }
        });
        self.quiet += 1;
        if self.quiet == QUIET {
            self.phantoms.forget();
            self.saved = self.burst;
        }
    }
}

impl Policy for BcPqpRule {
    #[inline]
    fn arrive(&mut self, now: Time, pkt: &mut Packet, _: &impl QueueView, _: &mut Rng) -> Verdict {
        self.catch_up(now);
        self.quiet = 0;
        let phantoms = &self.phantoms;
        let one = self.classes.take(pkt, |class| phantoms.of(class).size > 0);
        let len = pkt.len as u64;
        if !self.phantoms.has_room(one, len) {
            return Verdict::Drop(DropReason::Unfair);
        }
        self.phantoms.add(one, len);
        if self.control == BurstControl::Share && len > 0 {
            let phantom = self.phantoms.of(one);
            let part = phantom.part_of(self.window, self.phantoms.quanta());
            if phantom.added as f64 > (1.0 + self.theta) * part {
                self.phantoms.fill_up(one);
            }
        }
        Verdict::Admit
    }

    fn advance(&mut self, now: Time) {
        self.catch_up(now);
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        let busy = self.phantoms.busy();
        let sum = |of: fn(&Phantoms, usize) -> u64| -> f64 {
            busy.iter().map(|one| of(&self.phantoms, one)).sum::<u64>() as f64
        };
        see(Gauge { name: "busy_phantoms", unit: "", value: busy.len() as f64 });
        see(Gauge { name: "phantom", unit: "B", value: sum(|all, one| all.of(one).size) });
        see(Gauge { name: "magic", unit: "B", value: sum(|all, one| all.of(one).magic) });
    }
}

/// At what share of the link `auto` serves phantom queues: what is over empties the FIFO.
const AUTO_SHARE: f64 = 0.98;

/// The numbers of the authors' second implementation, scaled to `link`; see the manual page.
fn auto(link: &Link) -> BcPqpConfig {
    let in_flight = link.packets_per_second() * TARGET_RTT.as_secs();
    let packets = (in_flight * in_flight / 18.0).max(in_flight).max(2.0);
    let most = link.rate.bytes_in(Span::from_secs(10.0)).get();
    let phantom = (packets * link.mean_packet.get() as f64) as u64;
    let least = 2 * auto_frame(link).get();
    BcPqpConfig {
        classes: auto_buckets(link),
        ways: WAYS,
        share: Prob::clip(AUTO_SHARE),
        phantom_limit: Bytes::new(phantom.min(most).max(least)),
        quantum: auto_frame(link),
        burst: Bytes::new(least),
        burst_control: BurstControl::Share,
        window: Span::from_millis(200),
        ..BcPqpConfig::default()
    }
}

impl Entry for BcPqp {
    type Config = BcPqpConfig;
    const INFO: Info = Info {
        title: "a policer: each flow's packets must fit a phantom queue that is served its share",
        paper: "tahir2024",
        manual: include_str!("bc_pqp.md"),
    };
    const PRESETS: &'static [Preset<BcPqpConfig>] = &[
        Preset {
            name: "paper",
            doc: "five phantom queues of 1 MB and windows of 120 ms, as in the authors' \
                  emulation of 7.5 Mbit/s",
            config: |_| BcPqpConfig::default(),
        },
        Preset {
            name: "auto",
            doc: "phantom queues by the link's rate in sets of eight, each as long as a lone Reno \
                 needs; bursts end as soon as they exceed a share by half",
            config: auto,
        },
    ];

    fn build(config: &BcPqpConfig, link: Link, mut dice: Rng) -> Result<Self, ConfigError> {
        let quantum = |class| config.weights.quantum(class, config.quantum);
        let quanta = (0..config.classes as usize).map(quantum);
        let rate = ((link.rate.as_bps() as f64 * config.share.get() + 0.5) as u64).max(1);
        let rule = BcPqpRule {
            classes: Classifier::new(config.map, config.classes, config.ways, &mut dice),
            phantoms: Phantoms::new(quanta, config.phantom_limit.get()),
            rate,
            window: rate as f64 / 8e9 * config.window.as_nanos() as f64,
            rest: 0,
            saved: config.burst.get(),
            burst: config.burst.get(),
            served_at: Time::ZERO,
            control: config.burst_control,
            theta: config.theta,
            every: Every::new(config.window),
            quiet: 0,
        };
        Ok(Fifo::new(rule, link, dice))
    }

    fn state_bytes(config: &BcPqpConfig, _: &Link) -> u64 {
        core::mem::size_of::<Self>() as u64
            + Phantoms::bytes(config.classes as u64)
            + HashWays::bytes(config.classes, config.ways)
    }

    fn bucket_lifetime(config: &BcPqpConfig) -> Option<Span> {
        (config.map == Map::Flow).then_some(FOREVER)
    }

    fn hash_table(config: &BcPqpConfig) -> Option<HashTable> {
        (config.map == Map::Flow)
            .then_some(HashTable { buckets: config.classes, ways: config.ways })
    }
}
