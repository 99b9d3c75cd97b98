//! What a queue offers to the catalog: its parameters, presets, manual page and size.
//!
//! Queues import this file; the [catalog](crate::catalog) imports the queues.
use crate::config::{ConfigError, Params};
use crate::packet::Asks;
use crate::qdisc::{Link, Qdisc};
use crate::rng::Rng;
use crate::units::Span;

/// The round-trip time that every preset `auto` assumes.
pub const TARGET_RTT: Span = Span::from_millis(100);

/// The preset of a queue whose name comes without one: fitted to the link.
pub const DEFAULT_PRESET: &str = "auto";

/// A lifetime without end.
pub const FOREVER: Span = Span::from_nanos(u64::MAX);

/// The associativity of hash tables in presets `auto`. Two flows share a bucket only while all
/// eight buckets of their set are busy.
pub const WAYS: u32 = 8;

/// The number of hash buckets in presets `auto` of queues with [`WAYS`] buckets to a set.
///
/// It is four buckets per packet in flight during [`TARGET_RTT`], as a power of two from 1024 to
/// 16,384. The link can serve at most that many flows with a packet per round trip. If all of them
/// were busy, a set would hold two on average; one set in four thousand would hold more than eight.
/// Above 500 Mbit/s the cap makes sets fuller.
///
/// ```
/// use tidegate::{Link, entry::auto_buckets};
/// let buckets = |rate: &str| {
///     let link = Link::new(rate.parse()?, "1 MB".parse()?, "1500 B".parse()?)?;
///     Ok::<u32, Box<dyn std::error::Error>>(auto_buckets(&link))
/// };
/// assert_eq!(
///     (buckets("20 Mbit/s")?, buckets("155 Mbit/s")?, buckets("1 Gbit/s")?),
///     (1024, 8192, 16_384)
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn auto_buckets(link: &Link) -> u32 {
    let in_flight = link.packets_per_second() * TARGET_RTT.as_secs();
    ((4.0 * in_flight).clamp(1024.0, 16_384.0) as u32).next_power_of_two()
}

/// The shape of a hash table of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashTable {
    /// The number of buckets.
    pub buckets: u32,
    /// The number of buckets in each set; 1 if a flow has only one bucket to go to.
    pub ways: u32,
}

/// What is known of a queue besides its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// What the queue is, in one line.
    pub title: &'static str,
    /// The paper's key: author and year.
    pub paper: &'static str,
    /// The manual page, in Markdown.
    pub manual: &'static str,
}

/// How Linux's `tc` sets up a queue that Linux has.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Linux {
    /// What follows `tc qdisc replace dev DEV root`. A parameter stands in braces, behind a colon
    /// the unit that `tc` counts it in: `{target:us}`. `{limit:…}`, `{rate}` and `{packet}` are the
    /// link's. Empty where Linux has the queue only inside another.
    pub tc: &'static str,
    /// The preset whose values these are: that of the queue's name alone, unless Linux's queue is
    /// another preset of ours.
    pub preset: &'static str,
    /// What differs, or inside which other queue it is, in one line.
    pub differs: &'static str,
    /// Whether that line does it, or classes and filters must follow.
    pub whole: bool,
}

impl Linux {
    /// A queue that Linux has only inside another, as `differs` says.
    pub(crate) const fn only_inside(differs: &'static str) -> Linux {
        Linux { tc: "", preset: DEFAULT_PRESET, differs, whole: false }
    }

    /// Whether `tc` can set it.
    pub const fn has_line(&self) -> bool {
        !self.tc.is_empty()
    }
}

/// A named set of parameter values, computed for a link.
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
    /// Its presets. Every queue has `paper` and [`auto`](DEFAULT_PRESET).
    const PRESETS: &'static [Preset<Self::Config>];
    /// Linux's queue of this kind; `None` if it has none.
    const LINUX: Option<Linux> = None;
    /// Whether it marks most packets while all is well, as for scalable senders, and drops by
    /// itself where marks no longer help (deschepper2023 §4.2).
    const MARKS_MOST: bool = false;
    /// Builds an empty queue for `link`.
    ///
    /// # Errors
    /// Names the parameter, its value and the bound.
    fn build(config: &Self::Config, link: Link, dice: Rng) -> Result<Self, ConfigError>;
    /// The largest state besides the waiting packets, in bytes.
    fn state_bytes(config: &Self::Config, link: &Link) -> u64;
    /// How long a flow stays in the same hash bucket.
    ///
    /// [`FOREVER`] if the hash never changes. `None` if the queue does not hash flows, or if
    /// re-keying would erase what it has learned about unresponsive flows. Within that time an
    /// attacker who measures his own delay can find out which flows share a bucket. If it is long,
    /// the driver should re-key the flows from time to time. The queue loses only what the buckets
    /// hold, and learns that again quickly.
    fn bucket_lifetime(_config: &Self::Config) -> Option<Span> {
        None
    }
    /// The hash table of flows; `None` if there is none.
    fn hash_table(_config: &Self::Config) -> Option<HashTable> {
        None
    }
    /// What the driver is to fill in besides the flow.
    fn asks(_config: &Self::Config) -> Asks {
        Asks::default()
    }
}
