//! `tidegate suite`: published tests of queues.
mod gate;
mod told;

use std::path::PathBuf;

use tidegate_lab::QueueSpec;
use tidegate_lab::suite::{self, Scores, Suite, SuiteLength, SuiteRequest, SuiteResults};

use crate::experiment::{arguments, begin, whole};
use crate::failure::Failure;
use crate::progress::Onlooker;
use crate::{interrupt, output};

/// Run every test of a suite with every queue.
///
/// A suite is a folder of scenarios and a file that says what each asks (docs/study/suites.md).
/// `protection` asks what a queue leaves the worst of its users while others attack. Without a
/// suite, those that come with Tidegate are listed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidegate suite
  tidegate suite protection --quick --tests P1 --queue sfb --queue fq_codel
  tidegate suite protection --out out/protection      all queues, some minutes
  tidegate suite protection --queue \"sfb,levels=2 as mine\" --tests P1,P2 --json
  tidegate suite my/suite.toml --seeds 5")]
pub struct Args {
    /// A suite that comes with Tidegate, or the path of a suite.toml
    #[arg(value_name = "NAME|PATH")]
    suite: Option<String>,
    /// A queue, NAME[/PRESET][,param=value…][ as LABEL], preset `auto` if none is named; give it
    /// several times. Without it, every queue of the catalog
    #[arg(long = "queue", value_name = "Q", requires = "suite")]
    queues: Vec<QueueSpec>,
    /// Only these tests, as in P1,P3
    #[arg(long, value_name = "IDS", value_delimiter = ',', requires = "suite")]
    tests: Vec<String>,
    /// Few and short replications of a part of the cells
    #[arg(long, requires = "suite")]
    quick: bool,
    /// Number of replications, 2 to 10000; without it, the suite's own
    #[arg(
        long,
        value_name = "N",
        requires = "suite",
        value_parser = whole::<u32>(2, 10_000),
        allow_negative_numbers = true
    )]
    seeds: Option<u32>,
    /// Store results in this directory and go on from what is there; the page, the scores and the
    /// tables are written there, too
    #[arg(long, value_name = "DIR", requires = "suite")]
    out: Option<PathBuf>,
    /// Write the tables as CSV, too
    #[arg(long, requires = "out")]
    csv: bool,
    /// Send real packets: this kernel's TCP through `tidegate gate` in namespaces, for the cells
    /// that can be, beside the simulator's figures. Needs root and iperf3, and takes 20 s for each
    /// queue in each cell
    #[arg(long, requires = "suite", conflicts_with_all = ["quick", "out", "seeds"])]
    gate: bool,
    /// Print the suite's cells as data that another simulator can read, JSON with a cell in each
    /// line. Nothing is run
    #[arg(
        long,
        requires = "suite",
        conflicts_with_all = ["queues", "tests", "quick", "seeds", "out", "gate", "json"]
    )]
    cells: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    pub fn execute(self) -> Result<(), Failure> {
        if self.gate {
            interrupt::listen_and_tidy()
        } else {
            interrupt::listen()
        }
        let Some(name) = &self.suite else {
            let suites = suite::shipped().map_err(Failure::input)?;
            return if self.json {
                output::print(&told::list_json(&suites))
            } else {
                output::print(&told::list(&suites))
            };
        };
        let suite = suite::open(name).map_err(Failure::input)?;
        if self.cells {
            return output::print(&suite::frozen(&suite));
        }
        let asked = self.asked(&suite)?;
        if self.gate {
            return gate::execute(&asked, self.json);
        }
        let begun = begin();
        let results = self.run(&asked)?;
        let scores = Scores::of(&suite, &results);
        if let Some(dir) = &self.out {
            let how = begun.how(arguments(), vec![]);
            suite::publish(&suite, &results, &scores, (dir, self.csv), how)
                .map_err(Failure::runtime)?;
            output::note(&format!("Wrote {}.", dir.join("index.html").display()));
        }
        if self.json {
            output::print(&suite::json(&suite, &results, &scores))
        } else {
            output::print(&told::table(&suite, &results, &scores))
        }
    }

    fn asked<'s>(&self, suite: &'s Suite) -> Result<SuiteRequest<'s>, Failure> {
        let queues =
            if self.queues.is_empty() { suite::every_queue() } else { self.queues.clone() };
        let tests = suite.tests(&self.tests).map_err(Failure::input)?;
        let length = if self.quick { SuiteLength::Quick } else { SuiteLength::Full };
        Ok(SuiteRequest { suite, tests, queues, length, seeds: self.seeds })
    }

    fn run(&self, asked: &SuiteRequest<'_>) -> Result<SuiteResults, Failure> {
        let out = self.out.as_deref();
        if let Some(dir) = out {
            suite::prepare(dir, asked.suite).map_err(Failure::input)?;
        }
        suite::run(asked, out, &Onlooker::new()).map_err(|error| Failure::of_runs(error, out))
    }
}
