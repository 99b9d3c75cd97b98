//! A study whose every cell was read and checked.
use rayon::prelude::*;

use crate::problem::{Place, Problem, Problems};
use crate::replication::{Configs, Job, Watch};
use crate::scenario::Scenario;
use crate::spec::QueueSpec;

use super::file::Study;
use super::key::{CaseKey, Keeps};
use super::seeds::Seeds;

/// A study whose every cell was read and checked, with the name of each case.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The study.
    pub study: Study,
    keys: Vec<CaseKey>,
    weights: Vec<f32>,
}

/// A queue in a cell: what gets replications.
pub struct Case {
    /// Its place in the study, from 0.
    pub index: usize,
    /// The place of its queue.
    pub queue: usize,
    /// Its name.
    pub key: CaseKey,
    pub(super) job: Job,
    pub(super) configs: Configs,
}

impl Study {
    /// Reads and checks every cell.
    ///
    /// # Errors
    /// A cell that cannot be; `watch` cancels.
    pub fn prepare(self, watch: &dyn Watch) -> Result<Option<Prepared>, Problems> {
        let of_cell = |index: u64| -> Result<Vec<(CaseKey, f32)>, Problems> {
            let cell = self.cell(index as usize);
            if watch.cancelled() {
                return Ok(vec![]);
            }
            let scenario = self.scenario(&cell)?;
            self.has_figure(&scenario)?;
            (0..self.queues.len())
                .map(|queue| {
                    let spec = self.queue(&cell, queue)?;
                    checked(&scenario, &spec).map_err(|p| self.in_cell(&cell, queue, p))?;
                    let keeps = Keeps { flows: self.flows, series: false };
                    Ok((CaseKey::new(&scenario, &spec, keeps), weight(&scenario)))
                })
                .collect()
        };
        let found: Result<Vec<Vec<(CaseKey, f32)>>, Problems> =
            (0..self.cells()).into_par_iter().map(of_cell).collect();
        let (keys, weights): (Vec<CaseKey>, Vec<f32>) = found?.into_iter().flatten().unzip();
        let whole = keys.len() as u64 == self.cells() * self.queues.len() as u64;
        Ok(whole.then_some(Prepared { study: self, keys, weights }))
    }

    /// Refuses a scenario without the group whose figure says when there are enough seeds.
    fn has_figure(&self, scenario: &Scenario) -> Result<(), Problems> {
        let Seeds::Until(until) = &self.seeds else { return Ok(()) };
        if scenario.groups.iter().any(|group| group.name == until.group) {
            return Ok(());
        }
        let known: Vec<&str> = scenario.groups.iter().map(|group| group.name.as_str()).collect();
        let near = crate::nearest::did_you_mean(&until.group, &known).unwrap_or_default();
        Err(Problems::one(Problem {
            place: Place::File(self.file.clone()),
            field: "seeds.of".into(),
            value: until.group.clone(),
            why: format!("scenario {} has no such group{near}", scenario.name),
        }))
    }

    fn in_cell(&self, cell: &super::cell::Cell, queue: usize, problems: Problems) -> Problems {
        let told = |problem: &Problem| {
            let why = format!("{} (in {})", problem.why, self.named(cell));
            Problem { why, place: self.place_of(queue), ..problem.clone() }
        };
        Problems::new(problems.list().iter().map(told).collect()).unwrap_or(problems)
    }
}

fn checked(scenario: &Scenario, spec: &QueueSpec) -> Result<Configs, Problems> {
    scenario.open_to(std::slice::from_ref(spec))?;
    Configs::new(scenario, spec)
}

/// About how much work a replication is: thousands of packets that its bottleneck can carry.
fn weight(scenario: &Scenario) -> f32 {
    let link = scenario.bottleneck();
    let bits = link.rate.as_bps() as f64 * scenario.run.duration.as_secs();
    (1e-2 + bits / link.mean_packet.bits() as f64 / 1e3) as f32
}

impl Prepared {
    /// How many cases it has.
    pub fn cases(&self) -> usize {
        self.keys.len()
    }

    /// The name of the case of this index.
    pub fn key(&self, case: usize) -> CaseKey {
        self.keys[case]
    }

    /// About how much work a replication of a case is.
    pub fn weight(&self, case: usize) -> f64 {
        self.weights[case] as f64
    }

    /// The case of this index, ready to run.
    ///
    /// # Errors
    /// None that [`Study::prepare`] had not found, unless a file changed meanwhile.
    pub fn case(&self, index: usize) -> Result<Case, Problems> {
        let queues = self.study.queues.len();
        let (cell, queue) = (self.study.cell(index / queues), index % queues);
        let scenario = self.study.scenario(&cell)?;
        let spec = self.study.queue(&cell, queue)?;
        let configs = checked(&scenario, &spec)?;
        let job = Job {
            scenario,
            queues: vec![spec],
            flows: self.study.flows,
            series: false,
            threads: None,
        };
        Ok(Case { index, queue, key: self.keys[index], job, configs })
    }
}
