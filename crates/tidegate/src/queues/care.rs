#![doc = include_str!("care.md")]
use crate::catalog::{Entry, Info, Preset, TARGET_RTT};
use crate::choices;
use crate::config::ConfigError;
use crate::packet::Packet;
use crate::parts::capture_list::CaptureList;
use crate::parts::jackknife::Jackknife;
use crate::policy::{Fifo, Policy, QueueView, Verdict};
use crate::qdisc::{DropReason, Gauge, Link};
use crate::rng::Rng;
use crate::units::{Prob, Time};

/// A FIFO that judges flows by how often they stand among recently captured packets (chan2003).
pub type Care = Fifo<CareRule>;

choices! {
    /// What a captured packet counts for when flows are judged.
    pub enum Weigh {
        /// One, as in the paper: packets of equal length are assumed.
        Packets = "packets",
        /// Its length: the share of a flow is that of its bytes.
        Bytes = "bytes",
    }
}

crate::params! {
    /// CARE's parameters. Defaults are those of the paper's throughput experiments.
    pub struct CareConfig {
        /// Length of the capture list: the number of capture occasions.
        occasions: u32 = 200, "t", 1 ..= 65536;
        /// Probability that an arriving packet is captured.
        capture: Prob = Prob::clip(0.04), "p_cap", 1e-6 ..= 1.0;
        /// How many of the newest captures estimate the number of flows; as many as `occasions` use one list.
        flow_occasions: u32 = 200, "t", 1 ..= 65536;
        /// Below so many captures no packet is judged.
        least_captures: u32 = 5, "", 1 ..= 65536;
        /// What a captured packet counts for when flows are judged.
        weigh: Weigh = Weigh::Packets, "", 0 ..= 0;
    }
}

/// The rule of CARE: drop what exceeds the fair share of the captured past.
#[derive(Clone, Debug)]
pub struct CareRule {
    config: CareConfig,
    list: CaptureList,
    flows: FlowCount,
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
        let newest = (config.flow_occasions < config.occasions).then(|| CaptureList::new(config.flow_occasions));
        FlowCount { newest, jackknife: Jackknife::new(1), occasions: 1, capture: config.capture.get(), estimate: 0.0 }
    }

    /// `flow` was captured into `all`.
    fn update(&mut self, all: &CaptureList, flow: u64) {
        let list = match &mut self.newest {
            Some(newest) => {
                newest.capture(flow, 1);
                &*newest
            }
            None => all,
        };
        if list.len() != self.occasions {
            self.occasions = list.len();
            self.jackknife = Jackknife::new(list.len() as u32);
        }
        // B: the packets that the list stands for. The jackknife makes 399 flows of 200 captures that all differ.
        let most = list.len() as f64 / self.capture;
        self.estimate = self.jackknife.estimate(list.frequencies()).min(most);
    }
}

impl CareRule {
    /// n: the estimated number of flows.
    pub fn flows(&self) -> f64 {
        self.flows.estimate
    }

    /// The probability with which a packet of `flow` is dropped now: 1 − t / (n m_2), which is the paper's
    /// 1 − S / rate with B, common to both, divided out. With bytes, t and m_2 are those of all captures and of the flow's.
    #[inline]
    pub fn drop_probability(&self, flow: u64) -> f64 {
        if self.list.len() < self.config.least_captures as usize {
            return 0.0;
        }
        let captured = self.list.total_weight() as f64;
        let share = self.flows.estimate * self.list.weight(flow) as f64;
        if share > captured { 1.0 - captured / share } else { 0.0 }
    }
}

impl Policy for CareRule {
    /// Every arrival may be captured, also one for which there is no room.
    #[inline]
    fn offered(&mut self, _: Time, pkt: &Packet, _: &impl QueueView, dice: &mut Rng) {
        if dice.chance(self.config.capture.get()) {
            let weight = match self.config.weigh {
                Weigh::Packets => 1,
                Weigh::Bytes => pkt.len.min(u16::MAX as u32) as u16,
            };
            self.list.capture(pkt.flow, weight);
            self.flows.update(&self.list, pkt.flow);
        }
        self.drop = self.drop_probability(pkt.flow);
    }

    #[inline]
    fn arrive(&mut self, _: Time, _: &mut Packet, _: &impl QueueView, dice: &mut Rng) -> Verdict {
        match self.drop > 0.0 && dice.chance(self.drop) {
            true => Verdict::Drop(DropReason::Early),
            false => Verdict::Admit,
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
        title: "drops what exceeds the fair share among captured packets; counts flows by capture and recapture",
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
            doc: "t = 200 captures spread over 40 target RTTs (4 s) of packets at the link's rate",
            config: |link| {
                let virtual_buffer = link.packets_per_second() * TARGET_RTT.as_secs() * 40.0;
                let capture = Prob::clip((200.0 / virtual_buffer).max(1e-6));
                CareConfig { capture, ..CareConfig::default() }
            },
        },
    ];

    fn build(config: &CareConfig, link: Link, dice: Rng) -> Result<Self, ConfigError> {
        if config.flow_occasions > config.occasions {
            let why = alloc::format!("must not exceed occasions = {}", config.occasions);
            return Err(ConfigError::new("flow_occasions", config.flow_occasions, why));
        }
        let list = CaptureList::new(config.occasions);
        Ok(Fifo::new(CareRule { config: config.clone(), list, flows: FlowCount::new(config), drop: 0.0 }, link, dice))
    }

    fn state_bytes(config: &CareConfig, _: &Link) -> u64 {
        let separate = config.flow_occasions < config.occasions;
        let newest = if separate { CaptureList::bytes(config.flow_occasions) } else { 0 };
        core::mem::size_of::<CareRule>() as u64 + CaptureList::bytes(config.occasions) + newest
    }
}
