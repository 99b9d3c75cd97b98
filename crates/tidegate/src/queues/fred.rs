#![doc = include_str!("fred.md")]
use crate::choices;
use crate::config::ConfigError;
use crate::entry::{Entry, Info, Preset, TARGET_RTT};
use crate::packet::Packet;
use crate::parts::ewma::Ewma;
use crate::parts::flow_table::FlowTable;
use crate::policy::{Fifo, Policy, QueueView, Verdict};
use crate::qdisc::{DropReason, Gauge, Link, MarkReason};
use crate::queues::red;
use crate::rng::Rng;
use crate::units::{Bytes, Prob, Size, Span, Time};

/// A FIFO with RED's average, judged flow by flow (lin1997).
pub type Fred = Fifo<FredRule>;

choices! {
    /// In what queues are counted.
    pub enum CountedIn {
        /// Packets, whatever their length.
        Packets = "packets",
        /// Bytes.
        Bytes = "bytes",
    }
}

choices! {
    /// Which rules hold while the average is at `max` or above.
    pub enum ManyFlows {
        /// Whatever arrives is dropped, from flows above twice the average share with a strike
        /// (lin1997 §4).
        Off = "off",
        /// Each flow may have two packets (lin1997 §5).
        On = "on",
        /// The rules of both, so that the strikes of the latter count.
        Both = "both",
    }
}

crate::params! {
    /// FRED's parameters. The presets work out the thresholds; these defaults are for a limit of
    /// 100 packets.
    pub struct FredConfig {
        /// Below this average nothing is dropped at random.
        min: Size = Size::Packets(25), "min_th", 0 ..= 1_000_000_000_000_u64;
        /// At this average the drop probability has risen to `probability`; above, nothing new is
        /// buffered.
        max: Size = Size::Packets(50), "max_th", 1 ..= 1_000_000_000_000_u64;
        /// p_b at `max`.
        probability: Prob = Prob::clip(0.02), "max_p", 0.0 ..= 1.0;
        /// Weight of the queue of the moment in its average.
        weight: f64 = 0.002, "w_q", 1e-9 ..= 1.0;
        /// In what queues are counted.
        mode: CountedIn = CountedIn::Packets, "", 0 ..= 0;
        /// A flow that has less waiting loses nothing at random.
        min_queue: Size = Size::Packets(2), "minq", 0 ..= 1_000_000_000;
        /// A flow that has this much waiting is refused, with a strike.
        max_queue: Size = Size::Packets(25), "maxq", 0 ..= 1_000_000_000_000_u64;
        /// At `max` a flow with more than so many average shares is refused, with a strike.
        shares: f64 = 2.0, "", 0.0 ..= 1_000_000.0;
        /// A flow with more strikes than this may have the average share and no more.
        strikes: u32 = 1, "", 0 ..= 1_000_000_000;
        /// Which rules hold while the average is at `max` or above.
        many_flows: ManyFlows = ManyFlows::Off, "", 0 ..= 0;
        /// With `many_flows`: what a flow may have waiting then.
        many_flows_queue: Size = Size::Packets(2), "", 0 ..= 1_000_000_000;
        /// The most flows that can have packets waiting; a packet of one more is refused.
        flows: u32 = 65_536, "", 1 ..= 16_777_216;
    }
}

/// What is known of a flow, while something of it waits.
#[derive(Clone, Copy, Debug)]
struct WaitingFlow {
    bytes: u64,
    packets: u32,
    strikes: u32,
}

/// The thresholds in the unit of the mode.
#[derive(Clone, Copy, Debug)]
struct Thresholds {
    min: f64,
    max: f64,
    min_queue: f64,
    max_queue: f64,
    many_flows_queue: f64,
    /// A packet.
    one: f64,
    /// max_p / (max − min).
    slope: f64,
}

impl Thresholds {
    fn new(config: &FredConfig, mean_packet: Bytes) -> Result<Thresholds, ConfigError> {
        let length = |size: Size| match config.mode {
            CountedIn::Packets => size.in_packets(mean_packet),
            CountedIn::Bytes => size.in_bytes(mean_packet) as f64,
        };
        let (min, max) = (length(config.min), length(config.max));
        if max <= min {
            return Err(ConfigError::new(
                "max",
                config.max,
                alloc::format!("must be above min = {}", config.min),
            ));
        }
        Ok(Thresholds {
            min,
            max,
            min_queue: length(config.min_queue),
            max_queue: length(config.max_queue),
            many_flows_queue: length(config.many_flows_queue),
            one: length(Size::Packets(1)),
            slope: config.probability.get() / (max - min),
        })
    }
}

/// The rule of FRED.
#[derive(Clone, Debug)]
pub struct FredRule {
    config: FredConfig,
    lengths: Thresholds,
    flows: FlowTable<WaitingFlow>,
    avg: Ewma,
    /// Packets since the last random drop; −1 while the average is below `min`.
    count: f64,
    /// Since when the queue has been empty.
    empty_since: Time,
    /// The time of a mean packet on the wire, in nanoseconds.
    packet_nanos: f64,
}

impl FredRule {
    fn new(config: &FredConfig, link: &Link) -> Result<FredRule, ConfigError> {
        Ok(FredRule {
            lengths: Thresholds::new(config, link.mean_packet)?,
            flows: FlowTable::new(config.flows),
            avg: Ewma::new(config.weight),
            count: -1.0,
            empty_since: Time::ZERO,
            packet_nanos: link.mean_packet.bits() as f64 * 1e9 / link.rate.as_bps() as f64,
            config: config.clone(),
        })
    }

    /// The average length of the queue, in packets or bytes as `mode` has it.
    pub fn avg(&self) -> f64 {
        self.avg.get()
    }

    /// avgcq: the average share of a flow, at least a packet; in packets or bytes as `mode` has it.
    #[inline]
    pub fn share(&self) -> f64 {
        (self.avg.get() / self.flows.len().max(1) as f64).max(self.lengths.one)
    }

    /// How many flows have packets waiting.
    pub fn flows(&self) -> u32 {
        self.flows.len()
    }

    /// A flow's waiting packets and its strikes; `None` if nothing of it waits.
    pub fn flow(&self, flow: u64) -> Option<(u32, u32)> {
        self.flows.find(flow).map(|slot| (self.flows[slot].packets, self.flows[slot].strikes))
    }

    #[inline]
    fn measure(&self, packets: u32, bytes: u64) -> f64 {
        match self.config.mode {
            CountedIn::Packets => packets as f64,
            CountedIn::Bytes => bytes as f64,
        }
    }

    /// The average falls with the time that the queue has been empty, by whole packet times. What
    /// is left of one is kept: else refused arrivals more often than that would hold the average
    /// up, and be refused, for ever.
    #[cold]
    fn decay(&mut self, now: Time) {
        let m = (now.since(self.empty_since).as_nanos() as f64 / self.packet_nanos) as u64;
        self.avg.decay(m);
        self.empty_since += Span::from_nanos((m as f64 * self.packet_nanos) as u64);
    }

    /// Whether a flow with `qlen` waiting and so many strikes is not to have more, whatever the
    /// dice say.
    #[inline]
    fn too_much(&self, qlen: f64, strikes: u32, share: f64) -> bool {
        let high = self.avg.get() >= self.lengths.max;
        let max_queue = match self.config.many_flows {
            ManyFlows::On | ManyFlows::Both if high => self.lengths.many_flows_queue,
            _ => self.lengths.max_queue,
        };
        let above_shares =
            || high && self.config.many_flows != ManyFlows::On && qlen > self.config.shares * share;
        qlen >= max_queue || (qlen >= share && strikes > self.config.strikes) || above_shares()
    }

    /// RED's part, for a flow that may have more.
    #[inline]
    fn judge(&mut self, qlen: f64, share: f64, dice: &mut Rng) -> Verdict {
        let avg = self.avg.get();
        if avg < self.lengths.min {
            self.count = -1.0;
            return Verdict::Admit;
        }
        if avg >= self.lengths.max {
            if self.config.many_flows == ManyFlows::On {
                return Verdict::Admit;
            }
            self.count = 0.0;
            return Verdict::Drop(DropReason::Forced);
        }
        self.count += 1.0;
        if qlen < self.lengths.min_queue.max(share) {
            return Verdict::Admit;
        }
        let p_b = (avg - self.lengths.min) * self.lengths.slope;
        // u < p_b / (1 − count p_b) without the division.
        if dice.uniform() * (1.0 - self.count * p_b).max(0.0) < p_b {
            self.count = 0.0;
            return Verdict::Drop(DropReason::Early);
        }
        Verdict::Admit
    }
}

impl Policy for FredRule {
    #[inline]
    fn arrive(
        &mut self,
        now: Time,
        pkt: &mut Packet,
        queue: &impl QueueView,
        dice: &mut Rng,
    ) -> Verdict {
        if queue.backlog().packets == 0 {
            self.decay(now);
        }
        let known = self.flows.find(pkt.flow);
        let (qlen, strikes) = match known {
            Some(slot) => {
                let flow = &self.flows[slot];
                (self.measure(flow.packets, flow.bytes), flow.strikes)
            }
            None => (0.0, 0),
        };
        let share = self.share();
        if self.too_much(qlen, strikes, share) {
            if let Some(slot) = known {
                self.flows[slot].strikes = strikes.saturating_add(1);
            }
            return Verdict::Drop(DropReason::Forced);
        }
        match (self.judge(qlen, share, dice), known) {
            (Verdict::Admit, None) => {
                match self.flows.insert(pkt.flow, WaitingFlow { bytes: 0, packets: 0, strikes: 0 })
                {
                    Some(slot) => pkt.tag = slot,
                    None => return Verdict::Drop(DropReason::Overlimit),
                }
            }
            (Verdict::Admit, Some(slot)) => pkt.tag = slot,
            (refusal, _) => return refusal,
        }
        Verdict::Admit
    }

    #[inline]
    fn admitted(&mut self, _: Time, pkt: &Packet, queue: &impl QueueView) {
        let waiting = queue.backlog();
        if waiting.packets > 0 {
            self.avg.update(self.measure(waiting.packets, waiting.bytes));
        }
        let flow = &mut self.flows[pkt.tag];
        flow.bytes += pkt.len as u64;
        flow.packets += 1;
    }

    #[inline]
    fn depart(
        &mut self,
        now: Time,
        pkt: &Packet,
        queue: &impl QueueView,
        _: &mut Rng,
    ) -> Option<MarkReason> {
        let left = queue.backlog();
        self.avg.update(self.measure(left.packets, left.bytes));
        let flow = &mut self.flows[pkt.tag];
        flow.bytes -= pkt.len as u64;
        flow.packets -= 1;
        if flow.packets == 0 {
            self.flows.remove(pkt.tag);
        }
        if left.packets == 0 {
            self.empty_since = now;
        }
        None
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        let unit = match self.config.mode {
            CountedIn::Packets => "packets",
            CountedIn::Bytes => "bytes",
        };
        see(Gauge { name: "avg", unit, value: self.avg() });
        see(Gauge { name: "share", unit, value: self.share() });
        see(Gauge { name: "flows", unit: "", value: self.flows() as f64 });
        see(Gauge { name: "count", unit: "packets", value: self.count });
    }
}

/// lin1997's thresholds: min_th is the smaller of a quarter of the limit and what is in flight.
/// Twice that is max_th, and maxq = min_th. 2 packets are minq, or 4 where the limit is large.
fn paper(link: &Link) -> FredConfig {
    let in_flight = link.packets_per_second() * TARGET_RTT.as_secs();
    let min = Size::Packets(((link.limit_packets() / 4.0).min(in_flight) as u64).max(1));
    let min_queue = Size::Packets(if link.limit_packets() < LARGE { 2 } else { 4 });
    FredConfig { min, max: min.scale(2.0), max_queue: min, min_queue, ..FredConfig::default() }
}

/// From so many packets on a limit counts as large.
const LARGE: f64 = 200.0;

impl Entry for Fred {
    type Config = FredConfig;
    const INFO: Info = Info {
        title: "RED with accounts: flows below the average share lose nothing, flows far above it \
             are held down",
        paper: "lin1997",
        manual: include_str!("fred.md"),
    };
    const PRESETS: &'static [Preset<FredConfig>] = &[
        Preset {
            name: "paper",
            doc: "lin1997 §4, thresholds by its rule from limit, rate and target RTT",
            config: paper,
        },
        Preset {
            name: "many",
            doc: "the same with the extension for many flows (lin1997 §5)",
            config: |link| FredConfig { many_flows: ManyFlows::On, ..paper(link) },
        },
        Preset {
            name: "cho2001",
            doc: "as BARE's paper compares with it: 40 and 160 kB, in bytes",
            config: |_| FredConfig {
                min: Size::Bytes(40_000),
                max: Size::Bytes(160_000),
                probability: Prob::clip(0.2),
                mode: CountedIn::Bytes,
                min_queue: Size::Bytes(2000),
                max_queue: Size::Bytes(40_000),
                ..FredConfig::default()
            },
        },
        Preset {
            name: "auto",
            doc: "as `many`, with the average over one second",
            config: |link| {
                // Two updates for each packet, one when it arrives and one when it leaves.
                let (_, _, weight) = red::automatic(link, red::DELAY_TARGET);
                FredConfig {
                    weight: (weight / 2.0).max(1e-9),
                    many_flows: ManyFlows::On,
                    ..paper(link)
                }
            },
        },
    ];

    fn build(config: &FredConfig, link: Link, dice: Rng) -> Result<Self, ConfigError> {
        Ok(Fifo::new(FredRule::new(config, &link)?, link, dice))
    }

    fn state_bytes(config: &FredConfig, _: &Link) -> u64 {
        core::mem::size_of::<FredRule>() as u64
            + FlowTable::<WaitingFlow>::state_bytes(config.flows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flood at twice the link's rate finds an empty queue and a high average. It is refused, but
    /// the average falls as on a silent link: over 125 packet times to .7786 of what it was.
    #[test]
    fn refused_arrivals_do_not_hold_the_average_up() {
        let link =
            Link::new("10 Mbit/s".parse().unwrap(), Size::Packets(100), "1000 B".parse().unwrap())
                .unwrap();
        let mut fred = FredRule::new(&FredConfig::default(), &link).unwrap();
        (0..10_000).for_each(|_| fred.avg.update(60.0));
        for n in 1..=250 {
            fred.decay(Time::from_nanos(n * 400_000));
        }
        assert!((fred.avg() - 60.0 * 0.778606).abs() < 1e-3, "{}", fred.avg());
    }
}
