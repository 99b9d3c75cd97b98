//! A queue's parameters on every link of a scenario.
use tidegate::catalog::AnyConfig;
use tidegate::{ConfigError, Link, Rng};
use tidegate_engine::Held;

use crate::foreign::Foreign;
use crate::problem::Problems;
use crate::scenario::{ManagedLink, Scenario};
use crate::spec::QueueSpec;

/// A queue that is tried, with its parameters on every managed link.
pub(crate) struct Configs {
    pub spec: QueueSpec,
    /// On the watched link.
    pub watched: Chosen,
    /// On each link of the network's description that has a queue, in order.
    pub links: Vec<Chosen>,
}

/// A queue for a link.
#[derive(Clone, Debug)]
pub(crate) enum Chosen {
    /// One of the catalog.
    Catalog(AnyConfig),
    /// Another.
    Foreign(Foreign),
}

impl Chosen {
    /// That of `spec`, which can be built on `link`.
    fn new(spec: &QueueSpec, link: &Link) -> Result<Chosen, ConfigError> {
        match &spec.foreign {
            None => spec.possible(link).map(Chosen::Catalog),
            Some(foreign) => {
                foreign.build(*link, Rng::from_seed(0))?;
                Ok(Chosen::Foreign(foreign.clone()))
            }
        }
    }

    /// The queue, empty, whichever it is.
    pub fn build(&self, link: Link, dice: Rng) -> Result<Held, ConfigError> {
        match self {
            Chosen::Catalog(config) => config.build(link, dice).map(Held::Catalog),
            Chosen::Foreign(foreign) => foreign.build(link, dice).map(Held::Foreign),
        }
    }

    /// Its parameters, if it is of the catalog.
    pub fn config(&self) -> Option<&AnyConfig> {
        match self {
            Chosen::Catalog(config) => Some(config),
            Chosen::Foreign(_) => None,
        }
    }

    /// Every parameter with its value as text.
    pub fn values(&self) -> Vec<(String, String)> {
        match self {
            Chosen::Catalog(config) => values(config),
            Chosen::Foreign(foreign) => foreign.params().to_vec(),
        }
    }
}

impl Configs {
    pub fn new(scenario: &Scenario, spec: &QueueSpec) -> Result<Configs, Problems> {
        let on = |spec: &QueueSpec, link: &Link| {
            Chosen::new(spec, link).map_err(|error| spec.refused(error))
        };
        let watched = on(spec, &scenario.bottleneck())?;
        // The queue that is tried is the watched link's, and that of the links that name none.
        // Where the watched link's own queue is run, the others keep the scenario's.
        let shared = if scenario.watched_queue.is_some() { &scenario.queue } else { spec };
        let there = |managed: ManagedLink<'_>| {
            let queue = if managed.watched { spec } else { managed.queue.unwrap_or(shared) };
            on(queue, &managed.link)
        };
        let links = scenario.managed().into_iter().map(there).collect::<Result<_, _>>()?;
        Ok(Configs { spec: spec.clone(), watched, links })
    }
}

/// Every parameter with its value as text.
pub(crate) fn values(config: &AnyConfig) -> Vec<(String, String)> {
    config.values().into_iter().map(|(param, value)| (param.name.to_string(), value)).collect()
}
