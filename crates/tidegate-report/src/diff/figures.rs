//! The figures of one result, by place and metric.
use std::collections::HashMap;
use std::fmt;

use crate::tidy::{self, Column};
use crate::{Aggregate, Document, Figure, Group, Metric, Pool, Tidy};

/// What the columns of the watched link begin with.
pub const LINK: &str = "link_";
/// What numbers the cells of a study, whose axes tell them apart.
const CELL: &str = "cell";

/// A metric, as a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricName {
    /// The column's name.
    pub name: String,
    /// The unit; empty for a pure number.
    pub unit: String,
    /// Whether it is a ratio, which is shown in per cent.
    pub ratio: bool,
    /// How replications are taken together.
    pub pool: Pool,
}

impl MetricName {
    fn new(name: String, unit: &str) -> MetricName {
        let declared = match name.strip_prefix(LINK) {
            Some(own) => find(Aggregate::METRICS, own),
            None => find(Group::METRICS, &name),
        };
        // A coefficient of variation has no unit, whatever varies.
        let unit = if name.ends_with("_cov") { "" } else { unit };
        let ratio = name == "share" || declared.is_some_and(|metric| metric.shape == "ratio");
        MetricName { name, unit: unit.into(), ratio, pool: declared.map_or(Pool::Mean, |m| m.pool) }
    }
}

fn find(metrics: &'static [Metric], name: &str) -> Option<&'static Metric> {
    metrics.iter().find(|metric| metric.columns().any(|column| column == name))
}

/// The values of a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum FigureValues {
    /// Of each seed, in order of seeds.
    BySeed(Vec<(i64, f64)>),
    /// Taken together, of so many replications.
    Together(Figure, usize),
}

impl FigureValues {
    /// What they are together.
    pub(super) fn figure(&self, pool: Pool) -> Option<Figure> {
        match self {
            FigureValues::BySeed(all) => pool.figure(all.iter().map(|(_, value)| Some(*value))),
            FigureValues::Together(figure, _) => Some(*figure),
        }
    }

    pub(super) fn replications(&self) -> usize {
        match self {
            FigureValues::BySeed(all) => all.len(),
            FigureValues::Together(_, of) => *of,
        }
    }

    /// Whether nothing tells them apart.
    pub(super) fn same_as(&self, other: &FigureValues) -> bool {
        match (self, other) {
            (FigureValues::BySeed(a), FigureValues::BySeed(b)) => {
                a.iter().map(|(_, value)| value).eq(b.iter().map(|(_, value)| value))
            }
            (a, b) => a == b,
        }
    }
}

/// The figures of one result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    keys: Vec<String>,
    /// The unit of each key.
    units: Vec<String>,
    places: Vec<Vec<String>>,
    metrics: Vec<MetricName>,
    /// By metric and place.
    values: Vec<Vec<Option<FigureValues>>>,
}

/// Why a table has no figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoTable {
    /// The column that it lacks.
    pub column: &'static str,
}

impl fmt::Display for NoTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the table has no column `{}`", self.column)
    }
}

impl Figures {
    /// Those of a table with a row for each queue, group and seed.
    ///
    /// # Errors
    /// It lacks a column.
    pub fn by_seed(table: &Tidy) -> Result<Figures, NoTable> {
        let at = |column| {
            let found = table.columns.iter().position(|c| c.name == column);
            found.ok_or(NoTable { column })
        };
        let (queue, group, seed) = (at("queue")?, at("group")?, at("seed")?);
        let keys: Vec<&Column> = table.columns[..=queue]
            .iter()
            .filter(|column| column.name != CELL)
            .chain([&table.columns[group]])
            .collect();
        let mut places = Places::default();
        let rows: Vec<[usize; 2]> = (0..table.rows())
            .map(|row| {
                places.with_link(keys.iter().map(|key| key.text(row).unwrap_or_default()).collect())
            })
            .collect();
        let seeds = &table.columns[seed];
        let figures = table.columns[group..]
            .iter()
            .filter(|column| matches!(column.values, tidy::Values::Number(_)));
        let (mut metrics, mut values) = (vec![], vec![]);
        for column in figures {
            let metric = MetricName::new(column.name.clone(), &column.unit);
            let of_link = usize::from(metric.name.starts_with(LINK));
            let mut all = vec![vec![]; places.list.len()];
            for (row, place) in rows.iter().enumerate() {
                let seed = seeds.number(row).unwrap_or_default() as i64;
                if let Some(value) = column.number(row).filter(|value| value.is_finite()) {
                    all[place[of_link]].push((seed, value));
                }
            }
            metrics.push(metric);
            values.push(all.into_iter().map(settled).collect());
        }
        let units = keys.iter().map(|column| column.unit.clone()).collect();
        let keys = keys.iter().map(|column| column.name.clone()).collect();
        Ok(Figures { keys, units, places: places.list, metrics, values })
    }

    /// Those of documents, whose replications were taken together.
    pub fn together(documents: &[Document]) -> Figures {
        let mut places = Places::default();
        let columns = |metrics: &'static [Metric], lead: &'static str| {
            let of = |metric: &'static Metric| {
                metric
                    .columns()
                    .map(move |name| MetricName::new(format!("{lead}{name}"), metric.unit))
            };
            metrics.iter().flat_map(of).collect::<Vec<MetricName>>()
        };
        let (of_group, of_link) = (columns(Group::METRICS, ""), columns(Aggregate::METRICS, LINK));
        let metrics = [vec![MetricName::new("share".into(), "")], of_group, of_link].concat();
        let groups = Group::METRICS.iter().map(|metric| metric.columns().count()).sum::<usize>();
        let mut values = vec![vec![]; metrics.len()];
        let mut put = |metric: usize, place: usize, value: FigureValues| {
            let column: &mut Vec<Option<FigureValues>> = &mut values[metric];
            column.resize(column.len().max(place + 1), None);
            column[place] = Some(value);
        };
        for document in documents {
            let of = document.seeds.len().max(1);
            let key = |group: &str| {
                vec![document.scenario.clone(), document.title().into(), group.to_string()]
            };
            for group in &document.groups {
                let [place, _] = places.with_link(key(&group.name));
                let shares = document.seeds.iter().zip(&group.share_by_seed);
                let shares: Vec<_> = shares.map(|(seed, share)| (*seed as i64, *share)).collect();
                if !shares.is_empty() {
                    put(0, place, FigureValues::BySeed(shares));
                }
                for (metric, figure) in group.figures().enumerate() {
                    if let Some(figure) = figure {
                        put(1 + metric, place, FigureValues::Together(figure, of));
                    }
                }
            }
            let [_, place] = places.with_link(key(""));
            for (metric, figure) in document.aggregate.figures().enumerate() {
                if let Some(figure) = figure {
                    put(1 + groups + metric, place, FigureValues::Together(figure, of));
                }
            }
        }
        let keys = ["scenario", "queue", "group"].map(String::from).to_vec();
        let units = vec![String::new(); keys.len()];
        Figures { keys, units, places: places.list, metrics, values }
    }

    /// The names of the keys; the last is `group`.
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// The units of the keys, empty for texts and pure numbers.
    pub fn units(&self) -> &[String] {
        &self.units
    }

    /// The keys' values of each place; the group is empty for the watched link.
    pub fn places(&self) -> &[Vec<String>] {
        &self.places
    }

    /// The metrics, in order.
    pub fn metrics(&self) -> &[MetricName] {
        &self.metrics
    }

    pub(super) fn values(&self, place: usize, metric: usize) -> Option<&FigureValues> {
        self.values[metric].get(place)?.as_ref()
    }

    /// The values of the key number `at`, each once, in order.
    pub(super) fn of_key(&self, at: usize) -> Vec<String> {
        let mut values: Vec<String> = vec![];
        for value in self.places.iter().map(|place| &place[at]).filter(|value| !value.is_empty()) {
            // Neighbours are mostly alike, and a study has few values of a key.
            if values.last() != Some(value) && !values.contains(value) {
                values.push(value.clone());
            }
        }
        values
    }

    /// The queues, by their labels.
    pub(super) fn queues(&self) -> Vec<String> {
        let at = self.keys.iter().position(|key| key == "queue");
        at.map(|at| self.of_key(at)).unwrap_or_default()
    }
}

/// Values in the order of their seeds, each seed once: the rows of several groups say the same of
/// their link.
fn settled(mut all: Vec<(i64, f64)>) -> Option<FigureValues> {
    all.sort_by_key(|(seed, _)| *seed);
    all.dedup_by_key(|(seed, _)| *seed);
    (!all.is_empty()).then_some(FigureValues::BySeed(all))
}

/// Places, each once.
#[derive(Default)]
struct Places {
    list: Vec<Vec<String>>,
    known: HashMap<Vec<String>, usize>,
}

impl Places {
    fn index(&mut self, place: Vec<String>) -> usize {
        *self.known.entry(place).or_insert_with_key(|place| {
            self.list.push(place.clone());
            self.list.len() - 1
        })
    }

    /// The place itself, and that of its link.
    fn with_link(&mut self, place: Vec<String>) -> [usize; 2] {
        let mut link = place.clone();
        if let Some(group) = link.last_mut() {
            group.clear();
        }
        [self.index(place), self.index(link)]
    }
}
