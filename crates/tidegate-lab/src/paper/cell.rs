//! A cell: one queue in one setting with all its seeds. Its name is a hash of all that its result
//! hangs on.
use std::hash::Hasher;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use siphasher::sip128::{Hasher128, SipHasher13};
use tidegate_report::{Document, Series};

use super::unwritten::wrong;
use crate::results::{self, WriteError};
use crate::scenario::Scenario;
use crate::spec::QueueSpec;

/// The version, and with it a hash of the sources of queues and simulator: results of other code
/// are not taken for ours.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("TIDEGATE_SOURCES"));

/// The hash of the sources of queues and simulator that this was built from.
pub fn sources() -> &'static str {
    results::SOURCES
}

/// The folder of the cells in an output directory.
const FOLDER: &str = "cells";
/// The form of a cell's file.
const SCHEMA: &str = "tidegate.cell/1";

/// What one replication gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Replication {
    /// Figures of this seed alone.
    pub document: Document,
    /// What happened over time, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
}

/// What is kept of a cell besides its figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Keeps {
    /// Each flow.
    pub flows: bool,
    /// What happened over time with every seed.
    pub series: bool,
}

impl Keeps {
    pub fn and(self, other: Keeps) -> Keeps {
        Keeps { flows: self.flows || other.flows, series: self.series || other.series }
    }
}

/// One queue in one setting.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cell {
    pub scenario: Scenario,
    pub queue: QueueSpec,
    pub keeps: Keeps,
    /// The scenario with every default spelled out.
    resolved: String,
    name: String,
}

/// A cell as it is stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    schema: String,
    version: String,
    scenario: String,
    replications: Vec<Replication>,
}

impl Cell {
    pub fn new(scenario: &Scenario, queue: &QueueSpec, keeps: Keeps) -> Cell {
        // What it is called does not change what comes of it.
        let (title, description) = (String::new(), String::new());
        let scenario =
            Scenario { title, description, compare: vec![queue.clone()], ..scenario.clone() };
        let resolved = scenario.resolved();
        // The key is fixed: the hash is a name, and no adversary chooses scenarios.
        let mut hasher = SipHasher13::new_with_keys(0, 0);
        hasher.write(format!("{VERSION}\n{keeps:?}\n{resolved}").as_bytes());
        let name = format!("{:032x}", hasher.finish128().as_u128());
        Cell { scenario, queue: queue.clone(), keeps, resolved, name }
    }

    /// The hash of its resolved scenario and of the version.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn path(&self, dir: &Path) -> PathBuf {
        dir.join(FOLDER).join(format!("{}.json", self.name))
    }

    /// What is stored of it in `dir`; none if nothing is, or nothing that can be trusted.
    pub fn load(&self, dir: &Path) -> Option<Vec<Replication>> {
        let text = std::fs::read(self.path(dir)).ok()?;
        let stored: Stored = serde_json::from_slice(&text).ok()?;
        let ours = stored.schema == SCHEMA
            && stored.version == VERSION
            && stored.scenario == self.resolved;
        let whole = stored.replications.len() == self.scenario.run.seeds as usize;
        (ours && whole).then_some(stored.replications)
    }

    /// Stores its result in `dir`, whole or not at all.
    pub fn store(&self, dir: &Path, replications: &[Replication]) -> Result<(), WriteError> {
        let stored = Stored {
            schema: SCHEMA.into(),
            version: VERSION.into(),
            scenario: self.resolved.clone(),
            replications: replications.to_vec(),
        };
        let text =
            serde_json::to_vec(&stored).expect("names are strings and numbers are numbers or null");
        let path = self.path(dir);
        let folder = dir.join(FOLDER);
        let write = || {
            std::fs::create_dir_all(&folder)?;
            let mut file = tempfile::NamedTempFile::new_in(&folder)?;
            file.write_all(&text)?;
            file.persist(&path).map_err(|error| error.error)
        };
        write().map(drop).map_err(|error| wrong(&path, &error))
    }
}
