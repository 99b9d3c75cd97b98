//! From the tree to the values: types, units, bounds and unknown keys. What one value must be to another is checked
//! in [`super::consistent`].
use std::path::Path;
use std::sync::Arc;

use tidegate::config::{Params, SEPARATOR, Value};
use tidegate::{ConfigError, Size};

use super::arrivals::Arrivals;
use super::chain::DefaultEnds;
use super::classes::Classes;
use super::connection::Connection;
use super::model::*;
use super::sources::{Replay, SOURCES, Source, Unresponsive, Web};
use super::tree::{Document, Entry, Kind, Node, Origin, cut};
use crate::nearest::did_you_mean;
use crate::problem::Problem;
use crate::spec::{QueueSpec, check_label};

/// The longest title, description and name, in characters.
pub(super) const TEXT_LIMIT: usize = 4000;
/// The most groups, links, queues to compare, or entries in a list.
pub(super) const LIST_LIMIT: usize = 1000;

/// A table that is being read.
#[derive(Clone, Copy)]
pub(crate) struct Table<'n> {
    pub(crate) entries: &'n [Entry],
    pub(crate) origin: Origin,
    /// What its keys belong to, with a dot: `run.`; empty for the root.
    path: &'n str,
}

impl<'n> Table<'n> {
    pub(crate) fn get(&self, key: &str) -> Option<&'n Node> {
        self.entries.iter().find(|e| e.key == key).map(|e| &e.node)
    }

    pub(crate) fn field(&self, key: &str) -> String {
        format!("{}{key}", self.path)
    }
}

/// Reads a tree and collects what is wrong with it. A wrong value is replaced by its default and reading goes on, so
/// that one reading finds all mistakes; the values only count when there were none.
pub(crate) struct Reader<'a> {
    pub doc: &'a Document<'a>,
    pub problems: Vec<Problem>,
}

impl Reader<'_> {
    /// The scenario called `name` in the tree `root`.
    pub fn scenario(&mut self, root: &Node, name: &str) -> Scenario {
        let table = self.table(root, "");
        self.only(
            &table,
            "the scenario",
            &["title", "description", "run", "network", "link", "queue", "compare", "group"],
        );
        let mut run = Run::default();
        if let Some(node) = table.get("run") {
            let table = self.table(node, "run.");
            self.known(&table, "[run]", Run::PARAMS, &[]);
            self.params(&table, &mut run, &[]);
        }
        let (network, ends) = self.network(&table);
        let mut groups = self.groups(&table);
        for group in &mut groups {
            for (own, usual) in [&mut group.from, &mut group.to].into_iter().zip(&ends) {
                if own.is_empty() {
                    own.clone_from(usual);
                }
            }
        }
        Scenario {
            name: name.into(),
            title: self.text(&table, "title").unwrap_or_default(),
            description: self.text(&table, "description").unwrap_or_default(),
            run,
            network,
            queue: table.get("queue").map_or_else(|| QueueSpec::named("drop_tail"), |node| self.queue(node, "queue")),
            compare: self.compare(&table),
            groups,
            watched_queue: None,
        }
    }

    fn network(&mut self, root: &Table<'_>) -> (Network, DefaultEnds) {
        let none = DefaultEnds::default();
        let Some(node) = root.get("network") else {
            self.missing(root, "network", "the scenario needs a table [network] with a rate and a limit");
            return (Network::Dumbbell(Dumbbell::default()), none);
        };
        let table = self.table(node, "network.");
        let kind = self.text(&table, "kind").unwrap_or_else(|| "dumbbell".into());
        if kind == "graph" {
            self.only(&table, "a graph's [network]", &["kind", "mean_packet"]);
            // The packet length is the dumbbell's parameter too; its declaration serves both.
            let mut shared = Dumbbell::default();
            self.params_of(&table, &mut shared, |name| name == "mean_packet");
            return (Network::Graph(Graph { mean_packet: shared.mean_packet, links: self.links(root) }), none);
        }
        const KINDS: [&str; 4] = ["dumbbell", "graph", "chain", "parking_lot"];
        if !KINDS.contains(&kind.as_str()) {
            let near = did_you_mean(&kind, &KINDS).unwrap_or_default();
            self.refuse_key(&table, "kind", format!("must be one of {}{near}", KINDS.join(" | ")));
            // Which keys belong here depends on what was meant.
            return (Network::Dumbbell(Dumbbell::default()), none);
        }
        if let Some(link) = root.get("link") {
            let why = format!("links are for [network] kind = \"graph\"; a {kind} has its own");
            self.problem(link.origin, "link", "", why);
        }
        if kind != "dumbbell" {
            return self.chain(&table, &kind);
        }
        let mut dumbbell = Dumbbell::default();
        self.known(&table, "[network]", Dumbbell::PARAMS, &["kind"]);
        self.params(&table, &mut dumbbell, &["rate", "limit"]);
        (Network::Dumbbell(dumbbell), none)
    }

    fn links(&mut self, root: &Table<'_>) -> Vec<GraphLink> {
        let Some(node) = root.get("link") else {
            self.missing(root, "link", "a graph needs at least one [[link]]");
            return vec![];
        };
        let nodes = self.tables(node, "link");
        nodes.iter().enumerate().map(|(i, node)| self.link(node, &format!("link.{}.", i + 1))).collect()
    }

    fn link(&mut self, node: &Node, path: &str) -> GraphLink {
        let table = self.table(node, path);
        self.only(&table, "a [[link]]", &["from", "to", "rate", "delay", "limit", "queue", "watch"]);
        let mut line = Dumbbell::default();
        self.params_of(&table, &mut line, |name| matches!(name, "rate" | "delay" | "limit"));
        for key in ["from", "to", "rate"] {
            if table.get(key).is_none() {
                self.missing(&table, key, "this key is required");
            }
        }
        let watch = match table.get("watch") {
            None => false,
            Some(Node { kind: Kind::Flag(flag), .. }) => *flag,
            Some(Node { kind: Kind::Bare(word), .. }) if word == "true" || word == "false" => word == "true",
            Some(node) => {
                self.problem(node.origin, &table.field("watch"), &node.shown(), "must be true or false");
                false
            }
        };
        GraphLink {
            from: self.name(&table, "from"),
            to: self.name(&table, "to"),
            rate: line.rate,
            delay: line.delay,
            limit: table.get("limit").map(|_| line.limit),
            queue: table.get("queue").map(|node| self.queue(node, &table.field("queue"))),
            watch,
        }
    }

    fn compare(&mut self, root: &Table<'_>) -> Vec<QueueSpec> {
        let Some(node) = root.get("compare") else { return vec![] };
        let table = self.table(node, "compare.");
        self.only(&table, "[compare]", &["queues"]);
        let Some(node) = table.get("queues") else {
            self.missing(&table, "queues", "this key is required: a list of queues, as in [\"drop_tail\", \"sfb\"]");
            return vec![];
        };
        let items = self.list(node, "compare.queues");
        items.iter().map(|item| self.queue(item, "compare.queues")).collect()
    }

    /// A queue, as its text or as a table of name, preset, label and parameters.
    fn queue(&mut self, node: &Node, path: &str) -> QueueSpec {
        if let Kind::Text(text) | Kind::Bare(text) = &node.kind {
            return text.parse().unwrap_or_else(|error: ConfigError| {
                self.problem(node.origin, path, &error.value, error.why);
                QueueSpec::named("drop_tail")
            });
        }
        let prefix = format!("{path}.");
        let table = self.table(node, &prefix);
        let Some(name) = self.text(&table, "name") else {
            if table.get("name").is_none() {
                self.missing(&table, "name", "this key is required: a queue's name, as in name = \"red\"");
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
        for entry in table.entries.iter().filter(|e| !matches!(e.key.as_str(), "name" | "preset" | "label")) {
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

    fn groups(&mut self, root: &Table<'_>) -> Vec<Group> {
        let Some(node) = root.get("group") else {
            self.missing(root, "group", "the scenario needs at least one [[group]] of flows");
            return vec![];
        };
        let nodes = self.tables(node, "group");
        (0..nodes.len()).map(|i| self.group(&nodes[i], i)).collect()
    }

    fn group(&mut self, node: &Node, index: usize) -> Group {
        let nameless = format!("group.{}.", index + 1);
        let table = self.table(node, &nameless);
        let name = self.name(&table, "name");
        if table.get("name").is_none() {
            self.missing(&table, "name", "this key is required: what results call the group");
        }
        let named = format!("group.{name}.");
        let table = if name.is_empty() { table } else { Table { path: &named, ..table } };
        let mut common = GroupParams::default();
        self.params_of(&table, &mut common, |_| true);
        Group {
            count: common.count,
            hosts: table.get("hosts").map_or(common.count, |_| common.hosts),
            class: table.get("class").map_or(Classes::one(index as u16), |_| common.class),
            start: common.start,
            stop: table.get("stop").map(|_| common.stop),
            active: common.active,
            access_rate: self.values(&table, "access_rate", Dumbbell::default(), |d| d.access_rate),
            access_delay: table.get("access_delay").map(|_| common.access_delay),
            from: self.nodes(&table, "from"),
            to: self.nodes(&table, "to"),
            source: self.source(&table),
            name,
        }
    }

    fn source(&mut self, table: &Table<'_>) -> Source {
        let known: Vec<&str> = SOURCES.iter().map(|s| s.0).collect();
        let source = self.text(table, "source");
        if let Some(connection) = source.as_deref().and_then(Connection::named) {
            if connection.rate().is_some() {
                return self.unresponsive(table, connection);
            }
            let what = format!("a {} [[group]]", connection.name());
            return Source::Tcp(self.connection(table, connection, &what, &[], &[]));
        }
        match source.as_deref() {
            Some("finite") => {
                let connection = self.congestion(table);
                if table.get("data").is_none() {
                    self.missing(table, "data", "this key is required: an amount of data");
                }
                let also = ["congestion"];
                return Source::Finite(self.connection(table, connection, "a finite [[group]]", &also, &[]));
            }
            Some("web") => return self.web(table),
            Some("tfrc") => return Source::Tfrc(self.source_params(table, "a tfrc [[group]]", &[])),
            Some("cbr") => return Source::Cbr(self.source_params(table, "a cbr [[group]]", &["rate"])),
            Some("on_off") => return Source::OnOff(self.source_params(table, "an on_off [[group]]", &["rate"])),
            Some("voip") => return Source::Voip(self.source_params(table, "a voip [[group]]", &[])),
            Some("replay") => return self.replay(table),
            Some("oscillating") => {
                let required = ["high", "low", "high_during"];
                return Source::Oscillating(self.source_params(table, "an oscillating [[group]]", &required));
            }
            Some(word) => {
                let near = did_you_mean(word, &known).unwrap_or_default();
                self.refuse_key(table, "source", format!("must be one of {}{near}", known.join(" | ")));
            }
            // Which keys a group may have hangs on its source, so that of all misspelt ones only this can be told.
            None if table.get("source").is_none() => {
                let meant = |key: &str| did_you_mean(key, &["source"]);
                match table.entries.iter().find_map(|entry| Some((entry, meant(&entry.key)?))) {
                    Some((entry, near)) => {
                        self.problem(entry.key_origin, &table.field(&entry.key), "", format!("no such key{near}"));
                    }
                    None => {
                        self.missing(table, "source", &format!("this key is required: one of {}", known.join(" | ")));
                    }
                }
            }
            None => {}
        }
        Source::Tcp(Connection::default())
    }

    /// A source's own parameters; `what` it is in messages.
    fn source_params<P: Params + Default>(&mut self, table: &Table<'_>, what: &str, required: &[&str]) -> P {
        let mut params = P::default();
        self.known(table, what, P::PARAMS, &common_keys());
        self.params(table, &mut params, required);
        params
    }

    /// A capture is read here, so that a mistake is known before anything runs.
    fn replay(&mut self, table: &Table<'_>) -> Source {
        let replay: Replay = self.source_params(table, "a replay [[group]]", &["capture"]);
        let mut arrivals = Arrivals::default();
        if !replay.capture.0.is_empty() {
            let directory = Path::new(self.doc.file).parent().unwrap_or(Path::new(""));
            let path = directory.join(&replay.capture.0);
            match Arrivals::read(&path) {
                Ok(read) => arrivals = read,
                Err(why) => self.refuse_key(table, "capture", format!("{}: {why}", path.display())),
            }
        }
        Source::Replay(replay, Arc::new(arrivals))
    }

    /// A user of the web has TCP's parameters besides, but for the amount of data.
    fn web(&mut self, table: &Table<'_>) -> Source {
        let connection = self.congestion(table);
        let also: Vec<&str> = Web::PARAMS.iter().map(|p| p.name).chain(["congestion"]).collect();
        let mut web = Web::default();
        self.params(table, &mut web, &[]);
        Source::Web(web, self.connection(table, connection, "a web [[group]]", &also, &["data"]))
    }

    /// A sender that heeds nothing lasts for times, and not until so much is sent.
    fn unresponsive(&mut self, table: &Table<'_>, connection: Connection) -> Source {
        let also: Vec<&str> = Unresponsive::PARAMS.iter().map(|p| p.name).collect();
        let mut lives = Unresponsive::default();
        self.params(table, &mut lives, &[]);
        Source::Unresponsive(lives, self.connection(table, connection, "an unresponsive [[group]]", &also, &["data"]))
    }

    /// The connection whose control the key `congestion` names.
    fn congestion(&mut self, table: &Table<'_>) -> Connection {
        let Some(name) = self.text(table, "congestion") else { return Connection::default() };
        Connection::named(&name).unwrap_or_else(|| {
            let known: Vec<&str> = SOURCES.iter().map(|s| s.0).filter(|s| Connection::named(s).is_some()).collect();
            let near = did_you_mean(&name, &known).unwrap_or_default();
            self.refuse_key(table, "congestion", format!("must be one of {}{near}", known.join(" | ")));
            Connection::default()
        })
    }

    /// `connection` with what the table says of it; `what` it is in messages. It may have keys `also`, and has not `never`.
    fn connection(
        &mut self,
        table: &Table<'_>,
        mut connection: Connection,
        what: &str,
        also: &[&'static str],
        never: &[&str],
    ) -> Connection {
        let keys = connection.keys();
        let own = keys.iter().map(|(param, _)| param.name).filter(|name| !never.contains(name));
        let known: Vec<&str> = common_keys().into_iter().chain(also.iter().copied()).chain(own).collect();
        self.only(table, what, &known);
        for param in connection.congestion.params() {
            if let Some(node) = table.get(param.name) {
                let congestion = &mut connection.congestion;
                self.value(node, &table.field(param.name), param.kind, |text| congestion.set(param.name, text));
            }
        }
        self.params_of(table, &mut connection.tcp, |name| known.contains(&name));
        connection
    }

    /// A value or a list of values of the parameter `key` of `of`.
    pub(crate) fn values<P: Params, T>(&mut self, table: &Table<'_>, key: &str, of: P, value: fn(&P) -> T) -> Vec<T> {
        let Some(node) = table.get(key) else { return vec![] };
        let items = match &node.kind {
            Kind::List(_) => self.list(node, &table.field(key)),
            _ => std::slice::from_ref(node),
        };
        let mut read = |item: &Node| {
            let mut params = of.clone();
            self.param(item, &table.field(key), key, &mut params);
            value(&params)
        };
        items.iter().map(&mut read).collect()
    }

    /// A node's name or a list of them.
    pub(crate) fn nodes(&mut self, table: &Table<'_>, key: &str) -> Vec<String> {
        match table.get(key) {
            None => vec![],
            Some(node @ Node { kind: Kind::List(_), .. }) => {
                let field = table.field(key);
                self.list(node, &field).iter().map(|item| self.name_in(item, &field)).collect()
            }
            Some(_) => vec![self.name(table, key)],
        }
    }

    // What tables are made of.

    pub(crate) fn table<'n>(&mut self, node: &'n Node, path: &'n str) -> Table<'n> {
        let entries = match &node.kind {
            Kind::Table(entries) => entries.as_slice(),
            _ => {
                let why = format!("must be a table, not {}", node.what());
                self.problem(node.origin, path.trim_end_matches('.'), &node.shown(), why);
                &[]
            }
        };
        Table { entries, origin: node.origin, path }
    }

    pub(crate) fn tables<'n>(&mut self, node: &'n Node, key: &str) -> &'n [Node] {
        if let Kind::Table(_) = node.kind {
            let why = format!("must be a list of tables: write [[{key}]] with double brackets");
            self.problem(node.origin, key, "", why);
            return &[];
        }
        self.list(node, key)
    }

    pub(crate) fn list<'n>(&mut self, node: &'n Node, field: &str) -> &'n [Node] {
        match &node.kind {
            Kind::List(items) if items.is_empty() || items.len() > LIST_LIMIT => {
                let why = format!("must have 1 to {LIST_LIMIT} entries, not {}", items.len());
                self.problem(node.origin, field, "", why);
                &[]
            }
            Kind::List(items) => items,
            _ => {
                self.problem(node.origin, field, &node.shown(), format!("must be a list, not {}", node.what()));
                &[]
            }
        }
    }

    pub(crate) fn text(&mut self, table: &Table<'_>, key: &str) -> Option<String> {
        let node = table.get(key)?;
        match &node.kind {
            Kind::Text(text) | Kind::Bare(text) if text.chars().count() <= TEXT_LIMIT => Some(text.clone()),
            Kind::Text(text) | Kind::Bare(text) => {
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

    /// The name of a group or of a node; empty if there is none or it cannot be.
    fn name(&mut self, table: &Table<'_>, key: &str) -> String {
        table.get(key).map(|node| self.name_in(node, &table.field(key))).unwrap_or_default()
    }

    fn name_in(&mut self, node: &Node, field: &str) -> String {
        if let Kind::Text(name) | Kind::Bare(name) = &node.kind {
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

    // Parameters.

    /// Sets those of `target`'s parameters that the table has; each of `required` must be there.
    fn params<P: Params>(&mut self, table: &Table<'_>, target: &mut P, required: &[&str]) {
        self.params_of(table, target, |_| true);
        for &key in required.iter().filter(|key| table.get(key).is_none()) {
            let param = P::PARAMS.iter().find(|p| p.name == key).expect("required keys are parameters");
            self.missing(table, key, &format!("this key is required: a {}", param.kind));
        }
    }

    pub(crate) fn params_of<P: Params>(&mut self, table: &Table<'_>, target: &mut P, which: impl Fn(&str) -> bool) {
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
    fn value(&mut self, node: &Node, field: &str, kind: &str, set: impl FnOnce(&str) -> Result<(), ConfigError>) {
        let text = match &node.kind {
            // A list is a text with its entries apart.
            Kind::List(_) if kind.contains("list") => match self.list(node, field) {
                [] => return,
                _ => by_class(node),
            },
            _ => scalar(node),
        };
        let Some(text) = text else {
            self.problem(node.origin, field, "", format!("must be a {kind}, not {}", node.what()));
            return;
        };
        if let (Kind::Text(text), true) = (&node.kind, is_number(kind)) {
            let why = format!("must be a {kind}, written without quotes");
            self.problem(node.origin, field, &cut(text, 60), why);
            return;
        }
        if let Err(error) = set(&text) {
            self.problem(node.origin, field, &cut(&error.value, 60), error.why);
        }
    }

    /// Refuses keys that are neither parameters nor in `also`.
    fn known(&mut self, table: &Table<'_>, what: &str, params: &[tidegate::config::Param], also: &[&str]) {
        let known: Vec<&str> = also.iter().copied().chain(params.iter().map(|p| p.name)).collect();
        self.only(table, what, &known);
    }

    pub(crate) fn only(&mut self, table: &Table<'_>, what: &str, known: &[&str]) {
        for entry in table.entries.iter().filter(|e| !known.contains(&e.key.as_str())) {
            let near = did_you_mean(&entry.key, known).unwrap_or_default();
            let why = format!("no such key; {what} knows {}{near}", known.join(", "));
            self.problem(entry.key_origin, &table.field(&cut(&entry.key, 60)), "", why);
        }
    }

    // Problems.

    pub fn problem(&mut self, origin: Origin, field: &str, value: &str, why: impl Into<String>) {
        self.problems.push(self.doc.problem(origin, field, value, why));
    }

    pub(crate) fn refuse_key(&mut self, table: &Table<'_>, key: &str, why: impl Into<String>) {
        let (origin, value) = table.get(key).map_or((table.origin, String::new()), |n| (n.origin, n.shown()));
        self.problem(origin, &table.field(key), &value, why);
    }

    pub(crate) fn missing(&mut self, table: &Table<'_>, key: &str, why: &str) {
        self.problem(table.origin, &table.field(key), "", why);
    }
}

/// The keys of every group.
fn common_keys() -> Vec<&'static str> {
    let common = GroupParams::PARAMS.iter().map(|p| p.name);
    ["name", "source"].into_iter().chain(common).chain(["access_rate", "from", "to"]).collect()
}

/// Whether a value of this kind is a TOML number.
pub(super) fn is_number(kind: &str) -> bool {
    kind == f64::KIND || kind == u64::KIND
}

/// A parameter of a queue as text: a list, which deals out values by class, has its entries joined by colons.
fn by_class(node: &Node) -> Option<String> {
    match &node.kind {
        Kind::List(items) => Some(items.iter().map(scalar).collect::<Option<Vec<_>>>()?.join(SEPARATOR)),
        _ => scalar(node),
    }
}

/// A text or a number as text.
pub(crate) fn scalar(node: &Node) -> Option<String> {
    match &node.kind {
        Kind::Text(text) | Kind::Bare(text) | Kind::Large(text) => Some(text.clone()),
        Kind::Whole(n) => Some(n.to_string()),
        Kind::Number(n) => Some(n.to_string()),
        Kind::Flag(_) | Kind::List(_) | Kind::Table(_) => None,
    }
}

/// Whether a packet of `len` bytes can ever wait in a queue of this limit.
pub(super) fn fits(limit: Size, len: u64) -> bool {
    match limit {
        Size::Packets(n) => n >= 1,
        Size::Bytes(b) => b >= len,
    }
}
