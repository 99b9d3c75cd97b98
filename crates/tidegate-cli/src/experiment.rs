//! What `run` and `compare` have in common: a scenario, its seeds, and where results go.
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tidegate::Bytes;
use tidegate_lab::results::{Begun, Manifest};
use tidegate_lab::{
    Job, Override, QueueOutcome, QueueSpec, RunError, Scenario, command, overloads, results, run,
    shipped, skipped,
};
use tidegate_packet::{CaptureError, Fault};
use tidegate_report::Document;
use tidegate_report::html::{self, ChartedResult, ReportInput};
use tidegate_report::table::{self, Look};

use crate::failure::Failure;
use crate::progress::Onlooker;
use crate::{interrupt, output};

/// The page that is made for people.
const REPORT: &str = "report.html";

/// Arguments of a simulation.
#[derive(Debug, clap::Args)]
pub struct SimulationArgs {
    /// A scenario file, or the name of a shipped scenario (see `tidegate list scenarios`)
    scenario: String,
    /// Change a value of the scenario, PATH=VALUE, as in run.duration=30s; give it several times
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<Override>,
    /// Number of replications, 1 to 10000; without it, the scenario's own
    #[arg(
        long,
        value_name = "N",
        value_parser = whole::<u32>(1, 10_000),
        allow_negative_numbers = true
    )]
    seeds: Option<u32>,
    /// Seed of the first replication; the others take the next ones
    #[arg(
        long,
        value_name = "BASE",
        value_parser = whole::<u64>(0, 4_000_000_000_000_000),
        allow_negative_numbers = true
    )]
    seed: Option<u64>,
    /// Threads to use, 1 for timing; without it, one a core. The result is the same
    #[arg(
        long,
        value_name = "N",
        value_parser = whole::<u16>(1, 1024),
        allow_negative_numbers = true
    )]
    threads: Option<u16>,
    /// Write result.json, series.json, both as Parquet, the resolved scenario and report.html into
    /// this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Whether --out writes report.html, which has about 1 MB
    #[arg(long, value_name = "WHETHER", value_enum, default_value_t = ReportWanted::On,
        requires = "out")]
    report: ReportWanted,
    /// Print the result as JSON (schema tidegate.result/1) instead of a table
    #[arg(long)]
    json: bool,
    /// Add each flow to the result
    #[arg(long)]
    flows: bool,
}

/// Whether a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ReportWanted {
    /// It is.
    On,
    /// It is not.
    Off,
}

/// What `--json` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonShape {
    /// One document.
    One,
    /// A list of documents.
    List,
}

impl SimulationArgs {
    /// The scenario, with every argument applied that changes it.
    ///
    /// # Errors
    /// There is none, or it is wrong.
    pub fn scenario(&self) -> Result<Scenario, Failure> {
        let mut scenario = open(&self.scenario, &self.sets)?;
        scenario.run.seeds = self.seeds.unwrap_or(scenario.run.seeds);
        scenario.run.seed = self.seed.unwrap_or(scenario.run.seed);
        Ok(scenario)
    }

    /// Runs `scenario` with each of `queues` and says what came of it.
    ///
    /// # Errors
    /// A queue is wrong, the output directory cannot be written, or Ctrl-C.
    pub fn run(
        &self,
        scenario: Scenario,
        queues: Vec<QueueSpec>,
        shape: JsonShape,
    ) -> Result<(), Failure> {
        let begun = begin();
        interrupt::listen();
        if let Some(dir) = &self.out {
            results::accept(dir).map_err(Failure::input)?;
        }
        let overloads = overloads(&scenario);
        overloads.iter().for_each(|overload| output::note(&format!("warning: {overload}.")));
        let skipped = skipped(&scenario);
        skipped.iter().for_each(|skipped| output::note(&format!("warning: {skipped}.")));
        let series = self.out.is_some();
        let flows = self.flows || series;
        let job = Job { scenario, queues, flows, series, threads: self.threads.map(usize::from) };
        let mut outcomes = run(&job, &Onlooker::new()).map_err(|error| match error {
            RunError::Cancelled => Failure::Interrupted,
            RunError::Invalid(problems) => Failure::input(problems),
        })?;
        for document in outcomes.iter_mut().map(|o| &mut o.document) {
            document.overloads = overloads.clone();
            document.incomplete = (!skipped.is_empty()).then(|| skipped.join("; "));
        }
        if let Some(dir) = &self.out {
            let mut files = results::files(&job.scenario, &outcomes);
            if self.report == ReportWanted::On {
                let scenario = job.scenario.resolved();
                files.push(report(&job.scenario.title, Some(&scenario), &outcomes));
            }
            let queues: Vec<_> = outcomes.iter().map(|o| o.document.label.as_str()).collect();
            let manifest = Manifest::new(&job.scenario.name, &job.scenario.seeds(), &queues);
            write(dir, &files, manifest, begun, &self.sets)?;
        }
        if !self.flows {
            outcomes.iter_mut().for_each(|o| o.document.flows = None);
        }
        let documents: Vec<Document> = outcomes.into_iter().map(|o| o.document).collect();
        match (self.json, shape) {
            (true, shape) => json(&documents, shape),
            (false, _) => human(&documents, usize::MAX),
        }
    }
}

/// The scenario that `argument` means, with `sets` applied. Says so where it is a shipped one.
///
/// # Errors
/// There is none, or it is wrong.
pub fn open(argument: &str, sets: &[Override]) -> Result<Scenario, Failure> {
    let opened = shipped::open(argument, sets).map_err(Failure::input)?;
    if opened.shipped {
        let version = env!("CARGO_PKG_VERSION");
        output::note(&format!("Scenario `{argument}` as shipped with tidegate {version}."));
    }
    Ok(opened.scenario)
}

/// The documents as JSON, on standard output.
///
/// # Errors
/// It cannot be written.
pub fn json(documents: &[Document], shape: JsonShape) -> Result<(), Failure> {
    let text = match (shape, documents) {
        (JsonShape::One, [one]) => one.to_json(),
        _ => Document::list_to_json(documents),
    };
    output::print(&format!("{text}\n"))
}

/// The documents as a table, and the `most` weightiest of the flows that each lists.
///
/// # Errors
/// It cannot be written.
pub fn human(documents: &[Document], most: usize) -> Result<(), Failure> {
    let look = Look::stdout();
    let mut text = table::results(&documents.iter().collect::<Vec<_>>(), &look);
    for document in documents {
        if let Some(flows) = &document.flows {
            text += &format!("\n{}", table::flows(document, flows, most, &look));
        }
    }
    output::print(&text)
}

/// The HTML report on `outcomes`.
pub fn report(
    title: &str,
    scenario: Option<&str>,
    outcomes: &[QueueOutcome],
) -> results::ResultFile {
    let runs =
        outcomes.iter().map(|o| ChartedResult::of(&o.document).with_series(&o.series)).collect();
    let command = command::line(arguments().into_iter().skip(1));
    let page = html::render(&ReportInput { title, runs, scenario, command: Some(&command) });
    results::ResultFile { name: REPORT.into(), bytes: page.into_bytes() }
}

/// Writes a result directory whole or not at all, and says where it lies. `manifest` is what it is
/// of; the work has `begun` then, with `sets` applied.
///
/// # Errors
/// It cannot be written, or Ctrl-C came before.
pub fn write(
    dir: &Path,
    files: &[results::ResultFile],
    manifest: Manifest,
    begun: Begun,
    sets: &[Override],
) -> Result<(), Failure> {
    let settings = sets.iter().map(|set| format!("{}={}", set.path, set.value)).collect();
    let manifest = manifest.made(begun.how(arguments(), settings));
    interrupt::uninterrupted(|| {
        results::write(dir, files, &manifest)
            .map_err(|error| Failure::Runtime(error.to_string()))?;
        let page = files.iter().find(|file| file.name == REPORT);
        let read_first = page.map_or("result.json", |page| &page.name);
        output::note(&format!("Wrote {}.", dir.join(read_first).display()));
        Ok(())
    })
}

/// The moment at which a command begins.
pub fn begin() -> Begun {
    Begun::at(SystemTime::now())
}

/// The arguments of this command, its name first.
pub fn arguments() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Reads a whole number from `least` to `most`, which must fit a `T`.
pub fn whole<T: TryFrom<i128>>(
    least: i128,
    most: i128,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| match text.parse::<i128>().map(|n| (n, T::try_from(n))) {
        Ok((n, Ok(value))) if (least..=most).contains(&n) => Ok(value),
        Ok(_) => Err(format!("must lie in {least} to {most}")),
        Err(_) => Err(format!("must be a whole number from {least} to {most}")),
    }
}

/// Reads the usual length of a packet, which has the bounds that it has in a scenario.
///
/// # Errors
/// It is no length, or beyond them.
pub fn mean_packet(text: &str) -> Result<Bytes, String> {
    let bytes = text.parse::<Bytes>().map_err(|error| error.to_string())?;
    if (40..=65_535).contains(&bytes.get()) {
        Ok(bytes)
    } else {
        Err("must lie in 40 B to 65535 B".into())
    }
}

/// Why the capture at `path` cannot be used.
pub fn unreadable(path: &Path, error: &CaptureError) -> Failure {
    match error.fault {
        // A file that cannot be opened is named by the error.
        Fault::Open => Failure::input(error),
        _ => Failure::Input(format!("{}: {error}", path.display())),
    }
}

/// What to say at the end if the capture at `path` was `damaged`: `what` is of the packets before.
///
/// # Errors
/// It was.
pub fn sound(path: &Path, damaged: Option<&CaptureError>, what: &str) -> Result<(), Failure> {
    let why = |damage| format!("{}: {damage}; the {what} is of the packets before", path.display());
    damaged.map_or(Ok(()), |damage| Err(Failure::Input(why(damage))))
}
