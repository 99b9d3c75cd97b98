//! Links that are looked at and planned before any of them starts.
use tidegate_gateway::machine::preflight::Force;

use super::account::PlanLines;
use super::joint::{self, Purpose};
use super::link::LinkConfig;
use super::notes::LinkCount;
use super::ready::ReadyLink;
use super::trial::PlaceHolder;
use crate::failure::Failure;

/// Links that may start.
pub struct PreparedLinks {
    /// Each with its plan.
    pub ready: Vec<ReadyLink>,
    /// The plans, as lines to print.
    pub plans: Vec<PlanLines>,
    /// Who holds some of the interfaces.
    pub beside: PlaceHolder,
}

/// Looks at the interfaces of all links, and plans what to do there.
pub fn prepared(
    links: Vec<LinkConfig>,
    force: Force,
    purpose: Purpose,
) -> Result<PreparedLinks, Failure> {
    let mut ready = Vec::new();
    let mut plans = Vec::new();
    let mut beside = PlaceHolder::Nobody;
    let how_many = LinkCount::of(links.len());
    for config in links {
        let names = [config.settings.inner.as_str(), config.settings.outer.as_str()];
        let cleared = joint::cleared(names, force, purpose)?;
        let plan = config.plan(cleared.ends[0].mtu.max(cleared.ends[1].mtu))?;
        let name =
            (how_many == LinkCount::Several).then(|| ("link".to_string(), config.name.clone()));
        let parts = [config.lines(&plan), joint::lines(&cleared, config.on_exit)];
        plans.push(name.into_iter().chain(parts.into_iter().flatten()).collect());
        if cleared.is_held() {
            beside = PlaceHolder::Gate;
        }
        ready.push(ReadyLink { config, plan, ends: cleared.ends });
    }
    Ok(PreparedLinks { ready, plans, beside })
}
