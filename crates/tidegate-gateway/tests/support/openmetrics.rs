//! A strict reader of OpenMetrics 1.0 texts, written from the specification's grammar and its rules
//! of names.
#![allow(dead_code, reason = "each test takes what it needs")]
use std::collections::{BTreeMap, BTreeSet};

/// A metric family.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Family {
    pub kind: String,
    pub help: String,
    pub unit: String,
    pub samples: Vec<Sample>,
}

/// A line with a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub value: f64,
}

/// What each kind's samples may end in.
const ENDINGS: [(&str, &[&str]); 4] = [
    ("counter", &["_total"]),
    ("gauge", &[""]),
    ("histogram", &["_bucket", "_count", "_sum"]),
    ("info", &["_info"]),
];

/// The families of `page`, by name. Fails where it breaks a rule.
pub fn read(page: &str) -> BTreeMap<String, Family> {
    let body = page.strip_suffix("# EOF\n").expect("it ends in # EOF and a line feed");
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut current = String::new();
    for line in body.lines() {
        match line.strip_prefix("# ") {
            Some(about) => describe(about, &mut families, &mut current),
            None => {
                let sample = sample(line);
                let family = families
                    .get_mut(&current)
                    .unwrap_or_else(|| panic!("nothing describes {line}"));
                let (_, endings) = ENDINGS.iter().find(|(kind, _)| *kind == family.kind).unwrap();
                let ending = sample.name.strip_prefix(&current);
                assert!(
                    ending.is_some_and(|ending| endings.contains(&ending)),
                    "{line} stands below {current}"
                );
                family.samples.push(sample);
            }
        }
    }
    families.iter().for_each(|(name, family)| check(name, family));
    families
}

/// A line that describes a family; each kind of them once, before its samples.
fn describe(about: &str, families: &mut BTreeMap<String, Family>, current: &mut String) {
    let mut words = about.splitn(3, ' ');
    let (what, name, text) =
        (words.next().unwrap(), words.next().unwrap(), words.next().unwrap_or_default());
    if *current != name {
        assert!(!families.contains_key(name), "{name} comes back after others");
        *current = name.into();
    }
    let family = families.entry(name.into()).or_default();
    assert!(family.samples.is_empty(), "{name} is described after its samples");
    let place = match what {
        "HELP" => &mut family.help,
        "TYPE" => &mut family.kind,
        "UNIT" => &mut family.unit,
        other => panic!("{other} describes nothing"),
    };
    assert!(place.is_empty() && !text.is_empty(), "{about}");
    *place = text.into();
}

fn check(name: &str, family: &Family) {
    assert!(is_name(name), "{name}");
    assert!(
        family.unit.is_empty() || name.ends_with(&format!("_{}", family.unit)),
        "{name} has not its unit's name"
    );
    assert!(!family.help.is_empty() && !family.samples.is_empty(), "{name}");
    let mut seen = BTreeSet::new();
    for sample in &family.samples {
        assert!(seen.insert((&sample.name, &sample.labels)), "{sample:?} twice");
        match family.kind.as_str() {
            "counter" | "histogram" => {
                assert!(sample.value >= 0.0 && sample.value.is_finite(), "{sample:?}")
            }
            "info" => assert_eq!(sample.value, 1.0, "{sample:?}"),
            _ => {}
        }
    }
    if family.kind == "histogram" {
        buckets(name, family);
    }
}

/// Buckets rise, and the last one has all.
fn buckets(name: &str, family: &Family) {
    let of = |sample: &Sample, ending: &str| sample.name == format!("{name}{ending}");
    for count in family.samples.iter().filter(|sample| of(sample, "_count")) {
        let mut last = (f64::NEG_INFINITY, 0.0);
        for bucket in family.samples.iter().filter(|sample| of(sample, "_bucket")) {
            let mut labels = bucket.labels.clone();
            let bound: f64 = labels.remove("le").unwrap().parse().unwrap();
            if labels == count.labels {
                assert!(bound > last.0 && bucket.value >= last.1, "{bucket:?} after {last:?}");
                last = (bound, bucket.value);
            }
        }
        assert_eq!(last, (f64::INFINITY, count.value), "{count:?}");
    }
}

fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn sample(line: &str) -> Sample {
    let end = line.find(['{', ' ']).unwrap_or_else(|| panic!("{line}"));
    let (name, rest) = line.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest),
        None => (BTreeMap::new(), rest),
    };
    let value = rest.strip_prefix(' ').unwrap_or_else(|| panic!("{line}"));
    assert!(is_name(name) && !value.contains(' '), "{line}");
    Sample { name: name.into(), labels, value: value.parse().unwrap() }
}

/// The labels behind an opening brace, and what follows the closing one.
fn labels(mut rest: &str) -> (BTreeMap<String, String>, &str) {
    let mut labels = BTreeMap::new();
    loop {
        let (name, behind) = rest.split_once("=\"").unwrap();
        assert!(is_name(name), "{name}");
        let mut value = String::new();
        let mut letters = behind.char_indices();
        let end = loop {
            match letters.next().expect("a label's value ends") {
                (at, '"') => break at,
                (_, '\\') => value.push(match letters.next().unwrap().1 {
                    'n' => '\n',
                    c @ ('\\' | '"') => c,
                    c => panic!("\\{c} is no escape"),
                }),
                (_, c) => value.push(c),
            }
        };
        assert!(labels.insert(name.to_string(), value).is_none(), "{name} twice");
        rest = &behind[end + 1..];
        match rest.split_at(1) {
            ("}", rest) => return (labels, rest),
            (",", more) => rest = more,
            _ => panic!("{rest}"),
        }
    }
}
