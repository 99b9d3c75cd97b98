//! `tidegate show`: the manual page of a queue, a source or a scenario.
use tidegate::catalog::{self, AnyConfig, QUEUES, Row};
use tidegate::config::{Param, Params, readable};
use tidegate::{Bytes, Link, Rate, Size};
use tidegate_lab::nearest::did_you_mean;
use tidegate_lab::scenario::{
    Cbr, Connection, OnOff, Oscillating, Replay, SOURCES, Tfrc, Unresponsive, Voip, Web,
};

use crate::failure::Failure;
use crate::manual::{Block, Page};
use crate::{output, shipped};

/// Show the manual page of a queue, or what a source or a scenario is.
///
/// For a queue: what it does, the paper, its parameters with symbol, range and the value that each
/// preset gives them, where it differs from the paper, and how much state it keeps. Presets may
/// scale values to the link; --rate, --limit and --mean-packet say which link.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidegate show blue
  tidegate show sfb --rate 45Mbit/s --limit 200kB
  tidegate show cubic
  tidegate show flood")]
pub struct Args {
    /// A queue, a source or a shipped scenario (see `tidegate list`)
    name: String,
    /// The rate of the link that presets are scaled to
    #[arg(long, default_value = "10 Mbit/s", allow_hyphen_values = true)]
    rate: Rate,
    /// The queue's limit on that link
    #[arg(long, value_name = "SIZE", default_value = "100 packets", allow_hyphen_values = true)]
    limit: Size,
    /// The usual length of a packet on that link
    #[arg(long, value_name = "SIZE", default_value = "1000 B", allow_hyphen_values = true)]
    mean_packet: Bytes,
}

impl Args {
    pub fn execute(self) -> Result<(), Failure> {
        let link = Link::new(self.rate, self.limit, self.mean_packet).map_err(Failure::input)?;
        let page = if let Some(row) = catalog::find(&self.name) {
            queue(row, &link)?
        } else if let Some((name, what)) = SOURCES.iter().find(|(name, _)| *name == self.name) {
            source(name, what)
        } else if let Some(text) = shipped::find(&self.name) {
            scenario(&self.name, text)?
        } else {
            return Err(Failure::Input(self.unknown()));
        };
        output::print(&page.render())
    }

    fn unknown(&self) -> String {
        let all: Vec<&str> = QUEUES
            .iter()
            .map(|q| q.name)
            .chain(SOURCES.iter().map(|s| s.0))
            .chain(shipped::names())
            .collect();
        let name = &self.name;
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
}

fn queue(row: &Row, link: &Link) -> Result<Page, Failure> {
    let mut page = Page::default();
    page.add(Block::Title(row.name.into()));
    for block in Page::parse(row.info.manual) {
        match block {
            // The page's own table is for one preset and a link of its choice.
            Block::Generated => page.extend(parameters(row, link)?),
            other => page.add(other),
        }
    }
    Ok(page)
}

/// How many presets a table of a page has room for.
const ABREAST: usize = 6;

/// The presets with the state they need, and every parameter: its value in the first preset, and
/// the others' where they differ.
fn parameters(row: &Row, link: &Link) -> Result<Vec<Block>, Failure> {
    let presets = (row.presets)();
    let mut configs = Vec::new();
    for (name, _) in &presets {
        configs.push(catalog::config(row.name, Some(name), link).map_err(Failure::input)?);
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
        "Values on a link of {} with a limit of {} and packets of {}. An empty cell means the value \
         of `{}`:",
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
        "on_off" => keys(OnOff::PARAMS, &OnOff::default()),
        "voip" => keys(Voip::PARAMS, &Voip::default()),
        "oscillating" => keys(Oscillating::PARAMS, &Oscillating::default()),
        _ => keys(Cbr::PARAMS, &Cbr::default()),
    });
    page
}

/// The keys of a connection, but for one.
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

fn scenario(name: &str, text: &str) -> Result<Page, Failure> {
    let scenario = shipped::shipped(name, text, &[])?;
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
