//! `tidegate sweep`: a grid of scenarios and queues.
mod merge;
mod told;

use std::path::{Path, PathBuf};
use std::time::Duration;

use tidegate_lab::results::Begun;
use tidegate_lab::study::{
    self, Batch, DrawnPlot, Prepared, Shard, Store, Study, SweepError, SweepRequest, Tables,
    WantedTables,
};

use crate::experiment::{arguments, begin, whole};
use crate::failure::Failure;
use crate::progress::Onlooker;
use crate::{interrupt, output};

/// Run a study: scenarios and queues over axes, with every seed.
///
/// A study is a TOML file that names scenarios, queues, axes and seeds. Its results are one table
/// with a row for each cell, queue, group and seed (groups.parquet), and their means over seeds
/// (summary.parquet). What is done is stored while it goes on. The same command, given again, runs
/// only what is missing, also after axes or seeds were added. See docs/study/sweep.md for how a
/// study is written.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    arg_required_else_help = true
)]
#[command(after_help = "\
Examples:
  tidegate sweep rtt.toml --dry-run             cells and an estimate of the time
  tidegate sweep rtt.toml                       results go to rtt.study/
  tidegate sweep rtt.toml --out out/rtt --csv
  tidegate sweep rtt.toml --shard 3/10          one job of an array of ten
  tidegate sweep merge rtt.toml                 the results of all ten")]
pub struct Sweep {
    #[command(subcommand)]
    what: Option<SweepCommand>,
    #[command(flatten)]
    args: Args,
}

#[derive(Debug, clap::Subcommand)]
enum SweepCommand {
    Merge(merge::MergeArgs),
}

#[derive(Debug, clap::Args)]
struct Args {
    #[command(flatten)]
    of: SweepOptions,
    /// Print the cells and an estimate of the time, and run nothing
    #[arg(long)]
    dry_run: bool,
    /// Run one part of several, I/N, into a folder of its own below the directory
    #[arg(long, value_name = "I/N", conflicts_with = "dry_run")]
    shard: Option<Shard>,
    /// Threads to use; without it, one a core. The result is the same
    #[arg(
        long,
        value_name = "N",
        value_parser = whole::<u16>(1, 1024),
        allow_negative_numbers = true
    )]
    threads: Option<u16>,
}

/// A study and where its results go.
#[derive(Debug, clap::Args)]
struct SweepOptions {
    /// The study's file
    // Optional only beside a subcommand, which negates what is required.
    #[arg(value_name = "STUDY.toml", required = true)]
    study: Option<PathBuf>,
    /// The directory of the results; without it, the study's name with the ending .study
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write the tables as CSV, too
    #[arg(long)]
    csv: bool,
}

impl Sweep {
    pub fn execute(self) -> Result<(), Failure> {
        interrupt::listen();
        match self.what {
            Some(SweepCommand::Merge(merge)) => merge.execute(),
            None => self.args.execute(),
        }
    }
}

impl SweepOptions {
    /// The study, every cell of it checked.
    fn prepared(&self) -> Result<Prepared, Failure> {
        let study =
            Study::open(self.study.as_deref().unwrap_or(Path::new(""))).map_err(Failure::input)?;
        let prepared = study.prepare(&Onlooker::new()).map_err(Failure::input)?;
        prepared.ok_or(Failure::Interrupted)
    }

    fn dir(&self, study: &Study) -> PathBuf {
        self.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}.study", study.name)))
    }

    /// Writes the tables and says what came out.
    fn publish(
        &self,
        prepared: &Prepared,
        store: &mut Store,
        dir: &Path,
        begun: Begun,
    ) -> Result<(), Failure> {
        let keep = |name: &str| prepared.study.draws(name);
        let wanted = WantedTables { keep: &keep, csv: self.csv };
        let tables = study::tables(prepared, store, dir, wanted).map_err(failed)?;
        output::print(&told::answers(prepared, &tables))?;
        output::note(&format!("Wrote {}.", dir.join("groups.parquet").display()));
        let drawn = self.draw(&prepared.study, &tables, dir);
        study::mark(prepared, dir, begun.how(arguments(), vec![])).map_err(failed)?;
        drawn
    }

    /// Draws the study's plots.
    fn draw(&self, study: &Study, tables: &Tables, dir: &Path) -> Result<(), Failure> {
        let drawn = study::plots(study, tables, dir).map_err(failed)?;
        let mut refused = vec![];
        for DrawnPlot { name, files, notes, refused: why } in drawn {
            for file in files {
                output::note(&format!("Drew {}.", dir.join(file).display()));
            }
            notes.iter().for_each(|note| output::note(&format!("  {name}: {note}.")));
            refused.extend(why.map(|why| format!("plot {name}: {why}")));
        }
        if refused.is_empty() { Ok(()) } else { Err(Failure::Input(refused.join("\n"))) }
    }
}

impl Args {
    fn execute(self) -> Result<(), Failure> {
        let begun = begin();
        let prepared = self.of.prepared()?;
        let dir = self.of.dir(&prepared.study);
        // A part draws nothing, and need not have the fonts.
        if self.shard.is_none() {
            prepared.drawable().map_err(Failure::input)?;
        }
        if self.dry_run {
            return self.foretell(&prepared, &dir);
        }
        let shard = self.shard.unwrap_or(Shard::WHOLE);
        let own = shard.folder().map_or_else(|| dir.clone(), |folder| dir.join(folder));
        let mut store = Store::open(&own, study::empty()).map_err(failed)?;
        let asked = SweepRequest { threads: self.threads.map(usize::from), shard };
        let swept = study::sweep(&prepared, &mut store, asked, &Onlooker::new());
        let swept = swept.map_err(|error| match error {
            SweepError::Invalid(problems) => Failure::input(problems),
            SweepError::Store(error) => failed(error),
            SweepError::Cancelled(_) => Failure::Stopped(error.to_string()),
        })?;
        output::note(&told::swept(&prepared, &swept));
        if shard == Shard::WHOLE {
            self.of.publish(&prepared, &mut store, &dir, begun)
        } else {
            output::note(&format!(
                "Part {shard} lies in {}; `tidegate sweep merge` puts the parts together.",
                own.display()
            ));
            Ok(())
        }
    }

    /// Says what would be run, and about how long it takes.
    fn foretell(&self, prepared: &Prepared, dir: &Path) -> Result<(), Failure> {
        let store = Store::exists(dir).then(|| Store::open(dir, study::empty()).map_err(failed));
        let mut store = store.transpose()?;
        let missing = prepared.missing(store.as_mut(), Shard::WHOLE).map_err(failed)?;
        let threads = self.threads.map(usize::from);
        let time = prepared.estimate(&missing, threads, &Onlooker::new());
        let time: Option<Duration> = time.map_err(Failure::input)?;
        let count: u64 = missing.iter().map(|batch: &Batch| batch.seeds as u64).sum();
        output::print(&told::plan(prepared, count, time))
    }
}

/// What is wrong with a store.
fn failed(error: study::StoreError) -> Failure {
    if error.refused { Failure::input(error) } else { Failure::runtime(error) }
}
