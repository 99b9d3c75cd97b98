#![doc = include_str!("drop_tail.md")]
use crate::config::ConfigError;
use crate::entry::{DEFAULT_PRESET, Entry, Info, Linux, Preset};
use crate::packet::Packet;
use crate::policy::{Fifo, Policy, QueueView, Verdict};
use crate::qdisc::Link;
use crate::rng::Rng;
use crate::units::Time;

/// First in, first out, up to the hard limit.
pub type DropTail = Fifo<Anyone>;

/// The rule of drop-tail: a packet that finds room may enter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Anyone;

crate::params! {
    /// Drop-tail has no parameters; its limit is the link's.
    pub struct DropTailConfig {}
}

impl Policy for Anyone {
    #[inline]
    fn arrive(&mut self, _: Time, _: &mut Packet, _: &impl QueueView, _: &mut Rng) -> Verdict {
        Verdict::Admit
    }
}

impl Entry for DropTail {
    type Config = DropTailConfig;
    const INFO: Info = Info {
        title: "first in, first out, up to a hard limit",
        paper: "",
        manual: include_str!("drop_tail.md"),
    };
    const LINUX: Option<Linux> = Some(Linux {
        tc: "{fifo} limit {limit}",
        preset: DEFAULT_PRESET,
        differs: "Nothing. A limit in packets is `pfifo`, one in bytes `bfifo`.",
        whole: true,
    });
    const PRESETS: &'static [Preset<DropTailConfig>] = &[
        Preset { name: "paper", doc: "nothing to set", config: |_| DropTailConfig {} },
        Preset { name: "auto", doc: "nothing to set", config: |_| DropTailConfig {} },
    ];

    fn build(_: &DropTailConfig, link: Link, dice: Rng) -> Result<Self, ConfigError> {
        Ok(Fifo::new(Anyone, link, dice))
    }

    fn state_bytes(_: &DropTailConfig, _: &Link) -> u64 {
        0
    }
}
