//! The study as it was, and how its results came about, beside the results.
use std::path::Path;

use crate::results::{How, Manifest};

use super::prepared::Prepared;
use super::store::StoreError;
use super::written;

/// The name of a study's kind in its directory.
const KIND: &str = "study";

/// Writes `study.toml` and `run.json` into `dir`, each whole or not at all.
///
/// The seeds in `run.json` are the most that a case may have had; the tables tell how many it did.
///
/// # Errors
/// The disk fails.
pub fn mark(prepared: &Prepared, dir: &Path, how: How) -> Result<(), StoreError> {
    let study = &prepared.study;
    written::whole(dir, "study.toml", study.text.as_bytes())?;
    let seeds: Vec<u64> = (study.first_seed..).take(study.seeds.most() as usize).collect();
    let queues: Vec<&str> = study.queues.iter().map(String::as_str).collect();
    let mut manifest = Manifest::new(&study.name, &seeds, &queues).made(how);
    manifest.kind = Some(KIND.into());
    let file = manifest.file();
    written::whole(dir, &file.name, &file.bytes)
}
