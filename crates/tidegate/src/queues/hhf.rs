#![doc = include_str!("hhf.md")]
use super::codel::{auto_frame, auto_mtu};
use crate::config::ConfigError;
use crate::entry::{DEFAULT_PRESET, Entry, Info, Linux, Preset};
use crate::packet::Packet;
use crate::parts::flow_table::FlowTable;
use crate::parts::lines::Lines;
use crate::parts::new_and_old::NewAndOld;
use crate::parts::sketch::Sketch;
use crate::qdisc::{Backlog, DropReason, Gauge, Link, Qdisc, Sink};
use crate::rng::Rng;
use crate::units::{Bytes, Span, Time};

crate::params! {
    /// HHF's parameters. Defaults are those of Linux.
    pub struct HhfConfig {
        /// How many bytes the bucket of heavy hitters may send in its turn.
        quantum: Bytes = Bytes::new(1514), "", 256 ..= 1_000_000_000;
        /// Most heavy hitters that are known at a time.
        hh_limit: u32 = 2048, "T", 1 ..= 65_536;
        /// How often the counters are set back.
        reset_timeout: Span = Span::from_millis(40), "", 1_000_000 ..= 60_000_000_000_u64;
        /// A flow that sends more between two resets is a heavy hitter.
        admit_bytes: Bytes = Bytes::new(131_072), "T", 1 ..= 1_000_000_000_000_u64;
        /// A heavy hitter that is silent for longer is a flow like others.
        evict_timeout: Span = Span::from_millis(1_000), "", 1_000_000 ..= 600_000_000_000_u64;
        /// How many quanta the other bucket may send in its turn.
        non_hh_weight: u32 = 2, "", 1 ..= 1_000;
        /// Stages of the filter.
        arrays: u32 = 4, "d", 1 ..= 8;
        /// Counters in each stage.
        counters: u32 = 1024, "b", 1 ..= 1_048_576;
    }
}

/// The buckets.
const HEAVY: usize = 0;
const LIGHT: usize = 1;

/// Two buckets, one of them for flows that send much (lam2013).
#[derive(Clone, Debug)]
pub struct Hhf {
    buckets: Buckets,
    turns: NewAndOld<()>,
    filter: Sketch,
    reset_at: Time,
    hitters: FlowTable<Hitter>,
    /// Flows that were found heavy, and that were not let in for want of room.
    found: u64,
    refused: u64,
    link: Link,
    config: HhfConfig,
}

/// What waits in the buckets.
#[derive(Clone, Debug)]
struct Buckets {
    lines: Lines,
    backlog: Backlog,
    /// Packets that ever joined the bucket of heavy hitters, and that left it, from its head.
    joined: u64,
    left: u64,
}

impl Buckets {
    /// `pkt` joins `bucket`.
    #[inline]
    fn push(&mut self, bucket: usize, pkt: Packet) {
        self.backlog.add(pkt.len);
        self.joined += u64::from(bucket == HEAVY);
        self.lines.push(bucket, pkt);
    }

    /// The head of `bucket` leaves.
    #[inline]
    fn pop(&mut self, bucket: usize) -> Option<Packet> {
        let pkt = self.lines.pop(bucket)?;
        self.backlog.remove(pkt.len);
        self.left += u64::from(bucket == HEAVY);
        Some(pkt)
    }
}

/// A heavy hitter.
#[derive(Clone, Copy, Debug)]
struct Hitter {
    /// When it was last seen.
    seen: Time,
    /// Its last packet's number among those that joined the bucket.
    last: u64,
}

impl Hhf {
    /// The numbers of the counters of `flow` among all counters, one in each array.
    pub fn places_of(&self, flow: u64) -> impl Iterator<Item = usize> + use<> {
        self.filter.numbers_of(flow)
    }

    /// How many flows are known as heavy hitters, silent ones that nobody needed the place of
    /// included.
    pub fn hitters(&self) -> u32 {
        self.hitters.len()
    }

    /// What waits of heavy hitters, and of all others.
    pub fn of_buckets(&self) -> [Backlog; 2] {
        [HEAVY, LIGHT].map(|bucket| self.buckets.lines.backlog(bucket))
    }

    /// Whether a heavy hitter has been silent for too long and nothing of it waits, so that it may
    /// go to the other bucket without overtaking itself.
    #[inline]
    fn is_over(&self, slot: u32, now: Time) -> bool {
        let Hitter { seen, last } = self.hitters[slot];
        now.since(seen) > self.config.evict_timeout && self.buckets.left >= last
    }

    /// The bucket that a packet of `len` bytes of `flow` goes to.
    #[inline]
    fn classify(&mut self, now: Time, flow: u64, len: u32) -> usize {
        if now.since(self.reset_at) > self.config.reset_timeout {
            self.filter.clear();
            self.reset_at = now;
        }
        if let Some(slot) = self.hitters.find(flow) {
            if !self.is_over(slot, now) {
                self.saw(slot, now);
                return HEAVY;
            }
            self.hitters.remove(slot);
        }
        let counters = self.filter.of(flow);
        let sent = self.filter.least(&counters) + len as u64;
        if sent <= self.config.admit_bytes.get() {
            // Conservative update (estan2002 §3.3.2).
            self.filter.raise(&counters, sent);
            return LIGHT;
        }
        // Shielding (§3.3.1): what a heavy hitter sends is not counted.
        self.admit(now, flow)
    }

    /// Notes that a heavy hitter sends the next packet that joins the bucket.
    #[inline]
    fn saw(&mut self, slot: u32, now: Time) {
        self.hitters[slot] = Hitter { seen: now, last: self.buckets.joined + 1 };
        self.hitters.recall(slot);
        self.hitters.retire(slot);
    }

    /// Takes `flow` in among the heavy hitters, where there is room.
    #[cold]
    fn admit(&mut self, now: Time, flow: u64) -> usize {
        if self.hitters.len() == self.config.hh_limit {
            match self.hitters.oldest_retired().filter(|&slot| self.is_over(slot, now)) {
                Some(slot) => self.hitters.remove(slot),
                None => {
                    self.refused += 1;
                    return LIGHT;
                }
            }
        }
        self.found += 1;
        // What waits of it goes along, so that it does not overtake itself.
        for _ in 0..self.buckets.lines.backlog(LIGHT).packets {
            if let Some(pkt) = self.buckets.pop(LIGHT) {
                self.buckets.push(if pkt.flow == flow { HEAVY } else { LIGHT }, pkt);
            }
        }
        if let Some(slot) = self.hitters.insert(flow, Hitter { seen: now, last: 0 }) {
            self.saw(slot, now);
        }
        HEAVY
    }

    /// A heavy hitter's packet goes first, from the head. `arrival` is the bucket that has grown.
    #[cold]
    fn make_room<S: Sink + ?Sized>(&mut self, now: Time, arrival: usize, out: &mut S) {
        let waits = |bucket| self.buckets.lines.backlog(bucket).packets > 0;
        let from = if waits(HEAVY) { HEAVY } else { LIGHT };
        if let Some(victim) = self.buckets.pop(from) {
            let itself = from == arrival && self.buckets.lines.backlog(from).packets == 0;
            let why = if itself { DropReason::Overlimit } else { DropReason::Evicted };
            out.dropped(now, &victim, why);
        }
    }
}

/// What a bucket may send in its turn.
#[inline]
fn quantum(config: &HhfConfig, bucket: usize) -> i64 {
    let weight = if bucket == HEAVY { 1 } else { config.non_hh_weight };
    config.quantum.get() as i64 * weight as i64
}

impl Qdisc for Hhf {
    #[inline]
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, mut pkt: Packet, out: &mut S) {
        pkt.arrived = now;
        if !self.link.has_room(Backlog::default(), pkt.len) {
            // It would not fit an empty queue; everything else would be dropped for it in vain.
            return out.dropped(now, &pkt, DropReason::Overlimit);
        }
        let bucket = self.classify(now, pkt.flow, pkt.len);
        self.buckets.push(bucket, pkt);
        let quantum = quantum(&self.config, bucket);
        if bucket == HEAVY {
            self.turns.activate_as_old(HEAVY, quantum, &pkt);
        } else {
            self.turns.activate(LIGHT, quantum, &pkt);
        }
        while self.link.is_exceeded_by(self.buckets.backlog) {
            self.make_room(now, bucket, out);
        }
    }

    #[inline]
    fn dequeue<S: Sink + ?Sized>(&mut self, _: Time, _: &mut S) -> Option<Packet> {
        let (config, buckets) = (&self.config, &mut self.buckets);
        self.turns.next(|bucket| quantum(config, bucket), |bucket, ()| buckets.pop(bucket))
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.buckets.backlog
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        let [heavy, light] = self.of_buckets();
        see(Gauge { name: "heavy_hitters", unit: "", value: self.hitters.len() as f64 });
        see(Gauge { name: "found", unit: "", value: self.found as f64 });
        see(Gauge { name: "refused", unit: "", value: self.refused as f64 });
        see(Gauge { name: "heavy", unit: "B", value: heavy.bytes as f64 });
        see(Gauge { name: "light", unit: "B", value: light.bytes as f64 });
    }
}

/// `auto`: a heavy hitter sends more than half of what the link can, over Linux's 40 ms or the time
/// of ten of the longest packets at that rate.
fn auto(link: &Link) -> HhfConfig {
    let mtu = auto_mtu(link).get();
    let half = |span: Span| link.rate.bytes_in(span).get() / 2;
    let usual = HhfConfig::default().reset_timeout;
    let admit_bytes = Bytes::new(half(usual).max(10 * mtu));
    let reset_timeout = link.rate.time_to_send(Bytes::new(2 * admit_bytes.get())).max(usual);
    HhfConfig {
        quantum: auto_frame(link),
        admit_bytes,
        reset_timeout: reset_timeout.min(Span::from_millis(60_000)),
        ..HhfConfig::default()
    }
}

impl Entry for Hhf {
    type Config = HhfConfig;
    const INFO: Info = Info {
        title: "finds flows that send much by a multistage filter, and puts them into a bucket of \
                less weight",
        paper: "lam2013",
        manual: include_str!("hhf.md"),
    };
    const LINUX: Option<Linux> = Some(Linux {
        tc: "hhf limit {limit:packets} quantum {quantum:bytes} hh_limit {hh_limit} reset_timeout \
             {reset_timeout:us} admit_bytes {admit_bytes:bytes} evict_timeout {evict_timeout:us} \
             non_hh_weight {non_hh_weight}",
        preset: DEFAULT_PRESET,
        differs: "In Linux a flow that becomes heavy leaves its waiting packets behind, so later \
             ones may overtake them. It may be forgotten while some wait. A full table gives only \
             places of the same hash. Three stages go by parts of one hash, the fourth by their \
             sum. Time is in ticks.",
        whole: true,
    });
    const PRESETS: &'static [Preset<HhfConfig>] = &[
        Preset {
            name: "paper",
            doc: "the defaults of Linux's sch_hhf: 128 KiB in 40 ms",
            config: |_| HhfConfig::default(),
        },
        Preset {
            name: "auto",
            doc: "a heavy hitter sends more than half of what the link can",
            config: auto,
        },
    ];

    fn build(config: &HhfConfig, link: Link, mut dice: Rng) -> Result<Self, ConfigError> {
        Ok(Hhf {
            buckets: Buckets {
                lines: Lines::new(2),
                backlog: Backlog::default(),
                joined: 0,
                left: 0,
            },
            turns: NewAndOld::new(2, ()),
            filter: Sketch::new(config.arrays, config.counters, &mut dice),
            reset_at: Time::ZERO,
            hitters: FlowTable::new(config.hh_limit),
            found: 0,
            refused: 0,
            link,
            config: config.clone(),
        })
    }

    fn state_bytes(config: &HhfConfig, link: &Link) -> u64 {
        let filter = Sketch::bytes(config.arrays, config.counters);
        let hitters = FlowTable::<Hitter>::state_bytes(config.hh_limit);
        let lines = Lines::bytes(2, link.most_packets() + 1) + NewAndOld::<()>::bytes(2);
        core::mem::size_of::<Hhf>() as u64 + filter + hitters + lines
    }
}
