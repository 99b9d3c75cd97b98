//! Runs a network with as few events as give the same result.
//!
//! # What needs an event
//! A packet needs an event only where streams meet: at a queue, at a link entered from several
//! sides, and at a sender that shares its first link. Everything else is computed ahead:
//!
//! - A link that is fed in order (see `routes`) is a multiplication and some additions (`wire`).
//! - A receiver whose answers go into such a link answers at once, for the later time.
//! - A departure from a queue needs no event of its own (`port`).
//! - Nor does a link that several streams of one port enter (`merge`). They are known ahead for as
//!   long as they take.
//!
//! A sender that is the sole user of its first link (`routes`) runs ahead of the clock. It receives
//! an acknowledgement as soon as the time of its arrival is known. Its earlier timers go off first,
//! in their order. What it sends later is *pending output* of its first link. The link's turn comes
//! when the first of that would come out. An open-loop source with a link of its own does the same.
//!
//! So in a dumbbell where every flow has its own hosts, a data packet costs one event, at the
//! queue. Where ways have more lengths than are kept apart, the acknowledgements cost a second one.
//! Shared hosts cost one more at the sender, and another if the sender waits.
//!
//! Departures are processed in batches, so that the code of one stretch stays in the cache. One
//! packet at a time takes a twentieth longer than an event for each (chan2003's mix, 26 flows).
//!
//! # What is pending
//! The event queue is a winner tree that stays in cache. It has one key for each link whose packets
//! need an event at its far end, each port with due departures, and each open-loop source that
//! shares its first link. The timers of connections are in heaps, one for each class of event. The
//! heaps' heads are event sources too. So frequent short waits do not sink through the timeouts of
//! all flows.
//!
//! # What is fetched ahead
//! With a hundred thousand flows, nearly every event is another flow's, and no cache holds them
//! all. Where the next flow is known, its state is prefetched. With few flows it is at hand anyway.
//!
//! # What is inlined
//! The steps of every packet are inlined by force (`inline(always)`). Packets travel between them
//! in
//! registers ([`Body`](crate::net::flight::Body)). The first is worth a thirtieth of a run, the
//! second a seventh (chan2003's mix, 26 flows).
//!
//! # Simultaneous events
//! Keys order by time, then class, then the number of the link or flow (`event::queue`), and never
//! by who was first to schedule. Departures come first, then readings, then arrivals by link and
//! line, then open-loop sources, then connections' timers by flow. A link takes at least a
//! nanosecond, so no effect is simultaneous with its cause. So the order is the network's own. The
//! reference, with an event for every arrival and departure, has the same order (`reference`; the
//! test is `tests/all/reference.rs`).
mod ahead;
mod merging;
mod ports;

use tidegate::catalog::AnyQueue;
use tidegate::{ConfigError, Qdisc, Seed, Time};

use crate::endpoint::ends::FlowEnds;
use crate::event::queue::{EventClass, EventKey, EventQueue, Heap, NONE};
use crate::measure::meters::Meters;
use crate::measure::outcome::Outcome;
use crate::measure::plan::Plan;
use crate::measure::trace::Trace;
use crate::net::flight::Waiting;
use crate::net::line::FlightLine;
use crate::net::merge::Merge;
use crate::net::network::Network;
use crate::net::port::OutputPort;
use crate::net::routes::Routes;
use crate::net::wire::TransmissionTimes;

/// Who acts when an event source's turn comes. Players are numbered in the order of [`EventClass`]
/// and id.
#[derive(Clone, Copy, Debug)]
enum EventSource {
    /// The port of this number.
    Port(u32),
    /// The series are read.
    Readings,
    /// The line of the link of this number.
    Line(u32),
    /// The flow of this number, which is neither closed loop nor the sole user of its first link.
    Source(u32),
    /// The first of the timers of connections of this class.
    Timer(EventClass),
}

/// The classes of connections' timers, in their order.
const TIMERS: [EventClass; 3] = [EventClass::Send, EventClass::Timeout, EventClass::Acknowledge];

/// So many packets ahead what they will need is asked for, where who comes then is known.
const AHEAD: usize = 4;

/// So many flows' state the cache has at hand.
const AT_HAND: usize = 128;

/// The timers of one class; the time of the first is in the event queue as well.
#[derive(Clone, Debug)]
struct Timer {
    pending: Heap,
    slot: u32,
}

/// A network being run.
#[derive(Clone, Debug)]
pub struct Simulation<Q: Qdisc = AnyQueue> {
    network: Network<Q>,
    plan: Plan,
    routes: Routes,
    ends: FlowEnds,
    meters: Meters,
    ports: Vec<OutputPort<Q>>,
    /// The links without a queue, by number of the link; those of links with one are not used.
    wires: Vec<TransmissionTimes>,
    /// What comes out of each link and needs an event there.
    lines: Vec<FlightLine>,
    /// Links that several streams of one port enter, in the order of ports.
    merges: Vec<Merge>,
    waiting: Waiting,
    events_due: EventQueue,
    sources_by_slot: Vec<EventSource>,
    /// The slot of the readings.
    readings: u32,
    /// Timers of connections, by class.
    timers: [Timer; TIMERS.len()],
    /// How many of [`FlowEnds::out`] are being sent already: what leaves may bring another sender
    /// its acknowledgement at once.
    claimed: usize,
    /// Whether there are so many flows that their state is to be fetched ahead.
    ahead: bool,
    now: u64,
    events: u64,
    concluded: bool,
}

impl<Q: Qdisc> Simulation<Q> {
    /// Prepares to run `network` as `plan` says, with dice from `seed` (queues bring their own).
    ///
    /// # Errors
    /// Names what in the network or the plan cannot be.
    pub fn new(
        mut network: Network<Q>,
        plan: Plan,
        seed: Seed,
    ) -> Result<Simulation<Q>, ConfigError> {
        network.check()?;
        plan.check(network.groups.len())?;
        let routes = Routes::find(&network)?;
        let wires: Vec<TransmissionTimes> =
            network.links.iter().map(|l| TransmissionTimes::new(l.rate, l.delay)).collect();
        let meters = Meters::new(&network, &plan);
        let mut sources_by_slot = Vec::new();
        let ports = ports::ports(&mut network, &routes, (&plan, seed), |port| {
            add_slot(&mut sources_by_slot, EventSource::Port(port))
        });
        let readings = add_slot(&mut sources_by_slot, EventSource::Readings);
        let lines = lines(&routes, &mut sources_by_slot);
        let merges: Vec<Merge> = routes.merge_points.iter().map(Merge::new).collect();
        let ends = FlowEnds::new(&network, &routes, seed, |flow| {
            add_slot(&mut sources_by_slot, EventSource::Source(flow))
        });
        let flows = network.flows.len();
        let mut timer = |class| {
            let slot = add_slot(&mut sources_by_slot, EventSource::Timer(class));
            Timer { pending: Heap::new(flows, 2 * flows), slot }
        };
        let timers = TIMERS.map(&mut timer);
        let events_due = EventQueue::new(sources_by_slot.len());
        check_horizon(events_due.horizon().min(timers[0].pending.horizon()), plan.end)?;
        let mut run = Simulation {
            meters,
            network,
            plan,
            routes,
            ends,
            ports,
            wires,
            lines,
            merges,
            waiting: Waiting::default(),
            events_due,
            sources_by_slot,
            readings,
            timers,
            claimed: 0,
            ahead: flows > AT_HAND,
            now: 0,
            events: 0,
            concluded: false,
        };
        run.begin();
        Ok(run)
    }

    /// Schedules what happens first.
    fn begin(&mut self) {
        let starts: Vec<(Option<u32>, EventKey)> = self.ends.starts().collect();
        for (slot, key) in starts {
            match slot {
                Some(slot) => self.events_due.set(slot, key.time()),
                None => self.will_send(key.id() as u32, key.time()),
            }
        }
        if let Some(first) = self.plan.grid().next() {
            self.events_due.set(self.readings, first.as_nanos());
        }
    }

    /// Runs up to `until` (excluded), or to the end of the plan if that is earlier. Call it in
    /// steps to show progress or to give up; how long the steps are changes nothing.
    pub fn run_until(&mut self, until: Time) {
        let until = until.min(self.plan.end).as_nanos();
        loop {
            let (time, slot) = self.events_due.next();
            if time >= until {
                break;
            }
            assert!(time >= self.now, "time ran back: an event of {time} ns at {} ns", self.now);
            self.now = time;
            // Whoever reads takes no part: with and without series as much happens.
            self.events += (slot != self.readings) as u64;
            self.handle(time, slot);
        }
        self.now = self.now.max(until);
    }

    /// Where it is.
    pub fn now(&self) -> Time {
        Time::from_nanos(self.now)
    }

    /// Runs to the end and sums up.
    pub fn finish(mut self) -> Outcome {
        self.conclude();
        let links = self
            .ports
            .into_iter()
            .map(|p| p.meter.finish(&self.network, &mut self.meters))
            .collect();
        self.meters.finish(&self.network, self.plan, links, self.events)
    }

    /// Runs to the end and sums up, and gives what was seen of every packet besides.
    #[doc(hidden)]
    pub fn finish_traced(mut self) -> (Outcome, Trace) {
        self.meters.trace = Some(Box::default());
        self.conclude();
        let mut trace = self.meters.trace.take().map_or_else(Trace::default, |t| *t);
        // Senders and deliveries are worked out ahead and queues one after the other, so they are
        // not in the order of time.
        trace.sent.sort_unstable();
        trace.delivered.sort_unstable();
        trace.dropped.sort_unstable();
        trace.lost.sort_unstable();
        (self.finish(), trace)
    }

    fn conclude(&mut self) {
        let end = self.plan.end;
        if std::mem::replace(&mut self.concluded, true) {
            return;
        }
        self.run_until(end);
        // What senders that are alone on its first link have yet to do, of which nothing comes out
        // before the end.
        for flow in 0..self.network.flows.len() as u32 {
            if self.ends.sole_user(flow).is_some() {
                self.advance(flow, end.as_nanos());
            }
        }
        for id in 0..self.ports.len() {
            // What begins at the very end is outside the window, but a reading at that time comes
            // after it.
            self.depart(id, end.as_nanos());
            // What of that comes to its receiver before the end has yet to be told.
            self.go_on(id, end.as_nanos());
            self.ports[id].conclude(end.as_nanos());
        }
        if self.plan.grid().last() == Some(end) {
            self.sample(end.as_nanos());
        }
    }

    #[inline]
    fn handle(&mut self, now: u64, slot: u32) {
        match self.sources_by_slot[slot as usize] {
            EventSource::Line(link) => {
                let Some(flight) = self.come_out(link as usize, now) else { return };
                match self.lines[link as usize].sink_port {
                    NONE => self.travel(now, flight.hop, flight.flow, flight.body),
                    port => self.offer(port as usize, flight),
                }
            }
            EventSource::Source(flow) => {
                let (data, next) = self.ends.tick(now, flow);
                self.events_due.set(slot, next);
                if let Some(data) = data {
                    self.meters.sent(now, flow, data);
                    self.travel(now, self.ends.there(flow), flow, data);
                }
            }
            EventSource::Timer(class) => self.timer(class),
            EventSource::Port(port) => {
                let id = port as usize;
                self.depart(id, now);
                self.go_on(id, now);
                let port = &mut self.ports[id];
                port.armed = port.due();
                self.events_due.set(slot, port.armed);
            }
            EventSource::Readings => {
                self.sample(now);
                let next = Time::from_nanos(now) + self.plan.step.unwrap_or_default();
                self.events_due.set(slot, next.as_nanos());
            }
        }
    }
}

/// The lines of packets on the links, those with an event source at their end first seated.
fn lines(routes: &Routes, sources_by_slot: &mut Vec<EventSource>) -> Vec<FlightLine> {
    let mut line = |(i, (&needed, &sink_port)): (usize, (&bool, &Option<u32>))| {
        let slot =
            if needed { add_slot(sources_by_slot, EventSource::Line(i as u32)) } else { NONE };
        FlightLine::new(slot, sink_port.unwrap_or(NONE))
    };
    let mut lines: Vec<FlightLine> =
        routes.events.iter().zip(&routes.sink_ports).enumerate().map(&mut line).collect();
    for (flow, way) in routes.ways.iter().enumerate().filter(|(_, way)| way.sole_user) {
        lines[routes.steps[way.there as usize].index()].owner = flow as u32;
    }
    lines
}

/// Where the timers of `class` are.
#[inline]
fn place(class: EventClass) -> usize {
    class as usize - TIMERS[0] as usize
}

/// Whether times up to `end` are well before the `horizon` of what is pending.
fn check_horizon(horizon: u64, end: Time) -> Result<(), ConfigError> {
    let most = Time::from_nanos(horizon / 2);
    if end > most {
        return Err(ConfigError::new(
            "end",
            end,
            format!("must be at most {most} for a network of this size"),
        ));
    }
    Ok(())
}

/// Gives a new event source a slot: its number.
fn add_slot(sources_by_slot: &mut Vec<EventSource>, slot: EventSource) -> u32 {
    sources_by_slot.push(slot);
    sources_by_slot.len() as u32 - 1
}

/// Runs `network` as `plan` says, from start to end.
///
/// # Errors
/// As [`Simulation::new`].
pub fn simulate<Q: Qdisc>(
    network: Network<Q>,
    plan: &Plan,
    seed: Seed,
) -> Result<Outcome, ConfigError> {
    Ok(Simulation::new(network, plan.clone(), seed)?.finish())
}
