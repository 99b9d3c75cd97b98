//! Ports: what a queue takes in, and what leaves it.
use tidegate::{Qdisc, Seed, Time};

use super::{AHEAD, Simulation};
use crate::measure::plan::Plan;
use crate::measure::queue_meter::QueueMeter;
use crate::net::channel::Channel;
use crate::net::flight::Flight;
use crate::net::ids::LinkId;
use crate::net::network::Network;
use crate::net::port::OutputPort;
use crate::net::routes::{Routes, StepKind};
use crate::net::wire::TransmissionTimes;

impl<Q: Qdisc> Simulation<Q> {
    /// `flight` joins the queue of port `id` now.
    #[inline(never)]
    pub(super) fn offer(&mut self, id: usize, flight: Flight) {
        let now = flight.time;
        self.depart(id, now);
        let label = self.ends.label(flight.flow, &flight.body);
        self.ports[id].offer(now, flight, label, &mut self.waiting, &mut self.meters);
        self.depart(id, now);
        self.arm(id);
    }

    /// Makes the departures of port `id` that begin up to `now`.
    #[inline]
    pub(super) fn depart(&mut self, id: usize, now: u64) {
        if self.ports[id].next <= now {
            self.catch_up(id, now);
        }
    }

    /// The same where there may be some.
    #[inline(never)]
    pub(super) fn catch_up(&mut self, id: usize, now: u64) {
        while let Some(flight) = self.ports[id].catch_up(now, &mut self.waiting, &mut self.meters) {
            if self.ahead
                && let Some(then) = self.waiting.likely(AHEAD)
            {
                self.fetch(StepKind::Meet, then.flow);
            }
            let flight = Flight { hop: flight.hop + 1, ..flight };
            if self.ports[id].reorders() {
                self.line_in(self.ports[id].link as usize, flight);
            } else if !self.routes.steps[flight.hop as usize].is_free() {
                self.line_up(self.ports[id].link as usize, flight);
            } else if self.ports[id].put_off(flight) {
                self.go_on(id, self.ports[id].began);
            }
        }
    }

    /// Sees to it that port `id` is looked at in time. An event that is early does no harm and is
    /// left where it is.
    #[inline(always)]
    pub(super) fn arm(&mut self, id: usize) {
        let port = &mut self.ports[id];
        let due = port.due();
        if due < port.armed {
            port.armed = due;
            self.events_due.set(port.slot, due);
        }
    }

    pub(super) fn sample(&mut self, now: u64) {
        for id in 0..self.ports.len() {
            self.depart(id, now);
            let port = &mut self.ports[id];
            port.queue.advance(Time::from_nanos(now));
            port.meter.read(&port.queue);
        }
    }
}

/// The ports of the queues of `network`, each with the merge points behind it and a slot that
/// `slot` gives it by its number.
pub(super) fn ports<Q: Qdisc>(
    network: &mut Network<Q>,
    routes: &Routes,
    (plan, seed): (&Plan, Seed),
    mut slot: impl FnMut(u32) -> u32,
) -> Vec<OutputPort<Q>> {
    let extent = [network.groups.len(), network.flows.len()];
    let mut ports = Vec::with_capacity(routes.ports.len());
    for (i, (&link, &lookahead)) in routes.ports.iter().zip(&routes.lookahead).enumerate() {
        let medium = network.media.get(&LinkId(link));
        let spec = &mut network.links[link as usize];
        let Some(queue) = spec.queue.take() else { continue };
        let wire =
            (TransmissionTimes::new(spec.rate, spec.delay), Channel::new(link, medium, seed));
        let meter = QueueMeter::new(link, spec, plan, extent).over(medium);
        ports.push(OutputPort::new(queue, wire, meter, link, lookahead, slot(i as u32)));
    }
    for (i, port) in ports.iter_mut().enumerate() {
        let upto =
            |i| routes.merge_points.partition_point(|merge_point| (merge_point.port as usize) < i);
        port.merges = upto(i)..upto(i + 1);
    }
    ports
}
