//! TOML as a tree whose values know their places: syntax errors, lines and columns, numbers that
//! are too large.
use proptest::prelude::*;
use tidegate_lab::Place;
use tidegate_lab::reader::{Node, TomlDocument, TomlValue, cut};

use crate::parts::part;
use crate::refusals::{changed, problems_of, refused, refused_there};

const BASE: &str = concat!(part!(minute), part!(dumbbell), part!(cbr));

const DURATION: &str = "duration = \"60 s\"";
const NO_NUMBER: &str =
    "this is no number; a quantity with its unit stands in quotes, as in \"10 Mbit/s\"";
const QUOTES: &str = "a text must stand in quotes, as in \"10 Mbit/s\"";

#[test]
fn what_is_given_twice() {
    refused_there(
        BASE,
        &[
            (DURATION, "seeds = 1\nseed = 2\n«seeds» = 3", "the key `seeds` is given twice"),
            (
                "limit = \"100 packets\"",
                "limit = \"9 packets\"\nback = { rate = \"1 Mbit/s\", «rate» = \"2 Mbit/s\" }",
                "the key `rate` is given twice",
            ),
            ("[network]", "«[run]»\nseeds = 3\n[network]", "the table [run] is given twice"),
        ],
    );
    let long = "k".repeat(70);
    let text = format!("{long} = 1\n«{long}» = 2\n");
    refused(&text, &format!("the key `{}…` is given twice", &long[..60]));
}

#[test]
fn values_that_are_none() {
    refused_there(
        BASE,
        &[
            (DURATION, "duration = «sixty»", QUOTES),
            (DURATION, "duration = «sixty» seconds", QUOTES),
            (DURATION, "seeds = «3x»", NO_NUMBER),
            (DURATION, "duration = «60_»", NO_NUMBER),
            (DURATION, "seeds = «1__0»", NO_NUMBER),
            (DURATION, "seeds = 0«07»", NO_NUMBER),
        ],
    );
}

#[test]
fn texts_that_do_not_end() {
    let open = "the text has no closing quote";
    let end = "the file ends in the middle of something";
    refused_there(
        BASE,
        &[
            ("rate = \"1 Mbit/s\"\n", "rate = «\"»1 Mbit/s", open),
            ("rate = \"1 Mbit/s\"\n", "rate = «'»1 Mbit/s", open),
            ("rate = \"1 Mbit/s\"\n", "rate = «\"»\"\"1 Mbit/s\n\n", open),
            ("rate = \"1 Mbit/s\"\n", "rate =«»", end),
        ],
    );
}

#[test]
fn what_the_parser_says_itself() {
    refused_there(
        BASE,
        &[
            (DURATION, "title = \"a\\«q»\"", "invalid escape character in string: `q`"),
            ("[network]", "«[[run]]»\nseeds = 3\n[network]", "the table [run] is given twice"),
            (DURATION, "duration = 60 «s»", "expected newline, found an identifier"),
            (DURATION, "«= 3»", "expected a table key, found an equals"),
            (DURATION, "title = \"a«\u{1b}»b\"", "invalid character in string: `\\u{1b}`"),
        ],
    );
}

#[test]
fn depth_has_a_limit() {
    let text = format!("{BASE}deep = {}{}\n", "[".repeat(500), "]".repeat(500));
    let told = TomlDocument { file: "s.toml", text: &text, sets: &[] }.read().unwrap_err();
    assert_eq!((told.len(), told[0].why.as_str()), (1, "nested too deeply"));
    let Place::Line { line, column, .. } = told[0].place else { panic!("{:?}", told[0].place) };
    assert!(line == 13 && (8..508).contains(&column), "{line}:{column}");
}

#[test]
fn numbers_that_nothing_holds_are_refused_by_their_fields() {
    let large = "99999999999999999999";
    refused_there(
        BASE,
        &[
            (
                DURATION,
                &format!("seeds = «{large}»"),
                &format!("run.seeds = {large}: must be a whole number from 1 to 10000"),
            ),
            (
                "name = \"g\"",
                &format!("name = \"g\"\njitter = «-{large}»"),
                "group.g.jitter = -100000000000000000000: must lie in 0 to 1",
            ),
        ],
    );
    // A sign, a zero before it or a letter behind it makes it no number.
    refused_there(
        BASE,
        &[
            (DURATION, &format!("seeds = 0«{large}»"), NO_NUMBER),
            (DURATION, &format!("seeds = «{large}x»"), NO_NUMBER),
        ],
    );
}

#[test]
fn twenty_numbers_that_are_too_large_have_a_message_each() {
    let rows = |count: usize| -> String {
        (0..count).map(|i| format!("k{i} = 1{:030}\n", i)).collect::<String>()
    };
    let large = |text: &str| -> Result<usize, String> {
        let root = TomlDocument { file: "s.toml", text, sets: &[] }.read();
        let root = root.map_err(|problems| problems[0].to_string())?;
        let TomlValue::Table(entries) = root.kind else { panic!("a root is a table") };
        for (i, entry) in entries.iter().enumerate() {
            let TomlValue::Large(digits) = &entry.node.kind else { panic!("{entry:?}") };
            assert_eq!(digits, &format!("1{i:030}"));
            assert_eq!(entry.node.what(), "a number");
        }
        Ok(entries.len())
    };
    assert_eq!(large(&rows(20)), Ok(20));
    let told = large(&rows(21)).unwrap_err();
    assert!(told.starts_with(&format!("s.toml:1:6: {NO_NUMBER}\n")), "{told}");
}

/// The tree of `text`.
fn tree(text: &str) -> Node {
    TomlDocument { file: "s.toml", text, sets: &[] }.read().unwrap_or_else(|e| panic!("{e:?}"))
}

#[test]
fn every_kind_of_value_is_told_and_shown() {
    let text = "text = 'a'\nwhole = -3\nnumber = 2.50\nflag = true\nlist = [1]\ntable = { a = 1 }\n\
                lines = \"a\\nb\"\n";
    let TomlValue::Table(entries) = tree(text).kind else { panic!("a root is a table") };
    let told: Vec<(&str, &str, String)> =
        entries.iter().map(|e| (e.key.as_str(), e.node.what(), e.node.shown())).collect();
    let expected = [
        ("text", "a text", "a"),
        ("whole", "a number", "-3"),
        ("number", "a number", "2.5"),
        ("flag", "true or false", "true"),
        ("list", "a list", ""),
        ("table", "a table", ""),
        ("lines", "a text", "a…"),
    ];
    assert_eq!(told, expected.map(|(key, what, shown)| (key, what, shown.to_string())));
}

#[test]
fn a_place_is_shown_as_a_terminal_can() {
    // Lines that end as Windows has them, a tab, and letters of several bytes before the place.
    let text = BASE.replace('\n', "\r\n");
    let text = changed(&text, DURATION, "\tseeds = 0 # Häuser");
    let doc = TomlDocument { file: "s.toml", text: &text, sets: &[] };
    let told = problems_of(&text);
    let why = "must lie in 1 to 10000";
    let shown =
        format!("s.toml:3:10: run.seeds = 0: {why}\n 3 |  seeds = 0 # Häuser\n   |          ^");
    assert_eq!(told.to_string(), shown);
    assert!(doc.read().is_ok());
    // What is far to the right is left out.
    let text = changed(BASE, DURATION, &format!("seeds = 0 # {}", "x".repeat(500)));
    let told = problems_of(&text);
    let Place::Line { text, column, width, .. } = &told.list()[0].place else { panic!("{told}") };
    assert_eq!((text.chars().count(), *column, *width), (8 + 160, 9, 1));
}

/// A line of the file: what stands before the key, the key, spaces, and a comment behind.
fn lines() -> impl Strategy<Value = Vec<(String, u32, String)>> {
    let blank = "[ \t]{0,3}(#[ -~äß→😀]{0,9})?";
    prop::collection::vec((blank, 0u32..1000, "[ ]{0,4}"), 1..20)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_value_knows_its_line_and_column(lines in lines(), end in "\r?\n") {
        let mut text = String::new();
        let mut expected = vec![];
        for (i, (before, value, space)) in lines.iter().enumerate() {
            text += &format!("{before}{end}{space}k{i}{space} = {value} # →{end}");
            let key = space.len() + 1;
            let behind = key + format!("k{i}{space} = ").len();
            expected.push((2 * i + 2, key, behind, value.to_string()));
        }
        let doc = TomlDocument { file: "s.toml", text: &text, sets: &[] };
        let kind = doc.read().unwrap().kind;
        let TomlValue::Table(entries) = kind else { panic!("a root is a table") };
        let place = |origin| match doc.place(origin) {
            Place::Line { line, column, .. } => (line, column),
            other => panic!("{other:?}"),
        };
        let told: Vec<_> = entries
            .iter()
            .map(|entry| {
                let ((line, key), (_, value)) = (place(entry.key_origin), place(entry.node.origin));
                (line, key, value, entry.node.shown())
            })
            .collect();
        prop_assert_eq!(told, expected);
    }

    #[test]
    fn what_is_cut_is_one_line_of_so_many_characters(text in any::<String>(), most in 0usize..40) {
        let shown = cut(&text, most);
        let kept = shown.strip_suffix('…').unwrap_or(&shown);
        prop_assert!(kept.chars().count() <= most);
        prop_assert!(!kept.contains(|c: char| c.is_control()));
        let same = |(a, b): (char, char)| a == b || a.is_control() && b == ' ';
        prop_assert!(text.chars().zip(kept.chars()).all(same));
        if text.chars().count() <= most && !text.contains(|c: char| c.is_control()) {
            prop_assert_eq!(shown, text);
        }
    }
}
