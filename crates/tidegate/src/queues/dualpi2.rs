#![doc = include_str!("dualpi2.md")]
use super::codel::auto_mtu;
use crate::choices;
use crate::config::ConfigError;
use crate::entry::{DEFAULT_PRESET, Entry, FOREVER, HashTable, Info, Linux, Preset};
use crate::packet::{Ecn, Packet};
use crate::parts::lines::Lines;
use crate::qdisc::{Backlog, DropReason, Gauge, Link, MarkReason, Qdisc, Sink};
use crate::rng::Rng;
use crate::units::{Bytes, Prob, Rate, Span, Time};

mod control;
mod judge;
mod protection;
mod turn;

use control::BaseControl;
use judge::{Judge, LowLatencyRamp};
use protection::Protection;
use turn::Turn;

choices! {
    /// Which queue sends while both wait.
    pub enum Scheduler {
        /// Weighted round robin.
        Wrr = "wrr",
        /// The packet that waited longest, those of the L queue counted as older by `tshift`.
        Shifted = "tsfifo",
    }
}

choices! {
    /// How a probability becomes a decision.
    pub enum Decide {
        /// Probabilities are added up; each time the sum passes 1, it happens (deschepper2023
        /// appendix A.1).
        Recur = "recur",
        /// A die is rolled for each packet.
        Dice = "dice",
    }
}

choices! {
    /// Whether flows that congest the L queue are sent to the C queue (briscoe2026).
    pub enum QueueProtection {
        /// They are.
        On = "on",
        /// They are not.
        Off = "off",
    }
}

crate::params! {
    /// DualPI2's parameters. Defaults are those of deschepper2023.
    pub struct DualPi2Config {
        /// The delay aimed at in the C queue.
        target: Span = Span::from_millis(15), "target", 0 ..= 60_000_000_000_u64;
        /// Time between two updates of the probability.
        tupdate: Span = Span::from_millis(15), "Tupdate", 1_000_000 ..= 60_000_000_000_u64;
        /// Weight of the delay's distance from the target, per second.
        alpha: f64 = 0.15, "alpha", 0.0 ..= 1e6;
        /// Weight of the delay's change since the last update, per second.
        beta: f64 = 3.0, "beta", 0.0 ..= 1e6;
        /// Marks of the L queue are as likely as the base probability times this.
        coupling_factor: f64 = 2.0, "k", 0.1 ..= 1e3;
        /// The base probability's upper bound.
        p_max: Prob = Prob::ONE, "", 0.0 ..= 1.0;
        /// Above this delay packets of the L queue begin to be marked.
        min_th: Span = Span::from_micros(800), "minTh", 0 ..= 60_000_000_000_u64;
        /// So much above `min_th` all of them are; 0 makes the ramp a step.
        range: Span = Span::from_micros(400), "range", 0 ..= 60_000_000_000_u64;
        /// Which queue sends while both wait.
        scheduler: Scheduler = Scheduler::Wrr, "", 0 ..= 0;
        /// The C queue's share of the link while both wait, with `wrr`.
        classic_protection: Prob = Prob::clip(1.0 / 16.0), "", 0.0 ..= 1.0;
        /// By how much packets of the L queue count as older, with `tsfifo`.
        tshift: Span = Span::from_millis(30), "tshift", 0 ..= 60_000_000_000_u64;
        /// While less than two packets of this length wait behind a packet, neither p_C nor p_CL
        /// concerns it; 0 for always.
        mtu: Bytes = Bytes::new(0), "", 0 ..= 1_000_000_000;
        /// How a probability becomes a decision.
        decide: Decide = Decide::Recur, "recur", 0 ..= 0;
        /// Whether flows that congest the L queue are sent to the C queue (RFC 9957).
        protection: QueueProtection = QueueProtection::Off, "QPROTECT_ON", 0 ..= 0;
        /// How many flows can have a bucket for their score.
        buckets: u32 = 32, "NBUCKETS", 1 ..= 65536;
        /// What a flow may send in marked packets without a score.
        aging: Rate = Rate::from_bps(4_194_304), "AGING", 1_000 ..= 1_000_000_000_000_u64;
        /// A flow with a greater score joins the C queue while the delay in the L queue is above
        /// the ramp's end. A lesser score is too great at a longer delay.
        critical_score: Span = Span::from_millis(4), "CRITICALqLSCORE", 0 ..= 5_000_000_000_u64;
    }
}

/// The line of the L queue, and that of the C queue.
const L: usize = 0;
const C: usize = 1;

/// Two queues behind one link, for scalable and for classic congestion controls, coupled by one
/// controller (deschepper2023).
#[derive(Clone, Debug)]
pub struct DualPi2 {
    lines: Lines,
    held: Backlog,
    link: Link,
    control: BaseControl,
    ramp: LowLatencyRamp,
    turn: Turn,
    judge: Judge,
    protection: Option<Protection>,
    /// How long the link takes to send a byte, in nanoseconds.
    byte: f64,
    /// The controller spares a packet while fewer bytes wait behind it.
    spares_below: u64,
    /// Packets that were sent to the C queue instead.
    sanctioned: u64,
}

/// What becomes of a packet that leaves.
enum DepartureFate {
    Sent,
    Marked(MarkReason),
    Dropped(DropReason),
}

impl DualPi2 {
    /// The base probability p'.
    pub fn probability(&self) -> f64 {
        self.control.p
    }

    /// What waits in the L queue, and in the C queue.
    pub fn backlogs(&self) -> (Backlog, Backlog) {
        (self.lines.backlog(L), self.lines.backlog(C))
    }

    /// The dice as they lie.
    pub fn dice(&self) -> &Rng {
        &self.judge.dice
    }

    /// Packets of the L queue's codepoints that joined the C queue.
    pub fn sanctioned(&self) -> u64 {
        self.sanctioned
    }

    /// Whether a packet that would join the L queue is to join the C queue. The delay is what the
    /// link needs for those before it.
    #[inline]
    fn sanctions(&mut self, now: Time, pkt: &Packet) -> bool {
        let Some(protection) = &mut self.protection else { return false };
        let before = self.lines.backlog(L).bytes as f64 * self.byte;
        let delay = Span::from_nanos(before as u64);
        let sanctions = protection.sanctions(now, pkt, delay, self.ramp.at(delay));
        self.sanctioned += u64::from(sanctions);
        sanctions
    }

    #[inline]
    fn catch_up(&mut self, now: Time) {
        if now >= self.control.every.due() {
            let heads = [L, C].map(|line| self.lines.head(line).map(|pkt| pkt.arrived));
            self.control.overdue(now, heads);
        }
    }

    /// Whether so little waits that the controller leaves the packet in hand alone.
    #[inline]
    fn spares(&self) -> bool {
        self.held.bytes < self.spares_below
    }

    /// What becomes of a packet of the L queue that waited for `delay` (appendices A.1, A.2).
    #[inline]
    fn low_latency(&mut self, delay: Span) -> DepartureFate {
        let spares = self.spares();
        let mut p = if spares { 0.0 } else { self.control.coupled };
        let mut why = MarkReason::Early;
        if self.control.overloaded && !spares {
            if self.judge.happens(L, self.control.classic) {
                return DepartureFate::Dropped(DropReason::Early);
            }
        } else {
            let native = self.ramp.at(delay);
            if native >= 1.0 {
                why = MarkReason::Forced;
            }
            p = p.max(native);
        }
        if self.judge.happens(L, p) { DepartureFate::Marked(why) } else { DepartureFate::Sent }
    }

    /// What becomes of a packet of the C queue with the codepoint `ecn`.
    #[inline]
    fn classic(&mut self, ecn: Ecn) -> DepartureFate {
        if self.spares() || !self.judge.happens(C, self.control.classic) {
            DepartureFate::Sent
        } else if ecn.is_capable() && !self.control.overloaded {
            DepartureFate::Marked(MarkReason::Early)
        } else {
            DepartureFate::Dropped(DropReason::Early)
        }
    }
}

/// The line of a packet: scalable controls send ECT(1), and a packet marked upstream may be
/// theirs (deschepper2023 §2.3).
#[inline]
fn line_of(ecn: Ecn) -> usize {
    if matches!(ecn, Ecn::Ect1 | Ecn::Ce) { L } else { C }
}

impl Qdisc for DualPi2 {
    #[inline]
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, mut pkt: Packet, out: &mut S) {
        pkt.arrived = now;
        self.catch_up(now);
        if !self.link.has_room(self.held, pkt.len) {
            return out.dropped(now, &pkt, DropReason::Overlimit);
        }
        if self.held.packets == 0 {
            self.turn.begin_anew();
        }
        let mut line = line_of(pkt.ecn);
        if line == L && self.sanctions(now, &pkt) {
            line = C;
        }
        pkt.tag = line as u32;
        self.held.add(pkt.len);
        self.lines.push(line, pkt);
    }

    #[inline]
    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        self.catch_up(now);
        while let Some((line, both)) = self.turn.next(now, &self.lines) {
            let mut pkt = self.lines.pop(line)?;
            self.held.remove(pkt.len);
            let fate = match line {
                L => self.low_latency(now.since(pkt.arrived)),
                _ => self.classic(pkt.ecn),
            };
            match fate {
                DepartureFate::Sent => {}
                DepartureFate::Dropped(why) => {
                    out.dropped(now, &pkt, why);
                    continue;
                }
                DepartureFate::Marked(why) => {
                    pkt.ecn = Ecn::Ce;
                    out.marked(now, &pkt, why);
                }
            }
            if both {
                self.turn.sent(line, pkt.len);
            }
            return Some(pkt);
        }
        None
    }

    fn advance(&mut self, now: Time) {
        self.catch_up(now);
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.held
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        see(Gauge { name: "p", unit: "", value: self.control.p });
        see(Gauge { name: "delay", unit: "s", value: self.control.previous });
        see(Gauge { name: "l_backlog", unit: "B", value: self.lines.backlog(L).bytes as f64 });
        see(Gauge { name: "c_backlog", unit: "B", value: self.lines.backlog(C).bytes as f64 });
        see(Gauge { name: "sanctioned", unit: "", value: self.sanctioned as f64 });
    }
}

/// `paper`: the ramp begins no lower than one packet of the longest length takes to send (appendix
/// A.1: Th_len).
fn paper(link: &Link) -> DualPi2Config {
    let one = link.rate.time_to_send(auto_mtu(link)).min(Span::from_millis(60_000));
    let min_th = DualPi2Config::default().min_th.max(one);
    DualPi2Config { min_th, ..DualPi2Config::default() }
}

/// `auto`: the target, too, is no less than two packets take to send, as in PIE; and the L queue is
/// protected.
fn auto(link: &Link) -> DualPi2Config {
    let two = link.rate.time_to_send(Bytes::new(2 * auto_mtu(link).get()));
    let target = two.max(Span::from_millis(15)).min(Span::from_millis(60_000));
    DualPi2Config { target, protection: QueueProtection::On, ..paper(link) }
}

/// `linux`: the defaults of `tc qdisc … dualpi2`.
fn linux(_: &Link) -> DualPi2Config {
    DualPi2Config {
        tupdate: Span::from_millis(16),
        alpha: 0.16,
        beta: 3.2,
        min_th: Span::from_millis(1),
        range: Span::ZERO,
        classic_protection: Prob::clip(0.1),
        mtu: Bytes::new(1514),
        decide: Decide::Dice,
        ..DualPi2Config::default()
    }
}

impl Entry for DualPi2 {
    type Config = DualPi2Config;
    const INFO: Info = Info {
        title: "two queues, for scalable and for classic senders, coupled by one controller (L4S)",
        paper: "deschepper2023",
        manual: include_str!("dualpi2.md"),
    };
    const LINUX: Option<Linux> = Some(Linux {
        tc: "dualpi2 limit {limit:packets} target {target:us} tupdate {tupdate:us} alpha {alpha} \
             beta {beta} coupling_factor {coupling_factor:whole} step_thresh {step} \
             classic_protection {classic_protection:percent}%",
        preset: DEFAULT_PRESET,
        differs: "Linux has no queue protection. It marks from one delay on, where ours has a \
                  ramp, and spares what less than two frames wait behind (`mtu`).",
        whole: true,
    });
    const MARKS_MOST: bool = true;
    const PRESETS: &'static [Preset<DualPi2Config>] = &[
        Preset { name: "paper", doc: "the constants of deschepper2023", config: paper },
        Preset { name: "linux", doc: "the defaults of `tc qdisc … dualpi2`", config: linux },
        Preset {
            name: "auto",
            doc: "as `paper`, target at least two packets' time at the link's rate, with queue \
                  protection",
            config: auto,
        },
    ];

    fn build(config: &DualPi2Config, link: Link, mut dice: Rng) -> Result<Self, ConfigError> {
        Ok(DualPi2 {
            protection: (config.protection == QueueProtection::On)
                .then(|| Protection::new(config, &mut dice)),
            byte: 8e9 / link.rate.as_bps() as f64,
            spares_below: 2 * config.mtu.get(),
            sanctioned: 0,
            lines: Lines::new(2),
            held: Backlog::default(),
            control: BaseControl::new(config),
            ramp: LowLatencyRamp { from: config.min_th, to: config.min_th + config.range },
            turn: Turn::new(config, &link),
            judge: Judge { decide: config.decide, sums: [0.0; 2], dice },
            link,
        })
    }

    fn state_bytes(config: &DualPi2Config, link: &Link) -> u64 {
        let lines = core::mem::size_of::<DualPi2>() as u64 + Lines::bytes(2, link.most_packets());
        match config.protection {
            QueueProtection::On => lines + Protection::bytes(config.buckets),
            QueueProtection::Off => lines,
        }
    }

    fn bucket_lifetime(config: &DualPi2Config) -> Option<Span> {
        (config.protection == QueueProtection::On).then_some(FOREVER)
    }

    fn hash_table(config: &DualPi2Config) -> Option<HashTable> {
        let table = HashTable { buckets: config.buckets, ways: protection::ATTEMPTS };
        (config.protection == QueueProtection::On).then_some(table)
    }
}
