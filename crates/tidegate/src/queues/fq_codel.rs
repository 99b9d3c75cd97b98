#![doc = include_str!("fq_codel.md")]
use super::codel::{auto_frame, auto_mtu, auto_times, signal};
use crate::choices;
use crate::config::ConfigError;
use crate::entry::{
    DEFAULT_PRESET, Entry, FOREVER, HashTable, Info, Linux, Preset, WAYS, auto_buckets,
};
use crate::packet::{Asks, Packet};
use crate::parts::codel_law::{CodelLaw, CodelQueue, CodelState, Root};
use crate::parts::host_shares::HostShares;
use crate::parts::isolation::Isolation;
use crate::parts::longest::{By, Longest};
use crate::parts::new_and_old::NewAndOld;
use crate::parts::spread::HashWays;
use crate::policy::Signal;
use crate::qdisc::{Backlog, DropReason, Gauge, Link, Qdisc, Sink};
use crate::rng::Rng;
use crate::units::{Bytes, Span, Time};

choices! {
    /// Half of what: of a queue that makes room.
    pub enum Half {
        /// Of its packets.
        Packets = "packets",
        /// Of its bytes, as in Linux.
        Bytes = "bytes",
    }
}

choices! {
    /// What raises CoDel's count of signals.
    pub enum CountedSignals {
        /// Its own signals.
        Signals = "signals",
        /// Drops at the limit, too, as in Linux.
        All = "all",
    }
}

crate::params! {
    /// FQ-CoDel's parameters. Defaults are those of hoeiland2018.
    pub struct FqCodelConfig {
        /// How many queues flows are hashed to.
        flows: u32 = 1024, "", 1 ..= 65536;
        /// A flow goes to any of so many places that its hash deals it, where nobody waits if there
        /// is one.
        ways: u32 = 1, "", 1 ..= 16;
        /// Which packets are one flow, and which hosts divide a share.
        isolation: Isolation = Isolation::Flows, "", 0 ..= 0;
        /// How many bytes a queue may send before the next one's turn.
        quantum: Bytes = Bytes::new(1514), "", 256 ..= 1_000_000_000;
        /// A standing delay below this is acceptable, per queue.
        target: Span = Span::from_millis(5), "target", 0 ..= 60_000_000_000_u64;
        /// How long the delay of a queue must stay above target before the first signal.
        interval: Span = Span::from_millis(100), "interval", 1_000 ..= 600_000_000_000_u64;
        /// The link's longest packet: with no more than this behind it in all queues together no
        /// packet is signalled.
        mtu: Bytes = Bytes::new(1500), "maxpacket", 0 ..= 1_000_000_000;
        /// Most packets that are dropped at once from the fattest queue when the limit is passed.
        drop_batch: u32 = 64, "", 1 ..= 65536;
        /// Whether half of its packets or half of its bytes is dropped then.
        half: Half = Half::Packets, "", 0 ..= 0;
        /// Whether CoDel counts its own signals only, or drops at the limit, too.
        counts: CountedSignals = CountedSignals::Signals, "", 0 ..= 0;
        /// How the root in the times between signals is found.
        root: Root = Root::Exact, "", 0 ..= 0;
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: Signal = Signal::Mark, "", 0 ..= 0;
    }
}

/// Fair queueing by hashed flow, a CoDel in every queue (hoeiland2018).
#[derive(Clone, Debug)]
pub struct FqCodel {
    held: Longest,
    turns: NewAndOld<CodelState>,
    law: CodelLaw,
    link: Link,
    ecn: Signal,
    quantum: i64,
    drop_batch: u32,
    half: Half,
    counts: CountedSignals,
    places: HashWays,
    isolation: Isolation,
}

/// One queue as CoDel's law sees it.
struct HeadOfFlow<'a, S: ?Sized> {
    held: &'a mut Longest,
    queue: usize,
    ecn: Signal,
    now: Time,
    out: &'a mut S,
}

impl<S: Sink + ?Sized> CodelQueue for HeadOfFlow<'_, S> {
    #[inline]
    fn take(&mut self) -> Option<Packet> {
        self.held.pop(self.queue)
    }

    #[inline]
    fn waits(&self) -> u64 {
        self.held.all().bytes
    }

    fn signal(&mut self, pkt: Packet) -> Option<Packet> {
        signal(self.ecn, self.now, pkt, self.out)
    }
}

impl FqCodel {
    /// Which queue the packets of this flow join, or of what `isolation` puts in its place.
    #[inline]
    pub fn queue_of(&self, key: u64) -> usize {
        self.places.of(key, |queue| self.turns.is_active(queue))
    }

    /// What waits in `queue`, of those from 0 to `flows` - 1.
    ///
    /// # Panics
    /// When there is no such queue.
    pub fn queue_backlog(&self, queue: usize) -> Backlog {
        self.held.of(queue)
    }

    /// How many packets there are places for: as many as ever waited at once, and one for the
    /// arrival.
    pub fn places(&self) -> usize {
        self.held.places()
    }

    /// Drops half of the queue with the most bytes, no more than a batch, from its head (§4.1).
    /// `arrival` is the queue of the packet that needs the room: if that queue is emptied, the
    /// arrival itself went last.
    #[cold]
    fn drop_from_fattest<S: Sink + ?Sized>(&mut self, now: Time, arrival: usize, out: &mut S) {
        // Where no packet has any length there is no fattest queue, but the arrival's own has a
        // packet.
        let queue = self.held.longest_or(arrival);
        let Backlog { packets, bytes } = self.held.of(queue);
        let (most, enough) = match self.half {
            Half::Packets => ((packets / 2).clamp(1, self.drop_batch), u64::MAX),
            Half::Bytes => (self.drop_batch, bytes / 2),
        };
        let (mut dropped, mut freed) = (0, 0);
        while dropped == 0 || dropped < most && freed < enough {
            let Some((victim, why)) = self.held.evict(queue, arrival, false) else { break };
            dropped += 1;
            freed += u64::from(victim.len);
            out.dropped(now, &victim, why);
        }
        if self.counts == CountedSignals::All {
            self.turns.state_mut(queue).add(dropped);
        }
    }
}

impl Qdisc for FqCodel {
    #[inline]
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, mut pkt: Packet, out: &mut S) {
        pkt.arrived = now;
        if !self.link.has_room(Backlog::default(), pkt.len) {
            // It would not fit an empty queue; everything else would be dropped for it in vain.
            return out.dropped(now, &pkt, DropReason::Overlimit);
        }
        let queue = self.places.take(self.isolation.key(&pkt), |queue| self.turns.is_active(queue));
        self.held.push(queue, pkt);
        self.turns.activate(queue, self.quantum, &pkt);
        while self.held.is_over(&self.link) {
            self.drop_from_fattest(now, queue, out);
        }
    }

    #[inline]
    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        // What CoDel lets go from the queue whose turn it is (§4.2).
        let (held, law, ecn) = (&mut self.held, &self.law, self.ecn);
        self.turns.next(
            |_| self.quantum,
            |queue, control| {
                control.dequeue(law, now, &mut HeadOfFlow { held, queue, ecn, now, out })
            },
        )
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.held.all()
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        let (new, old) = self.turns.listed();
        see(Gauge { name: "new_flows", unit: "", value: new as f64 });
        see(Gauge { name: "old_flows", unit: "", value: old as f64 });
        see(Gauge { name: "fattest", unit: "B", value: self.held.longest().1 as f64 });
    }
}

/// `auto`: target and interval as CoDel's `auto`.
fn auto(link: &Link) -> FqCodelConfig {
    let mtu = auto_mtu(link);
    let (target, interval) = auto_times(link, mtu);
    let quantum = auto_frame(link);
    FqCodelConfig {
        flows: auto_buckets(link),
        ways: WAYS,
        target,
        interval,
        mtu,
        quantum,
        ..FqCodelConfig::default()
    }
}

/// `linux`: the kernel's defaults. Its longest packet is a frame of Ethernet's.
fn linux(_: &Link) -> FqCodelConfig {
    FqCodelConfig {
        mtu: Bytes::new(1514),
        half: Half::Bytes,
        counts: CountedSignals::All,
        root: Root::Newton,
        ..FqCodelConfig::default()
    }
}

impl Entry for FqCodel {
    type Config = FqCodelConfig;
    const INFO: Info = Info {
        title: "fair queueing by hashed flow, sparse flows first, CoDel in every queue",
        paper: "hoeiland2018",
        manual: include_str!("fq_codel.md"),
    };
    const LINUX: Option<Linux> = Some(Linux {
        tc: "fq_codel limit {limit:packets} flows {flows} quantum {quantum:bytes} target \
             {target:us} interval {interval:us} drop_batch {drop_batch}{ecn}",
        preset: DEFAULT_PRESET,
        differs: "Linux has no sets of places. It drops half of the bytes of the fattest queue, \
             we half of its packets. It counts those drops as CoDel's, and comes nearer to \
             CoDel's root by Newton's steps. `linux` does all that, too.",
        whole: true,
    });
    const PRESETS: &'static [Preset<FqCodelConfig>] = &[
        Preset {
            name: "paper",
            doc: "the constants of hoeiland2018",
            config: |_| FqCodelConfig::default(),
        },
        Preset {
            name: "auto",
            doc: "target at least two packets' time at the link's rate, interval at least ten \
                 targets, queues by the rate in sets of eight",
            config: auto,
        },
        Preset {
            name: "linux",
            doc: "Linux's sch_fq_codel with its defaults, as far as ours goes",
            config: linux,
        },
    ];

    fn build(config: &FqCodelConfig, link: Link, mut dice: Rng) -> Result<Self, ConfigError> {
        let flows = config.flows as usize;
        let places = HashWays::new(config.flows, config.ways, &mut dice);
        let hosts = HostShares::new(config.isolation.divide(), config.flows, &mut dice);
        Ok(FqCodel {
            held: Longest::new(flows, By::Bytes),
            turns: NewAndOld::new(flows, CodelState::default()).with_hosts(hosts),
            law: CodelLaw {
                target: config.target,
                interval: config.interval,
                mtu: config.mtu.get(),
                root: config.root,
            },
            link,
            ecn: config.ecn,
            quantum: config.quantum.get() as i64,
            drop_batch: config.drop_batch,
            half: config.half,
            counts: config.counts,
            places,
            isolation: config.isolation,
        })
    }

    fn state_bytes(config: &FqCodelConfig, link: &Link) -> u64 {
        let flows = config.flows as u64;
        let lists =
            Longest::bytes(flows, link.most_packets()) + NewAndOld::<CodelState>::bytes(flows);
        core::mem::size_of::<FqCodel>() as u64
            + lists
            + HashWays::bytes(config.flows, config.ways)
            + HostShares::bytes(config.isolation.divide(), config.flows)
    }

    fn asks(config: &FqCodelConfig) -> Asks {
        config.isolation.asks()
    }

    fn bucket_lifetime(_: &FqCodelConfig) -> Option<Span> {
        Some(FOREVER)
    }

    fn hash_table(config: &FqCodelConfig) -> Option<HashTable> {
        Some(HashTable { buckets: config.flows, ways: config.ways })
    }
}
