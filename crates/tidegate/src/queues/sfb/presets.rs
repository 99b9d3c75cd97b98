//! The presets of the queue `sfb`, and its entry in the catalog.
use super::*;
use crate::config::ConfigError;
use crate::entry::{Entry, Info, Linux, Preset, TARGET_RTT};
use crate::parts::penalty_box::PenaltyBoxKind;
use crate::policy::Fifo;
use crate::qdisc::Link;
use crate::rng::Rng;
use crate::units::{Prob, Rate, Size, Span, Time};

/// The best that we know; the manual page names each departure from the paper with its reason.
fn scaled(link: &Link) -> SfbConfig {
    let in_flight = link.packets_per_second() * TARGET_RTT.as_secs();
    SfbConfig {
        levels: 3,
        bins: (10.0 * libm::sqrt(in_flight)).clamp(64.0, 1024.0) as u32,
        overbook: 0.6,
        d_up: Prob::clip(0.02),
        d_down: Prob::clip(0.04),
        fall: Fall::Departure,
        hold: Span::from_millis(5),
        penalty: Penalty::Before,
        refused: Refused::Raise,
        penalty_rate: scale(link).2,
        rehash: RehashRule::Double,
        rehash_interval: Span::from_millis(5_000),
        ..SfbConfig::default()
    }
}

/// Linux's sch_sfb with its defaults: probabilities are 65535ths there, and packets are counted.
fn linux(link: &Link) -> SfbConfig {
    SfbConfig {
        levels: 8,
        bins: 16,
        bin_size: 19,
        max: 24,
        d_up: Prob::clip(66.0 / 65_535.0),
        d_down: Prob::clip(11.0 / 65_535.0),
        penalty_rate: Rate::from_bps(10 * link.mean_packet.bits()),
        penalty_depth: Size::Packets(20),
        penalty_box: PenaltyBoxKind::Whole,
        rehash: RehashRule::Moving,
        rehash_interval: Span::from_millis(600_000),
        overflow: OverlimitArrival::Ignore,
        mark_up_to: Prob::clip(0.5),
        ..SfbConfig::default()
    }
}

/// XNU's classq_sfb: probabilities are 16384ths there. At 1 Gbit/s p_m is held for 100 ms and a
/// condemned packet passes each 300 ms. At a tenth of the rate it is ten times as long, by whole
/// powers of ten.
fn apple(link: &Link) -> SfbConfig {
    const LEAST: u64 = 1_000_000;
    const MOST: u64 = 100_000_000_000;
    const HOLD: u64 = 100_000_000_000_000_000; // ns at 1 bit/s
    let allocation = ((link.limit_packets() / 3.0) as u32).max(2);
    let mut decade = LEAST;
    while decade < MOST && decade * 10 <= link.rate.as_bps() {
        decade *= 10;
    }
    SfbConfig {
        levels: 2,
        bins: 32,
        bin_size: allocation - 1,
        max: allocation + allocation / 2 - 1,
        d_up: Prob::clip(82.0 / 16_384.0),
        d_down: Prob::clip(16.0 / 16_384.0),
        fall: Fall::Departure,
        hold: Span::from_nanos(HOLD / decade),
        drop_rule: DropRule::Any,
        early: Early::Full,
        condemn: Prob::clip(16_056.0 / 16_384.0),
        penalty_rate: Rate::from_bps(link.mean_packet.bits() * decade / (3 * HOLD / 1_000_000_000)),
        penalty_box: PenaltyBoxKind::Spaced,
        rehash: RehashRule::Double,
        rehash_interval: Span::from_millis(20_000),
        warm_cap: Prob::clip(0.2),
        ..SfbConfig::default()
    }
}

impl Entry for Sfb {
    type Config = SfbConfig;
    const INFO: Info = Info {
        title: "Stochastic Fair BLUE: a Bloom filter of accounts finds unresponsive flows and \
             limits their rate",
        paper: "feng2001",
        manual: include_str!("../sfb.md"),
    };
    const LINUX: Option<Linux> = Some(Linux {
        tc: "sfb limit {limit:packets}",
        preset: "linux",
        differs: "Linux hashes by its own function. Only `sfb/linux` has its bins; other presets \
             have others.",
        whole: true,
    });
    const PRESETS: &'static [Preset<SfbConfig>] = &[
        Preset {
            name: "paper",
            doc: "feng2001 §III-B, what it leaves out as calibrated",
            config: |_| calibrated(),
        },
        Preset { name: "calibrated", doc: "the same by its other name", config: |_| calibrated() },
        Preset {
            name: "literal",
            doc: "Fig. 1 to the letter: one delta of .005, a drop if any bin is full",
            config: |_| SfbConfig {
                d_up: Prob::clip(0.005),
                d_down: Prob::clip(0.005),
                drop_rule: DropRule::Any,
                ..calibrated()
            },
        },
        Preset {
            name: "moving",
            doc: "new hash functions every 2 s (feng2001 §III-D, Fig. 6a)",
            config: |_| SfbConfig { rehash: RehashRule::Moving, ..calibrated() },
        },
        Preset {
            name: "double",
            doc: "the same with a second set of bins that warms up (feng2001 §III-D, Fig. 6b)",
            config: |_| SfbConfig { rehash: RehashRule::Double, ..calibrated() },
        },
        Preset { name: "auto", doc: "the best that we know, scaled to the link", config: scaled },
        Preset { name: "linux", doc: "Linux's sch_sfb with its defaults", config: linux },
        Preset { name: "apple", doc: "XNU's classq_sfb with its penalty box on", config: apple },
    ];

    fn build(config: &SfbConfig, link: Link, mut dice: Rng) -> Result<Self, ConfigError> {
        let rule = SfbRule::new(config, &link, &mut dice);
        Ok(Fifo::new(rule, link, dice))
    }

    fn state_bytes(config: &SfbConfig, _: &Link) -> u64 {
        let sets = if config.rehash == RehashRule::Double { 2 } else { 1 };
        let held = if config.hold > Span::ZERO { core::mem::size_of::<Time>() } else { 0 };
        let bins =
            config.levels as u64 * config.bins as u64 * (core::mem::size_of::<Bin>() + held) as u64;
        core::mem::size_of::<SfbRule>() as u64 + sets * bins
    }
}

fn calibrated() -> SfbConfig {
    SfbConfig::default()
}
