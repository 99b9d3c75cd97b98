//! The reference simulator: slow, plain, packet by packet. [`engine`](crate::engine) is tested
//! against it. Every link has a queue, unlimited where none is given. Every arrival and every end
//! of a transmission is an event in one heap. It shares the ends of flows, the meters, and what a
//! link does besides ([`TransmissionTimes`], [`Channel`]). Those have oracles of their own
//! (`tests/all/media.rs`).
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::iter::repeat_n;

use tidegate::{Backlog, ConfigError, DropReason, MarkReason, Packet, Qdisc, Seed, Sink, Time};

use crate::endpoint::ends::FlowEnds;
use crate::endpoint::receiver::Answer;
use crate::endpoint::sender::Timers;
use crate::event::queue::{EventClass, EventKey, NEVER};
use crate::measure::meters::Meters;
use crate::measure::outcome::Outcome;
use crate::measure::plan::Plan;
use crate::measure::queue_meter::QueueMeter;
use crate::measure::trace::Trace;
use crate::net::channel::Channel;
use crate::net::flight::{Body, Flight, Waiting};
use crate::net::ids::LinkId;
use crate::net::network::{LinkSpec, Network};
use crate::net::routes::{Routes, StepKind};
use crate::net::wire::TransmissionTimes;

/// A link: its queue, whether it transmits, and who counts.
struct ReferenceLink<Q> {
    queue: LinkQueue<Q>,
    wire: TransmissionTimes,
    /// What it does besides, if anything, and when it then asks its queue next.
    channel: Option<Box<Channel>>,
    asks: u64,
    busy: bool,
}

/// What waits before a link.
enum LinkQueue<Q> {
    Unlimited(VecDeque<Flight>),
    Managed { queue: Q, meter: Box<QueueMeter> },
}

/// An event: its key, a number that keeps simultaneous arrivals on one link in order, and what
/// arrives.
type ReferenceEvent = Reverse<(EventKey, u64, Option<Box<Flight>>)>;

struct Reference<Q> {
    routes: Routes,
    ends: FlowEnds,
    meters: Meters,
    links: Vec<ReferenceLink<Q>>,
    waiting: Waiting,
    events_due: BinaryHeap<ReferenceEvent>,
    serial: u64,
    events: u64,
}

/// Runs `network` packet by packet; the outcome, and what was seen of every packet.
///
/// # Errors
/// As [`Simulation::new`](crate::Simulation::new).
pub fn simulate_by_packet<Q: Qdisc>(
    mut network: Network<Q>,
    plan: &Plan,
    seed: Seed,
) -> Result<(Outcome, Trace), ConfigError> {
    network.check()?;
    plan.check(network.groups.len())?;
    let routes = Routes::find(&network)?;
    let mut meters = Meters::new(&network, plan);
    meters.trace = Some(Box::default());
    let extent = [network.groups.len(), network.flows.len()];
    let media = &network.media;
    let medium = |link: usize| media.get(&LinkId(link as u32));
    let link = |(i, spec): (usize, &mut LinkSpec<Q>)| ReferenceLink {
        queue: match spec.queue.take() {
            Some(queue) => LinkQueue::Managed {
                queue,
                meter: Box::new(QueueMeter::new(i as u32, spec, plan, extent).over(medium(i))),
            },
            None => LinkQueue::Unlimited(VecDeque::new()),
        },
        wire: TransmissionTimes::new(spec.rate, spec.delay),
        channel: Channel::new(i as u32, medium(i), seed),
        asks: NEVER,
        busy: false,
    };
    let links = network.links.iter_mut().enumerate().map(link).collect();
    let ends = FlowEnds::new(&network, &routes, seed, |_| 0);
    let events_due = BinaryHeap::new();
    let mut run = Reference {
        routes,
        ends,
        meters,
        links,
        waiting: Waiting::default(),
        events_due,
        serial: 0,
        events: 0,
    };
    run.run(plan);
    let trace = run.meters.trace.take().map_or_else(Trace::default, |t| *t);
    let metered = |link: ReferenceLink<Q>| match link.queue {
        LinkQueue::Managed { meter, .. } => Some(meter.finish(&network, &mut run.meters)),
        LinkQueue::Unlimited(_) => None,
    };
    let links = run.links.into_iter().filter_map(metered).collect();
    Ok((run.meters.finish(&network, plan.clone(), links, run.events), trace))
}

impl<Q: Qdisc> Reference<Q> {
    fn run(&mut self, plan: &Plan) {
        let starts: Vec<EventKey> = self.ends.starts().map(|(_, key)| key).collect();
        starts.into_iter().for_each(|key| self.schedule(key, None));
        plan.grid()
            .for_each(|t| self.schedule(EventKey::new(t.as_nanos(), EventClass::Sample, 0), None));
        let end = plan.end.as_nanos();
        while let Some(Reverse((key, _, flight))) = self.events_due.pop() {
            // Of the end itself only the reading belongs to the run, and what comes before it at
            // that instant.
            if key.time() > end || key.time() == end && key.class() > EventClass::Sample {
                break;
            }
            self.events += 1;
            self.handle(key, flight);
        }
        for link in &mut self.links {
            if let LinkQueue::Managed { queue, meter } = &mut link.queue {
                meter.hold(end, queue.backlog());
            }
        }
    }

    fn schedule(&mut self, key: EventKey, flight: Option<Flight>) {
        self.serial += 1;
        self.events_due.push(Reverse((key, self.serial, flight.map(Box::new))));
    }

    fn handle(&mut self, key: EventKey, flight: Option<Box<Flight>>) {
        let (now, id) = (key.time(), key.id() as u32);
        match (key.class(), flight) {
            (EventClass::Arrive, Some(flight)) => self.arrive(now, *flight),
            (EventClass::Depart, _) => self.depart(now, key.id()),
            (EventClass::Tick, _) => {
                let (data, next) = self.ends.tick(now, id);
                self.set(EventClass::Tick, id, next);
                if let Some(data) = data {
                    self.send(now, id, data);
                }
            }
            (EventClass::Send, _) => {
                let timers = self.ends.wake(now, id);
                self.launch(now, id, timers);
            }
            (EventClass::Timeout, _) => {
                let timers = self.ends.timeout(now, id, &mut self.meters);
                self.launch(now, id, timers);
            }
            (EventClass::Acknowledge, _) => {
                let answer =
                    self.ends.acknowledge(now, id, &mut self.waiting.reports, &mut self.meters);
                self.answer(now, id, answer);
            }
            _ => self.sample(now),
        }
    }

    fn launch(&mut self, now: u64, flow: u32, timers: Timers) {
        for output in std::mem::take(&mut self.ends.out) {
            let data = self.ends.launch(now, flow, output);
            self.send(now, flow, data);
        }
        self.set(EventClass::Send, flow, timers.send);
        self.set(EventClass::Timeout, flow, timers.timeout);
    }

    /// `flow`'s source puts `data` out.
    fn send(&mut self, now: u64, flow: u32, data: Body) {
        self.meters.sent(now, flow, data);
        self.arrive(now, Flight { time: now, hop: self.ends.there(flow), flow, body: data });
    }

    fn set(&mut self, class: EventClass, flow: u32, at: u64) {
        if at != NEVER {
            self.schedule(EventKey::new(at, class, flow), None);
        }
    }

    /// `flight` is at a node: its end or one more link.
    fn arrive(&mut self, now: u64, mut flight: Flight) {
        let step = self.routes.steps[flight.hop as usize];
        let link = match step.kind {
            StepKind::Home | StepKind::Return => {
                let Flight { flow, body: ack, .. } = flight;
                self.meters.returned(now, flow, ack.born);
                let timers = self.ends.acknowledged(now, flow, ack, &mut self.waiting.reports);
                return self.launch(now, flow, timers);
            }
            StepKind::Reach | StepKind::Meet => {
                let Flight { flow, body: data, .. } = flight;
                let answer =
                    self.ends.deliver(now, flow, data, &mut self.waiting.reports, &mut self.meters);
                return self.answer(now, flow, answer);
            }
            StepKind::Queue => self.routes.ports[step.index()] as usize,
            StepKind::Follow | StepKind::Enter => step.index(),
            StepKind::Join => self.routes.merge_point(step).link as usize,
        };
        flight.hop += 1;
        self.join(now, link, flight);
    }

    fn answer(&mut self, now: u64, flow: u32, answer: Answer) {
        if let Answer::Train(first, then) = answer {
            let [firsts, thens] = self.ends.repeats(flow).map(|times| times as usize);
            (1..firsts + thens).for_each(|_| self.meters.answered(now));
            let acks = repeat_n(first, firsts).chain(repeat_n(then, thens));
            return acks.for_each(|ack| self.answer(now, flow, Answer::Now(ack)));
        }
        let (acks, due) = match answer {
            Answer::Now(ack) => ([Some(ack), None], NEVER),
            Answer::Later(due) => ([None, None], due),
            Answer::Both(ack, due) => ([Some(ack), None], due),
            Answer::Twice(first, second) => ([Some(first), Some(second)], NEVER),
            Answer::Train(..) | Answer::None => ([None, None], NEVER),
        };
        self.set(EventClass::Acknowledge, flow, due);
        for body in acks.into_iter().flatten() {
            self.arrive(now, Flight { time: now, hop: self.ends.back(flow), flow, body });
        }
    }

    fn join(&mut self, now: u64, id: usize, mut flight: Flight) {
        let label = self.ends.label(flight.flow, &flight.body);
        let link = &mut self.links[id];
        match &mut link.queue {
            LinkQueue::Unlimited(line) => line.push_back(flight),
            LinkQueue::Managed { queue, meter } => {
                meter.hold(now, queue.backlog());
                meter.offered(now, &flight, &mut self.meters);
                if let Some(channel) = &link.channel {
                    flight.body = channel.enter(flight.body);
                }
                let packet = self.waiting.keep(flight, label);
                let ack = label.acknowledges.then(|| self.waiting.ack(&flight));
                let mut fate =
                    ReferenceSink { waiting: &mut self.waiting, meters: &mut self.meters, meter };
                queue.offer(Time::from_nanos(now), packet, ack.as_ref(), &mut fate);
            }
        }
        if !link.busy && link.queue.backlog().packets > 0 {
            let at = link.channel.as_mut().map_or(now, |channel| channel.after(now));
            if at == now { self.begin(now, id) } else { self.ask(at, id) }
        }
    }

    /// Link `id` asks its queue at `at`.
    fn ask(&mut self, at: u64, id: usize) {
        if std::mem::replace(&mut self.links[id].asks, at) != at {
            self.schedule(EventKey::new(at, EventClass::Depart, id as u32), None);
        }
    }

    /// A transmission of link `id` has ended, or it may ask its queue again.
    fn depart(&mut self, now: u64, id: usize) {
        let link = &mut self.links[id];
        if link.channel.is_some() {
            // One that does more is asked once at a time, whatever it has waited for before.
            if link.asks != now {
                return;
            }
            link.asks = NEVER;
        }
        link.busy = link.wire.free > now;
        self.begin(now, id);
    }

    /// Link `id`, if it does not transmit, asks for the next packet.
    fn begin(&mut self, now: u64, id: usize) {
        let link = &mut self.links[id];
        if link.busy {
            return;
        }
        let (flight, arrives) = match &mut link.queue {
            LinkQueue::Unlimited(line) => {
                let Some(flight) = line.pop_front() else { return };
                let done = link.wire.send(now, flight.body.len());
                (flight, Some(done + link.wire.delay))
            }
            LinkQueue::Managed { queue, meter } => {
                meter.hold(now, queue.backlog());
                let mut fate =
                    ReferenceSink { waiting: &mut self.waiting, meters: &mut self.meters, meter };
                let Some(packet) = queue.dequeue(Time::from_nanos(now), &mut fate) else {
                    return self.wake(now, id);
                };
                let mut flight = self.waiting.take(&packet);
                let arrives = link.cross(now, &packet, &mut flight, &mut self.meters);
                if arrives.is_none() {
                    self.waiting.forget(&flight);
                }
                (flight, arrives)
            }
        };
        let link = &mut self.links[id];
        link.busy = true;
        let free = link.wire.free;
        if link.channel.is_some() {
            self.ask(free, id);
        } else {
            self.schedule(EventKey::new(free, EventClass::Depart, id as u32), None);
        }
        if let Some(there) = arrives {
            self.schedule(EventKey::new(there, EventClass::Arrive, id as u32), Some(flight));
        }
    }

    /// The queue of link `id` holds packets back: it is asked again when it says.
    fn wake(&mut self, now: u64, id: usize) {
        let link = &mut self.links[id];
        if let LinkQueue::Managed { queue, .. } = &link.queue
            && queue.backlog().packets > 0
            && let Some(at) = queue.wake_at()
        {
            let at = at.as_nanos().max(now + 1);
            match &mut link.channel {
                Some(channel) => {
                    let at = channel.at_or_after(at);
                    self.ask(at, id);
                }
                None => self.schedule(EventKey::new(at, EventClass::Depart, id as u32), None),
            }
        }
    }

    fn sample(&mut self, now: u64) {
        for link in &mut self.links {
            if let LinkQueue::Managed { queue, meter } = &mut link.queue {
                queue.advance(Time::from_nanos(now));
                meter.read(queue);
            }
        }
    }
}

impl<Q> ReferenceLink<Q> {
    /// Transmits `flight`, which its queue has let go as `packet`; when it arrives, if it does.
    fn cross(
        &mut self,
        now: u64,
        packet: &Packet,
        flight: &mut Flight,
        meters: &mut Meters,
    ) -> Option<u64> {
        let LinkQueue::Managed { meter, .. } = &mut self.queue else { return None };
        let waited = now - packet.arrived.as_nanos();
        let Some(channel) = &mut self.channel else {
            let done = self.wire.send(now, packet.len);
            meter.left(now, done, flight, waited, meters);
            return Some(done + self.wire.delay);
        };
        let sent = channel.send(&mut self.wire, now, &mut flight.body);
        meter.crossed(now, sent, flight, waited, meters);
        sent.arrives
    }
}

impl<Q: Qdisc> LinkQueue<Q> {
    fn backlog(&self) -> Backlog {
        match self {
            LinkQueue::Unlimited(line) => Backlog { packets: line.len() as u32, bytes: 0 },
            LinkQueue::Managed { queue, .. } => queue.backlog(),
        }
    }
}

/// The sink of a managed queue.
struct ReferenceSink<'a> {
    waiting: &'a mut Waiting,
    meters: &'a mut Meters,
    meter: &'a mut QueueMeter,
}

impl Sink for ReferenceSink<'_> {
    fn dropped(&mut self, now: Time, packet: &Packet, why: DropReason) {
        let flight = self.waiting.lose(packet);
        self.meter.dropped(now.as_nanos(), &flight, why, self.meters);
    }

    fn marked(&mut self, now: Time, packet: &Packet, why: MarkReason) {
        self.meter.marked(now.as_nanos(), self.waiting.look(packet), why, self.meters);
    }
}
