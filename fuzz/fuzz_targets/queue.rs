//! Arbitrary bytes as a queue of the catalog, its link and parameters, and a sequence of calls.
//! Nothing panics, every packet has one fate, what waits is counted and within the limit. Only what
//! can be marked is marked, gauges are numbers, and the naive twin says the same.
//! `crates/tidegate/tests/queues/sequences.rs` does it for a few seconds with every test run.
//! `TIDEGATE_FUZZ_QUEUE=tide` holds it to one queue.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/tidegate/tests/naive/mod.rs"]
mod naive;
#[path = "../../crates/tidegate/tests/support/mod.rs"]
mod support;
#[path = "../../crates/tidegate/tests/twinned/mod.rs"]
mod twinned;

use std::sync::LazyLock;
use support::sequence::{Case, Tape};
use tidegate::catalog::{self, Row};

/// The queue that is asked for, if one is.
static ONLY: LazyLock<Option<&Row>> = LazyLock::new(|| {
    let name = std::env::var("TIDEGATE_FUZZ_QUEUE").ok()?;
    let row = catalog::find(&name);
    Some(row.unwrap_or_else(|| panic!("TIDEGATE_FUZZ_QUEUE={name}: no such queue")))
});

fuzz_target!(|data: &[u8]| {
    let mut tape = Tape(data);
    let case = match *ONLY {
        Some(row) => Case::of(row, &mut tape),
        None => Case::read(&mut tape),
    };
    if let Some(case) = case {
        twinned::run(&case, &mut tape);
    }
});
