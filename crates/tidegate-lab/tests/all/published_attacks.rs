//! The published effects of attacks (papers/attacks): all claims come out as the committed table
//! has them, and each that differs says why. They are no paper of the five, which `make papers`
//! runs.
use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use crate::shipped::everything;
use tidegate_lab::paper::{self, Folder, Paper};

fn attacks() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers/attacks")
}

/// A folder of them: its claims have seeds of their own.
fn folder(name: &'static str) -> Paper {
    let read = |entry: fs::DirEntry| -> (Cow<'static, str>, Cow<'static, str>) {
        let name = entry.file_name().into_string().unwrap();
        (name.into(), fs::read_to_string(entry.path()).unwrap().into())
    };
    let files = fs::read_dir(attacks().join(name)).unwrap().flatten().map(read).collect();
    let folder = Folder { name: name.into(), files };
    Paper::read(&folder).unwrap_or_else(|problems| panic!("{problems}"))
}

/// `TIDEGATE_BLESS=1` writes the table anew.
#[test]
fn the_committed_effects_come_out_again() {
    let papers = ["effects", "many-seeds"].map(folder);
    let asked = everything(&papers);
    let results = paper::run(&asked, None, &()).unwrap();
    let rows = |paper| paper::rows(paper, &asked.experiments, &results);
    let rows = paper::csv(&papers.iter().flat_map(rows).collect::<Vec<_>>());
    let file = attacks().join("results.csv");
    if std::env::var_os("TIDEGATE_BLESS").is_some() {
        fs::write(&file, &rows).unwrap();
    }
    assert_eq!(rows, fs::read_to_string(&file).unwrap());
    let mut reader = csv::Reader::from_reader(rows.as_bytes());
    let mut held = 0;
    for row in reader.records().map(|row| row.unwrap()) {
        held += (&row[10] == "holds") as u32;
        assert_eq!(&row[10] == "differs", !row[12].is_empty(), "{row:?}");
    }
    assert!(held >= 85, "{held} claims hold");
}
