#![doc = include_str!("bare.md")]
mod params;
mod presets;

use crate::packet::Packet;
use crate::parts::every::{CATCH_UP, Every};
use crate::parts::ewma::Ewma;
use crate::parts::flow_table::FlowTable;
use crate::parts::power;
use crate::parts::rate::RateEstimator;
use crate::policy::{Fifo, Policy, QueueView, Verdict};
use crate::qdisc::{DropReason, Gauge, Link, MarkReason};
use crate::rng::Rng;
use crate::units::{Bytes, Size, Time};
pub use params::*;

/// A FIFO that drops from each flow by its share of the buffer and its rate (cho2001).
pub type Bare = Fifo<BareRule>;

/// The virtual threshold V_th(N) of Fig. 1, in bytes.
#[derive(Clone, Copy, Debug)]
struct Threshold {
    most: f64,
    least: f64,
    roomy: f64,
    crowded: f64,
    /// Of the straight line between, per flow.
    slope: f64,
}

impl Threshold {
    fn new(config: &BareConfig, mean_packet: Bytes) -> Threshold {
        let bytes = |size: Size| size.in_bytes(mean_packet) as f64;
        let (most, least) = (bytes(config.most), bytes(config.least));
        let (roomy, crowded) = (config.roomy as f64, config.crowded as f64);
        let slope = if crowded > roomy {
            (least * crowded - most * roomy) / (crowded - roomy)
        } else {
            0.0
        };
        Threshold { most, least, roomy, crowded, slope }
    }

    fn at(&self, flows: f64) -> f64 {
        if flows <= self.roomy {
            self.most * flows
        } else if flows < self.crowded {
            self.most * self.roomy + self.slope * (flows - self.roomy)
        } else {
            self.least * flows
        }
    }
}

/// What follows from the number of flows.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// What one flow may have waiting, in bytes, and one over it.
    max_th: f64,
    per_max_th: f64,
    target_q: f64,
    /// One over the fair rate, in seconds per byte.
    per_rate_fair: f64,
    /// beta is adjusted after so many bytes of a flow.
    update_after: f64,
}

/// What is known of a flow.
#[derive(Clone, Copy, Debug)]
struct FlowAverages {
    queued: u64,
    /// Bytes since the last adjustment of beta.
    count: u64,
    rate: f64,
    beta: f64,
    /// When it last buffered a packet.
    last: Time,
    packets: u32,
}

/// The arriving packet's flow, found or made when the packet was offered.
#[derive(Clone, Copy, Debug)]
enum Here {
    New,
    Known(u32),
}

/// The rule of BARE.
#[derive(Clone, Debug)]
pub struct BareRule {
    config: BareConfig,
    threshold: Threshold,
    bounds: Bounds,
    flows: FlowTable<FlowAverages>,
    avg: Ewma,
    estimator: RateEstimator,
    /// The link's rate in bytes per second.
    mu: f64,
    here: Here,
    /// N, and when it is counted by rate.
    active: f64,
    every: Every,
}

impl BareRule {
    fn new(config: &BareConfig, link: &Link) -> BareRule {
        let nothing = Bounds {
            max_th: 0.0,
            per_max_th: 0.0,
            target_q: 0.0,
            per_rate_fair: 0.0,
            update_after: 0.0,
        };
        let mut rule = BareRule {
            config: config.clone(),
            threshold: Threshold::new(config, link.mean_packet),
            bounds: nothing,
            flows: FlowTable::new(config.flows),
            avg: Ewma::new(config.weight),
            estimator: RateEstimator::new(config.memory),
            mu: link.rate.as_bps() as f64 / 8.0,
            here: Here::New,
            active: 1.0,
            every: if config.active == Active::ByRate {
                Every::new(config.recount)
            } else {
                Every::never()
            },
        };
        rule.refresh();
        rule
    }

    /// N_act: how many flows are known.
    pub fn flows(&self) -> u32 {
        self.flows.len()
    }

    /// The average backlog, in bytes.
    pub fn avg(&self) -> f64 {
        self.avg.get()
    }

    /// What one flow may have waiting now, in bytes.
    pub fn max_th(&self) -> f64 {
        self.bounds.max_th
    }

    /// The backlog aimed at now, in bytes.
    pub fn target(&self) -> f64 {
        self.bounds.target_q
    }

    /// A flow's bytes that wait, its rate in bytes per second, and its beta; `None` if it is not
    /// known.
    pub fn flow(&self, flow: u64) -> Option<(u64, f64, f64)> {
        self.flows
            .find(flow)
            .map(|slot| (self.flows[slot].queued, self.flows[slot].rate, self.flows[slot].beta))
    }

    /// N by rate, a step nearer. Each flow's rate, as far as it has not faded since its last
    /// packet, is divided by half of the last fair one, and counts as no more than one.
    #[cold]
    fn recount(&mut self, now: Time) {
        while let Some(at) = self.every.step(now) {
            let idle = self.every.overdue(now);
            // Nothing has come since, so that only the last of many overdue counts matters.
            if idle > CATCH_UP {
                self.every.skip(idle - 1);
                continue;
            }
            let (half, memory) = (2.0 * self.bounds.per_rate_fair, self.config.memory.as_secs());
            let part = |flow: &FlowAverages| {
                let faded = flow.rate * libm::exp(-at.since(flow.last).as_secs() / memory);
                (half * faded).min(1.0)
            };
            self.active = self.flows.iter().map(|(_, flow)| part(flow)).sum::<f64>().max(1.0);
            self.refresh();
        }
    }

    /// Lines 3 to 6, whenever the number of flows has changed.
    fn refresh(&mut self) {
        if self.config.active == Active::Known {
            self.active = self.flows.len().max(1) as f64;
        }
        let flows = self.active;
        let vmax_q = self.threshold.at(flows);
        let max_th = vmax_q / flows;
        self.bounds = Bounds {
            max_th,
            per_max_th: 1.0 / max_th,
            target_q: vmax_q * self.config.target.get(),
            per_rate_fair: flows / self.mu,
            update_after: self.config.update_after * max_th,
        };
    }

    /// §V-B: forgets the flows that have nothing waiting and have buffered nothing for the timeout.
    /// In a FIFO flows fall idle in the order of their last packets, so the line of the retired is
    /// sorted by `last`.
    #[inline]
    fn forget(&mut self, now: Time) {
        if now >= self.every.due() {
            self.recount(now);
        }
        if let Some(oldest) = self.flows.oldest_retired()
            && now.since(self.flows[oldest].last) >= self.config.timeout
        {
            self.forget_now(now);
        }
    }

    #[cold]
    fn forget_now(&mut self, now: Time) {
        while let Some(oldest) = self.flows.oldest_retired()
            && now.since(self.flows[oldest].last) >= self.config.timeout
        {
            self.flows.remove(oldest);
        }
        self.refresh();
    }

    /// One over a fair share, in the unit in which shares are estimated.
    #[inline]
    fn per_fair(&self) -> f64 {
        match self.config.share {
            ShareBy::Rate => self.bounds.per_rate_fair,
            // Nothing waits, so that nobody has too much.
            ShareBy::Backlog if self.avg.get() <= 0.0 => 0.0,
            ShareBy::Backlog => self.active / self.avg.get(),
        }
    }

    /// Lines 16 and 29: adjusts beta, when enough bytes have gone by.
    #[inline]
    fn update_beta(&mut self, slot: u32) {
        let per_fair = self.per_fair();
        let flow = &mut self.flows[slot];
        if (flow.count as f64) < self.bounds.update_after {
            return;
        }
        if self.config.count == ByteCount::Reset {
            flow.count = 0;
        }
        let ratio = flow.rate * per_fair;
        flow.beta = if ratio > 1.0 && self.avg.get() > self.bounds.target_q {
            (flow.beta / ratio).max(self.config.beta_min)
        } else {
            let factor = match self.config.growth {
                BetaGrowth::Constant => self.config.increase,
                BetaGrowth::Ratio if ratio < 1.0 => 1.0 / ratio,
                BetaGrowth::Ratio => ratio,
            };
            (flow.beta * factor).min(self.config.beta_max)
        };
    }

    /// Lines 2 to 12; in a full table the flow that is idle longest makes room. `None` if there is
    /// none such.
    fn enter(&mut self, now: Time, pkt: &Packet) -> Option<u32> {
        let new = FlowAverages {
            queued: 0,
            count: pkt.len as u64,
            rate: 0.0,
            beta: self.config.beta,
            last: now,
            packets: 0,
        };
        if let Some(slot) = self.flows.insert(pkt.flow, new) {
            self.refresh();
            return Some(slot);
        }
        self.flows.remove(self.flows.oldest_retired()?);
        self.flows.insert(pkt.flow, new)
    }

    /// Lines 17 and 18 (eq. 6).
    #[inline]
    fn judge(&self, slot: u32, len: u32, dice: &mut Rng) -> Verdict {
        let flow = &self.flows[slot];
        let queued = (flow.queued + len as u64) as f64;
        let die = dice.uniform();
        if queued >= self.bounds.max_th {
            Verdict::Drop(DropReason::Forced)
        } else if self.is_early(die, queued * self.bounds.per_max_th, flow.beta) {
            Verdict::Drop(DropReason::Early)
        } else {
            Verdict::Admit
        }
    }

    #[inline]
    fn is_early(&self, die: f64, part: f64, beta: f64) -> bool {
        match self.config.law {
            DropCurve::Power => power::is_below(die, part, beta),
            DropCurve::Constant => die < self.config.chance.get(),
        }
    }
}

impl Policy for BareRule {
    /// Lines 1 and 14 to 16, also for a packet that finds no room.
    #[inline]
    fn offered(&mut self, now: Time, pkt: &Packet, _: &impl QueueView, _: &mut Rng) {
        self.forget(now);
        self.here = match self.flows.find(pkt.flow) {
            Some(slot) => {
                self.flows[slot].count += pkt.len as u64;
                self.update_beta(slot);
                Here::Known(slot)
            }
            None => Here::New,
        };
    }

    #[inline]
    fn arrive(
        &mut self,
        now: Time,
        pkt: &mut Packet,
        _: &impl QueueView,
        dice: &mut Rng,
    ) -> Verdict {
        match self.here {
            Here::Known(slot) => {
                pkt.tag = slot;
                self.judge(slot, pkt.len, dice)
            }
            Here::New => match self.enter(now, pkt) {
                Some(slot) => {
                    pkt.tag = slot;
                    Verdict::Admit
                }
                None => Verdict::Drop(DropReason::Overlimit),
            },
        }
    }

    /// Lines 11 and 22 to 25 (eq. 4).
    #[inline]
    fn admitted(&mut self, now: Time, pkt: &Packet, queue: &impl QueueView) {
        self.avg.update((queue.backlog().bytes + pkt.len as u64) as f64);
        if let Here::Known(slot) = self.here {
            let flow = &mut self.flows[slot];
            flow.rate = match self.config.share {
                ShareBy::Rate => self.estimator.update(flow.rate, pkt.len, now.since(flow.last)),
                ShareBy::Backlog => {
                    let queued = (flow.queued + pkt.len as u64) as f64;
                    flow.rate + self.config.share_weight * (queued - flow.rate)
                }
            };
            flow.last = now;
            if flow.packets == 0 {
                self.flows.recall(slot);
            }
        }
        let flow = &mut self.flows[pkt.tag];
        flow.queued += pkt.len as u64;
        flow.packets += 1;
    }

    /// Lines 27 to 30.
    #[inline]
    fn depart(
        &mut self,
        now: Time,
        pkt: &Packet,
        queue: &impl QueueView,
        _: &mut Rng,
    ) -> Option<MarkReason> {
        self.forget(now);
        let flow = &mut self.flows[pkt.tag];
        flow.queued -= pkt.len as u64;
        flow.packets -= 1;
        if flow.packets == 0 {
            self.flows.retire(pkt.tag);
        }
        self.update_beta(pkt.tag);
        self.avg.update(queue.backlog().bytes as f64);
        None
    }

    fn advance(&mut self, now: Time) {
        self.forget(now);
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        see(Gauge { name: "flows", unit: "", value: self.flows() as f64 });
        see(Gauge { name: "active", unit: "", value: self.active });
        see(Gauge { name: "max_th", unit: "bytes", value: self.max_th() });
        see(Gauge { name: "target", unit: "bytes", value: self.target() });
        see(Gauge { name: "avg", unit: "bytes", value: self.avg() });
    }
}
