//! Where papers are read from: those that came with the command, or a directory.
use std::path::{Path, PathBuf};

use tidegate_lab::paper::{self, Folder, Paper};
use tidegate_lab::shipped;

use crate::failure::Failure;

/// All papers, in order.
pub(super) fn papers(from: Option<&Path>) -> Result<Vec<Paper>, Failure> {
    read(&folders(from)?)
}

/// Their folders.
pub(super) fn folders(from: Option<&Path>) -> Result<Vec<Folder<'static>>, Failure> {
    let shipped = || shipped::PAPERS.iter().map(|(name, files)| folder(name, files)).collect();
    Ok(paper::shelved(from.map_or_else(|| Ok(shipped()), folders_in)?))
}

pub(super) fn read(folders: &[Folder<'_>]) -> Result<Vec<Paper>, Failure> {
    let mut papers: Vec<Paper> = vec![];
    for folder in folders {
        let paper = Paper::read(folder).map_err(Failure::input)?;
        let known =
            papers.iter().flat_map(|p| &p.experiments).find(|e| paper.experiment(&e.id).is_some());
        if let Some(twice) = known {
            return Err(Failure::Input(format!(
                "{}/paper.toml: experiment {} is another paper's",
                folder.name, twice.id
            )));
        }
        papers.push(paper);
    }
    Ok(papers)
}

fn folder(name: &'static str, files: &[(&'static str, &'static str)]) -> Folder<'static> {
    Folder {
        name: name.into(),
        files: files.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect(),
    }
}

/// The papers in `dir`: each folder in it that has a description.
fn folders_in(dir: &Path) -> Result<Vec<Folder<'static>>, Failure> {
    let wrong =
        |path: &Path, error: std::io::Error| Failure::Input(format!("{}: {error}", path.display()));
    let entries = |dir: &Path| -> Result<Vec<PathBuf>, Failure> {
        let read = std::fs::read_dir(dir).map_err(|error| wrong(dir, error))?;
        let mut paths: Vec<PathBuf> = read.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        Ok(paths)
    };
    let mut folders = vec![];
    for path in entries(dir)?.into_iter().filter(|path| path.join(paper::DESCRIPTION).is_file()) {
        let name =
            |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut files = vec![];
        for file in entries(&path)?
            .into_iter()
            .filter(|file| file.extension().is_some_and(|e| e == "toml" || e == "csv"))
        {
            let text = std::fs::read_to_string(&file).map_err(|error| wrong(&file, error))?;
            files.push((name(&file).into(), text.into()));
        }
        folders.push(Folder { name: name(&path).into(), files });
    }
    if folders.is_empty() {
        Err(Failure::Input(format!(
            "{}: no folder in it has a {}",
            dir.display(),
            paper::DESCRIPTION
        )))
    } else {
        Ok(folders)
    }
}
