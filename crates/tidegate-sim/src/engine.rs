//! Runs a network with as few events as give the same result.
//!
//! # What needs an event
//! A packet needs one only where several streams meet and its place among them matters: at a queue, where a link is
//! entered from several sides, and at a sender that reacts. All else is worked out ahead: a link that is fed in order
//! (see `routes`) is two additions and a comparison (`wire`), and a receiver whose answers go into such a link
//! answers at once, for the time at which it will. A departure from a queue needs no event of its own either (`port`). In
//! a dumbbell a data packet costs three events: at the queue, where the acknowledgements meet, and back at the sender.
//!
//! # What is pending
//! One key per link with packets that need an event at its far end (they come out in order, so the line itself keeps
//! them), per port whose departures fall due, per source that sends by the clock: a small heap that stays in cache.
//! Retransmission timers, one per connection, are in a heap of their own, which is touched once per timeout.
//!
//! # Simultaneous events
//! Keys order by time, then class, then the number of the link or flow (`agenda`); never by who was first to schedule.
//! Departures come before readings, those before arrivals, these in the order of links and on one link in the order of
//! the line; then sources by the clock, in the order of flows. As a link takes at least a nanosecond, no effect is
//! simultaneous with its cause. So the order is the network's own and not the engine's, and the reference, which spends
//! an event on every arrival and departure, has the same (`reference`; the test is `tests/reference.rs`).
use std::collections::VecDeque;

use tidegate::catalog::AnyQueue;
use tidegate::{ConfigError, Qdisc, Seed, Time};

use crate::agenda::{Agenda, Class, Key};
use crate::ends::{Ends, Timers};
use crate::flight::{Flight, Waiting};
use crate::meters::{Meters, QueueMeter, Trace};
use crate::network::Network;
use crate::outcome::{Outcome, Plan};
use crate::port::Port;
use crate::routes::{Kind, Routes};
use crate::wire::Wire;

/// A network being run.
#[derive(Clone, Debug)]
pub struct Simulation<Q: Qdisc = AnyQueue> {
    network: Network<Q>,
    plan: Plan,
    routes: Routes,
    ends: Ends,
    meters: Meters,
    ports: Vec<Port<Q>>,
    /// The links without a queue, by number of the link; those of links with one are not used.
    wires: Vec<Wire>,
    /// What comes out of each link and needs an event there.
    lines: Vec<VecDeque<Flight>>,
    waiting: Waiting,
    agenda: Agenda,
    /// Retransmission timers.
    timers: Agenda,
    now: u64,
    events: u64,
    concluded: bool,
}

impl<Q: Qdisc> Simulation<Q> {
    /// Prepares to run `network` as `plan` says, with dice from `seed` (queues bring their own).
    ///
    /// # Errors
    /// Names what in the network or the plan cannot be.
    pub fn new(mut network: Network<Q>, plan: Plan, seed: Seed) -> Result<Simulation<Q>, ConfigError> {
        network.check()?;
        plan.check(network.groups.len())?;
        let routes = Routes::find(&network)?;
        let wires: Vec<Wire> = network.links.iter().map(|l| Wire::new(l.rate, l.delay)).collect();
        let mut ports = Vec::with_capacity(routes.ports.len());
        for (&link, &lookahead) in routes.ports.iter().zip(&routes.lookahead) {
            let Some(queue) = network.links[link as usize].queue.take() else { continue };
            ports.push(Port::new(queue, wires[link as usize].clone(), QueueMeter::new(link, &plan), link, lookahead));
        }
        let ends = Ends::new(&network.flows, &routes, seed);
        let mut agenda = Agenda::default();
        ends.starts().for_each(|key| agenda.push(key));
        if let Some(first) = plan.grid().next() {
            agenda.push(Key::new(first.as_nanos(), Class::Sample, 0));
        }
        Ok(Simulation {
            meters: Meters::new(&network, &plan),
            lines: vec![VecDeque::new(); network.links.len()],
            network,
            plan,
            routes,
            ends,
            ports,
            wires,
            waiting: Waiting::default(),
            agenda,
            timers: Agenda::default(),
            now: 0,
            events: 0,
            concluded: false,
        })
    }

    /// Runs up to `until` (excluded), or to the end of the plan if that is earlier. Call it in steps to show progress
    /// or to give up; how long the steps are changes nothing.
    pub fn run_until(&mut self, until: Time) {
        let until = until.min(self.plan.end).as_nanos();
        loop {
            let (key, timer) = (self.agenda.next(), self.timers.next());
            if timer < key {
                if timer.time() >= until {
                    break;
                }
                self.step(timer);
                self.timers.pop();
                let timers = self.ends.timeout(timer.time(), timer.id() as u32, &mut self.meters);
                self.launch(timer.id() as u32, timers);
            } else {
                if key.time() >= until {
                    break;
                }
                self.step(key);
                self.handle(key);
            }
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
        let links = self.ports.into_iter().map(|p| p.meter.finish(&self.network)).collect();
        self.meters.finish(&self.network, self.plan, links, self.events)
    }

    /// Runs to the end and sums up, and gives what was seen of every packet besides.
    #[doc(hidden)]
    pub fn finish_traced(mut self) -> (Outcome, Trace) {
        self.meters.trace = Some(Box::default());
        self.conclude();
        let mut trace = self.meters.trace.take().map_or_else(Trace::default, |t| *t);
        // Deliveries are worked out ahead, so they are not in the order of time.
        trace.delivered.sort_unstable();
        (self.finish(), trace)
    }

    fn conclude(&mut self) {
        let end = self.plan.end;
        if std::mem::replace(&mut self.concluded, true) {
            return;
        }
        self.run_until(end);
        for id in 0..self.ports.len() {
            // What begins at the very end is outside the window, but a reading at that time comes after it.
            self.depart(id, end.as_nanos());
            let port = &mut self.ports[id];
            port.meter.hold(end.as_nanos(), port.queue.backlog());
        }
        if self.plan.grid().last() == Some(end) {
            self.sample(end.as_nanos());
        }
    }

    /// Moves time on to `key`.
    #[inline]
    fn step(&mut self, key: Key) {
        assert!(key.time() >= self.now, "time ran back: an event of {} ns at {} ns", key.time(), self.now);
        self.now = key.time();
        self.events += 1;
    }

    #[inline]
    fn handle(&mut self, key: Key) {
        let (now, id) = (key.time(), key.id());
        match key.class() {
            Class::Arrive => {
                let line = &mut self.lines[id];
                let Some(flight) = line.pop_front() else { unreachable!("an event for an empty line") };
                match line.front() {
                    Some(next) => self.agenda.replace(Key::new(next.time, Class::Arrive, id as u32)),
                    None => self.agenda.pop(),
                }
                self.travel(flight, now);
            }
            Class::Send => {
                self.agenda.pop();
                let timers = self.ends.wake(now, id as u32);
                self.launch(id as u32, timers);
            }
            Class::Depart => {
                self.agenda.pop();
                if self.ports[id].armed == now {
                    self.ports[id].armed = u64::MAX;
                    self.depart(id, now);
                    self.arm(id);
                }
            }
            Class::Sample => {
                self.agenda.pop();
                self.sample(now);
                let next = Time::from_nanos(now) + self.plan.step.unwrap_or_default();
                self.agenda.push(Key::new(next.as_nanos(), Class::Sample, 0));
            }
            Class::Timeout => unreachable!("timeouts have an agenda of their own"),
        }
    }

    /// Sends what `flow`'s sender has put out and sets its timers.
    #[inline]
    fn launch(&mut self, flow: u32, timers: Timers) {
        let now = self.now;
        let mut out = std::mem::take(&mut self.ends.out);
        for output in out.drain(..) {
            let flight = self.ends.launch(now, flow, output);
            self.meters.sent(now, &flight);
            self.travel(flight, now);
        }
        self.ends.out = out;
        if timers.send != Key::NEVER {
            self.agenda.push(timers.send);
        }
        if timers.timeout != Key::NEVER {
            self.timers.push(timers.timeout);
        }
    }

    /// `flight` takes its next step at `at`, and then every further step that needs no event.
    #[inline]
    fn travel(&mut self, mut flight: Flight, mut at: u64) {
        loop {
            let step = self.routes.steps[flight.hop as usize];
            match step.kind() {
                Kind::Follow | Kind::Enter => {
                    let link = step.index();
                    at = self.wires[link].transit(at, flight.len as u32);
                    flight.hop += 1;
                    if !self.routes.steps[flight.hop as usize].is_free() {
                        flight.time = at;
                        return self.line_up(link, flight);
                    }
                }
                Kind::Reach | Kind::Meet => match self.ends.deliver(at, &flight, &mut self.meters) {
                    Some(answer) => flight = answer,
                    None => return,
                },
                Kind::Queue => return self.join(step.index(), flight, at),
                Kind::Return => {
                    let timers = self.ends.acknowledged(at, &flight);
                    return self.launch(flight.flow, timers);
                }
            }
        }
    }

    /// `flight` will come out of `link` and needs an event then.
    #[inline]
    fn line_up(&mut self, link: usize, flight: Flight) {
        let line = &mut self.lines[link];
        if line.is_empty() {
            self.agenda.push(Key::new(flight.time, Class::Arrive, link as u32));
        }
        line.push_back(flight);
    }

    /// `flight` joins the queue of port `id` at `now`.
    #[inline]
    fn join(&mut self, id: usize, flight: Flight, now: u64) {
        self.depart(id, now);
        let key = self.ends.key(flight.flow);
        self.ports[id].offer(now, flight, key, &mut self.waiting, &mut self.meters);
        self.depart(id, now);
        self.arm(id);
    }

    /// Makes the departures of port `id` that begin up to `now`.
    #[inline]
    fn depart(&mut self, id: usize, now: u64) {
        while let Some(mut flight) = self.ports[id].catch_up(now, &mut self.waiting, &mut self.meters) {
            let link = self.ports[id].link as usize;
            flight.hop += 1;
            if self.routes.steps[flight.hop as usize].is_free() {
                self.travel(flight, flight.time);
            } else {
                self.line_up(link, flight);
            }
        }
    }

    /// Sees to it that port `id` is looked at in time. An event that is early does no harm and is not moved.
    #[inline]
    fn arm(&mut self, id: usize) {
        let port = &mut self.ports[id];
        let due = port.due();
        if due < port.armed {
            port.armed = due;
            self.agenda.push(Key::new(due, Class::Depart, id as u32));
        }
    }

    fn sample(&mut self, now: u64) {
        for id in 0..self.ports.len() {
            self.depart(id, now);
            let port = &mut self.ports[id];
            port.queue.advance(Time::from_nanos(now));
            port.meter.read(&port.queue);
        }
    }
}

/// Runs `network` as `plan` says, from start to end.
///
/// # Errors
/// As [`Simulation::new`].
pub fn simulate<Q: Qdisc>(network: Network<Q>, plan: &Plan, seed: Seed) -> Result<Outcome, ConfigError> {
    Ok(Simulation::new(network, plan.clone(), seed)?.finish())
}
