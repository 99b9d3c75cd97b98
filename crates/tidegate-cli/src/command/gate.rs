//! `tidegate gate`: a bump in the wire.
mod account;
mod config;
pub(super) mod demo;
mod direction;
mod fields;
mod joint;
mod keys;
pub(super) mod link;
mod notes;
mod on_exit;
mod prepared;
mod ready;
mod run;
mod served;
mod service;
mod signals;
mod source;
mod trial;
mod view;
mod watch;

use std::path::PathBuf;

use tidegate::config::Params;
use tidegate::{Bytes, Rate, Size, Span};
use tidegate_gateway::machine::host::{self, Room};
use tidegate_gateway::machine::preflight::Force;
use tidegate_gateway::path::overhead::Overhead;
use tidegate_gateway::path::rehash::Rehash;
use tidegate_gateway::run::plan::Settings;
use tidegate_gateway::run::pump::Waits;
use tidegate_gateway::watch::offenders::OffenderRules;
use tidegate_gateway::watch::socket::SocketPath;
use tidegate_lab::QueueSpec;
use tidegate_packet::{FlowKey, Prefix};

use crate::failure::Failure;
use crate::output;
use joint::Purpose;
use keys::LinkParams;
use link::{DRAIN, LinkConfig, WantedDirection};
use notes::LinkCount;
use on_exit::OnExit;
use prepared::{PreparedLinks, prepared};
use run::{GatesOutcome, Together, run};
use served::{HostPort, Http, ServeTarget, Served};
use source::{Config, GateFile};
use trial::WatchPlaces;

/// Manage a live link: a bump in the wire.
///
/// Frames come in on one interface, pass a queue that leads to a link of the given rate, and leave
/// on the other interface. Frames of the other direction pass unmanaged. Hosts on either side see
/// only the queue's decisions. It needs Linux and root; `tidegate doctor` says what is lacking.
///
/// It does not start on interfaces that the machine needs otherwise, unless --force is given. A
/// small program in the kernel forwards frames, unmanaged, when the gate has not moved for 0.3 s,
/// even if it was killed. The program stays when the gate stops, unless --on-exit is close.
///
/// A frame leaves when the one before it has been sent at the rate, by a computed schedule. Lengths
/// count as Ethernet frames without check sequence; --overhead adds what the managed link adds.
///
/// A queue that would pass a frame that it cannot mark (its parameter non_ect) drops it here. The
/// parameter overrules that.
///
/// At the end it reports what was received, sent, lost (with the reason), marked, and held. It
/// stops after --duration, or on Ctrl-C or SIGTERM. Then the kernel forwards what arrives, and what
/// waits still leaves, for at most --drain. It always ends in order; after a second signal, within
/// a tenth of a second.
///
/// With --config it does what a file says of one link or several, in both directions or one. The
/// file can name classes by address, code point or VLAN priority, and prefixes that are never
/// judged. SIGHUP lets it read the file again. No frame is lost by that, and a file with a mistake
/// changes nothing.
///
/// Between departures it sleeps, and sometimes it wakes late. With --busy it never sleeps: gaps
/// between frames are then as even as the machine can make them, and one processor does nothing
/// else. Give it one of its own (taskset).
///
/// It reports on standard error when a flow sends more than its share of a congested link for some
/// seconds, and when that ends. With --socket it serves how things stand, in JSON
/// (docs/reference/gate.md). With --web a browser shows it.
///
/// Where the system allows it, its frames come before other processes' work (nice -20) and its
/// memory stays in memory.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(disable_help_flag = true)]
#[command(after_help = "\
Examples:
  tidegate gate --in eth1 --out eth2 --rate 100mbit --queue drr/auto --dry-run
  tidegate gate --in eth1 --out eth2 --rate \"95 Mbit/s\" --queue fq_codel/auto --overhead ethernet
  tidegate gate --config gate.toml --dry-run

More: `tidegate help gate`, or its manual page, which `tidegate man` writes.")]
#[command(after_long_help = "\
Examples:
  tidegate gate --in eth1 --out eth2 --rate 100mbit --queue drr/auto --dry-run
  tidegate gate --in eth1 --out eth2 --rate \"95 Mbit/s\" --queue fq_codel/auto --overhead ethernet
  tidegate gate --in eth1 --out eth2 --rate 100mbit --queue drop_tail --delay 20ms --json
  tidegate gate --config gate.toml --dry-run
  tidegate gate --remove --in eth1 --out eth2")]
pub struct Gateway {
    #[command(subcommand)]
    other: Option<OtherCommand>,
    #[command(flatten)]
    live: Option<Args>,
    /// Print this help
    #[arg(short, long, action = clap::ArgAction::HelpShort)]
    help: Option<bool>,
}

#[derive(Debug, clap::Subcommand)]
enum OtherCommand {
    Demo(demo::Args),
}

impl Gateway {
    pub fn execute(self) -> Result<(), Failure> {
        match (self.other, self.live) {
            (Some(OtherCommand::Demo(demo)), _) => demo.execute(),
            (None, Some(live)) => live.execute(),
            (None, None) => {
                Err(Failure::Input("name the two interfaces, with --in and --out".into()))
            }
        }
    }
}

/// The arguments that say what a file says.
const OF_A_LINK: [&str; 15] = [
    "inner",
    "outer",
    "rate",
    "queue",
    "limit",
    "mean_packet",
    "flow_key",
    "rehash",
    "allow",
    "overhead",
    "delay",
    "busy",
    "drain",
    "record",
    "on_exit",
];

/// A live link.
#[derive(Debug, clap::Args)]
struct Args {
    /// The interface on the side that floods come from
    #[arg(long = "in", value_name = "IF1", required_unless_present = "config")]
    inner: Option<String>,
    /// The interface that the protected link leads to
    #[arg(long = "out", value_name = "IF2", required_unless_present = "config")]
    outer: Option<String>,
    /// The rate of the managed link, as in "100 Mbit/s" or 100mbit
    #[arg(long, allow_hyphen_values = true, required_unless_present_any = ["remove", "config"])]
    rate: Option<Rate>,
    /// The queue, NAME[/PRESET][,param=…]; `auto` by default
    ///
    /// The whole is NAME[/PRESET][,param=value…][ as LABEL]. The preset is `auto` if none is named.
    #[arg(long, value_name = "Q", required_unless_present_any = ["remove", "config"])]
    queue: Option<QueueSpec>,
    /// Read all about links from this file; SIGHUP reads it again
    ///
    /// The file holds links, both directions, classes and lists (docs/operate/change.md).
    #[arg(long, value_name = "FILE", conflicts_with_all = OF_A_LINK)]
    config: Option<PathBuf>,
    /// How much may wait [default: what the link sends in 100 ms]
    ///
    /// As in "125 kB" or "100 packets".
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    limit: Option<Size>,
    /// The usual length of a packet
    ///
    /// Queues use it to turn bytes into packets and back.
    #[arg(long, value_name = "SIZE", default_value = "1000 B", allow_hyphen_values = true)]
    mean_packet: Bytes,
    /// Which packets are one flow
    ///
    /// One of five-tuple, source, destination, pair, or source-prefix/N.
    #[arg(long, value_name = "K", default_value = "five-tuple")]
    flow_key: FlowKey,
    /// How often flows get new keys, or `off` [default: by queue]
    ///
    /// The default is 1 s for queues where flows keep places for longer, and `off` for others.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    rehash: Option<Rehash>,
    /// Do not judge frames from or to this prefix; may be repeated
    ///
    /// They take their share of the rate.
    #[arg(long, value_name = "PREFIX")]
    allow: Vec<Prefix>,
    /// Added to every frame's length: a size, `ethernet`, `ip`, or a keyword of tc-cake(8)
    ///
    /// With `ethernet` a frame counts with check sequence, preamble and gap: 24 B more, and at
    /// least 84 B in all. With `ip` it counts without its Ethernet header. `ip + 40 B` adds to
    /// that. Behind a comma `mpu 64 B` is the least length, and `atm` or `ptm` counts cells.
    #[arg(long, value_name = "SIZE", default_value = "0 B", allow_hyphen_values = true)]
    overhead: Overhead,
    /// Delay frames for so long, in both directions
    ///
    /// The delay follows the queue.
    #[arg(long, value_name = "TIME", default_value = "0 s", allow_hyphen_values = true)]
    delay: Span,
    /// Never sleep: frames leave more evenly; takes a processor
    #[arg(long)]
    busy: bool,
    /// After Ctrl-C or SIGTERM, send what waits for so long
    ///
    /// At most 60 s.
    #[arg(long, value_name = "TIME", default_value_t = DRAIN, allow_hyphen_values = true)]
    drain: Span,
    /// Stop after so long
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    duration: Option<Span>,
    /// Report on standard error every so often
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    status: Option<Span>,
    /// Serve how things stand, in JSON, at this Unix socket
    ///
    /// A line every second, or for every line that is sent. `tidegate top` looks at
    /// /run/tidegate/gate.sock.
    #[arg(long, value_name = "PATH")]
    socket: Option<SocketPath>,
    /// Serve figures as OpenMetrics over HTTP, for Prometheus
    ///
    /// They are at http://ADDR:PORT/metrics (docs/operate/metrics.md).
    #[arg(long, value_name = "ADDR:PORT")]
    metrics: Option<HostPort>,
    /// Serve them even where other machines can reach them
    #[arg(long, requires = "metrics", hide_short_help = true)]
    metrics_public: bool,
    /// Serve a page that shows how things stand in a browser
    ///
    /// It is at http://ADDR:PORT/ and can only be read (docs/operate/watch.md).
    #[arg(long, value_name = "ADDR:PORT")]
    web: Option<HostPort>,
    /// Serve it even where other machines can reach it
    #[arg(long, requires = "web", hide_short_help = true)]
    web_public: bool,
    /// Write frames and their fates into this new capture (pcapng)
    ///
    /// It holds every frame of the managed direction, with what became of it as a comment. `%s` in
    /// its name is the second of the start.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Let the capture grow to so much and no more
    #[arg(long, value_name = "SIZE", requires = "record", allow_hyphen_values = true)]
    record_limit: Option<Bytes>,
    /// Check everything, print what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON instead of a table
    ///
    /// The plan or the account.
    #[arg(long)]
    json: bool,
    /// Start in spite of what was found at the interfaces
    #[arg(long)]
    force: bool,
    /// The wire after the end
    #[arg(long, value_name = "STATE", value_enum, default_value = "open")]
    on_exit: OnExit,
    /// Remove what a gate that is gone has left at the interfaces
    ///
    /// It does nothing else.
    #[arg(long, conflicts_with_all = ["rate", "queue", "config", "dry_run"])]
    #[arg(conflicts_with_all = ["socket", "metrics", "web"])]
    remove: bool,
}

impl Args {
    pub fn execute(self) -> Result<(), Failure> {
        if self.remove {
            return joint::remove(
                [&self.inner, &self.outer].map(|name| name.as_deref().unwrap_or_default()),
            );
        }
        let Config { links, source } = self.wanted()?;
        let http = self.http(source.as_ref())?;
        may_be_awake(&links)?;
        let force = if self.force { Force::Yes } else { Force::No };
        let purpose = if self.dry_run { Purpose::Show } else { Purpose::Start };
        let how_many = LinkCount::of(links.len());
        let PreparedLinks { ready, mut plans, beside } = prepared(links, force, purpose)?;
        let socket = self
            .socket
            .as_ref()
            .or(source.as_ref().and_then(|source| source.socket.as_ref()))
            .map(SocketPath::path);
        if self.dry_run {
            let places = WatchPlaces { socket, http };
            places.try_out(ready.iter().map(|link| &link.config), beside)?;
            plans.iter_mut().for_each(|plan| plan.extend(places.lines()));
            return account::print_plans(&plans, self.json);
        }
        let together = Together {
            file: source.as_ref(),
            socket,
            http,
            duration: self.duration,
            status: self.status,
        };
        let GatesOutcome { ended, failed, notes } = run(ready, together)?;
        let printed = account::print(&ended, how_many, self.json);
        notes.end(failed.iter().map(|why| format!("error: {why}")));
        printed?;
        if failed.is_empty() { Ok(()) } else { Err(Failure::Told) }
    }

    /// What is to be served over HTTP: as the command line says, else the file.
    fn http(&self, source: Option<&GateFile>) -> Result<Http, Failure> {
        let of = |what, address: Option<HostPort>, public| {
            let served = address.map(|address| Served::new(what, address, public));
            served.transpose().map_err(Failure::input)
        };
        let metrics = of(ServeTarget::Metrics, self.metrics, self.metrics_public)?;
        let web = of(ServeTarget::Web, self.web, self.web_public)?;
        let file = source.map(|source| source.http).unwrap_or_default();
        Http { metrics, web }.or(file).map_err(Failure::input)
    }

    /// What the file says, or the one link of the command line.
    fn wanted(&self) -> Result<Config, Failure> {
        if let Some(path) = &self.config {
            return config::open(path).map_err(Failure::input);
        }
        let (Some(inner), Some(outer), Some(rate), Some(queue)) =
            (&self.inner, &self.outer, self.rate, &self.queue)
        else {
            // the parser has said so before
            return Err(Failure::input("--in, --out, --rate and --queue are needed"));
        };
        LinkParams { drain: self.drain, ..LinkParams::default() }
            .check()
            .map_err(Failure::input)?;
        let wanted = WantedDirection {
            rate,
            limit: self.limit,
            mean_packet: self.mean_packet,
            queue: queue.clone(),
            flow_key: self.flow_key,
            rehash: self.rehash,
            overhead: self.overhead,
            classes: vec![],
            allowed: self.allow.clone(),
            offenders: OffenderRules::default(),
        };
        let there = wanted.way().map_err(Failure::input)?;
        let (inner, outer) = (inner.clone(), outer.clone());
        let link = LinkConfig {
            name: inner.clone(),
            settings: Settings { inner, outer, there, back: None, delay: self.delay },
            waits: if self.busy { Waits::Awake } else { Waits::Asleep },
            drain: self.drain,
            on_exit: self.on_exit,
            record: self.record.clone().map(|path| (path, self.record_limit)),
            places: vec![],
        };
        Ok(Config { links: vec![link], source: None })
    }
}

/// Whether those of the links' threads that never sleep would find processors, and others another.
fn may_be_awake(links: &[LinkConfig]) -> Result<(), Failure> {
    let awake = links.iter().filter(|link| link.waits == Waits::Awake).count();
    match host::room_for(awake) {
        Room::Enough => Ok(()),
        Room::Full(1) => {
            Err(Failure::input("--busy takes a processor, and this machine has no other"))
        }
        Room::Full(there_are) => Err(Failure::Input(format!(
            "{awake} links are busy, each of which takes a processor; this machine has \
             {there_are}, and one is for the rest"
        ))),
        Room::Rationed(given) => {
            output::note(&format!(
                "warning: a busy gate takes a processor, and the control group gives us the time \
                 of {given}: when that \
                 is used up we are stopped; give it more (CPUQuota=, --cpus), or let it sleep"
            ));
            Ok(())
        }
    }
}
