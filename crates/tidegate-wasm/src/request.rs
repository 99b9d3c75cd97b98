//! What a page asks.
use serde::{Deserialize, Serialize};

/// What a page asks.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Which queues there are.
    Queues,
    /// To simulate.
    Run(Run),
}

/// What to simulate: the shipped scenario `play` with these changes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Changes, each as `--set` takes it.
    pub sets: Vec<String>,
    /// The queue, as `--queue` takes it.
    pub queue: String,
}

/// A queue of the catalog.
#[derive(Debug, Serialize)]
pub struct Queue {
    /// Its name.
    pub name: &'static str,
    /// What it is, in one line.
    pub title: &'static str,
    /// The names of its presets.
    pub presets: Vec<&'static str>,
}
