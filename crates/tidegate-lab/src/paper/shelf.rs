//! The output directory: cells that stay, and tables and pages that each run makes anew.
use std::fs;
use std::io::Write;
use std::path::Path;

use serde_json::json;

use crate::results::{self, ResultFile, VERSION, WriteError};

use super::unwritten::wrong;

/// What kind of directory it is, for those who would write into it.
const KIND: &str = "papers";
/// What earlier runs may have left, cells apart.
const MADE: [&str; 6] =
    ["results.csv", "figures.csv", "readings.csv", "made.json", "charts.js", "figures"];

/// Makes `dir` ready to take cells: a new or empty one, or one of ours.
///
/// # Errors
/// It holds something that is not ours, or cannot be written.
pub fn prepare(dir: &Path) -> Result<(), WriteError> {
    results::accept_kind(dir, Some(KIND))?;
    fs::create_dir_all(dir).map_err(|error| wrong(dir, &error))?;
    let mark = json!({ "made_by": results::MAKER, "version": VERSION, "kind": KIND });
    write(
        dir,
        &ResultFile { name: results::MARK.into(), bytes: format!("{mark:#}\n").into_bytes() },
    )
}

/// Replaces the tables and pages in `dir` by `files`; names may have one folder. Cells stay.
///
/// # Errors
/// It cannot be written; what was there may then be gone, and the next run makes it again from the
/// cells.
pub fn publish(dir: &Path, files: &[ResultFile]) -> Result<(), WriteError> {
    let old = |name: &str| MADE.contains(&name) || name.ends_with(".html");
    for entry in fs::read_dir(dir).map_err(|error| wrong(dir, &error))?.flatten() {
        let path = entry.path();
        if !entry.file_name().to_str().is_some_and(old) {
            continue;
        }
        let removed =
            if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(|error| wrong(&path, &error))?;
    }
    files.iter().try_for_each(|file| write(dir, file))
}

/// Writes a file whole or not at all.
fn write(dir: &Path, file: &ResultFile) -> Result<(), WriteError> {
    let path = dir.join(&file.name);
    let folder = path.parent().unwrap_or(dir);
    let write = || {
        fs::create_dir_all(folder)?;
        let mut temporary = tempfile::Builder::new().prefix(".tidegate-").tempfile_in(folder)?;
        temporary.write_all(&file.bytes)?;
        readable(temporary.as_file())?;
        temporary.persist(&path).map_err(|error| error.error)
    };
    write().map(drop).map_err(|error| wrong(&path, &error))
}

/// A temporary file is its owner's alone; a page is for everybody.
#[cfg(unix)]
fn readable(file: &fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_: &fs::File) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> ResultFile {
        ResultFile { name: name.into(), bytes: name.into() }
    }

    #[test]
    fn pages_are_replaced_and_cells_stay() {
        let base = tempfile::tempdir().unwrap();
        let dir = base.path().join("papers");
        prepare(&dir).unwrap();
        publish(&dir, &[file("index.html"), file("care.html"), file("figures/care-fig11.svg")])
            .unwrap();
        fs::create_dir(dir.join("cells")).unwrap();
        fs::write(dir.join("cells/1.json"), "{}").unwrap();
        prepare(&dir).unwrap();
        publish(&dir, &[file("index.html"), file("results.csv")]).unwrap();
        let mut names: Vec<_> = fs::read_dir(&dir)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["cells", "index.html", "results.csv", "run.json"]);
        assert!(dir.join("cells/1.json").exists());
    }

    #[test]
    fn what_is_not_ours_is_left_alone() {
        let base = tempfile::tempdir().unwrap();
        fs::write(base.path().join("thesis.tex"), "years of work").unwrap();
        assert!(prepare(base.path()).unwrap_err().why.contains("other things"));
    }
}
