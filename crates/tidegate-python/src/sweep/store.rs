//! The store of a study.
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tidegate_lab::results::Begun;
use tidegate_lab::study::{self, Part, Shard, SweepError, SweepRequest, WantedTables};

use super::heard::Heard;
use super::study::{Replications, Study};
use super::swept::Published;
use crate::attend::attended_by;
use crate::failure;

/// The store of a study in a directory. No other process can work on it until it is closed.
#[pyclass(frozen, module = "tidegate._native")]
pub struct Store {
    dir: PathBuf,
    open: Mutex<Option<study::Store>>,
    begun: Begun,
}

/// The rows of some replications: groups, and flows where they are kept.
type Bytes = (Vec<u8>, Option<Vec<u8>>);

impl Store {
    /// Does `work` on the store, without Python's lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut study::Store) -> Result<T, study::StoreError> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.as_mut().map(work)
        });
        done.ok_or_else(closed)?.map_err(|error| failure::store(py, &error))
    }
}

fn closed() -> PyErr {
    PyValueError::new_err("the store is closed")
}

#[pymethods]
impl Store {
    /// The store in `dir`, or below it that of part `shard`, as in `"3/10"`; made if there is none.
    #[new]
    #[pyo3(signature = (dir, shard=None))]
    fn new(py: Python<'_>, dir: PathBuf, shard: Option<&str>) -> PyResult<Store> {
        let begun = Begun::at(SystemTime::now());
        let folder = part(py, shard)?.folder();
        let dir = folder.map_or_else(|| dir.clone(), |folder| dir.join(folder));
        let open = py.detach(|| study::Store::open(&dir, study::empty()));
        let open = open.map_err(|error| failure::store(py, &error))?;
        Ok(Store { dir, open: Mutex::new(Some(open)), begun })
    }

    #[getter]
    fn dir(&self) -> PathBuf {
        self.dir.clone()
    }

    /// Lets other processes work on it.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.open.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// The replications that `study` needs and the store has not, as far as it is known: where
    /// seeds go on until an interval is narrow, more may follow.
    fn missing(&self, py: Python<'_>, study: &Study) -> PyResult<Vec<Replications>> {
        let missing = self.with(py, |store| study.prepared.missing(Some(store), Shard::WHOLE))?;
        Ok(missing.iter().map(|batch| (batch.case, batch.seed, batch.seeds)).collect())
    }

    /// Stores what `Study.compute` gave, all of it at once or nothing.
    fn add(&self, py: Python<'_>, parts: Vec<Bytes>) -> PyResult<()> {
        let like = study::empty();
        let mut all = like.clone();
        for (rows, flows) in parts {
            let part = Part::from_bytes(rows, flows, &like);
            all.append(part.map_err(|error| PyValueError::new_err(error.to_string()))?);
        }
        self.with(py, |store| store.add(&all))
    }

    /// Runs what is missing on `threads` threads and stores it while it comes. Now and then calls
    /// `progress` with fraction, replications done, and how many there are. Returns how many were
    /// run, and how many the store had.
    #[pyo3(signature = (study, threads=None, shard=None, progress=None))]
    fn sweep(
        &self,
        py: Python<'_>,
        study: &Study,
        threads: Option<usize>,
        shard: Option<&str>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(u64, u64)> {
        let asked = SweepRequest { threads, shard: part(py, shard)? };
        let heard = Heard::default();
        let look = |py: Python<'_>| heard.tell(py, progress.as_ref());
        let swept = attended_by(py, &heard.stop, look, || {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.as_mut().map(|store| study::sweep(&study.prepared, store, asked, &heard))
        })?;
        let swept = swept.ok_or_else(closed)?.map_err(|error| match error {
            SweepError::Invalid(problems) => failure::scenario(py, &problems),
            SweepError::Store(error) => failure::store(py, &error),
            SweepError::Cancelled(_) => failure::gave_up(),
        })?;
        heard.tell(py, progress.as_ref())?;
        Ok((swept.run, swept.had))
    }

    /// Writes the tables of what the store has of `study`, each whole or not at all, and draws its
    /// plots. `command` is what the process was called with.
    fn publish(
        &self,
        py: Python<'_>,
        study: &Study,
        csv: bool,
        command: Vec<String>,
    ) -> PyResult<Published> {
        let (of, dir) = (&study.prepared.study, &self.dir);
        let (tables, drawn) = self.with(py, |store| {
            let wanted = WantedTables { keep: &|name: &str| of.draws(name), csv };
            let tables = study::tables(&study.prepared, store, dir, wanted)?;
            let drawn = study::plots(of, &tables, dir)?;
            study::mark(&study.prepared, dir, self.begun.how(command, vec![]))?;
            Ok((tables, drawn))
        })?;
        Published::new(dir, of, tables, drawn)
    }
}

fn part(py: Python<'_>, shard: Option<&str>) -> PyResult<Shard> {
    let parsed = shard.map_or(Ok(Shard::WHOLE), str::parse);
    parsed.map_err(|error| failure::queue(py, &error))
}
