//! Who counts what. Everything is told with its own true time and counted if that lies in the measuring window, so it
//! does not matter when it is told; all sums are of integers, so it does not matter in which order.
use tidegate::{Backlog, DropReason, Gauge, MarkReason, Qdisc, Span, Time};

use crate::flight::{Flight, flag};
use crate::histogram::{BITS, Histogram, coarser, part, parts, quantile};
use crate::network::{GroupId, LinkId, Network};
use crate::outcome::{
    Count, Counters, Delay, Delays, FlowOutcome, GaugeSeries, GroupOutcome, LinkOutcome, Outcome, Plan, QueueSeries,
};

/// The parts an octave of a flow's histogram, as a power of two.
const FLOW_BITS: u32 = 3;

/// A packet put out or delivered, for tests: when, which flow, which number, how long.
pub type Sight = (u64, u32, u32, u16);

/// What was seen of every packet, for tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Put out by senders.
    pub sent: Vec<Sight>,
    /// Delivered to receivers.
    pub delivered: Vec<Sight>,
}

/// The meters of flows and groups, and the time they go by.
#[derive(Clone, Debug)]
pub(crate) struct Meters {
    warmup: u64,
    window: u64,
    end: u64,
    delays: Delays,
    flows: Vec<Counters>,
    groups: Vec<u32>,
    /// Each group's delays.
    group_delays: Vec<Histogram>,
    /// Each flow's delays, one histogram after the other.
    flow_delays: Vec<u32>,
    step: u64,
    /// Bytes delivered, by interval of the grid and group.
    delivered: Vec<u64>,
    packets: u64,
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
            flows: vec![Counters::default(); flows],
            groups: network.flows.iter().map(|f| f.group.0).collect(),
            group_delays: vec![Histogram::new(); groups],
            flow_delays: vec![0; kept],
            step: plan.step.map_or(u64::MAX, |s| s.as_nanos()),
            delivered: vec![0; points * groups],
            packets: 0,
            trace: None,
        }
    }

    /// Whether what happens at `at` counts.
    #[inline]
    fn counts(&self, at: u64) -> bool {
        at.wrapping_sub(self.warmup) < self.window
    }

    /// A sender puts `data` out.
    #[inline]
    pub fn sent(&mut self, at: u64, data: &Flight) {
        self.packets += 1;
        if self.counts(at) {
            let flow = &mut self.flows[data.flow as usize];
            flow.sent.add(data.len as u32);
            flow.retransmits += (data.flags & flag::AGAIN != 0) as u64;
        }
        if let Some(trace) = &mut self.trace {
            trace.sent.push((at, data.flow, data.seq, data.len));
        }
    }

    /// A retransmission timer of `flow` has run out.
    pub fn timed_out(&mut self, at: u64, flow: u32) {
        if self.counts(at) {
            self.flows[flow as usize].timeouts += 1;
        }
    }

    /// `data` arrive at their receiver, `new` bytes of it new there.
    #[inline]
    pub fn delivered(&mut self, at: u64, data: &Flight, new: u64) {
        if self.counts(at) {
            let flow = &mut self.flows[data.flow as usize];
            flow.delivered.add(data.len as u32);
            flow.goodput_bytes += new;
        }
        if self.step != u64::MAX {
            self.tally(at, data);
        }
        if at < self.end
            && let Some(trace) = &mut self.trace
        {
            trace.delivered.push((at, data.flow, data.seq, data.len));
        }
    }

    fn tally(&mut self, at: u64, data: &Flight) {
        let groups = self.group_delays.len();
        let cell = (at / self.step) as usize * groups + self.groups[data.flow as usize] as usize;
        if let Some(bytes) = self.delivered.get_mut(cell) {
            *bytes += data.len as u64;
        }
    }

    /// A receiver answers.
    #[inline]
    pub fn answered(&mut self, at: u64) {
        self.packets += (at < self.end) as u64;
    }

    /// `data` leave a queue after `waited`.
    #[inline]
    fn left(&mut self, data: &Flight, waited: u64, part: usize) {
        let flow = &mut self.flows[data.flow as usize];
        flow.departed.add(data.len as u32);
        flow.delay_sum += waited;
        if self.delays != Delays::Off {
            self.group_delays[self.groups[data.flow as usize] as usize].record_in(part, waited);
        }
        if self.delays == Delays::Flows {
            let count = &mut self.flow_delays[data.flow as usize * parts(FLOW_BITS) + coarser(part, FLOW_BITS)];
            *count = count.saturating_add(1);
        }
    }

    fn delay(&self, counters: &Counters, counts: &[u32]) -> Delay {
        let of = |q| quantile(FLOW_BITS, counts, q);
        Delay { mean: counters.mean_delay(), p50: of(0.5), p99: of(0.99) }
    }

    /// Sums up.
    pub fn finish<Q>(self, network: &Network<Q>, plan: Plan, links: Vec<LinkOutcome>, events: u64) -> Outcome {
        let mut groups: Vec<Counters> = vec![Counters::default(); self.group_delays.len()];
        let mut members = vec![0; groups.len()];
        let mut flows = Vec::with_capacity(self.flows.len());
        for (i, counters) in self.flows.iter().enumerate() {
            let group = self.groups[i];
            groups[group as usize].merge(counters);
            members[group as usize] += 1;
            let kept = parts(FLOW_BITS);
            let counts = self.flow_delays.get(i * kept..(i + 1) * kept).unwrap_or(&[]);
            flows.push(FlowOutcome { group: GroupId(group), counters: *counters, delay: self.delay(counters, counts) });
        }
        let series = |g: usize| self.delivered.iter().skip(g).step_by(groups.len()).copied().collect();
        let delivered_bytes = (0..groups.len()).map(series).collect();
        let groups = (groups.iter().zip(self.group_delays).enumerate())
            .map(|(i, (counters, delays))| GroupOutcome {
                name: network.groups[i].clone(),
                flows: members[i],
                counters: *counters,
                delay: Delay { mean: counters.mean_delay(), p50: delays.quantile(0.5), p99: delays.quantile(0.99) },
                delays,
            })
            .collect();
        let grid = plan.grid().collect();
        Outcome { plan, grid, flows, groups, links, delivered_bytes, events, packets: self.packets }
    }
}

/// The meters of one link behind a queue.
#[derive(Clone, Debug)]
pub(crate) struct QueueMeter {
    link: u32,
    warmup: u64,
    window: u64,
    end: u64,
    arrivals: Count,
    departures: Count,
    drops: [Count; DropReason::ALL.len()],
    marks: [Count; MarkReason::ALL.len()],
    /// Nanoseconds of transmission.
    busy: u64,
    /// The integrals of the backlog over time so far, up to `last`.
    packet_time: u64,
    byte_time: u128,
    last: u64,
    waited: u64,
    delays: Histogram,
    keep: bool,
    /// Waiting times and packets since the last reading.
    step_waited: u64,
    step_left: u64,
    series: Option<QueueSeries>,
}

impl QueueMeter {
    pub fn new(link: u32, plan: &Plan) -> QueueMeter {
        QueueMeter {
            link,
            warmup: plan.warmup.as_nanos(),
            window: plan.window().as_nanos(),
            end: plan.end.as_nanos(),
            arrivals: Count::default(),
            departures: Count::default(),
            drops: Default::default(),
            marks: Default::default(),
            busy: 0,
            packet_time: 0,
            byte_time: 0,
            last: plan.warmup.as_nanos(),
            waited: 0,
            delays: Histogram::new(),
            keep: plan.delays != Delays::Off,
            step_waited: 0,
            step_left: 0,
            series: plan.step.map(|_| QueueSeries::default()),
        }
    }

    #[inline]
    fn counts(&self, at: u64) -> bool {
        at.wrapping_sub(self.warmup) < self.window
    }

    /// The backlog, `held` since the last call, may change at `at`.
    #[inline]
    pub fn hold(&mut self, at: u64, held: Backlog) {
        // `last` begins at the end of the warm-up: what was held before that does not count.
        let until = at.min(self.end);
        if until > self.last {
            let since = until - self.last;
            self.packet_time += held.packets as u64 * since;
            self.byte_time += held.bytes as u128 * since as u128;
            self.last = until;
        }
    }

    /// `flight` is offered to the queue.
    #[inline]
    pub fn offered(&mut self, at: u64, flight: &Flight, meters: &mut Meters) {
        if self.counts(at) {
            self.arrivals.add(flight.len as u32);
            if flight.is_data() {
                meters.flows[flight.flow as usize].offered.add(flight.len as u32);
            }
        }
    }

    /// `flight` is dropped.
    #[inline]
    pub fn dropped(&mut self, at: u64, flight: &Flight, why: DropReason, meters: &mut Meters) {
        if self.counts(at) {
            self.drops[why as usize].add(flight.len as u32);
            if flight.is_data() {
                meters.flows[flight.flow as usize].dropped.add(flight.len as u32);
            }
        }
    }

    /// `flight` is marked.
    pub fn marked(&mut self, at: u64, flight: &Flight, why: MarkReason, meters: &mut Meters) {
        if self.counts(at) {
            self.marks[why as usize].add(flight.len as u32);
            if flight.is_data() {
                meters.flows[flight.flow as usize].marked.add(flight.len as u32);
            }
        }
    }

    /// `flight` leaves the queue at `at`, after `waited`, and is in transmission until `done`.
    #[inline]
    pub fn left(&mut self, at: u64, done: u64, flight: &Flight, waited: u64, meters: &mut Meters) {
        self.step_waited += waited;
        self.step_left += 1;
        self.busy += done.min(self.end).saturating_sub(at.max(self.warmup));
        if self.counts(at) {
            self.departures.add(flight.len as u32);
            self.waited += waited;
            let part = part(BITS, waited);
            if self.keep {
                self.delays.record_in(part, waited);
            }
            if flight.is_data() {
                meters.left(flight, waited, part);
            }
        }
    }

    /// A reading for the series.
    pub fn read<Q: Qdisc>(&mut self, queue: &Q) {
        let Some(series) = &mut self.series else { return };
        let backlog = queue.backlog();
        series.packets.push(backlog.packets);
        series.bytes.push(backlog.bytes);
        series.delay.push((self.step_left > 0).then(|| Span::from_nanos(self.step_waited / self.step_left)));
        (self.step_waited, self.step_left) = (0, 0);
        let points = series.packets.len();
        queue.probe(&mut |gauge| note(&mut series.gauges, gauge, points));
        series.gauges.iter_mut().for_each(|g| g.values.resize(points, f64::NAN));
    }

    /// Sums up, the backlog having been brought up to date at the end.
    pub fn finish<Q>(self, network: &Network<Q>) -> LinkOutcome {
        let link = &network.links[self.link as usize];
        let mean = (self.departures.packets > 0).then(|| Span::from_nanos(self.waited / self.departures.packets));
        let over = |sum: f64| if self.window == 0 { 0.0 } else { sum / self.window as f64 };
        LinkOutcome {
            link: LinkId(self.link),
            name: link.name.clone(),
            rate: link.rate,
            arrivals: self.arrivals,
            departures: self.departures,
            drops: self.drops.into(),
            marks: self.marks.into(),
            utilization: over(self.busy as f64),
            mean_packets: over(self.packet_time as f64),
            mean_bytes: over(self.byte_time as f64),
            delay: Delay { mean, p50: self.delays.quantile(0.5), p99: self.delays.quantile(0.99) },
            delays: self.delays,
            series: self.series,
        }
    }
}

/// Writes `gauge` down as the reading number `points` (from 1) of its series.
fn note(gauges: &mut Vec<GaugeSeries>, gauge: Gauge, points: usize) {
    let at = gauges.iter().position(|g| g.name == gauge.name).unwrap_or_else(|| {
        gauges.push(GaugeSeries { name: gauge.name, unit: gauge.unit, values: Vec::new() });
        gauges.len() - 1
    });
    gauges[at].values.resize(points - 1, f64::NAN);
    gauges[at].values.push(gauge.value);
}

impl Plan {
    /// How many points the grid has: every step up to the end, the end included.
    pub(crate) fn grid_points(&self) -> usize {
        self.step.map_or(0, |step| (self.end.as_nanos() / step.as_nanos().max(1)) as usize)
    }

    /// The points of the grid.
    pub(crate) fn grid(&self) -> impl Iterator<Item = Time> {
        let step = self.step.unwrap_or_default().as_nanos();
        (1..=self.grid_points() as u64).map(move |i| Time::from_nanos(i * step))
    }
}
