//! Tables as a terminal shows them.
mod cells;
mod names;
#[path = "../sample/mod.rs"]
mod sample;

use sample::{SHAPES, replayed, simulated};
use tidegate_report::Document;
use tidegate_report::table::{Colour, Look, flows, results};

fn four() -> Vec<Document> {
    SHAPES.iter().map(|shape| simulated(*shape, 20)).collect()
}

fn show(documents: &[Document], width: Option<u16>) -> String {
    results(
        &documents.iter().collect::<Vec<_>>(),
        &Look { width, edge: true, colour: Colour::Plain },
    )
}

/// The lines of the table, which stands between empty lines.
fn table_of(text: &str) -> Vec<&str> {
    text.split("\n\n").nth(1).expect("answer, table, notes").lines().collect()
}

#[test]
fn the_answer_stands_first() {
    let text = show(&four(), None);
    assert!(
        text.starts_with(
            "sfb: tcp gets 102 % of its fair share (worst user 67 %), flood is held \
             to 380 kbit/s;\n"
        ),
        "{text}"
    );
    assert!(text.contains("drop_tail: tcp gets 4.5 % (worst user 3 %, 19 of 20 starved), flood takes 42.8 Mbit/s, 20 times its fair share"), "{text}");
}

#[test]
fn one_row_per_queue_where_there_is_room() {
    let text = show(&four(), Some(220));
    let rows = table_of(&text);
    assert_eq!(rows.len(), 2 + 4, "a header, a rule and four queues:\n{text}");
    let sfb = rows.iter().find(|row| row.trim_start().starts_with("sfb")).unwrap();
    for cell in
        ["17.7 % ± 0.3", "380 kbit/s ± 6", "44.4 Mbit/s ± 0.4", "99.5 % ± 0.2", "9.10 ms ± 0.18"]
    {
        assert!(sfb.contains(cell), "{cell} is not in {sfb}");
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [40, 60, 80, 100, 120, 150, 180, 200] {
        for documents in
            [four(), four()[..1].to_vec(), vec![replayed("red", 0.4), replayed("sfb", 0.9)]]
        {
            let text = show(&documents, Some(width));
            for line in table_of(&text) {
                assert!(line.chars().count() <= usize::from(width), "wider than {width}:\n{text}");
            }
        }
    }
}

#[test]
fn eighty_columns_hold_the_comparison_without_broken_cells() {
    let text = show(&four(), Some(80));
    // One line more says which columns had no room beside the worst user.
    assert_eq!(table_of(&text).len(), 2 + 8 + 1, "one line per queue and group:\n{text}");
    assert!(table_of(&text)[10].starts_with("More columns would show: "), "{text}");
    assert!(text.contains("more columns would show the 95 % intervals"), "{text}");
    assert!(!table_of(&text).join("").contains('±'), "{text}");
}

#[test]
fn eighty_columns_hold_whole_words_and_say_what_is_left_out() {
    let look = Look { width: Some(80), edge: true, colour: Colour::Plain };
    let document = replayed("red", 0.4);
    let listed = flows(&document, document.flows.as_ref().unwrap(), 9, &look);
    let texts = [show(&four()[..1], Some(80)), show(&[document], Some(80)), listed];
    for text in &texts {
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
    // Each flow has a line, and its name is whole.
    assert!(texts[2].contains("More columns would show: "), "{}", texts[2]);
    assert!(texts[2].contains("10.0.0.9:4000 > 10.0.1.1:9 udp  "), "{}", texts[2]);
    assert!(texts[0].contains("More columns would show: the 95 % intervals, "), "{}", texts[0]);
}

#[test]
fn a_file_has_lines_as_long_as_need_be() {
    let document = replayed("red", 0.4);
    let look = Look { width: Some(60), ..Look::plain() };
    assert_eq!(
        flows(&document, document.flows.as_ref().unwrap(), 9, &look),
        flows(&document, document.flows.as_ref().unwrap(), 9, &Look::plain())
    );
}

#[test]
fn colours_only_if_asked_for() {
    let documents = four();
    let documents: Vec<&Document> = documents.iter().collect();
    assert!(
        !results(&documents, &Look { width: Some(220), edge: true, colour: Colour::Plain })
            .contains('\x1b')
    );
    let coloured =
        results(&documents, &Look { width: Some(220), edge: true, colour: Colour::Ansi });
    assert!(coloured.contains('\x1b'));
    // Two columns of shares: tcp starved and the flood greedy are red, sfb's are green.
    let of = |start: &str| {
        coloured.lines().rfind(|line| line.contains(start) && line.contains('±')).unwrap()
    };
    assert_eq!(of("drop_tail").matches("\x1b[38;5;9m").count(), 2, "{:?}", of("drop_tail"));
    assert_eq!(of("sfb").matches("\x1b[38;5;10m").count(), 2, "{:?}", of("sfb"));
}

#[test]
fn one_result_shows_its_groups_and_aggregate() {
    let text = show(&four()[3..], None);
    for expected in [
        "per flow: min",
        "goodput",
        "Jain 0.935 ± 0.009",
        "3 seeds, ± is the 95 % interval",
        "3 456 789",
    ] {
        assert!(text.contains(expected), "{expected} is not in\n{text}");
    }
    let mut one = four()[3].clone();
    one.seeds = vec![7];
    assert!(show(&[one], None).contains("seed 7, so no intervals"));
}

#[test]
fn a_replay_says_that_senders_do_not_react() {
    let text = show(&[replayed("red", 0.4), replayed("sfb", 0.9)], None);
    assert_eq!(
        text.lines().filter(|line| line.starts_with("In a replay senders do not react: ")).count(),
        1,
        "{text}"
    );
    assert!(text.contains(" packets through each of 2 queues"), "{text}");
    assert!(!show(&four(), None).contains("senders do not react"));
}

#[test]
fn flows_of_a_replay_with_the_greatest_first() {
    let document = replayed("red", 0.4);
    let text = flows(&document, document.flows.as_ref().unwrap(), 2, &Look::plain());
    let rows: Vec<&str> = text.lines().filter(|line| line.contains("10.0.")).collect();
    assert_eq!(rows.len(), 2);
    let words: Vec<&str> = rows[0].split("  ").map(str::trim).filter(|w| !w.is_empty()).collect();
    assert_eq!(
        words[..7],
        ["10.0.0.9:4000 > 10.0.1.1:9 udp", "udp", "31 000", "18 600", "12 400", "0", "40.0 %"]
    );
    assert!(text.ends_with("and 1 more flow; --json lists more of them\n"), "{text}");
}

#[test]
fn a_label_cannot_command_the_terminal() {
    let mut documents = four();
    documents[0].label = "\x1b[2Jred".into();
    documents[1].scenario = "\x07".into();
    documents[2].groups[0].name = "tcp\r\n".into();
    assert!(show(&documents, None).chars().all(|c| c == '\n' || !c.is_control()));
}
