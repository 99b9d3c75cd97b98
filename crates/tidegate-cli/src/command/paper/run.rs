//! `tidegate paper run`.
use std::path::Path;

use serde_json::{Value, json};
use tidegate_lab::command;
use tidegate_lab::paper::{self, ClaimRow, Length, PaperRequest, PaperResults};
use tidegate_lab::results::ResultFile;
use tidegate_report::papers::{Made, render};

use super::{PaperOptions, experiments, folders, told};
use crate::failure::Failure;
use crate::{interrupt, output};

/// Run experiments and print every claim with our figure and the verdict.
///
/// With --out, every replication is stored while it goes on, under a hash of its scenario and of
/// the code that made it. The same command, given again, runs only what is missing. Beside the
/// store lie the table of all claims (results.csv), the points of all figures (figures.csv), the
/// figures as SVG, and pages (index.html).
#[derive(Debug, clap::Args)]
pub(super) struct PaperRunArgs {
    /// Experiments (B5), papers (care, or chan2003), or all
    #[arg(value_name = "ID|KEY|all", required = true)]
    which: Vec<String>,
    #[command(flatten)]
    how: PaperOptions,
}

impl PaperRunArgs {
    pub(super) fn execute(self) -> Result<(), Failure> {
        interrupt::listen();
        let papers = folders::papers(self.how.from.as_deref())?;
        let asked = self.how.asked(&papers, experiments(&self.which, &papers)?);
        let results = self.how.run(&asked)?;
        let rows: Vec<ClaimRow<'_>> = papers
            .iter()
            .flat_map(|paper| paper::rows(paper, &asked.experiments, &results))
            .collect();
        if let Some(dir) = &self.how.out {
            self.publish(dir, &asked, &results, &rows)?;
        }
        if self.how.json {
            output::print(&format!(
                "{:#}\n",
                Value::from(rows.iter().map(told::object).collect::<Vec<_>>())
            ))
        } else {
            output::print(
                &(told::table(&rows) + &told::summary(&rows) + &told::reasons(&papers, &rows)),
            )
        }
    }

    /// Writes tables, pages and pictures.
    fn publish(
        &self,
        dir: &Path,
        asked: &PaperRequest<'_>,
        results: &PaperResults,
        rows: &[ClaimRow<'_>],
    ) -> Result<(), Failure> {
        let shown: Vec<_> = asked
            .papers
            .iter()
            .map(|paper| paper::page(paper, &asked.experiments, results, asked.length))
            .filter(|page| !page.sections.is_empty())
            .collect();
        let arguments = std::env::args_os().skip(1);
        let command = command::line(arguments.map(|word| word.to_string_lossy().into_owned()));
        let note = match asked.length {
            Length::Quick => {
                "A quick run: few replications, and shorter than the paper's, so intervals are \
                 wide."
            }
            Length::Full => "",
        };
        let made = Made { version: paper::VERSION, command: &command, note };
        let mut files: Vec<ResultFile> = render(&shown, &made)
            .into_iter()
            .map(|page| ResultFile { name: page.name, bytes: page.text.into_bytes() })
            .collect();
        let points = paper::points(asked.papers, &asked.experiments, results);
        let version =
            json!({ "made_by": "tidegate", "version": paper::VERSION, "command": command });
        let made = format!("{version:#}\n");
        let readings = paper::readings(asked.papers, &asked.experiments, results);
        let tables = [
            ("results.csv", paper::csv(rows)),
            ("figures.csv", points),
            ("readings.csv", readings),
        ];
        for (name, text) in tables.into_iter().chain([("made.json", made)]) {
            files.push(ResultFile { name: name.into(), bytes: text.into_bytes() });
        }
        interrupt::uninterrupted(|| {
            paper::publish(dir, &files).map_err(Failure::runtime)?;
            output::note(&format!("Wrote {}.", dir.join("index.html").display()));
            Ok(())
        })
    }
}
