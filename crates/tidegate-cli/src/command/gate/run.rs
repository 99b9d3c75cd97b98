//! Gates that run, a thread for each: their news told, their file read again, their end.
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;
use std::thread::Scope;
use std::time::{Duration, SystemTime};

use nix::sys::signal::Signal;
use tidegate::Span;
use tidegate_gateway::facts::Interface;
use tidegate_gateway::gate::{Account, Gate};
use tidegate_gateway::plan::{Plan, Secret};
use tidegate_gateway::pump::{Change, News, Orders, Side, Wish, is_gone, pump};
use tidegate_gateway::record::{Recorded, Recorder, Recording};
use tidegate_gateway::ring::Ring;
use tidegate_gateway::{clock, host};

use super::account;
use super::joint::Joint;
use super::link::LinkConfig;
use super::signals;
use crate::failure::Failure;
use crate::output;

/// How many news may wait to be told; what comes then is not told.
const NEWS: usize = 64;

/// What is wished of all gates, as a number that every signal to end raises.
const GO_ON: u8 = 0;
const DRAIN: u8 = 1;
const END: u8 = 2;

/// A gate between two interfaces of the kernel.
type Live = Gate<Ring, Ring, Option<Recorder>>;

/// A link whose interfaces may be joined.
#[derive(Debug)]
pub struct Ready {
    /// What was asked for.
    pub config: LinkConfig,
    /// What is to be done.
    pub plan: Plan,
    /// Its interfaces.
    pub ends: [Interface; 2],
}

/// What holds for all links.
#[derive(Clone, Copy, Debug)]
pub struct Together<'a> {
    /// The file to read again.
    pub file: Option<&'a Path>,
    /// When to stop by themselves.
    pub duration: Option<Span>,
    /// How often to tell how things stand.
    pub status: Option<Span>,
}

/// A gate that has ended.
#[derive(Debug)]
pub struct Ended {
    /// What was asked for, at the end.
    pub config: LinkConfig,
    /// What was done, at the end.
    pub plan: Plan,
    /// How long.
    pub span: Span,
    /// What became of the frames.
    pub account: Account,
    /// What was recorded.
    pub recorded: Option<Recorded>,
}

/// What the thread hears that looks after the gates.
enum Event {
    Signal(Signal),
    /// Of the link of this number.
    News(usize, News),
    /// Its thread has ended.
    Over,
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
pub fn run(links: Vec<Ready>, together: Together<'_>) -> Result<Vec<Result<Ended, Failure>>, Failure> {
    let (tell, events) = sync_channel(NEWS);
    let signal = tell.clone();
    signals::listen(move |one| signal.send(Event::Signal(one)).is_ok())?;
    let secrets = links.iter().map(|_| secret()).collect::<Result<Vec<_>, _>>()?;
    // First what may fail for want of memory: it leaves nothing behind.
    let opened = links.iter().zip(&secrets).map(|(link, secret)| open(link, *secret));
    let gates = opened.collect::<Result<Vec<_>, _>>()?;
    // Before anything is taken over, since it takes as long as the memory is large. Where the system refuses, so be it.
    let _ = host::keep_memory();
    let started = join(&links, gates)?;
    let wish = AtomicU8::new(GO_ON);
    thread::scope(|scope| {
        let mut changes = Vec::new();
        let mut threads = Vec::new();
        for (number, (link, started)) in links.iter().zip(started).enumerate() {
            let (change, to) = channel();
            changes.push(change);
            let ordered = Ordered { number, link: link.config.clone(), together, tell: tell.clone(), changes: to };
            let thread = spawn(scope, started, ordered, &wish);
            // The others are not to run on without it.
            threads.push(thread.inspect_err(|_| wish.store(END, Relaxed))?);
        }
        drop(tell);
        let mut watch = Watch { links, secrets, changes, file: together.file, wish: &wish };
        watch.until_all_are_over(&events);
        let ended = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|p| std::panic::resume_unwind(p)));
        Ok(watch.links.into_iter().zip(ended).map(|(link, ended)| finish(link, ended)).collect())
    })
}

fn secret() -> Result<Secret, Failure> {
    let [one, two, seed] = clock::random().map_err(Failure::runtime)?;
    Ok(Secret { hash: [one, two], seed })
}

/// What is between both interfaces, and both interfaces.
fn open(link: &Ready, secret: Secret) -> Result<Live, Failure> {
    let recorder = recorder(link)?;
    let (there, back) = link.plan.lanes(secret, recorder).map_err(Failure::input)?;
    let settings = link.plan.settings();
    let inner = Ring::open(&settings.inner).map_err(Failure::runtime)?;
    let outer = Ring::open(&settings.outer).map_err(Failure::runtime)?;
    Ok(Gate::new(there, back, inner, outer))
}

/// What writes the capture, if there is to be one.
fn recorder(link: &Ready) -> Result<Option<Recorder>, Failure> {
    let Some((path, limit)) = &link.config.record else { return Ok(None) };
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

/// Joins the interfaces of all gates; of none if one cannot be.
fn join(links: &[Ready], gates: Vec<Live>) -> Result<Vec<Started>, Failure> {
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
        joint.take_over();
        gate.begin(); // what has arrived before that was nobody's or was forwarded by the kernel
        Started { gate, joint }
    });
    Ok(started.collect())
}

/// What a gate's thread is told.
struct Ordered<'a> {
    number: usize,
    link: LinkConfig,
    together: Together<'a>,
    tell: SyncSender<Event>,
    changes: Receiver<Box<Change>>,
}

/// Tells that a thread has ended, however it does.
struct Over(SyncSender<Event>);

impl Drop for Over {
    fn drop(&mut self) {
        let _ = self.0.send(Event::Over);
    }
}

/// A gate that has been pumped: for how long, what became of the frames, who recorded them.
type Pumped = Result<(Span, Account, Option<Recorder>), Failure>;

fn spawn<'s>(
    scope: &'s Scope<'s, '_>,
    started: Started,
    ordered: Ordered<'s>,
    wish: &'s AtomicU8,
) -> Result<thread::ScopedJoinHandle<'s, Pumped>, Failure> {
    let name = format!("gate {}", ordered.link.name);
    let work = move || {
        let _over = Over(ordered.tell.clone());
        move_frames(started, ordered, wish)
    };
    thread::Builder::new().name(name).spawn_scoped(scope, work).map_err(Failure::runtime)
}

/// Moves frames until it is time to stop.
fn move_frames(Started { mut gate, mut joint }: Started, ordered: Ordered<'_>, wish: &AtomicU8) -> Pumped {
    // For this thread alone, which moves the frames. Where the system refuses, they may have to wait for a processor.
    let _ = host::come_first();
    let Ordered { number, link, together, tell, changes } = ordered;
    let gone = std::cell::Cell::new(None);
    let wish = || match (gone.get(), wish.load(Relaxed)) {
        (None, GO_ON) => Wish::GoOn,
        (None, DRAIN) => Wish::Drain,
        _ => Wish::End,
    };
    let tell = &mut |news| {
        gone.set(gone.get().or(taken_away(&news)));
        // News that find no room are lost: frames must not wait for a terminal.
        drop(tell.try_send(Event::News(number, news)));
    };
    let orders = Orders {
        waits: link.waits,
        duration: together.duration,
        status: together.status,
        drain: link.drain,
        changes: Some(&changes),
        ..Orders::new(&wish, tell)
    };
    let pumped = pump(&mut gate, joint.guard(), orders);
    let parted = match gone.get() {
        None => joint.part(),
        Some(side) => {
            joint.undo();
            let name = [&link.settings.inner, &link.settings.outer][side as usize];
            Err(Failure::Runtime(format!("{name} is gone, and with it the gate")))
        }
    };
    let (span, unmanaged) = (pumped.map_err(Failure::runtime)?, parted?);
    if unmanaged > 0 {
        output::note(&format!("{unmanaged} frames were forwarded by the kernel meanwhile, unmanaged"));
    }
    Ok((span, gate.account(), gate.into_witness()))
}

/// The interface that was taken away, if these are such news.
fn taken_away(news: &News) -> Option<Side> {
    match news {
        News::Trouble(side, error) if is_gone(error) => Some(*side),
        _ => None,
    }
}

fn finish(link: Ready, pumped: Pumped) -> Result<Ended, Failure> {
    let (span, account, recorder) = pumped?;
    let Ready { config, plan, .. } = link;
    Ok(Ended { config, plan, span, account, recorded: recorder.map(Recorder::finish) })
}

/// Looks after gates that run.
struct Watch<'a> {
    links: Vec<Ready>,
    secrets: Vec<Secret>,
    changes: Vec<std::sync::mpsc::Sender<Box<Change>>>,
    file: Option<&'a Path>,
    wish: &'a AtomicU8,
}

impl Watch<'_> {
    fn until_all_are_over(&mut self, events: &Receiver<Event>) {
        let mut running = self.links.len();
        while running > 0
            && let Ok(event) = events.recv()
        {
            match event {
                Event::Over => running -= 1,
                Event::News(number, news) => self.tell(number, news),
                Event::Signal(Signal::SIGHUP) if self.file.is_some() => self.read_again(),
                Event::Signal(_) => {
                    // It ends in order however often it is told to.
                    let _ = self.wish.fetch_update(Relaxed, Relaxed, |wish| Some(wish.saturating_add(1)));
                }
            }
        }
    }

    /// Writes news to standard error.
    fn tell(&self, number: usize, news: News) {
        let link = &self.links[number].config;
        let name = |side: Side| [&link.settings.inner, &link.settings.outer][side as usize];
        let whose = if self.links.len() > 1 { format!("{}: ", link.name) } else { String::new() };
        output::note(&match news {
            News::Status(span, account) => whose + &account::status(span, &account),
            News::Trouble(side, error) => format!("{}: {error}; frames for it are lost meanwhile", name(side)),
            News::Well(side) => format!("{}: well again", name(side)),
            News::Unfinished(side) => format!(
                "{}: frames come with checksums that their sender left to hardware, and receivers will find them damaged; \
                 turn that off at the sender: ethtool -K ITS_INTERFACE tx off",
                name(side)
            ),
            News::Lapsed(frames) => format!(
                "{whose}we were stopped, and the kernel forwarded: {frames} frames that it has sent on were thrown away"
            ),
            News::Changed(relics, held) => {
                drop(relics);
                format!("{whose}goes on as the file says now; {held} frames waited and wait still")
            }
        });
    }

    /// Reads the file again. Either all links go on as it says, or none does.
    fn read_again(&mut self) {
        let Some(file) = self.file else { return };
        match self.renewed(file) {
            Ok(renewed) => {
                for ((link, change), (ready, to)) in self.links.iter_mut().zip(&self.changes).zip(renewed) {
                    // One that has ended needs no change.
                    let _ = change.send(to);
                    *link = ready;
                }
            }
            Err(why) => {
                let why = match why {
                    Failure::Input(why) | Failure::Runtime(why) => why,
                    other => format!("{other:?}"),
                };
                output::note(&format!("error: {why}\nthe file was not heeded; everything goes on as before"));
            }
        }
    }

    /// What the file says of every link, with all that the change needs laid out.
    fn renewed(&self, file: &Path) -> Result<Vec<(Ready, Box<Change>)>, Failure> {
        let mut configs = super::config::open(file).map_err(Failure::input)?;
        super::may_be_awake(&configs)?;
        let mut renewed = Vec::new();
        for (link, secret) in self.links.iter().zip(&self.secrets) {
            let name = &link.config.name;
            let Some(at) = configs.iter().position(|config| config.name == *name) else {
                let why = format!("{}: the link {name} is missing; end the gate and start it anew", file.display());
                return Err(Failure::Input(why));
            };
            let config = configs.remove(at);
            config.may_follow(&link.config)?;
            let plan = config.plan(link.plan.mtu())?;
            let to = plan.instead_of(&link.plan, *secret).map_err(|error| config.told(error))?;
            let change = Change { waits: config.waits, drain: config.drain, to };
            renewed.push((Ready { config, plan, ends: link.ends.clone() }, Box::new(change)));
        }
        match configs.first() {
            None => Ok(renewed),
            Some(config) => {
                let why = "is new; end the gate and start it anew";
                Err(config.told(tidegate::ConfigError::new("in", &config.settings.inner, why)))
            }
        }
    }
}
