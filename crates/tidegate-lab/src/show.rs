//! The manual page of a queue, a source or a shipped scenario.
//!
//! ```
//! use tidegate::Link;
//! use tidegate_lab::show::page;
//! use tidegate_report::table::Look;
//! let link = Link::new("10 Mbit/s".parse()?, "100 packets".parse()?, "1000 B".parse()?)?;
//! assert!(page("red", &link)?.render(&Look::plain()).starts_with("red\n"));
//! let error = page("sbf", &link).unwrap_err();
//! assert!(error.to_string().contains("did you mean `sfb`?"));
//! let error = page("tide/auto", &link).unwrap_err();
//! assert!(error.to_string().ends_with("`tidegate show tide` has its presets"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
use std::fmt;

use serde_json::{Value, json};
use tidegate::catalog::{self, AnyConfig, QUEUES, Row};
use tidegate::config::{Param, Params, readable};
use tidegate::{Bytes, ConfigError, Link};
use tidegate_report::page::{Block, Page};

use crate::linux;
use crate::nearest::did_you_mean;
use crate::problem::Problems;
use crate::scenario::{
    Cbr, Connection, Following, OnOff, Oscillating, Replay, SOURCES, Tfrc, Unresponsive, Voip, Web,
};
use crate::shipped;

/// Why there is no page.
#[derive(Clone, Debug, PartialEq)]
pub enum ShowError {
    /// Nothing has that name; what is there instead.
    Unknown(String),
    /// The queue cannot be on that link.
    Queue(ConfigError),
    /// The shipped scenario is wrong.
    Scenario(Problems),
}

impl fmt::Display for ShowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShowError::Unknown(why) => f.write_str(why),
            ShowError::Queue(error) => error.fmt(f),
            ShowError::Scenario(problems) => problems.fmt(f),
        }
    }
}

impl std::error::Error for ShowError {}

/// The page on `name`, a queue, a source or a shipped scenario; presets of a queue as they are on
/// `link`.
///
/// # Errors
/// Nothing has that name, or the queue cannot be on that link.
pub fn page(name: &str, link: &Link) -> Result<Page, ShowError> {
    if let Some(row) = catalog::find(name) {
        queue(row, link)
    } else if let Some((name, what)) = SOURCES.iter().find(|(known, _)| *known == name) {
        Ok(source(name, what))
    } else if let Some(text) = shipped::find(name) {
        scenario(name, text)
    } else {
        Err(ShowError::Unknown(unknown(name)))
    }
}

/// A queue with its presets and parameters, as JSON.
pub fn queue_json(row: &Row) -> Value {
    let presets: Vec<Value> = (row.presets)()
        .into_iter()
        .map(|(name, doc)| json!({"name": name, "title": doc}))
        .collect();
    let params: Vec<Value> = row
        .params
        .iter()
        .map(|p| {
            json!({
                "name": p.name, "symbol": p.symbol, "title": p.doc.trim(), "kind": p.kind,
                "range": (p.range)(),
            })
        })
        .collect();
    json!({
        "name": row.name, "title": row.info.title, "paper": row.info.paper, "presets": presets,
        "params": params,
    })
}

fn unknown(name: &str) -> String {
    if let Some((queue, _)) = name.split_once(['/', ','])
        && catalog::find(queue).is_some()
    {
        return format!("`{name}` is more than a name: `tidegate show {queue}` has its presets");
    }
    let all: Vec<&str> = QUEUES
        .iter()
        .map(|q| q.name)
        .chain(SOURCES.iter().map(|s| s.0))
        .chain(shipped::names())
        .collect();
    // Who mistyped a name wants that name, not all of them.
    if let Some(near) = did_you_mean(name, &all) {
        return format!("there is nothing called `{name}`{near} `tidegate list` has all names");
    }
    let kinds: [(&str, Vec<&str>); 3] = [
        ("queues", QUEUES.iter().map(|q| q.name).collect()),
        ("sources", SOURCES.iter().map(|s| s.0).collect()),
        ("scenarios", shipped::names()),
    ];
    let known: Vec<String> = kinds
        .iter()
        .filter(|k| !k.1.is_empty())
        .map(|(kind, names)| format!("{kind} {}", names.join(", ")))
        .collect();
    format!("there is nothing called `{name}`; there are {}", known.join("; "))
}

fn queue(row: &Row, link: &Link) -> Result<Page, ShowError> {
    let mut page = Page::default();
    page.add(Block::Title(row.name.into()));
    for block in Page::parse(row.info.manual) {
        match block {
            // The page's own table is for one preset and a link of its choice.
            Block::Generated => page.extend(parameters(row, link)?),
            other => page.add(other),
        }
    }
    page.extend(on_linux(row, link)?);
    Ok(page)
}

/// What Linux has instead, and what differs.
fn on_linux(row: &Row, link: &Link) -> Result<Vec<Block>, ShowError> {
    let mut blocks = vec![Block::Heading("On Linux".into())];
    match linux::line(row, link).map_err(ShowError::Queue)? {
        None => {
            if row.linux.is_some_and(|linux| linux.has_line()) {
                blocks.push(Block::Text("Linux cannot take values of this size.".into()));
            }
            let alone = row.linux.map_or("Linux has no such queue.", |linux| linux.differs);
            blocks.push(Block::Text(alone.into()));
        }
        Some((text, linux)) => {
            blocks.push(Block::Text(format!("As `{}/{}` on this link:", row.name, linux.preset)));
            blocks.push(Block::Code(text));
            blocks.push(Block::Text(linux.differs.into()));
        }
    }
    Ok(blocks)
}

/// How many presets a table of a page has room for.
const ABREAST: usize = 6;

/// The presets with the state they need, and every parameter: its value in the first preset, and
/// the others' where they differ.
fn parameters(row: &Row, link: &Link) -> Result<Vec<Block>, ShowError> {
    let presets = (row.presets)();
    let mut configs = Vec::new();
    for (name, _) in &presets {
        configs.push(catalog::config(row.name, Some(name), link).map_err(ShowError::Queue)?);
    }
    let mut blocks = vec![Block::Heading("Presets".into())];
    for ((name, doc), config) in presets.iter().zip(&configs) {
        let meant = if *name == catalog::DEFAULT_PRESET {
            "; the queue's name alone means this"
        } else {
            ""
        };
        blocks.push(Block::Item(format!(
            "`{name}`: {doc}{meant}. State besides the waiting packets: {}.",
            Bytes::new(config.state_bytes(link))
        )));
    }
    blocks.push(Block::Heading("Parameters".into()));
    if row.params.is_empty() {
        blocks.push(Block::Text("None; the limit is the link's.".into()));
        return Ok(blocks);
    }
    blocks.extend(row.params.iter().map(|param| Block::Item(described(param))));
    blocks.push(Block::Text(format!(
        "Values on a link of {} with a limit of {} and packets of {}. An empty cell means the \
         value of `{}`:",
        link.rate, link.limit, link.mean_packet, presets[0].0
    )));
    for (number, names) in presets.chunks(ABREAST).enumerate() {
        blocks.push(values(row, number * ABREAST, names, &configs));
    }
    Ok(blocks)
}

/// A table of the values in the presets `names`, which begin with the one numbered `begin`. What is
/// as in the first preset is left empty.
fn values(row: &Row, begin: usize, names: &[(&str, &str)], configs: &[AnyConfig]) -> Block {
    let head = ["parameter"].into_iter().chain(names.iter().map(|preset| preset.0));
    let mut rows = vec![head.map(String::from).collect::<Vec<_>>()];
    for param in row.params {
        let value = |preset: usize| configs[preset].get(param.name).unwrap_or_default();
        let cell = |preset: usize| {
            if preset > 0 && value(preset) == value(0) {
                String::new()
            } else {
                readable::value(&value(preset))
            }
        };
        let cells: Vec<String> = (begin..begin + names.len()).map(cell).collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            rows.push([vec![format!("`{}`", param.name)], cells].concat());
        }
    }
    Block::Table(rows)
}

fn source(name: &str, what: &str) -> Page {
    let mut page = Page::default();
    page.add(Block::Title(name.into()));
    page.add(Block::Text(format!("{what}.")));
    page.add(Block::Text(format!(
        "In a scenario: `[[group]]` with `source = \"{name}\"`. Its keys:"
    )));
    if let Some(named) = Connection::named(name) {
        if named.rate().is_some() {
            page.extend(keys(Unresponsive::PARAMS, &Unresponsive::default()));
            page.extend(connection(&named, "data"));
            return page;
        }
        page.extend(connection(&named, ""));
        return page;
    }
    page.extend(match name {
        "finite" => connection(&Connection::default(), ""),
        // Each object has a size of its own.
        "web" => [keys(Web::PARAMS, &Web::default()), connection(&Connection::default(), "data")]
            .concat(),
        "tfrc" => keys(Tfrc::PARAMS, &Tfrc::default()),
        "replay" => keys(Replay::PARAMS, &Replay::default()),
        "following" => keys(Following::PARAMS, &Following::default()),
        "on_off" => keys(OnOff::PARAMS, &OnOff::default()),
        "voip" => keys(Voip::PARAMS, &Voip::default()),
        "oscillating" => keys(Oscillating::PARAMS, &Oscillating::default()),
        _ => keys(Cbr::PARAMS, &Cbr::default()),
    });
    page
}

/// The keys of a connection, without one of them.
fn connection(connection: &Connection, but: &str) -> Vec<Block> {
    let keys = connection.keys();
    keys.iter()
        .filter(|(param, _)| param.name != but)
        .map(|(param, value)| key(param, value))
        .collect()
}

fn key(param: &Param, default: &str) -> Block {
    Block::Item(format!("{} By default {default}.", described(param)))
}

fn keys(params: &[Param], defaults: &impl Params) -> Vec<Block> {
    params.iter().map(|param| key(param, &defaults.get(param.name).unwrap_or_default())).collect()
}

/// Name, symbol, what it is, and its range.
fn described(param: &Param) -> String {
    let symbol =
        if param.symbol.is_empty() { String::new() } else { format!(" ({})", param.symbol) };
    format!("`{}`{symbol}: {} {}.", param.name, param.doc.trim(), readable::range(param))
}

fn scenario(name: &str, text: &str) -> Result<Page, ShowError> {
    let scenario = shipped::read(name, text, &[]).map_err(ShowError::Scenario)?;
    let mut page = Page::default();
    page.add(Block::Title(name.into()));
    page.add(Block::Text(scenario.title));
    page.extend(Page::parse(&scenario.description));
    page.add(Block::Heading("Run it".into()));
    page.add(Block::Code(format!("tidegate run {name}\ntidegate compare {name} --out out/{name}")));
    page.add(Block::Heading(format!("{name}.toml")));
    page.add(Block::Code(text.trim_end().into()));
    Ok(page)
}

#[cfg(test)]
mod tests {
    use tidegate_report::table::Look;

    use super::*;

    #[test]
    fn what_linux_has_only_inside_another_queue_has_no_line() {
        let size = "1 MB".parse().unwrap();
        let link = Link::new("10 Mbit/s".parse().unwrap(), size, Bytes::new(1000)).unwrap();
        let shown = |name: &str| page(name, &link).unwrap().render(&Look::plain());
        assert!(shown("cobalt").contains("only inside") && !shown("cobalt").contains("tc qdisc"));
        assert!(shown("sred").contains("Linux has no such queue."));
        assert!(shown("cake").contains("memlimit 2304000"));
    }

    #[test]
    fn every_manual_page_is_laid_out_whole() {
        let size = "100 packets".parse().unwrap();
        let link = Link::new("10 Mbit/s".parse().unwrap(), size, Bytes::new(1000)).unwrap();
        for row in QUEUES {
            let text = page(row.name, &link).unwrap().render(&Look::plain());
            for mark in ["**", "<!--", "|--"] {
                let left = text.lines().find(|line| line.contains(mark));
                assert_eq!(left, None, "{}: {mark} is left over", row.name);
            }
            let blocks = Page::parse(row.info.manual);
            assert!(blocks.len() > 4 || row.params.is_empty(), "{}", row.name);
        }
    }
}
