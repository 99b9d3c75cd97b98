//! The rows of one replication: one for each group, and one for each flow where flows are kept.
use std::sync::Arc;

use tidegate_report::tidy::{Column, Values};
use tidegate_report::{Flow, Tidy};

use crate::replication::Sample;
pub(super) use crate::replication::by_seed::LINK;
use crate::replication::by_seed::{self, OpenRow, of_metrics, text, whole};
use crate::scenario::Scenario;

use super::key::CaseKey;
use super::part::Part;
use super::prepared::Case;

/// A table without rows that has the columns of groups as they are stored.
pub(crate) fn groups() -> Tidy {
    let mut columns = vec![case()];
    columns.extend(by_seed::columns());
    Tidy { columns }
}

fn case() -> Column {
    text("case", "the name of queue and cell")
}

/// The columns of a table of groups that have figures, without rows.
pub(crate) fn figures() -> Vec<Column> {
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

/// A part of a study without rows.
pub fn empty() -> Part {
    Part { rows: groups(), flows: flows() }
}

/// The figure `column` of `group` in the rows of one replication.
pub(super) fn figure(rows: &Part, group: &str, column: &str) -> Option<f64> {
    let names = rows.rows.column("group")?;
    let row = (0..rows.rows.rows()).find(|row| names.text(*row).as_deref() == Some(group))?;
    rows.rows.column(column)?.number(row)
}

/// Adds to `table`, which begins with the columns of [`groups`], what a replication of the case
/// `key` says of each group.
pub(crate) fn add_groups(
    table: &mut Tidy,
    key: CaseKey,
    scenario: &Scenario,
    (seed, sample): (u64, &Sample),
) {
    let key: Arc<str> = key.to_string().into();
    for at in 0..sample.groups.len() {
        let mut row = OpenRow::of(table);
        row.text(key.clone());
        row.group(scenario, seed, sample, at);
    }
}

impl Case {
    /// The rows of the replication with `seed`, which gave `sample`.
    pub(super) fn rows(&self, seed: u64, sample: &Sample) -> Part {
        let case = self;
        let key: Arc<str> = case.key.to_string().into();
        let scenario = &case.job.scenario;
        let names: Vec<Arc<str>> =
            scenario.groups.iter().map(|g| Arc::from(g.name.as_str())).collect();
        let mut rows = groups();
        add_groups(&mut rows, self.key, scenario, (seed, sample));
        let mut flows = flows();
        // None but where flows are kept.
        for (at, flow) in sample.flows.iter().enumerate() {
            let mut row = OpenRow::of(&mut flows);
            row.text(key.clone());
            row.whole(seed);
            row.text(names[flow.group].clone());
            row.whole(at as u64);
            flow.metrics.values().for_each(|value| row.number(value));
        }
        Part { rows, flows }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::empty;

    #[test]
    fn no_two_columns_have_one_name() {
        let part = empty();
        for table in [&part.rows, &part.flows] {
            let names: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
            let different: BTreeSet<_> = names.iter().collect();
            assert!(names.len() > 3 && different.len() == names.len(), "{names:?}");
        }
    }
}
