//! What looks after gates that run: it tells their news and has their file read again. The end does not wait for it:
//! that is wished by whoever hears the signal.
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender};
use std::thread;

use tidegate_gateway::plan::Secret;
use tidegate_gateway::pump::{Change, News, Side};

use super::account;
use super::notes::Pen;
use super::run::Ready;
use crate::failure::Failure;

/// How many news may wait to be told; what comes then is not told.
const NEWS: usize = 64;

/// What is wished of all gates: a number that every signal to end raises.
#[derive(Clone, Debug, Default)]
pub struct Wished(Arc<AtomicU8>);

impl Wished {
    /// Go on.
    pub const GO_ON: u8 = 0;
    /// Let leave what waits.
    pub const DRAIN: u8 = 1;
    /// End at once.
    const END: u8 = 2;

    /// One wishes the end. However often they do it stays the end.
    pub fn raise(&self) {
        let _ = self.0.fetch_update(Relaxed, Relaxed, |wish| Some(wish.saturating_add(1).min(Wished::END)));
    }

    /// All are to end at once.
    pub fn end(&self) {
        self.0.store(Wished::END, Relaxed);
    }

    /// Which of the above it is.
    pub fn now(&self) -> u8 {
        self.0.load(Relaxed)
    }
}

/// What the watch hears.
pub enum Event {
    /// The file is to be read again.
    ReadAgain,
    /// What it says, read and laid out.
    Renewed(Result<Vec<Renewed>, Failure>),
    /// Of the link of this number.
    News(usize, News),
    /// A link has ended: which and why, if it failed.
    Over(Option<String>),
}

/// What a link is to be from here on, and what the gate needs for it.
type Renewed = (Ready, Box<Change>);

/// Tells the watch, and never waits for it.
#[derive(Clone)]
pub struct Teller {
    to: Sender<Event>,
    untold: Arc<AtomicUsize>,
}

impl Teller {
    /// Tells whoever receives from the other end of `to`.
    pub fn new(to: Sender<Event>) -> Teller {
        Teller { to, untold: Arc::default() }
    }

    /// Whether somebody hears it.
    pub fn tell(&self, event: Event) -> bool {
        self.to.send(event).is_ok()
    }

    /// Tells news, if few wait to be told. What a gate needed before a change goes in any case: it may be gigabytes, and
    /// to free them here would keep frames waiting.
    pub fn news(&self, number: usize, news: News) {
        if matches!(news, News::Changed(..)) || self.untold.load(Relaxed) < NEWS {
            self.untold.fetch_add(1, Relaxed);
            self.tell(Event::News(number, news));
        }
    }
}

/// A link that runs.
pub struct Running {
    /// What it is.
    pub now: Ready,
    /// What it has been told to become, and has not yet.
    next: VecDeque<Ready>,
    /// Keys its hash, begins its dice.
    secret: Secret,
    /// Whither changes go.
    change: Sender<Box<Change>>,
}

impl Running {
    /// One that nothing new has been told.
    pub fn new(now: Ready, secret: Secret, change: Sender<Box<Change>>) -> Running {
        Running { now, next: VecDeque::new(), secret, change }
    }

    /// What it will be when it has done all that it was told.
    fn latest(&self) -> &Ready {
        self.next.back().unwrap_or(&self.now)
    }
}

/// Whether the file is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    No,
    Yes,
    /// And it is to be read once more then.
    Twice,
}

/// Looks after gates that run.
pub struct Watch {
    links: Vec<Running>,
    file: Option<PathBuf>,
    wished: Wished,
    teller: Teller,
    pen: Pen,
    reading: Reading,
}

impl Watch {
    /// Looks after `links`, which `file` was read for.
    pub fn new(links: Vec<Running>, file: Option<&Path>, wished: Wished, teller: Teller, pen: Pen) -> Watch {
        Watch { links, file: file.map(Path::to_path_buf), wished, teller, pen, reading: Reading::No }
    }

    /// Does so until all have ended; what each was in the end.
    pub fn until_all_are_over(mut self, events: &Receiver<Event>) -> Vec<Ready> {
        let mut running = self.links.len();
        while running > 0
            && let Ok(event) = events.recv()
        {
            match event {
                Event::ReadAgain => self.read_again(),
                Event::Renewed(renewed) => self.go_on_as(renewed),
                Event::News(number, news) => {
                    self.teller.untold.fetch_sub(1, Relaxed);
                    self.news(number, news);
                }
                Event::Over(why) => {
                    running -= 1;
                    // Of the last one it is told at the end, which is now.
                    if let Some(why) = why.filter(|_| running > 0) {
                        self.pen.note(format!("error: {why}\nthe other links go on"));
                    }
                }
            }
        }
        self.links.into_iter().map(|link| link.now).collect()
    }

    /// Tells news.
    fn news(&mut self, number: usize, news: News) {
        let several = self.links.len() > 1;
        let link = &mut self.links[number];
        if let News::Changed(..) = news
            && let Some(next) = link.next.pop_front()
        {
            link.now = next;
        }
        let config = &link.now.config;
        let name = |side: Side| [&config.settings.inner, &config.settings.outer][side as usize];
        let whose = if several { format!("{}: ", config.name) } else { String::new() };
        self.pen.note(match news {
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

    /// Has the file read again by a thread of its own, since that may take its time. One that ends goes on as it is.
    fn read_again(&mut self) {
        let Some(file) = self.file.clone() else { return };
        if self.is_ending() {
            return;
        }
        if self.reading != Reading::No {
            self.reading = Reading::Twice;
            return;
        }
        let links: Vec<_> = self.links.iter().map(|link| (link.latest().clone(), link.secret)).collect();
        let teller = self.teller.clone();
        let read = move || {
            teller.tell(Event::Renewed(renewed(&file, links)));
        };
        match thread::Builder::new().name("file".into()).spawn(read) {
            Ok(_) => self.reading = Reading::Yes,
            Err(error) => self.go_on_as(Err(Failure::runtime(error))),
        }
    }

    /// Whether the gates are ending, which is told then.
    fn is_ending(&self) -> bool {
        let ending = self.wished.now() != Wished::GO_ON;
        if ending {
            self.pen.note("the gate is ending; the file was not heeded");
        }
        ending
    }

    /// Either all links go on as the file says, or none does.
    fn go_on_as(&mut self, renewed: Result<Vec<Renewed>, Failure>) {
        let again = std::mem::replace(&mut self.reading, Reading::No) == Reading::Twice;
        match renewed {
            Ok(_) if self.is_ending() => return,
            Ok(renewed) => {
                for (link, (ready, to)) in self.links.iter_mut().zip(renewed) {
                    // One that has ended needs no change.
                    if link.change.send(to).is_ok() {
                        link.next.push_back(ready);
                    }
                }
            }
            Err(why) => {
                let why = why.why();
                self.pen.note(format!("error: {why}\nthe file was not heeded; everything goes on as before"));
            }
        }
        if again {
            self.read_again();
        }
    }
}

/// What the file says of every link, with all that the change needs laid out.
fn renewed(file: &Path, links: Vec<(Ready, Secret)>) -> Result<Vec<Renewed>, Failure> {
    let mut configs = super::config::open(file).map_err(Failure::input)?;
    super::may_be_awake(&configs)?;
    let mut renewed = Vec::new();
    for (link, secret) in links {
        let name = &link.config.name;
        let Some(at) = configs.iter().position(|config| config.name == *name) else {
            let why = format!("{}: the link {name} is missing; end the gate and start it anew", file.display());
            return Err(Failure::Input(why));
        };
        let config = configs.remove(at);
        config.may_follow(&link.config)?;
        let plan = config.plan(link.plan.mtu())?;
        let to = plan.instead_of(&link.plan, secret).map_err(|error| config.told(error))?;
        let change = Change { waits: config.waits, drain: config.drain, to };
        renewed.push((Ready { config, plan, ends: link.ends }, Box::new(change)));
    }
    match configs.first() {
        None => Ok(renewed),
        Some(config) => {
            let why = "is new; end the gate and start it anew";
            Err(config.told(tidegate::ConfigError::new("in", &config.settings.inner, why)))
        }
    }
}
