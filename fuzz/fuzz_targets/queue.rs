//! Arbitrary bytes as a queue of the catalog, its link and parameters, and a sequence of calls: nothing panics, every
//! packet has one fate, what waits is counted and within the limit, only what can be marked is marked, gauges are
//! numbers. `crates/tidegate/tests/sequences.rs` does the same for a few seconds with every test run.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/tidegate/tests/support/mod.rs"]
mod support;

use support::checked::Checked;
use support::sequence::{Case, Tape, play};

fuzz_target!(|data: &[u8]| {
    let mut tape = Tape(data);
    let Some(case) = Case::read(&mut tape) else { return };
    let queue = case.config.build(case.link, case.dice.clone()).expect("it was built before");
    play(&mut Checked::new(queue, case.link), &case.link, &mut tape);
});
