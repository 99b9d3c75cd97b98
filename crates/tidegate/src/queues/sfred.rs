#![doc = include_str!("sfred.md")]
use super::sfb;
use crate::choices;
use crate::config::ConfigError;
use crate::entry::{Entry, Info, Preset};
use crate::packet::Packet;
use crate::parts::band::{Band, Crossed};
use crate::parts::bins::{Bins, FlowBins};
use crate::parts::token_bucket::TokenBucket;
use crate::policy::{Fifo, Policy, QueueView, Signal, Verdict};
use crate::qdisc::{DropReason, Gauge, Link, MarkReason};
use crate::queues::red::{Certain, Gentle, RedConfig, RedRule, SignalSpacing, share};
use crate::rng::Rng;
use crate::units::{Bytes, Prob, Rate, Size, Time};

choices! {
    /// When a bin's max_p is scaled.
    pub enum Scaling {
        /// Once when its average leaves the thresholds (feng1999).
        Crossing = "crossing",
        /// At every arrival that finds its average outside them.
        Arrival = "arrival",
    }
}

/// A FIFO behind RED whose max_p is each flow's own, kept in SFB's bins (feng2001).
pub type Sfred = Fifo<SfredRule>;

crate::params! {
    /// SFRED's parameters. Defaults are the preset `paper`.
    pub struct SfredConfig: RedConfig {
        /// Levels of bins, each with its own hash function.
        levels: u32 = 2, "L", 1 ..= 8;
        /// Bins on each level.
        bins: u32 = 23, "N", 1 ..= 65_536;
        /// A bin's max_p falls when its average falls below so many packets.
        bin_min: f64 = 3.0, "min_th", 0.0 ..= 16_777_216.0;
        /// A bin's max_p rises when its average rises above so many packets.
        bin_max: f64 = 10.0, "max_th", 0.000001 ..= 16_777_216.0;
        /// Weight of the bin of the moment in its average.
        bin_weight: f64 = 0.002, "w_q", 1e-9 ..= 1.0;
        /// What a bin's max_p is divided by when its average falls below `bin_min`.
        alpha: f64 = 3.0, "alpha", 1.0 ..= 1000.0;
        /// What it is multiplied by when the average rises above `bin_max`.
        beta: f64 = 2.0, "beta", 1.0 ..= 1000.0;
        /// When it is scaled.
        scaling: Scaling = Scaling::Arrival, "", 0 ..= 0;
        /// It falls no lower than this.
        floor: Prob = Prob::clip(0.001), "", 0.0 ..= 1.0;
        /// What it is at the beginning.
        probability: Prob = Prob::clip(0.1);
        /// What all flows with a max_p of 1 share.
        penalty_rate: Rate = Rate::from_bps(160_000), "", 0 ..= 1_000_000_000_000_000_u64;
        /// How much of it they can save up; no longer packet of theirs passes.
        penalty_depth: Size = Size::Packets(2), "", 1 ..= 1_000_000_000;
        /// Below this average of the queue nothing happens to a packet with a max_p below 1.
        min: Size = Size::Bytes(40_000);
        /// At this average of the queue p_b has risen to the flow's max_p; above, every packet is
        /// dropped.
        max: Size = Size::Bytes(160_000);
        weight: f64 = 0.002;
        gentle: Gentle = Gentle::Off;
        wait: SignalSpacing = SignalSpacing::Off;
        ecn: Signal = Signal::Mark;
        mark_above_max: Certain = Certain::Drop;
    }
}

/// One account: what waits of the flows that share it, on average, and their max_p.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BinAverage {
    avg: f64,
    max_p: f64,
    qlen: u32,
    band: Band,
}

impl BinAverage {
    /// Waiting packets that are counted here.
    pub fn qlen(&self) -> u32 {
        self.qlen
    }

    /// Their average.
    pub fn avg(&self) -> f64 {
        self.avg
    }

    /// max_p: 1 when unresponsive.
    pub fn max_p(&self) -> f64 {
        self.max_p
    }
}

/// The rule of SFRED.
#[derive(Clone, Debug)]
pub struct SfredRule {
    config: SfredConfig,
    bins: Bins<BinAverage>,
    red: RedRule,
    bucket: TokenBucket,
    /// The bins of the packet being judged.
    here: FlowBins,
    arrivals: u64,
    penalised: u64,
}

impl SfredRule {
    fn new(config: &SfredConfig, link: &Link, dice: &mut Rng) -> Result<SfredRule, ConfigError> {
        if config.bin_max <= config.bin_min {
            let why = alloc::format!("must be above bin_min = {}", config.bin_min);
            return Err(ConfigError::new("bin_max", config.bin_max, why));
        }
        let mut bins: Bins<BinAverage> = Bins::new(config.levels as usize, config.bins);
        bins.rekey(&mut Rng::from_seed(dice.bits()));
        bins.iter_mut().for_each(|bin| bin.max_p = config.probability.get());
        Ok(SfredRule {
            bins,
            red: RedRule::new(&config.base(), link)?,
            bucket: TokenBucket::new(
                config.penalty_rate,
                Bytes::new(config.penalty_depth.in_bytes(link.mean_packet)),
            ),
            here: FlowBins::default(),
            arrivals: 0,
            penalised: 0,
            config: config.clone(),
        })
    }

    /// The numbers of the bins of `flow`, one on each level.
    pub fn places_of(&self, flow: u64) -> impl Iterator<Item = usize> + use<> {
        self.bins.numbers_of(flow)
    }

    /// The bins of one level.
    pub fn level(&self, level: usize) -> &[BinAverage] {
        self.bins.level(level)
    }

    /// The RED of the queue, with the max_p of the flow that was judged last.
    pub fn red(&self) -> &RedRule {
        &self.red
    }

    /// The least max_p of the bins of `flow`: 1 if it is judged unresponsive.
    pub fn max_p(&self, flow: u64) -> f64 {
        let places = self.bins.places(flow);
        (0..self.bins.levels()).map(|level| self.bins[places.on(level)].max_p).fold(1.0, f64::min)
    }

    /// The bins of the arriving packet hear of it, as self-configuring RED hears of every arrival.
    /// Returns the least max_p.
    #[inline]
    fn look(&mut self, flow: u64) -> f64 {
        let SfredConfig { bin_min, bin_max, bin_weight, alpha, beta, floor, scaling, .. } =
            self.config;
        let mut least = 1.0;
        self.here = self.bins.places(flow);
        for level in 0..self.bins.levels() {
            let bin = &mut self.bins[self.here.on(level)];
            bin.avg += bin_weight * (bin.qlen as f64 - bin.avg);
            let crossed = match scaling {
                Scaling::Crossing => bin.band.crossed(bin.avg, bin_min, bin_max),
                Scaling::Arrival => Crossed::lies(bin.avg, bin_min, bin_max),
            };
            match crossed {
                Crossed::Not => {}
                Crossed::Below => bin.max_p = (bin.max_p / alpha).max(floor.get()),
                Crossed::Above => bin.max_p = (bin.max_p * beta).min(1.0),
            }
            least = bin.max_p.min(least);
        }
        self.arrivals += 1;
        self.penalised += u64::from(least == 1.0);
        least
    }
}

impl Policy for SfredRule {
    #[inline]
    fn arrive(
        &mut self,
        now: Time,
        pkt: &mut Packet,
        queue: &impl QueueView,
        dice: &mut Rng,
    ) -> Verdict {
        let backlog = queue.backlog();
        self.red.estimate(now, backlog);
        let max_p = self.look(pkt.flow);
        if max_p == 1.0 {
            return if self.bucket.take(now, pkt.len) {
                Verdict::Admit
            } else {
                Verdict::Drop(DropReason::Penalty)
            };
        }
        if max_p != self.red.max_p() {
            self.red.set_max_p(max_p);
        }
        self.red.judge(pkt.len, backlog.packets, dice)
    }

    #[inline]
    fn admitted(&mut self, _: Time, _: &Packet, _: &impl QueueView) {
        self.red.entered();
        for level in 0..self.bins.levels() {
            self.bins[self.here.on(level)].qlen += 1;
        }
    }

    #[inline]
    fn refused(&mut self, now: Time, pkt: &Packet, why: DropReason, queue: &impl QueueView) {
        if why == DropReason::Overlimit {
            self.red.estimate(now, queue.backlog());
            self.look(pkt.flow);
            self.red.overflow(queue.backlog().packets);
        }
    }

    #[inline]
    fn depart(
        &mut self,
        _: Time,
        pkt: &Packet,
        _: &impl QueueView,
        _: &mut Rng,
    ) -> Option<MarkReason> {
        let places = self.bins.places(pkt.flow);
        for level in 0..self.bins.levels() {
            self.bins[places.on(level)].qlen -= 1;
        }
        None
    }

    #[inline]
    fn idle(&mut self, now: Time) {
        self.red.idle(now);
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        let mut gauge = |name, unit, value| see(Gauge { name, unit, value });
        let bins = self.bins.levels() as f64 * self.config.bins as f64;
        gauge("avg", "packets", self.red.avg());
        gauge("max_p_mean", "", self.bins.iter().map(BinAverage::max_p).sum::<f64>() / bins);
        gauge(
            "bins_at_one",
            "bins",
            self.bins.iter().filter(|bin| bin.max_p == 1.0).count() as f64,
        );
        gauge("penalised", "", self.penalised as f64 / self.arrivals.max(1) as f64);
        gauge("tokens", "B", self.bucket.tokens());
    }
}

/// RED's thresholds as the paper has them, 20 % and 80 % of the limit.
fn paper(link: &Link) -> SfredConfig {
    SfredConfig { min: share(link, 0.2), max: share(link, 0.8), ..SfredConfig::default() }
}

/// Bins and penalty scaled as SFB's `auto`, a bin's thresholds in the paper's proportion to its
/// size. A bin sees few arrivals, so its average follows the last four. With RED's weight a lone
/// TCP that is taken for unresponsive once would need hundreds of packets to be acquitted, and
/// sends a few a second.
fn auto(link: &Link) -> SfredConfig {
    let (bins, bin_size, penalty_rate) = sfb::scale(link);
    let (bin_min, bin_max) = (bin_size as f64 * 3.0 / 13.0, bin_size as f64 * 10.0 / 13.0);
    SfredConfig { bins, penalty_rate, bin_min, bin_max, bin_weight: 0.25, ..paper(link) }
}

impl Entry for Sfred {
    type Config = SfredConfig;
    const INFO: Info = Info {
        title: "Stochastic Fair RED: SFB's bins with self-configuring RED's max_p in each",
        paper: "feng2001",
        manual: include_str!("sfred.md"),
    };
    const PRESETS: &'static [Preset<SfredConfig>] = &[
        Preset {
            name: "paper",
            doc: "feng2001 §III-B, what it leaves out as SFB and feng1999 have it",
            config: paper,
        },
        Preset {
            name: "crossing",
            doc: "the same with feng1999's rule to the letter: max_p changes once per crossing",
            config: |link| SfredConfig { scaling: Scaling::Crossing, ..paper(link) },
        },
        Preset {
            name: "auto",
            doc: "bins and penalty scaled to the link as SFB's `auto`",
            config: auto,
        },
    ];

    fn build(config: &SfredConfig, link: Link, mut dice: Rng) -> Result<Self, ConfigError> {
        let rule = SfredRule::new(config, &link, &mut dice)?;
        Ok(Fifo::new(rule, link, dice))
    }

    fn state_bytes(config: &SfredConfig, _: &Link) -> u64 {
        let bins =
            config.levels as u64 * config.bins as u64 * core::mem::size_of::<BinAverage>() as u64;
        core::mem::size_of::<SfredRule>() as u64 + bins
    }
}
