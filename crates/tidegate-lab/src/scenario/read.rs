//! From the tree to the values: types, units, bounds and unknown keys. What one value must be to
//! another is checked in [`super::consistent`].
use std::path::Path;
use std::sync::Arc;

use tidegate::Size;
use tidegate::config::Params;

use super::arrivals::Arrivals;
use super::chain::DefaultEnds;
use super::classes::Classes;
use super::connection::Connection;
use super::model::*;
use super::sources::{Replay, SOURCES, Source, Unresponsive, Web};
use super::ways::way_keys;
use crate::nearest::did_you_mean;
use crate::reader::{Node, Reader, Table, TomlValue};
use crate::spec::QueueSpec;

impl Reader<'_> {
    /// The scenario called `name` in the tree `root`.
    pub fn scenario(&mut self, root: &Node, name: &str) -> Scenario {
        let table = self.table(root, "");
        self.only(
            &table,
            "the scenario",
            &["title", "description", "run", "network", "link", "queue", "compare", "group"],
        );
        let mut run = RunSettings::default();
        if let Some(node) = table.get("run") {
            let table = self.table(node, "run.");
            self.known(&table, "[run]", RunSettings::PARAMS, &[]);
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
            queue: table
                .get("queue")
                .map_or_else(|| QueueSpec::named("drop_tail"), |node| self.queue(node, "queue")),
            compare: self.compare(&table),
            groups,
            watched_queue: None,
        }
    }

    fn network(&mut self, root: &Table<'_>) -> (Network, DefaultEnds) {
        let none = DefaultEnds::default();
        let Some(node) = root.get("network") else {
            self.missing(
                root,
                "network",
                "the scenario needs a table [network] with a rate and a limit",
            );
            return (Network::default(), none);
        };
        let table = self.table(node, "network.");
        let kind = self.text(&table, "kind").unwrap_or_else(|| "dumbbell".into());
        if kind == "graph" {
            self.only(&table, "a graph's [network]", &["kind", "mean_packet"]);
            // The packet length is the dumbbell's parameter too; its declaration serves both.
            let mut shared = Dumbbell::default();
            self.params_of(&table, &mut shared, |name| name == "mean_packet");
            return (
                Network::Graph(Graph { mean_packet: shared.mean_packet, links: self.links(root) }),
                none,
            );
        }
        const KINDS: [&str; 4] = ["dumbbell", "graph", "chain", "parking_lot"];
        if !KINDS.contains(&kind.as_str()) {
            let near = did_you_mean(&kind, &KINDS).unwrap_or_default();
            self.refuse_key(&table, "kind", format!("must be one of {}{near}", KINDS.join(" | ")));
            // Which keys belong here depends on what was meant.
            return (Network::default(), none);
        }
        if let Some(link) = root.get("link") {
            let why = format!("links are for [network] kind = \"graph\"; a {kind} has its own");
            self.problem(link.origin, "link", "", why);
        }
        if kind != "dumbbell" {
            return self.chain(&table, &kind);
        }
        let mut dumbbell = Dumbbell::default();
        let also: Vec<&str> = way_keys().into_iter().chain(["kind"]).collect();
        self.known(&table, "[network]", Dumbbell::PARAMS, &also);
        self.params(&table, &mut dumbbell, &["rate", "limit"]);
        let ways = self.ways(&table, (dumbbell.rate, dumbbell.delay), true);
        (Network::Dumbbell(dumbbell, Box::new(ways)), none)
    }

    fn links(&mut self, root: &Table<'_>) -> Vec<GraphLink> {
        let Some(node) = root.get("link") else {
            self.missing(root, "link", "a graph needs at least one [[link]]");
            return vec![];
        };
        let nodes = self.tables(node, "link");
        nodes
            .iter()
            .enumerate()
            .map(|(i, node)| self.link(node, &format!("link.{}.", i + 1)))
            .collect()
    }

    fn link(&mut self, node: &Node, path: &str) -> GraphLink {
        let table = self.table(node, path);
        let keys = ["from", "to", "rate", "delay", "limit", "queue", "watch"];
        let known: Vec<&str> = keys.into_iter().chain(way_keys()).collect();
        self.only(&table, "a [[link]]", &known);
        let mut line = Dumbbell::default();
        self.params_of(&table, &mut line, |name| matches!(name, "rate" | "delay" | "limit"));
        for key in ["from", "to", "rate"] {
            if table.get(key).is_none() {
                self.missing(&table, key, "this key is required");
            }
        }
        GraphLink {
            from: self.name(&table, "from"),
            to: self.name(&table, "to"),
            rate: line.rate,
            delay: line.delay,
            limit: table.get("limit").map(|_| line.limit),
            ways: self.ways(&table, (line.rate, line.delay), table.get("limit").is_some()),
            queue: table.get("queue").map(|node| self.queue(node, &table.field("queue"))),
            watch: self.flag(&table, "watch"),
        }
    }

    fn compare(&mut self, root: &Table<'_>) -> Vec<QueueSpec> {
        let Some(node) = root.get("compare") else { return vec![] };
        let table = self.table(node, "compare.");
        self.only(&table, "[compare]", &["queues"]);
        let Some(node) = table.get("queues") else {
            self.missing(
                &table,
                "queues",
                "this key is required: a list of queues, as in [\"drop_tail\", \"sfb\"]",
            );
            return vec![];
        };
        let items = self.list(node, "compare.queues");
        items.iter().map(|item| self.queue(item, "compare.queues")).collect()
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
        let table = if name.is_empty() { table } else { table.called(&named) };
        let mut common = GroupParams::default();
        self.params_of(&table, &mut common, |_| true);
        Group {
            count: common.count,
            hosts: table.get("hosts").map_or(common.count, |_| common.hosts),
            class: table.get("class").map_or(Classes::one(index as u16), |_| common.class),
            dscp: common.dscp,
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
                return Source::Finite(self.connection(
                    table,
                    connection,
                    "a finite [[group]]",
                    &also,
                    &[],
                ));
            }
            Some("web") => return self.web(table),
            Some(name @ "tfrc") => return Source::Tfrc(self.source_params(table, name, &[])),
            Some(name @ "cbr") => return Source::Cbr(self.source_params(table, name, &["rate"])),
            Some(name @ "following") => {
                let required = ["follows", "rate"];
                return Source::Following(self.source_params(table, name, &required));
            }
            Some(name @ "on_off") => {
                return Source::OnOff(self.source_params(table, name, &["rate"]));
            }
            Some(name @ "voip") => return Source::Voip(self.source_params(table, name, &[])),
            Some("replay") => return self.replay(table),
            Some(name @ "oscillating") => {
                let required = ["high", "low", "high_during"];
                return Source::Oscillating(self.source_params(table, name, &required));
            }
            word => self.no_source(table, word),
        }
        Source::Tcp(Connection::default())
    }

    /// Refuses a group whose source is called `word`, or is not told.
    fn no_source(&mut self, table: &Table<'_>, word: Option<&str>) {
        let known: Vec<&str> = SOURCES.iter().map(|s| s.0).collect();
        match word {
            Some(word) => {
                let near = did_you_mean(word, &known).unwrap_or_default();
                self.refuse_key(
                    table,
                    "source",
                    format!("must be one of {}{near}", known.join(" | ")),
                );
            }
            // Which keys a group may have hangs on its source, so that of all misspelt ones only
            // this can be told.
            None if table.get("source").is_none() => {
                let meant = |key: &str| did_you_mean(key, &["source"]);
                match table.entries.iter().find_map(|entry| Some((entry, meant(&entry.key)?))) {
                    Some((entry, near)) => {
                        self.problem(
                            entry.key_origin,
                            &table.field(&entry.key),
                            "",
                            format!("no such key{near}"),
                        );
                    }
                    None => {
                        self.missing(
                            table,
                            "source",
                            &format!("this key is required: one of {}", known.join(" | ")),
                        );
                    }
                }
            }
            None => {}
        }
    }

    /// The own parameters of the source called `name`.
    fn source_params<P: Params + Default>(
        &mut self,
        table: &Table<'_>,
        name: &str,
        required: &[&str],
    ) -> P {
        let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        let mut params = P::default();
        self.known(table, &format!("{article} {name} [[group]]"), P::PARAMS, &common_keys());
        self.params(table, &mut params, required);
        params
    }

    /// A capture is read here, so that a mistake is known before anything runs.
    fn replay(&mut self, table: &Table<'_>) -> Source {
        let replay: Replay = self.source_params(table, "replay", &["capture"]);
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

    /// A user of the web has TCP's parameters besides, except the amount of data.
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
        Source::Unresponsive(
            lives,
            self.connection(table, connection, "an unresponsive [[group]]", &also, &["data"]),
        )
    }

    /// The connection whose control the key `congestion` names.
    fn congestion(&mut self, table: &Table<'_>) -> Connection {
        let Some(name) = self.text(table, "congestion") else { return Connection::default() };
        Connection::named(&name).unwrap_or_else(|| {
            let known: Vec<&str> =
                SOURCES.iter().map(|s| s.0).filter(|s| Connection::named(s).is_some()).collect();
            let near = did_you_mean(&name, &known).unwrap_or_default();
            self.refuse_key(
                table,
                "congestion",
                format!("must be one of {}{near}", known.join(" | ")),
            );
            Connection::default()
        })
    }

    /// `connection` with what the table says of it; `what` it is in messages. It may have keys
    /// `also`, and has not `never`.
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
        let known: Vec<&str> =
            common_keys().into_iter().chain(also.iter().copied()).chain(own).collect();
        self.only(table, what, &known);
        for param in connection.congestion.params() {
            if let Some(node) = table.get(param.name) {
                let congestion = &mut connection.congestion;
                self.value(node, &table.field(param.name), param.kind, |text| {
                    congestion.set(param.name, text)
                });
            }
        }
        self.params_of(table, &mut connection.tcp, |name| known.contains(&name));
        connection
    }

    /// A node's name or a list of them.
    pub(crate) fn nodes(&mut self, table: &Table<'_>, key: &str) -> Vec<String> {
        match table.get(key) {
            None => vec![],
            Some(node @ Node { kind: TomlValue::List(_), .. }) => {
                let field = table.field(key);
                self.list(node, &field).iter().map(|item| self.name_in(item, &field)).collect()
            }
            Some(_) => vec![self.name(table, key)],
        }
    }
}

/// The keys of every group.
fn common_keys() -> Vec<&'static str> {
    let common = GroupParams::PARAMS.iter().map(|p| p.name);
    ["name", "source"].into_iter().chain(common).chain(["access_rate", "from", "to"]).collect()
}

/// Whether a packet of `len` bytes can ever wait in a queue of this limit.
pub(super) fn fits(limit: Size, len: u64) -> bool {
    match limit {
        Size::Packets(n) => n >= 1,
        Size::Bytes(b) => b >= len,
    }
}
