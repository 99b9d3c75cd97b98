//! Saved results, read back: what is refused, and which settings tell two of them apart.
use std::fs;
use std::path::{Path, PathBuf};

use tidegate_lab::results::{self, Manifest};
use tidegate_lab::saved::Saved;
use tidegate_lab::{Job, run};
use tidegate_report::{Document, Group};

use crate::jobs::{job, scenario};

const SCENARIO: &str = r#"
title = "A flood"
[run]
duration = "2 s"
warmup = "1 s"
seeds = 2
[network]
rate = "1 Mbit/s"
limit = "9 packets"
[compare]
queues = ["red", "sfb"]
[[group]]
name = "flood"
source = "cbr"
rate = "2 Mbit/s"
"#;

/// A document of one group and nothing else.
fn document() -> Document {
    let groups = vec![Group { name: "flood".into(), count: 1, ..Group::default() }];
    Document { scenario: "s".into(), label: "red".into(), groups, ..Document::default() }
}

/// The file `name` in `dir` with these contents.
fn file(dir: &Path, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.join(name);
    fs::write(&path, contents).unwrap();
    path
}

/// What is said of `path`, without its directory.
#[track_caller]
fn refused(path: &Path) -> String {
    let told = Saved::open(path).expect_err("accepted").to_string();
    let directory = format!("{}/", path.parent().unwrap().display());
    told.strip_prefix(&directory).unwrap_or_else(|| panic!("{told}")).into()
}

#[test]
fn a_document_of_another_schema_is_told_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let ours = document().to_json();
    let reads = "and this version reads tidegate.result/1";
    let newer = "; a newer version of tidegate wrote it";
    let with = |schema: &str| ours.replace("tidegate.result/1", schema);
    let cut = "x".repeat(40);
    for (text, said) in [
        (with("tidegate.result/2"), format!("has the schema tidegate.result/2, {reads}{newer}")),
        (with("other/7"), format!("has the schema other/7, {reads}")),
        (with(&"x".repeat(50)), format!("has the schema {cut}…, {reads}")),
        // Of several, the first that is not ours.
        (
            format!("[{ours}, {}, {}]", with("tidegate.result/3"), with("other/7")),
            format!("has the schema tidegate.result/3, {reads}{newer}"),
        ),
    ] {
        let path = file(dir.path(), "a.json", text);
        assert_eq!(refused(&path), format!("a.json: {said}"));
    }
}

#[test]
fn what_is_no_result_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let ours = document().to_json();
    let torn = &ours[..ours.len() / 2];
    let line = torn.lines().count();
    let path = file(dir.path(), "torn.json", torn);
    let told = refused(&path);
    assert!(told.starts_with("torn.json: is no result: EOF while parsing "), "{told}");
    assert!(told.contains(&format!(" at line {line} column ")), "{told}");
    for (text, said) in [
        ("", "is no result: EOF while parsing a value at line 1 column 0"),
        ("{}", "is no result: missing field `schema` at line 1 column 2"),
        ("[]", "has no results in it"),
        (
            "3",
            "is no result: invalid type: integer `3`, expected struct Document at line 1 column 1",
        ),
        ("{ \"schema\": 3 }", "is no result: "),
    ] {
        let told = refused(&file(dir.path(), "b.json", text));
        assert!(told.starts_with(&format!("b.json: {said}")), "{told}");
    }
    assert_eq!(refused(&file(dir.path(), "c.json", b"\xff\xfe")), "c.json: is no text");
    let told = refused(&file(dir.path(), "d.parquet", "PAR1"));
    assert!(told.starts_with("d.parquet: is no table that can be read: "), "{told}");
}

#[test]
fn what_is_not_there_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("nothing");
    assert_eq!(refused(&path), "nothing: there is no such file or directory");
    fs::create_dir(&path).unwrap();
    file(&path, "series.json", "{}");
    let neither = "is no directory of results: it has neither groups.parquet nor result.json";
    assert_eq!(refused(&path), format!("nothing: {neither}"));
    // A directory of that name is no file.
    fs::create_dir(path.join("result.json")).unwrap();
    assert_eq!(refused(&path), format!("nothing: {neither}"));
}

/// A file with a hole, which takes no room.
#[test]
fn a_file_beyond_the_limit_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["large.json", "large.parquet"] {
        let path = dir.path().join(name);
        fs::File::create(&path).unwrap().set_len((1 << 31) + 1).unwrap();
        assert_eq!(refused(&path), format!("{name}: is larger than 2 GB"));
    }
}

/// A directory of results with this scenario.
fn result(dir: &Path, name: &str, scenario: Option<&str>) -> Saved {
    let path = dir.join(name);
    fs::create_dir(&path).unwrap();
    file(&path, "result.json", document().to_json());
    if let Some(text) = scenario {
        file(&path, "scenario.toml", text);
    }
    Saved::open(&path).unwrap()
}

fn apart(a: &str, b: &str) -> Option<(Vec<String>, usize)> {
    let dir = tempfile::tempdir().unwrap();
    let [a, b] = [("a", a), ("b", b)].map(|(name, text)| result(dir.path(), name, Some(text)));
    let found = a.settings_apart(&b);
    // The other way round each line has its values changed about.
    let turned = b.settings_apart(&a).map(|(lines, more)| (lines.len(), more));
    assert_eq!(found.as_ref().map(|(lines, more)| (lines.len(), *more)), turned);
    found
}

#[test]
fn two_settings_that_differ_are_named() {
    let other = SCENARIO
        .replace("rate = \"1 Mbit/s\"", "rate = \"3 Mbit/s\"")
        .replace("source = \"cbr\"", "source = \"cbr\"\ncount = 7");
    let wanted = ["network.rate: 1 Mbit/s and 3 Mbit/s", "group.flood.count: nothing and 7"];
    assert_eq!(apart(SCENARIO, &other), Some((wanted.map(String::from).into(), 0)));
    assert_eq!(apart(SCENARIO, SCENARIO), Some((vec![], 0)));
}

#[test]
fn settings_are_named_by_their_paths() {
    let changes = [
        ("queues = [\"red\", \"sfb\"]", "queues = [\"red\"]", "compare.queues.2: sfb and nothing"),
        (
            "name = \"flood\"\n",
            "name = \"flood\"\ntrue = true\n",
            "group.flood.true: nothing and true",
        ),
        ("seeds = 2", "seeds = 2.5", "run.seeds: 2 and 2.5"),
        (
            "limit = \"9 packets\"\n",
            "limit = \"9 packets\"\nback = { loss = 0.5 }\n",
            "network.back.loss: nothing and 0.5",
        ),
    ];
    for (from, to, wanted) in changes {
        assert!(SCENARIO.contains(from), "{from}");
        let other = SCENARIO.replacen(from, to, 1);
        assert_eq!(apart(SCENARIO, &other), Some((vec![wanted.into()], 0)), "{to}");
    }
    // A group without a name goes by its number, and another name is another group.
    let renamed = SCENARIO.replace("\"flood\"", "\"udp\"");
    let (lines, more) = apart(SCENARIO, &renamed).unwrap();
    assert_eq!((lines.len(), more), (6, 0));
    assert_eq!(lines[0], "group.flood.name: flood and nothing");
    assert_eq!(lines[5], "group.udp.rate: nothing and 2 Mbit/s");
}

#[test]
fn words_for_readers_are_no_settings() {
    let other = SCENARIO.replace("\"A flood\"", "\"Another\"\ndescription = \"More\"");
    assert_eq!(apart(SCENARIO, &other), Some((vec![], 0)));
    let plot = format!("{SCENARIO}[plot]\nx = \"rate\"\n");
    assert_eq!(apart(SCENARIO, &plot), Some((vec![], 0)));
    // A title somewhere else is one.
    let other = SCENARIO.replace("[run]\n", "[run]\ntitle = \"a\"\n");
    assert_eq!(apart(SCENARIO, &other), Some((vec!["run.title: nothing and a".into()], 0)));
}

#[test]
fn ten_settings_are_listed_and_the_rest_is_counted() {
    let more = |n: usize| -> String { (0..n).map(|i| format!("k{i:02} = {i}\n")).collect() };
    let with = |n: usize| format!("{SCENARIO}{}", more(n));
    let (lines, rest) = apart(SCENARIO, &with(10)).unwrap();
    assert_eq!((lines.len(), rest), (10, 0));
    let (lines, rest) = apart(SCENARIO, &with(13)).unwrap();
    assert_eq!((lines.len(), rest), (10, 3));
    assert_eq!(lines[9], "group.flood.k09: nothing and 9");
    let long = format!("{SCENARIO}k = \"{}\"\n", "x".repeat(70));
    let told = format!("group.flood.k: nothing and {}…", "x".repeat(60));
    assert_eq!(apart(SCENARIO, &long), Some((vec![told], 0)));
}

#[test]
fn nothing_is_said_of_what_is_not_known() {
    let dir = tempfile::tempdir().unwrap();
    let known = result(dir.path(), "known", Some(SCENARIO));
    let without = result(dir.path(), "without", None);
    let broken = result(dir.path(), "broken", Some("[run\n"));
    for other in [&without, &broken] {
        assert_eq!(known.settings_apart(other), None);
        assert_eq!(other.settings_apart(&known), None);
    }
    // A file by itself has no scenario beside it, and no manifest.
    let alone = Saved::open(&dir.path().join("known/result.json")).unwrap();
    assert_eq!((known.settings_apart(&alone), alone.manifest), (None, None));
    // That of a study stands in for a scenario's.
    file(&dir.path().join("without"), "study.toml", SCENARIO.replace("seeds = 2", "seeds = 3"));
    let study = Saved::open(&dir.path().join("without")).unwrap();
    assert_eq!(known.settings_apart(&study), Some((vec!["run.seeds: 2 and 3".into()], 0)));
}

#[test]
fn what_a_run_wrote_is_read_back() {
    let scenario = scenario(SCENARIO);
    let job = Job { threads: Some(1), ..job(scenario.clone(), &["red", "sfb"]) };
    let outcomes = run(&job, &()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("flood");
    let manifest = Manifest::new("s", &[1, 2], &["red", "sfb"]);
    results::write(&path, &results::files(&scenario, &outcomes), &manifest).unwrap();
    let saved = Saved::open(&path).unwrap();
    assert_eq!(saved.manifest, Some(manifest));
    // By seed, where there is a table of seeds.
    assert_eq!(saved.figures.keys(), ["scenario", "queue", "group"]);
    let mut found = saved.figures.places().to_vec();
    found.sort();
    let wanted = [["red", ""], ["red", "flood"], ["sfb", ""], ["sfb", "flood"]];
    assert_eq!(found, wanted.map(|[queue, group]| ["s", queue, group].map(String::from).to_vec()));
    let table = Saved::open(&path.join("groups.parquet")).unwrap();
    assert_eq!((&table.figures, table.manifest), (&saved.figures, None));
    // Taken together, where there is none.
    fs::remove_file(path.join("groups.parquet")).unwrap();
    file(&path, results::MARK, "{}");
    let saved = Saved::open(&path).unwrap();
    assert_eq!(saved.manifest, None);
    assert_ne!(saved.figures, table.figures);
    let alone = Saved::open(&path.join("result.json")).unwrap();
    assert_eq!(alone.figures, saved.figures);
}
