#![doc = include_str!("tide.md")]
mod factors;
mod lines;
mod presets;

use alloc::vec::Vec;

use crate::packet::{Ecn, Packet};
use crate::parts::bins::{Bins, FlowBins};
use crate::parts::every::{CATCH_UP, Every};
use crate::policy::{Signal, Verdict};
use crate::qdisc::{Backlog, DropReason, Gauge, Link, MarkReason, Qdisc, Sink};
use crate::units::{Size, Time};
use factors::{Factors, of_the_round};
use lines::TideLines;
pub use presets::TideConfig;

/// Two FIFOs behind virtual lines of their flows: `docs/tide/specification.md`.
#[derive(Clone, Debug)]
pub struct Tide {
    rule: TideRule,
    lines: TideLines,
    link: Link,
}

/// 1 in the unit of N and of kappa.
const ONE: u64 = 1 << 16;
/// No allowance and no room counts for more, so that bids compare modulo 2^32.
const MOST: u64 = 1 << 30;

/// What a row keeps of the flows that meet in one place.
#[derive(Clone, Copy, Debug, Default)]
struct RowCell {
    /// The byte of the round at which their virtual backlog ends, modulo 2^32.
    bid: u32,
    /// Above which virtual backlog the next signal goes out.
    level: u32,
}

impl RowCell {
    /// How far its bid lies ahead of `round`, in bytes.
    #[inline]
    fn ahead(self, round: u32) -> u32 {
        (self.bid.wrapping_sub(round) as i32).max(0) as u32
    }
}

/// The rule of Tide.
#[derive(Clone, Debug)]
pub struct TideRule {
    cells: Bins<RowCell>,
    /// After how many flows, in 2^-16, so many cells of a row are expected to be taken.
    flows_of: Vec<u32>,
    pace: RoundPace,
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
    factors: Factors,
    set: TideConstants,
}

/// What follows from the parameters alone.
#[derive(Clone, Copy, Debug)]
struct TideConstants {
    /// The line's rate, in the unit of the fair rate.
    line: u64,
    horizon: u64,
    allowance: u64,
    first: u32,
    step: u32,
    forgets: u64,
    ecn: Signal,
}

/// An arrival and what bounds it, in bytes of the round.
#[derive(Clone, Copy)]
struct Counted {
    /// What one byte costs, in 2^-16.
    factor: u64,
    len: u32,
    /// The allowance, no more than there is room for.
    may: u32,
    first: u32,
    step: u32,
}

/// How fast the round turns with so much waiting.
#[derive(Clone, Copy, Debug)]
struct RoundPace {
    aim: u64,
    fastest: u64,
    slowest: u64,
    below: u64,
    above: u64,
}

impl RoundPace {
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
    /// The numbers of the cells of the packet's flow among all cells, one in each row.
    pub fn places_of(&self, pkt: &Packet) -> impl Iterator<Item = usize> + use<> {
        self.cells.numbers_of(self.factors.key(pkt))
    }

    /// The cells of the packet's flow.
    fn cells_of(&self, pkt: &Packet) -> FlowBins {
        self.cells.places(self.factors.key(pkt))
    }

    /// The places of its source and its destination, in each of two rows, where those divide
    /// shares.
    pub fn hosts_of(&self, pkt: &Packet) -> [Option<[usize; 2]>; 2] {
        self.factors.hosts_of(pkt)
    }

    #[inline]
    fn counted(&self, pkt: &Packet, room: u64) -> Counted {
        let TideConstants { first, step, allowance, horizon, .. } = self.set;
        if self.factors.are_one() {
            let len = pkt.len.min(MOST as u32);
            return Counted { factor: ONE, len, may: self.allowed.min(room) as u32, first, step };
        }
        let factor = self.factors.of(pkt);
        let packets = u64::from(of_the_round(allowance, factor));
        let allowed = (scaled(self.fair, horizon, 40) + packets).min(MOST);
        Counted {
            factor,
            len: (u64::from(pkt.len) * factor).div_ceil(ONE).min(MOST) as u32,
            may: allowed.min(u64::from(of_the_round(room, factor))) as u32,
            first: of_the_round(u64::from(first), factor),
            step: of_the_round(u64::from(step), factor),
        }
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
        let mut first = 0;
        for row in 0..self.cells.levels() {
            let mut taken = 0;
            for cell in self.cells.level_mut(row) {
                let ahead = cell.ahead(round) > 0;
                taken += usize::from(ahead);
                *cell = if ahead { *cell } else { RowCell { bid: round, level: 0 } };
            }
            seen += self.flows_of[taken] as u64;
            first = if row == 0 { taken } else { first };
        }
        seen /= self.cells.levels() as u64;
        if !self.factors.are_one() {
            // What was not ahead bids as the round does by now.
            let ahead = self.cells.level(0).iter().map(|cell| cell.ahead(round) > 0);
            let first = (first as u64, self.flows_of[first] as u64);
            seen = self.factors.pass(ahead, first, seen, self.set.forgets);
        }
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
        self.cells.iter_mut().for_each(|cell| *cell = RowCell { bid, level: 0 });
        self.flows = ONE;
        self.factors.forget();
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

    /// Whether a packet that finds the virtual backlog `v` carries a signal of the ladder that
    /// begins at `bottom`.
    #[inline]
    fn signals(&mut self, places: &FlowBins, v: u32, counted: &Counted, bottom: u32) -> bool {
        let next = v + counted.len;
        let first = bottom.max(counted.may.min(counted.first));
        let step = (counted.may / 16).max(counted.step);
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
fn room(link: &Link, waits: Backlog) -> u64 {
    match link.limit {
        Size::Packets(most) => {
            most.saturating_sub(waits.packets as u64).saturating_mul(link.mean_packet.get())
        }
        Size::Bytes(most) => most.saturating_sub(waits.bytes),
    }
    .min(MOST)
}

impl TideRule {
    /// A packet is offered. Whether passes were due.
    #[inline]
    fn offered(&mut self, now: Time, waits: u64) -> bool {
        let due = self.passes.due() <= now;
        if due {
            self.make_passes(now, waits);
        }
        self.grow(now, waits);
        due
    }

    /// The verdict on a packet that finds `room`, and whether its flow had no virtual backlog.
    #[inline]
    fn judge(&mut self, pkt: &Packet, places: &FlowBins, waits: u64, room: u64) -> (Verdict, bool) {
        let round = self.whole_round();
        let rows = 0..self.cells.levels();
        let v = rows.map(|row| self.cells[places.on(row)].ahead(round)).min().unwrap_or(0);
        let counted = self.counted(pkt, room);
        let (next, may) = (v + counted.len, counted.may);
        if v > 0 && next > may {
            let verdict = if waits < self.pace.aim / 10 {
                Verdict::Admit
            } else {
                Verdict::Drop(DropReason::Unfair)
            };
            return (verdict, false);
        }
        let mut verdict = Verdict::Admit;
        if waits >= self.pace.aim / 2 {
            let marks = self.set.ecn.marks(pkt);
            // A mark costs less than a loss, so it comes earlier, and always where a loss is near.
            let bottom = if marks { may / 4 } else { may / 2 };
            let climbs = self.signals(places, v, &counted, bottom);
            if marks && (climbs || v > 0 && next > may - may / 8) {
                verdict = Verdict::Mark(MarkReason::Forced);
            } else if climbs {
                return (Verdict::Drop(DropReason::Forced), false);
            }
        }
        for row in 0..self.cells.levels() {
            let cell = &mut self.cells[places.on(row)];
            if cell.ahead(round) < next {
                cell.bid = round.wrapping_add(next);
            }
        }
        if !self.factors.are_one() {
            self.factors.charged(places.on(0).index(), counted.factor, pkt);
        }
        (verdict, v == 0)
    }
}

impl Tide {
    /// The rule.
    pub fn rule(&self) -> &TideRule {
        &self.rule
    }
}

impl Qdisc for Tide {
    #[inline]
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, mut pkt: Packet, out: &mut S) {
        pkt.arrived = now;
        let waits = self.lines.backlog();
        let passed = self.rule.offered(now, waits.bytes);
        if passed {
            self.lines.sweep();
        }
        if !self.link.has_room(waits, pkt.len) {
            return out.dropped(now, &pkt, DropReason::Overlimit);
        }
        let places = self.rule.cells_of(&pkt);
        let room = room(&self.link, waits);
        let (verdict, sparse) = self.rule.judge(&pkt, &places, waits.bytes, room);
        match verdict {
            Verdict::Drop(why) => return out.dropped(now, &pkt, why),
            Verdict::Mark(why) => {
                pkt.ecn = Ecn::Ce;
                out.marked(now, &pkt, why);
            }
            _ => {}
        }
        self.lines.join(pkt, &places, sparse);
    }

    #[inline]
    fn dequeue<S: Sink + ?Sized>(&mut self, _: Time, _: &mut S) -> Option<Packet> {
        self.lines.next(self.rule.pace.aim)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.lines.backlog()
    }

    fn inherit(&mut self, old: &mut Tide) -> bool {
        self.lines.inherit(&mut old.lines);
        true
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        let rule = &self.rule;
        let per_second = rule.fair as f64 / (1_u64 << 40) as f64 * 8e9;
        see(Gauge { name: "flows", unit: "", value: rule.flows as f64 / ONE as f64 });
        see(Gauge { name: "fair_rate", unit: "bit/s", value: per_second });
        see(Gauge { name: "allowance", unit: "B", value: rule.allowed as f64 });
    }
}
