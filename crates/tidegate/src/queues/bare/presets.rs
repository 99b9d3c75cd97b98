//! The presets of the queue `bare`, and its entry in the catalog.
use super::*;
use crate::config::ConfigError;
use crate::entry::{Entry, Info, Preset, TARGET_RTT};
use crate::parts::flow_table::FlowTable;
use crate::policy::Fifo;
use crate::qdisc::Link;
use crate::rng::Rng;
use crate::units::{Prob, Size, Span};

/// What a flow may have waiting at least, in packets.
const LEAST: u64 = 2;
/// What all flows together may have waiting, as a share of the limit.
const MOST: f64 = 0.95;
/// The exponent of flows that behave: of a lone flow's packets one in a thousand is dropped at 93 %
/// of max_th.
const STEEP: f64 = 100.0;

/// Useful where a flood comes and harmless where none does; each departure from the paper stands in
/// the manual page.
fn auto(link: &Link) -> BareConfig {
    let bytes = link.limit.in_bytes(link.mean_packet) as f64;
    let limit = bytes / link.mean_packet.get() as f64;
    let longest_delay = bytes * 8.0 / link.rate.as_bps() as f64;
    let memory = Span::from_secs((3.0 * longest_delay).max(TARGET_RTT.as_secs()).min(3600.0));
    let most = MOST * limit;
    BareConfig {
        most: Size::Packets((most as u64).max(LEAST)),
        least: Size::Packets(LEAST),
        roomy: 1,
        crowded: (most / LEAST as f64).clamp(1.0, 16_777_216.0) as u32,
        active: Active::ByRate,
        target: Prob::clip(0.05),
        memory,
        timeout: Span::from_nanos(4 * memory.as_nanos()).max(Span::from_millis(1500)),
        beta: STEEP,
        beta_min: 0.01,
        beta_max: STEEP,
        ..BareConfig::default()
    }
}

impl Entry for Bare {
    type Config = BareConfig;
    const INFO: Info = Info {
        title: "drops from each flow by its share of the buffer and its rate, nearly periodically",
        paper: "cho2001",
        manual: include_str!("../bare.md"),
    };
    const PRESETS: &'static [Preset<BareConfig>] = &[
        Preset {
            name: "paper",
            doc: "cho2001 §III-A; of its Fig. 1, which is lost, our reading: sloping from 9 to 40 \
                 flows",
            config: |_| BareConfig::default(),
        },
        Preset {
            name: "flat120",
            doc: "another reading: a plateau of 120 kB from 15 to 30 flows",
            config: |_| BareConfig { roomy: 15, crowded: 30, ..BareConfig::default() },
        },
        Preset {
            name: "flat160",
            doc: "another reading: a plateau of 160 kB from 20 to 40 flows",
            config: |_| BareConfig { roomy: 20, crowded: 40, ..BareConfig::default() },
        },
        Preset {
            name: "auto",
            doc: "flows counted by rate, thresholds from the limit, K and the timeout from limit \
                 and rate",
            config: auto,
        },
    ];

    fn build(config: &BareConfig, link: Link, dice: Rng) -> Result<Self, ConfigError> {
        if config.crowded < config.roomy {
            let why = alloc::format!("must not be below roomy = {}", config.roomy);
            return Err(ConfigError::new("crowded", config.crowded, why));
        }
        if config.beta_max < config.beta_min {
            let why = alloc::format!("must not be below beta_min = {}", config.beta_min);
            return Err(ConfigError::new("beta_max", config.beta_max, why));
        }
        if config.share == ShareBy::Backlog && config.active == Active::ByRate {
            return Err(ConfigError::new("active", "by_rate", "needs share = rate"));
        }
        if !(config.beta_min..=config.beta_max).contains(&config.beta) {
            let why = alloc::format!(
                "must lie in beta_min = {} to beta_max = {}",
                config.beta_min,
                config.beta_max
            );
            return Err(ConfigError::new("beta", config.beta, why));
        }
        Ok(Fifo::new(BareRule::new(config, &link), link, dice))
    }

    fn state_bytes(config: &BareConfig, _: &Link) -> u64 {
        core::mem::size_of::<BareRule>() as u64
            + FlowTable::<FlowAverages>::state_bytes(config.flows)
    }
}
