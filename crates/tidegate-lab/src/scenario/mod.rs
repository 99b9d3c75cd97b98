//! Scenarios: TOML in, checked values out, and back to TOML with every default spelled out.
mod arrivals;
mod chain;
mod classes;
mod connection;
mod consistent;
mod drawn;
mod model;
mod periods;
mod read;
mod sources;
mod write;

pub use arrivals::Arrivals;
pub use chain::{Chain, Managed};
pub use classes::Classes;
pub use connection::*;
pub(crate) use consistent::possible;
pub use drawn::{Drawn, Start, Unit};
pub use model::*;
pub use periods::Periods;
pub(crate) use sources::When;
pub use sources::{
    FileName, OnOff, Oscillating, Replay, SOURCES, Source, Tfrc, Unresponsive, Voip, Web,
};

use std::path::Path;
use std::str::FromStr;

use tidegate::ConfigError;

use crate::problem::Problems;
use crate::reader::{Document, File, Reader};

/// What a scenario's file is.
const FILE: File = File { kind: "a scenario", least: "[network] and one [[group]]" };

/// An override from the command line: `run.duration=5 s`, `group.flood.rate=45 Mbit/s`,
/// `queue.min=20 packets`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// The field's path; a group by its name, a link by its number from 1.
    pub path: String,
    /// The value: bare text, or TOML for a list or a table; empty to take the key away.
    pub value: String,
}

impl FromStr for Set {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Set, ConfigError> {
        let wrong = || {
            ConfigError::new("--set", text, "must be written path=value, as in run.duration=5 s")
        };
        let (path, value) = text.split_once('=').ok_or_else(wrong)?;
        let (path, value) = (path.trim(), value.trim());
        match path.is_empty() {
            true => Err(wrong()),
            false => Ok(Set { path: path.into(), value: value.into() }),
        }
    }
}

impl Scenario {
    /// Reads the scenario in the file `path`, with `sets` applied.
    ///
    /// # Errors
    /// The file cannot be read, is no TOML, or says what cannot be.
    pub fn open(path: &Path, sets: &[Set]) -> Result<Scenario, Problems> {
        let bytes = FILE.bytes(path)?;
        Scenario::parse(&bytes, &path.display().to_string(), sets)
    }

    /// Reads the scenario in `bytes`, which messages call `file`, with `sets` applied.
    ///
    /// # Errors
    /// It is no UTF-8, no TOML, or says what cannot be.
    pub fn parse(bytes: &[u8], file: &str, sets: &[Set]) -> Result<Scenario, Problems> {
        let text = FILE.text(bytes, file)?;
        let doc = Document { file, text, sets };
        let several = |found| Problems::new(found).expect("a failure has at least one problem");
        let root = doc.read().map_err(several)?;
        let mut reader = Reader { doc: &doc, problems: vec![] };
        let mut scenario = reader.scenario(&root, &name_of(file));
        if reader.problems.is_empty() {
            consistent::consistent(&mut reader, &root, &mut scenario);
        }
        match Problems::new(reader.problems) {
            Some(problems) => Err(problems),
            None => Ok(scenario),
        }
    }
}

/// The short name of a scenario file: without directories and ending.
fn name_of(file: &str) -> String {
    Path::new(file)
        .file_stem()
        .map_or_else(|| file.into(), |stem| stem.to_string_lossy().into_owned())
}
