//! A link before its gate runs, and after.
use tidegate::Span;
use tidegate_gateway::machine::facts::Interface;
use tidegate_gateway::machine::failopen::Passed;
use tidegate_gateway::run::plan::GatePlan;
use tidegate_gateway::watch::counters::Account;
use tidegate_gateway::watch::record::Recorded;

use super::link::LinkConfig;

/// A link whose interfaces may be joined.
#[derive(Clone, Debug)]
pub struct ReadyLink {
    /// What was asked for.
    pub config: LinkConfig,
    /// What is to be done.
    pub plan: GatePlan,
    /// Its interfaces.
    pub ends: [Interface; 2],
}

/// A gate that has ended.
#[derive(Debug)]
pub struct EndedGate {
    /// What was asked for, at the end.
    pub config: LinkConfig,
    /// What was done, at the end.
    pub plan: GatePlan,
    /// How long.
    pub span: Span,
    /// What became of the frames.
    pub account: Account,
    /// What the kernel's program did with those that came in by the one interface and by the
    /// other.
    pub passed: [Passed; 2],
    /// What was recorded.
    pub recorded: Option<Recorded>,
}
