//! What the tests of RED, Adaptive RED and self-configuring RED share: a workload beside the twin.
use crate::naive::red::NaiveRed;
use crate::support::twin::OPERATIONS;
use crate::support::{self, stats};
use crate::twinned::Twinned as _;
use crate::twinned::red::{Seen, Twin, Twinned};
use tidegate::policy::Policy;
use tidegate::{Ecn, Link, NullSink, Packet, Qdisc, Time};

/// The queue `name`, as `preset` and `settings` have it, for a million operations in which
/// overload, calm and sleep take turns, packets of 40 to 1500 bytes; `twin` is what its twin must
/// have become of the settings. Dice by `run`.
pub fn against_the_twin<P: Policy, T: Twin>(
    (name, preset): (&str, Option<&str>),
    settings: &[(&str, &str)],
    twin: &T,
    run: &str,
) -> Seen
where
    Twinned<P, T>: crate::twinned::Twinned,
{
    let link = twin_link("20 packets");
    let config = support::config(name, preset, settings, &link);
    let mut queue = Twinned::<P, T>::beside(&config, link, stats::dice(run, 0)).unwrap();
    assert_eq!(
        format!("{:?}", queue.twin),
        format!("{twin:?}"),
        "the parameters mean what is written in the test"
    );
    let mut world = stats::dice(run, 1);
    let mut at = 0;
    for step in 0..OPERATIONS {
        let phase = (step / 4_000 % 6) as usize;
        at += world.below(if phase == 5 { 40_000_000 } else { 1_000_000 });
        let now = Time::from_nanos(at);
        if world.uniform() >= [0.55, 0.5, 0.9, 0.52, 0.3, 0.3][phase] {
            queue.dequeue(now, &mut NullSink);
            continue;
        }
        let pkt = Packet::new(step, 40 + world.below(1461) as u32);
        let pkt = pkt.with_ecn(if world.chance(0.5) { Ecn::Ect0 } else { Ecn::NotEct });
        queue.enqueue(now, pkt, &mut NullSink);
    }
    let Twinned { seen, disputes, on_the_edge, .. } = queue;
    assert!(!on_the_edge, "{run}: compared to the end");
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
