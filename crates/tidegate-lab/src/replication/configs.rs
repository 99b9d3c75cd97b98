//! A queue's parameters on every link of a scenario.
use tidegate::Link;
use tidegate::catalog::AnyConfig;

use crate::problem::Problems;
use crate::scenario::{Network, Scenario};
use crate::spec::QueueSpec;

/// A queue that is tried, with its parameters on every managed link.
pub(crate) struct Configs {
    pub spec: QueueSpec,
    /// On the watched link.
    pub watched: AnyConfig,
    /// On each link of the network's description that has a queue, in order.
    pub links: Vec<AnyConfig>,
}

impl Configs {
    pub fn new(scenario: &Scenario, spec: &QueueSpec) -> Result<Configs, Problems> {
        let on = |spec: &QueueSpec, link: &Link| {
            spec.possible(link).map_err(|error| spec.refused(error))
        };
        let watched = on(spec, &scenario.bottleneck())?;
        let links = match &scenario.network {
            Network::Dumbbell(_) => vec![watched.clone()],
            Network::Graph(graph) => {
                // The queue that is tried is the watched link's, and that of the links that name
                // none. Where the watched link's own queue is run, the others keep
                // the scenario's.
                let shared = if scenario.watched_queue.is_some() { &scenario.queue } else { spec };
                let managed = graph.links.iter().filter_map(|line| {
                    let link = Link {
                        rate: line.rate,
                        limit: line.limit?,
                        mean_packet: graph.mean_packet,
                    };
                    let there =
                        if line.watch { spec } else { line.queue.as_ref().unwrap_or(shared) };
                    Some(on(there, &link))
                });
                managed.collect::<Result<_, _>>()?
            }
        };
        Ok(Configs { spec: spec.clone(), watched, links })
    }
}

/// Every parameter with its value as text.
pub(crate) fn values(config: &AnyConfig) -> Vec<(String, String)> {
    config.values().into_iter().map(|(param, value)| (param.name.to_string(), value)).collect()
}
