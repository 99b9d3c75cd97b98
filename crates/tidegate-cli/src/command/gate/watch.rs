//! What looks after gates that run: it reports their events and has their file read again. The end
//! does not wait for it: the thread that receives the signal requests it.
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use tidegate_gateway::machine::clock;
use tidegate_gateway::machine::host;
use tidegate_gateway::run::pump::{Change, DeviceSide, Event};
use tidegate_gateway::run::way::Secret;
use tidegate_gateway::watch::monitor::Monitor;

use super::account;
use super::notes::NoteWriter;
use super::ready::ReadyLink;
use super::service::{Felt, Heart, Manager};
use super::source::{Config, GateFile};
use crate::failure::Failure;

/// How many events may wait to be reported. Further ones are not reported.
const EVENTS: usize = 64;

/// What is requested of all gates: a number that every signal to end raises.
#[derive(Clone, Debug, Default)]
pub struct Requested(Arc<AtomicU8>);

impl Requested {
    /// Go on.
    pub const GO_ON: u8 = 0;
    /// Let leave what waits.
    pub const DRAIN: u8 = 1;
    /// End at once.
    const END: u8 = 2;

    /// Requests the end. Further calls change nothing.
    pub fn raise(&self) {
        let _ = self.0.fetch_update(Relaxed, Relaxed, |request| {
            Some(request.saturating_add(1).min(Requested::END))
        });
    }

    /// All are to end at once.
    pub fn end(&self) {
        self.0.store(Requested::END, Relaxed);
    }

    /// Which of the above it is.
    pub fn now(&self) -> u8 {
        self.0.load(Relaxed)
    }
}

/// What the watch hears.
pub enum Message {
    /// The file is to be read again.
    ReadAgain,
    /// The end is requested.
    Ending,
    /// What it says, read and laid out.
    Renewed(Result<Vec<Renewed>, Failure>),
    /// Of the link of this number.
    Event(usize, Event),
    /// The link of this number has ended, and why, if it failed.
    Over(usize, Option<String>),
}

/// What a link is to be from here on, and what the gate needs for it.
type Renewed = (ReadyLink, Box<Change>);

/// Tells the watch, and never waits for it.
#[derive(Clone)]
pub struct Teller {
    to: Sender<Message>,
    untold: Arc<AtomicUsize>,
}

impl Teller {
    /// Tells the receiver at the other end of `to`.
    pub fn new(to: Sender<Message>) -> Teller {
        Teller { to, untold: Arc::default() }
    }

    /// Whether somebody hears it.
    pub fn tell(&self, message: Message) -> bool {
        self.to.send(message).is_ok()
    }

    /// Reports an event, if few wait to be reported. What a gate needed before a change goes in any
    /// case: it may be gigabytes, and to free them here would keep frames waiting.
    pub fn event(&self, number: usize, event: Event) {
        if matches!(event, Event::Changed(..)) || self.untold.load(Relaxed) < EVENTS {
            self.untold.fetch_add(1, Relaxed);
            self.tell(Message::Event(number, event));
        }
    }
}

/// A link that runs.
pub struct RunningLink {
    /// What it is.
    pub now: ReadyLink,
    /// What it is to become, and has not yet.
    next: Option<ReadyLink>,
    /// Keys its hash, begins its dice.
    secret: Secret,
    /// Whither changes go.
    change: Sender<Box<Change>>,
    /// Whether it moves.
    pulse: Felt,
}

impl RunningLink {
    /// One without a change on its way.
    pub fn new(
        now: ReadyLink,
        secret: Secret,
        change: Sender<Box<Change>>,
        pulse: Felt,
    ) -> RunningLink {
        RunningLink { now, next: None, secret, change, pulse }
    }

    /// Whether a change of it is on its way.
    fn is_changing(&self) -> bool {
        self.next.is_some() && !self.pulse.is_over()
    }
}

/// Whether the file is being read again, from the signal on until all links go on as it says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reload {
    No,
    /// It is being read.
    Yes,
    /// It was read, and not all links have come to their change yet.
    Read,
}

/// Looks after gates that run.
pub struct GateWatch {
    links: Vec<RunningLink>,
    file: Option<GateFile>,
    monitor: Arc<Monitor>,
    requested: Requested,
    teller: Teller,
    pen: NoteWriter,
    reading: Reload,
    /// It is to be read once more then.
    again: bool,
    manager: Manager,
    heart: Heart,
}

/// How long the watch waits for what happens if nobody waits for it.
const LONG: Duration = Duration::from_secs(3600);

impl GateWatch {
    /// Looks after `links`, which `file` was read for; `monitor` and `manager` are to hear of them.
    pub fn new(
        links: Vec<RunningLink>,
        file: Option<GateFile>,
        monitor: Arc<Monitor>,
        requested: Requested,
        teller: Teller,
        pen: NoteWriter,
        manager: Manager,
    ) -> GateWatch {
        let heart = Heart::new(links.iter().map(|link| link.pulse.clone()));
        GateWatch {
            links,
            file,
            monitor,
            requested,
            teller,
            pen,
            reading: Reload::No,
            again: false,
            manager,
            heart,
        }
    }

    /// Does so until all have ended; what each was when it ended.
    pub fn until_all_are_over(mut self, messages: &Receiver<Message>) -> Vec<ReadyLink> {
        let mut running = self.links.len();
        self.manager.ready(&self.names());
        while running > 0 {
            self.heart.look(&self.manager);
            let message = match messages.recv_timeout(self.heart.rest().unwrap_or(LONG)) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            match message {
                Message::ReadAgain => self.read_again(),
                Message::Ending => self.manager.stopping(),
                Message::Renewed(renewed) => self.go_on_as(renewed),
                Message::Event(number, event) => {
                    self.teller.untold.fetch_sub(1, Relaxed);
                    self.event(number, event);
                }
                Message::Over(number, why) => {
                    running -= 1;
                    self.monitor.ended(number);
                    // Of the last one it is told at the end, which is now.
                    if let Some(why) = why.filter(|_| running > 0) {
                        self.pen.note(format!("error: {why}\nthe other links go on"));
                    }
                }
            }
            self.have_all_gone_on();
        }
        self.links.into_iter().map(|link| link.now).collect()
    }

    /// Reports an event.
    fn event(&mut self, number: usize, event: Event) {
        let link = &mut self.links[number];
        if let Event::Changed(..) = event
            && let Some(next) = link.next.take()
        {
            link.now = next;
        }
        let config = &link.now.config;
        let name =
            |side: DeviceSide| [&config.settings.inner, &config.settings.outer][side as usize];
        self.pen.of(&config.name).note(match event {
            Event::Status(span, account) => account::status(span, &account),
            Event::Trouble(side, error) => format!(
                "{}: {error}; frames for it are lost \
                meanwhile",
                name(side)
            ),
            Event::Well(side) => format!("{}: well again", name(side)),
            Event::Altered(side, what) => format!("{}: {what}", name(side)),
            Event::Unfinished(side) => format!(
                "{}: frames come with checksums that their sender left to hardware, and receivers \
                 will find them damaged; \
                 turn that off at the sender: ethtool -K ITS_INTERFACE tx off",
                name(side)
            ),
            Event::Lapsed(frames) => format!(
                "we were stopped, and the kernel forwarded: {frames} frames that it has sent on \
                 were thrown away"
            ),
            Event::Changed(superseded, held) => {
                drop(superseded);
                format!("goes on as the file says now; {held} frames waited and wait still")
            }
        });
    }

    /// Has the file read again by a thread of its own, since that may take its time. One that ends
    /// goes on as it is.
    fn read_again(&mut self) {
        let Some(file) = self.file.clone() else { return };
        if self.is_ending() {
            return;
        }
        if self.reading != Reload::No {
            self.again = true;
            return;
        }
        self.manager.reloading();
        let links: Vec<_> = self.links.iter().map(|link| (link.now.clone(), link.secret)).collect();
        let teller = self.teller.clone();
        let read = move || {
            teller.tell(Message::Renewed(renewed(&file, links)));
        };
        match thread::Builder::new().name("file".into()).spawn(read) {
            Ok(_) => self.reading = Reload::Yes,
            Err(error) => self.go_on_as(Err(Failure::runtime(error))),
        }
    }

    /// Whether the gates are ending; a note says so then.
    fn is_ending(&self) -> bool {
        let ending = self.requested.now() != Requested::GO_ON;
        if ending {
            self.pen.note("the gate is ending; the file was not heeded");
        }
        ending
    }

    /// Either all links go on as the file says, or none does.
    fn go_on_as(&mut self, renewed: Result<Vec<Renewed>, Failure>) {
        self.reading = Reload::Read;
        match renewed {
            Ok(_) if self.is_ending() => {}
            Ok(renewed) => {
                for (number, (link, (ready, to))) in self.links.iter_mut().zip(renewed).enumerate()
                {
                    // Before it goes by that, so that nobody sees new figures beside the old plan.
                    self.monitor.goes_by(number, &ready.plan);
                    // One that has ended needs no change.
                    if link.change.send(to).is_ok() {
                        link.next = Some(ready);
                    }
                }
                self.monitor.reloaded();
            }
            Err(why) => {
                let why = why.why();
                self.monitor.refused(&why);
                self.pen.note(format!(
                    "error: {why}\nthe file was not heeded; everything goes on as before"
                ));
                self.have_read(&format!("the file was not heeded: {why}"));
            }
        }
    }

    /// Whether all links that have not ended go on as the file says, if it was read.
    fn have_all_gone_on(&mut self) {
        if self.reading == Reload::Read && !self.links.iter().any(RunningLink::is_changing) {
            self.have_read(&self.names());
        }
    }

    /// The file was read again, and how things stand is `status`.
    fn have_read(&mut self, status: &str) {
        self.reading = Reload::No;
        if self.requested.now() == Requested::GO_ON {
            self.manager.ready(status);
        }
        if std::mem::take(&mut self.again) {
            self.read_again();
        }
    }

    /// The links as a line.
    fn names(&self) -> String {
        let names: Vec<_> = self.links.iter().map(|link| link.now.config.name.as_str()).collect();
        format!("frames are moved: {}", names.join(", "))
    }
}

/// What the file says of every link, with all that the change needs laid out.
fn renewed(file: &GateFile, links: Vec<(ReadyLink, Secret)>) -> Result<Vec<Renewed>, Failure> {
    let Config { links: mut configs, source } =
        super::config::open(&file.path).map_err(Failure::input)?;
    source.map_or(Ok(()), |source| source.may_follow(file))?;
    super::may_be_awake(&configs)?;
    let mut renewed = Vec::new();
    for (link, secret) in links {
        let name = &link.config.name;
        let Some(at) = configs.iter().position(|config| config.name == *name) else {
            let why = format!(
                "{}: the link {name} is missing; end the gate and start it anew",
                file.path.display()
            );
            return Err(Failure::Input(why));
        };
        let config = configs.remove(at);
        config.may_follow(&link.config)?;
        let plan = config.plan(link.plan.mtu())?;
        // Flows are dealt to bins anew: what somebody has found out about who shares his is worth
        // nothing then.
        let [seed] = clock::random().map_err(Failure::runtime)?;
        let secret = Secret { seed, ..secret };
        let to = plan.instead_of(&link.plan, secret).map_err(|error| config.told(error))?;
        let change = Change { waits: config.waits, drain: config.drain, to };
        renewed.push((ReadyLink { config, plan, ends: link.ends }, Box::new(change)));
    }
    // The memory that was laid out for it is to stay in memory like that of the start. Where the
    // system refuses, so be it.
    let _ = host::keep_memory();
    match configs.first() {
        None => Ok(renewed),
        Some(config) => {
            let why = "is new; end the gate and start it anew";
            Err(config.told(tidegate::ConfigError::new("in", &config.settings.inner, why)))
        }
    }
}
