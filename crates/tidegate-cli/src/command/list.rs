//! `tidegate list`: what there is.
use clap::ValueEnum;
use serde_json::{Value, json};
use tidegate::catalog::QUEUES;
use tidegate_lab::scenario::SOURCES;
use tidegate_lab::{Scenario, shipped, show};

use crate::failure::Failure;
use crate::output;

/// List the queues, the traffic sources and the shipped scenarios.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidegate list
  tidegate list queues
  tidegate list scenarios --json")]
pub struct Args {
    /// What to list; without it, everything
    kind: Option<ListKind>,
    /// Print JSON: one object with a list for each kind
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ListKind {
    /// Queue disciplines
    Queues,
    /// What flows can send
    Sources,
    /// Scenarios that come with the command
    Scenarios,
}

impl ListKind {
    fn name(self) -> &'static str {
        match self {
            ListKind::Queues => "queues",
            ListKind::Sources => "sources",
            ListKind::Scenarios => "scenarios",
        }
    }

    /// Name and one line of each.
    fn entries(self) -> Vec<(String, String)> {
        match self {
            ListKind::Queues => {
                QUEUES.iter().map(|q| (q.name.into(), q.info.title.into())).collect()
            }
            ListKind::Sources => {
                SOURCES.iter().map(|(name, what)| (name.to_string(), what.to_string())).collect()
            }
            ListKind::Scenarios => scenarios().map(|s| (s.name, s.title)).collect(),
        }
    }

    fn json(self) -> Value {
        match self {
            ListKind::Queues => QUEUES.iter().map(show::queue_json).collect(),
            ListKind::Sources => {
                SOURCES.iter().map(|(name, what)| json!({"name": name, "title": what})).collect()
            }
            ListKind::Scenarios => scenarios()
                .map(|s| {
                    let queues: Vec<String> = s.compare.iter().map(ToString::to_string).collect();
                    json!({
                        "name": s.name, "title": s.title, "description": s.description,
                        "compare": queues,
                    })
                })
                .collect(),
        }
    }
}

/// The shipped scenarios; a test holds that every one of them can be read.
fn scenarios() -> impl Iterator<Item = Scenario> {
    shipped::SCENARIOS.iter().filter_map(|(name, text)| shipped::read(name, text, &[]).ok())
}

impl Args {
    pub fn execute(self) -> Result<(), Failure> {
        let kinds = match self.kind {
            Some(one) => vec![one],
            None => vec![ListKind::Queues, ListKind::Sources, ListKind::Scenarios],
        };
        if self.json {
            let all: serde_json::Map<String, Value> =
                kinds.iter().map(|k| (k.name().into(), k.json())).collect();
            let text =
                serde_json::to_string_pretty(&all).map_err(|e| Failure::Runtime(e.to_string()))?;
            return output::print(&format!("{text}\n"));
        }
        let lists: Vec<String> = kinds.into_iter().map(text).collect();
        output::print(&format!("{}\n`tidegate show NAME` says more of each.\n", lists.join("\n")))
    }
}

fn text(kind: ListKind) -> String {
    let entries = kind.entries();
    let width = entries.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = format!("{}\n", kind.name());
    for (name, title) in entries {
        text += &format!("  {name:width$}  {title}\n");
    }
    text
}
