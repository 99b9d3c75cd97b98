//! SFB and its twin.
use std::cell::RefCell;

use super::{Set, with_known};
use crate::naive::sfb::{
    DropRule, Early, Fall, NaiveSfb, Penalty, PenaltyBox, Rehash, Said, Setting,
};
use crate::support::twin::{Disputes, agree, rolled};
use crate::support::{Both, Fate};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::Sfb;
use tidegate::queues::sfb::Bin;
use tidegate::rng::mix;
use tidegate::{DropReason, Link, MarkReason, Packet, Qdisc, Rng, Sink, Time};

/// The hash functions as the manual page has them, of a queue that was given `dice`: two levels
/// share a key, and each generation has keys of its own.
pub fn documented_hash(
    levels: usize,
    bins: usize,
    mut dice: Rng,
) -> impl Fn(usize, usize, u64) -> usize + use<> {
    let (keys, bins) = (levels.div_ceil(2), bins as u64);
    let drawn: RefCell<(Rng, Vec<Vec<u64>>)> =
        RefCell::new((Rng::from_seed(dice.bits()), Vec::new()));
    move |generation, level, flow| {
        let (dice, generations) = &mut *drawn.borrow_mut();
        while generations.len() <= generation {
            generations.push((0..keys).map(|_| dice.bits()).collect());
        }
        let word = mix(flow ^ generations[generation][level / 2]);
        let half = if level % 2 == 0 { word & 0xffff_ffff } else { word >> 32 };
        ((half * bins) >> 32) as usize
    }
}

/// SFB with its twin beside it; verdicts may differ only within 1e-6 of what the dice or the tokens
/// decide.
pub struct Twinned {
    pub queue: Sfb,
    pub twin: NaiveSfb,
    pub link: Link,
    ecn: bool,
    /// Above this p_min, signals become drops in proportion.
    mark_up_to: f64,
    /// Whether a packet that finds no room is an arrival to its bins.
    counts_overflow: bool,
    operations: u64,
    pub full: u64,
    pub penalised: u64,
    pub paid: u64,
    pub coins: u64,
    pub early: u64,
    pub overlimit: u64,
    pub sent: u64,
    pub disputes: Disputes,
}

impl Twinned {
    /// Time goes by, also where a call did not need to know: beyond 64 rehashes at once the queue
    /// draws fewer keys.
    fn catch_up(&mut self, now: Time) {
        self.queue.advance(now);
        self.twin.advance(now.as_nanos() as f64);
    }

    /// All bins on both sides.
    fn compare(&mut self) {
        for level in 0..self.twin.setting.levels {
            self.same_bins(self.queue.policy().level(level), &self.twin.active[level]);
            if self.twin.setting.rehash == Rehash::Double {
                self.same_bins(self.queue.policy().warming_level(level), &self.twin.warming[level]);
            }
        }
    }

    fn same_bins(&self, ours: &[Bin], theirs: &[crate::naive::sfb::Bin]) {
        let step = self.operations;
        for (place, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
            assert_eq!(ours.qlen(), theirs.qlen, "step {step}, bin {place}");
            agree("p_m", step, ours.p_m(), theirs.p_m, 1e-3);
        }
    }

    /// What the twin says of the packet, and what became of it.
    fn judge(&mut self, now: f64, said: Said, pkt: &Packet, fate: &Fate, die: Option<f64>) {
        let capable = self.ecn && pkt.ecn.is_capable();
        let decides = match said {
            Said::Coin { .. } => self.twin.setting.early == Early::On,
            Said::Judge { .. } => capable,
            _ => false,
        };
        assert_eq!(
            die.is_some(),
            decides,
            "a die is rolled only when there is something to decide"
        );
        let mut paid = 0.0;
        match said {
            Said::Full => {
                self.full += 1;
                assert_eq!(fate.dropped, Some(DropReason::BinFull));
            }
            Said::Penalty { tokens } => {
                paid = pkt.len as f64;
                let passed = self.is_penalised(fate);
                assert!(
                    passed == (tokens >= paid) || (tokens - paid).abs() < 1e-6 * paid,
                    "{tokens} for {paid}"
                );
            }
            Said::Packets { packets, by } => {
                let passed = self.is_penalised(fate);
                assert!(passed == (packets >= 1.0) || by < 1e-9, "{packets} packets");
            }
            Said::Judge { p_min } => self.judge_full(p_min, fate, die.filter(|_| capable)),
            Said::Coin { p_min } if self.twin.setting.early == Early::Full => {
                assert!(
                    *fate == Fate::default() && p_min == 0.0,
                    "bins that are not full let all in: {fate:?}"
                );
                self.coins += 1;
            }
            Said::Coin { p_min } => {
                agree("p_min", self.operations, self.queue.policy().p_min(pkt.flow), p_min, 1e-3);
                self.judge_early(p_min, fate, die.expect("a die is rolled"), capable);
            }
        }
        self.tell_the_twin(now, said, pkt.flow, paid, fate);
    }

    /// A packet of an unresponsive flow; whether the box let it pass.
    fn is_penalised(&mut self, fate: &Fate) -> bool {
        self.penalised += 1;
        let passed = *fate == Fate::default();
        self.paid += u64::from(passed);
        assert!(passed || fate.dropped == Some(DropReason::Penalty), "{fate:?}");
        passed
    }

    /// A packet whose bins are full: with a die it may be marked, else it is dropped.
    fn judge_full(&mut self, p_min: f64, fate: &Fate, die: Option<f64>) {
        self.full += 1;
        let marked = fate.marked == Some(MarkReason::Early) && fate.dropped.is_none();
        assert!(marked || fate.dropped == Some(DropReason::BinFull), "{fate:?}");
        match die {
            Some(die) => self.disputes.verdict(self.operations, die, p_min, marked),
            None => assert!(!marked),
        }
    }

    /// A packet that is marked or dropped with probability p_min.
    fn judge_early(&mut self, p_min: f64, fate: &Fate, die: f64, capable: bool) {
        self.coins += 1;
        let signalled = fate.is_signal();
        self.early += u64::from(signalled);
        self.disputes.verdict(self.operations, die, p_min, signalled);
        let dropped = Fate { dropped: Some(DropReason::Early), marked: None };
        if !capable {
            assert!(!signalled || *fate == dropped, "{fate:?}");
        } else if signalled && self.mark_up_to < 1.0 {
            let p_drop = ((p_min - self.mark_up_to) / (1.0 - self.mark_up_to)).max(0.0);
            self.disputes.verdict(self.operations, die, p_drop, *fate == dropped);
        } else {
            let marked = Fate { dropped: None, marked: Some(MarkReason::Early) };
            assert!(!signalled || *fate == marked, "{fate:?}");
        }
    }

    fn tell_the_twin(&mut self, now: f64, said: Said, flow: u64, paid: f64, fate: &Fate) {
        match (said, fate.dropped) {
            (Said::Penalty { .. } | Said::Packets { .. }, Some(_)) => {
                self.twin.refuse_penalised(now, flow)
            }
            (_, Some(_)) => {}
            (Said::Packets { .. }, None) => self.twin.enqueue_penalised(now, flow),
            (_, None) => self.twin.enqueue(flow, paid),
        }
    }
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        let has_room = self.link.has_room(self.queue.backlog(), pkt.len);
        let (mut fate, before) = (Fate::default(), self.queue.dice().clone());
        self.queue.enqueue(now, pkt, &mut Both(&mut fate, out));
        let die = rolled(&before, self.queue.dice());
        let nanos = now.as_nanos() as f64;
        if has_room {
            let said = self.twin.arrive(nanos, pkt.flow);
            self.judge(nanos, said, &pkt, &fate, die);
        } else {
            assert_eq!(fate.dropped, Some(DropReason::Overlimit));
            if self.counts_overflow {
                self.twin.overlimit(nanos, pkt.flow);
            }
            self.overlimit += 1;
            self.catch_up(now);
        }
        self.operations += 1;
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        let pkt = self.queue.dequeue(now, out);
        if pkt.is_some() {
            self.sent += 1;
            self.twin.depart(now.as_nanos() as f64);
        } else {
            self.catch_up(now);
        }
        self.operations += 1;
        pkt
    }

    fn advance(&mut self, now: Time) {
        self.catch_up(now);
        self.compare();
    }

    as_the_queue!();
}

/// `config` in whole steps of 1e-9, in which p_m is kept; in the twin times are nanoseconds, which
/// floats hold exactly.
fn in_steps(config: &AnyConfig) -> AnyConfig {
    let set = Set(config);
    let steps = |name| format!("{}", (set.number(name) * 1e9).round() / 1e9);
    let millis = format!("{} ms", set.nanos("rehash_interval").div_ceil(1_000_000));
    let quarters = format!("{}", (set.number("warm_up") * 4.0).round() / 4.0);
    let known = [
        ("d_up", &*steps("d_up")),
        ("d_down", &*steps("d_down")),
        ("condemn", &*steps("condemn")),
        ("warm_cap", &*steps("warm_cap")),
        ("mark_up_to", &*steps("mark_up_to")),
        ("rehash_interval", &*millis),
        ("warm_up", &*quarters),
    ];
    with_known(config, &known)
}

fn setting(set: &Set, link: &Link) -> Setting {
    let penalty_rate = set.text("penalty_rate").parse::<tidegate::Rate>().unwrap();
    Setting {
        levels: set.number("levels") as usize,
        bins: set.number("bins") as usize,
        bin_size: set.number("bin_size") as u32,
        overbook: set.number("overbook"),
        limit: link.limit_packets(),
        max: set.number("max") as u32,
        d_up: set.number("d_up"),
        d_down: set.number("d_down"),
        fall: if set.is("fall", "arrival") { Fall::Arrival } else { Fall::Departure },
        hold: set.nanos("hold") as f64,
        drop_rule: if set.is("drop_rule", "any") { DropRule::Any } else { DropRule::Min },
        early: if set.is("early", "on") { Early::On } else { Early::Full },
        condemn: set.number("condemn"),
        penalty: if set.is("penalty", "after") { Penalty::After } else { Penalty::Before },
        refused_raises: set.is("refused", "raise"),
        penalty_box: match set.text("penalty_box").as_str() {
            "bucket" => PenaltyBox::Bucket,
            "whole" => PenaltyBox::Whole,
            _ => PenaltyBox::Spaced,
        },
        packet: link.mean_packet.get() as f64,
        penalty_rate: penalty_rate.as_bps() as f64 / 8e9,
        penalty_depth: set.size("penalty_depth").in_bytes(link.mean_packet) as f64,
        rehash: match set.text("rehash").as_str() {
            "off" => Rehash::Off,
            "moving" => Rehash::Moving,
            _ => Rehash::Double,
        },
        rehash_interval: set.nanos("rehash_interval") as f64,
        warm_up: set.number("warm_up") * set.nanos("rehash_interval") as f64,
        warm_cap: set.number("warm_cap"),
    }
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        let config = in_steps(config);
        let AnyQueue::Sfb(queue) = config.build(link, dice.clone()).ok()? else { return None };
        let set = Set(&config);
        let setting = setting(&set, &link);
        let twin = NaiveSfb::new(setting, documented_hash(setting.levels, setting.bins, dice));
        Some(Twinned {
            queue,
            twin,
            link,
            ecn: set.is("ecn", "on"),
            mark_up_to: set.number("mark_up_to"),
            counts_overflow: set.is("overflow", "count"),
            operations: 0,
            full: 0,
            penalised: 0,
            paid: 0,
            coins: 0,
            early: 0,
            overlimit: 0,
            sent: 0,
            disputes: Disputes::default(),
        })
    }

    fn patience(&self) -> u64 {
        60 * self.twin.setting.rehash_interval as u64
    }
}
