//! The presets of the queue `red`, and its entry in the catalog.
use super::*;
use crate::config::ConfigError;
use crate::entry::{DEFAULT_PRESET, Entry, Info, Linux, Preset};
use crate::policy::Fifo;
use crate::qdisc::Link;
use crate::rng::Rng;
use crate::units::{Prob, Size, Span};

/// floyd2001's rules of §V set min_th and w_q from the link. The former is half of what the link
/// sends within a delay target of 5 ms, but at least 5 packets. The average has a time constant of
/// a second, ten times the target RTT. And so that `gentle` reaches certainty within the limit:
/// min_th is at most a sixth of it.
pub fn automatic(link: &Link, delay_target: Span) -> (Size, Size, f64) {
    let rate = link.packets_per_second();
    let wanted = (delay_target.as_secs() * rate / 2.0).max(5.0);
    let min = Size::Packets((wanted.min(link.limit_packets() / 6.0) as u64).max(1));
    let weight = (1.0 - libm::exp(-1.0 / rate)).max(1e-9);
    (min, min.scale(3.0), weight)
}

/// The delay target of preset `auto` (floyd2001 §V).
pub const DELAY_TARGET: Span = Span::from_millis(5);

/// RED as ns-2 has it by default since 2001, and as our comparisons with it set it.
fn ns2(link: &Link) -> RedConfig {
    RedConfig {
        min: share(link, 0.2),
        max: share(link, 0.8),
        probability: Prob::clip(0.1),
        gentle: Gentle::On,
        wait: SignalSpacing::On,
        idle_decay: IdleDecay::MPlusOne,
        on_crossing: Leniency::Pass,
        short_queue: Leniency::Pass,
        ..RedConfig::default()
    }
}

/// A share of the limit; in bytes where whole packets would be too coarse.
pub(crate) fn share(link: &Link, share: f64) -> Size {
    let exact = link.limit.in_bytes(link.mean_packet);
    match link.limit {
        Size::Packets(n) if n >= 10 => Size::Packets(n).scale(share),
        _ => Size::Bytes(exact).scale(share),
    }
}

fn auto(link: &Link) -> RedConfig {
    let (min, max, weight) = automatic(link, DELAY_TARGET);
    RedConfig { min, max, weight, ..ns2(link) }
}

impl Entry for Red {
    type Config = RedConfig;
    const INFO: Info = Info {
        title: "signals congestion early, by the average length of the queue",
        paper: "floyd1993",
        manual: include_str!("../red.md"),
    };
    const LINUX: Option<Linux> = Some(Linux {
        tc: "red limit {limit:bytes} min {min:bytes} max {max:bytes} avpkt {packet} burst \
             {burst:bytes} probability {probability} bandwidth {rate}{ecn}",
        preset: DEFAULT_PRESET,
        differs: "Linux works out the weight from `burst`, here the least that tc accepts, and has \
             no `gentle`.",
        whole: true,
    });
    const PRESETS: &'static [Preset<RedConfig>] = &[
        Preset {
            name: "paper",
            doc: "the constants and the rules of floyd1993",
            config: |_| RedConfig::default(),
        },
        Preset {
            name: "ns2",
            doc: "the rules of ns-2, thresholds at 20 % and 80 % of the limit",
            config: ns2,
        },
        Preset {
            name: "auto",
            doc: "the rules of ns-2, thresholds and weight from rate and limit",
            config: auto,
        },
    ];

    fn build(config: &RedConfig, link: Link, dice: Rng) -> Result<Self, ConfigError> {
        Ok(Fifo::new(RedRule::new(config, &link)?, link, dice))
    }

    fn state_bytes(_: &RedConfig, _: &Link) -> u64 {
        core::mem::size_of::<RedRule>() as u64
    }
}
