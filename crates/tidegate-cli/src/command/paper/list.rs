//! `tidegate paper list`.
use std::path::PathBuf;

use serde_json::{Value, json};
use tidegate_lab::paper::{self, Paper};

use super::{folders, told};
use crate::failure::Failure;
use crate::output;

/// List the papers with their experiments and claims.
#[derive(Debug, clap::Args)]
pub(super) struct List {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Read the papers in this directory, a folder each, instead of those that came with the
    /// command
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
}

impl List {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let papers = folders::papers(self.from.as_deref())?;
        if self.json {
            let list: Vec<Value> = papers.iter().map(described).collect();
            return output::print(&format!("{:#}\n", Value::from(list)));
        }
        let mut text = String::new();
        for paper in &papers {
            text += &format!("{} ({}): {}\n", paper.folder, paper.key, paper.title);
            for e in &paper.experiments {
                let claims = paper.claims.iter().filter(|claim| claim.experiment == e.id).count();
                text +=
                    &format!("  {:4}{:28}{} ({})\n", e.id, e.place, e.title, told::claims(claims));
            }
        }
        output::print(&(text + "`tidegate paper run ID|KEY|all` runs them.\n"))
    }
}

fn described(paper: &Paper) -> Value {
    let experiment = |e: &paper::Experiment| {
        let settings: Vec<&str> = paper
            .runs
            .iter()
            .filter(|run| run.experiment == e.id)
            .map(|run| run.setting.as_str())
            .collect();
        let claims = paper.claims.iter().filter(|claim| claim.experiment == e.id).count();
        json!({
            "id": e.id, "place": e.place, "title": e.title, "settings": settings,
            "claims": claims, "unchecked": e.unchecked,
        })
    };
    let experiments: Vec<Value> = paper.experiments.iter().map(experiment).collect();
    json!({
        "name": paper.folder, "key": paper.key, "title": paper.title, "authors": paper.authors,
        "venue": paper.venue, "experiments": experiments,
    })
}
