//! TEMPLATE against its paper: golden numbers and the naive twin.
use crate::naive::template::NaiveTemplate;
use crate::support;
use crate::support::twin::OPERATIONS;
use crate::support::workload::Workload;
use crate::twinned::Twinned as _;
use crate::twinned::template::Twinned;
use tidegate::{NullSink, Rng};

/// The paper's own example, worked out by hand.
#[test]
fn the_twin_gives_the_golden_numbers() {
    assert_eq!(NaiveTemplate { probability: 0.01 }.signal_probability(), 0.01);
}

#[test]
fn the_queue_agrees_with_its_twin() {
    let link = support::link("10 Mbit/s", "100 packets", "770 B");
    for settings in [&[][..], &[("probability", "0.2"), ("ecn", "off")]] {
        let config = support::config("template", Some("paper"), settings, &link);
        let mut twinned = Twinned::beside(&config, link, Rng::from_seed(3)).unwrap();
        // Twice as many: what is dropped never departs.
        Workload::restless(2 * OPERATIONS).run(
            &mut twinned,
            &link,
            &mut Rng::from_seed(11),
            &mut NullSink,
        );
        assert!(twinned.operations >= OPERATIONS, "{}", twinned.operations);
        twinned.disputes.settle();
    }
}
