//! Links that several streams enter, and what comes out of links.
use tidegate::Qdisc;

use super::{AHEAD, Simulation};
use crate::event::queue::NEVER;
use crate::net::flight::Flight;
use crate::net::routes::Step;

impl<Q: Qdisc> Simulation<Q> {
    /// What comes out of `link` now, if something does, where it may.
    #[inline(always)]
    pub(super) fn come_out(&mut self, link: usize, now: u64) -> Option<Flight> {
        if self.lines[link].pending <= now {
            self.collect(link, now);
        }
        let line = &mut self.lines[link];
        let flight = line.pop(now);
        line.tell(&mut self.events_due);
        if self.ahead {
            let line = &self.lines[link];
            line.fetch();
            if let Some(next) = line.peek(AHEAD - 1) {
                self.fetch(self.routes.steps[next.hop as usize].kind, next.flow);
            }
        }
        flight
    }

    /// Something that the owner of `link` sends may come out of it at `now`: it sends, and says
    /// when the next does.
    #[inline(never)]
    pub(super) fn collect(&mut self, link: usize, now: u64) {
        let flow = self.lines[link].owner;
        self.advance(flow, now);
        self.hold_output(flow, link);
    }

    /// `flight` will come out of `link` and needs an event then. In line, so that what it consists
    /// of goes from registers to its place.
    #[inline(always)]
    pub(super) fn line_up(&mut self, link: usize, flight: Flight) {
        let line = &mut self.lines[link];
        if line.push(flight) {
            line.tell(&mut self.events_due);
        }
    }

    /// The same of `flight` that may come out before others which entered earlier. Of simultaneous
    /// ones the first to enter is the first.
    #[cold]
    pub(super) fn line_in(&mut self, link: usize, flight: Flight) {
        let line = &mut self.lines[link];
        line.insert(flight, |a, b| a.time < b.time);
        line.tell(&mut self.events_due);
    }

    /// `flight` enters a link with others that come from the same port, when it is known who is
    /// before it.
    #[inline(always)]
    pub(super) fn gather(&mut self, step: Step, flight: Flight) {
        let (id, branch) = self.routes.branches[step.index()];
        self.merges[id as usize].join(branch as usize, flight, |a, b| self.routes.earlier(a, b));
    }

    /// Passes on what has departed from port `id`, and what enters the links where streams of this
    /// port meet. The latter goes up to the time at which a departure at `now` or later could enter
    /// them.
    #[inline(never)]
    pub(super) fn go_on(&mut self, id: usize, now: u64) {
        let mut departed = std::mem::take(&mut self.ports[id].departed);
        for Flight { time, hop, flow, body } in departed.drain(..) {
            self.travel(time, hop, flow, body);
        }
        self.ports[id].departed = departed;
        let mut entry = NEVER;
        for i in self.ports[id].merges.clone() {
            let end = self.merges[i].known(now);
            if self.merges[i].next < end {
                self.flow_together(i, end);
            }
            entry = entry.min(self.merges[i].next);
        }
        self.ports[id].entry = entry;
    }

    /// All that enters the link of merge point `id` before `end` does, and goes on.
    #[inline(always)]
    pub(super) fn flow_together(&mut self, id: usize, end: u64) {
        let link = self.merges[id].link as usize;
        while let Some(flight) = self.merges[id].pop(end, |a, b| self.routes.earlier(a, b)) {
            let Flight { time, hop, flow, body } = flight;
            let (at, hop) = (self.wires[link].transit(time, body.len()), hop + 1);
            if self.routes.steps[hop as usize].is_free() {
                self.travel(at, hop, flow, body);
            } else {
                self.line_up(link, Flight { time: at, hop, flow, body });
            }
        }
    }
}
