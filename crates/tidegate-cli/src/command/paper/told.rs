//! What is printed of claims: for a terminal, and as JSON.
use serde_json::{Value, json};
use tidegate_lab::paper::{ClaimRow, ClaimVerdict, Paper};
use tidegate_report::page::{Block, Page};
use tidegate_report::papers::KINDS;
use tidegate_report::table::Look;

pub(super) fn object(row: &ClaimRow<'_>) -> Value {
    let c = row.claim;
    json!({
        "paper": row.paper, "experiment": c.experiment, "setting": c.setting, "queue": c.queue,
        "quantity": c.quantity.to_string(), "unit": c.unit.to_string(), "printed": c.text,
        "place": c.place,
        "ours": row.ours.map(|f| f.mean()), "ci95": row.ours.and_then(|f| f.ci95()),
        "verdict": row.verdict.kind(),
        "reason": row.reason(), "explained": row.explanation(),
    })
}

/// The rows for a terminal.
pub(super) fn table(rows: &[ClaimRow<'_>]) -> String {
    let head = ["", "setting", "queue", "quantity", "printed", "ours", "verdict"];
    let mut lines = vec![head.map(String::from).to_vec()];
    for row in rows {
        let [_, experiment, setting, queue, quantity, unit, printed, ours, half, _, verdict, ..] =
            row.fields();
        let ours = if half.is_empty() { ours } else { format!("{ours} ± {half}") };
        let quantity = if unit.is_empty() { quantity } else { format!("{quantity}, {unit}") };
        lines.push(vec![experiment, setting, queue, quantity, printed, ours, verdict]);
    }
    let mut page = Page::default();
    page.add(Block::Table(lines));
    page.render(&Look::stdout()) + "\n"
}

/// How many claims have which verdict.
pub(super) fn summary(rows: &[ClaimRow<'_>]) -> String {
    let count = |kind: &&str| rows.iter().filter(|row| row.verdict.kind() == *kind).count();
    let parts: Vec<String> = KINDS
        .iter()
        .map(|kind| (kind, count(kind)))
        .filter(|(_, n)| *n > 0)
        .map(|(kind, n)| format!("{n} {}", if n == 1 { kind } else { of_several(kind) }))
        .collect();
    if parts.is_empty() {
        "No claims.\n".into()
    } else {
        format!("{}: {}.\n", claims(rows.len()), parts.join("; "))
    }
}

/// A verdict on more than one claim.
fn of_several(kind: &'static str) -> &'static str {
    match kind {
        "holds" => "hold",
        "holds under a reading" => "hold under a reading",
        "differs" => "differ",
        other => other,
    }
}

pub(super) fn claims(count: usize) -> String {
    if count == 1 { "1 claim".into() } else { format!("{count} claims") }
}

/// Why claims differ, each reason once, and what speaks against the readings under which some hold.
pub(super) fn reasons(papers: &[Paper], rows: &[ClaimRow<'_>]) -> String {
    let mut text = String::new();
    for paper in papers {
        for reading in paper.readings.iter().flat_map(|table| &table.readings) {
            let Some(against) = &reading.contradicted else { continue };
            let under = |row: &&ClaimRow<'_>| {
                row.paper == paper.folder
                    && row.verdict == ClaimVerdict::HoldsUnder(reading.name.clone())
            };
            let count = rows.iter().filter(under).count();
            if count > 0 {
                let (claims, hold) = (claims(count), if count == 1 { "holds" } else { "hold" });
                text += &format!(
                    "\n{claims} of {} {hold} under {}. Against that reading: {}\n",
                    paper.folder,
                    reading.name,
                    against.trim()
                );
            }
        }
    }
    for (paper, explanation) in
        papers.iter().flat_map(|p| p.explanations.iter().map(move |e| (p, e)))
    {
        let mine = |row: &&ClaimRow<'_>| {
            row.paper == paper.folder && row.explanation() == Some(&explanation.name)
        };
        let count = rows.iter().filter(mine).count();
        if count > 0 {
            let differ = if count == 1 { "differs" } else { "differ" };
            text += &format!(
                "\nWhy {} of {} {differ} ({}):\n{}\n",
                claims(count),
                paper.folder,
                explanation.name,
                explanation.why.trim()
            );
        }
    }
    text
}
