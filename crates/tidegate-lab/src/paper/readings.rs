//! Claims under other readings of the text: the same rows, a column for each reading.
use tidegate_report::papers as page;

use super::book::{Paper, Reading, Readings};
use super::claim::Claim;
use super::results::PaperResults;
use super::row::{self, ClaimRow};
use super::table;
use super::verdict::ClaimVerdict;

/// What the experiment's own reading is called.
const OWN: &str = "as run";

/// The claims that `table` shows under one reading, which results know as `under`.
fn judged<'p>(
    paper: &'p Paper,
    table: &Readings,
    under: &str,
    results: &PaperResults,
) -> Vec<ClaimRow<'p>> {
    table.claims(paper).map(|claim| row::row(paper, claim, under, results)).collect()
}

/// Name and rows of each reading of `table`, the experiment's own first.
fn all<'p>(
    paper: &'p Paper,
    table: &Readings,
    results: &PaperResults,
) -> Vec<(String, Vec<ClaimRow<'p>>)> {
    let own = (OWN.to_string(), judged(paper, table, &table.experiment, results));
    let others = table
        .readings
        .iter()
        .map(|reading| (reading.name.clone(), judged(paper, table, reading.under(), results)));
    [own].into_iter().chain(others).collect()
}

/// The tables of `experiments` that the pages show, each with the name of its experiment.
pub(super) fn tables(
    paper: &Paper,
    experiments: &[String],
    results: &PaperResults,
) -> Vec<(String, page::ReadingsTable)> {
    let asked = paper.readings.iter().filter(|table| experiments.contains(&table.experiment));
    let table = |table: &Readings| {
        let readings = all(paper, table, results);
        let cell = |row: &ClaimRow<'_>| page::FigureCell {
            text: row.mean(),
            half: row.half(),
            kind: kind(row),
        };
        let rows = table.claims(paper).enumerate().map(|(i, claim)| page::Reread {
            claim: named(claim),
            printed: claim.text.clone(),
            cells: readings.iter().map(|(_, rows)| cell(&rows[i])).collect(),
        });
        let shown = page::ReadingsTable {
            id: table.id.clone(),
            title: table.title.clone(),
            finding: table.finding.clone(),
            names: readings.iter().map(|(name, _)| name.clone()).collect(),
            contradicted: contradicted(table),
            rows: rows.collect(),
            met: readings.iter().map(|(_, rows)| met(rows)).collect(),
        };
        (table.experiment.clone(), shown)
    };
    asked.map(table).collect()
}

/// The readings of `table` under which claims may hold, each with what speaks against it.
fn contradicted(table: &Readings) -> Vec<(String, String)> {
    let against = |reading: &Reading| Some((reading.name.clone(), reading.contradicted.clone()?));
    table.readings.iter().filter_map(against).collect()
}

/// Setting, queue, quantity and unit in one text.
fn named(claim: &Claim) -> String {
    let (quantity, unit) = (claim.quantity.to_string(), claim.unit.to_string());
    let parts = [claim.setting.as_str(), &claim.queue, &quantity, &unit];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// The verdict's kind; empty where this reading has no figure.
fn kind(row: &ClaimRow<'_>) -> &'static str {
    if row.ours.is_some() { row.verdict.kind() } else { "" }
}

/// How many of the claims that this reading has figures for it meets, fitted ones included.
fn met(rows: &[ClaimRow<'_>]) -> String {
    let told = |row: &&ClaimRow<'_>| {
        row.ours.is_some() && !matches!(row.verdict, ClaimVerdict::Unchecked(_))
    };
    let all = rows.iter().filter(told).count();
    let met = rows
        .iter()
        .filter(|row| matches!(row.verdict, ClaimVerdict::Holds | ClaimVerdict::Fitted))
        .count();
    if all == 0 { String::new() } else { format!("{met} of {all}") }
}

/// The columns of the table of all readings.
const COLUMNS: [&str; 11] = [
    "paper", "table", "reading", "setting", "queue", "quantity", "unit", "printed", "ours", "ci95",
    "verdict",
];

/// The claims of `experiments` of `papers` under other readings as a table of comma-separated
/// values.
pub fn csv(papers: &[Paper], experiments: &[String], results: &PaperResults) -> String {
    let mut lines = vec![];
    for paper in papers {
        for table in paper.readings.iter().filter(|table| experiments.contains(&table.experiment)) {
            for (name, rows) in all(paper, table, results) {
                let known = rows.iter().filter(|row| row.ours.is_some());
                lines.extend(known.map(|row| {
                    let [
                        folder,
                        _,
                        setting,
                        queue,
                        quantity,
                        unit,
                        printed,
                        ours,
                        half,
                        _,
                        verdict,
                        ..,
                    ] = row.fields();
                    let (id, name) = (table.id.clone(), name.clone());
                    vec![
                        folder, id, name, setting, queue, quantity, unit, printed, ours, half,
                        verdict,
                    ]
                }));
            }
        }
    }
    table::written(&COLUMNS, lines.into_iter())
}
