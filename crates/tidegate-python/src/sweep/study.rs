//! A study that was read and checked.
use std::path::PathBuf;

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tidegate_lab::results::VERSION;
use tidegate_lab::study::{self, Base, Batch, Prepared, Shard};
use tidegate_lab::{Problems, RunError};

use crate::attend::{Stop, attended};
use crate::failure;

/// Replications of one case: its place, the first seed, and how many seeds.
pub type Replications = (usize, u64, u32);
/// A scenario of a study: its name, its file, and what is in it.
type Scenario = (String, String, Vec<u8>);
type ScenarioRef<'s> = (&'s str, &'s str, &'s [u8]);
/// Rows as Parquet files: of groups, and of flows where they are kept.
type Rows<'py> = (Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>);

/// A study whose every cell was read and checked.
///
/// A case is a queue in a cell. Replications are triples: case, first seed, number of seeds.
#[pyclass(frozen, module = "tidegate._native")]
pub struct Study {
    /// The study, every cell of it checked.
    pub prepared: Prepared,
}

impl Study {
    fn check(py: Python<'_>, read: Result<study::Study, Problems>) -> PyResult<Study> {
        let wrong = |problems: Problems| failure::scenario(py, &problems);
        let read = read.map_err(wrong)?;
        let stop = Stop::default();
        let prepared = attended(py, &stop, || read.prepare(&stop))?.map_err(wrong)?;
        Ok(Study { prepared: prepared.ok_or_else(failure::gave_up)? })
    }

    fn batches(&self, replications: Vec<Replications>) -> PyResult<Vec<Batch>> {
        let cases = self.prepared.cases();
        let batch = |(case, seed, seeds): Replications| {
            let none = || PyIndexError::new_err(format!("there is no case {case}, only {cases}"));
            (case < cases).then_some(Batch { case, seed, seeds }).ok_or_else(none)
        };
        replications.into_iter().map(batch).collect()
    }
}

#[pymethods]
impl Study {
    /// Reads TOML that messages call `file`. Its scenarios are files beside it or shipped ones,
    /// unless `scenarios` has them.
    #[new]
    #[pyo3(signature = (text, file, scenarios=None))]
    fn new(
        py: Python<'_>,
        text: &str,
        file: &str,
        scenarios: Option<Vec<Scenario>>,
    ) -> PyResult<Study> {
        let base = |(name, file, bytes)| Base { name, file, bytes };
        let read = match scenarios {
            None => study::Study::parse(text.as_bytes(), file),
            Some(all) => {
                let all = all.into_iter().map(base).collect();
                study::Study::parse_with(text.as_bytes(), file, all)
            }
        };
        Study::check(py, read)
    }

    /// Reads a file.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Study> {
        Study::check(py, study::Study::open(&path))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.prepared.study.name
    }

    /// How many cells it has.
    #[getter]
    fn cells(&self) -> u64 {
        self.prepared.study.cells()
    }

    /// The most replications that it may need.
    #[getter]
    fn replications(&self) -> u64 {
        self.prepared.study.replications()
    }

    /// The replications that are sure to be needed.
    #[getter]
    fn planned(&self) -> u64 {
        self.prepared.planned(Shard::WHOLE)
    }

    /// What makes the same study on another machine: the arguments of `Study`.
    fn parts(&self) -> (&str, &str, Vec<ScenarioRef<'_>>) {
        let study = &self.prepared.study;
        let bases = study.scenarios.iter();
        let bases = bases.map(|b| (b.name.as_str(), b.file.as_str(), b.bytes.as_slice()));
        (&study.text, &study.file, bases.collect())
    }

    /// Refuses plots that cannot be drawn on this machine.
    fn drawable(&self, py: Python<'_>) -> PyResult<()> {
        let checked = py.detach(|| self.prepared.drawable());
        checked.map_err(|problems| failure::scenario(py, &problems))
    }

    /// About how much work a replication of each case is, in no unit.
    fn weights(&self) -> Vec<f64> {
        (0..self.prepared.cases()).map(|case| self.prepared.weight(case)).collect()
    }

    /// The seconds that a sample of `replications` says they take on one thread; None of nothing.
    fn seconds(&self, py: Python<'_>, replications: Vec<Replications>) -> PyResult<Option<f64>> {
        let batches = self.batches(replications)?;
        let stop = Stop::default();
        let tried = attended(py, &stop, || self.prepared.estimate(&batches, Some(1), &stop))?;
        let time = tried.map_err(|problems| failure::scenario(py, &problems))?;
        Ok(time.map(|time| time.as_secs_f64()))
    }

    /// Runs `replications` one after the other on this thread; their rows, as two Parquet files:
    /// of groups, and of flows where the study keeps them.
    fn compute<'py>(
        &self,
        py: Python<'py>,
        replications: Vec<Replications>,
    ) -> PyResult<Rows<'py>> {
        let batches = self.batches(replications)?;
        let stop = Stop::default();
        let part = attended(py, &stop, || {
            study::compute(&self.prepared, &batches, &stop).map(|part| part.to_bytes())
        })?;
        let (rows, flows) = part.map_err(|error| match error {
            RunError::Cancelled => failure::gave_up(),
            RunError::Invalid(problems) => failure::scenario(py, &problems),
        })?;
        Ok((PyBytes::new(py, &rows), flows.map(|flows| PyBytes::new(py, &flows))))
    }

    /// What results hang on: the version of the package and a hash of its sources.
    #[classattr]
    const MAKER: &'static str = VERSION;
}
