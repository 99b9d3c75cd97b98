//! What most tests begin with: a scenario from text, a job of it, and the documents that it makes.
use std::path::{Path, PathBuf};

use tidegate_lab::{Job, Override, Problems, Scenario, run};
use tidegate_report::Document;

/// A path in the repository.
pub fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// What `text` is read as, in a file `s.toml`, with `sets` as on the command line.
pub fn read(text: &str, sets: &[&str]) -> Result<Scenario, Problems> {
    Scenario::parse(text.as_bytes(), "s.toml", &overrides(sets))
}

/// Overrides as they are written on the command line.
#[track_caller]
pub fn overrides(texts: &[&str]) -> Vec<Override> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// The scenario that `text` describes.
#[track_caller]
pub fn scenario(text: &str) -> Scenario {
    read(text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The scenario in this file of the repository, with `sets` as on the command line.
#[track_caller]
pub fn shipped(path: &str, sets: &[&str]) -> Scenario {
    Scenario::open(&in_repository(path), &overrides(sets)).unwrap_or_else(|e| panic!("{e}"))
}

/// `scenario` behind each of `queues`, written as users write them, with nothing besides.
pub fn job(scenario: Scenario, queues: &[&str]) -> Job {
    let queues = queues.iter().map(|queue| queue.parse().unwrap()).collect();
    Job { scenario, queues, flows: false, series: false, threads: None }
}

/// What `job` says of each of its queues.
pub fn documents(job: &Job) -> Vec<Document> {
    run(job, &()).unwrap().into_iter().map(|outcome| outcome.document).collect()
}

/// What `queue` does in `scenario`.
pub fn document(scenario: Scenario, queue: &str) -> Document {
    documents(&job(scenario, &[queue])).remove(0)
}
