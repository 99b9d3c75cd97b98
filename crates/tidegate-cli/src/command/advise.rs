//! `tidegate advise`: which queue would help the link of a capture.
mod page;

use std::path::PathBuf;

use tidegate::{Bytes, Rate, Size};
use tidegate_lab::advise::{Advise, AdviseError, Advised, Conclusion, advise};
use tidegate_lab::replay::default_limit;
use tidegate_lab::results::{self, Manifest, ResultFile};
use tidegate_lab::{QueueOutcome, QueueSpec};
use tidegate_report::table::Look;

use crate::experiment::{self, mean_packet, whole};
use crate::failure::Failure;
use crate::progress::Onlooker;
use crate::{interrupt, output};

/// Say which queue would help the users of a link, from a capture of its traffic.
///
/// Reads a pcap or pcapng file that was taken at the link or near it. Finds the time in which the
/// link was congested, who sent then, their round trips, who reacts to losses and who floods.
/// Rebuilds that traffic with senders that react, since those of a capture do not, and simulates it
/// with each queue.
///
/// Says what users get now and what they would get, and which queue to choose. Prints the gate's
/// file, and the tc command where Linux has the queue. Says what the capture could not tell.
///
/// Memory does not grow with the file. Exit code 2 says that there is no advice: no capture, one
/// direction only, no congestion in it. Of a damaged file, what can be read is judged; then the
/// damage is an error.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidegate advise capture.pcapng --rate 10mbit
  tidegate advise capture.pcapng --rate \"10 Mbit/s\" --queue drop_tail --queue sfq --out out/advice
  tidegate advise capture.pcapng --rate 10mbit --queue drop_tail --queue drr --seeds 2 --json
  tidegate advise recorded-up.pcapng --rate 10mbit --one-direction     by a gate's --record")]
pub struct Args {
    /// The capture, a pcap or pcapng file, perhaps packed by gzip
    capture: PathBuf,
    /// The link's rate, as in 100mbit or "100 Mbit/s"
    #[arg(long, allow_hyphen_values = true)]
    rate: Rate,
    /// How much may wait, as in "125 kB" or "100 packets" [default: what the link sends in 100 ms]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    limit: Option<Size>,
    /// The usual length of a packet; queues turn bytes into packets and back by it
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "1000 B",
        value_parser = mean_packet,
        allow_hyphen_values = true
    )]
    mean_packet: Bytes,
    /// A queue to try, NAME[/PRESET][,param=value…][ as LABEL], preset `auto` if none is named;
    /// give it several times [default: drop_tail and the usual others]
    #[arg(long = "queue", value_name = "Q")]
    queues: Vec<QueueSpec>,
    /// Number of replications, 2 to 100 [default: 5; down to 2 where many connections or far ones
    /// take long]
    #[arg(
        long,
        value_name = "N",
        value_parser = whole::<u32>(2, 100),
        allow_negative_numbers = true
    )]
    seeds: Option<u32>,
    /// Seed of the first replication; the others take the next ones
    #[arg(
        long,
        value_name = "BASE",
        default_value_t = 1,
        value_parser = whole::<u64>(0, 4_000_000_000_000_000),
        allow_negative_numbers = true
    )]
    seed: u64,
    /// Be advised by one direction, too, as a gate's --record writes it
    #[arg(long)]
    one_direction: bool,
    /// Write advice.json, gate.toml, the scenario, result.json, tables and report.html into this
    /// directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the answer as JSON (schema tidegate.advice/1) instead of a page
    #[arg(long)]
    json: bool,
}

impl Args {
    pub fn execute(self) -> Result<(), Failure> {
        let begun = experiment::begin();
        interrupt::listen();
        let job = self.job();
        job.link().map_err(Failure::input)?;
        if let Some(dir) = &self.out {
            results::accept(dir).map_err(Failure::input)?;
        }
        let advised = advise(&job, &Onlooker::new()).map_err(|error| self.failure(error))?;
        if let Some(dir) = &self.out {
            let queues: Vec<String> = job.queues.iter().map(QueueSpec::label).collect();
            let queues: Vec<&str> = queues.iter().map(String::as_str).collect();
            let seeds = advised.tried.as_ref().map_or_else(Vec::new, |(ran, _)| ran.seeds());
            let manifest = Manifest::new(&job.name(), &seeds, &queues);
            experiment::write(dir, &files(&job, &advised)?, manifest, begun, &[])?;
        }
        if self.json {
            output::print(&format!("{}\n", json(&advised)?))?;
        } else {
            output::print(&page::page(&advised.advice).render(&Look::stdout()))?;
        }
        experiment::sound(&self.capture, advised.damage.as_ref(), "answer")?;
        self.advised(advised.advice.verdict)
    }

    /// Fails where there was nothing to advise on.
    fn advised(&self, verdict: Conclusion) -> Result<(), Failure> {
        let why = match verdict {
            Conclusion::Change | Conclusion::Keep => return Ok(()),
            Conclusion::NothingToMend => "there is no congestion in it",
            Conclusion::NobodyToHelp => "nobody in it reacts to congestion",
        };
        Err(Failure::Input(format!("{}: {why}, so there is no advice", self.capture.display())))
    }

    fn job(&self) -> Advise {
        let new = Advise::new(&self.capture, self.rate);
        let queues = if self.queues.is_empty() { new.queues } else { self.queues.clone() };
        Advise {
            limit: self.limit.unwrap_or_else(|| default_limit(self.rate, self.mean_packet)),
            mean_packet: self.mean_packet,
            queues,
            seeds: self.seeds,
            seed: self.seed,
            one_direction: self.one_direction,
            ..new
        }
    }

    fn failure(&self, error: AdviseError) -> Failure {
        match error {
            AdviseError::Cancelled => Failure::Interrupted,
            AdviseError::Capture(error) => experiment::unreadable(&self.capture, &error),
            other => Failure::input(other),
        }
    }
}

fn json(advised: &Advised) -> Result<String, Failure> {
    serde_json::to_string_pretty(&advised.advice).map_err(|e| Failure::Runtime(e.to_string()))
}

/// What goes into the directory.
fn files(job: &Advise, advised: &Advised) -> Result<Vec<ResultFile>, Failure> {
    let mut files = vec![];
    if let Some((scenario, outcomes)) = &advised.tried {
        let outcomes: &[QueueOutcome] = outcomes;
        files = results::files(scenario, outcomes);
        let title = format!("{} at {}, rebuilt", job.name(), job.rate);
        files.push(experiment::report(&title, Some(&scenario.resolved()), outcomes));
    }
    let text =
        |name: &str, text: String| ResultFile { name: name.into(), bytes: text.into_bytes() };
    files.push(text("advice.json", json(advised)? + "\n"));
    if let Some(choice) = &advised.advice.choice {
        files.push(text("gate.toml", choice.gate_toml.clone()));
    }
    Ok(files)
}
