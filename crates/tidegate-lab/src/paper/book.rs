//! A paper as values: what was run in it, what we run, what is drawn, and what was fitted.
use tidegate_report::papers::{Experiment, Explanation};

use crate::scenario::Scenario;

use super::claim::Claim;
use super::drawn::{BoardSpec, FigureSpec};

/// A paper with its experiments and claims, everything in it checked against everything else.
#[derive(Clone, Debug, PartialEq)]
pub struct Paper {
    /// The folder's name; the command knows it by that.
    pub folder: String,
    /// The key that the documentation cites it by.
    pub key: String,
    /// Its title.
    pub title: String,
    /// Who wrote it.
    pub authors: Vec<String>,
    /// Where and when it appeared; empty where that is not known.
    pub venue: String,
    /// Its experiments, in its order.
    pub experiments: Vec<Experiment>,
    /// What is simulated for them.
    pub runs: Vec<PaperRun>,
    /// Parameters that were chosen so as to meet printed numbers.
    pub fitted: Vec<Fitted>,
    /// What is drawn.
    pub figures: Vec<FigureSpec>,
    /// Tables that set queues side by side.
    pub boards: Vec<BoardSpec>,
    /// What it says, one claim a row.
    pub claims: Vec<Claim>,
    /// Why ours differs, where it does.
    pub explanations: Vec<Explanation>,
    /// The same claims under other readings of the text.
    pub readings: Vec<Readings>,
}

/// One setting of an experiment: a scenario with which all the queues that it compares are run.
#[derive(Clone, Debug, PartialEq)]
pub struct PaperRun {
    /// The experiment.
    pub experiment: String,
    /// The experiment again, or the reading of a table of readings that it belongs to: results are
    /// kept under it.
    pub under: String,
    /// What distinguishes it from the experiment's other runs; rows of the claims name it.
    pub setting: String,
    /// Its place on a figure's axis.
    pub x: Option<f64>,
    /// Runs of one experiment with different readings of the paper; empty for the one reading.
    pub reading: String,
    /// The scenario's file and what is set in it, to be shown.
    pub scenario_file: String,
    /// What is set in it.
    pub sets: Vec<String>,
    /// The scenario at the paper's length.
    pub full: Scenario,
    /// The scenario cut short.
    pub quick: Scenario,
    /// What cuts it short.
    pub shorter: Vec<String>,
    /// Whether the tests run it at the paper's length and hold the committed results against it.
    pub tested: bool,
}

/// A parameter that was chosen so as to meet printed numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fitted {
    /// Its name in the claims.
    pub name: String,
    /// What it is, and how it was chosen.
    pub parameter: String,
}

/// Claims of an experiment, computed again under other readings of the text: each is the
/// experiment's own run with one thing changed for all its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Readings {
    /// Its name.
    pub id: String,
    /// The experiment.
    pub experiment: String,
    /// What is read in several ways.
    pub title: String,
    /// What the readings say together.
    pub finding: String,
    /// The settings whose claims are shown.
    pub settings: Vec<String>,
    /// The queues whose claims are shown; all if there are none.
    pub queues: Vec<String>,
    /// The readings besides the experiment's own.
    pub readings: Vec<Reading>,
}

/// One reading of the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// What it is.
    pub name: String,
    /// What speaks against it, where claims that differ as run may hold under it by a verdict of
    /// their own.
    pub contradicted: Option<String>,
    /// The experiment's runs, so read; one for each setting.
    pub runs: Vec<PaperRun>,
}

impl Reading {
    /// Under which name results of it are kept.
    pub(super) fn under(&self) -> &str {
        self.runs.first().map_or("", |run| run.under.as_str())
    }
}

impl Readings {
    /// The claims of `paper` that it shows.
    pub fn claims<'p>(&self, paper: &'p Paper) -> impl Iterator<Item = &'p Claim> {
        let mine = |claim: &&Claim| {
            claim.experiment == self.experiment
                && self.settings.contains(&claim.setting)
                && (self.queues.is_empty() || self.queues.contains(&claim.queue))
                && claim.unchecked.is_none()
        };
        paper.claims.iter().filter(mine)
    }
}

impl Paper {
    /// The experiment called `id`.
    pub fn experiment(&self, id: &str) -> Option<&Experiment> {
        self.experiments.iter().find(|e| e.id == id)
    }

    /// Every run: of the experiments, then of other readings.
    pub fn all_runs(&self) -> impl Iterator<Item = &PaperRun> {
        let other = self
            .readings
            .iter()
            .flat_map(|table| &table.readings)
            .flat_map(|reading| &reading.runs);
        self.runs.iter().chain(other)
    }

    /// The run of `experiment` in `setting`.
    pub fn run(&self, experiment: &str, setting: &str) -> Option<&PaperRun> {
        self.runs.iter().find(|r| r.experiment == experiment && r.setting == setting)
    }
}
