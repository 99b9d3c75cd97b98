//! Adaptive RED against its paper.
use crate::family::{against_the_twin, ns2_twin, twin_link};
use crate::naive::ared::NaiveAred;
use crate::naive::red::NaiveRed;
use tidegate::catalog;
use tidegate::queues::ared::AredRule;

/// The printed steps.
#[test]
fn the_twin_gives_the_golden_steps() {
    for (max_p, avg, to) in
        [(0.1, 12.0, 0.11), (0.1, 8.0, 0.09), (0.02, 12.0, 0.025), (0.1, 10.0, 0.1)]
    {
        let mut twin = NaiveAred::new(NaiveRed { max_p, ..NaiveRed::paper(1000.0, 8e5) }, 5e8);
        twin.adapt(avg);
        assert!((twin.red.max_p - to).abs() < 1e-12);
    }
}

/// Half a second is short against the phases of the comparison. One interval per second and more
/// than 64 per idle time are tried as well. max_p is compared after every operation.
#[test]
fn twin() {
    for (interval, ns) in [("500 ms", 5e8), ("3 s", 3e9), ("1 ms", 1e6)] {
        let settings = [
            ("interval", interval),
            ("weight", "0.02"),
            ("min", "4 packets"),
            ("max", "16 packets"),
        ];
        let red = NaiveRed { weight: 0.02, min: 4.0, max: 16.0, ..ns2_twin(20.0) };
        let twin = NaiveAred::new(red, ns);
        let seen = against_the_twin::<AredRule, _>(("ared", None), &settings, &twin, interval);
        assert!(seen.above_max > 100, "{seen:?}");
    }
}

/// The manual page says less than 400 bytes.
#[test]
fn state_is_as_small_as_the_manual_says() {
    let link = twin_link("100 packets");
    let bytes = catalog::config("ared", Some("paper"), &link).unwrap().state_bytes(&link);
    assert!((100..400).contains(&bytes), "{bytes}");
}
