//! Links that are looked at and planned before any of them starts.
use tidegate_gateway::machine::preflight::Force;

use super::account::Lines;
use super::joint::{self, Purpose};
use super::link::LinkConfig;
use super::notes::Links;
use super::ready::Ready;
use super::trial::Beside;
use crate::failure::Failure;

/// Links that may start.
pub struct Prepared {
    /// Each with its plan.
    pub ready: Vec<Ready>,
    /// The plans, as lines to print.
    pub plans: Vec<Lines>,
    /// Who holds some of the interfaces.
    pub beside: Beside,
}

/// Looks at the interfaces of all links, and plans what to do there.
pub fn prepared(
    links: Vec<LinkConfig>,
    force: Force,
    purpose: Purpose,
) -> Result<Prepared, Failure> {
    let mut ready = Vec::new();
    let mut plans = Vec::new();
    let mut beside = Beside::Nobody;
    let how_many = Links::of(links.len());
    for config in links {
        let names = [config.settings.inner.as_str(), config.settings.outer.as_str()];
        let cleared = joint::cleared(names, force, purpose)?;
        let plan = config.plan(cleared.ends[0].mtu.max(cleared.ends[1].mtu))?;
        let name = (how_many == Links::Several).then(|| ("link".to_string(), config.name.clone()));
        let parts = [config.lines(&plan), joint::lines(&cleared, config.on_exit)];
        plans.push(name.into_iter().chain(parts.into_iter().flatten()).collect());
        if cleared.is_held() {
            beside = Beside::Gate;
        }
        ready.push(Ready { config, plan, ends: cleared.ends });
    }
    Ok(Prepared { ready, plans, beside })
}
