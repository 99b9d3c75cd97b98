//! `tidegate paper`: what papers claim, and what we find.
mod folders;
mod list;
mod pairs;
mod run;
mod told;

use std::path::PathBuf;

use tidegate_lab::nearest::did_you_mean;
use tidegate_lab::paper::{self, Length, Paper, PaperRequest, PaperResults};

use crate::experiment::whole;
use crate::failure::Failure;
use crate::progress::Onlooker;
use list::List;
use pairs::Pairs;
use run::PaperRunArgs;

/// Run what papers ran, and set our figures beside the printed ones.
///
/// Each experiment has claims: numbers or orders that the paper prints, each with the tolerance
/// within which ours holds. The verdict is computed: holds, differs, fitted (a parameter was chosen
/// on this very number), or cannot be checked. docs/study/paper.md tells how a paper is written
/// down.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  tidegate paper list
  tidegate paper list --json
  tidegate paper run C3
  tidegate paper run D1 --quick --out out/d1
  tidegate paper run E1 B0 --json
  tidegate paper pairs D1 --quick --choice ewfq:order=scfq --choice ewfq:insert=every")]
pub struct Papers {
    #[command(subcommand)]
    what: PaperCommand,
}

#[derive(Debug, clap::Subcommand)]
enum PaperCommand {
    List(List),
    Run(PaperRunArgs),
    Pairs(Pairs),
}

/// How experiments are run, and where what comes of them goes.
#[derive(Debug, clap::Args)]
struct PaperOptions {
    /// Number of replications, 1 to 10000; without it, the paper's own, or 3 of a quick run
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1, 10_000),
        allow_negative_numbers = true)]
    seeds: Option<u32>,
    /// Few replications, and short ones where the paper's are long
    #[arg(long)]
    quick: bool,
    /// Store results in this directory and go on from what is there
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON: one object for each line
    #[arg(long)]
    json: bool,
    /// Read the papers in this directory, a folder each, instead of those that came with the
    /// command
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
}

impl PaperOptions {
    /// The experiments of `papers` that `ids` names, as they are to be run.
    fn asked<'p>(&self, papers: &'p [Paper], ids: Vec<String>) -> PaperRequest<'p> {
        let length = if self.quick { Length::Quick } else { Length::Full };
        PaperRequest { papers, experiments: ids, length, seeds: self.seeds, only_tested: false }
    }

    /// Runs what is asked for.
    fn run(&self, asked: &PaperRequest<'_>) -> Result<PaperResults, Failure> {
        let out = self.out.as_deref();
        if let Some(dir) = out {
            paper::prepare(dir).map_err(Failure::input)?;
        }
        paper::run(asked, out, &Onlooker::new()).map_err(|error| Failure::of_runs(error, out))
    }
}

impl Papers {
    pub fn execute(self) -> Result<(), Failure> {
        match self.what {
            PaperCommand::List(list) => list.execute(),
            PaperCommand::Run(run) => run.execute(),
            PaperCommand::Pairs(pairs) => pairs.execute(),
        }
    }
}

/// The names of the experiments that `which` asks for.
fn experiments(which: &[String], papers: &[Paper]) -> Result<Vec<String>, Failure> {
    let mut asked: Vec<String> = vec![];
    for word in which {
        let mine =
            papers.iter().flat_map(|paper| paper.experiments.iter().map(move |e| (paper, e)));
        let named = |(paper, e): &(&Paper, &paper::Experiment)| {
            word == "all"
                || *word == paper.folder
                || *word == paper.key
                || word.eq_ignore_ascii_case(&e.id)
        };
        let found: Vec<String> = mine.filter(named).map(|(_, e)| e.id.clone()).collect();
        if found.is_empty() {
            let experiments =
                papers.iter().flat_map(|p| p.experiments.iter().map(|e| e.id.as_str()));
            let names = papers.iter().flat_map(|p| [p.folder.as_str(), p.key.as_str()]);
            let known: Vec<&str> = names.chain(experiments).chain(["all"]).collect();
            let near = did_you_mean(word, &known).unwrap_or_default();
            return Err(Failure::Input(format!(
                "{word}: no such experiment or paper{near}; `tidegate paper list` has them"
            )));
        }
        asked.extend(found.into_iter().filter(|id| !asked.contains(id)).collect::<Vec<_>>());
    }
    Ok(asked)
}
