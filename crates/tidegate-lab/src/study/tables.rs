//! The tables of a study: a row for each cell, queue, group and seed; their means over seeds; and
//! a row for each flow where flows are kept.
use std::path::Path;
use std::sync::Arc;

use tidegate_report::tidy::{Column, Values};
use tidegate_report::{Aggregate, Figure, Group, Pool, Tidy, human};

use super::axis::{Setting, Typed};
use super::file::Study;
use super::prepared::Prepared;
use super::rows;
use super::store::{Store, StoreError};
use super::written::{TableFiles, WantedTables};

/// What became of a study, beside the files.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// How many rows the table of groups has.
    pub rows: u64,
    /// Replications that are not done, of those that are sure to be needed.
    pub missing: u64,
    /// The columns of groups that were asked for.
    pub groups: Tidy,
    /// The same of their means over seeds.
    pub summary: Tidy,
    /// The same of flows, where they are kept.
    pub flows: Tidy,
    /// What each group got behind each queue.
    pub answers: Vec<GroupShare>,
}

/// What a group got behind a queue, over all cells: parts of a fair share.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupShare {
    /// The queue's label.
    pub queue: String,
    /// The group.
    pub group: String,
    /// What it got.
    pub share: Mean,
    /// What its worst user got.
    pub worst: Mean,
    /// How many of its users were starved.
    pub starved: Mean,
    /// The least share of all cells.
    pub least: f64,
    /// The cell that has it.
    pub cell: usize,
}

/// A mean over those cells that tell of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mean {
    sum: f64,
    cells: usize,
}

impl Mean {
    fn add(&mut self, value: Option<f64>) {
        self.sum += value.unwrap_or_default();
        self.cells += usize::from(value.is_some());
    }

    /// The mean; `None` where no cell tells.
    pub fn value(&self) -> Option<f64> {
        (self.cells > 0).then(|| self.sum / self.cells as f64)
    }
}

impl GroupShare {
    /// What stands above [`words`](Self::words).
    pub const HEAD: [&str; 7] = [
        "queue",
        "group",
        "% of fair share",
        "worst user, %",
        "starved",
        "least of all cells, %",
        "in the cell",
    ];

    /// As a row for people.
    pub fn words(&self, study: &Study) -> [String; 7] {
        let percent = |share: f64| format!("{:.1}", share * 100.0);
        let told =
            |mean: Mean, how: &dyn Fn(f64) -> String| mean.value().map_or(human::NONE.into(), how);
        [
            self.queue.clone(),
            self.group.clone(),
            told(self.share, &percent),
            told(self.worst, &percent),
            told(self.starved, &human::few),
            percent(self.least),
            study.named(&study.cell(self.cell)),
        ]
    }
}

/// Writes the tables of what `store` has of `prepared` into `dir`, each whole or not at all.
///
/// # Errors
/// The store or the disk fails.
pub fn tables(
    prepared: &Prepared,
    store: &mut Store,
    dir: &Path,
    wanted: WantedTables<'_>,
) -> Result<Tables, StoreError> {
    let study = &prepared.study;
    let mut groups = TableFiles::new(dir, "groups", behind(study, &rows::groups()), wanted)?;
    let mut means = TableFiles::new(dir, "summary", summary_columns(study), wanted)?;
    let flows = study.flows.then(|| behind(study, &rows::flows()));
    let flows = flows.map(|like| TableFiles::new(dir, "flows", like, wanted));
    let mut flows = flows.transpose()?;
    let pools = pools();
    let mut tables = Tables::default();
    for case in 0..prepared.cases() {
        let lead = Lead::new(study, case);
        let known = prepared.known(case, store)?;
        let needed = study.seeds.needed(&known) as u64;
        let mut all = rows::groups();
        for seed in study.first_seed..study.first_seed + needed {
            let Some(found) = store.rows(&prepared.key(case), seed)? else {
                tables.missing += 1;
                continue;
            };
            if let Some(flows) = &mut flows {
                flows.add(lead.before(found.flows))?;
            }
            all.append(found.rows);
        }
        tables.rows += all.rows() as u64;
        let summary = lead.summary(&all, &pools);
        tables.answer(&lead, &summary);
        means.add(summary)?;
        groups.add(lead.before(all))?;
    }
    (tables.groups, tables.summary) = (groups.finish()?, means.finish()?);
    tables.flows = flows.map(TableFiles::finish).transpose()?.unwrap_or_default();
    Ok(tables)
}

/// How the seeds' values of each figure are taken together, by the place of its column.
fn pools() -> Vec<(usize, Pool)> {
    let columns = rows::groups().columns;
    let figures = columns.iter().enumerate().filter(|(_, c)| matches!(c.values, Values::Number(_)));
    figures.map(|(at, column)| (at, pool(&column.name))).collect()
}

/// How the seeds' values of the column `name` of groups are taken together.
pub(crate) fn pool(name: &str) -> Pool {
    let metrics = [(Group::METRICS, ""), (Aggregate::METRICS, rows::LINK)];
    let metric = metrics.iter().find_map(|(metrics, lead)| {
        let own = |metric: &&tidegate_report::Metric| {
            metric.columns().any(|column| format!("{lead}{column}") == name)
        };
        metrics.iter().find(own)
    });
    metric.map_or(Pool::Mean, |metric| metric.pool)
}

/// The columns of cell and queue, without rows.
fn leads(study: &Study) -> Vec<Column> {
    let text = |name: &str, what: &str| Column::new(name, "", what, Values::Text(vec![]));
    let cell = "the place of the cell in the study, from 0";
    let mut columns = vec![
        Column::new("cell", "", cell, Values::Whole(vec![])),
        text("scenario", "the scenario"),
    ];
    for setting in study.axes.iter().flat_map(|axis| &axis.settings) {
        let (unit, values) = match &setting.typed {
            Typed::Text(_) => ("", Values::Text(vec![])),
            Typed::Whole(_) => ("", Values::Whole(vec![])),
            Typed::Number(unit, _) => (*unit, Values::Number(vec![])),
        };
        columns.push(Column::new(&setting.column, unit, "varied by the study", values));
    }
    columns.push(text("queue", "the queue's label"));
    columns
}

/// The columns of a table whose stored columns are those of `stored`: the case's name gives way to
/// cell and queue.
pub(super) fn behind(study: &Study, stored: &Tidy) -> Tidy {
    let mut columns = leads(study);
    columns.extend(stored.columns.iter().skip(1).cloned());
    Tidy { columns }
}

/// The columns of the means over seeds.
fn summary_columns(study: &Study) -> Tidy {
    let mut columns = leads(study);
    let stored = rows::groups().columns;
    columns.push(stored[2].clone());
    columns.push(Column::new("seeds", "", "how many replications", Values::Whole(vec![])));
    let figures = stored.iter().filter(|column| matches!(column.values, Values::Number(_)));
    for column in figures {
        columns.push(column.clone());
        let half = "half the width of the 95 % interval of the column before";
        let name = format!("{}_ci95", column.name);
        columns.push(Column::new(name, &column.unit, half, Values::Number(vec![])));
    }
    Tidy { columns }
}

/// What all rows of a case begin with.
struct Lead {
    cell: usize,
    queue: Arc<str>,
    /// Cell, scenario, axes and queue, with one row.
    columns: Vec<Column>,
}

impl Lead {
    fn new(study: &Study, case: usize) -> Lead {
        let queues = study.queues.len();
        let cell = study.cell(case / queues);
        let queue: Arc<str> = study.label(case % queues).into();
        let scenario: Arc<str> = study.scenarios[cell.scenario].name.as_str().into();
        let mut columns = leads(study);
        let axes = study.axes.iter().zip(&cell.steps);
        let varied = axes.flat_map(|(axis, step)| axis.settings.iter().map(|s| one(s, *step)));
        let values =
            [Values::Whole(vec![Some(cell.index as i64)]), Values::Text(vec![Some(scenario)])]
                .into_iter()
                .chain(varied)
                .chain([Values::Text(vec![Some(queue.clone())])]);
        for (column, value) in columns.iter_mut().zip(values) {
            column.values = value;
        }
        Lead { cell: cell.index, queue, columns }
    }

    fn repeated(&self, rows: usize) -> Vec<Column> {
        let of = |column: &Column| Column {
            values: match &column.values {
                Values::Text(one) => Values::Text(vec![one[0].clone(); rows]),
                Values::Whole(one) => Values::Whole(vec![one[0]; rows]),
                Values::Number(one) => Values::Number(vec![one[0]; rows]),
            },
            ..column.clone()
        };
        self.columns.iter().map(of).collect()
    }

    /// The stored rows behind cell and queue.
    fn before(&self, stored: Tidy) -> Tidy {
        let mut columns = self.repeated(stored.rows());
        columns.extend(stored.columns.into_iter().skip(1));
        Tidy { columns }
    }

    /// The means over the seeds in `all`, a row for each group.
    fn summary(&self, all: &Tidy, pools: &[(usize, Pool)]) -> Tidy {
        let Values::Text(names) = &all.columns[2].values else { return Tidy::default() };
        let mut groups: Vec<Arc<str>> = vec![];
        for name in names.iter().flatten() {
            if !groups.contains(name) {
                groups.push(name.clone());
            }
        }
        let members = |group: &Arc<str>| -> Vec<usize> {
            (0..names.len()).filter(|row| names[*row].as_ref() == Some(group)).collect()
        };
        let rows: Vec<Vec<usize>> = groups.iter().map(members).collect();
        let mut columns = self.repeated(groups.len());
        let seeds = rows.iter().map(|rows| Some(rows.len() as i64)).collect();
        columns.push(Column {
            values: Values::Text(groups.into_iter().map(Some).collect()),
            ..all.columns[2].clone()
        });
        columns.push(Column::new("seeds", "", "how many replications", Values::Whole(seeds)));
        for (at, pool) in pools {
            let of = |rows: &Vec<usize>| {
                pool.figure(rows.iter().map(|row| all.columns[*at].number(*row)))
            };
            let figures: Vec<Option<Figure>> = rows.iter().map(of).collect();
            let means = figures.iter().map(|figure| figure.map(|f| f.mean())).collect();
            let halves = figures.iter().map(|figure| figure.and_then(|f| f.ci95())).collect();
            let name = &all.columns[*at].name;
            columns.push(Column { values: Values::Number(means), ..all.columns[*at].clone() });
            columns.push(Column::new(format!("{name}_ci95"), "", "", Values::Number(halves)));
        }
        Tidy { columns }
    }
}

fn one(setting: &Setting, step: usize) -> Values {
    match &setting.typed {
        Typed::Text(all) => Values::Text(vec![Some(all[step].as_str().into())]),
        Typed::Whole(all) => Values::Whole(vec![Some(all[step])]),
        Typed::Number(_, all) => Values::Number(vec![Some(all[step])]),
    }
}

impl Tables {
    fn answer(&mut self, lead: &Lead, summary: &Tidy) {
        let column = |name: &str| summary.column(name);
        let (Some(groups), Some(shares)) = (column("group"), column("share")) else { return };
        let users = ["worst_share", "starved"].map(column);
        for row in 0..summary.rows() {
            let (Some(group), Some(share)) = (groups.text(row), shares.number(row)) else {
                continue;
            };
            let known = |a: &GroupShare| *a.queue == *lead.queue && a.group == group;
            let at = self.answers.iter().position(known).unwrap_or_else(|| {
                self.answers.push(GroupShare {
                    queue: lead.queue.to_string(),
                    group,
                    share: Mean::default(),
                    worst: Mean::default(),
                    starved: Mean::default(),
                    least: f64::INFINITY,
                    cell: lead.cell,
                });
                self.answers.len() - 1
            });
            let answer = &mut self.answers[at];
            let [worst, starved] = users.map(|column| column?.number(row));
            answer.share.add(Some(share));
            answer.worst.add(worst);
            answer.starved.add(starved);
            if share < answer.least {
                (answer.least, answer.cell) = (share, lead.cell);
            }
        }
    }
}
