//! TOML files as values: types, units, bounds and unknown keys, each mistake with its place. What
//! is read is one struct of [`params!`](tidegate::params) for a table, or field by field.
use tidegate::ConfigError;
use tidegate::config::{Param, Params, SEPARATOR, Value};

use crate::label::check_label;
use crate::nearest::did_you_mean;
use crate::problem::Problem;
use crate::spec::QueueSpec;

mod derived;
mod file;
mod quantity;
mod set;
mod tree;

pub(crate) use derived::{Expression, ExpressionFault, Request, Unknown};
pub use file::FileKind;
pub(crate) use quantity::{Dimension, UnitValue, WantedKind};
pub use set::Override;
pub use tree::{Node, Origin, TomlDocument, TomlEntry, TomlValue, cut, name_of};

/// The longest title, description and name, in characters.
pub(crate) const TEXT_LIMIT: usize = 4000;
/// The most groups, links, queues to compare, or entries in a list.
pub(crate) const LIST_LIMIT: usize = 1000;

/// A table that is being read.
#[derive(Clone, Copy, Debug)]
pub struct Table<'n> {
    /// What is in it, in the order of the file.
    pub entries: &'n [TomlEntry],
    /// Where it stands.
    pub origin: Origin,
    /// What its keys belong to, with a dot: `run.`; empty for the root.
    path: &'n str,
}

impl<'n> Table<'n> {
    /// The same table, whose keys belong to `path`, which ends with a dot.
    pub fn called(self, path: &'n str) -> Table<'n> {
        Table { path, ..self }
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&'n Node> {
        self.entries.iter().find(|e| e.key == key).map(|e| &e.node)
    }

    /// The path of `key`, for messages.
    pub fn field(&self, key: &str) -> String {
        format!("{}{key}", self.path)
    }
}

/// Reads a tree and collects what is wrong with it. A wrong value is replaced by its default and
/// reading goes on, so that one reading finds all mistakes; the values only count when there were
/// none.
pub struct Reader<'a> {
    /// What is read.
    pub doc: &'a TomlDocument<'a>,
    /// What is wrong with it, so far.
    pub problems: Vec<Problem>,
    /// Values that are to be derived from others; `None` where values must be plain.
    pub(crate) derived: Option<Vec<Request>>,
}

impl<'a> Reader<'a> {
    /// A reader of plain values.
    pub fn new(doc: &'a TomlDocument<'a>) -> Reader<'a> {
        Reader { doc, problems: vec![], derived: None }
    }

    /// A reader that takes down the values that are to be derived, and reads their defaults in
    /// place of them.
    pub(crate) fn deriving(doc: &'a TomlDocument<'a>) -> Reader<'a> {
        Reader { derived: Some(vec![]), ..Reader::new(doc) }
    }

    /// A queue, as its text or as a table of name, preset, label and parameters.
    pub fn queue(&mut self, node: &Node, path: &str) -> QueueSpec {
        if let TomlValue::Text(text) | TomlValue::Bare(text) = &node.kind {
            return text.parse().unwrap_or_else(|error: ConfigError| {
                self.problem(node.origin, path, &error.value, error.why);
                QueueSpec::named("drop_tail")
            });
        }
        let prefix = format!("{path}.");
        let table = self.table(node, &prefix);
        let Some(name) = self.text(&table, "name") else {
            if table.get("name").is_none() {
                self.missing(
                    &table,
                    "name",
                    "this key is required: a queue's name, as in name = \"red\"",
                );
            }
            return QueueSpec::named("drop_tail");
        };
        let mut spec = QueueSpec { preset: self.text(&table, "preset"), ..QueueSpec::named(name) };
        if let Some(label) = self.text(&table, "label") {
            match check_label(&label) {
                Ok(label) => spec.label = Some(label),
                Err(why) => self.refuse_key(&table, "label", why),
            }
        }
        let params = tidegate::catalog::find(&spec.name).map_or(&[][..], |row| row.params);
        for entry in
            table.entries.iter().filter(|e| !matches!(e.key.as_str(), "name" | "preset" | "label"))
        {
            let kind = params.iter().find(|p| p.name == entry.key).map_or("", |p| p.kind);
            if self.derives(&entry.node, &table.field(&entry.key), kind) {
                continue;
            }
            match by_class(&entry.node) {
                Some(text) => spec.params.push((entry.key.clone(), text)),
                None => self.problem(
                    entry.node.origin,
                    &table.field(&entry.key),
                    "",
                    "must be a text, a number or a list of these",
                ),
            }
        }
        spec
    }

    /// A value or a list of values of the parameter `key` of `of`.
    pub fn values<P: Params, T>(
        &mut self,
        table: &Table<'_>,
        key: &str,
        of: P,
        value: fn(&P) -> T,
    ) -> Vec<T> {
        let Some(node) = table.get(key) else { return vec![] };
        let items = match &node.kind {
            TomlValue::List(_) => self.list(node, &table.field(key)),
            _ => std::slice::from_ref(node),
        };
        let mut read = |item: &Node| {
            let mut params = of.clone();
            self.param(item, &table.field(key), key, &mut params);
            value(&params)
        };
        items.iter().map(&mut read).collect()
    }

    // What tables are made of.

    /// The table that `node` is; empty, and a problem, if it is none.
    pub fn table<'n>(&mut self, node: &'n Node, path: &'n str) -> Table<'n> {
        let entries = match &node.kind {
            TomlValue::Table(entries) => entries.as_slice(),
            _ => {
                let why = format!("must be a table, not {}", node.what());
                self.problem(node.origin, path.trim_end_matches('.'), &node.shown(), why);
                &[]
            }
        };
        Table { entries, origin: node.origin, path }
    }

    /// The tables that `node`, the value of `key`, is a list of.
    pub fn tables<'n>(&mut self, node: &'n Node, key: &str) -> &'n [Node] {
        if let TomlValue::Table(_) = node.kind {
            let why = format!("must be a list of tables: write [[{key}]] with double brackets");
            self.problem(node.origin, key, "", why);
            return &[];
        }
        self.list(node, key)
    }

    /// The entries of the list that `node` is.
    pub fn list<'n>(&mut self, node: &'n Node, field: &str) -> &'n [Node] {
        match &node.kind {
            TomlValue::List(items) if items.is_empty() || items.len() > LIST_LIMIT => {
                let why = format!("must have 1 to {LIST_LIMIT} entries, not {}", items.len());
                self.problem(node.origin, field, "", why);
                &[]
            }
            TomlValue::List(items) => items,
            _ => {
                self.problem(
                    node.origin,
                    field,
                    &node.shown(),
                    format!("must be a list, not {}", node.what()),
                );
                &[]
            }
        }
    }

    /// The text that `key` has.
    pub fn text(&mut self, table: &Table<'_>, key: &str) -> Option<String> {
        let node = table.get(key)?;
        match &node.kind {
            TomlValue::Text(text) | TomlValue::Bare(text) if text.chars().count() <= TEXT_LIMIT => {
                Some(text.clone())
            }
            TomlValue::Text(text) | TomlValue::Bare(text) => {
                let why = format!("must be at most {TEXT_LIMIT} characters long");
                self.problem(node.origin, &table.field(key), &cut(text, 20), why);
                None
            }
            _ => {
                let why = format!("must be a text in quotes, not {}", node.what());
                self.problem(node.origin, &table.field(key), &node.shown(), why);
                None
            }
        }
    }

    /// The name that `key` has, as of a group, a node or a link; empty if there is none or it
    /// cannot be.
    pub fn name(&mut self, table: &Table<'_>, key: &str) -> String {
        table.get(key).map(|node| self.name_in(node, &table.field(key))).unwrap_or_default()
    }

    pub(crate) fn name_in(&mut self, node: &Node, field: &str) -> String {
        if let TomlValue::Text(name) | TomlValue::Bare(name) = &node.kind {
            let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
            // A name of digits only would be mistaken for a number in an override's path.
            let number = name.chars().all(|c| c.is_ascii_digit());
            if (1..=40).contains(&name.chars().count()) && name.chars().all(plain) && !number {
                return name.clone();
            }
        }
        let why = "must be a name of 1 to 40 letters, digits, - or _, not digits only";
        self.problem(node.origin, field, &node.shown(), why);
        String::new()
    }

    /// Whether `key` is true; false if it is not there.
    pub fn flag(&mut self, table: &Table<'_>, key: &str) -> bool {
        match table.get(key) {
            None => false,
            Some(Node { kind: TomlValue::Flag(flag), .. }) => *flag,
            Some(Node { kind: TomlValue::Bare(word), .. }) if word == "true" || word == "false" => {
                word == "true"
            }
            Some(node) => {
                self.problem(
                    node.origin,
                    &table.field(key),
                    &node.shown(),
                    "must be true or false",
                );
                false
            }
        }
    }

    // Parameters.

    /// Sets those of `target`'s parameters that the table has; each of `required` must be there.
    pub fn params<P: Params>(&mut self, table: &Table<'_>, target: &mut P, required: &[&str]) {
        self.params_of(table, target, |_| true);
        for &key in required.iter().filter(|key| table.get(key).is_none()) {
            let param =
                P::PARAMS.iter().find(|p| p.name == key).expect("required keys are parameters");
            self.missing(table, key, &format!("this key is required: a {}", param.kind));
        }
    }

    /// Sets those of `target`'s parameters that the table has, of `which` alone.
    pub fn params_of<P: Params>(
        &mut self,
        table: &Table<'_>,
        target: &mut P,
        which: impl Fn(&str) -> bool,
    ) {
        for param in P::PARAMS.iter().filter(|p| which(p.name)) {
            if let Some(node) = table.get(param.name) {
                self.param(node, &table.field(param.name), param.name, target);
            }
        }
    }

    fn param<P: Params>(&mut self, node: &Node, field: &str, name: &str, target: &mut P) {
        let kind = P::PARAMS.iter().find(|p| p.name == name).map_or("", |p| p.kind);
        self.value(node, field, kind, |text| target.set(name, text));
    }

    /// Sets a value of this kind from what the table has.
    pub fn value(
        &mut self,
        node: &Node,
        field: &str,
        kind: &str,
        set: impl FnOnce(&str) -> Result<(), ConfigError>,
    ) {
        let text = match &node.kind {
            // A list is a text with its entries apart.
            TomlValue::List(_) if kind.contains("list") => match self.list(node, field) {
                [] => return,
                _ => by_class(node),
            },
            _ => scalar(node),
        };
        let Some(text) = text else {
            self.problem(node.origin, field, "", format!("must be a {kind}, not {}", node.what()));
            return;
        };
        if let (TomlValue::Text(text), true) = (&node.kind, is_number(kind)) {
            if self.derives(node, field, kind) {
                return;
            }
            let why = format!("must be a {kind}, written without quotes");
            self.problem(node.origin, field, &cut(text, 60), why);
            return;
        }
        if let Err(error) = set(&text)
            && !self.derives(node, field, kind)
        {
            self.problem(node.origin, field, &cut(&error.value, 60), error.why);
        }
    }

    /// Refuses keys that are neither parameters nor in `also`.
    pub fn known(&mut self, table: &Table<'_>, what: &str, params: &[Param], also: &[&str]) {
        let known: Vec<&str> = also.iter().copied().chain(params.iter().map(|p| p.name)).collect();
        self.only(table, what, &known);
    }

    /// Refuses keys that are not `known`; `what` the table is in messages.
    pub fn only(&mut self, table: &Table<'_>, what: &str, known: &[&str]) {
        for entry in table.entries.iter().filter(|e| !known.contains(&e.key.as_str())) {
            let near = did_you_mean(&entry.key, known).unwrap_or_default();
            let why = format!("no such key; {what} knows {}{near}", known.join(", "));
            self.problem(entry.key_origin, &table.field(&cut(&entry.key, 60)), "", why);
        }
    }

    // Problems.

    /// Takes down what is wrong.
    pub fn problem(&mut self, origin: Origin, field: &str, value: &str, why: impl Into<String>) {
        self.problems.push(self.doc.problem(origin, field, value, why));
    }

    /// Takes down what is wrong with the value of `key`, or that there is none.
    pub fn refuse_key(&mut self, table: &Table<'_>, key: &str, why: impl Into<String>) {
        let (origin, value) =
            table.get(key).map_or((table.origin, String::new()), |n| (n.origin, n.shown()));
        self.problem(origin, &table.field(key), &value, why);
    }

    /// Takes down that `key` is missing.
    pub fn missing(&mut self, table: &Table<'_>, key: &str, why: &str) {
        self.problem(table.origin, &table.field(key), "", why);
    }
}

/// Whether a value of this kind is a TOML number.
pub(crate) fn is_number(kind: &str) -> bool {
    kind == f64::KIND || kind == u64::KIND
}

/// A parameter of a queue as text: a list, which deals out values by class, has its entries joined
/// by colons.
fn by_class(node: &Node) -> Option<String> {
    match &node.kind {
        TomlValue::List(items) => {
            Some(items.iter().map(scalar).collect::<Option<Vec<_>>>()?.join(SEPARATOR))
        }
        _ => scalar(node),
    }
}

/// A text or a number as text.
pub fn scalar(node: &Node) -> Option<String> {
    match &node.kind {
        TomlValue::Text(text) | TomlValue::Bare(text) | TomlValue::Large(text) => {
            Some(text.clone())
        }
        TomlValue::Whole(n) => Some(n.to_string()),
        TomlValue::Number(n) => Some(n.to_string()),
        TomlValue::Flag(_) | TomlValue::List(_) | TomlValue::Table(_) => None,
    }
}
