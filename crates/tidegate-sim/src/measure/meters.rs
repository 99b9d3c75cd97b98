//! The meters of flows and groups. Each report bears its own true time, and counts if that lies in
//! the measuring window. When a report is made does not matter. All sums are of integers, so the
//! order does not matter either.
use tidegate::{Span, Time};

use crate::event::prefetch::fetch;
use crate::event::queue::NEVER;
use crate::measure::delay::Delay;
use crate::measure::end_to_end::EndToEnd;
use crate::measure::histogram::{BITS, Histogram, coarser, part, parts, quantile};
use crate::measure::observers::{Observer, Observers, Sighting};
use crate::measure::outcome::{
    Completions, Count, Counters, FlowOutcome, GroupOutcome, LinkOutcome, Outcome,
};
use crate::measure::plan::{Delays, Plan};
use crate::measure::spread::{Spread, Windows};
use crate::measure::trace::Trace;
use crate::net::flight::{Body, Flight, flag};
use crate::net::ids::GroupId;
use crate::net::network::Network;

/// The bins per octave of a flow's histogram, as a power of two.
const FLOW_BITS: u32 = 3;

/// A flow's counters and its group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowMeter {
    pub counters: Counters,
    /// Its group's number.
    group: u32,
}

/// The meters of flows and groups, and the time they go by.
#[derive(Clone, Debug)]
pub(crate) struct Meters {
    warmup: u64,
    window: u64,
    end: u64,
    delays: Delays,
    pub flows: Vec<FlowMeter>,
    /// Each group's delays: in queues, one way, round trip, and of whole transfers.
    group_delays: Vec<Histogram>,
    one_way: Vec<Histogram>,
    round_trip: Vec<Histogram>,
    transfers: Vec<(Count, Histogram)>,
    /// Each flow's delays, one histogram after the other.
    flow_delays: Vec<u32>,
    /// The gaps between each flow's drops, which the queues keep until the end; none without
    /// [`Delays::Flows`].
    pub drop_gaps: Vec<Spread>,
    /// The bytes delivered to each flow in windows of `tau`; empty without `tau`.
    windows: Vec<Windows>,
    /// What each flow lost behind queues; empty where nothing can be.
    lost: Vec<Count>,
    pub observers: Observers,
    tau: u64,
    step: u64,
    /// The grid interval used last: its start, and the index of its first cell.
    interval: (u64, usize),
    /// Bytes delivered and dropped, by interval of the grid and group.
    delivered: Vec<u64>,
    dropped: Vec<u64>,
    packets: u64,
    /// What only RFC 7928 asks for; `None` unless it is measured.
    more: Option<Box<EndToEnd>>,
    pub trace: Option<Box<Trace>>,
}

impl Meters {
    pub fn new<Q>(network: &Network<Q>, plan: &Plan) -> Meters {
        let (flows, groups) = (network.flows.len(), network.groups.len());
        let kept = if plan.delays == Delays::Flows { flows * parts(FLOW_BITS) } else { 0 };
        let points = plan.grid_points();
        Meters {
            warmup: plan.warmup.as_nanos(),
            window: plan.window().as_nanos(),
            end: plan.end.as_nanos(),
            delays: plan.delays,
            flows: network
                .flows
                .iter()
                .map(|f| FlowMeter { counters: Counters::default(), group: f.group.0 })
                .collect(),
            group_delays: vec![Histogram::new(); groups],
            one_way: vec![Histogram::new(); groups],
            round_trip: vec![Histogram::new(); groups],
            transfers: vec![(Count::default(), Histogram::new()); groups],
            flow_delays: vec![0; kept],
            drop_gaps: vec![
                Spread::default();
                if plan.delays == Delays::Flows { flows } else { 0 }
            ],
            windows: vec![Windows::new(); if plan.rate_window.is_some() { flows } else { 0 }],
            lost: vec![Count::default(); if network.loses() { flows } else { 0 }],
            observers: Observers::new(network, plan),
            tau: plan.rate_window.map_or(NEVER, |tau| tau.as_nanos()),
            step: plan.step.map_or(NEVER, |s| s.as_nanos()),
            interval: (0, 0),
            delivered: vec![0; points * groups],
            dropped: vec![0; points * groups],
            packets: 0,
            more: EndToEnd::new(&network.idle, groups),
            trace: None,
        }
    }

    /// Whether what happens at `at` counts.
    #[inline]
    fn counts(&self, at: u64) -> bool {
        at.wrapping_sub(self.warmup) < self.window
    }

    /// Prefetches the meters of `flow`.
    #[inline]
    pub fn fetch(&self, flow: u32) {
        fetch(self.flows.get(flow as usize));
        fetch(self.windows.get(flow as usize));
    }

    /// Counts a packet that `flow`'s sender sends.
    #[inline(always)]
    pub fn sent(&mut self, at: u64, flow: u32, data: Body) {
        self.packets += 1;
        if self.counts(at) {
            let counters = &mut self.flows[flow as usize].counters;
            counters.sent.add(data.len());
            let again = data.flags() & flag::AGAIN != 0;
            counters.retransmits += again as u64;
            counters.retransmitted_bytes += if again { data.len() as u64 } else { 0 };
            let packet = self.sighting(at, flow, data);
            self.observers.sent(packet);
        }
        if let Some(trace) = &mut self.trace {
            trace.sent.push((at, flow, data.seq(), data.len() as u16));
        }
    }

    /// Counts a retransmission timeout of `flow`.
    pub fn timed_out(&mut self, at: u64, flow: u32) {
        if self.counts(at) {
            self.flows[flow as usize].counters.timeouts += 1;
        }
    }

    /// Counts a packet that reaches `flow`'s receiver, with `new` bytes of goodput.
    #[inline(always)]
    pub fn delivered(&mut self, at: u64, flow: u32, data: Body, new: u64) {
        if self.counts(at) {
            let FlowMeter { counters, group } = &mut self.flows[flow as usize];
            counters.delivered.add(data.len());
            counters.goodput_bytes += new;
            let packet = Sighting { at, flow, group: *group, len: data.len() };
            self.observers.delivered(packet, new);
            if let Some(windows) = self.windows.get_mut(flow as usize)
                && let Some([bytes, new]) =
                    windows.add(at, [data.len() as u64, new], self.warmup, self.tau)
            {
                self.observers.window(flow, bytes, new);
            }
            if self.delays != Delays::Off {
                let took = at - data.born;
                self.one_way[*group as usize].record_in(part(BITS, took), took);
                if let Some(more) = &mut self.more {
                    more.delivered(flow, *group, data.len(), took);
                }
            }
        }
        if let Some(cell) = self.cell(at, flow)
            && let Some(bytes) = self.delivered.get_mut(cell)
        {
            *bytes += data.len() as u64;
        }
        if at < self.end
            && let Some(trace) = &mut self.trace
        {
            trace.delivered.push((at, flow, data.seq(), data.len() as u16));
        }
    }

    /// Records a drop at the queue of `link`, also outside the measuring window.
    #[inline]
    pub fn lost(&mut self, at: u64, link: u32, flow: u32, data: Body) {
        if let Some(trace) = &mut self.trace {
            trace.dropped.push((at, link, flow, data.len() as u16));
        }
        let counts = self.counts(at);
        if let Some(more) = &mut self.more {
            more.lost(flow, data, counts);
        }
        if let Some(cell) = self.cell(at, flow)
            && let Some(bytes) = self.dropped.get_mut(cell)
        {
            *bytes += data.len() as u64;
        }
    }

    /// Counts a packet that `link` has lost behind its queue.
    pub fn lost_on_the_way(&mut self, at: u64, link: u32, flight: &Flight) {
        if !flight.body.is_data() {
            return;
        }
        if self.counts(at)
            && let Some(lost) = self.lost.get_mut(flight.flow as usize)
        {
            lost.add(flight.body.len());
        }
        if let Some(trace) = &mut self.trace {
            trace.lost.push((at, link, flight.flow, flight.body.len() as u16));
        }
    }

    /// The index of the series' cell for `flow` at `at`, if there are series.
    #[inline]
    fn cell(&mut self, at: u64, flow: u32) -> Option<usize> {
        if self.step == NEVER {
            return None;
        }
        if at.wrapping_sub(self.interval.0) >= self.step {
            let which = at / self.step;
            self.interval = (which * self.step, which as usize * self.group_delays.len());
        }
        Some(self.interval.1 + self.group(flow))
    }

    /// A packet of `flow` at `at`, as observers see it.
    #[inline(always)]
    pub fn sighting(&self, at: u64, flow: u32, data: Body) -> Sighting {
        Sighting { at, flow, group: self.flows[flow as usize].group, len: data.len() }
    }

    /// The group of `flow`.
    #[inline]
    pub fn group(&self, flow: u32) -> usize {
        self.flows[flow as usize].group as usize
    }

    /// Counts a round trip of `flow`: the packet sent at `born` is acknowledged at `at`.
    #[inline(always)]
    pub fn returned(&mut self, at: u64, flow: u32, born: u64) {
        if self.delays != Delays::Off && self.counts(at) {
            let took = at - born;
            let group = self.group(flow);
            self.round_trip[group].record_in(part(BITS, took), took);
        }
    }

    /// Counts a connection of `flow` whose request, made at `start`, arrives at `at`.
    pub fn opened(&mut self, flow: u32, start: u64, at: u64) {
        let (counts, group) = (self.counts(at), self.flows[flow as usize].group);
        if let Some(more) = self.more.as_mut().filter(|_| counts) {
            more.opened(group, at - start);
        }
    }

    /// Counts a finished transfer of `flow`: `bytes` since `start`.
    pub fn finished(&mut self, flow: u32, start: u64, at: u64, bytes: u64) {
        if let Some(more) = &mut self.more {
            more.finished(flow, at);
        }
        if self.counts(at) {
            let (transfers, times) = &mut self.transfers[self.flows[flow as usize].group as usize];
            transfers.packets += 1;
            transfers.bytes += bytes;
            times.record(Span::from_nanos(at - start));
        }
    }

    /// Counts a packet that a receiver sends.
    #[inline]
    pub fn answered(&mut self, at: u64) {
        self.packets += (at < self.end) as u64;
    }

    /// Counts a data packet of `flow` that leaves a queue after `waited`.
    #[inline(always)]
    pub fn left(&mut self, flow: u32, len: u32, waited: u64, part: usize) {
        let FlowMeter { counters, group } = &mut self.flows[flow as usize];
        counters.departed.add(len);
        counters.delay_sum += waited;
        if self.delays != Delays::Off {
            self.group_delays[*group as usize].record_in(part, waited);
        }
        if self.delays == Delays::Flows {
            let count =
                &mut self.flow_delays[flow as usize * parts(FLOW_BITS) + coarser(part, FLOW_BITS)];
            *count = count.saturating_add(1);
        }
    }

    /// Sums up.
    pub fn finish<Q>(
        mut self,
        network: &Network<Q>,
        plan: Plan,
        links: Vec<LinkOutcome>,
        events: u64,
    ) -> Outcome {
        let whole = self.window / self.tau;
        for (flow, windows) in (0..).zip(&mut self.windows) {
            if let Some([bytes, new]) = windows.close_by(self.warmup + whole * self.tau) {
                self.observers.window(flow, bytes, new);
            }
        }
        let flows: Vec<FlowOutcome> = (0..self.flows.len()).map(|flow| self.flow(flow)).collect();
        let mut groups: Vec<GroupOutcome> =
            (0..network.groups.len()).map(|g| self.group_outcome(g, network, &links)).collect();
        for flow in &flows {
            let group = &mut groups[flow.group.index()];
            group.flows += 1;
            group.counters.merge(&flow.counters);
            group.lost.merge(flow.lost);
        }
        for group in &mut groups {
            group.delay = Delay { mean: group.counters.mean_delay(), ..group.delays.delay() };
        }
        let by_group = |cells: &[u64]| {
            let of = |g: usize| cells.iter().skip(g).step_by(groups.len()).copied().collect();
            (0..groups.len()).map(of).collect()
        };
        let (delivered_bytes, dropped_bytes) = (by_group(&self.delivered), by_group(&self.dropped));
        let (grid, packets) = (plan.grid().collect(), self.packets);
        Outcome {
            plan,
            grid,
            flows,
            groups,
            links,
            delivered_bytes,
            dropped_bytes,
            events,
            packets,
        }
    }

    fn flow(&self, index: usize) -> FlowOutcome {
        let FlowMeter { counters, group } = self.flows[index];
        let kept = parts(FLOW_BITS);
        let counts = self.flow_delays.get(index * kept..(index + 1) * kept).unwrap_or(&[]);
        let of = |q| quantile(FLOW_BITS, counts, q);
        let windows = self.windows.get(index).map(|w| w.spread(self.window / self.tau));
        let windows = windows.unwrap_or_default();
        let more = self.more.as_ref().map(|more| more.of_flow(index));
        FlowOutcome {
            group: GroupId(group),
            counters,
            lost: self.lost.get(index).copied().unwrap_or_default(),
            delay: Delay {
                mean: counters.mean_delay(),
                sd: None,
                p50: of(0.5),
                p95: of(0.95),
                p99: of(0.99),
            },
            windows,
            observed: self.observers.of_flow(index, windows.count),
            loss_runs: more.map(|(_, runs)| runs),
            finished: more.map(|(at, _)| Time::from_nanos(at)).filter(|at| *at > Time::ZERO),
            drop_gaps: self.drop_gaps.get(index).copied().unwrap_or_default(),
        }
    }

    /// A group without its members' counters.
    fn group_outcome<Q>(
        &self,
        index: usize,
        network: &Network<Q>,
        links: &[LinkOutcome],
    ) -> GroupOutcome {
        let (transfers, times) = &self.transfers[index];
        let more = self.more.as_ref().map(|more| more.of_group(index));
        GroupOutcome {
            name: network.groups[index].clone(),
            flows: 0,
            counters: Counters::default(),
            lost: Count::default(),
            delay: Delay::default(),
            delays: self.group_delays[index].clone(),
            one_way: self.one_way[index].delay(),
            round_trip: self.round_trip[index].delay(),
            drop_gaps: merged(links.iter().map(|link| &link.group_drop_gaps[index])),
            observed: self.observers.of_group(index),
            completions: Completions { transfers: *transfers, time: times.delay() },
            variation: more.map(|[variation, _]| variation),
            startup: more.map(|[_, startup]| startup),
        }
    }
}

fn merged<'s>(spreads: impl Iterator<Item = &'s Spread>) -> Spread {
    let mut all = Spread::default();
    spreads.for_each(|spread| all.merge(spread));
    all
}
