//! `tidegate shell`: a command behind a link of its own.
mod meter;
mod side;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, SystemTime};

use tidegate::{Prob, Rate, Size, Span};
use tidegate_gateway::machine::clock;
use tidegate_gateway::machine::net::Net;
use tidegate_gateway::run::plan::{GatePlan, Settings};
use tidegate_gateway::run::way::Way;
use tidegate_gateway::shell::command::Signals;
use tidegate_gateway::shell::forward::lead;
use tidegate_gateway::shell::link::{EmulatedLink, Ended, WantedLink};
use tidegate_gateway::shell::network::{EAST, MTU, ShellNetwork, WEST, nowhere};
use tidegate_gateway::shell::user::{self, Outside};
use tidegate_gateway::watch::record::{Recorder, Recording};
use tidegate_lab::QueueSpec;

use crate::failure::Failure;
use crate::output::note;
use meter::MeterThread;
use side::{DirectionCapacity, SideOptions};

/// Where the command finds what the outside of the outermost shell serves.
const BASE: &str = "TIDEGATE_BASE";
/// Exit statuses of shells: a program that cannot be run, one that is not there, and one that a
/// signal of this number ended.
const CANNOT_RUN: u8 = 126;
const NOT_FOUND: u8 = 127;
const BY_SIGNAL: i32 = 128;

/// Run a command behind a link of its own.
///
/// The command gets a network of its own. A link leads out of it: with a rate or a trace, a queue,
/// delay and loss, as you choose. The link exists as long as the command. Without a command it is
/// your shell. The exit status is the command's; 126 and 127 mean that it could not be run or was
/// not found.
///
/// Options without `up` or `down` are for both directions, each with a link and a queue of its own.
/// `--up-…` is for what the command sends, `--down-…` for what it receives. Without a rate or a
/// trace nothing limits that direction. A rate and a trace count IP packets.
///
/// The outside is at the address $TIDEGATE_BASE. Shells can be nested; the variable stays that of
/// the outermost. As root, the outside is this machine. Without root it needs a kernel that lets
/// users make namespaces, and the outside is an empty network. Name ports with --forward, or start
/// servers in a shell around this one (docs/embed/shell.md).
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidegate shell --rate 20mbit --delay 20ms --queue sfb -- sh -c 'iperf3 -c $TIDEGATE_BASE'
  tidegate shell --up-rate 5mbit --down-rate 50mbit --delay 10ms --loss 1% --meter
  tidegate shell --delay 20ms -- tidegate shell --rate 20mbit --queue fq_codel -- ./test.sh")]
pub struct Args {
    /// The rate, as in "20 Mbit/s" or 20mbit [default: no limit]
    #[arg(long, allow_hyphen_values = true)]
    rate: Option<Rate>,
    /// The rate of what the command sends
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    up_rate: Option<Rate>,
    /// The rate of what it receives
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    down_rate: Option<Rate>,
    /// A trace of mm-link instead of a rate
    ///
    /// Each line is a time in milliseconds at which 1500 bytes can leave, no earlier than the line
    /// before. At its end it begins again.
    #[arg(long, value_name = "FILE", conflicts_with = "rate")]
    trace: Option<PathBuf>,
    /// The trace of what the command sends
    #[arg(long, value_name = "FILE", conflicts_with = "up_rate")]
    up_trace: Option<PathBuf>,
    /// The trace of what it receives
    #[arg(long, value_name = "FILE", conflicts_with = "down_rate")]
    down_trace: Option<PathBuf>,
    /// The queue, NAME[/PRESET][,param=value…][ as LABEL], preset `auto` if none is named [default:
    /// drop_tail]
    #[arg(long, value_name = "Q")]
    queue: Option<QueueSpec>,
    /// The queue of what the command sends
    #[arg(long, value_name = "Q")]
    up_queue: Option<QueueSpec>,
    /// The queue of what it receives
    #[arg(long, value_name = "Q")]
    down_queue: Option<QueueSpec>,
    /// How much may wait [default: what the link sends in 100 ms]
    ///
    /// As in "125 kB" or "100 packets".
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    limit: Option<Size>,
    /// How much of what the command sends may wait
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    up_limit: Option<Size>,
    /// How much of what it receives may wait
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    down_limit: Option<Size>,
    /// How long packets are under way, in each direction, after the queue
    #[arg(long, value_name = "TIME", default_value = "0 s", allow_hyphen_values = true)]
    delay: Span,
    /// The part of packets that is lost at random after the queue, as in 1% or 0.01
    #[arg(long, value_name = "PART", allow_hyphen_values = true)]
    loss: Option<Prob>,
    /// The part that is lost of what the command sends
    #[arg(long, value_name = "PART", allow_hyphen_values = true)]
    up_loss: Option<Prob>,
    /// The part that is lost of what it receives
    #[arg(long, value_name = "PART", allow_hyphen_values = true)]
    down_loss: Option<Prob>,
    /// Report rate, time in the queue and losses every second, on standard error
    #[arg(long)]
    meter: bool,
    /// Write captures of both directions, for `tidegate replay`
    ///
    /// With a.pcapng they are a-up.pcapng and a-down.pcapng. They must be new. Each packet says
    /// what the queue did to it.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Lead this port of $TIDEGATE_BASE to this machine's 127.0.0.1; may be repeated
    ///
    /// TCP and UDP. It is for shells without root, and for servers that listen only there.
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    forward: Vec<u16>,
    /// The command and its arguments [default: $SHELL]
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

impl Args {
    pub fn execute(self) -> Result<(), Failure> {
        let sides = self.sides();
        side::of_some_use(&sides)?;
        let loss = sides.each_ref().map(|side| side.loss);
        let [up, down] = sides.map(SideOptions::way);
        let ways = [up?, down?];
        let plan = self.plan(ways.clone())?;
        let mut command = program(&self.command)?;
        let captures = self.record.as_deref().map(captures);
        for path in captures.iter().flatten() {
            Recorder::try_out(path).map_err(|error| cannot_record(path, error))?;
        }
        let signals = Signals::hold().map_err(Failure::runtime)?;
        let (network, outside) = network()?;
        let recorders = recorders(captures, &ways)?;
        let wanted = WantedLink { plan, loss, recorders };
        let (link, view) =
            EmulatedLink::begin(&network, wanted).map_err(|e| no_network(e, outside))?;
        let meter =
            self.meter.then(|| MeterThread::begin(view)).transpose().map_err(Failure::runtime)?;
        let base = network.block.base();
        self.lead(&network.outer, base)?;
        // Outside of a shell that leads nowhere there is nobody to be found.
        let leads = outside == Outside::Callers || !self.forward.is_empty();
        if leads && std::env::var_os(BASE).is_none() {
            command.env(BASE, base.to_string());
        }
        network.inner.enter().map_err(Failure::runtime)?;
        let ran = signals.run(&mut command);
        drop(meter);
        match link.end() {
            Ok(ended) => tell(ended),
            Err(error) => note(&format!("error: the link failed: {error}")),
        }
        status(&self.command, ran)
    }

    /// Leads the ports that were named to this machine.
    fn lead(&self, outer: &Net, base: Ipv4Addr) -> Result<(), Failure> {
        let ports: BTreeSet<u16> = self.forward.iter().copied().collect();
        for port in ports {
            let served = lead(outer, base, port)
                .map_err(|error| Failure::Input(format!("--forward {port}: {base}: {error}")))?;
            for protocol in served {
                note(&format!(
                    "--forward {port}: a server at all addresses has the {protocol} port; the \
                     command reaches it as it is"
                ));
            }
        }
        Ok(())
    }

    /// What is wanted of each direction, up first.
    fn sides(&self) -> [SideOptions; 2] {
        let both = DirectionCapacity::of(self.rate, self.trace.as_deref());
        let up = DirectionCapacity::of(self.up_rate, self.up_trace.as_deref());
        let down = DirectionCapacity::of(self.down_rate, self.down_trace.as_deref());
        let queue = |own: &Option<QueueSpec>| own.as_ref().or(self.queue.as_ref()).cloned();
        let loss = |own: Option<Prob>| own.or(self.loss).unwrap_or(Prob::ZERO);
        let up = SideOptions {
            name: "up",
            capacity: up.or(both.clone()),
            queue: queue(&self.up_queue),
            limit: self.up_limit.or(self.limit),
            loss: loss(self.up_loss),
        };
        let down = SideOptions {
            name: "down",
            capacity: down.or(both),
            queue: queue(&self.down_queue),
            limit: self.down_limit.or(self.limit),
            loss: loss(self.down_loss),
        };
        [up, down]
    }

    fn plan(&self, [there, back]: [Way; 2]) -> Result<GatePlan, Failure> {
        let (inner, outer, back) = (WEST.into(), EAST.into(), Some(back));
        let settings = Settings { inner, outer, there, back, delay: self.delay };
        GatePlan::new(settings, MTU).map_err(Failure::input)
    }
}

/// The command, or the user's shell.
fn program(words: &[OsString]) -> Result<Command, Failure> {
    let shell = || std::env::var_os("SHELL").filter(|shell| !shell.is_empty());
    match words {
        [] => Ok(Command::new(shell().unwrap_or_else(|| "/bin/sh".into()))),
        [name, ..] if name.is_empty() => {
            Err(Failure::Input("the command is empty; name a program, or nothing at all".into()))
        }
        [name, arguments @ ..] => {
            let mut command = Command::new(name);
            command.args(arguments);
            Ok(command)
        }
    }
}

/// The networks, and what is outside.
fn network() -> Result<(ShellNetwork, Outside), Failure> {
    let outside = user::outside().map_err(Failure::runtime)?;
    let outer = match outside {
        Outside::Callers => Net::here(),
        Outside::Own => user::become_own().and_then(|()| nowhere()),
    };
    let network =
        outer.and_then(ShellNetwork::build).map_err(|error| no_network(error, outside))?;
    Ok((network, outside))
}

/// What to say where networks cannot be made.
fn no_network(error: io::Error, outside: Outside) -> Failure {
    match outside {
        Outside::Callers if error.kind() != io::ErrorKind::PermissionDenied => {
            Failure::Runtime(format!("cannot make a network: {error}"))
        }
        _ => Failure::Input(format!(
            "cannot make a network: {error}: this needs root, as with sudo, or a system that lets \
             users make namespaces; one of these may allow it:\n  \
             sysctl -w user.max_user_namespaces=10000\n  \
             sysctl -w user.max_net_namespaces=10000\n  \
             sysctl -w kernel.unprivileged_userns_clone=1\n  \
             sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
        )),
    }
}

/// The captures of both directions, up first.
fn captures(path: &Path) -> [PathBuf; 2] {
    let stem = path.file_stem().unwrap_or_default();
    ["up", "down"].map(|direction| {
        let mut name = stem.to_os_string();
        name.push(format!("-{direction}."));
        name.push(path.extension().unwrap_or("pcapng".as_ref()));
        path.with_file_name(name)
    })
}

fn recorders(
    captures: Option<[PathBuf; 2]>,
    ways: &[Way; 2],
) -> Result<[Option<Recorder>; 2], Failure> {
    let Some([up, down]) = captures else { return Ok([None, None]) };
    let zero = SystemTime::now() - Duration::from_nanos(clock::now().as_nanos());
    let recorder = |path: PathBuf, interface: &str, way: &Way| {
        let about = format!("a shell's link through {}", way.label);
        let recording = Recording { interface: interface.into(), about, zero, limit: None };
        Recorder::create(&path, &recording).map(Some).map_err(|error| cannot_record(&path, error))
    };
    Ok([recorder(up, WEST, &ways[0])?, recorder(down, EAST, &ways[1])?])
}

fn cannot_record(path: &Path, error: io::Error) -> Failure {
    Failure::Input(format!("{}: {error}", path.display()))
}

/// Tells what is to be known of a link that has ended.
fn tell(ended: Ended) {
    for trouble in ended.troubles {
        note(&format!("warning: the link had trouble: {trouble}"));
    }
    for recorded in ended.recorders.into_iter().flatten().map(Recorder::finish) {
        if let Some(trouble) = recorded.trouble {
            note(&format!("warning: a capture ended early: {trouble}"));
        } else if recorded.unwritten > 0 {
            note(&format!("warning: a capture lacks {} frames", recorded.unwritten));
        }
    }
}

/// The command's status as ours.
fn status(words: &[OsString], ran: io::Result<ExitStatus>) -> Result<(), Failure> {
    let name = words.first().map_or("the shell".into(), |name| name.to_string_lossy());
    match ran {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            let by_signal = status.signal().map(|signal| BY_SIGNAL + signal);
            Err(Failure::Status(status.code().or(by_signal).unwrap_or(1) as u8))
        }
        Err(error) => {
            note(&format!("error: {name}: {error}"));
            let missing = error.kind() == io::ErrorKind::NotFound;
            Err(Failure::Status(if missing { NOT_FOUND } else { CANNOT_RUN }))
        }
    }
}
