//! FRED against its paper: the naive twin, the golden numbers, and what the paper says that holds on the queue alone.
#[path = "naive/fred.rs"]
mod naive;

use naive::{Above, Flow, NaiveFred, Said, Setting};

/// cho2001 §IV-A: thresholds of 40 and 160 kB, max_p .2, minq 2000 B.
const CHO2001: Setting = Setting {
    min: 40e3,
    max: 160e3,
    max_p: 0.2,
    weight: 0.002,
    min_q: 2000.0,
    max_q: 40e3,
    one: 1000.0,
    multiple: 2.0,
    strikes: 1.0,
    above: Above::Tail,
    s: 8e5,
};

/// Two flows, avg 60 kB: avgcq is 30 kB. 35 kB waiting: the dice decide, or, after two strikes, it is dropped surely;
/// 20 kB: let in; 40 kB = maxq: dropped and a strike.
#[test]
fn the_twin_gives_the_golden_verdicts() {
    let with = |qlen: f64, strike: f64| {
        let mut fred = NaiveFred::new(CHO2001);
        fred.flows.insert(1, Flow { qlen, strike });
        fred.flows.insert(2, Flow { qlen: 60e3 - qlen, strike: 0.0 });
        (fred.q, fred.avg) = (60e3, 60e3);
        assert_eq!(fred.avgcq(), 30e3);
        (fred.arrive(0.0, 1), fred.flows[&1].strike)
    };
    assert_eq!(with(35e3, 0.0), (Said::Die(0.2 * 20.0 / 120.0), 0.0));
    assert_eq!(with(35e3, 2.0), (Said::Drop, 3.0));
    assert_eq!(with(20e3, 0.0), (Said::Pass, 0.0));
    assert_eq!(with(40e3, 0.0), (Said::Drop, 1.0));
}

/// Above max_th: one queue drops all; for many flows each may have two packets.
#[test]
fn the_twin_above_max() {
    let with = |above, qlen: f64| {
        let mut fred = NaiveFred::new(Setting { above, max: 100e3, ..CHO2001 });
        fred.flows.insert(1, Flow { qlen, strike: 0.0 });
        (fred.q, fred.avg) = (120e3, 120e3);
        fred.arrive(0.0, 1)
    };
    for (above, qlen, said) in [
        (Above::Tail, 1000.0, Said::Drop),
        (Above::Both, 1000.0, Said::Drop),
        (Above::Two, 1999.0, Said::Pass),
        (Above::Two, 2000.0, Said::Drop),
    ] {
        assert_eq!(with(above, qlen), said, "{above:?} {qlen}");
    }
}
