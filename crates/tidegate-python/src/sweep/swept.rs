//! The tables of a study.
use std::fs::File;
use std::path::Path;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tidegate_lab::results::pieces;
use tidegate_lab::study::{DrawnPlot, GroupShare, Study, Tables};

use crate::table::Table;

/// A line of what a study says, for people.
type Words = [String; 7];

/// A plot: its name, its files, what a reader cannot see in it, and why there is none.
type Plot = (String, Vec<String>, Vec<String>, Option<String>);

/// The tables of a study. Their files are held open: what is written in their place is not seen.
#[pyclass(frozen, module = "tidegate._native")]
pub struct Published {
    groups: File,
    summary: File,
    flows: Option<File>,
    answers: Vec<Words>,
    plots: Vec<Plot>,
    /// How many rows the table of groups has.
    #[pyo3(get)]
    rows: u64,
    /// Replications that are not done.
    #[pyo3(get)]
    missing: u64,
}

impl Published {
    /// What was written into `dir`.
    ///
    /// # Errors
    /// A file cannot be opened.
    pub fn new(
        dir: &Path,
        study: &Study,
        tables: Tables,
        drawn: Vec<DrawnPlot>,
    ) -> PyResult<Published> {
        let open = |name: &str| File::open(dir.join(name));
        let answers = tables.answers.iter().map(|answer| answer.words(study));
        Ok(Published {
            groups: open("groups.parquet")?,
            summary: open("summary.parquet")?,
            flows: study.flows.then(|| open("flows.parquet")).transpose()?,
            answers: [GroupShare::HEAD.map(String::from)].into_iter().chain(answers).collect(),
            plots: drawn.into_iter().map(|d| (d.name, d.files, d.notes, d.refused)).collect(),
            rows: tables.rows,
            missing: tables.missing,
        })
    }
}

#[pymethods]
impl Published {
    /// A row for each cell, queue, group and seed.
    fn groups(&self, py: Python<'_>) -> PyResult<Table> {
        table(py, &self.groups)
    }

    /// The means over seeds.
    fn summary(&self, py: Python<'_>) -> PyResult<Table> {
        table(py, &self.summary)
    }

    /// A row for each flow.
    fn flows(&self, py: Python<'_>) -> PyResult<Table> {
        let why = "flows were not kept; ask for them with `flows = true` in the study";
        table(py, self.flows.as_ref().ok_or_else(|| PyValueError::new_err(why))?)
    }

    /// What each group got behind each queue; first what stands above.
    fn answers(&self) -> Vec<Words> {
        self.answers.clone()
    }

    /// The plots of the study.
    fn plots(&self) -> Vec<Plot> {
        self.plots.clone()
    }
}

fn table(py: Python<'_>, file: &File) -> PyResult<Table> {
    py.detach(|| {
        let (columns, rows) = pieces(file.try_clone()?)?;
        Table::of(&columns, rows.map(|piece| piece.map_err(PyErr::from)))
    })
}
