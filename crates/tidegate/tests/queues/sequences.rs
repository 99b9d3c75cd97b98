//! Arbitrary sequences of calls on every queue of the catalog, arbitrarily set, beside its naive
//! twin: the fuzz target `queue` in short, the same for everybody.
use std::cell::Cell;

use crate::support::sequence::{Case, Tape};
use crate::{support, twinned};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tidegate::catalog::QUEUES;

/// Cases for each queue.
const CASES: u32 = 100;

#[test]
fn any_sequence_of_calls_keeps_the_rules() {
    for row in QUEUES {
        let seed = support::base_seed().stream(row.name).bits();
        let dice = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed.to_le_bytes(); 4].concat());
        let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
        let built = Cell::new(0);
        let bytes = prop::collection::vec(any::<u8>(), 0..1200);
        let result = TestRunner::new_with_rng(config, dice).run(&bytes, |bytes| {
            let mut tape = Tape(&bytes);
            if let Some(case) = Case::of(row, &mut tape) {
                built.set(built.get() + 1);
                twinned::run(&case, &mut tape);
            }
            Ok(())
        });
        result.unwrap_or_else(|error| panic!("{}: {error}", row.name));
        assert!(built.get() > CASES / 3, "{}: only {} could be built", row.name, built.get());
    }
}

/// What the fuzzer once found, and the longest of what it tried.
#[test]
fn the_seeds_of_the_fuzzer_keep_the_rules() {
    let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/queue");
    let files = std::fs::read_dir(seeds).unwrap().map(|entry| entry.unwrap().path());
    let seeds: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|end| end == "bin")).collect();
    for path in &seeds {
        let bytes = std::fs::read(path).unwrap();
        let played = std::panic::catch_unwind(|| {
            let mut tape = Tape(&bytes);
            if let Some(case) = Case::read(&mut tape) {
                twinned::run(&case, &mut tape);
            }
        });
        assert!(played.is_ok(), "{}", path.display());
    }
    assert!(seeds.len() > 20, "{} seeds", seeds.len());
}
