//! What is asked for, run: what is stored is read, the rest goes through the engine of studies.
use std::path::Path;

use crate::replication::{News, RunError, Watch};
use crate::scenario::Scenario;
use crate::study::{Due, Keeps, RunsError, Store, StoreError, fill, weight};

use super::book::{Paper, PaperRun};
use super::cell::{self, PaperCase};
use super::drawn::{BoardColumn, FigureKind};
use super::quantity::Quantity;
use super::results::{CaseSeeds, Length, PaperResults};

/// Replications of a quick run.
const QUICK_SEEDS: u32 = 3;

/// What to run.
#[derive(Clone, Debug)]
pub struct PaperRequest<'p> {
    /// The papers.
    pub papers: &'p [Paper],
    /// Names of experiments; others are left out.
    pub experiments: Vec<String>,
    /// How long replications are.
    pub length: Length,
    /// How many, if not as many as the length says.
    pub seeds: Option<u32>,
    /// Whether to leave out what the tests do not run.
    pub only_tested: bool,
}

impl PaperRequest<'_> {
    /// The runs, each with its paper.
    fn runs(&self) -> impl Iterator<Item = (&Paper, &PaperRun)> {
        let all =
            self.papers.iter().flat_map(|paper| paper.all_runs().map(move |run| (paper, run)));
        all.filter(|(_, run)| {
            self.experiments.contains(&run.experiment) && (run.tested || !self.only_tested)
        })
    }

    /// The scenario of `run` as it is run here.
    fn scenario(&self, run: &PaperRun) -> Scenario {
        let (mut scenario, usual) = match self.length {
            Length::Full => (run.full.clone(), run.full.run.seeds),
            Length::Quick => (run.quick.clone(), QUICK_SEEDS),
        };
        scenario.run.seeds = self.seeds.unwrap_or(usual);
        scenario
    }
}

/// What the claims and figures of `paper` need of `run`, or of another run that simulates the same.
fn keeps(paper: &Paper, run: &PaperRun) -> Keeps {
    let same = paper
        .all_runs()
        .filter(|other| other.scenario_file == run.scenario_file && other.sets == run.sets);
    same.map(|run| own_keeps(paper, run)).fold(Keeps::default(), Keeps::and)
}

fn own_keeps(paper: &Paper, run: &PaperRun) -> Keeps {
    let of = |quantity: &Quantity| Keeps {
        flows: quantity.needs_flows(),
        series: quantity.needs_series(),
    };
    let claims =
        paper.claims.iter().filter(|c| c.experiment == run.experiment && c.setting == run.setting);
    let figures =
        paper.figures.iter().filter(|f| f.experiment == run.experiment).map(|figure| match &figure
            .kind
        {
            FigureKind::Sweep if figure.reading == run.reading && run.x.is_some() => {
                of(&figure.quantity)
            }
            FigureKind::Time { setting } if *setting == run.setting => {
                Keeps { flows: false, series: true }
            }
            FigureKind::Flows { setting } if *setting == run.setting => {
                Keeps { flows: true, series: false }
            }
            _ => Keeps::default(),
        });
    let boards = paper.boards.iter().filter(|board| board.experiment == run.experiment);
    let columns = boards
        .flat_map(|board| board.columns.iter().chain(&board.map))
        .filter_map(BoardColumn::quantity)
        .map(of);
    // Other readings are not drawn.
    let drawn = figures.chain(columns).filter(|_| run.under == run.experiment);
    claims.map(|claim| of(&claim.quantity)).chain(drawn).fold(Keeps::default(), Keeps::and)
}

/// The folder of the store in an output directory.
const STORE: &str = "store";

/// Runs what is asked for; what is stored in `dir` is taken from there, and what is done is stored
/// there while it goes on.
///
/// # Errors
/// A queue or network that cannot be; a store that fails; `watch` says so.
pub fn run(
    asked: &PaperRequest<'_>,
    dir: Option<&Path>,
    watch: &dyn Watch,
) -> Result<PaperResults, RunsError> {
    let mut results = PaperResults::default();
    let mut cells: Vec<PaperCase> = vec![];
    for (paper, run) in asked.runs() {
        let scenario = asked.scenario(run);
        for queue in &scenario.compare {
            let cell = PaperCase::new(&scenario, queue, keeps(paper, run));
            let name = (run.under.clone(), run.setting.clone(), queue.label());
            // A cell that stands at several places may have more seeds at one of them.
            let place = CaseSeeds { key: cell.key, seeds: scenario.seeds() };
            results.places.insert(name, place);
            match cells.iter_mut().find(|known| known.key == cell.key) {
                Some(known) if known.scenario.run.seeds >= cell.scenario.run.seeds => {}
                Some(known) => *known = cell,
                None => cells.push(cell),
            }
        }
    }
    // Without a directory, a store that goes when the results are there.
    let passing = tempfile::tempdir();
    let passing = passing.map_err(|error| StoreError::io(&std::env::temp_dir(), &error))?;
    let dir = dir.map_or_else(|| passing.path().join(STORE), |dir| dir.join(STORE));
    let mut store = Store::open(&dir, cell::empty())?;
    let due = |cell: &PaperCase| Due {
        key: cell.key,
        seeds: cell.scenario.seeds(),
        weight: weight(&cell.scenario),
    };
    let due: Vec<Due> = cells.iter().map(due).collect();
    let one = |case: usize, seed, news: &News<'_>| cells[case].run(seed, due[case].weight, news);
    fill(&due, &mut store, cell::empty(), &one, watch)?;
    if watch.cancelled() {
        return Err(RunError::Cancelled.into());
    }
    for cell in &cells {
        for seed in cell.scenario.seeds() {
            let rows = store.rows(&cell.key, seed)?;
            let replication = rows.as_ref().and_then(cell::read);
            results.replications.extend(replication.map(|found| ((cell.key, seed), found)));
        }
    }
    Ok(results)
}
