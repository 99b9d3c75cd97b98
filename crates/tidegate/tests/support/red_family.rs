//! What the tests of RED, Adaptive RED and self-configuring RED share: the comparison with a naive twin.
use crate::naive::red::{NaiveRed, Said, Unit};
use crate::support::twin::{Disputes, OPERATIONS, agree, rolled};
use crate::support::{self, Fate, stats};
use tidegate::policy::{Fifo, Policy};
use tidegate::queues::red::RedRule;
use tidegate::{DropReason, Ecn, Link, NullSink, Packet, Qdisc, Time};

/// A twin of the family.
pub trait Twin: std::fmt::Debug {
    /// The RED inside.
    fn red(&mut self) -> &mut NaiveRed;
    /// A packet arrives and finds room.
    fn arrive(&mut self, now: f64, packets: f64, bytes: f64, size: f64) -> Said;
    /// A packet arrives and finds none.
    fn overflow(&mut self, now: f64, packets: f64, bytes: f64);
}

impl Twin for NaiveRed {
    fn red(&mut self) -> &mut NaiveRed {
        self
    }
    fn arrive(&mut self, now: f64, packets: f64, bytes: f64, size: f64) -> Said {
        NaiveRed::arrive(self, now, packets, bytes, size)
    }
    fn overflow(&mut self, now: f64, packets: f64, bytes: f64) {
        NaiveRed::overflow(self, now, packets, bytes);
    }
}

/// What a comparison with the twin has seen; every branch must have been taken.
#[derive(Debug, Default)]
pub struct Seen {
    pub passed: u64,
    pub rolled: u64,
    pub early: u64,
    pub forced: u64,
    pub overflows: u64,
    pub idle: u64,
    pub above_max: u64,
}

/// A million operations in which overload, calm and sleep take turns, packets of 40 to 1500 bytes. The twin hears
/// what the queue decided, and must give the same chances and the same state.
pub fn against_the_twin<P: Policy>(
    name: &str,
    queue: &mut Fifo<P>,
    rule: fn(&P) -> &RedRule,
    mut twin: impl Twin,
    limit: u32,
) -> Seen {
    let mut world = stats::dice(name, 1);
    let (mut at, mut seen, mut disputes) = (0_u64, Seen::default(), Disputes::default());
    for step in 0..OPERATIONS {
        let phase = (step / 4_000 % 6) as usize;
        at += world.below(if phase == 5 { 40_000_000 } else { 1_000_000 });
        let now = Time::from_nanos(at);
        if world.uniform() >= [0.55, 0.5, 0.9, 0.52, 0.3, 0.3][phase] {
            if queue.dequeue(now, &mut NullSink).is_none() {
                twin.red().idle(at as f64);
                seen.idle += 1;
            }
            continue;
        }
        let pkt = Packet::new(step, 40 + world.below(1461) as u32);
        let pkt = pkt.with_ecn(if world.chance(0.5) { Ecn::Ect0 } else { Ecn::NotEct });
        let backlog = queue.backlog();
        let (packets, bytes) = (backlog.packets as f64, backlog.bytes as f64);
        let before = queue.dice().clone();
        let mut fate = Fate::default();
        queue.enqueue(now, pkt, &mut fate);
        let die = rolled(&before, queue.dice());
        if backlog.packets == limit {
            assert_eq!((fate.dropped, die), (Some(DropReason::Overlimit), None));
            twin.overflow(at as f64, packets, bytes);
            seen.overflows += 1;
        } else {
            match twin.arrive(at as f64, packets, bytes, pkt.len as f64) {
                Said::Pass => {
                    assert_eq!((&fate, die), (&Fate::default(), None), "step {step}: {twin:?}");
                    seen.passed += 1;
                }
                Said::Forced => {
                    assert_eq!((fate.dropped, die), (Some(DropReason::Forced), None), "step {step}: {twin:?}");
                    twin.red().signalled();
                    seen.forced += 1;
                }
                Said::Die { p_a, p_b } => {
                    disputes.verdict(step, die.expect("a die for every decision"), p_a, fate.is_signal());
                    seen.rolled += 1;
                    seen.above_max += u64::from(twin.red().avg >= twin.red().max);
                    agree("p_b", step, rule(queue.policy()).p_b(), p_b, 1e-3);
                    if fate.is_signal() {
                        twin.red().signalled();
                        seen.early += 1;
                        assert_eq!(fate.marked.is_some(), pkt.ecn == Ecn::Ect0);
                    }
                }
            }
            if fate.dropped.is_none() {
                twin.red().admitted();
            }
        }
        let (red, twin) = (rule(queue.policy()), twin.red());
        agree("avg", step, red.avg(), twin.avg, 1e-3);
        agree("max_p", step, red.max_p(), twin.max_p, 1e-3);
        let unit = if twin.unit == Unit::BytesAfter { twin.mean_packet } else { 1.0 };
        agree("count", step, red.count(), twin.count / unit, 1.0);
    }
    disputes.settle();
    assert!(seen.passed.min(seen.rolled).min(seen.idle) > 10_000, "{seen:?}");
    assert!(seen.early.min(seen.overflows) > 1_000, "{seen:?}");
    seen
}

/// 10 Mbit/s, 1000 bytes, as the twin's 8·10^5 ns per packet.
pub fn twin_link(limit: &str) -> Link {
    support::link("10 Mbit/s", limit, "1000 B")
}

/// ns-2's rules; `weight` .002 as there.
pub fn ns2_twin(limit: f64) -> NaiveRed {
    NaiveRed {
        min: 0.2 * limit,
        max: 0.8 * limit,
        max_p: 0.1,
        gentle: true,
        wait: true,
        idle_plus_one: true,
        entry_passes: true,
        short_passes: true,
        ..NaiveRed::paper(1000.0, 8e5)
    }
}
