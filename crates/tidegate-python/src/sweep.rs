//! Studies: a grid of scenarios and queues, and its store.
use std::path::{Path, PathBuf};

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use tidegate_lab::study::{
    self, Asked, Drawn, Prepared, Shard, Store, StoreError, Study, SweepError, Swept, Tables,
    Wanted,
};
use tidegate_lab::{Problems, Watch};

use crate::attend::{Stop, attended};
use crate::failure;
use crate::table::Table;

/// What a study's text is called in messages.
const TEXT: &str = "study.toml";

/// How to run a study.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Options {
    /// Where results go; without it, the study's name with the ending `.study`.
    directory: Option<PathBuf>,
    threads: Option<usize>,
    /// Whether the tables are written as CSV, too.
    csv: bool,
    /// The columns to keep in memory; all of them without it.
    columns: Option<Vec<String>>,
}

/// A study that was run, and its tables.
#[pyclass(frozen, get_all)]
pub struct Done {
    name: String,
    directory: PathBuf,
    /// How many cells there are.
    cells: u64,
    /// Replications that were run.
    run: u64,
    /// Replications that the store had already.
    had: u64,
    groups: Py<Table>,
    summary: Py<Table>,
    /// The pictures that were drawn.
    plots: Vec<PathBuf>,
    /// What a reader of the pictures cannot see in them.
    notes: Vec<String>,
    /// Why a picture was not drawn.
    refused: Vec<String>,
    /// None where flows are not kept.
    flows: Option<Py<Table>>,
}

/// Why a study has no tables.
enum Failure {
    Invalid(Problems),
    Store(StoreError),
    Cancelled,
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::Store(error)
    }
}

impl From<SweepError> for Failure {
    fn from(error: SweepError) -> Failure {
        match error {
            SweepError::Invalid(problems) => Failure::Invalid(problems),
            SweepError::Store(error) => Failure::Store(error),
            SweepError::Cancelled(_) => Failure::Cancelled,
        }
    }
}

/// Runs `study`, TOML if `text` is true and else a path, as far as its store has not all of it.
#[pyfunction]
pub fn sweep(py: Python<'_>, study: &str, text: bool, options: Options) -> PyResult<Done> {
    let study =
        if text { Study::parse(study.as_bytes(), TEXT) } else { Study::open(study.as_ref()) };
    let study = study.map_err(|problems| failure::scenario(py, &problems))?;
    let (name, cells, kept) = (study.name.clone(), study.cells(), study.flows);
    let directory =
        options.directory.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.study")));
    let stop = Stop::default();
    let done = attended(py, &stop, || work(study, &directory, &options, &stop))?;
    let (swept, tables, drawn) = done.map_err(|why| match why {
        Failure::Invalid(problems) => failure::scenario(py, &problems),
        Failure::Store(error) => PyOSError::new_err(error.to_string()),
        Failure::Cancelled => failure::gave_up(),
    })?;
    let (mut plots, mut notes, mut undrawn) = (vec![], vec![], vec![]);
    for Drawn { name, files, notes: seen, refused } in drawn {
        plots.extend(files.iter().map(|file| directory.join(file)));
        notes.extend(seen.iter().map(|note| format!("plot {name}: {note}")));
        undrawn.extend(refused.iter().map(|why| format!("plot {name}: {why}")));
    }
    let table = |tidy| Py::new(py, Table::new(tidy)?);
    Ok(Done {
        groups: table(&tables.groups)?,
        summary: table(&tables.summary)?,
        flows: kept.then(|| table(&tables.flows)).transpose()?,
        plots,
        notes,
        refused: undrawn,
        run: swept.run,
        had: swept.had,
        name,
        directory,
        cells,
    })
}

fn work(
    study: Study,
    directory: &Path,
    options: &Options,
    watch: &dyn Watch,
) -> Result<(Swept, Tables, Vec<Drawn>), Failure> {
    let prepared = study.prepare(watch).map_err(Failure::Invalid)?;
    let prepared: Prepared = prepared.ok_or(Failure::Cancelled)?;
    prepared.drawable().map_err(Failure::Invalid)?;
    let mut store = Store::open(directory, study::empty())?;
    let asked = Asked { threads: options.threads, shard: Shard::WHOLE };
    let swept = study::sweep(&prepared, &mut store, asked, watch)?;
    let keep = |name: &str| {
        let asked = |columns: &Vec<String>| columns.iter().any(|column| column == name);
        options.columns.as_ref().is_none_or(asked) || prepared.study.draws(name)
    };
    let wanted = Wanted { keep: &keep, csv: options.csv };
    let tables = study::tables(&prepared, &mut store, directory, wanted)?;
    let drawn = study::plots(&prepared.study, &tables, directory)?;
    Ok((swept, tables, drawn))
}
