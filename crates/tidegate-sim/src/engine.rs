//! Runs a network with as few events as give the same result.
//!
//! # What needs an event
//! A packet needs one only where several streams meet and its place among them matters: at a queue,
//! where a link is entered from several sides, and at a sender whose first link others use too. All
//! else is worked out ahead: a link that is fed in order (see `routes`) is a multiplication and
//! some additions (`wire`), and a receiver whose answers go into such a link answers at once, for
//! the time at which it will. A departure from a queue needs no event of its own either (`port`),
//! nor does a link that several streams of one port enter (`confluence`): how far ahead they are
//! known is how long they are.
//!
//! A sender that is at home (`routes`) is told of an acknowledgement as soon as it is known when
//! that will come back. Its own timers of before then go off first, in their order; what it will
//! send later is *owed* to its first link, whose turn comes when the first of that would come out.
//! So is what a source at home sends that hears no acknowledgements. So in a dumbbell in which
//! every flow has hosts of its own a data packet costs one event, at the queue, and a second where
//! the acknowledgements meet if the ways are of more lengths than are told apart; with shared hosts
//! one more back at the sender, and another if it waits before it sends.
//!
//! What departs from a port goes on some at a time, when the first of it must: the code for one
//! stretch of the way is then at hand for all of them. To do the same packet by packet takes a
//! twentieth longer than to have an event for each (chan2003's mix, 26 flows).
//!
//! # What is pending
//! One key per link with packets that need an event at its far end (they come out in order, so the
//! line itself keeps them), per port whose departures fall due, per source that is neither answered
//! nor at home: a tournament that stays in cache. The timers of connections are in heaps, one for
//! each class of event, whose heads are players too: bursts that wait a moment, few and
//! often, do not sink through the timeouts of all flows, which fire once per timeout.
//!
//! # What is fetched ahead
//! Of a hundred thousand flows no cache holds the state, and nearly every event is another flow's.
//! Whose turn comes after this one is known where things are in line, so its state is asked for
//! while this one is dealt with. Of a few flows it is at hand anyway.
//!
//! # What is in line
//! What every packet passes is put in line by force where the compiler would not
//! (`inline(always)`), and packets go from step to step in
//! registers ([`Body`](crate::net::flight::Body)): the first is worth a thirtieth of a run, the second a
//! seventh (chan2003's mix, 26 flows).
//!
//! # Simultaneous events
//! Keys order by time, then class, then the number of the link or flow (`agenda`); never by who was
//! first to schedule. Departures come before readings, those before arrivals, these in the order of
//! links and on one link in the order of the line; then sources that are not answered, and then
//! connections' timers, in the order of flows. As a link takes at least a nanosecond, no effect is
//! simultaneous with its cause. So the order is the network's own and not the engine's, and the
//! reference, which spends an event on every arrival and departure, has the same (`reference`; the
//! test is `tests/reference.rs`).
use tidegate::catalog::AnyQueue;
use tidegate::{ConfigError, Qdisc, Seed, Time};

use crate::endpoint::ends::Ends;
use crate::endpoint::receiver::Answer;
use crate::endpoint::sender::{NEVER, Timers};
use crate::event::queue::{Agenda, Class, Heap, Key};
use crate::measure::meters::{Meters, Trace};
use crate::measure::outcome::{Outcome, Plan};
use crate::measure::queue_meter::QueueMeter;
use crate::net::flight::{Body, Flight, Waiting};
use crate::net::line::Line;
use crate::net::merge::Confluence;
use crate::net::network::Network;
use crate::net::port::Port;
use crate::net::routes::{Kind, Routes, Step};
use crate::net::wire::Wire;

/// Who acts when a player's turn comes. Players are numbered in the order of [`Class`] and id.
#[derive(Clone, Copy, Debug)]
enum Player {
    /// The port of this number.
    Port(u32),
    /// The series are read.
    Readings,
    /// The line of the link of this number.
    Line(u32),
    /// The flow of this number, which is neither answered nor at home.
    Source(u32),
    /// The first of the timers of connections of this class.
    Timer(Class),
}

/// The classes of connections' timers, in their order.
const TIMERS: [Class; 3] = [Class::Send, Class::Timeout, Class::Acknowledge];

/// So many packets ahead what they will need is asked for, where who comes then is known.
const AHEAD: usize = 4;

/// So many flows' state the cache has at hand.
const AT_HAND: usize = 128;

/// The timers of one class; the time of the first is in the agenda as well.
#[derive(Clone, Debug)]
struct Timer {
    pending: Heap,
    player: u32,
}

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
    lines: Vec<Line>,
    /// Links that several streams of one port enter, in the order of ports.
    confluences: Vec<Confluence>,
    waiting: Waiting,
    agenda: Agenda,
    players: Vec<Player>,
    /// The player of whom there is one.
    readings: u32,
    /// Timers of connections, by class.
    timers: [Timer; TIMERS.len()],
    /// How many of [`Ends::out`] are being sent already: what leaves may bring another sender its
    /// acknowledgement at once.
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
        let wires: Vec<Wire> = network.links.iter().map(|l| Wire::new(l.rate, l.delay)).collect();
        let mut players = Vec::new();
        let extent = [network.groups.len(), network.flows.len()];
        let mut ports = Vec::with_capacity(routes.ports.len());
        for (i, (&link, &lookahead)) in routes.ports.iter().zip(&routes.lookahead).enumerate() {
            let spec = &mut network.links[link as usize];
            let Some(queue) = spec.queue.take() else { continue };
            let (wire, meter) =
                (wires[link as usize].clone(), QueueMeter::new(link, spec, &plan, extent));
            ports.push(Port::new(
                queue,
                wire,
                meter,
                link,
                lookahead,
                seat(&mut players, Player::Port(i as u32)),
            ));
        }
        let readings = seat(&mut players, Player::Readings);
        let mut line = |(i, (&needed, &door)): (usize, (&bool, &Option<u32>))| {
            let player = if needed { seat(&mut players, Player::Line(i as u32)) } else { u32::MAX };
            Line::new(player, door.unwrap_or(u32::MAX))
        };
        let mut lines: Vec<Line> =
            routes.events.iter().zip(&routes.doors).enumerate().map(&mut line).collect();
        for (flow, way) in routes.ways.iter().enumerate().filter(|(_, way)| way.home) {
            lines[routes.steps[way.there as usize].index()].owner = flow as u32;
        }
        let confluences: Vec<Confluence> = routes.joints.iter().map(Confluence::new).collect();
        for (i, port) in ports.iter_mut().enumerate() {
            let upto = |i| routes.joints.partition_point(|joint| (joint.port as usize) < i);
            port.confluences = upto(i)..upto(i + 1);
        }
        let ends =
            Ends::new(&network, &routes, seed, |flow| seat(&mut players, Player::Source(flow)));
        let flows = network.flows.len();
        let mut timer = |class| {
            let player = seat(&mut players, Player::Timer(class));
            Timer { pending: Heap::new(flows, 2 * flows), player }
        };
        let timers = TIMERS.map(&mut timer);
        let agenda = Agenda::new(players.len());
        check_horizon(agenda.horizon().min(timers[0].pending.horizon()), plan.end)?;
        let mut run = Simulation {
            meters: Meters::new(&network, &plan),
            network,
            plan,
            routes,
            ends,
            ports,
            wires,
            lines,
            confluences,
            waiting: Waiting::default(),
            agenda,
            players,
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
        let starts: Vec<(Option<u32>, Key)> = self.ends.starts().collect();
        for (player, key) in starts {
            match player {
                Some(player) => self.agenda.set(player, key.time()),
                None => self.will_send(key.id() as u32, key.time()),
            }
        }
        if let Some(first) = self.plan.grid().next() {
            self.agenda.set(self.readings, first.as_nanos());
        }
    }

    /// Runs up to `until` (excluded), or to the end of the plan if that is earlier. Call it in
    /// steps to show progress or to give up; how long the steps are changes nothing.
    pub fn run_until(&mut self, until: Time) {
        let until = until.min(self.plan.end).as_nanos();
        loop {
            let (time, player) = self.agenda.next();
            if time >= until {
                break;
            }
            assert!(time >= self.now, "time ran back: an event of {time} ns at {} ns", self.now);
            self.now = time;
            // Whoever reads takes no part: with and without series as much happens.
            self.events += (player != self.readings) as u64;
            self.handle(time, player);
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
        (self.finish(), trace)
    }

    fn conclude(&mut self) {
        let end = self.plan.end;
        if std::mem::replace(&mut self.concluded, true) {
            return;
        }
        self.run_until(end);
        // What senders that are at home have yet to do, of which nothing comes out before the end.
        for flow in 0..self.network.flows.len() as u32 {
            if self.ends.home(flow).is_some() {
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
    fn handle(&mut self, now: u64, player: u32) {
        match self.players[player as usize] {
            Player::Line(link) => {
                let Some(flight) = self.come_out(link as usize, now) else { return };
                match self.lines[link as usize].door {
                    u32::MAX => self.travel(now, flight.hop, flight.flow, flight.body),
                    port => self.offer(port as usize, flight),
                }
            }
            Player::Source(flow) => {
                let (data, next) = self.ends.tick(now, flow);
                self.agenda.set(player, next);
                if let Some(data) = data {
                    self.meters.sent(now, flow, data);
                    self.travel(now, self.ends.there(flow), flow, data);
                }
            }
            Player::Timer(class) => self.timer(class),
            Player::Port(port) => {
                let id = port as usize;
                self.depart(id, now);
                self.go_on(id, now);
                let port = &mut self.ports[id];
                port.armed = port.due();
                self.agenda.set(player, port.armed);
            }
            Player::Readings => {
                self.sample(now);
                let next = Time::from_nanos(now) + self.plan.step.unwrap_or_default();
                self.agenda.set(player, next.as_nanos());
            }
        }
    }

    /// What comes out of `link` now, if something does, where it may.
    #[inline(always)]
    fn come_out(&mut self, link: usize, now: u64) -> Option<Flight> {
        if self.lines[link].owed <= now {
            self.collect(link, now);
        }
        let line = &mut self.lines[link];
        let flight = line.pop(now);
        line.tell(&mut self.agenda);
        if self.ahead {
            let line = &self.lines[link];
            line.fetch();
            if let Some(next) = line.peek(AHEAD - 1) {
                self.fetch(self.routes.steps[next.hop as usize].kind, next.flow);
            }
        }
        flight
    }

    /// The first of the timers of `class` fires.
    fn timer(&mut self, class: Class) {
        let pending = &mut self.timers[place(class)].pending;
        let (now, flow) = pending.next();
        pending.pop();
        let (_, then) = pending.next();
        if self.ahead {
            self.fetch(if class == Class::Acknowledge { Kind::Meet } else { Kind::Return }, then);
        }
        match class {
            Class::Acknowledge => {
                let answer =
                    self.ends.acknowledge(now, flow, &mut self.waiting.reports, &mut self.meters);
                self.answer(now, flow, answer);
            }
            // One that is at home may have something to do before.
            _ if self.ends.home(flow).is_some() => self.advance(flow, now + 1),
            _ => self.act(flow, now, class),
        }
        let Timer { pending, player } = &self.timers[place(class)];
        self.agenda.set(*player, pending.next().0);
    }

    /// Soon a packet of `flow` will take a step of this kind, or its sender will wake as when
    /// something comes back.
    #[inline]
    fn fetch(&self, kind: Kind, flow: u32) {
        match kind {
            Kind::Return | Kind::Home => self.ends.fetch_sender(flow),
            Kind::Meet => self.ends.fetch_receiver(flow),
            Kind::Queue => self.ends.fetch_label(flow),
            _ => {}
        }
        self.meters.fetch(flow);
    }

    /// An event of this class of `flow`'s sender, at `now`.
    #[inline(always)]
    fn act(&mut self, flow: u32, now: u64, class: Class) {
        let timers = match class {
            Class::Send => self.ends.wake(now, flow),
            _ => self.ends.timeout(now, flow, &mut self.meters),
        };
        self.launch(flow, now, timers);
    }

    /// Works out what `flow`'s sender, which is at home, does before `end`.
    #[inline(always)]
    fn advance(&mut self, flow: u32, end: u64) {
        loop {
            let (at, class) = self.ends.due(flow);
            if at >= end {
                return;
            }
            self.act(flow, at, class);
        }
    }

    /// Something that the owner of `link` sends may come out of it at `now`: it sends, and says
    /// when the next does.
    #[inline(never)]
    fn collect(&mut self, link: usize, now: u64) {
        let flow = self.lines[link].owner;
        self.advance(flow, now);
        self.owe(flow, link);
    }

    /// Notes when the first of what the sender of `flow`, which is at home on `link`, has yet to
    /// send will come out.
    #[inline(always)]
    fn owe(&mut self, flow: u32, link: usize) {
        let (at, len) = self.ends.sends(flow);
        let due = if at == u64::MAX { at } else { self.wires[link].would_transit(at, len) };
        self.lines[link].owed = due;
    }

    /// Sends what `flow`'s sender has put out at `now` and sets its timers.
    #[inline(always)]
    fn launch(&mut self, flow: u32, now: u64, timers: Timers) {
        if self.ends.out.len() > self.claimed {
            self.send_out(flow, now);
        }
        if timers.timeout != NEVER {
            self.set_timer(Class::Timeout, flow, timers.timeout);
        }
        if timers.send != NEVER {
            self.will_send(flow, timers.send);
        }
    }

    #[inline(always)]
    fn send_out(&mut self, flow: u32, now: u64) {
        let (first, end) = (self.claimed, self.ends.out.len());
        self.claimed = end;
        for i in first..end {
            let data = self.ends.launch(now, flow, self.ends.out[i]);
            self.meters.sent(now, flow, data);
            self.travel(now, self.ends.there(flow), flow, data);
        }
        self.ends.out.truncate(first);
        self.claimed = first;
    }

    /// The connection of `flow` sends at `at`.
    #[inline(always)]
    fn will_send(&mut self, flow: u32, at: u64) {
        match self.ends.home(flow) {
            Some(hop) => {
                let link = self.routes.steps[hop as usize].index();
                self.owe(flow, link);
                self.lines[link].tell(&mut self.agenda);
            }
            None => self.set_timer(Class::Send, flow, at),
        }
    }

    #[inline]
    fn set_timer(&mut self, class: Class, flow: u32, at: u64) {
        let Timer { pending, player } = &mut self.timers[place(class)];
        if pending.push(at, flow) {
            self.agenda.set(*player, at);
        }
    }

    /// A packet of `flow` takes its next step, which is the one at `hop` of the route table, at
    /// `at`, and then every further step that needs no event.
    #[inline(never)]
    fn travel(&mut self, mut at: u64, mut hop: u32, flow: u32, mut body: Body) {
        loop {
            let step = self.routes.steps[hop as usize];
            match step.kind {
                Kind::Follow | Kind::Enter => {
                    let link = step.index();
                    at = self.wires[link].transit(at, body.len());
                    hop += 1;
                    if !self.routes.steps[hop as usize].is_free() {
                        return self.line_up(link, Flight { time: at, hop, flow, body });
                    }
                }
                Kind::Join => return self.gather(step, Flight { time: at, hop, flow, body }),
                Kind::Reach | Kind::Meet => {
                    match self.ends.deliver(
                        at,
                        flow,
                        body,
                        &mut self.waiting.reports,
                        &mut self.meters,
                    ) {
                        Answer::Now(answer) => (hop, body) = (self.ends.back(flow), answer),
                        other => return self.answer(at, flow, other),
                    }
                }
                Kind::Queue => {
                    return self.offer(step.index(), Flight { time: at, hop, flow, body });
                }
                Kind::Return => return self.come_back(at, flow, body),
                Kind::Home => {
                    // What is ahead of the end is not for this run.
                    if at < self.plan.end.as_nanos() {
                        self.advance(flow, at);
                        self.come_back(at, flow, body);
                    }
                    return;
                }
            }
        }
    }

    /// An acknowledgement is back at `flow`'s sender.
    #[inline(always)]
    fn come_back(&mut self, at: u64, flow: u32, ack: Body) {
        self.meters.returned(at, flow, ack.born);
        let timers = self.ends.acknowledged(at, flow, ack, &mut self.waiting.reports);
        self.launch(flow, at, timers);
    }

    /// What `flow`'s receiver says at `at` sets out.
    fn answer(&mut self, at: u64, flow: u32, answer: Answer) {
        let back = self.ends.back(flow);
        match answer {
            Answer::Now(ack) => self.travel(at, back, flow, ack),
            Answer::Later(due) => self.set_timer(Class::Acknowledge, flow, due),
            Answer::Both(ack, due) => {
                self.set_timer(Class::Acknowledge, flow, due);
                self.travel(at, back, flow, ack);
            }
            Answer::Twice(first, second) => {
                self.travel(at, back, flow, first);
                self.travel(at, back, flow, second);
            }
            Answer::None => {}
        }
    }

    /// `flight` will come out of `link` and needs an event then. In line, so that what it consists
    /// of goes from registers to its place.
    #[inline(always)]
    fn line_up(&mut self, link: usize, flight: Flight) {
        let line = &mut self.lines[link];
        if line.push(flight) {
            line.tell(&mut self.agenda);
        }
    }

    /// `flight` enters a link with others that come from the same port, when it is known who is
    /// before it.
    #[inline(always)]
    fn gather(&mut self, step: Step, flight: Flight) {
        let (id, strand) = self.routes.strands[step.index()];
        self.confluences[id as usize]
            .join(strand as usize, flight, |a, b| self.routes.earlier(a, b));
    }

    /// What has departed from port `id` goes on, and enters the links where streams of this port
    /// meet, up to the time at which what departs at `now` or later could do so.
    #[inline(never)]
    fn go_on(&mut self, id: usize, now: u64) {
        let mut departed = std::mem::take(&mut self.ports[id].departed);
        for Flight { time, hop, flow, body } in departed.drain(..) {
            self.travel(time, hop, flow, body);
        }
        self.ports[id].departed = departed;
        let mut entry = u64::MAX;
        for i in self.ports[id].confluences.clone() {
            let end = self.confluences[i].known(now);
            if self.confluences[i].next < end {
                self.flow_together(i, end);
            }
            entry = entry.min(self.confluences[i].next);
        }
        self.ports[id].entry = entry;
    }

    /// All that enters the link of confluence `id` before `end` does, and goes on.
    #[inline(always)]
    fn flow_together(&mut self, id: usize, end: u64) {
        let link = self.confluences[id].link as usize;
        while let Some(flight) = self.confluences[id].pop(end, |a, b| self.routes.earlier(a, b)) {
            let Flight { time, hop, flow, body } = flight;
            let (at, hop) = (self.wires[link].transit(time, body.len()), hop + 1);
            if self.routes.steps[hop as usize].is_free() {
                self.travel(at, hop, flow, body);
            } else {
                self.line_up(link, Flight { time: at, hop, flow, body });
            }
        }
    }

    /// `flight` joins the queue of port `id` now.
    #[inline(never)]
    fn offer(&mut self, id: usize, flight: Flight) {
        let now = flight.time;
        self.depart(id, now);
        let label = self.ends.label(flight.flow);
        self.ports[id].offer(now, flight, label, &mut self.waiting, &mut self.meters);
        self.depart(id, now);
        self.arm(id);
    }

    /// Makes the departures of port `id` that begin up to `now`.
    #[inline]
    fn depart(&mut self, id: usize, now: u64) {
        if self.ports[id].next <= now {
            self.catch_up(id, now);
        }
    }

    /// The same where there may be some.
    #[inline(never)]
    fn catch_up(&mut self, id: usize, now: u64) {
        while let Some(flight) = self.ports[id].catch_up(now, &mut self.waiting, &mut self.meters) {
            if self.ahead
                && let Some(then) = self.waiting.likely(AHEAD)
            {
                self.fetch(Kind::Meet, then.flow);
            }
            let flight = Flight { hop: flight.hop + 1, ..flight };
            if !self.routes.steps[flight.hop as usize].is_free() {
                self.line_up(self.ports[id].link as usize, flight);
            } else if self.ports[id].put_off(flight) {
                self.go_on(id, self.ports[id].began);
            }
        }
    }

    /// Sees to it that port `id` is looked at in time. An event that is early does no harm and is
    /// left where it is.
    #[inline(always)]
    fn arm(&mut self, id: usize) {
        let port = &mut self.ports[id];
        let due = port.due();
        if due < port.armed {
            port.armed = due;
            self.agenda.set(port.player, due);
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

/// Where the timers of `class` are.
#[inline]
fn place(class: Class) -> usize {
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

/// Seats a new player: his number.
fn seat(players: &mut Vec<Player>, player: Player) -> u32 {
    players.push(player);
    players.len() as u32 - 1
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
