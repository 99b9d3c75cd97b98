//! Which rows a plot draws, and what sets them apart: colours, panels, seeds.
use std::collections::{BTreeMap, BTreeSet};

use super::factor::Factor;
use super::style::{LegendSeries, MOST_SERIES, SeriesStyle};
use super::{Plot, PlotKind, PlotRefused, Wanted};
use crate::tidy::{Column, Tidy, Values};

/// The column that repeats a measurement.
const SEED: &str = "seed";
/// The column of groups, which quantities of a link have once for each of them.
const GROUP: &str = "group";
/// What a group is known by, too.
const CONDUCT: &str = "conduct";
/// The column that numbers the cells: the other settings say the same.
const CELL: &str = "cell";
/// The most panels of a plot.
const MOST_PANELS: usize = 48;

/// The rows of a plot.
pub(super) struct Selection<'t> {
    pub plot: &'t Plot,
    pub tidy: &'t Tidy,
    pub rows: Vec<usize>,
    /// What series are by.
    pub colour: Option<Factor<'t>>,
    /// The number of each series' look.
    looks: Vec<usize>,
    /// What panels are by: one or two.
    pub facets: Vec<Factor<'t>>,
}

/// A panel: where it stands in the grid, what it is of, its rows.
#[derive(Debug)]
pub(super) struct Panel {
    /// The level of each facet.
    pub of: Vec<usize>,
    pub rows: Vec<usize>,
}

/// The names of the columns that say how a row came about: those before the seed, except the cell's
/// number, and texts behind it.
pub(super) fn conditions(tidy: &Tidy) -> Vec<&str> {
    let mut before = tidy.column(SEED).is_some();
    let mut names = vec![];
    for column in &tidy.columns {
        before &= column.name != SEED;
        let text = matches!(column.values, Values::Text(_));
        if (before && column.name != CELL) || text {
            names.push(column.name.as_str());
        }
    }
    names
}

/// The number of each series' look. A series looks the same in all plots of a table, whichever
/// others are left out, as long as there are looks for all.
fn looks(colour: &Factor) -> Vec<usize> {
    let places = colour.places();
    if places.iter().all(|place| *place < MOST_SERIES) {
        places
    } else {
        (0..places.len()).collect()
    }
}

impl<'t> Selection<'t> {
    /// The rows that `plot` has of `tidy`.
    pub(super) fn of(plot: &'t Plot, tidy: &'t Tidy) -> Result<Selection<'t>, PlotRefused> {
        let mut selection = Selection {
            plot,
            tidy,
            rows: filtered(plot, tidy)?,
            colour: None,
            looks: vec![],
            facets: vec![],
        };
        let default = Some("queue").filter(|_| plot.kind != PlotKind::Heat);
        let colour = plot.colour.as_deref().or(default.filter(|name| tidy.column(name).is_some()));
        if let Some(name) = colour {
            let colour = selection.factor("colour", name)?;
            selection.looks = looks(&colour);
            selection.colour = Some(colour);
        }
        for name in &plot.facets {
            let facet = selection.factor("facet", name)?;
            selection.facets.push(facet);
        }
        selection.split_the_rest()?;
        selection.check_bounds()?;
        Ok(selection)
    }

    /// The levels of the condition `name`.
    pub(super) fn factor(&self, field: &str, name: &str) -> Result<Factor<'t>, PlotRefused> {
        let conditions = conditions(self.tidy);
        if !conditions.contains(&name) {
            let why = format!("must be one of {}", conditions.join(", "));
            return Err(PlotRefused::new(field, name, why));
        }
        Ok(Factor::of(column(self.tidy, field, name)?, &self.rows))
    }

    /// What else sets rows apart goes to panels of its own: values of different settings are never
    /// taken together unless the plot pools them.
    fn split_the_rest(&mut self) -> Result<(), PlotRefused> {
        for name in conditions(self.tidy) {
            let drawn = self.drawn_by();
            if drawn.contains(&name) || self.plot.pooled.iter().any(|pooled| pooled == name) {
                continue;
            }
            let factor = self.factor("facet", name)?;
            if !self.several(&factor)? {
                continue;
            }
            if name == GROUP && self.alike_in_groups()? {
                self.first_group_only();
                continue;
            }
            if self.facets.len() == 2 {
                let why = format!(
                    "rows differ in {name}, too ({}); choose one with where = {{ \"{name}\" = … \
                     }}, or take the mean over all with pool = [\"{name}\"]",
                    factor.known()
                );
                return Err(PlotRefused::new("facet", &self.plot.facets.join(", "), why));
            }
            self.facets.push(factor);
        }
        Ok(())
    }

    /// The conditions that the picture shows.
    fn drawn_by(&self) -> Vec<&str> {
        let factors = self.colour.iter().chain(&self.facets).map(|f| f.column.name.as_str());
        factors.chain(self.plot.columns().map(|(_, name)| name)).collect()
    }

    /// Whether rows that would be drawn in one place have several levels of `factor`.
    fn several(&self, factor: &Factor) -> Result<bool, PlotRefused> {
        if factor.levels.len() < 2 {
            return Ok(false);
        }
        let place = self.place_of()?;
        let mut seen = BTreeMap::new();
        Ok(self.rows.iter().any(|&row| {
            let level = factor.level(row);
            *seen.entry(place(row)).or_insert(level) != level
        }))
    }

    /// What tells rows apart so far: the levels of all conditions that are drawn.
    fn place_of(&self) -> Result<impl Fn(usize) -> Vec<Option<usize>> + use<'t>, PlotRefused> {
        let conditions = conditions(self.tidy);
        let drawn: BTreeSet<&str> = self.drawn_by().into_iter().collect();
        let drawn = drawn.into_iter().filter(|name| conditions.contains(name));
        let factors: Vec<Factor> =
            drawn.map(|name| self.factor("x", name)).collect::<Result<_, _>>()?;
        Ok(move |row| factors.iter().map(|factor| factor.level(row)).collect())
    }

    /// Whether what is drawn is the same for all groups of a run, as of a link.
    fn alike_in_groups(&self) -> Result<bool, PlotRefused> {
        let measured: Vec<&Column> = self.measured();
        let run = self.run_of()?;
        let mut seen: BTreeMap<_, Vec<Option<u64>>> = BTreeMap::new();
        Ok(self.rows.iter().all(|&row| {
            let values = || measured.iter().map(|c| c.number(row).map(f64::to_bits)).collect();
            *seen.entry(run(row)).or_insert_with(values) == values()
        }))
    }

    fn first_group_only(&mut self) {
        let Ok(run) = self.run_of() else { return };
        let mut seen = BTreeSet::new();
        self.rows.retain(|&row| seen.insert(run(row)));
    }

    /// The columns of the plot that are measured.
    fn measured(&self) -> Vec<&'t Column> {
        let conditions = conditions(self.tidy);
        let names = self.plot.columns().map(|(_, name)| name);
        names
            .filter(|name| !conditions.contains(name))
            .filter_map(|name| self.tidy.column(name))
            .collect()
    }

    /// The run that a row is of: all conditions but the group, and the seed.
    fn run_of(&self) -> Result<impl Fn(usize) -> Vec<Option<u64>> + use<'t>, PlotRefused> {
        let of_group = |name: &&str| !matches!(*name, GROUP | CONDUCT);
        let names = conditions(self.tidy).into_iter().filter(of_group);
        let factors: Vec<Factor> =
            names.map(|name| self.factor("facet", name)).collect::<Result<_, _>>()?;
        let seed = self.tidy.column(SEED);
        Ok(move |row| {
            let levels = factors.iter().map(|f| f.level(row).map(|level| level as u64));
            levels.chain([seed.and_then(|s| s.number(row)).map(f64::to_bits)]).collect()
        })
    }

    fn check_bounds(&self) -> Result<(), PlotRefused> {
        let panels: usize = self.facets.iter().map(|facet| facet.levels.len()).product();
        if panels > MOST_PANELS {
            let why = format!(
                "would be {panels} panels; at most {MOST_PANELS} are drawn: choose with where, or \
                 take the mean with pool"
            );
            let names: Vec<&str> = self.facets.iter().map(|f| f.column.name.as_str()).collect();
            return Err(PlotRefused::new("facet", &names.join(", "), why));
        }
        let series = self.colour.as_ref().map_or(1, |colour| colour.levels.len());
        if series > MOST_SERIES {
            let why = format!("has {series} values; at most {MOST_SERIES} can be told apart");
            let name = self.colour.as_ref().map_or("", |colour| &colour.column.name);
            return Err(PlotRefused::new("colour", name, why));
        }
        Ok(())
    }

    /// The panels, in rows of the first facet.
    pub(super) fn panels(&self) -> Vec<Panel> {
        let counts: Vec<usize> = self.facets.iter().map(|facet| facet.levels.len()).collect();
        let across = counts.first().copied().unwrap_or(1);
        let down = counts.get(1).copied().unwrap_or(1);
        let place = |k: usize| [k % across, k / across][..counts.len()].to_vec();
        let mut panels: Vec<Panel> =
            (0..across * down).map(|k| Panel { of: place(k), rows: vec![] }).collect();
        for &row in &self.rows {
            let level = |k: usize| self.facets.get(k).map_or(Some(0), |f| f.level(row));
            if let (Some(column), Some(line)) = (level(0), level(1)) {
                panels[line * across + column].rows.push(row);
            }
        }
        panels
    }

    /// The series of a row.
    pub(super) fn series(&self, row: usize) -> usize {
        self.colour.as_ref().and_then(|colour| colour.level(row)).unwrap_or(0)
    }

    /// The names and looks of the series.
    pub(super) fn names(&self) -> Vec<LegendSeries> {
        let Some(colour) = &self.colour else { return vec![] };
        let series =
            |(name, look): (String, &usize)| LegendSeries { name, look: SeriesStyle::of(*look) };
        colour.full_names().into_iter().zip(&self.looks).map(series).collect()
    }

    /// Values by `key`, one for each seed: of the rows of a seed the mean.
    pub(super) fn by_seed<K: Ord, const N: usize>(
        &self,
        rows: &[usize],
        key: impl Fn(usize) -> Option<K>,
        values: impl Fn(usize) -> Option<[f64; N]>,
    ) -> BTreeMap<K, Vec<[f64; N]>> {
        let seed = self.tidy.column(SEED);
        let seed_of = |row: usize| match seed {
            Some(seed) => seed.number(row).map_or(0, |number| number as i64),
            None => row as i64,
        };
        let mut sums: BTreeMap<K, BTreeMap<i64, ([f64; N], f64)>> = BTreeMap::new();
        for &row in rows {
            let (Some(key), Some(values)) = (key(row), values(row)) else { continue };
            let sum = sums.entry(key).or_default().entry(seed_of(row)).or_insert(([0.0; N], 0.0));
            sum.0.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            sum.1 += 1.0;
        }
        let mean = |(sum, n): ([f64; N], f64)| sum.map(|sum| sum / n);
        sums.into_iter()
            .map(|(key, seeds)| (key, seeds.into_values().map(mean).collect()))
            .collect()
    }
}

/// The column `name` that the plot's `field` asks for.
pub(super) fn column<'t>(
    tidy: &'t Tidy,
    field: &str,
    name: &str,
) -> Result<&'t Column, PlotRefused> {
    tidy.column(name).ok_or_else(|| PlotRefused::new(field, name, "there is no such column"))
}

/// The column `name` of numbers.
pub(super) fn numbers<'t>(
    tidy: &'t Tidy,
    field: &str,
    name: &str,
) -> Result<&'t Column, PlotRefused> {
    let column = column(tidy, field, name)?;
    match column.values {
        Values::Text(_) => Err(PlotRefused::new(field, name, "has texts; a number is needed")),
        _ => Ok(column),
    }
}

/// The rows that pass all filters.
fn filtered(plot: &Plot, tidy: &Tidy) -> Result<Vec<usize>, PlotRefused> {
    let mut rows: Vec<usize> = (0..tidy.rows()).collect();
    if rows.is_empty() {
        return Err(PlotRefused::new("", "", "the table has no rows"));
    }
    for filter in &plot.filters {
        let field = format!("where.{}", filter.column);
        let column = column(tidy, &field, &filter.column)?;
        let factor = Factor::of(column, &rows);
        let known = |wanted: &Wanted| factor.levels.iter().any(|level| level.is(wanted));
        for wanted in &filter.values {
            if !known(wanted) {
                let why = format!("no row has it; known are {}", factor.known());
                return Err(PlotRefused::new(&field, &wanted.to_string(), why));
            }
        }
        let chosen =
            |level: usize| filter.values.iter().any(|wanted| factor.levels[level].is(wanted));
        rows.retain(|&row| factor.level(row).is_some_and(chosen));
    }
    Ok(rows)
}
