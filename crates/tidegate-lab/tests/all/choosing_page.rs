//! `docs/study/choosing.md` has a row for each queue of the catalog, and counts the cells that the
//! protection suite has. `make choosing` writes it, which takes minutes: this finds it old.
use std::fs;

use tidegate::catalog::QUEUES;
use tidegate_lab::suite::{self, Suite};

use crate::jobs::in_repository;
use crate::markdown::tables;

/// The first columns of the table of scores.
const SCORES: &[&str] = &["queue", "cells passed"];
/// Those of the table without an attack.
const CALM: &[&str] = &["queue", "14 connections: a packet waits"];
/// Those of the table of questions.
const QUESTIONS: &[&str] = &["what comes", "tests", "cells passed"];

fn page() -> String {
    let file = in_repository("docs/study/choosing.md");
    fs::read_to_string(file).unwrap().replace("\r\n", "\n")
}

/// The rows of the table that begins with these columns, without what only makes them look well.
fn rows(page: &str, columns: &[&str]) -> Vec<Vec<String>> {
    let table = tables(page).into_iter().find(|table| table.begins_with(columns));
    let plain = |row: &Vec<String>| row.iter().map(|cell| cell.replace('*', "")).collect();
    table.map_or(vec![], |table| table.rows.iter().map(plain).collect())
}

/// What stands among the queues as Linux has them.
const AS_LINUX: [&str; 2] = ["cake/linux", "fq_codel/linux"];

/// What the page says otherwise than the catalog and `suite`, and its first sentence otherwise than
/// its table.
fn wrong(page: &str, suite: &Suite) -> Vec<String> {
    let mut wrong = vec![];
    let mut known: Vec<&str> = QUEUES.iter().map(|queue| queue.name).collect();
    for header in [SCORES, CALM] {
        if header == SCORES {
            known.extend(AS_LINUX);
        } else {
            known.retain(|name| !AS_LINUX.contains(name));
        }
        known.sort_unstable();
        let mut found: Vec<String> =
            rows(page, header).into_iter().map(|row| row[0].clone()).collect();
        found.sort_unstable();
        if found != known {
            wrong.push(format!("{header:?} has {found:?}"));
        }
    }
    let all = suite.cells.len();
    let scores = rows(page, SCORES);
    for row in scores.iter().filter(|row| !row[1].ends_with(&format!(" of {all}"))) {
        wrong.push(format!("{}: {}, and there are {all} cells", row[0], row[1]));
    }
    for row in rows(page, QUESTIONS) {
        let tests: Vec<&str> = row[1].split(", ").collect();
        let of_them =
            |cell: &&suite::SuiteCell| tests.contains(&suite.tests[cell.test].id.as_str());
        let count = suite.cells.iter().filter(of_them).count();
        if !row[2].ends_with(&format!(" of {count}")) {
            wrong.push(format!("{}: {}, and there are {count} cells", row[0], row[2]));
        }
    }
    let made = format!("The simulator runs {all} cells with {} seeds each", suite.seeds);
    if !page.contains(&made) {
        wrong.push(format!("no `{made}`"));
    }
    let short = page.lines().find(|line| line.starts_with("**In short.**")).unwrap_or_default();
    for best in scores.iter().take_while(|row| row[1] == scores[0][1]) {
        if !short.contains(&format!("`{}`", best[0])) || !short.contains(&best[1]) {
            wrong.push(format!("`{}` passes {}: {short}", best[0], best[1]));
        }
    }
    wrong
}

#[test]
fn the_page_is_of_this_catalog_and_this_suite() {
    let wrong = wrong(&page(), &suite::open("protection").unwrap());
    assert_eq!(wrong, [""; 0], "`make choosing` makes the page anew");
}

/// So that the test above can fail.
#[test]
fn what_is_old_on_the_page_is_found() {
    let (page, suite) = (page(), suite::open("protection").unwrap());
    let all = suite.cells.len();
    let line = |begin: &str| page.lines().find(|line| line.starts_with(begin)).unwrap().to_string();
    let row = line("| `drop_tail` | **");
    let (question, short) = (line("| Floods of datagrams | P1, P2,"), line("**In short.**"));
    for (from, to) in [
        (format!("{row}\n"), String::new()),
        (row.clone(), row.replace(&format!(" of {all}**"), &format!(" of {}**", all + 1))),
        (question.clone(), question.replace("P1, P2,", "P1,")),
        (format!("runs {all} cells"), format!("runs {} cells", all - 1)),
        (short.clone(), short.replace('`', "")),
    ] {
        assert!(page.contains(&from), "{from}");
        let found = wrong(&page.replacen(&from, &to, 1), &suite);
        assert!(!found.is_empty(), "{from}: {to}");
    }
}
