//! The table of Cebinae's authors (papers/cebinae): the committed results have a row for each
//! claim, each that differs says why, and the rows that are tested come out again.
use std::fs;

use crate::shipped::{alone, everything, explained, papers};
use tidegate_lab::paper::{self, PaperRequest};

const TABLE: &str = "cebinae/table2";

fn committed() -> String {
    fs::read_to_string(papers().join("cebinae/results.csv")).unwrap()
}

#[test]
fn every_claim_has_its_row_and_its_reason() {
    let (paper, rows) = (alone(TABLE), committed());
    assert_eq!(rows.lines().count(), paper.claims.len() + 1);
    explained(&rows);
}

#[test]
fn the_tested_rows_come_out_again() {
    let papers = [alone(TABLE)];
    let asked = PaperRequest { only_tested: true, ..everything(&papers) };
    let results = paper::run(&asked, None, &()).unwrap();
    let (paper, committed) = (&papers[0], committed());
    let mut found = 0;
    for row in paper::rows(paper, &asked.experiments, &results) {
        let run = paper.run(&row.claim.experiment, &row.claim.setting);
        if run.is_some_and(|run| run.tested) {
            let text = paper::csv(std::slice::from_ref(&row));
            let line = text.lines().nth(1).unwrap().to_string();
            assert!(
                committed.lines().any(|row| row == line),
                "papers/cebinae/results.csv lacks {line}"
            );
            found += 1;
        }
    }
    assert!(found >= 7, "{found}");
}
