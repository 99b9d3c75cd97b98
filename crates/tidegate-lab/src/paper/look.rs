//! What the pages show: our figures beside the printed ones.
use tidegate_report::papers::{self as page, Experiment, Explanation, Section};

use super::board;
use super::book::{Paper, PaperRun};
use super::claim::Fit;
use super::figure::charts;
use super::readings;
use super::results::{Length, PaperResults};
use super::row::{ClaimRow, rows};

/// What the pages show of `paper`: `experiments` of it.
pub fn page(
    paper: &Paper,
    experiments: &[String],
    results: &PaperResults,
    length: Length,
) -> page::Reproduced {
    let rows = rows(paper, experiments, results);
    let drawn = charts(paper, experiments, results, length);
    let reread = readings::tables(paper, experiments, results);
    let (boards, maps) =
        (board::boards(paper, experiments, results), board::maps(paper, experiments, results));
    let shown = paper.experiments.iter().filter(|e| experiments.contains(&e.id));
    let of = |e: &Experiment| Section {
        experiment: e.clone(),
        claims: rows.iter().filter(|row| row.claim.experiment == e.id).map(claim).collect(),
        charts: of_experiment(&drawn, &e.id),
        explanations: explanations(paper, &rows, &e.id),
        readings: of_experiment(&reread, &e.id),
        boards: of_experiment(&boards, &e.id),
        maps: of_experiment(&maps, &e.id),
        runs: paper
            .runs
            .iter()
            .filter(|run| run.experiment == e.id)
            .map(|run| command(paper, run))
            .collect(),
    };
    let fitted = paper.fitted.iter().map(|fitted| {
        let with = |fit: &Fit| {
            rows.iter().filter(|row| row.claim.fit == *fit).map(claim).collect::<Vec<_>>()
        };
        page::FittedRow {
            parameter: fitted.parameter.clone(),
            targets: with(&Fit::Target(fitted.name.clone())),
            supports: with(&Fit::Support(fitted.name.clone())),
        }
    });
    page::Reproduced {
        folder: paper.folder.clone(),
        key: paper.key.clone(),
        title: paper.title.clone(),
        authors: paper.authors.join(", "),
        venue: paper.venue.clone(),
        sections: shown.map(of).collect(),
        fitted: fitted.collect(),
    }
}

/// What belongs to the experiment called `id`.
fn of_experiment<T: Clone>(all: &[(String, T)], id: &str) -> Vec<T> {
    all.iter().filter(|(experiment, _)| experiment == id).map(|(_, one)| one.clone()).collect()
}

/// The explanations that rows of the experiment called `id` need, in the order of the file.
fn explanations(paper: &Paper, rows: &[ClaimRow<'_>], id: &str) -> Vec<(Explanation, usize)> {
    let mine = |name: &str| {
        rows.iter().filter(|r| r.claim.experiment == id && r.explanation() == Some(name)).count()
    };
    let counted = paper.explanations.iter().map(|reason| (reason.clone(), mine(&reason.name)));
    counted.filter(|(_, claims)| *claims > 0).collect()
}

fn claim(row: &ClaimRow<'_>) -> page::JudgedClaim {
    let c = row.claim;
    page::JudgedClaim {
        experiment: c.experiment.clone(),
        setting: c.setting.clone(),
        queue: c.queue.clone(),
        quantity: c.quantity.to_string(),
        unit: c.unit.to_string(),
        printed: c.text.clone(),
        ours: row.mean(),
        ci95: row.half(),
        ratio: row.ratio(),
        kind: row.verdict.kind(),
        verdict: row.verdict.to_string(),
        place: c.place.clone(),
        explained: row.explanation().unwrap_or_default().into(),
    }
}

/// The command that runs one setting by itself.
fn command(paper: &Paper, run: &PaperRun) -> String {
    let sets: String = run.sets.iter().map(|set| format!(" --set '{set}'")).collect();
    let file = match run.scenario_file.strip_prefix("../") {
        Some(of_another) => of_another.into(),
        None => format!("{}/{}", paper.folder, run.scenario_file),
    };
    format!("tidegate compare papers/{file}{sets} --seeds {}", run.full.run.seeds)
}
