//! BLUE against its paper.
#[path = "naive/blue.rs"]
mod naive;

use naive::{Clock, NaiveBlue};

/// Three overflows and three idle events by hand: the freeze time swallows the second of each.
#[test]
fn the_twin_gives_the_golden_trace() {
    let mut blue = NaiveBlue::new(0.0025, 0.00025, 0.1, Clock::Shared);
    for now in [0.0, 0.05, 0.2] {
        blue.loss(now);
    }
    assert_eq!(blue.p_m, 0.005);
    for now in [0.31, 0.35, 0.5] {
        blue.idle(now);
    }
    assert!((blue.p_m - 0.0045).abs() < 1e-12);
}
