//! The table of Cebinae's authors (papers/cebinae): the committed results have a row for each
//! claim, each that differs says why, and the rows that are tested come out again.
use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use crate::shipped::everything;
use tidegate_lab::paper::{self, Asked, Folder, Paper};

fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers/cebinae")
}

fn table() -> Paper {
    let read = |entry: fs::DirEntry| -> (Cow<'static, str>, Cow<'static, str>) {
        let name = entry.file_name().into_string().unwrap();
        (name.into(), fs::read_to_string(entry.path()).unwrap().into())
    };
    let files = fs::read_dir(home().join("table2")).unwrap().flatten().map(read).collect();
    let folder = Folder { name: "table2".into(), files };
    Paper::read(&folder).unwrap_or_else(|problems| panic!("{problems}"))
}

fn committed() -> Vec<String> {
    let text = fs::read_to_string(home().join("results.csv")).unwrap();
    text.lines().map(String::from).collect()
}

#[test]
fn every_claim_has_its_row_and_its_reason() {
    let (paper, rows) = (table(), committed());
    assert_eq!(rows.len(), paper.claims.len() + 1);
    let mut reader = csv::Reader::from_reader(std::io::Cursor::new(rows.join("\n")));
    for row in reader.records().map(|row| row.unwrap()) {
        assert_eq!(&row[10] == "differs", !row[12].is_empty(), "{row:?}");
    }
}

#[test]
fn the_tested_rows_come_out_again() {
    let papers = [table()];
    let asked = Asked { only_tested: true, ..everything(&papers) };
    let results = paper::run(&asked, None, &()).unwrap();
    let (paper, committed) = (&papers[0], committed());
    let mut found = 0;
    for row in paper::rows(paper, &asked.experiments, &results) {
        let run = paper.run(&row.claim.experiment, &row.claim.setting);
        if run.is_some_and(|run| run.tested) {
            let text = paper::csv(std::slice::from_ref(&row));
            let line = text.lines().nth(1).unwrap().to_string();
            assert!(committed.contains(&line), "papers/cebinae/results.csv lacks {line}");
            found += 1;
        }
    }
    assert!(found >= 7, "{found}");
}
