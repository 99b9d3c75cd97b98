//! Senders run ahead of the clock: what a flow does is handled as soon as it is known.
use tidegate::Qdisc;

use super::{Simulation, Timer, place};
use crate::endpoint::receiver::Answer;
use crate::endpoint::sender::Timers;
use crate::event::queue::{EventClass, NEVER};
use crate::net::flight::{Body, Flight};
use crate::net::routes::StepKind;

impl<Q: Qdisc> Simulation<Q> {
    /// Notes when the first of what the sender of `flow`, which is the sole user of its first link
    /// on `link`, has yet to send will come out.
    #[inline(always)]
    pub(super) fn hold_output(&mut self, flow: u32, link: usize) {
        let (at, len) = self.ends.sends(flow);
        let due = if at == NEVER { at } else { self.wires[link].would_transit(at, len) };
        self.lines[link].pending = due;
    }

    /// Sends what `flow`'s sender has put out at `now` and sets its timers.
    #[inline(always)]
    pub(super) fn launch(&mut self, flow: u32, now: u64, timers: Timers) {
        if self.ends.out.len() > self.claimed {
            self.send_out(flow, now);
        }
        if timers.timeout != NEVER {
            self.set_timer(EventClass::Timeout, flow, timers.timeout);
        }
        if timers.send != NEVER {
            self.will_send(flow, timers.send);
        }
    }

    #[inline(always)]
    pub(super) fn send_out(&mut self, flow: u32, now: u64) {
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
    pub(super) fn will_send(&mut self, flow: u32, at: u64) {
        match self.ends.sole_user(flow) {
            Some(hop) => {
                let link = self.routes.steps[hop as usize].index();
                self.hold_output(flow, link);
                self.lines[link].tell(&mut self.events_due);
            }
            None => self.set_timer(EventClass::Send, flow, at),
        }
    }

    /// A sender that is the sole user of its first link is worked out when its packet comes out
    /// there. By then its timer may have run out, and what that does is worked out at once.
    #[inline]
    pub(super) fn set_timer(&mut self, class: EventClass, flow: u32, at: u64) {
        let at = at.max(self.now);
        let Timer { pending, slot } = &mut self.timers[place(class)];
        if pending.push(at, flow) {
            self.events_due.set(*slot, at);
        }
    }

    /// A packet of `flow` takes its next step, which is the one at `hop` of the route table, at
    /// `at`, and then every further step that needs no event.
    #[inline(never)]
    pub(super) fn travel(&mut self, mut at: u64, mut hop: u32, flow: u32, mut body: Body) {
        loop {
            let step = self.routes.steps[hop as usize];
            match step.kind {
                StepKind::Follow | StepKind::Enter => {
                    let link = step.index();
                    at = self.wires[link].transit(at, body.len());
                    hop += 1;
                    if !self.routes.steps[hop as usize].is_free() {
                        return self.line_up(link, Flight { time: at, hop, flow, body });
                    }
                }
                StepKind::Join => return self.gather(step, Flight { time: at, hop, flow, body }),
                StepKind::Reach | StepKind::Meet => {
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
                StepKind::Queue => {
                    return self.offer(step.index(), Flight { time: at, hop, flow, body });
                }
                StepKind::Return => return self.come_back(at, flow, body),
                StepKind::Home => {
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
    pub(super) fn come_back(&mut self, at: u64, flow: u32, ack: Body) {
        self.meters.returned(at, flow, ack.born);
        let timers = self.ends.acknowledged(at, flow, ack, &mut self.waiting.reports);
        self.launch(flow, at, timers);
    }

    /// What `flow`'s receiver says at `at` sets out.
    pub(super) fn answer(&mut self, at: u64, flow: u32, answer: Answer) {
        let back = self.ends.back(flow);
        match answer {
            Answer::Now(ack) => self.travel(at, back, flow, ack),
            Answer::Later(due) => self.set_timer(EventClass::Acknowledge, flow, due),
            Answer::Both(ack, due) => {
                self.set_timer(EventClass::Acknowledge, flow, due);
                self.travel(at, back, flow, ack);
            }
            Answer::Twice(first, second) => {
                self.travel(at, back, flow, first);
                self.travel(at, back, flow, second);
            }
            Answer::Train(first, then) => {
                let repeats = self.ends.repeats(flow);
                // The first of them is counted.
                (1..repeats.iter().sum()).for_each(|_| self.meters.answered(at));
                for (ack, times) in [first, then].into_iter().zip(repeats) {
                    (0..times).for_each(|_| self.travel(at, back, flow, ack));
                }
            }
            Answer::None => {}
        }
    }

    /// Soon a packet of `flow` will take a step of this kind, or its sender will wake as when
    /// something comes back.
    #[inline]
    pub(super) fn fetch(&self, kind: StepKind, flow: u32) {
        match kind {
            StepKind::Return | StepKind::Home => self.ends.fetch_sender(flow),
            StepKind::Meet => self.ends.fetch_receiver(flow),
            StepKind::Queue => self.ends.fetch_label(flow),
            _ => {}
        }
        self.meters.fetch(flow);
    }

    /// An event of this class of `flow`'s sender, at `now`.
    #[inline(always)]
    pub(super) fn act(&mut self, flow: u32, now: u64, class: EventClass) {
        let timers = match class {
            EventClass::Send => self.ends.wake(now, flow),
            _ => self.ends.timeout(now, flow, &mut self.meters),
        };
        self.launch(flow, now, timers);
    }

    /// Works out what `flow`'s sender, which is the sole user of its first link, does before `end`.
    #[inline(always)]
    pub(super) fn advance(&mut self, flow: u32, end: u64) {
        loop {
            let (at, class) = self.ends.due(flow);
            if at >= end {
                return;
            }
            self.act(flow, at, class);
        }
    }

    /// The first of the timers of `class` fires.
    pub(super) fn timer(&mut self, class: EventClass) {
        let pending = &mut self.timers[place(class)].pending;
        let (now, flow) = pending.next();
        pending.pop();
        let (_, then) = pending.next();
        if self.ahead {
            self.fetch(
                if class == EventClass::Acknowledge { StepKind::Meet } else { StepKind::Return },
                then,
            );
        }
        match class {
            EventClass::Acknowledge => {
                let answer =
                    self.ends.acknowledge(now, flow, &mut self.waiting.reports, &mut self.meters);
                self.answer(now, flow, answer);
            }
            // One that is the sole user of its first link may have something to do before.
            _ if self.ends.sole_user(flow).is_some() => self.advance(flow, now + 1),
            _ => self.act(flow, now, class),
        }
        let Timer { pending, slot } = &self.timers[place(class)];
        self.events_due.set(*slot, pending.next().0);
    }
}
