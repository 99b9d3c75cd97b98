//! SFB against its paper.
#[path = "naive/sfb.rs"]
#[allow(dead_code, reason = "the queue comes next, and uses the rest")]
mod naive;

use naive::{DropRule, NaiveSfb, Rehash, Said, Setting};

/// The constants of feng2001 §III-B with one delta of .005 for both directions.
const LITERAL: Setting = Setting {
    levels: 2,
    bins: 23,
    bin_size: 13,
    d_up: 0.005,
    d_down: 0.005,
    drop_rule: DropRule::Any,
    penalty_rate: 20_000.0,
    penalty_depth: 2_000.0,
    rehash: Rehash::Off,
    rehash_interval: 2.0,
    warm_up: 2.0,
};

/// One flow, nothing leaves: the fifteenth packet is the first to find more than 13 in its bins.
#[test]
fn the_twin_gives_the_golden_trace() {
    let mut sfb = NaiveSfb::new(LITERAL, |_, level, flow| (flow as usize + level) % 23);
    for _ in 0..14 {
        assert_eq!(sfb.arrive(0.0, 1), Said::Coin { p_min: 0.0 });
        sfb.enqueue(1, 0.0);
    }
    for p_m in [0.005, 0.010] {
        assert_eq!(sfb.arrive(0.0, 1), Said::Full);
        assert_eq!(sfb.active[0][1].p_m, p_m);
        assert_eq!(sfb.active[1][2].p_m, p_m);
    }
}
