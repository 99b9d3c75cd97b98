//! What the fuzz target `frame` tries, for a moment with every test run: its seeds, and what comes
//! of changing them.
#[path = "support/oracle.rs"]
mod oracle;

use std::path::Path;

use tidegate::Rng;
use tidegate_packet::Transport;

/// The frames that the fuzzer begins with, and those that it once found something by.
fn seeds() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/frame");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some());
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

#[test]
fn ours_and_etherparse_see_the_same_in_the_seeds() {
    let seen: Vec<_> = seeds()
        .iter()
        .map(|frame| oracle::agree(frame).expect("no more tags than it reads"))
        .collect();
    let count =
        |of: fn(&Transport) -> bool| seen.iter().filter(|seen| of(&seen.ends.transport)).count();
    assert!(count(|t| matches!(t, Transport::Ports { .. })) >= 8, "{seen:?}");
    assert!(count(|t| matches!(t, Transport::Portless { .. })) >= 3, "{seen:?}");
    assert!(count(|t| matches!(t, Transport::Fragment { .. })) >= 3, "{seen:?}");
    assert!(count(|t| matches!(t, Transport::NotIp { .. })) >= 3, "{seen:?}");
    assert!(seen.iter().filter(|seen| seen.priority.is_some()).count() >= 3, "{seen:?}");
}

#[test]
fn ours_and_etherparse_see_the_same_in_what_comes_of_the_seeds() {
    let seeds = seeds();
    let mut dice = Rng::from_seed(8);
    let mut compared = 0;
    for _ in 0..60_000 {
        let mut frame = seeds[dice.below(seeds.len() as u64) as usize].clone();
        for _ in 0..1 + dice.below(4) {
            let at = dice.below(1 + frame.len() as u64) as usize;
            match dice.below(4) {
                0 => frame.truncate(at),
                1 => frame.insert(at, dice.bits() as u8),
                2 => frame.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << dice.below(8)),
                _ => frame.iter_mut().skip(at).take(1).for_each(|byte| *byte = dice.bits() as u8),
            }
        }
        compared += u32::from(oracle::agree(&frame).is_some());
    }
    assert!(compared > 50_000, "{compared}");
}
