//! `tidegate gate demo`: kernel TCP and a flood through the gateway, in three network namespaces.
//!
//! Senders and receivers are iperf3's. The gateway is a process of its own with its own command
//! line. Who got what is counted on the wires at its two ends. Everything is gone when a
//! measurement ends, however it ends.
mod meter;
mod process;
mod processors;
mod result;
mod rig;
mod spoof;
mod tap;
mod traffic;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt};
use tidegate::catalog::AnyConfig;
use tidegate::{Bytes, ConfigError, Link, Span};
use tidegate_packet::FlowKey;
use tidegate_report::{Document, Series};

use crate::machine::namespaces;
use crate::path::rehash::Rehash;
use crate::run::plan::{GatePlan, Settings};
use crate::run::way::Way;
use meter::WireMeter;
pub use process::Process;
use processors::Processors;
pub use rig::{Rig, SERVER};
pub use spoof::{Spoofed, Users};
use traffic::{DemoFlow, DemoTraffic};
pub use traffic::{DemoGroup, SendingPattern};

/// What every measurement has in common.
#[derive(Clone, Debug)]
pub struct Demo {
    /// The command whose `gate` is measured.
    pub program: PathBuf,
    /// The gateway's rate, limit and usual length of a packet.
    pub link: Link,
    /// The gateway's delay line, each way.
    pub delay: Span,
    /// What is one flow to the queue.
    pub flow_key: FlowKey,
    /// How often flows get new keys before the queue; as is usual for the queue if nobody says.
    pub rehash: Option<Rehash>,
    /// How TCP repairs losses and answers.
    pub tcp: KernelTcp,
    /// Who sends; those that heed congestion first, since they are connected before the flood
    /// comes.
    pub groups: Vec<DemoGroup>,
    /// How long everybody sends before it counts.
    pub warmup: Span,
    /// How long is measured.
    pub duration: Span,
}

/// How the kernel's TCP repairs losses and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelTcp {
    /// With all that the kernel has.
    Full,
    /// As NewReno does (RFC 6582): no selective acknowledgements and what stands on them, no time
    /// stamps; the receiver acknowledges every segment at once.
    NewReno,
}

/// A queue to measure.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The queue as `--queue` takes it.
    pub queue: String,
    /// What results call it.
    pub label: String,
    /// The preset that its parameters started from.
    pub preset: String,
    /// Its parameters.
    pub config: AnyConfig,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The figures.
    pub document: Document,
    /// What happened over time, from before the first sender began.
    pub series: Series,
}

/// Who looks on.
pub trait DemoWatch {
    /// So much of the time that this measurement takes has gone, 0 to 1.
    fn progress(&self, fraction: f64);
    /// Whether to give up.
    fn cancelled(&self) -> bool;
}

/// Why nothing was measured.
#[derive(Debug)]
pub enum DemoError {
    /// [`DemoWatch::cancelled`] said so.
    Cancelled,
    /// What went wrong.
    Failed(io::Error),
}

impl From<io::Error> for DemoError {
    fn from(error: io::Error) -> DemoError {
        DemoError::Failed(error)
    }
}

/// A full frame of the rig, Ethernet header included: what TCP sends, and the flood.
pub const FRAME: Bytes = Bytes::new(1514);
/// The same without the header.
const MTU: u32 = 1500;
/// Between looks at who has ended and who wants to stop.
const BEAT: Duration = Duration::from_millis(50);
/// How long the gateway, or a group of senders, may take to begin.
const PATIENCE: Duration = Duration::from_secs(10);
/// A sender is not heard if nothing of it has come through in this time.
const UNHEARD: Duration = Duration::from_secs(1);
/// Between the beginning of one group and the next: a flood meets connections and not their
/// handshakes and slow start.
const APART: Span = Span::from_millis(1000);
/// How much longer senders go on than they are needed, if nobody ends them.
const SPARE: Duration = Duration::from_secs(30);

impl Demo {
    /// How long one queue takes, about.
    pub fn expected(&self) -> Span {
        let apart = Span::from_nanos(APART.as_nanos() * self.groups.len().saturating_sub(1) as u64);
        self.warmup + self.duration + apart + Span::from_millis(1500)
    }

    /// Measures `trial`.
    ///
    /// # Errors
    /// See [`DemoError`]. Nothing is left behind.
    pub fn measure(&self, trial: &Trial, watch: &dyn DemoWatch) -> Result<Measured, DemoError> {
        // Who asks to stop may hit more than us, and is not to be told that something broke.
        self.measured(trial, watch)
            .map_err(|error| if watch.cancelled() { DemoError::Cancelled } else { error })
    }

    fn measured(&self, trial: &Trial, watch: &dyn DemoWatch) -> Result<Measured, DemoError> {
        let begun = Instant::now();
        let flows = traffic::flows(&self.groups);
        let rig = Rig::new(flows.len() as u16, MTU)?;
        rig.lay_past(MTU)?;
        rig.buffer(Bytes::new(4 * self.window().get()))?;
        if self.tcp == KernelTcp::NewReno {
            rig.repair_as_newreno()?;
        }
        let processors = Processors::divide()?;
        processors.as_gateway()?;
        let gate = self.gate(&rig, trial)?;
        processors.as_others()?;
        let mut running =
            Running { demo: self, watch, begun, gate, traffic: DemoTraffic::default() };
        running.until_open(&rig)?;
        let meter = WireMeter::start(&rig, flows.len())?;
        running.traffic = DemoTraffic::listen(&rig, &self.groups)?;
        let time = Duration::from_nanos((self.warmup + self.duration).as_nanos()) + SPARE;
        let group_of = |flow: &DemoFlow| flow.group;
        for (place, group) in flows.chunk_by(|a, b| group_of(a) == group_of(b)).enumerate() {
            if place > 0 {
                running.wait(APART)?;
            }
            for flow in group {
                running.traffic.send(&rig, &self.groups, *flow, time)?;
            }
            running.until_begun(&rig, &meter, group, time)?;
        }
        running.wait(self.warmup)?;
        meter.measure(self.duration);
        running.wait(self.duration)?;
        running.wait(self.longest_stay())?;
        let reading = meter.finish()?;
        drop(running.traffic);
        running
            .gate
            .finish()
            .map_err(|error| io::Error::other(format!("the gateway failed: {error}")))?;
        Ok(result::measured(self, trial, reading, begun.elapsed()))
    }

    /// Starts the gateway between the rig's two interfaces.
    ///
    /// # Errors
    /// It cannot be started. That it ends at once is no error: see [`Process::ended`].
    pub fn gate(&self, rig: &Rig, trial: &Trial) -> io::Result<Process> {
        let program = self.program.to_string_lossy();
        let Link { rate, limit, mean_packet } = self.link;
        let named = [
            ("--in", rig::WEST.to_string()),
            ("--out", rig::EAST.to_string()),
            ("--rate", rate.to_string()),
            ("--limit", limit.to_string()),
            ("--mean-packet", mean_packet.to_string()),
            ("--delay", self.delay.to_string()),
            ("--flow-key", self.flow_key.to_string()),
            ("--queue", trial.queue.clone()),
            ("--on-exit", "close".into()),
        ];
        let rehash = self.rehash.map(|rehash| ("--rehash", rehash.to_string()));
        let mut call = vec![&*program, "gate", "--json"];
        call.extend(named.iter().chain(&rehash).flat_map(|(name, value)| [*name, value]));
        Process::start(&rig.gateway, &call)
    }

    /// What the gateway of `trial` does.
    ///
    /// # Errors
    /// Names what cannot be.
    pub fn plan(&self, trial: &Trial) -> Result<GatePlan, ConfigError> {
        let usual = Way::new(self.link, trial.config.clone(), trial.label.as_str());
        let there =
            Way { flow_key: self.flow_key, rehash: self.rehash.unwrap_or(usual.rehash), ..usual };
        let settings = Settings {
            inner: rig::WEST.into(),
            outer: rig::EAST.into(),
            there,
            back: None,
            delay: self.delay,
        };
        GatePlan::new(settings, MTU)
    }

    /// What one connection alone could have under way: the queue full, and both ways.
    fn window(&self) -> Bytes {
        let Link { rate, limit, mean_packet } = self.link;
        let under_way = limit
            .in_bytes(mean_packet)
            .saturating_add(rate.bytes_in(self.delay + self.delay).get());
        Bytes::new(under_way.clamp(1 << 17, 1 << 28))
    }

    /// The longest that a frame can be on its way through.
    fn longest_stay(&self) -> Span {
        let Link { rate, limit, mean_packet } = self.link;
        let waiting = rate.time_to_send(Bytes::new(limit.in_bytes(mean_packet)));
        waiting + self.delay + Span::from_millis(50)
    }
}

/// A measurement under way.
struct Running<'d> {
    demo: &'d Demo,
    watch: &'d dyn DemoWatch,
    begun: Instant,
    gate: Process,
    traffic: DemoTraffic,
}

impl Running<'_> {
    /// Looks after everybody.
    fn beat(&mut self) -> Result<(), DemoError> {
        self.watch.progress(
            (self.begun.elapsed().as_secs_f64() / self.demo.expected().as_secs()).min(1.0),
        );
        if self.watch.cancelled() {
            return Err(DemoError::Cancelled);
        }
        if let Some(said) = self.gate.ended()? {
            return Err(io::Error::other(format!("the gateway has ended: {said}")).into());
        }
        self.traffic.limit_windows(self.demo.window())?;
        match self.traffic.broken(&self.demo.groups)? {
            Some(trouble) => Err(io::Error::other(trouble).into()),
            None => Ok(()),
        }
    }

    fn wait(&mut self, time: Span) -> Result<(), DemoError> {
        let end = Instant::now() + Duration::from_nanos(time.as_nanos());
        loop {
            self.beat()?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(BEAT));
        }
    }

    /// Looks after everybody until `done`.
    fn until(
        &mut self,
        trouble: &str,
        mut done: impl FnMut(&mut Self) -> io::Result<bool>,
    ) -> Result<(), DemoError> {
        let begun = Instant::now();
        while !done(self)? {
            self.beat()?;
            if begun.elapsed() > PATIENCE {
                return Err(io::Error::other(trouble).into());
            }
            std::thread::sleep(BEAT / 5);
        }
        Ok(())
    }

    /// Waits until something of each of `flows`, which send for `time`, has come through.
    fn until_begun(
        &mut self,
        rig: &Rig,
        meter: &WireMeter,
        flows: &[DemoFlow],
        time: Duration,
    ) -> Result<(), DemoError> {
        let mut asked = Instant::now();
        self.until("a sender does not get through", |running| {
            let silent: Vec<DemoFlow> =
                flows.iter().copied().filter(|flow| !meter.has_begun(*flow)).collect();
            if asked.elapsed() > UNHEARD {
                for flow in &silent {
                    running.traffic.send_anew(rig, &running.demo.groups, *flow, time)?;
                }
                asked = Instant::now();
            }
            Ok(silent.is_empty())
        })
    }

    /// Waits until a packet finds its way through the gateway and back.
    fn until_open(&mut self, rig: &Rig) -> Result<(), DemoError> {
        self.until("no packet comes through the gateway", |running| {
            let there_and_back = Duration::from_nanos(2 * running.demo.delay.as_nanos());
            rig.connected(running.gate.id(), Duration::from_millis(200) + there_and_back)
        })
    }
}

/// Whether a demo can run here.
///
/// # Errors
/// What is missing, as a sentence.
pub fn possible() -> Result<(), String> {
    namespaces::possible()?;
    for program in ["iperf3", "setpriv"] {
        let found = Command::new(program).arg("--version").output();
        found.map_err(|_| {
            format!("{program} is not installed (apt-get install iperf3 util-linux)")
        })?;
    }
    Ok(())
}

/// Whether TCP can have this congestion control here; the kernel loads its module if there is one.
///
/// # Errors
/// No socket can be made, or the kernel refuses for another reason than that it has none of this
/// name.
pub fn has_congestion_control(name: &str) -> io::Result<bool> {
    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    match setsockopt(&socket, sockopt::TcpCongestion, &OsString::from(name)) {
        Ok(()) => Ok(true),
        Err(Errno::ENOENT | Errno::EINVAL) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The congestion controls that this kernel has at hand; [asked for](has_congestion_control) by
/// name it may have more.
///
/// # Errors
/// They cannot be read.
pub fn congestion_controls() -> io::Result<Vec<String>> {
    let known = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")?;
    Ok(known.split_whitespace().map(String::from).collect())
}
