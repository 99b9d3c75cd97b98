//! The presets of the queue `purge`, and its entry in the catalog.
use super::*;
use crate::config::ConfigError;
use crate::entry::{Entry, Info, Preset, TARGET_RTT};
use crate::parts::mincount::Estimator;
use crate::policy::Fifo;
use crate::qdisc::Link;
use crate::rng::Rng;
use crate::units::{Bytes, Size, Span};

impl Entry for Purge {
    type Config = PurgeConfig;
    const INFO: Info = Info {
        title: "REM's price for all, a price of their own and drops for flows above the fair share \
             of the buffer",
        paper: "purge",
        manual: include_str!("../purge.md"),
    };
    const PRESETS: &'static [Preset<PurgeConfig>] = &[
        Preset {
            name: "paper",
            doc: "Table 1, with b* one fifth of the limit (250 kB of its 1250 kB)",
            config: |link| PurgeConfig { target: fifth(link), ..PurgeConfig::default() },
        },
        Preset {
            name: "literal",
            doc: "the printed sentences where we read them otherwise: the price counts all that is \
                 offered, flows are marked with their own price alone",
            config: |link| PurgeConfig {
                target: fifth(link),
                input: CountedPackets::Offered,
                stronger: Stronger::Literal,
                estimator: Estimator::Paper,
                ..PurgeConfig::default()
            },
        },
        Preset {
            name: "auto",
            doc: "scaled to the rate and the target RTT: 1024 flows remembered over 20 target RTTs \
                 (2 s), newcomers judged sooner; a price for offenders; purging above b* only, and \
                 at overflow first",
            config: |link| PurgeConfig {
                target: fifth(link),
                gamma: 0.001 / (link.packets_per_second() / 1250.0).clamp(1e-6, 1e6),
                price_interval: Span::from_nanos(TARGET_RTT.as_nanos() / 20),
                cache: 1024,
                update: Span::from_nanos(TARGET_RTT.as_nanos() / 10),
                past: 0.995,
                fresh: 0.1,
                weigh: SampleWeight::Bytes,
                spare: Spare::On,
                own: Own::Price,
                ceiling: 10.0,
                persist: 1,
                memory: Memory::Gate,
                push_out: PushOut::On,
                ..PurgeConfig::default()
            },
        },
    ];

    fn build(config: &PurgeConfig, link: Link, mut dice: Rng) -> Result<Self, ConfigError> {
        let rule = PurgeRule::new(config, &link, &mut dice);
        Ok(Fifo::new(rule, link, dice))
    }

    fn state_bytes(config: &PurgeConfig, _: &Link) -> u64 {
        let sketch = config.buckets as u64 * config.minima as u64 * 4;
        core::mem::size_of::<PurgeRule>() as u64 + HitCache::bytes(config.cache) + sketch
    }
}

/// b* as the paper has it: 15 to 20 % of the buffer, and never nothing.
fn fifth(link: &Link) -> Size {
    let bytes = link.limit.in_bytes(link.mean_packet) / 5;
    Size::Bytes(Bytes::new(bytes).get().max(1))
}
