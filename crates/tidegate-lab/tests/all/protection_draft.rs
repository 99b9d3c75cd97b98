//! `docs/study/protection-draft.md` has a section for each test of the suite, by its name, and the
//! table of its cells. `TIDEGATE_BLESS=1` writes the table anew.
use std::fmt::Write;
use std::path::{Path, PathBuf};

use tidegate_lab::suite::{self, Suite, SuiteCell};

const BEGIN: &str = "<!-- cells: made by the lab's test `protection_draft` -->\n";
const END: &str = "<!-- end of cells -->";

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/study/protection-draft.md")
}

fn page() -> String {
    std::fs::read_to_string(file()).unwrap().replace("\r\n", "\n")
}

fn table(suite: &Suite) -> String {
    let mut table = String::from(
        "<!-- words: this table is written from the suite -->\n| test | asks | cells | source |\n\
         |---|---|---|---|\n",
    );
    for (at, test) in suite.tests.iter().enumerate() {
        let mine = suite.cells.iter().filter(|cell| cell.test == at);
        let names: Vec<&str> = mine.map(|cell: &SuiteCell| cell.name.as_str()).collect();
        let cells = names.join("; ");
        let _ = writeln!(table, "| {} | {} | {cells} | {} |", test.id, test.asks, test.source);
    }
    table
}

#[test]
fn the_table_of_cells_is_that_of_the_suite() {
    let page = page();
    let begin = page.find(BEGIN).expect("the place of the table") + BEGIN.len();
    let end = page.find(END).expect("its end");
    let now =
        format!("{}{}{}", &page[..begin], table(&suite::open("protection").unwrap()), &page[end..]);
    if std::env::var_os("TIDEGATE_BLESS").is_some() {
        return std::fs::write(file(), now).unwrap();
    }
    assert!(page == now, "docs/study/protection-draft.md is old: TIDEGATE_BLESS=1");
}

#[test]
fn every_test_has_a_section_that_says_why_and_how() {
    let (page, suite) = (page(), suite::open("protection").unwrap());
    for test in &suite.tests {
        let heading = format!("\n### {}. ", test.id);
        let begin = page.find(&heading).unwrap_or_else(|| panic!("no section {}", test.id));
        let section = page[begin + 5..].split("\n#").next().unwrap_or_default();
        assert!(section.contains("Why:") && section.contains("How:"), "{}", test.id);
    }
    let version = format!("version {} of the tests", suite.version);
    assert!(page.contains(&version), "the draft names the version of its tests");
}
