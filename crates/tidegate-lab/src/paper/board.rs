//! Tables that set queues side by side in each setting of an experiment, and one quantity of all of
//! them as a map.
use tidegate_report::{Figure, papers as page};

use crate::reader::Table;
use crate::spec::QueueSpec;

use super::book::{Paper, PaperRun};
use super::drawn::{BoardColumn, BoardSpec};
use super::results::PaperResults;
use super::table::number;
use crate::folder::Description;

/// The name of the file that says what a packet costs in each queue.
const COSTS: &str = "cost.csv";

impl Description<'_, '_, '_> {
    pub(super) fn board(&mut self, table: &Table<'_>, paper: &Paper) -> Option<BoardSpec> {
        self.reader.only(table, "a [[board]]", &["experiment", "id", "title", "columns", "map"]);
        let experiment = self.text(table, "experiment");
        if paper.experiment(&experiment).is_none() {
            self.unknown_experiment(table, &experiment, paper);
        }
        let map = match self.reader.text(table, "map") {
            Some(text) => Some(self.column(table, "map", &text)?),
            None => None,
        };
        let columns = self.strings(table, "columns");
        let columns: Option<Vec<BoardColumn>> =
            columns.iter().map(|text| self.column(table, "columns", text)).collect();
        let costs = self.costs(table);
        let (id, title) = (self.text(table, "id"), self.text(table, "title"));
        Some(BoardSpec { experiment, id, title, columns: columns?, map, costs })
    }

    fn column(&mut self, table: &Table<'_>, key: &str, text: &str) -> Option<BoardColumn> {
        text.parse().map_err(|why: String| self.reader.refuse_key(table, key, why)).ok()
    }

    /// The lines `queue,ns` of the file of costs; none without the file.
    fn costs(&mut self, table: &Table<'_>) -> Vec<(String, f64)> {
        let Some(text) = self.folder.file(COSTS) else { return vec![] };
        let rows = text.lines().skip(1).filter(|line| !line.is_empty());
        let costs: Option<Vec<(String, f64)>> = rows
            .map(|line| {
                let (queue, ns) = line.split_once(',')?;
                Some((queue.to_string(), ns.parse().ok().filter(|ns: &f64| ns.is_finite())?))
            })
            .collect();
        if costs.is_none() {
            self.reader.refuse_key(
                table,
                "id",
                format!("{COSTS} beside it must have lines `queue,ns`"),
            );
        }
        costs.unwrap_or_default()
    }
}

impl BoardColumn {
    fn figure(
        &self,
        board: &BoardSpec,
        run: &PaperRun,
        queue: &QueueSpec,
        results: &PaperResults,
    ) -> Option<Figure> {
        match self {
            BoardColumn::Of(quantity, unit) => {
                results.figure((&run.under, &run.setting, &queue.label()), quantity, *unit)
            }
            BoardColumn::State => {
                let link = run.full.bottleneck();
                let bytes = queue.resolve(&link).ok()?.state_bytes(&link);
                Figure::exact(bytes as f64 / 1e3)
            }
            BoardColumn::Cost => board
                .costs
                .iter()
                .find(|(name, _)| *name == queue.name)
                .and_then(|row| Figure::exact(row.1)),
        }
    }

    fn digits(&self) -> usize {
        match self {
            BoardColumn::Of(_, unit) => unit.digits().min(3),
            BoardColumn::State | BoardColumn::Cost => 1,
        }
    }
}

/// The runs of a board's experiment that have results.
fn runs<'p>(paper: &'p Paper, board: &BoardSpec, results: &PaperResults) -> Vec<&'p PaperRun> {
    paper.runs.iter().filter(|run| run.experiment == board.experiment && results.has(run)).collect()
}

/// The tables of `experiments`, each with the name of its experiment.
pub(super) fn boards(
    paper: &Paper,
    experiments: &[String],
    results: &PaperResults,
) -> Vec<(String, page::Board)> {
    let mut pages = vec![];
    for board in paper.boards.iter().filter(|board| experiments.contains(&board.experiment)) {
        for run in runs(paper, board, results) {
            let row = |queue: &QueueSpec| {
                let cell = |column: &BoardColumn| match column.figure(board, run, queue, results) {
                    Some(figure) => page::FigureCell {
                        text: format!("{:.*}", column.digits(), figure.mean()),
                        half: figure
                            .ci95()
                            .map_or(String::new(), |half| format!("{half:.*}", column.digits())),
                        ..page::FigureCell::default()
                    },
                    None => page::FigureCell { text: "–".into(), ..page::FigureCell::default() },
                };
                (queue.label(), board.columns.iter().map(cell).collect())
            };
            let title = format!("{}: {}", board.title, run.setting);
            let columns = board.columns.iter().map(BoardColumn::to_string).collect();
            let rows = run.full.compare.iter().map(row).collect();
            pages.push((board.experiment.clone(), page::Board { title, columns, rows }));
        }
    }
    pages
}

/// The maps of `experiments`, each with the name of its experiment.
pub(super) fn maps(
    paper: &Paper,
    experiments: &[String],
    results: &PaperResults,
) -> Vec<(String, page::HeatMap)> {
    let asked = paper.boards.iter().filter(|board| experiments.contains(&board.experiment));
    let map = |board: &BoardSpec| {
        let drawn = board.map.as_ref()?;
        let runs = runs(paper, board, results);
        let queues = runs.first()?.full.compare.clone();
        let row = |queue: &QueueSpec| {
            let cell = |run: &&PaperRun| Some(drawn.figure(board, run, queue, results)?.mean());
            (queue.label(), runs.iter().map(cell).collect())
        };
        Some((
            board.experiment.clone(),
            page::HeatMap {
                id: board.id.clone(),
                title: format!("{}: {drawn}", board.title),
                columns: runs.iter().map(|run| run.setting.clone()).collect(),
                rows: queues.iter().map(row).collect(),
                command: format!("tidegate paper run {} --out DIR", board.experiment),
            },
        ))
    };
    asked.filter_map(map).collect()
}

/// The cells of the boards as rows of the table of points.
pub(super) fn points(
    paper: &Paper,
    experiments: &[String],
    results: &PaperResults,
) -> Vec<Vec<String>> {
    let mut rows = vec![];
    for board in paper.boards.iter().filter(|board| experiments.contains(&board.experiment)) {
        for run in runs(paper, board, results) {
            for (queue, column) in
                run.full.compare.iter().flat_map(|q| board.columns.iter().map(move |c| (q, c)))
            {
                // What a packet costs is no result of these runs.
                let figure = if *column == BoardColumn::Cost {
                    None
                } else {
                    column.figure(board, run, queue, results)
                };
                let Some(figure) = figure else { continue };
                let half = figure.ci95().map_or(String::new(), number);
                let mean = number(figure.mean());
                let (folder, id) = (paper.folder.clone(), board.id.clone());
                rows.push(vec![
                    folder,
                    id,
                    column.to_string(),
                    queue.label(),
                    run.setting.clone(),
                    mean,
                    half,
                ]);
            }
        }
    }
    rows
}
