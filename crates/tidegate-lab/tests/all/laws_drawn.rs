//! Distributions, drawn: texts that are read again, amounts within their ranges, means by hand.
use std::f64::consts::{E, PI};

use proptest::prelude::*;
use tidegate::config::Value;
use tidegate::{Bytes, Rng, Span};
use tidegate_lab::scenario::Drawn;
use tidegate_sim::sources::Law;

/// How deep one distribution stands in another at most.
const DEPTH: u32 = 3;
/// What is rarer than this cannot be a range.
const RARE: f64 = 1e-6;

const NAMES: [&str; 7] =
    ["uniform", "exponential", "pareto", "lognormal", "loglogistic", "normal", "mix"];

/// An amount that is usual for a scale: 100 ms to 10 s.
fn scale() -> impl Strategy<Value = u64> {
    100_000_000u64..10_000_000_000
}

/// A law of one scale, which `scaled` has in its place.
fn by_scale(scale: u64) -> impl Strategy<Value = Law> {
    prop_oneof![
        Just(Law::Exponential { mean: scale }),
        (1.1f64..3.0).prop_map(move |shape| Law::Pareto { shape, least: scale }),
        (0.01f64..2.0).prop_map(move |sigma| Law::LogNormal { median: scale, sigma }),
        (1.1f64..3.0).prop_map(move |shape| Law::LogLogistic { median: scale, shape }),
    ]
}

/// A law in which `depth` more may stand.
fn law(depth: u32) -> BoxedStrategy<Law> {
    let uniform = (0..50_000_000u64, 0..9_000_000_000u64)
        .prop_map(|(least, width)| Law::Uniform { least, most: least + width });
    let plain = prop_oneof![
        (0..10_000_000_000u64).prop_map(Law::Constant),
        uniform,
        scale().prop_flat_map(by_scale),
    ];
    if depth == 0 {
        return plain.boxed();
    }
    let mix = (0.0f64..=1.0, law(depth - 1), law(depth - 1))
        .prop_map(|(first, a, b)| Law::Mix(first, Box::new([a, b])));
    prop_oneof![2 => plain, 1 => mix, 1 => scaled(depth), 2 => within(depth)].boxed()
}

/// A law whose scale is drawn by another, which is never zero.
fn scaled(depth: u32) -> impl Strategy<Value = Law> {
    let constant = |law: &Law| matches!(law, Law::Constant(_));
    let by = law(depth - 1).prop_filter("a scale", move |by| by.least() > 0 && !constant(by));
    (by_scale(1), by).prop_map(|(law, by)| Law::Scaled(Box::new(law), Box::new(by)))
}

/// A law in a range that it hits.
fn within(depth: u32) -> impl Strategy<Value = Law> {
    let normal = (scale(), 1..10_000_000_000u64)
        .prop_map(|(mean, deviation)| Law::Normal { mean, deviation });
    let ranged = |law: &Law| matches!(law, Law::Constant(_) | Law::Within(..));
    let other = law(depth - 1).prop_filter("has a range", move |law| !ranged(law));
    let least = prop_oneof![Just(0), 1..100_000_000u64];
    let most = prop_oneof![Just(u64::MAX), 10_000_000_000..1_000_000_000_000u64];
    (prop_oneof![normal, other], least, most)
        .prop_filter("never there", |(law, least, most)| law.mass(*least, *most) > RARE)
        .prop_map(|(law, least, most)| Law::Within(Box::new(law), least, most))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_law_that_is_written_is_read_again(law in law(DEPTH)) {
        let times = Drawn::<Span>::by(law.clone());
        let text = times.write();
        let again = Drawn::<Span>::read(&text)
            .map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
        prop_assert_eq!(&again, &times, "{}", text);
        prop_assert_eq!(again.write(), text);
        let sizes = Drawn::<Bytes>::by(law);
        prop_assert_eq!(Drawn::<Bytes>::read(&sizes.write()), Ok(sizes));
    }

    #[test]
    fn amounts_lie_in_the_range_of_their_law(law in law(DEPTH), seed: u64, turn in 0u64..9) {
        let mut dice = Rng::from_seed(seed);
        let settled = law.settle(&mut dice, turn);
        for law in [&law, &settled] {
            let (least, most) = (law.least(), law.most());
            for _ in 0..20 {
                let amount = law.draw(&mut dice, turn);
                prop_assert!(amount >= least, "{amount} is below {least} of {law:?}");
                prop_assert!(most.is_none_or(|most| amount <= most), "{amount} of {law:?}");
            }
        }
        prop_assert!(settled.least() >= law.least(), "{settled:?}");
    }

    #[test]
    fn what_is_spaced_otherwise_is_the_same(law in law(1)) {
        let text = Drawn::<Span>::by(law).write();
        // Spaces around brackets and commas say nothing.
        let wide = text.replace('(', "( ").replace(", ", " ,  ").replace(')', " )");
        let read = Drawn::<Span>::read(&format!("  {wide}\t"));
        prop_assert_eq!(read.map(|drawn| drawn.write()), Ok(text));
    }

    #[test]
    fn no_text_makes_it_panic(text in "[a-z(), .0-9]{0,40}", name in 0usize..7) {
        for text in [format!("{}({text})", NAMES[name]), format!("1 s{text}"), text] {
            if let Err(error) = Drawn::<Span>::read(&text) {
                prop_assert!(!error.why.is_empty());
            }
        }
    }
}

/// In seconds.
fn mean(text: &str) -> f64 {
    Drawn::<Span>::read(text).unwrap_or_else(|e| panic!("{e}")).law.mean() / 1e9
}

#[test]
fn means_by_hand() {
    for (text, seconds) in [
        ("10 ms", 0.01),
        ("10 ms:20 ms:60 ms", 0.03),
        ("uniform(1 s, 3 s)", 2.0),
        ("uniform(3 s, 3 s)", 3.0),
        ("exponential(5 s)", 5.0),
        ("pareto(1.5, 1 s)", 3.0),
        ("pareto(1, 1 s)", f64::INFINITY),
        ("loglogistic(1 s, 1)", f64::INFINITY),
        ("loglogistic(1 s, 2)", PI / 2.0),
        ("lognormal(1 s, 2)", E * E),
        ("mix(0.25, 1 s, 5 s)", 4.0),
        ("mix(0.25, 1 s, uniform(4 s, 6 s))", 4.0),
        ("mix(0, pareto(0.5, 1 s), 3 s)", 3.0),
        ("mix(1, 3 s, pareto(0.5, 1 s))", 3.0),
        ("exponential(uniform(1 s, 3 s))", 2.0),
        ("pareto(3, pareto(2, 1 s))", 3.0),
        ("loglogistic(uniform(1 s, 3 s), 2)", PI),
    ] {
        let got = mean(text);
        assert!(
            got == seconds || (got / seconds - 1.0).abs() < 1e-9,
            "{text}: {got} is not {seconds}"
        );
    }
}

/// By points, so that they are right to a thousandth.
#[test]
fn means_within_ranges_by_hand() {
    for (text, seconds) in [
        ("uniform(0 s, 10 s) in 2 s..4 s", 3.0),
        ("uniform(0 s, 10 s) in 8 s..", 9.0),
        // Symmetric about its mean.
        ("normal(10 s, 3 s) in 4 s..16 s", 10.0),
        // Half of a normal distribution: its deviation times √(2/π) above its mean.
        ("normal(10 s, 3 s) in 10 s..", 10.0 + 3.0 * (2.0 / PI).sqrt()),
        // Without memory.
        ("exponential(1 s) in 2 s..", 3.0),
        ("exponential(1 s) in ..1 s", 1.0 - 1.0 / (E - 1.0)),
        // The density of 2 / x³ from 1 to 2, three quarters of all: ∫ 2 / x² over 3/4.
        ("pareto(2, 1 s) in ..2 s", 4.0 / 3.0),
        // A quarter of the time 1.5 s, seven sixteenths of it 4.5 s.
        (
            "mix(0.5, uniform(0 s, 2 s), uniform(0 s, 8 s)) in 1 s..",
            (0.25 * 1.5 + 0.4375 * 4.5) / 0.6875,
        ),
        // One part is never there.
        ("mix(0.5, uniform(0 s, 1 s), uniform(2 s, 4 s)) in 2 s..", 3.0),
    ] {
        let got = mean(text);
        assert!((got / seconds - 1.0).abs() < 1e-3, "{text}: {got} is not {seconds}");
    }
}

#[test]
fn shares_of_time_by_hand() {
    let law = |text: &str| Drawn::<Span>::read(text).unwrap().law;
    let share = |on: &str, off: &str| law(on).share_beside(&law(off));
    assert_eq!(share("exponential(1 s)", "3 s"), 0.25);
    assert_eq!(share("1 s", "0 s"), 1.0);
    assert_eq!(share("pareto(1, 1 s)", "1 s"), 1.0, "an endless mean");
    assert_eq!(share("1 s", "pareto(1, 1 s)"), 0.0);
}
