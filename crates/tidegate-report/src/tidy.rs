//! Tables in tidy form: a row for each observation, a column for each variable.
use std::sync::Arc;

/// A table in tidy form. All columns have as many values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tidy {
    /// Its columns, in order.
    pub columns: Vec<Column>,
}

/// A variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name; no two columns of a table have the same.
    pub name: String,
    /// The unit of its values; empty for texts and pure numbers.
    pub unit: String,
    /// What it is, in one line.
    pub what: String,
    /// A value for each row.
    pub values: Values,
}

/// The values of a column; none where the variable does not exist.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Texts.
    Text(Vec<Option<Arc<str>>>),
    /// Whole numbers.
    Whole(Vec<Option<i64>>),
    /// Numbers.
    Number(Vec<Option<f64>>),
}

impl Tidy {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// A table of the same columns without rows.
    pub fn emptied(&self) -> Tidy {
        let empty = |values: &Values| match values {
            Values::Text(_) => Values::Text(vec![]),
            Values::Whole(_) => Values::Whole(vec![]),
            Values::Number(_) => Values::Number(vec![]),
        };
        let of = |c: &Column| Column::new(&c.name, &c.unit, &c.what, empty(&c.values));
        Tidy { columns: self.columns.iter().map(of).collect() }
    }

    /// Adds the rows of `other`, which has the same columns.
    pub fn append(&mut self, other: Tidy) {
        for (column, other) in self.columns.iter_mut().zip(other.columns) {
            column.values.append(other.values);
        }
    }

    /// Adds `rows` of `other`, which has the same columns.
    pub fn append_rows(&mut self, other: &Tidy, rows: std::ops::Range<usize>) {
        for (column, other) in self.columns.iter_mut().zip(&other.columns) {
            column.values.append_rows(&other.values, rows.clone());
        }
    }

    /// The column called `name`.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

impl Column {
    /// A column without values.
    pub fn new(
        name: impl Into<String>,
        unit: impl Into<String>,
        what: impl Into<String>,
        values: Values,
    ) -> Column {
        Column { name: name.into(), unit: unit.into(), what: what.into(), values }
    }

    /// The value of `row` as a number; none where it is none.
    pub fn number(&self, row: usize) -> Option<f64> {
        match &self.values {
            Values::Text(_) => None,
            Values::Whole(all) => all.get(row).copied().flatten().map(|value| value as f64),
            Values::Number(all) => all.get(row).copied().flatten(),
        }
    }

    /// The value of `row` as text; none where there is none.
    pub fn text(&self, row: usize) -> Option<String> {
        match &self.values {
            Values::Text(all) => all.get(row).cloned().flatten().map(|value| value.to_string()),
            Values::Whole(all) => all.get(row).copied().flatten().map(|value| value.to_string()),
            Values::Number(all) => all.get(row).copied().flatten().map(|value| value.to_string()),
        }
    }
}

impl Values {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Values::Text(all) => all.len(),
            Values::Whole(all) => all.len(),
            Values::Number(all) => all.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds `other`, which has the same type.
    fn append(&mut self, other: Values) {
        match (self, other) {
            (Values::Text(all), Values::Text(more)) => all.extend(more),
            (Values::Whole(all), Values::Whole(more)) => all.extend(more),
            (Values::Number(all), Values::Number(more)) => all.extend(more),
            _ => {}
        }
    }

    /// Adds `rows` of `other`, which has the same type.
    pub fn append_rows(&mut self, other: &Values, rows: std::ops::Range<usize>) {
        match (self, other) {
            (Values::Text(all), Values::Text(more)) => {
                all.extend_from_slice(more.get(rows).unwrap_or_default())
            }
            (Values::Whole(all), Values::Whole(more)) => {
                all.extend_from_slice(more.get(rows).unwrap_or_default())
            }
            (Values::Number(all), Values::Number(more)) => {
                all.extend_from_slice(more.get(rows).unwrap_or_default())
            }
            _ => {}
        }
    }

    /// Takes all values away.
    pub fn clear(&mut self) {
        match self {
            Values::Text(all) => all.clear(),
            Values::Whole(all) => all.clear(),
            Values::Number(all) => all.clear(),
        }
    }
}
