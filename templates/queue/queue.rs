#![doc = include_str!("template.md")]
use crate::config::ConfigError;
use crate::entry::{Entry, Info, Preset};
use crate::packet::Packet;
use crate::policy::{Fifo, Policy, QueueView, Signal, Verdict};
use crate::qdisc::{Gauge, Link, MarkReason};
use crate::rng::Rng;
use crate::units::{Prob, Time};

/// A FIFO that marks or drops every arrival with the same probability.
pub type Template = Fifo<TemplateRule>;

crate::params! {
    /// The parameters of TEMPLATE.
    pub struct TemplateConfig {
        /// Probability that an arriving packet is marked, or dropped if it cannot be.
        probability: Prob = Prob::clip(0.01), "p", 0.0 ..= 1.0;
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: Signal = Signal::Mark, "", 0 ..= 0;
    }
}

/// The rule of TEMPLATE.
#[derive(Clone, Debug)]
pub struct TemplateRule {
    probability: f64,
    ecn: Signal,
}

impl Policy for TemplateRule {
    #[inline]
    fn arrive(&mut self, _: Time, _: &mut Packet, _: &impl QueueView, dice: &mut Rng) -> Verdict {
        if dice.chance(self.probability) {
            self.ecn.verdict(MarkReason::Early)
        } else {
            Verdict::Admit
        }
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        see(Gauge { name: "p", unit: "", value: self.probability });
    }
}

/// The paper's constants.
fn paper(_: &Link) -> TemplateConfig {
    TemplateConfig::default()
}

/// The paper's constants, scaled to the link by a rule that the manual page documents.
fn auto(_: &Link) -> TemplateConfig {
    TemplateConfig::default()
}

impl Entry for Template {
    type Config = TemplateConfig;
    const INFO: Info = Info {
        title: "marks or drops every arrival with the same probability",
        paper: "author2026",
        manual: include_str!("template.md"),
    };
    const PRESETS: &'static [Preset<TemplateConfig>] = &[
        Preset { name: "paper", doc: "the constants of author2026", config: paper },
        Preset { name: "auto", doc: "the same, whatever the link", config: auto },
    ];

    fn build(config: &TemplateConfig, link: Link, dice: Rng) -> Result<Self, ConfigError> {
        let rule = TemplateRule { probability: config.probability.get(), ecn: config.ecn };
        Ok(Fifo::new(rule, link, dice))
    }

    fn state_bytes(_: &TemplateConfig, _: &Link) -> u64 {
        core::mem::size_of::<Self>() as u64
    }
}
