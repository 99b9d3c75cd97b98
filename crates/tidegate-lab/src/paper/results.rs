//! What came of the runs.
use std::collections::BTreeMap;

use tidegate_report::Figure;

use crate::replication::stats::figure_of_some;

use super::book::PaperRun;
use super::cell::Replication;
use super::quantity::Quantity;
use super::unit::PrintedUnit;
use crate::study::CaseKey;

/// How long replications are, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// The paper's.
    Full,
    /// Few and short.
    Quick,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PaperResults {
    /// By case and seed.
    pub(super) replications: BTreeMap<(CaseKey, u64), Replication>,
    /// What stands at experiment or reading, setting, and queue's label.
    pub(super) places: BTreeMap<(String, String, String), CaseSeeds>,
}

/// A case, and which of its seeds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CaseSeeds {
    pub key: CaseKey,
    pub seeds: Vec<u64>,
}

impl PaperResults {
    /// The replications of a queue in a setting of an experiment, or of another reading; none if
    /// that was not run.
    pub fn of(&self, under: &str, setting: &str, queue: &str) -> Option<Vec<&Replication>> {
        let place = self.places.get(&(under.into(), setting.into(), queue.into()))?;
        place.seeds.iter().map(|seed| self.replications.get(&(place.key, *seed))).collect()
    }

    /// Whether anything of a setting was run.
    pub fn has(&self, run: &PaperRun) -> bool {
        run.full
            .compare
            .iter()
            .any(|queue| self.of(&run.under, &run.setting, &queue.label()).is_some())
    }

    /// A quantity's figure over the seeds, in `unit`.
    pub(super) fn figure(
        &self,
        (under, setting, queue): (&str, &str, &str),
        quantity: &Quantity,
        unit: PrintedUnit,
    ) -> Option<Figure> {
        let replications = self.of(under, setting, queue)?;
        figure_of_some(
            replications.into_iter().map(|replication| quantity.value(replication, unit)),
        )
    }
}
