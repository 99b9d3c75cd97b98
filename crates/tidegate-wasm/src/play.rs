//! From a request to what the page shows.
use serde::Serialize;
use tidegate::catalog::QUEUES;
use tidegate_lab::{Job, Override, QueueSpec, Scenario, command, overloads, run, shipped};
use tidegate_report::{Document, Series, answer};

use crate::request::{Queue, Run};

/// The shipped scenario that the page changes.
const SCENARIO: &str = "play";

/// A result, and how to come by it elsewhere.
#[derive(Serialize)]
pub struct Played {
    /// The document, byte for byte what the command prints with `--flows --json`.
    result: String,
    /// What happened over time.
    series: Series,
    /// Who got what, in a sentence.
    answer: String,
    /// What must be known of the figures.
    caveats: Vec<String>,
    /// The scenario with every value, as TOML.
    scenario: String,
    /// The command that gives the same.
    command: String,
}

impl Played {
    /// Simulates what `wanted` says.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub fn new(wanted: &Run) -> Result<Played, String> {
        let scenario = scenario(wanted)?;
        let caveats: Vec<String> = overloads(&scenario).iter().map(ToString::to_string).collect();
        let queues = vec![scenario.own_queue().clone()];
        let job = Job { scenario, queues, flows: true, series: true, threads: None };
        let outcome = run(&job, &())
            .map_err(|error| error.to_string())?
            .pop()
            .ok_or_else(|| "there is no result".to_string())?;
        let document = Document { overloads: overloads(&job.scenario), ..outcome.document };
        Ok(Played {
            result: document.to_json(),
            series: outcome.series,
            answer: answer::answer(&[&document]),
            caveats: caveats.into_iter().chain(answer::caveats(&[&document])).collect(),
            scenario: job.scenario.resolved(),
            command: command::line(arguments(wanted)),
        })
    }
}

/// The scenario with everything that `wanted` changes.
fn scenario(wanted: &Run) -> Result<Scenario, String> {
    let sets = wanted.sets.iter().map(|text| text.parse()).collect::<Result<Vec<Override>, _>>();
    let sets = sets.map_err(|error| error.to_string())?;
    let queue: QueueSpec = wanted.queue.parse().map_err(|error| format!("{error}"))?;
    let opened = shipped::open(SCENARIO, &sets).map_err(|problems| problems.to_string())?;
    opened.scenario.with_queue(queue).map_err(|problems| problems.to_string())
}

/// The arguments of the command that gives the same.
fn arguments(wanted: &Run) -> Vec<String> {
    let mut words: Vec<String> = ["run", SCENARIO, "--queue", &wanted.queue].map(Into::into).into();
    for set in &wanted.sets {
        words.extend(["--set".into(), set.clone()]);
    }
    words
}

/// The queues of the catalog.
pub fn queues() -> Vec<Queue> {
    let queue = |row: &tidegate::catalog::Row| Queue {
        name: row.name,
        title: row.info.title,
        presets: (row.presets)().into_iter().map(|(name, _)| name).collect(),
    };
    QUEUES.iter().map(queue).collect()
}
