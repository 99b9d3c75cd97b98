//! `--config`: links, their queues, classes and lists, read from a TOML file by the reader of
//! scenarios.
use std::path::{Path, PathBuf};

use tidegate::Bytes;
use tidegate_gateway::run::plan::Settings;
use tidegate_gateway::run::pump::Waits;
use tidegate_gateway::run::way::Way;
use tidegate_lab::nearest::did_you_mean;
use tidegate_lab::reader::{
    FileKind, Node, Reader, Table, TomlDocument, TomlEntry, TomlValue, scalar,
};
use tidegate_lab::{Problem, Problems};

use super::fields::GateFileReader;
use super::keys::{LinkParams, OF_FILE, OF_LINK, OF_WAY};
use super::link::LinkConfig;
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
        let record = self.record(&table, &params);
        let on_exit = self.on_exit(&table);
        let waits = if self.0.flag(&table, "busy") { Waits::Awake } else { Waits::Asleep };
        let there = self.way(&table);
        let back = self.back(&table, &path);
        if self.0.problems.len() > before {
            return None;
        }
        Some(LinkConfig {
            name,
            settings: Settings {
                inner: inner?,
                outer: outer?,
                there: there?,
                back,
                delay: params.delay,
            },
            waits,
            drain: params.drain,
            on_exit,
            record,
            places: self.places(&table),
        })
    }

    /// The file of all frames, and how long it may get.
    fn record(
        &mut self,
        table: &Table<'_>,
        params: &LinkParams,
    ) -> Option<(PathBuf, Option<Bytes>)> {
        let limit = table.get("record_limit").map(|_| params.record_limit);
        let record = self.0.text(table, "record").map(|path| (PathBuf::from(path), limit));
        if let (Some(_), None) = (limit, &record) {
            self.0.refuse_key(table, "record_limit", "there is no `record` that it could limit");
        }
        record
    }

    /// The way back, if it is managed, too.
    fn back(&mut self, link: &Table<'_>, path: &str) -> Option<Way> {
        let node = link.get("back")?;
        let path = format!("{path}back.");
        let table = self.0.table(node, &path);
        self.0.only(&table, "a [link.back]", &OF_WAY);
        self.way(&table)
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
}

#[cfg(test)]
mod tests;
