//! Readings two at a time: an experiment's own runs with every pair of choices made, and how many
//! of its claims come out.
//!
//! Readings that are varied one at a time do not show those that only a pair reconciles.
use std::fmt;
use std::str::FromStr;

use tidegate::ConfigError;
use tidegate::catalog;

use crate::problem::Problems;
use crate::reader::Override;
use crate::scenario::Scenario;

use super::Folder;
use super::book::{Paper, PaperRun};
use super::results::PaperResults;
use super::row::{self, ClaimRow};
use super::table;
use super::verdict::ClaimVerdict;

/// The most choices of a grid: 2016 pairs.
pub const MOST_CHOICES: usize = 64;

/// One reading: a parameter of a queue (`sfb:drop_rule=any`), or a value of the scenario
/// (`group.tcp.rules=ns2`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadingChoice {
    /// Of every queue of this name that the experiment compares.
    Queue {
        /// The queue's name.
        name: String,
        /// Its parameter.
        param: String,
        /// The parameter's value.
        value: String,
    },
    /// Of every scenario of the experiment.
    Scenario(Override),
}

impl fmt::Display for ReadingChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadingChoice::Queue { name, param, value } => write!(f, "{name}:{param}={value}"),
            ReadingChoice::Scenario(set) => write!(f, "{}={}", set.path, set.value),
        }
    }
}

impl FromStr for ReadingChoice {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<ReadingChoice, ConfigError> {
        let wrong = |why| ConfigError::new("choice", text, why);
        let (place, value) = text.split_once('=').ok_or_else(|| {
            wrong(
                "must be QUEUE:PARAM=VALUE or PATH=VALUE, as in sfb:drop_rule=any or \
                 group.tcp.rules=ns2",
            )
        })?;
        let Some((name, param)) = place.split_once(':') else {
            return text.parse().map(ReadingChoice::Scenario);
        };
        let (name, param, value) = (name.trim(), param.trim(), value.trim());
        let Some(row) = catalog::find(name) else {
            return Err(wrong("there is no such queue; `tidegate list` has them"));
        };
        if !row.has(param) {
            return Err(ConfigError::new(
                "choice",
                text,
                format!("{name} has no such parameter; `tidegate show {name}` has them"),
            ));
        }
        Ok(ReadingChoice::Queue { name: name.into(), param: param.into(), value: value.into() })
    }
}

impl ReadingChoice {
    /// Whether both say something of the same place, so that they cannot be made together.
    fn excludes(&self, other: &ReadingChoice) -> bool {
        match (self, other) {
            (
                ReadingChoice::Queue { name: a, param: b, .. },
                ReadingChoice::Queue { name, param, .. },
            ) => a == name && b == param,
            (ReadingChoice::Scenario(a), ReadingChoice::Scenario(b)) => a.path == b.path,
            _ => false,
        }
    }

    fn make(&self, runs: &mut [PaperRun], folder: &Folder<'_>) -> Result<(), Problems> {
        for run in runs {
            match self {
                ReadingChoice::Queue { name, param, value } => {
                    let compared = run.full.compare.iter_mut().chain(&mut run.quick.compare);
                    for spec in compared.filter(|spec| spec.name == *name) {
                        spec.label = Some(spec.label());
                        spec.params.retain(|(known, _)| known != param);
                        spec.params.push((param.clone(), value.clone()));
                    }
                }
                ReadingChoice::Scenario(set) => {
                    run.sets.push(format!("{}={}", set.path, set.value));
                    run.full = again(run, &run.full, &[], folder)?;
                    run.quick = again(run, &run.quick, &run.shorter, folder)?;
                }
            }
        }
        Ok(())
    }
}

/// The scenario of `run` with its sets and `more`; queues and seeds as in `before`.
fn again(
    run: &PaperRun,
    before: &Scenario,
    more: &[String],
    folder: &Folder<'_>,
) -> Result<Scenario, Problems> {
    let text = folder.file(&run.scenario_file).unwrap_or_default();
    let sets: Vec<Override> =
        run.sets.iter().chain(more).filter_map(|set| set.parse().ok()).collect();
    let mut scenario =
        Scenario::parse(text.as_bytes(), &format!("{}/{}", folder.name, run.scenario_file), &sets)?;
    scenario.compare.clone_from(&before.compare);
    scenario.run.seeds = before.run.seeds;
    Ok(scenario)
}

/// The choices that the manual pages of the queues of `experiment` list: every other word of each
/// parameter that takes one of several words. With `only`, those of this queue.
pub fn listed(paper: &Paper, experiment: &str, only: Option<&str>) -> Vec<ReadingChoice> {
    let mut choices: Vec<ReadingChoice> = vec![];
    for run in paper.runs.iter().filter(|run| run.experiment == experiment) {
        let link = run.full.bottleneck();
        for spec in run.full.compare.iter().filter(|spec| only.is_none_or(|name| spec.name == name))
        {
            let Ok(config) = spec.resolve(&link) else { continue };
            for (param, now) in config.values() {
                let words = param
                    .kind
                    .split(" | ")
                    .filter(|_| param.kind.contains(" | ") && !now.contains(':'));
                for word in words.filter(|word| *word != now && !word.contains(' ')) {
                    let (name, param, value) = (spec.name.clone(), param.name.into(), word.into());
                    let choice = ReadingChoice::Queue { name, param, value };
                    if !choices.contains(&choice) {
                        choices.push(choice);
                    }
                }
            }
        }
    }
    choices
}

/// An experiment with none, each one, and each two of some choices.
pub struct PairsGrid {
    /// The paper, with the runs of the grid for its own.
    pub paper: Paper,
    experiment: String,
    /// The choices that were made, and under which name their results are kept.
    cells: Vec<(Vec<ReadingChoice>, String)>,
    /// The choices that a queue refuses together, and why.
    refused: Vec<(Vec<ReadingChoice>, String)>,
}

/// What came of a cell of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct PairsCell {
    /// What was chosen: nothing, one or two.
    pub choices: Vec<ReadingChoice>,
    /// The claims that hold, fitted ones included: their lines in `printed.csv`.
    pub met: Vec<usize>,
    /// How many claims there are figures for.
    pub of: usize,
    /// By what factor ours is off the printed numbers, in the root mean square of logarithms;
    /// `None` where no number is printed.
    pub factor: Option<f64>,
    /// Claims that hold here and not as run, and the reverse.
    pub gained: usize,
    /// See `gained`.
    pub lost: usize,
    /// Why the queue refuses these choices together, so that nothing was run.
    pub refused: Option<String>,
}

/// The columns of the table of pairs.
pub const COLUMNS: [&str; 7] = ["choice", "and", "met", "gained", "lost", "factor", "refused"];

impl PairsCell {
    /// Its fields, in the table's order.
    pub fn fields(&self) -> [String; 7] {
        let chosen =
            |at: usize| self.choices.get(at).map_or(String::new(), ReadingChoice::to_string);
        let first = if self.choices.is_empty() { "as run".into() } else { chosen(0) };
        if let Some(why) = &self.refused {
            let none = String::new;
            return [first, chosen(1), none(), none(), none(), none(), why.clone()];
        }
        let factor = self.factor.map_or(String::new(), |factor| format!("{factor:.3}"));
        [
            first,
            chosen(1),
            format!("{} of {}", self.met.len(), self.of),
            self.gained.to_string(),
            self.lost.to_string(),
            factor,
            String::new(),
        ]
    }
}

/// Cells as a table of comma-separated values. Behind their fields it has the lines in
/// `printed.csv` of the claims that each meets.
pub fn csv(cells: &[PairsCell]) -> String {
    let lines =
        |cell: &PairsCell| cell.met.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
    let row = |cell: &PairsCell| [&cell.fields()[..], &[lines(cell)]].concat();
    table::written(&[&COLUMNS[..], &["lines"]].concat(), cells.iter().map(row))
}

impl PairsGrid {
    /// The grid of `choices` over `experiment` of `paper`, which was read from `folder`.
    ///
    /// # Errors
    /// A choice that a scenario does not have, or that cannot be made there.
    pub fn new(
        paper: &Paper,
        folder: &Folder<'_>,
        experiment: &str,
        choices: &[ReadingChoice],
    ) -> Result<PairsGrid, Problems> {
        let own: Vec<PaperRun> =
            paper.runs.iter().filter(|run| run.experiment == experiment).cloned().collect();
        let mut made: Vec<Vec<ReadingChoice>> = vec![vec![]];
        made.extend(choices.iter().map(|one| vec![one.clone()]));
        for (at, one) in choices.iter().enumerate() {
            let others = choices[at + 1..].iter().filter(|other| !one.excludes(other));
            made.extend(others.map(|other| vec![one.clone(), other.clone()]));
        }
        let mut grid = PairsGrid {
            paper: Paper { runs: vec![], readings: vec![], ..paper.clone() },
            experiment: experiment.into(),
            cells: vec![],
            refused: vec![],
        };
        for choices in made {
            let under = choices.iter().map(ReadingChoice::to_string).collect::<Vec<_>>().join(" ");
            let mut runs = own.clone();
            for choice in &choices {
                choice.make(&mut runs, folder)?;
            }
            if let Some(why) = refused(&runs) {
                grid.refused.push((choices, why));
                continue;
            }
            runs.iter_mut().for_each(|run| run.under.clone_from(&under));
            grid.paper.runs.extend(runs);
            grid.cells.push((choices, under));
        }
        Ok(grid)
    }

    /// What came of it, the best first: by claims met, then by the factor. Refused choices come
    /// last.
    pub fn judged(&self, results: &PaperResults) -> Vec<PairsCell> {
        let claims: Vec<_> =
            self.paper.claims.iter().filter(|claim| claim.experiment == self.experiment).collect();
        let rows = |under: &str| {
            claims
                .iter()
                .map(|claim| row::row(&self.paper, claim, under, results))
                .collect::<Vec<ClaimRow<'_>>>()
        };
        let holds =
            |row: &ClaimRow<'_>| matches!(row.verdict, ClaimVerdict::Holds | ClaimVerdict::Fitted);
        let plain: Vec<bool> = rows("").iter().map(holds).collect();
        let cell = |(choices, under): &(Vec<ReadingChoice>, String)| {
            let rows = rows(under);
            let now: Vec<bool> = rows.iter().map(holds).collect();
            let told = |row: &&ClaimRow<'_>| {
                row.ours.is_some() && !matches!(row.verdict, ClaimVerdict::Unchecked(_))
            };
            let changed = |from: bool| {
                plain.iter().zip(&now).filter(|(was, is)| **was == from && **is != from).count()
            };
            PairsCell {
                choices: choices.clone(),
                met: rows.iter().filter(|row| holds(row)).map(|row| row.claim.line).collect(),
                of: rows.iter().filter(told).count(),
                factor: factor(&rows),
                gained: changed(false),
                lost: changed(true),
                refused: None,
            }
        };
        let mut cells: Vec<PairsCell> = self.cells.iter().map(cell).collect();
        let off = |cell: &PairsCell| cell.factor.unwrap_or(f64::INFINITY);
        cells.sort_by(|a, b| b.met.len().cmp(&a.met.len()).then(off(a).total_cmp(&off(b))));
        cells.extend(self.refused.iter().map(|(choices, why)| PairsCell {
            choices: choices.clone(),
            met: vec![],
            of: 0,
            factor: None,
            gained: 0,
            lost: 0,
            refused: Some(why.clone()),
        }));
        cells
    }
}

/// Why a queue of `runs` cannot be built, if so.
fn refused(runs: &[PaperRun]) -> Option<String> {
    runs.iter().find_map(|run| {
        let link = run.full.bottleneck();
        let mut compared = run.full.compare.iter();
        compared.find_map(|spec| spec.possible(&link).err().map(|error| error.to_string()))
    })
}

/// By what factor figures are off the printed numbers, in the root mean square.
fn factor(rows: &[ClaimRow<'_>]) -> Option<f64> {
    let off = rows.iter().filter_map(|row| {
        let printed = row.claim.printed.number()?;
        let off = (row.ours?.mean() / printed).ln();
        off.is_finite().then_some(off * off)
    });
    let off: Vec<f64> = off.collect();
    (!off.is_empty()).then(|| (off.iter().sum::<f64>() / off.len() as f64).sqrt().exp())
}
