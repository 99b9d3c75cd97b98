//! Two results beside each other: every figure that both have, their difference with its interval,
//! and which differences are more than chance.
//!
//! Figures are matched by their keys: scenario, what a study varies, queue, group. The keys of a
//! table are the columns up to `queue`, and `group`.
mod figures;
mod holm;
mod json;

use std::collections::HashMap;

use crate::interval::{self, Compared, Estimate};
use crate::{Figure, Pool, pool};

pub use figures::{FigureValues, Figures, LINK, MetricName, NoTable};

/// The most figures that are compared.
pub const MOST: usize = 2_000_000;

/// A figure of two results.
#[derive(Clone, Debug, PartialEq)]
pub struct DiffRow {
    /// Scenario, what is varied, queue and group; the group is empty for the watched link.
    pub place: Vec<String>,
    /// The column.
    pub metric: MetricName,
    /// In the first result.
    pub a: Figure,
    /// In the second.
    pub b: Figure,
    /// The second − the first, and how likely it is by chance; none where a side has no interval.
    pub compared: Option<Compared>,
    /// What follows.
    pub verdict: Likeness,
}

/// Whether a figure differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    /// It does, also by Holm's correction for so many figures.
    Certain,
    /// The interval of the difference leaves out zero; of so many figures some do by chance.
    Differs,
    /// It is not known, since there is no interval.
    Unknown,
    /// The interval has zero in it.
    Alike,
    /// All values are the same.
    Same,
}

/// Two results beside each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Diff {
    /// The keys' names.
    pub keys: Vec<String>,
    /// Their units, empty for texts and pure numbers.
    pub units: Vec<String>,
    /// The queues, where each result has one and they are not the same.
    pub queues: Option<[String; 2]>,
    /// The figures: those that differ first, the least likely ones before others.
    pub rows: Vec<DiffRow>,
    /// Places that one result has alone: of the first, of the second.
    pub alone: [usize; 2],
    /// Figures that are known in one result alone.
    pub one_sided: usize,
}

/// Why two results cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoDiff {
    /// They have nothing in common, for these reasons.
    Nothing(Vec<String>),
    /// More figures than [`MOST`].
    TooMany(usize),
}

impl Diff {
    /// `a` beside `b`, of the metrics that `wanted` says yes to.
    ///
    /// # Errors
    /// They have nothing in common, or too much.
    pub fn new(a: &Figures, b: &Figures, wanted: impl Fn(&str) -> bool) -> Result<Diff, NoDiff> {
        if a.keys() != b.keys() {
            let [of_a, of_b] = [a, b].map(|figures| figures.keys().join(", "));
            let why = format!("the first is by {of_a}, the second by {of_b}");
            return Err(NoDiff::Nothing(vec![why]));
        }
        let queues = match (a.queues().as_slice(), b.queues().as_slice()) {
            ([one], [other]) if one != other => Some([one.clone(), other.clone()]),
            _ => None,
        };
        let pairs = pairs(a, b, queues.is_some());
        if pairs.is_empty() {
            return Err(NoDiff::Nothing(unlike(a, b)));
        }
        let metrics: Vec<(usize, usize)> = (a.metrics().iter().enumerate())
            .filter(|(_, metric)| wanted(&metric.name))
            .filter_map(|(i, metric)| {
                Some((i, b.metrics().iter().position(|other| other.name == metric.name)?))
            })
            .collect();
        let many = pairs.len() * metrics.len();
        if many > MOST {
            return Err(NoDiff::TooMany(many));
        }
        let alone = [a.places().len() - pairs.len(), b.places().len() - pairs.len()];
        let mut diff = Diff {
            keys: a.keys().to_vec(),
            units: a.units().to_vec(),
            queues,
            rows: vec![],
            alone,
            one_sided: 0,
        };
        for (in_a, in_b) in pairs {
            for (metric_a, metric_b) in &metrics {
                match (a.values(in_a, *metric_a), b.values(in_b, *metric_b)) {
                    (Some(of_a), Some(of_b)) => {
                        let metric = &a.metrics()[*metric_a];
                        diff.rows.extend(row(&a.places()[in_a], metric, of_a, of_b));
                    }
                    (None, None) => {}
                    _ => diff.one_sided += 1,
                }
            }
        }
        diff.judge();
        Ok(diff)
    }

    /// How many figures have this verdict.
    pub fn count(&self, verdict: Likeness) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    /// How many figures may differ by chance: those with an interval of their difference that are
    /// not the same in every seed.
    pub fn tested(&self) -> usize {
        self.rows.iter().filter(|row| row.chance().is_some()).count()
    }

    /// Says which differences are certain, and puts those that differ first.
    fn judge(&mut self) {
        let chances: Vec<f64> = self.rows.iter().filter_map(DiffRow::chance).collect();
        let bound = holm::bound(&chances, 0.05);
        for row in &mut self.rows {
            let beyond = row.chance().zip(bound).is_some_and(|(chance, bound)| chance <= bound);
            if row.verdict == Likeness::Differs && beyond {
                row.verdict = Likeness::Certain;
            }
        }
        let chance = |row: &DiffRow| match row.verdict {
            Likeness::Certain | Likeness::Differs => row.chance().unwrap_or(1.0),
            // The others stay in the order of the table.
            _ => 1.0,
        };
        self.rows.sort_by(|one, other| {
            one.verdict.cmp(&other.verdict).then(chance(one).total_cmp(&chance(other)))
        });
    }
}

impl DiffRow {
    /// How likely chance makes so great a difference; none where that is not known, or there is
    /// none.
    pub fn chance(&self) -> Option<f64> {
        self.compared.filter(|_| self.verdict != Likeness::Same).map(|compared| compared.chance)
    }
}

/// What one metric is in one place; none where it is no number.
fn row(
    place: &[String],
    metric: &MetricName,
    of_a: &FigureValues,
    of_b: &FigureValues,
) -> Option<DiffRow> {
    let (a, b) = (of_a.figure(metric.pool)?, of_b.figure(metric.pool)?);
    let compared = compared(metric.pool, (of_a, a), (of_b, b));
    let verdict = match compared {
        _ if of_a.same_as(of_b) => Likeness::Same,
        None => Likeness::Unknown,
        Some(compared) => match interval::differ(compared.difference) {
            Some(true) => Likeness::Differs,
            Some(false) => Likeness::Alike,
            None => Likeness::Unknown,
        },
    };
    Some(DiffRow { place: place.to_vec(), metric: metric.clone(), a, b, compared, verdict })
}

/// The second − the first.
fn compared(
    pool: Pool,
    (of_a, a): (&FigureValues, Figure),
    (of_b, b): (&FigureValues, Figure),
) -> Option<Compared> {
    // Where neither has an interval, since events are rare or values near an end, their spread says
    // as little of the difference.
    if a.ci95().is_none() && b.ci95().is_none() {
        return None;
    }
    match (of_a, of_b) {
        (FigureValues::BySeed(of_a), FigureValues::BySeed(of_b)) => {
            let plain = |all: &[(i64, f64)]| all.iter().map(|(_, v)| *v).collect::<Vec<f64>>();
            let same = of_a.iter().map(|(seed, _)| seed).eq(of_b.iter().map(|(seed, _)| seed));
            interval::compared(&plain(of_b), &plain(of_a), same)
        }
        _ => {
            let estimate = |figure: Figure, values: &FigureValues| {
                let replications = values.replications();
                // The difference of what is skewed alike is not skewed.
                let wider = if pool.is_skewed() { pool::wider(replications) } else { 1.0 };
                let plain = Figure::new(figure.mean(), figure.ci95().map(|half| half / wider))?;
                Estimate::from_figure(plain, replications)
            };
            Some(interval::apart(estimate(b, of_b)?, estimate(a, of_a)?))
        }
    }
}

/// The places that both have, by their indices; the queue does not count where `any_queue`.
fn pairs(a: &Figures, b: &Figures, any_queue: bool) -> Vec<(usize, usize)> {
    let at = a.keys().iter().position(|key| key == "queue").filter(|_| any_queue);
    let key_of = |place: &[String]| {
        let mut key = place.to_vec();
        if let Some(at) = at {
            key[at].clear();
        }
        key
    };
    let of_b: HashMap<Vec<String>, usize> =
        b.places().iter().enumerate().map(|(i, place)| (key_of(place), i)).collect();
    let places = a.places().iter().enumerate();
    places.filter_map(|(i, place)| Some((i, *of_b.get(&key_of(place))?))).collect()
}

/// What keeps two results from having a place in common.
fn unlike(a: &Figures, b: &Figures) -> Vec<String> {
    let keys = a.keys().iter().enumerate();
    let different = |(at, key): (usize, &String)| {
        let [of_a, of_b] = [a, b].map(|figures| figures.of_key(at));
        let common = of_a.iter().any(|value| of_b.contains(value));
        let told = |values: &[String]| match values {
            [first, second, third, _, ..] => format!("{first}, {second}, {third} and others"),
            few => few.join(", "),
        };
        (!common).then(|| {
            let name = if key == "scenario" { "scenario" } else { key };
            format!("{name}: {} in the first, {} in the second", told(&of_a), told(&of_b))
        })
    };
    let found: Vec<String> = keys.filter_map(different).collect();
    if found.is_empty() { vec!["no combination of their keys is in both".into()] } else { found }
}
