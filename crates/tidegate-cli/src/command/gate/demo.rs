//! `tidegate gate demo`: who gets what when kernel TCP and a flood go through the gateway.
use std::path::PathBuf;

use tidegate::{Link, Rate, Size, Span};
use tidegate_gateway::demo::FRAME;
use tidegate_gateway::demo::{
    Demo, DemoError, DemoGroup, KernelTcp, Measured, SendingPattern, Trial, congestion_controls,
    has_congestion_control, possible,
};
use tidegate_gateway::path::rehash::Rehash;
use tidegate_lab::replay::default_limit;
use tidegate_lab::results::{self, Manifest};
use tidegate_lab::{QueueOutcome, QueueSpec};
use tidegate_packet::FlowKey;
use tidegate_report::{Document, Tidy};

use crate::experiment::{self, JsonShape, whole};
use crate::failure::Failure;
use crate::progress::Onlooker;
use crate::{interrupt, output};

/// The queues without --queue: what most links have, what was meant to be better, and those that
/// were meant for floods.
const QUEUES: [&str; 7] = ["drop_tail", "red", "sfb", "care", "purge", "bare", "ewfq"];
/// The congestion control of the group `tcp`.
const CUBIC: &str = "cubic";
/// A group of its own, where the kernel has it.
const BBR: &str = "bbr";

/// Send kernel TCP and a flood of UDP through the gateway: who gets what behind each queue.
///
/// Makes three network namespaces, clients, gateway and server, that nothing else on this machine
/// sees. Sends real packets through `tidegate gate` for a few seconds with each queue: TCP
/// connections of this kernel and one UDP sender at three times the line. What came in and what
/// arrived is counted on the wires. All of it is removed at the end, also after Ctrl-C.
///
/// Needs root, iproute2 and iperf3. Meant for a machine with two cores or more that has nothing
/// else to do.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidegate gate demo
  tidegate gate demo --queue drop_tail --queue sfb/double --duration 20s --out out/gate
  tidegate gate demo --congestion reno --bbr 0 --flood 50Mbit/s --json
  tidegate gate demo --congestion reno --congestion cubic --tcp 4 --flood 0bit/s")]
pub struct Args {
    /// A queue to measure, NAME[/PRESET][,param=value…][ as LABEL], preset `auto` if none is
    /// named; give it several times
    #[arg(long = "queue", value_name = "Q", default_values = QUEUES)]
    queues: Vec<QueueSpec>,
    /// How long is measured with each queue
    #[arg(long, value_name = "TIME", default_value = "5 s",
        value_parser = within("100 ms", "1000 s"), allow_hyphen_values = true)]
    duration: Span,
    /// How long everybody sends before that
    #[arg(long, value_name = "TIME", default_value = "2 s",
        value_parser = within("0 s", "1000 s"), allow_hyphen_values = true)]
    warmup: Span,
    /// The gateway's rate
    #[arg(long, default_value = "100 Mbit/s", allow_hyphen_values = true)]
    rate: Rate,
    /// How much may wait in the queue, as in "125 kB" or "100 packets" [default: what the link
    /// sends in 100 ms]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    limit: Option<Size>,
    /// How long every packet is under way, each way
    #[arg(long, value_name = "TIME", default_value = "20 ms", value_parser = within("0 s", "1 s"),
        allow_hyphen_values = true)]
    delay: Span,
    /// What is one flow to the queue: five-tuple, source, destination, pair, or source-prefix/N
    #[arg(long, value_name = "K", default_value = "five-tuple")]
    flow_key: FlowKey,
    /// How often the gateway gives flows new keys before the queue, or `off` [default: as is usual
    /// for the queue]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    rehash: Option<Rehash>,
    /// TCP connections, each from an address of its own
    #[arg(long, value_name = "N", default_value = "8", value_parser = whole::<u16>(1, 100),
        allow_negative_numbers = true)]
    tcp: u16,
    /// The congestion control of these connections, one that the kernel has. Given several times,
    /// there is a group of so many connections for each, which bears its name
    #[arg(long, value_name = "NAME", default_value = CUBIC)]
    congestion: Vec<String>,
    /// Let TCP repair losses as NewReno does (no SACK, RACK, time stamps) and acknowledge every
    /// segment at once, as the simulator's `newreno` does
    #[arg(long)]
    newreno: bool,
    /// Connections of a second group, `bbr`, if the kernel has that
    #[arg(long, value_name = "N", default_value = "2", value_parser = whole::<u16>(0, 100),
        allow_negative_numbers = true)]
    bbr: u16,
    /// The rate of the UDP flood; 0 bit/s for none
    #[arg(long, value_name = "RATE", default_value = "300 Mbit/s", allow_hyphen_values = true)]
    flood: Rate,
    /// Write result.json, series.json, both as Parquet, and report.html into this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the result as JSON (schema tidegate.result/1, a list) instead of a table
    #[arg(long)]
    json: bool,
    /// Add each flow to the result
    #[arg(long)]
    flows: bool,
    #[arg(
        short,
        long,
        action = clap::ArgAction::Help,
        help = "Print help (see more with '--help')",
        long_help = "Print help (see a summary with '-h')"
    )]
    help: Option<bool>,
}

impl Args {
    pub fn execute(self) -> Result<(), Failure> {
        interrupt::listen_and_tidy();
        let begun = experiment::begin();
        possible().map_err(Failure::Runtime)?;
        let demo = self.demo()?;
        let trials = self.trials(&demo.link)?;
        if let Some(dir) = &self.out {
            results::accept(dir).map_err(Failure::input)?;
        }
        let onlooker = Onlooker::new();
        let mut outcomes = Vec::new();
        for (done, trial) in trials.iter().enumerate() {
            let part = onlooker.part(done, trials.len());
            outcomes.push(demo.measure(trial, &part).map(outcome).map_err(failure)?);
        }
        drop(onlooker);
        if let Some(dir) = &self.out {
            let labels: Vec<&str> = trials.iter().map(|trial| trial.label.as_str()).collect();
            let mut files = results::documents(&outcomes);
            files.push(experiment::report(&self.title(), None, &outcomes));
            let manifest = Manifest::new("gate demo", &[], &labels);
            experiment::write(dir, &files, manifest, begun, &[])?;
        }
        let mut documents: Vec<Document> = outcomes.into_iter().map(|o| o.document).collect();
        if !self.flows {
            documents.iter_mut().for_each(|d| d.flows = None);
        }
        if self.json {
            experiment::json(&documents, JsonShape::List)
        } else {
            experiment::human(&documents, usize::MAX)
        }
    }

    fn title(&self) -> String {
        format!("Kernel TCP and a flood of {} through {}", self.flood, self.rate)
    }

    fn demo(&self) -> Result<Demo, Failure> {
        let limit = self.limit.unwrap_or_else(|| default_limit(self.rate, FRAME));
        let link = Link::new(self.rate, limit, FRAME).map_err(Failure::input)?;
        let program = own_file()?;
        let groups = self.groups()?;
        let Args { delay, flow_key, rehash, warmup, duration, .. } = *self;
        let tcp = if self.newreno { KernelTcp::NewReno } else { KernelTcp::Full };
        Ok(Demo { program, link, delay, flow_key, rehash, tcp, groups, warmup, duration })
    }

    fn groups(&self) -> Result<Vec<DemoGroup>, Failure> {
        let has = |name: &str| has_congestion_control(name).map_err(Failure::runtime);
        for (i, asked) in self.congestion.iter().enumerate() {
            if !has(asked)? {
                let known = congestion_controls().map_err(Failure::runtime)?.join(", ");
                return Err(Failure::Input(format!(
                    "--congestion {asked}: this kernel has no such; it has {known}"
                )));
            }
            if self.congestion[..i].contains(asked) {
                return Err(Failure::Input(format!(
                    "--congestion {asked}: given twice; --tcp says how many connections"
                )));
            }
        }
        let tcp = |name: &str, congestion: &str, count| DemoGroup {
            name: name.into(),
            count,
            sending: SendingPattern::Tcp(congestion.into()),
        };
        let mut groups: Vec<DemoGroup> = match self.congestion.as_slice() {
            [one] => vec![tcp("tcp", one, self.tcp)],
            several => several.iter().map(|name| tcp(name, name, self.tcp)).collect(),
        };
        match self.bbr {
            0 => {}
            _ if groups.iter().any(|group| group.name == BBR) => {}
            _ if !has(BBR)? => output::note(
                "There is no group bbr: this kernel has no congestion control of that name, nor a \
                 module to load for it \
                 (tcp_bbr; zcat /proc/config.gz | grep TCP_CONG_BBR). --bbr 0 keeps this quiet.",
            ),
            count => groups.push(tcp(BBR, BBR, count)),
        }
        if self.flood.as_bps() > 0 {
            let sending = SendingPattern::Udp { rate: self.flood, length: FRAME.get() as u32 };
            groups.push(DemoGroup { name: "flood".into(), count: 1, sending });
        }
        Ok(groups)
    }

    fn trials(&self, link: &Link) -> Result<Vec<Trial>, Failure> {
        QueueSpec::distinct(&self.queues).map_err(|(_, error)| Failure::input(error))?;
        self.queues.iter().map(|asked| trial(asked, link)).collect()
    }
}

/// The file of this command, which is the gateway, too.
pub(in crate::command) fn own_file() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| Failure::Runtime(format!("cannot find this command's own file: {error}")))
}

/// The queue `asked` for, as it is measured.
pub(in crate::command) fn trial(asked: &QueueSpec, link: &Link) -> Result<Trial, Failure> {
    let spec = super::link::on_a_wire(asked);
    let config = spec.resolve(link).map_err(Failure::input)?;
    config.build(*link, tidegate::Rng::from_seed(0)).map_err(Failure::input)?;
    let bare = QueueSpec { label: None, ..spec.clone() };
    // It is called what it was asked for as, whatever a wire adds.
    Ok(Trial {
        queue: bare.to_string(),
        label: asked.label(),
        preset: spec.preset().into(),
        config,
    })
}

fn outcome(measured: Measured) -> QueueOutcome {
    QueueOutcome { document: measured.document, series: measured.series, by_seed: Tidy::default() }
}

pub(in crate::command) fn failure(error: DemoError) -> Failure {
    match error {
        DemoError::Cancelled => Failure::Interrupted,
        DemoError::Failed(error) => Failure::Runtime(error.to_string()),
    }
}

/// Reads a time from `least` to `most`.
fn within(
    least: &'static str,
    most: &'static str,
) -> impl Fn(&str) -> Result<Span, String> + Clone {
    let bounds: [Span; 2] = [least, most].map(|bound| bound.parse().expect("a bound is a time"));
    move |text| {
        let span: Span =
            text.parse().map_err(|error: tidegate::units::UnitError| error.to_string())?;
        if (bounds[0]..=bounds[1]).contains(&span) {
            Ok(span)
        } else {
            Err(format!(
                "must lie in \
            {least} to {most}"
            ))
        }
    }
}
