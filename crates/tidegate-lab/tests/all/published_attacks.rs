//! The published effects of attacks (papers/attacks): all claims come out as the committed table
//! has them, and each that differs says why. They are no paper of the five, which `make papers`
//! runs.
use std::fs;

use crate::shipped::{alone, everything, explained, papers};
use tidegate_lab::paper;

/// `TIDEGATE_BLESS=1` writes the table anew.
#[test]
fn the_committed_effects_come_out_again() {
    // Claims of the second have seeds of their own.
    let folders = ["attacks/effects", "attacks/many-seeds"].map(alone);
    let asked = everything(&folders);
    let results = paper::run(&asked, None, &()).unwrap();
    let rows = |paper| paper::rows(paper, &asked.experiments, &results);
    let rows = paper::csv(&folders.iter().flat_map(rows).collect::<Vec<_>>());
    let file = papers().join("attacks/results.csv");
    if std::env::var_os("TIDEGATE_BLESS").is_some() {
        fs::write(&file, &rows).unwrap();
    }
    assert_eq!(rows, fs::read_to_string(&file).unwrap());
    let held = explained(&rows);
    assert!(held >= 85, "{held} claims hold");
}
