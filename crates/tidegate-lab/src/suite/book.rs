//! A suite as its description says it.
use tidegate::Span;

use crate::problem::{Place, Problem, Problems};
use crate::scenario::Scenario;

use super::figure::CellFigure;

/// Tests of queues, each with cells: scenarios that every queue meets.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    /// The folder's name; the command knows it by that.
    pub name: String,
    /// Its description, as messages and the command name it.
    pub file: String,
    /// One line for the head of a page.
    pub title: String,
    /// What is published under this number does not change.
    pub version: u32,
    /// Whether it is published: then no cell may change without a new version.
    pub frozen: bool,
    /// How many replications a cell gets with each queue.
    pub seeds: u32,
    /// How many in a quick run.
    pub quick_seeds: u32,
    /// What the worst user must be sure of for a cell to be passed, as part of a fair share; none
    /// in a suite that measures and does not judge.
    pub bound: Option<f64>,
    /// The figures of each cell.
    pub figures: Vec<CellFigure>,
    /// The tests.
    pub tests: Vec<Test>,
    /// The cells, those of a test together.
    pub cells: Vec<SuiteCell>,
}

/// A question about queues.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// Its short name.
    pub id: String,
    /// Its name.
    pub title: String,
    /// The question.
    pub asks: String,
    /// Where it comes from.
    pub source: String,
    /// The figures of its cells, if not the suite's.
    pub figures: Vec<CellFigure>,
    /// Groups whose goodput over delay is drawn, where the cell has them.
    pub ellipses: Vec<String>,
}

/// A scenario that every queue meets.
#[derive(Clone, Debug, PartialEq)]
pub struct SuiteCell {
    /// The place of its test.
    pub test: usize,
    /// What it is called within the test.
    pub name: String,
    /// The scenario's file.
    pub file: String,
    /// What is set in it.
    pub sets: Vec<String>,
    /// It, as it is run.
    pub full: Scenario,
    /// It, as a quick run has it; none where that leaves it out.
    pub quick: Option<Scenario>,
    /// Who is who.
    pub roles: Roles,
    /// Whether the attack is on for a part of the time only, so that one can ask how long it takes
    /// a queue to find it and to forget it.
    pub timed: bool,
    /// As [`Suite::bound`], of this cell.
    pub bound: Option<f64>,
    /// The delay that queues are aimed at; none for each queue as it is asked for.
    pub target: Option<Span>,
}

/// Who is who in a cell, by the names of groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roles {
    /// Those whose shares count. They do not attack.
    pub users: Vec<String>,
    /// Those of few kbit/s, whose wait counts; their shares do, too.
    pub light: Vec<String>,
    /// The others.
    pub attackers: Vec<String>,
    /// As how many users the attackers count when shares are dealt; none for as many as the flow
    /// key makes of them. Forged addresses are no users.
    pub count_as: Option<u32>,
}

/// How long replications are, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuiteLength {
    /// As published.
    Full,
    /// Few, short, and not of every cell.
    Quick,
}

impl Suite {
    /// Name and version, as results are cited.
    pub fn title(&self) -> String {
        format!("{}/{}{}", self.name, self.version, if self.frozen { "" } else { " (draft)" })
    }

    /// The places of the cells of `tests` that a run of this length has.
    pub fn chosen(&self, tests: &[usize], length: SuiteLength) -> Vec<usize> {
        let runs = |cell: &SuiteCell| match length {
            SuiteLength::Full => true,
            SuiteLength::Quick => cell.quick.is_some(),
        };
        let all = self.cells.iter().enumerate();
        let chosen = all.filter(|(_, cell)| tests.contains(&cell.test) && runs(cell));
        chosen.map(|(at, _)| at).collect()
    }

    /// The places of the tests of these names; all where there are none.
    ///
    /// # Errors
    /// There is no such test.
    pub fn tests(&self, names: &[String]) -> Result<Vec<usize>, Problems> {
        let place = |name: &String| {
            let same = |test: &Test| test.id.eq_ignore_ascii_case(name);
            self.tests.iter().position(same).ok_or_else(|| self.no_test(name))
        };
        let mut places: Vec<usize> = names.iter().map(place).collect::<Result<_, _>>()?;
        if names.is_empty() {
            places = (0..self.tests.len()).collect();
        }
        places.sort_unstable();
        places.dedup();
        Ok(places)
    }

    fn no_test(&self, name: &str) -> Problems {
        let known: Vec<&str> = self.tests.iter().map(|test| test.id.as_str()).collect();
        let near = crate::nearest::did_you_mean(name, &known).unwrap_or_default();
        let why = format!("there is no such test; those are {}{near}", known.join(", "));
        let place = Place::File(format!("suite {}", self.name));
        Problems::one(Problem { place, field: "--tests".into(), value: name.into(), why })
    }

    /// The figures of a test's cells.
    pub fn figures(&self, test: usize) -> &[CellFigure] {
        let own = &self.tests[test].figures;
        if own.is_empty() { &self.figures } else { own }
    }
}

impl SuiteCell {
    /// Its scenario in a run of this length.
    pub fn scenario(&self, length: SuiteLength) -> &Scenario {
        match (&self.quick, length) {
            (Some(quick), SuiteLength::Quick) => quick,
            _ => &self.full,
        }
    }
}
