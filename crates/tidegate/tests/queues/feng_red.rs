//! Self-configuring RED against its paper.
use crate::family::{against_the_twin, twin_link};
use crate::naive::feng_red::{NaiveFengRed, Status};
use crate::naive::red::NaiveRed;
use tidegate::catalog;
use tidegate::queues::feng_red::FengRedRule;

fn new_twin(red: NaiveRed) -> NaiveFengRed {
    NaiveFengRed { red, status: Status::Below, alpha: 3.0, beta: 2.0, floor: 0.001 }
}

/// in, above, above, in, above, below.
#[test]
fn the_twin_gives_the_golden_sequence() {
    let mut twin = new_twin(NaiveRed { max_p: 0.1, ..NaiveRed::paper(1000.0, 8e5) });
    for (avg, max_p) in
        [(10.0, 0.1), (20.0, 0.2), (20.0, 0.2), (10.0, 0.2), (20.0, 0.4), (1.0, 0.4 / 3.0)]
    {
        twin.red.avg = avg;
        twin.adapt();
        assert!((twin.red.max_p - max_p).abs() < 1e-12);
    }
}

#[test]
fn twin() {
    let settings = [("weight", "0.02"), ("min", "4 packets"), ("max", "14 packets")];
    let red =
        NaiveRed { weight: 0.02, min: 4.0, max: 14.0, max_p: 0.1, ..NaiveRed::paper(1000.0, 8e5) };
    let seen =
        against_the_twin::<FengRedRule, _>(("feng_red", None), &settings, &new_twin(red), "feng");
    assert!(seen.forced > 1_000, "{seen:?}");
}

/// The manual page says less than 400 bytes.
#[test]
fn state_is_as_small_as_the_manual_says() {
    let link = twin_link("100 packets");
    let bytes = catalog::config("feng_red", Some("paper"), &link).unwrap().state_bytes(&link);
    assert!((100..400).contains(&bytes), "{bytes}");
}
