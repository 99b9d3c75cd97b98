//! Expressions against an independent evaluation: a tree that is drawn, written and worked out in
//! floating point.
use num::ToPrimitive;
use proptest::prelude::*;

use super::*;

fn value(text: &str) -> Result<UnitValue, String> {
    let known = &mut |name: &str| match name {
        "network.rate" => Ok(UnitValue::plain("10 Mbit/s").unwrap()),
        "group.my-flows.count" => Ok(UnitValue::plain("3").unwrap()),
        "rtt" => Ok(UnitValue::plain("48 ms").unwrap()),
        _ => Err(Unknown::Because(format!("no {name}"))),
    };
    let told = |fault: ExpressionFault| format!("{}: {}", &text[fault.at.clone()], fault.why);
    let expression = Expression::parse(text).map_err(told)?;
    expression.value(known).map_err(|fault| told(fault.unwrap()))
}

fn plain(text: &str, wanted: WantedKind) -> Result<String, String> {
    wanted.plain(&value(text)?)
}

#[test]
fn values_and_units_go_together() {
    for (text, wanted, expected) in [
        ("2 × network.rate", WantedKind::Rate, "20 Mbit/s"),
        ("2*network.rate", WantedKind::Rate, "20 Mbit/s"),
        ("network.rate × 1 s", WantedKind::Data, "1.25 MB"),
        ("1 MB / 2 s", WantedKind::Rate, "4 Mbit/s"),
        ("1 MB/s / 2", WantedKind::Rate, "4 Mbit/s"),
        ("100 kB / network.rate", WantedKind::Time, "80 ms"),
        ("(10 ms)", WantedKind::Time, "10 ms"),
        ("(10) ms", WantedKind::Time, "10 ms"),
        ("(0.5) rtt + 2 RTT", WantedKind::Time, "120 ms"),
        ("1 s - 200 ms - 300 ms", WantedKind::Time, "500 ms"),
        ("1 s − (200 ms − 300 ms)", WantedKind::Time, "1.1 s"),
        ("12 ms ÷ 3 × 2", WantedKind::Time, "8 ms"),
        ("2 + 3 × 4", WantedKind::Number, "14"),
        ("-(-3)", WantedKind::Number, "3"),
        ("50 % × group.my-flows.count", WantedKind::Number, "1.5"),
        ("1e3 × 1_000.5e-3 us", WantedKind::Time, "1.0005 ms"),
        ("0.1 × 3", WantedKind::Number, "0.3"),
        ("5 packets / 2", WantedKind::Length, "3 packets"),
        ("0 packets", WantedKind::Length, "1 packet"),
        ("7 packets / 7", WantedKind::Length, "1 packet"),
        ("1 ns / 2", WantedKind::Time, "1 ns"),
        ("0.49 ns", WantedKind::Time, "0 ns"),
    ] {
        assert_eq!(plain(text, wanted), Ok(expected.into()), "{text}");
    }
}

#[test]
fn what_cannot_be_says_what_came_out_and_what_is_wanted() {
    for (text, wanted, expected) in [
        ("2 × network.rate", WantedKind::Time, "is a rate (20 Mbit/s) where a time is wanted"),
        ("5 ms × 3", WantedKind::Number, "is a time (15 ms) where a number is wanted"),
        ("1 / 2 rtt", WantedKind::Time, "is a quantity in 1/(s) where a time is wanted"),
        ("1 s × 1 s", WantedKind::Time, "is a quantity in s^2 where a time is wanted"),
        ("1/(2 kB × 3 s)", WantedKind::Rate, "is a quantity in 1/(bit s) where a rate is wanted"),
        ("1 s - 2 s", WantedKind::Time, "comes out negative; a time cannot be"),
        ("1e9 × 1 h × 1e9", WantedKind::Time, "is too large to be meant"),
        ("1e390 × 2", WantedKind::Number, "is too large to be meant"),
    ] {
        assert_eq!(plain(text, wanted), Err(expected.into()), "{text}");
    }
    for (text, expected) in [
        ("1 / (2 - 2)", "1 / (2 - 2): divides by zero"),
        ("1 s + 2 kB", "1 s + 2 kB: cannot add a time (1 s) and an amount of data (2 kB)"),
        ("2 - 1 s", "2 - 1 s: cannot subtract a time (1 s) from a number (2)"),
        ("2 × network.speed", "network.speed: no network.speed"),
        (
            "2 × speed",
            "speed: `speed` is no value; write a number with its unit, a key's path \
                       such as network.rate, bdp or rtt",
        ),
        ("(1 s", "(: this parenthesis is not closed"),
        ("1 s)", "): this parenthesis closes none"),
        ("1 s 2 s", "2: an operator with spaces around it is missing before this: + - × or /"),
        ("1 +", ": ends where a value is missing"),
        ("2 × / 3", "/: a value is missing before this"),
        ("1.2.3 s", "1.2.3: this is no number, or too large to be meant"),
        ("1e999 s", "1e999: this is no number, or too large to be meant"),
        ("3 sec", "sec: `sec` is no unit; use ms, s, B, kB, kbit/s, Mbit/s, packets, bdp or rtt"),
        ("2 × 3 mbit/s", "mbit/s: `mbit/s` is not a unit of a rate; did you mean \"3 Mbit/s\"?"),
    ] {
        assert_eq!(value(text), Err(expected.into()), "{text}");
    }
}

#[test]
fn length_and_depth_are_bounded() {
    let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(plain(&nested(15), WantedKind::Number), Ok("1".into()));
    assert!(value(&nested(16)).unwrap_err().ends_with("nested more than 16 deep"));
    assert!(value(&format!("{}1", "-".repeat(100))).unwrap_err().contains("16 deep"));
    let sum = |terms: usize| format!("1{}", "+1".repeat(terms));
    assert_eq!(plain(&sum(249), WantedKind::Number), Ok("250".into()));
    assert!(value(&sum(250)).unwrap_err().ends_with("at most 500 bytes"));
}

#[test]
fn plain_values_and_slips_are_no_expressions() {
    for text in [
        "10 ms",
        "-10 ms",
        "5",
        "10 mbps",
        "fast",
        "uniform(1 s, 2 s)",
        "unifrm(1 s)",
        "10 s..30 s",
    ] {
        assert!(!is_meant(text, WantedKind::Time), "{text}");
    }
    for text in ["(10 ms)", "1 bdp", "rtt", "2 × × 3", "network.rate", "1 s - ", "1 s + x"] {
        assert!(is_meant(text, WantedKind::Time), "{text}");
    }
    assert!(is_meant("100 ms", WantedKind::Length) && !is_meant("100 kB", WantedKind::Length));
    assert!(is_meant(&"1 × ".repeat(1_000_000), WantedKind::Time));
}

/// What a drawn expression is worth: its value, and the powers of its time and data.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Worth(f64, [i32; 2]);

/// A drawn expression.
#[derive(Clone, Debug)]
enum Drawn {
    Leaf(u32, u32, usize),
    Minus(Box<Drawn>),
    Two(Box<Drawn>, char, Box<Drawn>),
}

/// Units with their worth in seconds and bits.
const UNITS: [(&str, Worth); 7] = [
    ("", Worth(1.0, [0, 0])),
    (" ms", Worth(1e-3, [1, 0])),
    ("s", Worth(1.0, [1, 0])),
    (" kB", Worth(8e3, [0, 1])),
    (" Mbit/s", Worth(1e6, [-1, 1])),
    (" kB/s", Worth(8e3, [-1, 1])),
    (" rtt", Worth(0.048, [1, 0])),
];

impl Drawn {
    /// How strongly its outermost operator binds.
    fn strength(&self) -> u32 {
        match self {
            Drawn::Two(_, '+' | '-', _) => 1,
            Drawn::Two(..) => 2,
            Drawn::Minus(_) => 3,
            Drawn::Leaf(..) => 4,
        }
    }

    fn write(&self) -> String {
        let inside = |inner: &Drawn, least: u32| {
            let text = inner.write();
            if inner.strength() < least { format!("({text})") } else { text }
        };
        match self {
            Drawn::Leaf(whole, part, unit) => format!("{whole}.{part:03}{}", UNITS[*unit].0),
            Drawn::Minus(inner) => format!("-{}", inside(inner, 3)),
            Drawn::Two(left, sign, right) => {
                let own = self.strength();
                format!("{} {sign} {}", inside(left, own), inside(right, own + 1))
            }
        }
    }

    fn work_out(&self) -> Option<Worth> {
        Some(match self {
            Drawn::Leaf(whole, part, unit) => {
                let Worth(scale, powers) = UNITS[*unit].1;
                Worth((*whole as f64 + *part as f64 / 1000.0) * scale, powers)
            }
            Drawn::Minus(inner) => {
                let Worth(value, powers) = inner.work_out()?;
                Worth(-value, powers)
            }
            Drawn::Two(left, sign, right) => {
                let (Worth(a, p), Worth(b, q)) = (left.work_out()?, right.work_out()?);
                match sign {
                    '×' => Worth(a * b, [p[0] + q[0], p[1] + q[1]]),
                    '/' if b != 0.0 => Worth(a / b, [p[0] - q[0], p[1] - q[1]]),
                    '+' if p == q => Worth(a + b, p),
                    '-' if p == q => Worth(a - b, p),
                    _ => return None,
                }
            }
        })
    }

    /// The sum of the magnitudes of what it adds: what the rounding of floats is relative to.
    fn magnitude(&self) -> f64 {
        match self {
            Drawn::Leaf(..) => self.work_out().map_or(0.0, |worth| worth.0),
            Drawn::Minus(inner) => inner.magnitude(),
            Drawn::Two(left, '×', right) => left.magnitude() * right.magnitude(),
            Drawn::Two(left, '/', right) => {
                let Some(below) = right.work_out() else { return 0.0 };
                // What cancels below is magnified above.
                left.magnitude() * right.magnitude() / (below.0 * below.0)
            }
            Drawn::Two(left, _, right) => left.magnitude() + right.magnitude(),
        }
    }
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let leaf = (0u32..1000, 0u32..1000, 0..UNITS.len());
    let leaf = leaf.prop_map(|(whole, part, unit)| Drawn::Leaf(whole, part, unit));
    leaf.prop_recursive(5, 24, 2, |inner| {
        let sign = prop::sample::select(vec!['+', '-', '×', '/']);
        let two = (inner.clone(), sign, inner.clone());
        prop_oneof![
            1 => inner.prop_map(|inner| Drawn::Minus(Box::new(inner))),
            6 => two.prop_map(|(a, sign, b)| Drawn::Two(Box::new(a), sign, Box::new(b))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn agrees_with_an_evaluation_in_floats(drawn in drawn()) {
        let text = drawn.write();
        prop_assume!(text.len() <= LENGTH_LIMIT);
        match (value(&text), drawn.work_out()) {
            (Ok(quantity), Some(Worth(expected, powers))) => {
                let dimension = quantity.dimension;
                prop_assert_eq!([dimension.time, dimension.data, dimension.packets],
                    [powers[0], powers[1], 0]);
                let seconds = quantity.value.to_f64().unwrap() / 1e9f64.powi(powers[0]);
                let slack = 1e-12 * drawn.magnitude().max(expected.abs());
                prop_assert!((seconds - expected).abs() <= slack, "{text}: {seconds} {expected}");
            }
            (Err(why), None) => {
                let known = ["divides by zero", "cannot add", "cannot subtract"];
                prop_assert!(known.iter().any(|w| why.contains(w)), "{}", why);
            }
            // What cancels exactly may not in floats.
            (Err(why), Some(_)) => prop_assert!(why.contains("divides by zero"), "{text}: {why}"),
            (Ok(found), None) => prop_assert!(false, "{text}: {found:?}"),
        }
    }

    /// Nothing that is typed brings it down.
    #[test]
    fn any_text_is_a_value_or_an_error(text in "[0-9a-z.()×*/+ −%-]{0,40}") {
        if let Err(why) = value(&text) {
            prop_assert!(why.len() > 5);
        }
        let _ = is_meant(&text, WantedKind::Length);
    }
}
