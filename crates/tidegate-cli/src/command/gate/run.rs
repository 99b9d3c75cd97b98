//! Gates that run, a thread for each: their start and their end.
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::thread::Scope;
use std::time::{Duration, SystemTime};

use nix::sys::signal::Signal;
use tidegate::Span;
use tidegate_gateway::device::ring::PacketRing;
use tidegate_gateway::machine::clock;
use tidegate_gateway::machine::confine::{self, ThreadWork};
use tidegate_gateway::machine::failopen::Passed;
use tidegate_gateway::machine::host;
use tidegate_gateway::path::gate::Gate;
use tidegate_gateway::run::pump::{
    Change, Commands, DeviceSide, Event, PumpRequest, is_gone, pump,
};
use tidegate_gateway::run::way::{Secret, Way};
use tidegate_gateway::watch::counters::Account;
use tidegate_gateway::watch::monitor::Monitor;
use tidegate_gateway::watch::record::{Recorder, Recording};
use tidegate_gateway::watch::sample::{Sampler, samples};

use super::joint::{self, Joint};
use super::link::LinkConfig;
use super::notes::{self, NoteWriter, Notes};
use super::ready::{EndedGate, ReadyLink};
use super::served::Http;
use super::service::{Manager, Pulse};
use super::signals;
use super::source::GateFile;
use super::view::{self, View};
use super::watch::{GateWatch, Message, Requested, RunningLink, Teller};
use crate::failure::Failure;

/// A gate between two interfaces of the kernel.
type Live = Gate<PacketRing, PacketRing, Option<Recorder>>;

/// What holds for all links.
#[derive(Clone, Copy, Debug)]
pub struct Together<'a> {
    /// The file to read again.
    pub file: Option<&'a GateFile>,
    /// Where clients connect to learn how things stand.
    pub socket: Option<&'a Path>,
    /// What to serve over HTTP.
    pub http: Http,
    /// When to stop by themselves.
    pub duration: Option<Span>,
    /// How often to tell how things stand.
    pub status: Option<Span>,
}

/// How all of them ended.
#[derive(Debug)]
pub struct GatesOutcome {
    /// Those that ended well.
    pub ended: Vec<EndedGate>,
    /// Why the others did not.
    pub failed: Vec<String>,
    /// Whither to tell it.
    pub notes: Notes,
}

/// A gate that is about to run.
struct Started {
    gate: Live,
    joint: Joint,
}

/// Runs a gate for each of `links` until it is time to stop; how each ended.
///
/// # Errors
/// One cannot start; then none does.
pub fn run(links: Vec<ReadyLink>, together: Together<'_>) -> Result<GatesOutcome, Failure> {
    let (to, messages) = channel();
    let (teller, requested) = (Teller::new(to), Requested::default());
    listen(together.file, teller.clone(), requested.clone())?;
    // Threads that need nothing of what a start needs are begun by one that has given it up.
    let (notes, manager) = apart(|| Ok((Notes::new()?, Manager::new()?)))?;
    let socket = together.socket.map(view::socket).transpose()?;
    let http = together.http.listen(&notes.pen())?;
    let secrets = links.iter().map(|_| secret()).collect::<Result<Vec<_>, _>>()?;
    // First what may fail for want of memory: it leaves nothing behind.
    let opened = links.iter().zip(&secrets).map(|(link, secret)| open(link, *secret));
    let gates = opened.collect::<Result<Vec<_>, _>>()?;
    let names = links.iter().map(|link| link.config.name.clone()).collect();
    let (monitor, samplers) = monitor(&links);
    let pen = notes.pen();
    let view = apart(|| View::open(&monitor, socket, http, names, pen))?;
    // Before anything is taken over, since it takes as long as the memory is large. Where the
    // system refuses, so be it.
    let _ = host::keep_memory();
    let started = join(&links, gates)?;
    if let Err(why) = confine::confine() {
        notes.pen().note(format!("warning: the gate may do more than it has to: {why}"));
    }
    let ended = thread::scope(|scope| {
        let shared = SharedByGates {
            together,
            teller: teller.clone(),
            requested: requested.clone(),
            pen: notes.pen(),
        };
        let gates = links.into_iter().zip(secrets).zip(started).zip(samplers);
        let (running, threads) = begin(scope, gates, shared)?;
        // All that is left to this thread is to tell, and to have the file read. What it keeps, if
        // the kernel refuses, it does not use.
        let _ = confine::keep_for(if together.file.is_some() {
            ThreadWork::Reloads
        } else {
            ThreadWork::Other
        });
        let watch = GateWatch::new(
            running,
            together.file.cloned(),
            monitor,
            requested,
            teller,
            notes.pen(),
            manager,
        );
        let links = watch.until_all_are_over(&messages);
        Ok(outcome(links.into_iter().zip(threads), notes))
    });
    drop(view); // it has a pen
    ended
}

/// What all gates share.
struct SharedByGates<'a> {
    together: Together<'a>,
    teller: Teller,
    requested: Requested,
    pen: NoteWriter,
}

/// The thread of a gate.
type Thread<'s> = thread::ScopedJoinHandle<'s, Result<Pumped, String>>;

/// Begins a thread for each of `gates`; what there is to watch, and the threads.
fn begin<'s>(
    scope: &'s Scope<'s, '_>,
    gates: impl Iterator<Item = (((ReadyLink, Secret), Started), Sampler)>,
    shared: SharedByGates<'s>,
) -> Result<(Vec<RunningLink>, Vec<Thread<'s>>), Failure> {
    let (mut running, mut threads) = (Vec::new(), Vec::new());
    for (number, (((link, secret), started), sampler)) in gates.enumerate() {
        let (change, changes) = channel();
        let pulse = Pulse::default();
        let felt = pulse.felt();
        let ordered = Ordered {
            number,
            whose: notes::whose(&link.config.name),
            link: link.config.clone(),
            together: shared.together,
            teller: shared.teller.clone(),
            pen: shared.pen.of(&link.config.name),
            changes,
            sampler,
            requested: shared.requested.clone(),
            pulse,
        };
        // The others are not to run on without it.
        threads.push(spawn(scope, started, ordered).inspect_err(|_| shared.requested.end())?);
        running.push(RunningLink::new(link, secret, change, felt));
    }
    Ok((running, threads))
}

/// How the gates of `threads` ended, once all of them have.
fn outcome<'s>(
    threads: impl Iterator<Item = (ReadyLink, Thread<'s>)>,
    notes: Notes,
) -> GatesOutcome {
    let mut outcome = GatesOutcome { ended: vec![], failed: vec![], notes };
    for (link, thread) in threads {
        match thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
            Ok(pumped) => outcome.ended.push(finish(link, pumped)),
            Err(why) => outcome.failed.push(why),
        }
    }
    outcome
}

/// What `work` says on a thread that has no capability, nor have those that it begins.
fn apart<T: Send>(work: impl FnOnce() -> Result<T, Failure> + Send) -> Result<T, Failure> {
    confine::apart(work).map_err(Failure::runtime)?
}

/// Where what the gates sample comes together, and what each gives it away by.
fn monitor(links: &[ReadyLink]) -> (Arc<Monitor>, Vec<Sampler>) {
    let of = |link: &ReadyLink| {
        let settings = link.plan.settings();
        let (sampler, samples) =
            samples(settings.there.known_classes(), settings.back.as_ref().map(Way::known_classes));
        ((link.config.name.clone(), link.plan.clone(), samples), sampler)
    };
    let (told, samplers): (Vec<_>, Vec<_>) = links.iter().map(of).unzip();
    (Arc::new(Monitor::new(clock::now(), told)), samplers)
}

/// From here on SIGHUP has the `file`, if there is one, read again. Every other signal requests the
/// end. That needs nobody but who hears the signal.
fn listen(file: Option<&GateFile>, teller: Teller, requested: Requested) -> Result<(), Failure> {
    let reads = file.is_some();
    signals::listen(move |signal| match signal {
        Signal::SIGHUP if reads => teller.tell(Message::ReadAgain),
        _ => {
            requested.raise();
            teller.tell(Message::Ending)
        }
    })
}

fn secret() -> Result<Secret, Failure> {
    let [one, two, seed] = clock::random().map_err(Failure::runtime)?;
    Ok(Secret { hash: [one, two], seed })
}

/// What is between both interfaces, and both interfaces.
fn open(link: &ReadyLink, secret: Secret) -> Result<Live, Failure> {
    let recorder = recorder(link)?;
    let (there, back) = link.plan.lanes(secret, recorder).map_err(Failure::input)?;
    let settings = link.plan.settings();
    let ring = |name: &str| PacketRing::open(name).map_err(joint::refused);
    let (inner, outer) = (ring(&settings.inner)?, ring(&settings.outer)?);
    Ok(Gate::new(there, back, inner, outer))
}

/// What writes the capture, if there is to be one.
fn recorder(link: &ReadyLink) -> Result<Option<Recorder>, Failure> {
    let Some((path, limit)) = &link.config.record else { return Ok(None) };
    let path = &capture_of_now(path);
    let settings = link.plan.settings();
    let way = &settings.there;
    let recording = Recording {
        interface: settings.inner.clone(),
        about: format!("to {} through {} at {}", settings.outer, way.label, way.link.rate),
        zero: SystemTime::now() - Duration::from_nanos(clock::now().as_nanos()),
        limit: *limit,
    };
    let recorder = Recorder::create(path, &recording);
    recorder.map(Some).map_err(|error| Failure::Input(format!("{}: {error}", path.display())))
}

/// The capture's place, with the second of now where its name has `%s`: a service that starts again
/// by itself finds another.
pub fn capture_of_now(path: &Path) -> PathBuf {
    let second =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    match (path.file_name().and_then(|name| name.to_str()), path.parent()) {
        (Some(name), Some(folder)) if name.contains("%s") => {
            folder.join(name.replace("%s", &second.to_string()))
        }
        _ => path.into(),
    }
}

/// Joins the interfaces of all gates; of none if one cannot be.
fn join(links: &[ReadyLink], gates: Vec<Live>) -> Result<Vec<Started>, Failure> {
    let mut joints = Vec::new();
    for link in links {
        match Joint::new(&link.ends, link.config.on_exit) {
            Ok(joint) => joints.push(joint),
            Err(why) => {
                joints.into_iter().for_each(Joint::undo);
                return Err(why);
            }
        }
    }
    let started = joints.into_iter().zip(gates).map(|(mut joint, mut gate)| {
        // what has arrived before that was nobody's or was forwarded by the kernel
        joint.take_over(|| gate.begin());
        Started { gate, joint }
    });
    Ok(started.collect())
}

/// What a gate's thread receives.
struct Ordered<'a> {
    number: usize,
    /// What its failures begin with.
    whose: String,
    link: LinkConfig,
    together: Together<'a>,
    teller: Teller,
    pen: NoteWriter,
    changes: Receiver<Box<Change>>,
    sampler: Sampler,
    requested: Requested,
    /// Whither it shows that it moves.
    pulse: Pulse,
}

/// Tells that a thread has ended, however it does.
struct ThreadEnd {
    number: usize,
    why: Option<String>,
    teller: Teller,
}

impl Drop for ThreadEnd {
    fn drop(&mut self) {
        self.teller.tell(Message::Over(self.number, self.why.take()));
    }
}

/// A gate that has been pumped: for how long, what became of the frames, what the kernel did with
/// them before, who recorded them.
type Pumped = (Span, Account, [Passed; 2], Option<Recorder>);

fn spawn<'s>(
    scope: &'s Scope<'s, '_>,
    started: Started,
    ordered: Ordered<'s>,
) -> Result<Thread<'s>, Failure> {
    let name = format!("gate {}", ordered.link.name);
    let work = move || {
        let mut over =
            ThreadEnd { number: ordered.number, why: None, teller: ordered.teller.clone() };
        let whose = ordered.whose.clone();
        let pumped = move_frames(started, ordered).map_err(|failure| whose + &failure.why());
        over.why = pumped.as_ref().err().cloned();
        pumped
    };
    thread::Builder::new().name(name).spawn_scoped(scope, work).map_err(Failure::runtime)
}

/// Moves frames until it is time to stop.
fn move_frames(
    Started { mut gate, mut joint }: Started,
    ordered: Ordered<'_>,
) -> Result<Pumped, Failure> {
    // For this thread alone, which moves the frames. Where the system refuses, they may have to
    // wait for a processor.
    let _ = host::come_first();
    let _ = confine::keep_for(ThreadWork::Frames);
    let Ordered {
        number, link, together, teller, pen, changes, mut sampler, requested, pulse, ..
    } = ordered;
    let gone = std::cell::Cell::new(None);
    let request = || {
        pulse.beat();
        match (gone.get(), requested.now()) {
            (None, Requested::GO_ON) => PumpRequest::GoOn,
            (None, Requested::DRAIN) => PumpRequest::Drain,
            _ => PumpRequest::End,
        }
    };
    let tell = &mut |event| {
        gone.set(gone.get().or(taken_away(&event)));
        teller.event(number, event);
    };
    let commands = Commands {
        waits: link.waits,
        duration: together.duration,
        status: together.status,
        drain: link.drain,
        changes: Some(&changes),
        sampler: Some(&mut sampler),
        ..Commands::new(&request, tell)
    };
    let pumped = pump(&mut gate, &mut joint, commands);
    let passed = joint.passed();
    let parted = match gone.get() {
        None => joint.part(&pen),
        Some(side) => {
            joint.undo();
            let names = [&link.settings.inner, &link.settings.outer];
            let (name, other) = (names[side as usize], names[1 - side as usize]);
            Err(Failure::Runtime(format!(
                "{name} is gone, and with it the gate: it was deleted or moved to another network \
                 namespace, so that \
                 nothing can pass between it and {other}"
            )))
        }
    };
    let (span, unmanaged) = (pumped.map_err(Failure::runtime)?, parted?);
    if unmanaged > 0 {
        pen.note(format!("{unmanaged} frames were forwarded by the kernel meanwhile, unmanaged"));
    }
    Ok((span, gate.account(), passed, gate.into_observer()))
}

/// The interface that was taken away, if the event says so.
fn taken_away(event: &Event) -> Option<DeviceSide> {
    match event {
        Event::Trouble(side, error) if is_gone(error) => Some(*side),
        _ => None,
    }
}

fn finish(link: ReadyLink, (span, account, passed, recorder): Pumped) -> EndedGate {
    let ReadyLink { config, plan, .. } = link;
    EndedGate { config, plan, span, account, passed, recorded: recorder.map(Recorder::finish) }
}
