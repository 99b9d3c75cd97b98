#![doc = include_str!("cobalt.md")]
use super::codel::{auto_mtu, signal};
use crate::config::ConfigError;
use crate::entry::{Entry, Info, Linux, Preset};
use crate::packet::Packet;
use crate::parts::cobalt_law::{CobaltJudgement, CobaltLaw, CobaltState as State};
use crate::parts::ring::Ring;
use crate::policy::Signal;
use crate::qdisc::{Backlog, DropReason, Gauge, Link, MarkReason, Qdisc, Sink};
use crate::rng::Rng;
use crate::units::{Bytes, Prob, Span, Time};

crate::params! {
    /// COBALT's parameters. Defaults are CAKE's.
    pub struct CobaltConfig {
        /// A sojourn time above this is too long; BLUE's probability changes once in it.
        target: Span = Span::from_millis(5), "target", 0 ..= 60_000_000_000_u64;
        /// How long the sojourn time must be too long before the first signal.
        interval: Span = Span::from_millis(100), "interval", 1_000 ..= 600_000_000_000_u64;
        /// The link's longest packet: no sojourn time up to that of four of them is too long.
        mtu: Bytes = Bytes::new(1500), "", 0 ..= 1_000_000_000;
        /// Added to BLUE's probability when a packet is lost for want of room.
        increment: Prob = Prob::clip(1.0 / 256.0), "p_inc", 0.0 ..= 1.0;
        /// Taken from BLUE's probability when the queue is found empty.
        decrement: Prob = Prob::clip(1.0 / 4096.0), "p_dec", 0.0 ..= 1.0;
        /// Whether CoDel marks ECN-capable packets instead of dropping them. BLUE always drops.
        ecn: Signal = Signal::Mark, "", 0 ..= 0;
    }
}

/// The shortest time that is too long for four packets of `mtu` on `link`.
pub(super) fn floor_of(link: &Link, mtu: Bytes) -> Span {
    link.rate.time_to_send(Bytes::new(4 * mtu.get()))
}

impl CobaltConfig {
    fn law(&self, link: &Link) -> CobaltLaw {
        CobaltLaw {
            target: self.target,
            interval: self.interval,
            floor: floor_of(link, self.mtu),
            increment: self.increment.get(),
            decrement: self.decrement.get(),
        }
    }
}

/// A FIFO under CoDel and BLUE at once (palmei2019).
#[derive(Clone, Debug)]
pub struct Cobalt {
    packets: Ring<Packet>,
    backlog: Backlog,
    state: State,
    law: CobaltLaw,
    link: Link,
    ecn: Signal,
    dice: Rng,
}

/// Does to `pkt` what the law judges; `Some` if it is to be sent. Nothing waits behind the `last`
/// one, which is never dropped.
#[inline]
pub(super) fn carry_out<S: Sink + ?Sized>(
    judgement: CobaltJudgement,
    ecn: Signal,
    last: bool,
    now: Time,
    pkt: Packet,
    out: &mut S,
) -> Option<Packet> {
    match judgement {
        CobaltJudgement::Signal if ecn.marks(&pkt) || !last => signal(ecn, now, pkt, out),
        CobaltJudgement::Drop if !last => {
            out.dropped(now, &pkt, MarkReason::Early.as_drop());
            None
        }
        _ => Some(pkt),
    }
}

impl Qdisc for Cobalt {
    #[inline]
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, mut pkt: Packet, out: &mut S) {
        pkt.arrived = now;
        if !self.link.has_room(self.backlog, pkt.len) {
            self.state.overflowed(&self.law, now);
            return out.dropped(now, &pkt, DropReason::Overlimit);
        }
        self.backlog.add(pkt.len);
        self.packets.push(pkt);
    }

    #[inline]
    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        while let Some(pkt) = self.packets.pop() {
            self.backlog.remove(pkt.len);
            let markable = self.ecn.marks(&pkt);
            let sojourn = now.since(pkt.arrived);
            let judged = self.state.judge(&self.law, now, sojourn, markable, &mut self.dice);
            let last = self.packets.is_empty();
            if let Some(pkt) = carry_out(judged, self.ecn, last, now, pkt, out) {
                return Some(pkt);
            }
        }
        self.state.found_empty(&self.law, now);
        None
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn inherit(&mut self, old: &mut Cobalt) -> bool {
        core::mem::swap(&mut self.packets, &mut old.packets);
        core::mem::swap(&mut self.backlog, &mut old.backlog);
        true
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        see(Gauge { name: "p_drop", unit: "", value: self.state.p_drop() });
        see(Gauge { name: "count", unit: "", value: f64::from(self.state.count()) });
        let dropping = f64::from(u8::from(self.state.is_dropping()));
        see(Gauge { name: "dropping", unit: "", value: dropping });
    }
}

/// CAKE's times for a link with packets up to `mtu`. The target is 5 ms or one and a half packets'
/// time. The interval is 100 ms and what the target is longer, or twice the target.
pub(super) fn auto_times(link: &Link, mtu: Bytes, rtt: Span) -> (Span, Span) {
    let usual = rtt.as_nanos() / 20;
    let packet = link.rate.time_to_send(mtu).as_nanos();
    let target = usual.max(packet.saturating_mul(3) / 2).min(60_000_000_000);
    let interval = (rtt.as_nanos() + target - usual.min(target)).max(2 * target);
    (Span::from_nanos(target), Span::from_nanos(interval.min(600_000_000_000)))
}

/// `auto`: see [`auto_times`].
fn auto(link: &Link) -> CobaltConfig {
    let mtu = auto_mtu(link);
    let (target, interval) = auto_times(link, mtu, crate::entry::TARGET_RTT);
    CobaltConfig { target, interval, mtu, ..CobaltConfig::default() }
}

impl Entry for Cobalt {
    type Config = CobaltConfig;
    const INFO: Info = Info {
        title: "CoDel that winds down as it wound up, and BLUE for flows that do not heed it",
        paper: "palmei2019",
        manual: include_str!("cobalt.md"),
    };
    const LINUX: Option<Linux> = Some(Linux::only_inside(
        "Linux has it only inside `cake`; `cake unlimited besteffort flowblind` is nearest.",
    ));
    const PRESETS: &'static [Preset<CobaltConfig>] = &[
        Preset {
            name: "paper",
            doc: "the constants of CAKE for an internet path, and of ns-3",
            config: |_| CobaltConfig::default(),
        },
        Preset {
            name: "auto",
            doc: "target at least one and a half packets' time at the link's rate, interval at \
                 least two targets, as CAKE has it",
            config: auto,
        },
    ];

    fn build(config: &CobaltConfig, link: Link, dice: Rng) -> Result<Self, ConfigError> {
        Ok(Cobalt {
            packets: Ring::new(),
            backlog: Backlog::default(),
            state: State::default(),
            law: config.law(&link),
            link,
            ecn: config.ecn,
            dice,
        })
    }

    fn state_bytes(_: &CobaltConfig, _: &Link) -> u64 {
        core::mem::size_of::<Cobalt>() as u64
    }
}
