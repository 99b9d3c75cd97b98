//! `--config`: links, their queues, classes and lists, read from a TOML file by the reader of
//! scenarios.
use std::path::{Path, PathBuf};

use tidegate::config::{Params, Value};
use tidegate::units::UnitError;
use tidegate::{ConfigError, Rate};
use tidegate_gateway::path::sort::Class;
use tidegate_gateway::run::plan::Settings;
use tidegate_gateway::run::pump::Waits;
use tidegate_gateway::run::way::Way;
use tidegate_gateway::watch::offenders::OffenderRules;
use tidegate_lab::nearest::did_you_mean;
use tidegate_lab::reader::{
    FileKind, Node, Reader, Table, TomlDocument, TomlEntry, TomlValue, cut, name_of, scalar,
};
use tidegate_lab::{Problem, Problems, QueueSpec};

use super::keys::{
    ClassParams, LinkParams, MARKS, OF_CLASS, OF_FILE, OF_LINK, OF_WAY, Priority, WayParams,
};
use super::link::{LinkConfig, WantedDirection};
use super::on_exit::OnExit;
use super::served::{HostPort, Http, ServeTarget, Served};
use super::source::{Config, FIXED, GateFile};

/// What such a file is.
const FILE: FileKind =
    FileKind { kind: "a gate's file", least: "one [[link]] with in, out, rate and queue" };

/// What the file `path` says.
///
/// # Errors
/// The file cannot be read, is no TOML, or says what cannot be: everything that was found wrong.
pub fn open(path: &Path) -> Result<Config, Problems> {
    parse(&FILE.bytes(path)?, path)
}

/// What `bytes` say, of the file `path`.
///
/// # Errors
/// As those of [`open`].
pub fn parse(bytes: &[u8], path: &Path) -> Result<Config, Problems> {
    let file = &path.display().to_string();
    let text = FILE.text(bytes, file)?;
    let doc = TomlDocument { file, text, sets: &[] };
    let root = doc.read().map_err(|found| {
        let found = found.into_iter().map(in_brackets).collect();
        Problems::new(found).expect("a failure has at least one problem")
    })?;
    let mut of = GateFileReader(Reader::new(&doc));
    let (source, links) = (of.source(&root, path), of.links(&root));
    match Problems::new(of.0.problems) {
        Some(problems) => Err(problems),
        None => Ok(Config { links, source: Some(source) }),
    }
}

/// `problem`, with what was meant if a table is given twice that may be given several times.
fn in_brackets(mut problem: Problem) -> Problem {
    for name in ["link", "link.class", "link.back.class"] {
        let twice = format!("the table [{name}] is given twice");
        problem.why =
            problem.why.replace(&twice, &format!("{twice}: write [[{name}]] with double brackets"));
    }
    problem
}

/// Reads what a gate's file has. Of a link with a mistake nothing is kept, but its mistakes.
struct GateFileReader<'a>(Reader<'a>);

impl GateFileReader<'_> {
    fn source(&mut self, root: &Node, path: &Path) -> GateFile {
        let table = self.0.table(root, "");
        self.0.only(&table, "a gate's file", &OF_FILE);
        let places = FIXED
            .map(|key| self.0.doc.place(table.get(key).map_or(table.origin, |node| node.origin)));
        let socket = self.parsed(&table, "socket");
        let http = Http {
            metrics: self.served(&table, ServeTarget::Metrics),
            web: self.served(&table, ServeTarget::Web),
        };
        if let Err(error) = http.or(http) {
            self.refuse(&table, error);
        }
        GateFile { path: path.into(), socket, http, places }
    }

    fn served(&mut self, table: &Table<'_>, what: ServeTarget) -> Option<Served> {
        let (key, opens) = (what.key(), what.public_key());
        let public = self.0.flag(table, opens);
        if table.get(opens).is_some() && table.get(key).is_none() {
            let why = format!("there is no `{key}` that it could open to others");
            self.0.refuse_key(table, opens, &why);
        }
        let address: HostPort = self.parsed(table, key)?;
        Served::new(what, address, public).map_err(|error| self.refuse(table, error)).ok()
    }

    fn links(&mut self, root: &Node) -> Vec<LinkConfig> {
        let table = self.0.table(root, "");
        let Some(node) = table.get("link") else {
            self.0.missing(&table, "link", "a gate's file needs at least one [[link]]");
            return vec![];
        };
        let nodes = self.0.tables(node, "link");
        let links: Vec<_> =
            (1..).zip(nodes).map(|(number, node)| (self.link(node, number), node)).collect();
        self.distinct(&links);
        links.into_iter().filter_map(|(link, _)| link).collect()
    }

    /// No name and no interface may be there twice.
    fn distinct(&mut self, links: &[(Option<LinkConfig>, &Node)]) {
        let mut names: Vec<&str> = Vec::new();
        let mut interfaces: Vec<(&str, &str)> = Vec::new();
        let whose = |interfaces: &[(&str, &str)], wanted: &str| {
            interfaces
                .iter()
                .find(|(interface, _)| *interface == wanted)
                .map(|(_, link)| link.to_string())
        };
        for (link, node) in links.iter().filter_map(|(link, node)| Some((link.as_ref()?, node))) {
            let path = format!("link.{}.", link.name);
            let table = self.0.table(node, &path);
            // A link without a name is called by its `in`; if another has that interface too, that
            // is told below.
            let key = if table.get("name").is_some() { "name" } else { "in" };
            let told = key == "in" && whose(&interfaces, &link.settings.inner).is_some();
            if names.contains(&link.name.as_str()) && !told {
                self.0.refuse_key(
                    &table,
                    key,
                    "another link is called that too; each needs a `name` of its own",
                );
            }
            let own = [("in", &link.settings.inner), ("out", &link.settings.outer)];
            for (key, interface) in own {
                if let Some(other) = whose(&interfaces, interface) {
                    self.0.refuse_key(
                        &table,
                        key,
                        format!("the link `{other}` has this interface"),
                    );
                }
            }
            interfaces.extend(own.map(|(_, interface)| (interface.as_str(), link.name.as_str())));
            names.push(&link.name);
        }
    }

    fn link(&mut self, node: &Node, number: usize) -> Option<LinkConfig> {
        let before = self.0.problems.len();
        let nameless = format!("link.{number}.");
        let table = self.0.table(node, &nameless);
        let name = match table.get("name") {
            Some(_) => self.0.name(&table, "name"),
            None => table.get("in").and_then(scalar).unwrap_or_default(),
        };
        let path =
            if name.is_empty() { format!("link.{number}.") } else { format!("link.{name}.") };
        let table = table.called(&path);
        self.0.only(&table, "a [[link]]", &[&OF_LINK[..], &OF_WAY].concat());
        let [inner, outer] =
            ["in", "out"].map(|key| self.required(&table, key, "the name of an interface"));
        if inner.is_some() && inner == outer {
            self.0.refuse_key(&table, "out", "must be another interface than `in`");
        }
        let mut params = LinkParams::default();
        self.0.params_of(&table, &mut params, |_| true);
        let limit = table.get("record_limit").map(|_| params.record_limit);
        let record = self.0.text(&table, "record").map(|path| (PathBuf::from(path), limit));
        if let (Some(_), None) = (limit, &record) {
            self.0.refuse_key(&table, "record_limit", "there is no `record` that it could limit");
        }
        let on_exit = self.on_exit(&table);
        let waits = if self.0.flag(&table, "busy") { Waits::Awake } else { Waits::Asleep };
        let there = self.way(&table);
        let back = table.get("back").map(|node| {
            let path = format!("{path}back.");
            let table = self.0.table(node, &path);
            self.0.only(&table, "a [link.back]", &OF_WAY);
            self.way(&table)
        });
        let settings = Settings {
            inner: inner?,
            outer: outer?,
            there: there?,
            back: match back {
                None => None,
                Some(way) => Some(way?),
            },
            delay: params.delay,
        };
        let places = self.places(&table);
        let config =
            LinkConfig { name, settings, waits, drain: params.drain, on_exit, record, places };
        (self.0.problems.len() == before).then_some(config)
    }

    /// Where things stand that can turn out wrong later; first the link as a whole.
    fn places(&self, table: &Table<'_>) -> Vec<(String, tidegate_lab::Place)> {
        let mut places = vec![(String::new(), self.0.doc.place(table.origin))];
        let of = |prefix: &str, entries: &[TomlEntry]| -> Vec<(String, tidegate_lab::Place)> {
            entries
                .iter()
                .map(|e| (format!("{prefix}{}", e.key), self.0.doc.place(e.node.origin)))
                .collect()
        };
        places.extend(of("", table.entries));
        if let Some(Node { kind: TomlValue::Table(entries), .. }) = table.get("back") {
            places.extend(of("back.", entries));
        }
        places
    }

    fn on_exit(&mut self, table: &Table<'_>) -> OnExit {
        match self.0.text(table, "on_exit").as_deref() {
            None | Some("open") => OnExit::Open,
            Some("close") => OnExit::Close,
            Some(word) => {
                let near = did_you_mean(word, &["open", "close"]).unwrap_or_default();
                self.0.refuse_key(table, "on_exit", format!("must be one of open | close{near}"));
                OnExit::Open
            }
        }
    }

    fn way(&mut self, table: &Table<'_>) -> Option<Way> {
        let before = self.0.problems.len();
        let mut params = WayParams::default();
        self.0.params_of(table, &mut params, |_| true);
        if table.get("rate").is_none() {
            self.0.missing(table, "rate", &format!("this key is required: a {}", Rate::KIND));
        }
        let queue = match table.get("queue") {
            Some(node) => self.0.queue(node, &table.field("queue")),
            None => {
                self.0.missing(
                    table,
                    "queue",
                    "this key is required: a queue, as in queue = \"sfb\"",
                );
                QueueSpec::named("drop_tail")
            }
        };
        let wanted = WantedDirection {
            rate: params.rate,
            limit: table.get("limit").map(|_| params.limit),
            mean_packet: params.mean_packet,
            queue,
            flow_key: self.parsed(table, "flow_key").unwrap_or_default(),
            rehash: self.parsed(table, "rehash"),
            overhead: self.parsed(table, "overhead").unwrap_or_default(),
            classes: self.classes(table),
            allowed: self.all(table, "allow"),
            offenders: self.offenders(table),
        };
        if self.0.problems.len() > before {
            return None;
        }
        wanted.way().map_err(|error| self.refuse(table, error)).ok()
    }

    fn offenders(&mut self, table: &Table<'_>) -> OffenderRules {
        let mut rules = OffenderRules::default();
        let Some(node) = table.get("offenders") else { return rules };
        let path = format!("{}.", table.field("offenders"));
        let table = self.0.table(node, &path);
        self.0.known(&table, "`offenders`", OffenderRules::PARAMS, &[]);
        self.0.params_of(&table, &mut rules, |_| true);
        if let Err(error) = rules.consistent() {
            self.0.refuse_key(&table, &error.field, error.why);
        }
        rules
    }

    /// Takes down an error of a direction: at its key, at the queue's parameter, or at the class
    /// that it names.
    fn refuse(&mut self, table: &Table<'_>, error: ConfigError) {
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

    fn classes(&mut self, table: &Table<'_>) -> Vec<Class> {
        let Some(node) = table.get("class") else { return vec![] };
        let path = table.field("class");
        let nodes = self.0.tables(node, &path);
        let classes: Vec<Class> = (1..)
            .zip(nodes)
            .map(|(number, node)| self.class(node, &format!("{path}.{number}.")))
            .collect();
        for (at, class) in classes.iter().enumerate() {
            if !class.name.is_empty() && classes[..at].iter().any(|other| other.name == class.name)
            {
                let why = "two classes of a direction cannot have the same name";
                self.0.problem(nodes[at].origin, &format!("{path}.name"), &class.name, why);
            }
        }
        classes
    }

    fn class(&mut self, node: &Node, path: &str) -> Class {
        let table = self.0.table(node, path);
        for entry in table.entries {
            if !MARKS.contains(&entry.key.as_str()) {
                let mut alone = table;
                alone.entries = std::slice::from_ref(entry);
                self.0.only(&alone, "a [[class]]", &OF_CLASS);
                continue;
            }
            let why = "no such key: a firewall's mark is set after frames were taken from the \
                interface and is not in \
                       them; use `dscp`, or the `priority` in a VLAN tag";
            self.0.problem(entry.key_origin, &table.field(&entry.key), "", why);
        }
        if table.get("name").is_none() {
            self.0.missing(&table, "name", "this key is required: what to call the class");
        }
        let mut params = ClassParams::default();
        self.0.params_of(&table, &mut params, |_| true);
        Class {
            name: self.0.name(&table, "name"),
            weight: params.weight,
            prefixes: self.all(&table, "prefix"),
            dscp: self.all(&table, "dscp"),
            priorities: self.all::<Priority>(&table, "priority").into_iter().map(|p| p.0).collect(),
        }
    }

    /// The text of a key that must be there.
    fn required(&mut self, table: &Table<'_>, key: &str, what: &str) -> Option<String> {
        if table.get(key).is_none() {
            self.0.missing(table, key, &format!("this key is required: {what}"));
        }
        self.0.text(table, key)
    }

    /// The value of a key, read from its text.
    fn parsed<T: std::str::FromStr<Err = UnitError>>(
        &mut self,
        table: &Table<'_>,
        key: &str,
    ) -> Option<T> {
        let node = table.get(key)?;
        self.entry(node, &table.field(key))
    }

    /// The value of a key, or each of its list.
    fn all<T: std::str::FromStr<Err = UnitError>>(
        &mut self,
        table: &Table<'_>,
        key: &str,
    ) -> Vec<T> {
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

    fn entry<T: std::str::FromStr<Err = UnitError>>(
        &mut self,
        node: &Node,
        field: &str,
    ) -> Option<T> {
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
}

#[cfg(test)]
mod tests;
