//! The presets of the queue `red_pd`, and its entry in the catalog.
use super::*;
use crate::config::ConfigError;
use crate::entry::{Entry, Info, Preset};
use crate::parts::drop_history::DropHistory;
use crate::parts::pre_filter::Monitored;
use crate::policy::Fifo;
use crate::qdisc::Link;
use crate::queues::red::{self, Mode, SignalSpacing};
use crate::rng::Rng;
use crate::units::Span;

/// RED between a quarter and three quarters of the limit, which the paper does not print.
fn config(link: &Link) -> RedPdConfig {
    RedPdConfig {
        min: red::share(link, 0.25),
        max: red::share(link, 0.75),
        ..RedPdConfig::default()
    }
}

impl Entry for RedPd {
    type Config = RedPdConfig;
    const INFO: Info = Info {
        title: "RED that drops beforehand from flows which stand often among its own drops",
        paper: "mahajan2001",
        manual: include_str!("../red_pd.md"),
    };
    const PRESETS: &'static [Preset<RedPdConfig>] = &[
        Preset {
            name: "paper",
            doc: "R = 40 ms, three of five lists; RED in bytes between 25 % and 75 % of the limit",
            config,
        },
        Preset {
            name: "ns2",
            doc: "the authors' scripts for ns-2 over its RED in packets",
            config: |link| RedPdConfig {
                start: Span::from_millis(10_100),
                tightens: Tightens::AnyDrop,
                mode: Mode::Packets,
                wait: SignalSpacing::On,
                rules: RedRules::Ns2,
                ..config(link)
            },
        },
        Preset {
            name: "auto",
            doc: "RED's thresholds and weight from the link as floyd2001 has them, 4096 flows \
                 known, 500 in a list",
            config: |link| {
                let (min, max, weight) = red::automatic(link, red::DELAY_TARGET);
                RedPdConfig {
                    min,
                    max,
                    weight,
                    wait: SignalSpacing::On,
                    flows: 4096,
                    list_flows: 500,
                    ..RedPdConfig::default()
                }
            },
        },
    ];

    fn build(config: &RedPdConfig, link: Link, dice: Rng) -> Result<Self, ConfigError> {
        if config.appearances > config.lists {
            let why = alloc::format!("must not exceed lists = {}", config.lists);
            return Err(ConfigError::new("appearances", config.appearances, why));
        }
        if config.most_interval < config.least_interval {
            let why =
                alloc::format!("must not be below least_interval = {}", config.least_interval);
            return Err(ConfigError::new("most_interval", config.most_interval, why));
        }
        Ok(Fifo::new(RedPdRule::new(config, &link)?, link, dice))
    }

    fn state_bytes(config: &RedPdConfig, _: &Link) -> u64 {
        core::mem::size_of::<RedPdRule>() as u64 + DropHistory::<Monitored>::bytes(config.flows)
    }
}
