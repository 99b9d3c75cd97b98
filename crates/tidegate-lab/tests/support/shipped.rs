//! The papers of the repository, as `tidegate paper` finds them.
use std::path::{Path, PathBuf};

use tidegate_lab::paper::{Folder, Length, Paper, PaperRequest, shelved};

/// All of them, in the order of their folders.
pub fn shipped() -> Vec<Paper> {
    let mut folders: Vec<_> =
        std::fs::read_dir(papers()).unwrap().map(|e| e.unwrap().path()).collect();
    folders.retain(|folder| folder.join("paper.toml").is_file());
    folders.sort();
    let folders = shelved(folders.iter().map(|folder| open(folder)).collect());
    folders.iter().map(read).collect()
}

/// `papers/`.
pub fn papers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers")
}

/// A paper that stands by itself in a folder below `papers/`.
pub fn alone(folder: &str) -> Paper {
    read(&open(&papers().join(folder)))
}

/// The folder `small` of a paper that is made up for a test.
pub fn made(files: [(&'static str, &str); 4]) -> Folder<'static> {
    let files = files.map(|(name, text)| (name.into(), text.to_string().into())).to_vec();
    Folder { name: "small".into(), files }
}

fn read(folder: &Folder<'_>) -> Paper {
    Paper::read(folder).unwrap_or_else(|problems| panic!("{problems}"))
}

fn open(folder: &Path) -> Folder<'static> {
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let entries = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let files = entries
        .filter(|path| path.is_file())
        .map(|path| (name(&path).into(), std::fs::read_to_string(&path).unwrap().into()))
        .collect();
    Folder { name: name(folder).into(), files }
}

/// Refuses a row of `results`, a table of results, that differs without an explanation, or has one
/// though it does not differ. How many hold.
pub fn explained(results: &str) -> u32 {
    let mut reader = csv::Reader::from_reader(results.as_bytes());
    let mut held = 0;
    for row in reader.records().map(|row| row.unwrap()) {
        held += u32::from(&row[10] == "holds");
        assert_eq!(&row[10] == "differs", !row[12].is_empty(), "{row:?}");
    }
    held
}

/// All experiments of `papers`, at full length and with their own seeds.
pub fn everything(papers: &[Paper]) -> PaperRequest<'_> {
    let experiments = papers.iter().flat_map(|p| &p.experiments).map(|e| e.id.clone()).collect();
    PaperRequest { papers, experiments, length: Length::Full, seeds: None, only_tested: false }
}
