//! What is asked for, run: cells that are stored are read, the others simulated side by side and
//! stored one by one.
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use rayon::prelude::*;

use crate::replication::{Configs, Job, News, PIECES, RunError, Watch, document, replicate};
use crate::results::WriteError;
use crate::scenario::Scenario;

use super::book::{Paper, Run};
use super::cell::{Cell, Keeps, Replication};
use super::drawn::{Column, Kind};
use super::quantity::Quantity;
use super::results::{Length, Results};

/// Replications of a quick run.
const QUICK_SEEDS: u32 = 3;

/// What to run.
#[derive(Clone, Debug)]
pub struct Asked<'p> {
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

impl Asked<'_> {
    /// The runs, each with its paper.
    fn runs(&self) -> impl Iterator<Item = (&Paper, &Run)> {
        let all =
            self.papers.iter().flat_map(|paper| paper.all_runs().map(move |run| (paper, run)));
        all.filter(|(_, run)| {
            self.experiments.contains(&run.experiment) && (run.tested || !self.only_tested)
        })
    }

    /// The scenario of `run` as it is run here.
    fn scenario(&self, run: &Run) -> Scenario {
        let (mut scenario, usual) = match self.length {
            Length::Full => (run.full.clone(), run.full.run.seeds),
            Length::Quick => (run.quick.clone(), QUICK_SEEDS),
        };
        scenario.run.seeds = self.seeds.unwrap_or(usual);
        scenario
    }
}

/// Why there are no results.
#[derive(Debug)]
pub enum PaperError {
    /// A run failed, or was given up.
    Run(RunError),
    /// A cell could not be stored.
    Store(WriteError),
}

impl fmt::Display for PaperError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PaperError::Run(error) => error.fmt(f),
            PaperError::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PaperError {}

impl From<RunError> for PaperError {
    fn from(error: RunError) -> PaperError {
        PaperError::Run(error)
    }
}

/// What the claims and figures of `paper` need of `run`, or of another run that simulates the same.
fn keeps(paper: &Paper, run: &Run) -> Keeps {
    let same = paper
        .all_runs()
        .filter(|other| other.scenario_file == run.scenario_file && other.sets == run.sets);
    same.map(|run| own_keeps(paper, run)).fold(Keeps::default(), Keeps::and)
}

fn own_keeps(paper: &Paper, run: &Run) -> Keeps {
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
            Kind::Sweep if figure.reading == run.reading && run.x.is_some() => of(&figure.quantity),
            Kind::Time { setting } if *setting == run.setting => {
                Keeps { flows: false, series: true }
            }
            Kind::Flows { setting } if *setting == run.setting => {
                Keeps { flows: true, series: false }
            }
            _ => Keeps::default(),
        });
    let boards = paper.boards.iter().filter(|board| board.experiment == run.experiment);
    let columns = boards
        .flat_map(|board| board.columns.iter().chain(&board.map))
        .filter_map(Column::quantity)
        .map(of);
    // Other readings are not drawn.
    let drawn = figures.chain(columns).filter(|_| run.under == run.experiment);
    claims.map(|claim| of(&claim.quantity)).chain(drawn).fold(Keeps::default(), Keeps::and)
}

/// Runs what is asked for; what is stored in `dir` is taken from there, and each cell is stored
/// there when it is done.
///
/// # Errors
/// A queue or network that cannot be; a cell that cannot be stored; `watch` says so.
pub fn run(
    asked: &Asked<'_>,
    dir: Option<&Path>,
    watch: &dyn Watch,
) -> Result<Results, PaperError> {
    let mut results = Results::default();
    let mut missing: BTreeMap<String, Cell> = BTreeMap::new();
    for (paper, run) in asked.runs() {
        let scenario = asked.scenario(run);
        for queue in &scenario.compare {
            let cell = Cell::new(&scenario, queue, keeps(paper, run));
            let name = (run.under.clone(), run.setting.clone(), queue.label());
            results.names.insert(name, cell.name().into());
            if results.cells.contains_key(cell.name()) || missing.contains_key(cell.name()) {
                continue;
            }
            match dir.and_then(|dir| cell.load(dir)) {
                Some(replications) => drop(results.cells.insert(cell.name().into(), replications)),
                None => drop(missing.insert(cell.name().into(), cell)),
            }
        }
    }
    let missing: Vec<Cell> = missing.into_values().collect();
    let done = simulate(&missing, dir, watch)?;
    results.cells.extend(missing.iter().map(|cell| cell.name().to_string()).zip(done));
    Ok(results)
}

fn simulate(
    cells: &[Cell],
    dir: Option<&Path>,
    watch: &dyn Watch,
) -> Result<Vec<Vec<Replication>>, PaperError> {
    let replications = cells.iter().map(|c| c.scenario.run.seeds as usize).sum();
    let pieces =
        cells.iter().map(|c| weight(&c.scenario) * PIECES * c.scenario.run.seeds as u64).sum();
    let news = News::new(watch, replications, pieces);
    let one = |cell: &Cell| -> Result<Vec<Replication>, PaperError> {
        let seeds = cell.scenario.seeds();
        let all: Result<Vec<_>, RunError> =
            seeds.par_iter().map(|seed| of_seed(cell, *seed, &news)).collect();
        let all = all?;
        if let Some(dir) = dir {
            cell.store(dir, &all).map_err(PaperError::Store)?;
        }
        Ok(all)
    };
    // The longest first, so that no core is left with one at the end.
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(weight(&cells[i].scenario)));
    let done: Result<Vec<(usize, Vec<Replication>)>, PaperError> =
        order.par_iter().with_max_len(1).map(|&i| Ok((i, one(&cells[i])?))).collect();
    let mut done = done?;
    done.sort_by_key(|(i, _)| *i);
    if watch.cancelled() {
        Err(RunError::Cancelled.into())
    } else {
        Ok(done.into_iter().map(|(_, all)| all).collect())
    }
}

/// About how much work a replication is: thousands of packets that its bottleneck can carry.
fn weight(scenario: &Scenario) -> u64 {
    let link = scenario.bottleneck();
    let packets = link.rate.as_bps() as f64 * scenario.run.duration.as_secs()
        / link.mean_packet.bits() as f64;
    1 + (packets / 1e3) as u64
}

/// One replication of a cell.
fn of_seed(cell: &Cell, seed: u64, news: &News<'_>) -> Result<Replication, RunError> {
    let mut scenario = cell.scenario.clone();
    (scenario.run.seed, scenario.run.seeds) = (seed, 1);
    let configs = Configs::new(&scenario, &cell.queue).map_err(RunError::Invalid)?;
    let weight = weight(&scenario);
    let job = Job {
        scenario,
        queues: vec![cell.queue.clone()],
        flows: cell.keeps.flows,
        series: cell.keeps.series,
        threads: None,
    };
    let (sample, series) = replicate(&job, &configs, seed, job.series, &news.of_weight(weight))?;
    let document = document(&job, &configs.spec, &configs.watched, &[sample]);
    Ok(Replication { document, series })
}
