//! `tidegate paper pairs`.
use serde_json::{Value, json};
use tidegate_lab::paper::pairs::{self, PairsCell, PairsGrid, ReadingChoice};
use tidegate_lab::paper::{self, Paper};
use tidegate_lab::results::ResultFile;
use tidegate_report::page::{Block, Page};
use tidegate_report::table::Look;

use super::{PaperOptions, experiments, folders};
use crate::failure::Failure;
use crate::{interrupt, output};

/// Run an experiment under every pair of readings, and print how many claims each meets.
///
/// Without --choice the grid is made of the queues' parameters that take one of several words. It
/// has every other word of each, as the manual pages of the compared queues list them. The first
/// line says what comes of the experiment as run. With --out, cells are stored as `paper run`
/// stores them, and the table lies beside them as pairs-ID.csv.
#[derive(Debug, clap::Args)]
pub(super) struct Pairs {
    /// The experiment (A5)
    #[arg(value_name = "ID")]
    which: String,
    /// A choice, QUEUE:PARAM=VALUE or PATH=VALUE of the scenario; give it several times
    #[arg(long = "choice", value_name = "CHOICE")]
    choices: Vec<ReadingChoice>,
    /// Without --choice: only the choices of this queue
    #[arg(long, value_name = "QUEUE", conflicts_with = "choices")]
    queue: Option<String>,
    #[command(flatten)]
    how: PaperOptions,
}

impl Pairs {
    pub(super) fn execute(self) -> Result<(), Failure> {
        interrupt::listen();
        let folders = folders::folders(self.how.from.as_deref())?;
        let papers = folders::read(&folders)?;
        let ids = experiments(std::slice::from_ref(&self.which), &papers)?;
        let mut of =
            papers.iter().zip(&folders).filter(|(paper, _)| paper.experiment(&ids[0]).is_some());
        let (Some((paper, folder)), [id]) = (of.next(), &ids[..]) else {
            return Err(Failure::Input(format!(
                "{}: must be one experiment, as in A5",
                self.which
            )));
        };
        let grid =
            PairsGrid::new(paper, folder, id, &self.choices(paper, id)?).map_err(Failure::input)?;
        let asked = self.how.asked(std::slice::from_ref(&grid.paper), vec![id.clone()]);
        let cells = grid.judged(&self.how.run(&asked)?);
        if let Some(dir) = &self.how.out {
            let name = format!("pairs-{id}.csv");
            let file = ResultFile { name: name.clone(), bytes: pairs::csv(&cells).into_bytes() };
            paper::publish(dir, &[file]).map_err(Failure::runtime)?;
            output::note(&format!("Wrote {}.", dir.join(name).display()));
        }
        if self.how.json {
            output::print(&format!(
                "{:#}\n",
                Value::from(cells.iter().map(cell).collect::<Vec<_>>())
            ))
        } else {
            output::print(&paired(&cells))
        }
    }

    fn choices(&self, paper: &Paper, experiment: &str) -> Result<Vec<ReadingChoice>, Failure> {
        let choices = if self.choices.is_empty() {
            pairs::listed(paper, experiment, self.queue.as_deref())
        } else {
            self.choices.clone()
        };
        match choices.len() {
            0 => {
                let of = self
                    .queue
                    .as_ref()
                    .map_or(String::new(), |queue| format!(" of a queue `{queue}`"));
                Err(Failure::Input(format!(
                    "{experiment}: there is nothing{of} to choose; name it by --choice"
                )))
            }
            n if n > pairs::MOST_CHOICES => Err(Failure::Input(format!(
                "{experiment}: {n} choices; there may be {} at most: say by --queue or --choice \
                 which",
                pairs::MOST_CHOICES
            ))),
            _ => Ok(choices),
        }
    }
}

/// The lines for a terminal: as run, then the best first.
fn paired(cells: &[PairsCell]) -> String {
    let (plain, others): (Vec<&PairsCell>, Vec<&PairsCell>) =
        cells.iter().partition(|cell| cell.choices.is_empty());
    let mut lines = vec![pairs::COLUMNS.map(String::from).to_vec()];
    lines.extend(plain.iter().chain(&others).map(|cell| cell.fields().to_vec()));
    let mut page = Page::default();
    page.add(Block::Table(lines));
    page.render(&Look::stdout())
        + "\nmet: claims that hold or are fitted, of those with a figure; gained, lost: against as \
           run; factor: how far ours is off the printed numbers, in the root mean square.\n"
}

fn cell(cell: &PairsCell) -> Value {
    json!({
        "choices": cell.choices.iter().map(ReadingChoice::to_string).collect::<Vec<_>>(),
        "met": cell.met.len(), "of": cell.of, "gained": cell.gained, "lost": cell.lost,
        "factor": cell.factor, "refused": cell.refused, "lines": cell.met,
    })
}
