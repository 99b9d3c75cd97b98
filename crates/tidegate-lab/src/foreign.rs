//! Queues that are not in the catalog, brought by who uses the lab.
//!
//! ```
//! use tidegate::catalog;
//! use tidegate_lab::foreign::Foreign;
//! use tidegate_lab::{Job, QueueSpec, run, shipped};
//!
//! // Any `Qdisc` will do; here one of the catalog's plays the stranger.
//! let build = |link, dice| catalog::config("red", None, &link)?.build(link, dice);
//! let mine = Foreign::new("mine", build)?;
//! let sets = ["run.duration=11 s".parse()?, "run.seeds=1".parse()?];
//! let scenario = shipped::open("flood", &sets)?.scenario;
//! let queues = vec![QueueSpec::foreign(mine), "red".parse()?];
//! let job = Job { scenario, queues, flows: false, series: false, threads: None };
//! let outcomes = run(&job, &())?;
//! assert_eq!(outcomes[0].document.label, "mine");
//! assert_eq!(outcomes[0].document.aggregate, outcomes[1].document.aggregate);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
use std::fmt;
use std::sync::Arc;

use tidegate::boxed::BoxedQueue;
use tidegate::catalog;
use tidegate::{ConfigError, Link, Qdisc, Rng};

use crate::label::check_label;

type Build = dyn Fn(Link, Rng) -> Result<BoxedQueue, ConfigError> + Send + Sync;

/// A queue that is not in the catalog: its name, its parameters, and how it is built.
///
/// Simulations with one are slower than others by a virtual call for each packet, drop and mark.
/// Two are equal if one is the other's clone.
#[derive(Clone)]
pub struct Foreign {
    name: Arc<str>,
    params: Vec<(String, String)>,
    build: Arc<Build>,
}

impl Foreign {
    /// A queue called `name` that `build` makes, empty, for a link and with dice of its own. Each
    /// replication and each managed link has one.
    ///
    /// # Errors
    /// `name` is a queue's of the catalog, or no name that a table can show.
    pub fn new<Q: Qdisc + Send + 'static>(
        name: &str,
        build: impl Fn(Link, Rng) -> Result<Q, ConfigError> + Send + Sync + 'static,
    ) -> Result<Foreign, ConfigError> {
        let refused = |why: String| ConfigError::new("queue", name, why);
        check_label(name).map_err(refused)?;
        if catalog::find(name).is_some() {
            return Err(refused("is a queue of the catalog; give yours another name".into()));
        }
        let build = move |link, dice| build(link, dice).map(BoxedQueue::new);
        Ok(Foreign { name: name.into(), params: vec![], build: Arc::new(build) })
    }

    /// The same with `params`, which documents show: names and values.
    pub fn with_params(self, params: Vec<(String, String)>) -> Foreign {
        Foreign { params, ..self }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its parameters, names and values.
    pub fn params(&self) -> &[(String, String)] {
        &self.params
    }

    /// Builds it, empty, for `link`.
    ///
    /// # Errors
    /// It cannot be on that link.
    pub fn build(&self, link: Link, dice: Rng) -> Result<BoxedQueue, ConfigError> {
        (self.build)(link, dice)
    }
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Foreign").field("name", &self.name).finish_non_exhaustive()
    }
}

impl PartialEq for Foreign {
    fn eq(&self, other: &Foreign) -> bool {
        Arc::ptr_eq(&self.build, &other.build)
    }
}

impl Eq for Foreign {}
