//! Arbitrary bytes as a queue of the catalog, its link and parameters, and a sequence of calls:
//! nothing panics, every packet has one fate, what waits is counted and within the limit, only what
//! can be marked is marked, gauges are numbers, and the naive twin says the same.
//! `crates/tidegate/tests/queues/sequences.rs` does it for a few seconds with every test run.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/tidegate/tests/naive/mod.rs"]
mod naive;
#[path = "../../crates/tidegate/tests/support/mod.rs"]
mod support;
#[path = "../../crates/tidegate/tests/twinned/mod.rs"]
mod twinned;

use support::sequence::{Case, Tape};

fuzz_target!(|data: &[u8]| {
    let mut tape = Tape(data);
    if let Some(case) = Case::read(&mut tape) {
        twinned::run(&case, &mut tape);
    }
});
