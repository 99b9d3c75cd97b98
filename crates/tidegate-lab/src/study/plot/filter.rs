//! Which rows a plot draws: `group` and `where`.
use tidegate_report::plot::{Filter, Plot, Wanted};
use tidegate_report::tidy::{Column, Tidy, Values};

use crate::nearest::did_you_mean;
use crate::reader::{Node, Reader, Table, TomlValue, scalar};
use crate::study::axis::quantity;

use super::{AxisSide, KnownColumns, is_text, wanted};

impl Reader<'_> {
    /// Which rows are drawn.
    pub(super) fn filters(
        &mut self,
        table: &Table<'_>,
        plot: &mut Plot,
        tidy: &Tidy,
        known: &KnownColumns<'_>,
    ) {
        if let Some(node) = table.get("group") {
            let field = table.field("group");
            plot.filters.extend(self.filter(node, &field, "group", tidy, known));
        }
        let Some(node) = table.get("where") else { return };
        let field = table.field("where.");
        for entry in self.table(node, &field).entries {
            let field = format!("{field}{}", entry.key);
            self.conditions(&entry.key, &entry.node, &field, plot, (tidy, known));
        }
    }

    /// The filters of a key of `where`; a path without quotes is tables within tables.
    fn conditions(
        &mut self,
        name: &str,
        node: &Node,
        field: &str,
        plot: &mut Plot,
        of: (&Tidy, &KnownColumns<'_>),
    ) {
        if let TomlValue::Table(entries) = &node.kind {
            for entry in entries {
                let (name, field) =
                    (format!("{name}.{}", entry.key), format!("{field}.{}", entry.key));
                self.conditions(&name, &entry.node, &field, plot, of);
            }
            return;
        }
        if plot.filters.iter().any(|filter| filter.column == name) {
            self.problem(node.origin, field, "", "this column is filtered already");
            return;
        }
        plot.filters.extend(self.filter(node, field, name, of.0, of.1));
    }

    fn filter(
        &mut self,
        node: &Node,
        field: &str,
        name: &str,
        tidy: &Tidy,
        known: &KnownColumns<'_>,
    ) -> Option<Filter> {
        let Some(column) = tidy.column(name) else {
            let all: Vec<&str> = tidy.columns.iter().map(|column| column.name.as_str()).collect();
            let near = did_you_mean(name, &all).unwrap_or_default();
            let why = format!("no such column; must be {}{near}", wanted(AxisSide::Set, tidy));
            self.problem(node.origin, field, "", why);
            return None;
        };
        let nodes = match &node.kind {
            TomlValue::List(_) => self.list(node, field),
            _ => std::slice::from_ref(node),
        };
        let levels = (known.levels)(name);
        let mut values = vec![];
        for node in nodes {
            match value(node, column) {
                Ok(wanted) => {
                    if let Some(why) = levels.as_ref().and_then(|all| stranger(&wanted, all)) {
                        self.problem(node.origin, field, &node.shown(), why);
                    }
                    values.push(wanted);
                }
                Err(why) => self.problem(node.origin, field, &node.shown(), why),
            }
        }
        (!values.is_empty()).then(|| Filter { column: name.into(), values })
    }
}

/// What `node` says, as a value of `column`.
fn value(node: &Node, column: &Column) -> Result<Wanted, String> {
    let said = scalar(node)
        .ok_or_else(|| format!("must be a value or a list of values, not {}", node.what()))?;
    if is_text(column) {
        return Ok(Wanted::Text(said));
    }
    let (number, unit) =
        quantity(&said).ok_or_else(|| format!("must be a number{}", of_unit(&column.unit)))?;
    // Counts of flows and the like are written as pure numbers.
    if unit == column.unit || (unit.is_empty() && !matches!(&*column.unit, "s" | "B" | "bit/s")) {
        return Ok(Wanted::Number(number));
    }
    Err(format!("must be a number{}", of_unit(&column.unit)))
}

fn of_unit(unit: &str) -> String {
    match unit {
        "" => " without a unit".into(),
        "s" => " with a unit of time, as in \"20 ms\"".into(),
        "B" => " with a unit of data, as in \"64 kB\"".into(),
        "bit/s" => " with a unit of rate, as in \"10 Mbit/s\"".into(),
        unit => format!(" of {unit}"),
    }
}

/// Why no row can have `wanted`, if the study sets none to it.
fn stranger(wanted: &Wanted, levels: &Values) -> Option<String> {
    let near = |number: f64, other: f64| (number - other).abs() <= 1e-9 * number.abs();
    let known = match (wanted, levels) {
        (Wanted::Number(n), Values::Number(all)) => all.iter().flatten().any(|v| near(*n, *v)),
        (Wanted::Number(n), Values::Whole(all)) => all.iter().flatten().any(|v| *n == *v as f64),
        (Wanted::Text(text), Values::Text(all)) => all.iter().flatten().any(|v| **v == **text),
        _ => true,
    };
    if known {
        return None;
    }
    let (Wanted::Text(text), Values::Text(all)) = (wanted, levels) else {
        return Some("no cell has this value".into());
    };
    let all: Vec<&str> = all.iter().flatten().map(|text| &**text).collect();
    let near = did_you_mean(text, &all).unwrap_or_default();
    Some(format!("no cell has this value; known are {}{near}", all.join(", ")))
}
