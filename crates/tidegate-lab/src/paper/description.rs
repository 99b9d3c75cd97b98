//! A file of a folder while it is read: what its tables are made of, and the scenarios that they
//! name.
use crate::nearest::did_you_mean;
use crate::reader::{Kind as Toml, Node, Reader, Set, Table, scalar};
use crate::scenario::Scenario;

use super::Folder;
use super::book::{Paper, Run};

/// `paper.toml`, or a file beside it, while it is read.
pub(super) struct Description<'r, 'd, 'f> {
    pub reader: &'r mut Reader<'d>,
    pub folder: &'f Folder<'f>,
}

impl Description<'_, '_, '_> {
    /// What is simulated with `set` in the scenario `file`, and what is cut short by `shorter`; not
    /// yet whose run it is.
    pub fn simulated(
        &mut self,
        table: &Table<'_>,
        file: &str,
        set: &[String],
        shorter: &[String],
        seeds: u32,
    ) -> Option<Run> {
        let full = self.scenario(table, file, set, seeds)?;
        let quick = self.scenario(table, file, &[set, shorter].concat(), seeds)?;
        Some(Run {
            experiment: String::new(),
            under: String::new(),
            setting: String::new(),
            x: None,
            reading: String::new(),
            scenario_file: file.into(),
            sets: set.to_vec(),
            full,
            quick,
            shorter: shorter.to_vec(),
            tested: false,
        })
    }

    fn scenario(
        &mut self,
        table: &Table<'_>,
        name: &str,
        sets: &[String],
        seeds: u32,
    ) -> Option<Scenario> {
        let Some(text) = self.folder.file(name) else {
            let known: Vec<&str> =
                self.folder.files.iter().map(|(name, _)| name.as_ref()).collect();
            let near = did_you_mean(name, &known).unwrap_or_default();
            self.reader.refuse_key(
                table,
                "scenario",
                format!("there is no such file in the folder{near}"),
            );
            return None;
        };
        let mut parsed = vec![];
        for set in sets {
            match set.parse::<Set>() {
                Ok(set) => parsed.push(set),
                Err(error) => {
                    self.reader.refuse_key(table, "set", format!("`{set}` {}", error.why));
                    return None;
                }
            }
        }
        let file = format!("{}/{name}", self.folder.name);
        match Scenario::parse(text.as_bytes(), &file, &parsed) {
            Ok(mut scenario) => {
                scenario.run.seeds = seeds;
                if scenario.compare.is_empty() {
                    self.reader.refuse_key(
                        table,
                        "scenario",
                        "the scenario lists no queues to compare",
                    );
                    return None;
                }
                Some(scenario)
            }
            Err(problems) => {
                self.reader.problems.extend(problems.list().iter().cloned());
                None
            }
        }
    }

    /// The lists of `vary`, all of one length.
    pub fn vary(&mut self, table: &Table<'_>) -> Vec<(String, Vec<String>)> {
        let Some(node) = table.get("vary") else { return vec![] };
        let path = table.field("vary.");
        let lists = self.reader.table(node, &path);
        let names: Vec<&str> = lists.entries.iter().map(|entry| entry.key.as_str()).collect();
        let vary: Vec<(String, Vec<String>)> =
            names.iter().map(|name| (name.to_string(), self.values(&lists, name))).collect();
        let even = vary.iter().all(|(_, values)| values.len() == vary[0].1.len());
        if vary.is_empty() || !even {
            self.reader.refuse_key(
                table,
                "vary",
                "must be lists of one length, as in { x = [1, 2] }",
            );
            return vec![];
        }
        vary
    }

    // What tables are made of.

    pub fn tables<'n>(&mut self, root: &Table<'n>, key: &str) -> Vec<Table<'n>> {
        let Some(node) = root.get(key) else { return vec![] };
        let path: &'static str = match key {
            "experiment" => "experiment.",
            "run" => "run.",
            "fitted" => "fitted.",
            "figure" => "figure.",
            "board" => "board.",
            "explanation" => "explanation.",
            "readings" => "readings.",
            _ => "reading.",
        };
        self.reader.tables(node, key).iter().map(|node| self.reader.table(node, path)).collect()
    }

    /// A text that must be there.
    pub fn text(&mut self, table: &Table<'_>, key: &str) -> String {
        if table.get(key).is_none() {
            self.reader.missing(table, key, "this key is required");
        }
        self.reader.text(table, key).unwrap_or_default()
    }

    pub fn parsed<T: std::str::FromStr<Err = String>>(
        &mut self,
        table: &Table<'_>,
        key: &str,
    ) -> Option<T> {
        let text = self.text(table, key);
        text.parse().map_err(|why: String| self.reader.refuse_key(table, key, why)).ok()
    }

    pub fn strings(&mut self, table: &Table<'_>, key: &str) -> Vec<String> {
        let empty = |node: &Node| matches!(&node.kind, Toml::List(items) if items.is_empty());
        if table.get(key).is_none_or(empty) { vec![] } else { self.values(table, key) }
    }

    /// Texts and numbers as text.
    fn values(&mut self, table: &Table<'_>, key: &str) -> Vec<String> {
        let Some(node) = table.get(key) else { return vec![] };
        let items = self.reader.list(node, &table.field(key));
        let values: Option<Vec<String>> = items.iter().map(scalar).collect();
        if values.is_none() {
            self.reader.refuse_key(table, key, "must be a list of texts or numbers");
        }
        values.unwrap_or_default()
    }

    pub fn whole(&mut self, table: &Table<'_>, key: &str, least: i64, most: i64) -> Option<i64> {
        match table.get(key).map(|node| &node.kind) {
            Some(Toml::Whole(n)) if (least..=most).contains(n) => Some(*n),
            _ => {
                self.reader.refuse_key(
                    table,
                    key,
                    format!("must be a whole number from {least} to {most}"),
                );
                None
            }
        }
    }

    pub fn unknown_experiment(&mut self, table: &Table<'_>, id: &str, paper: &Paper) {
        let known: Vec<&str> = paper.experiments.iter().map(|e| e.id.as_str()).collect();
        let near = did_you_mean(id, &known).unwrap_or_default();
        let why = format!("there is no such [[experiment]]; known are {}{near}", known.join(", "));
        self.reader.refuse_key(table, "experiment", why);
    }
}

/// Lists of one length, each with its name.
pub(super) type Vary = [(String, Vec<String>)];

/// `text` with `{NAME}` replaced by entry `index` of the list of that name.
pub(super) fn filled(text: &str, vary: &Vary, index: usize) -> String {
    vary.iter().fold(text.into(), |text: String, (name, values)| {
        text.replace(&format!("{{{name}}}"), &values[index])
    })
}
