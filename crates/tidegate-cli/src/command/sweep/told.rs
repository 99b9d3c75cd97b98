//! What is told of a study.
use std::time::Duration;

use tidegate_lab::study::{Answer, Prepared, Seeds, Study, Swept, Tables};
use tidegate_report::page::{Block, Page};
use tidegate_report::table::Look;

/// What each group got behind each queue.
pub(super) fn answers(prepared: &Prepared, tables: &Tables) -> String {
    let head = ["queue", "group", "% of fair share", "least of all cells", "in the cell"];
    let mut lines = vec![head.map(String::from).to_vec()];
    for answer in &tables.answers {
        let Answer { queue, group, mean, least, worst, .. } = answer;
        let cell = prepared.study.named(&prepared.study.cell(*worst));
        let percent = |share: &f64| format!("{:.1}", share * 100.0);
        lines.push(vec![queue.clone(), group.clone(), percent(mean), percent(least), cell]);
    }
    let mut page = Page::default();
    page.add(Block::Table(lines));
    let cells = prepared.study.cells();
    format!(
        "{}\n\n{} cells, {} rows. Shares are means over cells.\n",
        page.render(&Look::stdout()).trim_end(),
        cells,
        tables.rows
    )
}

/// How a study went.
pub(super) fn swept(prepared: &Prepared, swept: &Swept) -> String {
    let run = match (swept.run, swept.had) {
        (0, had) => format!("All {had} replications were stored already."),
        (run, 0) => format!("Ran {run} replications in {}.", time(swept.wall)),
        (run, had) => {
            format!("Ran {run} replications in {}; {had} were stored already.", time(swept.wall))
        }
    };
    format!("{}: {run}", prepared.study.name)
}

/// What would be run.
pub(super) fn plan(prepared: &Prepared, count: u64, estimate: Option<Duration>) -> String {
    let study = &prepared.study;
    let mut out = format!(
        "{} cells × {} queues{}: {} replications at most.\n",
        study.cells(),
        study.queues.len(),
        seeds(study),
        study.replications()
    );
    for axis in &study.axes {
        for setting in &axis.settings {
            let values: Vec<&str> =
                setting.values.iter().take(6).map(|(text, _)| text.as_str()).collect();
            let more = if axis.len() > values.len() { ", …" } else { "" };
            let (name, count) = (&setting.column, axis.len());
            out += &format!("  {name}: {count} values, {}{more}\n", values.join(", "));
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
            format!("{count} replications are to be run, in about {}.\n", time(time_))
        }
    };
    out
}

fn seeds(study: &Study) -> String {
    match &study.seeds {
        Seeds::Fixed(seeds) => format!(" × {seeds} seeds"),
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
