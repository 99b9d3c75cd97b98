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
        let mut numbers = self.unit().plain(&self.numbers(), f64::INFINITY).into_iter();
        let name = |level: &Level| match level {
            Level::Text(text) => text.clone(),
            Level::Number(_) => numbers.next().unwrap_or_default(),
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbers(unit: &str, values: &[Option<f64>]) -> Column {
        Column::new("x", unit, "", Values::Number(values.to_vec()))
    }

    fn texts(values: &[Option<&str>]) -> Column {
        let texts = values.iter().map(|text| text.map(std::sync::Arc::from));
        Column::new("x", "", "", Values::Text(texts.collect()))
    }

    fn all(column: &Column) -> Factor<'_> {
        let rows: Vec<usize> = (0..column.values.len()).collect();
        Factor::of(column, &rows)
    }

    proptest! {
        /// Each row has the level of its own value, and levels rise without a double.
        #[test]
        fn rows_have_the_level_of_their_value(
            values in prop::collection::vec(prop::option::of(-4..5i32), 1..30),
            chosen in prop::collection::vec(any::<bool>(), 30),
        ) {
            let own: Vec<Option<f64>> = values.iter().map(|v| v.map(f64::from)).collect();
            let column = numbers("", &own);
            let rows: Vec<usize> = (0..own.len()).filter(|row| chosen[*row]).collect();
            let factor = Factor::of(&column, &rows);
            for (row, value) in own.iter().enumerate() {
                let level = factor.level(row).map(|level| &factor.levels[level]);
                match (chosen[row], value) {
                    (false, _) => prop_assert_eq!(level, None),
                    (true, None) => prop_assert_eq!(level, Some(&Level::Absent)),
                    (true, Some(value)) => prop_assert_eq!(level, Some(&Level::Number(*value))),
                }
            }
            prop_assert!(factor.numbers().windows(2).all(|two| two[0] < two[1]));
            let absent = factor.levels.iter().filter(|level| **level == Level::Absent).count();
            let missing = rows.iter().any(|row| own[*row].is_none());
            prop_assert_eq!(absent, usize::from(missing), "one level of what is not there");
        }

        /// Levels that differ are called differently, however near they are.
        #[test]
        fn no_two_levels_have_one_name(
            first in 1.0..1e9f64,
            power in -6.0..0.0f64,
            of in 2..6usize,
        ) {
            let step = 10f64.powf(power);
            let values: Vec<Option<f64>> =
                (0..of).map(|n| Some(first * (1.0 + n as f64 * step))).collect();
            for unit in ["", "bit/s", "s", "bytes", "packets"] {
                let column = numbers(unit, &values);
                let names = all(&column).full_names();
                let mut once = names.clone();
                once.dedup();
                prop_assert_eq!(&once, &names);
            }
        }
    }

    #[test]
    fn texts_stand_as_they_occur_and_what_is_absent_last() {
        let column = texts(&[Some("sfb"), None, Some("red"), Some("sfb")]);
        let factor = all(&column);
        assert_eq!(factor.names(), ["sfb", "red", "–"]);
        let levels: Vec<Option<usize>> = (0..4).map(|row| factor.level(row)).collect();
        assert_eq!(levels, [Some(0), Some(2), Some(1), Some(0)]);
        assert!(factor.numbers().is_empty());
        // A level keeps its place among those of the whole column.
        assert_eq!(Factor::of(&column, &[2]).places(), [1]);
        assert_eq!(Factor::of(&column, &[1, 3]).places(), [0, 2]);
    }

    #[test]
    fn levels_are_named_in_one_unit() {
        let column = numbers("s", &[Some(0.05), Some(0.01), Some(0.1), Some(-0.0), Some(0.0)]);
        let factor = all(&column);
        assert_eq!(factor.full_names(), ["0 ms", "10 ms", "50 ms", "100 ms"], "-0 is 0");
        assert_eq!(factor.known(), "0 ms, 10 ms, 50 ms, 100 ms");
        let many = numbers("", &(0..20).map(|n| Some(f64::from(n))).collect::<Vec<_>>());
        assert_eq!(all(&many).known(), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …");
        let odd = numbers("", &[Some(f64::NAN), Some(f64::INFINITY), Some(1.0)]);
        assert_eq!(all(&odd).names(), ["1", "–"], "what is no quantity is no level");
    }

    #[test]
    fn a_level_is_what_was_wanted_to_nine_digits() {
        let number = |value| Wanted::Number(value);
        assert!(Level::Number(0.3).is(&number(0.1 + 0.2)));
        assert!(!Level::Number(0.3).is(&number(0.300_001)));
        assert!(Level::Number(0.0).is(&number(0.0)) && !Level::Number(0.0).is(&number(1e-12)));
        assert!(Level::Text("1".into()).is(&Wanted::Text("1".into())));
        assert!(!Level::Text("1".into()).is(&number(1.0)), "a text is no number");
        assert!(!Level::Absent.is(&number(0.0)) && !Level::Absent.is(&Wanted::Text("–".into())));
    }
}
