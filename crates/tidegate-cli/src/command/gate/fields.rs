//! Values of a gate's file by their key, and what is said of those that cannot be.
use std::str::FromStr;

use tidegate::ConfigError;
use tidegate::units::UnitError;
use tidegate_lab::reader::{Node, Reader, Table, TomlValue, cut, name_of, scalar};

/// Reads what a gate's file has. Of a link with a mistake nothing is kept, but its mistakes.
pub struct GateFileReader<'a>(pub Reader<'a>);

impl GateFileReader<'_> {
    /// The text of a key that must be there.
    pub fn required(&mut self, table: &Table<'_>, key: &str, what: &str) -> Option<String> {
        if table.get(key).is_none() {
            self.0.missing(table, key, &format!("this key is required: {what}"));
        }
        self.0.text(table, key)
    }

    /// The value of a key, read from its text.
    pub fn parsed<T: FromStr<Err = UnitError>>(
        &mut self,
        table: &Table<'_>,
        key: &str,
    ) -> Option<T> {
        let node = table.get(key)?;
        self.entry(node, &table.field(key))
    }

    /// The value of a key, or each of its list.
    pub fn all<T: FromStr<Err = UnitError>>(&mut self, table: &Table<'_>, key: &str) -> Vec<T> {
        let Some(node) = table.get(key) else { return vec![] };
        let field = table.field(key);
        match &node.kind {
            TomlValue::List(_) => self
                .0
                .list(node, &field)
                .iter()
                .filter_map(|item| self.entry(item, &field))
                .collect(),
            _ => self.entry(node, &field).into_iter().collect(),
        }
    }

    fn entry<T: FromStr<Err = UnitError>>(&mut self, node: &Node, field: &str) -> Option<T> {
        let Some(text) = scalar(node) else {
            let why = format!("must be a text or a number, not {}", node.what());
            self.0.problem(node.origin, field, &node.shown(), why);
            return None;
        };
        match text.parse() {
            Ok(value) => Some(value),
            Err(error) => {
                self.0.problem(node.origin, field, &cut(&error.text, 60), error.why);
                None
            }
        }
    }

    /// Takes down an error of a direction: at its key, at the queue's parameter, or at the class
    /// that it names.
    pub fn refuse(&mut self, table: &Table<'_>, error: ConfigError) {
        let field = table.field(&error.field);
        let (key, inner) = error.field.split_once('.').unwrap_or((&error.field, "name"));
        let node = table.get(key);
        let inside = node.and_then(|node| match &node.kind {
            TomlValue::Table(entries) => {
                entries.iter().find(|entry| entry.key == inner).map(|entry| &entry.node)
            }
            TomlValue::List(items) => items.iter().find(|item| name_of(item) == Some(&error.value)),
            _ => None,
        });
        let origin = inside.or(node).map_or(table.origin, |node| node.origin);
        self.0.problem(origin, &field, &cut(&error.value, 60), error.why);
    }
}
