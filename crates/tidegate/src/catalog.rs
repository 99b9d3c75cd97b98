//! Every queue by name: one list, read by the command, the scenarios, the manual pages and the test
//! battery.
//!
//! The packet path is an enum, [`AnyQueue`], not a trait object.
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::config::{ConfigError, Param, Params};
use crate::packet::Packet;
use crate::qdisc::{Backlog, Gauge, Link, Qdisc, Sink};
use crate::queues::*;
use crate::rng::Rng;
use crate::units::{Span, Time};

/// The round-trip time that every preset `auto` assumes of the flows on a link.
pub const TARGET_RTT: Span = Span::from_millis(100);

/// How many hash places a preset `auto` gives a queue that deals flows to them in sets of [`WAYS`]:
/// four for each packet that is in flight in [`TARGET_RTT`], as a power of two from 1024 to 16,384.
/// So many flows can the line serve with a packet a round trip; were all of them busy, a set would
/// hold two in the mean, and more than eight in one of four thousand (from 500 Mbit/s on more).
///
/// ```
/// use tidegate::{Link, catalog};
/// let places = |rate: &str| Ok::<u32, Box<dyn std::error::Error>>(catalog::places(&Link::new(rate.parse()?, "1 MB".parse()?, "1500 B".parse()?)?));
/// assert_eq!((places("20 Mbit/s")?, places("155 Mbit/s")?, places("1 Gbit/s")?), (1024, 8192, 16_384));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn places(link: &Link) -> u32 {
    let in_flight = link.packets_per_second() * TARGET_RTT.as_secs();
    ((4.0 * in_flight).clamp(1024.0, 16_384.0) as u32).next_power_of_two()
}

/// In sets of how many places they are: with eight, two flows share one only while all eight are
/// busy.
pub const WAYS: u32 = 8;

/// The preset that a queue's name means if none is named: fitted to the line that the queue is
/// built for.
pub const DEFAULT_PRESET: &str = "auto";

/// As long as a queue lives.
pub const FOR_GOOD: Span = Span::from_nanos(u64::MAX);

/// What is known of a queue besides its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// One line: what it is.
    pub title: &'static str,
    /// The paper's key: author and year.
    pub paper: &'static str,
    /// The manual page, in Markdown.
    pub manual: &'static str,
}

/// A named set of values for a queue's parameters, scaled to the link where it says so.
pub struct Preset<C> {
    /// The name that users write after the slash.
    pub name: &'static str,
    /// Where the values come from.
    pub doc: &'static str,
    /// The values for this link.
    pub config: fn(&Link) -> C,
}

/// What a queue must offer to be in the catalog.
pub trait Entry: Qdisc + Sized {
    /// Its parameters.
    type Config: Params;
    /// Its description.
    const INFO: Info;
    /// Its presets. Every queue has `paper` and `auto`, which is [`DEFAULT_PRESET`].
    const PRESETS: &'static [Preset<Self::Config>];
    /// Builds it, empty, for `link`.
    ///
    /// # Errors
    /// Names the parameter, its value and the bound.
    fn build(config: &Self::Config, link: Link, dice: Rng) -> Result<Self, ConfigError>;
    /// State besides the waiting packets at its largest, in bytes: what an operator must have.
    fn state_bytes(config: &Self::Config, link: &Link) -> u64;
    /// For how long a flow keeps the place that a hash of its key deals it, [`FOR_GOOD`] if for
    /// ever; `None` if there are no places, or if other keys would make the queue forget whom
    /// it has found out. Somebody who watches his own packets for so long finds out who
    /// shares whose place. Where that is long, whoever drives the queue does well to give flows
    /// other keys now and then: all that the queue knows of a flow is what its place has, and
    /// it knows as much of the next one soon.
    fn places_last(_config: &Self::Config) -> Option<Span> {
        None
    }
    /// How many places it deals flows to, and in sets of how many; `None` if it deals none.
    fn places(_config: &Self::Config) -> Option<(u32, u32)> {
        None
    }
}

/// One row of the catalog.
#[derive(Clone, Copy)]
pub struct Row {
    /// The name that users write.
    pub name: &'static str,
    /// Its description.
    pub info: Info,
    /// Its parameters.
    pub params: &'static [Param],
    /// Its presets: name and description.
    pub presets: fn() -> Vec<(&'static str, &'static str)>,
    config: fn(&str, &Link) -> Option<AnyConfig>,
}

macro_rules! catalog {
    ($($key:ident => $variant:ident),+ $(,)?) => {
        /// Any queue of the catalog.
        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant, reason = "one per link, and the packet path must not chase a pointer")]
        pub enum AnyQueue { $(#[doc = concat!("`", stringify!($key), "`")] $variant($variant)),+ }

        /// The parameters of any queue of the catalog.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AnyConfig { $(#[doc = concat!("`", stringify!($key), "`")] $variant(<$variant as Entry>::Config)),+ }

        /// Every queue, in the order of the documentation.
        pub const QUEUES: &[Row] = &[$(Row {
            name: stringify!($key),
            info: <$variant as Entry>::INFO,
            params: <<$variant as Entry>::Config as Params>::PARAMS,
            presets: || <$variant as Entry>::PRESETS.iter().map(|p| (p.name, p.doc)).collect(),
            config: |preset, link| {
                let found = <$variant as Entry>::PRESETS.iter().find(|p| p.name == preset)?;
                Some(AnyConfig::$variant((found.config)(link)))
            },
        }),+];

        impl Qdisc for AnyQueue {
            #[inline]
            fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
                match self { $(AnyQueue::$variant(q) => q.enqueue(now, pkt, out)),+ }
            }
            #[inline]
            fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
                match self { $(AnyQueue::$variant(q) => q.dequeue(now, out)),+ }
            }
            fn advance(&mut self, now: Time) {
                match self { $(AnyQueue::$variant(q) => q.advance(now)),+ }
            }
            #[inline]
            fn wake_at(&self) -> Option<Time> {
                match self { $(AnyQueue::$variant(q) => q.wake_at()),+ }
            }
            #[inline]
            fn backlog(&self) -> Backlog {
                match self { $(AnyQueue::$variant(q) => q.backlog()),+ }
            }
            /// Also if `old` is of another kind: then it does not.
            fn inherit(&mut self, old: &mut AnyQueue) -> bool {
                match (self, old) {
                    $((AnyQueue::$variant(q), AnyQueue::$variant(old)) => q.inherit(old),)+
                    _ => false,
                }
            }
            fn probe(&self, see: &mut dyn FnMut(Gauge)) {
                match self { $(AnyQueue::$variant(q) => q.probe(see)),+ }
            }
        }

        impl AnyConfig {
            /// The queue's name.
            pub fn name(&self) -> &'static str {
                match self { $(AnyConfig::$variant(_) => stringify!($key)),+ }
            }

            /// Sets a parameter from text; on error nothing changes.
            ///
            /// # Errors
            /// An unknown parameter, a text that is no such value, a value out of bounds.
            pub fn set(&mut self, param: &str, text: &str) -> Result<(), ConfigError> {
                match self { $(AnyConfig::$variant(c) => c.set(param, text)),+ }
            }

            /// A parameter as text.
            pub fn get(&self, param: &str) -> Option<String> {
                match self { $(AnyConfig::$variant(c) => c.get(param)),+ }
            }

            /// Builds the queue, empty, for `link`.
            ///
            /// # Errors
            /// Names the parameter, its value and the bound.
            pub fn build(&self, link: Link, dice: Rng) -> Result<AnyQueue, ConfigError> {
                match self {
                    $(AnyConfig::$variant(c) => {
                        c.check()?;
                        <$variant as Entry>::build(c, link, dice).map(AnyQueue::$variant)
                    }),+
                }
            }

            /// State besides the waiting packets at its largest, in bytes.
            pub fn state_bytes(&self, link: &Link) -> u64 {
                match self { $(AnyConfig::$variant(c) => <$variant as Entry>::state_bytes(c, link)),+ }
            }

            /// How many places flows are dealt to, and in sets of how many: see [`Entry::places`].
            pub fn places(&self) -> Option<(u32, u32)> {
                match self { $(AnyConfig::$variant(c) => <$variant as Entry>::places(c)),+ }
            }

            /// For how long a flow keeps the place that a hash of its key deals it: see [`Entry::places_last`].
            pub fn places_last(&self) -> Option<Span> {
                match self { $(AnyConfig::$variant(c) => <$variant as Entry>::places_last(c)),+ }
            }
        }
    };
}

catalog! {
    drop_tail => DropTail,
    red => Red,
    ared => Ared,
    feng_red => FengRed,
    blue => Blue,
    sfb => Sfb,
    care => Care,
    rem => Rem,
    black => Black,
    purge => Purge,
    bare => Bare,
    fred => Fred,
    sred => Sred,
    red_pd => RedPd,
    csfq => Csfq,
    codel => Codel,
    fq_codel => FqCodel,
    pie => Pie,
    wfq => Wfq,
    ewfq => Ewfq,
    afd => Afd,
    choke => Choke,
    drr => Drr,
    sfq => Sfq,
    sfq_red => SfqRed,
    sfred => Sfred,
}

impl AnyConfig {
    /// The queue's row in the catalog.
    pub fn row(&self) -> &'static Row {
        find(self.name()).expect("every config has a row")
    }

    /// Every parameter with its value as text, in the order of the manual page.
    pub fn values(&self) -> Vec<(&'static Param, String)> {
        self.row().params.iter().map(|p| (p, self.get(p.name).unwrap_or_default())).collect()
    }
}

/// The row of the queue called `name`.
pub fn find(name: &str) -> Option<&'static Row> {
    QUEUES.iter().find(|row| row.name == name)
}

/// The parameters of the queue `name` as its preset `preset` gives them for `link`; without a
/// preset, [`DEFAULT_PRESET`].
///
/// # Errors
/// An unknown queue (`field` is `queue`) or preset (`field` is `preset`); `why` lists the known
/// ones.
pub fn config(name: &str, preset: Option<&str>, link: &Link) -> Result<AnyConfig, ConfigError> {
    let Some(row) = find(name) else {
        return Err(ConfigError::new(
            "queue",
            name,
            format!("no such queue; known are {}", list(QUEUES.iter().map(|r| r.name))),
        ));
    };
    let chosen = preset.unwrap_or(DEFAULT_PRESET);
    (row.config)(chosen, link).ok_or_else(|| {
        let known = list((row.presets)().iter().map(|p| p.0));
        ConfigError::new("preset", chosen, format!("no such preset of {name}; known are {known}"))
    })
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
