//! The rows of one replication: one for each group, and one for each flow where flows are kept.
use std::sync::Arc;

use tidegate_report::tidy::{Column, Values};
use tidegate_report::{Flow, Tidy};

use crate::replication::Sample;
pub(super) use crate::replication::by_seed::LINK;
use crate::replication::by_seed::{self, Row, of_metrics, text, whole};

use super::prepared::Case;

/// A table without rows that has the columns of groups as they are stored.
pub(super) fn groups() -> Tidy {
    let mut columns = vec![case()];
    columns.extend(by_seed::columns());
    Tidy { columns }
}

fn case() -> Column {
    text("case", "the name of queue and cell")
}

/// The columns of a table of groups that have figures, without rows.
pub(super) fn figures() -> Vec<Column> {
    let columns = groups().columns;
    columns.into_iter().filter(|column| matches!(column.values, Values::Number(_))).collect()
}

/// A table without rows that has the columns of flows as they are stored.
pub(super) fn flows() -> Tidy {
    let mut columns = vec![
        case(),
        whole("seed", "", "the replication's seed"),
        text("group", "the group's name in the scenario"),
        whole("flow", "", "its place among all flows, from 0"),
    ];
    columns.extend(of_metrics(Flow::METRICS, ""));
    Tidy { columns }
}

/// The rows of one replication.
pub(super) struct Rows {
    pub groups: Tidy,
    pub flows: Option<Tidy>,
}

impl Rows {
    pub fn new(case: &Case, seed: u64, sample: &Sample) -> Rows {
        let mut groups = groups();
        let key: Arc<str> = case.key.to_string().into();
        let scenario = &case.job.scenario;
        let names: Vec<Arc<str>> =
            scenario.groups.iter().map(|g| Arc::from(g.name.as_str())).collect();
        for at in 0..sample.groups.len() {
            let mut row = Row::of(&mut groups);
            row.text(key.clone());
            row.group(scenario, seed, sample, at);
        }
        let flows = case.job.flows.then(|| {
            let mut flows = flows();
            for (at, flow) in sample.flows.iter().enumerate() {
                let mut row = Row::of(&mut flows);
                row.text(key.clone());
                row.whole(seed);
                row.text(names[flow.group].clone());
                row.whole(at as u64);
                flow.metrics.values().for_each(|value| row.number(value));
            }
            flows
        });
        Rows { groups, flows }
    }

    /// The figure `column` of `group`.
    pub fn figure(&self, group: &str, column: &str) -> Option<f64> {
        let names = self.groups.column("group")?;
        let row = (0..self.groups.rows()).find(|row| names.text(*row).as_deref() == Some(group))?;
        self.groups.column(column)?.number(row)
    }
}
