//! A test: its question, a map of its cells, and every figure of each cell.
use std::fmt::Write;

use crate::Figure;
use crate::html::escape;

use super::map::{Head, Links, fields, heads};
use super::{CellResult, SuiteResult, TestResult};

/// Where a cell stands on the page.
fn place(test: &TestResult, cell: usize) -> String {
    format!("{}-{}", test.id, cell + 1)
}

/// The section of a test.
pub(super) fn section(page: &mut String, suite: &SuiteResult, test: &TestResult) {
    let TestResult { id, title, asks, source, .. } = test;
    let _ = write!(
        page,
        "<section id=\"{0}\">\n<h2>{0} · {1}</h2>\n<p class=\"what\">{2} <small>{3}</small></p>\n",
        escape(id),
        escape(title),
        escape(asks),
        escape(source)
    );
    if suite.bound.is_some() {
        overview(page, suite, test);
    }
    for (at, cell) in test.cells.iter().enumerate() {
        one(page, suite, test, (at, cell));
    }
    page.push_str("</section>\n");
}

/// The map of a test's cells.
fn overview(page: &mut String, suite: &SuiteResult, test: &TestResult) {
    let above: Vec<Head<'_>> = test
        .cells
        .iter()
        .enumerate()
        .map(|(at, cell)| Head { name: &cell.name, title: &cell.name, link: place(test, at) })
        .collect();
    page.push_str("<div class=scroll><table class=\"heat cells\"><thead><tr><th class=text>queue");
    heads(page, &above);
    page.push_str("</thead><tbody>\n");
    for (queue, of) in suite.queues.iter().enumerate() {
        let _ = write!(page, "<tr><th scope=row>{}", escape(&of.label));
        let field = |cell: &CellResult| cell.rows.get(queue).and_then(|row| row.sure);
        fields(page, &above, &test.cells.iter().map(field).collect::<Vec<_>>(), Links::None);
        page.push('\n');
    }
    page.push_str("</tbody></table></div>\n");
}

/// Every figure of a cell, behind a summary; open where the suite only measures.
fn one(
    page: &mut String,
    suite: &SuiteResult,
    test: &TestResult,
    (at, cell): (usize, &CellResult),
) {
    let _ = write!(
        page,
        "<details id=\"{}\"{}><summary>{}</summary>\n<div class=scroll><table class=figures>\
         <thead><tr><th class=text>queue",
        escape(&place(test, at)),
        if suite.bound.is_none() { " open" } else { "" },
        escape(&cell.name)
    );
    // A figure that nobody has in this cell is no column of it.
    let shown: Vec<usize> = (0..test.figures.len())
        .filter(|figure| {
            cell.rows.iter().any(|row| row.figures.get(*figure).is_some_and(Option::is_some))
        })
        .collect();
    for (name, unit) in shown.iter().map(|figure| &test.figures[*figure]) {
        let unit = if unit == "bit/s" { "Mbit/s" } else { unit };
        let comma = if unit.is_empty() { "" } else { ", " };
        let _ = write!(page, "<th>{}{comma}{}", escape(name), escape(unit));
    }
    page.push_str("</thead><tbody>\n");
    for (queue, row) in suite.queues.iter().zip(&cell.rows) {
        let _ = write!(page, "<tr><th>{}", escape(&queue.label));
        for figure in &shown {
            let found = row.figures.get(*figure).copied().flatten();
            page.push_str("<td>");
            page.push_str(&written(found, &test.figures[*figure].1));
        }
        page.push('\n');
    }
    page.push_str("</tbody></table></div>\n");
    for picture in &cell.pictures {
        // What stands before the element is for files of its own.
        let svg = picture.find("<svg").map_or("", |at| &picture[at..]);
        let _ = writeln!(page, "<figure>{svg}</figure>");
    }
    let (counts, command) = (escape(&cell.counts), escape(&cell.command));
    if !counts.is_empty() {
        let _ = writeln!(page, "<p class=note>{counts}</p>");
    }
    let _ = writeln!(page, "<p class=note><code>{command}</code></p></details>");
}

/// A figure in its column: mean, and half its interval in small.
fn written(figure: Option<Figure>, unit: &str) -> String {
    let Some(figure) = figure else { return "–".into() };
    let factor = if unit == "bit/s" { 1e-6 } else { 1.0 };
    let mean = figure.mean() * factor;
    let decimals = match mean.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.0995 || v == 0.0 => 2,
        v if v >= 0.00995 => 3,
        _ => 4,
    };
    let half = figure.ci95().map(|half| format!("{:.decimals$}", half * factor));
    // An interval of nothing is not worth its place.
    let half = half.filter(|text| text.bytes().any(|c| (b'1'..=b'9').contains(&c)));
    format!("{mean:.decimals$}{}", half.map(|h| format!("<i>{h}</i>")).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_by_hand() {
        assert_eq!(written(Figure::new(0.874, Some(0.021)), ""), "0.87<i>0.02</i>");
        assert_eq!(written(Figure::new(0.874, Some(0.001)), ""), "0.87");
        assert_eq!(written(Figure::exact(123.4), "ms"), "123");
        assert_eq!(written(Figure::new(4.2e6, Some(3e4)), "bit/s"), "4.20<i>0.03</i>");
        assert_eq!(written(Figure::exact(0.00123), ""), "0.0012", "a small part is not none");
        assert_eq!(written(None, ""), "–");
    }
}
