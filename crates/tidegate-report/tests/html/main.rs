//! The report as text: what stands in it without a browser.
mod grid;
#[path = "../sample/mod.rs"]
mod sample;

use sample::{SHAPES, replayed, series, simulated};
use tidegate_report::html::{ChartedResult, ReportInput, render};
use tidegate_report::{Document, Figure, Flow};

/// The page without its scripts and its style.
fn visible(page: &str) -> &str {
    let from = page.find("<main>").expect("a main part");
    &page[from..page.find("</main>").expect("its end")]
}

fn compare() -> String {
    let documents: Vec<Document> = SHAPES.iter().map(|shape| simulated(*shape, 20)).collect();
    let over_time = series(SHAPES[0]);
    render(&ReportInput {
        title: "A flood against TCP",
        runs: documents.iter().map(|d| ChartedResult::of(d).with_series(&over_time)).collect(),
        scenario: Some("limit = \"200 packets\" # a < b"),
        command: Some("tidegate compare flood --queue 'red,max_p=0.1'"),
    })
}

#[test]
fn every_figure_stands_in_the_tables() {
    let page = compare();
    let text = visible(&page);
    for figure in [
        "42.8 Mbit/s <small>± 0.6</small>",
        "<td class=\"bad\">1997 % <small>± 30</small></td>",
        "<td class=\"good\">102 % <small>± 1</small></td>",
        "0.935 <small>± 0.009</small>",
        "41 234 <small>± 310</small>",
        "limit = 200 packets, w_q = 0.002",
        "<b>sfb</b>: tcp gets 102\u{a0}% of its fair share (worst user 67\u{a0}%), flood is held \
         to 380\u{a0}kbit/s",
        "limit = &quot;200 packets&quot; # a &lt; b",
        "--queue &#39;red,max_p=0.1&#39;",
        "Seeds 1, 2, 3.",
    ] {
        assert!(text.contains(figure), "{figure} is not in the page");
    }
}

#[test]
fn a_replay_lists_what_became_of_each_flow() {
    let document = replayed("red", 0.4);
    let page = render(&ReportInput {
        title: "t",
        runs: vec![ChartedResult::of(&document)],
        ..ReportInput::default()
    });
    let row = "<th scope=\"row\">10.0.0.9:4000 &gt; 10.0.1.1:9 udp</th><td \
               class=\"text\">udp</td><td>31 000</td>\
               <td>18 600</td><td>12 400</td><td>0</td><td>40.0 %</td>";
    assert!(visible(&page).contains(row), "{}", visible(&page));
    assert!(!visible(&page).contains("Whiskers"), "one replay has no intervals");
    assert!(
        visible(&page).contains("In a replay senders do not react"),
        "the caveat stands in the page"
    );
    assert!(!visible(&compare()).contains("replay"), "and only there");
}

#[test]
fn connections_that_are_fewer_flows_are_called_so() {
    let mut document = simulated(SHAPES[0], 20);
    document.bottleneck.flow_key = Some("source".into());
    document.bottleneck.flow_count = Some(3);
    let page =
        render(&ReportInput { runs: vec![ChartedResult::of(&document)], ..ReportInput::default() });
    for said in [
        "21 connections, 3 flows by source",
        "Every connection",
        "<th scope=\"col\">connections</th>",
    ] {
        assert!(visible(&page).contains(said), "{said} is not in the page");
    }
    assert!(!visible(&page).contains("21 flows") && visible(&compare()).contains("Every flow"));
}

#[test]
fn goodput_above_throughput_is_explained() {
    let mut document = simulated(SHAPES[0], 20);
    let page = |document: &Document| {
        render(&ReportInput { runs: vec![ChartedResult::of(document)], ..ReportInput::default() })
    };
    assert!(!page(&document).contains("Goodput counts bytes when they are in order"));
    document.groups[0].goodput_bps = document.groups[0].throughput_bps.and_then(|f| f.over(0.5));
    assert!(page(&document).contains("Goodput counts bytes when they are in order"));
}

#[test]
fn the_page_names_no_other_file_or_place() {
    let page = compare();
    let (text, head) = (visible(&page), &page[..page.find("<main>").unwrap()]);
    for part in [text, head] {
        for word in ["src=", "href=", "url(", "@import", "http:", "https:", "<link", "<iframe"] {
            assert!(!part.contains(word), "{word} in the page");
        }
    }
    assert!(head.contains("default-src 'none'"));
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    assert!(compare() == compare());
}

#[test]
fn a_hundred_thousand_flows_do_not_make_a_hundred_megabytes() {
    let flows: Vec<Flow> = (0..100_000)
        .map(|index| Flow {
            index,
            label: format!("flow {index}"),
            throughput_bps: Figure::exact(1e6 / (index + 1) as f64),
            ..Flow::default()
        })
        .collect();
    let document = simulated(SHAPES[0], 2);
    let few =
        render(&ReportInput { runs: vec![ChartedResult::of(&document)], ..ReportInput::default() });
    let run = ChartedResult { flows: &flows, ..ChartedResult::of(&document) };
    let many = render(&ReportInput { runs: vec![run], ..ReportInput::default() });
    assert!(many.len() < few.len() + 400_000, "{} bytes more", many.len() - few.len());
    assert!(many.contains("of 100 000 flows"), "it says that not all are drawn");
}
