//! The rows of one replication: one for each group, and one for each flow where flows are kept.
use std::sync::Arc;

use tidegate_report::tidy::{Column, Values};
use tidegate_report::{Aggregate, Flow, Group, GroupSample, Metric, Tidy};

use crate::replication::Sample;

use super::prepared::Case;

/// What the columns of the watched link begin with.
pub(super) const LINK: &str = "link_";

/// A table without rows that has the columns of groups as they are stored.
pub(super) fn groups() -> Tidy {
    let mut columns = leads();
    columns.push(text("conduct", "responsive or unresponsive"));
    columns.push(whole("flows", "flows", "how many flows the group has"));
    columns.push(whole("users", "users", "how many users its flows are"));
    let share = "what it received over its fair share: goodput of responsive senders, else \
                 throughput";
    columns.push(number("share", "", share));
    columns.extend(of_metrics(Group::METRICS, ""));
    columns.extend(of_metrics(Aggregate::METRICS, LINK));
    Tidy { columns }
}

/// The columns of a table of groups that have figures, without rows.
pub(super) fn figures() -> Vec<Column> {
    let columns = groups().columns;
    columns.into_iter().filter(|column| matches!(column.values, Values::Number(_))).collect()
}

/// A table without rows that has the columns of flows as they are stored.
pub(super) fn flows() -> Tidy {
    let mut columns = leads();
    columns.push(whole("flow", "", "its place among all flows, from 0"));
    columns.extend(of_metrics(Flow::METRICS, ""));
    Tidy { columns }
}

fn leads() -> Vec<Column> {
    vec![
        text("case", "the name of queue and cell"),
        whole("seed", "", "the replication's seed"),
        text("group", "the group's name in the scenario"),
    ]
}

/// The columns of `metrics`, which begin with `lead`.
fn of_metrics(metrics: &[Metric], lead: &str) -> Vec<Column> {
    let of = |metric: &Metric| {
        let (unit, what) = (metric.unit, metric.what);
        metric.columns().map(move |name| number(&format!("{lead}{name}"), unit, what)).collect()
    };
    metrics.iter().map(of).collect::<Vec<Vec<Column>>>().concat()
}

fn text(name: &str, what: &str) -> Column {
    Column::new(name, "", what, Values::Text(vec![]))
}

fn whole(name: &str, unit: &str, what: &str) -> Column {
    Column::new(name, unit, what, Values::Whole(vec![]))
}

fn number(name: &str, unit: &str, what: &str) -> Column {
    Column::new(name, unit, what, Values::Number(vec![]))
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
        for (at, of_group) in sample.groups.iter().enumerate() {
            let heeds = scenario.groups[at].source.heeds_loss();
            let mut row = Row { columns: groups.columns.iter_mut() };
            row.text(key.clone());
            row.whole(seed);
            row.text(names[at].clone());
            row.text(if heeds { "responsive" } else { "unresponsive" }.into());
            row.whole(scenario.groups[at].count as u64);
            row.whole(of_group.users as u64);
            row.number(share(&of_group.metrics, heeds));
            of_group.metrics.values().for_each(|value| row.number(value));
            sample.aggregate.values().for_each(|value| row.number(value));
        }
        let flows = case.job.flows.then(|| {
            let mut flows = flows();
            for (at, flow) in sample.flows.iter().enumerate() {
                let mut row = Row { columns: flows.columns.iter_mut() };
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

/// What a group received over its fair share; none where it has none.
fn share(group: &GroupSample, heeds: bool) -> Option<f64> {
    let received = if heeds { group.goodput_bps } else { group.throughput_bps }?;
    Some(received / group.fair_share_bps?).filter(|share| share.is_finite())
}

/// A row that is being filled, column by column.
struct Row<'t> {
    columns: std::slice::IterMut<'t, Column>,
}

impl Row<'_> {
    fn text(&mut self, value: Arc<str>) {
        if let Some(Column { values: Values::Text(all), .. }) = self.columns.next() {
            all.push(Some(value));
        }
    }

    fn whole(&mut self, value: u64) {
        if let Some(Column { values: Values::Whole(all), .. }) = self.columns.next() {
            all.push(i64::try_from(value).ok());
        }
    }

    fn number(&mut self, value: Option<f64>) {
        if let Some(Column { values: Values::Number(all), .. }) = self.columns.next() {
            all.push(value);
        }
    }
}
