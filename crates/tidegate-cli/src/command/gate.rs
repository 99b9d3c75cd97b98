//! `tidegate gate`: a bump in the wire.
mod account;
mod demo;
mod joint;

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, SystemTime};

use tidegate::catalog;
use tidegate::{Bytes, Link, Rate, Size, Span};
use tidegate_gateway::clock;
use tidegate_gateway::facts::Interface;
use tidegate_gateway::gate::{Account, Gate};
use tidegate_gateway::host::{self, Room};
use tidegate_gateway::overhead::Overhead;
use tidegate_gateway::plan::{Plan, Settings};
use tidegate_gateway::preflight::Force;
use tidegate_gateway::pump::{AWAKE, News, Orders, Side, Waits, is_gone, pump};
use tidegate_gateway::record::{Recorded, Recorder, Recording};
use tidegate_gateway::ring::Ring;
use tidegate_lab::QueueSpec;
use tidegate_lab::replay::default_limit;
use tidegate_packet::FlowKey;

use crate::failure::Failure;
use crate::{interrupt, output};
use joint::{Joint, OnExit};

/// How many news may wait to be written; what comes then is not told.
const NEWS: usize = 16;

/// Manage a live link: a bump in the wire.
///
/// Takes every frame that comes in on one interface, passes it through a queue that leads to a link of the given rate,
/// and sends it out on the other interface, and every frame of the other direction back unmanaged. Hosts on either side
/// see nothing of it but its decisions. Linux, root; `tidegate doctor` says what is lacking.
///
/// It does not start on interfaces that the machine needs otherwise, unless --force is given. A small program in the
/// kernel forwards, unmanaged, whenever the gate is not to be seen for 0.3 s, even if it was killed; it stays when the
/// gate stops (--on-exit close takes it away).
///
/// A frame leaves when the one before it has been sent at the rate, by a computed schedule. Lengths count as Ethernet
/// frames without check sequence; --overhead adds what the managed link adds.
///
/// A queue that would pass what it cannot mark (its parameter non_ect) drops it here, unless told otherwise.
///
/// At the end it says what was received, sent, lost for which reason, marked, and held. It stops after --duration, or
/// on Ctrl-C or SIGTERM; however often they come it ends in order, within a tenth of a second.
///
/// Between departures it sleeps, and now and then it is woken late. With --busy it never sleeps: gaps between frames
/// are then as even as the machine can make them, and a processor does nothing else. Give it one of its own (taskset).
///
/// Where the system lets it, its frames come before other processes' work (nice -20) and its memory stays in memory.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "\
Examples:
  tidegate gate --in eth1 --out eth2 --rate 100mbit --queue sfb --dry-run
  tidegate gate --in eth1 --out eth2 --rate \"95 Mbit/s\" --queue sfb,bins=46 --overhead ethernet
  tidegate gate --in eth1 --out eth2 --rate 100mbit --queue drop_tail --delay 20ms --duration 10s --json
  tidegate gate --remove --in eth1 --out eth2")]
pub struct Gateway {
    #[command(subcommand)]
    other: Option<Other>,
    #[command(flatten)]
    live: Option<Args>,
}

#[derive(Debug, clap::Subcommand)]
enum Other {
    Demo(demo::Args),
}

impl Gateway {
    pub fn execute(self) -> Result<(), Failure> {
        match (self.other, self.live) {
            (Some(Other::Demo(demo)), _) => demo.execute(),
            (None, Some(live)) => live.execute(),
            (None, None) => Err(Failure::Input("name the two interfaces, with --in and --out".into())),
        }
    }
}

/// A gate between two interfaces of the kernel.
type Live = Gate<Ring, Ring, Option<Recorder>>;

/// A live link.
#[derive(Debug, clap::Args)]
struct Args {
    /// The interface on the side that floods come from
    #[arg(long = "in", value_name = "IF1")]
    inner: String,
    /// The interface that the protected link leads to
    #[arg(long = "out", value_name = "IF2")]
    outer: String,
    /// The managed link's rate, as in "100 Mbit/s" or tc's 100mbit
    #[arg(long, allow_hyphen_values = true, required_unless_present = "remove")]
    rate: Option<Rate>,
    /// The queue, NAME[/PRESET][,param=value…][ as LABEL]
    #[arg(long, value_name = "Q", required_unless_present = "remove")]
    queue: Option<QueueSpec>,
    /// How much may wait, as in "125 kB" or "100 packets" [default: what the link sends in 100 ms]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    limit: Option<Size>,
    /// The usual length of a packet, by which queues turn bytes into packets and back
    #[arg(long, value_name = "SIZE", default_value = "1000 B", allow_hyphen_values = true)]
    mean_packet: Bytes,
    /// Which packets are one flow: five-tuple, source, destination, pair, or source-prefix/N
    #[arg(long, value_name = "K", default_value = "five-tuple")]
    flow_key: FlowKey,
    /// Added to every frame's length: bytes, or `ethernet` (check sequence, preamble, gap: 24 B; at least 84 B in all)
    #[arg(long, value_name = "SIZE", default_value = "0 B", allow_hyphen_values = true)]
    overhead: Overhead,
    /// Let frames be under way for so long, after the queue and in the reverse direction
    #[arg(long, value_name = "TIME", default_value = "0 s", allow_hyphen_values = true)]
    delay: Span,
    /// Never sleep: frames leave more evenly, and a processor is used up all the time
    #[arg(long)]
    busy: bool,
    /// Stop after so long
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    duration: Option<Span>,
    /// Say how things stand every so often, on standard error
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    status: Option<Span>,
    /// Write every frame of the managed direction, with what became of it as a comment, into this capture (pcapng)
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Let the capture grow to so much and no more
    #[arg(long, value_name = "SIZE", requires = "record", allow_hyphen_values = true)]
    record_limit: Option<Bytes>,
    /// Check everything, print what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Print the plan or the account as JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Start in spite of what was found at the interfaces
    #[arg(long)]
    force: bool,
    /// What the wire does when the gate has stopped
    #[arg(long, value_name = "STATE", value_enum, default_value = "open")]
    on_exit: OnExit,
    /// Remove what a gate that is gone has left at the interfaces, and do nothing else
    #[arg(long, conflicts_with_all = ["rate", "queue", "dry_run"])]
    remove: bool,
}

impl Args {
    pub fn execute(self) -> Result<(), Failure> {
        let names = [self.inner.as_str(), self.outer.as_str()];
        if self.remove {
            return joint::remove(names);
        }
        let (preflight, ends) = joint::cleared(names, if self.force { Force::Yes } else { Force::No })?;
        let plan = self.plan(ends[0].mtu.max(ends[1].mtu))?;
        self.may_be_awake()?;
        if self.dry_run {
            return self.print_plan(&plan, joint::lines(&preflight, &ends, self.on_exit));
        }
        interrupt::listen_and_tidy();
        let (span, account, recorded) = self.run(&plan, &ends)?;
        match self.json {
            true => output::print(&format!("{:#}\n", account::document(&plan, span, &account, recorded.as_ref()))),
            false => output::print(&account::page(&plan, span, &account, recorded.as_ref())),
        }
    }

    /// Everything that can be checked without touching the network, for interfaces that carry packets of up to `mtu`
    /// bytes.
    fn plan(&self, mtu: u32) -> Result<Plan, Failure> {
        let (Some(rate), Some(queue)) = (self.rate, &self.queue) else {
            return Err(Failure::input("--rate and --queue are needed")); // the parser has said so before
        };
        let queue = on_a_wire(queue);
        let limit = self.limit.unwrap_or_else(|| default_limit(rate, self.mean_packet));
        let link = Link::new(rate, limit, self.mean_packet).map_err(Failure::input)?;
        let settings = Settings {
            inner: self.inner.clone(),
            outer: self.outer.clone(),
            link,
            queue: queue.resolve(&link).map_err(Failure::input)?,
            label: queue.label(),
            flow_key: self.flow_key,
            overhead: self.overhead,
            delay: self.delay,
        };
        Plan::new(settings, mtu).map_err(Failure::input)
    }

    fn waits(&self) -> Waits {
        if self.busy { Waits::Awake } else { Waits::Asleep }
    }

    /// Whether a thread that never sleeps would find a processor, and others another.
    fn may_be_awake(&self) -> Result<(), Failure> {
        match host::room_for(usize::from(self.busy)) {
            Room::Enough => {}
            Room::Full(_) => {
                return Err(Failure::input("--busy takes a processor, and this machine has no other"));
            }
            Room::Rationed(given) => output::note(&format!(
                "warning: --busy takes a processor, and the control group gives us the time of {given}: when that is \
                 used up we are stopped; give it more (CPUQuota=, --cpus), or leave --busy out"
            )),
        }
        Ok(())
    }

    /// The plan, and what joining the interfaces does besides.
    fn print_plan(&self, plan: &Plan, joining: Vec<(&'static str, String)>) -> Result<(), Failure> {
        let waits = match self.waits() {
            Waits::Asleep => format!("asleep until {AWAKE} before a departure"),
            Waits::Awake => "awake: never sleeps, and takes a processor".into(),
        };
        let lines = [plan.lines(), vec![("waits", waits)], joining].concat();
        match self.json {
            true => output::print(&format!("{:#}\n", account::named(lines))),
            false => {
                let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
                output::print(&lines.iter().map(|(name, text)| format!("{name:width$}  {text}\n")).collect::<String>())
            }
        }
    }

    /// Moves frames until it is time to stop; how long it was, and what became of them.
    fn run(&self, plan: &Plan, ends: &[Interface; 2]) -> Result<(Span, Account, Option<Recorded>), Failure> {
        let recorder = self.recorder(plan)?;
        // First what may fail for want of memory: it leaves nothing behind.
        let mut gate = self.open(plan, recorder)?;
        // Before anything is taken over, since it takes as long as the memory is large. Where the system refuses, so be it.
        let _ = host::keep_memory();
        let mut joint = Joint::new(ends, self.on_exit)?;
        joint.take_over();
        gate.begin(); // what has arrived before that was nobody's or was forwarded by the kernel
        let (tell, news) = sync_channel(NEWS);
        let names = [self.inner.clone(), self.outer.clone()];
        let teller = std::thread::spawn(move || tell_all(&news, &names));
        // For this thread alone, which moves the frames. Where the system refuses, they may have to wait for a processor.
        let _ = host::come_first();
        let gone = Cell::new(None);
        let orders = Orders {
            waits: self.waits(),
            duration: self.duration,
            status: self.status,
            stop: &|| interrupt::asked() || gone.get().is_some(),
            tell: &mut |news| {
                gone.set(gone.get().or(taken_away(&news)));
                // News that find no room are lost: frames must not wait for a terminal.
                drop(tell.try_send(news));
            },
        };
        let pumped = pump(&mut gate, joint.guard(), orders);
        let parted = match gone.get() {
            None => joint.part(),
            Some(side) => {
                joint.undo();
                Err(Failure::Runtime(format!(
                    "{} is gone, and with it the gate",
                    [&self.inner, &self.outer][side as usize]
                )))
            }
        };
        drop(tell);
        let _ = teller.join();
        let (span, unmanaged) = (pumped.map_err(Failure::runtime)?, parted?);
        if unmanaged > 0 {
            output::note(&format!("{unmanaged} frames were forwarded by the kernel meanwhile, unmanaged"));
        }
        let account = gate.account();
        Ok((span, account, gate.into_witness().map(Recorder::finish)))
    }

    /// What writes the capture, if there is to be one.
    fn recorder(&self, plan: &Plan) -> Result<Option<Recorder>, Failure> {
        let Some(path) = &self.record else { return Ok(None) };
        let Settings { label, link, .. } = plan.settings();
        let recording = Recording {
            interface: self.inner.clone(),
            about: format!("to {} through {label} at {}", self.outer, link.rate),
            zero: SystemTime::now() - Duration::from_nanos(clock::now().as_nanos()),
            limit: self.record_limit,
        };
        let recorder = Recorder::create(path, &recording);
        recorder.map(Some).map_err(|error| Failure::Input(format!("{}: {error}", path.display())))
    }

    /// Both interfaces, and what is between them.
    fn open(&self, plan: &Plan, recorder: Option<Recorder>) -> Result<Live, Failure> {
        let [one, two, seed] = clock::random().map_err(Failure::runtime)?;
        let (lane, wire) = plan.lanes([one, two], seed, recorder).map_err(Failure::input)?;
        let inner = Ring::open(&self.inner).map_err(Failure::runtime)?;
        let outer = Ring::open(&self.outer).map_err(Failure::runtime)?;
        Ok(Gate::new(lane, wire, inner, outer))
    }
}

/// The queue as it is to be on a wire: a packet that is to carry congestion's signal and cannot be marked is dropped
/// (RFC 3168 §5), also by queues whose papers only mark, unless their parameter says otherwise.
fn on_a_wire(spec: &QueueSpec) -> QueueSpec {
    const NON_ECT: &str = "non_ect";
    let mut spec = spec.clone();
    let knows = catalog::find(&spec.name).is_some_and(|row| row.params.iter().any(|p| p.name == NON_ECT));
    if knows && spec.params.iter().all(|(name, _)| name != NON_ECT) {
        spec.params.push((NON_ECT.into(), "drop".into()));
    }
    spec
}

/// The interface that was taken away, if these are such news.
fn taken_away(news: &News) -> Option<Side> {
    match news {
        News::Trouble(side, error) if is_gone(error) => Some(*side),
        _ => None,
    }
}

/// Writes the news to standard error until there are no more.
fn tell_all(news: &Receiver<News>, names: &[String; 2]) {
    let name = |side: Side| &names[side as usize];
    for one in news {
        output::note(&match one {
            News::Status(span, account) => account::status(span, &account),
            News::Trouble(side, error) => format!("{}: {error}; frames for it are lost meanwhile", name(side)),
            News::Well(side) => format!("{}: well again", name(side)),
            News::Unfinished(side) => format!(
                "{}: frames come with checksums that their sender left to hardware, and receivers will find them damaged; \
                 turn that off at the sender: ethtool -K ITS_INTERFACE tx off",
                name(side)
            ),
            News::Lapsed(frames) => {
                format!(
                    "we were stopped, and the kernel forwarded: {frames} frames that it has sent on were thrown away"
                )
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_marked_is_dropped_unless_somebody_says_otherwise() {
        let told = |text: &str| on_a_wire(&text.parse().unwrap()).to_string();
        assert_eq!(told("rem"), "rem,non_ect=drop");
        assert_eq!(told("purge/paper as P"), "purge/paper,non_ect=drop as P");
        assert_eq!(told("rem,non_ect=pass"), "rem,non_ect=pass");
        assert_eq!(told("sfb,bins=46"), "sfb,bins=46");
        assert_eq!(told("no such queue"), "no such queue");
    }
}
