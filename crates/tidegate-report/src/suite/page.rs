//! The page around the maps.
use std::fmt::Write;

use crate::html::{self, escape};

use super::cells::section;
use super::map::{Head, Links, fields, heads, legend, share};
use super::{QueueScore, SuiteResult};

const STYLE: &str = include_str!("suite.css");

/// The page, one HTML file that loads nothing.
pub fn render(suite: &SuiteResult) -> String {
    let mut page = String::with_capacity(400_000);
    head(&mut page, suite);
    if suite.bound.is_some() {
        map(&mut page, suite);
    } else {
        contents(&mut page, suite);
    }
    for test in suite.tests.iter().filter(|test| !test.cells.is_empty()) {
        section(&mut page, suite, test);
    }
    let _ = write!(
        page,
        "<section>\n<h2>How this was made</h2>\n<pre>{}</pre>\n<footer>Tidegate {}. {} \
         replications of each cell and queue; intervals of 95 %. A queue whose name has no preset \
         has auto, which knows a line's rate, buffer and packet length, and no \
         attack.</footer>\n</section>\n\
         </main>\n</body>\n</html>\n",
        escape(&suite.command),
        escape(&suite.version),
        suite.seeds
    );
    page
}

fn head(page: &mut String, suite: &SuiteResult) {
    let (title, style) = (escape(&suite.title), html::STYLE);
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
         'unsafe-inline'\">\n<title>{title}</title>\n<style>\n{style}{STYLE}</style>\n\
         </head>\n<body>\n<main>\n<header>\n<p class=\"kicker\">Tidegate · suite {}</p>\n\
         <h1>{title}</h1>\n",
        escape(&suite.name),
    );
    if suite.bound.is_some() {
        answer(page, suite);
    }
    for note in &suite.notes {
        let _ = writeln!(page, "<p class=\"caveat\">{}</p>", escape(note));
    }
    page.push_str("</header>\n");
}

/// Which queue is best, and where it is weakest.
fn answer(page: &mut String, suite: &SuiteResult) {
    let Some(best) = suite.queues.first() else { return };
    page.push_str("<ul class=\"answer\">\n");
    let _ = writeln!(
        page,
        "<li><b>{}</b> passes {} of {} cells{}.</li>",
        escape(&best.label),
        best.passed,
        best.of,
        weakest(suite, best)
    );
    if let Some((last, others)) = suite.queues[1..].split_last() {
        let with = |of: &QueueScore| format!("<b>{}</b> with {}", escape(&of.label), of.passed);
        let near: Vec<String> = others.iter().take(3).map(with).collect();
        let between = match near.len() {
            0 => String::new(),
            1 => format!("Then comes {}; ", near[0]),
            _ => format!("Then come {}; ", near.join(", ")),
        };
        let the = if near.is_empty() { "The" } else { "the" };
        let _ = writeln!(page, "<li>{between}{the} last is {}.</li>", with(last));
    }
    page.push_str("</ul>\n");
}

fn weakest(suite: &SuiteResult, queue: &QueueScore) -> String {
    let known = queue.tests.iter().enumerate().filter_map(|(at, of)| Some((at, of.as_ref()?.sure)));
    let Some((at, sure)) = known.min_by(|a, b| a.1.total_cmp(&b.1)) else { return String::new() };
    let test = &suite.tests[at];
    format!(
        ". It is weakest in <a href=\"#{0}\">{0}, {1}</a>, where the worst user is sure of {2} of a fair share",
        escape(&test.id),
        escape(&test.title),
        share(sure)
    )
}

/// Queues against tests.
fn map(page: &mut String, suite: &SuiteResult) {
    page.push_str(
        "<section>\n<h2>Queues and tests</h2>\n<p class=\"what\">Each field: what the worst user \
         is sure of in the worst cell of the test, as a part of a fair share. It is bold where \
         all cells of the test are passed. A field leads to the test's cells.</p>\n",
    );
    legend(page);
    let shown: Vec<usize> =
        (0..suite.tests.len()).filter(|test| !suite.tests[*test].cells.is_empty()).collect();
    let above: Vec<Head<'_>> = shown
        .iter()
        .map(|test| &suite.tests[*test])
        .map(|test| Head { name: &test.id, title: &test.title, link: test.id.clone() })
        .collect();
    page.push_str("<div class=scroll><table class=heat><thead><tr><th class=text>queue<th>passed");
    heads(page, &above);
    page.push_str("<th>state, kB<th>ns a packet</thead><tbody>\n");
    for queue in &suite.queues {
        let part = 100.0 * queue.passed as f64 / queue.of.max(1) as f64;
        let _ = write!(
            page,
            "<tr><th scope=row>{}<td class=bar><span style=\"--p:{part:.0}%\">{}/{}</span>",
            escape(&queue.label),
            queue.passed,
            queue.of
        );
        let field = |test: &usize| queue.tests.get(*test).copied().flatten();
        fields(page, &above, &shown.iter().map(field).collect::<Vec<_>>(), Links::Each);
        let state = queue.state_bytes.map(|bytes| format!("{:.1}", bytes as f64 / 1e3));
        let ns = queue.ns.map(|ns| format!("{ns:.0}"));
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "–".into());
        let _ = writeln!(page, "<td>{}<td>{}", or_none(state), or_none(ns));
    }
    page.push_str("</tbody></table></div>\n");
    tests(page, suite);
    page.push_str("</section>\n");
}

/// The tests, where there is no map.
fn contents(page: &mut String, suite: &SuiteResult) {
    let cells: usize = suite.tests.iter().map(|test| test.cells.len()).sum();
    let tests_run = suite.tests.iter().filter(|test| !test.cells.is_empty()).count();
    let _ = write!(
        page,
        "<section>\n<h2>Tests</h2>\n<p class=\"what\">{tests_run} tests, {cells} cells, {} \
         queues. This suite measures and does not judge: each table has what a queue did in a \
         cell, with half its 95 % interval in small.</p>\n",
        suite.queues.len()
    );
    tests(page, suite);
    page.push_str("</section>\n");
}

/// The tests that have cells here, each a link to its section.
fn tests(page: &mut String, suite: &SuiteResult) {
    page.push_str("<ol class=tests>\n");
    for test in suite.tests.iter().filter(|test| !test.cells.is_empty()) {
        let (id, title) = (escape(&test.id), escape(&test.title));
        let _ = writeln!(page, "<li><a href=\"#{id}\">{id}</a> {title}</li>");
    }
    page.push_str("</ol>\n");
}
