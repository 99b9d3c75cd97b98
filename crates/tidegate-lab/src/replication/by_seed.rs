//! What each replication says of each group, as rows of a table: nothing is taken together yet.
use std::sync::Arc;

use tidegate_report::tidy::{Column, Values};
use tidegate_report::{Aggregate, Group, GroupSample, Metric, Tidy};

use super::sample::Sample;
use crate::scenario::Scenario;

pub(crate) use tidegate_report::diff::LINK;

/// The columns, without rows: seed and group, what is known of the group, its metrics, and those
/// of the watched link.
pub(crate) fn columns() -> Vec<Column> {
    let mut columns = vec![
        whole("seed", "", "the replication's seed"),
        text("group", "the group's name in the scenario"),
        text("conduct", "responsive or unresponsive"),
        whole("flows", "flows", "how many flows the group has"),
        whole("users", "users", "how many users its flows are"),
    ];
    let share = "what it received over its fair share: goodput of responsive senders, else \
                 throughput";
    columns.push(number("share", "", share));
    columns.extend(of_metrics(Group::METRICS, ""));
    columns.extend(of_metrics(Aggregate::METRICS, LINK));
    columns
}

/// The columns of `metrics`, which begin with `lead`.
pub(crate) fn of_metrics(metrics: &[Metric], lead: &str) -> Vec<Column> {
    let of = |metric: &Metric| {
        let (unit, what) = (metric.unit, metric.what);
        metric.columns().map(move |name| number(&format!("{lead}{name}"), unit, what)).collect()
    };
    metrics.iter().map(of).collect::<Vec<Vec<Column>>>().concat()
}

pub(crate) fn text(name: &str, what: &str) -> Column {
    Column::new(name, "", what, Values::Text(vec![]))
}

pub(crate) fn whole(name: &str, unit: &str, what: &str) -> Column {
    Column::new(name, unit, what, Values::Whole(vec![]))
}

fn number(name: &str, unit: &str, what: &str) -> Column {
    Column::new(name, unit, what, Values::Number(vec![]))
}

/// The rows of some replications of `scenario`.
pub(crate) fn table(scenario: &Scenario, samples: &[Sample]) -> Tidy {
    let mut table = Tidy { columns: columns() };
    for (seed, sample) in scenario.seeds().into_iter().zip(samples) {
        for group in 0..sample.groups.len() {
            OpenRow::of(&mut table).group(scenario, seed, sample, group);
        }
    }
    table
}

/// A row that is being filled, column by column.
pub(crate) struct OpenRow<'t> {
    columns: std::slice::IterMut<'t, Column>,
}

impl<'t> OpenRow<'t> {
    /// A new row of `table`.
    pub fn of(table: &'t mut Tidy) -> OpenRow<'t> {
        OpenRow { columns: table.columns.iter_mut() }
    }

    /// Fills [`columns()`] with what `sample` says of group number `at`.
    pub fn group(&mut self, scenario: &Scenario, seed: u64, sample: &Sample, at: usize) {
        let (group, of_group) = (&scenario.groups[at], &sample.groups[at]);
        let heeds = group.source.heeds_loss();
        self.whole(seed);
        self.text(group.name.as_str().into());
        self.text(if heeds { "responsive" } else { "unresponsive" }.into());
        self.whole(group.count as u64);
        self.whole(of_group.users as u64);
        self.number(share(&of_group.metrics, heeds));
        of_group.metrics.values().for_each(|value| self.number(value));
        sample.aggregate.values().for_each(|value| self.number(value));
    }

    /// The next column's value.
    pub fn text(&mut self, value: Arc<str>) {
        if let Some(Column { values: Values::Text(all), .. }) = self.columns.next() {
            all.push(Some(value));
        }
    }

    /// The next column's value.
    pub fn whole(&mut self, value: u64) {
        if let Some(Column { values: Values::Whole(all), .. }) = self.columns.next() {
            all.push(i64::try_from(value).ok());
        }
    }

    /// The next column's value.
    pub fn number(&mut self, value: Option<f64>) {
        if let Some(Column { values: Values::Number(all), .. }) = self.columns.next() {
            all.push(value);
        }
    }
}

/// What a group received over its fair share; none where it has none.
fn share(group: &GroupSample, heeds: bool) -> Option<f64> {
    let received = if heeds { group.goodput_bps } else { group.throughput_bps }?;
    Some(received / group.fair_share_bps?).filter(|share| share.is_finite())
}
