//! The levels of a column: the settings that occur in it.
use super::axis::{Extent, usable};
use super::unit::Unit;
use super::{Scale, Wanted};
use crate::tidy::{Column, Values};

/// A setting.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Level {
    Text(String),
    Number(f64),
    /// The column does not apply.
    Absent,
}

impl Level {
    /// Whether it is what was `wanted`.
    pub(super) fn is(&self, wanted: &Wanted) -> bool {
        match (self, wanted) {
            (Level::Text(text), Wanted::Text(wanted)) => text == wanted,
            (Level::Number(number), Wanted::Number(wanted)) => {
                (number - wanted).abs() <= 1e-9 * number.abs().max(wanted.abs())
            }
            _ => false,
        }
    }
}

/// A column with its levels: texts as they occur, numbers rising.
#[derive(Clone, Debug)]
pub(super) struct Factor<'t> {
    pub column: &'t Column,
    pub levels: Vec<Level>,
    /// Of each row of the table; none of rows that were not chosen.
    of: Vec<Option<usize>>,
}

impl<'t> Factor<'t> {
    /// The levels in `rows`.
    pub(super) fn of(column: &'t Column, rows: &[usize]) -> Factor<'t> {
        let mut levels: Vec<Level> = match &column.values {
            Values::Text(_) => first_seen(rows.iter().map(|&row| column.text(row))),
            _ => rising(rows.iter().filter_map(|&row| column.number(row))),
        };
        let number = |row: usize| match &column.values {
            Values::Text(_) => {
                let text = column.text(row)?;
                levels.iter().position(|level| matches!(level, Level::Text(t) if *t == text))
            }
            _ => {
                let value = column.number(row)? + 0.0;
                levels
                    .binary_search_by(|level| match level {
                        Level::Number(number) => number.total_cmp(&value),
                        _ => std::cmp::Ordering::Less,
                    })
                    .ok()
            }
        };
        let mut of = vec![None; column.values.len()];
        rows.iter().for_each(|&row| of[row] = number(row));
        if rows.iter().any(|&row| of[row].is_none()) {
            rows.iter().filter(|&&row| number(row).is_none()).for_each(|&row| {
                of[row] = Some(levels.len());
            });
            levels.push(Level::Absent);
        }
        Factor { column, levels, of }
    }

    /// The place of each level among those of the whole column, chosen or not.
    pub(super) fn places(&self) -> Vec<usize> {
        let all: Vec<usize> = (0..self.column.values.len()).collect();
        let whole = Factor::of(self.column, &all).levels;
        let place = |level| whole.iter().position(|other| other == level).unwrap_or(0);
        self.levels.iter().map(place).collect()
    }

    /// The level of `row`.
    pub(super) fn level(&self, row: usize) -> Option<usize> {
        self.of[row]
    }

    /// The unit in which its levels are named.
    pub(super) fn unit(&self) -> Unit {
        let mut extent = Extent::default();
        self.numbers().into_iter().filter(|number| *number > 0.0).for_each(|n| extent.add(n));
        Unit::of(&self.column.unit, extent.size(Scale::Log))
    }

    /// Its levels that are numbers.
    pub(super) fn numbers(&self) -> Vec<f64> {
        let number = |level: &Level| match level {
            Level::Number(number) => Some(*number),
            _ => None,
        };
        self.levels.iter().filter_map(number).collect()
    }

    /// What its levels are called, without unit.
    pub(super) fn names(&self) -> Vec<String> {
        let unit = self.unit();
        let name = |level: &Level| match level {
            Level::Text(text) => text.clone(),
            Level::Number(number) => unit.plain(*number),
            Level::Absent => "–".into(),
        };
        self.levels.iter().map(name).collect()
    }

    /// What its levels are called, with the unit.
    pub(super) fn full_names(&self) -> Vec<String> {
        let unit = self.unit().name;
        let whole = |(name, level): (String, &Level)| match level {
            Level::Number(_) if !unit.is_empty() => format!("{name} {unit}"),
            _ => name,
        };
        self.names().into_iter().zip(&self.levels).map(whole).collect()
    }

    /// Its first levels, for a message.
    pub(super) fn known(&self) -> String {
        const SHOWN: usize = 12;
        let names = self.full_names();
        let more = if names.len() > SHOWN { ", …" } else { "" };
        names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ") + more
    }
}

fn first_seen(texts: impl Iterator<Item = Option<String>>) -> Vec<Level> {
    let mut seen = std::collections::HashSet::new();
    texts.flatten().filter(|text| seen.insert(text.clone())).map(Level::Text).collect()
}

fn rising(numbers: impl Iterator<Item = f64>) -> Vec<Level> {
    let mut numbers: Vec<f64> = numbers.filter(|number| usable(*number)).map(|n| n + 0.0).collect();
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    numbers.into_iter().map(Level::Number).collect()
}
