//! A cell: one queue in one setting. Its replications are stored as documents.
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tidegate_report::tidy::{Column, Values};
use tidegate_report::{Document, Series, Tidy};

use crate::replication::{Configs, Job, News, RunError, document, replicate};
use crate::scenario::Scenario;
use crate::spec::QueueSpec;
use crate::study::{CaseKey, Keeps, Part};

/// What one replication gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Replication {
    /// Figures of this seed alone.
    pub document: Document,
    /// What happened over time, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
}

/// One queue in one setting.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PaperCase {
    pub scenario: Scenario,
    pub queue: QueueSpec,
    pub keeps: Keeps,
    pub key: CaseKey,
}

impl PaperCase {
    pub fn new(scenario: &Scenario, queue: &QueueSpec, keeps: Keeps) -> PaperCase {
        let scenario = Scenario { compare: vec![queue.clone()], ..scenario.clone() };
        let key = CaseKey::new(&scenario, queue, keeps);
        PaperCase { scenario, queue: queue.clone(), keeps, key }
    }

    /// Runs the replication with `seed`; its row.
    pub fn run(&self, seed: u64, weight: u64, news: &News<'_>) -> Result<Part, RunError> {
        let mut scenario = self.scenario.clone();
        (scenario.run.seed, scenario.run.seeds) = (seed, 1);
        let configs = Configs::new(&scenario, &self.queue).map_err(RunError::Invalid)?;
        let job = Job {
            scenario,
            queues: vec![self.queue.clone()],
            flows: self.keeps.flows,
            series: self.keeps.series,
            threads: None,
        };
        let (sample, series) =
            replicate(&job, &configs, seed, job.series, &news.of_weight(weight))?;
        let document = document(&job, &configs.spec, &configs.watched, &[sample]);
        Ok(row(self.key, seed, &Replication { document, series }))
    }
}

/// A part without rows: case, seed and what the replication gave, as JSON.
pub(super) fn empty() -> Part {
    let column = |name: &str, what: &str, values| Column::new(name, "", what, values);
    let columns = vec![
        column("case", "the name of queue and setting", Values::Text(vec![])),
        column("seed", "the replication's seed", Values::Whole(vec![])),
        column("replication", "what it gave, as JSON", Values::Text(vec![])),
    ];
    Part { rows: Tidy { columns }, flows: Tidy::default() }
}

fn row(key: CaseKey, seed: u64, replication: &Replication) -> Part {
    let json = serde_json::to_string(replication)
        .expect("names are strings and numbers are numbers or null");
    let values = [
        Values::Text(vec![Some(key.to_string().into())]),
        Values::Whole(vec![i64::try_from(seed).ok()]),
        Values::Text(vec![Some(Arc::from(json))]),
    ];
    let mut part = empty();
    for (column, values) in part.rows.columns.iter_mut().zip(values) {
        column.values = values;
    }
    part
}

/// What the replication in a row gave; none of anything else.
pub(super) fn read(part: &Part) -> Option<Replication> {
    let text = part.rows.column("replication")?.text(0)?;
    serde_json::from_str(&text).ok()
}
