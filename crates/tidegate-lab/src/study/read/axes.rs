//! Reading what a study sets and varies.
use crate::reader::{Node, Reader, Table, TomlEntry, TomlValue, scalar};
use crate::study::axis::{Axis, Setting, Typed, quantity, written};

/// The keys of an axis that is a table.
const AXIS: [&str; 7] = ["values", "path", "set", "from", "to", "steps", "scale"];
/// The most values of an axis with steps.
const MOST_STEPS: i64 = 1000;

impl Reader<'_> {
    /// What `[set]` says: paths with their values.
    pub(super) fn set_of(&mut self, table: &Table<'_>) -> Vec<Setting> {
        let Some(node) = table.get("set") else { return vec![] };
        let mut found = vec![];
        let set = self.table(node, "set.");
        self.flatten(set.entries, "", &mut |reader, path, entry| {
            let Some(text) = reader.set_text(&entry.node, &format!("set.{path}")) else { return };
            let typed = Typed::Text(vec![text.clone()]);
            let values = vec![(text, entry.node.origin)];
            found.push(Setting { path: Some(path.clone()), column: path, values, typed });
        });
        found
    }

    /// Calls `each` with every value below `entries` that is no table, and its path.
    fn flatten(
        &mut self,
        entries: &[TomlEntry],
        path: &str,
        each: &mut dyn FnMut(&mut Self, String, &TomlEntry),
    ) {
        for entry in entries {
            let path =
                if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
            match &entry.node.kind {
                TomlValue::Table(below) if !is_axis(below) => self.flatten(below, &path, each),
                _ => each(self, path, entry),
            }
        }
    }

    /// A value as `--set` takes it.
    fn set_text(&mut self, node: &Node, field: &str) -> Option<String> {
        let text = match &node.kind {
            TomlValue::Flag(flag) => Some(flag.to_string()),
            TomlValue::List(items) => {
                let texts: Option<Vec<String>> = items
                    .iter()
                    .map(|item| match &item.kind {
                        TomlValue::Text(text) | TomlValue::Bare(text) => Some(format!("{text:?}")),
                        _ => scalar(item),
                    })
                    .collect();
                texts.map(|texts| format!("[{}]", texts.join(", ")))
            }
            _ => scalar(node),
        };
        if text.is_none() {
            let why = format!("must be a text, a number or a list of these, not {}", node.what());
            self.problem(node.origin, field, "", why);
        }
        text
    }

    pub(super) fn axes(&mut self, table: &Table<'_>) -> Vec<Axis> {
        let Some(node) = table.get("axes") else { return vec![] };
        let mut axes: Vec<Axis> = vec![];
        let table = self.table(node, "axes.");
        self.flatten(table.entries, "", &mut |reader, name, entry| {
            let field = format!("axes.{name}");
            let axis = match &entry.node.kind {
                TomlValue::Table(_) => reader.axis(&entry.node, &name, &field),
                _ => {
                    let path = name.contains('.').then(|| name.clone());
                    let setting = reader.setting(&entry.node, path, name.clone(), &field);
                    let axis = setting.map(|setting| Axis { name, settings: vec![setting] });
                    axis.map(|axis| reader.distinct(axis, &field))
                }
            };
            axes.extend(axis);
        });
        axes
    }

    /// An axis that is a table.
    fn axis(&mut self, node: &Node, name: &str, field: &str) -> Option<Axis> {
        let lead = format!("{field}.");
        let table = self.table(node, &lead);
        self.only(&table, "an axis", &AXIS);
        if let Some(set) = table.get("set") {
            return self.in_step(set, name, &table.field("set"));
        }
        let path = self.text(&table, "path").or_else(|| name.contains('.').then(|| name.into()));
        let column = path.clone().unwrap_or_else(|| name.into());
        let setting = match table.get("values") {
            Some(values) => self.setting(values, path, column, &table.field("values")),
            None => self.steps(&table, path, column),
        };
        Some(self.distinct(Axis { name: name.into(), settings: vec![setting?] }, field))
    }

    /// Settings that go in step.
    fn in_step(&mut self, node: &Node, name: &str, field: &str) -> Option<Axis> {
        let lead = format!("{field}.");
        let table = self.table(node, &lead);
        let mut settings: Vec<Setting> = vec![];
        self.flatten(table.entries, "", &mut |reader, path, entry| {
            let field = format!("{lead}{path}");
            let sets = path.contains('.').then(|| path.clone());
            let setting = reader.setting(&entry.node, sets, path, &field);
            let Some(setting) = setting else { return };
            if let Some(first) = settings.first()
                && first.values.len() != setting.values.len()
            {
                let why = format!(
                    "has {} values and {} has {}; what goes in step has as many",
                    setting.values.len(),
                    first.column,
                    first.values.len()
                );
                reader.problem(entry.node.origin, &field, "", why);
            }
            settings.push(setting);
        });
        if settings.is_empty() {
            let why = "must be a table of paths with their values";
            self.problem(node.origin, field, "", why);
            return None;
        }
        Some(self.distinct(Axis { name: name.into(), settings }, field))
    }

    /// Refuses steps of an axis that set the same as another one.
    fn distinct(&mut self, axis: Axis, field: &str) -> Axis {
        let same =
            |one: usize, other: usize| axis.settings.iter().all(|s| s.typed.same(one, other));
        for at in 0..axis.len() {
            if (0..at).any(|other| same(other, at)) {
                let (text, origin) = &axis.settings[0].values[at];
                self.problem(*origin, field, text, "is given twice");
            }
        }
        axis
    }

    /// A list of values.
    fn setting(
        &mut self,
        node: &Node,
        path: Option<String>,
        column: String,
        field: &str,
    ) -> Option<Setting> {
        let items = self.list(node, field);
        let values: Vec<_> = items
            .iter()
            .filter_map(|item| Some((self.set_text(item, field)?, item.origin)))
            .collect();
        if values.is_empty() {
            return None;
        }
        let texts: Vec<&str> = values.iter().map(|(text, _)| text.as_str()).collect();
        match Typed::of(&texts) {
            Ok(typed) => Some(Setting { path, column, values, typed }),
            Err((at, why)) => {
                let why = format!("{why}; values of an axis have one unit");
                self.problem(values[at].1, field, &values[at].0, why);
                None
            }
        }
    }

    /// Values from one end to another, in steps.
    fn steps(
        &mut self,
        table: &Table<'_>,
        path: Option<String>,
        column: String,
    ) -> Option<Setting> {
        let logarithmic = match self.text(table, "scale").as_deref() {
            None | Some("linear") => false,
            Some("logarithmic") => true,
            Some(_) => {
                self.refuse_key(table, "scale", "must be one of linear | logarithmic");
                return None;
            }
        };
        let (from, unit) = self.end(table, "from")?;
        let (to, other) = self.end(table, "to")?;
        let steps = self.whole_of(table, "steps", 2, MOST_STEPS);
        let Some(steps) = steps else {
            if table.get("steps").is_none() {
                self.missing(table, "steps", "this key is required: a number of values");
            }
            return None;
        };
        if unit != other {
            self.refuse_key(table, "to", "has another unit than `from`");
            return None;
        }
        if logarithmic && (from <= 0.0 || to <= 0.0) {
            self.refuse_key(table, "from", "both ends of a logarithmic axis must be above zero");
            return None;
        }
        let value = |i: i64| {
            let part = i as f64 / (steps - 1) as f64;
            match logarithmic {
                true if i == steps - 1 => to,
                true => from * libm::exp(part * libm::log(to / from)),
                false => from + (to - from) * part,
            }
        };
        let origin = table.origin;
        let values: Vec<_> =
            (0..steps).map(|i| (written(rounded(value(i)), unit), origin)).collect();
        let texts: Vec<&str> = values.iter().map(|(text, _)| text.as_str()).collect();
        let typed = Typed::of(&texts).ok()?;
        Some(Setting { path, column, values, typed })
    }

    fn end(&mut self, table: &Table<'_>, key: &str) -> Option<(f64, &'static str)> {
        let Some(node) = table.get(key) else {
            let why = "this key is required: an axis has `values`, or `from`, `to` and `steps`";
            self.missing(table, key, why);
            return None;
        };
        let found = scalar(node).and_then(|text| quantity(&text));
        if found.is_none() {
            self.refuse_key(table, key, "must be a number or a quantity, as in \"10 Mbit/s\"");
        }
        found
    }
}

/// Whether a table describes an axis, and is not the next step of a path.
fn is_axis(entries: &[TomlEntry]) -> bool {
    let has = |key: &str| entries.iter().any(|entry| entry.key == key);
    has("values") || has("from") || has("to") || (has("set") && entries.len() == 1)
}

/// Five significant digits, so that steps have values that one can read.
fn rounded(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}
