//! The tables of a suite's results: what each seed says of each group, and the scores.
use std::path::Path;
use std::sync::Arc;

use tidegate_report::Tidy;
use tidegate_report::tidy::{Column, Values};

use crate::study::{StoreError, WantedTables, write};

use super::book::Suite;
use super::figure::CellFigure;
use super::run::SuiteResults;
use super::score::{OfCell, Scores};

/// Writes [`groups`] and [`scored`] into `dir` as Parquet, and as CSV where `csv` says so.
///
/// # Errors
/// The disk fails.
pub(super) fn tables(
    suite: &Suite,
    results: &SuiteResults,
    scores: &Scores,
    dir: &Path,
    csv: bool,
) -> Result<(), StoreError> {
    let wanted = WantedTables { keep: &|_| false, csv };
    write(dir, "groups", groups(suite, results, scores), wanted)?;
    write(dir, "scores", scored(suite, results, scores), wanted)
}

/// A row for each cell, queue, seed and group: what a study has of it, and the two times.
pub fn groups(suite: &Suite, results: &SuiteResults, scores: &Scores) -> Tidy {
    let mut groups: Option<Tidy> = None;
    for (of, rows) in scores.cells.iter().zip(&results.rows) {
        let mut columns = lead(suite, results, of, rows.rows());
        columns.extend(rows.columns.iter().skip(1).cloned());
        let rows = Tidy { columns };
        match &mut groups {
            Some(all) => all.append(rows),
            None => groups = Some(rows),
        }
    }
    groups.unwrap_or_default()
}

/// Test, cell and queue, `rows` times.
fn lead(suite: &Suite, results: &SuiteResults, of: &OfCell, rows: usize) -> Vec<Column> {
    let cell = &suite.cells[of.cell];
    let text = |name: &str, what: &str, text: &str| {
        let values = vec![Some(Arc::from(text)); rows];
        Column::new(name, "", what, Values::Text(values))
    };
    vec![
        text("test", "the test", &suite.tests[cell.test].id),
        text("cell", "the cell of the test", &cell.name),
        text("queue", "the queue's label", &results.queues[of.queue].label()),
    ]
}

/// A row for each cell and queue: every figure that any test tells, with its interval.
pub fn scored(suite: &Suite, results: &SuiteResults, scores: &Scores) -> Tidy {
    let mut figures: Vec<&CellFigure> = vec![];
    for figure in (0..suite.tests.len()).flat_map(|test| suite.figures(test)) {
        if !figures.contains(&figure) {
            figures.push(figure);
        }
    }
    let mut table: Option<Tidy> = None;
    for of in &scores.cells {
        let mut columns = lead(suite, results, of, 1);
        let number = |name: &str, unit: &str, what: &str, value| {
            Column::new(name, unit, what, Values::Number(vec![value]))
        };
        let seeds = Values::Whole(vec![Some(results.seeds.len() as i64)]);
        columns.push(Column::new("seeds", "", "how many replications", seeds));
        if suite.bound.is_some() {
            let what = "what the worst user is sure of, as part of a fair share";
            columns.push(number("sure", "", what, of.sure));
            let passed = Values::Whole(vec![of.passed.map(i64::from)]);
            columns.push(Column::new("passed", "", "1 if that is enough, else 0", passed));
        }
        let own = suite.figures(suite.cells[of.cell].test);
        for figure in &figures {
            let at = own.iter().position(|known| known == *figure);
            let found = at.and_then(|at| of.figures[at]);
            let (name, unit) = (figure.column(), figure.unit());
            columns.push(number(&name, &unit, "mean over seeds", found.map(|f| f.mean())));
            let half = "half the width of the 95 % interval of the column before";
            let half_name = format!("{name}_ci95");
            columns.push(number(&half_name, &unit, half, found.and_then(|f| f.ci95())));
        }
        let row = Tidy { columns };
        match &mut table {
            Some(all) => all.append(row),
            None => table = Some(row),
        }
    }
    table.unwrap_or_default()
}
