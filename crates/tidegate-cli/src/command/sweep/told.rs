//! What is printed of a study.
use std::time::Duration;

use tidegate_lab::study::{GroupShare, Prepared, Seeds, Study, Swept, Tables};
use tidegate_report::page::{Block, Page};
use tidegate_report::table::Look;

/// What each group got behind each queue.
pub(super) fn answers(prepared: &Prepared, tables: &Tables) -> String {
    let mut lines = vec![GroupShare::HEAD.map(String::from).to_vec()];
    lines.extend(tables.answers.iter().map(|answer| answer.words(&prepared.study).to_vec()));
    let mut page = Page::default();
    page.add(Block::Table(lines));
    let cells = prepared.study.cells();
    format!(
        "{}\n\n{} cells, {} rows. Shares and starved users are means over cells.\n",
        page.render(&Look::stdout()).trim_end(),
        cells,
        tables.rows
    )
}

/// How a study went.
pub(super) fn swept(prepared: &Prepared, swept: &Swept) -> String {
    let run = match (swept.run, swept.had) {
        (0, had) => format!("All {had} replications were stored already."),
        (run, 0) => format!("Ran {} in {}.", counted(run, "replication"), time(swept.wall)),
        (run, had) => {
            let (run, took) = (counted(run, "replication"), time(swept.wall));
            format!("Ran {run} in {took}; {had} were stored already.")
        }
    };
    format!("{}: {run}", prepared.study.name)
}

/// What would be run.
pub(super) fn plan(prepared: &Prepared, count: u64, estimate: Option<Duration>) -> String {
    let study = &prepared.study;
    let mut out = format!(
        "{} × {}{}: {} at most.\n",
        counted(study.cells(), "cell"),
        counted(study.queues.len() as u64, "queue"),
        seeds(study),
        counted(study.replications(), "replication")
    );
    for axis in &study.axes {
        for (at, setting) in axis.settings.iter().enumerate() {
            let values: Vec<&str> =
                setting.values.iter().take(6).map(|(text, _)| text.as_str()).collect();
            let more = if axis.len() > values.len() { ", …" } else { "" };
            let count = match at {
                0 => counted(axis.len() as u64, "value"),
                _ => format!("in step with {}", axis.settings[0].column),
            };
            out += &format!("  {}: {count}, {}{more}\n", setting.column, values.join(", "));
        }
    }
    const SHOWN: u64 = 10;
    for index in 0..study.cells().min(SHOWN) {
        out += &format!("  cell {index}: {}\n", study.named(&study.cell(index as usize)));
    }
    if study.cells() > SHOWN {
        out += &format!("  … and {} more cells\n", study.cells() - SHOWN);
    }
    out += &match (count, estimate) {
        (0, _) | (_, None) => "Everything is stored already.\n".to_string(),
        (count, Some(time_)) => {
            let verb = if count == 1 { "is" } else { "are" };
            let count = counted(count, "replication");
            format!("{count} {verb} to be run, in about {}.\n", time(time_))
        }
    };
    out
}

fn seeds(study: &Study) -> String {
    match &study.seeds {
        Seeds::Fixed(seeds) => format!(" × {}", counted(*seeds as u64, "seed")),
        Seeds::Until(until) => format!(
            " × {} to {} seeds, until {}.{} is known to {} %",
            until.least,
            until.most,
            until.group,
            until.column,
            until.relative * 100.0
        ),
    }
}

/// So many of what `noun` names.
fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// A time for people.
fn time(span: Duration) -> String {
    let seconds = span.as_secs_f64();
    match seconds {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.1} days", s / 86_400.0),
    }
}
