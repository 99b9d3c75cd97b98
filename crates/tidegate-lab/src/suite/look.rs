//! What the page shows.
use std::path::Path;

use tidegate_report::suite as page;

use super::attack;
use super::book::{Suite, SuiteCell, SuiteLength};
use super::ellipses;
use super::run::SuiteResults;
use super::score::{OfCell, Scores};
use crate::command::line;
use crate::results::VERSION;

/// The page of `results`, which `command` made.
pub fn page(
    suite: &Suite,
    results: &SuiteResults,
    scores: &Scores,
    command: &str,
) -> page::SuiteResult {
    let test = |at: usize| {
        let test = &suite.tests[at];
        let named = suite.figures(at).iter().map(|figure| (figure.heading(), figure.unit()));
        let mine = results.cells.iter().filter(|cell| suite.cells[**cell].test == at);
        page::TestResult {
            id: test.id.clone(),
            title: test.title.clone(),
            asks: test.asks.clone(),
            source: test.source.clone(),
            figures: named.collect(),
            cells: mine.map(|cell| shown(suite, results, scores, *cell)).collect(),
        }
    };
    let queue = |of: &super::score::OfQueue| {
        let sure = |test: usize| {
            let of = of.tests.iter().find(|of| of.test == test)?;
            Some(page::Sure { sure: of.sure, passed: of.passed == of.of })
        };
        page::QueueScore {
            label: results.queues[of.queue].label(),
            passed: of.passed,
            of: of.of,
            tests: (0..suite.tests.len()).map(sure).collect(),
            state_bytes: of.state_bytes,
            ns: of.ns,
        }
    };
    page::SuiteResult {
        name: suite.title(),
        title: suite.title.clone(),
        notes: notes(suite, results),
        bound: suite.bound,
        queues: scores.queues.iter().map(queue).collect(),
        tests: (0..suite.tests.len()).map(test).collect(),
        seeds: results.seeds.len(),
        command: command.into(),
        version: VERSION.into(),
    }
}

fn notes(suite: &Suite, results: &SuiteResults) -> Vec<String> {
    let mut notes = vec![];
    if !suite.frozen {
        notes.push("A draft: cells may still change, and figures with them.".to_string());
    }
    if results.length == SuiteLength::Quick {
        notes.push(
            "A quick run: a part of the cells, short and with few seeds. Its figures are rough."
                .into(),
        );
    } else if results.cells.len() < suite.cells.len() {
        let (run, all) = (results.cells.len(), suite.cells.len());
        notes.push(format!("{run} of the {all} cells were run."));
    }
    notes
}

fn shown(suite: &Suite, results: &SuiteResults, scores: &Scores, at: usize) -> page::CellResult {
    let cell = &suite.cells[at];
    let row = |of: &OfCell| {
        let sure = of.sure.zip(of.passed).map(|(sure, passed)| page::Sure { sure, passed });
        page::CaseScore { sure, figures: of.figures.clone() }
    };
    let best = scores.queues.first().map(|of| results.queues[of.queue].to_string());
    let rows = scores.queues.iter().filter_map(|of| scores.cell(at, of.queue)).map(row);
    page::CellResult {
        name: cell.name.clone(),
        command: command(suite, cell, best),
        counts: counts(suite, cell),
        rows: rows.collect(),
        pictures: results
            .cells
            .iter()
            .position(|cell| *cell == at)
            .map(|index| ellipses::of(suite, results, index))
            .unwrap_or_default(),
    }
}

/// What the flow key makes one user, and as how many users the attackers count; nothing in a suite
/// that only measures.
fn counts(suite: &Suite, cell: &SuiteCell) -> String {
    if suite.bound.is_none() {
        return String::new();
    }
    let users = match attack::counted(&cell.full, &cell.roles) {
        0 => "Nobody attacks.".into(),
        1 => "The attackers count as one user.".into(),
        many => format!("The attackers count as {many} users."),
    };
    format!("Flow key: {}. {users}", cell.full.run.flow_key.0)
}

/// The command that runs one cell by itself, with one queue.
fn command(suite: &Suite, cell: &SuiteCell, queue: Option<String>) -> String {
    let file = Path::new(&suite.file).with_file_name(&cell.file).display().to_string();
    let sets = cell.sets.iter().flat_map(|set| ["--set".into(), set.clone()]);
    let queue = queue.into_iter().flat_map(|queue| ["--queue".into(), queue]);
    line(["run".into(), file].into_iter().chain(sets).chain(queue))
}
