//! What a gateway is to do, checked before any network is touched.
use tidegate::catalog::AnyConfig;
use tidegate::{Bytes, ConfigError, Link, Packet, Rate, Rng, Size, Span};
use tidegate_packet::{FlowHasher, FlowKey};

use crate::delay::DelayLine;
use crate::lane::{Lane, Managed};
use crate::overhead::Overhead;
use crate::pool::{CELL, Pool};
use crate::ring::Ring;
use crate::wire::Wire;
use crate::witness::Witness;

/// The longest delay that the delay lines make.
const LONGEST_DELAY: Span = Span::from_millis(2000);
/// The most memory for waiting frames that is meant seriously, in bytes.
const MOST_MEMORY: u64 = 8_000_000_000;
/// What a queue keeps of each frame that waits, in bytes: a list that doubles when it is full is at least half full.
const WAITING: u64 = 2 * size_of::<Packet>() as u64;
/// The shortest frame that a limit in bytes is laid out for: the least of Ethernet, without its check sequence.
const SHORT: u64 = 60;
/// Frames and bytes a second that the reverse direction is laid out for, which nothing limits but this machine.
const REVERSE: (Rate, u64) = (Rate::from_bps(10_000_000_000), 1_000_000);
/// The least MTU of IPv4 (RFC 791), and the most of Linux.
const MTU: (u32, u32) = (68, 65_535);
/// An Ethernet header and two tags, which an MTU leaves out, in bytes.
const HEADER: u32 = 14 + 2 * 4;
/// The longest name of an interface, in bytes.
const LONGEST_NAME: usize = 15;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The interface on the side that floods come from.
    pub inner: String,
    /// The interface that the protected link leads to.
    pub outer: String,
    /// The queue's link: rate, hard limit, mean packet.
    pub link: Link,
    /// The queue with its parameters on that link.
    pub queue: AnyConfig,
    /// What to call it.
    pub label: String,
    /// Which frames are one flow.
    pub flow_key: FlowKey,
    /// What a frame takes on the wire beyond its bytes.
    pub overhead: Overhead,
    /// How long frames are under way after the queue, and in the reverse direction.
    pub delay: Span,
}

/// What is to be done, all of it checked.
#[derive(Clone, Debug)]
pub struct Plan {
    settings: Settings,
    mtu: u32,
    managed_cells: u32,
    reverse_cells: u32,
}

impl Plan {
    /// A plan for two interfaces of this `mtu`, in bytes.
    ///
    /// # Errors
    /// Names the field, its value and the bound.
    pub fn new(settings: Settings, mtu: u32) -> Result<Plan, ConfigError> {
        names(&settings)?;
        if settings.delay > LONGEST_DELAY {
            return Err(ConfigError::new("delay", settings.delay, format!("must be at most {LONGEST_DELAY}")));
        }
        if !(MTU.0..=MTU.1).contains(&mtu) {
            return Err(ConfigError::new("mtu", mtu, format!("must lie in {} to {} bytes", MTU.0, MTU.1)));
        }
        settings.queue.build(settings.link, Rng::from_seed(0))?;
        let (managed, reverse) = (managed_cells(&settings, mtu), reverse_cells(settings.delay));
        if Pool::memory(managed + reverse) > MOST_MEMORY {
            let needed = Bytes::new(Pool::memory(managed + reverse));
            let why = format!(
                "with delay {} needs {needed} for frames; may be at most {}",
                settings.delay,
                Bytes::new(MOST_MEMORY)
            );
            return Err(ConfigError::new("limit", settings.link.limit, why));
        }
        Ok(Plan { settings, mtu, managed_cells: managed as u32, reverse_cells: reverse as u32 })
    }

    /// What was asked for.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The two directions, empty. `secret` keys the hash of flows and `seed` the queue's dice; who can guess neither
    /// cannot aim at a bin.
    ///
    /// # Errors
    /// The queue cannot be built; [`new`](Plan::new) has tried.
    pub fn lanes<W: Witness>(&self, secret: [u64; 2], seed: u64, witness: W) -> Result<(Lane<W>, Wire), ConfigError> {
        let Settings { link, queue, flow_key, overhead, delay, .. } = &self.settings;
        let managed = Managed {
            queue: queue.build(*link, Rng::from_seed(seed))?,
            rate: link.rate,
            overhead: *overhead,
            hasher: FlowHasher::new(*flow_key, secret),
            delay: *delay,
            pool: Pool::new(self.managed_cells, self.longest()),
        };
        Ok((Lane::new(managed, witness), Wire::new(*delay, Pool::new(self.reverse_cells, self.longest()))))
    }

    /// The most memory that a gate takes, in bytes: what is [laid out](Plan::laid_out), the queue's state, and what the
    /// queue keeps of each frame that waits.
    pub fn memory(&self) -> u64 {
        let link = &self.settings.link;
        let frames = match link.limit {
            Size::Packets(packets) => packets.min(self.managed_cells.into()),
            Size::Bytes(_) => self.managed_cells.into(),
        };
        self.laid_out() + self.settings.queue.state_bytes(link) + frames * WAITING
    }

    /// What of that is there from the start: the cells of waiting frames, the delay lines and both receive rings.
    pub fn laid_out(&self) -> u64 {
        let directions = [self.managed_cells, self.reverse_cells].map(u64::from);
        let lines = directions.map(|cells| Pool::memory(cells) + DelayLine::memory(cells));
        lines.iter().sum::<u64>() + 2 * Ring::memory(self.mtu)
    }

    /// The plan as pairs of a name and a text, for people and programs.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let Settings { inner, outer, link, queue, label, flow_key, overhead, delay } = &self.settings;
        let parameters: Vec<_> = queue.values().iter().map(|(p, value)| format!("{} = {value}", p.name)).collect();
        let mut lines = vec![
            ("in", inner.clone()),
            ("out", outer.clone()),
            ("rate", link.rate.to_string()),
            ("limit", link.limit.to_string()),
            ("mean_packet", link.mean_packet.to_string()),
            ("queue", label.clone()),
        ];
        if !parameters.is_empty() {
            lines.push(("parameters", parameters.join(", ")));
        }
        lines.extend([
            ("flow_key", flow_key.to_string()),
            ("overhead", overhead.to_string()),
            ("delay", delay.to_string()),
            ("mtu", Bytes::new(self.mtu as u64).to_string()),
            ("memory_at_most", Bytes::new(self.memory()).to_string()),
        ]);
        lines
    }

    fn longest(&self) -> u32 {
        self.mtu + HEADER
    }
}

fn names(settings: &Settings) -> Result<(), ConfigError> {
    for (field, name) in [("in", &settings.inner), ("out", &settings.outer)] {
        let fits = (1..=LONGEST_NAME).contains(&name.len()) && name != "." && name != "..";
        if !fits || name.contains(|c: char| c == '/' || c == ':' || c.is_whitespace() || c.is_control()) {
            let why = format!("must be the name of an interface, 1 to {LONGEST_NAME} bytes");
            return Err(ConfigError::new(field, name, why));
        }
    }
    match settings.inner == settings.outer {
        true => Err(ConfigError::new("out", &settings.outer, "must be another interface than `in`")),
        false => Ok(()),
    }
}

/// Cells for what the queue's limit lets wait, and for what its link sends during the delay.
fn managed_cells(settings: &Settings, mtu: u32) -> u64 {
    let longest = Pool::cells_for(mtu + HEADER) as u64;
    let waiting = match settings.link.limit {
        Size::Packets(packets) => packets.saturating_mul(longest),
        Size::Bytes(bytes) => bytes.div_ceil(SHORT),
    };
    // One more that arrives, and one more at each end of the delay line.
    waiting
        .saturating_add(settings.link.rate.bytes_in(settings.delay).get().div_ceil(SHORT))
        .saturating_add(3 * longest)
}

/// Cells for what comes back during the delay: one for each frame begun, and one for every cell's worth of bytes.
fn reverse_cells(delay: Span) -> u64 {
    let frames = (REVERSE.1 as f64 * delay.as_secs()) as u64;
    REVERSE.0.bytes_in(delay).get() / CELL as u64 + frames
}
