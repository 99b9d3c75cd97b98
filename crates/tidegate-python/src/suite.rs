//! Suites: published tests of queues.
use std::path::PathBuf;
use std::time::SystemTime;

use pyo3::prelude::*;
use tidegate_lab::results::Begun;
use tidegate_lab::study::RunsError;
use tidegate_lab::suite as lab;
use tidegate_lab::suite::{Scores, Suite, SuiteLength, SuiteRequest, SuiteResults};
use tidegate_lab::{Problems, QueueSpec, RunError};
use tidegate_report::suite::render;

use crate::attend::attended_by;
use crate::discipline::Trouble;
use crate::failure;
use crate::run::{Queue, spec};
use crate::sweep::Heard;
use crate::table::Table;

/// What to run of a suite.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Options {
    /// The queues; None for every one of the catalog.
    queues: Option<Vec<Queue>>,
    tests: Vec<String>,
    quick: bool,
    seeds: Option<u32>,
    out: Option<PathBuf>,
    /// The program's arguments.
    command: Vec<String>,
}

/// How queues did in a suite.
#[pyclass(frozen, module = "tidegate._native")]
pub struct Judged {
    suite: Suite,
    results: SuiteResults,
    scores: Scores,
    command: String,
}

#[pymethods]
impl Judged {
    /// `tidegate.suite/1`, as JSON.
    fn json(&self) -> String {
        lab::json(&self.suite, &self.results, &self.scores)
    }

    /// A row for each cell and queue.
    fn scores(&self) -> PyResult<Table> {
        Table::new(&lab::scored(&self.suite, &self.results, &self.scores))
    }

    /// A row for each cell, queue, seed and group.
    fn groups(&self) -> PyResult<Table> {
        Table::new(&lab::groups(&self.suite, &self.results, &self.scores))
    }

    /// The page.
    fn html(&self) -> String {
        render(&lab::page(&self.suite, &self.results, &self.scores, &self.command))
    }
}

/// The suites that come with Tidegate, with their titles.
#[pyfunction]
pub fn suites(py: Python<'_>) -> PyResult<Vec<(String, String)>> {
    let shipped = lab::shipped().map_err(|problems| failure::scenario(py, &problems))?;
    Ok(shipped.into_iter().map(|suite| (suite.name, suite.title)).collect())
}

/// Runs the suite of this name or path. Now and then calls `progress` with fraction, replications
/// done, and how many there are.
#[pyfunction]
pub fn run_suite(
    py: Python<'_>,
    name: &str,
    options: Options,
    progress: Option<Py<PyAny>>,
) -> PyResult<Judged> {
    let begun = Begun::at(SystemTime::now());
    let wrong = |problems: Problems| failure::scenario(py, &problems);
    let suite = lab::open(name).map_err(wrong)?;
    let trouble = Trouble::default();
    let queues: Vec<QueueSpec> = match &options.queues {
        None => lab::every_queue(),
        Some(given) => {
            given.iter().map(|queue| spec(py, queue, &trouble)).collect::<PyResult<_>>()?
        }
    };
    QueueSpec::distinct(&queues).map_err(|(_, error)| failure::queue(py, &error))?;
    let tests = suite.tests(&options.tests).map_err(wrong)?;
    let length = if options.quick { SuiteLength::Quick } else { SuiteLength::Full };
    let asked = SuiteRequest { suite: &suite, tests, queues, length, seeds: options.seeds };
    let out = options.out.as_deref();
    if let Some(dir) = out {
        lab::prepare(dir, &suite).map_err(|error| failure::refused(py, &error))?;
    }
    let heard = Heard::of(trouble.stop.clone());
    let look = |py: Python<'_>| heard.tell(py, progress.as_ref());
    let run = attended_by(py, &heard.stop, look, || lab::run(&asked, out, &heard))?;
    if let Some(error) = trouble.take() {
        return Err(error);
    }
    let results = run.map_err(|error| match error {
        RunsError::Run(RunError::Cancelled) => failure::gave_up(),
        RunsError::Run(RunError::Invalid(problems)) => wrong(problems),
        RunsError::Store(error) => failure::store(py, &error),
    })?;
    heard.tell(py, progress.as_ref())?;
    let scores = Scores::of(&suite, &results);
    let command = tidegate_lab::command::shown(&options.command);
    if let Some(dir) = out {
        let how = begun.how(options.command, vec![]);
        py.detach(|| lab::publish(&suite, &results, &scores, (dir, false), how))
            .map_err(|error| failure::store(py, &error))?;
    }
    Ok(Judged { suite, results, scores, command })
}
