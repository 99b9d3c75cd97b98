//! A managed direction as it is asked for: its link, its queue, its classes.
use tidegate::catalog::{self, AnyConfig};
use tidegate::config::{Param, Params};
use tidegate::{Bytes, ConfigError, Link, Qdisc, Rate, Rng, Size, Span};
use tidegate_packet::{FlowHasher, FlowKey, Prefix};

use crate::device::port::HEADER;
use crate::path::delay::DelayLine;
use crate::path::lane::LaneParts;
use crate::path::overhead::Overhead;
use crate::path::pace::Paced;
use crate::path::pool::{CELL, FramePool};
use crate::path::rehash::{Keys, Rehash};
use crate::path::sort::{BY_CLASS, Class, Sorter};
use crate::watch::fair::Sharing;
use crate::watch::meter::Meter;
use crate::watch::offenders::OffenderRules;

/// The shortest frame that a limit in bytes is laid out for: the least of Ethernet, without its
/// check sequence.
const SHORT: u64 = 60;
/// The link of a direction that nothing limits, for what asks: rate, limit, mean packet. Nothing
/// waits for it.
const OPEN: (Rate, Size, Bytes) =
    (Rate::from_bps(10_000_000_000), Size::Packets(100), Bytes::new(1000));
/// A direction that only this machine limits is laid out for so many frames a second.
const OPEN_FRAMES: u64 = 1_000_000;

/// Cells for what is under way during the delay where nothing limits it but this machine: one for
/// each frame begun, and one for every cell's worth of bytes.
pub(super) fn open_cells(delay: Span) -> u64 {
    let frames = (OPEN_FRAMES as f64 * delay.as_secs()) as u64;
    OPEN.0.bytes_in(delay).get() / CELL as u64 + frames
}

/// A managed direction.
#[derive(Clone, Debug)]
pub struct Way {
    /// The queue's link: rate, hard limit, mean packet.
    pub link: Link,
    /// How it sends: at the rate of that link, if nobody says otherwise.
    pub paced: Paced,
    /// The queue with its parameters on that link.
    pub queue: AnyConfig,
    /// What to call it.
    pub label: String,
    /// Which frames are one flow.
    pub flow_key: FlowKey,
    /// How often flows get new keys before the queue.
    pub rehash: Rehash,
    /// What a frame takes on the wire beyond its bytes.
    pub overhead: Overhead,
    /// Classes of frames; the queue [knows](crate::path::sort::deal) them.
    pub classes: Vec<Class>,
    /// Whose frames no queue judges, by sender or receiver.
    pub allowed: Vec<Prefix>,
    /// When a flow is an offender.
    pub offenders: OffenderRules,
}

/// What nobody outside may guess, so that nobody can aim at a bin.
#[derive(Clone, Copy, Debug)]
pub struct Secret {
    /// Keys the hash of flows.
    pub hash: [u64; 2],
    /// Begins the queues' dice, and those of a rehash.
    pub seed: u64,
}

impl Way {
    /// Through `queue`, called `label`, to `link`: flows by five-tuple, a rehash as usual, no
    /// overhead, one class, everything judged.
    pub fn new(link: Link, queue: AnyConfig, label: impl Into<String>) -> Way {
        let (flow_key, overhead, offenders) = Default::default();
        let (label, rehash) = (label.into(), Rehash::usual(&queue));
        Way {
            link,
            paced: Paced::AtRate,
            queue,
            label,
            flow_key,
            rehash,
            overhead,
            classes: vec![],
            allowed: vec![],
            offenders,
        }
    }

    /// To a link that nothing limits but this machine.
    ///
    /// # Errors
    /// None that anybody has seen: the queue fits its link.
    pub fn open() -> Result<Way, ConfigError> {
        let link = Link::new(OPEN.0, OPEN.1, OPEN.2)?;
        let queue = catalog::config("drop_tail", None, &link)?;
        Ok(Way { paced: Paced::Unlimited, ..Way::new(link, queue, "none") })
    }

    pub(super) fn managed(
        &self,
        secret: Secret,
        delay: Span,
        pool: FramePool,
    ) -> Result<LaneParts, ConfigError> {
        let hasher = FlowHasher::new(self.flow_key, secret.hash);
        Ok(LaneParts {
            queue: self.queue.build(self.link, Rng::from_seed(secret.seed))?,
            link: self.link,
            sorter: Sorter::new(hasher, self.overhead, &self.classes, &self.allowed)
                .asking(self.queue.asks()),
            keys: Keys::new(self.rehash, secret.seed, pool.cells()),
            under_way: DelayLine::new(delay, &pool),
            pool,
            meter: Meter::new(&self.offenders, self.known_classes()),
        })
    }

    /// How many classes frames fall into, with the one for what none of the list takes; none
    /// without a list.
    pub fn known_classes(&self) -> usize {
        match self.classes.last() {
            None => 0,
            Some(last) => self.classes.len() + usize::from(!last.takes_all()),
        }
    }

    /// How its queue shares its link. A queue that takes classes for its lines shares among them;
    /// one that has weights only (CSFQ) gives each flow the weight of its class.
    pub fn sharing(&self) -> Sharing {
        if self.classes.is_empty() {
            return Sharing::Flows;
        }
        let mut weights: Vec<f64> = self.classes.iter().map(|class| class.weight).collect();
        weights.resize(self.known_classes(), 1.0);
        match self.queue.get(BY_CLASS[1]) {
            Some(_) => Sharing::Classes(weights),
            None => Sharing::Weighted(weights),
        }
    }

    /// Whether its queue takes over what waits in the queue of `old`.
    pub(super) fn takes_over(&self, old: &Way) -> Result<bool, ConfigError> {
        let mut theirs = old.queue.build(old.link, Rng::from_seed(0))?;
        let mut ours = self.queue.build(self.link, Rng::from_seed(0))?;
        // Frames that are not judged wait on where none does any more.
        let lines = self.lines_within_limit() >= old.lines_within_limit();
        Ok(lines
            && self.flow_key == old.flow_key
            && self.classes == old.classes
            && ours.inherit(&mut theirs))
    }

    /// How many lines of frames there are with the limit's length: the queue's, and that of frames
    /// that are not judged.
    pub(super) fn lines_within_limit(&self) -> u64 {
        if self.allowed.is_empty() { 1 } else { 2 }
    }

    /// Cells for what the limit lets wait, and for what the link sends during the delay.
    pub(super) fn cells(&self, delay: Span, mtu: u32) -> u64 {
        let longest = FramePool::cells_for(mtu + HEADER) as u64;
        let waiting = match self.link.limit {
            Size::Packets(packets) => packets.saturating_mul(longest),
            Size::Bytes(bytes) => bytes.div_ceil(SHORT),
        };
        // One more that arrives, and one more at each end of the delay line.
        waiting
            .saturating_mul(self.lines_within_limit())
            .saturating_add(match &self.paced {
                Paced::AtRate => self.link.rate.bytes_in(delay).get().div_ceil(SHORT),
                Paced::ByTrace(trace, _) => trace.most_in(delay).get().div_ceil(SHORT),
                Paced::Unlimited => open_cells(delay),
            })
            .saturating_add(3 * longest)
    }

    pub(super) fn lines(&self) -> Vec<(&'static str, String)> {
        let Way {
            link, queue, label, flow_key, rehash, overhead, classes, allowed, offenders, ..
        } = self;
        let parameters: Vec<_> =
            queue.values().iter().map(|(p, value)| format!("{} = {value}", p.name)).collect();
        let mut lines = vec![
            ("rate", link.rate.to_string()),
            ("limit", link.limit.to_string()),
            ("mean_packet", link.mean_packet.to_string()),
            ("queue", label.clone()),
        ];
        if !parameters.is_empty() {
            lines.push(("parameters", parameters.join(", ")));
        }
        if !classes.is_empty() {
            lines.push((
                "classes",
                classes.iter().map(Class::to_string).collect::<Vec<_>>().join("; "),
            ));
        }
        if !allowed.is_empty() {
            lines.push((
                "allow",
                allowed.iter().map(Prefix::to_string).collect::<Vec<_>>().join(", "),
            ));
        }
        if *offenders != OffenderRules::default() {
            let rule =
                |param: &Param| Some(format!("{} = {}", param.name, offenders.get(param.name)?));
            lines.push((
                "offenders",
                OffenderRules::PARAMS.iter().filter_map(rule).collect::<Vec<_>>().join(", "),
            ));
        }
        lines.extend([
            ("flow_key", flow_key.to_string()),
            ("rehash", rehash.to_string()),
            ("overhead", overhead.to_string()),
        ]);
        lines
    }
}
