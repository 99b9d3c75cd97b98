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
mod ahead;
mod merging;
mod ports;

use tidegate::catalog::AnyQueue;
use tidegate::{ConfigError, Qdisc, Seed, Time};

use crate::endpoint::ends::Ends;
use crate::event::queue::{Agenda, Class, Heap, Key};
use crate::measure::meters::{Meters, Trace};
use crate::measure::outcome::{Outcome, Plan};
use crate::measure::queue_meter::QueueMeter;
use crate::net::flight::Waiting;
use crate::net::line::Line;
use crate::net::merge::Confluence;
use crate::net::network::Network;
use crate::net::port::Port;
use crate::net::routes::Routes;
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
        let ports = ports(&mut network, &routes, &wires, &plan, &mut players);
        let readings = seat(&mut players, Player::Readings);
        let lines = lines(&routes, &mut players);
        let confluences: Vec<Confluence> = routes.joints.iter().map(Confluence::new).collect();
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
}

/// The ports of the queues of `network`, each with the merge points behind it.
fn ports<Q: Qdisc>(
    network: &mut Network<Q>,
    routes: &Routes,
    wires: &[Wire],
    plan: &Plan,
    players: &mut Vec<Player>,
) -> Vec<Port<Q>> {
    let extent = [network.groups.len(), network.flows.len()];
    let mut ports = Vec::with_capacity(routes.ports.len());
    for (i, (&link, &lookahead)) in routes.ports.iter().zip(&routes.lookahead).enumerate() {
        let spec = &mut network.links[link as usize];
        let Some(queue) = spec.queue.take() else { continue };
        let (wire, meter) =
            (wires[link as usize].clone(), QueueMeter::new(link, spec, plan, extent));
        ports.push(Port::new(
            queue,
            wire,
            meter,
            link,
            lookahead,
            seat(players, Player::Port(i as u32)),
        ));
    }
    for (i, port) in ports.iter_mut().enumerate() {
        let upto = |i| routes.joints.partition_point(|joint| (joint.port as usize) < i);
        port.confluences = upto(i)..upto(i + 1);
    }
    ports
}

/// The lines of packets on the links, those with an event source at their end first seated.
fn lines(routes: &Routes, players: &mut Vec<Player>) -> Vec<Line> {
    let mut line = |(i, (&needed, &door)): (usize, (&bool, &Option<u32>))| {
        let player = if needed { seat(players, Player::Line(i as u32)) } else { u32::MAX };
        Line::new(player, door.unwrap_or(u32::MAX))
    };
    let mut lines: Vec<Line> =
        routes.events.iter().zip(&routes.doors).enumerate().map(&mut line).collect();
    for (flow, way) in routes.ways.iter().enumerate().filter(|(_, way)| way.home) {
        lines[routes.steps[way.there as usize].index()].owner = flow as u32;
    }
    lines
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
