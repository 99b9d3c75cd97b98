//! Tables and values of the wrong kind: each refusal with its place and its words, whatever the
//! scenario means by them.
use tidegate_lab::reader::FileKind;
use tidegate_lab::{Place, Problem, Problems};

use crate::jobs::read;
use crate::parts::part;
use crate::refusals::{changed, problems_of, refused, refused_there, said, set};

const BASE: &str = concat!(
    "\ntitle = \"A title\"\n",
    part!(minute),
    part!(dumbbell),
    part!(red),
    "\n[[group]]\nname = \"g\"\ncount = 2\nsource = \"cbr\"\nrate = \"1 Mbit/s\"\n"
);

const GRAPH: &str = r#"
[network]
kind = "graph"

[[link]]
from = "A"
to = "B"
rate = "1 Mbit/s"
limit = "9 packets"

[[group]]
name = "g"
source = "tfrc"
from = "A"
to = "B"
"#;

#[test]
fn what_should_be_a_table_is_one() {
    let run = "[run]\nduration = \"60 s\"\n";
    let group = "[[group]]\nname = \"g\"\n";
    refused_there(
        BASE,
        &[
            (
                "title = \"A title\"\n\n[run]\nduration = \"60 s\"",
                "run = \"«fast»\"",
                "run = fast: must be a table, not a text",
            ),
            (
                "title = \"A title\"\n\n[run]\nduration = \"60 s\"",
                "run = «3»",
                "run = 3: must be a table, not a number",
            ),
            (
                "title = \"A title\"\n\n[run]\nduration = \"60 s\"",
                "run = «true»",
                "run = true: must be a table, not true or false",
            ),
            (run, "«[[run]]»\nduration = \"60 s\"\n", "run: must be a table, not a list"),
            (
                group,
                "«[group]»\nname = \"g\"\n",
                "group: must be a list of tables: write [[group]] with double brackets",
            ),
        ],
    );
    let told = set(BASE, "group=[1]");
    assert!(told.starts_with("--set group=[1]: group.1 = 1: must be a table, not a number"));
    let told = set(BASE, "group=[]");
    assert_eq!(told, "--set group=[]: group: must have 1 to 1000 entries, not 0");
    let told = set(BASE, "group=all");
    assert_eq!(told, "--set group=all: group = all: must be a list, not a text");
}

#[test]
fn texts_are_texts_and_not_too_long() {
    let title = "title = \"A title\"";
    refused_there(
        BASE,
        &[
            (title, "title = «3»", "title = 3: must be a text in quotes, not a number"),
            (title, "title = «true»", "title = true: must be a text in quotes, not true or false"),
            (title, "title = «[\"a\"]»", "title: must be a text in quotes, not a list"),
        ],
    );
    let with = |length: usize| changed(BASE, title, &format!("title = \"{}\"", "ß".repeat(length)));
    let told = problems_of(&with(4001));
    let cut = "ß".repeat(20);
    let words = format!("s.toml:2:10: title = {cut}…: must be at most 4000 characters long");
    assert_eq!(said(&told), [words]);
    let whole = read(&with(4000), &[]).unwrap();
    assert_eq!(whole.title.chars().count(), 4000);
}

#[test]
fn names_are_short_and_plain() {
    let why = "must be a name of 1 to 40 letters, digits, - or _, not digits only";
    let group = |name: &str| changed(BASE, "name = \"g\"", &format!("name = {name}"));
    for (name, value) in [
        ("\"«a b»\"", "a b"),
        ("\"«a.b»\"", "a.b"),
        ("\"«42»\"", "42"),
        ("«42»", "42"),
        ("«true»", "true"),
    ] {
        refused(&group(name), &format!("group.1.name = {value}: {why}"));
    }
    let long = "x".repeat(41);
    refused(&group(&format!("\"«{long}»\"")), &format!("group.1.name = {long}: {why}"));
    refused(&group("«[\"g\"]»"), &format!("group.1.name: {why}"));
    for fine in ["\"4a\"", "\"-\"", "\"Zürich_2\"", &format!("\"{}\"", "x".repeat(40))] {
        assert!(read(&group(fine), &[]).is_ok(), "{fine}");
    }
    let from = "from = \"A\"\nto = \"B\"\nrate";
    let link = |from: &str| format!("from = {from}\nto = \"B\"\nrate");
    let told = said(&problems_of(&changed(GRAPH, from, &link("\"a b\""))));
    assert!(told[0].starts_with("s.toml:6:9: link.1.from = a b: must be a name"), "{told:?}");
}

#[test]
fn lists_have_entries_and_not_too_many() {
    let why = "must have 1 to 1000 entries, not ";
    let rate = "rate = \"1 Mbit/s\"";
    let with = |list: &str| format!("{rate}\naccess_rate = {list}");
    refused_there(BASE, &[(rate, &with("«[]»"), &format!("group.g.access_rate: {why}0"))]);
    let many = changed(BASE, rate, &with(&format!("[{}]", "\"1 Mbit/s\", ".repeat(1001))));
    let told = problems_of(&many);
    assert_eq!(said(&told), [format!("s.toml:19:15: group.g.access_rate: {why}1001")]);
    // Each entry is looked at, at its own place.
    refused(
        &changed(BASE, rate, &with("[\"1 Mbit/s\", \"«2 s»\"]")),
        "group.g.access_rate = 2 s: `s` is not a unit of a rate; use bit/s, kbit/s, Mbit/s, \
         Gbit/s, Mb/s, MB/s",
    );
    refused(
        &changed(BASE, rate, &with("[\"1 Mbit/s\", «[\"2 Mbit/s\"]»]")),
        "group.g.access_rate: must be a rate, not a list",
    );
    let compare = |list: &str| format!("{BASE}[compare]\nqueues = {list}\n");
    refused(&compare("\"«red»\""), "compare.queues = red: must be a list, not a text");
    refused(&compare("«[]»"), &format!("compare.queues: {why}0"));
}

#[test]
fn numbers_stand_without_quotes_and_quantities_with_them() {
    let count = "count = 2";
    refused_there(
        BASE,
        &[
            (
                count,
                "count = \"«2»\"",
                "group.g.count = 2: must be a whole number, written without quotes",
            ),
            (
                count,
                "count = «2.5»",
                "group.g.count = 2.5: must be a whole number from 1 to 1000000",
            ),
            (count, "count = «[2]»", "group.g.count: must be a whole number, not a list"),
            (count, "count = «true»", "group.g.count: must be a whole number, not true or false"),
            (count, "count = «{ a = 2 }»", "group.g.count: must be a whole number, not a table"),
            ("\"60 s\"", "«60»", "run.duration = 60: a time needs a unit, as in \"50 ms\""),
            (
                "\"100 packets\"",
                "«100»",
                "network.limit = 100: a queue length needs a unit, as in \"200 kB\" or \"40 \
                 packets\"",
            ),
            (
                "\"10 Mbit/s\"",
                "«1e7»",
                "network.rate = 10000000: a rate needs a unit, as in \"10 Mbit/s\"",
            ),
            ("\"100 packets\"", "«»\"\"", "network.limit: a number is missing"),
        ],
    );
    // On the command line there are no quotes.
    let scenario = read(BASE, &["group.g.count=7"]).unwrap();
    assert_eq!(scenario.groups[0].count, 7);
}

#[test]
fn flags_are_true_or_false() {
    let limit = "limit = \"9 packets\"";
    let watch = |value: &str| format!("{limit}\nwatch = {value}");
    refused_there(
        GRAPH,
        &[
            (limit, &watch("«1»"), "link.1.watch = 1: must be true or false"),
            (limit, &watch("\"«yes»\""), "link.1.watch = yes: must be true or false"),
            (limit, &watch("«[]»"), "link.1.watch: must be true or false"),
        ],
    );
    for (set, fine) in [("true", true), ("false", true), ("True", false), ("1", false)] {
        let told = read(GRAPH, &[&format!("link.1.watch={set}")]);
        assert_eq!(told.is_ok(), fine, "{set}");
    }
}

#[test]
fn keys_that_are_not_known_are_listed() {
    let run = "duration, warmup, seeds, seed, series, rate_window, flow_key, metrics";
    refused_there(
        BASE,
        &[
            (
                "duration = ",
                "«durration» = 1\nduration = ",
                &format!("run.durration: no such key; [run] knows {run}; did you mean `duration`?"),
            ),
            (
                "duration = ",
                "«x» = 1\nduration = ",
                &format!("run.x: no such key; [run] knows {run}"),
            ),
            (
                "[queue]",
                "[compare]\nqueues = [\"red\"]\n«queue» = 3\n[queue]",
                "compare.queue: no such key; [compare] knows queues; did you mean `queues`?",
            ),
        ],
    );
    let long = "k".repeat(80);
    let text = changed(BASE, "duration = ", &format!("{long} = 1\nduration = "));
    let told = problems_of(&text);
    assert_eq!(told.list()[0].field, format!("run.{}…", &long[..60]));
}

#[test]
fn what_is_required_is_asked_for_at_its_table() {
    let key = "this key is required";
    let list = "a list of queues, as in [\"drop_tail\", \"sfb\"]";
    refused_there(
        BASE,
        &[
            (
                "[queue]\nname = \"red\"",
                "«[queue]»\npreset = \"auto\"",
                &format!("queue.name: {key}: a queue's name, as in name = \"red\""),
            ),
            ("[queue]", "«[compare]»\n[queue]", &format!("compare.queues: {key}: {list}")),
            (
                "[network]\nrate = \"10 Mbit/s\"",
                "«[network]»",
                &format!("network.rate: {key}: a rate"),
            ),
            (
                "[[group]]\nname = \"g\"",
                "«[[group]]»",
                &format!("group.1.name: {key}: what results call the group"),
            ),
        ],
    );
    let text = changed(GRAPH, "[[link]]\nfrom = \"A\"", "[[link]]");
    let told = problems_of(&text);
    assert_eq!(said(&told)[0], format!("s.toml:5:1: link.1.from: {key}"));
}

/// A problem of a value that stands nowhere.
fn problem(number: usize) -> Problem {
    let place = Place::Set(format!("a={number}"));
    Problem { place, field: "a".into(), value: number.to_string(), why: "no".into() }
}

#[test]
fn twenty_problems_are_shown() {
    assert_eq!(Problems::new(vec![]), None);
    let shown = |number: usize| {
        let problems = Problems::new((1..=number).map(problem).collect()).unwrap();
        assert_eq!(problems.list().len(), number.min(20));
        problems.to_string()
    };
    assert_eq!(shown(1), "--set a=1: a = 1: no");
    assert_eq!(shown(1), Problems::one(problem(1)).to_string());
    assert_eq!(shown(20).lines().count(), 20);
    assert!(shown(21).ends_with("--set a=20: a = 20: no\n… and 1 more"), "{}", shown(21));
    assert!(shown(50).ends_with("\n… and 30 more"));
}

#[test]
fn a_file_is_refused_as_a_whole() {
    let file = FileKind { kind: "a shape", least: "[corner]" };
    let told = |bytes: &[u8]| file.text(bytes, "s.toml").unwrap_err().to_string();
    assert_eq!(told(b" \n"), "s.toml: is empty; a shape has at least [corner]");
    let line = "s.toml: is no text: line 2 is not UTF-8 (byte 5)";
    assert_eq!(told(b"a=1\n\xc3("), line);
    let long = vec![b' '; (4 << 20) + 1];
    assert_eq!(told(&long), "s.toml: is too long for a shape; at most 4194304 bytes are read");
    assert!(file.text(&[&long[1..], b"a"].concat()[1..], "s.toml").is_ok());
    let dir = tempfile::tempdir().unwrap();
    let told = file.bytes(dir.path()).unwrap_err();
    assert_eq!(told.list()[0].why, "is a directory; a shape is a .toml file");
    // Of a file that is too long, a byte more than allowed is read.
    let path = dir.path().join("long.toml");
    std::fs::File::create(&path).unwrap().set_len(1 << 33).unwrap();
    assert_eq!(file.bytes(&path).unwrap().len(), long.len());
    let told = file.bytes(&dir.path().join("none")).unwrap_err();
    assert_eq!(told.list()[0].why, "there is no such file");
    assert!(matches!(&told.list()[0].place, Place::File(name) if name.ends_with("none")));
}
