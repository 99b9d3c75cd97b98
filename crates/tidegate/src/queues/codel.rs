#![doc = include_str!("codel.md")]
use crate::config::ConfigError;
use crate::entry::{DEFAULT_PRESET, Entry, Info, Linux, Preset, TARGET_RTT};
use crate::packet::{Ecn, Packet};
use crate::parts::codel_law::{CodelLaw, CodelQueue, CodelState, Root};
use crate::parts::ring::Ring;
use crate::policy::Signal;
use crate::qdisc::{Backlog, DropReason, Gauge, Link, MarkReason, Qdisc, Sink};
use crate::rng::Rng;
use crate::units::{Bytes, Span, Time};

crate::params! {
    /// CoDel's parameters. Defaults are those of nichols2018.
    pub struct CodelConfig {
        /// A standing delay below this is acceptable.
        target: Span = Span::from_millis(5), "TARGET", 0 ..= 60_000_000_000_u64;
        /// How long the delay must stay above target before the first signal; about the longest
        /// usual round-trip time.
        interval: Span = Span::from_millis(100), "INTERVAL", 1_000 ..= 600_000_000_000_u64;
        /// The link's longest packet: with no more than this waiting behind it no packet is
        /// signalled.
        mtu: Bytes = Bytes::new(1500), "maxpacket", 0 ..= 1_000_000_000;
        /// How the root in the times between signals is found.
        root: Root = Root::Exact, "", 0 ..= 0;
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: Signal = Signal::Mark, "", 0 ..= 0;
    }
}

impl CodelConfig {
    fn law(&self) -> CodelLaw {
        CodelLaw {
            target: self.target,
            interval: self.interval,
            mtu: self.mtu.get(),
            root: self.root,
        }
    }
}

/// The reason of every signal: the law is certain, it rolls no dice.
pub(super) const WHY: MarkReason = MarkReason::Forced;

/// A FIFO that drops at its head by the time packets waited (nichols2018).
#[derive(Clone, Debug)]
pub struct Codel {
    waiting: WaitingHead,
    control: CodelState,
    law: CodelLaw,
    link: Link,
    ecn: Signal,
}

#[derive(Clone, Debug)]
struct WaitingHead {
    packets: Ring<Packet>,
    backlog: Backlog,
}

/// The waiting packets as the law sees them, with who is to hear of its signals.
struct HeadOfQueue<'a, S: ?Sized> {
    waiting: &'a mut WaitingHead,
    ecn: Signal,
    now: Time,
    out: &'a mut S,
}

impl<S: Sink + ?Sized> CodelQueue for HeadOfQueue<'_, S> {
    #[inline]
    fn take(&mut self) -> Option<Packet> {
        let pkt = self.waiting.packets.pop()?;
        self.waiting.backlog.remove(pkt.len);
        Some(pkt)
    }

    #[inline]
    fn waits(&self) -> u64 {
        self.waiting.backlog.bytes
    }

    fn signal(&mut self, pkt: Packet) -> Option<Packet> {
        signal(self.ecn, self.now, pkt, self.out)
    }
}

/// Marks `pkt` or drops it: what CoDel does to a packet, here and in every queue of FQ-CoDel.
pub(super) fn signal<S: Sink + ?Sized>(
    ecn: Signal,
    now: Time,
    mut pkt: Packet,
    out: &mut S,
) -> Option<Packet> {
    if ecn.marks(&pkt) {
        pkt.ecn = Ecn::Ce;
        out.marked(now, &pkt, WHY);
        return Some(pkt);
    }
    out.dropped(now, &pkt, WHY.as_drop());
    None
}

impl Qdisc for Codel {
    #[inline]
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, mut pkt: Packet, out: &mut S) {
        pkt.arrived = now;
        if !self.link.has_room(self.waiting.backlog, pkt.len) {
            return out.dropped(now, &pkt, DropReason::Overlimit);
        }
        self.waiting.backlog.add(pkt.len);
        self.waiting.packets.push(pkt);
    }

    #[inline]
    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        let mut head = HeadOfQueue { waiting: &mut self.waiting, ecn: self.ecn, now, out };
        self.control.dequeue(&self.law, now, &mut head)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.waiting.backlog
    }

    fn inherit(&mut self, old: &mut Codel) -> bool {
        core::mem::swap(&mut self.waiting, &mut old.waiting);
        true
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        see(Gauge { name: "sojourn", unit: "s", value: self.control.sojourn().as_secs() });
        see(Gauge { name: "count", unit: "", value: self.control.count() as f64 });
        see(Gauge {
            name: "dropping",
            unit: "",
            value: f64::from(u8::from(self.control.is_dropping())),
        });
    }
}

/// `target` and `interval` for a link on which packets may be `mtu` long. The target is 5 % of the
/// target RTT, and never more than a tenth of the interval (nichols2018 §4.3, §4.5). It is no less
/// than two packets take to send: our choice; hoeiland2018 §5.2.2 has one. One in transmission and
/// one behind it are no standing queue.
pub(super) fn auto_times(link: &Link, mtu: Bytes) -> (Span, Span) {
    let a_twentieth = Span::from_nanos(TARGET_RTT.as_nanos() / 20);
    let two = link.rate.time_to_send(Bytes::new(2 * mtu.get()));
    let target = two.max(a_twentieth).min(Span::from_millis(60_000));
    (target, TARGET_RTT.max(Span::from_nanos(10 * target.as_nanos())))
}

/// 1500 bytes, or the link's mean packet if that is longer.
pub(super) fn auto_mtu(link: &Link) -> Bytes {
    link.mean_packet.max(Bytes::new(1500))
}

/// The frame of such a packet: 1514 bytes with the RFC's 1500 (hoeiland2018 §5.2.4).
pub(super) fn auto_frame(link: &Link) -> Bytes {
    Bytes::new(auto_mtu(link).get() + 14)
}

/// `auto`: see [`auto_times`].
fn auto(link: &Link) -> CodelConfig {
    let mtu = auto_mtu(link);
    let (target, interval) = auto_times(link, mtu);
    CodelConfig { target, interval, mtu, ..CodelConfig::default() }
}

/// `linux`: the kernel's defaults. Its longest packet is a frame of Ethernet's.
fn linux(_: &Link) -> CodelConfig {
    CodelConfig { mtu: Bytes::new(1514), root: Root::Newton, ..CodelConfig::default() }
}

impl Entry for Codel {
    type Config = CodelConfig;
    const INFO: Info = Info {
        title: "drops at the head, ever more often, while packets have waited too long",
        paper: "nichols2018",
        manual: include_str!("codel.md"),
    };
    const LINUX: Option<Linux> = Some(Linux {
        tc: "codel limit {limit:packets} target {target:us} interval {interval:us}{ecn}",
        preset: DEFAULT_PRESET,
        differs: "Linux comes nearer to the root by one Newton step per drop, as `linux` does. \
             Here it is exact.",
        whole: true,
    });
    const PRESETS: &'static [Preset<CodelConfig>] = &[
        Preset {
            name: "paper",
            doc: "the constants of nichols2018",
            config: |_| CodelConfig::default(),
        },
        Preset {
            name: "auto",
            doc: "target at least two packets' time at the link's rate, interval at least ten \
                 targets",
            config: auto,
        },
        Preset { name: "linux", doc: "Linux's sch_codel with its defaults", config: linux },
    ];

    fn build(config: &CodelConfig, link: Link, _: Rng) -> Result<Self, ConfigError> {
        let waiting = WaitingHead { packets: Ring::new(), backlog: Backlog::default() };
        Ok(Codel {
            waiting,
            control: CodelState::default(),
            law: config.law(),
            link,
            ecn: config.ecn,
        })
    }

    fn state_bytes(_: &CodelConfig, _: &Link) -> u64 {
        core::mem::size_of::<Codel>() as u64
    }
}
