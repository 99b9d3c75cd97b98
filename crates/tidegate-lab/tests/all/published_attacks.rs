//! The published effects of attacks (papers/attacks): claims come out as the committed table has
//! them, and each that differs says why. They are no paper of the five, which `make papers` runs.
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::shipped::{alone, everything, explained, papers};
use tidegate_lab::paper::{self, PaperRequest};

fn table() -> PathBuf {
    papers().join("attacks/results.csv")
}

/// The table's rows of the experiments that are `wanted`.
fn rows(wanted: impl Fn(&str) -> bool) -> String {
    // Claims of the second have seeds of their own.
    let folders = ["attacks/effects", "attacks/many-seeds"].map(alone);
    let all = everything(&folders);
    let experiments = all.experiments.iter().filter(|id| wanted(id)).cloned().collect();
    let asked = PaperRequest { experiments, ..all };
    let results = paper::run(&asked, None, &()).unwrap();
    let rows = |paper| paper::rows(paper, &asked.experiments, &results);
    paper::csv(&folders.iter().flat_map(rows).collect::<Vec<_>>())
}

/// Of those that twenty seeds decide, one, and not the longest of the others; the test below has
/// all.
#[test]
fn the_committed_effects_of_few_seeds_come_out_again() {
    let slow = ["H10", "H11", "H12", "H14"];
    let ours = rows(|id| !slow.contains(&id));
    let committed = fs::read_to_string(table()).unwrap();
    let committed: BTreeSet<&str> = committed.lines().collect();
    assert!(ours.lines().count() >= 60, "{ours}");
    for row in ours.lines() {
        assert!(committed.contains(row), "papers/attacks/results.csv lacks {row}");
    }
}

/// Every row, and no other. `TIDEGATE_BLESS=1` writes the table anew.
#[test]
#[ignore = "twenty seeds take a minute; `make test-long` has it"]
fn the_committed_effects_come_out_again() {
    let rows = rows(|_| true);
    if std::env::var_os("TIDEGATE_BLESS").is_some() {
        fs::write(table(), &rows).unwrap();
    }
    assert_eq!(rows, fs::read_to_string(table()).unwrap());
}

#[test]
fn every_effect_that_differs_says_why() {
    let held = explained(&fs::read_to_string(table()).unwrap());
    assert!(held >= 85, "{held} claims hold");
}
