//! `tidegate gate`: a bump in the wire.
mod demo;
mod joint;

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};
use tidegate::{Bytes, Link, MarkReason, Rate, Size, Span};
use tidegate_gateway::clock;
use tidegate_gateway::counters::{Counters, Loss, Tally};
use tidegate_gateway::facts::Interface;
use tidegate_gateway::gate::{Account, Gate};
use tidegate_gateway::overhead::Overhead;
use tidegate_gateway::plan::{Plan, Settings};
use tidegate_gateway::preflight::Force;
use tidegate_gateway::pump::{News, Orders, Side, pump};
use tidegate_gateway::record::{Recorded, Recorder, Recording};
use tidegate_gateway::ring::Ring;
use tidegate_lab::QueueSpec;
use tidegate_lab::replay::default_limit;
use tidegate_packet::FlowKey;
use tidegate_report::{Figure, human};

use crate::failure::Failure;
use crate::manual::{Block, Page};
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
/// At the end it says what was received, sent, lost for which reason, marked, and held. It stops after --duration, or
/// on Ctrl-C.
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
        if self.dry_run {
            return self.print_plan(&plan, joint::lines(&preflight, &ends, self.on_exit));
        }
        interrupt::listen();
        let (span, account, recorded) = self.run(&plan, &ends)?;
        match self.json {
            true => output::print(&format!("{:#}\n", document(&plan, span, &account, recorded.as_ref()))),
            false => output::print(&page(&plan, span, &account, recorded.as_ref())),
        }
    }

    /// Everything that can be checked without touching the network, for interfaces that carry packets of up to `mtu`
    /// bytes.
    fn plan(&self, mtu: u32) -> Result<Plan, Failure> {
        let (Some(rate), Some(queue)) = (self.rate, &self.queue) else {
            return Err(Failure::input("--rate and --queue are needed")); // the parser has said so before
        };
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

    /// The plan, and what joining the interfaces does besides.
    fn print_plan(&self, plan: &Plan, joining: Vec<(&'static str, String)>) -> Result<(), Failure> {
        let lines = [plan.lines(), joining].concat();
        match self.json {
            true => output::print(&format!("{:#}\n", named(lines))),
            false => {
                let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
                output::print(&lines.iter().map(|(name, text)| format!("{name:width$}  {text}\n")).collect::<String>())
            }
        }
    }

    /// Moves frames until it is time to stop; how long it was, and what became of them.
    fn run(&self, plan: &Plan, ends: &[Interface; 2]) -> Result<(Span, Account, Option<Recorded>), Failure> {
        let recorder = self.recorder(plan)?;
        let mut joint = Joint::new(ends, self.on_exit)?;
        let mut gate = match self.open(plan, recorder) {
            Ok(gate) => gate,
            Err(failure) => {
                joint.undo();
                return Err(failure);
            }
        };
        joint.take_over();
        // What has arrived before that was forwarded by the kernel.
        gate.discard(clock::now());
        let (tell, news) = sync_channel(NEWS);
        let names = [self.inner.clone(), self.outer.clone()];
        let teller = std::thread::spawn(move || tell_all(&news, &names));
        let orders = Orders {
            duration: self.duration,
            status: self.status,
            stop: &interrupt::asked,
            // News that find no room are lost: frames must not wait for a terminal.
            tell: &mut |news| drop(tell.try_send(news)),
        };
        let pumped = pump(&mut gate, joint.guard(), orders);
        let parted = joint.part();
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

/// Writes the news to standard error until there are no more.
fn tell_all(news: &Receiver<News>, names: &[String; 2]) {
    let name = |side: Side| &names[side as usize];
    for one in news {
        output::note(&match one {
            News::Status(span, account) => status(span, &account),
            News::Trouble(side, error) => format!("{}: {error}; frames for it are lost meanwhile", name(side)),
            News::Well(side) => format!("{}: well again", name(side)),
            News::Lapsed(frames) => {
                format!(
                    "we were stopped, and the kernel forwarded: {frames} frames that it has sent on were thrown away"
                )
            }
        });
    }
}

fn status(span: Span, account: &Account) -> String {
    let Counters { received, sent, held, .. } = account.managed;
    let marked: u64 = account.managed.marked.iter().sum();
    format!(
        "{:.0} s: received {}, sent {}, lost {}, marked {marked}, held {}; back {}",
        span.as_secs(),
        received.frames,
        sent.frames,
        account.managed.lost_in_all().frames,
        held.frames,
        account.reverse.sent.frames
    )
}

/// The plan as an object.
fn named(lines: Vec<(&'static str, String)>) -> Value {
    Value::Object(lines.into_iter().map(|(name, text)| (name.into(), text.into())).collect())
}

/// The account as a document.
fn document(plan: &Plan, span: Span, account: &Account, recorded: Option<&Recorded>) -> Value {
    let recorded = recorded
        .map(|r| json!({ "written": r.written, "unwritten": r.unwritten, "bytes": r.bytes, "trouble": r.trouble }));
    json!({
        "schema": "tidegate.gate/1",
        "plan": named(plan.lines()),
        "duration_s": span.as_secs(),
        "managed": direction(&account.managed),
        "reverse": direction(&account.reverse),
        "recorded": recorded,
    })
}

fn direction(counters: &Counters) -> Value {
    let tally = |t: Tally| json!({ "frames": t.frames, "bytes": t.bytes });
    let lost: Map<_, _> = Loss::all().map(|why| (why.name().into(), tally(counters.lost(why)))).collect();
    let marked: Map<_, _> =
        MarkReason::ALL.iter().map(|&why| (why.name().into(), counters.marked[why as usize].into())).collect();
    json!({
        "received": tally(counters.received),
        "sent": tally(counters.sent),
        "held": tally(counters.held),
        "lost": lost,
        "marked": marked,
        "unfinished": counters.unfinished,
        "missed": counters.missed,
    })
}

/// The account as a table.
fn page(plan: &Plan, span: Span, account: &Account, recorded: Option<&Recorded>) -> String {
    let settings = plan.settings();
    let head = [
        format!("in {:.1} s", span.as_secs()),
        format!("{} -> {} ({})", settings.inner, settings.outer, settings.label),
        format!("{} -> {}", settings.outer, settings.inner),
    ];
    let both = [&account.managed, &account.reverse];
    let sizes =
        |name: &str, of: &dyn Fn(&Counters) -> Tally| [name.into(), size(of(both[0]), span), size(of(both[1]), span)];
    let counts = |name: &str, of: &dyn Fn(&Counters) -> u64| [name.into(), count(of(both[0])), count(of(both[1]))];
    let mut rows = vec![head, sizes("received", &|c| c.received), sizes("sent", &|c| c.sent)];
    let mut rare: Vec<[String; 3]> =
        Loss::all().map(|why| sizes(&format!("lost: {}", why.name()), &|c| c.lost(why))).collect();
    rare.extend(
        MarkReason::ALL.iter().map(|&why| counts(&format!("marked: {}", why.name()), &|c| c.marked[why as usize])),
    );
    rare.push(sizes("held at the end", &|c| c.held));
    rare.push(counts("missed by the kernel", &|c| c.missed));
    rare.push(counts("checksum not filled in", &|c| c.unfinished));
    rare.retain(|[_, there, back]| there != NOTHING || back != NOTHING);
    rows.extend(rare);
    let mut page = Page::default();
    page.add(Block::Table(rows.into_iter().map(Vec::from).collect()));
    if let Some(Recorded { written, unwritten, bytes, trouble }) = recorded {
        let because = trouble.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
        let (written, unwritten) = (human::count(*written), human::count(*unwritten));
        let size = Bytes::new(*bytes);
        page.add(Block::Text(format!("Recorded {written} frames in {size}; {unwritten} went unrecorded{because}.")));
    }
    page.render()
}

/// What stands where nothing happened.
const NOTHING: &str = "–";

fn count(frames: u64) -> String {
    if frames == 0 { NOTHING.into() } else { human::count(frames) }
}

/// Frames, and what they were as a rate.
fn size(tally: Tally, span: Span) -> String {
    if tally.frames == 0 {
        return NOTHING.into();
    }
    let rate = Figure::exact(tally.bytes as f64 * 8.0 / span.as_secs().max(1e-9));
    format!("{} ({})", human::count(tally.frames), human::rate(rate))
}
