//! Results of one job, a document for each queue.
use std::path::PathBuf;

use pyo3::exceptions::{PyIndexError, PyOSError};
use pyo3::prelude::*;
use tidegate_lab::replay::{self, ReplayJob};
use tidegate_lab::results::{How, Manifest, tables};
use tidegate_lab::{QueueOutcome, Scenario, results};
use tidegate_report::html::{self, ChartedResult, ReportInput};
use tidegate_report::table::{self, Look};
use tidegate_report::{Document, Tidy};

use crate::table::Table;

/// What a job was.
pub enum Origin {
    /// A simulation of this scenario.
    Scenario(Box<Scenario>),
    /// A replay.
    Capture(Box<ReplayJob>),
}

impl Origin {
    fn title(&self) -> String {
        match self {
            Origin::Scenario(scenario) => scenario.title.clone(),
            Origin::Capture(job) => format!("{} at {}", job.name(), job.rate),
        }
    }

    /// What was run, as TOML with every default spelled out.
    fn resolved(&self) -> String {
        match self {
            Origin::Scenario(scenario) => scenario.resolved(),
            Origin::Capture(job) => job.resolved(),
        }
    }

    fn manifest(&self, labels: &[&str]) -> Manifest {
        match self {
            Origin::Scenario(scenario) => Manifest::new(&scenario.name, &scenario.seeds(), labels),
            Origin::Capture(job) => Manifest::new(&job.name(), &[job.seed], labels),
        }
    }

    fn files(&self, outcomes: &[QueueOutcome]) -> Vec<results::ResultFile> {
        match self {
            Origin::Scenario(scenario) => results::files(scenario, outcomes),
            Origin::Capture(job) => replay::files(job, outcomes),
        }
    }
}

/// Results of one job, a document for each queue.
#[pyclass(frozen)]
pub struct Outcomes {
    outcomes: Vec<QueueOutcome>,
    origin: Origin,
    how: How,
}

impl Outcomes {
    /// `outcomes` of a job, and how they came about.
    pub fn new(outcomes: Vec<QueueOutcome>, origin: Origin, how: How) -> Outcomes {
        Outcomes { outcomes, origin, how }
    }

    /// The documents, or the one at `index`.
    fn documents(&self, index: Option<usize>) -> PyResult<Vec<&Document>> {
        Ok(self.chosen(index)?.iter().map(|outcome| &outcome.document).collect())
    }

    /// The outcome at `index`, or all of them without one.
    fn chosen(&self, index: Option<usize>) -> PyResult<&[QueueOutcome]> {
        match index {
            None => Ok(&self.outcomes),
            Some(index) => self
                .outcomes
                .get(index..=index)
                .ok_or_else(|| PyIndexError::new_err(format!("there is no result {index}"))),
        }
    }

    fn table(&self, index: Option<usize>, make: fn(&[QueueOutcome]) -> Tidy) -> PyResult<Table> {
        Table::new(&make(self.chosen(index)?))
    }
}

#[pymethods]
impl Outcomes {
    /// What each result is called, in order.
    fn labels(&self) -> Vec<&str> {
        self.outcomes.iter().map(|outcome| outcome.document.label.as_str()).collect()
    }

    /// The document of result `index` as JSON.
    fn json(&self, index: usize) -> PyResult<String> {
        Ok(self.chosen(Some(index))?.iter().map(|outcome| outcome.document.to_json()).collect())
    }

    /// The table of the command, `width` columns wide.
    #[pyo3(signature = (index=None, width=None))]
    fn text(&self, index: Option<usize>, width: Option<u16>) -> PyResult<String> {
        Ok(table::results(
            &self.documents(index)?,
            &Look { width, edge: width.is_some(), ..Look::plain() },
        ))
    }

    /// The same as a table of HTML.
    #[pyo3(signature = (index=None))]
    fn html(&self, index: Option<usize>) -> PyResult<String> {
        Ok(table::html(&self.documents(index)?))
    }

    /// A row for each queue.
    #[pyo3(signature = (index=None))]
    fn queues(&self, index: Option<usize>) -> PyResult<Table> {
        self.table(index, tables::queues)
    }

    /// A row for each queue and group.
    #[pyo3(signature = (index=None))]
    fn groups(&self, index: Option<usize>) -> PyResult<Table> {
        self.table(index, tables::groups)
    }

    /// A row for each queue, group and seed.
    #[pyo3(signature = (index=None))]
    fn seeds(&self, index: Option<usize>) -> PyResult<Table> {
        self.table(index, tables::seeds)
    }

    /// A row for each queue and flow.
    #[pyo3(signature = (index=None))]
    fn flows(&self, index: Option<usize>) -> PyResult<Table> {
        self.table(index, tables::flows)
    }

    /// A row for each queue, line and point of time.
    #[pyo3(signature = (index=None))]
    fn series(&self, index: Option<usize>) -> PyResult<Table> {
        self.table(index, |outcomes| tables::readings(outcomes, |_| true))
    }

    /// The report as one page of HTML.
    fn report(&self) -> String {
        let runs = self
            .outcomes
            .iter()
            .map(|o| ChartedResult::of(&o.document).with_series(&o.series))
            .collect();
        let (title, resolved) = (self.origin.title(), self.origin.resolved());
        let scenario = match self.origin {
            Origin::Scenario(_) => Some(resolved.as_str()),
            Origin::Capture(_) => None,
        };
        html::render(&ReportInput { title: &title, runs, scenario, command: None })
    }

    /// Writes a result directory, whole or not at all.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| {
            let mut files = self.origin.files(&self.outcomes);
            files.push(results::ResultFile {
                name: "report.html".into(),
                bytes: self.report().into(),
            });
            let manifest = self.origin.manifest(&self.labels()).made(self.how.clone());
            results::write(&path, &files, &manifest)
        })
        .map_err(|error| PyOSError::new_err(error.to_string()))
    }

    /// What was run, as TOML with every default spelled out.
    fn resolved(&self) -> String {
        self.origin.resolved()
    }

    fn __len__(&self) -> usize {
        self.outcomes.len()
    }
}
