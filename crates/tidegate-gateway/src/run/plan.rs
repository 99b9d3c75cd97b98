//! What a gateway is to do, checked before any network is touched.
use tidegate::{Bytes, ConfigError, Packet, Rng, Size, Span};

use crate::device::port::HEADER;
use crate::device::ring::PacketRing;
use crate::path::delay::DelayLine;
use crate::path::gate::back::BackDirection;
use crate::path::gate::{BackRenewal, Renewal};
use crate::path::lane::Lane;
use crate::path::pool::FramePool;
use crate::path::waiting::WaitingFrames;
use crate::path::wire::UnmanagedWire;
use crate::run::way::{Secret, Way, open_cells};
use crate::watch::observer::Observer;

/// The longest delay that the delay lines make.
const LONGEST_DELAY: Span = Span::from_millis(2000);
/// The most memory for waiting frames that is meant seriously, in bytes.
const MOST_MEMORY: u64 = 8_000_000_000;
/// What a queue takes for each frame that waits, in bytes. A list that doubles when it is full is
/// at least half full. All that it has outgrown, which the allocator may keep, is together as much
/// again.
const WAITING: u64 = 4 * size_of::<Packet>() as u64;
/// The least MTU of IPv4 (RFC 791), and the most of Linux.
const MTU: (u32, u32) = (68, 65_535);
/// The longest name of an interface, in bytes.
const LONGEST_NAME: usize = 15;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The interface on the side that floods come from.
    pub inner: String,
    /// The interface that the protected link leads to.
    pub outer: String,
    /// From the inner interface to the outer.
    pub there: Way,
    /// Back, if that direction is managed, too.
    pub back: Option<Way>,
    /// How long frames are under way, after the queue and where there is none.
    pub delay: Span,
}

/// What is to be done, all of it checked.
#[derive(Clone, Debug)]
pub struct GatePlan {
    settings: Settings,
    mtu: u32,
    /// Cells for what waits and is under way in the one direction and in the other.
    cells: [u32; 2],
}

impl GatePlan {
    /// A plan for two interfaces of this `mtu`, in bytes.
    ///
    /// # Errors
    /// Names the field, its value and the bound; a field of the managed way back begins with
    /// `back.`.
    pub fn new(settings: Settings, mtu: u32) -> Result<GatePlan, ConfigError> {
        names(&settings)?;
        if settings.delay > LONGEST_DELAY {
            return Err(ConfigError::new(
                "delay",
                settings.delay,
                format!("must be at most {LONGEST_DELAY}"),
            ));
        }
        if !(MTU.0..=MTU.1).contains(&mtu) {
            return Err(ConfigError::new(
                "mtu",
                mtu,
                format!("must lie in {} to {} bytes", MTU.0, MTU.1),
            ));
        }
        let there = settings.there.cells(settings.delay, mtu);
        let back = settings
            .back
            .as_ref()
            .map_or(open_cells(settings.delay), |way| way.cells(settings.delay, mtu));
        for (prefix, way) in settings.ways() {
            let named = |error: ConfigError| ConfigError {
                field: format!("{prefix}{}", error.field),
                ..error
            };
            way.queue.build(way.link, Rng::from_seed(0)).map_err(named)?;
        }
        let needed = FramePool::memory(there.saturating_add(back));
        if needed > MOST_MEMORY {
            // Whoever asks for more is told of it.
            let (field, way) = match &settings.back {
                Some(way) if back > there => ("back.limit", way),
                _ => ("limit", &settings.there),
            };
            let (needed, most) = (Bytes::new(needed), Bytes::new(MOST_MEMORY));
            let why = format!(
                "with delay {} needs {needed} for frames; may be at most {most}",
                settings.delay
            );
            return Err(ConfigError::new(field, way.link.limit, why));
        }
        Ok(GatePlan { settings, mtu, cells: [there as u32, back as u32] })
    }

    /// What was asked for.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The most that the interfaces carry in a packet, in bytes.
    pub fn mtu(&self) -> u32 {
        self.mtu
    }

    /// The two directions, empty. `observer` observes the managed one, and its like the other.
    ///
    /// # Errors
    /// A queue cannot be built; [`new`](GatePlan::new) has tried.
    pub fn lanes<W: Observer + Default>(
        &self,
        secret: Secret,
        observer: W,
    ) -> Result<(Lane<W>, BackDirection<W>), ConfigError> {
        self.lanes_seen_by(secret, [observer, W::default()])
    }

    /// The two directions, empty. The one of `observers` observes the managed one, and the other
    /// the way back if that is managed, too.
    ///
    /// # Errors
    /// A queue cannot be built; [`new`](GatePlan::new) has tried.
    pub fn lanes_seen_by<W: Observer>(
        &self,
        secret: Secret,
        [observer, of_back]: [W; 2],
    ) -> Result<(Lane<W>, BackDirection<W>), ConfigError> {
        let Settings { there: way, back: way_back, .. } = &self.settings;
        let Renewal { there, back } = self.renewal(secret, self.cells)?;
        let back = match (back, way_back) {
            (BackRenewal::Lane(managed), Some(way)) => {
                BackDirection::Lane(Lane::new(managed, of_back).paced(&way.paced)?)
            }
            (BackRenewal::Lane(managed), None) => BackDirection::Lane(Lane::new(managed, of_back)),
            (BackRenewal::Wire(wire), _) => BackDirection::Wire(wire),
        };
        Ok((Lane::new(there, observer).paced(&way.paced)?, back))
    }

    /// What a gate is to become that goes by `old`. The flows' hash keeps its key; with another
    /// seed flows are dealt to bins anew.
    ///
    /// # Errors
    /// What cannot be otherwise in a gate that runs, by field.
    pub fn instead_of(&self, old: &GatePlan, secret: Secret) -> Result<Renewal, ConfigError> {
        const ANEW: &str = "cannot be otherwise while the gate runs; end it and start it anew";
        let (new, was) = (&self.settings, &old.settings);
        for (field, value, same) in [
            ("in", &new.inner, new.inner == was.inner),
            ("out", &new.outer, new.outer == was.outer),
        ] {
            if !same {
                return Err(ConfigError::new(field, value, ANEW));
            }
        }
        if new.back.is_some() != was.back.is_some() {
            let found = if new.back.is_some() { "managed" } else { "not managed" };
            return Err(ConfigError::new("back", found, ANEW));
        }
        // A queue that does not hand over what waits keeps it until it has left; the new one needs
        // its own room.
        let mut cells = self.cells;
        for ((at, (_, new)), (_, was)) in [0, 1].into_iter().zip(new.ways()).zip(was.ways()) {
            if !new.takes_over(was)? {
                cells[at] = cells[at].saturating_add(old.cells[at]);
            }
        }
        let needed = self.lines_memory(cells);
        let room =
            needed <= MOST_MEMORY && Vec::<u8>::new().try_reserve_exact(needed as usize).is_ok();
        if !room {
            let why = format!(
                "needs {} with what waits in the queue before it; end the gate and start it anew, \
                 or change less at a time",
                Bytes::new(needed)
            );
            return Err(ConfigError::new("limit", new.there.link.limit, why));
        }
        self.renewal(secret, cells)
    }

    fn renewal(&self, secret: Secret, cells: [u32; 2]) -> Result<Renewal, ConfigError> {
        let Settings { there, back, delay, .. } = &self.settings;
        let pools = cells.map(|cells| FramePool::new(cells, self.longest()));
        let [pool, back_pool] = pools;
        let back = match back {
            None => BackRenewal::Wire(UnmanagedWire::new(*delay, back_pool)),
            // The dice of the two directions fall apart.
            Some(way) => BackRenewal::Lane(way.managed(
                Secret { seed: !secret.seed, ..secret },
                *delay,
                back_pool,
            )?),
        };
        Ok(Renewal { there: there.managed(secret, *delay, pool)?, back })
    }

    /// The most memory that a gate takes, in bytes: what is [laid out](GatePlan::laid_out), the
    /// queues' state, and what the queues keep of each frame that waits.
    pub fn memory(&self) -> u64 {
        let kept = |((_, way), cells): ((&str, &Way), u32)| {
            let frames = match way.link.limit {
                Size::Packets(packets) => way.lines_within_limit() * packets.min(cells.into()),
                Size::Bytes(_) => cells.into(),
            };
            way.queue.state_bytes(&way.link) + frames * WAITING
        };
        self.laid_out() + self.settings.ways().zip(self.cells).map(kept).sum::<u64>()
    }

    /// What of that is there from the start: the cells of waiting frames, their order, the delay
    /// lines and both receive rings.
    pub fn laid_out(&self) -> u64 {
        self.lines_memory(self.cells) + 2 * PacketRing::memory(self.mtu)
    }

    /// The plan as pairs of a name and a text, for people and programs.
    pub fn lines(&self) -> Vec<(String, String)> {
        let Settings { inner, outer, delay, .. } = &self.settings;
        let mut lines = vec![("in".into(), inner.clone()), ("out".into(), outer.clone())];
        for (prefix, way) in self.settings.ways() {
            lines.extend(
                way.lines().into_iter().map(|(name, text)| (format!("{prefix}{name}"), text)),
            );
        }
        lines.extend([
            ("delay".into(), delay.to_string()),
            ("mtu".into(), Bytes::new(self.mtu as u64).to_string()),
            ("memory_at_most".into(), Bytes::new(self.memory()).to_string()),
        ]);
        lines
    }

    /// What so many cells of waiting frames take in both directions, with the delay lines and the
    /// frames' order, in bytes.
    fn lines_memory(&self, cells: [u32; 2]) -> u64 {
        let cells = cells.map(u64::from);
        let ordered =
            self.settings.ways().zip(cells).map(|(_, cells)| WaitingFrames::memory(cells));
        cells.map(|cells| FramePool::memory(cells) + DelayLine::memory(cells)).iter().sum::<u64>()
            + ordered.sum::<u64>()
    }

    fn longest(&self) -> u32 {
        self.mtu + HEADER
    }
}

impl Settings {
    /// The managed directions, each with what its fields begin with.
    pub fn ways(&self) -> impl Iterator<Item = (&'static str, &Way)> {
        [("", &self.there)].into_iter().chain(self.back.iter().map(|way| ("back.", way)))
    }
}

fn names(settings: &Settings) -> Result<(), ConfigError> {
    for (field, name) in [("in", &settings.inner), ("out", &settings.outer)] {
        let fits = (1..=LONGEST_NAME).contains(&name.len()) && name != "." && name != "..";
        if !fits
            || name.contains(|c: char| c == '/' || c == ':' || c.is_whitespace() || c.is_control())
        {
            let why = format!("must be the name of an interface, 1 to {LONGEST_NAME} bytes");
            return Err(ConfigError::new(field, name, why));
        }
    }
    if settings.inner == settings.outer {
        Err(ConfigError::new("out", &settings.outer, "must be another interface than `in`"))
    } else {
        Ok(())
    }
}
