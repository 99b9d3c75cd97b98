use std::path::Path;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::KeyCode;
use ratatui::style::Color;
use tidegate_gateway::watch::snapshot::Snapshot;

use super::super::feed::Update;
use super::super::sample::{flooded, gate, grow};
use super::*;

/// What is known after these snapshots.
fn model(heard: impl IntoIterator<Item = Snapshot>) -> Model {
    let mut model = Model::of(Path::new("/run/tidegate/gate.sock"));
    heard.into_iter().for_each(|snapshot| model.hear(Update::Snapshot(Box::new(snapshot))));
    model
}

/// A gate that has been flooded for a second.
fn flood() -> Model {
    model([gate(), flooded(&gate())])
}

fn screen(model: &Model, width: u16, height: u16) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, model)).unwrap();
    terminal.backend().buffer().clone()
}

/// The lines of a screen, without blanks at their ends.
fn lines(model: &Model, width: u16, height: u16) -> Vec<String> {
    let screen = screen(model, width, height);
    let lines = screen.content.chunks(width.into());
    lines
        .map(|cells| {
            cells.iter().map(|cell| cell.symbol()).collect::<String>().trim_end().to_string()
        })
        .collect()
}

/// The first of `lines` that has `what` in it.
fn line<'a>(lines: &'a [String], what: &str) -> &'a str {
    lines
        .iter()
        .find(|line| line.contains(what))
        .unwrap_or_else(|| panic!("{what} is not in {lines:#?}"))
}

#[test]
fn everything_is_there_on_a_large_screen() {
    let lines = lines(&flood(), 100, 44);
    assert!(lines[0].starts_with("tidegate 0.1.0: up 3 h 12 min, 9.12 MB, 4 reloads, 1 refused  "));
    assert_eq!(lines[1], " west   lab (ended)");
    for said in [
        "eth1 → eth2: WFQ of three, 100 Mbit/s",
        "in       398 Mbit/s 33 200/s 398 %",
        "out      99.7 Mbit/s 8 310/s 100 %",
        "lost     299 Mbit/s 24 890/s  penalty 24 000/s, early 890/s",
        "marked   12/s  early 12/s",
        "missed   5/s by the kernel",
        "delay    mean 12.3 ms, half 12.0 ms, 99 % 15.2 ms, longest 15.9 ms",
        "backlog  120 kB of 1.25 MB, 105 frames",
        "p_max 0.840, tokens 1.50 kB, bins_full 12.0 bins",
        "classes  voice: 0 bit/s 0/s out, 0 bit/s 0/s lost, 10 waiting",
        "(rest): 99.7 Mbit/s 8 310/s out, 299 Mbit/s 24 890/s lost, 95 waiting",
        "11.1 Mbit/s fair to each, 2 offenders",
        "eth2 → eth1: not managed",
        "received in the last 1 s, at most 398 Mbit/s",
    ] {
        line(&lines, said);
    }
    let flow = line(&lines, "192.0.2.66:40001");
    let cells: Vec<&str> = flow
        .split("  ")
        .map(|cell| cell.trim_matches(['│', ' ']))
        .filter(|c| !c.is_empty())
        .collect();
    assert_eq!(cells[1..], ["288 Mbit/s", "74 %", "25.9 ×", "12 min 35 s", "24 890"], "{flow}");
}

#[test]
fn without_a_second_snapshot_nothing_is_made_up() {
    let lines = lines(&model([gate()]), 100, 40);
    for said in [
        "in       –",
        "out      –",
        "lost     –",
        "voice: – out, – lost, 10 waiting",
        "120 kB of 1.25 MB",
    ] {
        line(&lines, said);
    }
}

#[test]
fn bars_say_how_full_it_is() {
    let screen = screen(&flood(), 100, 30);
    let bar = |name: &str| {
        let row = (0..30)
            .find(|&y| {
                (0..8).map(|x| screen[(x + 1, y)].symbol()).collect::<String>().trim() == name
            })
            .unwrap();
        let cells = (0..100).map(|x| &screen[(x, row)]);
        let full: Vec<_> = cells.clone().filter(|cell| cell.symbol() == "█").collect();
        (full.len(), cells.filter(|cell| cell.symbol() == "·").count(), full[0].fg)
    };
    // 98 columns inside the frame, of which 44 are before the bar.
    assert_eq!(bar("in"), (54, 0, Color::Red));
    assert_eq!(bar("out"), (54, 0, Color::Green));
    assert_eq!(bar("backlog"), (5, 49, Color::Green));
}

#[test]
fn a_usual_terminal_shows_both_directions_and_the_worst_senders() {
    let lines = lines(&flood(), 80, 24);
    for said in
        ["in       398 Mbit/s", "192.0.2.66:40001", "192.0.2.67:40002", "eth2 → eth1: not managed"]
    {
        line(&lines, said);
    }
    assert!(lines[0].ends_with("  q: quit"), "there is room for one key: {}", lines[0]);
    let flow = line(&lines, "192.0.2.66:40001");
    // 78 columns, of which the figures take what they need.
    let expected =
        "│192.0.2.66:40001 -> 203.0.113.5… 288 Mbit/s  74 %  25.9 ×  12 min 35 s  24 890│";
    assert_eq!(flow, expected);
    assert_eq!(lines.len(), 24);
}

#[test]
fn a_narrow_one_shows_the_figures_and_who() {
    let lines = lines(&flood(), 44, 20);
    for said in [
        "in       398 Mbit/s 33 200/s 398 %",
        "delay    mean 12.3 ms",
        "flow",
        "192.0.2.66:40001 -",
        "…",
        "74 %",
    ] {
        line(&lines, said);
    }
    assert!(
        lines.iter().all(|line| !line.contains('█') && !line.contains("offender for")),
        "{lines:#?}"
    );
}

#[test]
fn a_wide_one_has_both_directions_side_by_side() {
    let mut model = flood();
    model.press(KeyCode::Tab.into());
    let lines = lines(&model, 160, 30);
    let titles = line(&lines, "eth3 → eth4: red/auto, 1.00 Gbit/s (ended)");
    assert!(titles.contains("eth4 → eth3: fq_codel, 1.00 Gbit/s (ended)"), "{titles}");
    assert_eq!(line(&lines, "nobody yet").matches("nobody").count(), 2);
    assert!(lines[0].ends_with("Tab: next link, q: quit"), "{}", lines[0]);
}

#[test]
fn no_size_is_too_small_or_too_large() {
    let models = [model([]), model([gate()]), flood(), {
        let mut gone = flood();
        gone.hear(Update::Gone("the gate has ended".into()));
        gone
    }];
    for model in &models {
        for width in (1..40).step_by(3).chain([79, 149, 150, 300]) {
            for height in (1..16).step_by(2).chain([24, 60]) {
                assert_eq!(lines(model, width, height).len(), usize::from(height));
            }
        }
    }
}

#[test]
fn a_gate_that_is_gone_is_said_to_be_gone_and_shown_as_it_was() {
    let waiting = lines(&model([]), 80, 10);
    assert_eq!(waiting[0], "waiting for a gate at /run/tidegate/gate.sock");
    assert!(waiting[1..].iter().all(String::is_empty), "{waiting:?}");
    let mut nowhere = model([]);
    nowhere.hear(Update::Gone("no gate listens at x\n  look elsewhere".into()));
    assert_eq!(lines(&nowhere, 80, 10)[..3], ["no gate listens at x", "  look elsewhere", ""]);
    let mut model = flood();
    model.hear(Update::Gone("the gate has ended".into()));
    let gone = lines(&model, 100, 30);
    line(&gone, "the gate has ended; below is what was heard last");
    line(&gone, "in       398 Mbit/s");
    model.hear(Update::Snapshot(Box::new(grow(&flooded(&gate()), 1.0))));
    assert!(!lines(&model, 100, 30).iter().any(|line| line.contains("has ended;")));
}

#[test]
fn a_file_that_was_refused_is_told_of_in_a_line() {
    let mut gate = gate();
    gate.reloads.last_error =
        Some("gate.toml:6:10: link.west.queue = x: no such queue\nand more".into());
    let lines = lines(&model([gate]), 100, 30);
    assert_eq!(
        lines[2],
        "the file was not heeded: gate.toml:6:10: link.west.queue = x: no such queue"
    );
    assert!(lines[3].starts_with('┌'), "{}", lines[3]);
}

#[test]
fn what_comes_from_elsewhere_cannot_move_the_cursor() {
    let mut gate = gate();
    let queue = gate.links[0].managed.queue.as_mut().unwrap();
    queue.label = "\x1b[2J\x07".into();
    queue.flows.top[5].flow = "a\x1b]0;b\nc".into();
    let lines = lines(&model([gate]), 100, 40);
    line(&lines, "eth1 → eth2: ·[2J·, 100 Mbit/s");
    line(&lines, "a·]0;b·c");
}

#[test]
fn the_past_is_drawn_from_the_right() {
    let mut snapshots = vec![gate()];
    for _ in 0..5 {
        snapshots.push(grow(&flooded(snapshots.last().unwrap()), 0.0));
    }
    let lines = lines(&model(snapshots), 100, 60);
    let at = lines
        .iter()
        .position(|line| line.contains("received in the last 5 s, at most 398 Mbit/s"))
        .unwrap();
    let inside = lines[at + 1].trim_matches('│');
    assert!(inside.ends_with("█████") && inside.trim_start() == "█████", "{inside:?}");
}

#[test]
fn the_page_for_operators_shows_this_view() {
    const BEGIN: &str =
        "<!-- view: tests of the command hold this against what is drawn -->\n```\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operate/watch.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once("```\n<!-- end of view -->").unwrap();
    let drawn = lines(&flood(), 100, 36).join("\n");
    let expected = format!("{before}{BEGIN}{}\n```\n<!-- end of view -->{after}", drawn.trim_end());
    if std::env::var_os("TIDEGATE_BLESS").is_some() {
        return std::fs::write(path, expected).unwrap();
    }
    assert_eq!(page, expected, "TIDEGATE_BLESS=1 cargo test -p tidegate-cli view mends it");
}
