//! From a file to a checked scenario: read, derived values put in, read again, and held against
//! itself.
mod derived;

use std::path::Path;

use crate::problem::Problems;
use crate::reader::{FileKind, Override, Reader, TomlDocument};
use crate::scenario::{Scenario, consistent};

/// What a scenario's file is.
const FILE: FileKind = FileKind { kind: "a scenario", least: "[network] and one [[group]]" };

impl Scenario {
    /// Reads the scenario in the file `path`, with `sets` applied.
    ///
    /// # Errors
    /// The file cannot be read, is no TOML, or says what cannot be.
    pub fn open(path: &Path, sets: &[Override]) -> Result<Scenario, Problems> {
        let bytes = FILE.bytes(path)?;
        Scenario::parse(&bytes, &path.display().to_string(), sets)
    }

    /// Reads the scenario in `bytes`, which messages call `file`, with `sets` applied.
    ///
    /// # Errors
    /// It is no UTF-8, no TOML, or says what cannot be.
    pub fn parse(bytes: &[u8], file: &str, sets: &[Override]) -> Result<Scenario, Problems> {
        let text = FILE.text(bytes, file)?;
        let doc = TomlDocument { file, text, sets };
        let several = |found| Problems::new(found).expect("a failure has at least one problem");
        let mut root = doc.read().map_err(several)?;
        let mut reader = Reader::deriving(&doc);
        let mut scenario = reader.scenario(&root, &name_of(file));
        if derived::settle(&mut reader, &mut root, &scenario) {
            reader = Reader::new(&doc);
            scenario = reader.scenario(&root, &name_of(file));
        }
        if reader.problems.is_empty() {
            consistent::consistent(&mut reader, &root, &mut scenario);
        }
        match Problems::new(reader.problems) {
            Some(problems) => Err(problems),
            None => Ok(scenario),
        }
    }
}

/// What is in the scenario's file `path`.
///
/// # Errors
/// It cannot be read.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, Problems> {
    FILE.bytes(path)
}

/// The short name of a scenario file: without directories and ending.
fn name_of(file: &str) -> String {
    Path::new(file)
        .file_stem()
        .map_or_else(|| file.into(), |stem| stem.to_string_lossy().into_owned())
}
