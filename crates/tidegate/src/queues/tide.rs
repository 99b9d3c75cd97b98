#![doc = include_str!("tide.md")]
mod presets;

use alloc::vec::Vec;

use crate::packet::Packet;
use crate::parts::bins::{Bins, FlowBins};
use crate::parts::every::{CATCH_UP, Every};
use crate::policy::{Fifo, Policy, QueueView, Signal, Verdict};
use crate::qdisc::{DropReason, Gauge, MarkReason};
use crate::rng::Rng;
use crate::units::{Size, Time};
pub use presets::TideConfig;

/// A FIFO behind virtual lines of its flows: `docs/tide/specification.md`.
pub type Tide = Fifo<TideRule>;

/// 1 in the unit of N and of kappa.
const ONE: u64 = 1 << 16;
/// No allowance and no room counts for more, so that bids compare modulo 2^32.
const MOST: u64 = 1 << 30;

/// What a row keeps of the flows that meet in one place.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    /// The byte of the round at which their virtual backlog ends, modulo 2^32.
    bid: u32,
    /// Above which virtual backlog the next signal goes out.
    level: u32,
}

impl Cell {
    /// How far its bid lies ahead of `round`, in bytes.
    #[inline]
    fn ahead(self, round: u32) -> u32 {
        (self.bid.wrapping_sub(round) as i32).max(0) as u32
    }
}

/// The rule of Tide.
#[derive(Clone, Debug)]
pub struct TideRule {
    cells: Bins<Cell>,
    /// After how many flows, in 2^-16, so many cells of a row are expected to be taken.
    flows_of: Vec<u32>,
    pace: Pace,
    passes: Every,
    last: Time,
    /// R, in 2^-32 bytes.
    round: u64,
    /// N, in 2^-16.
    flows: u64,
    /// r, in 2^-40 bytes per nanosecond.
    fair: u64,
    /// M, in bytes.
    allowed: u64,
    set: Set,
}

/// What follows from the parameters alone.
#[derive(Clone, Copy, Debug)]
struct Set {
    /// The line's rate, in the unit of the fair rate.
    line: u64,
    horizon: u64,
    allowance: u64,
    first: u32,
    step: u32,
    forgets: u64,
    ecn: Signal,
}

/// How fast the round turns with so much waiting.
#[derive(Clone, Copy, Debug)]
struct Pace {
    aim: u64,
    fastest: u64,
    slowest: u64,
    below: u64,
    above: u64,
}

impl Pace {
    /// kappa, in 2^-16.
    #[inline]
    fn with(&self, waits: u64) -> u64 {
        if waits < self.aim {
            self.fastest - scaled(waits, self.below, 32)
        } else {
            ONE.saturating_sub(scaled(waits - self.aim, self.above, 32)).max(self.slowest)
        }
    }
}

/// `a` × `b` / 2^`shift`, rounded down.
#[inline]
fn scaled(a: u64, b: u64, shift: u32) -> u64 {
    ((a as u128 * b as u128) >> shift) as u64
}

impl TideRule {
    /// The cells of `flow`.
    pub fn cells_of(&self, flow: u64) -> FlowBins {
        self.cells.places(flow)
    }

    #[inline]
    fn whole_round(&self) -> u32 {
        (self.round >> 32) as u32
    }

    /// The fair rate and the allowance of N flows.
    fn share(&mut self) {
        let line = (self.set.line as u128) << 16;
        self.fair = (line / self.flows.max(ONE) as u128) as u64;
        self.allowed = (scaled(self.fair, self.set.horizon, 40) + self.set.allowance).min(MOST);
    }

    #[inline]
    fn grow(&mut self, to: Time, waits: u64) {
        let speed = scaled(self.pace.with(waits), self.fair, 16);
        let dt = to.since(self.last).as_nanos();
        self.round = self.round.wrapping_add(scaled(speed, dt, 8));
        self.last = to;
    }

    /// Counts the flows, and sweeps up cells that are not ahead.
    fn pass(&mut self) {
        let round = self.whole_round();
        let mut seen = 0;
        for row in 0..self.cells.levels() {
            let mut taken = 0;
            for cell in self.cells.level_mut(row) {
                let ahead = cell.ahead(round) > 0;
                taken += usize::from(ahead);
                *cell = if ahead { *cell } else { Cell { bid: round, level: 0 } };
            }
            seen += self.flows_of[taken] as u64;
        }
        seen /= self.cells.levels() as u64;
        if seen > self.flows {
            self.flows = seen;
        } else {
            self.flows -= scaled(self.flows - seen, self.set.forgets, 16);
        }
        self.share();
    }

    /// Nobody came for so long that all is forgotten.
    #[cold]
    fn forget(&mut self, now: Time) {
        let bid = self.whole_round();
        self.cells.iter_mut().for_each(|cell| *cell = Cell { bid, level: 0 });
        self.flows = ONE;
        self.share();
        self.last = now;
    }

    #[cold]
    fn make_passes(&mut self, now: Time, waits: u64) {
        if self.passes.overdue(now) > CATCH_UP {
            self.passes.skip(self.passes.overdue(now));
            return self.forget(now);
        }
        while let Some(then) = self.passes.step(now) {
            self.grow(then, waits);
            self.pass();
        }
    }

    /// Whether a packet that brings the virtual backlog from `v` to `next` carries a signal of the
    /// ladder that begins at `bottom`.
    #[inline]
    fn signals(&mut self, places: &FlowBins, v: u32, next: u32, may: u32, bottom: u32) -> bool {
        let first = bottom.max(may.min(self.set.first));
        let step = (may / 16).max(self.set.step);
        let rows = 0..self.cells.levels();
        let known = rows.map(|row| self.cells[places.on(row)].level).max().unwrap_or(0);
        let level = first.max(known.min(v + step));
        let signals = next > level;
        let level = if signals { next + step } else { level };
        for row in 0..self.cells.levels() {
            self.cells[places.on(row)].level = level;
        }
        signals
    }
}

/// How many bytes may still come, a limit in packets as mean packets.
#[inline]
fn room(queue: &impl QueueView) -> u64 {
    let (link, waits) = (queue.link(), queue.backlog());
    match link.limit {
        Size::Packets(most) => {
            most.saturating_sub(waits.packets as u64).saturating_mul(link.mean_packet.get())
        }
        Size::Bytes(most) => most.saturating_sub(waits.bytes),
    }
    .min(MOST)
}

impl Policy for TideRule {
    #[inline]
    fn offered(&mut self, now: Time, _: &Packet, queue: &impl QueueView, _: &mut Rng) {
        let waits = queue.backlog().bytes;
        if self.passes.due() <= now {
            self.make_passes(now, waits);
        }
        self.grow(now, waits);
    }

    #[inline]
    fn arrive(
        &mut self,
        _: Time,
        pkt: &mut Packet,
        queue: &impl QueueView,
        _: &mut Rng,
    ) -> Verdict {
        let round = self.whole_round();
        let places = self.cells.places(pkt.flow);
        let rows = 0..self.cells.levels();
        let v = rows.map(|row| self.cells[places.on(row)].ahead(round)).min().unwrap_or(0);
        let next = v + pkt.len.min(MOST as u32);
        let may = self.allowed.min(room(queue)) as u32;
        let waits = queue.backlog().bytes;
        if v > 0 && next > may {
            return if waits < self.pace.aim / 10 {
                Verdict::Admit
            } else {
                Verdict::Drop(DropReason::Unfair)
            };
        }
        let mut verdict = Verdict::Admit;
        if waits >= self.pace.aim / 2 {
            let marks = self.set.ecn.marks(pkt);
            // A mark costs less than a loss, so it comes earlier, and always where a loss is near.
            let bottom = if marks { may / 4 } else { may / 2 };
            let climbs = self.signals(&places, v, next, may, bottom);
            if marks && (climbs || v > 0 && next > may - may / 8) {
                verdict = Verdict::Mark(MarkReason::Forced);
            } else if climbs {
                return Verdict::Drop(DropReason::Forced);
            }
        }
        for row in 0..self.cells.levels() {
            let cell = &mut self.cells[places.on(row)];
            if cell.ahead(round) < next {
                cell.bid = round.wrapping_add(next);
            }
        }
        verdict
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        let per_second = self.fair as f64 / (1_u64 << 40) as f64 * 8e9;
        see(Gauge { name: "flows", unit: "", value: self.flows as f64 / ONE as f64 });
        see(Gauge { name: "fair_rate", unit: "bit/s", value: per_second });
        see(Gauge { name: "allowance", unit: "B", value: self.allowed as f64 });
    }
}
