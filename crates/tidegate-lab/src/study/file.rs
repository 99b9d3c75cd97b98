//! A study as its file says it.
use crate::problem::{Place, Problem, Problems};
use crate::reader::{Origin, TomlDocument};
use crate::spec::QueueSpec;

use tidegate_report::plot::Plot;

use super::MOST_REPLICATIONS;
use super::axis::{Axis, Setting};
use super::seeds::Seeds;

/// A grid of scenarios and queues.
#[derive(Clone, Debug)]
pub struct Study {
    /// Its short name: the file's, without directory and ending.
    pub name: String,
    /// One line for the head of a page.
    pub title: String,
    /// Its text.
    pub text: String,
    /// What messages call its file.
    pub file: String,
    /// The scenarios.
    pub scenarios: Vec<Base>,
    /// The queues as written, with the names of axes in braces.
    pub queues: Vec<String>,
    /// Where each queue stands in the file.
    pub(super) queues_at: Vec<Origin>,
    /// What is set in every scenario.
    pub set: Vec<Setting>,
    /// What is varied; the last axis goes round fastest.
    pub axes: Vec<Axis>,
    /// How many replications a case gets.
    pub seeds: Seeds,
    /// The first seed.
    pub first_seed: u64,
    /// Whether each flow is kept.
    pub flows: bool,
    /// What is drawn of it.
    pub plots: Vec<Plot>,
}

/// A scenario that a study varies.
#[derive(Clone, Debug, PartialEq)]
pub struct Base {
    /// Its short name.
    pub name: String,
    /// What messages call its file.
    pub file: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

impl Study {
    /// How many cells it has: scenarios times the values of each axis.
    pub fn cells(&self) -> u64 {
        self.axes.iter().fold(self.scenarios.len() as u64, |cells, axis| {
            cells.saturating_mul(axis.len() as u64)
        })
    }

    /// The most replications that it may need.
    pub fn replications(&self) -> u64 {
        let cases = self.cells().saturating_mul(self.queues.len() as u64);
        cases.saturating_mul(self.seeds.most() as u64)
    }

    /// Refuses more replications than are run.
    pub(super) fn bounded(&self) -> Result<(), Problems> {
        let count = self.axes.iter().fold(self.scenarios.len() as u128, |cells, axis| {
            cells.saturating_mul(axis.len() as u128)
        });
        let cases = count.saturating_mul(self.queues.len() as u128);
        let replications = cases.saturating_mul(self.seeds.most() as u128);
        if replications <= MOST_REPLICATIONS as u128 {
            return Ok(());
        }
        let axes: Vec<String> =
            self.axes.iter().map(|axis| format!("{} has {}", axis.name, axis.len())).collect();
        let why = format!(
            "has {count} cells with {} queues and up to {} seeds each: {replications} \
             replications, and at most {MOST_REPLICATIONS} are run. Of the axes, {}",
            self.queues.len(),
            self.seeds.most(),
            axes.join(", "),
        );
        Err(Problems::one(Problem {
            place: Place::File(self.file.clone()),
            field: String::new(),
            value: String::new(),
            why,
        }))
    }

    /// The place in the file where the queue of this index stands.
    pub(super) fn place_of(&self, queue: usize) -> Place {
        TomlDocument { file: &self.file, text: &self.text, sets: &[] }.place(self.queues_at[queue])
    }

    /// The label of the queue of this index: as written, or what stands behind ` as `.
    pub fn label(&self, queue: usize) -> String {
        let text = &self.queues[queue];
        text.parse::<QueueSpec>().map_or_else(|_| text.clone(), |spec| spec.label())
    }
}
