//! What is drawn: the papers' figures, ours.
use tidegate_report::papers::{Chart, ChartLine, FigurePoint};

use crate::replication::stats::figure_of_some;

use super::board;
use super::book::{Paper, PaperRun};
use super::drawn::{FigureKind, FigureSpec, KnownLine};
use super::results::{Length, PaperResults};
use super::table::{self, number};

/// The figures of `experiments` of `paper`, each with the name of its experiment. Experiments
/// without results are left out.
pub fn charts(
    paper: &Paper,
    experiments: &[String],
    results: &PaperResults,
    length: Length,
) -> Vec<(String, Chart)> {
    let asked = paper.figures.iter().filter(|f| experiments.contains(&f.experiment));
    let drawn = asked.filter_map(|figure| {
        Some((figure.experiment.clone(), chart(paper, figure, results, length)?))
    });
    drawn.collect()
}

fn chart(
    paper: &Paper,
    figure: &FigureSpec,
    results: &PaperResults,
    length: Length,
) -> Option<Chart> {
    let lines = match &figure.kind {
        FigureKind::Sweep => sweep(paper, figure, results),
        FigureKind::Time { setting } => over_time(paper, figure, setting, results),
        FigureKind::Flows { setting } => flows(paper, figure, setting, results),
        FigureKind::Known { lines, .. } => lines.iter().map(known).collect(),
    };
    let quick = if length == Length::Quick { " --quick" } else { "" };
    let drawn = format!("tidegate paper run {}{quick} --out DIR", figure.experiment);
    let command = match &figure.kind {
        FigureKind::Known { command: Some(measures), .. } => format!("{measures}; {drawn}"),
        _ => drawn,
    };
    (!lines.is_empty()).then(|| Chart {
        id: figure.id.clone(),
        title: figure.title.clone(),
        x: figure.x.clone(),
        y: figure.y(),
        lines,
        apart: matches!(figure.kind, FigureKind::Flows { .. }),
        command,
    })
}

/// The labels of the queues of some runs, in order.
fn labels<'r>(runs: impl Iterator<Item = &'r PaperRun>) -> Vec<String> {
    let mut labels: Vec<String> = vec![];
    for label in runs.flat_map(|run| run.full.compare.iter().map(|queue| queue.label())) {
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    labels
}

fn known(line: &KnownLine) -> ChartLine {
    let points = line.points.iter().map(|&(x, y)| FigurePoint { x, y, ci95: None });
    ChartLine { name: line.name.clone(), printed: false, points: points.collect() }
}

fn sweep(paper: &Paper, figure: &FigureSpec, results: &PaperResults) -> Vec<ChartLine> {
    let mine = |run: &&PaperRun| {
        run.experiment == figure.experiment && run.reading == figure.reading && run.x.is_some()
    };
    let runs: Vec<&PaperRun> = paper.runs.iter().filter(mine).collect();
    let mut lines = vec![];
    for label in labels(runs.iter().copied()) {
        let point = |run: &&PaperRun| {
            let place = (run.experiment.as_str(), run.setting.as_str(), label.as_str());
            let x = run.x?;
            let ours = results.figure(place, &figure.quantity_at(x), figure.unit)?;
            Some(FigurePoint { x, y: ours.mean(), ci95: ours.ci95() })
        };
        let ours: Vec<FigurePoint> = runs.iter().filter_map(point).collect();
        let printed = paper.claims.iter().filter(|c| c.queue == label && c.unit == figure.unit);
        let printed = printed.filter_map(|claim| {
            let run = runs
                .iter()
                .find(|run| run.experiment == claim.experiment && run.setting == claim.setting)?;
            let x = run.x.filter(|x| claim.quantity == figure.quantity_at(*x))?;
            Some(FigurePoint { x, y: claim.figure()?.mean(), ci95: None })
        });
        let printed: Vec<FigurePoint> = printed.collect();
        for (points, of_paper) in [(ours, false), (printed, true)] {
            if !points.is_empty() {
                lines.push(ChartLine { name: label.clone(), printed: of_paper, points });
            }
        }
    }
    lines
}

fn over_time(
    paper: &Paper,
    figure: &FigureSpec,
    setting: &str,
    results: &PaperResults,
) -> Vec<ChartLine> {
    let runs =
        paper.runs.iter().filter(|r| r.experiment == figure.experiment && r.setting == setting);
    let line = |label: String| {
        let first = *results.of(&figure.experiment, setting, &label)?.first()?;
        let series = first.series.as_ref()?;
        let values = &figure.quantity.line(series)?.values;
        let unit = figure.unit.per_base(1.0, 1.0);
        let point =
            |(x, y): (&f64, &Option<f64>)| Some(FigurePoint { x: *x, y: (*y)? * unit, ci95: None });
        let points: Vec<FigurePoint> = series.time_s.iter().zip(values).filter_map(point).collect();
        (!points.is_empty()).then_some(ChartLine { name: label, printed: false, points })
    };
    labels(runs).into_iter().filter_map(line).collect()
}

fn flows(
    paper: &Paper,
    figure: &FigureSpec,
    setting: &str,
    results: &PaperResults,
) -> Vec<ChartLine> {
    let runs =
        paper.runs.iter().filter(|r| r.experiment == figure.experiment && r.setting == setting);
    let unit = figure.unit.per_base(1.0, 1.0);
    let line = |label: String| {
        let all = results.of(&figure.experiment, setting, &label)?;
        let count = all.first()?.document.flows.as_ref()?.len();
        let point = |flow: usize| {
            let of = |r: &super::cell::Replication| {
                Some(r.document.flows.as_ref()?.get(flow)?.throughput_bps?.mean() * unit)
            };
            let ours = figure_of_some(all.iter().copied().map(of))?;
            Some(FigurePoint { x: flow as f64, y: ours.mean(), ci95: None })
        };
        Some(ChartLine {
            name: label,
            printed: false,
            points: (0..count).filter_map(point).collect(),
        })
    };
    labels(runs).into_iter().filter_map(line).collect()
}

/// The columns of the table of points.
const COLUMNS: [&str; 7] = ["paper", "figure", "what", "queue", "x", "ours", "ci95"];

/// The points of the sweeps and of the boards of `papers` as a table of comma-separated values.
pub fn points(papers: &[Paper], experiments: &[String], results: &PaperResults) -> String {
    let mut rows = vec![];
    for paper in papers {
        let sweeps = paper
            .figures
            .iter()
            .filter(|f| f.kind == FigureKind::Sweep && experiments.contains(&f.experiment));
        for chart in sweeps.filter_map(|figure| chart(paper, figure, results, Length::Full)) {
            for line in chart.lines.iter().filter(|line| !line.printed) {
                rows.extend(
                    line.points
                        .iter()
                        .map(|point| fields(&paper.folder, &chart, &line.name, point)),
                );
            }
        }
        rows.extend(board::points(paper, experiments, results));
    }
    table::written(&COLUMNS, rows.into_iter())
}

fn fields(folder: &str, chart: &Chart, queue: &str, point: &FigurePoint) -> Vec<String> {
    let half = point.ci95.map_or(String::new(), number);
    vec![
        folder.into(),
        chart.id.clone(),
        chart.y.clone(),
        queue.into(),
        number(point.x),
        number(point.y),
        half,
    ]
}
