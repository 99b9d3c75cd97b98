//! The tables of the page, read cell by cell.
use roxmltree::Node;
use tidegate_report::html::{
    ChartedResult, LIBRARY, ReportInput, escape, library, render, render_beside,
};
use tidegate_report::{Delay, Document, Figure, Overload, PacketSource, Unsettled, answer, human};

use super::sample::{SHAPES, replayed, series, simulated};
use super::visible;

/// A table: its caption, and its rows from the head on, each cell with its class and what it says.
struct Table {
    caption: String,
    rows: Vec<Vec<(String, String)>>,
}

impl Table {
    fn of(node: Node) -> Table {
        let all_text = |node: Node| -> String {
            node.descendants().filter(Node::is_text).filter_map(|n| n.text()).collect()
        };
        let cell = |node: Node| {
            let class = node.attribute("class").unwrap_or_default().to_string();
            (class, all_text(node))
        };
        let caption = node.children().find(|node| node.has_tag_name("caption"));
        let rows = node.descendants().filter(|node| node.has_tag_name("tr"));
        let rows = rows.map(|row| row.children().filter(Node::is_element).map(cell).collect());
        Table { caption: caption.map(all_text).unwrap_or_default(), rows: rows.collect() }
    }

    /// What stands under `head` in row number `row`; a row that has its queue from above is
    /// shorter.
    fn at(&self, row: usize, head: &str) -> &str {
        &self.cell(row, head).1
    }

    fn cell(&self, row: usize, head: &str) -> &(String, String) {
        let heads = &self.rows[0];
        let at = heads.iter().position(|cell| cell.1 == head).unwrap_or_else(|| panic!("{head}"));
        let row = &self.rows[row];
        &row[at + row.len() - heads.len()]
    }
}

fn tables(page: &str) -> Vec<Table> {
    let starts = visible(page).match_indices("<table>").map(|found| found.0);
    starts
        .map(|start| {
            let text = &visible(page)[start..];
            let text = &text[..text.find("</table>").expect("its end") + "</table>".len()];
            let document =
                roxmltree::Document::parse(text).unwrap_or_else(|e| panic!("{e}: {text}"));
            Table::of(document.root_element())
        })
        .collect()
}

fn table<'t>(tables: &'t [Table], caption: &str) -> &'t Table {
    tables.iter().find(|table| table.caption == caption).unwrap_or_else(|| panic!("{caption}"))
}

fn page_of(documents: &[Document]) -> String {
    let runs = documents.iter().map(ChartedResult::of).collect();
    render(&ReportInput { title: "t", runs, ..ReportInput::default() })
}

#[test]
fn a_groups_row_is_its_metrics() {
    let documents = SHAPES.map(|shape| simulated(shape, 20));
    let tables = tables(&page_of(&documents));
    let table = table(&tables, "Groups");
    assert_eq!(table.rows.len(), 1 + 2 * documents.len());
    for (at, document) in documents.iter().enumerate() {
        assert_eq!(table.rows[1 + 2 * at][0].1, document.title());
        for (k, group) in document.groups.iter().enumerate() {
            let row = 1 + 2 * at + k;
            for (head, wanted) in [
                ("group", group.name.clone()),
                ("flows", human::count(group.count)),
                ("of fair share", human::ratio(answer::share(group))),
                ("throughput", human::rate(group.throughput_bps)),
                ("goodput", human::rate(group.goodput_bps)),
                ("fair share", human::rate_mean(group.fair_share_bps)),
                ("loss", human::ratio(group.loss_ratio)),
                ("marked", human::ratio(group.mark_ratio)),
                ("delay p50", human::millis(group.delay_ms.p50)),
                ("p99", human::millis(group.delay_ms.p99)),
            ] {
                assert_eq!(table.at(row, head), wanted, "{head} of {}", document.title());
            }
        }
    }
}

#[test]
fn what_is_bad_is_red_and_what_is_fair_is_green() {
    let documents = SHAPES.map(|shape| simulated(shape, 20));
    let tables = tables(&page_of(&documents));
    let table = table(&tables, "Groups");
    let class = |row: usize, head: &str| table.cell(row, head).0.as_str();
    // drop_tail: tcp is starved and the flood greedy; sfb: tcp is fair and the flood held.
    assert_eq!([1, 2, 7, 8].map(|row| class(row, "of fair share")), ["bad", "bad", "good", "good"]);
    assert_eq!([1, 7].map(|row| class(row, "worst user")), ["bad", ""]);
    assert_eq!([1, 7].map(|row| class(row, "starved")), ["bad", ""]);
    assert_eq!(table.at(2, "worst user"), "–", "one flood has no worst user");
    let mut wasteful = simulated(SHAPES[3], 20);
    wasteful.groups[0].goodput_bps = wasteful.groups[0].throughput_bps.and_then(|f| f.over(2.0));
    let tables = self::tables(&page_of(&[wasteful]));
    assert_eq!(self::table(&tables, "Groups").cell(1, "goodput").0, "bad", "half was sent twice");
}

#[test]
fn all_flows_together_and_each_link_have_their_own_tables() {
    let documents = [simulated(SHAPES[0], 4), simulated(SHAPES[3], 4)];
    let tables = tables(&page_of(&documents));
    let together = table(&tables, "All flows together");
    let links = table(&tables, "Each queue");
    for (at, document) in documents.iter().enumerate() {
        let all = &document.aggregate;
        let Delay { mean, p50, p99, .. } = all.queue_delay_ms;
        for (head, wanted) in [
            ("Jain", human::number(all.jain)),
            ("utilization", human::ratio(all.utilization)),
            ("delay mean", human::millis(mean)),
            ("p50", human::millis(p50)),
            ("p99", human::millis(p99)),
            ("queue", document.title().into()),
        ] {
            assert_eq!(together.at(1 + at, head), wanted, "{head}");
        }
        let packets = human::number(all.queue_packets);
        let last = &together.rows[1 + at].last().unwrap().1;
        assert_eq!(*last, format!("{packets} packets"));
        // The watched queue, and the two links behind it.
        let names: Vec<&str> = (0..3).map(|k| links.at(1 + 3 * at + k, "link")).collect();
        assert_eq!(names, ["", "a->b", "b->c"]);
        assert_eq!(links.at(1 + 3 * at, "queue"), document.title());
        assert_eq!(links.at(2 + 3 * at, "queue"), "", "a queue is named once");
        let used = human::ratio(document.links[0].utilization);
        assert_eq!(links.at(2 + 3 * at, "utilization"), used);
        assert_eq!(links.at(2 + 3 * at, "norm"), "–");
    }
}

#[test]
fn every_table_has_as_many_cells_as_heads() {
    let mut simulation = simulated(SHAPES[1], 6);
    simulation.aggregate.marks.insert("target".into(), Figure::exact(3.0).unwrap());
    for documents in [vec![simulation, simulated(SHAPES[2], 3)], vec![replayed("red", 0.4)]] {
        for table in tables(&page_of(&documents)) {
            let heads = table.rows[0].len();
            for row in &table.rows[1..] {
                let spanned = table.caption == "Groups" && row.len() + 1 == heads;
                assert!(row.len() == heads || spanned, "{}: {row:?}", table.caption);
            }
            assert!(table.rows.len() > 1, "{} has rows", table.caption);
        }
    }
}

#[test]
fn reasons_of_drops_and_marks_are_counted() {
    let mut document = simulated(SHAPES[1], 6);
    let figure = |mean, half| Figure::new(mean, half).unwrap();
    document.aggregate.drops.insert("overflow".into(), figure(7.0, None));
    document.aggregate.marks.insert("target <1>".into(), figure(1_234.5, Some(20.4)));
    let tables = tables(&page_of(&[document, replayed("sfb", 0.5)]));
    let table = table(&tables, "Drops and marks by reason, packets per replication");
    let rows: Vec<Vec<&str>> = table.rows[1..]
        .iter()
        .map(|row| row.iter().map(|cell| cell.1.as_str()).collect())
        .collect();
    assert_eq!(
        rows,
        [
            ["red", "dropped", "early", "41 234 ± 310"],
            ["", "dropped", "overflow", "7"],
            ["", "marked", "target <1>", "1 235 ± 20"],
        ],
        "sfb's replay says no reasons"
    );
    let none = self::tables(&page_of(&[replayed("sfb", 0.5)]));
    assert!(none.iter().all(|table| !table.caption.starts_with("Drops and marks")));
}

#[test]
fn a_queue_that_has_another_label_keeps_its_name_and_its_parameters() {
    let mut document = simulated(SHAPES[1], 3);
    document.label = "red <slow>".into();
    document.queue.preset = None;
    document.queue.params.insert("x".into(), "1 & 2".into());
    let tables = tables(&page_of(&[document, simulated(SHAPES[3], 3)]));
    let row = |at: usize| -> Vec<&str> {
        table(&tables, "Queues").rows[at].iter().map(|cell| cell.1.as_str()).collect()
    };
    assert_eq!(row(1), ["red <slow> (red)", "–", "limit = 200 packets, w_q = 0.002, x = 1 & 2"]);
    assert_eq!(row(2), ["sfb", "auto", "limit = 200 packets, w_q = 0.002"]);
}

#[test]
fn names_are_text_in_every_table() {
    for name in ["<script>alert(1)</script>", "a|b", "\"'&", "]]>", "漢字 ένα", &"long ".repeat(99)]
    {
        let mut document = simulated(SHAPES[0], 3);
        document.label = name.into();
        document.queue.name = name.into();
        document.queue.params.insert(name.into(), name.into());
        document.aggregate.drops.insert(name.into(), Figure::exact(1.0).unwrap());
        document.groups.iter_mut().for_each(|group| group.name = name.into());
        document.links.iter_mut().for_each(|link| link.name = name.into());
        for flow in document.flows.iter_mut().flatten() {
            (flow.label, flow.group) = (name.into(), Some(name.into()));
        }
        let page = page_of(&[document]);
        assert!(name.len() < 5 || !name.contains('<') || !visible(&page).contains(name), "{name}");
        let tables = tables(&page);
        assert_eq!(tables.len(), 7, "{name}");
        for table in tables {
            let there = table.rows.iter().flatten().any(|(_, said)| said.contains(name));
            assert!(there, "{name} is not in {}", table.caption);
        }
    }
}

#[test]
fn of_many_flows_the_table_has_the_greatest() {
    let mut document = replayed("red", 0.4);
    let one = document.flows.as_ref().unwrap()[0].clone();
    let many = (0..1_234).map(|index| tidegate_report::Flow {
        index,
        label: format!("flow {index}"),
        packets: one.packets.map(|p| tidegate_report::Counts { offered: index, ..p }),
        throughput_bps: None,
        ..one.clone()
    });
    document.flows = Some(many.collect());
    let page = page_of(&[document]);
    let summary = "<summary>red: 1 234 flows, the greatest 200</summary>";
    assert!(visible(&page).contains(summary), "it says so");
    let tables = tables(&page);
    let flows = tables.last().unwrap();
    assert_eq!(flows.rows.len(), 1 + 200);
    assert_eq!((flows.at(1, "flow"), flows.at(200, "flow")), ("flow 1233", "flow 1034"));
    assert_eq!(flows.at(1, "offered"), "1 233");
}

#[test]
fn the_facts_say_what_held_for_all_and_what_went_wrong() {
    let mut document = simulated(SHAPES[0], 20);
    document.incomplete = Some("cut <short>".into());
    document.overloads = vec![Overload {
        link: "link a->b".into(),
        rate_bps: 1e6,
        offered_bps: 2e6,
        groups: vec!["flood".into()],
    }];
    document.unsettled =
        vec![Unsettled { group: "tcp".into(), early_bps: 50.0, late_bps: 100.0, warmup_s: None }];
    let page = page_of(&[document.clone()]);
    for said in [
        "<dt>Incomplete</dt><dd>cut &lt;short&gt;</dd>",
        "<dt>Overloaded</dt><dd>link a-&gt;b on the way of group `flood`: 2.00 Mbit/s offered",
        "<dt>Bottleneck</dt><dd>45.0 Mbit/s</dd>",
        "<dt>Limit</dt><dd>200 packets</dd>",
        "<dt>Measured</dt><dd>90 s after 10 s of warm-up</dd>",
        "<dt>Flows</dt><dd>21</dd>",
        "<dt>Seeds</dt><dd>3; intervals are 95 %</dd>",
        "tcp: not steady, in the first quarter 50\u{a0}% lower than in the second half",
        "Simulated</p>",
        "Seeds 1, 2, 3. 3 456 789 packets in 1.25 s. Tidegate 0.1.0.",
    ] {
        assert!(visible(&page).contains(said), "{said} is not in the page");
    }
    document.seeds = vec![7];
    document.bottleneck = tidegate_report::Bottleneck::default();
    document.source = PacketSource::Measured;
    let bare = page_of(&[document]);
    assert!(visible(&bare).contains("<dd>7, so no intervals</dd>"));
    for absent in ["Bottleneck", "<dt>Limit", "<dt>Measured</dt>", "Whiskers"] {
        assert!(!visible(&bare).contains(absent), "{absent} is in the page");
    }
    assert!(visible(&bare).contains("Measured</p>"), "measured, as it says at the top");
}

#[test]
fn a_page_beside_its_library_is_the_same_but_for_that() {
    let document = simulated(SHAPES[0], 3);
    let over_time = series(SHAPES[0]);
    let runs = || vec![ChartedResult::of(&document).with_series(&over_time)];
    let input = || ReportInput { title: "t", runs: runs(), ..ReportInput::default() };
    let (within, beside) = (render(&input()), render_beside(&input()));
    assert_eq!(visible(&within), visible(&beside));
    assert!(beside.contains(&format!("<script src=\"{LIBRARY}\">")) && beside.len() < 200_000);
    assert!(!within.contains("<script src=") && within.contains("script-src 'unsafe-inline';"));
    let script = library();
    assert!(script.starts_with("/*") && script.contains("function tidegateReport()"));
    // The notices are a comment, which nothing in them ends before its time.
    let notices = &script[..script.find("\n*/\n").expect("the notices' end")];
    assert!(!notices.contains("*/") && notices.contains("Apache"), "{notices}");
}

#[test]
fn escaped_text_has_no_sign_that_html_takes_for_its_own() {
    assert_eq!(
        escape("<a href=\"x\">'&'</a>"),
        "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;"
    );
    assert_eq!(escape("a\u{0}b\u{1b}c\r\n\td"), "abc\n\td", "lines and tabs stay");
    assert_eq!(escape("&amp;"), "&amp;amp;", "what is escaped already is text, too");
    assert_eq!(escape("漢字 – ±"), "漢字 – ±");
}

/// What a script element holds cannot end it, whatever a name says.
#[test]
fn no_name_ends_the_data_of_the_page() {
    let mut document = simulated(SHAPES[0], 2);
    document.label = "</script><script>alert(1)//\u{2028}<!--".into();
    let page = page_of(&[document.clone()]);
    let begin = page.find("id=\"data\">").expect("the data") + "id=\"data\">".len();
    let data = &page[begin..][..page[begin..].find("</script>").expect("its end")];
    let value: serde_json::Value = serde_json::from_str(data).expect("the data are JSON");
    assert_eq!(value["runs"][0]["title"], document.label);
    assert!(!data.contains(['<', '>', '\u{2028}']), "{data}");
    let groups: Vec<&str> =
        value["groups"].as_array().unwrap().iter().map(|g| g["name"].as_str().unwrap()).collect();
    assert_eq!(groups, ["tcp", "flood"], "those that heed nothing come last");
    assert_eq!(value["runs"][0]["flows"].as_array().unwrap().len(), 3);
}
