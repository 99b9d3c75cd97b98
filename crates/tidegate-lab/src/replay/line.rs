//! The link behind the queue, and what it tells.
use tidegate::catalog::AnyQueue;
use tidegate::units::Pacer;
use tidegate::{Ack, Backlog, DropReason, Link, MarkReason, Packet, Qdisc, Sink, Span, Time};

use super::ReplayGroup;
use super::delays::{CELLS, Dense};
use super::flows::{CapturedFlows, FLOWS};
use super::series::SeriesRecorder;

/// A queue and the link that it guards.
pub(super) struct ReplayLine {
    queue: AnyQueue,
    pacer: Pacer,
    link: LineState,
    pub(super) tally: ReplayTally,
}

/// What the link is doing.
#[derive(Clone, Copy, Debug)]
enum LineState {
    /// It sends until then.
    Busy(Time),
    /// It asked in vain, then for the last time.
    Idle(Time),
}

/// Everything that is counted.
pub(super) struct ReplayTally {
    pub(super) flows: CapturedFlows,
    free_cells: u32,
    pub(super) delays: [Dense; ReplayGroup::ALL.len()],
    pub(super) packets: [tidegate_report::Counts; ReplayGroup::ALL.len()],
    pub(super) dropped_bytes: [u64; ReplayGroup::ALL.len()],
    pub(super) drops: [u64; DropReason::ALL.len()],
    pub(super) marks: [u64; MarkReason::ALL.len()],
    pub(super) series: SeriesRecorder,
    phase: ReplayPhase,
    /// Time the link was sending, up to the capture's end, in ns.
    pub(super) busy: u64,
    /// Waiting packets times time, up to the capture's end, in packets · ns.
    pub(super) area: u128,
    area_at: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplayPhase {
    /// Packets are being offered.
    Capture,
    /// The last was offered; what waits is sent on.
    Draining,
}

impl Sink for ReplayTally {
    fn dropped(&mut self, _: Time, pkt: &Packet, why: DropReason) {
        let (tale, class) = self.flows.tale(pkt.slot);
        tale.packets.dropped += 1;
        tale.bytes.dropped += pkt.len as u64;
        self.packets[class as usize].dropped += 1;
        self.dropped_bytes[class as usize] += pkt.len as u64;
        self.drops[why as usize] += 1;
    }

    fn marked(&mut self, _: Time, pkt: &Packet, why: MarkReason) {
        let (tale, class) = self.flows.tale(pkt.slot);
        tale.packets.marked += 1;
        tale.bytes.marked += pkt.len as u64;
        self.packets[class as usize].marked += 1;
        self.marks[why as usize] += 1;
    }
}

impl ReplayTally {
    fn offered(&mut self, pkt: &Packet) {
        let (tale, class) = self.flows.tale(pkt.slot);
        tale.packets.offered += 1;
        tale.bytes.offered += pkt.len as u64;
        tale.offered[class as usize] += pkt.len as u64;
        self.packets[class as usize].offered += 1;
    }

    fn delivered(&mut self, pkt: &Packet, wait: Span) {
        let (tale, class) = self.flows.tale(pkt.slot);
        tale.packets.delivered += 1;
        tale.bytes.delivered += pkt.len as u64;
        tale.delays.add(wait, &mut self.free_cells);
        self.packets[class as usize].delivered += 1;
        self.delays[class as usize].add(wait);
        if self.phase == ReplayPhase::Capture {
            tale.in_time[class as usize] += pkt.len as u64;
            self.series.delivered(class, pkt.len, wait);
        }
    }

    /// Until `now`, `backlog` waited.
    fn waited(&mut self, now: Time, backlog: Backlog) {
        self.area += backlog.packets as u128 * now.since(self.area_at).as_nanos() as u128;
        self.area_at = now;
    }
}

impl ReplayLine {
    pub(super) fn new(queue: AnyQueue, link: &Link) -> ReplayLine {
        let tally = ReplayTally {
            flows: CapturedFlows::new(FLOWS),
            free_cells: CELLS,
            delays: Default::default(),
            packets: Default::default(),
            dropped_bytes: Default::default(),
            drops: Default::default(),
            marks: Default::default(),
            series: SeriesRecorder::new(),
            phase: ReplayPhase::Capture,
            busy: 0,
            area: 0,
            area_at: Time::ZERO,
        };
        ReplayLine { queue, pacer: Pacer::new(link.rate), link: LineState::Idle(Time::ZERO), tally }
    }

    /// Packets offered so far.
    pub(super) fn offered(&self) -> u64 {
        self.tally.packets.iter().map(|c| c.offered).sum()
    }

    /// Offers `pkt` at `now`, which is no earlier than for any packet before, with what it
    /// acknowledges.
    pub(super) fn offer(&mut self, now: Time, pkt: Packet, ack: Option<&Ack>) {
        self.run_until(now);
        self.bring_up(now);
        self.tally.offered(&pkt);
        self.queue.offer(now, pkt, ack, &mut self.tally);
        if let LineState::Idle(_) = self.link {
            self.ask(now);
        }
    }

    /// The capture ended at `last`: closes the accounts of time, then sends on what waits.
    pub(super) fn end(&mut self, last: Time) {
        self.run_until(last);
        self.bring_up(last);
        self.tally.phase = ReplayPhase::Draining;
        if let LineState::Busy(until) = self.link {
            self.tally.busy = self.tally.busy.saturating_sub(until.since(last).as_nanos());
        }
        self.run_until(Time::MAX);
    }

    /// Does everything that happens up to `now`, that instant included.
    fn run_until(&mut self, now: Time) {
        while let Some(at) = self.next_ask().filter(|&at| at <= now) {
            self.ask(at);
        }
    }

    /// When the link asks next, if nothing is offered before.
    fn next_ask(&self) -> Option<Time> {
        match self.link {
            LineState::Busy(until) => Some(until),
            // A queue that holds packets back says when; never again in the same instant.
            LineState::Idle(_) if self.queue.backlog().packets == 0 => None,
            LineState::Idle(asked) => {
                self.queue.wake_at().map(|at| at.max(asked + Span::from_nanos(1)))
            }
        }
    }

    fn ask(&mut self, now: Time) {
        self.bring_up(now);
        match self.queue.dequeue(now, &mut self.tally) {
            Some(pkt) => {
                self.tally.delivered(&pkt, now.since(pkt.arrived));
                let sending = self.pacer.next(pkt.len);
                if self.tally.phase == ReplayPhase::Capture {
                    self.tally.busy += sending.as_nanos();
                }
                self.link = LineState::Busy(now + sending);
            }
            None => {
                self.pacer.reset();
                self.link = LineState::Idle(now);
            }
        }
    }

    /// Accounts for the time that has passed before `now`.
    fn bring_up(&mut self, now: Time) {
        if self.tally.phase == ReplayPhase::Capture {
            self.tally.series.catch_up(now, &mut self.queue);
            self.tally.waited(now, self.queue.backlog());
        }
    }
}
