//! How a suite's name is understood: one that comes with Tidegate, or a folder of one's own.
use std::fs;
use std::path::{Path, PathBuf};

use tidegate::catalog::QUEUES;

use crate::folder::Folder;
use crate::nearest::did_you_mean;
use crate::problem::{Place, Problem, Problems};
use crate::reader::FileKind;
use crate::shipped::SUITES;
use crate::spec::QueueSpec;

use super::book::Suite;
use super::freeze;
use super::{CELLS, DESCRIPTION};

/// The suites that come with Tidegate.
///
/// # Errors
/// One of them is wrong, which a test excludes.
pub fn shipped() -> Result<Vec<Suite>, Problems> {
    SUITES.iter().map(|(name, files)| Suite::read(&folder(name, files))).collect()
}

/// Every queue of the catalog, fitted to its line: what a suite is run with if nobody names queues.
pub fn every_queue() -> Vec<QueueSpec> {
    QUEUES.iter().map(|row| QueueSpec::named(row.name)).collect()
}

/// The suite that `argument` means: the file of that path or the folder with one, else the suite
/// of that name that comes with Tidegate.
///
/// ```
/// use tidegate_lab::suite;
/// let suite = suite::open("protection")?;
/// assert!(suite.tests.len() >= 16 && suite.cells.len() >= 60);
/// let error = suite::open("protecton").unwrap_err();
/// assert!(error.to_string().ends_with("did you mean `protection`?"));
/// # Ok::<(), tidegate_lab::Problems>(())
/// ```
///
/// # Errors
/// There is none, or it is wrong.
pub fn open(argument: &str) -> Result<Suite, Problems> {
    let path = Path::new(argument);
    let file = if path.is_dir() { path.join(DESCRIPTION) } else { path.into() };
    if file.is_file() {
        let (folder, file) = (read(&file)?, file.display().to_string());
        let suite = Suite::read_as(&folder, &file)?;
        // Those of a suite that ships are compared by a test.
        if suite.frozen
            && let Err(why) = freeze::unchanged(&suite, folder.file(CELLS))
        {
            return Err(problem(file, why));
        }
        return Ok(suite);
    }
    match SUITES.iter().find(|(name, _)| *name == argument) {
        Some((name, files)) => Suite::read(&folder(name, files)),
        None => Err(missing(argument)),
    }
}

fn folder(name: &'static str, files: &[(&'static str, &'static str)]) -> Folder<'static> {
    let texts = files.iter().map(|(name, text)| ((*name).into(), (*text).into()));
    Folder { name: name.into(), files: texts.collect() }
}

/// The folder of `file`: it under the name of a description, and the scenarios beside it.
fn read(file: &Path) -> Result<Folder<'static>, Problems> {
    let beside = match file.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let whole = beside.canonicalize().unwrap_or_else(|_| beside.clone());
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = |path: &Path| -> Result<String, Problems> {
        let bytes = FILE.bytes(path)?;
        Ok(FILE.text(&bytes, &path.display().to_string())?.into())
    };
    let mut files = vec![(DESCRIPTION.into(), text(file)?.into())];
    let cells = beside.join(CELLS);
    if cells.is_file() {
        files.push((CELLS.into(), text(&cells)?.into()));
    }
    let entries = fs::read_dir(&beside).map_err(|error| wrong(&beside, &error))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "toml") && path.is_file());
    paths.sort();
    for path in paths.iter().filter(|path| name(path) != DESCRIPTION && *path != file) {
        files.push((name(path).into(), text(path)?.into()));
    }
    Ok(Folder { name: name(&whole).into(), files })
}

/// The file of a suite, or of a scenario beside it.
const FILE: FileKind = FileKind { kind: "a suite or a scenario of it", least: "a key" };

fn wrong(path: &Path, error: &std::io::Error) -> Problems {
    problem(path.display().to_string(), format!("cannot be read: {error}"))
}

fn missing(argument: &str) -> Problems {
    let known: Vec<&str> = SUITES.iter().map(|(name, _)| *name).collect();
    let near = did_you_mean(argument, &known).unwrap_or_default();
    let why =
        format!("no such file, and no such shipped suite; those are {}{near}", known.join(", "));
    problem(argument.into(), why)
}

fn problem(file: String, why: String) -> Problems {
    let place = Place::File(file);
    Problems::one(Problem { place, field: String::new(), value: String::new(), why })
}
