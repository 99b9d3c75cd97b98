//! What stands in a cell is the document's own figure, at every width.
use proptest::prelude::*;
use tidegate_report::table::{Colour, Look, columns_that_fit, flows, left_out, results};
use tidegate_report::{Document, Figure, Flow, Group, answer, human};

use super::sample::{SHAPES, replayed, simulated};

fn terminal(width: u16) -> Look {
    Look { width: Some(width), edge: true, colour: Colour::Plain }
}

/// The cells of a line, which two blanks at least keep apart.
fn cells(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

/// The tables of a text: the lines above each rule and behind it, up to an empty line or a note.
fn tables(text: &str) -> Vec<Vec<&str>> {
    let lines: Vec<&str> = text.lines().collect();
    let rule = |line: &str| !line.is_empty() && line.chars().all(|c| c == '─' || c == ' ');
    let at = (0..lines.len()).filter(|at| rule(lines[*at]));
    at.map(|at| {
        let rows = lines[at + 1..].iter().copied();
        let note = |line: &str| line.starts_with("More columns") || line.starts_with("and ");
        let rows = rows.take_while(|line| !line.is_empty() && !note(line));
        std::iter::once(lines[at - 1]).chain(rows).collect()
    })
    .collect()
}

/// What a group's row says under each head, from its declared metrics.
fn wanted(group: &Group, head: &str) -> String {
    let mean = |figure: Option<Figure>| human::rate_mean(figure);
    match head {
        "group" => group.name.clone(),
        "flows" => human::count(group.count),
        "of fair share" => human::ratio(answer::share(group)),
        "worst user" => answer::worst(group).map_or("–".into(), |w| human::ratio(Some(w.0))),
        "starved" => answer::worst(group).map_or("–".into(), |w| human::few(w.1.mean())),
        "throughput" => human::rate(group.throughput_bps),
        "loss" => human::ratio(group.loss_ratio),
        "fair share" => mean(group.fair_share_bps),
        "goodput" => human::rate(group.goodput_bps),
        "marked" => human::ratio(group.mark_ratio),
        "per flow: min" => mean(group.per_flow.min),
        "max" => mean(group.per_flow.max),
        "delay p50" => human::millis(group.delay_ms.p50),
        "p99" => human::millis(group.delay_ms.p99),
        _ => panic!("no figure is called {head}"),
    }
}

#[test]
fn a_groups_cells_are_its_metrics() {
    for shape in SHAPES {
        let document = simulated(shape, 20);
        let text = results(&[&document], &Look::plain());
        let table = &tables(&text)[0];
        let heads = cells(table[0]);
        assert_eq!(heads.len(), 14, "{text}");
        assert_eq!(table.len(), 1 + document.groups.len());
        for (row, group) in table[1..].iter().zip(&document.groups) {
            let wanted: Vec<String> = heads.iter().map(|head| wanted(group, head)).collect();
            assert_eq!(cells(row), wanted, "{text}");
        }
    }
}

#[test]
fn a_comparison_has_the_groups_cells_side_by_side() {
    let documents = SHAPES.map(|shape| simulated(shape, 20));
    let all: Vec<&Document> = documents.iter().collect();
    let text = results(&all, &Look::plain());
    let table = &tables(&text)[0];
    for (row, document) in table[1..].iter().zip(&documents) {
        let [tcp, flood] = &document.groups[..] else { panic!("two groups") };
        let all = &document.aggregate;
        let mut wanted_cells = vec![document.title().to_string()];
        let of_tcp = ["of fair share", "worst user", "starved", "throughput", "loss"];
        wanted_cells.extend(of_tcp.map(|head| wanted(tcp, head)));
        // One flood has no worst user.
        wanted_cells
            .extend(["of fair share", "throughput", "loss"].map(|head| wanted(flood, head)));
        wanted_cells.extend([human::number(all.jain), human::ratio(all.utilization)]);
        wanted_cells.extend([all.queue_delay_ms.p50, all.queue_delay_ms.p99].map(human::millis));
        assert_eq!(cells(row), wanted_cells, "{text}");
    }
}

#[test]
fn a_group_that_one_queue_lacks_leaves_its_places_empty() {
    let (whole, mut less) = (simulated(SHAPES[0], 20), simulated(SHAPES[3], 20));
    less.groups.truncate(1);
    let mut other = simulated(SHAPES[1], 20);
    other.groups.remove(0);
    let text = results(&[&whole, &less, &other], &Look::plain());
    let table = &tables(&text)[0];
    let columns = cells(table[0]).len();
    assert!(table.iter().all(|row| cells(row).len() == columns), "{text}");
    assert_eq!(cells(table[2])[6..9], ["–"; 3], "sfb has no flood: {text}");
    assert_eq!(cells(table[3])[1..6], ["–"; 5], "red has no tcp: {text}");
}

/// At each width: no row beyond the edge, no cell broken, and no figure that is not the document's.
#[test]
fn at_any_width_rows_fit_and_cells_are_whole() {
    let documents = SHAPES.map(|shape| simulated(shape, 20));
    let all: Vec<&Document> = documents.iter().collect();
    let whole = results(&all, &Look::plain()) + &results(&all[..1], &Look::plain());
    let bare = |cell: &str| cell.split(" ± ").next().unwrap_or(cell).to_string();
    let known: Vec<String> =
        tables(&whole).concat().into_iter().flat_map(cells).map(bare).collect();
    for width in 40..=200 {
        for documents in [&all[..], &all[..1]] {
            let text = results(documents, &terminal(width));
            for row in tables(&text).concat() {
                assert!(row.chars().count() <= usize::from(width), "{width}: {row}");
                for cell in cells(row) {
                    let heads = ["of share", "worst", "queue", "group"];
                    let there = known.contains(&bare(cell)) || heads.contains(&cell);
                    assert!(there, "{width}: {cell} in {row}");
                }
            }
        }
    }
}

/// A column is left out only of a table that has no intervals any more, and then it is named.
#[test]
fn intervals_go_before_columns() {
    let documents = SHAPES.map(|shape| simulated(shape, 20));
    let all: Vec<&Document> = documents.iter().collect();
    let mut seen = [0; 3];
    for width in 40..=200 {
        let text = results(&all, &terminal(width));
        let table = text.split("\n\n").nth(1).unwrap();
        let (left, intervals) = (table.contains("More columns would show"), table.contains('±'));
        assert!(!(left && intervals), "{width}: {table}");
        seen[if left { 0 } else { 1 + usize::from(intervals) }] += 1;
    }
    assert!(seen.iter().all(|times| *times > 0), "{seen:?}: each happens at some width");
}

#[test]
fn a_wider_terminal_shows_no_fewer_columns_of_flows() {
    let document = replayed("red", 0.4);
    let listed = document.flows.as_ref().unwrap();
    let mut before = 0;
    for width in 40..=200 {
        let text = flows(&document, listed, 9, &terminal(width));
        let heads = cells(tables(&text)[0][0]);
        let all = text.split("More columns would show: ").nth(1);
        let left = all.map_or(0, |note| note.split(',').count());
        assert_eq!(heads.len() + left, 10, "{width}: what is left out is named: {text}");
        assert!(heads.len() >= before, "{width}: {text}");
        before = heads.len();
    }
    assert_eq!(before, 10, "all at last");
}

#[test]
fn the_flows_of_a_simulation_have_their_rates() {
    let document = simulated(SHAPES[3], 3);
    let listed = document.flows.as_ref().unwrap();
    let text = flows(&document, listed, 9, &Look::plain());
    assert!(text.starts_with("sfb\n"), "{text}");
    let table = &tables(&text)[0];
    assert_eq!(table.len(), 1 + listed.len());
    let rates: Vec<f64> = listed.iter().map(|f| f.throughput_bps.unwrap().mean()).collect();
    let mut order: Vec<usize> = (0..listed.len()).collect();
    order.sort_by(|a, b| rates[*b].total_cmp(&rates[*a]));
    for (row, at) in table[1..].iter().zip(order) {
        let flow: &Flow = &listed[at];
        let wanted = [
            flow.label.clone(),
            flow.group.clone().unwrap(),
            human::rate(flow.throughput_bps),
            human::rate(flow.goodput_bps),
            human::ratio(flow.loss_ratio),
            human::ratio(flow.mark_ratio),
            human::millis(flow.delay_ms.p50),
            human::millis(flow.delay_ms.p99),
        ];
        assert_eq!(cells(row), wanted, "{text}");
    }
    let few = flows(&document, listed, 1, &Look::plain());
    assert_eq!(tables(&few)[0].len(), 2);
    assert!(few.ends_with("and 3 more flows; --json lists more of them\n"), "{few}");
    let none = flows(&document, &[], 9, &Look::plain());
    assert_eq!(tables(&none)[0].len(), 1, "a head alone: {none}");
}

#[test]
fn what_is_known_of_a_result_stands_below_it() {
    let mut document = simulated(SHAPES[0], 5);
    document.incomplete = Some("the capture ends in a header".into());
    let text = results(&[&document], &Look::plain());
    let made = "simulated flood; 3 seeds, ± is the 95 % interval; 3 456 789 packets; 1.25 s\n";
    assert!(text.contains(made), "{text}");
    assert!(text.ends_with("INCOMPLETE: the capture ends in a header\n"), "{text}");
    assert!(text.contains("Intervals hold in 93 to 97 of 100 cases"), "three seeds are few");
    document.seeds = (1..=20).collect();
    document.groups[0].loss_ratio = Figure::exact(1e-4);
    let text = results(&[&document], &Look::plain());
    assert!(!text.contains("Intervals hold in 93"), "twenty are not: {text}");
    assert!(text.contains("A loss without ± was seen too seldom"), "{text}");
    document.source = tidegate_report::PacketSource::Measured;
    assert!(results(&[&document], &Look::plain()).contains("\nmeasured flood; 20 seeds"));
    assert_eq!(results(&[], &Look::plain()).matches("simulated").count(), 0, "of nothing");
}

proptest! {
    #[test]
    fn as_many_columns_as_there_is_room_for(
        widths in prop::collection::vec(1..40u16, 1..12),
        room in 0..300usize,
    ) {
        let shown = columns_that_fit(&widths, room);
        let taken = |columns: usize| -> usize {
            widths[..columns].iter().map(|width| usize::from(*width) + 2).sum()
        };
        prop_assert!(shown >= 1 && shown <= widths.len());
        prop_assert!(shown == 1 || taken(shown) <= room, "{shown} take {}", taken(shown));
        prop_assert!(shown == widths.len() || taken(shown + 1) > room, "one more has room");
    }
}

#[test]
fn what_is_left_out_is_named_in_order() {
    assert_eq!(left_out(&["loss", "p99"]), "More columns would show: loss, p99.");
}
