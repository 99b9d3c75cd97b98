//! Names that would break a table, a page or a terminal.
use tidegate_report::table::{Colour, Look, flows, html, results};
use tidegate_report::{Document, human};

use super::sample::{SHAPES, replayed, simulated};

const NAMES: [&str; 8] = [
    "<script>alert(1)</script>",
    "a|b||c",
    "漢字かな交じり",
    "\u{1b}[31mred\u{7}",
    "two\nlines\r\n",
    "&amp; \"quoted\" 'too'",
    "tab\tand\u{0}nul",
    "ένα όνομα",
];

/// Columns of a terminal: wide characters take two.
fn columns(line: &str) -> usize {
    let wide = |c: char| ('\u{2e80}'..'\u{ffdc}').contains(&c);
    line.chars().map(|c| if wide(c) { 2 } else { 1 }).sum()
}

fn named(name: &str) -> [Document; 2] {
    [0, 3].map(|at| {
        let mut document = simulated(SHAPES[at], 4);
        document.label = format!("{name} {at}");
        document.scenario = name.into();
        document.incomplete = Some(name.into());
        for group in &mut document.groups {
            group.name = format!("{} {name}", group.name);
        }
        for link in &mut document.links {
            link.name = name.into();
        }
        for flow in document.flows.iter_mut().flatten() {
            flow.label = format!("{name} {}", flow.index);
            flow.group = Some(name.into());
        }
        document
    })
}

#[test]
fn no_name_commands_the_terminal_or_breaks_a_row() {
    for name in NAMES {
        let documents = named(name);
        let both: Vec<&Document> = documents.iter().collect();
        let plain = simulated(SHAPES[0], 4);
        for look in [Look::plain(), Look { width: Some(120), edge: true, colour: Colour::Plain }] {
            let one = results(&both[..1], &look);
            let listed = flows(both[0], both[0].flows.as_ref().unwrap(), 9, &look);
            for text in [results(&both, &look), one, listed.clone()] {
                let bad = text.chars().find(|c| c.is_control() && *c != '\n');
                assert_eq!(bad, None, "{name:?}: {text}");
            }
            let rows = flows(&plain, plain.flows.as_ref().unwrap(), 9, &look).lines().count();
            let own = listed.lines().filter(|line| !line.starts_with("More columns")).count();
            assert!(own <= rows, "{name:?} has {own} lines, not {rows}: {listed}");
            assert!(listed.contains(human::plain(name).trim()), "{name:?} is whole: {listed}");
        }
    }
}

#[test]
fn names_of_wide_characters_stay_within_the_terminal() {
    let documents = named("漢字かな");
    for width in (60..=200).step_by(7) {
        let look = Look { width: Some(width), edge: true, colour: Colour::Plain };
        let both: Vec<&Document> = documents.iter().collect();
        for text in
            [results(&both, &look), flows(both[0], both[0].flows.as_ref().unwrap(), 9, &look)]
        {
            let table = text.lines().skip_while(|line| !line.starts_with('─')).skip(1);
            for line in table.take_while(|line| !line.is_empty() && !line.starts_with("More")) {
                assert!(columns(line) <= usize::from(width), "{width}: {line}");
            }
        }
    }
}

/// Rows and cells of a table of HTML, read as XML: nothing but text stands in them.
fn grid(table: &str) -> Vec<Vec<String>> {
    let document = roxmltree::Document::parse(table).unwrap_or_else(|why| panic!("{why}: {table}"));
    let rows = document.descendants().filter(|node| node.has_tag_name("tr"));
    rows.map(|row| {
        let cells = row.children().filter(roxmltree::Node::is_element);
        cells
            .map(|cell| {
                assert!(cell.children().all(|node| node.is_text()), "{table}");
                cell.text().unwrap_or_default().to_string()
            })
            .collect()
    })
    .collect()
}

#[test]
fn a_notebooks_table_has_names_as_text() {
    for name in NAMES {
        let documents = named(name);
        let both: Vec<&Document> = documents.iter().collect();
        for (shown, heads) in [(&both[..], 10), (&both[..1], 14)] {
            let grid = grid(&html(shown));
            assert!(grid.iter().all(|row| row.len() == heads), "{name:?}: {grid:?}");
            assert_eq!(grid.len(), 1 + 2 * shown.len());
            let said = grid.concat();
            let wanted = human::plain(&format!("tcp {name}"));
            assert!(said.contains(&wanted), "{wanted:?} is not in {said:?}");
        }
    }
}

#[test]
fn a_notebooks_table_has_the_terminals_figures() {
    let documents = [replayed("red", 0.4), simulated(SHAPES[1], 20), simulated(SHAPES[3], 20)];
    for document in &documents {
        let grid = grid(&html(&[document]));
        for (row, group) in grid[1..].iter().zip(&document.groups) {
            let at = |head: &str| grid[0].iter().position(|known| known == head).expect(head);
            assert_eq!(row[0], group.name);
            assert_eq!(row[at("throughput")], human::rate(group.throughput_bps));
            assert_eq!(row[at("loss")], human::ratio(group.loss_ratio));
            assert_eq!(row[at("fair share")], human::rate_mean(group.fair_share_bps));
            assert_eq!(row[at("delay p50")], human::millis(group.delay_ms.p50));
        }
        let text = results(&[document], &Look::plain());
        for cell in grid.concat() {
            assert!(text.contains(&cell), "{cell} is not in {text}");
        }
    }
    let all: Vec<&Document> = documents.iter().collect();
    let compared = grid(&html(&all));
    let queues: Vec<&str> = compared[1..].iter().map(|row| row[0].as_str()).collect();
    assert_eq!(queues, ["red", "", "red", "", "sfb", ""], "a queue is named once");
    assert_eq!(html(&[]).matches("<td>").count(), 0);
}
