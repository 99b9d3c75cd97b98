//! The output directory of a suite: a store that stays, and tables and a page that each run makes
//! anew.
use std::fs;
use std::path::Path;

use tidegate_report::suite::render;

use super::book::Suite;
use super::run::SuiteResults;
use super::score::Scores;
use super::{json, page, tables};
use crate::results::{self, How, Manifest, WriteError};
use crate::study::{StoreError, whole};

/// What kind of directory it is, for those who would write into it: one suite's alone, whose
/// results another's must not replace.
fn kind(suite: &Suite) -> String {
    format!("suite {}", suite.name)
}

/// Makes `dir` ready to take results: a new or empty one, or one of ours.
///
/// # Errors
/// It holds something that is not ours, or cannot be written.
pub fn prepare(dir: &Path, suite: &Suite) -> Result<(), WriteError> {
    results::accept_kind(dir, Some(&kind(suite)))?;
    fs::create_dir_all(dir).map_err(|error| results::wrong(dir, &error))?;
    // So that what is stored is known as ours if the run is stopped.
    let file = manifest(suite, &[], &[]).file();
    let path = dir.join(&file.name);
    if path.exists() {
        return Ok(());
    }
    fs::write(&path, &file.bytes).map_err(|error| results::wrong(&path, &error))
}

fn manifest(suite: &Suite, seeds: &[u64], queues: &[&str]) -> Manifest {
    let mut manifest = Manifest::new(&suite.title(), seeds, queues);
    manifest.kind = Some(kind(suite));
    manifest
}

/// Writes the page, the scores and the tables into `dir`, each whole or not at all.
///
/// # Errors
/// The disk fails.
pub fn publish(
    suite: &Suite,
    results: &SuiteResults,
    scores: &Scores,
    (dir, csv): (&Path, bool),
    how: How,
) -> Result<(), StoreError> {
    tables(suite, results, scores, dir, csv)?;
    whole(dir, "scores.json", json(suite, results, scores).as_bytes())?;
    let command = crate::command::shown(&how.command);
    let shown = page(suite, results, scores, &command);
    whole(dir, "index.html", render(&shown).as_bytes())?;
    let labels: Vec<String> = results.queues.iter().map(|queue| queue.label()).collect();
    let queues: Vec<&str> = labels.iter().map(String::as_str).collect();
    let file = manifest(suite, &results.seeds, &queues).made(how).file();
    whole(dir, &file.name, &file.bytes)
}
