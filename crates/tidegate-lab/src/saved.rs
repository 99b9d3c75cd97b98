//! Saved results, read back: a result directory, that of a study, or `result.json` alone.
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tidegate_report::diff::Figures;
use tidegate_report::{Document, SchemaName};

use crate::reader::{self, Node, TomlValue, scalar};
use crate::results::{self, Manifest, parquet};

/// The largest file that is read, in bytes.
const LIMIT: u64 = 1 << 31;
/// The most settings that are listed.
const LISTED: usize = 10;

/// A saved result.
#[derive(Clone, Debug)]
pub struct Saved {
    /// Its figures.
    pub figures: Figures,
    /// How it came about, where that is written beside it.
    pub manifest: Option<Manifest>,
    /// The resolved scenario, or the study, where that is written beside it.
    scenario: Option<String>,
}

/// Why there is no result: the file or directory, and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The file or directory.
    pub path: PathBuf,
    /// What is wrong with it.
    pub why: String,
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.why)
    }
}

impl std::error::Error for Unreadable {}

impl Saved {
    /// The result at `path`.
    ///
    /// # Errors
    /// There is none, it is broken, or a newer version wrote it.
    pub fn open(path: &Path) -> Result<Saved, Unreadable> {
        let refuse = |why: &str| Err(Unreadable { path: path.into(), why: why.into() });
        if !path.is_dir() {
            if !path.exists() {
                return refuse("there is no such file or directory");
            }
            let figures = match path.extension().and_then(|ending| ending.to_str()) {
                Some("parquet") => table(path)?,
                _ => documents(path)?,
            };
            return Ok(Saved { figures, manifest: None, scenario: None });
        }
        let [groups, result] = ["groups.parquet", "result.json"].map(|name| path.join(name));
        let figures = match (groups.is_file(), result.is_file()) {
            (true, _) => table(&groups)?,
            (_, true) => documents(&result)?,
            _ => {
                return refuse(
                    "is no directory of results: it has neither groups.parquet nor result.json",
                );
            }
        };
        let manifest = bytes(&path.join(results::MARK)).ok();
        let text = |name: &str| bytes(&path.join(name)).ok();
        let scenario = text("scenario.toml").or_else(|| text("study.toml"));
        Ok(Saved {
            figures,
            manifest: manifest.and_then(|bytes| Manifest::read(&bytes)),
            scenario: scenario.and_then(|bytes| String::from_utf8(bytes).ok()),
        })
    }

    /// What the scenarios or studies of `self` and `other` have set otherwise, as
    /// `network.rate: 10 Mbit/s and 20 Mbit/s`; ten at most, and how many more. None where a
    /// scenario is not known.
    pub fn settings_apart(&self, other: &Saved) -> Option<(Vec<String>, usize)> {
        let [a, b] = [self, other].map(|saved| saved.scenario.as_deref().and_then(settings));
        let (a, b) = (a?, b?);
        let value = |all: &[(String, String)], path: &str| {
            let found = all.iter().find(|(other, _)| other == path);
            found.map_or("nothing".to_string(), |(_, value)| value.clone())
        };
        let mut paths: Vec<&String> = a.iter().map(|(path, _)| path).collect();
        paths
            .extend(b.iter().map(|(path, _)| path).filter(|path| !a.iter().any(|s| s.0 == **path)));
        let apart: Vec<String> = paths
            .into_iter()
            .map(|path| (path, value(&a, path), value(&b, path)))
            .filter(|(_, a, b)| a != b)
            .map(|(path, a, b)| format!("{path}: {a} and {b}"))
            .collect();
        let more = apart.len().saturating_sub(LISTED);
        Some((apart.into_iter().take(LISTED).collect(), more))
    }
}

/// The figures of a table by seed.
fn table(path: &Path) -> Result<Figures, Unreadable> {
    let wrong = |why: String| Unreadable { path: path.into(), why };
    let table = parquet::read(bytes(path)?)
        .map_err(|error| wrong(format!("is no table that can be read: {error}")))?;
    Figures::by_seed(&table).map_err(|error| wrong(error.to_string()))
}

/// The figures of a result document, or of several.
fn documents(path: &Path) -> Result<Figures, Unreadable> {
    let wrong = |why: String| Unreadable { path: path.into(), why };
    let bytes = bytes(path)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| wrong("is no text".into()))?;
    let documents = Document::read_all(text).map_err(|error| {
        let schema = serde_json::from_str(text).ok().and_then(|value| other_schema(&value));
        wrong(schema.unwrap_or_else(|| format!("is no result: {error}")))
    })?;
    if documents.is_empty() {
        return Err(wrong("has no results in it".into()));
    }
    Ok(Figures::together(&documents))
}

/// What to say of documents of another schema than ours.
fn other_schema(value: &Value) -> Option<String> {
    let ours = serde_json::to_value(SchemaName::default()).ok()?;
    let documents = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    let schemas = documents.iter().filter_map(|document| document.get("schema"));
    let theirs = schemas.filter_map(Value::as_str).find(|schema| ours != *schema)?;
    let theirs = reader::cut(theirs, 40);
    let newer = if theirs.starts_with("tidegate.result/") {
        "; a newer version of tidegate wrote it"
    } else {
        ""
    };
    Some(format!("has the schema {theirs}, and this version reads {}{newer}", ours.as_str()?))
}

fn bytes(path: &Path) -> Result<Vec<u8>, Unreadable> {
    let wrong = |why: String| Unreadable { path: path.into(), why };
    let file = fs::File::open(path).map_err(|error| wrong(error.kind().to_string()))?;
    let too_large = || wrong(format!("is larger than {} GB", LIMIT / 1_000_000_000));
    // What says its length is not read in vain.
    if file.metadata().is_ok_and(|meta| meta.len() > LIMIT) {
        return Err(too_large());
    }
    let mut bytes = vec![];
    file.take(LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| wrong(error.kind().to_string()))?;
    if bytes.len() as u64 > LIMIT {
        return Err(too_large());
    }
    Ok(bytes)
}

/// Path and value of each key of a scenario or a study; none of what is no TOML. Words for readers
/// and plots are left out.
fn settings(text: &str) -> Option<Vec<(String, String)>> {
    let doc = reader::TomlDocument { file: "scenario.toml", text, sets: &[] };
    let root = doc.read().ok()?;
    let mut all = vec![];
    flatten(&root, "", &mut all);
    let shown = |path: &str| ["title", "description"].contains(&path) || path.starts_with("plot.");
    all.retain(|(path, _)| !shown(path));
    Some(all)
}

fn flatten(node: &Node, path: &str, into: &mut Vec<(String, String)>) {
    match &node.kind {
        TomlValue::Table(entries) => {
            for entry in entries {
                let dot = if path.is_empty() { "" } else { "." };
                flatten(&entry.node, &format!("{path}{dot}{}", entry.key), into);
            }
        }
        TomlValue::List(items) => {
            for (index, item) in items.iter().enumerate() {
                let name = reader::name_of(item).map_or((index + 1).to_string(), String::from);
                flatten(item, &format!("{path}.{name}"), into);
            }
        }
        TomlValue::Flag(flag) => into.push((path.into(), flag.to_string())),
        _ => into.push((path.into(), reader::cut(&scalar(node).unwrap_or_default(), 60))),
    }
}
