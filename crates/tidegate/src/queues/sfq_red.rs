#![doc = include_str!("sfq_red.md")]
use alloc::vec;
use alloc::vec::Vec;

use crate::config::ConfigError;
use crate::entry::{Entry, FOREVER, Info, Preset};
use crate::packet::{Asks, Ecn, Packet};
use crate::parts::host_shares::HostShares;
use crate::parts::isolation::Isolation;
use crate::parts::lines::Lines;
use crate::parts::spread::FlowSpread;
use crate::parts::turns::Turns;
use crate::policy::{Policy, Signal, Verdict};
use crate::qdisc::{Backlog, DropReason, Gauge, Link, Qdisc, Sink};
use crate::queues::red::{ByteOrder, Certain, Gentle, Mode, RedConfig, RedRule, SignalSpacing};
use crate::rng::Rng;
use crate::units::{Prob, Size, Span, Time};

crate::params! {
    /// The parameters of SFQ with RED. Defaults are the preset `paper`.
    pub struct SfqRedConfig: RedConfig {
        /// How many bins flows are hashed to.
        bins: u32 = 46, "", 1 ..= 65_536;
        /// Which packets are one flow, and which hosts divide a share.
        isolation: Isolation = Isolation::Flows, "", 0 ..= 0;
        /// What a bin may have waiting.
        bin_limit: Size = Size::Bytes(9_000), "", 1 ..= 1_000_000_000_000_u64;
        /// Below this average of its bin nothing happens to a packet.
        min: Size = Size::Bytes(2_000);
        /// At this average p_b has risen to `probability`; above, every packet is dropped.
        max: Size = Size::Bytes(8_000);
        probability: Prob = Prob::clip(0.1);
        /// Weight of the bin of the moment in its average.
        weight: f64 = 0.002;
        mode: Mode = Mode::Packets;
        byte_order: ByteOrder = ByteOrder::After;
        gentle: Gentle = Gentle::Off;
        wait: SignalSpacing = SignalSpacing::Off;
        ecn: Signal = Signal::Mark;
        mark_above_max: Certain = Certain::Drop;
    }
}

/// Stochastic fairness queueing with a fixed part of the buffer, and a RED, for every bin (feng2001
/// §III-B).
#[derive(Clone, Debug)]
pub struct SfqRed {
    lines: Lines,
    reds: Vec<RedRule>,
    turns: Turns,
    backlog: Backlog,
    spread: FlowSpread,
    isolation: Isolation,
    hosts: HostShares,
    link: Link,
    /// The same link with a bin's limit.
    bin: Link,
    dice: Rng,
}

impl SfqRed {
    /// Which bin the packets of this flow join, or of what `isolation` puts in its place.
    #[inline]
    pub fn bin_of(&self, key: u64) -> usize {
        self.spread.of(key)
    }

    /// What waits in `bin`, of those from 0 to `bins` - 1.
    ///
    /// # Panics
    /// When there is no such bin.
    pub fn bin_backlog(&self, bin: usize) -> Backlog {
        self.lines.backlog(bin)
    }

    /// The RED of `bin`.
    ///
    /// # Panics
    /// When there is no such bin.
    pub fn red(&self, bin: usize) -> &RedRule {
        &self.reds[bin]
    }

    /// The dice as they lie: compared before and after a call, they tell a test what was rolled.
    pub fn dice(&self) -> &Rng {
        &self.dice
    }

    #[inline]
    fn admit(&mut self, bin: usize, pkt: Packet) {
        self.reds[bin].entered();
        if self.lines.backlog(bin).packets == 0 {
            self.turns.join(bin);
            self.hosts.begin(bin, &pkt);
            self.hosts.count(bin);
        }
        self.backlog.add(pkt.len);
        self.lines.push(bin, pkt);
    }
}

impl Qdisc for SfqRed {
    #[inline]
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, mut pkt: Packet, out: &mut S) {
        pkt.arrived = now;
        let bin = self.spread.of(self.isolation.key(&pkt));
        let (waiting, red) = (self.lines.backlog(bin), &mut self.reds[bin]);
        red.estimate(now, waiting);
        if !self.bin.has_room(waiting, pkt.len) || !self.link.has_room(self.backlog, pkt.len) {
            red.overflow(waiting.packets);
            return out.dropped(now, &pkt, DropReason::Overlimit);
        }
        match red.judge(pkt.len, waiting.packets, &mut self.dice) {
            Verdict::Mark(why) if pkt.ecn.is_capable() => {
                pkt.ecn = Ecn::Ce;
                out.marked(now, &pkt, why);
                self.admit(bin, pkt);
            }
            Verdict::Mark(why) => out.dropped(now, &pkt, why.as_drop()),
            Verdict::Drop(why) => out.dropped(now, &pkt, why),
            Verdict::Admit | Verdict::Evict(..) => self.admit(bin, pkt),
        }
    }

    #[inline]
    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, _: &mut S) -> Option<Packet> {
        self.hosts.pass_to(&mut self.turns);
        let bin = self.turns.first()?;
        let pkt = self.lines.pop(bin)?;
        self.backlog.remove(pkt.len);
        if self.lines.backlog(bin).packets == 0 {
            self.turns.leave(bin);
            self.hosts.end(bin);
            self.reds[bin].idle(now);
        } else {
            self.turns.pass();
        }
        Some(pkt)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        see(Gauge { name: "busy_bins", unit: "bins", value: self.turns.len() as f64 });
        let busy = || self.turns.iter().map(|bin| &self.reds[bin]);
        see(Gauge { name: "p_max", unit: "", value: busy().map(RedRule::p_b).fold(0.0, f64::max) });
        let certain = busy().filter(|red| red.p_b() == 1.0).count();
        see(Gauge { name: "bins_certain", unit: "bins", value: certain as f64 });
    }
}

/// As many packets as the paper's bins hold.
const PACKETS_PER_BIN: u64 = 9;

/// 1024 bins of a 46th of the limit each, at least nine packets; thresholds in the paper's
/// proportion.
fn auto(link: &Link) -> SfqRedConfig {
    let bin = match link.limit {
        Size::Packets(n) => Size::Packets((n / 46).max(PACKETS_PER_BIN)),
        Size::Bytes(b) => Size::Bytes((b / 46).max(PACKETS_PER_BIN * link.mean_packet.get())),
    };
    // At least nine of them, so that these are no less than two and eight.
    SfqRedConfig {
        bins: 1024,
        bin_limit: bin,
        min: bin.scale(2.0 / 9.0),
        max: bin.scale(8.0 / 9.0),
        ..SfqRedConfig::default()
    }
}

impl Entry for SfqRed {
    type Config = SfqRedConfig;
    const INFO: Info = Info {
        title: "SFQ with RED and a fixed part of the buffer in every bin",
        paper: "feng2001",
        manual: include_str!("sfq_red.md"),
    };
    const PRESETS: &'static [Preset<SfqRedConfig>] = &[
        Preset {
            name: "paper",
            doc: "feng2001 §III-B: 46 bins of 9 kB, RED between 2 and 8 kB",
            config: |_| SfqRedConfig::default(),
        },
        Preset {
            name: "auto",
            doc: "1024 bins of a 46th of the limit, at least nine packets",
            config: auto,
        },
    ];

    fn build(config: &SfqRedConfig, link: Link, mut dice: Rng) -> Result<Self, ConfigError> {
        let red = RedRule::new(&config.base(), &link)?;
        let bins = config.bins as usize;
        Ok(SfqRed {
            lines: Lines::new(bins),
            reds: vec![red; bins],
            turns: Turns::new(bins),
            backlog: Backlog::default(),
            spread: FlowSpread::new(config.bins, &mut dice),
            isolation: config.isolation,
            hosts: HostShares::new(config.isolation.divide(), config.bins, &mut dice),
            link,
            bin: Link { limit: config.bin_limit, ..link },
            dice,
        })
    }

    fn state_bytes(config: &SfqRedConfig, link: &Link) -> u64 {
        let bins = config.bins as u64;
        let reds = bins * core::mem::size_of::<RedRule>() as u64;
        core::mem::size_of::<SfqRed>() as u64
            + Lines::bytes(bins, link.most_packets())
            + Turns::bytes(bins)
            + reds
            + HostShares::bytes(config.isolation.divide(), config.bins)
    }

    fn asks(config: &SfqRedConfig) -> Asks {
        config.isolation.asks()
    }

    fn bucket_lifetime(_: &SfqRedConfig) -> Option<Span> {
        Some(FOREVER)
    }
}
