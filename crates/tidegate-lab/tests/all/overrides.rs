//! Overrides of single values: paths, values and what they are refused for.
use proptest::prelude::*;
use tidegate_lab::reader::{Node, TomlDocument, TomlValue};
use tidegate_lab::{Override, Place, Scenario};

use crate::jobs::read;
use crate::parts::part;
use crate::refusals::set;

const BASE: &str = concat!(part!(minute), part!(dumbbell), part!(compare), part!(cbr), part!(tcp));

#[track_caller]
fn with(texts: &[&str]) -> Scenario {
    read(BASE, texts).unwrap_or_else(|e| panic!("{texts:?}: {e}"))
}

/// Each override and what is said of it, behind its place.
#[track_caller]
fn refused(cases: &[(&str, &str)]) {
    for (text, why) in cases {
        assert_eq!(set(BASE, text), format!("--set {text}: {why}"));
    }
}

#[test]
fn a_path_leads_through_tables_and_lists() {
    let no_path =
        "no such path; a path is a table and a key, as in run.duration or group.tcp.count";
    refused(&[
        ("run.duration.x=5", "`run.duration` has no keys"),
        ("run.duration.x.y=5", "`x` lies below a value that is no table"),
        ("network.limit.least.of=5", "`least` lies below a value that is no table"),
        ("group.g.rate.x=5", "`group.g.rate` has no keys"),
        ("compare.queues.1.preset=auto", "`compare.queues.1` has no keys"),
        ("group.g=5", "`group` has no keys"),
        (".=5", no_path),
        ("run.=5", no_path),
        (".duration=5", no_path),
        ("a.b.c.d.e.f=5", no_path),
        ("link.1.rate=1 Mbit/s", "the scenario has no [[link]]"),
    ]);
    // Spaces around a path's steps and the value say nothing.
    assert_eq!(with(&[" run . duration =  30 s "]).run.duration.as_secs(), 30.0);
    // Five steps are the most.
    let deep = set(BASE, "network.a.b.c.d=5");
    assert!(deep.starts_with("--set network.a.b.c.d=5: network.a: no such key; "), "{deep}");
}

#[test]
fn elements_go_by_name_or_number() {
    refused(&[
        ("group.h.rate=5", "there is no `h` here; known are g, tcp"),
        ("group.tpc.rate=5", "there is no `tpc` here; known are g, tcp; did you mean `tcp`?"),
        ("group.0.rate=5", "there is no `0` here; known are g, tcp"),
        ("group.3.rate=5", "there is no `3` here; known are g, tcp"),
        ("group.-1.rate=5", "there is no `-1` here; known are g, tcp"),
        ("compare.queues.3=", "there is no `3` here; known are 1 to 2"),
        ("compare.queues.sfb=", "there is no `sfb` here; known are 1 to 2"),
    ]);
    assert_eq!(with(&["group.2.count=7"]).groups[1].count, 7);
    // An override that renames makes the new name known to the next.
    let scenario = with(&["group.g.name=flood", "group.flood.count=3"]);
    assert_eq!((scenario.groups[0].name.as_str(), scenario.groups[0].count), ("flood", 3));
    let told = read(BASE, &["group.g.name=flood", "group.g.count=3"]);
    let why = "--set group.g.count=3: there is no `g` here; known are flood, tcp";
    assert_eq!(told.unwrap_err().to_string(), why);
}

#[test]
fn an_empty_value_takes_a_key_away() {
    refused(&[
        ("run.seeds=", "there is no `seeds` here to take away"),
        ("queue=", "there is no `queue` here to take away"),
        ("queue.name=", "there is no `name` here to take away"),
        ("run.duration.x=", "`run.duration` has no keys"),
    ]);
    assert_eq!(with(&["run.duration="]).run.duration.as_secs(), 60.0, "the default");
    assert_eq!(
        with(&["run.duration=5 s", "run.duration=", "run.warmup=0 s"]).run.warmup.as_secs(),
        0.0
    );
    assert_eq!(with(&["compare="]).compare, []);
    assert_eq!(with(&["compare.queues.1="]).compare[0].label(), "sfb");
    assert_eq!(with(&["group.g="]).groups.len(), 1);
    let told = set(BASE, "network.rate=");
    assert!(told.starts_with("s.toml:5:1: network.rate: this key is required"), "{told}");
}

#[test]
fn a_value_is_toml_if_it_looks_so() {
    refused(&[
        (
            "group.g.start=[\"1 s\",",
            "the value is no TOML: the file ends in the middle of something",
        ),
        ("group.g.start=\"1 s", "the value is no TOML: the text has no closing quote"),
        (
            "group.g.start=[one]",
            "the value is no TOML: a text must stand in quotes, as in \"10 Mbit/s\"",
        ),
        ("group.g.start={ a = 1, a = 2 }", "the value is no TOML: the key `a` is given twice"),
    ]);
    let two = "\"1 s\"\nother = 3";
    let set = Override { path: "group.g.start".into(), value: two.into() };
    let told = Scenario::parse(BASE.as_bytes(), "s.toml", &[set]).unwrap_err();
    assert_eq!(told.list()[0].why, "the value is more than one TOML value");
    let start = |text: &str| with(&[&format!("group.g.start={text}")]).groups[0].start.clone();
    assert_eq!(start("2 s"), start("\"2 s\""));
    assert_eq!(start("2 s"), start("'2 s'"));
    assert_eq!(start("2 s"), start("[\"2 s\"]"));
    // Only behind the first sign of equality is the value.
    let title = with(&["title=a=b"]).title;
    assert_eq!(title, "a=b");
}

#[test]
fn an_over_long_value_is_refused_and_its_message_is_short() {
    let limit = 4 << 20;
    let set = |length: usize| Override { path: "title".into(), value: "x".repeat(length) };
    let told = Scenario::parse(BASE.as_bytes(), "s.toml", &[set(limit + 1)]).unwrap_err();
    let problem = &told.list()[0];
    assert_eq!(problem.why, "the value is too long to be meant");
    let Place::Set(shown) = &problem.place else { panic!("{told}") };
    assert_eq!(*shown, format!("title={}…", "x".repeat(114)));
    // Shorter by a byte it is only too long for a title.
    let told = Scenario::parse(BASE.as_bytes(), "s.toml", &[set(limit)]).unwrap_err();
    assert_eq!(told.list()[0].why, "must be at most 4000 characters long");
    assert_eq!(told.list()[0].value, format!("{}…", "x".repeat(20)));
}

#[test]
fn every_override_that_fails_is_told() {
    let told = read(BASE, &["group.h.rate=5", "run.seeds=3", "link.1.rate=5"]);
    let places: Vec<Place> =
        told.unwrap_err().list().iter().map(|problem| problem.place.clone()).collect();
    assert_eq!(places, ["group.h.rate=5", "link.1.rate=5"].map(|set| Place::Set(set.into())));
    // The last of several for one key holds.
    assert_eq!(with(&["run.seeds=3", "run.seeds=4"]).run.seeds, 4);
}

#[test]
fn tables_that_are_not_there_are_made() {
    assert_eq!(with(&["queue.name=red"]).queue.name, "red");
    let back = with(&["network.back.limit=9 packets", "network.back.rate=1 Mbit/s"]);
    let written = back.resolved();
    assert!(written.contains("[network.back]\nrate = \"1 Mbit/s\"\n"), "{written}");
    // As a whole, too.
    let whole = with(&["network.back={ limit = \"9 packets\", rate = \"1 Mbit/s\" }"]);
    assert_eq!(whole.network, back.network);
}

/// All paths of values in `node`, with what is shown there.
fn paths(node: &Node, path: &str, into: &mut Vec<(String, String)>) {
    let below = |step: &str| if path.is_empty() { step.into() } else { format!("{path}.{step}") };
    match &node.kind {
        TomlValue::Table(entries) => {
            entries.iter().for_each(|entry| paths(&entry.node, &below(&entry.key), into));
        }
        TomlValue::List(items) => {
            let numbered = items.iter().zip(1..);
            numbered.for_each(|(item, n): (_, u32)| paths(item, &below(&n.to_string()), into));
        }
        _ => into.push((path.into(), node.shown())),
    }
}

fn all(sets: &[Override]) -> Vec<(String, String)> {
    let root = TomlDocument { file: "s.toml", text: BASE, sets }.read().unwrap();
    let mut found = vec![];
    paths(&root, "", &mut found);
    found
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// What an override sets is there, and all else is as it was.
    #[test]
    fn an_override_changes_its_value_alone(at in 0usize..9, value in "[a-z0-9][a-z0-9 .=/]{0,20}") {
        let before = all(&[]);
        // The elements of a list of texts are changed all together or taken away.
        let keys: Vec<usize> =
            (0..before.len()).filter(|&i| !before[i].0.starts_with("compare")).collect();
        let at = keys[at % keys.len()];
        let set = Override { path: before[at].0.clone(), value: value.trim().into() };
        let after = all(&[set]);
        prop_assert_eq!(after.len(), before.len());
        for (i, (was, is)) in before.iter().zip(&after).enumerate() {
            prop_assert_eq!(&was.0, &is.0);
            let wanted = if i == at { value.trim() } else { was.1.as_str() };
            prop_assert_eq!(&is.1, wanted);
        }
    }

    #[test]
    fn no_override_makes_it_panic(path in "[a-z0-9. ]{1,30}", value in any::<String>()) {
        for path in [path.clone(), format!("group.{path}"), format!("compare.queues.{path}")] {
            let set = Override { path, value: value.clone() };
            if let Err(problems) = Scenario::parse(BASE.as_bytes(), "s.toml", &[set]) {
                prop_assert!(!problems.to_string().is_empty());
            }
        }
    }
}
