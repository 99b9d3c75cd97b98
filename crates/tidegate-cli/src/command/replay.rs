//! `tidegate replay`: the packets of a capture through a queue.
use std::path::PathBuf;

use tidegate::{Bytes, Rate, Size};
use tidegate_lab::QueueSpec;
use tidegate_lab::replay::{ReplayError, ReplayJob, default_limit, replay};
use tidegate_lab::results::{self, Manifest};
use tidegate_packet::FlowKey;
use tidegate_report::Document;

use crate::experiment::{self, JsonShape, mean_packet, whole};
use crate::failure::Failure;
use crate::progress::Onlooker;
use crate::{interrupt, output};

/// Flows that the table shows for each queue.
const SHOWN: usize = 10;

/// Offer the packets of a capture to a queue at their recorded times.
///
/// Reads a pcap or pcapng file, packed by gzip or not. Plays its packets, with their lengths on the
/// wire, into a queue before a link of the given rate. Links may be Ethernet, VLAN, raw IP, Linux
/// cooked, BSD loopback, PPP, or IEEE 802.11 with or without radiotap; packets
/// IPv4 or IPv6. Frames may be cut short.
/// Says for every flow what it offered and what was delivered, dropped and marked, and how long its
/// packets waited. Memory does not grow with the file.
///
/// The senders of a capture do not react to what the queue does now. A replay shows what a queue
/// would have done to this traffic, not what the traffic would have become. Rates are taken over
/// the capture's duration; goodput is not known.
///
/// Of a damaged file, what can be read is replayed and reported; then the damage is an error. The
/// packets of an interface whose link type cannot be read are passed over; how many and whose is
/// said, and no error.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidegate replay capture.pcapng --rate \"10 Mbit/s\" --queue sfb
  tidegate replay capture.pcapng --rate 10Mbit/s --queue drop_tail \
--queue sfb --limit 125kB --out out/replay
  tidegate replay capture.pcapng --rate 10Mbit/s --queue blue --flow-key source --json")]
pub struct Args {
    /// The capture, a pcap or pcapng file, perhaps packed by gzip
    capture: PathBuf,
    /// The link's rate, as in "10 Mbit/s"
    #[arg(long, allow_hyphen_values = true)]
    rate: Rate,
    /// The queue, NAME[/PRESET][,param=value…][ as LABEL], preset `auto` if none is named; give it
    /// several times to compare
    #[arg(long = "queue", value_name = "Q", required = true)]
    queues: Vec<QueueSpec>,
    /// How much may wait, as in "125 kB" or "100 packets" [default: what the link sends in 100 ms]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    limit: Option<Size>,
    /// The usual length of a packet; queues turn bytes into packets and back by it
    #[arg(long, value_name = "SIZE", default_value = "1000 B", value_parser = mean_packet,
        allow_hyphen_values = true)]
    mean_packet: Bytes,
    /// Which packets are one flow: five-tuple, source, destination, pair, or source-prefix/N
    #[arg(long, value_name = "K", default_value = "five-tuple")]
    flow_key: FlowKey,
    /// Seed of the queue's dice and of the flow hash
    #[arg(long, value_name = "SEED", default_value_t = 1,
        value_parser = whole::<u64>(0, u64::MAX.into()), allow_negative_numbers = true)]
    seed: u64,
    /// List so many flows in the result, those that offered most; the others are summed up as one
    #[arg(long, value_name = "N", default_value_t = 1000,
        value_parser = whole::<u32>(0, 1_000_000), allow_negative_numbers = true)]
    list: u32,
    /// Write result.json, series.json, both as Parquet, replay.toml and report.html into this
    /// directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the result as JSON (schema tidegate.result/1; a list if there are several queues)
    /// instead of a table
    #[arg(long)]
    json: bool,
}

impl Args {
    pub fn execute(self) -> Result<(), Failure> {
        let begun = experiment::begin();
        interrupt::listen();
        let job = self.job();
        job.resolve().map_err(Failure::input)?;
        if let Some(dir) = &self.out {
            results::accept(dir).map_err(Failure::input)?;
        }
        let replayed = replay(&job, &Onlooker::new()).map_err(|error| self.failure(error))?;
        replayed.notes().iter().for_each(|note| output::note(note));
        if let Some(dir) = &self.out {
            let title = format!("{} at {}", job.name(), job.rate);
            let mut files = tidegate_lab::replay::files(&job, &replayed.outcomes);
            files.push(experiment::report(&title, Some(&job.resolved()), &replayed.outcomes));
            let queues: Vec<_> =
                replayed.outcomes.iter().map(|o| o.document.label.as_str()).collect();
            let manifest = Manifest::new(&job.name(), &[job.seed], &queues);
            experiment::write(dir, &files, manifest, begun, &[])?;
        }
        let documents: Vec<Document> = replayed.outcomes.into_iter().map(|o| o.document).collect();
        if self.json {
            experiment::json(&documents, JsonShape::One)?
        } else {
            experiment::human(&documents, SHOWN)?
        }
        experiment::sound(&self.capture, replayed.damage.as_ref(), "result")
    }

    fn job(&self) -> ReplayJob {
        ReplayJob {
            limit: self.limit.unwrap_or_else(|| default_limit(self.rate, self.mean_packet)),
            mean_packet: self.mean_packet,
            flow_key: self.flow_key,
            seed: self.seed,
            listed: self.list as usize,
            ..ReplayJob::new(&self.capture, self.rate, self.queues.clone())
        }
    }

    fn failure(&self, error: ReplayError) -> Failure {
        match error {
            ReplayError::Cancelled => Failure::Interrupted,
            ReplayError::Capture(error) => experiment::unreadable(&self.capture, &error),
            other => Failure::input(other),
        }
    }
}
