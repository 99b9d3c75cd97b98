//! The scenarios that come with the command, and how a scenario argument is understood.
use std::path::Path;

use tidegate_lab::nearest::did_you_mean;
use tidegate_lab::{Scenario, Set};

use crate::failure::Failure;
use crate::output;

/// Name and text of every shipped scenario, by name.
pub const SCENARIOS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

/// Name of every paper, with name and text of its files.
pub const PAPERS: &[(&str, &[(&str, &str)])] = include!(concat!(env!("OUT_DIR"), "/papers.rs"));

/// The text of the shipped scenario `name`.
pub fn find(name: &str) -> Option<&'static str> {
    SCENARIOS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The names of the shipped scenarios.
pub fn names() -> Vec<&'static str> {
    SCENARIOS.iter().map(|(name, _)| *name).collect()
}

/// The scenario that `argument` means, with `sets` applied: the file of that path if there is one,
/// else the shipped scenario of that name.
///
/// # Errors
/// Neither is there, or what is there is wrong.
pub fn open(argument: &str, sets: &[Set]) -> Result<Scenario, Failure> {
    let path = Path::new(argument);
    if path.is_file() {
        return Scenario::open(path, sets).map_err(Failure::input);
    }
    if let Some(text) = find(argument) {
        output::note(&format!(
            "Scenario `{argument}` as shipped with tidegate {}.",
            env!("CARGO_PKG_VERSION")
        ));
        return shipped(argument, text, sets);
    }
    if path.exists() {
        return Scenario::open(path, sets).map_err(Failure::input);
    }
    Err(Failure::Input(missing(argument)))
}

/// Reads a shipped scenario.
///
/// # Errors
/// One of `sets` is wrong.
pub fn shipped(name: &str, text: &str, sets: &[Set]) -> Result<Scenario, Failure> {
    Scenario::parse(text.as_bytes(), &format!("{name}.toml"), sets).map_err(Failure::input)
}

fn missing(argument: &str) -> String {
    let stem = Path::new(argument)
        .file_stem()
        .map(|s| s.to_string_lossy().into_owned())
        .unwrap_or_default();
    if find(&stem).is_some() {
        return format!("{argument}: no such file; did you mean the shipped scenario `{stem}`?");
    }
    let near = did_you_mean(&stem, &names()).unwrap_or_default();
    if names().is_empty() {
        format!("{argument}: no such file")
    } else {
        let known = names().join(", ");
        format!("{argument}: no such file, and no such shipped scenario; those are {known}{near}")
    }
}
