//! What is asked of a suite, run: what is stored is read, the rest goes through the engine of
//! studies.
use std::path::Path;

use tidegate_report::Tidy;
use tidegate_report::tidy::{Column, Values};

use crate::problem::{Place, Problem, Problems};
use crate::replication::{Configs, Job, News, RunError, Watch, replicate};
use crate::scenario::Scenario;
use crate::spec::QueueSpec;
use crate::study::{self, CaseKey, Due, Keeps, Part, RunsError, Store, StoreError, fill, weight};

use super::aim::aimed;
use super::attack::{self, AttackFairRates};
use super::book::{Suite, SuiteCell, SuiteLength};

/// What is run of a suite.
#[derive(Clone, Debug)]
pub struct SuiteRequest<'s> {
    /// The suite.
    pub suite: &'s Suite,
    /// The places of the tests.
    pub tests: Vec<usize>,
    /// The queues.
    pub queues: Vec<QueueSpec>,
    /// How long replications are.
    pub length: SuiteLength,
    /// How many, if not as many as the suite says.
    pub seeds: Option<u32>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct SuiteResults {
    /// The places of the cells that were run.
    pub cells: Vec<usize>,
    /// The queues.
    pub queues: Vec<QueueSpec>,
    /// How long replications were.
    pub length: SuiteLength,
    /// The seeds of each cell.
    pub seeds: Vec<u64>,
    /// What each seed says of each group: of every queue in the first cell, then in the next.
    pub(super) rows: Vec<Tidy>,
}

/// The folder of the store in an output directory.
const STORE: &str = "store";
/// Columns behind those that studies have.
pub(super) const DETECT: &str = "detect_s";
pub(super) const RECOVER: &str = "recover_s";

/// A queue in a cell.
struct SuiteCase {
    scenario: Scenario,
    queue: QueueSpec,
    key: CaseKey,
    /// What is fair, where times are asked.
    fair: Option<AttackFairRates>,
    cell: usize,
}

impl SuiteResults {
    /// What each seed says of each group behind a queue in a cell, by their places here.
    pub(super) fn rows(&self, cell: usize, queue: usize) -> &Tidy {
        &self.rows[cell * self.queues.len() + queue]
    }
}

impl SuiteRequest<'_> {
    /// The places of the cells that are run.
    pub fn cells(&self) -> Vec<usize> {
        self.suite.chosen(&self.tests, self.length)
    }

    /// The scenario of `cell` as it is run here.
    fn scenario(&self, cell: &SuiteCell) -> Scenario {
        let mut scenario = cell.scenario(self.length).clone();
        let usual = match self.length {
            SuiteLength::Full => self.suite.seeds,
            SuiteLength::Quick => self.suite.quick_seeds,
        };
        scenario.run.seeds = self.seeds.unwrap_or(usual);
        scenario
    }

    /// Refuses to run nothing.
    fn some(&self) -> Result<(), Problems> {
        if !self.cells().is_empty() {
            return Ok(());
        }
        let why = match self.length {
            SuiteLength::Quick => "none of these tests has a cell in a quick run",
            SuiteLength::Full => "none of these tests has a cell",
        };
        let place = Place::File(format!("suite {}", self.suite.name));
        let (field, value) = (String::new(), String::new());
        Err(Problems::one(Problem { place, field, value, why: why.into() }))
    }

    fn cases(&self) -> Result<Vec<SuiteCase>, Problems> {
        self.some()?;
        let mut cases = vec![];
        for at in self.cells() {
            let cell = &self.suite.cells[at];
            let scenario = self.scenario(cell);
            scenario.open_to(&self.queues)?;
            let fair = cell.timed.then(|| AttackFairRates::of(&scenario, &cell.roles));
            for queue in &self.queues {
                let (queue, scenario) = match cell.target {
                    Some(target) => aimed(queue, target, &scenario),
                    None => (queue.clone(), scenario.clone()),
                };
                Configs::new(&scenario, &queue)?;
                // Stored are the groups alone, and two times that follow from series.
                let keeps = Keeps { flows: false, series: cell.timed };
                let key = CaseKey::new(&scenario, &queue, keeps);
                // The times hang on who is who.
                let key = if cell.timed {
                    CaseKey::of(&[&key.to_string(), &format!("{:?}", cell.roles)])
                } else {
                    key
                };
                let fair = fair.clone();
                cases.push(SuiteCase { scenario, queue, key, fair, cell: at });
            }
        }
        Ok(cases)
    }
}

/// Runs what is asked for; what is stored in `dir` is taken from there, and what is done is stored
/// there while it goes on. Queues that are not in the catalog are run each time: a store cannot
/// know whether they are still the same.
///
/// # Errors
/// A queue or network that cannot be; a store that fails; `watch` says so.
pub fn run(
    asked: &SuiteRequest<'_>,
    dir: Option<&Path>,
    watch: &dyn Watch,
) -> Result<SuiteResults, RunsError> {
    let cases = asked.cases().map_err(RunError::Invalid)?;
    let passing = tempfile::tempdir();
    let passing = passing.map_err(|error| StoreError::io(&std::env::temp_dir(), &error))?;
    let mut own = Store::open(&passing.path().join(STORE), empty())?;
    let mut kept = dir.map(|dir| Store::open(&dir.join(STORE), empty())).transpose()?;
    let stays = |case: &SuiteCase| kept.is_some() && case.queue.foreign.is_none();
    let stays: Vec<bool> = cases.iter().map(stays).collect();
    if let Some(store) = &mut kept {
        simulate(asked, &cases, |case| stays[case], store, watch)?;
    }
    simulate(asked, &cases, |case| !stays[case], &mut own, watch)?;
    let mut rows = vec![];
    for (case, stays) in cases.iter().zip(stays) {
        let store = if stays { kept.as_mut().unwrap_or(&mut own) } else { &mut own };
        let mut all = empty().rows;
        for seed in case.scenario.seeds() {
            all.append(
                store.rows(&case.key, seed)?.map(|part| part.rows).unwrap_or_else(|| all.emptied()),
            );
        }
        rows.push(all);
    }
    let seeds = cases.first().map(|case| case.scenario.seeds()).unwrap_or_default();
    let (cells, queues, length) = (asked.cells(), asked.queues.clone(), asked.length);
    Ok(SuiteResults { cells, queues, length, seeds, rows })
}

/// Runs what `store` has not of `which` of the cases.
fn simulate(
    asked: &SuiteRequest<'_>,
    cases: &[SuiteCase],
    which: impl Fn(usize) -> bool,
    store: &mut Store,
    watch: &dyn Watch,
) -> Result<(), RunsError> {
    let mut mine: Vec<&SuiteCase> = vec![];
    for case in (0..cases.len()).filter(|case| which(*case)).map(|case| &cases[case]) {
        // Two queues may be the same but for their labels.
        if !mine.iter().any(|known| known.key == case.key) {
            mine.push(case);
        }
    }
    let due = |case: &&SuiteCase| Due {
        key: case.key,
        seeds: case.scenario.seeds(),
        weight: weight(&case.scenario),
    };
    let due: Vec<Due> = mine.iter().map(due).collect();
    let one =
        |at: usize, seed, news: &News<'_>| mine[at].run(asked.suite, seed, due[at].weight, news);
    fill(&due, store, empty(), &one, watch)?;
    if watch.cancelled() { Err(RunError::Cancelled.into()) } else { Ok(()) }
}

impl SuiteCase {
    /// The rows of the replication with `seed`.
    fn run(
        &self,
        suite: &Suite,
        seed: u64,
        weight: u64,
        news: &News<'_>,
    ) -> Result<Part, RunError> {
        let mut scenario = self.scenario.clone();
        (scenario.run.seed, scenario.run.seeds) = (seed, 1);
        let configs = Configs::new(&scenario, &self.queue).map_err(RunError::Invalid)?;
        let queues = vec![self.queue.clone()];
        let series = self.fair.is_some();
        let job = Job { scenario, queues, flows: false, series, threads: None };
        let (sample, series) = replicate(&job, &configs, seed, series, &news.of_weight(weight))?;
        let roles = &suite.cells[self.cell].roles;
        let found = self.fair.as_ref().zip(series);
        let times = found.and_then(|(fair, s)| attack::times(&job.scenario, roles, fair, &s));
        let mut part = empty();
        study::add_groups(&mut part.rows, self.key, &job.scenario, (seed, &sample));
        let (count, rows) = (part.rows.columns.len(), sample.groups.len());
        let values = [times.map(|times| times.0), times.map(|times| times.1)];
        for (column, value) in part.rows.columns[count - 2..].iter_mut().zip(values) {
            column.values = Values::Number(vec![value; rows]);
        }
        Ok(part)
    }
}

/// A part without rows: the groups as studies have them, and the two times.
fn empty() -> Part {
    let mut rows = study::groups();
    let times = [
        (DETECT, "from the attack's begin until users have their share"),
        (RECOVER, "from the attack's end until users use the line"),
    ];
    let number = |(name, what)| Column::new(name, "s", what, Values::Number(vec![]));
    rows.columns.extend(times.map(number));
    Part { rows, flows: Tidy::default() }
}
