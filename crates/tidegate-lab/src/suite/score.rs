//! How queues did: figures of each cell over seeds, and what comes of them by test and by queue.
use tidegate::catalog;
use tidegate_report as report;
use tidegate_report::{Pool, Tidy};

use crate::replication::stats::{mean, skewed};
use crate::scenario::Scenario;
use crate::shipped;
use crate::spec::QueueSpec;
use crate::study;

use super::attack::{self, AttackFairRates};
use super::book::{Roles, Suite, SuiteCell};
use super::figure::{CellFigure, OF_LINK, stored};
use super::run::{DETECT, RECOVER, SuiteResults};

/// From so many seeds on, the lower end of an interval is what is sure; of fewer, the least seed.
const ENOUGH_SEEDS: usize = 5;

/// A queue in a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct OfCell {
    /// The cell's place in the suite.
    pub cell: usize,
    /// The queue's place among those that were run.
    pub queue: usize,
    /// The suite's or the test's figures, over seeds.
    pub figures: Vec<Option<report::Figure>>,
    /// What the worst user is sure of, as part of a fair share.
    pub sure: Option<f64>,
    /// Whether that is enough; none in a suite that does not judge.
    pub passed: Option<bool>,
}

/// A queue in a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfTest {
    /// The test's place in the suite.
    pub test: usize,
    /// The cell in which its worst user is sure of least.
    pub worst: usize,
    /// What he is sure of there.
    pub sure: f64,
    /// How many cells it passed.
    pub passed: usize,
    /// Of so many.
    pub of: usize,
}

/// A queue over all.
#[derive(Clone, Debug, PartialEq)]
pub struct OfQueue {
    /// Its place among those that were run.
    pub queue: usize,
    /// By test.
    pub tests: Vec<OfTest>,
    /// How many cells it passed.
    pub passed: usize,
    /// Of so many.
    pub of: usize,
    /// The most that it keeps besides packets, in bytes; none of a queue that is not in the
    /// catalog.
    pub state_bytes: Option<u64>,
    /// What a packet costs, in ns, as measured for the comparison of all queues.
    pub ns: Option<f64>,
}

/// How queues did in a suite.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores {
    /// Of each cell every queue, then the next cell.
    pub cells: Vec<OfCell>,
    /// The best queue first: by cells that it passed, then by what the worst user is sure of in
    /// the worst cell of each test, on average.
    pub queues: Vec<OfQueue>,
}

impl Scores {
    /// What `results` of `suite` say.
    pub fn of(suite: &Suite, results: &SuiteResults) -> Scores {
        let mut cells = vec![];
        for (index, &at) in results.cells.iter().enumerate() {
            let cell = &suite.cells[at];
            let reading = CellReading::new(cell, cell.scenario(results.length));
            for queue in 0..results.queues.len() {
                cells.push(reading.cell(suite, (at, queue), results.rows(index, queue)));
            }
        }
        let mut queues: Vec<OfQueue> = (0..results.queues.len())
            .map(|queue| of_queue(suite, results, &cells, queue))
            .collect();
        let worst = |of: &OfQueue| {
            mean(&of.tests.iter().map(|test| test.sure).collect::<Vec<_>>()).unwrap_or_default()
        };
        queues.sort_by(|a, b| b.passed.cmp(&a.passed).then(worst(b).total_cmp(&worst(a))));
        Scores { cells, queues }
    }

    /// What queue `queue` did in the cell at `cell`.
    pub fn cell(&self, cell: usize, queue: usize) -> Option<&OfCell> {
        self.cells.iter().find(|of| of.cell == cell && of.queue == queue)
    }
}

fn of_queue(suite: &Suite, results: &SuiteResults, cells: &[OfCell], queue: usize) -> OfQueue {
    let mine: Vec<&OfCell> = cells.iter().filter(|of| of.queue == queue).collect();
    let passed = |cells: &[&OfCell]| cells.iter().filter(|of| of.passed == Some(true)).count();
    let of_test = |test: usize| {
        let own: Vec<&OfCell> =
            mine.iter().filter(|of| suite.cells[of.cell].test == test).copied().collect();
        let sure = |of: &&&OfCell| of.sure.unwrap_or_default();
        let worst = own.iter().min_by(|a, b| sure(a).total_cmp(&sure(b)))?;
        let (worst, sure) = (worst.cell, sure(&worst));
        Some(OfTest { test, worst, sure, passed: passed(&own), of: own.len() })
    };
    let spec = &results.queues[queue];
    let state = mine.iter().filter_map(|of| state(spec, &suite.cells[of.cell].full)).max();
    OfQueue {
        queue,
        tests: (0..suite.tests.len()).filter_map(of_test).collect(),
        passed: passed(&mine),
        of: mine.len(),
        state_bytes: state,
        ns: cost(spec),
    }
}

/// The most that the queue keeps besides packets on the line of `scenario`, in bytes.
fn state(spec: &QueueSpec, scenario: &Scenario) -> Option<u64> {
    let link = scenario.bottleneck();
    Some(spec.resolve(&link).ok()?.state_bytes(&link))
}

/// What a packet costs behind a queue of the catalog, in ns. Only presets `auto` were measured.
fn cost(spec: &QueueSpec) -> Option<f64> {
    let auto = spec.preset() == catalog::DEFAULT_PRESET;
    if spec.foreign.is_some() || !spec.params.is_empty() || !auto {
        return None;
    }
    let (_, files) = shipped::PAPERS.iter().find(|(name, _)| *name == "comparison")?;
    let (_, table) = files.iter().find(|(name, _)| *name == "cost.csv")?;
    let row = table.lines().find_map(|line| line.strip_prefix(&format!("{},", spec.name)))?;
    row.parse().ok()
}

/// The rows of a cell, read.
struct CellReading<'c> {
    cell: &'c SuiteCell,
    groups: Vec<&'c str>,
    /// By group, what the measured shares are to be multiplied with: they are taken of the fair
    /// share under attack, each flow of an attacker counted as a user. That is too little where the
    /// attack is not on all the time, or where its addresses are forged.
    factors: Vec<f64>,
}

impl<'c> CellReading<'c> {
    fn new(cell: &'c SuiteCell, scenario: &'c Scenario) -> CellReading<'c> {
        let groups: Vec<&str> = scenario.groups.iter().map(|group| group.name.as_str()).collect();
        if !cell.timed && cell.roles.count_as.is_none() {
            let factors = vec![1.0; groups.len()];
            return CellReading { cell, groups, factors };
        }
        // For the whole time, or for its part.
        let AttackFairRates { during, without } = AttackFairRates::of(scenario, &cell.roles);
        let on = match attack::period(scenario, &cell.roles) {
            Ok((from, to)) if cell.timed => {
                (to - from).as_secs() / (scenario.run.duration - scenario.run.warmup).as_secs()
            }
            _ => 1.0,
        };
        let plain = Roles { count_as: None, ..cell.roles.clone() };
        let factor = |((measured, during), without): ((&f64, &f64), &f64)| {
            let fair = on * during + (1.0 - on) * without;
            if fair > 0.0 { measured / fair } else { 1.0 }
        };
        let measured = attack::shares(scenario, &plain);
        let factors = measured.iter().zip(&during).zip(&without).map(factor).collect();
        CellReading { cell, groups, factors }
    }

    fn cell(&self, suite: &Suite, (cell, queue): (usize, usize), rows: &Tidy) -> OfCell {
        let figures = suite.figures(self.cell.test);
        let of = |figure: &CellFigure| pool(figure, &self.values(figure, rows));
        let worst: Vec<f64> = self.values(&CellFigure::Worst, rows).into_iter().flatten().collect();
        let sure = self.cell.bound.and_then(|_| sure(&worst));
        let passed = self.cell.bound.map(|bound| sure.is_some_and(|sure| sure >= bound));
        OfCell { cell, queue, figures: figures.iter().map(of).collect(), sure, passed }
    }

    /// A value for each seed.
    fn values(&self, figure: &CellFigure, rows: &Tidy) -> Vec<Option<f64>> {
        let seeds = rows.rows() / self.groups.len().max(1);
        (0..seeds)
            .map(|seed| SeedRows { of: self, rows, first: seed * self.groups.len() }.value(figure))
            .collect()
    }
}

/// The rows of one seed.
struct SeedRows<'r> {
    of: &'r CellReading<'r>,
    rows: &'r Tidy,
    first: usize,
}

impl SeedRows<'_> {
    fn value(&self, figure: &CellFigure) -> Option<f64> {
        let roles = &self.of.cell.roles;
        let everybody = || self.places(|name| in_any(&[&roles.users, &roles.light], name));
        let factors = &self.of.factors;
        let of = |column: &str, places: Vec<usize>| -> Vec<f64> {
            places.into_iter().filter_map(|at| self.number(column, at)).collect()
        };
        match figure {
            CellFigure::Worst => {
                let share = |at: usize| Some(self.number("worst_share", at)? * factors[at]);
                everybody().into_iter().filter_map(share).reduce(f64::min)
            }
            CellFigure::Starved => Some(of("starved", everybody()).iter().sum()),
            CellFigure::Share => {
                let fair = |at: usize| Some(self.number("fair_share_bps", at)? / factors[at]);
                let all: f64 = everybody().into_iter().filter_map(fair).sum();
                let got: f64 = of("goodput_bps", everybody()).iter().sum();
                (all > 0.0).then_some(got / all)
            }
            CellFigure::Wait => {
                let light = self.places(|name| in_any(&[&roles.light], name));
                of("delay_ms_p99", light).into_iter().reduce(f64::max)
            }
            CellFigure::Utilization => self.number("link_utilization", 0),
            CellFigure::Detect => self.number(DETECT, 0),
            CellFigure::Recover => self.number(RECOVER, 0),
            CellFigure::Column { of: role, column } => self.column(role, column),
            CellFigure::Over { of: role, column, over } => {
                let below = self.column(over, column).filter(|below| *below > 0.0)?;
                Some(self.column(role, column)? / below)
            }
        }
    }

    /// A column of a role: the sum of its groups' rates, and else their mean.
    fn column(&self, role: &str, column: &str) -> Option<f64> {
        let roles = &self.of.cell.roles;
        let name = stored(role, column);
        let places = match role {
            OF_LINK => vec![0],
            "users" => self.places(|name| in_any(&[&roles.users], name)),
            "light" => self.places(|name| in_any(&[&roles.light], name)),
            "attack" => self.places(|name| in_any(&[&roles.attackers], name)),
            group => self.places(|name| name == group),
        };
        let values: Vec<f64> = places.into_iter().filter_map(|at| self.number(&name, at)).collect();
        let adds = column.ends_with("_bps") && !values.is_empty();
        if adds { Some(values.iter().sum()) } else { mean(&values) }
    }

    fn places(&self, which: impl Fn(&str) -> bool) -> Vec<usize> {
        (0..self.of.groups.len()).filter(|at| which(self.of.groups[*at])).collect()
    }

    fn number(&self, column: &str, group: usize) -> Option<f64> {
        self.rows.column(column)?.number(self.first + group)
    }
}

fn in_any(lists: &[&Vec<String>], name: &str) -> bool {
    lists.iter().any(|list| list.iter().any(|known| known == name))
}

/// The seeds taken together.
fn pool(figure: &CellFigure, values: &[Option<f64>]) -> Option<report::Figure> {
    let pool = match figure {
        CellFigure::Worst => Pool::SkewedRare,
        CellFigure::Starved => Pool::Rare,
        CellFigure::Share => Pool::Mean,
        CellFigure::Wait => Pool::Skewed,
        CellFigure::Utilization => Pool::Part,
        CellFigure::Detect | CellFigure::Recover => Pool::SkewedRare,
        CellFigure::Column { of, column } => study::pool(&stored(of, column)),
        CellFigure::Over { .. } => Pool::Skewed,
    };
    pool.figure(values.iter().copied())
}

/// What is sure of values by seed: the lower end of the interval of their mean, never below zero;
/// of fewer than five seeds the least value.
fn sure(values: &[f64]) -> Option<f64> {
    if values.len() < ENOUGH_SEEDS {
        return values.iter().copied().reduce(f64::min);
    }
    let figure = skewed(values.iter().copied().map(Some))?;
    Some((figure.mean() - figure.ci95().unwrap_or_default()).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sure_by_hand() {
        assert_eq!(sure(&[0.9, 0.2, 0.7, 0.8]), Some(0.2), "of four seeds the least");
        assert_eq!(sure(&[]), None);
        assert_eq!(sure(&[0.4; 5]), Some(0.4));
        // Mean 3, s = √2.5, t = 2.7764: the half is 1.96324, wider by √1.3 for what is skewed.
        let five = sure(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert!((five - (3.0 - 1.96324 * 1.3f64.sqrt())).abs() < 1e-5, "{five}");
        assert_eq!(sure(&[0.0, 0.0, 0.0, 0.0, 0.1]), Some(0.0), "never below zero");
    }

    #[test]
    fn a_queues_cost_is_the_measured_one() {
        let table = include_str!("../../../../papers/comparison/cost.csv");
        let measured = table.lines().find_map(|line| line.strip_prefix("drop_tail,")).unwrap();
        assert_eq!(cost(&QueueSpec::named("drop_tail")), Some(measured.parse().unwrap()));
        assert_eq!(cost(&QueueSpec::named("none")), None);
    }
}
