//! RED against its papers.
#[path = "naive/red.rs"]
#[allow(dead_code, reason = "the queue comes next, and uses the rest")]
mod naive;

use naive::{NaiveRed, Said};

/// The worked numbers: avg 10 gives p_b = .01; 50 packets after a mark p_a = .02; with wait after 150.
#[test]
fn the_twin_gives_the_golden_numbers() {
    let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-4, "{a} {b}");
    let mut red = NaiveRed { avg: 10.0, weight: 1.0, idle_since: None, ..NaiveRed::paper(1000.0, 8e5) };
    assert_eq!(red.arrive(0.0, 10.0, 1e4, 1000.0), Said::Die { p_a: 0.01, p_b: 0.01 });
    close(red.p_a(0.01, 50.0), 0.02);
    close(red.p_a(0.01, 99.0), 1.0);
    red.wait = true;
    close(red.p_a(0.01, 150.0), 0.02);
    red.weight = 0.002;
    red.idle(0.0);
    close(red.avg_at(1e8), 7.7859);
    let mut red = NaiveRed { gentle: true, max_p: 0.1, ..red };
    red.avg = 20.0;
    close(red.p_b(), 0.4);
    let mut red = NaiveRed { idle_since: None, ..NaiveRed::paper(1000.0, 8e5) };
    red.arrive(0.0, 10.0, 1e4, 1000.0);
    close(red.avg, 0.02);
}
