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
        self.even_out();
    }

    /// Adds `rows` of `other`, which has the same columns.
    pub fn append_rows(&mut self, other: &Tidy, rows: std::ops::Range<usize>) {
        for (column, other) in self.columns.iter_mut().zip(&other.columns) {
            column.values.append_rows(&other.values, rows.clone());
        }
        self.even_out();
    }

    /// Makes all columns as long as the longest: where the other table lacked one, or had one of
    /// another type, there is no value, and the rows stay whole.
    fn even_out(&mut self) {
        let rows = self.columns.iter().map(|column| column.values.len()).max().unwrap_or(0);
        for column in &mut self.columns {
            match &mut column.values {
                Values::Text(all) => all.resize(rows, None),
                Values::Whole(all) => all.resize(rows, None),
                Values::Number(all) => all.resize(rows, None),
            }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Row = (Option<String>, Option<i64>, Option<f64>);

    fn table(rows: &[Row]) -> Tidy {
        let texts = rows.iter().map(|row| row.0.as_deref().map(Arc::from)).collect();
        let numbers = rows.iter().map(|row| row.2).collect();
        Tidy {
            columns: vec![
                Column::new("queue", "", "its label", Values::Text(texts)),
                Column::new("seed", "", "", Values::Whole(rows.iter().map(|row| row.1).collect())),
                Column::new("rate_bps", "bit/s", "", Values::Number(numbers)),
            ],
        }
    }

    fn any_rows() -> impl Strategy<Value = Vec<Row>> {
        let text = prop::option::of("[a-z]{0,4}");
        let row = (text, prop::option::of(any::<i64>()), prop::option::of(-1e9..1e9f64));
        prop::collection::vec(row, 0..12)
    }

    proptest! {
        #[test]
        fn appending_puts_rows_behind_rows(one in any_rows(), other in any_rows()) {
            let mut both = table(&one);
            both.append(table(&other));
            prop_assert_eq!(&both, &table(&[one.clone(), other.clone()].concat()));
            prop_assert_eq!(both.rows(), one.len() + other.len());
            let mut piecewise = table(&one).emptied();
            prop_assert_eq!(piecewise.rows(), 0);
            let middle = both.rows() / 2;
            piecewise.append_rows(&both, 0..middle);
            piecewise.append_rows(&both, middle..both.rows());
            prop_assert_eq!(piecewise, both);
        }

        #[test]
        fn a_value_is_a_text_and_a_number_where_it_can_be(rows in any_rows()) {
            let table = table(&rows);
            let names = ["queue", "seed", "rate_bps"];
            let [queue, seed, rate] = names.map(|name| table.column(name).unwrap());
            for (at, row) in rows.iter().enumerate() {
                prop_assert_eq!(queue.text(at), row.0.clone());
                prop_assert_eq!(queue.number(at), None, "a text is no number");
                prop_assert_eq!(seed.number(at), row.1.map(|whole| whole as f64));
                prop_assert_eq!(rate.number(at), row.2);
                let read = |text: Option<String>| text.map(|text| text.parse::<f64>().unwrap());
                prop_assert_eq!(read(rate.text(at)), row.2, "no digit is lost");
                prop_assert_eq!(seed.text(at), row.1.map(|whole| whole.to_string()));
            }
            for column in &table.columns {
                prop_assert_eq!(column.number(rows.len()), None, "there is no such row");
                prop_assert_eq!(column.text(rows.len()), None);
            }
        }
    }

    fn row(queue: &str, seed: i64, rate: f64) -> Row {
        (Some(queue.into()), Some(seed), Some(rate))
    }

    /// What has no counterpart of its type has no value; the others keep their rows.
    #[test]
    fn columns_that_disagree_keep_their_rows_in_step() {
        let lengths =
            |table: &Tidy| table.columns.iter().map(|c| c.values.len()).collect::<Vec<usize>>();
        let mut all = table(&[row("red", 1, 1e6)]);
        let mut other = table(&[row("sfb", 2, 2e6), row("drr", 3, 3e6)]);
        other.columns[1].values = Values::Text(vec![Some("two".into()), Some("three".into())]);
        all.append(other);
        assert_eq!(lengths(&all), [3, 3, 3]);
        assert_eq!(all.columns[1].values, Values::Whole(vec![Some(1), None, None]));
        assert_eq!(all.columns[2].number(2), Some(3e6), "drr's rate stands in drr's row");

        let mut fewer = table(&[row("pie", 4, 4e6)]);
        fewer.columns.truncate(2);
        all.append_rows(&fewer, 0..1);
        assert_eq!(lengths(&all), [4, 4, 4]);
        assert_eq!((all.columns[1].number(3), all.columns[2].number(3)), (Some(4.0), None));
        all.append_rows(&fewer, 1..9);
        assert_eq!(lengths(&all), [4, 4, 4], "rows that are not there add none");
    }

    #[test]
    fn a_table_without_rows_keeps_its_columns() {
        let empty = table(&[row("red", 1, 1e6)]).emptied();
        assert!(empty.columns.iter().all(|column| column.values.is_empty()));
        let names: Vec<&str> = empty.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["queue", "seed", "rate_bps"]);
        assert_eq!(
            (empty.columns[2].unit.as_str(), empty.columns[0].what.as_str()),
            ("bit/s", "its label")
        );
        assert_eq!(empty.column("Queue"), None);
        assert_eq!(Tidy::default().rows(), 0);
        let mut values = table(&[row("red", 1, 1e6)]).columns.remove(0).values;
        values.clear();
        assert_eq!(values, Values::Text(vec![]));
    }
}
