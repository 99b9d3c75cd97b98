//! What is printed of suites on a terminal.
use serde_json::{Value, json};
use tidegate_lab::suite::{CellFigure, OfCell, OfQueue, Scores, Suite, SuiteLength, SuiteResults};
use tidegate_report::human;
use tidegate_report::page::{Block, Page};
use tidegate_report::suite::share;
use tidegate_report::table::Look;

/// The suites with their tests.
pub(super) fn list(suites: &[Suite]) -> String {
    let mut text = String::new();
    for suite in suites {
        text += &format!("{}: {}\n", suite.title(), suite.title);
        let width = suite.tests.iter().map(|test| test.id.len()).max().unwrap_or_default();
        for (at, test) in suite.tests.iter().enumerate() {
            let cells = suite.cells.iter().filter(|cell| cell.test == at).count();
            let cells = if cells == 1 { "1 cell".into() } else { format!("{cells} cells") };
            text += &format!("  {:width$}  {} ({cells})\n", test.id, test.title);
        }
    }
    text + "`tidegate suite NAME --quick` runs one of them in short.\n"
}

/// The same as JSON.
pub(super) fn list_json(suites: &[Suite]) -> String {
    let one = |suite: &Suite| {
        let tests = suite.tests.iter().enumerate().map(|(at, test)| {
            let cells = suite.cells.iter().filter(|cell| cell.test == at);
            let cells: Vec<&str> = cells.map(|cell| cell.name.as_str()).collect();
            json!({
                "id": test.id, "title": test.title, "asks": test.asks, "source": test.source,
                "cells": cells,
            })
        });
        json!({
            "name": suite.name, "version": suite.version, "frozen": suite.frozen,
            "title": suite.title, "tests": tests.collect::<Vec<Value>>(),
        })
    };
    format!("{:#}\n", Value::from(suites.iter().map(one).collect::<Vec<_>>()))
}

/// What came of a suite.
pub(super) fn table(suite: &Suite, results: &SuiteResults, scores: &Scores) -> String {
    let mut page = Page::default();
    if suite.bound.is_some() {
        page.add(Block::Table(judged(suite, results, scores)));
    } else {
        for test in 0..suite.tests.len() {
            let rows = measured(suite, results, scores, test);
            if rows.len() > 1 {
                let test = &suite.tests[test];
                page.add(Block::Heading(format!("{} {}", test.id, test.title)));
                page.add(Block::Table(rows));
            }
        }
    }
    let seeds = results.seeds.len();
    let quick = match results.length {
        SuiteLength::Quick => "; a quick run, so its figures are rough",
        SuiteLength::Full => "",
    };
    let cells = results.cells.len();
    let of = if cells == suite.cells.len() {
        String::new()
    } else {
        format!(" of {}", suite.cells.len())
    };
    format!(
        "{}\n\n{}{}: {cells}{of} cells × {seeds} seeds{quick}.\n",
        page.render(&Look::stdout()).trim_end(),
        if suite.bound.is_some() { LEGEND } else { "" },
        suite.title(),
    )
}

const LEGEND: &str = "Of each test: what the worst user is sure of in the worst cell, as a \
    part of his fair share. Passed: cells in which that is enough.\n";

/// Queues in order, and a column for each test.
fn judged(suite: &Suite, results: &SuiteResults, scores: &Scores) -> Vec<Vec<String>> {
    let tests: Vec<usize> = scores
        .queues
        .first()
        .map(|of| of.tests.iter().map(|t| t.test).collect())
        .unwrap_or_default();
    let mut head = vec!["queue".to_string(), "passed".into()];
    head.extend(tests.iter().map(|test| suite.tests[*test].id.clone()));
    head.extend(["state, kB", "ns"].map(String::from));
    let row = |of: &OfQueue| {
        let mut row = vec![results.queues[of.queue].label(), format!("{}/{}", of.passed, of.of)];
        row.extend(of.tests.iter().map(|test| share(test.sure)));
        row.push(of.state_bytes.map(|b| format!("{:.1}", b as f64 / 1e3)).unwrap_or_default());
        row.push(of.ns.map(|ns| format!("{ns:.0}")).unwrap_or_default());
        row
    };
    std::iter::once(head).chain(scores.queues.iter().map(row)).collect()
}

/// Cells and queues of a test, and a column for each figure.
fn measured(
    suite: &Suite,
    results: &SuiteResults,
    scores: &Scores,
    test: usize,
) -> Vec<Vec<String>> {
    let figures = suite.figures(test);
    let mut head = vec!["cell".to_string(), "queue".into()];
    head.extend(figures.iter().map(|figure| figure.to_string()));
    let mine = scores.cells.iter().filter(|of| suite.cells[of.cell].test == test);
    let row = |of: &OfCell| {
        let cell = &suite.cells[of.cell];
        let mut row = vec![cell.name.clone(), results.queues[of.queue].label()];
        row.extend(figures.iter().zip(&of.figures).map(|(of, found)| shown(of, *found)));
        row
    };
    std::iter::once(head).chain(mine.map(row)).collect()
}

/// A figure in its own unit.
fn shown(of: &CellFigure, found: Option<tidegate_report::Figure>) -> String {
    match of.unit().as_str() {
        "bit/s" => human::rate(found),
        "ms" => human::millis(found),
        _ => human::number(found),
    }
}
