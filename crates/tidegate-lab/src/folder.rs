//! A folder of a description and the scenarios that it names, as a paper's or a suite's. This file
//! has the folder's files, and what the description's tables are made of while it is read.
use std::borrow::Cow;
use std::path::Path;

use crate::nearest::did_you_mean;
use crate::problem::{Place, Problem};
use crate::reader::{Node, Override, Reader, Table, TomlValue as Toml, scalar};
use crate::scenario::Scenario;

/// A folder: its name and the texts of its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folder<'t> {
    /// The short name that the command knows it by.
    pub name: Cow<'t, str>,
    /// Name and text of each file.
    pub files: Vec<(Cow<'t, str>, Cow<'t, str>)>,
}

impl Folder<'_> {
    /// The text of a file.
    pub fn file(&self, name: &str) -> Option<&str> {
        self.files.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_ref())
    }
}

/// A description, or a file beside it, while it is read.
pub(crate) struct Description<'r, 'd, 'f> {
    pub reader: &'r mut Reader<'d>,
    pub folder: &'f Folder<'f>,
}

impl Description<'_, '_, '_> {
    /// The scenario `name` of the folder with what `lists` set in it, and so many seeds.
    pub fn scenario(
        &mut self,
        table: &Table<'_>,
        name: &str,
        lists: &[Sets<'_>],
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
        for (list, set) in lists.iter().flat_map(|list| list.sets.iter().map(move |s| (list, s))) {
            match set.parse::<Override>() {
                Ok(set) => parsed.push(set),
                Err(error) => {
                    self.reader.refuse_key(list.table, list.key, format!("`{set}` {}", error.why));
                    return None;
                }
            }
        }
        let file = Path::new(self.reader.doc.file).with_file_name(name).display().to_string();
        match Scenario::parse(text.as_bytes(), &file, &parsed) {
            Ok(mut scenario) => {
                scenario.run.seeds = seeds;
                Some(scenario)
            }
            Err(problems) => {
                for problem in problems.list() {
                    // What is set stands in the description.
                    let own = match &problem.place {
                        Place::Set(set) => {
                            // What is set later holds.
                            let of = |list: &&Sets<'_>| list.sets.contains(set);
                            let Sets { table, key, .. } =
                                lists.iter().rev().find(of).unwrap_or(&lists[0]);
                            let at = table.get(key).map_or(table.origin, |node| node.origin);
                            let Problem { field, value, why, .. } = problem;
                            let path = set.split('=').next().unwrap_or_default();
                            let field = if field.is_empty() { path } else { field };
                            self.reader.doc.problem(at, field, value, why.clone())
                        }
                        _ => problem.clone(),
                    };
                    // Every cell of a `vary` meets it.
                    if !self.reader.problems.contains(&own) {
                        self.reader.problems.push(own);
                    }
                }
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
            "test" => "test.",
            "cell" => "cell.",
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
    pub fn values(&mut self, table: &Table<'_>, key: &str) -> Vec<String> {
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
}

/// What is set in a scenario, and the key of the description that says so.
#[derive(Clone, Copy)]
pub(crate) struct Sets<'s> {
    pub table: &'s Table<'s>,
    pub key: &'s str,
    pub sets: &'s [String],
}

/// Lists of one length, each with its name.
pub(crate) type Vary = [(String, Vec<String>)];

/// `text` with `{NAME}` replaced by entry `index` of the list of that name.
pub(crate) fn filled(text: &str, vary: &Vary, index: usize) -> String {
    vary.iter().fold(text.into(), |text: String, (name, values)| {
        text.replace(&format!("{{{name}}}"), &values[index])
    })
}

/// The first `{NAME}` in `text` that has no list.
pub(crate) fn stray<'t>(text: &'t str, vary: &Vary) -> Option<&'t str> {
    let mut parts = text.split('{').skip(1).filter_map(|part| Some(part.split_once('}')?.0));
    let named = |name: &&str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    parts.find(|name| named(name) && !vary.iter().any(|(known, _)| known == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_list_is_found() {
        let vary = [("n".to_string(), vec!["1".to_string()])];
        assert_eq!(stray("{n} of {m}", &vary), Some("m"));
        for text in ["{n}", "x={ a = 1 }", "{}", "{n"] {
            assert_eq!(stray(text, &vary), None, "{text}");
        }
    }
}
