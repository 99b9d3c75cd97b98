#![doc = include_str!("care.md")]
use crate::choices;
use crate::config::ConfigError;
use crate::entry::{Entry, Info, Preset, TARGET_RTT};
use crate::packet::Packet;
use crate::parts::capture_list::{CaptureList, Stamp};
use crate::parts::jackknife::Jackknife;
use crate::policy::{Fifo, Policy, QueueView, Verdict};
use crate::qdisc::{DropReason, Gauge, Link};
use crate::rng::Rng;
use crate::units::{Prob, Span, Time};

/// A FIFO that judges flows by how often they stand among recently captured packets (chan2003).
pub type Care = Fifo<CareRule>;

choices! {
    /// What a captured packet counts for when flows are judged.
    pub enum CaptureWeight {
        /// One, as in the paper: packets of equal length are assumed.
        Packets = "packets",
        /// Its length: the share of a flow is that of its bytes.
        Bytes = "bytes",
        /// One, but the longer a packet, the likelier it is captured: p_cap is that of a mean
        /// packet.
        Chance = "chance",
    }
}

choices! {
    /// Of what a flow's fair share is one.
    pub enum ShareOf {
        /// Of what arrives, by the estimated number of flows, as printed.
        Arrivals = "arrivals",
        /// Of what the line carries, max-min fairly over the captured flows: while no more arrives
        /// than that, nobody is above it.
        Line = "line",
    }
}

crate::params! {
    /// CARE's parameters. Defaults are those of the paper's throughput experiments.
    pub struct CareConfig {
        /// Length of the capture list: the number of capture occasions.
        occasions: u32 = 200, "t", 1 ..= 65536;
        /// Probability that an arriving packet is captured.
        capture: Prob = Prob::clip(0.04), "p_cap", 1e-6 ..= 1.0;
        /// How many of the newest captures estimate the number of flows; as many as `occasions` use
        /// one list.
        flow_occasions: u32 = 200, "t", 1 ..= 65536;
        /// Below so many captures no packet is judged.
        least_captures: u32 = 5, "", 1 ..= 65536;
        /// What a captured packet counts for when flows are judged.
        weigh: CaptureWeight = CaptureWeight::Packets, "", 0 ..= 0;
        /// Of what a flow's fair share is one.
        share: ShareOf = ShareOf::Arrivals, "S", 0 ..= 0;
        /// With `share = line`: by this part an empty queue adds to what the line carries, and a
        /// full one takes away.
        pull: f64 = 0.0, "", 0.0 ..= 1.0;
        /// Below this part of the limit the drop probability shrinks with the backlog; 0: it never
        /// does.
        gate: f64 = 0.0, "", 0.0 ..= 1.0;
        /// Captures older than this are forgotten; 0: only when newer ones need their place.
        expire: Span = Span::from_millis(0), "", 0 ..= 3_600_000_000_000_u64;
    }
}

impl CareConfig {
    /// Whether it matters when a packet was captured.
    fn stamps(&self) -> bool {
        self.expire.as_nanos() > 0 || self.share == ShareOf::Line
    }
}

/// The rule of CARE: drop what exceeds the fair share of the captured past.
#[derive(Clone, Debug)]
pub struct CareRule {
    config: CareConfig,
    list: CaptureList,
    flows: FlowCount,
    /// Bytes that arrived so far; what the line carries in a nanosecond, and what its buffer
    /// holds; 1 / mean packet.
    arrived: u64,
    per_nano: f64,
    buffer: f64,
    per_byte: f64,
    /// How often a flow may stand in the list, where the fair share is one of the line.
    level: f64,
    /// 1 / the backlog below which drops are tempered; none: 0.
    gate: f64,
    expires: bool,
    /// What the arriving packet's flow is to lose, settled when it was offered.
    drop: f64,
}

/// The estimate of the number of flows, worked out anew only when its list changes.
#[derive(Clone, Debug)]
struct FlowCount {
    /// A shorter list of its own, where `flow_occasions` asks for one.
    newest: Option<CaptureList>,
    jackknife: Jackknife,
    occasions: usize,
    capture: f64,
    estimate: f64,
}

impl FlowCount {
    fn new(config: &CareConfig) -> FlowCount {
        let newest = (config.flow_occasions < config.occasions)
            .then(|| CaptureList::new(config.flow_occasions));
        FlowCount {
            newest,
            jackknife: Jackknife::new(1),
            occasions: 1,
            capture: config.capture.get(),
            estimate: 0.0,
        }
    }

    /// `flow` was captured into `all`.
    fn update(&mut self, all: &CaptureList, flow: u64) {
        if let Some(newest) = &mut self.newest {
            newest.capture(flow, 1);
        }
        self.recount(all);
    }

    /// The oldest capture of `all` was forgotten for its age.
    fn forget(&mut self, all: &CaptureList) {
        if let Some(newest) = &mut self.newest {
            while newest.len() > all.len() {
                newest.forget_oldest();
            }
        }
        self.recount(all);
    }

    fn recount(&mut self, all: &CaptureList) {
        let list = self.newest.as_ref().unwrap_or(all);
        if list.len() != self.occasions {
            self.occasions = list.len();
            self.jackknife = Jackknife::new(list.len() as u32);
        }
        // B: the packets that the list stands for. The jackknife makes 399 flows of 200 captures
        // that all differ.
        let most = list.len() as f64 / self.capture;
        self.estimate = self.jackknife.estimate(list.frequencies()).min(most);
    }
}

impl CareRule {
    /// n: the estimated number of flows.
    pub fn flows(&self) -> f64 {
        self.flows.estimate
    }

    /// The probability with which a packet of `flow` is dropped now: 1 − t / (n m_2), which is the
    /// paper's 1 − S / rate with B, common to both, divided out. With bytes, t and m_2 are
    /// those of all captures and of the flow's.
    #[inline]
    pub fn drop_probability(&self, flow: u64) -> f64 {
        if self.list.len() < self.config.least_captures as usize {
            return 0.0;
        }
        if self.config.share == ShareOf::Line {
            let count = self.list.count(flow) as f64;
            return if count > self.level { 1.0 - self.level / count } else { 0.0 };
        }
        let captured = self.list.total_weight() as f64;
        let share = self.flows.estimate * self.list.weight(flow) as f64;
        if share > captured { 1.0 - captured / share } else { 0.0 }
    }

    /// Forgets what is too old, and says whether anything was. Only with `expire`.
    #[inline]
    fn expire(&mut self, now: Time) -> bool {
        let old =
            self.list.oldest().is_some_and(|oldest| now.since(oldest.at) > self.config.expire);
        if old {
            self.forget_old(now);
        }
        old
    }

    #[cold]
    fn forget_old(&mut self, now: Time) {
        while self.list.oldest().is_some_and(|oldest| now.since(oldest.at) > self.config.expire) {
            self.list.forget_oldest();
        }
        self.flows.forget(&self.list);
    }

    /// The list has changed: what may a flow have of the line? The list stands for all that arrived
    /// since its oldest capture. The line carries so much of it in that time, which is at least
    /// what the buffer takes to drain. A queue that is less than half full can take more, one that
    /// is fuller has to lose some. A flow that is alone in the list has nobody to share with.
    fn judge_anew(&mut self, now: Time, backlog: u64) {
        self.level = f64::INFINITY;
        let Some(oldest) = self.list.oldest() else { return };
        if self.list.frequencies().seen < 2 {
            return;
        }
        let could = (self.per_nano * now.since(oldest.at).as_nanos() as f64).max(self.buffer);
        let arrived = (self.arrived - oldest.before).max(1) as f64;
        let pull = 1.0 + self.config.pull * (1.0 - 2.0 * backlog as f64 / self.buffer);
        let room = self.list.len() as f64 * could / arrived * pull;
        self.level = self.list.level(room).unwrap_or(f64::INFINITY);
    }

    #[inline]
    fn chance_of_capture(&self, len: u32) -> f64 {
        match self.config.weigh {
            CaptureWeight::Packets | CaptureWeight::Bytes => self.config.capture.get(),
            CaptureWeight::Chance => {
                self.config.capture.get() * len.min(u16::MAX as u32) as f64 * self.per_byte
            }
        }
    }
}

impl Policy for CareRule {
    /// Every arrival may be captured, also one that finds no room.
    #[inline]
    fn offered(&mut self, now: Time, pkt: &Packet, queue: &impl QueueView, dice: &mut Rng) {
        let expired = self.expires && self.expire(now);
        let captured = dice.chance(self.chance_of_capture(pkt.len));
        if captured {
            let weight = match self.config.weigh {
                CaptureWeight::Packets | CaptureWeight::Chance => 1,
                CaptureWeight::Bytes => pkt.len.min(u16::MAX as u32) as u16,
            };
            self.list.capture_at(pkt.flow, weight, Stamp { at: now, before: self.arrived });
            self.flows.update(&self.list, pkt.flow);
        }
        self.arrived += pkt.len.min(u16::MAX as u32) as u64;
        if (captured || expired) && self.config.share == ShareOf::Line {
            self.judge_anew(now, queue.backlog().bytes);
        }
        let drop = self.drop_probability(pkt.flow);
        self.drop = if self.gate > 0.0 {
            drop * (queue.backlog().bytes as f64 * self.gate).min(1.0)
        } else {
            drop
        };
    }

    #[inline]
    fn arrive(&mut self, _: Time, _: &mut Packet, _: &impl QueueView, dice: &mut Rng) -> Verdict {
        if self.drop > 0.0 && dice.chance(self.drop) {
            Verdict::Drop(DropReason::Early)
        } else {
            Verdict::Admit
        }
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        see(Gauge { name: "flows", unit: "", value: self.flows.estimate });
        see(Gauge { name: "captured", unit: "packets", value: self.list.len() as f64 });
    }
}

impl Entry for Care {
    type Config = CareConfig;
    const INFO: Info = Info {
        title: "drops what exceeds the fair share among captured packets; counts flows by capture \
             and recapture",
        paper: "chan2003",
        manual: include_str!("care.md"),
    };
    const PRESETS: &'static [Preset<CareConfig>] = &[
        Preset {
            name: "paper",
            doc: "t = 200, as in the paper's throughput experiments",
            config: |_| CareConfig::default(),
        },
        Preset {
            name: "t50",
            doc: "t = 50, as in the paper's experiments on the number of flows",
            config: |_| CareConfig { occasions: 50, flow_occasions: 50, ..CareConfig::default() },
        },
        Preset {
            name: "auto",
            doc: "t = 2000 captures spread over 40 target RTTs (4 s) of bytes at the link's rate, \
                 none older than 2 s; shares of what the line carries; no drops while little waits",
            config: |link| {
                let virtual_buffer = link.packets_per_second() * TARGET_RTT.as_secs() * 40.0;
                let occasions = 2000;
                CareConfig {
                    occasions,
                    flow_occasions: occasions,
                    capture: Prob::clip((occasions as f64 / virtual_buffer).max(1e-6)),
                    weigh: CaptureWeight::Chance,
                    share: ShareOf::Line,
                    pull: 0.5,
                    gate: 0.05,
                    expire: Span::from_nanos(TARGET_RTT.as_nanos() * 20),
                    ..CareConfig::default()
                }
            },
        },
    ];

    fn build(config: &CareConfig, link: Link, dice: Rng) -> Result<Self, ConfigError> {
        if config.flow_occasions > config.occasions {
            let why = alloc::format!("must not exceed occasions = {}", config.occasions);
            return Err(ConfigError::new("flow_occasions", config.flow_occasions, why));
        }
        let limit = link.limit.in_bytes(link.mean_packet) as f64;
        let list = CaptureList::new(config.occasions);
        let rule = CareRule {
            list: if config.stamps() { list.stamped() } else { list },
            flows: FlowCount::new(config),
            arrived: 0,
            per_nano: link.rate.as_bps() as f64 / 8e9,
            buffer: limit,
            per_byte: 1.0 / link.mean_packet.get() as f64,
            level: f64::INFINITY,
            gate: if config.gate > 0.0 { 1.0 / (config.gate * limit) } else { 0.0 },
            expires: config.expire.as_nanos() > 0,
            drop: 0.0,
            config: config.clone(),
        };
        Ok(Fifo::new(rule, link, dice))
    }

    fn state_bytes(config: &CareConfig, _: &Link) -> u64 {
        let separate = config.flow_occasions < config.occasions;
        let newest = if separate { CaptureList::bytes(config.flow_occasions) } else { 0 };
        let stamps = if config.stamps() { CaptureList::stamp_bytes(config.occasions) } else { 0 };
        core::mem::size_of::<CareRule>() as u64
            + CaptureList::bytes(config.occasions)
            + newest
            + stamps
    }
}
