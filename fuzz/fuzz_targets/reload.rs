//! Arbitrary bytes as frames, time that goes by and plans that follow one another, for a gate over
//! cables in memory. Every frame is accounted for at every step, reported once, and overtakes none
//! of its flow. That holds whichever plan comes when and however often flows get new keys.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate::{Ecn, Rng, Span};

#[path = "../../crates/tidegate-gateway/tests/support/frames.rs"]
mod frames;
#[path = "../../crates/tidegate-gateway/tests/support/rig.rs"]
mod rig;

use rig::{Fates, Terms, Trial};

/// Steps at most, so that a case takes milliseconds.
const MOST_STEPS: usize = 500;

fuzz_target!(|data: &[u8]| {
    let Some((&[first, rest @ ..], steps)) = data.split_first_chunk::<4>() else { return };
    let mut fates = Fates::default();
    let terms = Terms { both_ways: first & 1 == 1, with_list: first & 2 == 2 };
    let mut trial = Trial::new(&mut dice(rest), terms, &mut fates);
    for &[what, more @ ..] in steps.as_chunks::<4>().0.iter().take(MOST_STEPS) {
        let [a, b, c] = more;
        match what % 8 {
            0..4 => {
                let (way, ecn) = (usize::from(c % 4 == 3), Ecn::from_bits(c >> 6));
                for _ in 0..1 + what / 8 {
                    trial.offer(&mut dice(more), way, a % 40, ecn, 60 + b as usize * 1440 / 255);
                }
            }
            4..6 => trial.wait(Span::from_micros(u16::from_be_bytes([a, b]) as u64 % 5000)),
            _ => trial.reload(&mut dice(more)),
        }
    }
    let account = trial.end();
    fates.check(&account.managed);
});

fn dice([a, b, c]: [u8; 3]) -> Rng {
    Rng::from_seed(u32::from_be_bytes([0, a, b, c]) as u64)
}
