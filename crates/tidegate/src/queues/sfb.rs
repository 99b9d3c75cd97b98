#![doc = include_str!("sfb.md")]
mod bin_set;
mod closed_form;
mod params;
mod presets;

use crate::entry::TARGET_RTT;
use crate::packet::Packet;
use crate::parts::bins::{FlowBins, MAX_LEVELS};
use crate::parts::every::{CATCH_UP, Every};
use crate::parts::penalty_box::PenaltyBox;
use crate::policy::{Fifo, Policy, QueueView, Signal, Verdict};
use crate::qdisc::{DropReason, Gauge, Link, MarkReason};
use crate::rng::Rng;
use crate::units::{Prob, Rate, Span, Time};
pub use bin_set::Bin;
use bin_set::BinSet;
pub use closed_form::{misclassification, polluted_bins};
pub use params::*;

/// A FIFO that tells unresponsive flows from the others by a few bins of accounts (feng2001).
pub type Sfb = Fifo<SfbRule>;

/// A probability of 1 in billionths. p_m is a whole number of them. So steps such as .008 or .0001
/// are exact, and 125 steps of .008 make 1, neither a rounding less nor more.
const ONE: u32 = 1_000_000_000;

fn billionths(p: Prob) -> u32 {
    (p.get() * ONE as f64 + 0.5) as u32
}

fn share(billionths: u32) -> f64 {
    billionths as f64 * (1.0 / ONE as f64)
}

/// The rule of SFB.
#[derive(Clone, Debug)]
pub struct SfbRule {
    config: SfbConfig,
    d_up: u32,
    d_down: u32,
    condemn: u32,
    warm_cap: u32,
    /// Packets of a bin that holds more are dropped.
    max: u32,
    /// The limit times `overbook`, in packets.
    room: f64,
    /// How many bins of each level hold something.
    in_use: [u32; MAX_LEVELS],
    active: BinSet,
    /// The bins of the next generation (rehash `double`); their qlen stay 0.
    warming: BinSet,
    /// Which hash functions are in use; a packet remembers in its tag under which it was counted.
    generation: u32,
    rehash: Every,
    /// From when on the second set of bins learns.
    warm_from: Time,
    penalty: PenaltyBox,
    /// Keys of the hash functions come from dice of their own, so that a rehash never shifts the
    /// marking.
    hash_dice: Rng,
    /// The bins of the packet being judged.
    here: FlowBins,
    arrivals: u64,
    penalised: u64,
}

/// What the bins say of an arriving packet.
struct BinsSeen {
    p_min: u32,
    condemned: bool,
    full: bool,
}

impl SfbRule {
    fn new(config: &SfbConfig, link: &Link, dice: &mut Rng) -> SfbRule {
        let mut hash_dice = Rng::from_seed(dice.bits());
        let mut active = BinSet::new(config.levels, config.bins, config.hold);
        active.bins.rekey(&mut hash_dice);
        let mut warming = match config.rehash {
            RehashRule::Double => active.clone(),
            RehashRule::Off | RehashRule::Moving => BinSet::new(1, 1, Span::ZERO),
        };
        let rehash = match config.rehash {
            RehashRule::Off => Every::never(),
            RehashRule::Moving => Every::new(config.rehash_interval),
            RehashRule::Double => {
                warming.bins.rekey(&mut hash_dice);
                Every::new(config.rehash_interval)
            }
        };
        let mut rule = SfbRule {
            d_up: billionths(config.d_up),
            d_down: billionths(config.d_down),
            condemn: billionths(config.condemn),
            warm_cap: billionths(config.warm_cap),
            max: if config.overbook > 0.0 { config.max } else { config.max.max(config.bin_size) },
            room: config.overbook * link.limit_packets(),
            in_use: [0; MAX_LEVELS],
            active,
            warming,
            generation: 0,
            rehash,
            warm_from: Time::MAX,
            penalty: PenaltyBox::new(
                config.penalty_box,
                config.penalty_rate,
                config.penalty_depth,
                link,
            ),
            hash_dice,
            here: FlowBins::default(),
            arrivals: 0,
            penalised: 0,
            config: config.clone(),
        };
        rule.schedule_warm_up();
        rule
    }

    /// The bins of one level, as they are now.
    pub fn level(&self, level: usize) -> &[Bin] {
        self.active.bins.level(level)
    }

    /// The bins of one level of the second set, which is learning (rehash `double`).
    pub fn warming_level(&self, level: usize) -> &[Bin] {
        self.warming.bins.level(level)
    }

    /// The numbers of the bins of `flow`, one on each level, as they are hashed now.
    pub fn places_of(&self, flow: u64) -> impl Iterator<Item = usize> + use<> {
        self.active.bins.numbers_of(flow)
    }

    /// The least p_m of the bins of `flow`: 1 if it is judged unresponsive.
    pub fn p_min(&self, flow: u64) -> f64 {
        let (bins, places) = (&self.active.bins, self.active.bins.places(flow));
        let p_ms = (0..bins.levels()).map(|level| bins[places.on(level)].p_m());
        p_ms.fold(1.0, f64::min)
    }

    /// Does the rehashes that have fallen due.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        if now >= self.rehash.due() {
            self.catch_up_now(now);
        }
    }

    #[cold]
    fn catch_up_now(&mut self, now: Time) {
        // After so long a silence the bins are empty either way; only which keys are drawn differs.
        let overdue = self.rehash.overdue(now);
        self.rehash.skip(overdue.saturating_sub(CATCH_UP));
        while self.rehash.step(now).is_some() {
            if self.config.rehash == RehashRule::Double {
                core::mem::swap(&mut self.active, &mut self.warming);
                self.warming.bins.rekey(&mut self.hash_dice);
                self.warming.clear();
            } else {
                self.active.bins.rekey(&mut self.hash_dice);
                self.active.clear();
            }
            self.in_use = [0; MAX_LEVELS];
            self.generation = self.generation.wrapping_add(1);
        }
        self.schedule_warm_up();
    }

    fn schedule_warm_up(&mut self) {
        if self.config.rehash == RehashRule::Double {
            let window = self.config.rehash_interval.as_nanos() as f64 * self.config.warm_up.get();
            self.warm_from =
                Time::from_nanos(self.rehash.due().as_nanos().saturating_sub(window as u64));
        }
    }

    /// The head of Fig. 1: updates the bins of the arriving packet and finds the least p_m.
    #[inline]
    fn look(&mut self, now: Time, flow: u64) -> BinsSeen {
        let (mut p_min, mut full, mut open) = (ONE, false, false);
        self.here = self.active.bins.places(flow);
        for level in 0..self.active.bins.levels() {
            let place = self.here.on(level);
            let qlen = self.active.bins[place].qlen;
            let full_here = self.is_full(level, qlen);
            if full_here {
                self.active.raise(place, now, self.config.hold, self.d_up, ONE);
            } else if qlen == 0 && self.config.fall == Fall::Arrival {
                self.active.lower(place, now, self.config.hold, self.d_down);
            }
            let over = full_here && qlen > self.max;
            full |= over;
            open |= !over;
            p_min = p_min.min(self.active.bins[place].p_m);
        }
        self.arrivals += 1;
        let condemned = p_min >= self.condemn;
        if condemned {
            self.penalised += 1;
            if now >= self.warm_from {
                self.warm(now, flow);
            }
        }
        BinsSeen {
            p_min,
            condemned,
            full: full && (self.config.drop_rule == DropRule::Any || !open),
        }
    }

    /// Whether a bin that holds `qlen` is full.
    #[inline]
    fn is_full(&self, level: usize, qlen: u32) -> bool {
        if self.config.overbook > 0.0 {
            qlen as f64 * (self.config.overbook + self.in_use[level].saturating_sub(1) as f64)
                > self.room
        } else {
            qlen > self.config.bin_size
        }
    }

    /// The second set of bins hears of a packet of an unresponsive flow (feng2001 §III-D).
    fn warm(&mut self, now: Time, flow: u64) {
        let places = self.warming.bins.places(flow);
        for level in 0..self.warming.bins.levels() {
            self.warming.raise(places.on(level), now, self.config.hold, self.d_up, self.warm_cap);
        }
    }

    /// What becomes of a condemned packet.
    fn penalise(&mut self, now: Time, pkt: &Packet) -> Verdict {
        if self.penalty.take(now, pkt.len) {
            return Verdict::Admit;
        }
        if self.config.refused == Refused::Raise {
            for level in 0..self.active.bins.levels() {
                self.active.raise(self.here.on(level), now, self.config.hold, self.d_up, ONE);
            }
        }
        Verdict::Drop(DropReason::Penalty)
    }

    /// What becomes of a packet whose bins are full.
    fn overflow(&self, pkt: &Packet, p_min: u32, dice: &mut Rng) -> Verdict {
        let may_mark = self.config.early == Early::Full
            && self.config.ecn == Signal::Mark
            && pkt.ecn.is_capable();
        if may_mark && dice.chance(share(p_min)) {
            Verdict::Mark(MarkReason::Early)
        } else {
            Verdict::Drop(DropReason::BinFull)
        }
    }

    /// The coin of Fig. 1.
    #[inline]
    fn toss(&self, p_min: u32, dice: &mut Rng) -> Verdict {
        let u = dice.uniform();
        let p_min = share(p_min);
        if u >= p_min {
            return Verdict::Admit;
        }
        let up_to = self.config.mark_up_to.get();
        if up_to < 1.0 && u * (1.0 - up_to) < p_min - up_to {
            return Verdict::Drop(DropReason::Early);
        }
        self.config.ecn.verdict(MarkReason::Early)
    }

    /// The probability that a flow not seen yet falls into bins that condemn it on every level.
    fn misclassified(&self) -> f64 {
        let share = |level| {
            let bins = self.active.bins.level(level);
            bins.iter().filter(|bin| bin.p_m >= self.condemn).count() as f64 / bins.len() as f64
        };
        (0..self.active.bins.levels()).map(share).product()
    }
}

impl Policy for SfbRule {
    #[inline]
    fn arrive(
        &mut self,
        now: Time,
        pkt: &mut Packet,
        _: &impl QueueView,
        dice: &mut Rng,
    ) -> Verdict {
        self.catch_up(now);
        let seen = self.look(now, pkt.flow);
        pkt.tag = self.generation;
        if seen.condemned && self.config.penalty == Penalty::Before {
            return self.penalise(now, pkt);
        }
        if seen.full {
            return self.overflow(pkt, seen.p_min, dice);
        }
        if seen.condemned {
            return self.penalise(now, pkt);
        }
        match self.config.early {
            Early::On => self.toss(seen.p_min, dice),
            Early::Full => Verdict::Admit,
        }
    }

    #[inline]
    fn admitted(&mut self, _: Time, _: &Packet, _: &impl QueueView) {
        for level in 0..self.active.bins.levels() {
            let qlen = &mut self.active.bins[self.here.on(level)].qlen;
            self.in_use[level] += (*qlen == 0) as u32;
            *qlen += 1;
        }
    }

    #[inline]
    fn refused(&mut self, now: Time, pkt: &Packet, why: DropReason, _: &impl QueueView) {
        if why == DropReason::Overlimit && self.config.overflow == OverlimitArrival::Count {
            self.catch_up(now);
            self.look(now, pkt.flow);
        }
    }

    #[inline]
    fn depart(
        &mut self,
        now: Time,
        pkt: &Packet,
        _: &impl QueueView,
        _: &mut Rng,
    ) -> Option<MarkReason> {
        self.catch_up(now);
        if pkt.tag == self.generation {
            let places = self.active.bins.places(pkt.flow);
            for level in 0..self.active.bins.levels() {
                let place = places.on(level);
                self.active.bins[place].qlen -= 1;
                if self.active.bins[place].qlen > 0 {
                    continue;
                }
                self.in_use[level] -= 1;
                if self.config.fall == Fall::Departure {
                    self.active.lower(place, now, self.config.hold, self.d_down);
                }
            }
        }
        None
    }

    fn advance(&mut self, now: Time) {
        self.catch_up(now);
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        let mut gauge = |name, unit, value| see(Gauge { name, unit, value });
        let bins = &self.active.bins;
        let all = bins.levels() as f64 * self.config.bins as f64;
        gauge("p_max", "", bins.iter().map(Bin::p_m).fold(0.0, f64::max));
        gauge("p_mean", "", bins.iter().map(Bin::p_m).sum::<f64>() / all);
        let full = |level: usize| {
            bins.level(level).iter().filter(|bin| self.is_full(level, bin.qlen)).count()
        };
        gauge("bins_full", "bins", (0..bins.levels()).map(full).sum::<usize>() as f64);
        gauge(
            "bins_at_one",
            "bins",
            bins.iter().filter(|bin| bin.p_m >= self.condemn).count() as f64,
        );
        gauge("misclassified", "", self.misclassified());
        gauge("penalised", "", self.penalised as f64 / self.arrivals.max(1) as f64);
        gauge("tokens", "B", self.penalty.tokens());
    }
}

/// The paper's numbers of bins on a level, of packets in a full bin, and what all penalised flows
/// share, scaled to `link`; see the manual page. At the paper's own link it gives them back.
pub(super) fn scale(link: &Link) -> (u32, u32, Rate) {
    let limit = link.limit_packets();
    let in_flight = link.packets_per_second() * TARGET_RTT.as_secs();
    let most = (limit * 3.0 / 8.0).clamp(8.0, 4096.0);
    let bins = libm::sqrt(in_flight).clamp(8.0, most) as u32;
    let bin_size = ((1.5 * limit / bins as f64) as u32).max(1);
    (bins, bin_size, Rate::from_bps((link.rate.as_bps() as u128 * 160_000 / 45_000_000) as u64))
}
