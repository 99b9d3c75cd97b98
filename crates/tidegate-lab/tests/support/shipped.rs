//! The papers of the repository, as `tidegate paper` finds them.
use std::path::Path;

use tidegate_lab::paper::{Asked, Folder, Length, Paper, shelved};

/// All of them, in the order of their folders.
pub fn shipped() -> Vec<Paper> {
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let mut folders: Vec<_> = std::fs::read_dir(base).unwrap().map(|e| e.unwrap().path()).collect();
    folders.retain(|folder| folder.join("paper.toml").is_file());
    folders.sort();
    let open = |folder: &Path| {
        let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        let entries = std::fs::read_dir(folder)
            .unwrap()
            .map(|e| e.unwrap().path())
            .filter(|path| path.is_file());
        let files = entries
            .map(|path| (name(&path).into(), std::fs::read_to_string(&path).unwrap().into()))
            .collect();
        Folder { name: name(folder).into(), files }
    };
    let folders = shelved(folders.iter().map(|folder| open(folder)).collect());
    folders
        .iter()
        .map(|folder| Paper::read(folder).unwrap_or_else(|problems| panic!("{problems}")))
        .collect()
}

/// All experiments of `papers`, at full length and with their own seeds.
pub fn everything(papers: &[Paper]) -> Asked<'_> {
    let experiments = papers.iter().flat_map(|p| &p.experiments).map(|e| e.id.clone()).collect();
    Asked { papers, experiments, length: Length::Full, seeds: None, only_tested: false }
}
