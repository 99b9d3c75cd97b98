//! The meter of a link behind a queue. Its reports come in order of time, independently of other
//! queues.
use tidegate::bottleneck::Capacity;
use tidegate::{Backlog, DropReason, Gauge, MarkReason, Qdisc, Size, Span, Time};

use crate::measure::delay::Delay;
use crate::measure::histogram::{BITS, Histogram, part};
use crate::measure::meters::Meters;
use crate::measure::observers::Observer;
use crate::measure::outcome::{Count, GaugeSeries, LinkOutcome, QueueSeries};
use crate::measure::plan::{Delays, Plan};
use crate::measure::spread::Gaps;
use crate::net::channel::Sent;
use crate::net::flight::Flight;
use crate::net::ids::LinkId;
use crate::net::medium::Medium;
use crate::net::network::{LinkSpec, Network};

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
    /// What a link of changing capacity has carried.
    carried: Option<Box<Carried>>,
    /// Lost behind the queue.
    lost: Count,
    /// The integrals of the backlog over time so far, up to `last`.
    packet_time: u64,
    byte_time: u128,
    /// The backlog from which the queue is nearly full, and how long it was.
    full: Backlog,
    full_time: Option<u64>,
    last: u64,
    delays: Histogram,
    waited: u64,
    gaps: Gaps,
    /// The gaps between the drops of each group and, if they are kept, of each flow.
    group_gaps: Vec<Gaps>,
    flow_gaps: Vec<Gaps>,
    keep: bool,
    /// Since the last reading: waiting times and packets that left, packets offered and dropped.
    step_waited: u64,
    step_left: u64,
    step_offered: u32,
    step_dropped: u32,
    series: Option<QueueSeries>,
}

impl QueueMeter {
    /// The meter of link number `link`, described by `spec`, in a network of that many groups and
    /// flows.
    pub fn new<Q>(
        link: u32,
        spec: &LinkSpec<Q>,
        plan: &Plan,
        [groups, flows]: [usize; 2],
    ) -> QueueMeter {
        let kept = if plan.delays == Delays::Flows { flows } else { 0 };
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
            carried: None,
            lost: Count::default(),
            packet_time: 0,
            byte_time: 0,
            full: spec.limit.map_or(UNREACHABLE, nearly_full),
            full_time: spec.limit.map(|_| 0),
            last: plan.warmup.as_nanos(),
            delays: Histogram::new(),
            waited: 0,
            gaps: Gaps::NONE,
            group_gaps: vec![Gaps::NONE; groups],
            flow_gaps: vec![Gaps::NONE; kept],
            keep: plan.delays != Delays::Off,
            step_waited: 0,
            step_left: 0,
            step_offered: 0,
            step_dropped: 0,
            series: plan.step.map(|_| QueueSeries::default()),
        }
    }

    /// The same where the link does what `medium` says besides.
    pub fn over(self, medium: Option<&Medium>) -> QueueMeter {
        let capacity = medium.and_then(|medium| medium.capacity.clone());
        let carried = capacity.map(|capacity| Box::new(Carried { capacity, bytes: 0, edges: 0.0 }));
        QueueMeter { carried, ..self }
    }

    #[inline]
    fn counts(&self, at: u64) -> bool {
        at.wrapping_sub(self.warmup) < self.window
    }

    /// Adds the backlog `held` since the last call to the integrals, up to `at`.
    #[inline(always)]
    pub fn hold(&mut self, at: u64, held: Backlog) {
        // `last` begins at the end of the warm-up: what was held before that does not count.
        let until = at.min(self.end);
        if until > self.last {
            let since = until - self.last;
            self.packet_time += held.packets as u64 * since;
            self.byte_time += held.bytes as u128 * since as u128;
            if held.packets >= self.full.packets || held.bytes >= self.full.bytes {
                self.full_time = self.full_time.map(|time| time + since);
            }
            self.last = until;
        }
    }

    /// Counts a packet offered to the queue.
    #[inline(always)]
    pub fn offered(&mut self, at: u64, flight: &Flight, meters: &mut Meters) {
        self.step_offered += 1;
        if self.counts(at) {
            self.arrivals.add(flight.body.len());
            if flight.body.is_data() {
                meters.flows[flight.flow as usize].counters.offered.add(flight.body.len());
            }
        }
    }

    /// Counts a packet dropped.
    #[inline]
    pub fn dropped(&mut self, at: u64, flight: &Flight, why: DropReason, meters: &mut Meters) {
        self.step_dropped += 1;
        if self.counts(at) {
            self.drops[why as usize].add(flight.body.len());
            self.gaps.note(at);
            if flight.body.is_data() {
                meters.flows[flight.flow as usize].counters.dropped.add(flight.body.len());
                let group = meters.group(flight.flow);
                self.group_gaps[group].note(at);
                if let Some(gaps) = self.flow_gaps.get_mut(flight.flow as usize) {
                    gaps.note(at);
                }
                let packet = meters.sighting(at, flight.flow, flight.body);
                meters.observers.dropped(packet, self.link);
            }
        }
        if flight.body.is_data() {
            meters.lost(at, self.link, flight.flow, flight.body);
        }
    }

    /// Counts a packet marked.
    pub fn marked(&mut self, at: u64, flight: &Flight, why: MarkReason, meters: &mut Meters) {
        if self.counts(at) {
            self.marks[why as usize].add(flight.body.len());
            if flight.body.is_data() {
                meters.flows[flight.flow as usize].counters.marked.add(flight.body.len());
                let packet = meters.sighting(at, flight.flow, flight.body);
                meters.observers.marked(packet, self.link);
            }
        }
    }

    /// `flight` leaves the queue at `at`, after `waited`, and is in transmission until `done`.
    #[inline(always)]
    pub fn left(&mut self, at: u64, done: u64, flight: &Flight, waited: u64, meters: &mut Meters) {
        self.step_waited += waited;
        self.step_left += 1;
        self.busy += done.min(self.end).saturating_sub(at.max(self.warmup));
        if self.counts(at) {
            self.departures.add(flight.body.len());
            self.waited += waited;
            let part = part(BITS, waited);
            if self.keep {
                self.delays.record_in(part, waited);
            }
            if flight.body.is_data() {
                meters.left(flight.flow, flight.body.len(), waited, part);
            }
        }
    }

    /// The same of a link whose capacity may change and which may lose `flight`.
    #[cold]
    pub fn crossed(
        &mut self,
        at: u64,
        sent: Sent,
        flight: &Flight,
        waited: u64,
        meters: &mut Meters,
    ) {
        self.left(at, sent.done, flight, waited, meters);
        if let Some(carried) = &mut self.carried {
            carried.add([at, sent.done], flight.body.len(), [self.warmup, self.end]);
        }
        if sent.arrives.is_none() {
            if self.counts(sent.done) {
                self.lost.add(flight.body.len());
            }
            meters.lost_on_the_way(sent.done, self.link, flight);
        }
    }

    /// A reading for the series.
    pub fn read<Q: Qdisc>(&mut self, queue: &Q) {
        let Some(series) = &mut self.series else { return };
        let backlog = queue.backlog();
        series.packets.push(backlog.packets);
        series.bytes.push(backlog.bytes);
        series.delay.push(
            (self.step_left > 0).then(|| Span::from_nanos(self.step_waited / self.step_left)),
        );
        series.offered.push(self.step_offered);
        series.dropped.push(self.step_dropped);
        (self.step_waited, self.step_left, self.step_offered, self.step_dropped) = (0, 0, 0, 0);
        let points = series.packets.len();
        queue.probe(&mut |gauge| note(&mut series.gauges, gauge, points));
        series.gauges.iter_mut().for_each(|g| g.values.resize(points, f64::NAN));
    }

    /// Sums up, the backlog having been brought up to date at the end.
    pub fn finish<Q>(self, network: &Network<Q>, meters: &mut Meters) -> LinkOutcome {
        for (all, here) in meters.drop_gaps.iter_mut().zip(&self.flow_gaps) {
            all.merge(&here.spread);
        }
        let link = &network.links[self.link as usize];
        let mean = (self.departures.packets > 0)
            .then(|| Span::from_nanos(self.waited / self.departures.packets));
        let over = |sum: f64| if self.window == 0 { 0.0 } else { sum / self.window as f64 };
        let whole = [self.warmup, self.end].map(Time::from_nanos);
        let could = |carried: &Carried| carried.capacity.bits_between(whole[0], whole[1]);
        LinkOutcome {
            mean_rate: self.carried.as_ref().map_or(link.rate.as_bps() as f64, |carried| {
                could(carried) / whole[1].since(whole[0]).as_secs()
            }),
            lost: self.lost,
            link: LinkId(self.link),
            name: link.name.clone(),
            rate: link.rate,
            arrivals: self.arrivals,
            departures: self.departures,
            drops: self.drops.into(),
            marks: self.marks.into(),
            utilization: match &self.carried {
                None => over(self.busy as f64),
                Some(carried) if could(carried) > 0.0 => carried.bits() / could(carried),
                Some(_) => 0.0,
            },
            mean_packets: over(self.packet_time as f64),
            mean_bytes: over(self.byte_time as f64),
            nearly_full: self.full_time.map(Span::from_nanos),
            delay: Delay { mean, ..self.delays.delay() },
            drop_gaps: self.gaps.spread,
            group_drop_gaps: self.group_gaps.iter().map(|gaps| gaps.spread).collect(),
            delays: self.delays,
            series: self.series,
        }
    }
}

/// What a link of changing capacity has carried in the window.
#[derive(Clone, Debug)]
struct Carried {
    capacity: Capacity,
    /// Of packets transmitted within it.
    bytes: u64,
    /// Bits of those that straddle its ends.
    edges: f64,
}

impl Carried {
    /// Counts a packet transmitted between two times: of one that straddles an end of the `window`
    /// what was sent within. By a trace, whose opportunities take no time, a packet counts where
    /// its last byte leaves.
    fn add(&mut self, [at, done]: [u64; 2], len: u32, [begin, end]: [u64; 2]) {
        let trace = matches!(self.capacity, Capacity::Trace(_));
        if trace && done >= begin && done < end || !trace && at >= begin && done <= end {
            self.bytes += len as u64;
        } else if !trace && done > begin && at < end {
            let [from, to] = [at.max(begin), done.min(end)].map(Time::from_nanos);
            self.edges += self.capacity.bits_between(from, to);
        }
    }

    fn bits(&self) -> f64 {
        self.bytes as f64 * 8.0 + self.edges
    }
}

/// A backlog that no queue ever has.
const UNREACHABLE: Backlog = Backlog { packets: u32::MAX, bytes: u64::MAX };

/// The least backlog of a queue that is nearly full: 95 % of its `limit` (cho2001's dwell).
fn nearly_full(limit: Size) -> Backlog {
    match limit {
        Size::Packets(n) => {
            Backlog { packets: (n - n / 20).min(u32::MAX as u64) as u32, ..UNREACHABLE }
        }
        Size::Bytes(n) => Backlog { bytes: n - n / 20, ..UNREACHABLE },
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
