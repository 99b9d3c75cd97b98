//! The scenarios, papers and suites that come with Tidegate, and how a scenario's name is
//! understood.
//!
//! ```
//! use tidegate_lab::shipped;
//! let opened = shipped::open("flood", &["run.seeds=2".parse()?])?;
//! assert!(opened.shipped);
//! assert_eq!((opened.scenario.name.as_str(), opened.scenario.run.seeds), ("flood", 2));
//! let error = shipped::open("flod", &[]).unwrap_err();
//! assert!(error.to_string().ends_with("did you mean `flood`?"));
//! assert!(shipped::open("protection/flood.toml", &[]).is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
use std::path::Path;

use crate::nearest::did_you_mean;
use crate::problem::{Place, Problem, Problems};
use crate::reader::Override;
use crate::scenario::Scenario;

/// Name and text of every shipped scenario, by name.
pub const SCENARIOS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

/// Name of every paper, with name and text of its files.
pub const PAPERS: &[(&str, &[(&str, &str)])] = include!(concat!(env!("OUT_DIR"), "/papers.rs"));

/// Name of every suite, with name and text of its files.
pub const SUITES: &[(&str, &[(&str, &str)])] = include!(concat!(env!("OUT_DIR"), "/suites.rs"));

/// A scenario, and where it was found.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The scenario.
    pub scenario: Scenario,
    /// Whether it is one that comes with Tidegate rather than a file.
    pub shipped: bool,
}

/// The text of the shipped scenario `name`.
pub fn find(name: &str) -> Option<&'static str> {
    SCENARIOS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The names of the shipped scenarios.
pub fn names() -> Vec<&'static str> {
    SCENARIOS.iter().map(|(name, _)| *name).collect()
}

/// The scenario that `argument` means, with `sets` applied. That is the file of that path if there
/// is one, else the shipped scenario of that name, or that of a shipped suite
/// (`protection/flood.toml`).
///
/// # Errors
/// Neither is there, or what is there is wrong.
pub fn open(argument: &str, sets: &[Override]) -> Result<Opened, Problems> {
    let path = Path::new(argument);
    let file = || Scenario::open(path, sets).map(|scenario| Opened { scenario, shipped: false });
    if path.is_file() {
        return file();
    }
    if let Some(text) = find(argument) {
        return read(argument, text, sets).map(|scenario| Opened { scenario, shipped: true });
    }
    if let Some(text) = in_a_suite(path) {
        let scenario = Scenario::parse(text.as_bytes(), argument, sets)?;
        return Ok(Opened { scenario, shipped: true });
    }
    if path.exists() { file() } else { Err(missing(argument)) }
}

/// The text of a shipped suite's scenario, as `protection/flood.toml`.
fn in_a_suite(path: &Path) -> Option<&'static str> {
    let (_, files) = SUITES.iter().find(|(name, _)| path.parent() == Some(Path::new(name)))?;
    let of = |(file, _): &&(&str, &str)| path.file_name() == Some(file.as_ref());
    files.iter().find(of).map(|(_, text)| *text)
}

/// Reads a shipped scenario.
///
/// # Errors
/// One of `sets` is wrong.
pub fn read(name: &str, text: &str, sets: &[Override]) -> Result<Scenario, Problems> {
    Scenario::parse(text.as_bytes(), &format!("{name}.toml"), sets)
}

fn missing(argument: &str) -> Problems {
    let stem = Path::new(argument)
        .file_stem()
        .map(|s| s.to_string_lossy().into_owned())
        .unwrap_or_default();
    let near = did_you_mean(&stem, &names()).unwrap_or_default();
    let known = names().join(", ");
    let why = if find(&stem).is_some() {
        format!("no such file; did you mean the shipped scenario `{stem}`?")
    } else if known.is_empty() {
        "no such file".into()
    } else {
        format!("no such file, and no such shipped scenario; those are {known}{near}")
    };
    let place = Place::File(argument.into());
    Problems::one(Problem { place, field: String::new(), value: String::new(), why })
}
