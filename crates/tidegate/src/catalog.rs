//! Every queue by name: one list, read by the command, the scenarios, the manual pages and the test
//! battery.
//!
//! The packet path is an enum, [`AnyQueue`], not a trait object.
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::ack::Ack;
use crate::config::{ConfigError, Param, Params};
pub use crate::entry::{DEFAULT_PRESET, Info, Linux, TARGET_RTT};
use crate::entry::{Entry, HashTable};
use crate::packet::{Asks, Packet};
use crate::qdisc::{Backlog, Gauge, Link, Qdisc, Sink};
use crate::queues::*;
use crate::rng::Rng;
use crate::units::{Span, Time};

/// One row of the catalog.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Row {
    /// The name that users write.
    pub name: &'static str,
    /// Its description.
    pub info: Info,
    /// Its parameters.
    pub params: &'static [Param],
    /// Linux's queue of this kind, if it has one.
    pub linux: Option<Linux>,
    /// Whether it marks most packets while all is well: see [`Entry::MARKS_MOST`].
    pub marks_most: bool,
    /// Its presets: name and description.
    pub presets: fn() -> Vec<(&'static str, &'static str)>,
    config: fn(&str, &Link) -> Option<AnyConfig>,
}

impl Row {
    /// Whether the queue has the parameter `param`.
    pub fn has(&self, param: &str) -> bool {
        self.params.iter().any(|known| known.name == param)
    }
}

macro_rules! catalog {
    ($($key:ident => $variant:ident),+ $(,)?) => {
        /// Any queue of the catalog.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        #[allow(clippy::large_enum_variant, reason = "one per link, and the packet path must not \
             chase a pointer")]
        pub enum AnyQueue { $(#[doc = concat!("`", stringify!($key), "`")] $variant($variant)),+ }

        /// The parameters of any queue of the catalog.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum AnyConfig {
            $(#[doc = concat!("`", stringify!($key), "`")] $variant(<$variant as Entry>::Config)),+
        }

        /// Every queue, in the order of the documentation.
        pub const QUEUES: &[Row] = &[$(Row {
            name: stringify!($key),
            info: <$variant as Entry>::INFO,
            linux: <$variant as Entry>::LINUX,
            marks_most: <$variant as Entry>::MARKS_MOST,
            params: <<$variant as Entry>::Config as Params>::PARAMS,
            presets: || <$variant as Entry>::PRESETS.iter().map(|p| (p.name, p.doc)).collect(),
            config: |preset, link| {
                let found = <$variant as Entry>::PRESETS.iter().find(|p| p.name == preset)?;
                Some(AnyConfig::$variant((found.config)(link)))
            },
        }),+];

        impl AnyQueue {
            /// Its row of the catalog.
            pub fn row(&self) -> &'static Row {
                let name = match self { $(AnyQueue::$variant(_) => stringify!($key)),+ };
                find(name).expect("every queue has a row")
            }
        }

        impl Qdisc for AnyQueue {
            #[inline]
            fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
                match self { $(AnyQueue::$variant(q) => q.enqueue(now, pkt, out)),+ }
            }
            fn enqueue_ack<S: Sink + ?Sized>(
                &mut self,
                now: Time,
                pkt: Packet,
                ack: &Ack,
                out: &mut S,
            ) {
                match self { $(AnyQueue::$variant(q) => q.enqueue_ack(now, pkt, ack, out)),+ }
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
                match self {
                    $(AnyConfig::$variant(c) => <$variant as Entry>::state_bytes(c, link)),+
                }
            }

            /// The hash table of flows, if there is one: see [`Entry::hash_table`].
            pub fn hash_table(&self) -> Option<HashTable> {
                match self { $(AnyConfig::$variant(c) => <$variant as Entry>::hash_table(c)),+ }
            }

            /// What the driver is to fill in besides the flow: see [`Entry::asks`].
            pub fn asks(&self) -> Asks {
                match self { $(AnyConfig::$variant(c) => <$variant as Entry>::asks(c)),+ }
            }

            /// How long a flow stays in the same hash bucket: see [`Entry::bucket_lifetime`].
            pub fn bucket_lifetime(&self) -> Option<Span> {
                match self {
                    $(AnyConfig::$variant(c) => <$variant as Entry>::bucket_lifetime(c)),+
                }
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
    cobalt => Cobalt,
    fq_codel => FqCodel,
    cake => Cake,
    pie => Pie,
    dualpi2 => DualPi2,
    wfq => Wfq,
    ewfq => Ewfq,
    afd => Afd,
    choke => Choke,
    drr => Drr,
    sfq => Sfq,
    sfq_red => SfqRed,
    sfred => Sfred,
    fq_pie => FqPie,
    hhf => Hhf,
    afq => Afq,
    tide => Tide,
    cebinae => Cebinae,
    bc_pqp => BcPqp,
    hcsfq => Hcsfq,
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
        let why = format!(
            "no such preset of {name}; known are {known}; {name} alone means {DEFAULT_PRESET}"
        );
        ConfigError::new("preset", chosen, why)
    })
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
