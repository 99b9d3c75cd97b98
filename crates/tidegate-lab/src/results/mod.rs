//! The result directory: written whole or not at all.
mod file;
mod manifest;
pub(crate) mod parquet;
pub mod tables;

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::json;
use tidegate_report::{Document, SeriesQuantity};

pub use self::file::ResultFile;
pub(crate) use self::manifest::MAKER;
pub use self::manifest::{Begun, COMMIT, How, MARK, Machine, Manifest, SOURCES, VERSION};
pub use self::parquet::pieces;
use crate::replication::QueueOutcome;
use crate::scenario::Scenario;

/// A result directory that could not be written; nothing was changed.
#[derive(Debug)]
pub struct WriteError {
    /// The directory.
    pub path: PathBuf,
    /// What went wrong and what to do about it.
    pub why: String,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.why)
    }
}

impl std::error::Error for WriteError {}

/// The files that go with `outcomes`: those of [`documents`], and `scenario.toml` (resolved).
/// `report.html` is the report crate's; add it.
pub fn files(scenario: &Scenario, outcomes: &[QueueOutcome]) -> Vec<ResultFile> {
    let mut files = documents(outcomes);
    files.push(text("scenario.toml", scenario.resolved().trim_end().into()));
    files
}

/// `result.json` (one document, or a list for several queues) and `series.json`; the same as
/// Parquet: `flows.parquet`, `series.parquet`, `gauges.parquet`; and `groups.parquet`, which has
/// what each seed says.
pub fn documents(outcomes: &[QueueOutcome]) -> Vec<ResultFile> {
    let result = match outcomes {
        [only] => only.document.to_json(),
        several => {
            let documents: Vec<Document> = several.iter().map(|o| o.document.clone()).collect();
            Document::list_to_json(&documents)
        }
    };
    let series: Vec<_> =
        outcomes.iter().map(|o| json!({ "label": o.document.label, "series": o.series })).collect();
    let mut files = vec![
        text("result.json", result),
        text("series.json", serde_json::Value::from(series).to_string()),
    ];
    let tables = [
        (tables::flows(outcomes), "flows.parquet"),
        (
            tables::readings(outcomes, |quantity| quantity != SeriesQuantity::Gauge),
            "series.parquet",
        ),
        (
            tables::readings(outcomes, |quantity| quantity == SeriesQuantity::Gauge),
            "gauges.parquet",
        ),
    ];
    files.extend(tables.iter().map(|(table, name)| parquet::file(table, name)));
    let by_seed = tables::seeds(outcomes);
    if by_seed.rows() > 0 {
        files.push(parquet::file(&by_seed, "groups.parquet"));
    }
    files
}

fn text(name: &str, text: String) -> ResultFile {
    ResultFile { name: name.into(), bytes: (text + "\n").into_bytes() }
}

/// Whether `dir` can take a result: it does not exist, is empty, or holds an earlier result (to be
/// replaced), and its parent can be written. Ask before the work.
///
/// # Errors
/// It holds something that is not ours, is no directory, or cannot be written.
pub fn accept(dir: &Path) -> Result<(), WriteError> {
    accept_kind(dir, None)
}

/// As [`accept`], for a directory of another kind than one result's. Each kind takes its own
/// alone: a study or a shelf of papers holds more work than a result, which must not replace it.
pub(crate) fn accept_kind(dir: &Path, kind: Option<&str>) -> Result<(), WriteError> {
    replaceable(dir, kind)?;
    let parent = parent(dir)?;
    tempfile::Builder::new()
        .prefix(".tidegate-")
        .tempdir_in(&parent)
        .map_err(|e| wrong(dir, &e))?;
    Ok(())
}

/// Writes `files` and `manifest` into `dir`, replacing an earlier result there. On error nothing is
/// left and nothing is lost.
///
/// # Errors
/// As [`accept`]; a full disk.
pub fn write(dir: &Path, files: &[ResultFile], manifest: &Manifest) -> Result<(), WriteError> {
    replaceable(dir, None)?;
    let parent = parent(dir)?;
    // In the same directory, so that the rename cannot cross a file system. Removed when dropped,
    // whatever happens.
    let fresh = tempfile::Builder::new()
        .prefix(".tidegate-")
        .tempdir_in(&parent)
        .map_err(|e| wrong(dir, &e))?;
    for file in files.iter().chain([&manifest.file()]) {
        let path = fresh.path().join(&file.name);
        write_file(&path, &file.bytes).map_err(|e| wrong(dir, &e))?;
    }
    share(fresh.path()).map_err(|e| wrong(dir, &e))?;
    // An earlier result steps aside and comes back if the new one cannot take its place.
    let aside = tempfile::Builder::new()
        .prefix(".tidegate-")
        .tempdir_in(&parent)
        .map_err(|e| wrong(dir, &e))?;
    let old = aside.path().join("old");
    let had_old = dir.exists();
    if had_old {
        fs::rename(dir, &old).map_err(|e| wrong(dir, &e))?;
    }
    let fresh = fresh.keep();
    fs::rename(&fresh, dir).map_err(|error| {
        if had_old {
            let _ = fs::rename(&old, dir);
        }
        let _ = fs::remove_dir_all(&fresh);
        wrong(dir, &error)
    })
}

fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.write_all(bytes)?;
    // A full disk may show only now.
    file.sync_all()
}

/// A temporary directory is its owner's alone; a result has the rights that the umask gives.
#[cfg(unix)]
fn share(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let probe = dir.join(".mode");
    fs::create_dir(&probe)?;
    let mode = fs::metadata(&probe)?.permissions().mode() & 0o777;
    fs::remove_dir(&probe)?;
    fs::set_permissions(dir, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn share(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Whether what is at `dir`, if anything, may be replaced.
fn replaceable(dir: &Path, kind: Option<&str>) -> Result<(), WriteError> {
    let refuse = |why: &str| Err(WriteError { path: dir.into(), why: why.into() });
    match fs::symlink_metadata(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(wrong(dir, &error)),
        Ok(meta) if meta.is_symlink() => {
            return refuse("is a symbolic link; name the directory itself");
        }
        Ok(meta) if !meta.is_dir() => {
            return refuse("is a file, not a directory; choose another name");
        }
        Ok(_) => {}
    }
    let mut entries = fs::read_dir(dir).map_err(|e| wrong(dir, &e))?;
    if entries.next().is_none() || is_ours(dir, kind) {
        return Ok(());
    }
    refuse(
        "is a directory with other things in it, which are left alone; choose a new or an empty \
         one",
    )
}

fn is_ours(dir: &Path, kind: Option<&str>) -> bool {
    let text = fs::read_to_string(dir.join(MARK)).unwrap_or_default();
    let mark: Result<serde_json::Value, _> = serde_json::from_str(&text);
    mark.is_ok_and(|mark| mark["made_by"] == MAKER && mark["kind"].as_str() == kind)
}

/// The directory that holds `dir`, made if it is missing.
fn parent(dir: &Path) -> Result<PathBuf, WriteError> {
    if dir.file_name().is_none() {
        let why = "is no name for a new directory; give one, as in results/flood";
        return Err(WriteError { path: dir.into(), why: why.into() });
    }
    let parent = match dir.parent() {
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) => parent.into(),
        None => PathBuf::from("."),
    };
    fs::create_dir_all(&parent).map_err(|e| wrong(dir, &e))?;
    Ok(parent)
}

pub(crate) fn wrong(path: &Path, error: &io::Error) -> WriteError {
    let why = match error.kind() {
        io::ErrorKind::PermissionDenied => "cannot be written (permission denied)".into(),
        io::ErrorKind::ReadOnlyFilesystem => "cannot be written (read-only file system)".into(),
        io::ErrorKind::StorageFull => {
            "cannot be written: the disk is full. Nothing was left behind".into()
        }
        io::ErrorKind::NotADirectory => "cannot be made: a part of the path is a file".into(),
        // Not the error's own text, which may name a temporary file.
        kind => format!("cannot be written: {kind}"),
    };
    WriteError { path: path.into(), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(dir)
            .unwrap()
            .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    fn write(dir: &Path, files: &[ResultFile]) -> Result<(), WriteError> {
        super::write(dir, files, &Manifest::new("flood", &[1, 2], &["red"]))
    }

    fn result(text: &str) -> Vec<ResultFile> {
        vec![ResultFile { name: "result.json".into(), bytes: text.into() }]
    }

    #[test]
    fn new_empty_and_ours_are_written() {
        let base = tempfile::tempdir().unwrap();
        let dir = base.path().join("deep/er/flood");
        accept(&dir).unwrap();
        write(&dir, &result("one")).unwrap();
        assert_eq!(fs::read_to_string(dir.join("result.json")).unwrap(), "one");
        write(
            &dir,
            &[result("two"), vec![ResultFile { name: "more".into(), bytes: vec![] }]].concat(),
        )
        .unwrap();
        assert_eq!(list(&dir), ["more", "result.json", "run.json"]);
        write(&dir, &result("three")).unwrap();
        assert_eq!(
            list(&dir),
            ["result.json", "run.json"],
            "the earlier result is replaced, not mixed"
        );
        assert_eq!(list(dir.parent().unwrap()), ["flood"], "nothing is left beside it");
        let empty = base.path().join("empty");
        fs::create_dir(&empty).unwrap();
        write(&empty, &result("x")).unwrap();
    }

    #[test]
    fn what_is_not_ours_is_left_alone() {
        let base = tempfile::tempdir().unwrap();
        let home = base.path().join("home");
        fs::create_dir(&home).unwrap();
        fs::write(home.join("thesis.tex"), "years of work").unwrap();
        for refuse in [accept(&home), write(&home, &result("x"))] {
            assert!(
                refuse.unwrap_err().to_string().contains("home: is a directory with other things")
            );
        }
        fs::write(home.join(MARK), "{\"made_by\": \"somebody\"}").unwrap();
        assert!(accept(&home).is_err());
        assert_eq!(fs::read_to_string(home.join("thesis.tex")).unwrap(), "years of work");
        let file = base.path().join("file");
        fs::write(&file, "x").unwrap();
        assert!(accept(&file).unwrap_err().why.contains("is a file"));
        let below = accept(&file.join("below")).unwrap_err();
        assert!(below.why.contains("a part of the path is a file"), "{below}");
        assert!(accept(Path::new("/")).is_err());
        assert!(accept(Path::new("no-such-directory/..")).is_err());
        #[cfg(unix)]
        {
            let link = base.path().join("link");
            std::os::unix::fs::symlink(&home, &link).unwrap();
            assert!(accept(&link).unwrap_err().why.contains("symbolic link"));
        }
        assert_eq!(list(base.path()), ["file", "home", "link"]);
    }

    #[test]
    fn nothing_is_left_of_a_failure() {
        let base = tempfile::tempdir().unwrap();
        let dir = base.path().join("flood");
        write(&dir, &result("old")).unwrap();
        // A name that cannot be a file stands for whatever may go wrong half-way, a full disk for
        // one.
        let files =
            [result("new"), vec![ResultFile { name: "no/such/directory".into(), bytes: vec![] }]]
                .concat();
        assert!(write(&dir, &files).is_err());
        assert_eq!(fs::read_to_string(dir.join("result.json")).unwrap(), "old");
        assert_eq!(list(base.path()), ["flood"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_and_a_kernel_directory_say_so() {
        let full = write_file(Path::new("/dev/full"), &[0; 10]).unwrap_err();
        assert!(wrong(Path::new("out"), &full).why.contains("the disk is full"), "{full}");
        assert!(accept(Path::new("/proc/tidegate/flood")).is_err());
    }
}
