//! Texts that cannot be, with a mark «…» at the place that the message must show.
use tidegate_lab::{Problems, Scenario};

use crate::jobs::read;

/// A change of a text and the message `field = value: why` that it must lead to.
pub type Case<'c> = (&'c str, &'c str, &'c str);

/// `base` with `to` in place of `from`, which must be in it.
#[track_caller]
pub fn changed(base: &str, from: &str, to: &str) -> String {
    assert!(base.contains(from), "no {from} in\n{base}");
    base.replacen(from, to, 1)
}

/// What `cases` make of `base` is refused at its mark, with the words that go with it and no
/// others.
#[track_caller]
pub fn refused_there(base: &str, cases: &[Case<'_>]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(from, to, said)| differs(&changed(base, from, to), said))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// `text` is refused at its mark and with these words alone.
#[track_caller]
pub fn refused(text: &str, said: &str) {
    if let Some(wrong) = differs(text, said) {
        panic!("{wrong}");
    }
}

/// What `text`, with marks or without, is read as.
#[track_caller]
pub fn accepted(text: &str) -> Scenario {
    crate::jobs::scenario(&text.replace(['«', '»'], ""))
}

/// What is wrong with `text`.
#[track_caller]
pub fn problems_of(text: &str) -> Problems {
    read(text, &[]).expect_err(text)
}

/// What is said of `base` with this override.
#[track_caller]
pub fn set(base: &str, set: &str) -> String {
    match read(base, &[set]) {
        Ok(_) => panic!("accepted with {set}"),
        Err(problems) => problems.to_string(),
    }
}

fn differs(text: &str, said: &str) -> Option<String> {
    let (plain, shown) = marked(text, said);
    let told = match read(&plain, &[]) {
        Ok(_) => "accepted".into(),
        Err(problems) => problems.to_string(),
    };
    (told != shown).then(|| format!("{told}\nis not\n{shown}"))
}

/// `text` without its mark, and the message of a mistake at the mark, as a terminal shows it.
#[track_caller]
pub fn marked(text: &str, said: &str) -> (String, String) {
    let (before, rest) = text.split_once('«').expect("a mark");
    let (inside, after) = rest.split_once('»').expect("the end of the mark");
    let plain = format!("{before}{inside}{after}");
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    // A place that goes on in the next line is shown up to the end of this one.
    let width = inside.lines().next().unwrap_or_default().chars().count().max(1);
    let whole = plain.lines().nth(line - 1).unwrap_or_default();
    let whole = whole.replace(char::is_control, " ");
    let margin = " ".repeat(line.to_string().len());
    let (indent, carets) = (" ".repeat(column - 1), "^".repeat(width));
    let place = format!("s.toml:{line}:{column}: {said}\n {line} | {whole}");
    (plain, format!("{place}\n {margin} | {indent}{carets}"))
}

/// `field = value: why` of each of `problems`.
pub fn said(problems: &Problems) -> Vec<String> {
    let first = |text: String| text.lines().next().unwrap_or_default().to_string();
    problems.list().iter().map(|problem| first(problem.to_string())).collect()
}
