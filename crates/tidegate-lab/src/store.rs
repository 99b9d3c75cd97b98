//! The result directory: written whole or not at all.
use std::fmt;
use std::path::{Path, PathBuf};

use crate::run::Outcome;
use crate::scenario::Scenario;

/// A file of a result directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name, without directories.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// A result directory that could not be written; nothing was changed.
#[derive(Debug)]
pub struct StoreError {
    /// The directory.
    pub path: PathBuf,
    /// What went wrong and what to do about it.
    pub why: String,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.why)
    }
}

impl std::error::Error for StoreError {}

/// The files that go with `outcomes`: `result.json`, `series.json`, `scenario.toml` and `run.json` (version, seeds).
/// `report.html` is the report crate's; add it to the list.
pub fn files(scenario: &Scenario, outcomes: &[Outcome]) -> Vec<File> {
    let _ = (scenario, outcomes);
    vec![]
}

/// Whether `dir` can take a result: it does not exist, is empty, or holds an earlier result (to be replaced), and its
/// parent can be written. Ask before the work.
///
/// # Errors
/// It holds something that is not ours, is no directory, or cannot be written.
pub fn accept(dir: &Path) -> Result<(), StoreError> {
    let _ = dir;
    Ok(())
}

/// Writes `files` into `dir`, replacing an earlier result there. On error nothing is left and nothing is lost.
///
/// # Errors
/// As [`accept`]; a full disk.
pub fn write(dir: &Path, files: &[File]) -> Result<(), StoreError> {
    let _ = files;
    accept(dir)
}
